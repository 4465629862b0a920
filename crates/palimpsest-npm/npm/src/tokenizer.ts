import { PalimpsestError } from "./errors.js";
import { toText } from "./json.js";
import { check } from "./options.js";
import { guarded, type TextCounter } from "./own-counter.js";
import { begin, call } from "./runtime.js";
import { ofTiktoken, ofTokenizerJson, type Description, type TiktokenOptions, type TiktokenRanks } from "./tokenizer-files.js";
import type { Dialect } from "./validate.js";
import type { Counter, TokenizerLoader } from "./wasm/palimpsest_npm.js";

/** A number of tokens, where it comes from, and how far off it may be. */
export interface Count {
  /** Tokens. */
  tokens: number;
  /** Counted with the model's own vocabulary, reported by the provider, or estimated from the text. */
  source: "exact" | "measured" | "estimated";
  /** The true count is at most `tokens + bound` in 95 of 100 cases; 0 for exact counts. */
  bound: number;
}

/** Bytes of work between two pauses: a few milliseconds. */
const SLICE = 256 * 1024;
/** Milliseconds of work before others may run. */
const PATIENCE = 12;

/**
 * Counts tokens: with a model's own vocabulary, with a function of yours, or by estimate.
 *
 * @example
 * ```ts
 * import { countTokens, init, Tokenizer } from "palimpsest";
 *
 * await init();
 * const answer = await fetch("http://localhost:11434/api/show", {
 *   method: "POST",
 *   body: JSON.stringify({ model: "llama3.2:3b", verbose: true }),
 * });
 * using tokenizer = await Tokenizer.fromOllamaShow(new Uint8Array(await answer.arrayBuffer()));
 * console.log(countTokens("How long is this?", tokenizer)); // { tokens: 5, source: "exact", bound: 0 }
 * ```
 */
export class Tokenizer {
  #counter: Counter | undefined;
  /** The snapshot it was made of. */
  readonly #bytes: Uint8Array | undefined;

  private constructor(counter: Counter, bytes?: Uint8Array) {
    this.#counter = counter;
    this.#bytes = bytes;
  }

  /**
   * Loads the vocabulary from what Ollama answers to `POST /api/show` with `{"model": …, "verbose": true}`: tens of
   * megabytes, read in short slices so that a page stays responsive.
   *
   * @throws {@link PalimpsestError} `tokenizer_absent`, `tokenizer_unknown`, `tokenizer_malformed`,
   * `tokenizer_incomplete` or `tokenizer_too_large`; what `signal` was aborted with.
   */
  static async fromOllamaShow(
    json: Uint8Array | ArrayBuffer | string,
    options: { signal?: AbortSignal | undefined } = {},
  ): Promise<Tokenizer> {
    check(options, ["signal"]);
    options.signal?.throwIfAborted();
    const bytes = typeof json === "string" ? new TextEncoder().encode(json) : bytesOf(json);
    const loader = await loaderOf("Tokenizer.fromOllamaShow()");
    return new Tokenizer(await read(loader, bytes, options.signal));
  }

  /**
   * Loads the vocabulary of a `tokenizer.json`, as models on Hugging Face have it: byte-level BPE whose words are cut as by
   * Llama 3, Qwen, GPT-4o and gpt-oss, Mistral's Tekken, GPT-2, StarCoder and SmolLM, or DeepSeek V3, and BPE with `▁` for a
   * space (Llama 2, Gemma). What it does to a text before (NFC) is left out: a text that is not in NFC is counted as it stands.
   *
   * @throws {@link PalimpsestError} `tokenizer_unknown`, whose sentence names the part that is not implemented;
   * `tokenizer_malformed`, `tokenizer_too_large`; what `signal` was aborted with.
   *
   * @example
   * ```ts
   * import { init, Tokenizer } from "palimpsest";
   *
   * await init();
   * const file = await fetch("/models/qwen3/tokenizer.json");
   * using tokenizer = await Tokenizer.fromTokenizerJson(await file.arrayBuffer());
   * console.log(tokenizer.count("How long is this?"), tokenizer.source); // 5 "exact"
   * ```
   */
  static async fromTokenizerJson(json: Uint8Array | ArrayBuffer | string, options: { signal?: AbortSignal | undefined } = {}): Promise<Tokenizer> {
    check(options, ["signal"]);
    options.signal?.throwIfAborted();
    return Tokenizer.#described(ofTokenizerJson(textOf(json)), options.signal);
  }

