// Where the files of the wasm module come from: the module itself, and its parts, which are loaded when something needs them.
// `wasm/later.js`, which is made along with the module, asks here for each.

import { PalimpsestError } from "./errors.js";
import { isBytes, look, PLACES, type Code, type WasmSource } from "./source.js";

/** Where the parts of the module are, where they are not found beside the package's JavaScript. */
export interface WasmParts {
  /** The code of sessions, libraries and model servers: `palimpsest/session.wasm`. */
  session?: WasmSource;
  /** The code that reads vocabularies and learns from counts: `palimpsest/tokenizer.wasm`. */
  tokenizer?: WasmSource;
  /** The code that reads and measures transcripts: `palimpsest/transcripts.wasm`. */
  transcripts?: WasmSource;
  /** The code that replays a conversation: `palimpsest/replay.wasm`. */
  replay?: WasmSource;
  /** The code that `session` and `tokenizer` share, which each of them needs: `palimpsest/shared.wasm`. */
  shared?: WasmSource;
}

/** A way to the files of the module, by their names without the ending. @internal */
export type Files = (file: string) => Promise<Code>;

/** The way of the entry that was used first. */
let way: Files | undefined;
/** Files that the application named itself. */
const named = new Map<string, () => Promise<Code>>();

/** Takes files from there, unless another entry was used before. @internal */
export function takeFrom(files: Files | undefined): void {
  way ??= files;
}

/** Takes one file from somewhere else. @internal */
export function name(file: string, source: () => Promise<Code>): void {
  named.set(file, source);
}

/** The same for the parts that an application names. @internal */
export function nameParts(parts: WasmParts, open: (source: WasmSource) => Promise<Code>): void {
  for (const [part, source] of Object.entries(parts) as [string, WasmSource | undefined][]) {
    if (source !== undefined) name(part === "shared" ? "session-tokenizer" : part, () => open(source));
  }
}

/** Brings a file of the module. @internal */
export async function bring(file: string): Promise<Code> {
  const own = named.get(file);
  if (own !== undefined) return own();
  if (way !== undefined) return way(file);
  throw new PalimpsestError(
    "load_failed",
    `palimpsest/slim does not know where its file "${file}" is. Call init() of "palimpsest" in the application, or give init() of the slim entry the module and its parts: init(palimpsest, { session, tokenizer, transcripts, replay, shared }).`,
  );
}

/** Starts a part beside the module whose memory it shares. @internal */
export async function instantiate(code: Promise<Code>, imports: WebAssembly.Imports): Promise<WebAssembly.Instance> {
  const part = await code;
  if (!isBytes(part)) return WebAssembly.instantiate(part, imports);
  look(part, PLACES);
  return (await WebAssembly.instantiate(part, imports)).instance;
}

/** Who hears of a trap. */
let hears: ((error: unknown) => void) | undefined;

/** Says who hears when the module traps while something calls it back: a promise, an event, a timer. @internal */
export function whenTrapped(one: (error: unknown) => void): void {
  hears = one;
}

/** The module's exports, of which those that something calls back are looked at. `wasm/palimpsest_npm.js` uses it. @internal */
export function guarded(exports: WebAssembly.Exports): WebAssembly.Exports {
  const all: WebAssembly.Exports = { ...exports };
  for (const [name, value] of Object.entries(exports)) {
    if (typeof value !== "function" || !name.includes("convert__closures")) continue;
    all[name] = (...given: unknown[]): unknown => {
      try {
        return (value as (...given: unknown[]) => unknown)(...given);
      } catch (error) {
        if (error instanceof WebAssembly.RuntimeError) hears?.(error);
        throw error;
      }
    };
  }
  return all;
}

/** Refuses what is no text where the module takes one. `wasm/palimpsest_npm.js` uses it. @internal */
export function textual(given: unknown): void {
  if (typeof given === "string") return;
  const found = given === null ? "null" : Array.isArray(given) ? "a list" : typeof given === "object" ? "an object" : `a ${typeof given}`;
  throw new PalimpsestError("bad_input", `A string is expected where ${found} was given. Compare the arguments with the declarations of the function.`);
}
