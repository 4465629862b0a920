// For libraries: no module comes along, the application says where it is.

import { PalimpsestError } from "./errors.js";
import { load, open, type WasmSource } from "./runtime.js";

export * from "./api.js";

/**
 * Gets palimpsest ready from the module the application names. A library imports `palimpsest/slim` and calls its
 * functions; the application calls `init` of whichever entry suits it: all entries share one module.
 */
export function init(source: WasmSource): Promise<void> {
  return load(async () => {
    if (source === undefined) {
      throw new PalimpsestError("load_failed", 'The slim entry needs a source: call init() of "palimpsest" in the application instead, or pass the module\'s address.');
    }
    return open(source);
  });
}
