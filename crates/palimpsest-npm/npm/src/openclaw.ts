// OpenClaw: a context engine. OpenClaw itself is not imported: an engine is a plain object of the shape that it asks for.

import { type AgentMessage, unwired, type Wire, wired } from "./agent-messages.js";
import { PalimpsestError } from "./errors.js";
import { fitter, type HostFitOptions } from "./fitter.js";
import { checkObject } from "./options.js";
import { countTokens } from "./tokenizer.js";

export type { FitOptions, FitProblem, HostFitOptions, StateStore } from "./fitter.js";
export type { AgentMessage } from "./agent-messages.js";

/** The parameters with which OpenClaw asks for the messages of a request, as far as they are used. */
export interface AssembleRequest {
  sessionId: string;
  messages: readonly AgentMessage[];
  /** How many tokens the messages may take. */
  tokenBudget?: number;
  readonly [other: string]: unknown;
}

/** The context engine that {@link contextEngine} makes. */
export interface PalimpsestEngine {
  readonly info: {
    readonly id: string;
    readonly name: string;
    readonly ownsCompaction: true;
    readonly acceptedHostParams: readonly [];
    readonly transcriptSemantics: { readonly currentTurnFence: "before-current-turn-entry-v1"; readonly turnAdvancementIdempotency: "atomic-idempotent-v1" };
  };
  /** Stores nothing: OpenClaw's transcript is the history. */
  ingest(): Promise<{ ingested: boolean }>;
  /** Returns the messages for one request. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  assemble(request: AssembleRequest): Promise<{ messages: any[]; estimatedTokens: number }>;
  /** Makes the session's context smaller than the last request's; the next request goes on from it. */
  compact(request: { sessionId: string; tokenBudget?: number; abortSignal?: AbortSignal }): Promise<{
    ok: boolean;
    compacted: boolean;
    reason?: string;
    result?: { tokensBefore: number; tokensAfter: number };
  }>;
  /** Acknowledges a turn once. */
  commitTurn(request: { advancementKey: string }): Promise<{ status: "committed" | "duplicate" }>;
}

/** Options of {@link contextEngine}. */
export interface ContextEngineOptions extends HostFitOptions<AssembleRequest> {
  /** The name under which you register the engine; `palimpsest` if not said. */
  id?: string;
}

/** The share of the room that a compaction on demand leaves. */
const ON_DEMAND = 0.6;
/** How many sessions an engine keeps the last list of, and how many turns it remembers as committed. */
const SESSIONS = 64;
const TURNS = 4096;

/**
 * Makes the factory of a context engine for OpenClaw's slot `contextEngine`. The transcript stays whole and OpenClaw's own; the engine
 * decides which messages a request gets. OpenClaw tells how many tokens there are, but not what its system prompt and tools
 * take: a quarter of them stays free for these and for the answer, or as much as `reserve` says.
 *
 * @example
 * ```ts
 * import { init } from "palimpsest";
 * import { contextEngine } from "palimpsest/openclaw";
 *
 * // the entry of a plugin of yours with `kind: "context-engine"`
 * export default function register(api: { registerContextEngine(id: string, factory: () => unknown): void }): void {
 *   const make = contextEngine({ id: "palimpsest" });
 *   api.registerContextEngine("palimpsest", async () => {
 *     await init();
 *     return make();
 *   });
 * }
 * ```
 */
export function contextEngine(options: ContextEngineOptions = {}): () => PalimpsestEngine {
  checkObject(options);
  const { id = "palimpsest", window: own, ...rest } = options;
  if (typeof id !== "string" || id === "") throw new PalimpsestError("invalid_options", "The id of a context engine must be a text that is not empty.");
  // a host makes an engine for each operation: what they know of sessions is shared
  const fit = fitter<AssembleRequest>({ ...rest, window: own ?? 1 });
  const last = new Map<string, AssembleRequest>();
  const committed = new Set<string>();

  async function fitted(request: AssembleRequest, share: number): Promise<{ before: number; after: number; messages: AgentMessage[] }> {
    const window = Math.min(own ?? Infinity, request.tokenBudget ?? Infinity);
    if (!Number.isFinite(window)) throw new PalimpsestError("invalid_options", "OpenClaw told no token budget: give contextEngine() the model's window.");
    const kept = rest.reserve ?? Math.floor(window / 4);
    const messages = wired(request.messages);
    const given = [...messages.keys()];
    const fitting = await fit<Wire>(given, { dialect: "openai", request, id: request.sessionId, window: Math.floor(window * share), reserve: Math.floor(kept * share) });
    return { before: countTokens(given, rest.tokenizer).tokens, after: countTokens(fitting, rest.tokenizer).tokens, messages: unwired(fitting, messages) };
  }

  return () => ({
    info: {
      id,
      name: "palimpsest",
      ownsCompaction: true,
      acceptedHostParams: [],
      transcriptSemantics: { currentTurnFence: "before-current-turn-entry-v1", turnAdvancementIdempotency: "atomic-idempotent-v1" },
    },
    ingest: async () => ({ ingested: false }),
    async assemble(request) {
      last.delete(request.sessionId);
      last.set(request.sessionId, request);
      for (const oldest of last.keys()) {
        if (last.size <= SESSIONS) break;
        last.delete(oldest);
      }
      const { messages, after } = await fitted(request, 1);
      return { messages, estimatedTokens: after };
    },
    async compact({ sessionId, tokenBudget, abortSignal }) {
      abortSignal?.throwIfAborted();
      const request = last.get(sessionId);
      if (request === undefined) return { ok: true, compacted: false, reason: "no request of this session was assembled yet" };
      const whole = { ...request, ...(tokenBudget === undefined ? {} : { tokenBudget }) };
      const before = (await fitted(whole, 1)).after;
      const { after } = await fitted(whole, ON_DEMAND);
      return after < before
        ? { ok: true, compacted: true, result: { tokensBefore: before, tokensAfter: after } }
        : { ok: true, compacted: false, reason: "nothing to compress" };
    },
    async commitTurn({ advancementKey }) {
      if (committed.has(advancementKey)) return { status: "duplicate" };
      committed.add(advancementKey);
      for (const oldest of committed) {
        if (committed.size <= TURNS) break;
        committed.delete(oldest);
      }
      return { status: "committed" };
    },
  });
}
