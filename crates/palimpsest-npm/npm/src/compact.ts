import { PalimpsestError } from "./errors.js";
import { parsed, type Compacted as Output, type Compacting } from "./border.js";
import { filled, mended, toText, written } from "./json.js";
import { check, snake } from "./options.js";
import { call } from "./runtime.js";
import type { TextCounter } from "./own-counter.js";
import { counterOf, type Count, type Tokenizer } from "./tokenizer.js";
import type { Dialect } from "./validate.js";
import type { Compaction, Counter } from "./wasm/palimpsest_npm.js";

/** The named policies. */
export type PolicyName = "balanced" | "checkpoints" | "watermark" | "offload-compact" | "auto-summarize";

/**
 * Where the user's demands for the rest of the conversation stand, once their message is covered: `"layer"` word for word in
 * a block of their own at the head of the layers, with a user's authority, and they do not fade; `"system"` in the system
 * message, with the pins; `"off"` nowhere, none are looked for. Text in quotations, code, mails, pasted documents and what
 * tools say is never a demand.
 */
export type Demands = "layer" | "system" | "off";

/**
 * A policy of your own: a preset, and what differs from it. When to act, which passes in which order, with which
 * numbers. An unknown key is refused with the nearest one.
 */
export interface Policy {
  /** The preset that stands for everything not said here; `balanced` if not said. */
  base?: PolicyName;
  /** Its name. */
  name?: string;
  /** When a session compacts without being asked. `idle`: nothing was said for so many seconds, and the window is over its target. */
  triggers?: (
    | { on: "fill"; of: "available" | "window_less_fixed" | "window" | "window_less_tier"; at: number }
    | { on: "messages"; count: number }
    | { on: "idle"; seconds: number }
    | { on: "watermark" | "overflow" | "manual" }
  )[];
  /** The passes, each taken only if the one before was not enough, in this order; the last one is `emergency`. */
  passes?: (
    | { pass: "condense" | "dedupe" | "summarize" | "truncate" | "fade" | "emergency" }
    | { pass: "strip"; keep?: number; keepErrors?: boolean; keepBest?: number }
    | { pass: "offload"; tokens?: number; windowPercent?: number; brief?: boolean }
  )[];
  /** When the passes go on after the deterministic ones. */
  escalate?: { when: "target" } | { when: "weak"; tokens: number; windowPercent: number };
  /** How much a new layer covers. */
  cover?: "needed" | "all";
  /** How much of the end stays as it was said. */
  keepRecent?: { by: "share" } | { by: "tokens"; tokens: number } | { by: "messages"; messages: number };
  /** What happens to the user's own words in a covered range. */
  userWords?: "share" | "summarize" | "never";
  /**
   * The role of the message that holds the layers. With `"assistant"`, as in `checkpoints` and `auto-summarize`, that message comes
   * first in the list. A model whose template wants turns that begin with the user (Gemma, Mistral) needs `"user"`; so does a list
   * for Anthropic that is plain enough to pass for OpenAI's, unless you say `dialect: "anthropic"`.
   */
  slotRole?: "user" | "assistant" | "system";
  /** Where the user's demands stand that are found in covered messages; see {@link Demands}. */
  demands?: Demands;
  /** A line before the layers. */
  slotPrefix?: string;
  /** The detail of a new layer: all of it (`age`), or less for more than 2,000 and 3,000 covered tokens (`size`). */
  levels?: "age" | "size";
  /** How layers get shorter with age. */
  fading?: { by: "notes" } | { by: "cascade"; sizes: number[] } | { by: "ratios"; largest: number; percent: number[] } | { by: "single"; tokens: number };
  /** The form a summary is asked for in. */
  headings?: "level" | "eight" | "short";
  /** What happens when a model was to summarise and did not answer. */
  onFailure?: "extractive" | "refuse";
  /** Whether old passages are quoted when a message asks for them. */
  recall?: boolean;
  /** Whether tool output is condensed as it arrives. */
  onArrival?: boolean;
  /** Tokens that a system prompt may take without a warning, by the class of the window's size. */
  promptBudgets?: { minimal?: number; basic?: number; standard?: number; premium?: number; ultra?: number };
  /** How tool output is condensed: floors in tokens, and rules of which the first that fits is taken. */
  toolOutput?: {
    debug?: boolean;
    floor?: number;
    structuredFloor?: number;
    errorPercent?: number;
    gainPercent?: number;
    rules?: {
      tools: string;
      content?: "json" | "diff" | "html" | "log" | "trace" | "hits" | "csv" | "yaml" | "text";
      aboveLines?: number;
      aboveRows?: number;
      method: "keep" | "search" | "file" | "rows" | "api" | "content";
    }[];
  };
  /** What counts as a repetition: patterns of tool names, and the arguments that name a file. */
  repeats?: { floor?: number; reads?: string; writes?: string; edits?: string; paths?: string[] };
  /** When a watermark is set. `tools`: a pattern for tools whose calls set one, in lists and in sessions whose policy acts on marks. */
  marks?: { tools?: string; onActivate?: boolean; everyTokens?: number; atTasks?: boolean };
}

