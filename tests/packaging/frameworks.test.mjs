// The helpers for frameworks with the real frameworks, through their own models for tests.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { install, remove, run } from "./consumer.mjs";

let folder;
before(() => { folder = install(["ai@6", "@langchain/core@1", "@langchain/langgraph@1", "langchain@1", "zod@4"]); });
after(() => remove(folder));

/** I3: through a long loop of tool calls every prompt fits, is valid in the SDK's own eyes, and keeps the user's words. */
for (const [helper, use] of [
  ["fitMiddleware", "model: wrapLanguageModel({ model, middleware: fitMiddleware({ window: 2048, recall: false, onCompact: () => compactions++ }) })"],
  ["fitStep", "model, prepareStep: fitStep({ window: 2048, reserve: 450, recall: false, onCompact: () => compactions++ })"],
]) {
  test(`AI SDK: ${helper}`, () => {
    const got = run(folder, `
      import { generateText, modelMessageSchema, stepCountIs, tool, wrapLanguageModel } from "ai";
      import { MockLanguageModelV3 } from "ai/test";
      import { countTokens, init, validate } from "palimpsest";
      import { fitMiddleware, fitStep } from "palimpsest/ai-sdk";
      import { z } from "zod";
      await init();
      let compactions = 0, calls = 0, broke = 0, last = [];
      const prompts = [];
      const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };
      const model = new MockLanguageModelV3({
        doGenerate: async ({ prompt }) => {
          const { ok, problems } = validate(prompt, "ai-sdk");
          prompts.push({ ok, problems, tokens: countTokens(prompt).tokens, parts: prompt.every((m) => m.role === "system" || Array.isArray(m.content)), goal: JSON.stringify(prompt).includes("Never delete a file"), messages: prompt.length });
          const now = prompt.map((m) => JSON.stringify([m.role, m.content]));
          if (!last.every((m, i) => m === now[i])) broke++;
          last = now;
          const done = ++calls > 40;
          return done
            ? { content: [{ type: "text", text: "All files are read." }], finishReason: { unified: "stop", raw: "stop" }, usage, warnings: [] }
            : { content: [{ type: "text", text: "I read file " + calls + "." }, { type: "tool-call", toolCallId: "c" + calls, toolName: "read", input: JSON.stringify({ path: "src/file" + calls + ".rs" }) }], finishReason: { unified: "tool-calls", raw: "tool_calls" }, usage, warnings: [] };
        },
      });
      const read = tool({ inputSchema: z.object({ path: z.string() }), execute: async ({ path }) => (path + ": fn main() { println!(\\"hello from this file\\"); } // nothing wrong here\\n").repeat(6) });
      const { text, response } = await generateText({ ${use}, system: "You read code.", prompt: "Never delete a file. Read every file and tell me what is wrong.", tools: { read }, stopWhen: stepCountIs(60) });
      modelMessageSchema.array().parse(response.messages);
      console.log(JSON.stringify({ text, compactions, broke, prompts }));
    `);
    assert.equal(got.text, "All files are read.");
    assert.equal(got.prompts.length, 41);
    assert.ok(got.compactions > 3, String(got.compactions));
    assert.equal(got.compactions, got.broke, "each compaction is told of once");
    for (const prompt of got.prompts) {
      assert.ok(prompt.ok, JSON.stringify(prompt.problems));
      assert.ok(prompt.tokens <= 1639, `${prompt.tokens} tokens`);
      assert.ok(prompt.parts && prompt.goal, JSON.stringify(prompt));
    }
    assert.ok(Math.max(...got.prompts.map((p) => p.messages)) < 60, "old steps are covered");
  });
}

