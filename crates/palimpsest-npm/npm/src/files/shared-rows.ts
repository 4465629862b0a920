// Rows of no session, but for large texts: a file for each row, so that programs which write different ones need not know of each other.

import { join } from "node:path";
import type { StorageKey, StorageRow, StorageTable } from "../storage.js";
import { digest, discard, namesIn, removeDrafts, replaceFile, syncFolder, takePlace, textOf, type Durability } from "./disk.js";
import { begins, Rows } from "./rows.js";
import { parsed } from "./segment.js";

/** The rows of a table that has no sessions. */
export class SharedRows {
  readonly #folder: string;
  readonly #place: string;

  constructor(folder: string, table: StorageTable) {
    this.#folder = folder;
    this.#place = join(folder, table);
  }

  /** The rows whose keys begin so. */
  async read(prefix: StorageKey): Promise<Rows> {
    const rows = new Rows();
    for (const name of await namesIn(this.#place)) {
      if (!name.endsWith(".json")) continue;
      const row = parsed<StorageRow>((await textOf(join(this.#place, name))) ?? "");
      if (Array.isArray(row?.key) && typeof row.value === "string" && begins(row.key, prefix)) rows.put(row);
    }
    return rows;
  }

  async get(key: StorageKey): Promise<StorageRow | undefined> {
    const row = parsed<StorageRow>((await textOf(join(this.#place, nameOf(key)))) ?? "");
    return typeof row?.value === "string" ? { key, value: row.value } : undefined;
  }

  async put({ key, value }: StorageRow, durability: Durability): Promise<void> {
    await replaceFile(this.#place, nameOf(key), JSON.stringify({ key, value }), durability);
    if (durability === "strict") await syncFolder(this.#folder);
  }

  /** @returns whether there was none yet. */
  async add({ key, value }: StorageRow, durability: Durability): Promise<boolean> {
    const isNew = await takePlace(this.#place, nameOf(key), JSON.stringify({ key, value }), durability);
    if (durability === "strict") await syncFolder(this.#folder);
    return isNew;
  }

  async deletePrefix(prefix: StorageKey): Promise<void> {
    for (const { key } of (await this.read(prefix)).range([])) await this.delete(key);
    await removeDrafts(this.#place);
  }

  async delete(key: StorageKey): Promise<void> {
    await discard(join(this.#place, nameOf(key)));
  }
}

const nameOf = (key: StorageKey): string => `${digest(JSON.stringify(key))}.json`;
