// TanStack AI: a middleware for chat(). TanStack itself is not imported: it is a plain object of the shape that it asks for.

import { fitter, type FitOptions } from "./fitter.js";

export type { FitOptions, FitProblem, StateStore } from "./fitter.js";

/** A message of TanStack AI's, as far as it is used. */
export interface TanStackMessage {
  role: "user" | "assistant" | "tool";
  content: unknown;
  toolCalls?: unknown;
  toolCallId?: string;
}

/** What TanStack AI gives a middleware before each request. */
export interface TanStackConfig {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  messages: any[];
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  systemPrompts: any[];
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  tools: any[];
}

/** What a helper's `key` gets: the run, and its configuration. */
export interface TanStackRequest {
  /** TanStack's context of the run, with its `threadId` and `conversationId`. */
  context: Readonly<Record<string, unknown>>;
  config: TanStackConfig;
}

/** What {@link fitChat} makes. */
export interface FitChat {
  name: "palimpsest";
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  onConfig(context: any, config: TanStackConfig): Promise<{ providerMessages: any[] }>;
}

/** The same message as an OpenAI message, which has other names for two of its fields. */
interface Wire {
  role: string;
  content: unknown;
  tool_calls?: unknown;
  tool_call_id?: string | undefined;
}

/**
 * Keeps what a chat sends inside the window, before each request of an agent's loop: a middleware for `chat()`. Only what the
 * provider is sent changes (`providerMessages`); TanStack's own messages stay whole. A conversation is known by TanStack's
 * `threadId`, else by what was said.
 *
 * @example
 * ```ts
 * import { init } from "palimpsest";
 * import { fitChat } from "palimpsest/tanstack-ai";
 *
 * await init();
 * const middleware = [fitChat({ window: 32768 })];
 * // chat({ adapter, messages, middleware })
 * ```
 */
export function fitChat(options: FitOptions<TanStackRequest>): FitChat {
  const fit = fitter(options);
  return {
    name: "palimpsest",
    async onConfig(context: Readonly<Record<string, unknown>>, config) {
      const prompts: Wire[] = config.systemPrompts.map((prompt: unknown) => ({ role: "system", content: typeof prompt === "string" ? prompt : (prompt as { content: unknown }).content }));
      const own = new Map<Wire, unknown>();
      for (const message of config.messages as TanStackMessage[]) own.set(wired(message), message);
      const tools = config.tools.map(({ name, description, inputSchema }: Record<string, unknown>) => ({ type: "function", function: { name, description, parameters: inputSchema } }));
      const fitting = await fit([...prompts, ...own.keys()], {
        dialect: "openai",
        request: { context, config },
        id: context["threadId"],
        ...(tools.length > 0 ? { tools } : {}),
        signal: context["signal"] as AbortSignal | undefined,
      });
      // system prompts stand beside the messages: they were only counted
      return { providerMessages: fitting.filter(({ role }) => role !== "system").map((message) => own.get(message) ?? unwired(message)) };
    },
  };
}

function wired({ role, content, toolCalls, toolCallId }: TanStackMessage): Wire {
  const parts = Array.isArray(content) ? content.map(part) : content;
  return { role, content: parts, ...(toolCalls === undefined ? {} : { tool_calls: toolCalls }), ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }) };
}

/** A part of a message: texts have another name for their words. */
function part(one: { type?: unknown; content?: unknown }): unknown {
  return one?.type === "text" ? { type: "text", text: one.content } : one;
}

function unwired({ role, content, tool_calls, tool_call_id }: Wire): unknown {
  const parts = Array.isArray(content) ? content.map((one: { type?: unknown; text?: unknown }) => (one.type === "text" ? { type: "text", content: one.text } : one)) : content;
  return { role, content: parts, ...(tool_calls === undefined ? {} : { toolCalls: tool_calls }), ...(tool_call_id === undefined ? {} : { toolCallId: tool_call_id }) };
}
