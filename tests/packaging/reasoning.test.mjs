// Reasoning is counted where it is sent: against an independent tokenizer, over lists of every dialect.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { install, remove, run } from "./consumer.mjs";

let folder;
before(() => { folder = install(["gpt-tokenizer@3.4.0"]); });
after(() => remove(folder));

/** Lists with reasoning in every dialect, from a seed; and what o200k makes of everything in them that is sent and read. */
const SCENE = `
  import { countTokens as o200k } from "gpt-tokenizer/encoding/o200k_base";
  import { compact, countTokens, init, validate } from "palimpsest";
  await init();
  let seed = 7;
  const random = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
  const WORDS = "the parcel at gate seven weighs more than its label says so it has to be scanned again before noon because the bank reads every row and const total = rows.reduce((sum, row) => sum + row.amount, 0); maybe ledger_entries holds what 4.2.1 broke".split(" ");
  const text = (n) => Array.from({ length: n }, () => WORDS[random(WORDS.length)]).join(" ");
  const DIALECTS = ["openai", "deepseek", "openrouter", "ollama", "anthropic", "ai-sdk", "ai-sdk-ui"];
  const name = (kind) => ({ deepseek: "openai", openrouter: "openai" })[kind] ?? kind;
  // one turn: a question, steps of reasoning with a call and its result, an answer with reasoning
  function turn(kind, n, steps, long) {
    const out = [];
    const think = () => text(20 + random(long));
    const user = "Question " + n + ": " + text(5 + random(20));
    const parts = [];
    out.push(kind === "ai-sdk-ui" ? { id: "u" + n, role: "user", parts: [{ type: "text", text: user }] } : { role: "user", content: user });
    for (let s = 0; s < steps; s++) {
      const id = "c" + n + "_" + s, path = "src/" + n + "_" + s + ".rs", result = text(10 + random(40)), why = think();
      const call = { id, type: "function", function: { name: "read", arguments: JSON.stringify({ path }) } };
      if (name(kind) === "openai") out.push({ role: "assistant", content: null, ...fields(kind, why), tool_calls: [call] }, { role: "tool", tool_call_id: id, content: result });
      if (kind === "ollama") out.push({ role: "assistant", content: "", thinking: why, tool_calls: [{ function: { name: "read", arguments: { path } } }] }, { role: "tool", tool_name: "read", content: result });
      if (kind === "anthropic") out.push({ role: "assistant", content: [{ type: "thinking", thinking: why, signature: "c2lnbmVk" + id }, { type: "tool_use", id, name: "read", input: { path } }] }, { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: result }] });
      if (kind === "ai-sdk") out.push({ role: "assistant", content: [{ type: "reasoning", text: why, providerOptions: { x: { signature: id } } }, { type: "tool-call", toolCallId: id, toolName: "read", input: { path } }] }, { role: "tool", content: [{ type: "tool-result", toolCallId: id, toolName: "read", output: { type: "text", value: result } }] });
      if (kind === "ai-sdk-ui") parts.push({ type: "step-start" }, { type: "reasoning", text: why }, { type: "tool-read", toolCallId: id, state: "output-available", input: { path }, output: result });
    }
    const why = think(), said = text(10 + random(20));
    if (name(kind) === "openai") out.push({ role: "assistant", content: said, ...fields(kind, why) });
    if (kind === "ollama") out.push({ role: "assistant", content: said, thinking: why });
    if (kind === "anthropic") out.push({ role: "assistant", content: [{ type: "thinking", thinking: why, signature: "c2lnbmVk" }, { type: "text", text: said }] });
    if (kind === "ai-sdk") out.push({ role: "assistant", content: [{ type: "reasoning", text: why }, { type: "text", text: said }] });
    if (kind === "ai-sdk-ui") out.push({ id: "a" + n, role: "assistant", parts: [...parts, { type: "step-start" }, { type: "reasoning", text: why }, { type: "text", text: said }] });
    return out;
  }
  const fields = (kind, why) => kind === "openai" ? { reasoning: why } : kind === "deepseek" ? { reasoning_content: why } : { reasoning: why, reasoning_details: [{ type: "reasoning.text", text: why, signature: "c2ln" }] };
  // every string a model reads; reasoning of turns that Anthropic drops itself is not read, words said in two fields are one reasoning
  function read(kind, list) {
    const spoken = list.findLastIndex((m) => m.role === "user" && (typeof m.content === "string" || (m.content ?? m.parts).some((b) => b.type !== "tool_result")));
    let tokens = 0;
    list.forEach((message, at) => {
      const words = new Set();
      const walk = (value, key) => {
        if (["id", "type", "role", "signature", "toolCallId", "tool_call_id", "tool_use_id", "state", "providerOptions"].includes(key)) return;
        if (value?.type === "thinking" && kind === "anthropic" && at < spoken) return;
        if (typeof value === "string") words.add(value);
        else if (typeof value === "object" && value !== null) for (const [inner, one] of Object.entries(value)) walk(one, inner);
      };
      walk(message);
      for (const one of words) tokens += o200k(one);
    });
    return tokens;
  }
`;

