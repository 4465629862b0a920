// Who answers: a server, or a client of your own.

import type { Address } from "./border.js";
import { PalimpsestError } from "./errors.js";
import { check } from "./options.js";

/** A message of a request, as OpenAI has them: what every provider's library reads. */
export interface ChatMessage {
  /** Who speaks. */
  role: "system" | "user" | "assistant" | "tool";
  /** What is said; `null` beside tool calls, parts where there are pictures. */
  content: string | null | { type: string; [field: string]: unknown }[];
  /** The tools an assistant asks for. */
  tool_calls?: { id: string; type: "function"; function: { name: string; arguments: string } }[];
  /** The call a tool answers. */
  tool_call_id?: string;
}

/** What a model is asked. All sizes are tokens. */
export interface ChatRequest {
  /** The model's name, as the session has it. */
  model: string;
  /** What it reads, in order. */
  messages: ChatMessage[];
  /** Tool definitions. */
  tools?: unknown[];
  /** The window: Ollama's `num_ctx`. */
  window: number;
  /** The most it may write. */
  maxTokens: number;
  /** Randomness, where one was chosen. */
  temperature?: number;
  /** The share of probability that words are chosen from, where one was chosen. */
  topP?: number;
  /** Words that are less likely than this share of the likeliest one are never chosen, where one was chosen. */
  minP?: number;
  /** How much words lose that were just written, where it was chosen. */
  repeatPenalty?: number;
  /** A number that makes choices repeatable, where one was chosen. */
  seed?: number;
  /** Texts that end the answer. */
  stop?: string[];
  /** The JSON schema that the answer has to follow, or `"json"` for any JSON. */
  format?: "json" | Record<string, unknown>;
  /** Whether it shall think first. A summary never does. */
  think?: boolean;
  /** A reply of the conversation, or a summary for a layer. */
  purpose: "chat" | "summary";
}

/** A piece of an answer. A plain string is a piece of its text. */
export type ChatPiece =
  | string
  | { type: "text"; text: string }
  | { type: "thinking"; text: string }
  | { type: "tool_call"; id?: string; name: string; arguments: string }
  | { type: "usage"; promptTokens?: number; completionTokens?: number; promptMs?: number; completionMs?: number }
  | { type: "done"; reason?: "stop" | "length" | "tool_calls" };

/**
 * Who answers a session, and writes its summaries: {@link ollama}, {@link openai}, or an object of yours with this one
 * function.
 *
 * What `chat` throws comes back from `send` as it is. An error with the `code` of a model's failure is understood:
 * `overflow` (with `details.prompt` and `details.window`, where known) makes the window smaller and asks again; `busy`
 * (with `details.retryAfterMs`), `unreachable` and `timed_out` let a summary be asked for once more.
 *
 * @example
 * ```ts
 * import { openSession, type LanguageModel } from "palimpsest";
 *
 * // a client of your own: any library, any provider
 * const mine: LanguageModel = {
 *   async *chat(request, signal) {
 *     const answer = await fetch("/my/backend", { method: "POST", body: JSON.stringify(request), signal });
 *     const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
 *     for (;;) {
 *       const { done, value } = await reader.read();
 *       if (done) return;
 *       yield value;
 *     }
 *   },
 * };
 * await using session = await openSession({ model: "mine", window: 32768, llm: mine });
 * console.log(await session.send("Hello").text());
 * ```
 */
export interface LanguageModel {
  /** Answers a request, in pieces or at once. Ends early when the signal says so. */
  chat(
    request: ChatRequest,
    signal: AbortSignal,
  ): AsyncIterable<ChatPiece> | Iterable<ChatPiece> | PromiseLike<AsyncIterable<ChatPiece> | Iterable<ChatPiece> | string>;
}

/** Where an Ollama is. */
export interface OllamaOptions {
  /** Its address; `http://localhost:11434` if not said. */
  url?: string;
  /** Sent as `Authorization: Bearer …`. */
  key?: string;
}

/** Where a server is that speaks OpenAI's chat completions. */
export interface OpenAiOptions {
  /** Its address, with or without `/v1` at the end. */
  url: string;
  /** Sent as `Authorization: Bearer …`. A page's visitors can read it. */
  key?: string;
  /** `llama.cpp` if the server is one: it understands more. */
  server?: "llama.cpp";
}

/** The servers that {@link ollama} and {@link openai} made. */
const servers = new WeakMap<LanguageModel, Address>();

/** Where the server of a model is, if it is one of ours. @internal */
export const addressOf = (model: LanguageModel): Address | undefined => servers.get(model);

/**
 * The models of an Ollama. The window is asked for as `num_ctx`, nothing is cut or shifted silently, and what went wrong
 * has a code: `unreachable`, `forbidden` (the server does not let this page ask: see OLLAMA_ORIGINS), `model_missing`,
 * `overflow`, `busy`.
 *
 * @example
 * ```ts
 * import { ollama, openSession } from "palimpsest";
 *
 * await using session = await openSession({ model: "llama3.2:3b", window: 8192, llm: ollama() });
 * for await (const chunk of session.send("Why is the sky blue?")) {
 *   if (chunk.type === "text") console.log(chunk.text);
 * }
 * ```
 */
export function ollama(options: OllamaOptions = {}): LanguageModel {
  check(options, ["url", "key"]);
  return served({ protocol: "ollama", url: options.url ?? "http://localhost:11434", key: options.key ?? "" });
}

/**
 * The models of any server that speaks OpenAI's chat completions. Such a server has the window that it was started with:
 * a session asks it for that (llama.cpp and vLLM tell it), and where it is smaller than the session's own, budget and
 * requests go by it, with a warning `window_smaller`. A server that does not tell teaches it by its first refusal.
 *
 * @example
 * ```ts
 * import { openai, openSession } from "palimpsest";
 *
 * const llm = openai({ url: "http://localhost:8080", server: "llama.cpp" });
 * await using session = await openSession({ model: "any", window: 4096, llm });
 * console.log(await session.send("Hello").text());
 * ```
 */
export function openai(options: OpenAiOptions): LanguageModel {
  if (typeof options?.url !== "string") throw new PalimpsestError("invalid_options", 'Expected the address of a server: openai({ url: "http://localhost:8080" }).');
  check(options, ["url", "key", "server"]);
  const url = options.url.replace(/\/+$/, "").replace(/\/v1$/, "");
  return served({ protocol: options.server ?? "openai", url, key: options.key ?? "" });
}

function served(address: Address): LanguageModel {
  const model: LanguageModel = {
    async *chat(request, signal) {
      const { chat } = await import("./opening.js");
      yield* chat(address, request, signal);
    },
  };
  servers.set(model, address);
  return model;
}
