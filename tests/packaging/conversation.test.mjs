// A conversation that is held open, through the packed package: the lists that compact() gives, saved and loaded, refused and freed.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { install, remove, root, run } from "./consumer.mjs";

let folder;
before(() => {
  folder = install();
  fs.copyFileSync(path.join(root, "tests/bench/peers/lists.mjs"), path.join(folder, "lists.mjs"));
});
after(() => remove(folder));

/** 17.5: step for step the same list and report as compact() with the state of the call before, from both entries. */
test("a conversation gives what compact gives of the whole list", () => {
  for (const entry of ["palimpsest", "palimpsest/slim"]) {
    const got = run(folder, `
      import fs from "node:fs";
      import { Conversation, compact, countTokens, init } from ${JSON.stringify(entry)};
      import { agent, chat } from "./lists.mjs";
      await init(fs.readFileSync("node_modules/palimpsest/dist/wasm/palimpsest_npm_bg.wasm"));
      const out = { steps: 0, changed: 0, different: [], own: 0 };
      for (const [list, options] of [[agent(260), { window: 4096 }], [chat(200), { window: 2048, pins: ["Mara has the key."] }], [chat(120, 7), { window: 2048, policy: "checkpoints", recall: false }]]) {
        const conversation = new Conversation(options);
        let state;
        for (let n = 1; n < list.length; n++) {
          conversation.push(list[n - 1]);
          if (list[n].role !== "assistant") continue;
          const fitted = conversation.fit();
          const whole = compact(list.slice(0, n), { ...options, state });
          state = whole.state;
          out.steps++;
          out.changed += fitted.report.changed;
          if (JSON.stringify([fitted.messages, fitted.report]) !== JSON.stringify([whole.messages, whole.report])) out.different.push(n);
          out.own += fitted.messages.filter((message) => list.includes(message)).length;
        }
        conversation[Symbol.dispose]();
      }
      console.log(JSON.stringify(out));
    `);
    assert.deepEqual(got.different, [], entry);
    assert.ok(got.steps > 280 && got.changed > 150 && got.own > 1_000, JSON.stringify(got));
  }
});

/** 17.5: what was saved goes on as before; other text, another version and changed text have codes. */
test("a conversation is saved and loaded", () => {
  const got = run(folder, `
    import { Conversation, compact, init } from "palimpsest";
    import { chat } from "./lists.mjs";
    await init();
    const list = chat(160);
    const tools = [{ type: "function", function: { name: "recall", parameters: { type: "object", properties: {} } } }];
    const first = new Conversation({ window: 2048, tools, policy: { base: "balanced", keepRecent: { by: "messages", messages: 4 } }, pins: ["Mara has the key."] });
    first.push(...list.slice(0, 140));
    first.fit();
    const saved = first.save();
    const second = Conversation.load(saved);
    const both = [first, second].map((one) => {
      one.push(...list.slice(140));
      const { messages, report } = one.fit();
      return JSON.stringify([messages, report, one.length, one.messages]);
    });
    const code = (use) => { try { use(); return "none"; } catch (error) { return error.name + " " + error.code; } };
    const parsed = JSON.parse(saved);
    console.log(JSON.stringify({
      same: both[0] === both[1],
      again: first.save() === second.save(),
      pretty: code(() => Conversation.load(JSON.stringify(parsed, null, 2)).fit()),
      codes: {
        newer: code(() => Conversation.load(JSON.stringify({ ...parsed, version: 9 }))),
        edited: code(() => Conversation.load(saved.replace("Mara", "Nora"))),
        "another option": code(() => Conversation.load(JSON.stringify({ ...parsed, options: { ...parsed.options, options: { window: 8192 } } }))),
        cut: code(() => Conversation.load(saved.slice(0, -4))),
        "no text": code(() => Conversation.load(parsed)),
        "a list": code(() => Conversation.load("[]")),
        "a state": code(() => Conversation.load(JSON.stringify(compact(list, { window: 2048 }).state))),
      },
    }));
  `);
  assert.deepEqual([got.same, got.again, got.pretty], [true, true, "none"]);
  const { newer, ...others } = got.codes;
  assert.equal(newer, "PalimpsestError saved_newer");
  for (const [what, code] of Object.entries(others)) assert.equal(code, "PalimpsestError saved_damaged", what);
});

/** 17.5: an error leaves a conversation as it was; one that was disposed of says so. */
test("what is refused changes nothing", () => {
  const got = run(folder, `
    import { Conversation, init, Tokenizer } from "palimpsest";
    import { chat } from "./lists.mjs";
    const code = (use) => { try { use(); return "none"; } catch (error) { return error.name + " " + error.code + ": " + error.message; } };
    const early = code(() => new Conversation({ window: 2048 }));
    await init();
    const one = new Conversation({ window: 2048, tokenizer: Tokenizer.estimate() });
    one.push(...chat(120));
    one.fit();
    const before = one.save();
    const circle = { role: "user", content: [] };
    circle.content.push(circle);
    const refused = {
      role: code(() => one.push({ role: "user", content: "x" }, { role: "nobody", content: "x" })),
      circle: code(() => one.push(circle)),
      option: code(() => new Conversation({ windw: 2048 })),
      window: code(() => new Conversation({ window: 0 })),
      state: code(() => new Conversation({ window: 2048, state: {} })),
      policy: code(() => new Conversation({ window: 2048, policy: "best" })),
    };
    const same = one.save() === before && one.length === 120;
    one.push({ role: "user", content: "This is one sentence of many. ".repeat(2000) });
    const long = [code(() => one.fit()), code(() => one.fit())];
    one.push({ role: "assistant", content: "Too long." }, { role: "user", content: "Then shorter." });
    const after = code(() => one.fit());
    one[Symbol.dispose]();
    one[Symbol.dispose]();
    console.log(JSON.stringify({ early, refused, same, long, after, closed: [code(() => one.push({ role: "user", content: "x" })), code(() => one.fit()), code(() => one.save())] }));
  `);
  assert.match(got.early, /^PalimpsestError not_initialized/);
  assert.match(got.refused.role, /^PalimpsestError bad_input: Message 121: unknown role/);
  assert.match(got.refused.circle, /^PalimpsestError bad_input/);
  for (const name of ["option", "state"]) assert.match(got.refused[name], /^PalimpsestError invalid_options/, name);
  assert.match(got.refused.window, /^PalimpsestError invalid_window/);
  assert.match(got.refused.policy, /^PalimpsestError unknown_policy/);
  assert.equal(got.same, true);
  for (const code of got.long) assert.match(code, /^PalimpsestError cannot_fit/);
  assert.equal(got.after, "none");
  for (const code of got.closed) assert.match(code, /^PalimpsestError closed/);
});

