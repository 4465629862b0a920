import type { Library, LibraryOptions } from "./library.js";
import { nameParts, type Files, type WasmParts } from "./parts.js";
import { load, loadSession } from "./runtime.js";
import type { Session, SessionOptions } from "./session.js";
import { open, type WasmSource } from "./source.js";
import { place } from "./places.js";

export * from "./api.js";

/**
 * Gets palimpsest ready: call it once, and wait, before anything else. Calling it again, also at the same time, does
 * nothing more; after a failure the next call tries again.
 *
 * Without a source the module is read from beside this file (in Node from disk, in a browser by `fetch`), and so are its `parts`, which are loaded when something needs them.
 *
 * @example
 * ```ts
 * import { init, version } from "palimpsest";
 *
 * await init();
 * console.log(version());
 * ```
 */
export function init(source?: WasmSource, parts: WasmParts = {}): Promise<void> {
  nameParts(parts, open);
  return load(files, source === undefined ? undefined : () => open(source));
}

/**
 * Gets sessions ready before the first one is opened, from a file that you name if it is not found beside this one, as with
 * `init`. Sessions are a part of the module that only loads who opens one.
 */
export async function initSession(source?: WasmSource): Promise<void> {
  return loadSession(files, source === undefined ? undefined : () => open(source));
}

/**
 * Opens a session, or makes it: one conversation, kept in memory, in the browser's IndexedDB or in a storage of yours,
 * and the window that a model sees of it. What sessions need of the module is loaded when the first one is opened; `init` is
 * not needed for it.
 *
 * @throws {@link PalimpsestError} `session_busy` if another tab writes it (`takeOver` takes it over);
 * `storage_unavailable`, `storage_failed`; `unknown_policy`, `invalid_window`, `invalid_options`, `unknown_setting`;
 * `load_failed`.
 *
 * @example
 * ```ts
 * import { ollama, openSession } from "palimpsest";
 *
 * const session = await openSession({
 *   id: "first",
 *   model: "llama3.2:3b",
 *   window: 8192,
 *   store: "indexeddb",
 *   llm: ollama(),
 *   onEvent: (event) => console.log(event.type),
 * });
 * for await (const chunk of session.send("Hello")) {
 *   if (chunk.type === "text") console.log(chunk.text);
 * }
 * const done = await session.compact({ focus: "dates" });
 * console.log(done?.report.before, done?.report.after); // nothing, if there is nothing to compress
 * await session.undo();
 * await session.close();
 * ```
 */
export async function openSession(options: SessionOptions): Promise<Session> {
  const sessions = await import("./opening.js");
  return sessions.openSession(options, files);
}

/**
 * Opens the sessions of a storage as a whole: to list them, to delete them and bring them back, to remove them for good, and
 * to save what is left of one that was damaged. `init` is not needed for it.
 *
 * @throws {@link PalimpsestError} `storage_unavailable`, `storage_failed`, `invalid_options`, `load_failed`. Of its functions:
 * `no_session`; `session_busy` if another tab or program writes the session; `closed`.
 *
 * @example
 * ```ts
 * import { openLibrary } from "palimpsest";
 *
 * const library = await openLibrary({ store: "indexeddb" });
 * const { sessions, damaged } = await library.sessions();
 * if (sessions[0]) await library.delete(sessions[0].id);
 * for (const { id, title, daysLeft } of await library.deleted()) console.log(id, title, daysLeft);
 * for (const id of damaged) console.log((await library.salvage(id)).text);
 * library.close();
 * ```
 */
export async function openLibrary(options: LibraryOptions = {}): Promise<Library> {
  const sessions = await import("./opening.js");
  return sessions.openLibrary(options, files);
}

const files: Files = async (file) => open(place(file));
