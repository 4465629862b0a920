// The right to write a session: a segment of one's own. Each claim makes the next number, which only one program can, so nothing
// has to be locked and nothing is left locked by a program that is killed.
//
// What a kill leaves, by the moment it comes:
// - before the segment appears: a draft that nobody looks at.
// - then, before its seal: a segment that says nothing. Who held the session before goes on once that program is gone; the next
//   claim makes a higher one and removes it.
// - in the seal or in a write: a line without an end, which is no line. It need not be cut: the next claim's seal says how much counts.
// - while what is old is removed: files that no seal names. The next claim removes them.
//
// Who holds the session looks, after each write, whether there is a higher segment. If not, the write counts: whoever makes one later
// looks afterwards how much there is. If so, it counts only if that segment's seal says so. A program that was stopped and goes on
// after it was superseded writes into a file whose length is settled.

import { open, rmdir, type FileHandle } from "node:fs/promises";
import { numbersOf, touchesHead, withEpoch } from "./contents.js";
import { discard, removeDrafts, syncFile, syncFolder, takePlace, writeAt, type Durability } from "./disk.js";
import { dropClaim, lifeOf, thisProgram, type Holder } from "./holder.js";
import { oldHolder } from "./older.js";
import { codeOf, refuse } from "./refusal.js";
import { beginningOf, encoded, nameOf, VERSION, type Line, type Seal } from "./segment.js";
import { pause, SEALING, type Claim, type SessionLog } from "./session-log.js";
import type { StorageOp } from "../storage.js";

/** Claims that may come between one's look and one's own before it is given up. */
const TRIES = 20;
/** Bytes of a segment that are worth writing the session anew, if most of them are no longer true. */
const WORTH = 1 << 18;
/** Segments after which a session is written anew, so that reading it stays quick. */
const MANY = 16;
/** Bytes after which even a session without rows is written anew. */
const ERASED = 1024;

/** What a claim does where the session is held, or where there is no claim at all. */
export type Manner = "refuse" | "take over" | "borrow";

/** The right to write a session. */
export class Lease {
  readonly log: SessionLog;
  readonly epoch: number;
  readonly holder: Holder;
  number: number;
  #handle: FileHandle;
  /** Whether what came before the first strict write is on the disk. */
  #isSynced = false;
  /** Bytes after which writing the session anew is considered. */
  #next = WORTH;

  private constructor(log: SessionLog, epoch: number, holder: Holder, number: number, handle: FileHandle) {
    this.log = log;
    this.epoch = epoch;
    this.holder = holder;
    this.number = number;
    this.#handle = handle;
  }

  /**
   * Makes the next segment of a session. To borrow is to write it without a claim: the epoch stays, and the head. `ready` is called
   * once nothing refuses the claim, before anything is written.
   */
  static async claim(log: SessionLog, manner: Manner, ready: () => Promise<void>): Promise<Lease> {
    for (let tries = 0; tries < TRIES; tries++) {
      const top = await topOf(log);
      await log.refresh();
      if (manner !== "take over" && (await isHeld(log, top))) throw refuse("session_busy");
      const { head } = log.contents;
      if (manner === "refuse" && head !== undefined && numbersOf(head) === null) throw refuse("storage_corrupt", `heads ${log.session}`);
      await ready();
      const epoch = manner === "borrow" ? log.contents.epoch : Math.max(log.contents.next, await epochAfter(log, top));
      const holder = await thisProgram();
      const number = (top?.number ?? 0) + 1;
      const header = { palimpsest: VERSION, session: log.session, epoch, holder };
      const text = new TextDecoder().decode(encoded(header));
      if (!(await takePlace(log.place, nameOf(number), text, "relaxed"))) continue;
      try {
        const lease = await Lease.#seal(log, manner, { top, epoch, holder, number });
        if (lease !== undefined) return lease;
      } catch (error) {
        dropClaim(holder);
        throw error;
      }
      dropClaim(holder);
    }
    throw refuse("session_busy");
  }

