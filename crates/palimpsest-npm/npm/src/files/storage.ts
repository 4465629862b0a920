// Sessions in files: what an extension keeps for its views, and any program of Node's may. Only Node's own modules.
//
//   sessions/<session>/<number>.jsonl   a session's segments (segment.ts): only who holds the session writes, each claim a file of its own
//   blobs/<hash>/<session>.json         large texts (blobs.ts)
//   meta/, tokenizers/                  rows of no session, a file for each (shared-rows.ts)
//   shared.jsonl                        the version of the folder
//   changes                             written when a head changes, for those who watch
//
// A write to one session is all or nothing. The large texts that it brings are there before it, those that it removes go after it.

import { mkdir, open } from "node:fs/promises";
import { PalimpsestError } from "../errors.js";
import type { StorageAdapter, StorageChange, StorageKey, StorageLease, StorageOp, StorageQuery, StorageRow, StorageTable, StorageWrite } from "../storage.js";
import { Blobs, NOBODY } from "./blobs.js";
import { keyOf, numbersOf, SHARED, touchesHead } from "./contents.js";
import { bytesIn, type Durability } from "./disk.js";
import { Heads } from "./heads.js";
import { dropClaim } from "./holder.js";
import { Lease } from "./lease.js";
import { blobsOf, oldShared, upgrade } from "./older.js";
import { meaning, refuse } from "./refusal.js";
import { begins, compare, Rows } from "./rows.js";
import { SessionLog } from "./session-log.js";
import { SharedRows } from "./shared-rows.js";
import { Watch } from "./watch.js";

/** Sessions that nobody here writes whose rows stay in memory. */
const KEPT = 8;

/** A storage in a folder. */
export interface FileStorage extends StorageAdapter {
  /** Waits for what is being written, and gives back what this program holds. */
  close(): Promise<void>;
}

/** Storages by folder: views of one program share one, so that they see who writes. */
const storages: Map<string, Files> = new Map();

/**
 * Sessions in the files of a folder, which is made if it is not there. The same folder gives the same storage. Several programs may
 * use one folder: each session is written by one of them, the others read along and may take it over.
 *
 * @example
 * ```ts
 * import { fileStorage } from "palimpsest/node";
 * import { openSession } from "palimpsest";
 *
 * const store = fileStorage("/tmp/sessions");
 * await using session = await openSession({ id: "japan", model: "any", store });
 * ```
 */
export function fileStorage(folder: string): FileStorage {
  if (typeof folder !== "string" || folder === "") throw new PalimpsestError("invalid_options", 'fileStorage() needs the path of a folder, such as "/tmp/sessions".');
  const known = storages.get(folder);
  if (known !== undefined) return known;
  const made = new Files(folder);
  storages.set(folder, made);
  return made;
}

const isShared = (table: StorageTable): boolean => SHARED.includes(table);

class Files implements FileStorage {
  readonly #folder: string;
  readonly #blobs: Blobs;
  readonly #shared: Map<StorageTable, SharedRows>;
  readonly #heads: Heads;
  readonly #watch: Watch;
  /** One thing after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  readonly #logs = new Map<string, SessionLog>();
  readonly #held = new Map<string, Lease>();
  /** Whether the folder is of this version, as far as this program has seen to it. */
  #isUpgraded = false;
  #isSwept = false;

  constructor(folder: string) {
    this.#folder = folder;
    this.#blobs = new Blobs(folder);
    this.#shared = new Map((["tokenizers", "meta"] as const).map((table) => [table, new SharedRows(folder, table)]));
    this.#heads = new Heads(folder);
    this.#watch = new Watch(folder, () => this.#alone(() => this.#heads.read()));
  }

