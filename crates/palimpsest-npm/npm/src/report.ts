import type { CompactReport, Pass, Policy, PolicyName } from "./compact.js";
import { PalimpsestError } from "./errors.js";
import { written } from "./json.js";
import { check, snake } from "./options.js";
import { call } from "./runtime.js";
import type { TextCounter } from "./own-counter.js";
import { counterOf, type Tokenizer } from "./tokenizer.js";

/** How a model's window is used, where that is not plain from its size. */
export interface ResolveOptions {
  /** Kept free for the answer; a share of the window if not said. */
  reserve?: number;
  /** The model thinks before it answers: more is kept free. */
  thinking?: boolean;
  /** Counts exactly: then the margin is smaller. */
  tokenizer?: Tokenizer | TextCounter;
}

/** What a policy comes to in a window. All sizes are tokens. */
export interface ResolvedPolicy {
  /** Its name. */
  name: string;
  /** The window. */
  window: number;
  /** Kept free for the answer. */
  reserve: number;
  /** Kept free because counts may be wrong. */
  margin: number;
  /** The most a list may hold: the window less reserve and margin. `compact` acts on longer ones. */
  limit: number;
  /** Where a session compacts by itself, with nothing in the window yet. */
  trigger: number;
  /** What a session's compaction goes down to, with nothing in the window yet. */
  target: number;
  /** What of the end stays as it was said: so many tokens, or so many messages. */
  recent: { tokens: number } | { messages: number };
  /** The user's own words from covered messages. */
  userWords: number;
  /** Goal, pins and demands. */
  records: number;
  /** The newest layer. In a small window a list has one layer, with the room of all of them. */
  newestLayer: number;
  /** Each older layer. */
  olderLayer: number;
  /** How many older layers there is room for. */
  olderLayers: number;
  /** The most that recalled quotes take. */
  recall: number;
  /** What one request to a summariser holds at most. */
  summaryJob: number;
  /** The passes, in their order; `above` is the size from which on tool output is taken, where a pass has one. */
  passes: { pass: Pass | "truncate"; above?: number }[];
  /** All of its rules, as {@link Policy} has them. */
  policy: Policy;
}

/**
 * A policy's numbers in a window of that size, in tokens: what is kept free, what fits, when a session compacts, what stays.
 *
 * @throws {@link PalimpsestError} `unknown_policy`, `invalid_policy`, `invalid_window`, `invalid_options`.
 *
 * @example
 * ```ts
 * import { init, resolvePolicy } from "palimpsest";
 *
 * await init();
 * const { limit, reserve, recent } = resolvePolicy("balanced", 8192);
 * console.log(limit, reserve, recent); // 7004 1024 { tokens: 983 }
 * ```
 */
export function resolvePolicy(policy: PolicyName | Policy, window: number, options: ResolveOptions = {}): ResolvedPolicy {
  check(options, ["reserve", "thinking", "tokenizer"]);
  const { tokenizer, ...rest } = options;
  const odd = (_: string, value: unknown): unknown => (typeof value === "number" && !Number.isFinite(value) ? String(value) : value);
  const named = typeof policy === "object" && policy !== null ? snake(JSON.parse(written(policy, odd))) : policy;
  const question = { policy: named ?? null, window: window ?? null, ...rest };
  return call("resolvePolicy()", (module) => module.resolvePolicy(question, counterOf(tokenizer)));
}

/** What a monitoring system takes as an attribute. */
export type TelemetryValue = string | number | boolean | string[];

/**
 * A report as attributes of OpenTelemetry, for a span or an event: `span.setAttributes(telemetryAttributes(report))`. No text
 * of the conversation is in them. Names that are ours begin with `palimpsest.`.
 *
 * @example
 * ```ts
 * import { compact, init, telemetryAttributes } from "palimpsest";
 *
 * await init();
 * const { report } = compact([{ role: "user", content: "Hello" }], { window: 8192 });
 * console.log(telemetryAttributes(report)["gen_ai.conversation.compacted"]); // false
 * ```
 */
export function telemetryAttributes(report: CompactReport): Record<string, TelemetryValue> {
  if (typeof report !== "object" || report === null || !Array.isArray(report.passes)) {
    throw new PalimpsestError("bad_input", "telemetryAttributes() takes the report of compact(), compactWith() or onCompact.");
  }
  const taken = report.passes.filter(({ pass }) => pass !== "earlier" && pass !== "recall");
  const covered = report.covered.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  const out: Record<string, TelemetryValue> = {
    "gen_ai.conversation.compacted": report.changed,
    "palimpsest.compaction.new": taken.length > 0,
    "palimpsest.tokens.before": report.before.tokens,
    "palimpsest.tokens.after": report.after.tokens,
    "palimpsest.tokens.limit": report.limit,
    "palimpsest.tokens.recalled": report.recalledTokens,
    "palimpsest.layers": report.layers,
    "palimpsest.messages.covered": covered,
    "palimpsest.messages.shortened": report.shortened.length,
    "palimpsest.messages.quoted": report.quoted.length,
    "palimpsest.demands": report.demands.length,
    "palimpsest.facts.touched": report.facts.touched,
    "palimpsest.facts.kept": report.facts.kept,
    "palimpsest.facts.recallable": report.facts.recallable,
    "palimpsest.facts.dropped": report.facts.dropped,
    "palimpsest.retention": report.retention,
    "palimpsest.lossy": report.lossy,
    "palimpsest.codes": [...report.codes],
  };
  for (const { pass, tokens } of report.passes) {
    const name = `palimpsest.pass.${pass}.tokens`;
    out[name] = ((out[name] as number | undefined) ?? 0) + tokens;
  }
  return out;
}
