// What a program reaches of its sessions beside talking: how a reply is asked for, the parts of the system message, the log, large
// results, branches, copies and backups. Through the packed package, in Node.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { startFake } from "../ollama/fake.mjs";
import { defaultModels } from "../ollama/fake/models.mjs";
import { install, remove, root, runAsync } from "./consumer.mjs";

let folder;
before(() => {
  folder = install();
  fs.copyFileSync(path.join(root, "crates/palimpsest-browser/testing/storage.js"), path.join(folder, "storage.js"));
});
after(() => remove(folder));

/** Runs a script that finds what it needs in scope, and gives back what `out` holds at its end. */
const run = (script) => runAsync(folder, `
  import { ollama, openai, openLibrary, openSession } from "palimpsest";
  import { memoryStorage } from "./storage.js";
  const talk = (n, from = 0) => Array.from({ length: n }, (_, i) => i + from).map((i) => ({ role: i % 2 ? "assistant" : "user", content: \`Message \${i}: parcel \${1000 + i} weighs \${i} kg and goes to gate \${i % 9}, past the neighbour.\` }));
  const failed = (promise) => Promise.resolve(promise).then(() => "done", (e) => (e?.name === "PalimpsestError" ? e.code + ": " + e.message : String(e)));
  const out = {};
  ${script}
  console.log(JSON.stringify(out));
`);

/** What a client can say of a reply reaches the server in its words; what no reply can be given with is refused, and nothing is stored. */
test("a reply is asked for with everything that a client expects", async () => {
  const fake = await startFake({ replies: Array(4).fill("Yes.") });
  try {
    const got = await run(`
      const url = ${JSON.stringify(fake.url)};
      const how = { maxTokens: 40, temperature: 0.2, topP: 0.9, minP: 0.05, repeatPenalty: 1.1, seed: 7, stop: ["END"], format: { type: "object", properties: { n: { type: "integer" } } } };
      const session = await openSession({ model: "llama3.2:3b", window: 4096, llm: ollama({ url }), settings: { sampling: { minP: 0.1, seed: 3 } } });
      await session.send("One?", how).reply();
      await session.send("Two?").reply();
      const stored = session.info.messages;
      out.wrong = [];
      for (const options of [{ maxTokens: 99999 }, { maxTokens: 0 }, { maxTokns: 40 }, { stop: [""] }, { format: 7 }, { temperature: 3 }, { minP: 2 }, { maxTokens: "many" }]) {
        out.wrong.push(await failed(session.send("x", options).reply()));
      }
      out.options = [
        await failed(session.append("x", { dialct: "openai" })), await failed(session.undo({ ifover: "show" })), await failed(session.setModel({ windw: 1 })),
        await failed(session.compact({ focs: "x" })), await failed(Promise.resolve().then(() => session.history({ limt: 1 }))), await failed(session.rest({ x: 1 })),
      ];
      out.kept = session.info.messages === stored;
      await session.close();
      const other = await openSession({ model: "llama3.2:3b", window: 4096, llm: openai({ url: url + "/v1" }) });
      await other.send("Three?", how).reply();
      await other.close();
      const asked = [];
      const mine = await openSession({ model: "m", window: 4096, llm: { chat: (request) => { asked.push(request); return "Fine."; } } });
      await mine.send("Four?", how).reply();
      const { maxTokens, temperature, topP, minP, repeatPenalty, seed, stop, format } = asked[0];
      out.mine = { maxTokens, temperature, topP, minP, repeatPenalty, seed, stop, format };
      out.how = how;
      await mine.close();
    `);
    const sent = fake.requests.filter((r) => r.method === "POST" && /chat/.test(r.path)).map((r) => JSON.parse(r.body));
    const { options, format } = sent[0];
    assert.deepEqual(
      [options.num_predict, options.temperature, options.top_p, options.min_p, options.repeat_penalty, options.seed, options.stop],
      [40, 0.2, 0.9, 0.05, 1.1, 7, ["END"]],
    );
    assert.equal(format.properties.n.type, "integer");
    assert.deepEqual([sent[1].options.min_p, sent[1].options.seed, sent[1].options.stop, sent[1].format], [0.1, 3, undefined, undefined]);
    assert.deepEqual([sent[2].max_tokens, sent[2].min_p, sent[2].repeat_penalty, sent[2].response_format.json_schema.schema.type], [40, 0.05, 1.1, "object"]);
    assert.deepEqual(got.mine, { ...got.how });
    const codes = got.wrong.map((line) => line.split(":")[0]);
    assert.deepEqual(codes, ["invalid_setting", "invalid_setting", "invalid_options", "invalid_setting", "invalid_setting", "invalid_setting", "invalid_setting", "invalid_options"]);
    assert.match(got.wrong[0], /reserve/);
    assert.match(got.wrong[2], /Did you mean "maxTokens"/);
    assert.ok(got.options.every((line) => line.startsWith("invalid_options: There is no option")), JSON.stringify(got.options));
    assert.ok(got.kept, "nothing is stored");
  } finally {
    await fake.close();
  }
});

