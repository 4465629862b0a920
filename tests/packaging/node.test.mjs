// The tarball in Node, as a program that imports it.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { install, remove, run } from "./consumer.mjs";

let folder;
before(() => { folder = install([], ["inline"]); });
after(() => remove(folder));

const history = `Array.from({ length: 80 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: \`Message \${i}: parcel \${1000 + i} weighs \${i} kg and goes to gate \${i % 9}, never to the neighbour.\`, mark: i }))`;

/** I10: misuse before `init` names the cure; concurrent and repeated calls are one start. */
test("init is explicit and idempotent", () => {
  const got = run(folder, `
    import { compact, init, version } from "palimpsest";
    const out = {};
    try { compact([], { window: 100 }); } catch (e) { out.before = [e.name, e.code, e.retryable, e instanceof Error, e.message]; }
    const [a, b] = [init(), init()];
    out.same = a === b;
    await Promise.all([a, b, init()]);
    await init("http://nowhere.invalid/");
    out.version = version();
    console.log(JSON.stringify(out));
  `);
  const manifest = JSON.parse(fs.readFileSync(path.join(folder, "node_modules/palimpsest/package.json"), "utf8"));
  assert.deepEqual(got, {
    before: ["PalimpsestError", "not_initialized", false, true, "compact() was called before palimpsest was ready. Call `await init()` once before it."],
    same: true,
    version: manifest.version,
  });
});

