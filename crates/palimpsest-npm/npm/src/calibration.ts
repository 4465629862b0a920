// Estimates that learn from what a provider counted.

import { PalimpsestError } from "./errors.js";
import { toText } from "./json.js";
import { check } from "./options.js";
import { begin, call } from "./runtime.js";
import { estimating, type Tokenizer } from "./tokenizer.js";
import type { Dialect } from "./validate.js";
import type { Calibrator } from "./wasm/palimpsest_npm.js";

/**
 * What a provider says about the size of a prompt: a number of tokens, or the object that came with the answer, of OpenAI,
 * Anthropic, Gemini, Bedrock, Ollama, LangChain or the AI SDK.
 */
export type ProviderUsage = number | Readonly<Record<string, unknown>>;

/** What a list was sent with, and how it is read. */
export interface ObserveOptions {
  /** The tool definitions that went with the request. */
  tools?: readonly unknown[];
  /** The list's shape, where it is not plain from the list. */
  dialect?: Dialect;
  /** The model's context window in tokens: a prompt that nearly filled it may have been cut, and teaches nothing. */
  window?: number;
}

/**
 * Learns how many tokens a model's texts have from what its provider reports, and estimates with it. For models whose
 * vocabulary nobody publishes, such as Claude: after a few answers its estimates are off by a few per cent.
 *
 * @example
 * ```ts
 * import { Calibration, compact, init } from "palimpsest";
 *
 * declare function ask(messages: { role: string; content: string }[]): Promise<{ usage: { input_tokens: number } }>;
 * declare let messages: { role: string; content: string }[];
 * await init();
 * const calibration = await Calibration.start("claude-sonnet-4-5");
 * const { messages: sent } = compact(messages, { window: 32768, tokenizer: calibration.tokenizer });
 * const answer = await ask(sent);
 * calibration.observe(sent, answer.usage);
 * ```
 */
export class Calibration {
  readonly #inner: Calibrator;
  #tokenizer: Tokenizer | undefined;

  private constructor(inner: Calibrator) {
    this.#inner = inner;
  }

  /** Begins to learn. @param model the model's name, which says what to begin with */
  static async start(model?: string): Promise<Calibration> {
    return new Calibration(await begin("tokenizer", "Calibration.start()", (module) => module.calibrator(model)));
  }

  /** Goes on from what {@link Calibration.save} gave. @throws `invalid_options` if it is something else */
  static async load(saved: string): Promise<Calibration> {
    return new Calibration(await begin("tokenizer", "Calibration.load()", (module) => module.calibrator(undefined, saved)));
  }

  /** What was learned, as text to keep: about 2 KB, and nothing of what was said. */
  save(): string {
    return call("save()", () => this.#inner.save());
  }

  /**
   * Learns from what the provider counted for a list as it was sent.
   *
   * @returns `learned`; `ignored` where the count says nothing, such as one near the window or far above what was sent;
   * `truncated` where it is so small that the server must have cut the prompt
   * @throws {@link PalimpsestError} `bad_input` if the usage holds no count of a prompt
   */
  observe(messages: readonly unknown[], usage: ProviderUsage, options: ObserveOptions = {}): "learned" | "ignored" | "truncated" {
    check(options, ["tools", "dialect", "window"]);
    const tokens = promptTokens(usage);
    if (tokens === undefined) {
      throw new PalimpsestError("bad_input", "This usage does not say how many tokens the prompt had: pass the number, or the usage object of the answer.");
    }
    const { tools, dialect, window = 0 } = options;
    const verdict = call("observe()", () => this.#inner.observe(toText(messages), tools && toText(tools), dialect, tokens, window));
    if (verdict === "learned") this.#tokenizer = undefined;
    return verdict as "learned" | "ignored" | "truncated";
  }

  /** Estimates with what was learned so far. Take it anew for each request. */
  get tokenizer(): Tokenizer {
    return (this.#tokenizer ??= call("tokenizer", () => estimating(this.#inner.counter())));
  }
}

/** Names of a prompt's tokens; where it is listed, with what a cache held of them, which is not in the first number then. */
const NAMES: readonly (readonly string[])[] = [
  ["prompt_tokens"], // OpenAI, with what was cached
  ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"], // Anthropic; OpenAI's Responses and LangChain have the first
  ["promptTokenCount"], // Gemini
  ["inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"], // Bedrock; the AI SDK has the first
  ["promptTokens"], // older AI SDKs
  ["prompt_eval_count"], // Ollama
];

/** How many tokens of a prompt a provider counted; nothing if it does not say. @internal */
export function promptTokens(usage: ProviderUsage): number | undefined {
  const valid = (n: unknown): n is number => typeof n === "number" && Number.isFinite(n) && n > 0;
  if (!usage || typeof usage !== "object") return valid(usage) ? Math.round(usage) : undefined;
  for (const names of NAMES) {
    const sum = names.map((name) => usage[name]).reduce<number>((sum, n) => sum + (valid(n) ? n : 0), 0);
    // a prompt that was cached as a whole may be 0 in the first
    if (names.some((name) => name in usage) && sum > 0) return Math.round(sum);
  }
  // the answer as a whole
  const inner = usage["usage"] ?? usage["usageMetadata"] ?? usage["usage_metadata"];
  return typeof inner === "object" && inner !== null ? promptTokens(inner as ProviderUsage) : undefined;
}