/** I3: messages of LangChain come back as they were or as new ones of the right class. */
test("LangChain: fitMessages", () => {
  const got = run(folder, `
    import { AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
    import { init } from "palimpsest";
    import { fitMessages } from "palimpsest/langchain";
    await init();
    const history = [new SystemMessage("You track parcels.")];
    for (let i = 0; i < 40; i++) {
      history.push(new HumanMessage("Where is parcel " + i + "? Never deliver to the neighbour."));
      history.push(new AIMessage({ content: "", tool_calls: [{ id: "c" + i, name: "track", args: { parcel: i }, type: "tool_call" }] }));
      history.push(new ToolMessage({ content: "parcel " + i + " is at gate " + (i % 7) + ", weighs " + i + " kg and was scanned at noon", tool_call_id: "c" + i, name: "track" }));
      history.push(new AIMessage("Parcel " + i + " is at gate " + (i % 7) + "."));
    }
    const { messages, report } = fitMessages(history, { window: 2048 });
    console.log(JSON.stringify({
      fits: report.after.tokens <= report.limit, changed: report.changed, classes: messages.every((m) => m instanceof BaseMessage),
      own: messages.filter((m) => history.includes(m)).length, roles: messages.slice(0, 3).map((m) => m.getType()),
      last: messages.at(-1) === history.at(-1), pairs: messages.filter((m) => m.getType() === "tool").every((m) => messages.some((a) => a.tool_calls?.some((c) => c.id === m.tool_call_id))),
      rule: messages[1].content.startsWith("<user_demands>") && messages[1].content.includes("Never deliver to the neighbour") && messages[0].content === "You track parcels.",
    }));
  `);
  assert.deepEqual({ ...got, own: got.own > 8 }, { fits: true, changed: true, classes: true, own: true, roles: ["system", "human", "ai"], last: true, pairs: true, rule: true });
});

/** I3: an agent of LangChain's runs through the middleware; its own state keeps every message. */
test("LangChain: fitModelCalls", () => {
  const got = run(folder, `
    import { AIMessage, HumanMessage } from "@langchain/core/messages";
    import { tool } from "@langchain/core/tools";
    import { FakeToolCallingModel, createAgent, createMiddleware } from "langchain";
    import { countTokens, init } from "palimpsest";
    import { fitModelCalls } from "palimpsest/langchain";
    import { z } from "zod";
    await init();
    let compactions = 0;
    const seen = [];
    const spy = createMiddleware({ name: "Spy", wrapModelCall: (request, handler) => { seen.push({ messages: request.messages.length, system: request.systemMessage.text, words: request.messages.map((m) => m.content).join(" ") }); return handler(request); } });
    const fit = createMiddleware(fitModelCalls({ window: 1024, onCompact: () => compactions++ }));
    const read = tool(({ path }) => (path + ": nothing wrong in this file, it is as it should be. ").repeat(8), { name: "read", description: "reads", schema: z.object({ path: z.string() }) });
    const steps = 15;
    const model = new FakeToolCallingModel({ toolCalls: [...Array.from({ length: steps }, (_, i) => [{ name: "read", args: { path: "file" + i }, id: "c" + i }]), []] });
    const agent = createAgent({ model, tools: [read], systemPrompt: "You read code.", middleware: [fit, spy] });
    const { messages } = await agent.invoke({ messages: [new HumanMessage("Never delete a file. Read every file.")] }, { recursionLimit: 200 });
    console.log(JSON.stringify({ compactions, kept: messages.length, most: Math.max(...seen.map((s) => countTokens(s.words).tokens)), calls: seen.length, rule: seen.every((s) => (s.system + s.words).includes("Never delete a file")), prompt: seen.every((s) => s.system.startsWith("You read code.")) }));
  `);
  assert.ok(got.compactions > 0 && got.most < 900, JSON.stringify(got));
  assert.deepEqual([got.calls, got.kept, got.rule, got.prompt], [16, 32, true, true]);
});