/** G8: title, kind of work, mandates, checks and skills are set by a program, and stand in the window or not as it says. */
test("the system message by its parts", async () => {
  const got = await run(`
    const store = memoryStorage();
    const session = await openSession({ id: "s", model: "any", window: 4096, store, system: "Sort parcels." });
    const heard = [];
    session.on("skills-changed", ({ activated, deactivated }) => heard.push([activated, deactivated]));
    await session.rename("Parcels");
    await session.setMode("debugger");
    await session.prompt.set({ mandates: "Never guess.", checks: "Count twice.", skills: [{ name: "customs", text: "Ask for the form." }, { name: "cold", text: "Keep it frozen." }] });
    await session.append("Go.");
    const system = () => session.window().messages[0].content;
    out.before = system();
    out.on = await session.prompt.activate("c*s");
    out.with = system();
    const now = session.prompt.current();
    out.parts = [now.base, now.mandates, now.checks, now.skills.map((s) => [s.name, s.active ?? false]), now.built.tokens > 0, now.built.warnings.length];
    out.off = await session.prompt.deactivate("*");
    out.after = system() === out.before;
    out.heard = heard;
    out.info = [session.info.title, session.info.mode];
    await session.close();
    const again = await openSession({ id: "s", model: "any", store });
    out.again = [again.info.title, again.info.mode, again.prompt.current().mandates];
    await again.close();
  `);
  assert.match(got.before, /Sort parcels\.[\s\S]*Never guess\.[\s\S]*Count twice\./);
  assert.doesNotMatch(got.before, /form|frozen/);
  assert.deepEqual(got.on, ["customs"]);
  assert.match(got.with, /Ask for the form\./);
  assert.deepEqual(got.parts, ["Sort parcels.", "Never guess.", "Count twice.", [["customs", true], ["cold", false]], true, 0]);
  assert.deepEqual(got.off, ["customs"]);
  assert.ok(got.after);
  assert.deepEqual(got.heard, [[["customs"], []], [[], ["customs"]]]);
  assert.deepEqual(got.info, ["Parcels", "debugger"]);
  assert.deepEqual(got.again, ["Parcels", "debugger", "Never guess."]);
});

