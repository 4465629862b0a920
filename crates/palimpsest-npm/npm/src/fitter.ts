// What the helpers for frameworks share: make a list fit, and remember what was done to that conversation last.

import { compact, compactWith, type CompactOptions, type CompactReport, type CompactState, OPTIONS, type SummaryJob } from "./compact.js";
import { PalimpsestError } from "./errors.js";
import { written } from "./json.js";
import { check } from "./options.js";

/** Where a helper keeps the states of conversations between requests: a map, a cache, a table of your database. */
export interface StateStore {
  /** What was saved last under that key; nothing if there is none. */
  load(key: string): CompactState | null | undefined | Promise<CompactState | null | undefined>;
  /** Keeps a state, which can be written as JSON, in place of the one before. Requests wait for it. */
  save(key: string, state: CompactState): void | Promise<void>;
}

/** What went wrong beside a request that was answered all the same. */
export interface FitProblem {
  /**
   * `listener_failed`: `onCompact` threw. `state_not_loaded`, `state_not_saved`: the store threw, or gave what is no state; the
   * request went on without. `summarizer_failed`: `summarize` threw or gave no text, and the extractive summary was taken.
   */
  code: "listener_failed" | "state_not_loaded" | "state_not_saved" | "summarizer_failed";
  /** What happened, in a sentence. */
  message: string;
  /** The conversation, where it has a key. */
  key?: string | undefined;
  /** What was thrown. */
  cause?: unknown;
}

/**
 * Options of the helpers for frameworks: those of `compact`, a summariser, listeners, and how conversations are told apart. `R`
 * is what the framework hands over for a request.
 */
export interface FitOptions<R = unknown> extends Omit<CompactOptions, "state" | "dialect" | "tools"> {
  /** Writes summaries with a model of yours. Without it the extractive summariser does. */
  summarize?: (job: SummaryJob, signal: AbortSignal) => Promise<string> | string;
  /** What happens when `summarize` throws: `"extractive"` takes the extractive summary, which is the default; `"throw"` ends the request. */
  onError?: "extractive" | "throw";
  /** How many summaries are asked for at once; 4 if not said. */
  parallel?: number;
  /** Hears of every new compaction, once. What it throws goes to `onProblem` and harms nothing. */
  onCompact?: (report: CompactReport, about: { key: string | undefined }) => unknown;
  /** Hears of what went wrong beside a request. If not said, a warning is written to the console. */
  onProblem?: (problem: FitProblem) => void;
  /**
   * The conversation that a request belongs to. Without it a conversation is known by an id of its own, where the framework has
   * one (a thread of LangGraph's, `providerOptions.palimpsest.conversation` of the AI SDK), else by what was said in it.
   */
  key?: (request: R) => string | undefined | Promise<string | undefined>;
  /** Where states are kept between requests: needed where a helper does not outlive one. In memory if not said. */
  state?: StateStore;
  /** How many conversations are kept in memory, those that were used last; 500 if not said. */
  remember?: number;
}

/** What is known of one call. @internal */
export interface FitCall<R> {
  dialect: "openai" | "ai-sdk" | "ai-sdk-ui";
  /** The window of this call's model, where the host tells it: it takes the place of the options' own. */
  window?: number | undefined;
  /** The room that stays free in it. */
  reserve?: number | undefined;
  tools?: readonly unknown[] | undefined;
  signal?: AbortSignal | undefined;
  /** Where this call's state is kept, if the framework keeps it: it takes the place of the options' own. */
  store?: StateStore | undefined;
  /** What the framework handed over. */
  request: R;
  /** The conversation's own id. */
  id?: unknown;
}

/** Options of helpers for hosts that tell the model's window themselves. */
export interface HostFitOptions<R = unknown> extends Omit<FitOptions<R>, "window"> {
  /** The model's context window in tokens; if not said, the one that the host tells. */
  window?: number;
}

