// Conversations in the files that other programs write.

/**
 * Every conversation of a file as `{ title, messages }`. Throws with what was found instead.
 *
 * Understood: a list of messages; `{ messages }`; JSON Lines of messages; exports of ChatGPT, Claude and Open WebUI.
 */
export function conversations(text, name) {
  if (text.trim() === "") throw new Error(`${name} is empty.`);
  const found = known(parse(text, name), 0).filter((one) => one.messages.length > 0);
  if (found.length === 0) throw new Error(`${name} holds no messages: expected a list of { role, content }, or { "messages": [ … ] }.`);
  return found;
}

function parse(text, name) {
  try {
    return JSON.parse(text);
  } catch (error) {
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    try {
      return lines.map((line) => JSON.parse(line));
    } catch {
      throw new Error(`${name} is not JSON: ${error.message}`);
    }
  }
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isMessage = (value) => isObject(value) && typeof value.role === "string";

function known(value, depth) {
  if (depth > 2) return [];
  if (Array.isArray(value)) return value.some(isMessage) ? [{ title: "", messages: value.filter(isMessage) }] : value.flatMap((one) => known(one, depth + 1));
  if (!isObject(value)) return [];
  const title = String(value.title ?? value.name ?? "");
  if (isObject(value.mapping)) return [{ title, messages: chatgpt(value) }];
  if (Array.isArray(value.chat_messages)) return [{ title, messages: claude(value.chat_messages) }];
  if (isObject(value.chat)) return known({ title, ...value.chat }, depth + 1);
  if (isObject(value.history?.messages)) return [{ title, messages: branch(value.history.messages, value.history.currentId, "parentId").filter(isMessage).map(plain) }];
  if (Array.isArray(value.messages)) return [{ title, messages: value.messages.filter(isMessage) }];
  return [];
}

/** From the newest message back to the first, following parents; what points in a circle ends there. */
function branch(nodes, last, parent) {
  const seen = new Set();
  const found = [];
  let id = last ?? Object.keys(nodes).at(-1);
  while (id != null && Object.hasOwn(nodes, id) && !seen.has(id)) {
    seen.add(id);
    found.push(nodes[id]);
    id = nodes[id][parent];
  }
  return found.reverse();
}

const plain = ({ role, content }) => ({ role, content });

function chatgpt({ mapping, current_node: last }) {
  return branch(mapping, last, "parent").flatMap(({ message }) => {
    const role = message?.author?.role;
    const content = (message?.content?.parts ?? [message?.content?.text]).filter((part) => typeof part === "string").join("\n");
    // what tools wrote there has no call to belong to
    return content.trim() !== "" && ["user", "assistant", "system"].includes(role) ? [{ role, content }] : [];
  });
}

function claude(messages) {
  return messages.flatMap(({ sender, text, content }) => {
    const said = text || (Array.isArray(content) ? content.map((part) => part.text ?? "").join("\n") : "");
    return said.trim() === "" ? [] : [{ role: sender === "human" ? "user" : "assistant", content: said }];
  });
}

/** A conversation to read. */
export function markdown({ title, messages }) {
  const out = title ? [`# ${title}`] : [];
  for (const message of messages) {
    out.push(`## ${message.role}`);
    const said = contentOf(message.content);
    if (said) out.push(said);
    for (const { function: { name, arguments: given } = {} } of message.tool_calls ?? []) {
      out.push(fenced(`${name}(${typeof given === "string" ? given : JSON.stringify(given)})`));
    }
  }
  return `${out.join("\n\n")}\n`;
}

function contentOf(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (typeof part.text === "string" ? part.text : fenced(JSON.stringify(part, null, 2)))).join("\n\n");
}

/** Code in a fence longer than any inside it. */
function fenced(code) {
  const longest = Math.max(2, ...[...code.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${code}\n${fence}`;
}
