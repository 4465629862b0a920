import { load, open, type WasmSource } from "./runtime.js";

export * from "./api.js";

/**
 * Gets palimpsest ready: call it once, and wait, before anything else. Calling it again, also at the same time, does
 * nothing more; after a failure the next call tries again.
 *
 * Without a source the module is read from beside this file (in Node from disk, in a browser by `fetch`).
 *
 * @example
 * ```ts
 * import { init, version } from "palimpsest";
 *
 * await init();
 * console.log(version());
 * ```
 */
export function init(source?: WasmSource): Promise<void> {
  return load(() => open(source ?? new URL("./wasm/palimpsest_wasm_bg.wasm", import.meta.url)));
}
