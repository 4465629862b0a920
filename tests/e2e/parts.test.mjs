// What is loaded later: when, and what the page says if it cannot be.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { app, begin, cleanUp, importFile, say, transcript } from "./harness.mjs";
import { click, messages, ready, text, until } from "./acts.mjs";

test.afterEach(cleanUp);

const SLOW = { timeout: 180_000 };
/** The most that a first visit fetches before the first key, in bytes as they are sent. The aim is 450,000. */
const MOST_FIRST = 407_200;
const screens = /\/parts\/split_desk\.\w+\.wasm/;

/** The bytes of these files of the app as they are sent, compressed. */
const sent = (names) => [...new Set(names)].reduce((sum, name) => {
  const file = path.join(app, name);
  return sum + fs.statSync(fs.existsSync(`${file}.br`) ? `${file}.br` : file).size;
}, 0);

/** Holds back the requests whose addresses match; what it gives lets them go. */
async function holdBack(page, pattern) {
  let release;
  const held = new Promise((done) => { release = done; });
  await page.setRequestInterception(true);
  page.on("request", async (request) => {
    if (pattern.test(request.url())) await held;
    await request.continue();
  });
  return release;
}

/**
 * Leaves the app, and removes what it stored, but for its settings: they do not name a session any more. A page that is still beginning would
 * make it all again.
 */
async function leave({ page, site }) {
  await page.goto(`${site.url}/empty`);
  await page.evaluate(async () => {
    for (const one of await navigator.serviceWorker.getRegistrations()) await one.unregister();
    const removed = (name) => new Promise((done, failed) => Object.assign(indexedDB.deleteDatabase(name), { onsuccess: done, onerror: failed }));
    for (const one of await indexedDB.databases()) await removed(one.name);
    const { session, ...settings } = JSON.parse(localStorage.getItem("palimpsest.settings"));
    localStorage.clear();
    localStorage.setItem("palimpsest.settings", JSON.stringify(settings));
  });
}

/// A first visit fetches little before anybody does something: the page, what asks the model server and begins a
/// session. Markdown, replies and compactions come with the first key or touch.
test("a first visit fetches little before the first key", SLOW, async () => {
  const world = await begin({ ready: false });
  const { page } = world;
  await leave(world);
  await page.setBypassServiceWorker(true);
  const asked = [];
  page.on("request", (request) => {
    const { origin, pathname } = new URL(request.url());
    if (origin === new URL(world.site.url).origin) asked.push(pathname === "/" ? "index.html" : pathname.slice(1));
  });
  await page.goto(world.site.url);
  await ready(page);
  // quiet: nothing more is asked for
  for (let n = -1; n !== asked.length; await new Promise((done) => setTimeout(done, 1000))) n = asked.length;
  assert.deepEqual(asked.filter((name) => /split_(talk|desk|german|prose)/.test(name)), []);
  const module = asked.find((name) => /^palimpsest_web_bg\./.test(name));
  const first = sent(asked);
  // the gate is of the small build; a quick one is twice as large
  const isSmall = sent([module]) < 600_000;
  assert.ok(!isSmall || first <= MOST_FIRST, `${first} bytes: ${asked.map((name) => `${name} ${sent([name])}`).join(", ")}`);
  console.log(`first visit: ${first} bytes${isSmall ? "" : " (quick build)"}`);
  await page.keyboard.press("Shift");
  await until(page, () => performance.getEntriesByType("resource").some((entry) => /split_talk/.test(entry.name)));
  await until(page, () => performance.getEntriesByType("resource").some((entry) => /split_prose/.test(entry.name)));
  await world.end();
});