/**
 * 17.11: ten times the history, and a step costs about the same; with a state and the list it grows no faster than the list. Processor
 * time, the least of several rounds; a busy machine only ever adds, so it is measured again where a limit is passed.
 */
test("a step does not grow with the history", () => {
  const got = run(folder, `
    import { Conversation, compact, init } from "palimpsest";
    import { agent } from "./lists.mjs";
    await init();
    const spent = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
    const taken = (thing) => { const from = spent(); thing(); return spent() - from; };
    const opened = (count) => {
      const list = agent(count + 4000);
      const one = new Conversation({ window: 8192 });
      one.push(...list.slice(0, count));
      one.fit();
      const { state } = compact(list.slice(0, count), { window: 8192 });
      let next = count;
      // as many steps as there are between several compactions
      const steps = () => { for (let n = 0; n < 160; n++) { one.push(list[next], list[next + 1]); next += 2; one.fit(); } };
      return { live: () => taken(steps), state: () => taken(() => compact(list.slice(0, count + 2), { window: 8192, state })) };
    };
    const [short, long] = [opened(1000), opened(10000)];
    const best = { live: [Infinity, Infinity], state: [Infinity, Infinity] };
    const grown = ([before, after]) => after / before;
    for (let round = 0; round < 10; round++) {
      if (round >= 3 && grown(best.live) <= 1.5 && grown(best.state) <= 12) break;
      for (const what of ["live", "state"]) {
        best[what][0] = Math.min(best[what][0], short[what]());
        best[what][1] = Math.min(best[what][1], long[what]());
      }
    }
    console.log(JSON.stringify({ live: grown(best.live), state: grown(best.state), best }));
  `);
  assert.ok(got.live <= 1.5, JSON.stringify(got));
  assert.ok(got.state <= 12, JSON.stringify(got));
});

/** R2: requests are measured whoever made them: one that only grows is read once, one that loses its beginning is read anew. */
test("requests are measured one after the other", () => {
  const got = run(folder, `
    import { init, measureRequests } from "palimpsest";
    await init();
    const call = (path) => ({ role: "assistant", content: "", tool_calls: [{ id: path, type: "function", function: { name: "read", arguments: JSON.stringify({ path }) } }] });
    const history = [];
    for (let n = 0; n < 40; n += 1) history.push({ role: "user", content: "The file of step " + n + " is src/step_" + n + "/open.rs, read it when it is needed." }, n % 2 ? call("src/step_" + (n - 1) + "/open.rs") : { role: "assistant", content: "Noted: step " + n + "." });
    const replies = history.flatMap(({ role }, n) => (role === "assistant" ? [n] : []));
    const of = (window, limit) => measureRequests(history, replies.map((at) => ({ at, messages: window(at), ...(limit && { limit }) })), { full: 0 });
    const failed = (promise) => promise.then(() => "done", (e) => e.code + ": " + e.message);
    console.log(JSON.stringify({
      all: await of((at) => history.slice(0, at)),
      // equal messages are the same message, whichever object says them
      copies: await of((at) => structuredClone(history.slice(0, at))),
      newest: await of((at) => history.slice(Math.max(0, at - 1), at), 20),
      late: await failed(measureRequests(history, [{ at: 81, messages: [] }])),
      unordered: await failed(measureRequests(history, [{ at: 3, messages: [] }, { at: 1, messages: [] }])),
      wrong: await failed(measureRequests(history, [], { fulll: 3 })),
      none: await measureRequests([], []),
    }));`);
  const { all, copies, newest } = got;
  assert.deepEqual([all.requests, all.breaks, all.reread, all.needed, all.seen], [40, 0, 0, 20, 20]);
  assert.equal(all.cost, all.costOfEverything);
  assert.deepEqual(copies, all);
  assert.deepEqual([newest.breaks, newest.seen, newest.seenInTail], [39, 0, 0]);
  assert.ok(newest.reread > 0 && newest.full > 30 && newest.leastFill > 0.5 && newest.leastFill <= newest.meanFill, JSON.stringify(newest));
  assert.match(got.late, /^bad_input: .*Number messages from 0 and give the requests in their order/);
  assert.match(got.unordered, /^bad_input: /);
  assert.match(got.wrong, /^invalid_options: There is no option "fulll"\. Did you mean "full"\?/);
  assert.deepEqual([got.none.requests, got.none.cost, got.none.leastFill], [0, 0, 1]);
});
