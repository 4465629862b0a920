// What the file system is asked for: whole files, places that only one can take, and what is surely on the disk.

import { createHash, randomUUID } from "node:crypto";
import { link, mkdir, open, readdir, readFile, rename, stat, unlink, writeFile, type BigStat, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "./refusal.js";

/** Whether a write has to be on the disk before it counts. */
export type Durability = "strict" | "relaxed";

/** Milliseconds after which nobody can be at a draft any more. */
const ABANDONED = 60_000;

/** A digest of a text, short enough for a file's name. */
export function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 24);
}

/** A name for a file or a folder: the text itself where every file system can have that, and a digest so that no two are the same. */
export function fileOf(text: string, otherwise: string): string {
  const plain = /^[a-z0-9][a-z0-9-]{0,63}$/.test(text) ? text : otherwise;
  return `${plain}-${digest(text)}`;
}

/** What is in a folder; nothing if there is no such folder. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

/** A file's text; nothing if there is no such file. */
export async function textOf(path: string): Promise<string | undefined> {
  try {
    return new TextDecoder().decode(await readFile(path));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** What is known of a file; nothing if there is no such file. */
export async function statOf(path: string): Promise<BigStat | undefined> {
  try {
    return await stat(path, { bigint: true });
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Removes a file, if it is there. */
export async function discard(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

/** Has a file's bytes put on the disk. */
export async function syncFile(path: string): Promise<void> {
  const handle = await open(path, "r+");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Has a folder's entries put on the disk, on systems where a program can ask for that; the others do it by themselves. */
export async function syncFolder(path: string): Promise<void> {
  let handle: FileHandle;
  try {
    handle = await open(path, "r");
  } catch (error) {
    if (codeOf(error) === "ENOENT") throw error;
    return;
  }
  try {
    await handle.sync();
  } catch (error) {
    if (!["EPERM", "EINVAL", "EACCES", "EISDIR", "EBADF", "ENOTSUP"].includes(String(codeOf(error)))) throw error;
  } finally {
    await handle.close();
  }
}

/** Writes all of these bytes at a place of a file. */
export async function writeAt(handle: FileHandle, bytes: Uint8Array, place: number): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, at, bytes.length - at, place + at);
    at += bytesWritten;
  }
}

/** The bytes of a file from a place on, up to another or to its end. */
export async function bytesOf(handle: FileHandle, from: number, to?: number): Promise<Uint8Array> {
  const size = Number((await handle.stat({ bigint: true })).size);
  const bytes = new Uint8Array(Math.max(0, Math.min(size, to ?? size) - from));
  let at = 0;
  while (at < bytes.length) {
    const { bytesRead } = await handle.read(bytes, at, bytes.length - at, from + at);
    if (bytesRead === 0) break;
    at += bytesRead;
  }
  return bytes.subarray(0, at);
}

/** Writes a text to a new file that nobody else looks at, in this folder, which is made. Gives its path. */
async function draft(folder: string, text: string, durability: Durability): Promise<string> {
  const path = join(folder, `${randomUUID()}.tmp`);
  for (let tries = 0; ; tries++) {
    await mkdir(folder, { recursive: true });
    try {
      await writeFile(path, text, { flag: "wx" });
      break;
    } catch (error) {
      // somebody has just removed the empty folder
      if (codeOf(error) !== "ENOENT" || tries > 20) throw error;
    }
  }
  if (durability === "strict") await syncFile(path);
  return path;
}

/** Puts a whole file in a place, whatever was there. Whoever looks sees the old one or the new one. */
export async function replaceFile(folder: string, name: string, text: string, durability: Durability): Promise<void> {
  const from = await draft(folder, text, durability);
  try {
    await rename(from, join(folder, name));
  } catch (error) {
    await discard(from).catch(() => {});
    throw error;
  }
  if (durability === "strict") await syncFolder(folder);
}

/** Puts a whole file in a place that nobody else has taken. @returns whether the place was free. */
export async function takePlace(folder: string, name: string, text: string, durability: Durability): Promise<boolean> {
  for (let tries = 0; ; tries++) {
    const from = await draft(folder, text, durability);
    try {
      await link(from, join(folder, name));
      if (durability === "strict") await syncFolder(folder);
      return true;
    } catch (error) {
      const code = codeOf(error);
      if (code === "EEXIST") return false;
      // the folder, or our draft in it, was removed meanwhile
      if (code === "ENOENT" && tries < 20) continue;
      // a file system without links: the place is taken first, by an empty file, and gets the whole one then
      if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"].includes(String(code))) throw error;
      if (!(await reserve(join(folder, name)))) return false;
      await rename(from, join(folder, name));
      if (durability === "strict") await syncFolder(folder);
      return true;
    } finally {
      await discard(from).catch(() => {});
    }
  }
}

/** Makes an empty file, if there is none of that name. */
async function reserve(path: string): Promise<boolean> {
  try {
    await writeFile(path, "", { flag: "wx" });
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

/** Removes drafts that a program has left behind which was ended at its work. */
export async function removeDrafts(folder: string): Promise<void> {
  for (const name of await namesIn(folder)) {
    if (!name.endsWith(".tmp")) continue;
    const found = await statOf(join(folder, name));
    if (found !== undefined && Date.now() - Number(found.mtimeMs) > ABANDONED) await discard(join(folder, name));
  }
}

/** The bytes of all files in a folder and in those inside it. */
export async function bytesIn(folder: string): Promise<number> {
  let used = 0;
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  });
  for (const entry of entries) {
    const path = join(folder, entry.name);
    used += entry.isDirectory() ? await bytesIn(path) : Number((await statOf(path))?.size ?? 0);
  }
  return used;
}
