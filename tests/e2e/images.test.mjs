// Images: they go with a message to a model that sees them, and stay.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { crc32, deflateSync } from "node:zlib";
import test from "node:test";
import { defaultModels } from "../ollama/fake/models.mjs";
import { ENGINES, begin, cleanUp, say } from "./harness.mjs";
import { click, messages, ready, text, until } from "./acts.mjs";

const SLOW = { timeout: 180_000 };
test.afterEach(cleanUp);

/** A PNG of one colour. */
function png(width, height, [red, green, blue]) {
  const chunk = (kind, data) => {
    const body = Buffer.concat([Buffer.from(kind, "latin1"), data]);
    const frame = Buffer.alloc(8);
    frame.writeUInt32BE(data.length, 0);
    frame.writeUInt32BE(crc32(body), 4);
    return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2], 8);
  const row = Buffer.alloc(1 + width * 3);
  for (let x = 0; x < width; x += 1) row.set([red, green, blue], 1 + x * 3);
  const rows = Buffer.concat(Array.from({ length: height }, () => row));
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), chunk("IHDR", head), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))]);
}

/** Width and height of a PNG in base64. */
function sides(base64) {
  const bytes = Buffer.from(base64, "base64");
  assert.equal(bytes.toString("latin1", 1, 4), "PNG");
  return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
}

/** The models of the server: one of them sees. */
const SEEING = defaultModels().map((model) => (model.name === "llama3.2:3b" ? { ...model, name: "gemma3:4b", capabilities: ["completion", "vision"] } : model));

/** Chooses a model of the open session. */
async function choose(page, name) {
  await click(page, "#model");
  await click(page, `dialog [data-model="${name}"]`);
  await until(page, (name) => document.querySelector("#model").textContent === name, name);
}

/// 19.7: chosen, pasted and dropped; sent as they are or smaller, and said so; kept across a reload and an edit of the words.
for (const engine of ENGINES) test(`images go with a message, and stay (${engine})`, SLOW, async () => {
  const world = await begin({ engine, script: { models: SEEING, replies: ["A green square.", "Two squares.", "Green it is."] } });
  const { page } = world;
  await ready(page);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-images-"));
  const file = (name, content) => (fs.writeFileSync(path.join(folder, name), content), path.join(folder, name));
  const green = png(40, 30, [20, 160, 40]);
  await (await page.$("#attach")).uploadFile(file("green.png", green), file("wide.png", png(2_000, 1_000, [200, 30, 30])));
  await until(page, () => document.querySelectorAll(".attached img").length === 2);
  assert.match(await text(page, ".toast"), /wide\.png.*1,280 × 640 pixels instead of 2,000 × 1,000/);
  await until(page, () => Number(document.querySelector(".under .num").textContent.match(/[\d,]+/)[0].replace(",", "")) >= 2 * 768);

  // what is pasted has the same name each time
  const paste = (base64, words) => page.evaluate((base64, words) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const data = new DataTransfer();
    data.items.add(new File([bytes], "image.png", { type: "image/png" }));
    if (words) data.setData("text/plain", words);
    // Firefox gives a made event a clipboard of its own
    const event = Object.defineProperty(new ClipboardEvent("paste", { bubbles: true, cancelable: true }), "clipboardData", { value: data });
    document.querySelector("#msg").dispatchEvent(event);
  }, base64, words);
  await paste(green.toString("base64"), "words with their picture are words");
  await paste(green.toString("base64"));
  await until(page, () => document.querySelectorAll(".attached img").length === 3);
  await paste(green.toString("base64"));
  await until(page, () => document.querySelector(".attached").textContent.includes("image 2.png"));
  for (const name of ["image.png", "image 2.png"]) await click(page, `.attached [aria-label='Remove: ${name}']`);
  await until(page, () => document.querySelectorAll(".attached img").length === 2);

  await say(page, "What do you see?");
  await messages(page, 2);
  assert.equal(await page.$(".attached"), null);
  const asked = world.chats().at(-1).messages.at(-1);
  assert.equal(asked.content, "What do you see?");
  assert.ok(asked.images[0] === green.toString("base64"), "a small PNG goes as it is");
  assert.deepEqual(asked.images.map(sides), [[40, 30], [1_280, 640]]);

  const shown = () => page.$$eval(".msg.you .image img", (all) => all.map((one) => [one.alt, one.naturalWidth, one.naturalHeight]));
  await until(page, () => [...document.querySelectorAll(".msg.you .image img")].every((one) => one.complete));
  assert.deepEqual(await shown(), [["green.png", 40, 30], ["wide.png", 1_280, 640]]);
  const wide = () => page.$eval(".msg.you .image:last-of-type img", (one) => one.getBoundingClientRect().width);
  const small = await wide();
  await click(page, ".msg.you .image:last-of-type summary");
  await until(page, (small) => document.querySelector(".msg.you .image:last-of-type img").getBoundingClientRect().width > small, small);

  await page.reload();
  await until(page, () => document.querySelectorAll(".msg.you .image img").length === 2 && [...document.querySelectorAll(".msg.you .image img")].every((one) => one.complete));
  assert.deepEqual(await shown(), [["green.png", 40, 30], ["wide.png", 1_280, 640]]);
  await ready(page);

  // other words about the same images
  await page.hover(".msg.you");
  await click(page, ".msg.you [aria-label^='Edit and send again']");
  await page.waitForSelector("dialog[open] #edit-text");
  await page.$eval("#edit-text", (field) => (field.value = "How many do you see?"));
  await click(page, "dialog [type=submit]");
  await until(page, () => document.querySelector(".thread").textContent.includes("Two squares."));
  await messages(page, 2);
  const again = world.chats().at(-1).messages.at(-1);
  assert.deepEqual([again.content, again.images], ["How many do you see?", asked.images]);
  assert.equal((await shown()).length, 2);

  // dropped, with no words
  await page.evaluate((base64) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const data = new DataTransfer();
    for (const name of ["one.png", "two.png"]) data.items.add(new File([bytes], name, { type: "image/png" }));
    document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
  }, green.toString("base64"));
  await until(page, () => document.querySelectorAll(".attached img").length === 2);
  await click(page, "#send");
  await messages(page, 4);
  assert.equal(world.chats().at(-1).messages.at(-1).images.length, 2);
  await world.end();
});

