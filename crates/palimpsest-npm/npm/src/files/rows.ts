// Rows in the order of their keys.

import type { StorageKey, StorageRow } from "../storage.js";

/** Whether a key begins with these parts. */
export const begins = (key: StorageKey, prefix: StorageKey): boolean => prefix.every((part, i) => key[i] === part);

/** Numbers before texts, texts as JavaScript compares them, a key before those that begin with it. */
export function compare(a: StorageKey, b: StorageKey): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const [x, y] = [a[i] as string | number, b[i] as string | number];
    if (x === y) continue;
    if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
    return x < y ? -1 : 1;
  }
  return a.length - b.length;
}

const address = (key: StorageKey): string => JSON.stringify(key);

/** The rows of a table in the order of their keys. */
export class Rows {
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
