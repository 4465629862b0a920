// Recorded conversations in two browsers, and small ones of our own in one, summarised by a model and without one: imported,
// compacted at 8,192, reloaded, answered, undone.

import assert from "node:assert/strict";
import path from "node:path";
import test from "node:test";
import { isDeepStrictEqual } from "node:util";
import { patient } from "./acts.mjs";
import { begin, budget, cleanUp, codingSession, importFile, locomoChat, near, ours, say, tauChat, transcript } from "./harness.mjs";

test.afterEach(cleanUp);

const LIMIT = 7004; // of a window of 8,192

const until = patient(120_000);

/** Each conversation with the system prompt that the import offers; `null` without the data. */
const CONVERSATIONS = {
  "a coding session of our own": () => prompted(codingSession(Infinity, ours), "You untangle code. KEEP-ME-7431.\n\n  Two spaces, a tab\t, and ünïcode — as they are."),
  "a talk of our own with a desk": () => tauChat(0, path.join(ours, "service.json")),
  "a chat of our own between friends": () => prompted(locomoChat(0, path.join(ours, "friends.json")), "You are an old friend. Never give medical advice. KEEP-ME-1902."),
  "the coding session": () => prompted(codingSession(), "You untangle code. KEEP-ME-7431.\n\n  Two spaces, a tab\t, and ünïcode — as they are."),
  "a tau chat": () => tauChat(3),
  "a LoCoMo chat": () => prompted(locomoChat(), "You are an old friend. Never give medical advice. KEEP-ME-1902."),
};

function prompted(messages, prompt) {
  return messages && [{ role: "system", content: prompt }, ...messages];
}

/** What the lens *model sees* shows: every message of the next window, exactly. */
async function seen(page) {
  await page.evaluate(() => (location.hash = "context"));
  // the other lens first: what is shown then has been made for this moment
  for (const [lens, there] of [["said", false], ["sees", true]]) {
    await until(page, (name, wanted) => {
      if ((document.querySelector(".sent pre") !== null) === wanted) return true;
      document.querySelector(`.lens [data-lens=${name}]`)?.click();
      return false;
    }, lens, there);
  }
  const window = await page.$$eval(".sent", (all) => all.map((one) => [one.querySelector("b").textContent, one.querySelector("pre").textContent]));
  await page.evaluate(() => (location.hash = "chat"));
  await page.waitForSelector("#msg", { visible: true });
  return window;
}

