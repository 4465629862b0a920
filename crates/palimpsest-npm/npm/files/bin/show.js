// What people see of a result: numbers always, colours where a terminal shows them.

const WIDTH = 60;
const COLOURS = { system: 33, developer: 33, user: 34, assistant: 32, tool: 35, layers: 36, free: 90 };
const LETTERS = { system: "S", developer: "S", user: "U", assistant: "A", tool: "T", free: "·" };

const forced = ![undefined, "", "0", "false"].includes(process.env.FORCE_COLOR);
const inColour = (stream) => !process.env.NO_COLOR && (forced || Boolean(stream.isTTY));
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
export function report({ changed, before, after, limit, layers, covered, facts, retention, lossy, dropped }, stream) {
  if (!changed) return [`${count(before.tokens)} tokens of ${count(limit)}: nothing had to be done`];
  const share = (n) => Math.round((n / Math.max(before.tokens, limit)) * WIDTH);
  const line = (n, name) => `[${paint("█".repeat(share(n)), name, stream)}${"·".repeat(Math.max(0, share(limit) - share(n)))}] ${count(n)}`;
  const messages = covered.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  return [
    `${line(before.tokens, "assistant")} before`,
    `${line(after.tokens, "layers")} after, of ${count(limit)}`,
    `${count(messages)} messages in ${layers} layer${layers === 1 ? "" : "s"}; ${Math.floor(retention * 100)} % of the facts of what was taken out are still there`,
    ...(dropped.length > 0 ? [`not carried over: ${dropped.slice(0, 10).join(" · ")}${facts.dropped > 10 ? ` and ${count(facts.dropped - 10)} more` : ""}`] : []),
    ...(lossy && dropped.length === 0 ? ["something left without a trace"] : []),
  ];
}

/** So many facts of a class are listed. */
const LISTED = 10;

/** What a window does not hold any more, as lines. */
export function gone({ history, window, said, lost, gone: facts, stale, orphans, shares }, by, stream) {
  const classes = [...new Set(facts.map((fact) => fact.class))];
  const whole = shares.filter((share) => share >= 0.995).length;
  const lines = [
    `${by}: ${count(lost)} of ${count(said)} facts are gone; ${count(whole)} of ${count(history.messages)} messages stand whole, in ${count(window.tokens)} of ${count(history.tokens)} tokens`,
  ];
  for (const name of classes) {
    const own = facts.filter((fact) => fact.class === name);
    lines.push("", paint(`${name} (${count(own.length)})`, "layers", stream));
    for (const { text, message, speaker } of own.slice(0, LISTED)) lines.push(`  ${speaker}, message ${message}: ${text.replaceAll(/\s+/g, " ").slice(0, 160)}`);
    if (own.length > LISTED) lines.push(`  … and ${count(own.length - LISTED)} more: --json lists all`);
  }
  if (stale.length > 0) lines.push("", paint(`outdated (${count(stale.length)})`, "layers", stream));
  for (const { old, message, new: now, by: later } of stale) lines.push(`  message ${message}: ${old}`, `    replaced in message ${later}: ${now}`);
  for (const { code, index } of orphans) lines.push(`message ${index} of the window: ${code}`);
  return lines;
}

/** The tokens of a window over time, in one line: the highest of each stretch, as eighths of the window. */
function line(points, window) {
  const steps = "▁▂▃▄▅▆▇█";
  const width = Math.min(WIDTH, points.length);
  return Array.from({ length: width }, (_, i) => {
    const stretch = points.slice(Math.floor((i * points.length) / width), Math.floor(((i + 1) * points.length) / width));
    const most = Math.max(...stretch.map(({ before }) => before));
    return steps[Math.min(7, Math.floor((most / window) * 8))];
  }).join("");
}

const COLUMNS = [
  ["peak", ({ peak }) => peak], ["last", ({ last }) => last], ["sent", ({ sent }) => sent], ["read again", ({ reread }) => reread],
  ["compactions", ({ compactions }) => compactions], ["refused", ({ refused }) => refused], ["model calls", ({ modelCalls }) => modelCalls],
];

/** A replay, as lines: figures by policy, the window over time, what is left of the facts. */
export function replayed({ messages, said, policies }, window, stream) {
  const name = (text) => text.slice(0, 16).padEnd(16);
  const cell = (text) => String(text).padStart(12);
  const classes = [...new Set(policies.flatMap(({ retention }) => retention.map((one) => one.class)))];
  const kept = ({ retention }, wanted) => {
    const one = retention.find((entry) => entry.class === wanted);
    return one ? `${count(one.shown)}${one.recallable ? `+${count(one.recallable)}` : ""}/${count(one.said)}` : "";
  };
  return [
    `${count(messages)} messages, ${count(said)} tokens said, a window of ${count(window)}`,
    `${name("tokens")}${COLUMNS.map(([title]) => cell(title)).join("")}`,
    ...policies.map((one) => `${name(one.policy)}${COLUMNS.map(([, of]) => cell(count(of(one)))).join("")}`),
    "",
    ...policies.map((one) => `${name(one.policy)}${paint(line(one.tokens, window), "assistant", stream)}`),
    "",
    `${name("facts left")}${classes.map(cell).join("")}`,
    ...policies.map((one) => `${name(one.policy)}${classes.map((wanted) => cell(kept(one, wanted))).join("")}`),
  ];
}
