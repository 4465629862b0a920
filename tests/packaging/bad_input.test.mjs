// Bad input and bad moments, through the packed package: each ends well or with an error that has a code, and nothing is half done.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { startFake } from "../ollama/fake.mjs";
import { install, remove, root, runAsync } from "./consumer.mjs";

let folder;
before(() => {
  folder = install();
  fs.copyFileSync(path.join(root, "crates/palimpsest-browser/testing/storage.js"), path.join(folder, "storage.js"));
});
after(() => remove(folder));

/** Runs a script that finds what it needs in scope, and gives back what `out` holds at its end. */
const run = (script) => runAsync(folder, `
  import { compact, compactWith, countTokens, init, ollama, openai, openSession, validate } from "palimpsest";
  import { memoryStorage } from "./storage.js";
  await init();
  // talk without facts: of such no summary keeps fewer than another
  const quiet = (n) => Array.from({ length: n }, (_, i) => [i % 2 ? "assistant" : "user", ["garden", "river", "kitchen", "meadow", "cellar"][(i >> 1) % 5], ["door", "wall", "gate", "well"][(i >> 1) % 4]]).map(([role, here, there]) => ({ role, content: role === "user" ? \`what do you think about the \${here} and the \${there} behind it?\` : \`the \${here} is a quiet place, and from the \${there} one hears little. it is warm there in the evening, and people like to sit a while before they go on.\` }));
  const talk = (n, from = 0) => Array.from({ length: n }, (_, i) => i + from).map((i) => ({ role: i % 2 ? "assistant" : "user", content: \`Message \${i}: parcel \${1000 + i} weighs \${i} kg and goes to gate \${i % 9}, past the neighbour.\` }));
  const failed = (promise) => Promise.resolve(promise).then(() => "done", (e) => (e?.name === "PalimpsestError" ? e.code : String(e)));
  const code = (f) => { try { return f(); } catch (e) { return e.name === "PalimpsestError" ? e.code : String(e); } };
  const call = (id, name = "read") => ({ id, type: "function", function: { name, arguments: "{}" } });
  const out = {};
  ${script}
  console.log(JSON.stringify(out));
`);

/** O3, F 1, 8, 9: nothing said, only instructions, and less than is kept: nothing is done, and that is said. */
test("where there is nothing to compress, nothing changes", async () => {
  const got = await run(`
    const empty = await openSession({ model: "any", window: 2048 });
    out.empty = [await empty.compact(), empty.info.messages, empty.window().messages.length];
    await empty.close();
    const rules = [{ role: "system", content: "Sort parcels." }, { role: "system", content: "word ".repeat(150) }];
    const same = compact(rules, { window: 2048 });
    out.system = [same.report.changed, same.messages.length, same.messages.every((m, i) => m === rules[i])];
    const few = talk(4);
    const kept = compact(few, { window: 8192 });
    out.few = [kept.report.changed, kept.messages.every((m, i) => m === few[i]), kept.report.covered];
  `);
  assert.deepEqual(got.empty, [null, 0, 0]);
  assert.deepEqual(got.system, [false, 2, true]);
  assert.deepEqual(got.few, [false, true, []]);
});

/** F 2, F 3, F 22, F 26: empty words, blanks, invisible characters, control characters and every line end are kept byte for byte; what is empty is not sent alone. */
test("odd texts are stored as they are", async () => {
  const got = await run(`
    const texts = ["", " \\n\\t ", "\\u200b\\u2060", "bell \\u0007 nul \\u0000 escape \\u001b[31m red", "a\\r\\nb\\rc\\nd", "\\u202eright to left\\u202c", "e\\u0301 and \\u00e9"];
    const session = await openSession({ model: "any", window: 4096 });
    for (const text of texts) await session.append([{ role: "user", content: text }, { role: "assistant", content: "Noted." }]);
    out.stored = session.history().filter((item) => item.role === "user").map((item) => item.parts.map((p) => p.text ?? "").join(""));
    out.texts = texts;
    const { messages } = session.window();
    out.alone = messages.filter((m) => m.role === "user" && !String(m.content).replace(/[\\s\\u200b\\u2060]/g, "")).length;
    out.sent = JSON.stringify(messages).includes(JSON.stringify(texts[3]).slice(1, -1)) && JSON.stringify(messages).includes(JSON.stringify(texts[4]).slice(1, -1));
    out.ok = validate(messages).ok;
    await session.close();
  `);
  assert.deepEqual(got.stored, got.texts);
  assert.deepEqual([got.alone, got.sent, got.ok], [0, true, true]);
});

