// The helpers for frameworks as a server uses them: many conversations at once, a helper for each request, listeners,
// stores and summarisers that fail. Without the frameworks: the helpers are plain functions.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { install, remove, runAsync } from "./consumer.mjs";

let folder;
before(() => { folder = install(); });
after(() => remove(folder));

/** Runs a script that finds chats in scope. `step(chat)` adds a turn of an agent to one; `grown` says whether a prompt begins with the one before. */
const run = (script) => runAsync(folder, `
  import { compact, compactWith, init } from "palimpsest";
  import { fitMiddleware, fitStep } from "palimpsest/ai-sdk";
  await init();
  const out = {};
  const names = ["harbour", "orchard", "foundry", "glacier", "tannery", "quarry", "lantern", "viaduct"];
  const chat = (n, start) => ({ n, list: [{ role: "user", content: start ?? "Look after place " + n + ", the " + names[n % 8] + ". Never rename a file." }], turn: 0, last: [], broke: 0, turns: 0 });
  function step(c) {
    const t = c.turn++;
    const about = names[(c.n * 5 + t) % 8] + "_" + c.n + "_" + t;
    if (t % 6 === 5) c.list.push({ role: "assistant", content: [{ type: "text", text: "Looked at " + about + "." }] }, { role: "user", content: "And what is in " + about + " of " + c.n + "?" });
    c.list.push({ role: "assistant", content: [{ type: "text", text: "I read " + about + "." }, { type: "tool-call", toolCallId: "c" + c.n + "_" + t, toolName: "read", input: { path: "src/" + about + ".rs" } }] });
    c.list.push({ role: "tool", content: [{ type: "tool-result", toolCallId: "c" + c.n + "_" + t, toolName: "read", output: { type: "text", value: ("pub fn " + about + "(x: u32) -> u32 { x + " + t + " } // row " + t * 31 + "\\n").repeat(12) } }] });
  }
  const grown = (was, now) => was.every((m, i) => JSON.stringify(m) === JSON.stringify(now[i]));
  function seen(c, prompt) { c.turns++; if (!grown(c.last, prompt)) c.broke++; c.last = prompt; }
  ${script}
  console.log(JSON.stringify(out));
`);

/** A helper that serves forty conversations at once does for each what a caller does who keeps its state, and tells of each compaction once. */
for (const [name, options] of [["forty conversations at once", "recall: false"], ["forty conversations at once, with quotes", "recall: true"]]) {
  test(name, async () => {
    const got = await run(`
      const told = [];
      const prepare = fitStep({ window: 8192, ${options}, onCompact: (report) => told.push(report.changed) });
      const chats = Array.from({ length: 40 }, (_, n) => chat(n));
      out.same = 0; out.compactions = 0;
      for (let t = 0; t < 30; t++) await Promise.all(chats.map(async (c) => {
        step(c);
        const { messages } = await prepare({ messages: structuredClone(c.list) });
        seen(c, messages);
        const own = compact(c.list, { window: 8192, ${options}, dialect: "ai-sdk", state: c.state });
        c.state = own.state;
        out.same += JSON.stringify(own.messages) === JSON.stringify(messages);
        out.compactions += own.report.passes.some(({ pass }) => pass !== "earlier" && pass !== "recall");
      }));
      out.turns = chats.reduce((n, c) => n + c.turns, 0);
      out.broke = chats.reduce((n, c) => n + c.broke, 0);
      out.told = told.length;
      out.all = told.every(Boolean);
    `);
    assert.deepEqual([got.turns, got.same, got.all], [1200, 1200, true], JSON.stringify(got));
    assert.ok(got.compactions >= 40, "every conversation was compacted");
    assert.equal(got.told, got.compactions, "one event for each new compaction");
    if (options === "recall: false") {
      assert.ok(got.broke <= got.turns / 10, JSON.stringify(got));
      assert.equal(got.broke, got.told);
    }
  });
}

/** What was said tells two conversations apart that begin alike, also where markers for a provider's cache move along. */
test("conversations that begin alike", async () => {
  const got = await run(`
    const { transformParams } = fitMiddleware({ window: 4096, recall: false });
    const marked = (list) => list.map((m, i) => ({ ...m, content: typeof m.content === "string" ? [{ type: "text", text: m.content }] : m.content, ...(i === list.length - 1 ? { providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } } } : {}) }));
    const bare = (list) => list.map(({ providerOptions, ...m }) => m);
    const chats = [chat(1, "hi"), chat(2, "hi")];
    for (let t = 0; t < 30; t++) for (const c of chats) { step(c); seen(c, bare((await transformParams({ params: { prompt: marked(c.list) } })).prompt)); }
    out.broke = chats.map((c) => c.broke);
    out.alone = [];
    for (const n of [1, 2]) { const one = chat(n, "hi"); const own = fitMiddleware({ window: 4096, recall: false }); for (let t = 0; t < 30; t++) { step(one); seen(one, bare((await own.transformParams({ params: { prompt: marked(one.list) } })).prompt)); } out.alone.push(one.broke); }
  `);
  assert.deepEqual(got.broke, got.alone);
});

