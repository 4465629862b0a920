// Sessions in files: what an extension keeps for its views. Only Node's own modules.
//
// Each session has a file of lines to which only is added; `shared` is one more, for rows of no session. A line is a write:
//
//   { "e": epoch, "ops": […] }     who held the session with that epoch wrote this, all of it or nothing
//   { "e": epoch, "claim": true, "ops": [] }    a claim of a session that has no head
//   { "f": true, "ops": […] }      rows that a write of another session brought here
//
// The first line says whose file it is. A line that was cut by a crash is the last one: it is taken off when the file is opened
// again. A line with an older epoch than one before it came from a writer that had lost the session: it is void. `index` has
// each session's head and the length of its file, so that a list of sessions reads one file; a session whose file is longer
// than the index knows is read again, and what it wrote into other files is written there again.
//
// A file in which most is no longer true is written anew beside itself and then put in its own place.

import { createHash } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { StorageAdapter, StorageChange, StorageKey, StorageLease, StorageOp, StorageQuery, StorageRow, StorageTable, StorageWrite } from "./storage.js";

/** The version of the files. */
const VERSION = 1;
/** Tables whose rows belong to no session. */
const SHARED: readonly StorageTable[] = ["blobs", "tokenizers", "meta"];
/** The file of those. No session's file has such a name: theirs have a dash. */
const COMMON = "shared";
/** Bytes of a file that are worth writing it anew, if most of it is no longer true. */
const WORTH = 1 << 18;
/** Sessions that nobody writes whose rows stay in memory. */
const KEPT = 8;
/** Milliseconds between two looks at what other programs have written, while somebody wants to know. */
const LOOK = 1000;
/** The first epoch after a head that could not be read: far from any that was counted up. */
const AFTER_DAMAGE = 2 ** 30;

/** A storage in a folder. */
export interface FileStorage extends StorageAdapter {
  /** Waits for what is being written, and gives back what this program holds. */
  close(): Promise<void>;
}

/** Storages by folder: views of one program share one, so that they see who writes. */
const open_: Map<string, Files> = new Map();

/**
 * Sessions in the files of a folder, which is made if it is not there. The same folder gives the same storage.
 *
 * @example
 * ```ts
 * import { fileStorage } from "palimpsest/vscode-host";
 * import { openSession } from "palimpsest";
 *
 * const store = fileStorage("/tmp/sessions");
 * await using session = await openSession({ id: "japan", model: "any", store });
 * ```
 */
export function fileStorage(folder: string): FileStorage {
  const known = open_.get(folder);
  if (known !== undefined) return known;
  const made = new Files(folder);
  open_.set(folder, made);
  return made;
}

const refuse = (code: string, message: string = code): Error => Object.assign(new Error(message), { code });
const address = (key: StorageKey): string => JSON.stringify(key);
const begins = (key: StorageKey, prefix: StorageKey): boolean => prefix.every((part, i) => key[i] === part);

/** Numbers before texts, texts as JavaScript compares them, a key before those that begin with it. */
function compare(a: StorageKey, b: StorageKey): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const [x, y] = [a[i] as string | number, b[i] as string | number];
    if (x === y) continue;
    if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
    return x < y ? -1 : 1;
  }
  return a.length - b.length;
}

/** The rows of a table in the order of their keys. */
class Rows {
  readonly #all = new Map<string, StorageRow>();
  #order: StorageRow[] = [];
  #sorted = true;

  get size(): number {
    return this.#all.size;
  }

  get(key: StorageKey): StorageRow | undefined {
    return this.#all.get(address(key));
  }

  put(row: StorageRow): void {
    const at = address(row.key);
    const old = this.#all.get(at);
    if (old !== undefined) {
      old.value = row.value;
      return;
    }
    const own = { key: row.key, value: row.value };
    this.#all.set(at, own);
    const last = this.#order.at(-1);
    if (last !== undefined && compare(last.key, own.key) > 0) this.#sorted = false;
    this.#order.push(own);
  }