/** What the conversation is to reach: never summarised, always in the system message. */
export interface Goal {
  /** What is to be reached. */
  description: string;
  /** How much it matters; `medium` if not said. */
  priority?: "high" | "medium" | "low";
  /** Whether it is being worked on; `active` if not said. */
  status?: "active" | "paused" | "completed";
  /** Steps on the way. */
  milestones?: { id: number; text: string; state: "pending" | "in-progress" | "completed"; completed?: number | null }[];
  /** What was decided on the way. */
  decisions?: { id: number; text: string; rationale?: string; kind?: "general" | "architecture"; locked?: boolean }[];
}

/** What {@link compact} gave, to be given back with the longer list. Opaque, and can be stored as JSON. */
export type CompactState = { readonly version: number } & Readonly<Record<string, unknown>>;

/** How to compact a list. All sizes are tokens. */
export interface CompactOptions {
  /** The model's context window. */
  window: number;
  /** Kept free for the answer, 0 or more; a share of the window if not said. */
  reserve?: number;
  /** The most the result may hold; the window without reserve and margin if not said. */
  maxTokens?: number;
  /** A named policy, or one of your own; `balanced` if not said. */
  policy?: PolicyName | Policy;
  /** Where found demands of the user's stand; `"layer"` if not said. Comes before what the policy says. */
  demands?: Demands;
  /**
   * Whether passages of earlier messages that answer the user's last message are quoted before it, from what layers cover in
   * the list that is passed in; true with the policy `balanced` if not said. The quotes take up to a quarter of the limit,
   * of what is free, and stay as they are until the user speaks again. Comes before what the policy says.
   */
  recall?: boolean;
  /**
   * What the provider keeps of a prompt between requests: `"prefix"` what stands at the beginning of both, `"none"` nothing;
   * `"prefix"` if not said. With `"prefix"` a compaction goes below the limit, so far that the next requests only add to
   * the list that came back; with `"none"` it keeps as much as fits.
   */
  cache?: "prefix" | "none";
  /** Tool definitions that go with the request: their size counts. */
  tools?: readonly unknown[];
  /**
   * The text of the system prompt, where the request has it in a field of its own and not in the list: `system` of Anthropic and
   * of the AI SDK, `systemInstruction` of Gemini, `instructions` of OpenAI's Responses. Its size counts.
   */
  system?: string;
  /** What the conversation is to reach. */
  goal?: Goal;
  /** Lines to keep word for word. */
  pins?: readonly string[];
  /** Counts exactly, where you have the model's vocabulary, or with a function of yours. */
  tokenizer?: Tokenizer | TextCounter | undefined;
  /** What the last call gave: then earlier layers stay as they are, and only new text is compressed. */
  state?: CompactState | undefined;
  /** The list's shape, where it is not plain from the list. */
  dialect?: Dialect;
  /** The model thinks before it answers: more is kept free. */
  thinking?: boolean;
  /** What the conversation is about. */
  mode?: "developer" | "planning" | "debugger" | "assistant";
  /** What the summary should dwell on. */
  focus?: string;
}

/** What can take something out of a window: a pass, or what stands beside passes. */
export type Pass =
  | "condense" | "dedupe" | "strip" | "offload" | "summarize" | "truncate" | "fade" | "emergency"
  /** The reasoning of finished turns left out. */
  | "reasoning"
  /** Passages that were quoted for one message, and went with it. */
  | "recall"
  /** What the calls before did, whose state came back with the whole list. */
  | "earlier";

/** What one pass took. */
export interface Shed {
  pass: Pass;
  /** Messages it changed; `fade` and `emergency` count layers, too. */
  messages: number;
  /** Tokens the window lost by it. Those of all passes together are what the window lost. */
  tokens: number;
  /** What became of the facts of what it took or shortened; absent where there were none. Those of all passes together are the report's. */
  facts?: Facts;
}

/**
 * What became of the facts of everything that does not stand in the window any more as it did: messages, layers, quotes.
 * Each fact counts once.
 */