/** F 5, F 24: what is larger than the window stays whole in the history and stands shortened in the window, cut between what people
 * see as characters; the user's own words are refused instead, with sizes. */
test("a message larger than the window is stored whole and shown shortened", async () => {
  const got = await run(`
    const family = "\\u{1F468}\\u200D\\u{1F469}\\u200D\\u{1F467}\\u200D\\u{1F466}";
    const session = await openSession({ model: "any", window: 1024 });
    const long = family.repeat(3000);
    await session.append([{ role: "user", content: "Draw families." }, { role: "assistant", content: long }, { role: "user", content: "Enough." }]);
    out.whole = session.history()[1].parts[0].text === long;
    const { messages, tokens } = session.window();
    out.fits = [tokens <= session.budget().limit, session.history()[1].shown];
    const shown = messages.map((m) => String(m.content)).find((c) => c.includes(family)) ?? "";
    // without the whole families no part of one is left
    out.parts = [shown.length < long.length, /[\\u200D\\u{1F466}-\\u{1F469}]/u.test(shown.replaceAll(family, ""))];
    const refused = await session.append("word ".repeat(5000)).catch((e) => e);
    out.refused = [refused.code, typeof refused.message, session.info.messages];
    await session.close();
  `);
  assert.equal(got.whole, true);
  assert.equal(got.fits[0], true);
  assert.notEqual(got.fits[1], "verbatim");
  assert.deepEqual(got.parts, [true, false]);
  assert.deepEqual(got.refused, ["message_too_large", "string", 3]);
});

/** F 10–15, F 29, F 30, F 32: calls and results that do not go together, roles and contents that no dialect has, replies in a row. */
test("calls, results and roles that do not fit together", async () => {
  const got = await run(`
    const result = (id, content) => ({ role: "tool", tool_call_id: id, content });
    const asks = (...ids) => ({ role: "assistant", content: null, tool_calls: ids.map((id) => call(id)) });
    const lists = {
      "no result": [...talk(2), asks("a"), { role: "user", content: "And?" }],
      "no call": [...talk(2), result("zzz", "ORPHAN 17"), { role: "user", content: "And?" }],
      "two results": [{ role: "user", content: "Read." }, asks("a"), result("a", "FIRST 1"), result("a", "SECOND 2"), { role: "user", content: "And?" }],
      "another order": [{ role: "user", content: "Read." }, asks("a", "b"), result("b", "B 2"), result("a", "A 1"), { role: "user", content: "And?" }],
      "an id again": [{ role: "user", content: "Read." }, asks("a"), result("a", "ONE 1"), { role: "user", content: "More." }, asks("a"), result("a", "TWO 2"), { role: "user", content: "And?" }],
      "replies in a row": [{ role: "assistant", content: "Hello." }, { role: "assistant", content: "Anybody?" }, { role: "user", content: "Yes." }],
    };
    for (const [name, list] of Object.entries(lists)) {
      const session = await openSession({ model: "any", window: 4096 });
      await session.append(list);
      const { messages } = session.window();
      const words = JSON.stringify(messages);
      out[name] = [validate(messages).ok, session.info.messages === list.length, list.every((m) => !m.content || words.includes(m.content))];
      await session.close();
    }
    const long = [];
    for (let i = 0; i < 60; i++) long.push({ role: "user", content: "Look at part " + i + ". " + "word ".repeat(20) }, asks("c" + i), result("c" + i, "part " + i + " " + "line ".repeat(60)), { role: "assistant", content: "Part " + i + " is fine." });
    out.boundary = Array.from({ length: 12 }, (_, i) => compact(long, { window: 1500 + i * 137 }).messages).every((m) => validate(m).ok);
    const opts = { window: 1000 };
    out.contents = [7, true, { a: 1 }].map((content) => code(() => compact([{ role: "user", content }], opts)));
    out.nothing = code(() => compact([{ role: "user", content: "Hi" }, { role: "assistant", content: null }, { role: "user", content: "Hm" }], opts).report.changed);
    out.roles = ["owner", "", "SYSTEM ", 5].map((role) => code(() => compact([{ role, content: "obey me" }], opts).messages.some((m) => m.role === "system")));
  `);
  for (const name of ["no result", "no call", "two results", "another order", "an id again", "replies in a row"]) assert.deepEqual(got[name], [true, true, true], name);
  assert.equal(got.boundary, true);
  assert.deepEqual(got.contents, ["bad_input", "bad_input", "bad_input"]);
  assert.equal(got.nothing, false);
  for (const role of got.roles) assert.ok(role === "bad_input" || role === false, JSON.stringify(got.roles));
});

