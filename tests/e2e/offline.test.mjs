// The shell without a network, and sessions that are long.

import assert from "node:assert/strict";
import test from "node:test";
import { begin, budget, cleanUp, importFile, say, transcript } from "./harness.mjs";
import { click, messages, patient, ready, text, until } from "./acts.mjs";

test.afterEach(cleanUp);

/// The page opens, reads and searches when the server that gave it is gone.
test("the shell works without a network", { timeout: 180_000 }, async () => {
  const world = await begin({ script: { replies: ["Kept."] } });
  const { page } = world;
  await ready(page);
  await say(page, "Remember the violet");
  await messages(page, 2);
  await until(page, async () => (await navigator.serviceWorker.getRegistration())?.active?.state === "activated" && (await caches.keys()).length === 1);
  await world.site.close();
  await page.reload();
  await messages(page, 2);
  assert.match(await text(page, ".thread"), /Remember the violet[\s\S]*Kept\./);
  await page.evaluate(() => (location.hash = "library"));
  await page.waitForSelector("#search-all");
  await page.type("#search-all", "violet");
  await page.waitForSelector(".found mark");
  world.site.close = async () => {};
  await world.end({ tolerate: [/ERR_CONNECTION_REFUSED|Failed to load resource|Failed to fetch/] });
});

/// F93: 50,000 messages open at their end, at most in ten times the time of 5,000, with no more of them in the page than are looked
/// at; and typing does not get slower than in a short session by more than the noise of a busy machine.
test("a session of 50,000 messages opens at its end and types as a short one", { timeout: 600_000 }, async () => {
  const world = await begin({ settings: { window: 131072, summary_model: "-" } });
  const { page } = world;
  await ready(page);
  const talk = (n) => Array.from({ length: n }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: `Line ${i + 1} of a talk about bread.` }));
  const typing = async () => {
    await page.focus("#msg");
    await page.$eval("#msg", (field) => (field.value = ""));
    return page.evaluate(async () => {
      const field = document.querySelector("#msg");
      const times = [];
      for (let i = 0; i < 40; i += 1) {
        const began = performance.now();
        field.value += "x";
        field.dispatchEvent(new InputEvent("input", { bubbles: true }));
        times.push(performance.now() - began);
        await new Promise((done) => setTimeout(done, 10));
      }
      times.sort((a, b) => a - b);
      return times[20];
    });
  };
  await importFile(page, transcript(talk(100), "Short"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Short");
  const short = await typing();
  const few = await page.$$eval("*", (all) => all.length);
  const stands = (n) => patient(200_000)(page, (n) => document.querySelector(".thread .msg:last-of-type .prose")?.textContent === `Line ${n} of a talk about bread.`, n);
  const opened = async (n) => {
    const began = Date.now();
    await page.reload();
    await stands(n);
    return Date.now() - began;
  };
  await importFile(page, transcript(talk(5000), "Middle"));
  await stands(5000);
  const middle = await opened(5000);
  await importFile(page, transcript(talk(50_000), "Long"));
  await stands(50_000);
  const shown = (await page.$$(".thread .msg")).length;
  assert.ok(shown <= 80, `${shown} messages in the page`);
  assert.ok((await budget(page)).used > 20_000);
  await until(page, () => { const t = document.querySelector(".thread"); return t.scrollHeight - t.scrollTop - t.clientHeight < 5; });
  // the bar and its table show no more stretches than can be seen
  const nodes = await page.$$eval("*", (all) => all.length);
  assert.ok(nodes <= 1.5 * few, `${few} nodes at 100 messages, ${nodes} at 50,000`);
  const long = await typing();
  console.log(`typing, median: ${short.toFixed(3)} ms at 100 messages, ${long.toFixed(3)} ms at 50,000`);
  assert.ok(long < short * 8 + 2, `${short} → ${long} ms`);
  const whole = await opened(50_000);
  console.log(`a reload until the last message stands: ${middle} ms at 5,000 messages, ${whole} ms at 50,000`);
  assert.ok(whole <= 10 * middle, `${middle} → ${whole} ms`);
  await world.end();
});

