// opencode: hooks of a plugin. opencode itself is not imported: hooks are a plain object of the shape that it asks for.

import { fitter, type FitOptions } from "./fitter.js";

export type { FitOptions, FitProblem, StateStore } from "./fitter.js";

/** A message of opencode's with its parts, as far as they are used. */
export interface OpencodeMessage {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  info: any;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  parts: any[];
}

/** The request that a helper's `key` gets: the messages of a session. */
export interface OpencodeRequest {
  messages: readonly OpencodeMessage[];
}

/** The hooks that {@link fitOpencode} makes. */
export interface OpencodeHooks {
  /** Replaces the messages of one request by some that fit. */
  "experimental.chat.messages.transform"(input: object, output: { messages: OpencodeMessage[] }): Promise<void>;
}

/** A message of the AI SDK's UI, whose parts correspond to opencode's. */
interface Shown {
  id: string;
  role: string;
  parts: Record<string, unknown>[];
}

/**
 * Makes the hooks of an opencode plugin: before each request the model is shown as much of the session as fits, while opencode keeps every
 * message. opencode tells a hook neither the window nor the sizes of system prompt and tools: give the model's `window`, and leave
 * room for them with `reserve`.
 *
 * @example
 * ```ts
 * // .opencode/plugin/palimpsest.ts
 * import { init } from "palimpsest";
 * import { fitOpencode, type OpencodeHooks } from "palimpsest/opencode";
 *
 * export const palimpsest = async (): Promise<OpencodeHooks> => {
 *   await init();
 *   return fitOpencode({ window: 32768, reserve: 16384 });
 * };
 * ```
 */
export function fitOpencode(options: FitOptions<OpencodeRequest>): OpencodeHooks {
  const fit = fitter(options);
  return {
    async "experimental.chat.messages.transform"(_input, output) {
      const own = new Map<Shown, OpencodeMessage>();
      for (const message of output.messages) own.set(shown(message), message);
      const first = output.messages[0];
      if (first === undefined) return;
      const fitting = await fit<Shown>([...own.keys()], { dialect: "ai-sdk-ui", request: { messages: output.messages }, id: first.info.sessionID as unknown });
      const byId = new Map(output.messages.map((message) => [message.info.id as string, message]));
      const made = fitting.map((message, n) => own.get(message) ?? back(message, byId.get(message.id), first, n));
      // the caller goes on with the very array that it passed
      output.messages.splice(0, output.messages.length, ...made);
    },
  };
}

/** opencode's message as one of the AI SDK's UI. Parts that no model sees are left out. */
function shown({ info, parts }: OpencodeMessage): Shown {
  return { id: info.id as string, role: info.role as string, parts: parts.flatMap(part) };
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any
function part(one: any): Record<string, unknown>[] {
  switch (one.type) {
    case "text":
      return one.ignored === true ? [] : [{ type: "text", text: one.text }];
    case "reasoning":
      return [{ type: "reasoning", text: one.text }];
    case "file":
      return [{ type: "file", mediaType: one.mime, filename: one.filename, url: one.url }];
    case "step-start":
      return [{ type: "step-start" }];
    case "tool":
      return [{ type: "dynamic-tool", toolName: one.tool, toolCallId: one.callID, input: one.state.input, ...ended(one.state) }];
    default:
      return [];
  }
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any
function ended(state: any): Record<string, unknown> {
  if (state.status === "completed") {
    // opencode shows the model this line in place of an output that it has pruned itself
    return { state: "output-available", output: state.time?.compacted === undefined ? state.output : "[Old tool result content cleared]" };
  }
  return state.status === "error" ? { state: "output-error", errorText: state.error } : { state: "input-available" };
}

/** A message that is not one of those that went in: a layer, or one that was shortened. */
function back(message: Shown, was: OpencodeMessage | undefined, first: OpencodeMessage, n: number): OpencodeMessage {
  const info = was?.info ?? { ...first.info, id: `msg_palimpsest_${n}`, role: message.role };
  const common = { sessionID: info.sessionID as unknown, messageID: info.id as unknown };
  const parts = message.parts.map((one, at) => {
    const id = `prt_palimpsest_${n}_${at}`;
    const old = was?.parts.find((part) => (one["toolCallId"] !== undefined ? part.callID === one["toolCallId"] : part.type === one["type"] && (part.text === one["text"] || part.url === one["url"])));
    if (one["type"] !== "dynamic-tool") return old ?? { ...common, id, type: one["type"], text: one["text"] ?? "", ...(was ? {} : { synthetic: true }) };
    const output = one["output"];
    const state = { ...old?.state, input: one["input"], ...(output === undefined ? {} : { output: typeof output === "string" ? output : JSON.stringify(output), attachments: undefined }) };
    // an output that is shown shortened is shown, whatever opencode has pruned
    return { ...old, id: old?.id ?? id, ...common, type: "tool", callID: one["toolCallId"], tool: one["toolName"], state };
  });
  return { info, parts };
}
