// For hosts that can fetch nothing, such as webviews: the module is in the JavaScript.

import type { Library, LibraryOptions } from "./library.js";
import { load, open, type WasmSource } from "./runtime.js";
import type { Session, SessionOptions } from "./session.js";
import base64 from "./wasm/inline.js";

export * from "./api.js";

/**
 * Gets palimpsest ready, as in the main entry, from bytes that came with the JavaScript: nothing is fetched.
 */
export function init(source?: WasmSource): Promise<void> {
  return load(async () => (source === undefined ? bytes(base64) : open(source)));
}

/** As in the main entry, from bytes that came with the JavaScript. */
export async function initSession(source?: WasmSource): Promise<void> {
  const sessions = await import("./open-session.js");
  return sessions.load(() => (source === undefined ? sessionModule() : open(source)));
}

/** As in the main entry. The sessions' module is in JavaScript of its own, which is imported when the first one is opened. */
export async function openSession(options: SessionOptions): Promise<Session> {
  const sessions = await import("./open-session.js");
  return sessions.open(options, sessionModule);
}

/** As in the main entry. */
export async function openLibrary(options: LibraryOptions = {}): Promise<Library> {
  const sessions = await import("./open-session.js");
  return sessions.openLibrary(options, sessionModule);
}

const sessionModule = async (): Promise<Uint8Array<ArrayBuffer>> => bytes((await import("./wasm/inline-session.js")).default);

// not by fetch("data:…"): a strict connect-src refuses that
function bytes(base64: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64);
  const out = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) out[at] = binary.charCodeAt(at);
  return out;
}