/** A thread of LangGraph's is one conversation, also for an agent that is made anew for each request. */
test("LangChain: a thread has its own state", () => {
  const got = run(folder, `
    import { HumanMessage } from "@langchain/core/messages";
    import { MemorySaver } from "@langchain/langgraph";
    import { FakeListChatModel } from "@langchain/core/utils/testing";
    import { createAgent, createMiddleware } from "langchain";
    import { init } from "palimpsest";
    import { fitModelCalls } from "palimpsest/langchain";
    await init();
    const rows = new Map(), seen = { a: [], b: [] }, told = [];
    const state = { load: (key) => rows.get(key) && JSON.parse(rows.get(key)), save: async (key, value) => void rows.set(key, JSON.stringify(value)) };
    const checkpointer = new MemorySaver();
    for (let t = 0; t < 16; t++) for (const thread of ["a", "b"]) {
      const spy = createMiddleware({ name: "Spy", wrapModelCall: (request, handler) => { seen[thread].push(request.messages.map((m) => m.getType() + JSON.stringify(m.content))); return handler(request); } });
      const fit = createMiddleware(fitModelCalls({ window: 1024, recall: false, state, onCompact: (report, { key }) => told.push(key) }));
      const agent = createAgent({ model: new FakeListChatModel({ responses: ["Noted."] }), tools: [], middleware: [fit, spy], checkpointer });
      await agent.invoke({ messages: [new HumanMessage("Begin. " + ("This is what parcel " + t + " of thread " + thread + " looked like at noon. ").repeat(4))] }, { configurable: { thread_id: thread } });
    }
    const broke = (lists) => lists.filter((list, i) => i > 0 && !lists[i - 1].every((m, n) => m === list[n])).length;
    console.log(JSON.stringify({ keys: [...rows.keys()].sort(), broke: [broke(seen.a), broke(seen.b)], told: ["a", "b"].map((key) => told.filter((k) => k === key).length), calls: seen.a.length }));
  `);
  assert.deepEqual(got.keys, ["a", "b"]);
  assert.equal(got.calls, 16);
  assert.ok(got.told[0] > 0 && got.told[1] > 0, JSON.stringify(got));
  assert.deepEqual(got.broke, got.told, "only a compaction rewrites a beginning");
});

/** LangGraph: the state stands in the checkpoint, so that an agent made anew for each request, and a fork of a thread, go on from it. */
test("LangGraph: the state in a channel of the agent", () => {
  const got = run(folder, `
    import { BaseChatModel } from "@langchain/core/language_models/chat_models";
    import { AIMessage, HumanMessage } from "@langchain/core/messages";
    import { MemorySaver } from "@langchain/langgraph";
    import { tool } from "@langchain/core/tools";
    import { createAgent, createMiddleware } from "langchain";
    import { countTokens, init } from "palimpsest";
    import { fitAgent } from "palimpsest/langgraph";
    import { z } from "zod";
    await init();
    const seen = { a: [], b: [] }, told = [], checkpointer = new MemorySaver();
    const read = tool(({ path }) => (path + ": nothing wrong in this file, it is as it should be. ").repeat(16), { name: "read", description: "reads", schema: z.object({ path: z.string() }) });
    // each request has two calls of a tool, one after the other
    class Fake extends BaseChatModel {
      constructor(thread, n) { super({}); this.thread = thread; this.n = n; this.step = 0; }
      _llmType() { return "fake"; }
      bindTools() { return this; }
      async _generate() {
        const id = this.thread + this.n + "." + this.step++;
        const message = this.step < 3 ? new AIMessage({ id, content: "", tool_calls: [{ type: "tool_call", id, name: "read", args: { path: "file" + this.n + "." + this.step } }] }) : new AIMessage({ id, content: "Nothing is wrong in file " + this.n + "." });
        return { generations: [{ text: "", message }] };
      }
    }
    const agentFor = (thread, n) => {
      const spy = createMiddleware({ name: "Spy", wrapModelCall: (request, handler) => { seen[thread].push(request.messages.map((m) => m.getType() + JSON.stringify(m.content) + JSON.stringify(m.tool_calls))); return handler(request); } });
      const fit = createMiddleware(fitAgent({ window: 4096, recall: false, onCompact: (report, { key }) => told.push(key) }));
      const model = new Fake(thread, n);
      return createAgent({ model, tools: [read], systemPrompt: "You read code.", middleware: [fit, spy], checkpointer });
    };
    const sizes = [];
    for (let n = 0; n < 12; n++) for (const thread of ["a", "b"]) {
      await agentFor(thread, n).invoke({ messages: [new HumanMessage((n === 0 ? "Never delete a file of " + thread + ". " : "") + "Read file " + n + ".")] }, { configurable: { thread_id: thread }, recursionLimit: 50 });
      sizes.push(JSON.stringify((await agentFor(thread, n).getState({ configurable: { thread_id: thread } })).values._palimpsest ?? null).length);
    }
    const broke = (lists) => lists.filter((list, i) => i > 0 && !lists[i - 1].every((m, n) => m === list[n])).length;
    const { values, config } = await agentFor("a", 0).getState({ configurable: { thread_id: "a" } });
    const before = [broke(seen.a), broke(seen.b)], compactions = ["a", "b"].map((key) => told.filter((k) => k === key).length);
    // a fork: from a checkpoint in the middle, in a new agent
    const past = [];
    for await (const state of agentFor("a", 0).getStateHistory({ configurable: { thread_id: "a" } })) past.push(state);
    const middle = past.find(({ values, next }) => values._palimpsest && next.length === 0 && values.messages.length < 70);
    seen.a = [];
    await agentFor("a", 90).invoke({ messages: [new HumanMessage("Read file 90.")] }, { ...middle.config, recursionLimit: 50 });
    console.log(JSON.stringify({ before, compactions, calls: seen.b.length, sizes: [Math.max(...sizes)], kept: values.messages.length, version: typeof values._palimpsest.version, fork: { calls: seen.a.length, rule: seen.a.every((list) => list.join().includes("Never delete a file of a")), layer: seen.a[0].join().includes("earlier_conversation"), seesLater: seen.a.join().includes("file11") }, rule: seen.b.every((list) => list.join().includes("Never delete a file of b")) }));
  `);
  assert.deepEqual([got.calls, got.kept, got.version, got.rule], [36, 12 * 6, "number", true], JSON.stringify(got));
  assert.ok(got.compactions[0] >= 1 && got.compactions[1] >= 1, JSON.stringify(got));
  assert.deepEqual(got.before, got.compactions, "only a compaction rewrites a beginning");
  assert.ok(got.before[0] <= got.calls / 10, JSON.stringify(got));
  assert.ok(got.sizes[0] > 1000 && got.sizes[0] < 40_000, `a state of ${got.sizes[0]} characters`);
  assert.deepEqual(got.fork, { calls: 3, rule: true, layer: true, seesLater: false });
});

