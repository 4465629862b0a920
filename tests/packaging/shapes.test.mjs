// Lists in the shapes of more providers: OpenAI's Responses items, Gemini's contents, Bedrock's Converse messages. What stays is the
// caller's own, and what comes back is what the provider takes.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { install, remove, run } from "./consumer.mjs";

let folder;
before(() => { folder = install(); });
after(() => remove(folder));

/** An agent's loop of so many steps in each shape. */
const SCENE = `
  import { compact, countTokens, init, validate } from "palimpsest";
  await init();
  const output = (n) => Array.from({ length: 30 }, (_, i) => "line " + i + " of file " + n + ": total = " + (n * 31 + i)).join("\\n");
  const loops = {
    "openai-responses": (steps) => [
      { type: "compaction", id: "cmp_1", encrypted_content: "x".repeat(800) },
      { type: "message", role: "user", content: [{ type: "input_text", text: "Never touch build.rs. Find the fault." }] },
      ...Array.from({ length: steps }, (_, n) => [
        { type: "reasoning", id: "rs_" + n, summary: [], encrypted_content: "g".repeat(200) },
        { type: "function_call", id: "fc_" + n, call_id: "c" + n, name: "read", arguments: JSON.stringify({ path: "src/" + n + ".rs" }), status: "completed" },
        { type: "function_call_output", call_id: "c" + n, output: output(n) },
      ]).flat(),
      { type: "message", role: "user", content: "What did you find?" },
    ],
    gemini: (steps) => [
      { role: "user", parts: [{ text: "Never touch build.rs. Find the fault." }] },
      ...Array.from({ length: steps }, (_, n) => [
        { role: "model", parts: [{ functionCall: { name: "read", args: { path: "src/" + n + ".rs" } }, thoughtSignature: "s" + n }] },
        { role: "user", parts: [{ functionResponse: { name: "read", response: { output: output(n) } } }] },
      ]).flat(),
      { role: "model", parts: [{ text: "I have read it all." }] },
      { role: "user", parts: [{ text: "What did you find?" }] },
    ],
    bedrock: (steps) => [
      { role: "user", content: [{ text: "Never touch build.rs. Find the fault." }] },
      ...Array.from({ length: steps }, (_, n) => [
        { role: "assistant", content: [{ toolUse: { toolUseId: "c" + n, name: "read", input: { path: "src/" + n + ".rs" } } }] },
        { role: "user", content: [{ toolResult: { toolUseId: "c" + n, content: [{ text: output(n) }], status: "success" } }] },
      ]).flat(),
      { role: "assistant", content: [{ text: "I have read it all." }] },
      { role: "user", content: [{ text: "What did you find?" }] },
    ],
  };
  const out = {};
  for (const [dialect, loop] of Object.entries(loops)) {
    const history = loop(60);
    const before = JSON.stringify(history);
    const short = compact(loop(2), { window: 32768 });
    const { messages, report, state } = compact(history, { window: 4096 });
    const again = compact(history, { window: 4096, state });
    const checked = validate(messages);
    const counted = countTokens(messages);
    out[dialect] = {
      detected: validate(history).dialect, problems: [...validate(history).problems, ...checked.problems], same: JSON.stringify(short.messages) === JSON.stringify(loop(2)),
      untouched: JSON.stringify(history) === before, fits: counted.tokens <= 4096, shorter: messages.length < history.length,
      last: JSON.stringify(messages.at(-1)).includes("What did you find?"), rule: JSON.stringify(messages).includes("Never touch build.rs"),
      stable: JSON.stringify(again.messages) === JSON.stringify(messages), compaction: messages.filter((one) => one === history[0]).length,
      // every item of reasoning that is left stands before the call it led to
      led: messages.every((one, n) => one.type !== "reasoning" || messages[n + 1]?.id === "fc_" + one.id.slice(3)),
    };
  }
  out.errors = [{ lc: 1, type: "constructor", id: ["langchain_core", "messages", "HumanMessage"], kwargs: {} }, { info: {}, parts: [] }].map((one) => {
    try { return compact([one], { window: 4096 }); } catch ({ code, message }) { return code + ": " + message; }
  });
  console.log(JSON.stringify(out));`;

/** I2, I3: items, contents and Converse messages are read, shortened and written back as the provider takes them. */
test("Responses items, Gemini contents and Bedrock messages", () => {
  const { errors, ...found } = run(folder, SCENE);
  for (const [dialect, { compaction, ...one }] of Object.entries(found)) {
    const expected = { detected: dialect, problems: [], same: true, untouched: true, fits: true, shorter: true, last: true, rule: true, stable: true, led: true };
    assert.deepEqual(one, expected, dialect);
    if (dialect === "openai-responses") assert.equal(compaction, 1, "the compaction item is kept whole");
  }
  assert.match(errors[0], /^bad_input: .*a HumanMessage of LangChain: give it to fitMessages\(\) of "palimpsest\/langchain"/);
  assert.match(errors[1], /^bad_input: .*found none in an object with info, parts/);
});

/** A system prompt that is a field of the request takes its room of the window, as one in the list does: in `compact`, in a conversation, in a helper. */
test("a system prompt beside the list is counted", () => {
  const got = run(folder, `
    import { compact, Conversation, countTokens, init } from "palimpsest";
    import { fitStep } from "palimpsest/ai-sdk";
    await init();
    const system = "You find faults in programs, and say where they are. ".repeat(80);
    const prompt = countTokens(system).tokens;
    const out = { prompt };
    const rest = Array.from({ length: 120 }, (_, n) => ({ role: n % 2 ? "assistant" : "user", content: \`Parcel \${1000 + n} weighs \${n % 40} kg, goes to gate \${n % 9}, and the driver of lorry \${(n * 7919) % 997} signs for it.\`.repeat(2) }));
    const size = (messages) => messages.filter(({ role }) => role !== "system").reduce((sum, one) => sum + countTokens(typeof one.content === "string" ? one.content : one.content.map(({ text }) => text).join("")).tokens + 4, 0);
    const options = { window: 4096, cache: "none" };
    const inside = compact([{ role: "system", content: system }, ...rest], options);
    const beside = compact(rest, { ...options, system });
    const without = compact(rest, options);
    out.sizes = [inside, beside, without].map(({ messages }) => size(messages));
    out.fits = beside.report.after.tokens <= beside.report.limit && beside.report.after.tokens >= size(beside.messages) + 0.9 * prompt;
    const conversation = new Conversation({ ...options, system });
    conversation.push(...rest);
    const again = Conversation.load(conversation.save());
    out.live = [conversation, again].map((one) => size(one.fit().messages));
    out.step = size((await fitStep({ ...options, system })({ messages: rest })).messages);
    out.wrong = (() => { try { compact(rest, { ...options, system: [system] }); return "done"; } catch (error) { return error.code; } })();
    console.log(JSON.stringify(out));
  `);
  const [inside, beside, without] = got.sizes;
  assert.ok(Math.abs(inside - beside) < 0.1 * inside, JSON.stringify(got));
  assert.ok(without - beside > 0.6 * got.prompt, JSON.stringify(got));
  assert.ok(got.fits && got.live.every((one) => one === beside) && Math.abs(got.step - beside) < 0.1 * beside, JSON.stringify(got));
  assert.equal(got.wrong, "invalid_options");
});
