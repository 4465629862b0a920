// What the page says of what goes on is so, and goes when it is over.

import assert from "node:assert/strict";
import test from "node:test";
import { asksForSummary } from "../ollama/fake/summary.mjs";
import { startFake } from "../ollama/fake.mjs";
import { exceedError } from "../ollama/fake/overflow.mjs";
import { bakery, click, messages, patient, ready, text, until } from "./acts.mjs";
import { begin, cleanUp, importFile, say, transcript } from "./harness.mjs";

const SLOW = { timeout: 180_000 };
test.afterEach(cleanUp);

const status = (page) => text(page, "#status");

/// F95, P7: a message that waits for a compaction says so, and for what; the layer is called by its number only if that is the first or follows
/// one that is there; and when it is over, nothing says that it goes on.
test("a message that waits says for what and for which layer, until it is over", SLOW, async () => {
  // The summary is held back until the page was read: however slow the machine is, the message meets a compaction that goes on.
  let release;
  const held = new Promise((resolve) => (release = resolve));
  const writer = (request) => (asksForSummary(request, request.messages) ? { held } : "Gladly.");
  // In a window of 2,048 and less no model is asked for a summary, and there is nothing to hold back.
  const world = await begin({ settings: { window: 4096 }, script: { replies: writer } });
  const { page } = world;
  await ready(page);
  const long = transcript(bakery(24), "Bakery");
  await importFile(page, long);
  await until(page, () => document.querySelector("#h-chat").textContent === "Bakery" && document.querySelector(".thread .msg"));
  await say(page, "And now?");
  const told = await (await until(page, () => {
    const card = document.querySelector(".card.working");
    const at = (selector) => document.querySelector(selector).textContent;
    return /Your message is waiting/.test(card?.textContent ?? "") && { title: card.querySelector("h3").textContent, card: card.textContent, status: at("#status"), bar: at("#s-chat .budget .sum") };
  })).jsonValue();
  release();
  assert.equal(told.title, "Writing layer 1");
  assert.match(told.card, /Your message is waiting for this[\s\S]*After 10 s it goes on without the model/);
  assert.doesNotMatch(told.card, /Nothing changes until/);
  assert.match(told.status, /Your message is waiting/);
  await until(page, () => !document.querySelector(".replying") && !document.querySelector(".card.working") && /Gladly\./.test(document.querySelector(".thread .msg:last-of-type .prose")?.textContent ?? ""));
  await until(page, () => !/Compacting now/.test(document.querySelector("#s-chat .budget .sum").textContent));
  assert.doesNotMatch(await status(page), /is waiting|is replying/);
  await world.end();
});

/** What the page says of how far the session can be trusted, if anything. */
const trusted = (page) => page.$eval("#trust", (trust) => trust.parentElement.textContent).catch(() => "");

