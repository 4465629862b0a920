// The one wasm module of the package.

import start, * as exports from "./wasm/palimpsest_npm.js";
import { parts } from "./wasm/later.js";
import { PalimpsestError } from "./errors.js";
import { instance } from "./instance.js";
import { bring, name, takeFrom, whenTrapped, type Files } from "./parts.js";
import { failed, type Code } from "./source.js";

/** What the module exports. @internal */
export type Exports = typeof exports;

/** The module. @internal */
export const module = /* @__PURE__ */ instance(start, exports, "init()");

/** Calls into the module, if it can be called, and gives errors their class. @internal */
export function call<T>(name: string, use: (module: Exports) => T): T {
  return module.call(name, use);
}

/** Starts the module, once: from `source`, or as its other files from where the entry has them. @internal */
export function load(files: Files | undefined, source?: () => Promise<Code>): Promise<void> {
  takeFrom(files);
  // the end of the module: whoever waits learns so
  whenTrapped((error) => void module.own(error));
  return module.load(source ?? (() => bring("palimpsest_npm_bg")));
}

/** Loads a part, once. The module must have been started. @internal */
export async function part(name: keyof typeof parts): Promise<void> {
  try {
    await parts[name]();
  } catch (error) {
    throw error instanceof PalimpsestError ? error : failed(error);
  }
}

/** Has a part begin something. It is loaded first, and the module must have been started. `name` is the caller's function. @internal */
export async function begin<T>(of: keyof typeof parts, name: string, open: (module: Exports) => Promise<T>): Promise<T> {
  call(name, () => {});
  await part(of);
  try {
    return await module.wait(call(name, open));
  } catch (error) {
    throw module.own(error);
  }
}

/** Starts the module and loads the part that sessions need, from `source` if that is said. @internal */
export async function loadSession(files: Files | undefined, source?: () => Promise<Code>): Promise<void> {
  if (source !== undefined) name("session", source);
  await load(files);
  await part("session");
}
