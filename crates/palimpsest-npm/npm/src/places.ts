// Where each file of the wasm module lies. The addresses are relative to this file, which lies where the entries do: an application that
// copies `dist/wasm` to `wasm/` beside its bundle has every file in its place, and a bundler finds each address written out.

/** The address of each file of the module, by its name without the ending. @internal */
export const places: Readonly<Record<string, () => URL>> = {
  palimpsest_npm_bg: () => new URL("./wasm/palimpsest_npm_bg.wasm", import.meta.url),
  session: () => new URL("./wasm/parts/session.wasm", import.meta.url),
  tokenizer: () => new URL("./wasm/parts/tokenizer.wasm", import.meta.url),
  "session-tokenizer": () => new URL("./wasm/parts/session-tokenizer.wasm", import.meta.url),
};
