// The OpenAI Agents SDK: a session around another one. The SDK itself is not imported: a session is an object of its shape.

import { fitter, type FitOptions } from "./fitter.js";

export type { FitOptions, FitProblem, StateStore } from "./fitter.js";

/** A session of the SDK's. Its items are the SDK's, of whichever version. */
export interface AgentSession {
  getSessionId(): Promise<string>;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  getItems(limit?: number): Promise<any[]>;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  addItems(items: any[]): Promise<void>;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  popItem(): Promise<any>;
  clearSession(): Promise<void>;
}

/** The fields of an item that are looked at. */
interface Item {
  type?: string;
  role?: string;
  content?: unknown;
  callId?: string;
  name?: string;
  arguments?: string;
  output?: unknown;
}

/** A message as OpenAI's chat completions have it, and the items that it stands for. */
interface Wire {
  role: string;
  content: unknown;
  tool_calls?: { id: string; type: "function"; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

/**
 * A session that gives the model as much of `inner` as fits in the window. `inner` keeps every item, whole: `getItems(limit)` and
 * `popItem()` are its own. A conversation is known by the session's id.
 *
 * @example
 * ```ts
 * import { init } from "palimpsest";
 * import { fitSession, type AgentSession } from "palimpsest/openai-agents";
 *
 * declare const memory: AgentSession; // new MemorySession() of @openai/agents
 * await init();
 * const session = fitSession(memory, { window: 128000 });
 * // await run(agent, "Hello", { session })
 * ```
 */
export function fitSession<S extends AgentSession>(inner: S, options: FitOptions<{ session: S }>): AgentSession {
  const fit = fitter(options);
  return {
    getSessionId: () => inner.getSessionId(),
    addItems: (items) => inner.addItems(items),
    popItem: () => inner.popItem(),
    clearSession: () => inner.clearSession(),
    async getItems(limit) {
      if (limit !== undefined) return inner.getItems(limit);
      const items = (await inner.getItems()) as Item[];
      const own = wired(items);
      const fitting = await fit([...own.keys()], { dialect: "openai", request: { session: inner }, id: await inner.getSessionId() });
      const calls = new Map(items.filter((item) => item.callId !== undefined).map((item) => [`${item.type} ${item.callId}`, item]));
      return fitting.flatMap((message) => own.get(message) ?? made(message, calls));
    },
  };
}

/** Items as messages. Reasoning goes with what follows it, calls that follow each other are one message. */
function wired(items: readonly Item[]): Map<Wire, Item[]> {
  const all = new Map<Wire, Item[]>();
  let waiting: Item[] = [];
  let last: Wire | undefined;
  for (const item of items) {
    if (item.type === "reasoning") {
      waiting.push(item);
      continue;
    }
    const call = item.type === "function_call" ? { id: item.callId ?? "", type: "function" as const, function: { name: item.name ?? "", arguments: item.arguments ?? "{}" } } : undefined;
    if (call && last?.tool_calls) {
      last.tool_calls.push(call);
      all.get(last)?.push(...waiting, item);
    } else {
      last = call ? { role: "assistant", content: null, tool_calls: [call] } : message(item);
      all.set(last, [...waiting, item]);
    }
    waiting = [];
  }
  // reasoning at the end belongs to an answer that is still to come
  for (const item of waiting) all.set({ role: "assistant", content: words(item.content) }, [item]);
  return all;
}

function message(item: Item): Wire {
  if (item.type === "function_call_result") return { role: "tool", tool_call_id: item.callId ?? "", content: words(item.output) };
  if (item.role === "user" || item.role === "assistant" || item.role === "system") return { role: item.role, content: words(item.content) };
  // a tool that the provider runs itself, or a kind that came later: its text stands for it
  return { role: "assistant", content: JSON.stringify(item) };
}

/** The text of contents and outputs. */
function words(content: unknown): string {
  if (typeof content === "string") return content;
  const parts = Array.isArray(content) ? content : content === undefined || content === null ? [] : [content];
  return parts.map((part: { text?: unknown; type?: unknown; refusal?: unknown }) => (typeof part?.text === "string" ? part.text : typeof part?.refusal === "string" ? part.refusal : `[${String(part?.type)}]`)).join("\n");
}

/** Items for a message that is not one of those that went in: a layer, or one that was shortened. */
function made({ role, content, tool_calls, tool_call_id }: Wire, calls: ReadonlyMap<string, Item>): Item[] {
  const text = words(content);
  if (role === "tool") return [{ ...calls.get(`function_call_result ${tool_call_id}`), output: { type: "text", text } } as Item];
  const spoken: Item[] =
    role === "assistant"
      ? text === "" ? [] : [{ type: "message", role, status: "completed", content: [{ type: "output_text", text }] } as Item]
      : [{ type: "message", role, content: role === "system" ? text : [{ type: "input_text", text }] } as Item];
  const called = (tool_calls ?? []).map((call) => ({ ...calls.get(`function_call ${call.id}`), arguments: call.function.arguments }) as Item);
  return [...spoken, ...called];
}
