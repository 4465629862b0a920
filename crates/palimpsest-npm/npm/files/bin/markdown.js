// Conversations as Markdown.

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
