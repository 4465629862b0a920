import { readFile } from "node:fs/promises";
import type { Library, LibraryOptions } from "./library.js";
import { nameParts, type Files, type WasmParts } from "./parts.js";
import { load, loadSession } from "./runtime.js";
import type { Session, SessionOptions } from "./session.js";
import { open, type Code, type WasmSource } from "./source.js";
import { places } from "./places.js";

export * from "./api.js";

// The types of this entry are those of index.ts, where these functions are documented.
export function init(source?: WasmSource, parts: WasmParts = {}): Promise<void> {
  nameParts(parts, opened);
  return load(files, source === undefined ? undefined : () => opened(source));
}

export async function initSession(source?: WasmSource): Promise<void> {
  return loadSession(files, source === undefined ? undefined : () => opened(source));
}

export async function openSession(options: SessionOptions): Promise<Session> {
  const sessions = await import("./opening.js");
  return sessions.openSession(options, files);
}

export async function openLibrary(options: LibraryOptions = {}): Promise<Library> {
  const sessions = await import("./opening.js");
  return sessions.openLibrary(options, files);
}

const files: Files = async (file) => opened(places[file]!());

async function opened(from: WasmSource): Promise<Code> {
  const url = from instanceof URL ? from : typeof from === "string" && from.startsWith("file:") ? new URL(from) : undefined;
  // Node's fetch does not read files
  return url?.protocol === "file:" ? readFile(url) : open(from);
}