export interface Facts {
  /** All of them. */
  touched: number;
  /** Those that the window still holds. */
  kept: number;
  /** Those it does not hold, whose message still stands in its place in a shorter form that says so: a reference, a condensed text, an excerpt. */
  recallable: number;
  /** The others: nothing in the window leads back to them. */
  dropped: number;
}

/** What a call of {@link compact} did. Positions are indices into the list that was passed in. */
export interface CompactReport {
  /** Whether the list came back changed. */
  changed: boolean;
  /** Tokens of the list as it was passed in, tools included. */
  before: Count;
  /** Tokens of the list that came back, tools included. */
  after: Count;
  /** The most tokens the result may hold. */
  limit: number;
  /** Layers in the result. */
  layers: number;
  /** Messages a layer stands for. */
  covered: { from: number; to: number }[];
  /** The user's messages that stand word for word beside the layers. */
  quoted: number[];
  /** The user's messages of which an excerpt stands beside the layers, or since this call in their own place. */
  shortened: number[];
  /**
   * The user's demands that were found in covered messages, word for word, and the message each is from. One that only may
   * be meant to last is `"likely"`: it stands with the layers, without a demand's authority.
   */
  demands: { text: string; message: number; level?: "likely" }[];
  /**
   * The user's messages that stood word for word before this call, of which neither the words nor an excerpt stand now.
   */
  summarised: number[];
  /** The covered messages of which passages are quoted before the user's last message; one may be there more than once. */
  recalled: number[];
  /** Tokens that those quotes added; 0 if they stood in the given list already. */
  recalledTokens: number;
  /** What each pass took, in the order in which they ran: all together `before` and `recalledTokens` less `after`. */
  passes: Shed[];
  /** What became of the facts of what this call took out or shortened. With a state: since the call that gave it. */
  facts: Facts;
  /** `kept` ÷ `touched` of the facts; 1 if nothing was touched. */
  retention: number;
  /**
   * Whether something left without a trace: facts were dropped, or words are gone, and neither a shorter form of them nor a
   * layer with text stands in their place.
   */
  lossy: boolean;
  /** Dropped facts, the most important first: at most 64. `facts.dropped` says how many there were. */
  dropped: string[];
  /** What was done beside summarising, in sentences. */
  adjustments: string[];
  /** A stable name for each of the adjustments, in their order. */
  codes: string[];
}

/** The result of {@link compact}. */
export interface Compacted<M> {
  /** The new list. Messages that stand as they were said are the very objects that were passed in. */
  messages: M[];
  /** What was done. */
  report: CompactReport;
  /** Give this back with the longer list. */
  state: CompactState;
}

/** A text that a summariser is asked for. */
export interface SummaryJob {
  /** Its number within the call. */
  id: number;
  /** Which part of the covered range it is, from 1. */
  part: number;
  /** Into how many parts the range was split. */
  parts: number;
  /** 1, or 2 after an answer that was not accepted. */
  attempt: number;
  /** Tokens the summary should have at most. */
  targetTokens: number;
  /** The most tokens to let the model write. */
  maxTokens: number;
  /** The system message for the model. */
  system: string;
  /** The user message for the model: instructions, and the conversation fenced as data. */
  prompt: string;
}

/** Options of {@link compactWith}. */
export interface CompactWithOptions extends CompactOptions {
  /** Ends the call: it rejects with the signal's reason, and nothing has changed. */
  signal?: AbortSignal | undefined;
  /** The summariser's name, for the record. */
  model?: string;
  /**
   * What happens when `summarize` throws: `"extractive"` takes the extractive summary in its place, which is the default, and
   * says so with the code `summarizer_failed`; `"throw"` ends the call with what was thrown. With a policy whose `onFailure`
   * is `"refuse"` the call ends with `model_failed`.
   */
  onError?: "extractive" | "throw";
  /** How many summaries are asked for at once; 4 if not said. */
  parallel?: number;
}

