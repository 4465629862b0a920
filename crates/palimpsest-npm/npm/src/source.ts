// Where wasm modules come from, and what is wrong with them.

import { PalimpsestError } from "./errors.js";

/**
 * The source of a wasm file: its address, the answer of a request for it, its bytes, or the compiled module; or a function
 * that returns one of these, which is called when the file is needed.
 */
export type WasmSource = URL | string | Request | Response | BufferSource | WebAssembly.Module | (() => WasmSource | PromiseLike<WasmSource>);

/** What can be started. @internal */
export type Code = BufferSource | WebAssembly.Module;

/** Returns `true` for bytes; code that is not bytes is a compiled module. @internal */
export function isBytes(code: Code): code is BufferSource {
  return code instanceof ArrayBuffer || ArrayBuffer.isView(code);
}

/** The compiled module, if it is one: also one of another realm, as in the sandboxes of edge functions. */
function asModule(source: unknown): WebAssembly.Module | undefined {
  const is = (what: unknown): what is WebAssembly.Module => Object.prototype.toString.call(what) === "[object WebAssembly.Module]";
  return is(source) ? source : undefined;
}

/** What to do where the address of the package's files is wrong. @internal */
export const PLACES =
  'In Vite, set optimizeDeps: { exclude: ["palimpsest"] }, or import wasmUrl from "palimpsest/palimpsest.wasm?url" and call ' +
  'init(wasmUrl). Where nothing can be fetched, import from the package "palimpsest-inline".';

/** Refuses what is not a wasm module, with the reason it usually is not. @internal */
export function look(source: BufferSource, cure: string): void {
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

/** What to do in Cloudflare Workers, which compile no wasm while they run. */
const WORKERS =
  'Cloudflare Workers compile no wasm while they run. Import wasm from "palimpsest/palimpsest.wasm", session from "palimpsest/session.wasm" and ' +
  'shared from "palimpsest/shared.wasm", and call init(wasm, { session, shared }) of "palimpsest/slim".';

function isCloudflare(): boolean {
  return (globalThis as { navigator?: { userAgent?: string } }).navigator?.userAgent === "Cloudflare-Workers";
}

/** Why a module could not be started, with the cure. @internal */
export function failed(cause: unknown): PalimpsestError {
  const why = cause instanceof Error ? cause.message : String(cause);
  const refused = /Content Security Policy|unsafe-eval|disallowed by embedder/i.test(why);
  const cure = !refused ? "" : isCloudflare() ? ` ${WORKERS}` : " The page's Content-Security-Policy needs script-src 'wasm-unsafe-eval'.";
  return new PalimpsestError("load_failed", `The wasm module could not be started: ${why}.${cure}`, { cause, retryable: true });
}

/** The bytes or the module behind what a caller named: compiled while it arrives, where the server says that it is wasm. @internal */
export async function open(source: WasmSource): Promise<Code> {
  if (typeof source === "function") return open(await source());
  const module = asModule(source);
  if (module !== undefined) return module;
  if (source instanceof WebAssembly.Module || source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return source;
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
  // the browser keeps what it compiled so beside the file, and need not do it again
  if (response.headers.get("content-type") === "application/wasm" && typeof WebAssembly.compileStreaming === "function") {
    try {
      return await WebAssembly.compileStreaming(response);
    } catch (cause) {
      throw failed(cause);
    }
  }
  return response.arrayBuffer();
}

function address(source: URL | string | Request): string {
  return source instanceof URL ? source.href : typeof source === "string" ? source : source.url;
}