/** A route that makes a helper for each request keeps the beginning, with a store and a key. */
test("a helper for every request, with a store", async () => {
  const got = await run(`
    for (const [name, wait] of [["sync", (x) => x], ["async", (x) => new Promise((done) => setTimeout(done, 1, x))]]) {
      const rows = new Map();
      const state = { load: (key) => wait(rows.has(key) ? JSON.parse(rows.get(key)) : null), save: (key, value) => { rows.set(key, JSON.stringify(value)); return wait(undefined); } };
      const told = [];
      const chats = Array.from({ length: 5 }, (_, n) => chat(n));
      for (let t = 0; t < 30; t++) for (const c of chats) {
        step(c);
        const prepare = fitStep({ window: 8192, recall: false, state, key: async (request) => "chat " + request.experimental_context.id, onCompact: (report, { key }) => told.push(key) });
        seen(c, (await prepare({ messages: structuredClone(c.list), experimental_context: { id: c.n } })).messages);
      }
      out[name] = { turns: 150, broke: chats.reduce((n, c) => n + c.broke, 0), told: told.length, keys: [...new Set(told)].sort(), rows: [...rows.keys()].sort(), largest: Math.max(...[...rows.values()].map((r) => r.length)) };
    }
    // the SDK's own way to say whose request it is
    const rows = new Map();
    const { transformParams } = fitMiddleware({ window: 2048, state: { load: (k) => rows.get(k), save: (k, s) => void rows.set(k, s) } });
    const c = chat(1);
    for (let t = 0; t < 12; t++) step(c);
    await transformParams({ params: { prompt: c.list, providerOptions: { palimpsest: { conversation: "c-17" } } } });
    out.own = [...rows.keys()];
  `);
  for (const { turns, broke, told, keys, rows } of [got.sync, got.async]) {
    assert.ok(broke > 5 && broke <= turns / 10, JSON.stringify(got));
    assert.equal(told, broke);
    assert.deepEqual(keys, ["chat 0", "chat 1", "chat 2", "chat 3", "chat 4"]);
    assert.deepEqual(rows, keys);
  }
  assert.deepEqual(got.own, ["c-17"]);
});

/** What fails beside a request is reported with a code and ends nothing. */
test("listeners, stores and summarisers that fail", async () => {
  const got = await run(`
    const fails = () => { throw new Error("away"); };
    const c = chat(3);
    for (let t = 0; t < 30; t++) step(c);
    const cases = {
      listener: { onCompact: fails },
      "listener later": { onCompact: async () => fails() },
      load: { key: () => "k", state: { load: async () => fails(), save() {} } },
      save: { key: () => "k", state: { load() {}, save: async () => fails() } },
      "no state": { key: () => "k", state: { load: () => "{}", save() {} } },
      "a broken state": { key: () => "k", state: { load: () => ({ version: 2 }), save() {} } },
      summarizer: { summarize: fails },
      "no text": { summarize: () => undefined },
    };
    for (const [name, options] of Object.entries(cases)) {
      const problems = [], codes = [];
      const prepare = fitStep({ window: 4096, onProblem: (p) => { problems.push([p.code, p.message.length > 10, String(p.cause ?? "")]); throw new Error("so does this one"); }, onCompact: (r) => codes.push(...r.codes), ...options });
      const { messages } = await prepare({ messages: c.list });
      await new Promise((done) => setTimeout(done, 5));
      out[name] = { fits: messages.length < c.list.length, problems, failed: codes.includes("summarizer_failed") };
    }
    out.thrown = await fitStep({ window: 4096, summarize: fails, onError: "throw" })({ messages: c.list }).catch((e) => e.message);
    const stop = new AbortController();
    const { transformParams } = fitMiddleware({ window: 4096, summarize: (job, signal) => new Promise((_, reject) => { signal.addEventListener("abort", () => reject(signal.reason)); stop.abort("enough"); }) });
    out.stopped = await transformParams({ params: { prompt: c.list, abortSignal: stop.signal } }).catch((e) => e);
  `);
  const code = { listener: "listener_failed", "listener later": "listener_failed", load: "state_not_loaded", save: "state_not_saved", "no state": "state_not_loaded", "a broken state": "state_not_loaded", summarizer: "summarizer_failed", "no text": "summarizer_failed" };
  for (const [name, expected] of Object.entries(code)) {
    const { fits, problems, failed } = got[name];
    assert.ok(fits, name);
    assert.deepEqual([problems.length, problems[0]?.[0], problems[0]?.[1]], [1, expected, true], `${name}: ${JSON.stringify(problems)}`);
    assert.equal(failed, expected === "summarizer_failed", name);
  }
  assert.deepEqual([got.thrown, got.stopped], ["away", "enough"]);
});