  claim({ session, takeOver }: { session: string; takeOver: boolean }): Promise<{ epoch: number }> {
    return this.#alone(async () => {
      const held = this.#held.get(session);
      if (held !== undefined && !takeOver && (await held.isOurs())) throw refuse("session_busy");
      const log = await this.#log(session);
      const lease = await Lease.claim(log, takeOver ? "take over" : "refuse", async () => {
        await this.#prepare();
        await this.#keepOldBlobs(log);
      });
      this.#held.set(session, lease);
      this.#logs.set(session, log);
      await this.#watch.ring(session, log.contents.head ?? null);
      this.#sweepLater();
      return { epoch: lease.epoch };
    });
  }

  read(query: StorageQuery): Promise<StorageRow[]> {
    return this.#alone(async () => {
      const copy = ({ key, value }: StorageRow): StorageRow => ({ key: [...key], value });
      const { table } = query;
      if (query.query === "get") {
        const row = await this.#row(table, query.key);
        return row === undefined ? [] : [copy(row)];
      }
      const { prefix, from, to, reverse, limit } = query;
      const [first] = prefix;
      const isBounded = from !== undefined || to !== undefined;
      let found: StorageRow[] = [];
      if (isShared(table)) found = (await this.#sharedRows(table, prefix)).range(prefix, from, to);
      else if (typeof first === "string") found = (await this.#rows(first, table)).range(prefix, from, to);
      // the first part of a session's key is its name
      else if (first === undefined && !isBounded) found = await this.#all(table);
      const ordered = reverse ? [...found].reverse() : found;
      return (limit > 0 ? ordered.slice(0, limit) : ordered).map(copy);
    });
  }

  apply({ lease: { session, epoch }, expect, ops, durability }: StorageWrite): Promise<void> {
    return this.#alone(async () => {
      const lease = this.#held.get(session);
      if (lease === undefined || lease.epoch !== epoch) throw refuse("superseded");
      try {
        await this.#write(lease, expect, ops, durability);
      } catch (error) {
        // whoever has it now has it: nothing is held here that could be given back, nor does this claim keep anybody out any more
        if ((error as { code?: unknown }).code === "superseded" && !(await lease.isOurs())) {
          this.#held.delete(session);
          dropClaim(lease.holder);
        }
        throw error;
      }
    });
  }

  release({ session, epoch }: StorageLease): Promise<void> {
    return this.#alone(async () => {
      const lease = this.#held.get(session);
      if (lease === undefined || lease.epoch !== epoch) return;
      this.#held.delete(session);
      await lease.release();
      await this.#forget();
    });
  }

  watch(heard: (change: StorageChange) => void): () => void {
    return this.#watch.listen(heard);
  }

  estimate(): Promise<{ used: number }> {
    return this.#alone(async () => ({ used: await bytesIn(this.#folder) }));
  }

  close(): Promise<void> {
    return this.#alone(async () => {
      this.#watch.stop();
      storages.delete(this.#folder);
      for (const lease of this.#held.values()) await lease.release();
      this.#held.clear();
      for (const log of this.#logs.values()) await log.close();
      this.#logs.clear();
      this.#isUpgraded = false;
    });
  }

  // ── writing ──

  async #write(lease: Lease, expect: StorageWrite["expect"], ops: readonly StorageOp[], durability: Durability): Promise<void> {
    const { log } = lease;
    const { session } = log;
    if (!(await lease.isOurs())) throw refuse("superseded");
    const { head, current } = log.contents;
    const numbers = numbersOf(head);
    const isDamaged = head !== undefined && numbers === null;
    if (isDamaged && (current === null || (current === lease.epoch && expect !== null))) throw refuse("storage_corrupt", `heads ${session}`);
    if (current !== lease.epoch) throw refuse("superseded");
    if (expect !== null && expect.version !== (numbers?.version ?? null)) throw refuse("superseded");
    await this.#check(lease, ops);
    const others = await this.#others(session, ops);
    try {
      await this.#bring(session, ops, durability);
      for (const [other, theirs] of others) await other.append(theirs, durability);
      const own = ops.flatMap((op) => opFor(op, session) ?? []);
      if (own.length > 0) await lease.append(own, durability);
      await this.#takeAway(session, ops);
      await lease.renew();
      if (own.some((op) => touchesHead(op, session))) await this.#watch.ring(session, log.contents.head ?? null);
    } finally {
      await this.#giveBack(others.keys());
    }
  }

  /** What cannot be done is refused before anything is written. */
  async #check(lease: Lease, ops: readonly StorageOp[]): Promise<void> {
    const { session } = lease.log;
    /** What this write itself has made of a row: there, or not. */
    const made = new Map<string, boolean>();
    const gone: { table: StorageTable; prefix: StorageKey }[] = [];
    for (const op of ops) {
      if (op.op === "delete_prefix") {
        gone.push(op);
        for (const at of [...made.keys()]) {
          const [table, key] = JSON.parse(at) as [StorageTable, StorageKey];
          if (table === op.table && begins(key, op.prefix)) made.delete(at);
        }
        continue;
      }
      const { table, key } = op;
      if (!isShared(table) && typeof key[0] !== "string") throw refuse("storage_failed", `the first part of a key of ${table} is its session`);
      // a head with another epoch would let two writers in
      if (op.op !== "delete" && table === "heads" && key.length === 1 && key[0] === session && numbersOf(op.value)?.epoch !== lease.epoch) {
        throw refuse("storage_failed", "a head of another epoch");
      }
      const at = JSON.stringify([table, key]);
      if (op.op === "add") {
        const known = made.get(at) ?? (gone.some((one) => one.table === table && begins(key, one.prefix)) ? false : undefined);
        // one's own session as this write has found it: who takes it over meanwhile refuses the write by that
        const there = known ?? (key[0] === session && !isShared(table) ? lease.log.contents.rows(table).get(key) : await this.#row(table, key)) !== undefined;
        if (there) throw refuse("row_exists", `${table} ${JSON.stringify(key)}`);
      }
      made.set(at, op.op !== "delete");
    }
  }

  /** The rights to write other sessions of which a write has rows, with those. One that another program holds refuses the write. */
  async #others(session: string, ops: readonly StorageOp[]): Promise<Map<Lease, StorageOp[]>> {
    const others = new Map<string, StorageOp[]>();
    for (const op of ops) {
      if (isShared(op.table)) continue;
      const [first] = keyOf(op);
      const all = first === undefined ? [...(await this.#heads.read()).keys()] : [first];
      for (const other of all) {
        if (other === session || typeof other !== "string") continue;
        const list = others.get(other) ?? [];
        if (first === undefined && (await this.#rows(other, op.table)).size === 0 && list.length === 0) continue;
        others.set(other, [...list, ...(opFor(op, other) ?? [])]);
      }
    }
    const leases = new Map<Lease, StorageOp[]>();
    try {
      for (const [other, theirs] of others) {
        const held = this.#held.get(other);
        leases.set(held ?? (await Lease.claim(new SessionLog(this.#folder, other), "borrow", () => this.#prepare())), theirs);
      }
    } catch (error) {
      await this.#giveBack(leases.keys());
      throw error;
    }
    return leases;
  }

  /** Ends what was borrowed for one write. */
  async #giveBack(leases: Iterable<Lease>): Promise<void> {
    for (const lease of leases) {
      if (this.#held.get(lease.log.session) === lease) continue;
      await lease.release();
      await lease.log.close();
    }
  }

  /** Writes the rows that belong to no session: they are there before what names them. */
  async #bring(session: string, ops: readonly StorageOp[], durability: Durability): Promise<void> {
    const texts = new Rows();
    for (const op of ops) {
      if (op.table === "blobs") {
        if (op.op === "delete") texts.delete(op.key);
        else if (op.op === "delete_prefix") texts.deletePrefix(op.prefix);
        else texts.put({ key: op.key, value: op.value });
        continue;
      }
      const rows = this.#shared.get(op.table);
      if (rows === undefined) continue;
      if (op.op === "delete") await rows.delete(op.key);
      else if (op.op === "delete_prefix") await rows.deletePrefix(op.prefix);
      else if (op.op === "put") await rows.put(op, durability);
      else if (!(await rows.add(op, durability))) throw refuse("row_exists", `${op.table} ${JSON.stringify(op.key)}`);
    }
    await this.#blobs.put(session, texts.range([]), durability);
  }

  /** Removes large texts, unless the same write has brought them again. */
  async #takeAway(session: string, ops: readonly StorageOp[]): Promise<void> {
    for (const [at, op] of ops.entries()) {
      if (op.table !== "blobs" || "value" in op) continue;
      const later = ops.slice(at + 1).filter((one) => one.table === "blobs" && "value" in one && begins(one.key, keyOf(op)));
      await this.#blobs.deletePrefix(session, keyOf(op));
      const again = later.flatMap((one) => ("value" in one ? [{ key: one.key, value: one.value }] : []));
      await this.#blobs.put(session, again, "strict");
    }
  }

  // ── reading ──

  /** A row, or nothing. */
  async #row(table: StorageTable, key: StorageKey): Promise<StorageRow | undefined> {
    const rows = this.#shared.get(table);
    if (rows !== undefined) return (await rows.get(key)) ?? (await oldShared(this.#folder)).get(table)?.get(key);
    if (isShared(table)) return (await this.#sharedRows(table, key)).get(key);
    const [session] = key;
    return typeof session === "string" ? (await this.#rows(session, table)).get(key) : undefined;
  }

  async #sharedRows(table: StorageTable, prefix: StorageKey): Promise<Rows> {
    const rows = (await this.#shared.get(table)?.read(prefix)) ?? (await this.#blobs.read(prefix));
    for (const row of (await oldShared(this.#folder)).get(table)?.range(prefix) ?? []) if (rows.get(row.key) === undefined) rows.put(row);
    return rows;
  }

  /** The rows of a session's table. */
  async #rows(session: string, table: StorageTable): Promise<Rows> {
    const log = await this.#log(session);
    await log.look();
    return log.contents.rows(table);
  }

  /** The rows of a table of all sessions. */
  async #all(table: StorageTable): Promise<StorageRow[]> {
    const heads = await this.#heads.read();
    if (table === "heads") {
      const rows = [...heads].flatMap(([session, head]) => (head === null ? [] : [{ key: [session], value: head }]));
      return rows.sort((a, b) => compare(a.key, b.key));
    }
    const found: StorageRow[] = [];
    for (const session of [...heads.keys()].sort((a, b) => compare([a], [b]))) found.push(...(await this.#rows(session, table)).range([]));
    return found;
  }

  /** A session's segments; those used last stay longest. */
  async #log(session: string): Promise<SessionLog> {
    const held = this.#held.get(session);
    if (held !== undefined) return held.log;
    const log = this.#logs.get(session) ?? new SessionLog(this.#folder, session);
    this.#logs.delete(session);
    this.#logs.set(session, log);
    await this.#forget();
    return log;
  }

  /** Sessions that nobody here writes are read again when they are asked for. */
  async #forget(): Promise<void> {
    const idle = [...this.#logs.values()].filter(({ session }) => !this.#held.has(session));
    for (const log of idle.slice(0, Math.max(0, idle.length - KEPT))) {
      this.#logs.delete(log.session);
      await log.close();
    }
  }

  // ── what a program does once ──

  /** Makes the folder one of this version. */
  async #prepare(): Promise<void> {
    if (this.#isUpgraded) return;
    try {
      await mkdir(this.#folder, { recursive: true });
    } catch (error) {
      throw refuse("storage_unavailable", error instanceof Error ? error.message : String(error));
    }
    await upgrade(this.#folder, async (table, rows) => {
      if (table === "blobs") await this.#blobs.put(NOBODY, rows, "strict");
      else for (const row of rows) await this.#shared.get(table)?.add(row, "strict");
    });
    this.#isUpgraded = true;
  }

  /** The large texts of a session's file of version 1 become the session's own. */
  async #keepOldBlobs(log: SessionLog): Promise<void> {
    if (log.number !== 0) return;
    const handle = await open(log.older, "r");
    try {
      await this.#blobs.put(log.session, await blobsOf(handle), "strict");
    } finally {
      await handle.close();
    }
  }

  /** Sessions whose removal a kill has cut short are removed, once, when nothing waits for it. */
  #sweepLater(): void {
    if (this.#isSwept) return;
    this.#isSwept = true;
    const timer = setTimeout(() => {
      this.#alone(async () => {
        if (!storages.has(this.#folder)) return;
        for (const [session, head] of await this.#heads.read()) if (head === null && !this.#held.has(session)) await this.#sweep(session);
      }).catch(() => {});
    }, 1000);
    (timer as { unref?(): void }).unref?.();
  }

  async #sweep(session: string): Promise<void> {
    const log = new SessionLog(this.#folder, session);
    try {
      await log.refresh();
      if (!log.contents.isEmpty || log.contents.claimed !== null || log.number <= 0) return;
      const lease = await Lease.claim(log, "borrow", () => this.#prepare());
      try {
        // between the look and the claim somebody may have begun the session and given it back: what counts is what the claim found
        if (log.contents.isEmpty && log.contents.claimed === null) await this.#blobs.forget(session);
      } finally {
        await lease.release();
      }
    } catch {
      // somebody has it, or it cannot be read: it stays as it is
    } finally {
      await log.close();
    }
  }

  /** One thing after the other. */
  #alone<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(async () => {
      try {
        return await act();
      } catch (error) {
        throw meaning(error);
      }
    });
    this.#turn = turn.catch(() => {});
    return turn;
  }
}

/** What of an operation belongs to a session, as it stands in its segment; nothing if nothing does. */
function opFor(op: StorageOp, session: string): StorageOp[] | undefined {
  if (isShared(op.table)) return undefined;
  const [first] = keyOf(op);
  if (op.op === "delete_prefix" && first === undefined) return [{ ...op, prefix: [session] }];
  if (first !== session) return undefined;
  return [op.op === "add" ? { ...op, op: "put" } : op];
}