/** O1, G6, T4: what was done to the window is told, and can be taken back piece by piece. */
test("log, figures, offloaded results, quotes, marks and branches", async () => {
  const got = await run(`
    const session = await openSession({ model: "any", window: 8192, policy: "offload-compact" });
    const big = (n) => Array.from({ length: 260 }, (_, i) => "line " + i + " of table " + n + ": value " + (i * 37 + n)).join("\\n");
    for (let n = 0; n < 3; n++) {
      await session.append([
        { role: "user", content: "Read table " + n + "." },
        { role: "assistant", content: "", tool_calls: [{ id: "c" + n, type: "function", function: { name: "read", arguments: "{}" } }] },
        { role: "tool", tool_call_id: "c" + n, content: big(n) },
        { role: "assistant", content: "Table " + n + " has 260 lines." },
      ]);
    }
    await session.append(talk(12));
    out.trust = [session.reliability().percent];
    out.done = (await session.compact())?.report.before > 0;
    out.trust.push(session.reliability().percent);
    const log = await session.log();
    out.log = log.map((entry) => [entry.action, entry.tokens[0] > entry.tokens[1], entry.window]);
    const { tools, total } = session.analytics();
    out.tools = [tools[0].tool, tools[0].said > tools[0].shown, total.blocks];
    const [first] = session.offloaded.list();
    out.reference = [typeof first?.message, first?.bytes];
    const texts = first ? session.offloaded.read(first.message) : [];
    out.whole = texts.length > 0 && texts.every((text) => /^line 0 of table \\d/.test(text) && text.endsWith(String(259 * 37 + Number(/table (\\d)/.exec(text)[1]))));
    const listed = session.offloaded.list().length;
    await session.offloaded.bringBack(first.message);
    out.brought = [listed - session.offloaded.list().length, session.history().find((item) => item.seq === first.message).shown];
    await session.watermark.mark();
    await session.watermark.anchor(1);
    await session.watermark.anchor(1, false);
    out.missing = [await failed(session.offloaded.bringBack(9999)), await failed(session.watermark.anchor(9999)), await failed(session.branches.show(9999))];
    const last = session.history().at(-1).seq;
    const count = session.info.messages;
    await session.branches.rewindBefore(last);
    const [other] = await session.append([{ role: "assistant", content: "Another answer." }]);
    out.branches = [session.branches.of(other), [last, other].sort((a, b) => a - b), session.info.messages === count];
    await session.branches.show(last);
    out.back = session.history().at(-1).seq === last;
    out.quotes = session.recalled.list().length;
    await session.recalled.remove();
    out.rest = await session.rest();
    await session.close();

    const talking = await openSession({ model: "any", window: 2048 });
    await talking.append(talk(60));
    await talking.compact();
    await talking.append("What does parcel 1003 weigh, and to which gate does parcel 1003 go?");
    const quotes = talking.recalled.list();
    out.recalled = [quotes.length > 0, quotes.some((q) => q.text.includes("1003"))];
    await talking.recalled.remove();
    out.gone = talking.recalled.list().length;
    await talking.close();
  `);
  assert.ok(got.done);
  assert.deepEqual(got.trust[0], 100);
  assert.ok(got.trust[1] <= 100);
  assert.deepEqual(got.log, [["compacted by hand", true, 8192]]);
  assert.deepEqual(got.tools.slice(0, 2), ["read", true]);
  assert.equal(got.reference[0], "number");
  assert.ok(got.whole, "what a reference stands for is the whole text");
  assert.deepEqual(got.brought, [1, "verbatim"]);
  assert.ok(got.missing.every((line) => line.startsWith("not_found: ")), JSON.stringify(got.missing));
  assert.deepEqual(got.branches[0], got.branches[1]);
  assert.ok(got.branches[2] && got.back);
  assert.equal(got.rest, null, "without a model there is nothing to write again");
  assert.deepEqual(got.recalled, [true, true]);
  assert.equal(got.gone, 0);
});

