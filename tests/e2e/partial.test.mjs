// Replies that end before their end: nothing that arrived is lost, each says how it ended, and can be gone on with.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import puppeteer from "puppeteer-core";
import { startFake } from "../ollama/fake.mjs";
import { click, messages, ready, text, until } from "./acts.mjs";
import { BROWSERS, ENGINES, begin, cleanUp, importFile, say, serve, transcript, watch } from "./harness.mjs";

const SLOW = { timeout: 180_000 };
test.afterEach(cleanUp);

const words = (from, to) => Array.from({ length: to - from }, (_, i) => `w${from + i} `);
/** A reply of many words, slow enough to be left in the middle. */
const slowly = { content: words(0, 400), delay_ms: 40 };
/** Its last word that a page shows. */
const newest = (page) => page.$eval(".replying .prose", (prose) => Number(prose.textContent.trim().split(/\s+/).at(-1).slice(1)));
const last = ".thread .msg:not(.replying):last-of-type";
const prose = (page) => text(page, `${last} .prose`);
const stopped = (page) => until(page, (last) => /Stopped before its end/.test(document.querySelector(`${last} .ended`)?.textContent ?? ""), last);
/** Every word once, in order, from the first. */
function whole(said, least) {
  const all = said.trim().split(/\s+/);
  assert.deepEqual(all, all.map((_, i) => `w${i}`));
  assert.ok(all.length >= least, `${all.length} words, ${least} expected`);
  return all.length;
}

/** Has the model go on from its n-th word with twelve more, and looks at what comes of it. */
async function goOn({ page, fake }, n, count) {
  fake.setScript({ replies: [{ content: words(n, n + 12), delay_ms: 5 }] });
  await click(page, "#continue");
  await until(page, () => !document.querySelector(".replying") && !document.querySelector(".ended"));
  assert.equal(await page.$$eval(".thread .msg", (all) => all.length), count, "one message of both");
  assert.equal(whole(await prose(page), n + 12), n + 12);
  const sent = fake.requests.filter((r) => r.method === "POST" && r.path === "/api/chat").map((r) => JSON.parse(r.body)).at(-1).messages.at(-1);
  assert.deepEqual([sent.role, sent.content.trim().split(/\s+/).length], ["assistant", n], "the model went on from where it broke off");
  await page.reload();
  await messages(page, count);
  assert.equal(whole(await prose(page), n + 12), n + 12, "after a reload still");
  assert.equal(await page.$(".ended"), null);
  assert.match(await text(page, `${last} .flip`), /2 \/ 2/);
}

/// F94, P7, F66: a page that is reloaded in the middle of a reply has what arrived, says that it stopped, and goes on with it.
for (const engine of ENGINES) test(`a reload in the middle of a reply: the part is there, and is continued to one message (${engine})`, SLOW, async () => {
  const world = await begin({ engine, script: { replies: [slowly] } });
  const { page } = world;
  await ready(page);
  await say(page, "Count");
  await until(page, () => /w60 /.test(document.querySelector(".replying .prose")?.textContent ?? ""));
  const seen = await newest(page);
  await page.reload();
  await stopped(page);
  const n = whole(await prose(page), seen - 25);
  assert.equal(await page.$(".notice"), null, "nothing to decide first");
  await ready(page);
  await goOn(world, n, 2);
  // the part is a version of its own
  await click(page, `${last} .flip button`);
  await stopped(page);
  assert.equal(whole(await prose(page), n), n);
  await world.end({ tolerate: [/Failed to load resource/, /NetworkError|aborted/] });
});

/// P7: Stop keeps what was written, says so, and it is gone on with; a reply at its most says at how many tokens.
test("a stopped reply and one that was cut say so, and are continued", SLOW, async () => {
  const world = await begin({ script: { replies: [slowly] } });
  const { page, fake } = world;
  await ready(page);
  await say(page, "Count");
  await until(page, () => /w20 /.test(document.querySelector(".replying .prose")?.textContent ?? ""));
  await page.keyboard.press("Escape");
  await stopped(page);
  await goOn(world, whole(await prose(page), 20), 2);

  fake.setScript({ replies: [{ content: words(0, 30), done_reason: "length", eval_count: 30 }, { content: words(30, 40), done_reason: "length", eval_count: 10 }] });
  await ready(page);
  await say(page, "Again");
  await until(page, (last) => /Cut at 30 tokens/.test(document.querySelector(`${last} .ended`)?.textContent ?? ""), last);
  assert.match(await text(page, "#status, [role=status]"), /Cut at 30 tokens|/);
  await page.reload();
  await until(page, (last) => /Cut at 30 tokens/.test(document.querySelector(`${last} .ended`)?.textContent ?? ""), last);
  await ready(page);
  await click(page, "#continue");
  await until(page, (last) => /Cut at 40 tokens/.test(document.querySelector(`${last} .ended`)?.textContent ?? ""), last);
  await goOn(world, whole(await prose(page), 40), 4).catch((error) => {
    // it is the third version of this reply
    if (!/3 \/ 3/.test(error.message)) throw error;
  });
  await world.end();
});

