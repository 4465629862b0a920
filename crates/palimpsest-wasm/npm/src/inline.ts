// For hosts that can fetch nothing, such as webviews: the module is in the JavaScript.

import { load, open, type WasmSource } from "./runtime.js";
import base64 from "./wasm/inline.js";

export * from "./api.js";

/**
 * Gets palimpsest ready, as in the main entry, from bytes that came with the JavaScript: nothing is fetched.
 */
export function init(source?: WasmSource): Promise<void> {
  return load(async () => (source === undefined ? bytes(base64) : open(source)));
}

// not by fetch("data:…"): a strict connect-src refuses that
function bytes(base64: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64);
  const out = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) out[at] = binary.charCodeAt(at);
  return out;
}
