// Two tabs of one browser: one writes, the other reads along and can take over.

import assert from "node:assert/strict";
import test from "node:test";
import { startFake } from "../ollama/fake.mjs";
import { defaultModels } from "../ollama/fake/models.mjs";
import { click, until } from "./acts.mjs";
import { ENGINES, begin, cleanUp, say, watch } from "./harness.mjs";

const SLOW = { timeout: 180_000 };
test.afterEach(cleanUp);

const drafts = (page) => page.$eval("#msg", (field) => field.value);

/** S5, F95: the second tab shows the thread, follows what is said in the first, writes nothing, and takes over. */
for (const engine of ENGINES) test(`a second tab shows the thread, follows it, and takes over (${engine})`, SLOW, async () => {
  const world = await begin({ engine, script: { replies: ["One.", "Two.", "Three."] } });
  const { page: first } = world;
  await until(first, () => document.querySelector(".live.okc"));
  await say(first, "Say one");
  await until(first, () => document.querySelectorAll(".msg:not(.replying)").length === 2);

  const second = await world.browser.newPage();
  watch(second, world.problems, [world.site.url, world.fake.url]);
  await second.goto(world.site.url);
  await until(second, () => document.querySelectorAll(".msg").length === 2 && /another tab/.test(document.querySelector(".notice")?.textContent ?? ""));
  assert.match(await second.$eval(".thread", (thread) => thread.textContent), /Say one[\s\S]*One\./);
  assert.match(await second.$eval("#s-chat .budget .sum", (sum) => sum.textContent), /of 7,004/);
  // what is written here is kept as a draft, never sent
  await until(second, () => document.querySelector(".live.okc"));
  assert.deepEqual(await second.$eval("#send", (button) => [button.disabled, button.title]), [true, "Read-only here: this chat is open in another tab."]);
  assert.equal(await first.$eval("#send", (button) => button.disabled), false);
  await say(second, "From the second");
  await second.waitForSelector(".toast.bad");
  assert.equal(await drafts(second), "From the second");

  await second.$eval(".notice", (notice) => (notice.dataset.seen = "before"));
  await first.bringToFront();
  await say(first, "Say two");
  await until(second, () => document.querySelectorAll(".msg").length === 4);
  assert.match(await second.$eval(".thread", (thread) => thread.textContent), /Two\./);
  assert.equal(world.chats().length, 2);
  // the alert is not made anew with every change: it would be read aloud again, and its button slip from under the hand
  assert.equal(await second.$eval(".notice", (notice) => notice.dataset.seen), "before");

  await second.bringToFront();
  await click(second, ".notice .btn");
  await until(second, () => !document.querySelector(".notice") && !document.querySelector("#send").disabled);
  await until(first, () => /another tab/.test(document.querySelector(".notice")?.textContent ?? ""));
  await second.focus("#msg");
  await second.keyboard.press("Enter");
  await until(second, () => document.querySelectorAll(".msg:not(.replying)").length === 6);
  await until(first, () => document.querySelectorAll(".msg").length === 6);
  assert.match(await first.$eval(".thread", (thread) => thread.textContent), /From the second[\s\S]*Three\./);
  await world.end();
});

/** A server that is chosen in one tab is used in all, with its own models. */
test("a server that another tab chooses is asked here, too", SLOW, async () => {
  const beside = await startFake({ models: [{ ...defaultModels()[0], name: "beside:1b" }] });
  try {
    const world = await begin({ settings: { places: [{ server: "ollama", address: beside.url }] } });
    const { page: first } = world;
    await until(first, () => document.querySelector(".live.okc"));
    const second = await world.browser.newPage();
    watch(second, world.problems, [world.site.url, world.fake.url, beside.url]);
    await second.goto(`${world.site.url}/#settings`);
    await click(second, "#use-0");
    await until(second, () => document.querySelector(".live.okc"));
    await first.bringToFront();
    await until(first, () => document.querySelector(".live.okc"));
    await click(first, "#model");
    await until(first, () => document.querySelector("dialog .models [data-model='beside:1b']"));
    assert.equal(await first.$(".models:not(.elsewhere *) [data-model='qwen3:4b']"), null, "the models of the server before are not its models");
    await world.end({ tolerate: [/^request: http:\/\/127\.0\.0\.1:/] });
  } finally {
    await beside.close();
  }
});

test("each session has its own draft, from the first moment it is shown", SLOW, async () => {
  const world = await begin();
  const { page } = world;
  await until(page, () => document.querySelector(".live.okc"));
  await say(page, "First session");
  await until(page, () => document.querySelectorAll(".msg:not(.replying)").length === 2);
  await page.focus("#msg");
  await page.keyboard.type("a draft that is long enough to be seen on the bar");
  await click(page, ".new");
  await until(page, () => document.querySelectorAll("[data-session]").length === 2 && document.querySelectorAll(".msg").length === 0);
  assert.equal(await drafts(page), "");
  assert.equal(await page.$("#s-chat .s-draft"), null);
  await click(page, "[data-session]:not([aria-current])");
  await until(page, () => document.querySelectorAll(".msg").length === 2);
  assert.match(await drafts(page), /^a draft that is long/);
  assert.ok(await page.$("#s-chat .s-draft"));
  await world.end();
});