/** Waits until what is shown is what is expected; fails with the difference. */
async function shows(read, expected) {
  const patience = Date.now() + 20_000;
  for (;;) {
    const found = await read();
    if (isDeepStrictEqual(found, expected) || Date.now() > patience) return assert.deepEqual(found, expected);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** A request as Ollama gets it obeys what every chat template needs. */
function assertSound(messages) {
  for (let i = 0; i < messages.length; i += 1) {
    const { role, content, tool_calls: calls = [] } = messages[i];
    // a tool may have had nothing to say
    assert.ok(content || calls.length > 0 || role === "tool", `message ${i} is empty`);
    if (i > 0) assert.ok(!(role === "user" && messages[i - 1].role === "user"), `two user messages in a row at ${i}`);
    if (i > 0) assert.notEqual(role, "system", `a second system message at ${i}`);
    if (role === "tool") continue;
    let results = 0;
    while (messages[i + 1 + results]?.role === "tool") results += 1;
    assert.equal(results, calls.length, `calls and results after message ${i}`);
  }
}

/** I3, I4, B10: what must reach the model as it was said: the system prompt, the last user message, the newest answer. */
function assertFloor(sent, said) {
  assert.ok(sent[0].content.startsWith(said[0].content), "the system prompt is first and as it was written");
  const users = said.filter((m) => m.role === "user");
  const last = users.at(-1).content;
  assert.ok(sent.some((m) => m.role === "user" && m.content.includes(last)), `the last user message is whole: ${last.slice(0, 80)}`);
  const newest = said.findLast((m) => m.role === "assistant");
  const at = sent.findIndex((m) => m.role === "assistant" && (m.content ?? "") === (newest.content ?? ""));
  assert.ok(at > 0, "the newest answer is whole");
  const calls = (newest.tool_calls ?? []).map((call) => [call.function.name, JSON.parse(call.function.arguments)]);
  assert.deepEqual((sent[at].tool_calls ?? []).map((call) => [call.function.name, call.function.arguments]), calls);
}

for (const engine of ["chrome", "firefox"]) {
  for (const summariser of ["the model", "no model"]) {
    for (const [name, read] of Object.entries(CONVERSATIONS)) {
      if (name.includes("of our own") && engine !== "chrome") continue;
      /** I1, I2, I3, I4, P10: nothing is lost or changed on the way there and back */
      test(`${name} in ${engine}, summarised by ${summariser}`, { timeout: 300_000 }, async (t) => {
        const said = read();
        if (!said) return t.skip("../shared/data is not there");
        const world = await begin({ engine, settings: { window: 8192, summary_model: summariser === "no model" ? "-" : "", recall: false } });
        const { page } = world;
        await until(page, () => document.querySelector(".live.okc"));
        await importFile(page, transcript(said, "Imported"));
        await until(page, () => document.querySelector("#h-chat").textContent === "Imported");
        await until(page, () => !document.querySelector("#s-chat .s-draft"));
        const [before, sawBefore] = [await budget(page), await seen(page)];

        const asked = world.chats().length;
        await press(page, "#compact");
        await until(page, () => document.querySelector(".card.done"));
        const by = await page.$eval(".card.done", (card) => card.textContent);
        if (summariser === "no model") {
          assert.match(by, /built-in summariser/);
          assert.equal(world.chats().length, asked, "the model was not asked");
        } else {
          // the stand-in for a model writes poor notes: where they are refused, the card says why
          if (/built-in summariser/.test(by)) assert.match(by, /built-in summariser: (it keeps more of the facts|the model wrote what nobody had said|the model repeated itself)/);
          assert.ok(world.chats().length > asked, "the model was asked");
        }
        const after = await budget(page);
        assert.ok(after.used <= LIMIT && after.used < before.used * 0.9, JSON.stringify({ before, after }));
        const saw = await seen(page);

        await page.reload();
        await page.waitForSelector(".card.done");
        assert.ok((await budget(page)).used <= LIMIT);
        await shows(() => seen(page), saw);

        // undone: the window before, with nothing lost
        await press(page, ".card.done .acts .btn:nth-child(2)");
        await allow(page);
        await until(page, () => document.querySelector(".card h3").textContent.includes("undone"));
        // the window to the byte; its size may have been counted better meanwhile
        await shows(() => seen(page), sawBefore);
        await near(page, before);

        // compacted again, and the conversation goes on: this is what the server gets
        await press(page, "#compact");
        await until(page, () => document.querySelector(".card.done"));
        await say(page, "Thank you. What is left to do?");
        // the card of a compaction that the reply made due may stand after it
        await until(page, () => !document.querySelector(".replying") && [...document.querySelectorAll(".msg")].at(-1)?.matches(":not(.you):has(.prose)"));
        const request = world.chats().findLast((body) => body.messages.at(-1).content.includes("What is left to do?"));
        assertSound(request.messages);
        assertFloor(request.messages, said);
        // where the server counts more than was thought, it says so (400), and the part is asked for in halves
        await world.end({ tolerate: summariser === "the model" ? [/status of 400/] : [] });
      });
    }
  }
}

/** Presses a button where it stands now. */
const press = (page, selector) => page.$eval(selector, (button) => button.click());

/** Undoing what made room may leave too much for the window: the app says so, names the choices, and asks. */
async function allow(page) {
  await until(page, () => document.querySelector(".toast.bad .btn") || document.querySelector(".card h3").textContent.includes("undone"));
  if (await page.$(".toast.bad .btn")) await press(page, ".toast.bad .btn");
}
