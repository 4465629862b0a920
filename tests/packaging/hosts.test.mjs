// Slots of other programs, from the packed package and with their real packages: TanStack AI, the OpenAI Agents SDK.

import assert from "node:assert/strict";
import path from "node:path";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { install, remove } from "./consumer.mjs";

let folder;
let of;
let palimpsest;
const entry = (name) => import(pathToFileURL(path.join(folder, `node_modules/palimpsest/dist/${name}.js`)));
before(async () => {
  folder = install(["@tanstack/ai@0.58.0", "@openai/agents@0.20.0", "zod@4"]);
  const { resolve } = createRequire(path.join(folder, "package.json"));
  of = (name) => import(pathToFileURL(resolve(name)));
  palimpsest = await entry("node");
  await palimpsest.init();
});
after(() => remove(folder));

const WINDOW = 2048;
const words = (n) => `Parcel ${n} goes to gate ${n % 7}, as the ledger of hall ${n * 13} says. `.repeat(8);

/** I3: through TanStack AI's own chat(): what the provider is sent fits, TanStack's messages stay whole. */
test("TanStack AI", { timeout: 120_000 }, async () => {
  const { fitChat } = await entry("tanstack-ai");
  const { chat, EventType } = await import(pathToFileURL(path.join(folder, "node_modules/@tanstack/ai/dist/esm/index.js")));
  const sent = [];
  let step = 0;
  const adapter = {
    kind: "text",
    name: "fake",
    model: "fake",
    "~types": {},
    async *chatStream(options) {
      sent.push(options);
      const about = { model: "fake", timestamp: Date.now(), threadId: "t", runId: "r" };
      yield { type: EventType.RUN_STARTED, ...about };
      if (step++ < 12) {
        const toolCallId = `c${step}`;
        yield { type: EventType.TOOL_CALL_START, ...about, toolCallId, toolCallName: "gate", toolName: "gate" };
        yield { type: EventType.TOOL_CALL_ARGS, ...about, toolCallId, delta: `{"parcel":${step}}` };
        yield { type: EventType.TOOL_CALL_END, ...about, toolCallId, toolCallName: "gate", toolName: "gate", input: { parcel: step } };
        yield { type: EventType.RUN_FINISHED, ...about, finishReason: "tool_calls" };
        return;
      }
      yield { type: EventType.TEXT_MESSAGE_START, ...about, messageId: "m", role: "assistant" };
      yield { type: EventType.TEXT_MESSAGE_CONTENT, ...about, messageId: "m", delta: "Gate 5." };
      yield { type: EventType.TEXT_MESSAGE_END, ...about, messageId: "m" };
      yield { type: EventType.RUN_FINISHED, ...about, finishReason: "stop" };
    },
    structuredOutput: async () => { throw new Error("not asked for"); },
  };
  const whole = [];
  const compacted = [];
  const stream = chat({
    adapter,
    messages: [{ role: "user", content: "Where does parcel 12 go? Never send one to gate 6." }],
    systemPrompts: ["You know the gates."],
    tools: [{ name: "gate", description: "The gate of a parcel", inputSchema: { type: "object", properties: { parcel: { type: "number" } } }, execute: async ({ parcel }) => ({ text: words(parcel) }) }],
    agentLoopStrategy: ({ iterationCount }) => iterationCount < 20,
    middleware: [fitChat({ window: WINDOW, onCompact: (report) => compacted.push(report) }), { name: "watch", onIteration: (context) => void whole.push(context.messages.length) }],
  });
  for await (const chunk of stream) void chunk;
  assert.equal(sent.length, 13);
  assert.ok(compacted.length >= 1, `${compacted.length} compactions`);
  const last = sent.at(-1).messages;
  const list = [{ role: "system", content: "You know the gates." }, ...last.map(({ role, content, toolCalls, toolCallId }) => ({ role, content, ...(toolCalls ? { tool_calls: toolCalls } : {}), ...(toolCallId ? { tool_call_id: toolCallId } : {}) }))];
  assert.deepEqual(palimpsest.validate(list, "openai").problems, []);
  for (const { messages } of sent) {
    const { tokens } = palimpsest.countTokens(messages.map(({ role, content, toolCalls, toolCallId }) => ({ role, content, ...(toolCalls ? { tool_calls: toolCalls } : {}), ...(toolCallId ? { tool_call_id: toolCallId } : {}) })));
    assert.ok(tokens <= WINDOW, `${tokens} tokens`);
  }
  assert.ok(JSON.stringify(last).includes("Never send one to gate 6"), "what the user demands stays");
  assert.ok(last.some((message) => message.role === "tool" && JSON.stringify(message).includes("Parcel 12")), "what came last is whole");
});

