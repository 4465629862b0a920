// Addresses: links to sessions, messages, layers and screens; Back, Forward and a reload lead where a person expects.

import assert from "node:assert/strict";
import test from "node:test";
import { ENGINES, begin, cleanUp, importFile, say, transcript } from "./harness.mjs";
import { bakery, click, messages, ready, text, until } from "./acts.mjs";

const SLOW = { timeout: 240_000 };
test.afterEach(cleanUp);

const hash = (page) => page.evaluate(() => location.hash);
const titled = (page, title) => until(page, (t) => document.querySelector("#h-chat").textContent === t, title);
const at = (page, address) => until(page, (a) => location.hash === a, address);
const shows = (page, screen) => until(page, (s) => document.documentElement.dataset.view === s, screen);
const toast = (page, words) => until(page, (w) => [...document.querySelectorAll(".toast")].some((one) => one.textContent.includes(w)), words);

/** Keeps what is copied: a page in the background may not use the clipboard. */
const copies = (page) => page.evaluate(() => {
  Object.defineProperty(navigator, "clipboard", { configurable: true, value: { writeText: async (text) => { globalThis.copied = text; } } });
});
const copied = async (page) => {
  await until(page, () => typeof globalThis.copied === "string");
  return page.evaluate(() => { const { copied } = globalThis; delete globalThis.copied; return copied; });
};

