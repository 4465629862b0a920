// `palimpsest/async`: what a program gets that compacts long lists and has something else to do meanwhile. Through the packed package,
// in Node and in a page.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { launch, POLICY, serve } from "./browser.mjs";
import { install, remove, runAsync } from "./consumer.mjs";

/** What both sides share: a long list, and the longest time for which nothing else could run while `act` went on. */
const SHARED = `
  export const talk = (n) => Array.from({ length: n }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: \`Parcel \${1000 + i} weighs \${i % 40} kg and goes to gate \${i % 9}: the driver of lorry \${i * 7919 % 997} signs for it before \${i % 12 + 1} o'clock.\` }));
  export const held = async (act) => {
    let [longest, last, on] = [0, performance.now(), true];
    const look = () => {
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
      if (on) setTimeout(look, 1);
    };
    look();
    await new Promise((done) => setTimeout(done, 20));
    const value = await act();
    await new Promise((done) => setTimeout(done, 20));
    on = false;
    return { longest, value };
  };
`;

let folder;
before(() => {
  folder = install();
  fs.writeFileSync(path.join(folder, "index.html"), '<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>Mine</title></html>');
  fs.writeFileSync(path.join(folder, "shared.js"), SHARED);
});
after(() => remove(folder));

/** Runs a script with the package in scope and gives back what `out` holds at its end. */
const run = (script) => runAsync(folder, `
  import { compact, init, Tokenizer } from "palimpsest";
  import { compactAsync } from "palimpsest/async";
  import { held, talk } from "./shared.js";
  const failed = (act) => Promise.resolve().then(act).then(() => "done", (e) => (e?.name === "PalimpsestError" ? { code: e.code, details: e.details, message: e.message } : String(e)));
  const out = {};
  ${script}
  console.log(JSON.stringify(out));
`);

/** The same comes out as of `compact`, message by message, and what is unchanged is the caller's own object. */
test("a thread compacts as the calling one does", async () => {
  const got = await run(`
    const list = talk(400);
    out.early = await failed(() => compactAsync(list, { window: 2048 }));
    await init();
    const options = { window: 2048, pins: ["Gate 7 is closed."], goal: { description: "Every parcel arrives." }, tools: [{ type: "function", function: { name: "scan", parameters: { type: "object" } } }] };
    const here = compact(list, options);
    const there = await compactAsync(list, options);
    out.same = JSON.stringify(here) === JSON.stringify(there);
    out.own = there.messages.filter((message) => list.includes(message)).length;
    // several at once, each with the state of its own list
    const lists = [list.slice(0, 200), list.slice(0, 300), list.slice(0, 20)];
    const all = await Promise.all(lists.map((one) => compactAsync(one, { window: 1024 })));
    out.several = all.every((one, at) => JSON.stringify(one) === JSON.stringify(compact(lists[at], { window: 1024 })));
    const more = [...lists[0], ...talk(30)];
    out.again = JSON.stringify(await compactAsync(more, { window: 1024, state: all[0].state })) === JSON.stringify(compact(more, { window: 1024, state: all[0].state }));
    // a list that grows meanwhile belongs to the next call
    const growing = [...list];
    const begun = compactAsync(growing, { window: 2048 });
    growing.length = 0;
    out.grown = (await begun).messages.every((message) => message !== undefined);
    // a tokenizer is the calling thread's
    out.counted = JSON.stringify(await compactAsync(list, { window: 2048, tokenizer: (text) => Math.ceil(text.length / 4) })) === JSON.stringify(compact(list, { window: 2048, tokenizer: (text) => Math.ceil(text.length / 4) }));
    out.alive = process.getActiveResourcesInfo().filter((name) => /Worker|MessagePort/.test(name));
  `);
  assert.equal(got.early.code, "not_initialized");
  assert.match(got.early.message, /compactAsync\(\)/);
  assert.ok(got.same && got.several && got.again && got.grown && got.counted, JSON.stringify(got));
  assert.ok(got.own > 2, `${got.own} messages are the caller's`);
  assert.deepEqual(got.alive, [], "an idle thread keeps no program alive");
});

