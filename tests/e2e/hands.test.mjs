// A person's hands on layers, and the conversation that shows them to a newcomer.

import assert from "node:assert/strict";
import test from "node:test";
import { begin, budget, cleanUp } from "./harness.mjs";
import { click, ready, text, until } from "./acts.mjs";

const SLOW = { timeout: 120_000 };
test.afterEach(cleanUp);

/** The next window, message by message. */
const windowText = async (page) => {
  await page.evaluate(() => (location.hash = "context"));
  await click(page, ".lens [data-lens=sees]");
  await page.waitForSelector(".sent pre");
  const all = await page.$$eval(".sent pre", (list) => list.map((e) => e.textContent).join("\n---\n"));
  await page.evaluate(() => (location.hash = "chat"));
  return all;
};

const type = (page, id, words) => page.$eval(id, (field, words) => {
  field.value = words;
  field.dispatchEvent(new Event("input", { bubbles: true }));
}, words);

const submit = (page) => click(page, "dialog[open] button[type=submit]");
const closed = (page) => until(page, () => !document.querySelector("dialog"));

/// P10, C1, C4: a newcomer opens the sample with one click and no byte of it before, sees it compacted, writes the layer over,
/// takes that back, has it written again, by the model as well, covers a range from a message's menu, and lifts the layer.
test("the sample is opened with a click, compacted, written over, written again and lifted", SLOW, async () => {
  const summary = "Nadia, Ilse and the user travel through Portugal by train; the plan, the bookings and the money were settled step by step.";
  const world = await begin({ settings: { summary_model: "-" }, script: { summary } });
  const { page } = world;
  const asked = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await ready(page);
  await page.waitForSelector("#sample");
  assert.ok(!asked.some((name) => name.includes("sample")), "nothing of it is fetched before the click");
  await click(page, "#sample");
  await page.waitForSelector(".card.done .hands");
  assert.equal(asked.filter((name) => /\/sample\/trip\.[0-9a-f]+\.json$/.test(name)).length, 1);
  assert.equal(await text(page, "#h-chat"), "By train through Portugal");
  const covered = await budget(page);
  assert.match(await text(page, ".card.done .facts"), /messages 1–96/);
  // what the compaction has kept is not asked about
  const kept = await page.$$eval("section:has(#add-pin) > .marks li", (all) => all.map((line) => line.textContent));
  assert.ok(kept.some((line) => line.includes("So never suggest a seafood restaurant")), kept.join());
  const question = await page.evaluate(() => document.querySelector("#ask q")?.textContent ?? "");
  assert.ok(question === "" || !kept.some((line) => line.includes(question)), question);

  // at 360 px and at 200 % zoom there are five lines of conversation, and nothing is wider than the page
  for (const [width, height] of [[360, 740], [720, 450], [1440, 900]]) {
    await page.setViewport({ width, height });
    await until(page, (width) => innerWidth === width && document.documentElement.scrollWidth <= width, width);
    await until(page, () => document.querySelector(".thread").clientHeight >= 5 * parseFloat(getComputedStyle(document.querySelector(".thread .prose")).lineHeight));
  }

  // the person's own words, and back
  await click(page, ".card.done .hands .btn:first-child");
  await page.waitForSelector("dialog[open] #layer-text");
  assert.ok((await page.$eval("#layer-text", (e) => e.value)).length > 200, "the text is there to be changed");
  await type(page, "#layer-text", "   ");
  await submit(page);
  await until(page, () => document.querySelector(".toast")?.textContent.includes("The text is empty"));
  await click(page, ".card.done .hands .btn:first-child");
  await page.waitForSelector("dialog[open] #layer-text");
  await type(page, "#layer-text", "Three people travel through Portugal. Nadia must not eat shellfish.");
  await submit(page);
  await closed(page);
  await until(page, () => [...document.querySelectorAll(".toast")].some((e) => e.textContent.includes("says what you wrote")));
  const written = await windowText(page);
  assert.match(written, /Three people travel through Portugal\. Nadia must not eat shellfish\./);
  assert.ok((await budget(page)).used < covered.used, "the window is smaller by what was taken out");
  await page.reload();
  await page.waitForSelector(".card.done .hands");
  assert.equal(await windowText(page), written, "it is stored");
  await click(page, ".card.done .acts .btn:nth-child(2)");
  await until(page, (used) => document.querySelector("#s-chat .budget .sum strong")?.textContent.replace(/\D/g, "") === String(used), covered.used);
  assert.ok(!(await windowText(page)).includes("Three people travel"));

  // written again: by the built-in summariser with an eye on something, then by the model
  await click(page, ".card.done .hands .btn:nth-child(2)");
  await page.waitForSelector("dialog[open] #layer-focus");
  await type(page, "#layer-focus", "Casa do Jardim");
  await click(page, "dialog #by-built-in");
  await submit(page);
  await until(page, () => [...document.querySelectorAll(".toast")].some((e) => e.textContent.includes("was written again")));
  assert.match(await windowText(page), /Casa do Jardim/);

  // a range, from the menu of a message
  const last = await page.$$eval(".thread .msg", (all) => all.at(-6).dataset.seq);
  await click(page, `.thread .msg[data-seq="${last}"] [aria-label^="Compact up to here"]`);
  await page.waitForSelector("dialog[open] #cover-to");
  assert.equal(await page.$eval("#cover-to", (e) => e.value), last);
  const from = 97;
  assert.equal(await page.$eval("#cover-from", (e) => e.value), String(from), "what follows the last layer is offered");
  await type(page, "#cover-from", "x");
  await submit(page);
  await until(page, () => document.querySelector("dialog .badc")?.textContent.includes("Type the numbers"));
  await type(page, "#cover-from", String(from));
  await click(page, "dialog #by-built-in");
  await submit(page);
  await until(page, () => document.querySelectorAll(".card.done").length === 2);
  const facts = await page.$$eval(".card.done .facts", (all) => all.at(-1).textContent);
  assert.match(facts, new RegExp(`messages ${from}–${last}`));
  await page.$$eval(".card.done", (all) => all.at(-1).querySelector(".acts .btn:nth-child(2)").click());
  await until(page, () => document.querySelectorAll(".card.done").length === 1);

  // all of it stands again as it was said
  await click(page, ".card.done .acts .btn:nth-child(1)");
  await page.waitForSelector("dialog[open] .layer");
  assert.match(await text(page, "dialog"), /Decisions[\s\S]*we take the taxi in Coimbra/, "C1: what was decided there");
  await page.keyboard.press("Escape");
  await closed(page);
  await page.focus("#msg");
  await page.keyboard.type("/lift 1");
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog[open]");
  await click(page, "dialog .btn.solid");
  await until(page, (used) => Number(document.querySelector("#s-chat .budget .sum strong")?.textContent.replace(/\D/g, "")) > used, covered.used);
  assert.match(await windowText(page), /We fly from Vienna\. The plan is to leave on 8 September/);
  await world.end();
});
