// What people see of a result: numbers always, colours where a terminal shows them.

const WIDTH = 60;
const COLOURS = { system: 33, developer: 33, user: 34, assistant: 32, tool: 35, layers: 36, free: 90 };
const LETTERS = { system: "S", developer: "S", user: "U", assistant: "A", tool: "T", free: "·" };

const inColour = (stream) => Boolean(stream.isTTY) && !process.env.NO_COLOR;
const count = (n) => n.toLocaleString("en");

function paint(text, name, stream) {
  return inColour(stream) ? `\x1b[${COLOURS[name] ?? 37}m${text}\x1b[0m` : text;
}

/** How a conversation fills a window, as lines. */
export function bar({ title, dialect, messages, tokens, bound, source, window, roles, problems }, stream) {
  const size = Math.max(window, tokens);
  const stretches = Object.entries(roles).map(([role, { tokens: n }]) => [role, n]);
  stretches.push(["free", Math.max(0, size - tokens)]);
  const drawn = stretches.map(([role, n]) => paint((LETTERS[role] ?? "?").repeat(Math.round((n / size) * WIDTH)), role, stream));
  const about = source === "exact" ? "" : "≈ ";
  const lines = [
    `${title ? `${title}: ` : ""}${count(messages)} messages (${dialect}), ${about}${count(tokens)} of ${count(window)} tokens${bound ? ` ± ${count(bound)}` : ""}`,
    `[${drawn.join("")}]`,
    ...Object.entries(roles).map(([role, one]) => `  ${role.padEnd(12)}${count(one.messages).padStart(8)} messages ${count(one.tokens).padStart(10)} tokens`),
  ];
  if (tokens > window) lines.push(`${count(tokens - window)} tokens too many: palimpsest compact --window ${window}`);
  for (const { code, index, message } of problems.slice(0, 20)) lines.push(`message ${index}: ${code}: ${message}`);
  if (problems.length > 20) lines.push(`… and ${count(problems.length - 20)} problems more`);
  return lines;
}

/** What a compaction did, as lines. */
export function report({ changed, before, after, limit, layers, covered, retention, dropped }, stream) {
  if (!changed) return [`${count(before.tokens)} tokens of ${count(limit)}: nothing had to be done`];
  const share = (n) => Math.round((n / Math.max(before.tokens, limit)) * WIDTH);
  const line = (n, name) => `[${paint("█".repeat(share(n)), name, stream)}${"·".repeat(Math.max(0, share(limit) - share(n)))}] ${count(n)}`;
  const messages = covered.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  return [
    `${line(before.tokens, "assistant")} before`,
    `${line(after.tokens, "layers")} after, of ${count(limit)}`,
    `${count(messages)} messages in ${layers} layer${layers === 1 ? "" : "s"}; ${Math.round(retention * 100)} % of their facts are still there`,
    ...(dropped.length > 0 ? [`not carried over: ${dropped.slice(0, 10).join(" · ")}${dropped.length > 10 ? ` and ${dropped.length - 10} more` : ""}`] : []),
  ];
}
