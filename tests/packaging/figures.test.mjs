// The figures of reports of the packed package, compared with what is counted here from the lists themselves.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { install, remove, root, runAsync } from "./consumer.mjs";

let folder;
before(() => { folder = install(); });
after(() => remove(folder));

/** The coding agent's transcript as a list in the shape of OpenAI's. */
function transcript() {
  const lines = fs.readFileSync(path.join(root, "tests/fixtures/coding-session.jsonl"), "utf8").trim().split("\n");
  const messages = lines.map((line) => JSON.parse(line).message).filter(Boolean);
  return messages.map(({ role, content, toolCallId }) => {
    const text = content.map((part) => part.text ?? "").join("");
    if (role === "toolResult") return { role: "tool", tool_call_id: toolCallId, content: text };
    const calls = content.filter((part) => part.type === "toolCall");
    const tool_calls = calls.map(({ id, name, arguments: given }) => ({ id, type: "function", function: { name, arguments: JSON.stringify(given) } }));
    return { role, content: text, ...(calls.length > 0 && { tool_calls }) };
  });
}

/** Runs a script that finds the transcript in scope, and gives back what `out` holds at its end. */
const run = (script) => runAsync(folder, `
  import { compact, init, openSession } from "palimpsest";
  await init();
  const list = ${JSON.stringify(transcript())};
  const presets = ["balanced", "checkpoints", "watermark", "offload-compact", "auto-summarize"];
  const sum = (passes) => (passes ?? []).reduce((all, { tokens }) => all + tokens, 0);
  const out = {};
  ${script}
  console.log(JSON.stringify(out));
`);

/** What holds of every report: passes add up, facts add up, the list is bounded, and adjustments have names. */
function consistent({ before, after, recalledTokens = 0, passes = [], facts, retention, lossy, dropped, adjustments, codes = [] }, name) {
  const freed = passes.reduce((all, { tokens }) => all + tokens, 0);
  assert.equal(freed, (before.tokens ?? before) + recalledTokens - (after.tokens ?? after), `${name}: ${JSON.stringify(passes)}`);
  assert.equal(facts.kept + facts.recallable + facts.dropped, facts.touched, name);
  assert.ok(Math.abs(retention - (facts.touched ? facts.kept / facts.touched : 1)) < 1e-6, name);
  assert.equal(dropped.length, Math.min(64, facts.dropped), name);
  if (facts.dropped > 0) assert.equal(lossy, true, name);
  assert.equal(adjustments.length, codes.length, name);
}

/** O3, P9, P8: under every preset a report says what left: tokens by pass, facts, and whether it went without a trace. */
test("reports say what left the list", async () => {
  const got = await run(`
    out.calls = presets.flatMap((policy) => [2048, 8192, 1e6].map((window) => {
      const { messages, report } = compact(list, { window, policy });
      return { name: policy + " " + window, report, text: JSON.stringify(messages) };
    }));
  `);
  for (const { name, report, text } of got.calls) {
    consistent(report, name);
    // an own look at the result: a path that is named as dropped stands nowhere in it
    const paths = report.dropped.filter((fact) => /^[\w-]+(\/[\w.-]+)+\.\w+$/.test(fact));
    const words = new Set(text.split(/[\s"'`()[\]{}<>,;=|*]|\\n/).map((word) => word.replace(/[.:!?]+$/, "")));
    for (const fact of paths) assert.ok(!words.has(fact), `${name}: ${fact}`);
    if (!report.changed) assert.deepEqual([report.facts.touched, report.retention, report.lossy], [0, 1, false], name);
  }
  const tight = got.calls.filter(({ name }) => name.endsWith(" 2048"));
  assert.ok(tight.every(({ report }) => report.changed && report.lossy && report.retention < 1 && report.retention > 0));
  assert.ok(tight.some(({ report }) => report.facts.dropped > 64));
});

/** P3: of every message of the user's a report says whether it stands word for word, as an excerpt, or in a summary alone. */
test("the user's words stand, or are named", async () => {
  const got = await run(`
    out.calls = presets.flatMap((policy) => [1024, 2048, 4096, 8192].map((window) => {
      const { messages, report } = compact(list, { window, policy });
      return { name: policy + " " + window, report, said: messages.map((m) => m.content ?? "").join("\\n") };
    }));
    out.user = list.flatMap(({ role, content }, n) => (role === "user" ? [[n, content.trim()]] : []));
  `);
  let named = 0;
  for (const { name, report, said } of got.calls) {
    for (const [n, words] of got.user) {
      const lists = [report.summarised, report.shortened];
      const told = lists.some((list) => list.includes(n));
      assert.ok(told || said.includes(words), `${name}: message ${n} is not there, and not named`);
      if (report.summarised.includes(n)) assert.ok(!said.includes(words), `${name}: message ${n} stands`);
      named += told ? 1 : 0;
    }
  }
  assert.ok(got.user.length > 2 && named > 10);
});

/** O3: a growing loop and a session tell what left since the call before, by the same rules. */
test("loops and sessions have the same figures", async () => {
  const got = await run(`
    out.reports = [];
    let [short, state] = [[], undefined];
    for (let n = 0; n < list.length; n += 6) {
      short = [...short, ...list.slice(n, n + 6)];
      const done = compact(short, { window: 8192, state });
      ({ messages: short, state } = done);
      out.reports.push(done.report);
    }
    const session = await openSession({ model: "any", window: 8192 });
    out.session = [];
    for (let n = 0; n < 4; n += 1) {
      await session.append(Array.from({ length: 30 }, (_, i) => i + n * 30).map((i) => ({ role: i % 2 ? "assistant" : "user", content: \`Message \${i}: parcel \${1000 + i} weighs \${i} kg and goes to gate \${i % 9}, past src/gates/gate_\${i}.rs. \`.repeat(3) })));
      const before = session.window();
      const { report } = await session.compact();
      out.session.push({ report, tokens: [before.tokens, session.window().tokens] });
    }
    await session.close();
  `);
  got.reports.forEach((report, n) => consistent(report, `call ${n}`));
  assert.ok(got.reports.some(({ lossy }) => lossy));
  got.session.forEach(({ report, tokens }, n) => {
    consistent(report, `compaction ${n}`);
    assert.deepEqual([report.before, report.after], tokens, `compaction ${n}`);
    assert.ok(report.facts.touched > 0, `compaction ${n}`);
  });
  assert.ok(got.session.some(({ report }) => report.retention < 1), "the window cannot hold everything");
});