/** I3: through the Agents SDK's own runner: the model gets what fits, the session inside keeps every item. */
test("the OpenAI Agents SDK", { timeout: 120_000 }, async () => {
  const { fitSession } = await entry("openai-agents");
  const { Agent, MemorySession, run, setTracingDisabled, tool, Usage } = await of("@openai/agents");
  const { z } = await of("zod");
  setTracingDisabled(true);
  const sent = [];
  const model = {
    async getResponse({ input }) {
      sent.push(input);
      const asked = [...input].reverse().find((item) => item.role === "user");
      const answered = input.at(-1).type === "function_call_result";
      const n = Number(/parcel (\d+)/.exec(JSON.stringify(asked))?.[1]);
      const output = answered
        ? [{ type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: `Noted for parcel ${n}. ${words(n)}` }] }]
        : [{ type: "function_call", callId: `c${n}`, name: "gate", arguments: `{"parcel":${n}}`, status: "completed" }];
      return { usage: new Usage({ requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2 }), output };
    },
    async *getStreamedResponse() { throw new Error("not asked for"); },
  };
  const gate = tool({ name: "gate", description: "The gate of a parcel", parameters: z.object({ parcel: z.number() }), execute: async ({ parcel }) => words(parcel) });
  const agent = new Agent({ name: "Gates", instructions: "You know the gates.", model, tools: [gate] });
  const inner = new MemorySession();
  const compacted = [];
  const session = fitSession(inner, { window: WINDOW, onCompact: (report) => compacted.push(report) });
  for (let n = 1; n <= 12; n++) {
    const { finalOutput } = await run(agent, n === 1 ? "Never send anything to gate 6. Where does parcel 1 go?" : `Where does parcel ${n} go?`, { session });
    assert.match(finalOutput, new RegExp(`^Noted for parcel ${n}\\.`));
  }
  const kept = await inner.getItems();
  assert.equal(kept.length, 12 * 4, "the session inside has every item, once");
  assert.ok(kept.every((item) => !JSON.stringify(item).includes("earlier_conversation")), "and no layer");
  assert.ok(compacted.length >= 1, `${compacted.length} compactions`);
  const given = await session.getItems();
  assert.ok(given.length < kept.length);
  assert.ok(JSON.stringify(given).includes("Never send anything to gate 6"));
  // calls and results stay in pairs, in every request
  for (const input of sent) {
    const calls = input.filter((item) => item.type === "function_call").map((item) => item.callId);
    const results = input.filter((item) => item.type === "function_call_result").map((item) => item.callId);
    assert.deepEqual(results, calls);
  }
  const largest = Math.max(...sent.map((input) => palimpsest.countTokens(JSON.stringify(input)).tokens));
  assert.ok(largest < 2 * WINDOW, `${largest} tokens of JSON`);
  assert.ok(palimpsest.countTokens(JSON.stringify(kept)).tokens > 2 * WINDOW);
  // what was kept is the very item
  assert.deepEqual(given.at(-1), kept.at(-1));
  assert.deepEqual(await session.getItems(2), kept.slice(-2));
});
