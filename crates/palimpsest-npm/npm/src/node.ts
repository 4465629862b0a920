import { readFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { PalimpsestError } from "./errors.js";
import type { Library, LibraryOptions } from "./library.js";
import { nameParts, type Files, type WasmParts } from "./parts.js";
import { load, loadSession } from "./runtime.js";
import type { Session, SessionOptions } from "./session.js";
import { open, type Code, type WasmSource } from "./source.js";
import { place } from "./places.js";

export * from "./api.js";

// The types of this entry are those of index.ts, where these functions are documented.
export function init(source?: WasmSource, parts: WasmParts = {}): Promise<void> {
  nameParts(parts, opened);
  return load(files, source === undefined ? undefined : () => opened(source));
}

export async function initSession(source?: WasmSource): Promise<void> {
  return loadSession(files, source === undefined ? undefined : () => opened(source));
}

export async function openSession(options: SessionOptions): Promise<Session> {
  const sessions = await import("./opening.js");
  return sessions.openSession(options, files);
}

export async function openLibrary(options: LibraryOptions = {}): Promise<Library> {
  const sessions = await import("./opening.js");
  return sessions.openLibrary(options, files);
}

const files: Files = async (file) => opened(at(file));

/** The bundle that holds this code, where it is CommonJS, as extensions of VS Code are. */
declare const __filename: string | undefined;

/** The address of a file of the module. A bundle in CommonJS has the files beside itself. */
function at(file: string): URL {
  try {
    return place(file);
  } catch (error) {
    if (typeof __filename !== "string") throw error;
    const folder = file === "palimpsest_npm_bg" ? "./wasm/" : "./wasm/parts/";
    return new URL(`${folder}${file}.wasm`, pathToFileURL(__filename));
  }
}

async function opened(from: WasmSource): Promise<Code> {
  if (typeof from === "function") return opened(await from());
  const url = from instanceof URL ? from : typeof from === "string" && from.startsWith("file:") ? new URL(from) : undefined;
  if (url?.protocol !== "file:") return open(from);
  // Node's fetch does not read files
  try {
    return await readFile(url);
  } catch (cause) {
    throw new PalimpsestError(
      "load_failed",
      `The wasm module cannot be read from ${fileURLToPath(url)}. A bundle needs the folder node_modules/palimpsest/dist/wasm as wasm/ beside itself; ` +
        'without it, import from the package "palimpsest-inline".',
      { cause, retryable: true },
    );
  }
}
