import { check } from "./options.js";
import { toText, written } from "./json.js";
import { call } from "./runtime.js";
import { transcripts } from "./transcripts.js";
import type { TextCounter } from "./own-counter.js";
import { counterOf, type Tokenizer } from "./tokenizer.js";
import type { Dialect } from "./validate.js";

/** The classes of facts, in the order in which they matter to a window. */
export type FactClass = "constraint" | "negation" | "decision" | "path" | "url" | "identifier" | "number" | "date" | "quoted" | "preference";

/** Who said something. Arguments of calls and their results count as a tool's. */
export type FactSpeaker = "user" | "assistant" | "tool";

/** What somebody who knows the conversation wrote down about it. */
export interface ForgottenLabels {
  /** Values and names that are worth knowing at the end. */
  facts?: readonly string[];
  /** Standing instructions, word for word. */
  rules?: readonly string[];
  /** Values that were replaced later. */
  updates?: readonly { old: string; new: string }[];
}

/** What else is known to {@link forgotten}. */
export interface ForgottenOptions {
  /** The shape of both lists; the one that each looks like if not said. */
  dialect?: Dialect;
  /** Counts exactly, where you have the model's vocabulary, or with a function of yours. */
  tokenizer?: Tokenizer | TextCounter;
  /** The windows that were sent before, oldest first: how much of each beginning is as it was before is told in `prefix`. */
  before?: readonly (readonly unknown[])[];
  /** Looked for beside the facts that are found by themselves. */
  labels?: ForgottenLabels;
}

/** A list and its size. */
export interface ListSize {
  /** Messages. */
  messages: number;
  /** Tokens as a prompt. */
  tokens: number;
  /** The tokens are at most so many more, in 95 of 100 cases. */
  bound: number;
}

/** A fact that a window does not hold. */
export interface GoneFact {
  class: FactClass;
  /** Its words. */
  text: string;
  /** The sentence or line that said it. */
  context: string;
  /** The index in the history of the message that said it first. */
  message: number;
  speaker: FactSpeaker;
}

/** Those that stand, of those that were looked for. */
export interface Tally {
  of: number;
  found: number;
}

/** What a window forgot of a history. */
export interface Forgotten {
  history: ListSize;
  window: ListSize;
  /** Facts of the history. Those of the system prompt are left out: it stands in every window. */
  said: number;
  /** Facts that the window does not hold. */
  lost: number;
  /** The same by class and speaker. */
  classes: { class: FactClass; speaker: FactSpeaker; said: number; gone: number }[];
  /** The facts that the window does not hold, in the order of the history. */
  gone: GoneFact[];
  /** For each message of the history the share of its words that stands in the window, 0 to 1. */
  shares: number[];
  /** Sentences that stand although a later one, which does not stand, replaced their value. */
  stale: { old: string; message: number; new: string; by: number }[];
  /** Calls without their result and results without their call, by their index in the window. */
  orphans: { code: "missing_result" | "orphan_result"; index: number }[];
  /** With `before`: bytes of JSON text that each window shares with the beginning of the one before it, of those of the windows. */
  prefix?: { bytes: number; of: number };
  /** With `labels`: what of them stands. `stale` counts replaced values that stand without their successor. */
  labels?: { facts: Tally; rules: Tally; stale: Tally; gone: string[]; outdated: { old: string; new: string }[] };
}

/**
 * Looks for everything that a history says in a window that somebody made of it: `compact`, your own code, another library.
 * Facts are found by shape and grammar in seven languages, without a model: rules, denials, decisions, paths, addresses,
 * identifiers, numbers, dates, quotes, preferences. One counts as forgotten if its words do not stand in the window. Nothing is
 * said about whether a model would use what stands, and a paraphrase counts as forgotten. The first call loads the part
 * `transcripts` of the module.
 *
 * @throws {@link PalimpsestError} `bad_input` if a list cannot be read, `invalid_options`, `load_failed`
 *
 * @example
 * ```ts
 * import { compact, forgotten, init } from "palimpsest";
 *
 * await init();
 * const history = Array.from({ length: 300 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: `Parcel ${1000 + i} goes to gate ${i % 9}.` }));
 * const ours = await forgotten(history, compact(history, { window: 2048 }).messages);
 * const newest = await forgotten(history, history.slice(-80));
 * console.log(ours.said === newest.said, ours.lost < ours.said); // true true
 * ```
 */
export async function forgotten(history: readonly unknown[], window: readonly unknown[], options: ForgottenOptions = {}): Promise<Forgotten> {
  check(options, ["dialect", "tokenizer", "before", "labels"]);
  const { tokenizer, ...plain } = options;
  // as they are now: the part may have to be loaded first
  const given = [toText(history), toText(window), written(plain)] as const;
  const counter = counterOf(tokenizer);
  const part = await transcripts("forgotten()");
  return call("forgotten()", () => part.forgotten(...given, counter));
}
