// A state, options and values that are not what they should be, through the packed package: an error with a code or a correct
// result, and afterwards everything still works.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { install, remove, run } from "./consumer.mjs";

let folder;
before(() => { folder = install(); });
after(() => remove(folder));

const SCENE = `
  import { compact, countTokens, init, replay, Tokenizer, validate } from "palimpsest";
  await init();
  const list = (topic) => Array.from({ length: 20 }, (_, n) => [
    { role: "user", content: "Look at src/" + topic + "_" + n + ".rs. Never rename it." },
    { role: "assistant", content: null, tool_calls: [{ id: "c" + n, type: "function", function: { name: "read", arguments: JSON.stringify({ path: topic + n }) } }] },
    { role: "tool", tool_call_id: "c" + n, content: ("pub fn " + topic + "_" + n + "() {}\\n").repeat(8) },
    { role: "assistant", content: "src/" + topic + "_" + n + ".rs returns " + n + "." },
  ]).flat();
  const grown = (topic) => {
    const all = list(topic);
    const first = compact(all.slice(0, 48), { window: 1024 });
    const second = compact(all, { window: 1024, state: first.state });
    return { all, short: second.messages, state: second.state };
  };
`;

/** I10: every value of a state removed, emptied, exchanged or taken from another list's state. */
test("a state that was edited is never a trap", () => {
  const got = run(folder, `${SCENE}
    const { all, short, state } = grown("part");
    const other = grown("piece").state;
    const ways = [];
    const walk = (value, way) => { if (typeof value === "object" && value !== null) for (const key of Object.keys(value)) { ways.push([...way, key]); walk(value[key], [...way, key]); } };
    walk(state, []);
    const at = (root, way) => way.reduce((value, key) => value?.[key], root);
    const empty = (value) => Array.isArray(value) ? [] : value === null ? 1 : typeof value === "object" ? {} : typeof value === "string" ? "" : typeof value === "number" ? 0 : !value;
    const edits = [
      (parent, key) => Array.isArray(parent) ? parent.splice(key, 1) : delete parent[key],
      (parent, key) => { parent[key] = empty(parent[key]); },
      (parent, key) => { parent[key] = typeof parent[key] === "number" ? 4294967295 : null; },
      (parent, key, n) => { parent[key] = structuredClone(at(state, ways[(n * 31 + 7) % ways.length])); },
      (parent, key, n, way) => { parent[key] = structuredClone(at(other, way)); },
    ];
    const codes = {};
    let wrong = 0, calls = 0;
    const step = Math.max(1, Math.floor(ways.length / 240));
    for (let n = 0; n < ways.length; n += n < 60 ? 1 : step) for (const edit of edits) {
      const edited = structuredClone(state);
      const way = ways[n];
      edit(at(edited, way.slice(0, -1)), way.at(-1), n, way);
      for (const messages of [all, short]) {
        calls++;
        try {
          const { report, messages: done } = compact(messages, { window: 1024, state: edited });
          if (report.after.tokens > report.limit || !validate(done).ok) wrong++;
          codes.ok = (codes.ok ?? 0) + 1;
        } catch (error) {
          codes[error.code ?? String(error)] = (codes[error.code ?? String(error)] ?? 0) + 1;
        }
      }
    }
    const again = compact(all, { window: 1024, state });
    console.log(JSON.stringify({ codes, wrong, calls, works: again.report.adjustments, same: JSON.stringify(again.messages) === JSON.stringify(short) }));
  `);
  assert.ok(got.calls > 1_000, String(got.calls));
  assert.deepEqual(Object.keys(got.codes).sort(), ["invalid_options", "ok"], JSON.stringify(got.codes));
  assert.deepEqual([got.wrong, got.works, got.same], [0, [], true], JSON.stringify(got));
});

/** F33–F35, I10: what JSON cannot say and what is no tokenizer have codes; nothing is kept free if nothing shall be. */
test("odd values have codes", () => {
  const got = run(folder, `${SCENE}
    const circle = { role: "user", content: [] };
    circle.content.push({ type: "text", text: "x", circle });
    const big = { role: "user", content: "x", n: 1n };
    const policy = { base: "balanced" };
    policy.policy = policy;
    const code = (use) => { try { use(); return "none"; } catch (error) { return error.name + " " + error.code; } };
    const options = { window: 1024 };
    const bad = {
      cycle: code(() => compact([circle], options)), bigint: code(() => compact([big], options)),
      "cycle in tools": code(() => compact([], { ...options, tools: [circle] })), "bigint in a goal": code(() => compact([], { ...options, goal: { description: 1n } })),
      "function in a goal": code(() => compact([], { ...options, goal: { description: () => 1 } })), "goal that holds itself": code(() => { const goal = { description: "x" }; goal.milestones = goal; compact([], { ...options, goal }); }),
      "cycle in a policy": code(() => compact([], { ...options, policy })),
      "counted cycle": code(() => countTokens([circle])), "counted bigint": code(() => countTokens([big])), "replayed bigint": await replay([big], options).then(() => "none", (error) => error.name + " " + error.code),
      "object as tokenizer": code(() => compact([], { ...options, tokenizer: { count: () => 1 } })), "null as tokenizer": code(() => countTokens("x", null)),
      "reserve below 0": code(() => compact([], { ...options, reserve: -1 })), "reserve in words": code(() => compact([], { ...options, reserve: "0" })),
      "no number": code(() => compact([], { ...options, reserve: NaN })),
    };
    const limits = [undefined, 0, 1, 300].map((reserve) => compact([{ role: "user", content: "x" }], { window: 1024, ...(reserve === undefined ? {} : { reserve }) }).report.limit);
    const floors = [150, 400, 2000].map((n) => { try { compact([{ role: "user", content: "This is one sentence of many. ".repeat(n) }], { window: 1024 }); } catch (error) { return { ...error.details, code: error.code, words: error.message }; } });
    const works = compact(list("part"), options).report.changed && Tokenizer.estimate().count("x") > 0;
    console.log(JSON.stringify({ bad, limits, floors, works }));
  `);
  for (const [what, code] of Object.entries(got.bad)) {
    const expected = /cycle|bigint/.test(what) && what !== "bigint in a goal" ? "PalimpsestError bad_input" : "PalimpsestError invalid_options";
    assert.equal(code, expected, what);
  }
  const [usual, none, one, some] = got.limits;
  assert.deepEqual([none - one, none - some], [1, 300]);
  assert.ok(usual < none && none > 1000, String(got.limits));
  for (const { floor, limit, code, words } of got.floors) {
    assert.equal(code, "cannot_fit");
    assert.ok(floor > limit && words.includes(String(floor)), words);
  }
  assert.ok(got.floors[0].floor < got.floors[1].floor && got.floors[1].floor < got.floors[2].floor, JSON.stringify(got.floors));
  assert.equal(got.works, true);
});
