// What stands beside the conversation: goal, pins, snapshots, layers, lenses, quotes.

import assert from "node:assert/strict";
import test from "node:test";
import { ENGINES, begin, budget, cleanUp, importFile, say, transcript } from "./harness.mjs";
import { bakery, click, messages, ready, text, until } from "./acts.mjs";

const SLOW = { timeout: 240_000 };
test.afterEach(cleanUp);

const windowText = async (page) => {
  await page.evaluate(() => (location.hash = "context"));
  await click(page, ".lens [data-lens=sees]");
  await page.waitForSelector(".sent pre");
  const all = await page.$$eval(".sent pre", (list) => list.map((e) => e.textContent).join("\n---\n"));
  await page.evaluate(() => (location.hash = "chat"));
  return all;
};

/// G1, I4: goal, decisions and pins are set in the notes or by command, stand in the window, and go again.
test("goal, decisions and pins stand in every window until they are removed", SLOW, async () => {
  const world = await begin({ script: { replies: ["Noted."] } });
  const { page } = world;
  await ready(page);
  await say(page, "/goal Ship the login page");
  await until(page, () => document.querySelector(".notes .goal")?.textContent === "Ship the login page");
  await say(page, "/decide Sessions live in httpOnly cookies");
  await say(page, "/pin Answer in Portuguese");
  await until(page, () => document.querySelectorAll(".notes .marks li").length === 2);
  await click(page, "#edit-goal");
  await page.waitForSelector("dialog[open] #goal-line");
  await page.type("#goal-line", "Design the form");
  await click(page, "#add-goal-line");
  await until(page, () => document.querySelector("dialog .marks li")?.textContent.includes("Design the form"));
  await click(page, "dialog .marks li button:first-child");
  await until(page, () => document.querySelector("dialog .marks li button").getAttribute("aria-label").startsWith("In progress"));
  await page.keyboard.press("Escape");
  await until(page, () => !document.querySelector("dialog"));
  const shown = await windowText(page);
  for (const words of ["Ship the login page", "Design the form", "httpOnly cookies", "Answer in Portuguese"]) assert.ok(shown.includes(words), words);
  await say(page, "Go");
  await messages(page, 2);
  assert.match(world.chats().at(-1).messages[0].content, /Ship the login page[\s\S]*httpOnly/);

  await page.reload();
  await until(page, () => document.querySelectorAll(".notes .marks li").length === 3);
  await click(page, ".notes [aria-label='Remove: Answer in Portuguese']");
  await until(page, () => !document.querySelector(".notes").textContent.includes("Portuguese"));
  assert.ok(!(await windowText(page)).includes("Portuguese"));
  assert.equal(world.chats().length, 1, "commands were not sent");
  await world.end();
});

/// G1: a goal has a priority and a status, and its decisions have reasons; next steps, obstacles and files stand with it, in every window.
test("a goal has a priority, can rest, and lists decisions with reasons, next steps, obstacles and files", SLOW, async () => {
  const world = await begin({ script: { replies: ["Noted."] } });
  const { page } = world;
  await ready(page);
  await say(page, "/goal Ship the login page");
  await until(page, () => document.querySelector(".notes .goal")?.textContent === "Ship the login page");
  await click(page, "#edit-goal");
  await page.waitForSelector("dialog[open] #goal-line");
  const add = async (kind, words, beside = {}) => {
    await page.select("#goal-kind", kind);
    await page.type("#goal-line", words);
    if (beside.reason) await (await page.waitForSelector("#goal-reason")).type(beside.reason);
    if (beside.action) await (await page.waitForSelector("#goal-action")).select(beside.action);
    await click(page, "#add-goal-line");
    await until(page, (words) => [...document.querySelectorAll("dialog .marks li")].some((line) => line.textContent.includes(words)), words);
  };
  await add("decision", "Sessions live in cookies", { reason: "no script reads them" });
  await add("next", "Ask Ines for the logo");
  await add("blocker", "The mail server is down");
  await add("file", "src/login.rs", { action: "modified" });
  await add("milestone", "Design the form");
  await page.select("#goal-priority", "high");
  await page.select("#goal-status", "paused");
  await click(page, "dialog [type=submit]");
  await until(page, () => !document.querySelector("dialog") && /Ship the login page · paused · high priority/.test(document.querySelector(".notes .goal").textContent));
  await say(page, "Go");
  await messages(page, 2);
  const sent = world.chats().at(-1).messages[0].content;
  for (const words of ["Goal (high priority, paused): Ship the login page", "Sessions live in cookies (reason: no script reads them)", "Ask Ines for the logo", "The mail server is down", "modified src/login.rs", "Design the form"]) assert.ok(sent.includes(words), words + sent);
  await page.reload();
  await until(page, () => /Ship the login page · paused · high priority/.test(document.querySelector(".notes .goal")?.textContent) && document.querySelectorAll(".notes .marks li").length === 5);
  await click(page, "#edit-goal");
  await page.waitForSelector("dialog[open] #goal-status");
  await page.select("#goal-status", "completed");
  await click(page, "dialog [type=submit]");
  await until(page, () => /reached/.test(document.querySelector(".notes .goal").textContent));
  await world.end();
});