/// F95: where the first layer was undone, nobody is told of a layer 2 while the next one is written.
test("a layer that is written is called by a number that follows", SLOW, async () => {
  // Each summary is held back until the card was read.
  let held, release;
  const writer = (request) => (asksForSummary(request, request.messages) ? { held } : "Gladly.");
  const world = await begin({ settings: { window: 8192 }, script: { replies: writer } });
  const { page } = world;
  await ready(page);
  await importFile(page, transcript(bakery(10), "Bakery"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Bakery");
  await messages(page, 20);
  for (const title of ["Writing layer 1", "Writing a layer"]) {
    held = new Promise((resolve) => (release = resolve));
    await say(page, "/compact");
    await until(page, (title) => document.querySelector(".card.working h3")?.textContent === title, title);
    release();
    await until(page, () => document.querySelector(".card.done") && !document.querySelector(".card.working"));
    assert.doesNotMatch(await text(page, "#s-chat .budget .sum"), /Compacting now/);
    await until(page, () => document.querySelector("#trust"));
    assert.match(await trusted(page), /%/, "it is told while a layer stands");
    await page.evaluate(() => [...document.querySelectorAll(".card.done .acts .btn")].find((b) => b.textContent === "Undo").click());
    await until(page, () => !document.querySelector(".card.done"));
    assert.match(await status(page), /^Layer \d undone: [\d,]+ tokens\.$/);
    // nothing is compacted any more, so nothing is less certain than it was
    assert.doesNotMatch(await trusted(page), /Most|Some|Little|Compactions so far: [1-9]/);
  }
  await world.end();
});

/// P7, O5: who writes layers is the person's choice, also where a message has to wait for one.
test("a layer that a message waits for is by the summariser that was chosen", SLOW, async () => {
  for (const chosen of ["-", "writer:1b", ""]) {
    const world = await begin({ settings: { window: 8192, automatic: false, summary_model: chosen }, script: { replies: (request) => (asksForSummary(request, request.messages) ? undefined : "Gladly.") } });
    const { page, chats } = world;
    await ready(page);
    await importFile(page, transcript(bakery(13), "Bakery"));
    await until(page, () => document.querySelector("#h-chat").textContent === "Bakery" && document.querySelector(".thread .msg"));
    await say(page, "And now?");
    await until(page, () => /Gladly\./.test(document.querySelector(".thread .msg:last-of-type .prose")?.textContent ?? "") && document.querySelector(".card.done"));
    const summaries = chats().filter((request) => asksForSummary(request, request.messages)).map((request) => request.model);
    const own = chats().at(-1).model;
    assert.deepEqual([...new Set(summaries)], chosen === "-" ? [] : [chosen || own], chosen);
    await world.end({ tolerate: [/status of 404/] });
  }
});

/// B4: a conversation that rests for as long as its policy says is compacted by itself; one that goes on is not.
test("a conversation that rests is compacted", SLOW, async () => {
  const policy = JSON.stringify({ base: "balanced", triggers: [{ on: "idle", seconds: 3 }] });
  const world = await begin({ settings: { window: 8192, summary_model: "-", policy }, script: { replies: () => "Gladly." } });
  const { page } = world;
  await ready(page);
  await importFile(page, transcript(bakery(10), "Bakery"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Bakery" && document.querySelector(".thread .msg"));
  for (const [n, words] of ["And rye?", "And wheat?"].entries()) {
    await say(page, words);
    await messages(page, 22 + 2 * n);
    assert.equal(await page.$(".card.done"), null, "it goes on");
  }
  await until(page, () => document.querySelector(".card.done"));
  await world.end();
});

/// E1, F95: a server that refuses a window twice, however small it became, leads to a new session. The question is answered there at once,
/// the conversation goes on there, and the old session stays as it was.
test("a conversation whose window is refused twice goes on in a new session, with its reply", SLOW, async () => {
  let refused = 0;
  const over = { status: 400, body: JSON.stringify({ error: JSON.stringify(exceedError(9000, 8192)) }) };
  const writer = (request) => {
    if (asksForSummary(request, request.messages)) return undefined;
    const last = request.messages.at(-1).content;
    if (/Which oven is the hottest/.test(last) && refused < 2) {
      refused += 1;
      return over;
    }
    return /Which oven/.test(last) ? "Oven 111 is." : "Gladly.";
  };
  const world = await begin({ settings: { window: 8192, automatic: false }, script: { replies: writer } });
  const { page, chats } = world;
  await ready(page);
  await importFile(page, transcript(bakery(11), "Bakery"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Bakery" && document.querySelector(".thread .msg"));
  const before = await page.evaluate(() => location.hash);
  await say(page, "Which oven is the hottest?");
  await until(page, () => /Oven 111 is/.test(document.querySelector(".thread .msg:last-of-type .prose")?.textContent ?? "") && !document.querySelector(".replying"));
  await messages(page, 2);
  assert.equal(refused, 2);
  assert.notEqual(await page.evaluate(() => location.hash), before, "the address is the new session's");
  assert.equal(await page.$("#again-open, .failed"), null);
  await say(page, "Thank you.");
  await messages(page, 4);
  const [last] = chats().slice(-1);
  assert.match(JSON.stringify(last.messages), /Which oven is the hottest[\s\S]*Oven 111 is/);
  assert.match(JSON.stringify(last.messages), /earlier/i, "what was said before is in the window");
  // the old session ends with the question, and says nothing that was not said in it
  await page.evaluate((hash) => { location.hash = hash; }, before);
  await until(page, () => /Which oven is the hottest/.test(document.querySelector(".thread .msg:last-of-type")?.textContent ?? ""));
  await world.end({ tolerate: [/status of 400/] });
});

/// F95, B7: a reply that fills the room that is kept for it is no alarm.
test("a long reply in its own reserve is no alarm", SLOW, async () => {
  const words = Array.from({ length: 220 }, (_, i) => `word${i} `);
  const world = await begin({ settings: { window: 2048, reserve: 512 }, script: { replies: [{ content: words, delay_ms: 10 }] } });
  const { page } = world;
  await ready(page);
  await page.evaluate(() => {
    globalThis.seen = new Set();
    setInterval(() => seen.add(document.querySelector("#s-chat .budget")?.dataset.state), 50);
  });
  await say(page, `Count. ${"Take your time. ".repeat(200)}`);
  await messages(page, 2);
  const seen = await page.evaluate(() => [...seen]);
  assert.ok(!seen.includes("over"), `${seen}`);
  await world.end();
});

/// F95: "not connected" ends by itself once the server is back, without a click or a reload.
test("a server that comes back is connected again by itself", SLOW, async () => {
  const world = await begin({ script: { replies: ["One.", "Two."] } });
  const { page, fake } = world;
  await ready(page);
  const { port } = fake;
  await fake.close();
  await say(page, "Anybody there?");
  await until(page, () => document.querySelector(".live.warnc, .live.badc") && document.querySelector(".notice"));
  const back = await startFake({ replies: ["Here again."] }, { port });
  try {
    await patient(45_000)(page, () => document.querySelector(".live.okc"));
    await click(page, ".notice .btn:last-of-type");
    await until(page, () => /Here again\./.test(document.querySelector(".thread")?.textContent ?? ""));
    assert.equal(await page.$(".notice"), null);
  } finally {
    await back.close();
  }
  await world.end({ tolerate: [/Failed to load resource/, /ERR_/] });
});

/// F95: what an import says it brought is what it brought; a page that has nothing to compact says that, once, and keeps its welcome.
test("an import that brings nothing says so, and an empty session has nothing to compact", SLOW, async () => {
  const world = await begin();
  const { page } = world;
  await ready(page);
  await say(page, "/compact");
  await until(page, () => /the conversation is empty/.test(document.querySelector(".toasts, .toast")?.textContent ?? ""));
  assert.ok(await page.$(".start"), "the welcome stays");
  const file = transcript([{ role: "user", content: "Hi" }, { role: "assistant", content: "Hello" }], "Twice");
  for (const said of [/imported, 2 messages/, /everything in it is here already/]) {
    await importFile(page, file);
    await until(page, (said) => [...document.querySelectorAll(".toast")].some((toast) => new RegExp(said).test(toast.textContent)), said.source);
    assert.match(await status(page), said);
  }
  await world.end();
});