/// The page, a session and its replies do without the code of the other screens; that comes once, when one of them is
/// looked at. German comes only to those who read it.
test("screens are loaded when they are looked at, once", SLOW, async () => {
  const world = await begin({ script: { replies: ["**Rye** it is."] } });
  const { page } = world;
  // the shell's worker fetches everything, for visits without a network: here the page's own wishes count
  await page.setBypassServiceWorker(true);
  const asked = [];
  page.on("request", (request) => {
    if (request.url().includes("/parts/")) asked.push(new URL(request.url()).pathname);
  });
  await page.reload();
  await ready(page);
  await say(page, "Which flour?");
  await messages(page, 2);
  assert.equal(await page.$eval(".msg .prose strong", (element) => element.textContent), "Rye");
  assert.ok(asked.some((name) => /split_talk/.test(name)), asked.join(" "));
  assert.deepEqual(asked.filter((name) => screens.test(name) || /german/.test(name)), []);
  for (const screen of ["settings", "library", "context", "settings"]) {
    await page.evaluate((screen) => (location.hash = screen), screen);
    await page.waitForSelector(`#s-${screen}`);
  }
  assert.equal(asked.filter((name) => screens.test(name)).length, 1);
  await page.evaluate(() => localStorage.setItem("palimpsest.settings", JSON.stringify({ ...JSON.parse(localStorage.getItem("palimpsest.settings")), language: "de" })));
  await page.reload();
  await ready(page);
  assert.match(await page.$eval(".new", (element) => element.textContent), /Neue Sitzung/);
  assert.ok(asked.some((name) => /german/.test(name)), asked.join(" "));
  await world.end();
});

/// A part that does not come is no dead page: a sentence says so, the conversation goes on, and the next wish asks again.
test("a part that cannot be loaded is told, and asked for again", SLOW, async () => {
  const world = await begin({ script: { replies: ["Still here."] } });
  const { page } = world;
  await page.setBypassServiceWorker(true);
  let gone = true;
  await page.setRequestInterception(true);
  page.on("request", (request) => (gone && screens.test(request.url()) ? request.abort() : request.continue()));
  await page.reload();
  await ready(page);
  await click(page, "[aria-label='Title and tags']");
  await until(page, () => /could not be loaded/.test(document.querySelector(".toast")?.textContent));
  // a command whose code does not come is given back
  await say(page, "/goal Bake for a week");
  await until(page, () => document.querySelector("#msg").value === "/goal Bake for a week");
  await page.$eval("#msg", (field) => { field.value = ""; });
  await say(page, "Are you there?");
  await messages(page, 2);
  gone = false;
  await page.evaluate(() => (location.hash = "settings"));
  await page.waitForSelector("#s-settings");
  await until(page, () => document.querySelector("dialog[open] #new-title"));
  await page.$eval("dialog [aria-label=Close]", (button) => button.click());
  await page.evaluate(() => (location.hash = "chat"));
  await page.waitForSelector("#s-chat", { visible: true });
  await say(page, "/goal Bake for a week");
  await until(page, () => document.querySelector(".notes .goal")?.textContent.includes("Bake for a week"));
  await world.end({ tolerate: [/ERR_FAILED|Failed to fetch/] });
});

/// A page that gets neither German nor Markdown speaks English, shows what was said as it was written, and says why.
test("a page without its first parts shows what was said", SLOW, async () => {
  const world = await begin({ script: { replies: ["**Rye**\n\nit is.", "**Spelt** then."] }, settings: { language: "de" } });
  const { page } = world;
  await ready(page);
  await say(page, "Which flour?");
  await messages(page, 2);
  await page.setBypassServiceWorker(true);
  let gone = true;
  await page.setRequestInterception(true);
  page.on("request", (request) => (gone && /split_(german|prose)/.test(request.url()) ? request.abort() : request.continue()));
  await page.reload();
  await ready(page);
  await messages(page, 2);
  assert.match(await page.$eval(".new", (element) => element.textContent), /New session/);
  assert.equal(await page.$eval("html", (element) => element.lang), "en");
  await until(page, () => /could not be loaded/.test(document.querySelector(".toast")?.textContent));
  await until(page, () => document.querySelector("#s-chat").textContent.includes("**Rye**"));
  assert.equal(await page.$(".msg .prose strong"), null);
  gone = false;
  await say(page, "And tomorrow?");
  await messages(page, 4);
  await until(page, () => document.querySelector(".msg .prose strong")?.textContent === "Spelt");
  assert.match(await page.$eval(".new", (element) => element.textContent), /New session/);
  await world.end({ tolerate: [/ERR_FAILED|Failed to fetch/] });
});