/** P10, C1: a layer's text is written over and written again; what a new layer covers is said; each is undone. */
test("hands on layers", async () => {
  const got = await run(`
    const session = await openSession({ model: "any", window: 8192 });
    // long enough that a layer is shorter than what it covers
    const long = talk(60).map((one) => ({ ...one, content: one.content + " The road was wet, the lift was slow and nobody was in a hurry that morning.".repeat(3) }));
    await session.append(long);
    const numbers = session.history().map((item) => item.seq);
    await session.compact({ upTo: numbers[19] });
    const [layer] = session.layers();
    out.covers = [layer.covers[0].from, layer.covers.at(-1).to, numbers[19]];
    const before = JSON.stringify(session.window());
    const edited = await session.editLayer(layer.id, "Parcels were weighed. Nothing else matters.");
    const [now] = session.layers();
    out.edited = [now.summary, now.author.by, now.ledger.length, edited.report.layer === now.id, JSON.stringify(session.window()).includes("Nothing else matters.")];
    await session.undo();
    out.undone = JSON.stringify(session.window()) === before;
    await session.rewriteLayer(session.layers()[0].id, { by: "builtin", focus: "gate" });
    out.rewritten = [session.layers().length, session.layers()[0].author.by, (await session.log()).map((l) => l.action)];
    await session.undo();
    await session.compact({ from: numbers[20], to: numbers[49] });
    out.second = session.layers().map((l) => [l.covers[0].from, l.covers.at(-1).to]);
    const id = session.layers()[0].id;
    out.hands = [await failed(session.editLayer(99, "x")), await failed(session.editLayer(id, " ")), await failed(session.rewriteLayer(99)),
      await failed(session.compact({ from: 3 })), await failed(session.compact({ from: 9, to: 3 })), await failed(session.rewriteLayer(id, { by: "hand" }))];
    await session.close();
  `);
  assert.deepEqual(got.covers.slice(0, 2), [0, got.covers[2]]);
  assert.deepEqual(got.edited, ["Parcels were weighed. Nothing else matters.", "person", 0, true, true]);
  assert.ok(got.undone, "undo brings the very window back");
  assert.deepEqual(got.rewritten, [1, "extractive", ["compacted by hand", "layer edited", "layer rewritten"]]);
  assert.equal(got.second.length, 2);
  assert.ok(got.second[1][0] > got.second[0][1], JSON.stringify(got.second));
  assert.deepEqual(got.hands.map((line) => line.split(":")[0]), ["not_found", "empty_record", "not_found", "bad_input", "bad_input", "invalid_options"]);
});

/** S3, S6, S7: sessions are found by their words, put first, doubled with all that they hold, and brought back from a backup. */
test("copies, backups and a search over every session", async () => {
  const got = await run(`
    const store = memoryStorage();
    const one = await openSession({ id: "one", model: "any", window: 2048, store, title: "Parcels" });
    await one.append(talk(60));
    await one.compact();
    await one.pins.add("The van leaves at six.");
    const shown = JSON.stringify(one.window());
    const layers = one.layers().length;
    await one.close();
    const two = await openSession({ id: "two", model: "any", window: 2048, store, title: "Garden" });
    await two.append([{ role: "user", content: "The greenhouse key hangs behind the water butt." }, { role: "assistant", content: "Noted." }]);
    await two.close();
    const library = await openLibrary({ store });
    out.hits = (await library.search("where is the greenhouse key?", { limit: 3 })).map((hit) => [hit.session, hit.title, hit.seq, hit.role]);
    out.many = (await library.search("parcel 1003")).length;
    out.none = await library.search("zeppelin");
    await library.pin("two");
    out.first = (await library.sessions()).sessions[0].id;
    await library.pin("two", false);
    await library.tag("two", ["home", " Garden", "HOME"]);
    out.tags = (await library.sessions()).sessions.map((s) => [s.id, s.tags]);
    out.wrongTags = [await failed(library.tag("two", "home")), await failed(library.tag("two", [7])), await failed(library.tag("two", [..."123456789"])), await failed(library.tag("nobody", []))];
    const id = await library.duplicate("one");
    const copy = await openSession({ id, model: "any", store });
    out.copy = [copy.info.title, copy.layers().length === layers, JSON.stringify(copy.window()) === shown, copy.pins.list().length];
    await copy.append("Only in the copy.");
    await copy.close();
    out.apart = (await library.sessions()).sessions.find((s) => s.id === "one").messages;
    const kept = await library.archive("one");
    const elsewhere = await openLibrary({ store: memoryStorage() });
    out.made = await elsewhere.restoreArchive(kept);
    out.there = await elsewhere.restoreArchive(kept);
    out.same = (await elsewhere.archive("one")).length > 1000;
    out.wrong = [await failed(elsewhere.restoreArchive("{}")), await failed(elsewhere.restoreArchive("seven")), await failed(library.duplicate("nobody")), await failed(library.search("x", { limt: 1 }))];
    library.close();
    elsewhere.close();
  `);
  assert.deepEqual(Object.fromEntries(got.tags), { one: [], two: ["Garden", "home"] });
  assert.deepEqual(got.wrongTags.map((line) => line.split(":")[0]), ["invalid_options", "invalid_options", "invalid_setting", "no_session"]);
  assert.deepEqual(got.hits[0], ["two", "Garden", 0, "user"]);
  assert.ok(got.many > 0 && got.many <= 8);
  assert.deepEqual(got.none, []);
  assert.equal(got.first, "two");
  assert.deepEqual(got.copy, ["Copy of Parcels", true, true, 1]);
  assert.equal(got.apart, 60);
  assert.deepEqual([got.made, got.there], [{ id: "one", became: "made" }, { id: "one", became: "there" }]);
  assert.ok(got.same);
  assert.match(got.wrong[0], /^bad_input: /);
  assert.match(got.wrong[1], /^bad_input: /);
  assert.match(got.wrong[2], /^no_session: /);
  assert.match(got.wrong[3], /^invalid_options: /);
});