/**
 * Makes a conversation fit: a list of messages in, a list of at most `maxTokens` tokens out, in the same dialect. No
 * model is asked and nothing is stored; the same input gives the same result. A list that fits comes back unchanged.
 *
 * What is left out stays in your list. Keep it, give `state` back with the longer list next time, and earlier
 * layers stay byte for byte as they are, so that the provider's prompt cache keeps working. If you would rather keep
 * only what came back: with its state it is recognised, and may be longer by what was said since. What a layer covers
 * is then gone.
 *
 * @throws {@link PalimpsestError} `cannot_fit` with `details.floor` if system prompt and the last exchange alone
 * are larger than the limit: pins, demands and the goal leave the window before that, which `report.codes` calls
 * `left_out_records`; `bad_input` naming the message that cannot be read; `invalid_window`, `unknown_policy`,
 * `invalid_policy`, `invalid_options`, `records_too_large`.
 *
 * @example
 * ```ts
 * import { compact, init } from "palimpsest";
 *
 * await init();
 * const history = [
 *   { role: "system", content: "You help with travel plans." },
 *   { role: "user", content: "I never fly. Plan two weeks in Japan." },
 * ];
 * let { messages, state, report } = compact(history, { window: 8192 });
 * console.log(messages.length, report.changed); // 2 false
 *
 * // …the conversation goes on…
 * history.push({ role: "assistant", content: "Then let us look at ferries and trains." });
 * ({ messages, state } = compact(history, { window: 8192, state }));
 * ```
 */
export function compact<M>(messages: readonly M[], options: CompactOptions): Compacted<M> {
  return call("compact()", () => {
    const compaction = begin(messages, options, new Uint8Array());
    try {
      return result(parsed(compaction.finish()), messages);
    } finally {
      compaction.free();
    }
  });
}

/**
 * As {@link compact}, with summaries by a model of yours. `summarize` is called once for each text that is needed, for
 * several at once; an answer that is empty, a refusal, an echo or too long is asked for once more, then the extractive
 * summary is taken. So it is where `summarize` throws or gives no text; after two such failures it is not asked again in
 * this call. Statements of an answer that name a person, a number, a path or an identifier that the summarised messages lack are
 * struck out, and the report has the code `struck_statements`. The list is read when the call begins: what is added to it
 * meanwhile belongs to the next call.
 *
 * @example
 * ```ts
 * import { compactWith, init } from "palimpsest";
 *
 * await init();
 * const history = [{ role: "user", content: "Hello" }];
 * const { messages } = await compactWith(history, { window: 8192 }, async (job, signal) => {
 *   const answer = await fetch("http://localhost:11434/api/chat", {
 *     method: "POST",
 *     signal,
 *     body: JSON.stringify({
 *       model: "llama3.2:3b",
 *       stream: false,
 *       options: { num_predict: job.maxTokens },
 *       messages: [
 *         { role: "system", content: job.system },
 *         { role: "user", content: job.prompt },
 *       ],
 *     }),
 *   });
 *   return (await answer.json()).message.content;
 * });
 * console.log(messages.length); // 1
 * ```
 */
export async function compactWith<M>(
  messages: readonly M[],
  options: CompactWithOptions,
  summarize: (job: SummaryJob, signal: AbortSignal) => Promise<string> | string,
): Promise<Compacted<M>> {
  const { signal, onError = "extractive", parallel = 4, ...rest } = options ?? {};
  signal?.throwIfAborted();
  if (typeof summarize !== "function") {
    throw new PalimpsestError("invalid_options", "compactWith() needs a function that writes summaries.");
  }
  if (onError !== "extractive" && onError !== "throw") {
    throw new PalimpsestError("invalid_options", `onError is "extractive" or "throw", not ${String(onError)}.`);
  }
  if (!Number.isSafeInteger(parallel) || parallel < 1) {
    throw new PalimpsestError("invalid_options", `${String(parallel)} summaries at once are not possible: parallel must be a whole number above 0.`);
  }
  const secret = crypto.getRandomValues(new Uint8Array(16));
  const given = Array.isArray(messages) ? [...messages] : messages;
  const compaction = call("compactWith()", () => begin(given, { model: "host", ...rest }, secret));
  const summaries = new Summaries(summarize, parallel, onError === "throw", signal);
  try {
    for (;;) {
      const step = parsed(call("compactWith()", () => compaction.step()));
      if (!("job" in step)) return summaries.reported(result(step, given));
      if (!summaries.isBegun) summaries.begin(step.job, call("compactWith()", () => compaction.queued()));
      const text = await summaries.of(step.job);
      call("compactWith()", () =>
        typeof text === "string"
          ? compaction.supply(step.job.id, mended(text))
          : compaction.fail(step.job.id, "summarizer_failed"),
      );
    }
  } finally {
    summaries.end();
    compaction.free();
  }
}

/** After so many failures the summariser is taken to be away: the rest of a call does not wait for it. */
const FAILURES = 2;

