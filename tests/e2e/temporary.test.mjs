// Temporary sessions: in this tab alone, until it closes or somebody keeps them.

import assert from "node:assert/strict";
import test from "node:test";
import { ENGINES, begin, cleanUp, say } from "./harness.mjs";
import { bakery, click, messages, ready, text, until } from "./acts.mjs";

const SLOW = { timeout: 180_000 };
test.afterEach(cleanUp);

/** All that the browser stores of this page, as one text. */
const stored = (page) => page.evaluate(async () => {
  const promise = (request) => new Promise((resolve, reject) => { request.onsuccess = () => resolve(request.result); request.onerror = () => reject(request.error); });
  const all = [JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage })];
  for (const { name } of await indexedDB.databases()) {
    const db = await promise(indexedDB.open(name));
    for (const store of db.objectStoreNames) {
      const rows = db.transaction(store).objectStore(store);
      all.push(JSON.stringify([await promise(rows.getAllKeys()), await promise(rows.getAll())]));
    }
    db.close();
  }
  return all.join("\n");
});

const SECRET = "zanzibarian";
const titles = (page) => page.$$eval("[data-session]", (all) => all.map((one) => one.textContent));

/// 19.7: what is said, typed and summarised stays in the tab; kept, it is whole and stays; a reload takes the rest and is no alarm.
for (const engine of ENGINES) test(`a temporary session is gone with its tab, unless it is kept (${engine})`, SLOW, async () => {
  const world = await begin({ engine, script: { replies: ["Noted.", `The ${SECRET} it is.`, "Yes.", "It lives in Lund.", "Once more."] }, settings: { window: 2048 } });
  const { page } = world;
  await ready(page);
  await say(page, "What is stored stays.");
  await messages(page, 2);
  await page.$eval("#msg", (field) => { field.value = "/temporary"; });
  await click(page, "#send");
  await until(page, () => document.querySelector("#keep-session") && document.querySelector(".start")?.textContent.includes("gone when you close the tab"));
  assert.equal(await page.$("#temporary"), null, "no second one from here");
  await say(page, `My ${SECRET} lives in Lund.`);
  await messages(page, 2);
  for (const { content } of bakery(5).filter(({ role }) => role === "user")) await say(page, `${content} ${SECRET}?`);
  await until(page, () => document.querySelectorAll(".thread .msg.you").length === 6 && !document.querySelector(".replying"));
  await page.$eval("#msg", (field) => { field.value = "/compact"; });
  await click(page, "#send");
  await page.waitForSelector(".card");
  await page.type("#msg", `A draft about the ${SECRET}`);
  await new Promise((done) => setTimeout(done, 800));
  assert.ok(!(await stored(page)).includes(SECRET), "nothing of it is stored");
  assert.ok((await stored(page)).includes("What is stored stays."));
  assert.match((await titles(page)).join(), /temporary/);

  await click(page, "a[href='#library']");
  await until(page, () => [...document.querySelectorAll("table.rows tbody th")].filter((name) => name.querySelector("small")?.textContent === "temporary").length === 1);

  // to another session and back, with its draft
  await click(page, "[data-session]:not([data-session^=temporary])");
  await until(page, () => document.querySelector(".thread").textContent.includes("What is stored stays."));
  assert.equal(await page.$("#keep-session"), null);
  await click(page, "[data-session^=temporary]");
  await until(page, (secret) => document.querySelector("#msg").value === `A draft about the ${secret}`, SECRET);
  const before = await text(page, ".thread");

  await click(page, "#keep-session");
  await until(page, () => !document.querySelector("#keep-session") && document.querySelector(".toast")?.textContent.includes("Kept"));
  assert.equal(await page.$("[data-session^=temporary]"), null);
  assert.equal(await page.$eval("#msg", (field) => field.value), `A draft about the ${SECRET}`);
  await until(page, (before) => document.querySelector(".thread").textContent === before, before);
  await page.reload();
  await until(page, (secret) => document.querySelector(".thread")?.textContent.includes(`My ${secret} lives in Lund.`), SECRET);
  // its card is drawn by a part of the app that comes after the words
  await page.waitForSelector(".card");
  await ready(page);

  // one that is not kept
  await click(page, ".new");
  await until(page, () => document.querySelector("#temporary"));
  await click(page, "#temporary");
  await page.waitForSelector("#keep-session");
  await say(page, "This goes.");
  await until(page, () => document.querySelector(".thread").textContent.includes("This goes.") && !document.querySelector(".replying"));
  await page.reload();
  await ready(page);
  await until(page, () => document.querySelectorAll("[data-session]").length > 0);
  assert.equal(await page.$("[data-session^=temporary]"), null);
  assert.equal(await page.$(".toast.bad"), null, "that it is gone is no alarm");
  assert.ok(!(await stored(page)).includes("This goes."));
  await world.end();
});
