// Files of version 1: a session was one file beside the folder's `index.jsonl`, rows of no session lay in `shared.jsonl`.
//
// They are read where they are. A session's old file counts as its segment 0: the first claim says how much of it counts, and the
// file goes when the session is written anew. The shared rows get files of their own at the first claim of any session;
// `shared.jsonl` then says version 2, and a program of the older version refuses the folder.

import { open, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { StorageOp, StorageRow, StorageTable } from "../storage.js";
import { Contents, SHARED } from "./contents.js";
import { discard, namesIn, replaceFile, takePlace, textOf } from "./disk.js";
import { codeOf, refuse } from "./refusal.js";
import { Rows } from "./rows.js";
import { linesOf, parsed, VERSION } from "./segment.js";

const COMMON = "shared.jsonl";

/** A line of version 1. */
export interface OldLine {
  palimpsest?: number;
  session?: string | null;
  /** The epoch of who wrote it. An older one than before it came from a writer that had lost the session. */
  e?: number;
  claim?: boolean;
  ops?: StorageOp[];
}

/** The bytes of an old file that are worth reading, and what they say. */
export async function takeOld(handle: FileHandle, contents: Contents, from: number, to?: number): Promise<number> {
  let end = from;
  for (const found of await linesOf<OldLine>(handle, from, to)) {
    end = found.end;
    const { palimpsest, e, claim, ops } = found.line ?? {};
    if (palimpsest !== undefined && palimpsest > 1) throw refuse("storage_newer", "the session was written by a newer version");
    if (e !== undefined) {
      if (e < contents.epoch) continue;
      contents.epoch = e;
    }
    if (claim === true) contents.claimed = e ?? null;
    if (Array.isArray(ops)) contents.take(ops);
  }
  return end;
}

/** The large texts that an old file's writes have brought: a crash may have come before they were in the shared file. */
export async function blobsOf(handle: FileHandle): Promise<StorageRow[]> {
  const rows = new Rows();
  for (const { line } of await linesOf<OldLine>(handle, 0)) for (const op of line?.ops ?? []) apply(rows, op, "blobs");
  return rows.range([]);
}

function apply(rows: Rows, op: StorageOp, table: StorageTable): void {
  if (op.table !== table) return;
  if (op.op === "delete") rows.delete(op.key);
  else if (op.op === "delete_prefix") rows.deletePrefix(op.prefix);
  else rows.put({ key: op.key, value: op.value });
}

/** The old files of sessions in a folder: their names, and whose they are. */
export async function oldSessions(folder: string, known: ReadonlyMap<string, string>): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const name of await namesIn(folder)) {
    if (!name.endsWith(".jsonl") || name === COMMON || name === "index.jsonl") continue;
    const session = known.get(name) ?? (await ownerOf(join(folder, name)));
    if (session !== undefined) found.set(name, session);
  }
  return found;
}

async function ownerOf(path: string): Promise<string | undefined> {
  const handle = await open(path, "r").catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    const bytes = new Uint8Array(1 << 14);
    const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0);
    const text = new TextDecoder().decode(bytes.subarray(0, bytesRead));
    const first = parsed<OldLine>(text.slice(0, Math.max(0, text.indexOf("\n"))));
    return typeof first?.session === "string" ? first.session : undefined;
  } finally {
    await handle.close();
  }
}

/** The process that an older program has left word of as the session's holder. */
export async function oldHolder(lock: string): Promise<number | undefined> {
  const pid = parsed<{ pid?: unknown }>((await textOf(lock)) ?? "")?.pid;
  if (typeof pid !== "number" || pid === process.pid) return undefined;
  try {
    process.kill(pid, 0);
    return pid;
  } catch (error) {
    return codeOf(error) === "EPERM" ? pid : undefined;
  }
}

/** The rows of `shared.jsonl`, by table; none once they have files of their own. */
export async function oldShared(folder: string): Promise<Map<StorageTable, Rows>> {
  const tables = new Map<StorageTable, Rows>(SHARED.map((table) => [table, new Rows()]));
  const handle = await open(join(folder, COMMON), "r").catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  });
  if (handle === undefined) return tables;
  try {
    for (const { line } of await linesOf<OldLine>(handle, 0)) {
      const version = line?.palimpsest ?? 0;
      if (version > VERSION) throw refuse("storage_newer", `${folder} was written by a newer version`);
      if (version === VERSION) break;
      for (const op of line?.ops ?? []) for (const [table, rows] of tables) apply(rows, op, table);
    }
  } finally {
    await handle.close();
  }
  return tables;
}

const MARK = `${JSON.stringify({ palimpsest: VERSION, session: null })}\n`;

/** Whether the folder says that its shared rows have files of their own. */
async function isOfThisVersion(folder: string): Promise<boolean> {
  const first = ((await textOf(join(folder, COMMON))) ?? "").split("\n", 1)[0] ?? "";
  const version = parsed<OldLine>(first)?.palimpsest ?? 0;
  if (version > VERSION) throw refuse("storage_newer", `${folder} was written by a newer version`);
  return version === VERSION;
}

/** Gives the shared rows files of their own. `keep` keeps rows unless there are such already. A kill leaves it to be done again. */
export async function upgrade(folder: string, keep: (table: StorageTable, rows: StorageRow[]) => Promise<void>): Promise<void> {
  if (await isOfThisVersion(folder)) return;
  if (await takePlace(folder, COMMON, MARK, "strict")) return;
  for (const [table, rows] of await oldShared(folder)) await keep(table, rows.range([]));
  await replaceFile(folder, COMMON, MARK, "strict");
  await discard(join(folder, "index.jsonl"));
}
