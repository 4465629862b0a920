// What is odd, damaged or refused: the page says so, keeps what there is, and goes on.

import assert from "node:assert/strict";
import test from "node:test";
import { click, messages, ready, text, until } from "./acts.mjs";
import { ENGINES, begin, cleanUp, say } from "./harness.mjs";

const SLOW = { timeout: 180_000 };
test.afterEach(cleanUp);

/// F23: characters that turn the direction of reading are kept in their place, shown by their names, and their effect ends with them; what is
/// written from right to left stands so.
for (const engine of ENGINES) test(`text that turns its direction is shown as it is and kept as it was (${engine})`, SLOW, async () => {
  const reply = "Pay \u202e001\u202c to שלום, then `a\u2066b`.";
  const said = "كم الساعة \u202eabc";
  const world = await begin({ engine, script: { replies: [reply] } });
  const { page } = world;
  await ready(page);
  await page.focus("#msg");
  await page.$eval("#msg", (field, said) => { field.value = said; field.dispatchEvent(new Event("input", { bubbles: true })); }, said);
  await page.keyboard.press("Enter");
  await messages(page, 2);
  assert.equal(world.chats()[0].messages.at(-1).content, said);
  await until(page, () => document.querySelectorAll(".thread .turn").length === 4);
  const seen = await page.$$eval(".thread .msg", (all) => all.map((message) => {
    const prose = message.querySelector(".prose");
    const turns = [...prose.querySelectorAll(".turn")];
    return { turns: turns.map((turn) => turn.textContent.codePointAt(0).toString(16)), isolated: turns.every((turn) => getComputedStyle(turn).unicodeBidi === "isolate"), text: prose.textContent, direction: getComputedStyle(prose.querySelector("p")).direction };
  }));
  assert.deepEqual(seen.map((message) => message.isolated), [true, true]);
  assert.deepEqual(seen.map((message) => message.direction), ["rtl", "ltr"]);
  // what is copied from the page is what was said
  assert.ok(seen[0].text.includes(said), JSON.stringify(seen[0].text));
  assert.ok(seen[1].text.includes("Pay \u202e001\u202c to שלום"), JSON.stringify(seen[1].text));
  await world.end();
});

/// F84, S5: sessions that are gone are missed: the page says that its storage was cleared, and once.
for (const engine of ENGINES) test(`an emptied database is not taken for a new one (${engine})`, SLOW, async () => {
  const world = await begin({ engine, script: { replies: ["Kept for now."] } });
  const { page, site } = world;
  await ready(page);
  await say(page, "Remember the violet");
  await messages(page, 2);
  const told = () => page.$$eval(".toast", (all) => all.filter((toast) => /held more sessions when you were last here/.test(toast.textContent)).length);
  assert.equal(await told(), 0);
  await page.reload();
  await messages(page, 2);
  assert.equal(await told(), 0);
  await page.goto(`${site.url}/empty`);
  await page.evaluate(async () => {
    for (const { name } of await indexedDB.databases()) await new Promise((done, fail) => Object.assign(indexedDB.deleteDatabase(name), { onsuccess: done, onerror: fail, onblocked: fail }));
  });
  await page.goto(site.url);
  await until(page, () => [...document.querySelectorAll(".toast")].some((toast) => /held more sessions/.test(toast.textContent)));
  await ready(page);
  await page.reload();
  await ready(page);
  assert.equal(await told(), 0, "said once");
  await world.end();
});