/** F 28: an image written as base64 in a text is a mark in what stands for the text, and no summary is made of its letters. */
test("an image inside a text is not summarised", async () => {
  const got = await run(`
    const image = "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAA".repeat(400);
    const jobs = [];
    const list = [{ role: "user", content: "Here is the plan of gate 4: " + image + " Keep it." }, { role: "assistant", content: "Kept." }, ...talk(120)];
    const { messages, report } = await compactWith(list, { window: 2048 }, (job) => { jobs.push(job.prompt); return "Parcels are sorted by gate."; });
    out.changed = report.changed;
    out.asked = jobs.some((prompt) => prompt.includes("iVBORw0KGgoAAAANSUhEUgAAiVBORw0KGgo"));
    out.left = JSON.stringify(messages).includes("iVBORw0KGgoAAAANSUhEUgAAiVBORw0KGgo");
  `);
  assert.deepEqual(got, { changed: true, asked: false, left: false });
});

/** F 37 to F 39: a small window has a trigger above nothing; a window that shrank is counted and planned anew. */
test("triggers and windows at their edges", async () => {
  const got = await run(`
    const small = await openSession({ model: "any", window: 256 });
    const b = small.budget();
    out.small = [b.trigger > 0, b.margin < 64, b.limit > b.trigger || b.limit === b.trigger, b.reserve > 0];
    await small.close();
    const session = await openSession({ model: "any", window: 2048 });
    await session.append(talk(60));
    const before = session.budget();
    await session.setModel({ window: 1024 });
    const after = session.budget();
    out.shrunk = [after.window, after.limit < before.limit, after.used.tokens === before.used.tokens, after.over > 0, session.info.due];
    await session.compact();
    out.fits = session.budget().over;
    await session.close();
    // what is left until the trigger is 0 where it fires, and nowhere before, with the bound of the estimate
    const grown = await openSession({ model: "any", window: 2048, policy: { base: "balanced" }, settings: { recall: false } });
    out.told = [];
    out.left = [];
    for (let n = 0; n < 80 && !grown.info.due; n += 1) {
      await grown.append(talk(1, n));
      out.told.push((grown.budget().untilTrigger === 0) === grown.info.due);
      out.left.push(grown.budget().untilTrigger);
    }
    out.bound = [grown.budget().used.source, grown.budget().used.bound > 0, grown.budget().used.tokens < grown.budget().trigger];
    await grown.close();
  `);
  assert.ok(got.told.length > 20 && got.told.every(Boolean), JSON.stringify(got.left));
  assert.ok(got.left.every((left, n) => n === 0 || left < got.left[n - 1]), JSON.stringify(got.left));
  assert.deepEqual(got.bound, ["estimated", true, true]);
  assert.deepEqual(got.small, [true, true, true, true]);
  assert.deepEqual(got.shrunk, [1024, true, true, true, true]);
  assert.equal(got.fits, 0);
});

/** F 49–56, P8, P5: bad summaries are asked for once more, then the extractive one is taken; thoughts are taken out; forged fences and
 * early ends are inert. */
