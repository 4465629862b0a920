// Tags: words under which sessions are found again.

import assert from "node:assert/strict";
import test from "node:test";
import { begin, cleanUp, importFile, transcript } from "./harness.mjs";
import { bakery, click, ready, text, until } from "./acts.mjs";

const SLOW = { timeout: 180_000 };
test.afterEach(cleanUp);

const rows = (page) => page.$$eval("table.rows tbody th a", (all) => all.map((one) => one.textContent));
const put = (page, selector, value) => page.$eval(selector, (field, value) => { field.value = value; }, value);

/// 19.7: sessions have tags, the library shows those with one of them, the column at the side finds them by it.
test("sessions are found by their tags", SLOW, async () => {
  const world = await begin({});
  const { page } = world;
  await ready(page);
  for (const title of ["Rye bread", "Tax forms", "Flat keys"]) {
    await importFile(page, transcript(bakery(1), title));
    await until(page, (title) => document.querySelector("#h-chat").textContent === title, title);
  }
  await page.evaluate(() => (location.hash = "#library"));
  const give = async (title, tags) => {
    await click(page, `[aria-label='Title and tags: ${title}']`);
    await page.waitForSelector("#new-tags");
    await put(page, "#new-tags", tags);
    await click(page, "dialog .btn.solid");
    await until(page, () => !document.querySelector("dialog[open]"));
  };
  const tag = async (title, tags) => {
    await give(title, tags);
    const first = tags.split(",")[0];
    await until(page, (title, first) => [...document.querySelectorAll("table.rows tbody th")].some((one) => one.textContent.includes(title) && one.querySelector("small")?.textContent.includes(first)), title, first);
  };
  assert.equal(await page.$("#tags"), null);
  await tag("Rye bread", "home, baking, HOME");
  await tag("Tax forms", "work");
  await tag("Flat keys", "home");
  assert.equal(await text(page, "#tags"), "Allbakinghomework");
  await click(page, "#tags button:nth-of-type(3)");
  await until(page, () => document.querySelectorAll("table.rows tbody tr").length === 2);
  assert.deepEqual((await rows(page)).sort(), ["Flat keys", "Rye bread"]);
  assert.equal(await page.$eval("#tags button:nth-of-type(3)", (one) => one.getAttribute("aria-pressed")), "true");

  // one that loses the tag goes; the title and the other tags stay
  await give("Rye bread", "baking");
  await until(page, () => document.querySelectorAll("table.rows tbody tr").length === 1);
  await click(page, "#tags button:nth-of-type(1)");
  await until(page, () => document.querySelectorAll("table.rows tbody tr").length >= 3);

  // after a reload they are still there, and the column at the side finds a session by one
  await page.reload();
  await until(page, () => document.querySelectorAll("[data-session]").length >= 3);
  await page.keyboard.down("Control");
  await page.keyboard.press("k");
  await page.keyboard.up("Control");
  await page.keyboard.type("work");
  await until(page, () => document.querySelectorAll("[data-session]").length === 1);
  assert.match(await text(page, "[data-session]"), /Tax forms/);
  await world.end();
});
