// LangChain.js: a trimmer of messages, and a middleware for its agents.

import { AIMessage, type BaseMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { convertToOpenAITool, isLangChainTool } from "@langchain/core/utils/function_calling";
import { DynamicStructuredTool } from "@langchain/core/tools";
import { compact, type Compacted, type CompactOptions } from "./compact.js";
import { type Fit, fitter, type FitOptions, type StateStore } from "./fitter.js";
import { written } from "./json.js";
import { RECALL_DESCRIPTION, RECALL_PARAMETERS, recallTool as plainTool, type RecallToolOptions } from "./recall.js";

export type { FitOptions, FitProblem, StateStore } from "./fitter.js";

/**
 * Makes messages of LangChain fit, as `compact` does: a replacement for `trimMessages` that keeps what is cut off as
 * a summary. Messages that stand as they were said are the very objects that were passed in.
 *
 * @example
 * ```ts
 * import { init } from "palimpsest";
 * import { fitMessages } from "palimpsest/langchain";
 * import { AIMessage, HumanMessage } from "@langchain/core/messages";
 *
 * await init();
 * const history = [new HumanMessage("Hello"), new AIMessage("Good morning")];
 * const { messages, state } = fitMessages(history, { window: 8192 });
 * console.log(messages.length, state.version);
 * ```
 */
export function fitMessages(messages: readonly BaseMessage[], options: Omit<CompactOptions, "dialect">): Compacted<BaseMessage> {
  const done = compact(messages.map(plain), { ...options, dialect: "openai" });
  return { ...done, messages: done.messages.map(back) };
}

/**
 * Keeps every call of an agent's model inside the window: pass the result to LangChain's `createMiddleware`. The
 * agent's own state keeps every message. `key` gets the middleware's request; without it the agent's `thread_id` names the
 * conversation.
 *
 * @example
 * ```ts
 * import { init } from "palimpsest";
 * import { fitModelCalls } from "palimpsest/langchain";
 * import { createAgent, createMiddleware } from "langchain";
 *
 * await init();
 * const agent = createAgent({
 *   model: "ollama:llama3.2",
 *   tools: [],
 *   middleware: [createMiddleware(fitModelCalls({ window: 8192 }))],
 * });
 * console.log(typeof agent.invoke);
 * ```
 */
export function fitModelCalls(options: FitOptions<FitModelRequest>): FitModelCalls {
  const fit = fitter(options);
  return { name: "PalimpsestFit", wrapModelCall: async (request, handler) => handler(await fitted(fit, request)) };
}

/** A request with messages that fit. `store` is where its state is kept, if not where the options say. @internal */
export async function fitted(fit: Fit<FitModelRequest>, request: FitModelRequest, store?: StateStore, id?: string): Promise<FitModelRequest> {
  const system = request["systemMessage"] as BaseMessage | undefined;
  const prompt = system && text(system.content) ? [system] : [];
  const all = [...prompt, ...request.messages].map(plain);
  const fitting = (
    await fit(all, {
      dialect: "openai",
      request,
      id: id ?? request.runtime?.configurable?.thread_id,
      tools: (request["tools"] as unknown[] | undefined)?.map(definition),
      signal: request.runtime?.signal,
      store,
    })
  ).map(back);
  const [first, ...rest] = fitting;
  return first?.getType() === "system" ? { ...request, systemMessage: first, messages: rest } : { ...request, messages: fitting };
}

/** What LangChain hands over for a call of the model. */
export interface FitModelRequest {
  /** The messages, without the system prompt. */
  readonly messages: readonly BaseMessage[];
  /** What the run was started with. */
  readonly runtime?: { readonly configurable?: { readonly thread_id?: string; readonly [other: string]: unknown }; readonly context?: unknown; readonly signal?: AbortSignal };
  readonly [other: string]: unknown;
}

/** What {@link fitModelCalls} makes: the configuration of a middleware. */
export interface FitModelCalls {
  /** The middleware's name. */
  name: string;
  /** Calls the model with messages that fit. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  wrapModelCall(request: any, handler: (request: any) => any): Promise<any>;
}

/**
 * `recallTool` of the main entry as a tool of LangChain's, called `recall`: with it among an agent's tools `fitModelCalls`
 * writes texts that say what to recall.
 *
 * @example
 * ```ts
 * import { init } from "palimpsest";
 * import { fitModelCalls, recallTool } from "palimpsest/langchain";
 * import { type BaseMessage } from "@langchain/core/messages";
 * import { createAgent, createMiddleware } from "langchain";
 *
 * await init();
 * let history: BaseMessage[] = [];
 * const keep = createMiddleware({ name: "Keep", beforeModel: (state) => void (history = state.messages) });
 * const fit = createMiddleware(fitModelCalls({ window: 8192 }));
 * const agent = createAgent({ model: "ollama:llama3.2", tools: [recallTool(() => history)], middleware: [keep, fit] });
 * console.log(typeof agent.invoke);
 * ```
 */
export function recallTool(history: readonly BaseMessage[] | (() => readonly BaseMessage[]), options: Omit<RecallToolOptions, "dialect"> = {}): DynamicStructuredTool {
  const all = (): readonly BaseMessage[] => (typeof history === "function" ? history() : history);
  const tool = plainTool(() => all().map(plain), { ...options, dialect: "openai" });
  return new DynamicStructuredTool({
    name: "recall",
    description: RECALL_DESCRIPTION,
    schema: RECALL_PARAMETERS as Record<string, unknown>,
    func: async (input: unknown) => tool.execute(input),
  });
}

/** A message of LangChain's in OpenAI's shape. The object itself goes along, unseen by the module. */
interface Plain {
  role: "system" | "user" | "assistant" | "tool";
  content: unknown;
  tool_call_id?: string;
  name?: string;
  tool_calls?: { id: string | undefined; type: "function"; function: { name: string; arguments: string } }[];
}

const ORIGINAL = Symbol("the message it is from");

function plain(message: BaseMessage): Plain {
  const base = { content: message.content, [ORIGINAL]: message };
  switch (message.getType()) {
    case "system":
    case "developer":
      return { role: "system", ...base };
    case "ai": {
      const calls = (message as AIMessage).tool_calls ?? [];
      const own = calls.map(({ id, name, args }) => ({
        id,
        type: "function" as const,
        function: { name, arguments: written(args) },
      }));
      // some providers say their calls in the content too
      const content = Array.isArray(message.content)
        ? message.content.filter((block) => !["tool_use", "tool_call", "input_json_delta"].includes(String(block.type)))
        : message.content;
      return { role: "assistant", ...base, content, ...(own.length > 0 ? { tool_calls: own } : {}) };
    }
    case "tool": {
      const { tool_call_id, name } = message as ToolMessage;
      return { role: "tool", ...base, tool_call_id, ...(name === undefined ? {} : { name }) };
    }
    default:
      return { role: "user", ...base };
  }
}

function back(message: Plain): BaseMessage {
  const original = (message as { [ORIGINAL]?: BaseMessage })[ORIGINAL];
  if (original !== undefined) return original;
  const content = (message.content ?? "") as string;
  switch (message.role) {
    case "system":
      return new SystemMessage({ content });
    case "assistant":
      return new AIMessage({
        content,
        tool_calls: (message.tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => ({
          ...(id === undefined ? {} : { id }),
          name,
          args: JSON.parse(args) as Record<string, unknown>,
          type: "tool_call" as const,
        })),
      });
    case "tool":
      return new ToolMessage({ content, tool_call_id: message.tool_call_id ?? "", ...(message.name ? { name: message.name } : {}) });
    default:
      return new HumanMessage({ content });
  }
}

/** A tool as a provider gets it: LangChain's own with their schema written out, others as they are. */
function definition(tool: unknown): unknown {
  return isLangChainTool(tool) ? convertToOpenAITool(tool) : tool;
}

function text(content: unknown): boolean {
  return typeof content === "string" ? content.trim() !== "" : Array.isArray(content) && content.length > 0;
}
