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
