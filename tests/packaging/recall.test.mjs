// What windows promise to lead back to: `recall` and the tool for models, and what reports and policies say in numbers.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { install, remove, run } from "./consumer.mjs";

let folder;
before(() => { folder = install(["ai@6", "@langchain/core@1", "langchain@1", "zod@4"]); });
after(() => remove(folder));

/** A loop of tools that read and write, in OpenAI's shape. */
const history = `
  const offloading = { base: "balanced", name: "offloading", passes: [{ pass: "offload" }, { pass: "emergency" }] };
  const log = (n) => ("2024-05-01 12:00:0" + (n % 10) + " INFO request " + n + " took " + n + " ms\\n").repeat(60);
  const history = [{ role: "system", content: "You read code." }, { role: "user", content: "Read every file." }];
  for (let n = 0; n < 40; n++) {
    const args = n % 4 === 3 ? { path: "src/f" + n + ".rs", content: ("let part_" + n + " = " + n + ";\\n").repeat(90) } : { path: "src/f" + (n % 7) + ".rs" };
    history.push({ role: "assistant", content: null, tool_calls: [{ id: "c" + n, type: "function", function: { name: n % 4 === 3 ? "write" : "read", arguments: JSON.stringify(args) } }] });
    history.push({ role: "tool", tool_call_id: "c" + n, content: log(n) });
  }
`;

/** Without the tool nothing says that it can be recalled; with it every place that is named is found, whole. */
test("a window promises to be recalled only what can be", () => {
  const got = run(folder, `
    import { compact, init, recall, recallTool } from "palimpsest";
    await init();
    ${history}
    const tool = recallTool(() => history);
    const out = {};
    for (const policy of ["balanced", offloading, "checkpoints", "watermark"]) {
      const texts = (tools) => JSON.stringify(compact(history, { window: 16384, policy, tools }).messages.filter((m) => !history.includes(m)));
      const without = texts([]);
      const shown = texts([tool.definition]);
      const places = [...shown.matchAll(/recall message (\\d+)|\\[offloaded: message (\\d+)/g)].map((m) => m[1] ?? m[2]);
      out[policy.name ?? policy] = { promises: /recall|in message \\d/.test(without), places: places.length, whole: places.every((n) => tool.execute({ message: n }) === history[Number(n)].content) };
    }
    console.log(JSON.stringify(out));
  `);
  for (const [policy, { promises, whole }] of Object.entries(got)) assert.deepEqual([policy, promises, whole], [policy, false, true]);
  assert.ok(got.balanced.places > 0 && got.offloading.places > 0, JSON.stringify(got));
});

/** By the text of a reference, by the window's numbers, and by a report's positions. */
test("recall gives the whole text", () => {
  const got = run(folder, `
    import { compact, init, recall } from "palimpsest";
    await init();
    ${history}
    const { messages, report } = compact(history, { window: 16384, policy: offloading });
    const reference = JSON.stringify(messages).match(/\\[offloaded: message (\\d+)[^\\]]*\\]/);
    const code = (use) => { try { return use(); } catch (e) { return [e.name, e.code, e.message]; } };
    console.log(JSON.stringify({
      reference: reference !== null && recall(history, reference[0]) === history[Number(reference[1])].content,
      position: recall(history, 1), system: recall(history, 0), shown: recall(history, "message 1"), several: recall(history, "[Messages 1-3]").slice(0, 49),
      beyond: code(() => recall(history, "message 400")), none: code(() => recall(history, "message 0"))[1], at: code(() => recall(history, 400)), unnamed: code(() => recall(history, "the log")),
      changed: code(() => recall(history, "[offloaded: message 3, part 0, 9 bytes, aaaaaaaaaaaa]")), odd: [1.5, -1, NaN, null, {}].map((r) => code(() => recall(history, r))[1]),
      option: code(() => recall(history, 1, { dialct: "openai" })), covered: report.covered.every(({ from, to }) => recall(history, from).length > 0 && recall(history, to).length > 0),
    }));
  `);
  assert.deepEqual([got.reference, got.position, got.system, got.shown, got.covered], [true, "Read every file.", "You read code.", "Read every file.", true]);
  assert.equal(got.several, "User (1): Read every file.\n\nAssistant (2): read {");
  assert.deepEqual([...got.beyond.slice(0, 2), got.none], ["PalimpsestError", "not_found", "not_found"]);
  assert.match(got.beyond[2], /There is no message 400: the list has 81\. Give the whole list/);
  assert.match(got.at[2], /There is no message 400: the list has 82\./);
  assert.deepEqual([got.unnamed[1], got.changed[1]], ["bad_input", "not_found"]);
  assert.deepEqual(got.odd, Array(5).fill("bad_input"));
  assert.deepEqual(got.option.slice(1), ["invalid_options", 'There is no option "dialct". Did you mean "dialect"?']);
});

