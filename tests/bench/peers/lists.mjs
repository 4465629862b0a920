// Lists of messages for benches and tests of speed: made by a generator of our own, the same at every run.

const TOPICS = ["the garden", "the ferry", "the invoice", "the bridge", "the kitchen", "the lecture", "the server", "the route", "the report", "the contract", "the orchard", "the archive"];
const VERBS = ["move", "check", "paint", "book", "cancel", "measure", "repair", "extend", "compare", "describe", "sort", "plan"];
const NAMES = ["Mara", "Jonas", "Ines", "Tomas", "Lena", "Pavel", "Nora", "Emil"];
const ENDS = ["before the end of the month", "because the old one leaks", "although it costs more than we said", "with the people from the second floor", "since nobody else has the key", "as soon as the weather allows it"];
const PARTS = ["billing", "ledger", "parser", "router", "session", "storage", "worker", "render"];

function dice(seed) {
  let state = seed >>> 0;
  return (sides) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 4294967296) * sides);
  };
}

/** A chat of so many messages in OpenAI's shape, about 57 tokens each. */
export function chat(count, seed = 1) {
  const roll = dice(seed);
  const pick = (list) => list[roll(list.length)];
  const sentences = [
    () => `${pick(NAMES)} wants to ${pick(VERBS)} ${pick(TOPICS)} ${pick(ENDS)}.`,
    () => `We agreed on ${10 + roll(900)} euros for ${pick(TOPICS)}, and ${pick(NAMES)} pays it on May ${1 + roll(28)}.`,
    () => `Could you ${pick(VERBS)} ${pick(TOPICS)} and tell ${pick(NAMES)} about it?`,
    () => `The file is notes/${pick(VERBS)}_${roll(500)}.md, and the order has the number A-${1000 + roll(9000)}.`,
    () => `I think that ${pick(TOPICS)} is fine as it is ${pick(ENDS)}.`,
    () => `Yes, ${pick(NAMES)} said that ${pick(TOPICS)} takes ${2 + roll(9)} days to ${pick(VERBS)}.`,
  ];
  const list = [{ role: "system", content: "You help a small office with its plans. Be exact." }];
  while (list.length < count) {
    list.push({ role: list.length % 2 ? "user" : "assistant", content: Array.from({ length: 2 + roll(3) }, () => pick(sentences)()).join(" ") });
  }
  return list;
}

/** An agent's loop: one request, then calls and their results, about 80 tokens a message. */
export function agent(count, seed = 2) {
  const roll = dice(seed);
  const pick = (list) => list[roll(list.length)];
  const name = () => `${pick(VERBS)}_${pick(PARTS)}_${roll(90)}`;
  const lines = [
    () => `export function ${name()}(at: number): string {`,
    () => `  const ${name()} = ${name()}(${roll(999)});`,
    () => `  // ${pick(TOPICS)} ${pick(ENDS)}`,
    () => `  return ${name()}.map((row) => row.${pick(PARTS)});`,
    () => "}",
  ];
  const list = [
    { role: "system", content: "You are a coding agent." },
    { role: "user", content: "Rename the ledger's entries to rows everywhere, and never touch the tests." },
  ];
  for (let n = 0; list.length < count; n++) {
    const id = `call_${n}`;
    const path = `src/${pick(PARTS)}/${pick(PARTS)}_${roll(40)}.ts`;
    list.push({
      role: "assistant",
      content: n % 3 ? "" : `I look at ${path} for ${name()}.`,
      tool_calls: [{ id, type: "function", function: { name: roll(4) ? "read" : "bash", arguments: JSON.stringify({ path, limit: roll(200) }) } }],
    });
    list.push({ role: "tool", tool_call_id: id, content: Array.from({ length: 2 + roll(roll(10) ? 12 : 60) }, () => pick(lines)()).join("\n") });
  }
  return list.slice(0, count);
}