/// A model that sees none is sent no image: what is attached is refused with the cure, what was said before is named in words.
test("a model that sees no images gets none", SLOW, async () => {
  const world = await begin({ script: { models: SEEING, replies: ["A square.", "I cannot see it."] } });
  const { page } = world;
  await ready(page);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-images-"));
  const green = path.join(folder, "green.png");
  fs.writeFileSync(green, png(40, 30, [20, 160, 40]));
  const attach = async () => (await page.$("#attach")).uploadFile(green);
  // bytes that are no image
  const broken = path.join(folder, "broken.png");
  fs.writeFileSync(broken, Buffer.from([0x89, 0x50, 0, 0xff, 0xfe]));
  await (await page.$("#attach")).uploadFile(broken);
  await until(page, () => /broken\.png.*neither text nor an image/.test(document.querySelector(".toast.bad").textContent));
  await attach();
  await page.waitForSelector(".attached img");
  await say(page, "What is it?");
  await messages(page, 2);
  await choose(page, "smollm2:135m");
  await attach();
  await until(page, () => /smollm2:135m.*does not see images/.test(document.querySelector(".toast.bad").textContent));
  assert.equal(await page.$(".attached"), null);
  await say(page, "And which colour?");
  await messages(page, 4);
  const asked = world.chats().at(-1).messages;
  assert.ok(asked.every((message) => message.images === undefined));
  assert.match(asked.find(({ role }) => role === "user").content, /^What is it\?\n\[image: green\.png\]/);

  // attached for one that sees, sent to one that does not
  await choose(page, "gemma3:4b");
  await attach();
  await page.waitForSelector(".attached img");
  await choose(page, "smollm2:135m");
  await page.$eval("#msg", (field) => (field.value = "Look at it again."));
  const before = world.chats().length;
  await click(page, "#send");
  await until(page, () => /smollm2:135m.*does not see images/.test(document.querySelector(".toast.bad").textContent));
  assert.equal(await page.$eval("#msg", (field) => field.value), "Look at it again.");
  assert.equal(world.chats().length, before);
  await world.end();
});
