// A segment: the file of one claim of a session. Who made the claim writes it, nobody else.
//
//   { "palimpsest": 2, "session": …, "epoch": …, "holder": … }   who claims. The file appears with this line in it, and with its
//                                     number only one can appear: from then on nobody else may write.
//   { "from": [[1, 4711], …], "head": …, "claimed": … }   the seal: the segments before it, and how many bytes of each count. From
//                                     then on this segment says what the session is. A segment without a seal says nothing.
//   { "ops": […], "h": 123 }          a write, all of it or nothing; `h` is where the last line before it stands that says the head
//   { "released": true, "h": 123 }    the claim is given back

import type { FileHandle } from "node:fs/promises";
import type { StorageOp } from "../storage.js";
import { bytesOf } from "./disk.js";
import type { Holder } from "./holder.js";
import { refuse } from "./refusal.js";

/** The version of the files. */
export const VERSION = 2;
/** Bytes that are read at once where a line is looked for. */
const PIECE = 1 << 14;

/** The first line of a segment. */
export interface Header {
  palimpsest: number;
  session: string;
  epoch: number;
  holder: Holder;
}

/** The second line of a segment. */
export interface Seal {
  from: [segment: number, bytes: number][];
  /** The value of the head, with the epoch of this claim. */
  head: string | null;
  /** The epoch of the claim while there is no head for it. */
  claimed: number | null;
  /** The line is there and cannot be read. Never written. */
  isDamaged?: true;
}

/** Any line after those. */
export interface Line {
  ops?: StorageOp[];
  released?: true;
  /** Where the line is that says the head. */
  h: number;
}

/** A line as it was found. */
export interface Found<T> {
  /** Nothing if it cannot be read. */
  line: T | undefined;
  start: number;
  /** The place after it. */
  end: number;
}

/** The bytes of a line. */
export function encoded(line: Header | Seal | Line): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify(line)}\n`);
}

/** A segment's name. */
export const nameOf = (segment: number): string => `${segment}.jsonl`;

/** The number of a segment, or nothing if that is the name of something else. */
export function numberOf(name: string): number | undefined {
  const number = /^([1-9]\d{0,14})\.jsonl$/.exec(name)?.[1];
  return number === undefined ? undefined : Number(number);
}

/** A line's object, or nothing. */
export function parsed<T extends object>(text: string): T | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as T) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The lines of a file from a place on that are whole. A line whose end is not there yet is not one. The last one is not either, if
 * it cannot be read: its writer may be at it. One before it that cannot be read is damaged.
 */
export async function linesOf<T extends object>(handle: FileHandle, from: number, to?: number): Promise<Found<T>[]> {
  const bytes = await bytesOf(handle, from, to);
  const decoder = new TextDecoder();
  const found: Found<T>[] = [];
  for (let at = 0; ;) {
    const end = bytes.indexOf(10, at);
    if (end === -1) break;
    found.push({ line: parsed<T>(decoder.decode(bytes.subarray(at, end))), start: from + at, end: from + end + 1 });
    at = end + 1;
  }
  if (found.at(-1)?.line === undefined) found.pop();
  return found;
}

/** The first lines of a file, as many as are whole. */
async function firstLines(handle: FileHandle, count: number): Promise<Found<object>[]> {
  for (let length = PIECE; ; length *= 4) {
    const bytes = await bytesOf(handle, 0, length);
    const decoder = new TextDecoder();
    const found: Found<object>[] = [];
    for (let at = 0; found.length < count;) {
      const end = bytes.indexOf(10, at);
      if (end === -1) break;
      found.push({ line: parsed(decoder.decode(bytes.subarray(at, end))), start: at, end: end + 1 });
      at = end + 1;
    }
    if (found.length === count || bytes.length < length) return found;
  }
}

/** How a segment begins. */
export interface Beginning {
  header: Header | undefined;
  /** Nothing if the segment says nothing yet. */
  seal: Seal | undefined;
  /** Where the seal begins, or has to be written. */
  sealAt: number;
  /** Where the first write begins. */
  end: number;
}

/** Reads how a segment begins. */
export async function beginningOf(handle: FileHandle): Promise<Beginning> {
  const [first, second] = await firstLines(handle, 2);
  const known = first?.line as Partial<Header> | undefined;
  if (typeof known?.palimpsest === "number" && known.palimpsest > VERSION) throw refuse("storage_newer", "the session was written by a newer version");
  const header = typeof known?.session === "string" && typeof known.epoch === "number" && known.holder !== undefined ? (known as Header) : undefined;
  if (first === undefined) return { header, seal: undefined, sealAt: 0, end: 0 };
  const said = second?.line as Partial<Seal> | undefined;
  let seal = Array.isArray(said?.from) ? (said as Seal) : undefined;
  // what was written after it proves that it was there
  if (seal === undefined && second !== undefined && (await firstLines(handle, 3)).length === 3) {
    seal = { from: [], head: null, claimed: null, isDamaged: true };
  }
  return { header, seal, sealAt: first.end, end: second?.end ?? first.end };
}

/** The last line of a file that can be read, not before a place; nothing if there is none. */
export async function lastLine(handle: FileHandle, from: number): Promise<Found<Line> | undefined> {
  const size = Number((await handle.stat({ bigint: true })).size);
  for (let length = PIECE; ; length *= 4) {
    const start = Math.max(from, size - length);
    const bytes = await bytesOf(handle, start, size);
    const decoder = new TextDecoder();
    for (let end = bytes.lastIndexOf(10); end > 0;) {
      const before = bytes.lastIndexOf(10, end - 1);
      // the beginning of that line is further up
      if (before === -1 && start > from) break;
      const line = parsed<Line>(decoder.decode(bytes.subarray(before + 1, end)));
      if (line !== undefined) return { line, start: start + before + 1, end: start + end + 1 };
      end = before;
    }
    if (start === from) return undefined;
  }
}