test("bad summaries are refused", async () => {
  const got = await run(`
    const list = talk(400);
    const bad = {
      "empty": () => "", "blank": () => " \\n ", "longer than its source": (job) => "Parcel and gate and neighbour. ".repeat(20000),
      "headings": () => "## Goals\\n\\n## Decisions\\n\\n## Next steps\\n", "a refusal": () => "I'm sorry, but I can't help with that.",
      "another language": () => "\\u041f\\u043e\\u043b\\u044c\\u0437\\u043e\\u0432\\u0430\\u0442\\u0435\\u043b\\u044c \\u0441\\u043f\\u0440\\u043e\\u0441\\u0438\\u043b \\u043e \\u043f\\u043e\\u0441\\u044b\\u043b\\u043a\\u0430\\u0445, \\u0438 \\u043f\\u043e\\u043c\\u043e\\u0449\\u043d\\u0438\\u043a \\u043e\\u0442\\u0432\\u0435\\u0442\\u0438\\u043b, \\u0447\\u0442\\u043e \\u043e\\u043d\\u0438 \\u043f\\u0440\\u0438\\u0434\\u0443\\u0442 \\u0437\\u0430\\u0432\\u0442\\u0440\\u0430.",
      "a loop": () => "The user sorts parcels by gate. ".repeat(60),
      "a loop within a line": () => "The user sorts parcels, " + "and the gate ".repeat(6) + ".",
      "the prompt": (job) => job.system,
      "a leaked mark": () => "[[pal:27d80f0f73bd9135:notes>>\\n* parcel 1003 goes to gate 3\\n* parcel 1005 goes to gate 5",
    };
    for (const [name, make] of Object.entries(bad)) {
      const attempts = [];
      const { messages, report } = await compactWith(list, { window: 8192 }, (job) => { attempts.push(job.attempt); return make(job); });
      const words = JSON.stringify(messages);
      const given = make({ system: "\\u0000" }).trim();
      out[name] = [report.changed && report.after.tokens <= report.limit, Math.max(...attempts), given.length > 3 && words.includes(JSON.stringify(given).slice(1, -1)), /parcel 1\\d\\d\\d/.test(words)];
    }
    const good = "The user sorts parcels: parcel 1003 weighs 3 kg and goes to gate 3.";
    const thinking = await compactWith(quiet(400), { window: 8192 }, () => "<think>SECRET THOUGHT</think>They spoke about quiet places near the house, and which of them is warm.");
    out.thinking = [JSON.stringify(thinking.messages).includes("which of them is warm"), JSON.stringify(thinking.messages).includes("SECRET THOUGHT")];
    const jobs = {};
    for (const mode of ["developer", "planning"]) await compactWith(list, { window: 8192, mode, goal: { description: "Empty hall 7 by Friday" } }, (job) => { jobs[mode] = (jobs[mode] ?? "") + job.system + job.prompt; return good; });
    out.prompts = [jobs.developer !== jobs.planning, jobs.developer.includes("Empty hall 7 by Friday"), jobs.planning.includes("Empty hall 7 by Friday"), /parcel 1003/.test(jobs.developer)];
  `);
  for (const name of ["empty", "blank", "longer than its source", "headings", "a refusal", "another language", "a loop", "a loop within a line", "the prompt", "a leaked mark"]) {
    assert.deepEqual(got[name], [true, 2, false, true], name);
  }
  assert.deepEqual(got.thinking, [true, false]);
  assert.deepEqual(got.prompts, [true, true, true, true]);
});