  delete(key: StorageKey): void {
    if (this.#all.delete(address(key))) this.#order = [...this.#all.values()];
    this.#sorted = false;
  }

  deletePrefix(prefix: StorageKey): void {
    for (const row of this.#order) if (begins(row.key, prefix)) this.#all.delete(address(row.key));
    this.#order = [...this.#all.values()];
    this.#sorted = false;
  }

  /** The rows whose keys begin so, and their next part is a number in those bounds if there are any. */
  range(prefix: StorageKey, from?: number, to?: number): StorageRow[] {
    if (!this.#sorted) {
      this.#order.sort((a, b) => compare(a.key, b.key));
      this.#sorted = true;
    }
    const bounded = from !== undefined || to !== undefined;
    const first = bounded ? [...prefix, from ?? 0] : prefix;
    let low = 0;
    for (let high = this.#order.length; low < high;) {
      const middle = (low + high) >> 1;
      if (compare((this.#order[middle] as StorageRow).key, first) < 0) low = middle + 1;
      else high = middle;
    }
    const found: StorageRow[] = [];
    for (let at = low; at < this.#order.length; at++) {
      const row = this.#order[at] as StorageRow;
      if (!begins(row.key, prefix)) break;
      if (bounded) {
        const next = row.key[prefix.length];
        if (typeof next !== "number" || next > (to ?? Infinity)) break;
      }
      found.push(row);
    }
    return found;
  }
}

interface Line {
  e?: number;
  f?: boolean;
  claim?: boolean;
  ops: StorageOp[];
}

/** Where a row belongs: its session, the shared file, or all sessions. */
function homeOf(op: StorageOp): string | undefined {
  if (SHARED.includes(op.table)) return COMMON;
  const [first] = op.op === "delete_prefix" ? op.prefix : op.key;
  if (first === undefined) return undefined;
  // a session may be called as the shared file is; a number is no session
  return typeof first === "string" ? `s:${first}` : "none";
}

const homeOfSession = (session: string | undefined): string => (session === undefined ? COMMON : `s:${session}`);

/** What is in a file. */
class Contents {
  readonly tables = new Map<StorageTable, Rows>();
  /** The highest epoch that was claimed. */
  epoch = 0;
  /** The epoch of a claim while there is no head that it could stand in. */
  claimed: number | undefined;
  /** Bytes that were read or written. */
  size = 0;
  readonly #home: string;

  constructor(session: string | undefined) {
    this.#home = homeOfSession(session);
  }

  rows(table: StorageTable): Rows {
    let rows = this.tables.get(table);
    if (rows === undefined) this.tables.set(table, (rows = new Rows()));
    return rows;
  }

  take(line: Line): void {
    if (line.e !== undefined) {
      if (line.e < this.epoch) return;
      this.epoch = line.e;
    }
    if (line.claim === true) this.claimed = line.e;
    for (const op of line.ops) {
      if ((homeOf(op) ?? this.#home) !== this.#home) continue;
      if (op.table === "heads" && "value" in op) this.claimed = undefined;
      const rows = this.rows(op.table);
      if (op.op === "delete") rows.delete(op.key);
      else if (op.op === "delete_prefix") rows.deletePrefix(op.prefix);
      else rows.put({ key: op.key, value: op.value });
    }
  }

  /** Whether nothing is in it. */
  get empty(): boolean {
    return [...this.tables.values()].every((rows) => rows.size === 0);
  }

  /** Characters of what is true, about. */
  get weight(): number {
    let all = 0;
    for (const rows of this.tables.values()) for (const row of rows.range([])) all += row.value.length + 80;
    return all;
  }
}

/** A file that is open. */
interface Log {
  /** The session; nothing for the shared one. */
  session: string | undefined;
  path: string;
  handle: FileHandle;
  contents: Contents;
  /** Bytes after which writing the file anew is considered. */
  next: number;
}

interface Entry {
  file: string;
  size: number;
  /** The value of the session's head. */
  head: string | null;
}

/** A head with what a storage looks at in it, or `null`. */
function numbers(value: string | undefined): { epoch: number; version: number } | null {
  try {
    const head = JSON.parse(value ?? "") as { epoch?: unknown; version?: unknown };
    return Number.isInteger(head.epoch) && Number.isInteger(head.version) ? (head as { epoch: number; version: number }) : null;
  } catch {
    return null;
  }
}

class Files implements FileStorage {
  readonly #folder: string;
  /** One thing after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  #ready: Promise<void> | undefined;
  readonly #index = new Map<string, Entry>();
  /** Its lines, and its bytes. */
  #indexed = 0;
  #indexSize = 0;
  readonly #logs = new Map<string, Log>();
  readonly #held = new Map<string, number>();
  readonly #watching = new Set<(change: StorageChange) => void>();
  /** Heads that were told of. */
  readonly #told = new Map<string, string | null>();
  #looking: ReturnType<typeof setInterval> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  claim({ session, takeOver }: { session: string; takeOver: boolean }): Promise<{ epoch: number }> {
    return this.#alone(async () => {
      if (!takeOver && (this.#held.has(session) || (await this.#isHeldElsewhere(session)))) throw refuse("session_busy");
      const log = await this.#log(session);
      await this.#caughtUp(log);
      const value = log.contents.rows("heads").get([session])?.value;
      const head = numbers(value);
      if (value !== undefined && head === null && !takeOver) throw refuse("storage_corrupt", `heads ${session}`);
      const before = head?.epoch ?? log.contents.claimed ?? (value === undefined ? 0 : AFTER_DAMAGE);
      const epoch = Math.max(before, log.contents.epoch) + 1;
      if (head === null) await this.#append(log, { e: epoch, claim: true, ops: [] }, false);
      else await this.#append(log, { e: epoch, ops: [{ op: "put", table: "heads", key: [session], value: withEpoch(value as string, epoch) }] }, false);
      this.#held.set(session, epoch);
      await this.#lock(session);
      await this.#note(log);
      this.#tell();
      return { epoch };
    });
  }

  read(query: StorageQuery): Promise<StorageRow[]> {
    return this.#alone(async () => {
      const copy = ({ key, value }: StorageRow): StorageRow => ({ key: [...key], value });
      const { table } = query;
      const key = query.query === "get" ? query.key : query.prefix;
      const home = SHARED.includes(table) ? undefined : key[0];
      if (query.query === "get") {
        if (!SHARED.includes(table) && typeof home !== "string") return [];
        const row = (await this.#rows(home as string | undefined, table))?.get(query.key);
        return row === undefined ? [] : [copy(row)];
      }
      const { prefix, from, to, reverse, limit } = query;
      let found: StorageRow[];
      if (SHARED.includes(table) || typeof home === "string") {
        found = (await this.#rows(home as string | undefined, table))?.range(prefix, from, to) ?? [];
      } else if (home !== undefined || from !== undefined || to !== undefined) {
        // the first part of a session's key is its name
        found = [];
      } else if (table === "heads") {
        await this.#readIndex();
        found = [...this.#index].flatMap(([session, { head }]) => (head === null ? [] : [{ key: [session], value: head }]));
        found.sort((a, b) => compare(a.key, b.key));
      } else {
        found = [];
        for (const session of [...this.#index.keys()].sort((a, b) => compare([a], [b]))) {
          found.push(...((await this.#rows(session, table))?.range([]) ?? []));
        }
      }
      const ordered = reverse ? [...found].reverse() : found;
      return (limit > 0 ? ordered.slice(0, limit) : ordered).map(copy);
    });
  }

  apply({ lease: { session, epoch }, expect, ops, durability }: StorageWrite): Promise<void> {
    return this.#alone(async () => {
      const log = await this.#log(session);
      await this.#caughtUp(log);
      const value = log.contents.rows("heads").get([session])?.value;
      const head = numbers(value);
      const damaged = value !== undefined && head === null;
      const current = head?.epoch ?? log.contents.claimed;
      if (damaged && (current === undefined || (current === epoch && expect !== null))) throw refuse("storage_corrupt", `heads ${session}`);
      if (current !== epoch || log.contents.epoch > epoch) throw refuse("superseded");
      if (expect !== null && expect.version !== (head?.version ?? null)) throw refuse("superseded");
      await this.#check(session, epoch, ops);
      // the whole write is one line of the session's file: after a crash it is there, or it is not
      const line = ops.map((op): StorageOp => (op.op === "add" ? { ...op, op: "put" } : op));
      await this.#append(log, { e: epoch, ops: line }, durability === "strict");
      await this.#bring(session, line);
      await this.#note(log);
      await this.#renew(log);
      this.#tell();
    });
  }

  release({ session, epoch }: StorageLease): Promise<void> {
    return this.#alone(async () => {
      if (this.#held.get(session) !== epoch) return;
      this.#held.delete(session);
      await this.#unlock(session);
      await this.#forget();
    });
  }

  watch(heard: (change: StorageChange) => void): () => void {
    // the same function may listen twice
    const own = (change: StorageChange): void => heard(change);
    this.#watching.add(own);
    if (this.#looking === undefined) {
      // what is there already is no news
      this.#look(false);
      this.#looking = setInterval(() => this.#look(true), LOOK);
      // a program is not kept alive by it
      (this.#looking as { unref?(): void }).unref?.();
    }
    return () => {
      this.#watching.delete(own);
      if (this.#watching.size > 0) return;
      clearInterval(this.#looking);
      this.#looking = undefined;
    };
  }

  /** Reads what other programs have added to the index, which costs nothing while that is nothing. */
  #look(tell: boolean): void {
    this.#alone(async () => {
      await this.#readIndex();
      if (tell) this.#tell();
      else for (const [session, { head }] of this.#index) this.#told.set(session, head);
    }).catch(() => {});
  }

  /** Whoever watches hears of every session whose head is another one than it was. */
  #tell(): void {
    if (this.#watching.size === 0) return;
    for (const [session, { head }] of this.#index) {
      if (this.#told.get(session) === head) continue;
      this.#told.set(session, head);
      const epoch = numbers(head ?? undefined)?.epoch;
      // later: who has just claimed it learns of the epoch first
      if (epoch !== undefined) for (const heard of this.#watching) setTimeout(() => this.#watching.has(heard) && heard({ session, epoch }));
    }
  }

  estimate(): Promise<{ used: number }> {
    return this.#alone(async () => {
      let used = 0;
      for (const name of await readdir(this.#folder)) used += await stat(join(this.#folder, name)).then(({ size }) => size, () => 0);
      return { used };
    });
  }

  close(): Promise<void> {
    return this.#alone(async () => {
      for (const session of this.#held.keys()) await this.#unlock(session);
      this.#held.clear();
      clearInterval(this.#looking);
      this.#looking = undefined;
      this.#watching.clear();
      for (const log of this.#logs.values()) await log.handle.close();
      this.#logs.clear();
      this.#ready = undefined;
      this.#index.clear();
      this.#indexSize = 0;
      open_.delete(this.#folder);
    });
  }

  /** What of a session's write belongs into other files is written there, too. */
  async #bring(session: string, ops: readonly StorageOp[]): Promise<void> {
    const homes = new Map<string, StorageOp[]>();
    for (const op of ops) {
      const home = homeOf(op);
      const all = home === undefined ? [...this.#index.keys()].map(homeOfSession) : [home];
      for (const one of all) {
        if (one === homeOfSession(session) || one === "none") continue;
        const list = homes.get(one);
        if (list === undefined) homes.set(one, [op]);
        else list.push(op);
      }
    }
    for (const [home, theirs] of homes) {
      const other = await this.#log(home === COMMON ? undefined : home.slice(2));
      await this.#caughtUp(other);
      await this.#append(other, { f: true, ops: theirs }, false);
      await this.#note(other);
      await this.#renew(other);
    }
  }

  /** What cannot be done is refused before anything is written. */
  async #check(session: string, epoch: number, ops: readonly StorageOp[]): Promise<void> {
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
      if (!SHARED.includes(table) && typeof key[0] !== "string") throw refuse("storage_failed", `the first part of a key of ${table} is its session`);
      // a head with another epoch would let two writers in
      if (op.op !== "delete" && table === "heads" && key.length === 1 && key[0] === session && numbers(op.value)?.epoch !== epoch) {
        throw refuse("storage_failed", "a head of another epoch");
      }
      const at = JSON.stringify([table, key]);
      if (op.op === "add") {
        const known = made.get(at) ?? (gone.some((one) => one.table === table && begins(key, one.prefix)) ? false : undefined);
        const there = known ?? (await this.#rows(SHARED.includes(table) ? undefined : (key[0] as string), table))?.get(key) !== undefined;
        if (there) throw refuse("row_exists", `${table} ${JSON.stringify(key)}`);
      }
      made.set(at, op.op !== "delete");
    }
  }

  /** The rows of a session's table, or of a shared one; nothing if there is no such session. */
  async #rows(session: string | undefined, table: StorageTable): Promise<Rows | undefined> {
    if (session !== undefined && !this.#index.has(session) && !this.#logs.has(session)) {
      await this.#readIndex();
      if (!this.#index.has(session)) return undefined;
    }
    const log = await this.#log(session);
    await this.#caughtUp(log);
    return log.contents.rows(table);
  }

  /** One thing after the other, and the first of all is to read the index. */
  #alone<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(async () => {
      this.#ready ??= this.#begin();
      try {
        await this.#ready;
      } catch (error) {
        this.#ready = undefined;
        throw refuse("storage_unavailable", error instanceof Error ? error.message : String(error));
      }
      try {
        return await act();
      } catch (error) {
        throw meaning(error);
      }
    });
    this.#turn = turn.catch(() => {});
    return turn;
  }

  // ── the index ──

  async #begin(): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    await this.#readIndex();
    const known = new Map([...this.#index].map(([session, { file }]) => [file, session]));
    const found = new Set<string>();
    for (const name of await readdir(this.#folder)) {
      if (name.endsWith(".new")) await rm(join(this.#folder, name), { force: true });
      if (!name.endsWith(".jsonl") || name === "index.jsonl" || name === `${COMMON}.jsonl`) continue;
      const file = name.slice(0, -".jsonl".length);
      found.add(file);
      const session = known.get(file);
      const { size } = await stat(join(this.#folder, name));
      if (session !== undefined && this.#index.get(session)?.size === size) continue;
      const owner = session ?? (await this.#owner(file));
      if (owner === undefined) continue;
      const entry = this.#index.get(owner);
      try {
        await this.#recover(owner, entry?.size ?? 0);
      } catch {
        // who asks for it hears what is wrong with it; the others are as they were
        this.#index.set(owner, { file, size: -1, head: entry?.head ?? null });
      }
    }
    for (const [session, { file }] of this.#index) if (!found.has(file)) this.#index.delete(session);
    if (this.#indexed > this.#index.size * 4 + 64) await this.#writeIndex();
  }

  /** Reads the index again, if another program has written it. */
  async #readIndex(): Promise<void> {
    const path = this.#path("index");
    const size = await stat(path).then((found) => found.size, () => 0);
    if (size === this.#indexSize) return;
    const text = await readText(path).catch(() => "");
    // what a crash has cut is one line of its own
    if (text !== "" && !text.endsWith("\n")) await writeFile(path, "\n", { flag: "a" });
    this.#indexed = 0;
    for (const line of text.split("\n")) {
      const entry = parsed(line) as (Entry & { session?: unknown }) | undefined;
      if (typeof entry?.session !== "string" || typeof entry.file !== "string") continue;
      this.#indexed += 1;
      this.#index.set(entry.session, { file: entry.file, size: entry.size, head: entry.head });
    }
    this.#indexSize = await stat(path).then((found) => found.size, () => 0);
  }

  /** A session's file of which the index does not know the end: what it wrote into other files may be missing there. */
  async #recover(session: string, from: number): Promise<void> {
    const log = await this.#log(session);
    let epoch = 0;
    for (const { line, end } of await this.#lines(log)) {
      if (line.f === true || (line.e ?? 0) < epoch) continue;
      epoch = line.e ?? epoch;
      if (end > from) await this.#bring(session, line.ops);
    }
    await this.#note(log);
  }

  async #owner(file: string): Promise<string | undefined> {
    const text = await readText(this.#path(file));
    const head = parsed(text.slice(0, Math.max(0, text.indexOf("\n")))) as { palimpsest?: unknown; session?: unknown } | undefined;
    // a file that was never finished has no first line: nothing was said in it
    return typeof head?.session === "string" ? head.session : undefined;
  }

  async #note(log: Log): Promise<void> {
    const { session } = log;
    if (session === undefined) return;
    const head = log.contents.rows("heads").get([session])?.value ?? null;
    const entry: Entry = { file: fileOf(session), size: log.contents.size, head };
    this.#index.set(session, entry);
    this.#indexed += 1;
    const line = `${JSON.stringify({ session, ...entry })}\n`;
    await writeFile(this.#path("index"), line, { flag: "a" });
    if (this.#indexed > this.#index.size * 4 + 1024) await this.#writeIndex();
    else this.#indexSize += new TextEncoder().encode(line).length;
  }

  async #writeIndex(): Promise<void> {
    const text = [...this.#index].map(([session, entry]) => `${JSON.stringify({ session, ...entry })}\n`).join("");
    const path = this.#path("index");
    await writeFile(`${path}.new`, text, { flag: "w" });
    await rename(`${path}.new`, path);
    this.#indexed = this.#index.size;
    this.#indexSize = new TextEncoder().encode(text).length;
  }

  // ── files ──

  #path(file: string): string {
    return join(this.#folder, `${file}.jsonl`);
  }

  /** A session's file, or the shared one, opened and read. */
  async #log(session: string | undefined): Promise<Log> {
    const known = this.#logs.get(session ?? "\u0000");
    if (known !== undefined) {
      // what was used last stays longest
      this.#logs.delete(session ?? "\u0000");
      this.#logs.set(session ?? "\u0000", known);
      return known;
    }
    const path = this.#path(session === undefined ? COMMON : fileOf(session));
    const handle = await open(path, "a+");
    const log: Log = { session, path, handle, contents: new Contents(session), next: WORTH };
    try {
      await this.#readOn(log);
      if (log.contents.size === 0) await this.#writeLine(log, { palimpsest: VERSION, session: session ?? null });
    } catch (error) {
      await handle.close();
      throw error;
    }
    this.#logs.set(session ?? "\u0000", log);
    await this.#forget();
    return log;
  }

  /** Sessions that nobody writes are read again when they are asked for. */
  async #forget(): Promise<void> {
    const idle = [...this.#logs.values()].filter(({ session }) => session !== undefined && !this.#held.has(session));
    for (const log of idle.slice(0, Math.max(0, idle.length - KEPT))) {
      this.#logs.delete(log.session as string);
      await log.handle.close();
    }
  }

  /** What another program has added meanwhile. */
  async #caughtUp(log: Log): Promise<void> {
    const [now, own] = [await stat(log.path).catch(() => undefined), await log.handle.stat()];
    if (now?.ino === own.ino && now.size === log.contents.size) return;
    if (now?.ino !== own.ino || now.size < log.contents.size) {
      // another program has written the file anew
      await log.handle.close();
      log.handle = await open(log.path, "a+");
      log.contents = new Contents(log.session);
    }
    await this.#readOn(log);
    if (log.contents.size === 0) await this.#writeLine(log, { palimpsest: VERSION, session: log.session ?? null });
  }

  /** Reads the lines after what is known, and takes a cut one off the end. */
  async #readOn(log: Log): Promise<void> {
    const { contents } = log;
    for (const { line, end } of await this.#lines(log, contents.size)) {
      contents.take(line);
      contents.size = end;
    }
    const { size } = await log.handle.stat();
    if (size > contents.size) await log.handle.truncate(contents.size);
  }

  /** The lines from a place on that are whole, with the place where each ends. */
  async #lines(log: Log, from = 0): Promise<{ line: Line; end: number }[]> {
    const { size } = await log.handle.stat();
    const bytes = new Uint8Array(Math.max(0, size - from));
    for (let at = 0; at < bytes.length;) {
      const { bytesRead } = await log.handle.read(bytes, at, bytes.length - at, from + at);
      if (bytesRead === 0) break;
      at += bytesRead;
    }
    const decoder = new TextDecoder();
    const found: { line: Line; end: number }[] = [];
    for (let at = 0; ;) {
      const end = bytes.indexOf(10, at);
      if (end === -1) break;
      const line = parsed(decoder.decode(bytes.subarray(at, end))) as (Line & { palimpsest?: unknown }) | undefined;
      if (typeof line?.palimpsest === "number" && line.palimpsest > VERSION) throw refuse("storage_newer", log.path);
      const known = line !== undefined && (line.palimpsest !== undefined || Array.isArray(line.ops));
      // in a file that is only added to nothing but its end can be cut; anything else is no fault of a crash
      if (!known && end + 1 < bytes.length) throw refuse("storage_corrupt", `${log.path}, at byte ${from + at}`);
      if (!known) break;
      found.push({ line: line.palimpsest === undefined ? line : { ops: [] }, end: from + end + 1 });
      at = end + 1;
    }
    return found;
  }

  /** Adds a write to a file. */
  async #append(log: Log, line: Line, strict: boolean): Promise<void> {
    const before = log.contents.size;
    await this.#writeLine(log, line);
    const { size } = await log.handle.stat();
    if (size !== log.contents.size) {
      // another program wrote between our look and our line: whose line counts, the epochs say
      log.contents.size = before;
      await this.#readOn(log);
      if (line.e !== undefined && log.contents.epoch > line.e) throw refuse("superseded");
    } else {
      log.contents.take(line);
    }
    if (strict) await log.handle.sync();
  }

  async #writeLine(log: Log, line: object): Promise<void> {
    const bytes = new TextEncoder().encode(`${JSON.stringify(line)}\n`);
    try {
      for (let at = 0; at < bytes.length;) {
        const { bytesWritten } = await log.handle.write(bytes, at, bytes.length - at, null);
        at += bytesWritten;
      }
    } catch (error) {
      // half a line would make the next one unreadable
      await log.handle.truncate(log.contents.size).catch(() => {});
      throw error;
    }
    log.contents.size += bytes.length;
  }

  /** Writes a file anew in which most is no longer true, and at once one of which nothing is left: what was erased is gone. */
  async #renew(log: Log): Promise<void> {
    const { session, contents } = log;
    const erased = contents.empty && contents.size > 1024;
    if (contents.size < log.next && !erased) return;
    if (!erased && contents.weight * 2 > contents.size) {
      log.next = contents.size * 2;
      return;
    }
    const ops: StorageOp[] = [];
    for (const [table, rows] of contents.tables) for (const { key, value } of rows.range([])) ops.push({ op: "put", table, key, value });
    const lines: object[] = [{ palimpsest: VERSION, session: session ?? null }];
    const whose = session === undefined ? { f: true } : { e: contents.epoch };
    for (let at = 0; at < ops.length; at += 256) lines.push({ ...whose, ops: ops.slice(at, at + 256) });
    // a claim without a head, or none at all: the epoch goes on from here
    if (session !== undefined && ops.length === 0) lines.push({ ...whose, ops: [] });
    if (contents.claimed !== undefined) lines.push({ e: contents.claimed, claim: true, ops: [] });
    const fresh = `${log.path}.new`;
    await writeFile(fresh, lines.map((line) => `${JSON.stringify(line)}\n`).join(""), { flag: "w" });
    const handle = await open(fresh, "a+");
    await handle.sync();
    await log.handle.close();
    await rename(fresh, log.path);
    log.handle = handle;
    contents.size = (await handle.stat()).size;
    log.next = Math.max(WORTH, contents.size * 2);
    await this.#note(log);
  }

  // ── other programs ──

  #lockPath(session: string): string {
    return join(this.#folder, `${fileOf(session)}.lock`);
  }

  async #lock(session: string): Promise<void> {
    await writeFile(this.#lockPath(session), JSON.stringify({ pid: process.pid }), { flag: "w" });
  }

  /** Takes our own lock away; that of a program that has taken the session over stays. */
  async #unlock(session: string): Promise<void> {
    if (!(await this.#isHeldElsewhere(session))) await rm(this.#lockPath(session), { force: true });
  }

  /** Whether another program that is still there holds the session. A courtesy: what counts is the epoch. */
  async #isHeldElsewhere(session: string): Promise<boolean> {
    const text = await readText(this.#lockPath(session)).catch(() => "");
    const pid = (parsed(text) as { pid?: unknown } | undefined)?.pid;
    if (typeof pid !== "number" || pid === process.pid) return false;
    try {
      return process.kill(pid, 0);
    } catch (error) {
      return (error as { code?: unknown }).code === "EPERM";
    }
  }
}

/** A head with another epoch and everything else as it was. */
function withEpoch(value: string, epoch: number): string {
  return JSON.stringify({ ...(JSON.parse(value) as object), epoch });
}

/** The name of a session's file: its own where every file system can have that, and a digest so that no two are the same. */
function fileOf(session: string): string {
  const plain = /^[a-z0-9][a-z0-9-]{0,63}$/.test(session) ? session : "session";
  return `${plain}-${createHash("sha256").update(session).digest("hex").slice(0, 24)}`;
}

function parsed(line: string): unknown {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

async function readText(path: string): Promise<string> {
  return new TextDecoder().decode(await readFile(path));
}

/** A failure of the file system with a code of ours. */
function meaning(error: unknown): unknown {
  const code = (error as { code?: unknown } | null)?.code;
  if (code === "ENOSPC" || code === "EDQUOT") return refuse("storage_quota", (error as Error).message);
  return error;
}
