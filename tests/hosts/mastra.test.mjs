// palimpsest/mastra through Mastra's own agents, with their own memory.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { install, remove, runAsync } from "../packaging/consumer.mjs";

let folder;
before(() => { folder = install(["@mastra/core@1.71.0", "@mastra/memory@1", "zod@4"]); });
after(() => remove(folder));

const SETUP = `
  import { Agent } from "@mastra/core/agent";
  import { createTool } from "@mastra/core/tools";
  import { z } from "zod";
  import { countTokens, init, validate } from "palimpsest";
  import { fitProcessor } from "palimpsest/mastra";
  await init();
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
  const ledger = (n) => ("Parcel " + n + " goes to gate " + (n % 7) + ", as the ledger of hall " + n * 13 + " says. ").repeat(8);
  const prompts = [];
  const fake = (reply) => ({
    specificationVersion: "v2", provider: "fake", modelId: "fake", supportedUrls: {},
    async doGenerate({ prompt, tools }) {
      prompts.push({ prompt, tools });
      return { content: [reply(prompts.length)], finishReason: reply(prompts.length).type === "text" ? "stop" : "tool-calls", usage, warnings: [] };
    },
    async doStream() { throw new Error("not asked for"); },
  });
  const seen = () => prompts.map(({ prompt }) => ({ tokens: countTokens(prompt).tokens, problems: validate(prompt, "ai-sdk").problems, rule: JSON.stringify(prompt).includes("Never send anything to gate 6"), system: prompt[0].role === "system" }));
`;

/** I3: through the loop of an agent of Mastra's every prompt fits, is valid, and keeps the user's words; Mastra's own messages stay whole. */
test("Mastra: an agent's loop", { timeout: 120_000 }, async () => {
  const got = await runAsync(folder, `${SETUP}
    let compactions = 0;
    const model = fake((n) => (n <= 20 ? { type: "tool-call", toolCallId: "c" + n, toolName: "gate", input: JSON.stringify({ parcel: n }) } : { type: "text", text: "All sorted." }));
    const gate = createTool({ id: "gate", description: "The gate of a parcel", inputSchema: z.object({ parcel: z.number() }), execute: async ({ parcel }) => ({ text: ledger(parcel) }) });
    const agent = new Agent({ id: "gates", name: "Gates", instructions: "You know the gates.", model, tools: { gate }, inputProcessors: [fitProcessor({ window: 2048, onCompact: () => compactions++ })] });
    const { text, steps, response } = await agent.generate("Never send anything to gate 6. Sort all parcels.", { maxSteps: 30 });
    console.log(JSON.stringify({ text, steps: steps.length, kept: JSON.stringify(response).includes("Parcel 2 goes to gate"), compactions, seen: seen(), tools: prompts[0].tools.length }));
    process.exit(0);
  `);
  assert.deepEqual([got.text, got.steps, got.seen.length, got.tools], ["All sorted.", 21, 21, 1]);
  assert.ok(got.compactions >= 2, `${got.compactions} compactions`);
  for (const { tokens, problems, rule, system } of got.seen) {
    assert.deepEqual([problems, rule, system], [[], true, true]);
    assert.ok(tokens <= 1639, `${tokens} tokens`);
  }
  assert.ok(got.kept, "Mastra's own messages are whole");
});

/** A thread of the memory is one conversation: a state is kept under its id. */
test("Mastra: a thread of the memory", { timeout: 120_000 }, async () => {
  const got = await runAsync(folder, `${SETUP}
    import { Memory } from "@mastra/memory";
    import { InMemoryStore } from "@mastra/core/storage";
    const rows = new Map();
    const state = { load: (key) => rows.get(key) && JSON.parse(rows.get(key)), save: (key, value) => void rows.set(key, JSON.stringify(value)) };
    const memory = new Memory({ storage: new InMemoryStore({ id: "store" }), options: { lastMessages: 200, semanticRecall: false } });
    for (let n = 0; n < 14; n++) for (const thread of ["a", "b"]) {
      const agent = new Agent({ id: "gates", name: "Gates", instructions: "You know the gates.", model: fake(() => ({ type: "text", text: "Noted." })), memory, inputProcessors: [fitProcessor({ window: 1024, recall: false, state })] });
      await agent.generate((n === 0 ? "Never send anything to gate 6. " : "") + ledger(n), { memory: { thread, resource: "r" } });
    }
    console.log(JSON.stringify({ keys: [...rows.keys()].sort(), seen: seen() }));
    process.exit(0);
  `);
  assert.deepEqual(got.keys, ["a", "b"]);
  assert.equal(got.seen.length, 28);
  assert.ok(got.seen.every(({ tokens, rule }) => tokens <= 840 && rule), JSON.stringify(got.seen.at(-1)));
});