for (const engine of ENGINES) test(`Back, Forward, a reload and a second tab keep to their session (${engine})`, SLOW, async () => {
  const world = await begin({ engine, settings: { summary_model: "-" } });
  const { page, site } = world;
  await ready(page);
  assert.match(await hash(page), /^#s\/[0-9a-z]+$/, "a new session has an address");
  await importFile(page, transcript(bakery(9), "Bakery"));
  await titled(page, "Bakery");
  const bread = await hash(page);
  await importFile(page, transcript(bakery(2), "Cakes"));
  await titled(page, "Cakes");
  const cakes = await hash(page);
  assert.notEqual(bread, cakes);
  await click(page, `.side [href="${bread}"]`);
  await titled(page, "Bakery");
  await at(page, bread);

  // Back and Forward go through sessions and screens
  await page.goBack();
  await titled(page, "Cakes");
  await at(page, cakes);
  await page.goForward();
  await titled(page, "Bakery");
  await click(page, '.side [href="#context"]');
  await shows(page, "context");
  await at(page, `${bread}/context`);
  await page.goBack();
  await shows(page, "chat");
  await at(page, bread);
  await click(page, '.side [href="#library"]');
  await at(page, "#library");
  await click(page, `.rows [href="${cakes}"]`);
  await titled(page, "Cakes");
  await at(page, cakes);
  await page.goBack();
  await shows(page, "library");
  await page.goBack();
  await titled(page, "Bakery");
  await at(page, bread);

  // two tabs, each with its own: the address counts, not what was opened last
  const second = await world.browser.newPage();
  await second.goto(`${site.url}/${cakes}`);
  await titled(second, "Cakes");
  await page.bringToFront();
  await page.reload();
  await titled(page, "Bakery");
  await at(page, bread);
  await second.bringToFront();
  await second.goto(`${site.url}/${bread}/context`);
  await second.reload();
  await shows(second, "context");
  await titled(second, "Bakery");
  await second.close();
  await page.bringToFront();

  // a link that leads nowhere says so, and nothing else changes
  await page.evaluate(() => (location.hash = "s/00000000000000000000000000000000"));
  await toast(page, "is not in this browser");
  await at(page, bread);
  assert.equal(await text(page, "#h-chat"), "Bakery");
  const third = await world.browser.newPage();
  await third.goto(`${site.url}/#s/nowhere/12`);
  await toast(third, "is not in this browser");
  await until(third, () => /^#s\/[0-9a-z]+$/.test(location.hash) && document.querySelector("#h-chat").textContent !== "");
  await third.close();
  await page.bringToFront();

  // a session that was deleted is none that Back opens
  await click(page, `.side [href="${cakes}"]`);
  await titled(page, "Cakes");
  await click(page, "[aria-label='Delete session: Cakes']");
  await until(page, () => document.querySelector("#h-chat").textContent !== "Cakes");
  const next = await hash(page);
  await page.goBack();
  await toast(page, "is not in this browser");
  await at(page, next);
  await world.end();
});

test("a link leads to a message and to a layer", SLOW, async () => {
  const world = await begin({ settings: { summary_model: "-" } });
  const { page } = world;
  await ready(page);
  await importFile(page, transcript(bakery(40), "Bakery"));
  await titled(page, "Bakery");
  const bread = await hash(page);
  await click(page, "#compact");
  await page.waitForSelector(".card.done");
  await copies(page);
  await until(page, () => document.querySelector('.msg[data-seq="80"]'));
  await page.evaluate(() => document.querySelector('.msg[data-seq="80"] [aria-label^="Copy a link"]').click());
  const last = await copied(page);
  assert.match(last, new RegExp(`${bread}/80$`));
  await page.evaluate(() => [...document.querySelectorAll(".card.done button")].find((one) => one.textContent === "Read layer").click());
  await page.waitForSelector("dialog[open] .script");
  await page.evaluate(() => [...document.querySelectorAll("dialog .acts .btn")].find((one) => one.textContent === "Copy a link").click());
  const layer = await copied(page);
  assert.match(layer, new RegExp(`${bread}/layer/1$`));
  await page.keyboard.press("Escape");
  await click(page, ".new");
  await titled(page, "New session");

  // followed in the same page, from another session
  await page.evaluate((place) => (location.hash = place), `${bread}/4`);
  await titled(page, "Bakery");
  await until(page, () => document.activeElement?.dataset.seq === "4");
  await at(page, bread);
  await page.evaluate((place) => (location.hash = place), `${bread}/layer/1`);
  await page.waitForSelector("dialog[open] .script");
  await page.keyboard.press("Escape");

  // and where the page begins with it
  const second = await world.browser.newPage();
  await second.goto(last.replace("/80", "/7"));
  await titled(second, "Bakery");
  await until(second, () => document.activeElement?.dataset.seq === "7");
  await second.close();
  const third = await world.browser.newPage();
  await third.goto(layer);
  await third.waitForSelector("dialog[open] .script");
  assert.match(await text(third, "dialog[open] h2"), /Layer 1/);
  await third.close();
  await world.end();
});

/** I4: what a person wants to stay is one sentence of a message more often than all of it. */
test("sentences of a message are pinned, the model's as well", SLOW, async () => {
  const world = await begin({ script: { replies: ["Your code is RA21. Breakfast is at 7. Have a good trip!", "Yes."] } });
  const { page } = world;
  await ready(page);
  await say(page, "I travel on Monday. My train leaves at 6:40. I take the window seat.");
  await messages(page, 2);
  const pins = () => page.$$eval(".notes .marks li", (all) => all.map((one) => one.textContent));
  const open = async (n) => {
    await page.evaluate((n) => document.querySelector(`.msg[data-seq="${n}"] [aria-label^="Pin what it says"]`).click(), n);
    await page.waitForSelector("dialog[open] .sentences");
  };
  await open(1);
  assert.deepEqual(await page.$$eval(".sentences label", (all) => all.map((one) => one.textContent)), ["I travel on Monday.", "My train leaves at 6:40.", "I take the window seat."]);
  await click(page, "dialog[open] button[type=submit]");
  await until(page, () => document.querySelector("dialog .badc").textContent.includes("Choose a sentence"));
  await click(page, "#pin-1");
  await click(page, "dialog[open] button[type=submit]");
  await until(page, () => !document.querySelector("dialog"));
  await until(page, () => document.querySelectorAll(".notes .marks li").length === 1);
  await open(2);
  await click(page, "#pin-0");
  await click(page, "#pin-1");
  if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/pin.png` });
  await click(page, "dialog[open] button[type=submit]");
  await until(page, () => document.querySelectorAll(".notes .marks li").length === 3);
  assert.deepEqual((await pins()).map((line) => line.replace(/\s+/g, " ").trim()).sort(), ["Breakfast is at 7.", "My train leaves at 6:40.", "Your code is RA21."]);
  await open(1);
  await click(page, "dialog[open] .acts .btn:last-child");
  await until(page, () => document.querySelectorAll(".notes .marks li").length === 4);
  await say(page, "Ready?");
  await messages(page, 4);
  const system = world.chats().at(-1).messages[0].content;
  for (const said of ["My train leaves at 6:40.", "Your code is RA21.", "Breakfast is at 7."]) assert.ok(system.includes(said), system);
  assert.ok(!system.includes("Have a good trip"), system);
  await world.end();
});