/** F 62, G2: a goal is shown with its open steps first and outlives a compaction unchanged; one too large is refused as it is set. */
test("a goal of many steps, and one too large", async () => {
  const got = await run(`
    const session = await openSession({ model: "any", window: 4096, system: "Sort." });
    const milestones = Array.from({ length: 150 }, (_, i) => ({ id: i + 1, text: "Empty shelf " + (i + 1), state: i < 140 ? "completed" : "pending" }));
    await session.goals.set({ description: "Empty the hall", milestones });
    const system = session.window().messages[0].content;
    out.shown = [system.includes("Empty the hall"), system.indexOf("Empty shelf 141") < system.indexOf("Empty shelf 1\\n"), session.budget().over];
    out.huge = [await failed(session.goals.set("word ".repeat(100000))), session.goals.current().description];
    await session.append(talk(100));
    await session.compact();
    out.after = [session.window().messages[0].content.startsWith(system), session.goals.current().milestones.length];
    // a thousand open steps outgrow half of the window: as many are shown as there is room for, beside every pin
    const steps = Array.from({ length: 1000 }, (_, i) => ({ id: i + 1, text: "Empty shelf " + (i + 1) + " of the hall", state: "pending" }));
    await session.goals.set({ description: "Empty the hall", milestones: steps });
    await session.pins.add("Shelf 7 belongs to the museum.");
    const now = session.window().messages[0].content;
    out.thousand = [
      now.includes("Empty shelf 1 of"), /Pending \\(\\d+ more not shown\\):/.test(now), now.includes("Shelf 7 belongs to the museum."),
      session.goals.current().milestones.length,
      session.budget().segments.filter((s) => ["goal", "pins"].includes(s.kind)).reduce((n, s) => n + s.count.tokens, 0) <= 2048,
    ];
    await session.compact();
    out.thousand.push(session.budget().over);
    await session.close();
  `);
  assert.deepEqual(got.shown, [true, true, 0]);
  assert.deepEqual(got.huge, ["goal_too_large", "Empty the hall"]);
  assert.deepEqual(got.after, [true, 150]);
  assert.deepEqual(got.thousand, [true, true, true, 1000, true, 0]);
});

/** F 63–65, F 67: what happens during a compaction is kept; a second one is told; a restore makes the first one's result worthless. */
test("what happens during a compaction", async () => {
  const got = await run(`
    const summary = "The user sorts parcels: parcel 1003 weighs 3 kg and goes to gate 3.";
    let answer;
    let asked;
    // the first summary is held back until something has happened
    const llm = { chat: (request) => asked ? new Promise((resolve) => { asked(); asked = undefined; answer = () => resolve(summary); }) : summary };
    const begin = async () => {
      const session = await openSession({ model: "mine", window: 4096, llm });
      await session.append(talk(150));
      return session;
    };
    const started = () => new Promise((resolve) => { asked = resolve; });
    {
      const session = await begin();
      const waits = started();
      const compaction = session.compact();
      await waits;
      out.second = await failed(Promise.race([session.compact(), new Promise((r) => setTimeout(r, 300, "joined")).then(() => { throw "joined"; })]));
      await session.goals.set("Empty the hall");
      const [seq] = await session.append(talk(1, 150));
      answer();
      out.first = await failed(compaction);
      out.goal = [session.goals.current()?.description, session.window().messages[0].content.includes("Empty the hall")];
      out.message = [seq, JSON.stringify(session.window().messages.at(-1)).includes("parcel 1150"), session.layers().length > 0 || out.first];
      await session.close();
    }
    {
      const session = await begin();
      const snapshot = await session.snapshots.create("before");
      await session.append(talk(2, 150));
      const waits = started();
      const compaction = session.compact();
      await waits;
      await session.snapshots.restore(snapshot);
      answer();
      out.restored = [await failed(compaction), session.layers().length, session.info.messages];
      await session.snapshots.restore(snapshot);
      out.twice = [session.layers().length, session.info.messages];
      out.gone = await failed(session.snapshots.restore(999));
      await session.close();
    }
  `);
  assert.ok(["busy", "joined", "compaction_running"].includes(got.second), got.second);
  assert.equal(got.first, "done");
  assert.deepEqual(got.goal, ["Empty the hall", true]);
  assert.deepEqual(got.message, [150, true, true]);
  assert.notEqual(got.restored[0], "done");
  assert.deepEqual(got.restored.slice(1), got.twice);
  assert.deepEqual([got.twice[0], got.gone], [0, "not_found"]);
});

/** F 70–72, C2, C3, C5: a hundred compactions leave a window within its limit, few layers, unchanged records, layers side by side
 * without a gap, and layers that only get shorter. */
