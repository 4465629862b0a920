// For libraries: no module comes along, the application says where it is.

import { PalimpsestError } from "./errors.js";
import type { Library, LibraryOptions } from "./library.js";
import { nameParts, type WasmParts } from "./parts.js";
import { load, loadSession } from "./runtime.js";
import type { Session, SessionOptions } from "./session.js";
import { open, type WasmSource } from "./source.js";

export * from "./api.js";

/**
 * Gets palimpsest ready from the module the application names. A library imports `palimpsest/slim` and calls its
 * functions; the application calls `init` of whichever entry suits it: all entries share one module. Sessions and vocabularies
 * need their `parts`, too.
 */
export function init(source: WasmSource, parts: WasmParts = {}): Promise<void> {
  nameParts(parts, open);
  return load(undefined, async () => {
    if (source === undefined) {
      throw new PalimpsestError("load_failed", 'The slim entry needs a source: call init() of "palimpsest" in the application instead, or pass the module\'s address.');
    }
    return open(source);
  });
}

/** Gets sessions ready from the file the application names, as `init` does with the module, which it needs before. */
export async function initSession(source: WasmSource): Promise<void> {
  return loadSession(undefined, source === undefined ? undefined : () => open(source));
}

/** As in the main entry, once somebody has called `init` and `initSession`, or `init` of another entry. */
export async function openSession(options: SessionOptions): Promise<Session> {
  const sessions = await import("./opening.js");
  return sessions.openSession(options, undefined);
}

/** As in the main entry, once somebody has called `init` and `initSession`, or `init` of another entry. */
export async function openLibrary(options: LibraryOptions = {}): Promise<Library> {
  const sessions = await import("./opening.js");
  return sessions.openLibrary(options, undefined);
}
