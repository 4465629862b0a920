// The shell without a network, and sessions that are long.

import assert from "node:assert/strict";
import test from "node:test";
import { begin, budget, cleanUp, importFile, say, transcript } from "./harness.mjs";
import { messages, ready, text, until } from "./acts.mjs";

test.afterEach(cleanUp);

/// The page opens, reads and searches when the server that gave it is gone.
test("the shell works without a network", { timeout: 180_000 }, async () => {
  const world = await begin({ script: { replies: ["Kept."] } });
  const { page } = world;
  await ready(page);
  await say(page, "Remember the violet");
  await messages(page, 2);
  await until(page, async () => (await navigator.serviceWorker.getRegistration())?.active?.state === "activated" && (await caches.keys()).length === 1);
  await world.site.close();
  await page.reload();
  await messages(page, 2);
  assert.match(await text(page, ".thread"), /Remember the violet[\s\S]*Kept\./);
  await page.evaluate(() => (location.hash = "library"));
  await page.waitForSelector("#search-all");
  await page.type("#search-all", "violet");
  await page.waitForSelector(".hits li");
  world.site.close = async () => {};
  await world.end({ tolerate: [/ERR_CONNECTION_REFUSED|Failed to load resource|Failed to fetch/] });
});

/// 5,000 messages open at their end, with no more of them in the page than are looked at; and typing does
/// not get slower than in a short session by more than the noise of a busy machine.
test("a session of 5,000 messages opens at its end and types as a short one", { timeout: 400_000 }, async () => {
  const world = await begin({ settings: { window: 131072, summary_model: "-" } });
  const { page } = world;
  await ready(page);
  const talk = (n) => Array.from({ length: n }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: `Line ${i + 1} of a talk about bread.` }));
  const typing = async () => {
    await page.focus("#msg");
    await page.$eval("#msg", (field) => (field.value = ""));
    return page.evaluate(async () => {
      const field = document.querySelector("#msg");
      const times = [];
      for (let i = 0; i < 40; i += 1) {
        const began = performance.now();
        field.value += "x";
        field.dispatchEvent(new InputEvent("input", { bubbles: true }));
        times.push(performance.now() - began);
        await new Promise((done) => setTimeout(done, 10));
      }
      times.sort((a, b) => a - b);
      return times[20];
    });
  };
  await importFile(page, transcript(talk(100), "Short"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Short");
  const short = await typing();
  await importFile(page, transcript(talk(5000), "Long"));
  await page.waitForFunction(() => document.querySelector("#h-chat").textContent === "Long", { timeout: 120_000, polling: 200 });
  await until(page, () => document.querySelector(".thread .msg:last-of-type .prose")?.textContent === "Line 5000 of a talk about bread.");
  const shown = (await page.$$(".thread .msg")).length;
  assert.ok(shown <= 80, `${shown} messages in the page`);
  assert.ok((await budget(page)).used > 20_000);
  await until(page, () => { const t = document.querySelector(".thread"); return t.scrollHeight - t.scrollTop - t.clientHeight < 5; });
  const long = await typing();
  console.log(`typing, median: ${short.toFixed(3)} ms at 100 messages, ${long.toFixed(3)} ms at 5,000`);
  assert.ok(long < short * 8 + 2, `${short} → ${long} ms`);
  const began = Date.now();
  await page.reload();
  await until(page, () => document.querySelector(".thread .msg:last-of-type .prose")?.textContent === "Line 5000 of a talk about bread.");
  console.log(`5,000 messages stand ${Date.now() - began} ms after a reload`);
  await world.end();
});
