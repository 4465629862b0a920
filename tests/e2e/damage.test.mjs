// What is lost and what is thrown away: a damaged row leaves the rest of a session, and deleting deletes.

import assert from "node:assert/strict";
import fs from "node:fs";
import test from "node:test";
import { ENGINES, begin, cleanUp, importFile, transcript } from "./harness.mjs";
import { bakery, click, ready, text, until } from "./acts.mjs";

const SLOW = { timeout: 240_000 };
test.afterEach(cleanUp);

const library = (page) => page.evaluate(() => (location.hash = "library"));

/** Damages or removes the last row of a table that holds a text, or changes its JSON. */
const harm = (page, table, how, holding = "") => page.evaluate(({ table, how, holding }) => new Promise((done, fail) => {
  const opening = indexedDB.open("palimpsest");
  opening.onerror = () => fail(opening.error);
  opening.onsuccess = () => {
    const rows = opening.result.transaction(table, "readwrite").objectStore(table);
    const reading = rows.openCursor(null, "prev");
    reading.onsuccess = () => {
      const at = reading.result;
      if (!at) return fail(new Error(`no row of ${table}`));
      if (!at.value.includes(holding)) return at.continue();
      if (how === "delete") at.delete();
      else if (how === "tear") at.update(at.value.slice(0, at.value.length / 2));
      else at.update(JSON.stringify({ ...JSON.parse(at.value), ...how }));
      rows.transaction.oncomplete = () => (opening.result.close(), done());
    };
  };
}), { table, how, holding });

/** How many rows of a table there are. */
const rows = (page, table) => page.evaluate((table) => new Promise((done) => {
  const opening = indexedDB.open("palimpsest");
  opening.onsuccess = () => {
    const counting = opening.result.transaction(table).objectStore(table).count();
    counting.onsuccess = () => (opening.result.close(), done(counting.result));
  };
}), table);

/** S5, F86: with a layer damaged the session opens, says so, shows what was covered as it was said, and saves what is left;
with its head gone it is listed as damaged and opens again. */
for (const engine of ENGINES) test(`what is left of a damaged session is shown and saved (${engine})`, SLOW, async () => {
  const world = await begin({ engine, settings: { summary_model: "-" } });
  const { page } = world;
  await ready(page);
  const saved = await world.downloads();
  await importFile(page, transcript(bakery(9), "Bakery"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Bakery");
  await click(page, "#compact");
  await page.waitForSelector(".card.done");
  await harm(page, "layers", "tear");
  await page.reload();
  await page.waitForSelector("#losses");
  assert.match(await text(page, "#losses p"), /^Parts of this session cannot be read: 1\./);
  await until(page, () => /layer row 1 cannot be read/.test(document.querySelector("#losses li")?.textContent ?? ""));
  assert.equal(await text(page, "#h-chat"), "Bakery");
  await click(page, "#losses .btn");
  const file = JSON.parse(fs.readFileSync(await saved(".json"), "utf8"));
  assert.equal(file.messages.filter((m) => m.role !== "system").length, 18);
  // its head is gone, too: no list shows it, the library does
  await harm(page, "heads", "tear", "Bakery");
  await page.reload();
  await ready(page);
  await library(page);
  await page.waitForSelector("#damaged li");
  await click(page, "#damaged li .btn");
  await until(page, () => /head/.test(document.querySelector("#losses li")?.textContent ?? ""));
  // a thread opens at its end
  await until(page, () => /Oven 109 bakes at 209/.test(document.querySelector(".thread").textContent));
  await library(page);
  await until(page, () => !document.querySelector("#damaged") && document.querySelectorAll(".rows tbody tr").length >= 1);
  await world.end();
});

/** O4, S6: a deleted session is in the library with its days, comes back, and is gone at a word or after thirty days. */
for (const engine of ENGINES) test(`deleting deletes, after thirty days or at once (${engine})`, SLOW, async () => {
  const world = await begin({ engine });
  const { page } = world;
  await ready(page);
  await importFile(page, transcript([{ role: "user", content: "Hello" }, { role: "assistant", content: "large ".repeat(9000) }], "Bread"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Bread");
  const row = () => page.evaluate(() => document.querySelector("#deleted li")?.textContent);
  const remove = async () => {
    await library(page);
    await click(page, ".rows [aria-label='Delete session: Bread']");
    await library(page);
    await page.waitForSelector("#deleted li");
  };
  await remove();
  assert.match(await row(), /^Bread 30 days left/);
  await click(page, "#deleted [aria-label='Restore: Bread']");
  await until(page, () => !document.querySelector("#deleted li") && document.querySelector(".rows [aria-label='Delete session: Bread']"));
  await remove();
  const before = await rows(page, "blobs");
  assert.ok(before > 0);
  await click(page, "#deleted [aria-label='Delete now: Bread']");
  await until(page, () => !document.querySelector("#deleted li"));
  assert.equal(await rows(page, "blobs"), 0);
  assert.equal(await rows(page, "messages"), 0);
  // one that was deleted long ago is gone when the app begins
  await importFile(page, transcript([{ role: "user", content: "Hi" }, { role: "assistant", content: "Bye" }], "Cake"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Cake");
  assert.equal(await rows(page, "messages"), 2);
  await page.goto(`${world.site.url}/empty`);
  await page.evaluate(() => new Promise((done) => {
    const opening = indexedDB.open("palimpsest");
    opening.onsuccess = () => {
      const heads = opening.result.transaction("heads", "readwrite").objectStore("heads");
      heads.openCursor().onsuccess = (event) => {
        const at = event.target.result;
        if (!at) return;
        const head = JSON.parse(at.value);
        if (head.title === "Cake") at.update(JSON.stringify({ ...head, deleted_at: Date.now() - 31 * 86_400_000 }));
        at.continue();
      };
      heads.transaction.oncomplete = () => (opening.result.close(), done());
    };
  }));
  await page.goto(world.site.url);
  await ready(page);
  for (let tries = 0; (await rows(page, "messages")) > 0; tries += 1) {
    assert.ok(tries < 100, "it is still there");
    await new Promise((done) => setTimeout(done, 100));
  }
  await world.end();
});
