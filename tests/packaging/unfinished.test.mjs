// What is not finished stays: the AI SDK itself runs a tool that a person approved, once, however long the conversation is.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { install, remove, run } from "./consumer.mjs";

let folder;
before(() => { folder = install(["ai@6", "@langchain/core@1", "zod@4"]); });
after(() => remove(folder));

/** A model that answers once it has read the tool's result, and what it was given. */
const SCENE = `
  import { convertToModelMessages, generateText, safeValidateUIMessages, stepCountIs, tool, wrapLanguageModel } from "ai";
  import { MockLanguageModelV3 } from "ai/test";
  import { compact, init, validate } from "palimpsest";
  import { fitMiddleware, fitStep } from "palimpsest/ai-sdk";
  import { z } from "zod";
  await init();
  const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };
  const scene = () => {
    const seen = { runs: 0, prompts: [] };
    const model = new MockLanguageModelV3({ doGenerate: async ({ prompt }) => {
      seen.prompts.push(JSON.stringify(prompt));
      return { content: [{ type: "text", text: "Done." }], finishReason: { unified: "stop", raw: "stop" }, usage, warnings: [] };
    } });
    const tools = { remove: tool({ description: "removes a file", inputSchema: z.object({ path: z.string() }), needsApproval: true, execute: async () => { seen.runs++; return "removed"; } }) };
    return { seen, model, tools };
  };
  const words = (n) => ("src/part_" + n + ".rs defines part_" + n + ", which returns " + n + ". ").repeat(6);
  const history = (turns) => Array.from({ length: turns }, (_, n) => [
    { id: "u" + n, role: "user", parts: [{ type: "text", text: "Look at src/part_" + n + ".rs." }] },
    { id: "a" + n, role: "assistant", parts: [{ type: "text", text: words(n) }] },
  ]).flat();
  const asked = (turns, part) => [...history(turns),
    { id: "u", role: "user", parts: [{ type: "text", text: "Remove the oldest file." }] },
    { id: "a", role: "assistant", parts: [{ type: "step-start" }, { type: "tool-remove", toolCallId: "open", input: { path: "src/part_0.rs" }, ...part }] }];
  const approved = (turns) => asked(turns, { state: "approval-responded", approval: { id: "ask", approved: true } });
  const LENGTHS = [1, 20, 120];
`;

/** P2: through `compact` on messages of the interface and of the model, `fitStep` and `fitMiddleware`. */
test("AI SDK: an approved tool runs exactly once", () => {
  const got = run(folder, `${SCENE}
    const ways = {
      "none": async (ui, s) => generateText({ model: s.model, tools: s.tools, messages: await convertToModelMessages(ui, { tools: s.tools }) }),
      "compact of UI messages": async (ui, s) => generateText({ model: s.model, tools: s.tools, messages: await convertToModelMessages(compact(ui, { window: 2048 }).messages, { tools: s.tools }) }),
      "compact of model messages": async (ui, s) => generateText({ model: s.model, tools: s.tools, messages: compact(await convertToModelMessages(ui, { tools: s.tools }), { window: 2048 }).messages }),
      "fitStep": async (ui, s) => generateText({ model: s.model, tools: s.tools, messages: await convertToModelMessages(ui, { tools: s.tools }), prepareStep: fitStep({ window: 2048, tools: s.tools }) }),
      "fitMiddleware": async (ui, s) => generateText({ model: wrapLanguageModel({ model: s.model, middleware: fitMiddleware({ window: 2048 }) }), tools: s.tools, messages: await convertToModelMessages(ui, { tools: s.tools }) }),
    };
    const rows = [];
    for (const [name, way] of Object.entries(ways)) for (const turns of LENGTHS) {
      const s = scene();
      const { text } = await way(approved(turns), s);
      const prompt = s.seen.prompts.at(-1);
      rows.push({ name, turns, text, runs: s.seen.runs, result: prompt.includes("removed"), invented: prompt.includes("interrupted"), length: prompt.length });
    }
    console.log(JSON.stringify(rows));
  `);
  assert.equal(got.length, 15);
  for (const row of got) {
    assert.deepEqual([row.runs, row.text, row.result, row.invented], [1, "Done.", true, false], JSON.stringify(row));
    if (row.name !== "none") assert.ok(row.length < 12_000, JSON.stringify(row));
  }
});

/** P2: whatever waits at the end is there as it was, and the SDK takes the list. */
test("AI SDK: what waits at the end is left alone", () => {
  const got = run(folder, `${SCENE}
    const parts = [
      { state: "input-streaming", input: undefined },
      { state: "input-available" },
      { state: "approval-requested", approval: { id: "ask" } },
      { state: "approval-responded", approval: { id: "ask", approved: true } },
      { state: "approval-responded", approval: { id: "ask", approved: false } },
    ];
    const rows = [];
    for (const part of parts) for (const turns of LENGTHS) {
      const list = asked(turns, part);
      const { messages, report } = compact(list, { window: 2048 });
      const valid = await safeValidateUIMessages({ messages });
      rows.push({ part, turns, changed: report.changed, same: messages.at(-1) === list.at(-1), valid: valid.success, fits: report.after.tokens <= report.limit });
    }
    // somebody spoke after it: now it is past, and the list is still one the SDK takes
    const past = [...asked(120, { state: "approval-requested", approval: { id: "ask" } }), { id: "u2", role: "user", parts: [{ type: "text", text: "Never mind." }] }];
    const valid = await safeValidateUIMessages({ messages: compact(past, { window: 2048 }).messages });
    console.log(JSON.stringify({ rows, past: valid.success }));
  `);
  for (const row of got.rows) assert.deepEqual([row.changed, row.same, row.valid, row.fits], [row.turns > 1, true, true, true], JSON.stringify(row));
  assert.equal(got.past, true);
});

/** P2, I3: a call that waits at the end of LangChain's messages is the very object that was passed in, and the last one. */
test("LangChain: an open call stays last", () => {
  const got = run(folder, `
    import { AIMessage, HumanMessage } from "@langchain/core/messages";
    import { init } from "palimpsest";
    import { fitMessages } from "palimpsest/langchain";
    await init();
    const history = Array.from({ length: 80 }, (_, n) => [new HumanMessage("Look at file " + n + "."), new AIMessage(("File " + n + " is fine. ").repeat(20))]).flat();
    history.push(new HumanMessage("Remove the oldest."), new AIMessage({ content: "", tool_calls: [{ id: "open", name: "remove", args: { file: 0 }, type: "tool_call" }] }));
    const { messages, report } = fitMessages(history, { window: 2048 });
    console.log(JSON.stringify({ changed: report.changed, last: messages.at(-1) === history.at(-1) }));
  `);
  assert.deepEqual(got, { changed: true, last: true });
});
