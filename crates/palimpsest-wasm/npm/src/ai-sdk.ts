// The Vercel AI SDK: a middleware for models, and a `prepareStep` for agents. The SDK itself is not imported: both
// are plain objects of the shapes it asks for.

import { fitter, type FitOptions } from "./fitter.js";

export type { FitOptions } from "./fitter.js";

/**
 * Keeps every prompt of a model inside its window: a middleware for the SDK's `wrapLanguageModel`.
 *
 * @example
 * ```ts
 * import { init } from "palimpsest";
 * import { fitMiddleware } from "palimpsest/ai-sdk";
 * import { generateText, wrapLanguageModel } from "ai";
 *
 * await init();
 * declare const local: Parameters<typeof wrapLanguageModel>[0]["model"];
 * const model = wrapLanguageModel({ model: local, middleware: fitMiddleware({ window: 8192 }) });
 * const { text } = await generateText({ model, prompt: "Hello" });
 * console.log(text);
 * ```
 */
export function fitMiddleware(options: FitOptions): FitMiddleware {
  const fit = fitter(options);
  return {
    specificationVersion: "v3",
    async transformParams({ params }) {
      const { prompt, tools, abortSignal } = params;
      const fitting = await fit<{ role: string; content: unknown }>(prompt, { dialect: "ai-sdk", tools, signal: abortSignal });
      return { ...params, prompt: fitting.map(inParts) };
    },
  };
}

/** What {@link fitMiddleware} makes. Its parameters are the SDK's, of whichever version. */
export interface FitMiddleware {
  /** The version of the SDK's specification. */
  readonly specificationVersion: "v3";
  /** Replaces the prompt by one that fits. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  transformParams(call: { params: any }): Promise<any>;
}

/** At the level of a model every content but the system's is an array of parts. */
function inParts(message: { role: string; content: unknown }): unknown {
  const plain = typeof message.content === "string" && message.role !== "system";
  return plain ? { ...message, content: [{ type: "text", text: message.content }] } : message;
}

/**
 * Keeps the messages of an agent's loop inside the window, before each step: a `prepareStep` for `generateText`,
 * `streamText` and agents. The system prompt and the tools are not among these messages: leave room for them with
 * `reserve`.
 *
 * @example
 * ```ts
 * import { init } from "palimpsest";
 * import { fitStep } from "palimpsest/ai-sdk";
 * import { generateText, type LanguageModel } from "ai";
 *
 * await init();
 * declare const model: LanguageModel;
 * const { text } = await generateText({
 *   model,
 *   prompt: "Read every file and tell me what is wrong.",
 *   prepareStep: fitStep({ window: 32768, reserve: 4096 }),
 * });
 * console.log(text);
 * ```
 */
export function fitStep(options: FitOptions): <M>(step: { messages: M[] }) => Promise<{ messages: M[] }> {
  const fit = fitter(options);
  return async ({ messages }) => ({ messages: await fit(messages, { dialect: "ai-sdk" }) });
}