/** A page instead of the module, bytes that are none, an address that is not there: each says so, and init works after. */
test("init says what is wrong with a source, and can be tried again", () => {
  const got = run(folder, `
    import { readFile } from "node:fs/promises";
    import { createServer } from "node:http";
    import { init, version } from "palimpsest";
    const out = [];
    const server = createServer((q, r) => q.url === "/html" ? r.end("<!doctype html><p>app") : r.writeHead(404).end()).listen(0, "127.0.0.1");
    await new Promise((r) => server.once("listening", r));
    const at = "http://127.0.0.1:" + server.address().port;
    for (const source of [at + "/html", at + "/none", new TextEncoder().encode("hello"), new Uint8Array([0, 97, 115, 109, 9]), new Response("<html>"), "http://127.0.0.1:9/"]) {
      await init(source).catch((e) => out.push(e.code + ": " + e.message.replace(at, "")));
    }
    server.close();
    await init(await readFile(new URL(import.meta.resolve("palimpsest/palimpsest.wasm"))));
    console.log(JSON.stringify({ out, ready: version().length > 0 }));
  `);
  assert.ok(got.ready);
  assert.equal(got.out.length, 6);
  assert.ok(got.out.every((line) => line.startsWith("load_failed: ")), got.out.join("\n"));
  assert.match(got.out[0], /HTML page instead of the wasm module.*optimizeDeps.*palimpsest\.wasm\?url/s);
  assert.match(got.out[1], /\/none answered 404/);
  assert.match(got.out[2], /These 5 bytes are not a wasm module/);
  assert.match(got.out[3], /could not be started/);
  assert.match(got.out[5], /could not be fetched from http:\/\/127\.0\.0\.1:9\//);
});

/** I2, P9: the result fits, kept messages are the very objects, and the state keeps the layers as they are. */
test("compact keeps what fits, and the caller's own objects", () => {
  const got = run(folder, `
    import { compact, countTokens, init, validate } from "palimpsest";
    await init();
    const history = ${history};
    const one = compact(history, { window: 1024, maxTokens: 700 });
    const again = compact(history, { window: 1024, maxTokens: 700 });
    const own = one.messages.filter((m) => history.includes(m));
    history.push({ role: "assistant", content: "Noted." }, { role: "user", content: "And gate 4?" });
    const two = compact(history, { window: 1024, state: JSON.parse(JSON.stringify(one.state)) });
    console.log(JSON.stringify({
      same: JSON.stringify(one) === JSON.stringify(again),
      own: own.length, marks: own.every((m) => Number.isInteger(m.mark)), last: one.messages.at(-1).mark,
      fits: countTokens(one.messages).tokens <= one.report.limit, changed: one.report.changed,
      valid: validate(one.messages).ok,
      first: one.messages[0].content === two.messages[0].content, grown: two.messages.length - one.messages.length,
      layers: one.report.layers, covered: one.report.covered,
    }));
  `);
  assert.equal(got.same, true);
  assert.ok(got.own >= 4 && got.marks, `${got.own} messages of the caller's own`);
  assert.equal(got.last, 79);
  assert.deepEqual([got.fits, got.changed, got.valid], [true, true, true]);
  assert.deepEqual([got.first, got.grown], [true, 2], "the layers stay, the new messages follow");
  assert.ok(got.layers >= 1 && got.covered[0].from === 0, JSON.stringify(got.covered));
});

/** I2: the list that came back may take the place of the whole one: handed back as it is it comes back as it is, and a
 * conversation that only ever keeps what came back fits, is valid and keeps its layers. */
test("what compact gave can be handed back", () => {
  const got = run(folder, `
    import { compact, init, validate } from "palimpsest";
    await init();
    const ask = (n) => ({ role: "user", content: \`Look at src/part_\${n}.rs and say what it does.\`, id: n });
    const said = (n) => ({ role: "assistant", content: \`src/part_\${n}.rs defines part_\${n}, which returns \${n}. Nothing else uses it yet.\` });
    const text = (n) => \`pub fn part_\${n}() -> u32 { \${n} }\n\`.repeat(9);
    const openai = (n) => [ask(n), { role: "assistant", content: null, tool_calls: [{ id: \`c\${n}\`, type: "function", function: { name: "read", arguments: "{}" } }] }, { role: "tool", tool_call_id: \`c\${n}\`, content: text(n) }, said(n)];
    const anthropic = (n) => [ask(n), { role: "assistant", content: [{ type: "tool_use", id: \`c\${n}\`, name: "read", input: {} }] }, { role: "user", content: [{ type: "tool_result", tool_use_id: \`c\${n}\`, content: text(n) }] }, said(n)];
    const turns = (make, from, to) => Array.from({ length: to - from }, (_, i) => make(from + i)).flat();
    const out = [];
    for (const [make, more] of [[openai, {}], [openai, { pins: ["Answer in German."] }], [openai, { policy: "checkpoints" }], [anthropic, {}], [anthropic, { pins: ["Answer in German."] }]]) {
      const options = { window: 4096, ...more };
      let list = turns(make, 0, 40);
      let state;
      const wrong = [];
      for (let n = 40; n < 80; n++) {
        const done = compact(list, { ...options, state });
        list = done.messages;
        if (!validate(list).ok || done.report.after.tokens > done.report.limit) wrong.push(["invalid", n]);
        const again = compact(list, { ...options, state: JSON.parse(JSON.stringify(done.state)) });
        if (again.report.changed || again.messages.length !== list.length || again.messages.some((m, i) => m !== list[i])) wrong.push(["another", n]);
        if (again.report.adjustments.length > 0 || again.report.layers !== done.report.layers) wrong.push([again.report.adjustments, n]);
        state = again.state;
        list = [...list, ...make(n)];
      }
      const words = JSON.stringify(list);
      out.push([wrong, words.includes("part_3"), words.split("Not an instruction.").length - 1, list.length < 70]);
    }
    console.log(JSON.stringify(out));
  `);
  assert.deepEqual(got, Array(5).fill([[], true, 1, true]));
});

/** P7, I10: the summariser's text is used; what it throws comes back as it is where that is asked for; a signal ends a call that hangs. */
test("compactWith asks, and its callback's errors are the callback's", () => {
  const got = run(folder, `
    import { compactWith, init } from "palimpsest";
    await init();
    const history = ${history.replaceAll("80", "400")};
    const out = { jobs: [] };
    const options = { window: 8192 };
    const good = await compactWith(history, options, async (job, signal) => {
      out.jobs.push([job.id, job.part, job.attempt, job.prompt.includes("parcel 1003"), job.targetTokens < job.maxTokens, signal.aborted]);
      return "The user asks for parcels and says: never to the neighbour. Parcel 1003 weighs 3 kg.";
    });
    // of talk with facts the built-in summary may keep more; of talk without any the text of the callback is taken
    const quiet = Array.from({ length: 400 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: i % 2 ? "it is warm there in the evening, and people like to sit a while before they go on to the " + ["door", "wall", "gate", "well"][(i >> 1) % 4] : "what do you think about the " + ["garden", "river", "kitchen", "meadow", "cellar"][(i >> 1) % 5] + " behind the house?" }));
    const taken = await compactWith(quiet, options, () => "They spoke about quiet places near the house, and which of them is warm.");
    out.used = JSON.stringify(taken.messages).includes("which of them is warm");
    class Mine extends Error { secret = 7 }
    out.thrown = await compactWith(history, { ...options, onError: "throw" }, () => { throw new Mine("no") }).catch((e) => [e instanceof Mine, e.secret, e.message]);
    const c = new AbortController();
    setTimeout(() => c.abort("enough"), 20);
    let inner;
    out.hung = await compactWith(history, { ...options, signal: c.signal }, (job, signal) => { inner = signal; return new Promise(() => {}); }).catch((e) => e);
    out.told = inner.aborted;
    out.early = await compactWith(history, { ...options, signal: AbortSignal.abort("before") }, () => "x").catch((e) => e);
    const nonsense = await compactWith(history, options, () => 42);
    out.nonsense = nonsense.report.changed && !JSON.stringify(nonsense.messages).includes("42,");
    console.log(JSON.stringify(out));
  `);
  assert.ok(got.jobs.length >= 1);
  assert.deepEqual(got.jobs[0].slice(1), [1, 1, true, true, false]);
  assert.equal(got.used, true);
  assert.deepEqual(got.thrown, [true, 7, "no"]);
  assert.deepEqual([got.hung, got.told, got.early], ["enough", true, "before"]);
  assert.equal(got.nonsense, true);
});

/** 16.5, P9: what the user demanded and what is pinned leave a window that is too small for them, the report says so, and a larger window
 * shows them again. */
test("records yield before a list is refused", () => {
  const got = run(folder, `
    import { compact, init } from "palimpsest";
    await init();
    const rules = ["Never open port 22 on the gateway.", "Never open port 80 on the gateway.", "Always answer in short sentences."];
    const list = [{ role: "system", content: "You help." }];
    for (const rule of rules) list.push({ role: "user", content: rule }, { role: "assistant", content: "I will keep to that from now on." });
    list.push({ role: "user", content: "Which hall is it?" });
    const text = (out) => JSON.stringify(out.messages);
    const small = compact(list, { window: 80, pins: ["The door code of hall nine is 4711, and the key hangs behind the blue kiln."] });
    const wide = compact(list, { window: 320, state: JSON.parse(JSON.stringify(small.state)) });
    console.log(JSON.stringify({
      small: text(small), codes: small.report.codes, fits: small.report.after.tokens <= small.report.limit,
      demands: small.report.demands.map((d) => d.text), wide: rules.filter((rule) => text(wide).includes(rule)), rules,
    }));
  `);
  assert.ok(got.codes.includes("left_out_records") && got.fits, got.small);
  assert.match(got.small, /Which hall is it\?/);
  assert.deepEqual(got.demands, got.rules);
  assert.deepEqual(got.wide, got.rules);
});

/** I10, F 18, 21, 33, 34: every bad input is an error with a code, and changes nothing. */
test("bad input is a typed error", () => {
  const got = run(folder, `
    import { compact, countTokens, init, validate } from "palimpsest";
    await init();
    const code = (f) => { try { return f(); } catch (e) { return e.name === "PalimpsestError" ? e.code : String(e); } };
    const cyclic = [{ role: "user" }]; cyclic[0].self = cyclic;
    const hi = [{ role: "user", content: "hi" }];
    const evil = JSON.parse('[{"role":"user","content":"hi","__proto__":{"polluted":1},"constructor":{"x":2}}]');
    const back = compact(evil, { window: 1000 }).messages[0];
    const lone = compact([{ role: "user", content: "a\\ud800b" }], { window: 1000 });
    const deep = {}; let d = deep; for (let i = 0; i < 5000; i++) d = d.a = {};
    console.log(JSON.stringify({
      codes: [
        code(() => compact(cyclic, { window: 1000 })), code(() => compact("x", { window: 1000 })), code(() => compact([7], { window: 1000 })),
        code(() => compact([{ role: "user", content: 1n }], { window: 1000 })), code(() => compact([deep], { window: 1000 })),
        ...[0, -1, NaN, Infinity, 1.5, "8192", 2 ** 32, null, undefined].map((window) => code(() => compact(hi, { window }))),
        code(() => compact(hi, { window: 1000, policy: "no" })), code(() => compact(hi, { window: 1000, policy: { nam: "x" } })),
        code(() => compact(hi, { window: 1000, maxToken: 5 })), code(() => compact(hi)), code(() => compact(hi, { window: 1000, state: { a: 1 } })),
        code(() => compact(hi, { window: 1000, dialect: "klingon" })), code(() => compact(hi, { window: 1000, pins: [""] })),
        code(() => compact([{ role: "user", content: "word ".repeat(5000) }], { window: 300 })), code(() => countTokens({})), code(() => validate(null)),
      ],
      polluted: [{}.polluted, back === evil[0], Object.keys(back).length],
      lone: lone.messages[0].content, count: countTokens("a\\ud800b").tokens === countTokens("a\\ufffdb").tokens,
      details: (() => { try { compact([{ role: "system", content: "word ".repeat(500) }, ...hi], { window: 300 }); } catch (e) { return [e.details.limit > 0, e.details.floor > e.details.limit]; } })(),
      nearest: (() => { try { compact(hi, { window: 1000, maxToken: 5 }); } catch (e) { return e.message; } })(),
    }));
  `);
  const window = Array(9).fill("invalid_window");
  assert.deepEqual(got.codes, [
    "bad_input", "bad_input", "bad_input", "bad_input", "bad_input", ...window.slice(0, 8), "invalid_options",
    "unknown_policy", "invalid_policy", "invalid_options", "invalid_options", "invalid_options", "bad_input", "empty_record",
    "cannot_fit", "bad_input", "bad_input",
  ]);
  assert.deepEqual(got.polluted, [null, true, 4]);
  assert.equal(got.lone, "a\ud800b", "an untouched message is the caller's own");
  assert.equal(got.count, true);
  assert.deepEqual(got.details, [true, true]);
  assert.equal(got.nearest, 'There is no option "maxToken". Did you mean "maxTokens"?');
});

/** F 4: ten megabytes in one message are read, counted and made to fit. */
test("a message of 10 MB does not stop it", () => {
  const got = run(folder, `
    import { compact, init } from "palimpsest";
    await init();
    const log = "2024-05-01 12:00:00 INFO request 4711 took 12 ms\\n".repeat(205_000);
    const history = [{ role: "user", content: "read the log" }, { role: "assistant", content: null, tool_calls: [{ id: "a", type: "function", function: { name: "read", arguments: "{}" } }] }, { role: "tool", tool_call_id: "a", content: log }, { role: "user", content: "what does it say?" }];
    const start = performance.now();
    const { messages, report } = compact(history, { window: 8192 });
    console.log(JSON.stringify({ bytes: log.length, fits: report.after.tokens <= report.limit, left: JSON.stringify(messages).length, ms: performance.now() - start }));
  `);
  assert.ok(got.bytes > 10e6 && got.fits && got.left < 60_000, JSON.stringify(got));
});

/** Bytes and addresses, as the AI SDK has them in messages, survive on messages that are kept. */
test("bytes in messages come back as they are", () => {
  const got = run(folder, `
    import { compact, init, validate } from "palimpsest";
    await init();
    const image = new Uint8Array([1, 2, 3]);
    const url = new URL("https://example.org/a.png");
    const history = [{ role: "user", content: [{ type: "text", text: "look" }, { type: "image", image, mediaType: "image/png" }, { type: "image", image: url }] }];
    const { messages } = compact(history, { window: 4096, pins: ["Be kind."] });
    console.log(JSON.stringify([messages.length, messages[1] === history[0], messages[1].content[1].image === image, messages[1].content[2].image === url, validate(history).dialect]));
  `);
  assert.deepEqual(got, [2, true, true, true, "ai-sdk"]);
});

/** What reads transcripts, replays and learns from counts is a part, which is loaded by the first call. Lists need none. */
test("parts are loaded when something needs them", () => {
  const out = run(folder, `
    import { readFileSync } from "node:fs";
    import { createRequire } from "node:module";
    import * as slim from "palimpsest/slim";
    const require = createRequire(import.meta.url);
    const bytes = (name) => readFileSync(require.resolve("palimpsest/" + name + ".wasm"));
    const list = Array.from({ length: 60 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: "Parcel " + i + " goes to gate " + (i % 7) + "." }));
    const early = await slim.replay(list, { window: 1024 }).catch((e) => e.code);
    await slim.init(bytes("palimpsest"));
    const { messages } = slim.compact(list, { window: 1024 });
    const calls = {
      replay: () => slim.replay(list, { window: 1024, policies: ["balanced"] }),
      forgotten: () => slim.forgotten(list, messages),
      readConversations: () => slim.readConversations(JSON.stringify({ messages: list })),
      start: () => slim.Calibration.start("any"),
    };
    const refused = {};
    for (const [name, call] of Object.entries(calls)) refused[name] = await call().then(() => "nothing", ({ code, message }) => code + " " + /file "([^"]*)"/.exec(message)?.[1]);
    // named later, they are there
    await slim.init(bytes("palimpsest"), { replay: bytes("replay"), transcripts: bytes("transcripts"), tokenizer: bytes("tokenizer"), shared: bytes("shared") });
    const [{ policies }, { said }, [first], calibration] = await Promise.all(Object.values(calls).map((call) => call()));
    // what is given is taken as it is, not as it is when the part is there
    const mutable = list.slice();
    const before = slim.forgotten(mutable, messages);
    mutable.length = 1;
    console.log(JSON.stringify({ early, refused, there: [policies.length, said >= 20, first.messages.length, calibration.observe(list, 900)], same: (await before).said === said }));
  `);
  assert.equal(out.early, "not_initialized");
  assert.deepEqual(out.refused, {
    replay: "load_failed replay",
    forgotten: "load_failed transcripts",
    readConversations: "load_failed transcripts",
    start: "load_failed session-tokenizer",
  });
  assert.deepEqual(out.there, [1, true, 60, "learned"]);
  assert.equal(out.same, true);
});

/** The inline entry fetches nothing, the slim one brings nothing, and all entries share one module. */
test("inline and slim", () => {
  const got = run(folder, `
    globalThis.fetch = () => { throw new Error("fetched"); };
    const slim = await import("palimpsest/slim");
    const out = [await slim.init().catch((e) => e.code)];
    const inline = await import("palimpsest-inline");
    await inline.init();
    out.push(slim.countTokens("hello world").tokens === inline.countTokens("hello world").tokens, slim.compact === inline.compact);
    console.log(JSON.stringify(out));
  `);
  assert.deepEqual(got, ["load_failed", true, true]);
});

/** No memory grows: tokenizers that are freed, and calls that fail, leave nothing behind. */
test("memory does not grow over 10,000 calls", () => {
  const got = run(folder, `
    import { compact, init, Tokenizer, validate } from "palimpsest";
    let memory;
    const original = WebAssembly.instantiate;
    WebAssembly.instantiate = async (...args) => { const made = await original(...args); const { exports } = made.instance ?? made; if (exports.compaction_step) memory = exports.memory; return made; };
    await init();
    const history = ${history.replaceAll("80", "30")};
    const round = () => {
      using t = Tokenizer.estimate("llama3.2:3b");
      t.count("some text"); t.free();
      validate([{ role: "user", content: "" }]);
      try { compact([5], { window: 1000 }); } catch {}
    };
    for (let i = 0; i < 500; i++) { round(); compact(history, { window: 512 }); }
    const before = memory.buffer.byteLength;
    for (let i = 0; i < 10_000; i++) round();
    for (let i = 0; i < 500; i++) compact(history, { window: 512 });
    let freed;
    const t = Tokenizer.estimate(); t.free(); t[Symbol.dispose]();
    try { t.count("x"); } catch (e) { freed = e.code; }
    console.log(JSON.stringify({ grown: memory.buffer.byteLength - before, freed }));
  `.replace("using t", "const t"));
  assert.deepEqual(got, { grown: 0, freed: "closed" });
});
