// Moments at the edges: only the user has spoken, times that make no sense, a summary that is too long.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { install, remove, runAsync } from "./consumer.mjs";

let folder;
before(() => {
  folder = install();
});
after(() => remove(folder));

/** Runs a script that finds what it needs in scope, and gives back what `out` holds at its end. */
const run = (script) => runAsync(folder, `
  import { compact, compactWith, init, openSession, validate } from "palimpsest";
  await init();
  const talk = (n, from = 0) => Array.from({ length: n }, (_, i) => i + from).map((i) => ({ role: i % 2 ? "assistant" : "user", content: \`Message \${i}: parcel \${1000 + i} weighs \${i} kg and goes to gate \${i % 9}, past the neighbour.\` }));
  const failed = (promise) => Promise.resolve(promise).then(() => "done", (e) => (e?.name === "PalimpsestError" ? e.code : String(e)));
  const code = (f) => { try { f(); return "done"; } catch (e) { return e.name === "PalimpsestError" ? e.code : String(e); } };
  const out = {};
  ${script}
  console.log(JSON.stringify(out));
`);

/** F 7: where only the user has spoken, and the user's words are to stay, nothing is compressed, and that is said. */
test("only the user has spoken, and the words are to stay", async () => {
  const got = await run(`
    const said = talk(40).map((m) => ({ ...m, role: "user" }));
    const session = await openSession({ model: "any", window: 2048, policy: { base: "balanced", userWords: "never" } });
    for (const message of said) await session.append([message]);
    out.session = await failed(session.compact());
    out.again = await failed(session.compact());
    out.all = [session.history().length, session.layers().length, session.history().every((item) => item.shown === "verbatim")];
    await session.close();
  `);
  assert.equal(got.session, "nothing_compressible");
  assert.equal(got.again, got.session, "and it is no other answer the second time");
  assert.deepEqual(got.all, [40, 0, true]);
});

/** F 19: times order nothing, whatever they are. */
test("times that are equal, backwards or no times order nothing", async () => {
  const got = await run(`
    const times = [5e12, 0, -1, "yesterday", null, 1e300, 1700000000000, 1700000000000, "2024-02-30T25:61:00Z", 1];
    const list = talk(60).map((m, i) => ({ ...m, createdAt: times[i % times.length] }));
    const session = await openSession({ model: "any", window: 2048 });
    out.appended = await failed(session.append(list));
    const order = () => session.history().map((item) => Number(/Message (\\d+)/.exec(item.parts[0].text)[1]));
    out.ordered = order().every((n, i) => n === i);
    await session.compact();
    out.still = order().every((n, i) => n === i);
    const covers = session.layers().flatMap((l) => l.covers);
    out.covers = covers.every((span) => span.from <= span.to);
    await session.close();
    const { messages, report } = compact(list, { window: 2048 });
    const kept = messages.map((m) => /^Message (\\d+)/.exec(m.content)?.[1]).filter(Boolean).map(Number);
    out.list = [report.changed, kept.length > 3, kept.every((n, i) => i === 0 || n > kept[i - 1]), validate(messages).ok];
  `);
  assert.deepEqual([got.appended, got.ordered, got.still, got.covers], ["done", true, true, true]);
  assert.deepEqual(got.list, [true, true, true, true]);
});

/** F 51: a summary over its target, a little or far, never leaves a window over its limit, nor one that no provider takes. */
test("a summary over its target leaves no window over its limit", async () => {
  const got = await run(`
    const list = talk(400);
    for (const [name, times] of [["a little", 1.3], ["far", 12]]) {
      const { messages, report } = await compactWith(list, { window: 8192 }, (job) => {
        const said = [...job.prompt.matchAll(/"text":"([^"]+)"/g)].map(([, text]) => "- " + text);
        return said.slice(0, Math.ceil((job.targetTokens * times) / 24)).join("\\n");
      });
      out[name] = [report.changed, report.after.tokens <= report.limit, validate(messages).ok];
    }
  `);
  for (const name of ["a little", "far"]) assert.deepEqual(got[name], [true, true, true], name);
});

/** F51: a summary a little over its target is taken as it is, and its words stand in the window; one far over it is asked for again, shorter,
 * and the words of that answer stand there. */