/** I9: two automatic compactions that freed nothing are enough; what is in the way is told once, with its size, and a change begins anew. */
test("what cannot shrink is told", async () => {
  const got = await run(`
    const said = "That is how it is, as I said before, more or less, and so on and so forth, until the end. ".repeat(4);
    const session = await openSession({ model: "any", window: 4096, settings: { compression: { preserveCount: 99 } }, llm: { chat: () => said } });
    const told = [];
    session.on("cannot-shrink", ({ floor, trigger }) => told.push([floor, trigger]));
    for (let n = 0; n < 60 && out.failed === undefined; n++) {
      const stream = session.send("And then, what was it that happened?");
      await stream.reply().catch((error) => { out.failed = error.code; });
      await new Promise((done) => setTimeout(done, 20));
    }
    out.told = told;
    out.budget = session.budget();
    await session.close();
  `);
  const [[floor, trigger]] = got.told;
  assert.equal(got.told.length, 1, "told once");
  assert.ok(floor > 0 && floor < trigger && trigger <= got.budget.limit, JSON.stringify(got));
});

/** I9: two that did free something and left the window at its trigger are the last ones, too, and that is told. */
test("what shrinks and stays too large is told", async () => {
  const got = await run(`
    let n = 0;
    const said = () => Array.from({ length: 24 }, (_, i) => \`Part \${++n} of the cellar is \${n % 7} metres wide and holds \${n * 3} crates of \${["pears", "plums", "quinces"][i % 3]}.\`).join(" ");
    const session = await openSession({ model: "any", window: 4096, settings: { compression: { preserveCount: 6, triggerAt: 0.1 } }, llm: { chat: said } });
    out.told = 0;
    out.done = 0;
    session.on("cannot-shrink", ({ floor, trigger }) => { out.told++; out.is = floor > 0 && trigger > 0; });
    session.on("compressed", () => out.done++);
    for (let n = 0; n < 12; n++) {
      await session.send("And then, what was it that happened?").reply();
      await new Promise((done) => setTimeout(done, 20));
    }
    await session.close();
  `);
  assert.deepEqual(got, { told: 1, done: 2, is: true });
});

/** F20: after the clock went back a month, the newest snapshots are still those that stay, and everything keeps its order. */
test("a clock that jumps back deletes nothing newer and reorders nothing", async () => {
  const got = await run(`
    const now = Date.now;
    const store = memoryStorage();
    const options = { id: "s", model: "any", window: 2048, store };
    const session = await openSession(options);
    for (let round = 0; round < 9; round++) {
      if (round === 4) Date.now = () => now() - 30 * 86_400_000;
      await session.append(talk(40, round * 40));
      await session.compact();
    }
    const seen = (session) => [session.snapshots.list().map((one) => one.n), session.history().map((item) => item.parts[0].text.match(/Message (\\d+)/)[1]), session.window()];
    // those that stay were all taken after the clock went back, so their times are older than those of the ones that went
    out.back = session.snapshots.list().every((one) => one.at < now() - 86_400_000);
    const before = seen(session);
    [out.snapshots, out.order] = before;
    await session.close();
    Date.now = now;
    const again = await openSession(options);
    out.same = JSON.stringify(seen(again)) === JSON.stringify(before);
    await again.close();
  `);
  const newest = got.snapshots.at(-1);
  assert.ok(got.back, "the clock did go back");
  assert.deepEqual(got.snapshots, got.snapshots.map((_, i) => newest - got.snapshots.length + 1 + i), "the newest stay");
  assert.ok(newest >= 9 && got.snapshots.length >= 5);
  assert.deepEqual(got.order, Array.from({ length: 360 }, (_, n) => String(n)));
  assert.ok(got.same, "it is opened as it was");
});