  /** From the moment a segment has its name nobody below it may write: how much is there can be settled. */
  static async #seal(log: SessionLog, manner: Manner, made: { top: Claim | undefined; epoch: number; holder: Holder; number: number }): Promise<Lease | undefined> {
    const { top, epoch, holder, number } = made;
    await log.refresh();
    // somebody was quicker
    if (log.number >= number) return undefined;
    // the session was removed and begun again between our look and our claim
    if (manner !== "take over" && log.number > 0 && log.number !== top?.number && !log.isReleased && log.holder !== undefined && (await lifeOf(log.holder)) === "alive") {
      await discard(log.pathOf(number));
      return undefined;
    }
    const head = log.contents.head ?? null;
    const isReadable = numbersOf(head) !== null;
    const seal: Seal =
      manner === "borrow"
        ? { from: log.chain, head, claimed: log.contents.claimed }
        : { from: log.chain, head: isReadable ? withEpoch(head as string, epoch) : head, claimed: isReadable ? null : epoch };
    const handle = await open(log.pathOf(number), "r+");
    try {
      const { sealAt } = await beginningOf(handle);
      const bytes = encoded(seal);
      await writeAt(handle, bytes, sealAt);
      if ((await log.numbers())[0] !== number) {
        // somebody was quicker, and counts
        await handle.close();
        return undefined;
      }
      await log.become(number, handle);
      log.contents.epoch = epoch;
      log.contents.sealed(seal.head, seal.claimed);
      log.holder = holder;
      Object.assign(log, { from: seal.from, headAt: sealAt, size: sealAt + bytes.length });
    } catch (error) {
      await handle.close().catch(() => {});
      throw error;
    }
    const lease = new Lease(log, epoch, holder, number, handle);
    // the session is ours: what cannot be removed or written anew now can be later
    await lease.#tidy().catch(() => {});
    if (seal.from.length > MANY) await lease.#anew().catch(() => {});
    return lease;
  }

  /** Whether nobody has taken the session over. */
  async isOurs(): Promise<boolean> {
    return this.#counts(undefined);
  }

  /** Writes: all operations or none. `superseded` if somebody has taken the session over. */
  async append(ops: StorageOp[], durability: Durability): Promise<void> {
    const { log } = this;
    const at = log.size;
    const isHead = ops.some((op) => touchesHead(op, log.session));
    const line: Line = { ops, h: isHead ? at : log.headAt };
    const end = await this.#write(line, durability);
    if (!(await this.#counts(end))) throw refuse("superseded");
    log.read(line, at, end);
  }

  /** Writes the session anew if most of what is there is no longer true, and at once if nothing of it is: what was erased is gone. */
  async renew(): Promise<void> {
    const { contents, from } = this.log;
    const size = from.reduce((sum, [, bytes]) => sum + bytes, this.log.size);
    const isErased = contents.isEmpty && (size > ERASED || from.length > 0);
    if (!isErased && size < this.#next) return;
    if (isErased) {
      await this.#anew();
      return;
    }
    this.#next = size * 2;
    // what was written counts, also where there is no room for writing it anew
    if (contents.weight * 2 <= size) await this.#anew().catch(() => {});
  }

  /** Gives the session back. One without rows is removed. */
  async release(): Promise<void> {
    const { log } = this;
    try {
      if (!(await this.#counts(undefined))) return;
      if (log.contents.isEmpty && log.contents.head === undefined && log.contents.claimed === null) await this.#remove();
      else await this.#write({ released: true, h: log.headAt }, "relaxed").then(() => { log.isReleased = true; });
    } finally {
      dropClaim(this.holder);
    }
  }

  /** Writes a line after the last one. Gives the place after it. */
  async #write(line: Line, durability: Durability): Promise<number> {
    const { log } = this;
    const bytes = encoded(line);
    try {
      await writeAt(this.#handle, bytes, log.size);
      if (durability === "strict") await this.#sync();
    } catch (error) {
      // the segment is ours alone: what was not written whole is taken off again
      await this.#handle.truncate(log.size).catch(() => {});
      throw error;
    }
    return log.size + bytes.length;
  }

  async #sync(): Promise<void> {
    await this.#handle.sync();
    if (this.#isSynced) return;
    // what this write builds upon may have been written without that
    for (const [number] of this.log.from) await syncFile(this.log.pathOf(number)).catch(unlessMissing);
    const { place } = this.log;
    for (const folder of [place, `${place}/..`, `${place}/../..`]) await syncFolder(folder);
    this.#isSynced = true;
  }

  /**
   * Whether we may still write or, with a place, whether what we have written up to there counts. It asks for the highest segment:
   * while that is ours, whoever claims later will find all of this.
   */
  async #counts(end: number | undefined): Promise<boolean> {
    const { log, number } = this;
    for (const until = Date.now() + SEALING; ;) {
      const numbers = await log.numbers();
      if (log.number !== number || !numbers.includes(number) || !(await log.isInPlace())) return false;
      const above = await log.above(numbers);
      if (above.seal !== undefined) return end !== undefined && above.seal.from.some(([one, bytes]) => one === number && bytes >= end);
      if (above.isSealed && end === undefined) return false;
      if (above.isOver) return true;
      if (Date.now() > until) return false;
      await pause(10);
    }
  }

  /** Writes what is true into the next segment, whole before it appears, and removes those before it. */
  async #anew(): Promise<void> {
    const { log, holder, epoch } = this;
    // above ours there may be claims that were never finished; one that is made now takes this number, and then it is not ours
    const number = ((await log.numbers())[0] ?? this.number) + 1;
    if (!(await this.#counts(undefined))) return;
    const { contents } = log;
    const header = encoded({ palimpsest: VERSION, session: log.session, epoch, holder });
    const seal: Seal = { from: [], head: contents.head ?? null, claimed: contents.claimed };
    const parts = [header, encoded(seal)];
    let size = header.length + (parts[1] as Uint8Array).length;
    let isWritten = false;
    for (const ops of contents.puts()) {
      const rows = ops.filter((op) => !touchesHead(op, log.session));
      if (rows.length === 0) continue;
      const line = encoded({ ops: rows, h: header.length });
      parts.push(line);
      size += line.length;
      isWritten = true;
    }
    const decoder = new TextDecoder();
    if (!(await takePlace(log.place, nameOf(number), parts.map((part) => decoder.decode(part)).join(""), "strict"))) return;
    const handle = await open(log.pathOf(number), "r+");
    await log.become(number, handle);
    this.number = number;
    this.#handle = handle;
    Object.assign(log, { from: [], headAt: header.length, size, isWritten, holder });
    this.#next = Math.max(WORTH, size * 2);
    await this.#tidy();
  }

  /** Removes the segments below ours that its seal does not name. Nobody can build on them any more: ours is the highest with a seal. */
  async #tidy(): Promise<void> {
    const { log } = this;
    const kept = new Set(log.from.map(([number]) => number));
    for (const number of await log.numbers()) if (number < this.number && !kept.has(number)) await discard(log.pathOf(number));
    if (!kept.has(0)) {
      await discard(log.older);
      await discard(log.older.replace(/\.jsonl$/, ".lock"));
    }
    await removeDrafts(log.place);
  }

  /** Removes a session without rows. Its last segment names no other, so that it may go at any moment. */
  async #remove(): Promise<void> {
    const { log } = this;
    if (log.from.length > 0 || log.isWritten) await this.#anew();
    if (log.from.length > 0 || log.isWritten) return;
    await discard(log.pathOf(this.number));
    await rmdir(log.place).catch((error: unknown) => {
      // somebody begins it again
      if (!["ENOTEMPTY", "EEXIST", "ENOENT"].includes(String(codeOf(error)))) throw error;
    });
  }
}

function unlessMissing(error: unknown): void {
  if (codeOf(error) !== "ENOENT") throw error;
}

/** Claims grow with the segments, also beside one that was never finished. */
async function epochAfter(log: SessionLog, top: Claim | undefined): Promise<number> {
  if (top === undefined || top.isSealed) return 0;
  return ((await log.beginning(top.number))?.header?.epoch ?? 0) + 1;
}

/** The highest segment. On a file system without links it appears before it says whose it is: then that is waited for, a while. */
async function topOf(log: SessionLog): Promise<Claim | undefined> {
  for (;;) {
    const top = await log.claim();
    const isUnsaid = top !== undefined && top.holder === undefined && !top.isSealed && Date.now() - top.at < SEALING;
    if (!isUnsaid) return top;
    await pause(10);
  }
}

/** Whether a program that is still there holds a session. */
async function isHeld(log: SessionLog, top: Claim | undefined): Promise<boolean> {
  if (top === undefined) return (await oldHolder(log.older.replace(/\.jsonl$/, ".lock"))) !== undefined;
  if (top.number === log.number && log.isReleased) return false;
  if (top.holder !== undefined && (await lifeOf(top.holder)) === "alive") return true;
  if (top.isSealed || log.number <= 0 || log.isReleased || log.holder === undefined) return false;
  // a claim above the holder's that was never finished
  return (await lifeOf(log.holder)) === "alive";
}