/** Options that cannot be meant are refused when the helper is made, or with the first request that they do not suit. */
test("options of the helpers", async () => {
  const got = await run(`
    const code = (use) => { try { use(); return "none"; } catch (e) { return e.code + ": " + e.message; } };
    const store = { load() {}, save() {} };
    out.refused = [
      code(() => fitStep({ window: 8192, onCompacted() {} })), code(() => fitMiddleware({ window: 8192, tools: [] })), code(() => fitStep({ window: 8192, state: { version: 2 } })),
      code(() => fitStep({ window: 8192, key: "chat" })), code(() => fitStep({ window: 8192, remember: 0 })), code(() => fitStep()),
    ];
    const late = (options) => fitStep({ window: 8192, ...options })({ messages: [{ role: "user", content: "x" }] }).then(() => "none", (e) => e.code + ": " + e.message);
    out.late = [await late({ state: store }), await late({ state: store, key: () => undefined }), await late({ key: () => 7 }), await late({ summarize: () => "x", onError: "extract" }), await late({ summarize: () => "x", parallel: 0 })];
  `);
  for (const message of [...got.refused, ...got.late]) assert.match(message, /^invalid_options: /);
  assert.match(got.refused[0], /onCompacted.*onCompact/);
  assert.match(got.late[0], /key\(request\)/);
});

/** `compactWith` reads the list when it is called, asks for several summaries at once, and supplies each to its own job. */
test("compactWith: a list that goes on, and several summaries at once", async () => {
  const got = await run(`
    const c = chat(4);
    for (let t = 0; t < 200; t++) step(c);
    const whole = [...c.list];
    const wait = (ms) => new Promise((done) => setTimeout(done, ms));
    const asked = [];
    async function measure(parallel) {
      let now = 0, most = 0, calls = 0;
      const done = await compactWith(whole, { window: 4096, ...(parallel ? { parallel } : {}) }, async (job) => {
        most = Math.max(most, ++now);
        asked.push(job.id);
        await wait((job.id * 7) % 13);
        now--; calls++;
        return "Part " + job.part + ": they read files of the place, one after the other, and nothing was wrong in them.";
      });
      return { most, calls, text: JSON.stringify(done.messages) };
    }
    const one = await measure(1), four = await measure(), many = await measure(16);
    out.most = [one.most, four.most, many.most];
    out.calls = [one.calls, four.calls, many.calls];
    out.same = [one.text === four.text, one.text === many.text];
    const list = [...whole];
    const done = await compactWith(list, { window: 4096 }, async () => { list.splice(5, 60); await wait(1); return "They read files."; });
    out.whole = [done.messages.every((m) => m !== undefined), done.messages.at(-1) === whole.at(-1)];
    let calls = 0;
    const away = await compactWith(whole, { window: 4096, parallel: 1 }, () => { calls++; throw new Error("HTTP 503"); });
    out.away = [calls, away.report.codes.includes("summarizer_failed"), away.report.adjustments.at(-1), away.report.codes.length === away.report.adjustments.length];
    out.refuse = await compactWith(whole, { window: 4096, policy: { base: "balanced", onFailure: "refuse" } }, () => { throw new Error("HTTP 503"); }).catch((e) => e.code);
  `);
  assert.deepEqual(got.most, [1, 4, Math.min(16, got.calls[2])]);
  assert.ok(got.calls[0] > 4 && got.calls.every((n) => n === got.calls[0]), JSON.stringify(got.calls));
  assert.deepEqual(got.same, [true, true]);
  assert.deepEqual(got.whole, [true, true]);
  assert.deepEqual([got.away[0], got.away[1], got.away[3]], [2, true, true]);
  assert.match(got.away[2], /HTTP 503/);
  assert.equal(got.refuse, "model_failed");
});