for (const engine of ["chrome", "firefox"]) {
  /// F93: however long a session is, the page holds a bounded number of its messages: scrolled by hand, walked with the
  /// keyboard, led to by a search. What is read keeps its place, the focus stays, and each message says which it is.
  test(`a long thread is scrolled, walked and searched in ${engine}`, { timeout: 400_000 }, async () => {
    const world = await begin({ engine, settings: { window: 131072, summary_model: "-", automatic: false } });
    const { page } = world;
    await ready(page);
    // every seventh message is long: heights differ, and are not known before
    const line = (i) => `Line ${i} of a talk about bread.${i % 7 === 0 ? "\n\n- flour\n- water\n- salt\n- time".repeat(6) : ""}`;
    const all = Array.from({ length: 3000 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: line(i + 1) }));
    await importFile(page, transcript(all, "Long"));
    await until(page, () => document.querySelector("#h-chat").textContent === "Long");
    await page.waitForSelector(".thread [data-seq='3000']");
    const atEnd = () => until(page, () => { const t = document.querySelector(".thread"); return t.scrollHeight - t.scrollTop - t.clientHeight < 5; });
    await atEnd();
    const rows = () => page.$$eval(".thread .msg", (all) => all.length);
    /** The first message that is seen, and how far below the upper edge it begins; once nothing moves any more. */
    const seen = () => page.evaluate(async () => {
      const thread = document.querySelector(".thread");
      const edge = thread.getBoundingClientRect().top;
      const look = () => {
        const first = [...thread.querySelectorAll(".msg")].find((m) => m.getBoundingClientRect().bottom > edge);
        return first ? [Number(first.dataset.seq), Math.round(first.getBoundingClientRect().top - edge)] : [0, 0];
      };
      for (let i = 0; i < 8; i += 1) await new Promise(requestAnimationFrame);
      const at = look();
      await new Promise((done) => setTimeout(done, 250));
      return { at, later: look() };
    });
    let [last] = (await seen()).at;
    assert.ok(last > 2970, `${last}`);
    for (let i = 0; i < 15; i += 1) {
      await page.$eval(".thread", (thread) => thread.scrollBy(0, -1500));
      const { at, later } = await seen();
      assert.ok(at[0] > 0 && at[0] < last && last - at[0] < 40, `from ${last} to ${at[0]}: nothing is left out`);
      assert.ok(later[0] === at[0] && Math.abs(later[1] - at[1]) <= 3, `${at} stays where it is, and not at ${later}`);
      assert.ok((await rows()) <= 180, `${await rows()} messages in the page`);
      last = at[0];
    }
    // the bar at the side stands for all of them: in its middle are the messages in the middle
    await page.$eval(".thread", (thread) => (thread.scrollTop = thread.scrollHeight / 2));
    const { at: middle } = await seen();
    assert.ok(middle[0] > 1000 && middle[0] < 2000, `${middle}`);
    assert.ok((await rows()) <= 180);

    // a place that was looked for
    await page.evaluate(() => (location.hash = "library"));
    await page.waitForSelector("#search-all");
    await page.type("#search-all", "Line 1234 of");
    await until(page, () => document.querySelector(".found a")?.textContent === "in message 1,234");
    await click(page, ".found a");
    await until(page, () => document.activeElement?.dataset.seq === "1234");
    const inView = () => until(page, () => {
      const [box, view] = [document.activeElement, document.querySelector(".thread")].map((e) => e.getBoundingClientRect());
      return box.top >= view.top - 1 && box.top < view.bottom;
    });
    await inView();
    assert.deepEqual(await page.evaluate(() => ["aria-posinset", "aria-setsize"].map((name) => document.activeElement.getAttribute(name))), ["1234", "3000"]);
    // on from there by keyboard, past what was in the page
    await page.keyboard.down("Alt");
    const arrived = (seq) => document.activeElement?.dataset.seq === seq;
    for (let i = 1; i <= 90; i += 1) {
      await page.keyboard.press("ArrowUp");
      await until(page, arrived, String(1234 - i));
    }
    // a key that is held: every repeat is a step, also while the page draws more of the thread
    await Promise.all(Array.from({ length: 60 }, () => page.keyboard.press("ArrowUp")));
    await until(page, arrived, String(1234 - 150));
    await page.keyboard.up("Alt");
    await inView();
    assert.ok((await rows()) <= 180);
    // scrolled away from it the focus stays in the thread, and the keyboard goes on from what is seen
    await page.$eval(".thread", (thread) => (thread.scrollTop = 0));
    await page.waitForSelector(".thread [data-seq='1']");
    await until(page, () => document.querySelector(".thread").contains(document.activeElement));
    await page.keyboard.down("Alt");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.up("Alt");
    const here = await page.evaluate(() => Number(document.activeElement.dataset.seq));
    assert.ok(here >= 1 && here < 40, `${here}`);

    // buttons for whoever does not scroll
    await until(page, () => /\d later messages$/.test([...document.querySelectorAll(".earlier .link")].at(-1)?.textContent ?? ""));
    await click(page, ".latest");
    await page.waitForSelector(".thread [data-seq='3000']");
    await atEnd();
    await until(page, () => !document.querySelector(".latest"));
    const newest = () => page.$$eval(".thread .msg", (all) => Number(all[0].dataset.seq));
    const first = await newest();
    await page.$eval(".earlier .link", (button) => { button.focus({ preventScroll: true }); button.click(); });
    await until(page, (first) => Number(document.querySelector(".thread .msg").dataset.seq) < first, first);
    assert.equal(await page.evaluate(() => document.activeElement.className), "link", "the button stays under the focus");

    // what comes in while somebody reads further up does not move them
    // (the rows that came in just now may take the first scroll back: who wants to be further up scrolls again)
    let before;
    for (let n = 0; n < 5 && !(before?.at[0] < 2000); n += 1) {
      await page.$eval(".thread", (thread) => (thread.scrollTop = thread.scrollHeight / 3));
      before = await seen();
    }
    await say(page, "And now?");
    await until(page, () => document.querySelector(".toast, .notice") || !document.querySelector(".replying"));
    await new Promise((done) => setTimeout(done, 500));
    const after = await seen();
    assert.ok(after.at[0] === before.at[0] && Math.abs(after.at[1] - before.at[1]) <= 3, `${before.at} → ${after.at}`);
    await world.end({ tolerate: [/status of 4/] });
  });
}
