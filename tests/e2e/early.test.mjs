// What is asked for while a session is still being opened, and keys that come faster than the page draws: nothing is lost.

import assert from "node:assert/strict";
import test from "node:test";
import { bakery, click, messages, ready, text, until } from "./acts.mjs";
import { begin, cleanUp, importFile, say, transcript } from "./harness.mjs";

const SLOW = { timeout: 180_000 };
test.afterEach(cleanUp);

/**
 * Holds the storage of the app as a slow disk does: a transaction of another page of its origin goes on until `release` is
 * called, and the app's reads wait for its end.
 */
async function slowStorage({ site, browser }) {
  const other = await browser.newPage();
  await other.goto(`${site.url}/empty`);
  await other.evaluate(() => new Promise((held, failed) => {
    const opened = indexedDB.open("palimpsest");
    opened.onerror = () => failed(opened.error);
    opened.onsuccess = () => {
      const stores = [...opened.result.objectStoreNames];
      const held_by = opened.result.transaction(stores, "readwrite");
      const again = () => {
        if (globalThis.released) return;
        held_by.objectStore(stores[0]).count().onsuccess = again;
      };
      held_by.objectStore(stores[0]).count().onsuccess = () => { again(); held(); };
      held_by.oncomplete = () => opened.result.close();
    };
  }));
  return async () => {
    await other.evaluate(() => { globalThis.released = true; });
    await other.close();
  };
}

/** The app with one conversation that is worth a compaction, before that is opened: its storage is slow. */
async function beforeTheSession() {
  const world = await begin({ settings: { window: 8192, summary_model: "-", automatic: false }, script: { replies: ["Gladly."] } });
  await ready(world.page);
  await importFile(world.page, transcript(bakery(10), "Bakery"));
  await messages(world.page, 20);
  await world.page.goto("about:blank");
  const release = await slowStorage(world);
  await world.page.bringToFront();
  await world.page.goto(world.site.url);
  await world.page.waitForSelector("#msg");
  return { ...world, release };
}

test("Compact before the session is open waits for it", SLOW, async () => {
  const world = await beforeTheSession();
  const { page, release } = world;
  await click(page, "#compact");
  assert.equal(await page.$(".thread .msg"), null, "the session is not open yet");
  await release();
  await page.waitForSelector(".card.done .facts");
  await world.end();
});

test("a message before the session is open waits for it, says so, and is sent once", SLOW, async () => {
  const world = await beforeTheSession();
  const { page, release, chats } = world;
  await say(page, "And oven 103?");
  await until(page, () => document.querySelector(".queued"));
  assert.match(await text(page, ".queued"), /^Sent as soon as the chat is open: And oven 103\?/);
  await page.type("#msg", "half a thought");
  await release();
  await messages(page, 22);
  assert.equal(await page.$(".queued"), null);
  assert.equal(chats().length, 1);
  assert.equal(chats()[0].messages.at(-1).content, "And oven 103?");
  assert.equal(await page.$eval("#msg", (field) => field.value), "half a thought", "what is typed meanwhile stays");
  await world.end();
});

test("a message that is said while another session is being opened goes to that one", SLOW, async () => {
  const world = await begin({ settings: { window: 8192, automatic: false }, script: { replies: ["Gladly."] } });
  const { page, chats } = world;
  await ready(page);
  for (const title of ["Bakery", "Mill"]) {
    await importFile(page, transcript(bakery(title === "Mill" ? 2 : 3), title));
    await until(page, (title) => document.querySelector("#h-chat").textContent === title, title);
  }
  await messages(page, 4);
  const release = await slowStorage(world);
  await page.bringToFront();
  await page.evaluate(() => [...document.querySelectorAll("[data-session]")].find((s) => /Bakery/.test(s.textContent)).click());
  await say(page, "For the bakery");
  assert.equal(await text(page, "#h-chat"), "Mill", "the other one is not open yet");
  await until(page, () => document.querySelector(".queued"));
  await release();
  await until(page, () => document.querySelector("#h-chat").textContent === "Bakery");
  await messages(page, 8);
  assert.equal(chats().length, 1);
  assert.equal(chats()[0].messages.filter((m) => m.role === "user").length, 4);
  await page.evaluate(() => [...document.querySelectorAll("[data-session]")].find((s) => /Mill/.test(s.textContent)).click());
  await until(page, () => document.querySelector("#h-chat").textContent === "Mill");
  await messages(page, 4);
  await world.end();
});

