import { PalimpsestError } from "./errors.js";
import { toText } from "./json.js";
import { call } from "./runtime.js";
import type { Dialect } from "./validate.js";
import type { Counter, TokenizerLoader } from "./wasm/palimpsest_wasm.js";

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
 * Counts tokens with a model's own vocabulary.
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
    options.signal?.throwIfAborted();
    const bytes = typeof json === "string" ? new TextEncoder().encode(json) : new Uint8Array(json as ArrayBuffer);
    const loader = call("Tokenizer.fromOllamaShow()", (module) => new module.TokenizerLoader());
    let pushed = 0;
    const counter = await load(loader, options.signal, () => {
      if (pushed < bytes.length) {
        loader.push(bytes.subarray(pushed, pushed + SLICE));
        pushed += SLICE;
        if (pushed >= bytes.length) loader.end();
      } else if (bytes.length === 0) {
        loader.end();
      }
    });
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
    options.signal?.throwIfAborted();
    const own = new Uint8Array(bytes as ArrayBuffer).slice();
    const loader = call("Tokenizer.fromSnapshot()", (module) => module.TokenizerLoader.fromSnapshot(own));
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

  /** Bytes to keep, for {@link Tokenizer.fromSnapshot}: half as long as the JSON or less. `null` if it estimates. */
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

/** The counter of a tokenizer, or the one estimator. @internal */
export function counterOf(tokenizer: Tokenizer | undefined): Counter {
  if (tokenizer !== undefined) {
    if (!((tokenizer as unknown) instanceof Tokenizer)) {
      const found = tokenizer === null ? "null" : typeof tokenizer === "function" ? "a function" : `a value of type ${typeof tokenizer}`;
      throw new PalimpsestError(
        "invalid_options",
        `The tokenizer must be a Tokenizer of this copy of palimpsest, found ${found}. Make one with Tokenizer.fromOllamaShow(), Tokenizer.fromSnapshot() or Tokenizer.estimate(), or leave it out to estimate.`,
      );
    }
    return tokenizer.counter;
  }
  estimator ??= call("countTokens()", (module) => module.Counter.estimator());
  return estimator;
}

/**
 * Tokens of a text, or of a list of messages as a prompt with what the chat template adds, and with the reasoning that
 * is sent. Estimated unless a {@link Tokenizer} is given.
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
export function countTokens(input: string | readonly unknown[], tokenizer?: Tokenizer, dialect?: Dialect): Count {
  return call("countTokens()", () => {
    const counter = counterOf(tokenizer);
    if (typeof input !== "string") return JSON.parse(counter.countMessages(toText(input), dialect)) as Count;
    const tokens = counter.count(input);
    return { tokens, source: counter.source as Count["source"], bound: counter.bound(tokens) };
  });
}
