import { readFile } from "node:fs/promises";
import { load, open, type WasmSource } from "./runtime.js";

export * from "./api.js";

// The types of this entry are those of index.ts, where `init` is documented.
export function init(source?: WasmSource): Promise<void> {
  return load(async () => {
    const from = source ?? new URL("./wasm/palimpsest_wasm_bg.wasm", import.meta.url);
    const url = from instanceof URL ? from : typeof from === "string" && from.startsWith("file:") ? new URL(from) : undefined;
    // Node's fetch does not read files
    return url?.protocol === "file:" ? readFile(url) : open(from);
  });
}
