// For libraries: no module comes along, the application says where it is.

import { PalimpsestError } from "./errors.js";
import type { Library, LibraryOptions } from "./library.js";
import { load, open, type WasmSource } from "./runtime.js";
import type { Session, SessionOptions } from "./session.js";

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

/** Gets sessions ready from the module the application names, as `init` does with the one for lists. */
export async function initSession(source: WasmSource): Promise<void> {
  const sessions = await import("./open-session.js");
  return sessions.load(async () => (source === undefined ? nowhere() : open(source)));
}

/** As in the main entry, once somebody has called `initSession`. */
export async function openSession(options: SessionOptions): Promise<Session> {
  const sessions = await import("./open-session.js");
  return sessions.open(options, async () => nowhere());
}

/** As in the main entry, once somebody has called `initSession`. */
export async function openLibrary(options: LibraryOptions = {}): Promise<Library> {
  const sessions = await import("./open-session.js");
  return sessions.openLibrary(options, async () => nowhere());
}

function nowhere(): never {
  throw new PalimpsestError("load_failed", 'The slim entry needs a source for sessions: call initSession() of "palimpsest" in the application instead, or pass the module\'s address.');
}
