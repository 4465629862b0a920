// The package `palimpsest-inline`: `palimpsest` for hosts that can fetch nothing. Its wasm files are in the JavaScript.
//
// `cargo xtask pack` takes this entry into that package, where "./slim.js" is "palimpsest/slim".

import { init as start, initSession as startSession, openLibrary as library, openSession as session, PalimpsestError } from "./slim.js";
import type { Library, LibraryOptions, Session, SessionOptions, WasmParts, WasmSource } from "./slim.js";
import { inlined } from "./wasm/inlined.js";

export * from "./slim.js";

/**
 * Gets palimpsest ready, as in the main entry, from bytes that came with the JavaScript: nothing is fetched. The entries of
 * `palimpsest` that are imported beside it, such as `palimpsest/ai-sdk`, are ready with it.
 *
 * @example
 * ```ts
 * import { compact, init } from "palimpsest-inline";
 *
 * await init();
 * console.log(compact([{ role: "user", content: "Hello" }], { window: 8192 }).messages.length);
 * ```
 */
export function init(source?: WasmSource, parts: WasmParts = {}): Promise<void> {
  return start(source ?? file("palimpsest_npm_bg"), {
    session: file("session"),
    tokenizer: file("tokenizer"),
    transcripts: file("transcripts"),
    replay: file("replay"),
    shared: file("session-tokenizer"),
    ...parts,
  });
}

/** As in the main entry, from bytes that came with the JavaScript. */
export async function initSession(source?: WasmSource): Promise<void> {
  await init();
  return startSession(source ?? file("session"));
}

/** As in the main entry. What sessions need is in JavaScript of its own, which is imported when the first one is opened. */
export async function openSession(options: SessionOptions): Promise<Session> {
  await init();
  return session(options);
}

/** As in the main entry. */
export async function openLibrary(options: LibraryOptions = {}): Promise<Library> {
  await init();
  return library(options);
}

/** The bytes of a file, unpacked when somebody needs them. */
const file = (name: string) => async (): Promise<ArrayBuffer> => unpacked(bytes(await inlined[name]!()));

/** Unpacks what gzip packed: with base64 around the bytes themselves a bundle would be twice as large. */
function unpacked(packed: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  if (typeof DecompressionStream !== "function") {
    throw new PalimpsestError(
      "load_failed",
      'palimpsest-inline needs DecompressionStream, which this host does not have (Chrome 80, Firefox 113, Safari 16.4, Node 18). Import from "palimpsest/slim" and name the module\'s files.',
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
