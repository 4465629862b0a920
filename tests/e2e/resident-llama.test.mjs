// A model in the page: llama.cpp in wasm, in a worker, with the policy that `cargo xtask serve` sends and the small model that it brings.
// Nothing is asserted about what it says. Slow, so it runs only when asked for: PALIMPSEST_LLAMA=1.

import assert from "node:assert/strict";
import test from "node:test";
import { click, patient, text, until } from "./acts.mjs";
import { ENGINES, begin, budget, cleanUp, say } from "./harness.mjs";

test.afterEach(cleanUp);

/** An address at which nobody answers, on any machine, and what browsers say of it. */
const NOBODY = "http://127.0.0.1:9";
const ABSENT = { tolerate: [/ERR_CONNECTION_REFUSED|ERR_UNSAFE_PORT|Failed to load resource/, /request: http:\/\/127\.0\.0\.1:9/] };

const slow = patient(400_000);
const replies = (page) => page.$$eval(".msg:not(.you):not(.replying) .prose", (all) => all.map((one) => one.textContent.trim()));
const skip = process.env.PALIMPSEST_LLAMA ? false : "set PALIMPSEST_LLAMA=1 to talk with the real model in the page";

/// On a bare machine the first command ends in a conversation: the small model that `serve` brings answers in the page, with exact counts
/// by its own vocabulary, until the conversation is compacted, and on; a reply is stopped.
for (const engine of ENGINES) test(`a conversation with the model in the page, until it is compacted and on (${engine})`, { skip, timeout: 1_500_000 }, async () => {
  const world = await begin({ engine, host: { asServed: true }, settings: { address: NOBODY, window: 1024 } });
  const { page } = world;
  await click(page, "#use-page-model");
  await slow(page, () => document.querySelector(".live.okc"));
  const answered = (n) => slow(page, (n) => document.querySelectorAll(".msg:not(.you):not(.replying) .prose").length >= n && !document.querySelector(".replying"), n);
  const began = Date.now();
  await say(page, "Name three kinds of bread.");
  await answered(1);
  const first = Date.now() - began;
  assert.ok((await replies(page))[0].length > 0);
  let [turns, exact] = [1, false];
  while (!(await page.$(".card.done")) && turns < 12) {
    turns += 1;
    await say(page, `Kind ${turns}: describe a bread of the city number ${turns} in two sentences, with its flour, its shape and its crust.`);
    await answered(turns);
    await new Promise((then) => setTimeout(then, 1000));
    exact ||= (await page.$eval("#s-chat .budget", (bar) => bar.dataset.source)) === "exact";
  }
  assert.ok(exact, "it was counted by the model's own vocabulary");
  await page.waitForSelector(".card.done", { timeout: 60_000 });
  const after = await budget(page);
  assert.ok(after.used < 1024, JSON.stringify(after));
  await say(page, "Thank you. Say goodbye.");
  await answered(turns + 1);
  // a reply is stopped, and the next one comes
  await say(page, "Tell a long story of a baker who sails around the world.");
  await slow(page, () => (document.querySelector(".replying .prose")?.textContent ?? "").length > 20);
  await click(page, "#stop");
  await until(page, () => !document.querySelector(".replying"));
  const said = await replies(page);
  // what was said is there after a reload, and so is the model
  await page.reload();
  await slow(page, (n) => document.querySelectorAll(".msg:not(.you):not(.replying) .prose").length === n && document.querySelector(".live.okc"), said.length);
  console.log(`# first answer after ${first} ms, compacted after ${turns} turns to ${after.used} tokens; the last reply: ${JSON.stringify(said.at(-1).slice(0, 120))}`);
  assert.match(await text(page, "#s-chat .head"), /smollm2/);
  await world.end(ABSENT);
});