/** A model writes its arguments in many ways, asks for what is not there, and gets long texts in pieces. */
test("the tool answers whatever a model calls it with", () => {
  const got = run(folder, `
    import { init, recallTool } from "palimpsest";
    await init();
    const long = "é🙂".repeat(3000);
    const tool = recallTool([{ role: "user", content: "Where is parcel 12?" }, { role: "assistant", content: long }], { most: 1000 });
    let text = "", from = 0, pieces = 0;
    for (;;) {
      const piece = tool.execute({ message: "2", from });
      const more = piece.match(/\\n\\[\\d+ more characters: recall with "from": (\\d+)\\]$/);
      text += more ? piece.slice(0, more.index) : piece;
      pieces++;
      if (!more) break;
      from = Number(more[1]);
    }
    const code = (use) => { try { return use(); } catch (e) { return e.code; } };
    console.log(JSON.stringify({
      answers: [{ message: 1 }, { message: "1" }, '{"message":"1"}', "1", 1, { message: "[recall message 1]" }].map((a) => tool.execute(a)),
      wrong: [{}, null, { message: "9" }, { message: "the first" }, { message: "" }].map((a) => tool.execute(a)),
      whole: text === long, pieces, options: [code(() => recallTool([], { mst: 1 })), code(() => recallTool([], { most: 3 })), code(() => recallTool("x"))],
    }));
  `);
  assert.deepEqual(got.answers, Array(6).fill("Where is parcel 12?"));
  assert.deepEqual(got.wrong, [
    'Say which message: { "message": "12" }.',
    'Say which message: { "message": "12" }.',
    "There is no message 9 to recall.",
    "This names no message. Give its number as the conversation shows it, such as 12 or 3-9.",
    'Say which message: { "message": "12" }.',
  ]);
  assert.ok(got.whole && got.pieces >= 9, `${got.pieces} pieces`);
  assert.deepEqual(got.options, ["invalid_options", "invalid_options", "invalid_options"]);
});

