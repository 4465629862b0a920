import { PalimpsestError } from "./errors.js";
import { toText, written } from "./json.js";
import { check } from "./options.js";
import { call } from "./runtime.js";
import { transcripts } from "./transcripts.js";
import type { TextCounter } from "./own-counter.js";
import { counterOf, type Tokenizer } from "./tokenizer.js";

/** A request as it was sent. */
export interface SentRequest<M = unknown> {
  /** The number of messages that the history had. The message at this index is the reply. */
  at: number;
  /** The messages that were sent. */
  messages: readonly M[];
  /** The most tokens that they may hold, if there is such a number. */
  limit?: number;
}

/** Options of {@link measureRequests}. */
export interface MeasureRequestsOptions {
  /** Values of calls are looked for once the history is larger than so many tokens; the first request's `limit` if not said. */
  full?: number;
  /** Counts exactly, where you have the model's vocabulary, or with a function of yours. */
  tokenizer?: Tokenizer | TextCounter;
}

/** Sums over requests. Tokens are those of the messages, without tool definitions. */
export interface RequestFigures {
  requests: number;
  /** Requests that are not the one before with more at its end: a provider's cache of the beginning does not hold all of them. */
  breaks: number;
  /** Tokens sent. */
  sent: number;
  /** Of these, tokens behind the first difference in the requests that break. */
  reread: number;
  /** The price in tokens: 0.1 for each that is unchanged from the beginning on, 1.25 for every other. */
  cost: number;
  /** The same price for sending the whole history each time. */
  costOfEverything: number;
  /** Requests at which the history was larger than the limit. */
  full: number;
  /** The fill of the emptiest of these, 0 to 1; 1 if there were none. */
  leastFill: number;
  /** Their mean fill, 0 to 1; 0 if there were none. */
  meanFill: number;
  /** Paths and identifiers in the arguments of a next call that were said before. */
  needed: number;
  /** Of these, those that stood in the request. */
  seen: number;
  /** Of these, those that stand in the newest messages with as many tokens as the request had. */
  seenInTail: number;
}

/**
 * Measures the requests of one conversation, one after the other, whoever made them: how often and how much a provider reads
 * again, what that costs, how full the windows are, and whether the values that the next call names stand in them. These are
 * the measures of this project's bench of agents' loops. The first call loads the part `transcripts` of the module.
 *
 * @throws {@link PalimpsestError} `bad_input` if a list cannot be read or requests are not in order, `invalid_options`, `load_failed`
 *
 * @example
 * ```ts
 * import { Conversation, init, measureRequests } from "palimpsest";
 *
 * await init();
 * const history: { role: string; content: string }[] = [];
 * const conversation = new Conversation<{ role: string; content: string }>({ window: 2048 });
 * const requests = [];
 * for (let n = 0; n < 100; n += 1) {
 *   const asked = { role: "user", content: `Parcel ${1000 + n} goes to gate ${n % 9}. Where is it now, and who has it?` };
 *   history.push(asked);
 *   conversation.push(asked);
 *   const { messages, report } = conversation.fit();
 *   requests.push({ at: history.length, messages, limit: report.limit });
 *   const reply = { role: "assistant", content: `Parcel ${1000 + n} is on its way.` };
 *   history.push(reply);
 *   conversation.push(reply);
 * }
 * const { breaks, cost, costOfEverything } = await measureRequests(history, requests);
 * console.log(breaks < 50, cost < costOfEverything);
 * ```
 */
export async function measureRequests<M>(history: readonly M[], requests: readonly SentRequest<M>[], options: MeasureRequestsOptions = {}): Promise<RequestFigures> {
  if (!Array.isArray(history) || !Array.isArray(requests) || !requests.every(isRequest)) {
    throw new PalimpsestError("bad_input", "Expected the list of the conversation's messages and a list of requests, such as { at: 3, messages, limit: 4096 }.");
  }
  check(options, ["full", "tokenizer"]);
  const { full = requests[0]?.limit ?? 0, tokenizer } = options;
  if (!isCount(full)) throw new PalimpsestError("invalid_options", "full: it must be a whole number of tokens, 0 or more.");
  const numbers = new Numbers<M>();
  const plain = { history: numbers.of(history), requests: requests.map(({ at, messages, limit }) => ({ at, window: numbers.of(messages), ...(limit !== undefined && { limit }) })) };
  // as they are now: the part may have to be loaded first
  const text = `{"messages":${numbers.text},${written(plain).slice(1)}`;
  const counter = counterOf(tokenizer);
  const part = await transcripts("measureRequests()");
  return call("measureRequests()", () => part.series(text, full, counter));
}

function isRequest(request: unknown): boolean {
  const { at, messages, limit } = (request ?? {}) as { at?: unknown; messages?: unknown; limit?: unknown };
  return isCount(at) && Array.isArray(messages) && (limit === undefined || isCount(limit));
}

const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 32;

/** Messages by number. Those that are the same object, or say the same, have one. */
class Numbers<M> {
  readonly #objects = new Map<M, number>();
  /** The texts, in the order of their numbers. */
  readonly #texts = new Map<string, number>();

  of(list: readonly M[]): number[] {
    return list.map((message) => {
      const known = this.#objects.get(message);
      if (known !== undefined) return known;
      const text = toText([message]).slice(1, -1);
      const number = this.#texts.get(text) ?? this.#texts.size;
      this.#texts.set(text, number);
      this.#objects.set(message, number);
      return number;
    });
  }

  /** Every message once, as the text of a list. */
  get text(): string {
    return `[${[...this.#texts.keys()].join(",")}]`;
  }
}
