// What the lines of a session's files make: its rows, and who may write it.

import type { StorageKey, StorageOp, StorageTable } from "../storage.js";
import { Rows } from "./rows.js";

/** Tables whose rows belong to no session. */
export const SHARED: readonly StorageTable[] = ["blobs", "tokenizers", "meta"];
/** The first epoch after a head that could not be read: far from any that was counted up. */
const AFTER_DAMAGE = 2 ** 30;

/** The numbers of a head that a storage looks at, or `null` if it cannot be read. */
export function numbersOf(head: string | undefined | null): { epoch: number; version: number } | null {
  try {
    const { epoch, version } = JSON.parse(head ?? "") as { epoch?: unknown; version?: unknown };
    return Number.isInteger(epoch) && Number.isInteger(version) ? { epoch: epoch as number, version: version as number } : null;
  } catch {
    return null;
  }
}

/** A head with another epoch and everything else as it was. */
export function withEpoch(head: string, epoch: number): string {
  return JSON.stringify({ ...(JSON.parse(head) as object), epoch });
}

/** The beginning of an operation's key. */
export function keyOf(op: StorageOp): StorageKey {
  return op.op === "delete_prefix" ? op.prefix : op.key;
}

/** Whether an operation may change a session's head. */
export function touchesHead(op: StorageOp, session: string): boolean {
  const key = keyOf(op);
  return op.table === "heads" && key.length <= 1 && (key.length === 0 || key[0] === session);
}

/** The rows of one session. */
export class Contents {
  readonly tables = new Map<StorageTable, Rows>();
  /** The epoch of the last claim. */
  epoch = 0;
  /** The epoch of a claim while there is no head that it could stand in. */
  claimed: number | null = null;
  readonly #session: string;

  constructor(session: string) {
    this.#session = session;
  }

  rows(table: StorageTable): Rows {
    let rows = this.tables.get(table);
    if (rows === undefined) this.tables.set(table, (rows = new Rows()));
    return rows;
  }

  /** The value of the session's head. */
  get head(): string | undefined {
    return this.rows("heads").get([this.#session])?.value;
  }

  /** The epoch that may write; nothing if the session has to be claimed first. */
  get current(): number | null {
    return numbersOf(this.head)?.epoch ?? this.claimed;
  }

  /** The epoch of the next claim. */
  get next(): number {
    const before = this.current ?? (this.head === undefined ? 0 : AFTER_DAMAGE);
    return Math.max(before, this.epoch) + 1;
  }

  /** Takes the operations of a write over that are this session's. */
  take(ops: readonly StorageOp[]): void {
    for (const op of ops) {
      const [first] = keyOf(op);
      if (SHARED.includes(op.table) || (first === undefined ? op.op !== "delete_prefix" : first !== this.#session)) continue;
      if ("value" in op && touchesHead(op, this.#session)) this.claimed = null;
      const rows = this.rows(op.table);
      if (op.op === "delete") rows.delete(op.key);
      else if (op.op === "delete_prefix") rows.deletePrefix(op.prefix);
      else rows.put({ key: op.key, value: op.value });
    }
  }

  /** Takes over what a claim has made of the head. */
  sealed(head: string | null, claimed: number | null): void {
    if (head !== null) this.rows("heads").put({ key: [this.#session], value: head });
    this.claimed = claimed;
  }

  /** Whether there is no row. */
  get isEmpty(): boolean {
    return [...this.tables.values()].every((rows) => rows.size === 0);
  }

  /** Characters of what is true, about. */
  get weight(): number {
    let all = 0;
    for (const rows of this.tables.values()) for (const row of rows.range([])) all += row.value.length + 80;
    return all;
  }

  /** Writes that make the same contents. */
  *puts(): Generator<StorageOp[]> {
    let ops: StorageOp[] = [];
    for (const [table, rows] of this.tables) {
      for (const { key, value } of rows.range([])) {
        ops.push({ op: "put", table, key, value });
        if (ops.length === 256) {
          yield ops;
          ops = [];
        }
      }
    }
    if (ops.length > 0) yield ops;
  }
}