test("a summary far over its target is asked for again", async () => {
  const got = await run(`
    // talk without facts: of such no summary keeps fewer than another
    const said = ["We looked at the garden and the wall again this morning", "The kitchen door moves a little when the wind blows", "Nobody has been in the cellar for a long while now", "I would paint the gate before the fence gets its turn", "The meadow by the river is wet after all of that rain"];
    const ends = ["as before", "as ever", "or so it seems", "and that is well", "by and by"];
    const list = Array.from({ length: 400 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: Array.from({ length: 5 }, (_, k) => said[(i + k) % 5] + " " + ends[(i * 3 + k) % 5] + ".").join(" ") }));
    for (const [name, times] of [["a little", 1.15], ["far", 4]]) {
      const asked = [];
      const { report, messages } = await compactWith(list, { window: 8192 }, (job) => {
        asked.push(job.attempt);
        const first = "- In answer " + ["one", "two"][job.attempt - 1] + " the house was walked through slowly." + String.fromCharCode(10);
        const letters = job.targetTokens * 4 * (job.attempt === 1 ? times : 0.7);
        const lines = [...job.prompt.matchAll(/"text":"([^"]+)"/g)].flatMap(([, text]) => text.split(/(?<=[.]) /));
        return lines.reduce((text, line) => (text.length + line.length > letters ? text : text + "- " + line + String.fromCharCode(10)), first);
      });
      const words = messages.map((m) => m.content).join(" ");
      const stand = ["one", "two"].filter((answer) => words.includes("In answer " + answer + " the house was walked through slowly."));
      out[name] = [asked.includes(1), asked.includes(2), stand, report.codes, report.after.tokens <= report.limit];
    }
  `);
  // the smallest of the four parts is taken also four times over its target: with it everything still fits
  assert.deepEqual(got, { "a little": [true, false, ["one"], [], true], far: [true, true, ["one", "two"], [], true] });
});

/** F 41 to F 48: a model's size is read from its name, as the figure of trust shows before anything was compacted. */
test("a model's size is read from its name, or is unknown", async () => {
  // the expected quality of summaries: of less than 7, 7, 13, 30 and 70 billion parameters
  const [tiny, small, medium, large, huge] = [0.3, 0.5, 0.7, 0.85, 0.95];
  const names = {
    "nothing in the name": { llama3: null, "gpt-4o": null, "mistral:latest": null },
    "mixtures count with all of their experts": { "mixtral:8x7b": large, "mixtral:8x22b-instruct-v0.1-q4_K_M": huge, "llama4:16x17b": huge, "some-merge-4x3b": small },
    fractions: { "qwen2.5:1.5b": tiny, "solar:10.7b-instruct-v1-q4_K_M": small, "bigscience/bloom-7b1": small },
    millions: { "smollm:360m": tiny, "135m": tiny, "gemma3:270m": tiny },
    "effective and active sizes": { "gemma3n:e4b": tiny, "qwen3:30b-a3b": large, "hf.co/unsloth/Qwen3-235B-A22B-GGUF": huge },
    "bits are no billions": { "mlx-4bit-llama-70b": huge, "model-128bit": null, "llama-4bit": null },
    "absurd, negative, full-width, and in capitals": { "999999999999b": null, "-7b": null, "７b": null, "model:0b": null, "model-1e3b": null, "7B": small, "LLAMA3:13B": medium },
    "paths of registries": { "hf.co/org/Model-7B-GGUF:Q4_K_M": small, "hf.co/big-70b-lab/Model-3B": tiny, "/models/13b/ggml-model.bin": medium, "localhost:5000/org/model:7b": small, "llama3:8b@sha256:0123456789b": small },
  };
  const got = await run(`
    for (const [kind, names] of Object.entries(${JSON.stringify(names)})) {
      out[kind] = {};
      for (const model of Object.keys(names)) {
        const session = await openSession({ model });
        const { score, percent, level } = session.reliability();
        out[kind][model] = score;
        if (percent !== 100 || level !== "high") out[kind][model] = "trusted by " + percent;
        await session.close();
      }
    }
  `);
  assert.deepEqual(got, names);
});

/** F 16, F 17: within a list the same message twice is one, and another one under its id gets an id of its own; both are said. */
test("messages of a list have ids of their own", async () => {
  const got = await run(`
    const m = (id, role, text) => ({ id, role, parts: [{ type: "text", text }] });
    const found = validate([m("1", "user", "a"), m("1", "user", "a"), m("1", "assistant", "b"), m("2", "user", "c")]);
    out.ok = found.ok;
    out.codes = found.problems.map((problem) => problem.code);
    out.ids = found.repaired.map((message) => message.id);
    out.texts = found.repaired.map((message) => message.parts[0].text);
    out.again = validate(found.repaired).ok;
  `);
  assert.equal(got.ok, false);
  assert.equal(got.codes.filter((code) => code === "duplicate_message_id").length, 2);
  assert.deepEqual(got.texts, ["a", "b", "c"]);
  assert.equal(new Set(got.ids).size, 3, got.ids.join());
  assert.equal(got.ids[0], "1");
  assert.ok(got.again);
});

/** F16: a frontend's list that holds a message twice under one id is stored with it once, by each way into a session. */
test("a message that stands twice in a list is stored once", async () => {
  const got = await run(`
    const m = (id, role, text) => ({ id, role, parts: [{ type: "text", text }] });
    const twice = [m("1", "user", "Which gate?"), m("1", "user", "Which gate?"), m("2", "assistant", "Gate 7."), m("2", "assistant", "Gate 7."), m("3", "assistant", "Gate 7.")];
    for (const way of ["append", "sync"]) {
      const session = await openSession({ model: "mine", window: 4096 });
      await session[way](twice);
      out[way] = session.history().map(({ parts }) => parts[0].text);
      await session.close();
    }
  `);
  const once = ["Which gate?", "Gate 7.", "Gate 7."];
  assert.deepEqual(got, { append: once, sync: once });
});
