// The instances of the wasm modules, and what stands between them and the public functions.

import start, * as exports from "./wasm/palimpsest_wasm.js";
import { PalimpsestError } from "./errors.js";
import { raise } from "./own-counter.js";

/**
 * Where the wasm module comes from: its address, the answer of a request for it, its bytes, or the compiled module.
 */
export type WasmSource = URL | string | Request | Response | BufferSource | WebAssembly.Module;

/** A wasm module with its JavaScript: started once, and called through what gives errors their class. */
export interface Instance<M> {
  /**
   * Starts the module once. Later calls, also concurrent ones, get the same promise; after a failure the next call
   * tries again.
   */
  load(source: () => Promise<BufferSource | WebAssembly.Module>): Promise<void>;
  /** Calls into the module, if it can be called, and gives errors their class. */
  call<T>(name: string, use: (module: M) => T): T;
  /** Waits for a promise of the module's, but not past the end of the module: a module that has crashed keeps none. */
  wait<T>(promise: Promise<T>): Promise<T>;
  /** Whether it has come to its end. */
  readonly crashed: boolean;
  /** An error of ours with its class; anything else as it is, unless it is the end of the module. */
  own(error: unknown): unknown;
}

const HTML =
  'In Vite, set optimizeDeps: { exclude: ["palimpsest"] }, or import wasmUrl from "palimpsest/palimpsest.wasm?url" and call ' +
  'init(wasmUrl). Where nothing can be fetched, import from "palimpsest/inline".';

/**
 * How a module's JavaScript begins. `cure` says what to do where it is called before, `html` where its address is wrong; a
 * module with `onPanic` tells when it has come to its end.
 */
export function instance<M>(
  start: (given: { module_or_path: BufferSource | WebAssembly.Module }) => Promise<unknown>,
  exports: M,
  cure: string,
  html: string = HTML,
): Instance<M> {
  let ready = false;
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
    if (error instanceof Error && error.name === "PalimpsestError" && !(error instanceof PalimpsestError)) {
      Object.setPrototypeOf(error, PalimpsestError.prototype);
    }
    return error;
  }

  return {
    load(source) {
      loading ??= (async () => {
        try {
          const from = await source();
          if (!(from instanceof WebAssembly.Module)) look(from, html);
          await start({ module_or_path: from });
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
    get crashed() {
      return crash !== undefined;
    },
    own,
  };
}

/** The module behind the functions for lists. */
export const { load, call } = /* @__PURE__ */ instance(start, exports, "init()");

function failed(cause: unknown): PalimpsestError {
  const why = cause instanceof Error ? cause.message : String(cause);
  const policy = /Content Security Policy|unsafe-eval|disallowed by embedder/i.test(why);
  const cure = policy ? " The page's Content-Security-Policy needs script-src 'wasm-unsafe-eval'." : "";
  return new PalimpsestError("load_failed", `The wasm module could not be started: ${why}.${cure}`, { cause, retryable: true });
}

/** Refuses what is not a wasm module, with the reason it usually is not. */
function look(source: BufferSource, cure: string): void {
  const bytes = ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
    : new Uint8Array(source);
  if (bytes[0] === 0 && bytes[1] === 0x61 && bytes[2] === 0x73 && bytes[3] === 0x6d) return;
  const html = /^\s*</.test(new TextDecoder().decode(bytes.subarray(0, 64)));
  throw new PalimpsestError(
    "load_failed",
    html
      ? `The server answered with an HTML page instead of the wasm module: its address is wrong. ${cure}`
      : `These ${bytes.length} bytes are not a wasm module.`,
    { retryable: true },
  );
}

/** The bytes or the module behind what `init` was given. */
export async function open(source: WasmSource): Promise<BufferSource | WebAssembly.Module> {
  if (source instanceof WebAssembly.Module || source instanceof ArrayBuffer || ArrayBuffer.isView(source)) {
    return source;
  }
  let response: Response;
  if (source instanceof Response) {
    response = source;
  } else {
    try {
      response = await fetch(source);
    } catch (cause) {
      throw new PalimpsestError("load_failed", `The wasm module could not be fetched from ${address(source)}.`, {
        cause,
        retryable: true,
      });
    }
  }
  if (!response.ok) {
    const from = response.url || "the server";
    throw new PalimpsestError("load_failed", `The wasm module is not there: ${from} answered ${response.status}.`, {
      retryable: true,
    });
  }
  return response.arrayBuffer();
}

function address(source: URL | string | Request): string {
  return source instanceof URL ? source.href : typeof source === "string" ? source : source.url;
}