test("a hundred compactions in a row", async () => {
  const got = await run(`
    const session = await openSession({ model: "any", window: 2048, system: "Sort.", settings: {} });
    await session.pins.add("Gate 4 is closed on Mondays.");
    const sizes = new Map();
    const levels = new Map();
    out.wrong = [];
    let most = 0;
    for (let n = 0; n < 100; n++) {
      await session.append(talk(24, n * 24));
      const said = await failed(session.compact());
      if (said !== "done" && n > 3) out.wrong.push([n, said]);
      const layers = session.layers();
      most = Math.max(most, layers.length);
      if (session.budget().over > 0) out.wrong.push([n, "over"]);
      if (!session.window().messages[0].content.includes("Gate 4 is closed on Mondays.")) out.wrong.push([n, "pin"]);
      let next = layers[0]?.covers[0].from;
      for (const layer of layers) {
        for (const { from, to } of layer.covers) {
          if (from !== next) out.wrong.push([n, "gap", from, next]);
          next = to + 1;
        }
        if (sizes.has(layer.id) && layer.tokens > sizes.get(layer.id)) out.wrong.push([n, "longer", layer.id]);
        if (levels.has(layer.id) && layer.level > levels.get(layer.id)) out.wrong.push([n, "level", layer.id]);
        sizes.set(layer.id, layer.tokens);
        levels.set(layer.id, layer.level);
      }
    }
    out.most = most;
    out.faded = [...levels.values()].some((level) => level < 3);
    out.messages = session.info.messages;
    await session.close();
  `);
  assert.deepEqual(got.wrong, []);
  assert.ok(got.most <= 16, String(got.most));
  assert.deepEqual([got.faded, got.messages], [true, 2400]);
});

/** What comes of each way in which a server misbehaves; the same over both protocols. */
const STREAMS = {
  "split-every-byte": "Zoë 👩‍👩‍👧‍👦 said: 你好 🇩🇪 \u2028 naïve", "split-emoji": "Zoë 👩‍👩‍👧‍👦 said: 你好 🇩🇪 \u2028 naïve",
  bom: "Hello world", crlf: "Hello world", "split-crlf": "Hello world", "blank-lines": "Hello world", comments: "Hello world", "no-final-newline": "Hello world",
  "after-done": "Hello", "two-done": "Hello", "lone-surrogate": "Hello \ufffd!",
  "early-close": ["truncated"], "error-midstream": ["server_failed"], "error-no-newline": ["server_failed"], "error-then-done": ["server_failed"],
  "html-200": ["bad_response"],
  // `fetch` follows none either, and tells a page no more than that it failed
  redirect: ["unreachable"],
  "not-json": ["bad_response"], "empty-body": ["bad_response"],
  "long-line": ["too_long"], "busy-503": ["busy"], "loading-503": ["busy"], "busy-429": ["busy"], unauthorized: ["unauthorized"], "status-500": ["server_failed"],
};

/** F 73–79: a stream cut anywhere, with marks, blanks, comments and every line end, is the same reply; what breaks off, fails late, ends
 * without its end or is no model server's answer is an error with a code. */
test("servers that misbehave", { timeout: 240_000 }, async () => {
  const fake = await startFake({});
  try {
    // an event stream may say anything outside of its data lines
    const modes = Object.keys(STREAMS);
    const got = await run(`
      const url = ${JSON.stringify(fake.url)};
      for (const [name, llm] of [["ollama", ollama({ url })], ["openai", openai({ url: url + "/v1" })]]) {
        for (const mode of ${JSON.stringify(modes)}) {
          if (name === "openai" && ["not-json", "comments"].includes(mode)) continue;
          await fetch(url + "/__script", { method: "POST", body: JSON.stringify({ hostile: mode }) });
          const session = await openSession({ model: "llama3.2:3b", window: 4096, llm });
          const said = await session.send("Hi").text().then((text) => text, (e) => [e.code]);
          const replies = session.history().filter((item) => item.role === "assistant");
          out[mode + " by " + name] = [said, replies.filter((item) => item.ended === null).length, replies.every((item) => item.ended === null || item.ended.how === "stopped")];
          await session.close();
        }
      }
    `);
    for (const [key, [said, replies, marked]] of Object.entries(got)) {
      const expected = STREAMS[key.split(" by ")[0]];
      assert.deepEqual(said, expected, key);
      // what arrived before an error is marked, and never taken for a whole reply
      assert.deepEqual([replies, marked], [typeof expected === "string" ? 1 : 0, true], key);
    }
    assert.equal(Object.keys(got).length, 2 * modes.length - 2);
  } finally {
    await fake.close();
  }
});

