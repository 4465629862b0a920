// A wasm module with its JavaScript, and what stands between it and the public functions.

import { PalimpsestError } from "./errors.js";
import { raise } from "./own-counter.js";
import { failed, isBytes, look, PLACES, type Code } from "./source.js";

/** A wasm module with its JavaScript: started once, and called through what gives errors their class. */
export interface Instance<M> {
  /**
   * Starts the module once. Later calls, also concurrent ones, get the same promise; after a failure the next call
   * tries again.
   */
  load(source: () => Promise<Code>): Promise<void>;
  /** Calls into the module, if it can be called, and gives errors their class. */
  call<T>(name: string, use: (module: M) => T): T;
  /** Waits for a promise of the module's, but not past the end of the module: a module that has crashed keeps none. */
  wait<T>(promise: Promise<T>): Promise<T>;
  /** The module's code, compiled: once it has started. */
  readonly code: WebAssembly.Module | undefined;
  /** Whether it has come to its end. */
  readonly crashed: boolean;
  /** An error of ours with its class; anything else as it is, unless it is the end of the module. */
  own(error: unknown): unknown;
}

/**
 * How a module's JavaScript begins. `cure` says what to do where it is called before, `html` where its address is wrong; a
 * module with `onPanic` tells when it has come to its end.
 */
export function instance<M>(
  start: (given: { module_or_path: Code }) => Promise<unknown>,
  exports: M,
  cure: string,
  html: string = PLACES,
): Instance<M> {
  let ready = false;
  let code: WebAssembly.Module | undefined;
  let loading: Promise<void> | undefined;
  let crash: { cause: unknown } | undefined;
  const waiting = new Set<(error: unknown) => void>();

  /** It has come to its end: whoever waits learns so. */
  function end(why: string, cause?: unknown): PalimpsestError {
    crash ??= { cause };
    const error = new PalimpsestError("engine_crashed", `palimpsest has crashed: ${why}. This is a fault in palimpsest.`, { cause });
    for (const reject of waiting) reject(error);
    waiting.clear();
    return error;
  }

  function own(error: unknown): unknown {
    if (error instanceof WebAssembly.RuntimeError) return end(error.message, error);
    if (error instanceof PalimpsestError && Object.getPrototypeOf(error) !== PalimpsestError.prototype) {
      Object.setPrototypeOf(error, PalimpsestError.prototype);
    }
    return error;
  }

  return {
    load(source) {
      loading ??= (async () => {
        try {
          const from = await source();
          if (isBytes(from)) look(from, html);
          const compiled = isBytes(from) ? await WebAssembly.compile(from) : from;
          await start({ module_or_path: compiled });
          code = compiled;
          (exports as { onPanic?: (hears: (why: string) => void) => void }).onPanic?.((why) => void end(why));
          ready = true;
        } catch (error) {
          loading = undefined;
          throw error instanceof PalimpsestError ? error : failed(error);
        }
      })();
      return loading;
    },
    call(name, use) {
      if (crash !== undefined) {
        throw new PalimpsestError("engine_crashed", "palimpsest has crashed and cannot go on. Load the page or worker again.", {
          cause: crash.cause,
        });
      }
      if (!ready) {
        throw new PalimpsestError("not_initialized", `${name} was called before palimpsest was ready. Call \`await ${cure}\` once before it.`);
      }
      let value;
      try {
        value = use(exports);
      } catch (error) {
        raise();
        throw own(error);
      }
      raise();
      return value;
    },
    wait(promise) {
      return new Promise((resolve, reject) => {
        waiting.add(reject);
        promise.then(resolve, reject).finally(() => waiting.delete(reject));
      });
    },
    get code() {
      return code;
    },
    get crashed() {
      return crash !== undefined;
    },
    own,
  };
}
