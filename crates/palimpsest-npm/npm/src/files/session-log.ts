// A session as its segments say it. Whoever looks reads only; nothing here writes.
//
// The highest segment with a seal counts, and those that its seal names. Segments above it are claims that are being made, or were
// never finished. A segment that a seal names goes away only after a higher one has a seal that does not name it: who finds one
// missing looks again.
//
// What its holder writes while a claim is being made counts only if that claim's seal says so. Who reads waits for the seal, so that
// nothing is shown that is gone a moment later.

import { open, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { Contents, touchesHead } from "./contents.js";
import { fileOf, namesIn, statOf } from "./disk.js";
import { lifeOf, type Holder } from "./holder.js";
import { takeOld } from "./older.js";
import { codeOf } from "./refusal.js";
import { beginningOf, linesOf, nameOf, numberOf, type Beginning, type Line, type Seal } from "./segment.js";

/** Looks at a session that is being written anew before a missing segment counts as lost. */
const LOOKS = 50;

/** Milliseconds that a claim may take until its seal. */
export const SEALING = 2000;

/** Waits. */
export const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => { setTimeout(resolve, milliseconds); });

/** The folder of a session's segments. */
export const folderOf = (folder: string, session: string): string => join(folder, "sessions", fileOf(session, "session"));

/** A claim that was made: the highest segment. */
export interface Claim {
  number: number;
  /** Nothing if the segment does not say it yet, or cannot be read. */
  holder: Holder | undefined;
  isSealed: boolean;
  /** When the segment was last written. */
  at: number;
}

/** The segments above the one that was read. */
export interface Above {
  /** The seal of the highest one. */
  seal: Seal | undefined;
  /** True where any of them has a seal. */
  isSealed: boolean;
  /** True where there is none, or none that will ever have a seal: their programs are gone. */
  isOver: boolean;
}

/** A session's segments, read as far as they are known. */
export class SessionLog {
  readonly session: string;
  /** Where its segments are. */
  readonly place: string;
  /** Its file of version 1. */
  readonly older: string;
  contents: Contents;
  /** The segment that says what the session is: 0 is the file of version 1, -1 if there is neither. */
  number = -1;
  /** That segment. */
  handle: FileHandle | undefined;
  holder: Holder | undefined;
  isReleased = false;
  /** The segments before it. */
  from: Seal["from"] = [];
  /** Bytes of it that were read. */
  size = 0;
  /** Where the line in it is that says the head. */
  headAt = 0;
  /** Whether anything was written after the seal. */
  isWritten = false;
  /** The segment and its bytes up to which every line counts. */
  #settled = "";

  constructor(folder: string, session: string) {
    this.session = session;
    this.place = folderOf(folder, session);
    this.older = join(folder, `${fileOf(session, "session")}.jsonl`);
    this.contents = new Contents(session);
  }

  /** The numbers of the segments that are there, the highest first. */
  async numbers(): Promise<number[]> {
    const names = await namesIn(this.place);
    return names.flatMap((name) => numberOf(name) ?? []).sort((a, b) => b - a);
  }

  pathOf(number: number): string {
    return number === 0 ? this.older : join(this.place, nameOf(number));
  }

  /** Reads what others have written since. */
  async refresh(): Promise<void> {
    for (let looks = 1; ; looks++) {
      try {
        await this.#refresh(looks > LOOKS);
        return;
      } catch (error) {
        if (codeOf(error) !== "ENOENT") throw error;
        await pause(4);
      }
    }
  }

