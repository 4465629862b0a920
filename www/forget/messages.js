// Messages in the shapes that people have them in (OpenAI, its Responses, Ollama, Anthropic, Gemini, AI SDK), as far as the rules look
// into them.

const blocks = ({ content, parts }) => [content, parts].find(Array.isArray) ?? [];

const isCall = ({ type, functionCall }) => type === "tool_use" || type === "tool-call" || functionCall !== undefined;
const isAnswer = ({ type, functionResponse }) => type === "tool_result" || type === "tool-result" || functionResponse !== undefined;

/** Whether the message is there to hold a tool's results. */
export const isResult = (message) => message.role === "tool" || message.type === "function_call_output" || blocks(message).some(isAnswer);

export const isUser = (message) => message.role === "user" && !isResult(message);

export const isSystem = (message) => message.role === "system" || message.role === "developer";

/** Whether the message calls a tool. */
export const hasCalls = (message) => message.type === "function_call" || (message.tool_calls?.length ?? 0) > 0 || blocks(message).some(isCall);

/** The message without its calls; nothing if it says nothing else. */
export function withoutCalls(message) {
  if (!hasCalls(message)) return message;
  if (message.type === "function_call") return undefined;
  const { tool_calls, ...rest } = message;
  for (const field of ["content", "parts"]) if (Array.isArray(rest[field])) rest[field] = rest[field].filter((block) => !isCall(block));
  return (rest.content?.length ?? rest.parts?.length ?? 0) === 0 ? undefined : rest;
}

/** The message with `text` in place of a tool's results. */
export function cleared(message, text) {
  if (message.type === "function_call_output") return { ...message, output: text };
  const field = Array.isArray(message.content) ? "content" : "parts";
  if (!Array.isArray(message[field])) return { ...message, content: text };
  const content = message[field].map((block) => {
    if (block.type === "tool_result") return { ...block, content: text };
    if (block.type === "tool-result") return { ...block, output: { type: "text", value: text } };
    if (block.functionResponse) return { ...block, functionResponse: { ...block.functionResponse, response: { output: text } } };
    return block;
  });
  return { ...message, [field]: content };
}

/** What a message says, for reading. */
export function textOf(message) {
  const texts = [];
  if (typeof message.content === "string") texts.push(message.content);
  for (const block of blocks(message)) {
    if (typeof block === "string") texts.push(block);
    else if (typeof block?.text === "string") texts.push(block.text);
    else if (typeof block?.content === "string") texts.push(block.content);
    else if (Array.isArray(block?.content)) texts.push(...block.content.map(({ text }) => text ?? ""));
    else if (block?.output !== undefined) texts.push(typeof block.output === "string" ? block.output : JSON.stringify(block.output?.value ?? block.output));
    else if (block?.functionCall) texts.push(`${block.functionCall.name} ${JSON.stringify(block.functionCall.args ?? {})}`);
    else if (block?.functionResponse) texts.push(JSON.stringify(block.functionResponse.response ?? {}));
    else if (block?.input !== undefined) texts.push(`${block.name ?? block.toolName ?? "call"} ${JSON.stringify(block.input)}`);
  }
  for (const call of message.tool_calls ?? []) {
    const { name, arguments: given } = call.function ?? {};
    texts.push(`${name ?? "call"} ${typeof given === "string" ? given : JSON.stringify(given ?? {})}`);
  }
  // items of Responses
  if (typeof message.arguments === "string") texts.push(`${message.name ?? "call"} ${message.arguments}`);
  if (message.output !== undefined) texts.push(typeof message.output === "string" ? message.output : JSON.stringify(message.output));
  return texts.filter(Boolean).join("\n");
}

/** Who said it, by the names that the strip has colours for. */
export function roleOf(message) {
  if (isSystem(message)) return "system";
  if (isResult(message)) return "tool";
  return message.role === "user" ? "user" : "assistant";
}