  /**
   * Loads tiktoken's ranks: the text of a `.tiktoken` file with the `pattern` that goes with it, or the ranks of js-tiktoken.
   *
   * @throws {@link PalimpsestError} `tokenizer_unknown` if words are cut in a way that is not implemented;
   * `tokenizer_malformed`, `tokenizer_too_large`, `invalid_options`; what `signal` was aborted with.
   *
   * @example
   * ```ts
   * import { init, Tokenizer, type TiktokenRanks } from "palimpsest";
   *
   * declare const ranks: TiktokenRanks; // import ranks from "js-tiktoken/ranks/o200k_base"
   * await init();
   * using tokenizer = await Tokenizer.fromTiktoken(ranks);
   * console.log(tokenizer.count("How long is this?")); // 5
   * ```
   */
  static async fromTiktoken(ranks: Uint8Array | ArrayBuffer | string | TiktokenRanks, options: TiktokenOptions = {}): Promise<Tokenizer> {
    check(options, ["pattern", "specialTokens", "signal"]);
    options.signal?.throwIfAborted();
    const text = typeof ranks === "string" || ranks instanceof ArrayBuffer || ArrayBuffer.isView(ranks) ? textOf(ranks) : ranks;
    return Tokenizer.#described(ofTiktoken(text, options), options.signal);
  }

  static async #described({ origin, json }: Description, signal: AbortSignal | undefined): Promise<Tokenizer> {
    const loader = await loaderOf("Tokenizer", { origin });
    return new Tokenizer(await read(loader, new TextEncoder().encode(json), signal));
  }

  /**
   * Counts with a function of yours. It is called once for each text, and at once: it cannot be asynchronous.
   *
   * @param options `exact`: it counts as the model does, so that no margin is kept for its errors; if not said, one per cent is
   * @throws {@link PalimpsestError} `invalid_options` if it is no function; `tokenizer_failed`, here and wherever it counts, if it
   * throws or answers no number
   *
   * @example
   * ```ts
   * import { compact, init, Tokenizer } from "palimpsest";
   *
   * declare function o200k(text: string): number; // import { countTokens as o200k } from "gpt-tokenizer"
   * declare const messages: { role: string; content: string }[];
   * await init();
   * compact(messages, { window: 8192, tokenizer: (text) => o200k(text) }); // a function will do
   * compact(messages, { window: 8192, tokenizer: Tokenizer.fromFunction(o200k, { exact: true }) });
   * ```
   */
  static fromFunction(count: TextCounter, options: { exact?: boolean } = {}): Tokenizer {
    if (typeof count !== "function") throw new PalimpsestError("invalid_options", "Expected a function from a text to its number of tokens.");
    check(options, ["exact"]);
    const own = guarded(count);
    const tokenizer = new Tokenizer(call("Tokenizer.fromFunction()", (module) => (options.exact ? module.Counter.ownExact(own) : module.Counter.ownEstimate(own))));
    tokenizer.isOwn = true;
    return tokenizer;
  }

  /** Whether it calls a function of the caller's. @internal */
  isOwn = false;

  /** @internal */
  static of(counter: Counter): Tokenizer {
    return new Tokenizer(counter);
  }

  /**
   * Loads the vocabulary from a snapshot: in a third of the time.
   *
   * @throws {@link PalimpsestError} `tokenizer_malformed`, `tokenizer_incomplete`; `tokenizer_other_version` if another version of palimpsest
   * wrote it: load it anew.
   *
   * @example
   * ```ts
   * import { init, Tokenizer } from "palimpsest";
   *
   * declare const cache: Map<string, Uint8Array>;
   * await init();
   * const kept = cache.get("llama3.2:3b");
   * if (kept) {
   *   using tokenizer = await Tokenizer.fromSnapshot(kept);
   *   console.log(tokenizer.count("How long is this?"));
   * }
   * ```
   */
  static async fromSnapshot(
    bytes: Uint8Array | ArrayBuffer,
    options: { signal?: AbortSignal | undefined } = {},
  ): Promise<Tokenizer> {
    check(options, ["signal"]);
    options.signal?.throwIfAborted();
    const own = bytesOf(bytes).slice();
    const loader = await loaderOf("Tokenizer.fromSnapshot()", { snapshot: own });
    return new Tokenizer(await load(loader, options.signal, () => {}), own);
  }

  /** Estimates, without any vocabulary: better if the model's name is given. */
  static estimate(model?: string): Tokenizer {
    return new Tokenizer(call("Tokenizer.estimate()", (module) => module.Counter.estimator(model)));
  }

  /** Tokens of a text. */
  count(text: string): number {
    return call("count()", () => this.counter.count(text));
  }

  /** Tokens of a text, or `null` if there are more than `limit`: stops counting there. */
  countUntil(text: string, limit: number): number | null {
    const most = Number.isFinite(limit) ? Math.max(0, Math.min(0xffff_ffff, Math.floor(limit))) : 0xffff_ffff;
    return call("countUntil()", () => this.counter.countUntil(text, most) ?? null);
  }

  /** Bytes to keep, for {@link Tokenizer.fromSnapshot}: half as long as the JSON or less. `null` if it counts without a vocabulary. */
  snapshot(): Uint8Array | null {
    return this.#bytes ?? call("snapshot()", () => this.counter.snapshot() ?? null);
  }

  /** How certain its counts are. */
  get source(): Count["source"] {
    return call("source", () => this.counter.source as Count["source"]);
  }

  /** Gives its memory back. May be called more than once; after it the tokenizer cannot count any more. */
  free(): void {
    this.#counter?.free();
    this.#counter = undefined;
  }

  /** As {@link Tokenizer.free}. */
  [Symbol.dispose](): void {
    this.free();
  }

  /** @internal */
  get counter(): Counter {
    if (this.#counter === undefined) throw new PalimpsestError("closed", "This tokenizer has been freed.");
    return this.#counter;
  }
}

