// What the helpers for frameworks share: make a list fit, and remember what was done to that conversation last.

import { compact, compactWith, type CompactOptions, type CompactReport, type CompactState, type SummaryJob } from "./compact.js";
import { toText } from "./json.js";

/** Options of the helpers for frameworks: those of `compact`, a summariser and a listener. */
export interface FitOptions extends Omit<CompactOptions, "state" | "dialect" | "tools"> {
  /** Writes summaries with a model of yours. Without it the extractive summariser does. */
  summarize?: (job: SummaryJob, signal: AbortSignal) => Promise<string> | string;
  /** Hears of every list that was made smaller. What it throws ends the call. */
  onCompact?: (report: CompactReport) => void;
}

/** What is known of one call. @internal */
export interface FitCall {
  dialect: "openai" | "ai-sdk";
  tools?: readonly unknown[] | undefined;
  signal?: AbortSignal | undefined;
}

/** Conversations whose state one helper keeps: the last used ones. */
const KEPT = 32;

/** @internal */
export function fitter(options: FitOptions): <M>(messages: readonly M[], call: FitCall) => Promise<M[]> {
  const { summarize, onCompact, ...rest } = options;
  const states = new Map<string, CompactState>();
  return async (messages, { dialect, tools, signal }) => {
    signal?.throwIfAborted();
    // a conversation is known by how it begins; a state that is another's after all is noticed, and not used
    const key = toText(messages.slice(0, 2));
    const all: CompactOptions = { ...rest, dialect, ...(tools ? { tools } : {}), state: states.get(key) };
    const done = summarize ? await compactWith(messages, { ...all, signal }, summarize) : compact(messages, all);
    states.delete(key);
    states.set(key, done.state);
    for (const oldest of states.keys()) {
      if (states.size <= KEPT) break;
      states.delete(oldest);
    }
    if (done.report.changed) onCompact?.(done.report);
    return done.messages;
  };
}
