// Mastra: a processor for agents. Mastra itself is not imported: a processor is a plain object of the shape that it asks for.

import { definitionsOf, inParts, type FitStepOptions } from "./ai-sdk.js";
import { fitter, type FitOptions } from "./fitter.js";

export type { FitOptions, FitProblem, StateStore } from "./fitter.js";

/** The arguments that Mastra passes before a request to a model, as far as they are used. */
export interface MastraRequest {
  /** The prompt as the model gets it. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  prompt: any;
  /** The processor's own state for this run. */
  state?: Record<string, unknown>;
  /** The context of the run; Mastra keeps the memory's thread in it. */
  requestContext?: { get(name: string): unknown } | undefined;
  abortSignal?: AbortSignal | undefined;
  readonly [other: string]: unknown;
}

/** The processor that {@link fitProcessor} makes. */
export interface FitProcessor {
  readonly id: "palimpsest";
  /** Notes the tools of a step, because their size counts. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  processInputStep(args: any): Promise<undefined>;
  /** Replaces the prompt of one request by one that fits. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  processLLMRequest(args: any): Promise<{ prompt: any }>;
}

/** The key under which the run's state holds the tools. */
const TOOLS = "palimpsest.tools";

/**
 * Keeps each request of an agent's loop inside the window: one of an agent's `inputProcessors`. It changes only the prompt that
 * the provider gets; Mastra's message list and memory keep every message. The memory's thread names the conversation; without a
 * memory the helper recognises a conversation by its messages.
 *
 * @example
 * ```ts
 * import { init } from "palimpsest";
 * import { fitProcessor } from "palimpsest/mastra";
 *
 * await init();
 * const inputProcessors = [fitProcessor({ window: 32768 })];
 * // new Agent({ id, name, instructions, model, tools, inputProcessors })
 * ```
 */
export function fitProcessor(options: FitOptions<MastraRequest>): FitProcessor {
  const fit = fitter(options);
  return {
    id: "palimpsest",
    async processInputStep({ tools, state }: { tools?: FitStepOptions["tools"]; state: Record<string, unknown> }) {
      state[TOOLS] = await definitionsOf(tools);
      return undefined;
    },
    async processLLMRequest(args: MastraRequest) {
      const memory = args.requestContext?.get("MastraMemory") as { thread?: { id?: unknown } } | undefined;
      const tools = args.state?.[TOOLS] as readonly unknown[] | undefined;
      const fitting = await fit<{ role: string; content: unknown }>(args.prompt, {
        dialect: "ai-sdk",
        request: args,
        id: memory?.thread?.id,
        ...(tools !== undefined && tools.length > 0 ? { tools } : {}),
        signal: args.abortSignal,
      });
      return { prompt: fitting.map(inParts) };
    },
  };
}