/** The names of all options. @internal */
const FIT = [...OPTIONS.filter((name) => !["dialect", "tools", "model", "signal"].includes(name)), "summarize", "onCompact", "onProblem", "key", "remember"];

/** Makes a list fit. @internal */
export type Fit<R> = <M>(messages: readonly M[], call: FitCall<R>) => Promise<M[]>;

/** @internal */
export function fitter<R>(options: FitOptions<R>): Fit<R> {
  if (typeof options !== "object" || options === null || options.window === undefined) {
    throw new PalimpsestError("invalid_options", "Expected options with a window: { window: 8192 }.");
  }
  check(options, FIT);
  const { summarize, onCompact, onProblem, key, state: ownStore, remember = 500, onError, parallel, ...rest } = options;
  for (const [name, value] of Object.entries({ summarize, onCompact, onProblem, key })) {
    if (value !== undefined && typeof value !== "function") throw new PalimpsestError("invalid_options", `Expected a function as ${name}.`);
  }
  if (ownStore !== undefined && (typeof ownStore?.load !== "function" || typeof ownStore.save !== "function")) {
    throw new PalimpsestError("invalid_options", "The state of a helper is a store: { load(key), save(key, state) }. A state of one list is for compact().");
  }
  if (!Number.isInteger(remember) || remember < 1) {
    throw new PalimpsestError("invalid_options", `A helper cannot remember ${String(remember)} conversations: it must be a whole number above 0.`);
  }
  const memory = new Memory(remember);
  const told = new Set<string>();

  function problem(code: FitProblem["code"], message: string, key: string | undefined, cause?: unknown): void {
    const why = cause === undefined ? "" : ` ${cause instanceof Error ? cause.message : String(cause)}`;
    try {
      if (onProblem) return onProblem({ code, message, key, cause });
    } catch {
      // the warning below tells of the problem itself
    }
    // one warning for each kind: a store that is away would otherwise fill a log
    if (!told.has(code)) console.warn(`palimpsest: ${message}${why}`);
    told.add(code);
  }

  async function loaded(store: StateStore | undefined, key: string): Promise<CompactState | undefined> {
    if (!store) return memory.byKey(key);
    try {
      const state: unknown = (await store.load(key)) ?? undefined;
      if (state === undefined || (typeof state === "object" && "version" in (state as object))) return state as CompactState | undefined;
      problem("state_not_loaded", "load() gave something that is no state: give back what save() was given.", key);
    } catch (cause) {
      problem("state_not_loaded", "The state of a conversation could not be loaded; its list was compacted anew.", key, cause);
    }
    return undefined;
  }

  return async (messages, { dialect, tools, signal, request, id, window = rest.window, reserve = rest.reserve, store = ownStore }) => {
    signal?.throwIfAborted();
    const own = key ? await key(request) : id;
    if (own !== undefined && own !== null && typeof own !== "string") {
      throw new PalimpsestError("invalid_options", "The key of a conversation must be a text.");
    }
    const known = own || undefined;
    if (store && known === undefined) {
      throw new PalimpsestError(
        "invalid_options",
        "States are kept by the conversation's key, and this request has none: give the helper key(request), which names the conversation.",
      );
    }
    const before = known === undefined ? prefixes(messages) : [];
    let state = known === undefined ? memory.byPrefix(before) : await loaded(store, known);
    const run = (state: CompactState | undefined) => {
      const all: CompactOptions = { ...rest, window, ...(reserve === undefined ? {} : { reserve }), dialect, ...(tools ? { tools } : {}), state };
      return summarize
        ? compactWith(messages, { ...all, signal, ...(onError ? { onError } : {}), ...(parallel === undefined ? {} : { parallel }) }, summarize)
        : compact(messages, all);
    };
    let done;
    try {
      done = await run(state);
    } catch (error) {
      // a stored state of another shape is no reason to fail a request
      if (state === undefined || !(error instanceof PalimpsestError) || !/^state cannot be used/.test(error.message)) throw error;
      problem("state_not_loaded", "load() gave something that is no state: give back what save() was given.", known, error);
      state = undefined;
      done = await run(undefined);
    }
    const { report } = done;
    // of a list that fits and always did there is nothing to remember
    if (report.changed || state !== undefined) {
      if (known === undefined) memory.keepPrefix(before, prefixes(done.messages), done.state);
      else if (!store) memory.keepKey(known, done.state);
      else {
        try {
          await store.save(known, done.state);
        } catch (cause) {
          problem("state_not_saved", "The state of a conversation could not be saved; the next request compacts its list anew.", known, cause);
        }
      }
    }
    if (report.codes.includes("summarizer_failed")) {
      problem("summarizer_failed", report.adjustments[report.codes.indexOf("summarizer_failed")] ?? "", known);
    }
    if (onCompact && report.changed && report.passes.some(({ pass }) => pass !== "earlier" && pass !== "recall")) {
      const failed = (cause: unknown): void => problem("listener_failed", "onCompact threw; the request went on.", known, cause);
      try {
        void Promise.resolve(onCompact(report, { key: known })).catch(failed);
      } catch (cause) {
        failed(cause);
      }
    }
    return done.messages;
  };
}