/// P7: a stream that stalls is noted without another word; a connection that breaks leaves the part, marked, with Try again.
test("a stalled stream is noted, and a broken one is marked", SLOW, async () => {
  const world = await begin({ script: { replies: [{ content: ["w0 ", "w1 ", "w2 "], delay_ms: 10, hostile: "stall", after: 3 }] } });
  const { page, fake } = world;
  await ready(page);
  fake.setScript({ replies: [{ content: words(0, 6), delay_ms: 60_000, first_delay_ms: 0 }] });
  await say(page, "Count");
  await until(page, () => /w0/.test(document.querySelector(".replying .prose")?.textContent ?? ""));
  await new Promise((done) => setTimeout(done, 1_100));
  await page.reload();
  await stopped(page);
  assert.equal(whole(await prose(page), 1), 1);

  fake.setScript({ hostile: "error-midstream" });
  await ready(page);
  await say(page, "Again");
  await page.waitForSelector(".notice");
  await stopped(page);
  const part = await prose(page);
  assert.ok(part.trim().length > 0);
  assert.equal(await page.$(".notice .part"), null);
  fake.setScript({ replies: ["A whole one."] });
  await click(page, ".notice .btn");
  await until(page, (last) => document.querySelector(`${last} .prose`)?.textContent.trim() === "A whole one.", last);
  assert.equal(await page.$(`${last} .ended, .notice`), null);
  assert.match(await text(page, `${last} .flip`), /2 \/ 2/);
  await world.end({ tolerate: [/Failed to load resource/, /ERR_/] });
});

/// P7, S5: the second tab takes over in the middle of a reply: it has the part, and goes on with it; the first reads along.
test("another tab takes over in the middle of a reply", SLOW, async () => {
  const world = await begin({ script: { replies: [slowly] } });
  const { page: first } = world;
  await ready(first);
  await say(first, "Count");
  await until(first, () => /w60 /.test(document.querySelector(".replying .prose")?.textContent ?? ""));
  const second = await world.browser.newPage();
  watch(second, world.problems, [world.site.url, world.fake.url]);
  await second.goto(world.site.url);
  await until(second, () => /another tab/.test(document.querySelector(".notice")?.textContent ?? ""));
  const seen = await newest(first).catch(() => 60);
  await click(second, ".notice .btn");
  await stopped(second);
  const n = whole(await prose(second), seen - 25);
  await until(first, () => /another tab/.test(document.querySelector(".notice")?.textContent ?? ""));
  await ready(second);
  await goOn({ page: second, fake: world.fake }, n, 2);
  await world.end({ tolerate: [/Failed to load resource/, /ERR_/] });
});

/// P7: a question that nobody answered offers to: after a reload, and in a conversation that was imported.
test("a question without an answer offers to write it", SLOW, async () => {
  const world = await begin({ script: { replies: [{ content: "late", first_delay_ms: 60_000 }] } });
  const { page, fake } = world;
  await ready(page);
  await say(page, "Anybody there?");
  await until(page, () => document.querySelector(".replying"));
  await page.reload();
  const offered = () => until(page, () => /no answer yet/.test(document.querySelector(".notice")?.textContent ?? ""));
  await offered();
  fake.setScript({ replies: ["Here I am.", "Me, too."] });
  await ready(page);
  await click(page, ".notice .btn");
  await messages(page, 2);
  assert.equal((await prose(page)).trim(), "Here I am.");
  assert.equal(await page.$(".notice"), null);
  await importFile(page, transcript([{ role: "user", content: "Hello" }, { role: "assistant", content: "Hi" }, { role: "user", content: "And you?" }], "Open"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Open");
  await offered();
  await click(page, ".notice .btn");
  await messages(page, 4);
  assert.equal((await prose(page)).trim(), "Me, too.");
  await world.end({ tolerate: [/Failed to load resource/, /ERR_/] });
});

/// P7, F66: a browser that is killed in the middle of a reply has lost a second of it at most.
for (const engine of ENGINES) test(`a browser that is killed in the middle of a reply keeps the part (${engine})`, SLOW, async () => {
  const [site, fake] = [await serve(), await startFake({ replies: [slowly] })];
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-killed-"));
  const start = () => puppeteer.launch({ browser: engine, userDataDir: profile, headless: true, protocolTimeout: 120_000, ...BROWSERS[engine] });
  let browser = await start();
  try {
    let page = await browser.newPage();
    await page.goto(`${site.url}/empty`);
    await page.evaluate((text) => localStorage.setItem("palimpsest.settings", text), JSON.stringify({ address: fake.url, language: "en", titles: false }));
    await page.goto(site.url);
    await ready(page);
    await say(page, "Count");
    await until(page, () => /w90 /.test(document.querySelector(".replying .prose")?.textContent ?? ""));
    const seen = await newest(page);
    const gone = new Promise((done) => browser.process().once("exit", done));
    browser.process().kill("SIGKILL");
    await gone;
    await new Promise((done) => setTimeout(done, 1_000));
    for (const lock of ["lock", ".parentlock", "SingletonLock"]) fs.rmSync(path.join(profile, lock), { force: true });

    browser = await start();
    page = await browser.newPage();
    await page.goto(site.url);
    await stopped(page);
    // a word comes every 40 ms: a second is 25 of them
    const n = whole(await prose(page), seen - 26);
    // the address may have gone with the last settings, which a browser writes late
    if (await page.$(".live.okc")) await goOn({ page, fake }, n, 2);
  } finally {
    await browser.close().catch(() => {});
    await fake.close();
    await site.close();
    fs.rmSync(profile, { recursive: true, force: true });
  }
});