/// A message that waits for a reply stays with its session: who looks at another one finds it in the field on return.
test("a message that waits is not lost when another session is opened", SLOW, async () => {
  const slow = { content: Array.from({ length: 200 }, (_, i) => `word${i} `), delay_ms: 50 };
  const world = await begin({ script: { replies: [slow] } });
  const { page } = world;
  await ready(page);
  await importFile(page, transcript(bakery(2), "Mill"));
  await messages(page, 4);
  await importFile(page, transcript(bakery(3), "Bakery"));
  await messages(page, 6);
  await say(page, "Go on");
  await page.waitForSelector(".replying");
  await say(page, "And this after it");
  await page.waitForSelector(".queued");
  const to = (title) => page.evaluate((title) => [...document.querySelectorAll("[data-session]")].find((s) => s.textContent.includes(title)).click(), title);
  await to("Mill");
  await messages(page, 4);
  assert.equal(await page.$eval("#msg", (field) => field.value), "");
  await to("Bakery");
  await until(page, () => document.querySelector("#msg").value === "And this after it");
  await world.end({ tolerate: [/ERR_ABORTED/] });
});

/// The title of an import never stands over a page whose message field cannot be typed in.
test("what is typed right after an import's title appears arrives whole", SLOW, async () => {
  const world = await begin({ settings: { window: 8192, automatic: false }, script: { replies: ["Gladly."] } });
  const { page, chats } = world;
  await ready(page);
  const client = await page.createCDPSession();
  await client.send("Emulation.setCPUThrottlingRate", { rate: 6 });
  // in the very moment in which the title changes, the field takes the focus
  await page.evaluate(() => {
    const title = document.querySelector("#h-chat");
    new MutationObserver((_, observer) => {
      if (title.textContent !== "Bakery") return;
      observer.disconnect();
      document.querySelector("#msg").focus();
      globalThis.focused = document.activeElement.id;
    }).observe(document.querySelector("#main"), { subtree: true, childList: true, characterData: true });
  });
  await importFile(page, transcript(bakery(6), "Bakery"));
  await until(page, () => globalThis.focused);
  assert.equal(await page.evaluate(() => globalThis.focused), "msg");
  await page.keyboard.type("And oven 103?");
  await page.keyboard.press("Enter");
  await until(page, () => /Gladly\./.test(document.querySelector(".thread .msg:last-of-type")?.textContent ?? ""));
  assert.equal(chats()[0].messages.at(-1).content, "And oven 103?");
  await world.end();
});

/// Keys that come faster than the thread is drawn: each moves the focus by one message, also past what was in the page.
test("Alt and an arrow never lose a step, however slow the page is", SLOW, async () => {
  const world = await begin({ settings: { window: 131072, summary_model: "-", automatic: false } });
  const { page } = world;
  await ready(page);
  const all = Array.from({ length: 400 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: `Line ${i + 1} about bread.` }));
  await importFile(page, transcript(all, "Long"));
  await page.waitForSelector(".thread [data-seq='400']");
  await page.focus(".thread [data-seq='400']");
  const client = await page.createCDPSession();
  await client.send("Emulation.setCPUThrottlingRate", { rate: 6 });
  const at = (seq) => until(page, (seq) => document.activeElement?.dataset.seq === seq, String(seq));
  const walk = async (key, count) => {
    const keys = [];
    await page.keyboard.down("Alt");
    for (let i = 0; i < count; i += 1) keys.push(page.keyboard.press(key));
    await Promise.all(keys);
    await page.keyboard.up("Alt");
  };
  await walk("ArrowUp", 150);
  await at(250);
  await walk("ArrowDown", 120);
  await at(370);
  await world.end();
});