/** A state, under each name that it is found by. */
interface Kept {
  state: CompactState;
  names: string[];
}

/** The states of the conversations that were used last. */
class Memory {
  readonly #kept = new Map<string, Kept>();
  readonly #order = new Set<Kept>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  byKey(key: string): CompactState | undefined {
    return this.#kept.get(`key ${key}`)?.state;
  }

  /** Of the longest list remembered that this one begins with. */
  byPrefix(prefixes: readonly string[]): CompactState | undefined {
    return this.#of(prefixes)?.state;
  }

  keepKey(key: string, state: CompactState): void {
    const name = `key ${key}`;
    this.#put(this.#kept.get(name), { state, names: [name] });
  }

  /** A framework goes on with its own list, or with the one that it was given. */
  keepPrefix(given: readonly string[], made: readonly string[], state: CompactState): void {
    const names = [given.at(-1), made.at(-1)].filter((name) => name !== undefined);
    this.#put(this.#of(given), { state, names: [...new Set(names)] });
  }

  #of(prefixes: readonly string[]): Kept | undefined {
    for (let n = prefixes.length - 1; n >= 0; n--) {
      const kept = this.#kept.get(prefixes[n] ?? "");
      if (kept) return kept;
    }
    return undefined;
  }

  #put(old: Kept | undefined, now: Kept): void {
    if (old) this.#forget(old);
    for (const name of now.names) this.#kept.set(name, now);
    this.#order.add(now);
    for (const oldest of this.#order) {
      if (this.#order.size <= this.#most) break;
      this.#forget(oldest);
    }
  }

  #forget(kept: Kept): void {
    for (const name of kept.names) if (this.#kept.get(name) === kept) this.#kept.delete(name);
    this.#order.delete(kept);
  }
}

/** What providers are told beside the words moves from message to message, and is no part of what was said. */
const BESIDE = new Set(["providerOptions", "providerMetadata", "experimental_providerMetadata", "cache_control", "cacheControl"]);

/**
 * A name for each beginning of the list. Whether a state belongs to a list is decided by what reads it: two lists with one name
 * cost a compaction, nothing else.
 */
function prefixes(messages: readonly unknown[]): string[] {
  if (!Array.isArray(messages)) return [];
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  return messages.map((message: unknown) => {
    const text = written(message ?? null, (key, value) => (BESIDE.has(key) ? undefined : value));
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      high = Math.imul(high ^ unit, 2654435761);
      low = Math.imul(low ^ unit, 1597334677);
    }
    high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
    low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
    return `${(high >>> 0).toString(36)} ${(low >>> 0).toString(36)}`;
  });
}
