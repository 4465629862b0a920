// Talking: saying it again, branches, files, the queue, commands.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import { begin, cleanUp, say } from "./harness.mjs";
import { click, messages, ready, text, until } from "./acts.mjs";

const SLOW = { timeout: 180_000 };
test.afterEach(cleanUp);

/// Regenerate and edit keep what was said on branches of their own, across a reload.
test("a reply is written again, a question is changed, and every branch stays one click away", SLOW, async () => {
  const world = await begin({ script: { replies: ["First answer.", "Second answer.", "About Rome."] } });
  const { page } = world;
  const thread = () => text(page, ".thread");
  await ready(page);
  await say(page, "Which city?");
  await messages(page, 2);
  await page.hover(".msg:last-of-type");
  await click(page, "#again");
  await until(page, () => document.querySelector(".thread").textContent.includes("Second answer."));
  await messages(page, 2);
  assert.equal(await text(page, ".flip > span"), "2 / 2");
  assert.ok(!(await thread()).includes("First answer."));
  await click(page, ".flip button:first-child");
  await until(page, () => document.querySelector(".thread").textContent.includes("First answer."));
  assert.equal(await text(page, ".flip > span"), "1 / 2");

  await page.hover(".msg.you");
  await click(page, ".msg.you [aria-label^='Edit and send again']");
  await page.waitForSelector("dialog[open] #edit-text");
  await page.$eval("#edit-text", (field) => (field.value = "Tell me about Rome."));
  await click(page, "dialog [type=submit]");
  await until(page, () => document.querySelector(".thread").textContent.includes("About Rome."));
  await messages(page, 2);
  const last = world.chats().at(-1).messages.filter((m) => m.role !== "system");
  assert.deepEqual(last.map((m) => m.content), ["Tell me about Rome."]);
  await page.reload();
  await until(page, () => document.querySelector(".thread").textContent.includes("About Rome."));
  await click(page, ".msg.you .flip button:first-child");
  await until(page, () => document.querySelector(".thread").textContent.includes("Which city?"));
  await world.end();
});

/// A text file is a part of its own; bytes that are no text are refused.
test("text files go with a message, other files do not", SLOW, async () => {
  const world = await begin({ script: { replies: ["Read."] } });
  const { page } = world;
  await ready(page);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-attach-"));
  const file = (name, content) => (fs.writeFileSync(path.join(folder, name), content), path.join(folder, name));
  await (await page.$("#attach")).uploadFile(file("picture.png", Buffer.from([0x89, 0x50, 0, 0xff, 0xfe])));
  await page.waitForSelector(".toast.bad");
  assert.match(await text(page, ".toast.bad"), /picture\.png.*not a text file/);
  await (await page.$("#attach")).uploadFile(file("notes.txt", "alpha\nKEEP-9182\nomega\n"));
  await page.waitForSelector(".attached li");
  assert.match(await text(page, ".attached li"), /notes\.txt3 lines/);
  await say(page, "What is in it?");
  await messages(page, 2);
  assert.equal(await page.$(".attached"), null);
  assert.match(JSON.stringify(world.chats().at(-1).messages), /KEEP-9182/);
  assert.match(await text(page, ".msg.you .tool summary"), /notes\.txt/);
  await world.end();
});

/// What is said while a reply comes in waits for it, can be taken back, and is sent after it.
test("a message said during a reply waits its turn", SLOW, async () => {
  const slow = { content: Array.from({ length: 40 }, (_, i) => `word${i} `), delay_ms: 50 };
  const world = await begin({ script: { replies: [slow, "Second reply.", slow] } });
  const { page } = world;
  await ready(page);
  await say(page, "Slowly please");
  await until(page, () => /word2 /.test(document.querySelector(".replying .prose")?.textContent ?? ""));
  await say(page, "And then this");
  await page.waitForSelector(".queued");
  assert.equal(world.chats().length, 1);
  await messages(page, 4);
  assert.equal(world.chats().length, 2);
  assert.match(await text(page, ".thread"), /word39[\s\S]*And then this[\s\S]*Second reply\./);
  await say(page, "Slowly again");
  await until(page, () => document.querySelector(".replying"));
  await say(page, "Not this");
  await click(page, ".queued .link");
  assert.equal(await page.$eval("#msg", (field) => field.value), "Not this");
  await messages(page, 6);
  assert.equal(world.chats().length, 3);
  await world.end();
});

/// Commands are offered while they are typed, and the sheet lists them with the keys.
test("commands are offered, the sheet of keys opens, the keyboard goes from message to message", SLOW, async () => {
  const world = await begin({ script: { replies: ["Yes."] } });
  const { page } = world;
  await ready(page);
  await say(page, "Is it?");
  await messages(page, 2);
  await page.focus("#msg");
  await page.keyboard.type("/co");
  await page.waitForSelector(".offered");
  assert.deepEqual(await page.$$eval(".offered code", (all) => all.map((c) => c.textContent)), ["/compact [focus]", "/context"]);
  await page.keyboard.press("Backspace");
  await page.keyboard.press("Backspace");
  await page.keyboard.press("Backspace");
  await until(page, () => !document.querySelector(".offered"));
  // an empty field: the arrow up takes the last message up again
  await page.keyboard.press("ArrowUp");
  await page.waitForSelector("dialog[open] #edit-text");
  assert.equal(await page.$eval("#edit-text", (f) => f.value), "Is it?");
  await page.keyboard.press("Escape");
  await until(page, () => !document.querySelector("dialog"));
  await page.focus(".thread");
  await page.keyboard.down("Alt");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.up("Alt");
  assert.equal(await page.evaluate(() => document.activeElement.dataset.seq), "1");
  await page.keyboard.press("?");
  await page.waitForSelector("dialog[open] .keymap");
  assert.match(await text(page, "dialog"), /\/lift n[\s\S]*Shift Esc/);
  await page.keyboard.press("Escape");
  await world.end();
});