/** B7: the count of a list is never below 85 % of what an independent tokenizer finds in everything that is sent. */
test("what is sent is counted", () => {
  const got = run(folder, `${SCENE}
    const rows = [];
    for (const kind of DIALECTS) for (let round = 0; round < 12; round++) {
      const list = Array.from({ length: 1 + random(6) }, (_, n) => turn(kind, n, random(4), 10 + random(400))).flat();
      if (round % 2) list.push(...turn(kind, 99, 2, 300).slice(0, kind === "ai-sdk-ui" ? 2 : -1));
      rows.push({ kind, counted: countTokens(list, undefined, name(kind)).tokens, true: read(kind, list), messages: list.length });
    }
    const thought = { openai: { role: "assistant", content: "Yes.", reasoning_details: [{ type: "reasoning.encrypted", data: "A".repeat(4000) }] }, anthropic: { role: "assistant", content: [{ type: "redacted_thinking", data: "A".repeat(4000) }, { type: "text", text: "Yes." }] } };
    const hidden = Object.entries(thought).map(([dialect, message]) => countTokens([{ role: "user", content: "Well?" }, message], undefined, dialect).tokens);
    console.log(JSON.stringify({ rows, hidden }));
  `);
  for (const row of got.rows) assert.ok(row.counted >= 0.85 * row.true, JSON.stringify(row));
  for (const tokens of got.hidden) assert.ok(tokens >= 1_000 && tokens < 1_100, String(got.hidden));
});

/** B1, I3: what comes back fits with its reasoning; in a loop of tool calls that still runs no signed block is changed. */
test("what comes back fits with its reasoning", () => {
  const got = run(folder, `${SCENE}
    const rows = [];
    for (const kind of DIALECTS) for (const window of [2048, 4096, 8192]) for (const running of [false, true]) {
      const list = Array.from({ length: 25 }, (_, n) => turn(kind, n, 2, 250)).flat();
      if (running) list.push(...turn(kind, 99, 12, 60).slice(0, kind === "ai-sdk-ui" ? 2 : -1));
      else list.push(turn(kind, 99, 0, 10)[0]);
      const { messages, report } = compact(list, { window, dialect: name(kind) });
      const own = new Map();
      const blocks = (all) => all.flatMap((m) => (Array.isArray(m.content) ? m.content : m.parts ?? [])).filter((b) => b.type === "thinking" || b.type === "reasoning").map((b) => JSON.stringify(b));
      for (const block of blocks(list)) own.set(block, true);
      const before = blocks(list), after = blocks(messages);
      const last = (all) => JSON.stringify(all.at(-1));
      rows.push({ kind, window, running, changed: report.changed, after: report.after.tokens, limit: report.limit, true: read(kind, messages), ok: validate(messages, name(kind)).ok, foreign: after.filter((b) => !own.has(b)).length,
        loop: !running || before.length === 0 || after.at(-1) === before.at(-1), fields: messages.filter((m) => m.reasoning_content || m.reasoning || m.thinking).length });
    }
    console.log(JSON.stringify(rows));
  `);
  for (const row of got) {
    assert.ok((row.changed || row.window === 8192) && row.ok && row.foreign === 0 && row.loop, JSON.stringify(row));
    assert.ok(row.after <= row.limit && row.true <= row.limit * 1.15, JSON.stringify(row));
  }
});
