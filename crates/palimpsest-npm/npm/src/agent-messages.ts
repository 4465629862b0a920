// Messages as the agents pi and OpenClaw keep them, and the same messages in OpenAI's shape.

/** A message of such an agent, as far as it is used. */
export interface AgentMessage {
  role: string;
  content?: unknown;
  timestamp?: number;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  [field: string]: any;
}

/** A part of a message's content. */
interface Part {
  type?: string;
  text?: string;
  thinking?: string;
  data?: string;
  mimeType?: string;
  id?: string;
  name?: string;
  arguments?: unknown;
}

/** A message in OpenAI's shape. @internal */
export interface Wire {
  role: "system" | "user" | "assistant" | "tool";
  content: unknown;
  reasoning_content?: string;
  tool_calls?: { id: string; type: "function"; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
  name?: string;
}

/** Translates messages into OpenAI's shape. The map leads from each translation to its message. @internal */
export function wired(messages: readonly AgentMessage[]): Map<Wire, AgentMessage> {
  const all = new Map<Wire, AgentMessage>();
  for (const message of messages) {
    // the agent leaves these out of what its model sees
    if (message.role === "bashExecution" && message["excludeFromContext"] === true) continue;
    all.set(wire(message), message);
  }
  return all;
}

function wire(message: AgentMessage): Wire {
  const parts = partsOf(message.content);
  switch (message.role) {
    case "system":
      return { role: "system", content: words(parts) };
    case "assistant": {
      const thought = parts.flatMap(({ type, thinking }) => (type === "thinking" && thinking ? [thinking] : [])).join("\n");
      const calls = parts.filter(({ type }) => type === "toolCall");
      return {
        role: "assistant",
        content: words(parts),
        ...(thought === "" ? {} : { reasoning_content: thought }),
        ...(calls.length === 0 ? {} : { tool_calls: calls.map(({ id, name, arguments: given }) => ({ id: id ?? "", type: "function" as const, function: { name: name ?? "", arguments: JSON.stringify(given ?? {}) } })) }),
      };
    }
    case "toolResult":
      return { role: "tool", tool_call_id: String(message["toolCallId"]), name: String(message["toolName"]), content: parts.some(({ type }) => type === "image") ? parts.map(seen) : words(parts) };
    case "bashExecution":
      return { role: "user", content: `Ran \`${String(message["command"])}\`\n${String(message["output"])}` };
    case "branchSummary":
    case "compactionSummary":
      return { role: "user", content: String(message["summary"]) };
    default:
      return { role: "user", content: parts.some(({ type }) => type === "image") ? parts.map(seen) : words(parts) };
  }
}

/**
 * Translates a list that fits back. A translation that came back as it was is the agent's own message; for a new or shortened one a
 * message is made from `own`, the map of {@link wired}. @internal
 */
export function unwired(fitting: readonly Wire[], own: ReadonlyMap<Wire, AgentMessage>): AgentMessage[] {
  const callers = new Map<string, AgentMessage>();
  const results = new Map<string, AgentMessage>();
  let speaker: AgentMessage | undefined;
  for (const [wire, message] of own) {
    if (message.role === "assistant") speaker = message;
    for (const { id } of wire.tool_calls ?? []) callers.set(id, message);
    if (wire.tool_call_id !== undefined) results.set(wire.tool_call_id, message);
  }
  return fitting.map((wire) => own.get(wire) ?? made(wire, callers.get(wire.tool_calls?.[0]?.id ?? "") ?? speaker, results.get(wire.tool_call_id ?? "")));
}

function made(wire: Wire, caller: AgentMessage | undefined, result: AgentMessage | undefined): AgentMessage {
  const timestamp = (result ?? caller)?.timestamp ?? 0;
  const texts = textParts(wire.content);
  if (wire.role === "tool") return { ...result, role: "toolResult", toolCallId: wire.tool_call_id, toolName: wire.name, content: texts, timestamp };
  if (wire.role !== "assistant") return { role: wire.role, content: texts, timestamp };
  const given = partsOf(caller?.content);
  const thoughts = wire.reasoning_content !== undefined && wire.tool_calls ? given.filter(({ type }) => type === "thinking") : [];
  const calls = (wire.tool_calls ?? []).map(({ id, function: { name, arguments: text } }) => ({ ...given.find((part) => part.type === "toolCall" && part.id === id), type: "toolCall", id, name, arguments: JSON.parse(text) as unknown }));
  // what the provider counted for the message it stands for is not this one's
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
  return { ...caller, role: "assistant", usage, content: [...thoughts, ...texts.filter(({ text }) => text !== ""), ...calls], stopReason: calls.length > 0 ? "toolUse" : "stop", timestamp };
}

/** Renders messages as plain text, for hosts that take a summary and nothing else. @internal */
export function rendered(messages: readonly Wire[]): string {
  return messages
    .map(({ role, content, tool_calls, name }) => {
      const text = textParts(content).map((part) => part.text).join("\n");
      const calls = (tool_calls ?? []).map(({ function: { name: called, arguments: given } }) => `[called ${called} ${given}]`);
      const said = [text, ...calls].filter((line) => line !== "").join("\n");
      // layers say themselves what they are
      if (said.startsWith("<")) return said;
      return `${role === "tool" ? `${name ?? "tool"} answered` : role}: ${said}`;
    })
    .join("\n\n");
}

function partsOf(content: unknown): Part[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? (content as Part[]) : [];
}

function words(parts: readonly Part[]): string {
  return parts.flatMap(({ type, text }) => (type === "text" && text ? [text] : [])).join("\n");
}

/** A text or an image, as OpenAI writes it. */
function seen({ type, text, data, mimeType }: Part): unknown {
  return type === "image" ? { type: "image_url", image_url: { url: `data:${mimeType};base64,${data}` } } : { type: "text", text: text ?? "" };
}

function textParts(content: unknown): { type: "text"; text: string }[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return partsOf(content).map(({ type, text }) => ({ type: "text" as const, text: type === "text" ? (text ?? "") : "[image]" }));
}