/** F92: how far a session can be trusted is a share, and less for a smaller model. It falls with the first compaction; after that what
 * survived is measured anew each time, and a later summary may keep a larger share of the facts. */
test("reliability stays between 0 and 1 and is less for smaller models", async () => {
  const got = await run(`
    out.runs = [];
    for (const model of ["any", "any:0.5b", "any:8b", "any:13b", "any:32b", "any:70b"]) {
      const session = await openSession({ model, window: 1024 });
      const run = [];
      for (let round = 0; round < 12; round++) {
        const { percent, score, level } = session.reliability();
        run.push([percent, score, level]);
        await session.append(talk(30, round * 30));
        await session.compact().catch(() => {});
      }
      out.runs.push(run);
      await session.close();
    }
  `);
  const levels = ["critical", "low", "medium", "high"];
  for (const run of got.runs) {
    assert.deepEqual([run[0][0], run[0][2]], [100, "high"]);
    for (const [n, [percent, score, level]] of run.entries()) {
      assert.ok(percent >= 0 && percent <= 100 && (score === null || (score >= 0 && score <= 1)), JSON.stringify(run));
      assert.equal(level, levels[(percent >= 40) + (percent >= 60) + (percent >= 85)]);
      if (n > 0) assert.ok(percent < 100 && (score === null || score < run[0][1]), JSON.stringify(run));
    }
    assert.ok(run.at(-1)[0] < 60, JSON.stringify(run));
  }
  const known = got.runs.slice(1);
  assert.ok(got.runs[0].every(([, score]) => score === null), "of an unknown size there is no score");
  for (const [n, run] of known.entries()) if (n > 0) run.forEach(([, score], at) => assert.ok(score >= known[n - 1][at][1], `${score} of a larger model`));
});

/** G5: how large a model is, its server says; its name counts where the server does not, and with neither it stays unknown. */
test("the size of a model is what its server says, else what its name says", async () => {
  const scores = {};
  for (const [name, size] of [["house", "0.5B"], ["house", "70.6B"], ["house:0.5b", "70.6B"], ["house:0.5b", ""], ["house", ""]]) {
    const [one] = defaultModels();
    const models = [{ ...one, name, details: { ...one.details, parameter_size: size } }];
    const fake = await startFake({ models, replies: ["Yes."] });
    try {
      const got = await run(`
        const session = await openSession({ model: ${JSON.stringify(name)}, window: 1024, llm: ollama({ url: ${JSON.stringify(fake.url)} }) });
        await session.send("Are you there?").reply();
        await session.append(talk(30));
        await session.compact({ extractive: true });
        out.score = session.reliability().score;
        await session.close();
      `);
      scores[`${name} ${size}`] = got.score;
    } finally {
      await fake.close();
    }
  }
  const [small, large, told, named, unknown] = Object.values(scores);
  assert.ok(small > 0 && small < large, JSON.stringify(scores));
  assert.deepEqual([told, named, unknown], [large, small, null], JSON.stringify(scores));
});

/** I5, S5: one that frees too little changes nothing and says why; how the last compaction ended is known later, too. Over a storage of one's own writes wait for the
 * disk where that is asked for, and a session that was taken over tells of it. */