/** The text of a file. */
function textOf(file: Uint8Array | ArrayBuffer | ArrayBufferView | string): string {
  if (typeof file === "string") return file;
  if (file instanceof ArrayBuffer || ArrayBuffer.isView(file)) return new TextDecoder().decode(file);
  throw new PalimpsestError("bad_input", "Expected the text or the bytes of a file.");
}

/** The bytes of what a caller gives as such. */
function bytesOf(given: Uint8Array | ArrayBuffer): Uint8Array {
  if (ArrayBuffer.isView(given)) return new Uint8Array(given.buffer, given.byteOffset, given.byteLength);
  // also one of another window
  if (/ArrayBuffer\]$/.test(Object.prototype.toString.call(given))) return new Uint8Array(given);
  throw new PalimpsestError("bad_input", "Expected the bytes of a file: a Uint8Array or an ArrayBuffer.");
}

/** Feeds a loader with bytes. */
function read(loader: TokenizerLoader, bytes: Uint8Array, signal: AbortSignal | undefined): Promise<Counter> {
  let pushed = 0;
  return load(loader, signal, () => {
    if (pushed < bytes.length) {
      loader.push(bytes.subarray(pushed, pushed + SLICE));
      pushed += SLICE;
      if (pushed >= bytes.length) loader.end();
    } else if (bytes.length === 0) {
      loader.end();
    }
  });
}

/** Begins to read a vocabulary: from a snapshot, or from bytes that are pushed, which say by `origin` who described it. */
function loaderOf(name: string, from: { origin?: Description["origin"]; snapshot?: Uint8Array } = {}): Promise<TokenizerLoader> {
  return begin("tokenizer", name, (module) => module.tokenizerLoader(from.snapshot, from.origin));
}

/** Lets a loader do its work in slices between which others run. */
async function load(loader: TokenizerLoader, signal: AbortSignal | undefined, feed: () => void): Promise<Counter> {
  try {
    let since = performance.now();
    for (;;) {
      const ready = call("Tokenizer", () => {
        feed();
        return loader.step(SLICE);
      });
      if (ready) return call("Tokenizer", () => loader.finish());
      if (performance.now() - since > PATIENCE) {
        await new Promise((resolve) => setTimeout(resolve));
        signal?.throwIfAborted();
        since = performance.now();
      }
    }
  } finally {
    loader.free();
  }
}

let estimator: Counter | undefined;

/** Counters of the caller's that were used, so that their counts are kept between calls. */
const own = new WeakMap<TextCounter, Tokenizer>();

/** A tokenizer for a counter of the module's. @internal */
export function estimating(counter: Counter): Tokenizer {
  return Tokenizer.of(counter);
}

/** The counter of a tokenizer, or the one estimator. @internal */
export function counterOf(tokenizer: Tokenizer | TextCounter | undefined): Counter {
  if (typeof tokenizer === "function") {
    let known = own.get(tokenizer);
    if (known === undefined) own.set(tokenizer, (known = Tokenizer.fromFunction(tokenizer)));
    return known.counter;
  }
  if (tokenizer !== undefined) {
    if (!((tokenizer as unknown) instanceof Tokenizer)) {
      const found = tokenizer === null ? "null" : `a value of type ${typeof tokenizer}`;
      throw new PalimpsestError(
        "invalid_options",
        `The tokenizer must be a Tokenizer of this copy of palimpsest, found ${found}. Make one with Tokenizer.fromOllamaShow(), Tokenizer.fromTokenizerJson(), Tokenizer.fromTiktoken(), Tokenizer.fromSnapshot() or Tokenizer.estimate(), give a function (text) => number, or leave it out to estimate.`,
      );
    }
    return tokenizer.counter;
  }
  estimator ??= call("countTokens()", (module) => module.Counter.estimator());
  return estimator;
}

/**
 * Tokens of a text, or of a list of messages as a prompt with what the chat template adds, and with the reasoning that
 * is sent. Estimated unless a {@link Tokenizer} or a function that counts is given.
 *
 * @example
 * ```ts
 * import { countTokens, init } from "palimpsest";
 *
 * await init();
 * const { tokens, source, bound } = countTokens([{ role: "user", content: "How long is this?" }]);
 * console.log(`${tokens} ± ${bound} (${source})`);
 * ```
 */
export function countTokens(input: string | readonly unknown[], tokenizer?: Tokenizer | TextCounter, dialect?: Dialect): Count {
  return call("countTokens()", () => {
    const counter = counterOf(tokenizer);
    if (typeof input !== "string") return counter.countMessages(toText(input), dialect);
    const tokens = counter.count(input);
    return { tokens, source: counter.source as Count["source"], bound: counter.bound(tokens) };
  });
}
