// pi, the coding agent: an extension. pi itself is not imported: an extension is a function that gets pi's own object.

import { type AgentMessage, rendered, unwired, type Wire, wired } from "./agent-messages.js";
import { compact, compactWith, type CompactOptions, type CompactState } from "./compact.js";
import { fitter, type HostFitOptions } from "./fitter.js";
import { checkObject } from "./options.js";

export type { FitOptions, FitProblem, HostFitOptions, StateStore } from "./fitter.js";

/** The parts of pi's context of an event that are used. */
export interface PiContext {
  /** The model of the session, with its window in tokens. */
  readonly model?: { readonly contextWindow?: number } | undefined;
  readonly sessionManager: { getSessionId(): string };
  readonly signal?: AbortSignal | undefined;
  getSystemPrompt(): string;
}

/** The parts of pi's own object that are used. */
export interface PiApi {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  on(event: any, handler: (event: any, context: any) => any): unknown;
  getActiveTools(): string[];
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  getAllTools(): any[];
}

/** Options of {@link fitPi}. */
export interface FitPiOptions extends HostFitOptions<PiContext> {
  /** The most tokens of the summary that stands for a session after `/compact`; if not said, 4,096, at most a quarter of the window. */
  summaryTokens?: number;
}

/** What is kept beside a summary, in pi's session file. */
interface Details {
  palimpsest?: CompactState;
}

/** An entry of a session's branch. */
interface Entry {
  type: string;
  id: string;
  message?: AgentMessage;
  details?: Details;
}

/**
 * Makes an extension of pi's: before each request of a model it shows the model as much as fits (`context`), while pi's session keeps
 * every message; and when pi compacts the session, by `/compact` or at its own threshold, the summary is palimpsest's
 * (`session_before_compact`), made from the whole branch and from what the last one was made from. Where the summary cannot be
 * made, pi makes its own.
 *
 * @example
 * ```ts
 * // ~/.pi/agent/extensions/palimpsest.ts
 * import { init } from "palimpsest";
 * import { fitPi, type PiApi } from "palimpsest/pi";
 *
 * export default async function palimpsest(pi: PiApi): Promise<void> {
 *   await init();
 *   fitPi({ reserve: 8192 })(pi);
 * }
 * ```
 */
export function fitPi(options: FitPiOptions = {}): (pi: PiApi) => void {
  checkObject(options);
  const { summaryTokens, window: own, ...rest } = options;
  const fit = fitter<PiContext>({ ...rest, window: own ?? 1 });
  return (pi) => {
    pi.on("context", async ({ messages }: { messages: AgentMessage[] }, context: PiContext) => {
      const window = own ?? context.model?.contextWindow;
      // without a model there is nothing to fit into
      if (window === undefined || window === 0) return undefined;
      const map = wired(messages);
      const active = new Set(pi.getActiveTools());
      const tools = pi.getAllTools().filter(({ name }) => active.has(name)).map(({ name, description, parameters }) => ({ type: "function", function: { name, description, parameters } }));
      // pi restores the system prompt itself: it is only counted
      const system: Wire = { role: "system", content: context.getSystemPrompt() };
      const fitting = await fit<Wire>([system, ...map.keys()], {
        dialect: "openai",
        request: context,
        id: context.sessionManager.getSessionId(),
        ...(tools.length > 0 ? { tools } : {}),
        signal: context.signal,
        window,
      });
      return { messages: unwired(fitting.filter(({ role }) => role !== "system"), map) };
    });

    pi.on("session_before_compact", async (event: { preparation: { firstKeptEntryId: string; tokensBefore: number; previousSummary?: string }; branchEntries: Entry[]; customInstructions?: string; signal: AbortSignal }, context: PiContext) => {
      const { firstKeptEntryId, tokensBefore } = event.preparation;
      const end = event.branchEntries.findIndex(({ id }) => id === firstKeptEntryId);
      const covered = end < 0 ? event.branchEntries : event.branchEntries.slice(0, end);
      const list: Wire[] = [...wired(covered.flatMap(({ message }) => (message === undefined || message.role === "system" ? [] : [message]))).keys()];
      const state = covered.findLast(({ details }) => details?.palimpsest !== undefined)?.details?.palimpsest;
      const { summarize, onError, parallel, goal, pins, policy, demands, tokenizer } = rest;
      const all: CompactOptions = {
        window: summaryTokens ?? Math.min(4096, Math.floor((own ?? context.model?.contextWindow ?? Infinity) / 4)), reserve: 0, dialect: "openai", recall: false,
        ...Object.fromEntries(Object.entries({ goal, pins, policy, demands, tokenizer, state, focus: event.customInstructions }).filter(([, value]) => value !== undefined)),
      };
      try {
        const done = summarize
          ? await compactWith(list, { ...all, signal: event.signal, ...(onError ? { onError } : {}), ...(parallel === undefined ? {} : { parallel }) }, summarize)
          : compact(list, all);
        const details: Details = { palimpsest: done.state };
        return { compaction: { summary: rendered(done.messages), firstKeptEntryId, tokensBefore, estimatedTokensAfter: done.report.after.tokens, details } };
      } catch (cause) {
        event.signal.throwIfAborted();
        const message = "The summary of a session could not be made; pi makes its own.";
        if (rest.onProblem) rest.onProblem({ code: "summarizer_failed", message, cause });
        else console.warn(`palimpsest: ${message}`, cause);
        return undefined;
      }
    });
  };
}