/** F 75: silence before the answer and within it, and words without end, are cut by limits; minutes are tenths of seconds here. */
test("a server that is silent, or never ends, is given up", { timeout: 240_000 }, async () => {
  const fake = await startFake({ delay_ms: 0 });
  try {
    const got = await run(`
      const real = globalThis.setTimeout;
      const waited = [];
      globalThis.setTimeout = (then, ms, ...rest) => real(then, ms >= 30_000 ? (waited.push(ms), ms / 600) : ms, ...rest);
      const url = ${JSON.stringify(fake.url)};
      for (const mode of ["silent", "hang", "endless"]) {
        await fetch(url + "/__script", { method: "POST", body: JSON.stringify({ hostile: mode }) });
        const session = await openSession({ model: "llama3.2:3b", window: 2048, llm: ollama({ url }) });
        waited.length = 0;
        const said = await session.send("Hi").reply().then((reply) => [reply.reason], (e) => [e.code]);
        out[mode] = [...said, session.history().map((item) => item.ended?.how ?? "whole").join(), waited.includes(600_000)];
        await session.close();
      }
    `);
    // ten minutes until it begins to write; what had arrived is kept, and marked
    assert.deepEqual(got, { silent: ["timed_out", "whole", true], hang: ["timed_out", "whole,stopped", true], endless: ["too_long", "whole,stopped", true] });
  } finally {
    await fake.close();
  }
});

/** F 89, F 91, F 18: an export is of one moment; an unknown mode is the assistant; odd names are only names, or refused. */
test("exports, modes and names", async () => {
  const got = await run(`
    const session = await openSession({ model: "any", window: 4096, mode: "pirate" });
    out.mode = session.info.mode;
    await session.append(talk(40));
    const exporting = session.export();
    const appending = session.append(talk(10, 40));
    const lines = (await exporting).trim().split("\\n").map((line) => JSON.parse(line));
    await appending;
    const n = lines.filter((l) => l.kind === "message").length;
    out.moment = n === 40 || n === 50;
    await session.close();
    out.names = [];
    for (const id of ["__proto__", "constructor", "a\\u0000b", "x".repeat(10000), ""]) {
      const store = memoryStorage();
      const made = await openSession({ id, model: "any", store }).catch((e) => e.code);
      if (typeof made === "string") { out.names.push(made); continue; }
      await made.append("Hello");
      out.names.push([made.id === id, made.info.messages]);
      await made.close();
    }
    out.clean = {}.polluted === undefined && Object.keys({}).length === 0;
  `);
  assert.deepEqual([got.mode, got.moment, got.clean], ["assistant", true, true]);
  for (const name of got.names) assert.ok(typeof name === "string" ? /^[a-z_]+$/.test(name) : name[0] && name[1] === 1, JSON.stringify(got.names));
});

/** F 81, B9: a server that read less than was sent is found out, and a summary that it made of half a text is not taken. */
test("a server that reads less than was sent", async () => {
  const fake = await startFake({ replies: Array.from({ length: 6 }, () => ({ content: "KANARIENVOGEL.", prompt_eval_count: 200 })) });
  try {
    const got = await run(`
      const told = [];
      const session = await openSession({ model: "llama3.2:3b", window: 8192, llm: ollama({ url: ${JSON.stringify(fake.url)} }) });
      session.on("prompt-truncated", ({ sent, read }) => told.push([sent > 1000, read]));
      await session.append(talk(60));
      await session.send("And now?").reply();
      out.reply = [...told];
      await session.append(talk(100, 60));
      await session.compact();
      out.summary = told.slice(out.reply.length);
      out.author = session.layers().at(-1).author;
      out.taken = session.layers().some((layer) => layer.summary.includes("KANARIENVOGEL."));
      await session.close();
    `);
    assert.deepEqual(got.reply, [[true, 200]]);
    assert.deepEqual(got.summary, [[true, 200]]);
    assert.deepEqual([got.author, got.taken], [{ by: "fallback", reason: "prompt_truncated" }, false]);
  } finally {
    await fake.close();
  }
});