/// F90: settings that cannot be read have their defaults, each by itself; the old text is kept, and the page says so.
test("damaged settings fall back one by one", SLOW, async () => {
  const world = await begin({ script: { replies: ["Yes."] } });
  const { page, site, fake } = world;
  await ready(page);
  const put = async (text) => {
    await page.goto(`${site.url}/empty`);
    await page.evaluate((text) => localStorage.setItem("palimpsest.settings", text), text);
    await page.goto(site.url);
    await page.waitForSelector("[data-session]");
  };
  const told = (page) => until(page, () => [...document.querySelectorAll(".toast.bad")].some((toast) => /Some settings could not be read/.test(toast.textContent)));
  const half = JSON.stringify({ address: fake.url, language: "en", titles: false, theme: "plaid", window: -5, policy: 7, grey: true });
  await put(half);
  await told(page);
  await ready(page);
  assert.match(await page.$eval("#window", (list) => list.selectedOptions[0].textContent), /8,192/);
  assert.ok(await page.evaluate(() => JSON.parse(localStorage.getItem("palimpsest.settings")).grey), "what could be read stands");
  assert.equal(await page.evaluate(() => localStorage.getItem("palimpsest.settings.old")), half);
  await say(page, "Does it work?");
  await messages(page, 2);
  await page.reload();
  await ready(page);
  assert.equal((await page.$$(".toast.bad")).length, 0, "said once");
  const broken = `{"address":"${fake.url}","langu`;
  await put(broken);
  await told(page);
  assert.equal(await page.evaluate(() => localStorage.getItem("palimpsest.settings.old")), broken);
  // the usual address is asked then, where nobody answers
  await world.end({ tolerate: [/ERR_CONNECTION_REFUSED|Failed to load resource/, /request: http:\/\/localhost:(11434|8081|8000)\//] });
});

/// F80: a server that refuses pages from here has its own sentence, and the cure names the origin.
test("a server that refuses this page is told from one that does not run", SLOW, async () => {
  const world = await begin();
  const { page, site, fake } = world;
  const here = site.url.replace("localhost", "elsewhere.localhost");
  await page.goto(`${here}/empty`);
  await page.evaluate((text) => localStorage.setItem("palimpsest.settings", text), JSON.stringify({ address: fake.url, language: "en", titles: false }));
  await page.goto(`${here}/#settings`);
  await page.waitForSelector(".checks .badc");
  await until(page, (here) => document.querySelector(".checks").textContent.includes(`it refuses pages from ${here}`), here);
  await until(page, (here) => [...document.querySelectorAll("pre, code")].some((one) => one.textContent.includes("OLLAMA_ORIGINS") && one.textContent.includes(here)), here);
  // allowed, it answers
  fake.setScript({ origins: [here] });
  await page.reload();
  await until(page, () => document.querySelector(".live.okc"));
  await world.end({ tolerate: [/CORS|ERR_FAILED|403|Failed to load resource/, new RegExp(`request: ${here}`)] });
});

/// F80: a page that came over https is told why its browser does not let it reach a server: plain http elsewhere, or a permission that the
/// person has refused. Once it is given, the server answers. (Only Chromium asks for it.)
test("a page over https is told what its browser does not let it reach", SLOW, async () => {
  const world = await begin();
  const { page, site, fake } = world;
  const here = "https://chat.palimpsest.test";
  // the page's files come from the site, by the browser itself: to it the page has an origin somewhere else, and over https
  await page.setRequestInterception(true);
  page.on("request", async (request) => {
    if (!request.url().startsWith(here)) return request.continue();
    const answer = await fetch(request.url().replace(here, site.url));
    const headers = Object.fromEntries(["content-type", "content-security-policy"].map((name) => [name, answer.headers.get(name) ?? ""]));
    return request.respond({ status: answer.status, headers, body: Buffer.from(await answer.arrayBuffer()) });
  });
  const browser = await page.createCDPSession();
  const allow = async (setting) => {
    for (const name of ["local-network", "loopback-network"]) await browser.send("Browser.setPermission", { permission: { name }, setting, origin: here });
  };
  fake.setScript({ origins: [here] });
  const findings = async (address) => {
    await page.goto(`${here}/empty`);
    await page.evaluate((text) => localStorage.setItem("palimpsest.settings", text), JSON.stringify({ address, language: "en", titles: false }));
    await page.goto(`${here}/#settings`);
    await page.waitForSelector(".checks .badc");
    return page.$eval(".checks", (checks) => checks.textContent);
  };
  const mixed = await findings("http://192.168.1.50:11434");
  assert.match(mixed, /loaded over https, so the browser does not let it talk to http:\/\/192\.168\.1\.50:11434 over plain http/);
  assert.match(mixed, /put the server behind https, or use the server on this machine/);
  await allow("denied");
  const refused = await findings(fake.url);
  assert.match(refused, /does not let this page reach servers on this machine or network/);
  assert.match(refused, /set “Local network access” to “Allow”; then reload/);
  assert.deepEqual(fake.requests.filter(({ headers }) => headers.includes(here) || headers.includes(`${here}/`)), [], "nothing was asked from there");
  await allow("granted");
  await page.reload();
  await until(page, () => document.querySelector(".live.okc"));
  await browser.send("Browser.resetPermissions");
  await world.end({ tolerate: [/Content Security Policy|address space|Failed to load|ERR_|service worker/i, new RegExp(`request: ${here}`)] });
});

/// F35, B1: a window beyond what a model was made for is said to be so; the largest number there is breaks nothing.
test("a window beyond the model's own is told", SLOW, async () => {
  const world = await begin({ script: { replies: ["Large.", "Still there."] } });
  const { page } = world;
  await ready(page);
  const choose = async (tokens) => {
    await page.select("#window", "other");
    await page.waitForSelector("dialog[open] #tokens");
    await page.$eval("#tokens", (field, tokens) => (field.value = tokens), tokens);
    await click(page, "dialog [type=submit]");
  };
  const shown = () => page.$eval("#window", (list) => list.selectedOptions[0].textContent);
  await choose("4000000000");
  assert.ok(await page.$("dialog[open] #tokens"), "no window is that large");
  await page.keyboard.press("Escape");
  await until(page, () => !document.querySelector("dialog[open]"));
  assert.equal(await shown(), "window 8,192");
  await choose("1,048,576");
  await until(page, () => document.querySelector("#window").selectedOptions[0].textContent === "window 1,048,576");
  await until(page, () => /of 1,0\d\d,\d{3} tokens/.test(document.querySelector("#s-chat .budget .sum").textContent));
  await say(page, "Is it large?");
  await messages(page, 2);
  // what the model was made for stands among the findings, without another question
  await page.evaluate(() => (location.hash = "settings"));
  await until(page, () => /You asked for a window of 1,048,576 tokens, but \S+ was made for [\d,]+; the server will not give more\.[\s\S]*Choose at most [\d,]+\./.test(document.querySelector(".checks").textContent));
  await world.end();
});