/** What is shortened in a call says so before anything else, and keeps the names of its arguments. */
test("a shortened argument does not look like one to copy", () => {
  const got = run(folder, `
    import { compact, init } from "palimpsest";
    await init();
    ${history}
    const calls = ["balanced", "watermark", "checkpoints"].flatMap((policy) => compact(history, { window: 16384, policy }).messages).flatMap((m) => history.includes(m) ? [] : m.tool_calls ?? []);
    const args = calls.map((c) => JSON.parse(c.function.arguments));
    console.log(JSON.stringify({ calls: calls.length, args: args.flatMap((a) => Object.entries(a)) }));
  `);
  const shortened = got.args.filter(([, value]) => /… |not shown|\[shortened|\[outdated/.test(String(value)));
  assert.ok(shortened.length > 0, JSON.stringify(got));
  for (const [name, value] of got.args) assert.ok(["path", "content"].includes(name), `${name}: ${value}`);
  for (const [, value] of shortened) assert.match(value, /^\[/);
});

/** The same tool in both frameworks: their models call it and read the whole text. */
test("the tool in the AI SDK and in LangChain", () => {
  const got = run(folder, `
    import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
    import { asSchema, generateText, stepCountIs } from "ai";
    import { MockLanguageModelV3 } from "ai/test";
    import { FakeToolCallingModel, createAgent, createMiddleware } from "langchain";
    import { init } from "palimpsest";
    import { fitMiddleware, fitStep, recallTool } from "palimpsest/ai-sdk";
    import { fitModelCalls, recallTool as langchainTool } from "palimpsest/langchain";
    await init();
    ${history}
    const said = history.slice(1).map((m, n) => m.role === "user" ? m : m.role === "tool"
      ? { role: "tool", content: [{ type: "tool-result", toolCallId: m.tool_call_id, toolName: "read", output: { type: "text", value: m.content } }] }
      : { role: "assistant", content: [{ type: "tool-call", toolCallId: m.tool_calls[0].id, toolName: "read", input: JSON.parse(m.tool_calls[0].function.arguments) }] });
    said.push({ role: "user", content: "And what was in the one before the last?" });
    const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };
    let place, definition;
    const model = new MockLanguageModelV3({
      doGenerate: async ({ prompt, tools }) => {
        definition ??= tools[0];
        place ??= JSON.stringify(prompt).match(/(?:recall|offloaded:) message (\\d+)/)?.[1] ?? "none";
        const last = prompt.at(-1);
        return last.role === "tool"
          ? { content: [{ type: "text", text: last.content[0].output.value }], finishReason: { unified: "stop", raw: "stop" }, usage, warnings: [] }
          : { content: [{ type: "tool-call", toolCallId: "r1", toolName: "recall", input: JSON.stringify({ message: place }) }], finishReason: { unified: "tool-calls", raw: "tool_calls" }, usage, warnings: [] };
      },
    });
    const tools = { recall: recallTool(() => said) };
    const { text } = await generateText({ model, messages: said, tools, prepareStep: fitStep({ window: 16384, policy: offloading, tools }), stopWhen: stepCountIs(3) });

    const old = [new HumanMessage("Where is parcel 12?"), new AIMessage("At gate 4.")];
    const agent = createAgent({ model: new FakeToolCallingModel({ toolCalls: [[{ name: "recall", args: { message: "1" }, id: "r1" }], []] }), tools: [langchainTool(old)], middleware: [createMiddleware(fitModelCalls({ window: 2048 }))] });
    const { messages } = await agent.invoke({ messages: [...old, new HumanMessage("What did I ask first?")] });
    console.log(JSON.stringify({ place, whole: text === said[Number(place) - 1].content[0].output.value, definition, langchain: messages.find((m) => ToolMessage.isInstance(m)).content }));
  `);
  assert.match(got.place, /^\d+$/);
  assert.equal(got.whole, true);
  assert.deepEqual([got.definition.name, got.definition.inputSchema.required], ["recall", ["message"]]);
  assert.equal(got.langchain, "Where is parcel 12?");
});

/** A policy's numbers, of a preset and of one's own, and what is refused. */
test("resolvePolicy says a policy's numbers in tokens", () => {
  const got = run(folder, `
    import { compact, init, resolvePolicy } from "palimpsest";
    await init();
    const code = (use) => { try { return use(); } catch (e) { return e.code; } };
    const balanced = resolvePolicy("balanced", 8192);
    const { report } = compact([{ role: "user", content: "Hello" }], { window: 8192 });
    const own = resolvePolicy({ base: "watermark", keepRecent: { by: "messages", messages: 9 } }, 32768, { reserve: 4096 });
    const again = resolvePolicy(balanced.policy, 8192);
    console.log(JSON.stringify({
      balanced, same: report.limit === balanced.limit, own: [own.recent, own.reserve, own.limit], again: JSON.stringify(again) === JSON.stringify(balanced),
      larger: resolvePolicy("balanced", 8192, { thinking: true }).reserve,
      codes: [code(() => resolvePolicy("balancd", 8192)), code(() => resolvePolicy({ nam: "x" }, 8192)), code(() => resolvePolicy("balanced", 0)), code(() => resolvePolicy("balanced")), code(() => resolvePolicy("balanced", 8192, { resrve: 1 })), code(() => resolvePolicy(undefined, 8192))],
    }));
  `);
  assert.deepEqual([got.balanced.reserve, got.balanced.margin, got.balanced.limit, got.balanced.recent], [1024, 164, 7004, { tokens: 983 }]);
  assert.ok(got.balanced.target < got.balanced.trigger && got.balanced.trigger < got.balanced.limit, JSON.stringify(got.balanced));
  assert.deepEqual(got.balanced.passes.map((p) => p.pass), got.balanced.policy.passes.map((p) => p.pass));
  assert.deepEqual([got.same, got.own, got.again, got.larger], [true, [{ messages: 9 }, 4096, 32768 - 4096 - 656], true, 2048]);
  assert.deepEqual(got.codes, ["unknown_policy", "invalid_policy", "invalid_window", "invalid_window", "invalid_options", "invalid_policy"]);
});

/** Attributes hold numbers, names and codes, and nothing that was said. */
test("telemetryAttributes maps a report without its words", () => {
  const got = run(folder, `
    import { compact, init, telemetryAttributes } from "palimpsest";
    await init();
    ${history}
    history[1].content = "Never tell anybody about the zeppelin.";
    const { report } = compact(history, { window: 8192 });
    const calm = telemetryAttributes(compact(history.slice(0, 2), { window: 8192 }).report);
    const code = (() => { try { telemetryAttributes({}); } catch (e) { return e.code; } })();
    console.log(JSON.stringify({ report, attributes: telemetryAttributes(report), calm, code }));
  `);
  const { report, attributes, calm } = got;
  assert.deepEqual([attributes["gen_ai.conversation.compacted"], calm["gen_ai.conversation.compacted"], calm["palimpsest.compaction.new"], got.code], [true, false, false, "bad_input"]);
  assert.deepEqual([attributes["palimpsest.tokens.before"], attributes["palimpsest.tokens.after"]], [report.before.tokens, report.after.tokens]);
  const passes = Object.entries(attributes).filter(([name]) => name.startsWith("palimpsest.pass.")).reduce((sum, [, tokens]) => sum + tokens, 0);
  assert.equal(passes, report.before.tokens + report.recalledTokens - report.after.tokens);
  for (const [name, value] of Object.entries(attributes)) {
    assert.match(name, /^(gen_ai|palimpsest)\.[a-z_.]+$/);
    assert.ok(["number", "boolean", "string"].includes(typeof value) || (Array.isArray(value) && value.every((v) => typeof v === "string")), name);
  }
  assert.ok(!JSON.stringify(attributes).includes("zeppelin"));
});
