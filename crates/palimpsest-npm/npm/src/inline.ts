// For hosts that can fetch nothing, such as webviews: the module is in the JavaScript.

import { PalimpsestError } from "./errors.js";
import type { Library, LibraryOptions } from "./library.js";
import { nameParts, type Files, type WasmParts } from "./parts.js";
import { load, loadSession } from "./runtime.js";
import type { Session, SessionOptions } from "./session.js";
import { open, type WasmSource } from "./source.js";
import { inlined } from "./wasm/inlined.js";

export * from "./api.js";

/**
 * Gets palimpsest ready, as in the main entry, from bytes that came with the JavaScript: nothing is fetched.
 */
export function init(source?: WasmSource, parts: WasmParts = {}): Promise<void> {
  nameParts(parts, open);
  return load(files, source === undefined ? undefined : () => open(source));
}

/** As in the main entry, from bytes that came with the JavaScript. */
export async function initSession(source?: WasmSource): Promise<void> {
  return loadSession(files, source === undefined ? undefined : () => open(source));
}

/** As in the main entry. What sessions need is in JavaScript of its own, which is imported when the first one is opened. */
export async function openSession(options: SessionOptions): Promise<Session> {
  const sessions = await import("./opening.js");
  return sessions.openSession(options, files);
}

/** As in the main entry. */
export async function openLibrary(options: LibraryOptions = {}): Promise<Library> {
  const sessions = await import("./opening.js");
  return sessions.openLibrary(options, files);
}

const files: Files = async (file) => unpacked(bytes(await inlined[file]!()));

/** Unpacks what gzip packed: with base64 around the bytes themselves a bundle would be twice as large. */
function unpacked(packed: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  if (typeof DecompressionStream !== "function") {
    throw new PalimpsestError(
      "load_failed",
      'palimpsest/inline needs DecompressionStream, which this host does not have (Chrome 80, Firefox 113, Safari 16.4, Node 18). Import from "palimpsest/slim" and name the module\'s files.',
    );
  }
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

// not by fetch("data:…"): a strict connect-src refuses that
function bytes(base64: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64);
  const out = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) out[at] = binary.charCodeAt(at);
  return out;
}
