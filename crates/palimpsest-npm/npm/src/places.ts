// Where each file of the wasm module lies. The addresses are relative to this file, which lies where the entries do: an application that
// copies `dist/wasm` to `wasm/` beside its bundle has every file in its place, and a bundler finds each address written out.

import { PalimpsestError } from "./errors.js";

/** The address of each file of the module, by its name without the ending. */
const places: Readonly<Record<string, () => URL>> = {
  palimpsest_npm_bg: () => new URL("./wasm/palimpsest_npm_bg.wasm", import.meta.url),
  session: () => new URL("./wasm/parts/session.wasm", import.meta.url),
  tokenizer: () => new URL("./wasm/parts/tokenizer.wasm", import.meta.url),
  transcripts: () => new URL("./wasm/parts/transcripts.wasm", import.meta.url),
  replay: () => new URL("./wasm/parts/replay.wasm", import.meta.url),
  "session-tokenizer": () => new URL("./wasm/parts/session-tokenizer.wasm", import.meta.url),
};

/**
 * Returns the address of a file of the module.
 *
 * @throws {@link PalimpsestError} `load_failed` where the environment does not say where this script lies: in a bundle in CommonJS, and in
 * Cloudflare Workers.
 * @internal
 */
export function place(file: string): URL {
  try {
    return places[file]!();
  } catch (cause) {
    throw new PalimpsestError(
      "load_failed",
      "This environment does not say where the package's files lie: it has no import.meta.url. " +
        'Import from "palimpsest/slim" and name the files, as Cloudflare Workers need it: import wasm from "palimpsest/palimpsest.wasm", ' +
        'session from "palimpsest/session.wasm" and shared from "palimpsest/shared.wasm", then init(wasm, { session, shared }). ' +
        'Where a host may compile wasm, import from the package "palimpsest-inline".',
      { cause },
    );
  }
}
