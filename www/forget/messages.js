// Messages in the shapes that people have them in (OpenAI, Ollama, Anthropic, AI SDK), as far as the rules look into them.

const blocks = (message) => (Array.isArray(message.content) ? message.content : []);

const RESULTS = ["tool_result", "tool-result"];
const CALLS = ["tool_use", "tool-call"];

/** Whether the message is there to hold a tool's results. */
export const isResult = (message) => message.role === "tool" || blocks(message).some(({ type }) => RESULTS.includes(type));

export const isUser = (message) => message.role === "user" && !isResult(message);

export const isSystem = (message) => message.role === "system" || message.role === "developer";

/** Whether the message calls a tool. */
export const hasCalls = (message) => (message.tool_calls?.length ?? 0) > 0 || blocks(message).some(({ type }) => CALLS.includes(type));

/** The message without its calls; nothing if it says nothing else. */
export function withoutCalls(message) {
  if (!hasCalls(message)) return message;
  const { tool_calls, ...rest } = message;
  if (Array.isArray(rest.content)) rest.content = rest.content.filter(({ type }) => !CALLS.includes(type));
  return rest.content === null || rest.content === undefined || rest.content.length === 0 ? undefined : rest;
}

/** The message with `text` in place of a tool's results. */
export function cleared(message, text) {
  if (!Array.isArray(message.content)) return { ...message, content: text };
  const content = message.content.map((block) => {
    if (block.type === "tool_result") return { ...block, content: text };
    if (block.type === "tool-result") return { ...block, output: { type: "text", value: text } };
    return block;
  });
  return { ...message, content };
}

/** What a message says, for reading. */
export function textOf(message) {
  const texts = [];
  if (typeof message.content === "string") texts.push(message.content);
  for (const block of [...blocks(message), ...(message.parts ?? [])]) {
    if (typeof block === "string") texts.push(block);
    else if (typeof block?.text === "string") texts.push(block.text);
    else if (typeof block?.content === "string") texts.push(block.content);
    else if (Array.isArray(block?.content)) texts.push(...block.content.map(({ text }) => text ?? ""));
    else if (block?.output !== undefined) texts.push(typeof block.output === "string" ? block.output : JSON.stringify(block.output?.value ?? block.output));
    else if (block?.input !== undefined) texts.push(`${block.name ?? block.toolName ?? "call"} ${JSON.stringify(block.input)}`);
  }
  for (const call of message.tool_calls ?? []) {
    const { name, arguments: given } = call.function ?? {};
    texts.push(`${name ?? "call"} ${typeof given === "string" ? given : JSON.stringify(given ?? {})}`);
  }
  return texts.filter(Boolean).join("\n");
}

/** Who said it, by the names that the strip has colours for. */
export function roleOf(message) {
  if (isSystem(message)) return "system";
  if (isResult(message)) return "tool";
  return message.role === "user" ? "user" : "assistant";
}