/// S4, P9, P10: preview, compaction, its card whole after a reload, timeline, compare, lift with its price.
test("a layer is previewed, read, compared and lifted; its card and the timeline survive a reload", SLOW, async () => {
  const world = await begin({ settings: { window: 8192, summary_model: "-" } });
  const { page } = world;
  await ready(page);
  await importFile(page, transcript(bakery(9), "Bakery"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Bakery");
  const before = await budget(page);
  await say(page, "/preview");
  await page.waitForSelector("dialog[open] .facts");
  assert.match(await text(page, "dialog"), new RegExp(before.used.toLocaleString("en")));
  assert.match(await text(page, "dialog"), /Timenext to none: no model is asked/);
  assert.deepEqual(await budget(page), before, "a preview changes nothing");
  await click(page, "dialog .btn.solid");
  await page.waitForSelector(".card.done .pair");
  const card = await text(page, ".card.done");
  await page.reload();
  await page.waitForSelector(".card.done .pair");
  assert.equal(await text(page, ".card.done"), card, "the card says the same after a reload");
  // G6: the badge says how far the session can be trusted, with its arithmetic
  await click(page, "#trust > summary");
  assert.match(await text(page, "#trust > summary"), /^▮+▯* (Most|Some|Little|Very little) \d+ %$/);
  const sums = await page.$$eval("#trust p", (all) => all.map((p) => p.textContent));
  const [factor, there, percent] = sums.find((line) => line.includes("×")).match(/\d+/g).map(Number);
  assert.equal(factor, 85, "one compaction");
  assert.ok(Math.abs(factor * there / 100 - percent) <= 1, sums.join(" "));
  // what it is about can be looked into: the layer, and the log
  await click(page, "#trust ul .link");
  await page.waitForSelector("dialog[open] .script, dialog[open] p");
  assert.match(await text(page, "dialog h2"), /^Layer 1/);
  await page.keyboard.press("Escape");
  await until(page, () => !document.querySelector("dialog"));
  assert.equal(await page.$eval("#trust a.link", (a) => a.getAttribute("href")), "#log");
  const bars = await page.$$eval(".card.done .pair .seg", (all) => all.length);
  assert.ok(bars >= 4, `${bars} stretches on the two bars after a reload`);
  const after = await budget(page);

  await page.evaluate(() => (location.hash = "context"));
  await page.waitForSelector(".timeline button");
  assert.match(await text(page, ".timeline button"), new RegExp(`Compaction 1${before.used.toLocaleString("en")} → [\\d,]+detailed, \\d+`));
  await click(page, ".timeline button");
  await until(page, () => document.activeElement?.dataset.layer === "1");
  const ghosts = await page.$$eval(".said.ghost header i", (all) => all.map((i) => i.textContent));
  assert.ok(ghosts.length > 3 && ghosts.every((t) => t === "in layer 1"), ghosts.join());
  await click(page, ".margin .acts .btn:nth-child(2)");
  await page.waitForSelector("dialog[open] .compare");
  assert.match(await text(page, ".side-said"), /Oven 101 bakes/);
  assert.match(await text(page, ".side-layer"), /[Oo]ven/);
  await page.keyboard.press("Escape");
  await until(page, () => !document.querySelector("dialog"));
  await page.evaluate(() => (location.hash = "chat"));
  await say(page, "/lift 7");
  await page.waitForSelector(".toast.bad");
  await say(page, "/lift 1");
  await page.waitForSelector("dialog[open] .acts");
  assert.match(await text(page, "dialog"), /about [\d,]+ tokens longer/);
  assert.deepEqual(await budget(page), after, "the price comes before the lift");
  await click(page, "dialog .btn.solid");
  await until(page, () => document.querySelectorAll(".strata li").length === 0);
  // counts get better when the model's own vocabulary is known: about as large as before
  const lifted = await budget(page);
  assert.ok(Math.abs(lifted.used - before.used) < before.used * 0.15, `${before.used} → ${lifted.used}`);
  await world.end();
});

/// S4: named snapshots are kept, previewed, restored as a branch, and the way back is one click.
for (const engine of ENGINES) test(`a snapshot is taken, restored as a branch, and the present comes back (${engine})`, SLOW, async () => {
  const world = await begin({ engine, script: { replies: ["One.", "Two.", "Three."] } });
  const { page } = world;
  await ready(page);
  await say(page, "First");
  await messages(page, 2);
  await say(page, "/snapshot works on sqlite");
  await until(page, () => document.querySelector(".notes").textContent.includes("works on sqlite"));
  await say(page, "Second");
  await messages(page, 4);
  await say(page, "/restore");
  await page.waitForSelector("dialog[open] .line-list");
  await click(page, "dialog .line-list li .link");
  await page.waitForSelector("dialog .ask");
  assert.match(await text(page, "dialog .ask"), /1: First2: One\.Since then: 2 messages\./);
  await click(page, "dialog .line-list li .link:nth-of-type(2)");
  await page.waitForSelector("dialog .ask .btn.solid");
  assert.match(await text(page, "dialog .ask"), /2 messages are newer than \d\d:\d\d\. What is newer stays in the session/);
  await click(page, "dialog .ask .btn.solid");
  await messages(page, 2);
  await click(page, ".toast .btn");
  await messages(page, 4);
  assert.match(await text(page, ".thread"), /Second[\s\S]*Two\./);
  await page.reload();
  await until(page, () => document.querySelector(".notes")?.textContent.includes("works on sqlite"));
  await world.end();
});

/// R1: passages recalled for a question are shown with their message, and can be taken out.
test("recalled quotes are shown and removable", SLOW, async () => {
  const world = await begin({ settings: { window: 4096, summary_model: "-" }, script: { answer: { words: 5 } } });
  const { page } = world;
  await ready(page);
  const talk = bakery(12, 14);
  talk[1].content += " The secret of the sourdough is the violet Zanzibar starter from Quentin.";
  await importFile(page, transcript(talk, "Bakery"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Bakery");
  await click(page, "#compact");
  await page.waitForSelector(".card.done");
  await say(page, "Who gave us the violet Zanzibar starter?");
  await until(page, () => !document.querySelector(".replying") && document.querySelector(".quotes li"));
  assert.match(await text(page, ".quotes"), /violet Zanzibar[\s\S]*from 2/);
  assert.match(JSON.stringify(world.chats().at(-1).messages), /violet Zanzibar starter from Quentin/);
  const quotes = (await page.$$(".quotes li")).length;
  // the message it is from is one click away
  await click(page, ".quotes li .from[aria-label='Show message 2']");
  await until(page, () => document.activeElement?.dataset.seq === "2");
  assert.match(await page.evaluate(() => document.activeElement.textContent), /starter from Quentin/);
  await click(page, ".quotes li .quiet");
  await until(page, (n) => document.querySelectorAll(".quotes li").length === n - 1, quotes);
  await world.end();
});