/** LangGraph: states in one of its stores; and a graph of one's own with a channel for the state. */
test("LangGraph: the state in a store, and in a graph of one's own", () => {
  const got = run(folder, `
    import { AIMessage, HumanMessage } from "@langchain/core/messages";
    import { Annotation, END, InMemoryStore, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
    import { FakeListChatModel } from "@langchain/core/utils/testing";
    import { createAgent, createMiddleware } from "langchain";
    import { init } from "palimpsest";
    import { fitMessages, fitModelCalls } from "palimpsest/langchain";
    import { fitAgent, stateInStore } from "palimpsest/langgraph";
    await init();
    const words = (n) => (n === 0 ? "Never send a parcel to gate 6. " : "") + ("This is what parcel " + n + " looked like at noon. ").repeat(5);
    const broke = (lists) => lists.filter((list, i) => i > 0 && !lists[i - 1].every((m, n) => m === list[n])).length;
    const out = {};
    {
      const store = new InMemoryStore(), checkpointer = new MemorySaver(), seen = [];
      let compactions = 0;
      for (let n = 0; n < 20; n++) {
        const spy = createMiddleware({ name: "Spy", wrapModelCall: (request, handler) => { seen.push(request.messages.map((m) => m.getType() + JSON.stringify(m.content))); return handler(request); } });
        const fit = createMiddleware(fitModelCalls({ window: 1024, recall: false, state: stateInStore(store), onCompact: () => compactions++ }));
        await createAgent({ model: new FakeListChatModel({ responses: ["Noted."] }), tools: [], middleware: [fit, spy], checkpointer }).invoke({ messages: [new HumanMessage(words(n))] }, { configurable: { thread_id: "t" } });
      }
      out.store = { keys: (await store.search(["palimpsest"])).map(({ key }) => key), broke: broke(seen) === compactions && compactions > 1 };
    }
    {
      const seen = [];
      let compactions = 0;
      const State = Annotation.Root({ ...MessagesAnnotation.spec, fit: Annotation() });
      const answer = async ({ messages, fit }) => {
        const { messages: fitting, state, report } = fitMessages(messages, { window: 1024, recall: false, state: fit });
        seen.push(fitting.map((m) => m.getType() + JSON.stringify(m.content)));
        compactions += report.passes.some(({ pass }) => pass !== "earlier");
        return { messages: [new AIMessage("Noted.")], fit: state };
      };
      const checkpointer = new MemorySaver();
      for (let n = 0; n < 20; n++) {
        const graph = new StateGraph(State).addNode("answer", answer).addEdge(START, "answer").addEdge("answer", END).compile({ checkpointer });
        await graph.invoke({ messages: [new HumanMessage(words(n))] }, { configurable: { thread_id: "t" } });
      }
      out.graph = { broke: broke(seen) === compactions && compactions > 1, rule: seen.every((list) => list.join().includes("Never send a parcel to gate 6")) };
    }
    const refused = (work) => { try { work(); } catch (error) { return error.code; } };
    out.refused = [refused(() => fitAgent({ window: 1024, state: {} })), refused(() => fitAgent({})), refused(() => stateInStore({}))];
    console.log(JSON.stringify(out));
  `);
  assert.deepEqual(got, { store: { keys: ["t"], broke: true }, graph: { broke: true, rule: true }, refused: ["invalid_options", "invalid_options", "invalid_options"] });
});

