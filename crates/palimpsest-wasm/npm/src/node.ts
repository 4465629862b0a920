import { readFile } from "node:fs/promises";
import type { Library, LibraryOptions } from "./library.js";
import { load, open, type WasmSource } from "./runtime.js";
import type { Session, SessionOptions } from "./session.js";

export * from "./api.js";

// The types of this entry are those of index.ts, where these functions are documented.
export function init(source?: WasmSource): Promise<void> {
  return load(() => opened(source ?? new URL("./wasm/palimpsest_wasm_bg.wasm", import.meta.url)));
}

export async function initSession(source?: WasmSource): Promise<void> {
  const sessions = await import("./open-session.js");
  return sessions.load(() => (source === undefined ? sessionModule() : opened(source)));
}

export async function openSession(options: SessionOptions): Promise<Session> {
  const sessions = await import("./open-session.js");
  return sessions.open(options, sessionModule);
}

export async function openLibrary(options: LibraryOptions = {}): Promise<Library> {
  const sessions = await import("./open-session.js");
  return sessions.openLibrary(options, sessionModule);
}

const sessionModule = (): Promise<BufferSource | WebAssembly.Module> => opened(new URL("./wasm/palimpsest_session_bg.wasm", import.meta.url));

async function opened(from: WasmSource): Promise<BufferSource | WebAssembly.Module> {
  const url = from instanceof URL ? from : typeof from === "string" && from.startsWith("file:") ? new URL(from) : undefined;
  // Node's fetch does not read files
  return url?.protocol === "file:" ? readFile(url) : open(from);
}