  /** Reads what others have written since and what of it counts. */
  async look(): Promise<void> {
    for (const until = Date.now() + SEALING; ;) {
      await this.refresh();
      const read = `${this.number} ${this.size}`;
      if (this.number <= 0 || read === this.#settled) return;
      // lines that were there before anybody has begun a claim are found by every claim
      const { isOver } = await this.above(await this.numbers());
      if (isOver) this.#settled = read;
      if (isOver || Date.now() > until) return;
      await pause(4);
    }
  }

  /** Looks at the segments above the one that was read. */
  async above(numbers: number[]): Promise<Above> {
    const higher = numbers.filter((one) => one > this.number);
    if (higher.length === 0) return { seal: undefined, isSealed: false, isOver: true };
    const looked = await Promise.all(higher.map((one) => this.beginning(one)));
    const lives = await Promise.all(higher.map(async (one, i) => {
      const header = looked[i]?.header;
      if (header !== undefined) return lifeOf(header.holder);
      return (await isAbandoned(this.pathOf(one))) ? "gone" : "unknown";
    }));
    // what a program has written that is gone now is seen by a look after that
    const found = await Promise.all(higher.map((one) => this.beginning(one)));
    const isSealed = found.some((one) => one?.seal !== undefined);
    const isSame = found.every((one, i) => one !== undefined && one.header?.holder.claim === looked[i]?.header?.holder.claim);
    return { seal: found[0]?.seal, isSealed, isOver: !isSealed && isSame && lives.every((life) => life === "gone") };
  }

  /** The highest segment. */
  async claim(): Promise<Claim | undefined> {
    for (;;) {
      const number = (await this.numbers())[0];
      if (number === undefined) return undefined;
      const handle = await this.#open(number);
      if (handle === undefined) continue;
      try {
        const { header, seal } = await beginningOf(handle);
        const at = Number((await handle.stat({ bigint: true })).mtimeMs);
        return { number, holder: header?.holder, isSealed: seal !== undefined, at };
      } finally {
        await handle.close();
      }
    }
  }

  /** How a segment begins; nothing if it is not there any more. */
  async beginning(number: number): Promise<Beginning | undefined> {
    const handle = await this.#open(number);
    if (handle === undefined) return undefined;
    try {
      return await beginningOf(handle);
    } finally {
      await handle.close();
    }
  }

  /** Whether the segment that was read is the one with its name. A handle that is open keeps the numbers of its file from being given to another. */
  async isInPlace(): Promise<boolean> {
    if (this.handle === undefined) return false;
    const there = await statOf(this.pathOf(this.number));
    const own = await this.handle.stat({ bigint: true });
    return there !== undefined && there.ino === own.ino && there.dev === own.dev;
  }

  /** What the next segment is to name. A segment in which nothing was written need not stay. */
  get chain(): Seal["from"] {
    if (this.number < 0) return [];
    return this.isWritten ? [...this.from, [this.number, this.size]] : this.from;
  }

  /** Another segment says what the session is from now on; what was read stays true. */
  async become(number: number, handle: FileHandle): Promise<void> {
    await this.close();
    this.number = number;
    this.handle = handle;
    this.isReleased = false;
    this.isWritten = false;
  }

  async close(): Promise<void> {
    const { handle } = this;
    this.handle = undefined;
    this.number = -1;
    await handle?.close();
  }

  async #open(number: number): Promise<FileHandle | undefined> {
    try {
      return await open(this.pathOf(number), "r");
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  async #refresh(isLast: boolean): Promise<void> {
    const numbers = await this.numbers();
    for (const number of numbers) {
      if (number === this.number && (await this.isInPlace())) {
        await this.#readOn();
        return;
      }
      const handle = await open(this.pathOf(number), "r");
      try {
        const beginning = await beginningOf(handle);
        if (beginning.seal === undefined) {
          await handle.close();
          continue;
        }
        await this.#load(number, handle, beginning, numbers, isLast);
      } catch (error) {
        await handle.close();
        throw error;
      }
      return;
    }
    if (this.number === 0 && (await this.isInPlace())) {
      await this.#readOn();
      return;
    }
    await this.close();
    this.contents = new Contents(this.session);
    this.holder = undefined;
    Object.assign(this, { isReleased: false, isWritten: false, from: [], size: 0, headAt: 0 });
    const older = await this.#open(0);
    if (older === undefined) return;
    this.number = 0;
    this.handle = older;
    this.isWritten = true;
    await this.#readOn();
  }

  /** Reads a segment, and before it those that its seal names. */
  async #load(number: number, handle: FileHandle, { header, seal, sealAt, end }: Beginning, numbers: number[], isLast: boolean): Promise<void> {
    const contents = new Contents(this.session);
    // a seal that cannot be read any more named some of those that are there
    const from = seal?.from ?? [];
    const named: Seal["from"] = seal?.isDamaged === true ? numbers.filter((one) => one < number).reverse().map((one) => [one, Infinity]) : from;
    for (const [earlier, bytes] of named) {
      const part = await this.#open(earlier);
      if (part === undefined && !isLast) throw Object.assign(new Error("a segment is missing"), { code: "ENOENT" });
      // what is missing for good is missing; the rest can be read
      if (part === undefined) continue;
      try {
        if (earlier === 0) await takeOld(part, contents, 0, bytes);
        else {
          const its = await beginningOf(part);
          take(contents, its);
          for (const { line } of await linesOf<Line>(part, its.end, bytes)) contents.take(line?.ops ?? []);
        }
      } finally {
        await part.close();
      }
    }
    take(contents, { header, seal, sealAt, end });
    await this.close();
    this.contents = contents;
    this.number = number;
    this.handle = handle;
    this.holder = header?.holder;
    this.from = named;
    this.#settled = "";
    Object.assign(this, { isReleased: false, isWritten: false, size: end, headAt: sealAt });
    await this.#readOn();
  }

  async #readOn(): Promise<void> {
    if (this.handle === undefined) return;
    if (Number((await this.handle.stat({ bigint: true })).size) < this.size) {
      // its holder has taken a write off again that did not succeed: it is read from its beginning
      await this.close();
      throw Object.assign(new Error("the segment is shorter than it was"), { code: "ENOENT" });
    }
    if (this.number === 0) {
      this.size = await takeOld(this.handle, this.contents, this.size);
      return;
    }
    for (const { line, start, end } of await linesOf<Line>(this.handle, this.size)) this.read(line, start, end);
  }

  /** Takes a line of the segment over. */
  read(line: Line | undefined, start: number, end: number): void {
    this.size = end;
    if (line?.released === true) this.isReleased = true;
    if (!Array.isArray(line?.ops)) return;
    this.isWritten = true;
    this.contents.take(line.ops);
    if (line.ops.some((op) => touchesHead(op, this.session))) this.headAt = start;
  }
}

/**
 * Tells a segment without a header that will never have one: on a file system without links a segment appears before its header does,
 * and its program may end between the two. One that only waits has not looked at the session yet, and finds what is written meanwhile.
 */
async function isAbandoned(path: string): Promise<boolean> {
  const found = await statOf(path);
  return found !== undefined && Date.now() - Number(found.mtimeMs) > SEALING;
}

/** What a segment says before its first write. */
function take(contents: Contents, { header, seal }: Beginning): void {
  if (header !== undefined) contents.epoch = Math.max(contents.epoch, header.epoch);
  if (seal === undefined || seal.isDamaged === true) return;
  contents.sealed(seal.head, seal.claimed);
}