/** The answers of one call's summariser, of which some are waited for at once. */
class Summaries {
  isBegun = false;
  readonly #summarize: (job: SummaryJob, signal: AbortSignal) => Promise<string> | string;
  readonly #throws: boolean;
  readonly #signal: AbortSignal | undefined;
  readonly #work = new AbortController();
  readonly #aborted: Promise<never>;
  readonly #answers = new Map<string, Promise<unknown>>();
  readonly #line: (() => void)[] = [];
  readonly #failures: string[] = [];
  #free: number;

  constructor(summarize: (job: SummaryJob, signal: AbortSignal) => Promise<string> | string, parallel: number, throws: boolean, signal: AbortSignal | undefined) {
    this.#summarize = summarize;
    this.#throws = throws;
    this.#signal = signal;
    this.#free = parallel;
    this.#aborted = new Promise<never>((_, reject) => {
      const end = (): void => {
        reject(signal?.reason);
        this.#work.abort(signal?.reason);
      };
      signal?.addEventListener("abort", end, { once: true, signal: this.#work.signal });
    });
    this.#aborted.catch(() => {});
  }

  /** Asks for the first ones; each that is answered makes place for the next. */
  begin(first: SummaryJob, rest: readonly SummaryJob[]): void {
    this.isBegun = true;
    for (const job of [first, ...rest]) void this.#ask(job);
  }

  /** The answer to a job; nothing if there is none. */
  of(job: SummaryJob): Promise<unknown> {
    return Promise.race([this.#ask(job), this.#aborted]);
  }

  /** With what went wrong. */
  reported<M>(done: Compacted<M>): Compacted<M> {
    const [why] = this.#failures;
    if (why !== undefined) {
      done.report.adjustments.push(`the extractive summary stands where the summariser failed: ${why}`);
      done.report.codes.push("summarizer_failed");
    }
    return done;
  }

  /** Nobody waits any longer: what still runs hears of it, and nothing is begun. */
  end(): void {
    this.#work.abort();
  }

  #ask(job: SummaryJob): Promise<unknown> {
    const name = `${job.id} ${job.attempt}`;
    let answer = this.#answers.get(name);
    if (answer === undefined) {
      answer = this.#answered(job);
      answer.catch(() => {});
      this.#answers.set(name, answer);
    }
    return answer;
  }

  async #answered(job: SummaryJob): Promise<unknown> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#line.push(resolve));
    try {
      if (this.#work.signal.aborted || (this.#failures.length >= FAILURES && !this.#throws)) return undefined;
      const text: unknown = await this.#summarize(job, this.#work.signal);
      if (typeof text === "string") return text;
      this.#failures.push("summarize() gave no text");
    } catch (error) {
      if (this.#signal?.aborted) throw this.#signal.reason;
      if (this.#throws) throw error;
      this.#failures.push(error instanceof Error ? error.message : String(error));
    } finally {
      const next = this.#line.shift();
      if (next) next();
      else this.#free++;
    }
    return undefined;
  }
}

function begin(messages: readonly unknown[], options: CompactOptions & { model?: string }, secret: Uint8Array): Compaction {
  const { plain, tools, state, counter } = crossing(options);
  return call("compact()", (module) => new module.Compaction(toText(messages), plain, tools, state, counter(), secret));
}

/** Options as the module takes them. @internal */
export function crossing(options: CompactOptions & { model?: string }): {
  plain: Compacting;
  tools: string | undefined;
  state: string | undefined;
  counter: () => Counter;
} {
  if (typeof options !== "object" || options === null) {
    throw new PalimpsestError("invalid_options", "Expected options with a window: { window: 8192 }.");
  }
  const { tokenizer, state, tools, policy, ...plain } = options;
  check(plain, OPTIONS);
  return {
    plain: { ...plain, ...(typeof policy === "object" ? { rules: snake(JSON.parse(written(policy, odd))) } : { policy }) },
    tools: tools === undefined ? undefined : toText(tools),
    state: state === undefined ? undefined : written(state),
    counter: () => counterOf(tokenizer),
  };
}

/** The names of the options of `compact` and `compactWith`. @internal */
export const OPTIONS = ["window", "reserve", "maxTokens", "policy", "demands", "recall", "cache", "tools", "system", "goal", "pins", "tokenizer", "state", "dialect", "thinking", "mode", "focus", "model", "signal", "onError", "parallel"];

/** Numbers that JSON has no word for: the module names them in its error. */
function odd(this: unknown, _key: string, value: unknown): unknown {
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
}

/** The result for a caller: its own messages where they are unchanged. @internal */
export function result<M>(output: Output, messages: readonly M[]): Compacted<M> {
  return { messages: filled(output.messages, messages), report: output.report, state: output.state };
}
