// LangGraph: the state of a conversation in an agent's own state, which its checkpointer keeps, or in a store of LangGraph's.

import { type BaseStore, Command } from "@langchain/langgraph";
import { z } from "zod/v4";
import type { CompactState } from "./compact.js";
import { PalimpsestError } from "./errors.js";
import { fitter, type FitOptions, type StateStore } from "./fitter.js";
import { fitted, type FitModelRequest } from "./langchain.js";

export type { FitOptions, FitProblem, StateStore } from "./fitter.js";
export type { FitModelRequest } from "./langchain.js";

/** Options of {@link fitAgent}: those of `fitModelCalls`, except where states are kept. */
export type FitAgentOptions = Omit<FitOptions<FitModelRequest>, "key" | "state" | "remember">;

/** The channel's name. LangChain keeps channels whose names begin so out of what an agent takes and returns. */
const CHANNEL = "_palimpsest";

/** What {@link fitAgent} makes: the configuration of a middleware with a channel `_palimpsest` in the agent's state. */
export interface FitAgent {
  /** The middleware's name. */
  name: string;
  /** The channel, as a schema of zod's. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  stateSchema: any;
  /** Calls the model with messages that fit, and puts the state into the channel. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  wrapModelCall(request: any, handler: (request: any) => any): Promise<any>;
}

/**
 * Keeps every call of an agent's model inside the window, as `fitModelCalls` does, with the state in the channel `_palimpsest` of the
 * agent's state: a checkpointer keeps it with the messages that it belongs to, so that another process, a resumed run or a fork of
 * the thread goes on from it. Pass the result to LangChain's `createMiddleware`.
 *
 * @example
 * ```ts
 * import { MemorySaver } from "@langchain/langgraph";
 * import { createAgent, createMiddleware } from "langchain";
 * import { init } from "palimpsest";
 * import { fitAgent } from "palimpsest/langgraph";
 *
 * await init();
 * const agent = createAgent({
 *   model: "ollama:llama3.2",
 *   tools: [],
 *   middleware: [createMiddleware(fitAgent({ window: 8192 }))],
 *   checkpointer: new MemorySaver(), // PostgresSaver, RedisSaver, …
 * });
 * console.log(typeof agent.invoke);
 * ```
 */
export function fitAgent(options: FitAgentOptions): FitAgent {
  for (const name of ["key", "state", "remember"]) {
    if (options !== null && typeof options === "object" && name in options) {
      throw new PalimpsestError("invalid_options", `fitAgent() keeps the state in the agent's own state: it has no option "${name}". fitModelCalls() has.`);
    }
  }
  const fit = fitter<FitModelRequest>(options);
  return {
    name: "PalimpsestFit",
    stateSchema: z.object({ [CHANNEL]: z.any().optional() }),
    async wrapModelCall(request: FitModelRequest, handler: (request: FitModelRequest) => unknown) {
      const state = request["state"] as { [CHANNEL]?: CompactState } | undefined;
      let next: CompactState | undefined;
      const channel: StateStore = { load: () => state?.[CHANNEL], save: (_, made) => void (next = made) };
      const answer = await handler(await fitted(fit, request, channel, request.runtime?.configurable?.thread_id ?? "run"));
      return next === undefined ? answer : new Command({ update: { [CHANNEL]: next } });
    },
  };
}

/**
 * A store of LangGraph's as the place where `fitModelCalls` keeps its states, one for each thread.
 *
 * @param store a `BaseStore`: `InMemoryStore`, `PostgresStore`, …
 * @param namespace where the states are in it
 *
 * @example
 * ```ts
 * import { InMemoryStore } from "@langchain/langgraph";
 * import { createMiddleware } from "langchain";
 * import { init } from "palimpsest";
 * import { fitModelCalls } from "palimpsest/langchain";
 * import { stateInStore } from "palimpsest/langgraph";
 *
 * await init();
 * const store = new InMemoryStore();
 * const middleware = createMiddleware(fitModelCalls({ window: 8192, state: stateInStore(store) }));
 * console.log(middleware.name);
 * ```
 */
export function stateInStore(store: BaseStore, namespace: string[] = ["palimpsest"]): StateStore {
  if (typeof store?.get !== "function" || typeof store.put !== "function") throw new PalimpsestError("invalid_options", "Expected a store of LangGraph's, with get() and put().");
  return {
    load: async (key) => (await store.get(namespace, key))?.value as CompactState | undefined,
    save: (key, state) => store.put(namespace, key, state as Record<string, unknown>),
  };
}
