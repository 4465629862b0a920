// Other sessions: what was said there is quoted where a person wants it, and leads there.

import assert from "node:assert/strict";
import test from "node:test";
import { ENGINES, begin, cleanUp, say } from "./harness.mjs";
import { click, messages, ready, text, until } from "./acts.mjs";

const SLOW = { timeout: 180_000 };
test.afterEach(cleanUp);

const QUESTION = "What is the door code of the cabin?";

/** R3: off at first; then a question brings words of another session, named; they lead there, and can be removed. */
for (const engine of ENGINES) test(`what was said in another session is quoted (${engine})`, SLOW, async () => {
  const world = await begin({ engine, script: { replies: ["Noted.", "I do not know.", "It is 4711-bluebird.", "Gladly."] } });
  const { page } = world;
  const asked = () => world.chats().at(-1).messages.map((message) => message.content).join("\n");
  const anew = async () => {
    await click(page, ".new");
    await until(page, () => !document.querySelector(".thread .msg"));
  };
  await ready(page);
  await say(page, "Our cabin in Norway: the door code of the cabin is 4711-bluebird.");
  await messages(page, 2);
  await anew();
  await say(page, QUESTION);
  await messages(page, 2);
  assert.ok(!asked().includes("4711"), "nobody has wished for it");
  assert.equal(await page.$(".quotes li"), null);

  await page.evaluate(() => (location.hash = "#settings"));
  await click(page, "[data-tab=model]");
  await click(page, "#others");
  await anew();
  await say(page, QUESTION);
  await messages(page, 2);
  assert.match(asked(), /Quoted from other conversations of the user, for reference:\n\["Our cabin in Norway[^"]*, \d{4}-\d\d-\d\d"\] .*4711-bluebird/);
  await until(page, () => /4711-bluebird[\s\S]*from “Our cabin in Norway.*, \d{4}-\d\d-\d\d”/.test(document.querySelector(".quotes li").textContent));

  // it leads there, and back the quote is still there; removed, it is gone for good
  await click(page, ".quotes li .from");
  await until(page, () => document.querySelector(".thread .msg").textContent.includes("Our cabin in Norway"));
  await page.goBack();
  await until(page, (question) => document.querySelector(".thread .msg").textContent.includes(question), QUESTION);
  assert.equal((await page.$$(".quotes li")).length, 1, "an answer that says nothing is not quoted");
  await click(page, ".quotes li .quiet");
  await until(page, () => !document.querySelector(".quotes li"));
  await page.reload();
  await ready(page);
  assert.equal(await page.$(".quotes li"), null);

  await say(page, "Thank you!");
  await messages(page, 4);
  assert.ok(!asked().includes("recalled_quotes"));
  assert.match(await text(page, ".thread"), /Gladly\./);
  await world.end();
});