/** B7: tool definitions take part of the window: thirty of them leave less for the messages, in an agent of LangChain's and in a step of
 * the AI SDK's. */
test("tools are counted by every helper", () => {
  const got = run(folder, `
    import { AIMessage, HumanMessage } from "@langchain/core/messages";
    import { tool as langchainTool } from "@langchain/core/tools";
    import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
    import { asSchema, generateText, jsonSchema, stepCountIs, tool } from "ai";
    import { MockLanguageModelV3 } from "ai/test";
    import { FakeToolCallingModel, createAgent, createMiddleware } from "langchain";
    import { countTokens, init } from "palimpsest";
    import { fitStep } from "palimpsest/ai-sdk";
    import { fitModelCalls } from "palimpsest/langchain";
    import { z } from "zod";
    await init();
    const size = (values) => values.map((v) => countTokens(JSON.stringify(v)).tokens).reduce((a, b) => a + b, 0);
    const about = "Looks at one table of the warehouse and says what is in it, row by row, with the units of every column. ".repeat(2);
    const input = z.object({ table: z.string().describe("the table's name as the catalogue has it"), rows: z.number() });
    const names = Array.from({ length: 30 }, (_, n) => "look_" + n);

    const own = names.map((name) => langchainTool(() => "nothing", { name, description: about, schema: input }));
    const definitions = size(own.map((t) => convertToOpenAITool(t)));
    let most = 0;
    const spy = createMiddleware({ name: "Spy", wrapModelCall: (request, handler) => { most = Math.max(most, size(request.messages.map((m) => m.content))); return handler(request); } });
    const history = Array.from({ length: 400 }, (_, n) => [new HumanMessage("What is in table " + n + "?"), new AIMessage(("Table " + n + " holds parcels. ").repeat(8))]).flat();
    const agent = createAgent({ model: new FakeToolCallingModel({ toolCalls: [[]] }), tools: own, middleware: [createMiddleware(fitModelCalls({ window: 8192 })), spy] });
    await agent.invoke({ messages: [...history, new HumanMessage("And now?")] });

    const tools = Object.fromEntries(names.map((name, n) => [name, tool({ description: about, inputSchema: n % 2 ? input : jsonSchema(z.toJSONSchema(input)), execute: async () => "nothing" })]));
    const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };
    const model = new MockLanguageModelV3({ doGenerate: async () => ({ content: [{ type: "text", text: "Done." }], finishReason: { unified: "stop", raw: "stop" }, usage, warnings: [] }) });
    const messages = history.map((m) => ({ role: m.getType() === "human" ? "user" : "assistant", content: m.content }));
    await generateText({ model, tools, messages: [...messages, { role: "user", content: "And now?" }], prepareStep: fitStep({ window: 8192, tools }), stopWhen: stepCountIs(2) });
    const [{ prompt, tools: sent }] = model.doGenerateCalls;
    const odd = await fitStep({ window: 8192, tools: { odd: { inputSchema: { "~standard": { version: 1, vendor: "x" } } } } })({ messages }).then(() => "none", (error) => error.code);
    console.log(JSON.stringify({ definitions, most, step: size(prompt.map((m) => m.content)), stepTools: size(sent), odd }));
  `);
  assert.ok(got.definitions > 2_000 && got.stepTools > 2_000, JSON.stringify(got));
  assert.ok(got.most > 500 && got.most + got.definitions <= 8_192, JSON.stringify(got));
  assert.ok(got.step > 500 && got.step + got.stepTools <= 8_192, JSON.stringify(got));
  assert.equal(got.odd, "invalid_options");
});
