// Large texts: a folder for each content hash, and in it one file for each session that has brought the text, all the same file on the
// disk where the file system has links. A session writes and removes only its own: one that brings a text while another is being
// purged does not lose it. A file that is there is not written again.

import { link, mkdir, rmdir } from "node:fs/promises";
import { join } from "node:path";
import type { StorageKey, StorageRow } from "../storage.js";
import { digest, discard, fileOf, namesIn, removeDrafts, replaceFile, statOf, syncFile, syncFolder, textOf, type Durability } from "./disk.js";
import { codeOf } from "./refusal.js";
import { begins, Rows } from "./rows.js";
import { parsed } from "./segment.js";

/** Who owns what was brought before each session had its own. */
export const NOBODY = "";

/** The large texts of all sessions. */
export class Blobs {
  readonly #folder: string;
  readonly #place: string;

  constructor(folder: string) {
    this.#folder = folder;
    this.#place = join(folder, "blobs");
  }

  /** The rows whose keys begin so. */
  async read(prefix: StorageKey): Promise<Rows> {
    const rows = new Rows();
    const [hash] = prefix;
    const folders = hash === undefined ? await namesIn(this.#place) : [nameOf(hash)];
    for (const folder of folders) {
      for (const name of await namesIn(join(this.#place, folder))) {
        if (!name.endsWith(".json")) continue;
        for (const row of rowsIn(await textOf(join(this.#place, folder, name)))) {
          if (begins(row.key, prefix) && rows.get(row.key) === undefined) rows.put(row);
        }
      }
    }
    return rows;
  }

  /** Keeps texts for a session. */
  async put(session: string, rows: readonly StorageRow[], durability: Durability): Promise<void> {
    const byHash = new Map<string, StorageRow[]>();
    for (const row of rows) {
      const folder = nameOf(row.key[0] as string | number);
      const list = byHash.get(folder);
      if (list === undefined) byHash.set(folder, [row]);
      else list.push(row);
    }
    for (const [folder, texts] of byHash) await this.#keep(join(this.#place, folder), ownName(session), texts, durability);
    if (durability === "strict" && byHash.size > 0) await syncFolder(this.#place);
  }

  /** Removes what a session has brought, and what belongs to no session that is there. */
  async deletePrefix(session: string, prefix: StorageKey): Promise<void> {
    const [hash] = prefix;
    for (const folder of hash === undefined ? await namesIn(this.#place) : [nameOf(hash)]) {
      const place = join(this.#place, folder);
      for (const name of await namesIn(place)) {
        if (!name.endsWith(".json") || !(await this.#isFree(name, session))) continue;
        const all = rowsIn(await textOf(join(place, name)));
        const left = all.filter((row) => !begins(row.key, prefix));
        if (left.length === 0) await discard(join(place, name));
        else if (left.length < all.length) await replaceFile(place, name, textFor(left), "relaxed");
      }
      await removeDrafts(place);
      await removeIfEmpty(place);
    }
  }

  /** Removes whatever a session has brought. */
  async forget(session: string): Promise<void> {
    for (const folder of await namesIn(this.#place)) {
      const place = join(this.#place, folder);
      await discard(join(place, ownName(session)));
      await removeIfEmpty(place);
    }
  }

  async #isFree(name: string, session: string): Promise<boolean> {
    if (name === ownName(session) || name === ownName(NOBODY)) return true;
    const owner = name.slice(0, -".json".length);
    const places = [join(this.#folder, "sessions", owner), join(this.#folder, `${owner}.jsonl`)];
    return (await Promise.all(places.map(statOf))).every((found) => found === undefined);
  }

  async #keep(place: string, name: string, rows: readonly StorageRow[], durability: Durability): Promise<void> {
    const own = new Rows();
    const before = await textOf(join(place, name));
    for (const row of rowsIn(before)) own.put(row);
    for (const row of rows) own.put(row);
    const text = textFor(own.range([]));
    if (text !== before && !(await linked(place, name, text, before))) {
      await replaceFile(place, name, text, durability);
      return;
    }
    if (durability === "relaxed") return;
    await syncFile(join(place, name));
    await syncFolder(place);
  }
}

/** Another session may have the same text. */
async function removeIfEmpty(place: string): Promise<void> {
  await rmdir(place).catch((error: unknown) => {
    if (!["ENOTEMPTY", "EEXIST", "ENOENT", "ENOTDIR"].includes(String(codeOf(error)))) throw error;
  });
}

/** Shares the same text of another session, if there is one. */
async function linked(place: string, name: string, text: string, before: string | undefined): Promise<boolean> {
  if (before !== undefined) return false;
  for (const other of await namesIn(place)) {
    if (!other.endsWith(".json") || (await textOf(join(place, other))) !== text) continue;
    try {
      await mkdir(place, { recursive: true });
      await link(join(place, other), join(place, name));
      return true;
    } catch {
      // it was removed meanwhile, or there are no links: then it is written
      return false;
    }
  }
  return false;
}

const nameOf = (hash: string | number): string => digest(JSON.stringify(hash));
const ownName = (session: string): string => (session === NOBODY ? "shared.json" : `${fileOf(session, "session")}.json`);
const textFor = (rows: readonly StorageRow[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join("");

function rowsIn(text: string | undefined): StorageRow[] {
  return (text ?? "").split("\n").flatMap((line) => {
    const row = parsed<StorageRow>(line);
    return Array.isArray(row?.key) && typeof row.value === "string" ? [row] : [];
  });
}