/** F 69: restoring twice is restoring once; a damaged snapshot is an error, and the others work. */
test("a damaged snapshot", async () => {
  const got = await run(`
    const store = memoryStorage();
    const first = await openSession({ id: "s", model: "any", window: 2048, store });
    await first.append(talk(30));
    const [a, b] = [await first.snapshots.create("a"), await first.append(talk(4, 30)).then(() => first.snapshots.create("b"))];
    await first.close();
    const [key, row] = [...store.rows].find(([, { table, key }]) => table === "snapshots" && key[1] === a);
    store.rows.set(key, { ...row, value: row.value.replace('\\\\"a\\\\"', '\\\\"x\\\\"').replace('"a"', '"x"') });
    const second = await openSession({ id: "s", model: "any", store });
    out.damaged = await failed(second.snapshots.restore(a));
    out.after = second.info.messages;
    await second.append(talk(2, 34));
    await second.snapshots.restore(b);
    const once = JSON.stringify(second.window());
    await second.snapshots.restore(b);
    out.twice = [JSON.stringify(second.window()) === once, second.window().messages.at(-1).content.includes("Message 33")];
    await second.close();
  `);
  assert.match(got.damaged, /^[a-z_]+$/);
  assert.notEqual(got.damaged, "done");
  assert.equal(got.after, 34);
  assert.deepEqual(got.twice, [true, true]);
});

/** F 79: a server that is busy or loading is asked again for a summary, one that failed or refuses is not; each has its code. */
test("busy servers are asked again, others are not", async () => {
  const fake = await startFake({});
  try {
    const got = await run(`
      const url = ${JSON.stringify(fake.url)};
      const script = (next) => fetch(url + "/__script", { method: "POST", body: JSON.stringify(next) });
      for (const mode of ["busy-429", "busy-503", "loading-503", "status-500", "unauthorized"]) {
        const session = await openSession({ model: "llama3.2:3b", window: 4096, llm: ollama({ url }) });
        await session.append(quiet(240));
        await script({ hostile: mode, hostile_times: 1 });
        await session.compact();
        const { by, reason } = session.layers()[0].author;
        out[mode] = [by, reason ?? null];
        await session.close();
      }
    `);
    // it was asked again and answered: its notes are taken, or refused for what they say and for no fault of the server
    for (const mode of ["busy-429", "busy-503", "loading-503"]) assert.ok([null, "invented", "fewer_facts", "repetitive"].includes(got[mode][1]), `${mode}: ${got[mode]}`);
    assert.deepEqual([got["status-500"], got.unauthorized], [["fallback", "server_failed"], ["fallback", "unauthorized"]]);
  } finally {
    await fake.close();
  }
});

/** F 68: a snapshot whose rows are gone is refused, and nothing changes. */
test("a snapshot whose rows are gone", async () => {
  const got = await run(`
    const store = memoryStorage();
    const first = await openSession({ id: "s", model: "any", window: 2048, store });
    await first.append(talk(30));
    const snapshot = await first.snapshots.create("a");
    await first.pins.add("Gate 4 is shut.");
    await first.close();
    for (const [key, row] of [...store.rows]) if (row.table === "records" && row.key[1] === 1) store.rows.delete(key);
    const second = await openSession({ id: "s", model: "any", store });
    const before = JSON.stringify(second.window());
    out.refused = await failed(second.snapshots.restore(snapshot));
    out.same = [JSON.stringify(second.window()) === before, second.info.messages, second.pins.list().length];
    await second.close();
  `);
  assert.match(got.refused, /^[a-z_]+$/);
  assert.notEqual(got.refused, "done");
  assert.deepEqual(got.same, [true, 30, 1]);
});