test("the last compaction's end, durable writes, a session that is taken over", async () => {
  const got = await run(`
    const base = memoryStorage();
    const writes = [];
    const watchers = new Set();
    // what others write is told to everybody who watches
    const store = () => ({
      claim: async (given) => { const { epoch } = await base.claim(given); queueMicrotask(() => watchers.forEach((heard) => heard({ session: given.session, epoch }))); return { epoch }; },
      read: (query) => base.read(query),
      apply: (write) => { writes.push(write.durability); return base.apply(write); },
      release: (lease) => base.release?.(lease),
      watch: (heard) => { watchers.add(heard); return () => void watchers.delete(heard); },
    });
    const first = await openSession({ id: "s", model: "any", window: 2048, store: store(), durability: "strict" });
    out.none = first.lastCompaction;
    await first.append(talk(4));
    const before = JSON.stringify([first.window(), first.layers()]);
    out.skipped = [(await failed(first.compact())).split(":")[0], first.lastCompaction.how, first.lastCompaction.code, JSON.stringify([first.window(), first.layers()]) === before];
    await first.append(talk(60, 4));
    const { revision, report } = await first.compact();
    out.last = [first.lastCompaction.how, first.lastCompaction.revision === revision, first.lastCompaction.report.after === report.after];
    out.strict = [...new Set(writes)];
    const heard = [];
    first.on("storage-changed", ({ what }) => heard.push(what));
    const second = await openSession({ id: "s", model: "any", window: 2048, store: store(), takeOver: true });
    const other = await openSession({ id: "t", model: "any", store: store() });
    await second.append("Mine now.");
    await new Promise((resolve) => setTimeout(resolve, 20));
    out.heard = heard;
    out.refused = (await failed(first.append("And mine?"))).split(":")[0];
    writes.length = 0;
    await second.append(talk(2, 64));
    out.usual = writes.length > 0;
    await first.close();
    await second.close();
    await other.close();
    out.watched = watchers.size;
    out.wrong = [await failed(openSession({ model: "any", durability: "strict" })), await failed(openSession({ model: "any", store: store(), durability: "very" })), await failed(Promise.resolve().then(() => first.lastCompaction))].map((line) => line.split(":")[0]);
  `);
  assert.equal(got.none, null);
  assert.deepEqual(got.skipped, ["not_worth", "skipped", "not_worth", true]);
  assert.deepEqual(got.last, ["compressed", true, true]);
  assert.deepEqual(got.strict, ["strict"]);
  assert.deepEqual([got.heard, got.refused], [["taken-over"], "superseded"]);
  assert.deepEqual([got.usual, got.watched], [true, 0]);
  assert.deepEqual(got.wrong, ["invalid_options", "invalid_options", "closed"]);
});

/** An option that does not exist is refused wherever options are taken, with a name that does, as JavaScript writes it. */
test("an option that does not exist is refused in every call", async () => {
  const got = await run(`
    import { Calibration, init, recallTool, replay, resolvePolicy, Tokenizer } from "palimpsest";
    import { storageContract } from "palimpsest/testing";
    await init();
    const list = [{ role: "user", content: "Hello" }];
    const calls = {
      ollama: () => ollama({ adress: "x" }),
      openai: () => openai({ url: "http://localhost:1", sever: "llama.cpp" }),
      "openai without an address": () => openai(),
      replay: () => replay(list, { window: 2048, polices: [] }),
      observe: async () => (await Calibration.start("any")).observe(list, 5, { windw: 1 }),
      fromFunction: () => Tokenizer.fromFunction((text) => text.length, { exct: true }),
      fromTiktoken: () => Tokenizer.fromTiktoken("", { patern: "o200k_base" }),
      resolvePolicy: () => resolvePolicy("balanced", 8192, { reserv: 1 }),
      recallTool: () => recallTool(list, { mst: 1 }),
      storageContract: () => storageContract(() => memoryStorage(), { claim: "refuse" }),
      openLibrary: () => openLibrary({ stor: "indexeddb" }),
      settings: () => openSession({ model: "any", settings: { sampling: { topp: 1 } } }),
    };
    for (const [name, work] of Object.entries(calls)) out[name] = await failed(Promise.resolve().then(work));
  `);
  for (const [name, line] of Object.entries(got)) assert.match(line, name === "settings" ? /^unknown_setting: / : /^invalid_options: /, `${name}: ${line}`);
  assert.equal(got.settings, 'unknown_setting: There is no setting "sampling.topp". Did you mean "sampling.topP"?');
  assert.match(got.openai, /Did you mean "server"/);
});
