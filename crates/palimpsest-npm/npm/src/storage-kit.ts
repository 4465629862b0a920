// What a storage over a database shares with every other: keys as bytes that sort as keys do, and the rules of who may write.

import type { StorageKey, StorageWrite } from "./storage.js";

export type {
  StorageAdapter,
  StorageChange,
  StorageKey,
  StorageLease,
  StorageOp,
  StorageQuery,
  StorageRow,
  StorageTable,
  StorageWrite,
} from "./storage.js";

/** The codes with which a storage refuses. */
export type StorageRefusal = "session_busy" | "superseded" | "row_exists" | "storage_quota" | "storage_newer" | "storage_unavailable" | "storage_corrupt" | "storage_failed";

/** An error for a storage to throw. */
export function storageError(code: StorageRefusal, message: string = code): Error & { code: StorageRefusal } {
  return Object.assign(new Error(message), { code });
}

const NUMBER = 1;
const TEXT = 2;

/**
 * A key as bytes, which sort as the keys do: byte by byte, a shorter one before those that begin with it. The bytes of a key that
 * begins with another one begin with that one's bytes.
 *
 * @example
 * ```ts
 * import { decodeKey, encodeKey } from "palimpsest/storage";
 *
 * const bytes = encodeKey(["japan", 12]); // for a column of type BLOB, BYTEA, VARBINARY
 * console.log(decodeKey(bytes)); // ["japan", 12]
 * ```
 */
export function encodeKey(key: StorageKey): Uint8Array {
  const bytes: number[] = [];
  for (const part of key) {
    if (typeof part === "number") {
      bytes.push(NUMBER);
      // whole numbers up to 2^53, the highest byte first
      for (let n = 6; n >= 0; n--) bytes.push(Math.floor(part / 2 ** (8 * n)) % 256);
      continue;
    }
    bytes.push(TEXT);
    // texts sort by their UTF-16 units; 0 0 ends one, so a unit 0 is 0 0 0 1
    for (let at = 0; at < part.length; at++) {
      const unit = part.charCodeAt(at);
      bytes.push(unit >> 8, unit & 255);
      if (unit === 0) bytes.push(0, 1);
    }
    bytes.push(0, 0, 0, 0);
  }
  return Uint8Array.from(bytes);
}

/** The key of {@link encodeKey}'s bytes. */
export function decodeKey(bytes: Uint8Array): StorageKey {
  const key: StorageKey = [];
  let at = 0;
  const next = (): number => bytes[at++] ?? 0;
  while (at < bytes.length) {
    if (next() === NUMBER) {
      let part = 0;
      for (let n = 0; n < 7; n++) part = part * 256 + next();
      key.push(part);
      continue;
    }
    let part = "";
    for (;;) {
      const unit = (next() << 8) | next();
      if (unit === 0 && ((next() << 8) | next()) === 0) break;
      part += String.fromCharCode(unit);
    }
    key.push(part);
  }
  return key;
}

/**
 * The bytes between which the keys of a range lie: from the first on, and before the second; `null` where nothing lies after them.
 * Where a range has bounds, only keys whose next part is a number lie between them.
 */
export function keyRange({ prefix, from, to }: { prefix: StorageKey; from?: number | undefined; to?: number | undefined }): { from: Uint8Array; before: Uint8Array | null } {
  if (from === undefined && to === undefined) {
    const first = encodeKey(prefix);
    return { from: first, before: after(first) };
  }
  const last = to === undefined ? Uint8Array.from([...encodeKey(prefix), NUMBER]) : encodeKey([...prefix, to]);
  return { from: encodeKey([...prefix, from ?? 0]), before: after(last) };
}

/** The first bytes that sort after all that begin with these. */
function after(bytes: Uint8Array): Uint8Array | null {
  const last = bytes.findLastIndex((byte) => byte < 255);
  if (last < 0) return null;
  const next = bytes.slice(0, last + 1);
  next[last] = (next[last] ?? 0) + 1;
  return next;
}

/** What is stored of who may write a session, as it is inside of the transaction that looks at it. */
export interface SessionState {
  /** The value of the row `[session]` of `heads`; nothing if there is none. */
  head: string | null | undefined;
  /** The epoch that is kept beside a session without a head; nothing if there is none. */
  epoch: number | null | undefined;
}

/** The first epoch after a head that could not be read: far from any that was counted up. */
const AFTER_DAMAGE = 2 ** 30;

/** The numbers of a head; `null` if it cannot be read. */
function numbers(value: string): { epoch: number; version: number } | null {
  try {
    const head = JSON.parse(value) as { epoch: number; version: number };
    return Number.isInteger(head.epoch) && Number.isInteger(head.version) ? head : null;
  } catch {
    return null;
  }
}

/**
 * What a claim does: to be called, and its answer written, in one transaction. Whether another holder is alive is yours to know.
 *
 * @returns the new `epoch`, and where it is to be kept: in the `head`, which takes the place of the one before, or, where there is
 * none that can be read, beside the session
 * @throws `storage_corrupt` for a head that cannot be read, unless it is taken over
 */
export function nextClaim(state: SessionState, takeOver: boolean): { epoch: number; head?: string } {
  const head = typeof state.head === "string" ? numbers(state.head) : undefined;
  if (head === null && !takeOver) throw storageError("storage_corrupt", "the head of the session cannot be read");
  const epoch = (head?.epoch ?? state.epoch ?? (head === null ? AFTER_DAMAGE : 0)) + 1;
  return head ? { epoch, head: JSON.stringify({ ...head, epoch }) } : { epoch };
}

/**
 * Whether a write is one that may be done: to be called before its operations, in their transaction. What an `add` finds in its
 * place is yours to refuse, with `row_exists`.
 *
 * @returns whether the epoch that is kept beside the session is to be removed, because the write brings the head it stands in
 * @throws `superseded`, `storage_corrupt`; `storage_failed` for a head of another epoch
 */
export function checkWrite(state: SessionState, { lease: { session, epoch }, expect, ops }: StorageWrite): { endsEpoch: boolean } {
  const head = typeof state.head === "string" ? numbers(state.head) : undefined;
  const current = head?.epoch ?? state.epoch ?? undefined;
  if (head === null && (current === undefined || (current === epoch && expect))) throw storageError("storage_corrupt", "the head of the session cannot be read");
  if (current !== epoch) throw storageError("superseded");
  if (expect && expect.version !== (head?.version ?? null)) throw storageError("superseded");
  let endsEpoch = false;
  for (const op of ops) {
    if (op.op !== "add" && op.op !== "put") continue;
    if (op.table !== "heads" || op.key.length !== 1 || op.key[0] !== session) continue;
    if (numbers(op.value)?.epoch !== epoch) throw storageError("storage_failed", "a head of another epoch");
    endsEpoch = true;
  }
  return { endsEpoch };
}