/// Words that are said before Markdown is there are seen as they stand, and then as they are meant.
test("what is said before Markdown is there is written by it later", SLOW, async () => {
  const world = await begin({ script: { replies: ["**Rye**\n\nit is."] } });
  const { page } = world;
  await page.setBypassServiceWorker(true);
  const release = await holdBack(page, /split_prose/);
  // as on a first visit: no session was open before
  await page.evaluate(() => {
    const settings = JSON.parse(localStorage.getItem("palimpsest.settings"));
    localStorage.setItem("palimpsest.settings", JSON.stringify({ ...settings, session: "" }));
  });
  await leave(world);
  await page.goto(world.site.url);
  await ready(page);
  await say(page, "Which *flour*?");
  await messages(page, 2);
  assert.match(await text(page, ".thread"), /Which \*flour\*\?[\s\S]*\*\*Rye\*\*/);
  assert.equal(await page.$(".msg .prose strong"), null);
  release();
  await until(page, () => document.querySelector(".msg .prose strong")?.textContent === "Rye");
  assert.deepEqual(await page.$$eval(".msg .prose > *", (all) => all.map((one) => one.localName)), ["p", "p", "p"]);
  assert.equal(await page.$(".verbatim"), null);
  await world.end();
});

/// A new session that waits for its code is not shown, and not made, once another was chosen.
test("a session that is chosen while a new one is on its way stays", SLOW, async () => {
  const world = await begin();
  const { page } = world;
  await ready(page);
  for (const title of ["Bread", "Cake"]) {
    await importFile(page, transcript([{ role: "user", content: `About ${title}` }, { role: "assistant", content: "Yes." }], title));
    await until(page, (title) => document.querySelector("#h-chat").textContent === title, title);
  }
  await page.setBypassServiceWorker(true);
  const release = await holdBack(page, /split_wire/);
  await page.reload();
  await until(page, () => document.querySelector("#h-chat")?.textContent === "Cake");
  const before = await page.$$eval("[data-session]", (rows) => rows.length);
  await click(page, ".new");
  await page.evaluate(() => [...document.querySelectorAll("[data-session]")].find((row) => row.textContent.includes("Bread")).click());
  await until(page, () => document.querySelector("#h-chat").textContent === "Bread");
  release();
  await until(page, () => performance.getEntriesByType("resource").some((entry) => /split_wire/.test(entry.name) && entry.responseEnd > 0));
  await new Promise((done) => setTimeout(done, 1500));
  assert.equal(await page.$eval("#h-chat", (heading) => heading.textContent), "Bread");
  assert.equal(await page.$$eval("[data-session]", (rows) => rows.length), before);
  await world.end();
});

/// Who chooses a session while another is on its way sees the one that was chosen last, whichever is read sooner.
test("of two sessions that are asked for the later one is shown", SLOW, async () => {
  const world = await begin();
  const { page } = world;
  await ready(page);
  for (const title of ["Bread", "Cake"]) {
    await importFile(page, transcript([{ role: "user", content: `About ${title}` }, { role: "assistant", content: "Yes." }], title));
    await until(page, (title) => document.querySelector("#h-chat").textContent === title, title);
  }
  await click(page, "[aria-label='Delete session: Cake']");
  await until(page, () => document.querySelector("#h-chat").textContent === "Bread" && document.querySelector(".toast .btn"));
  await page.evaluate(() => {
    // both before either is done
    document.querySelector(".toast .btn").click();
    [...document.querySelectorAll("[data-session]")].find((row) => row.textContent.includes("Bread")).click();
  });
  await until(page, () => document.querySelectorAll("[data-session]").length >= 2 && [...document.querySelectorAll("[data-session]")].some((row) => row.textContent.includes("Cake")));
  await new Promise((done) => setTimeout(done, 1000));
  assert.equal(await page.$eval("#h-chat", (heading) => heading.textContent), "Bread");
  await world.end();
});