/** Errors have their codes and numbers; a signal ends the call, and the next one works. */
test("what is wrong is said as of compact, and a signal ends it", async () => {
  const got = await run(`
    await init();
    const both = async (...given) => {
      const [there, here] = [await failed(() => compactAsync(...given)), await failed(() => compact(...given))];
      return [there, JSON.stringify(there) === JSON.stringify(here)];
    };
    out.wrong = [
      await both([{ role: "user", content: "word ".repeat(5000) }], { window: 512 }),
      await both([{ role: "nobody", content: 7 }], { window: 512 }),
      await both(talk(3), { window: 0 }),
      await both(talk(3), { windw: 100 }),
      await both(talk(3), { window: 2048, mode: () => {} }),
      await both("talk", { window: 2048 }),
      await both(talk(3)),
    ];
    const long = talk(4000);
    const controller = new AbortController();
    const ended = compactAsync(long, { window: 4096, signal: controller.signal }).then(() => "done", (reason) => reason);
    setTimeout(() => controller.abort("enough"), 5);
    out.ended = await ended;
    out.before = await compactAsync(long, { window: 4096, signal: AbortSignal.abort("never") }).catch((reason) => reason);
    out.after = (await compactAsync(talk(100), { window: 1024 })).report.changed;
  `);
  assert.deepEqual(got.wrong.map(([error]) => error.code), ["cannot_fit", "bad_input", "invalid_window", "invalid_options", "invalid_options", "bad_input", "invalid_options"]);
  assert.ok(got.wrong.every(([, same]) => same), JSON.stringify(got.wrong));
  assert.ok(got.wrong[0][0].details.floor > 512);
  assert.deepEqual([got.ended, got.before, got.after], ["enough", "never", true]);
});

/** While a long list is compacted, the event loop is free for most of the time that the calling thread would take. */
test("the event loop goes on meanwhile", async () => {
  const got = await run(`
    await init();
    const list = talk(6000);
    compact(list.slice(0, 50), { window: 512 });
    const here = await held(async () => compact(list, { window: 8192 }).messages.length);
    const there = await held(async () => (await compactAsync(list, { window: 8192 })).messages.length);
    out.here = here;
    out.there = there;
  `);
  console.log(`# longest pause: ${got.here.longest.toFixed()} ms on the calling thread, ${got.there.longest.toFixed()} ms beside it`);
  assert.equal(got.there.value, got.here.value);
  assert.ok(got.there.longest < got.here.longest / 3, JSON.stringify(got));
});

/** In a page it is a worker; where the page's rules allow none, the page does it itself, with the same result. */
test("in a page, with a worker and without", async () => {
  const chrome = await launch();
  try {
    for (const workers of ["'self'", "'none'"]) {
      const policy = POLICY.replace("worker-src 'self'", `worker-src ${workers}`);
      const server = await serve(folder, { policy });
      const page = await chrome.browser.newPage();
      try {
        await page.goto(server.url);
        const got = await page.evaluate(async () => {
          const { init, compact } = await import("./node_modules/palimpsest/dist/index.js");
          const { compactAsync } = await import("./node_modules/palimpsest/dist/async.js");
          await init();
          const { talk, held } = await import("./shared.js");
          const list = talk(4000);
          compact(list.slice(0, 50), { window: 512 });
          const here = await held(async () => JSON.stringify(compact(list, { window: 8192 })));
          const there = await held(async () => JSON.stringify(await compactAsync(list, { window: 8192 })));
          const wrong = await compactAsync([{ role: "user", content: "word ".repeat(5000) }], { window: 512 }).catch((error) => [error.name, error.code, error.details.floor > 512]);
          return { same: here.value === there.value, pauses: [here.longest, there.longest], wrong };
        });
        console.log(`# longest pause with workers from ${workers}: ${got.pauses.map((ms) => ms.toFixed()).join(" and ")} ms`);
        assert.ok(got.same);
        assert.deepEqual(got.wrong, ["PalimpsestError", "cannot_fit", true]);
        if (workers === "'self'") assert.ok(got.pauses[1] < got.pauses[0] / 3, JSON.stringify(got.pauses));
      } finally {
        await page.close();
        await server.close();
      }
    }
  } finally {
    await chrome.close();
  }
});
