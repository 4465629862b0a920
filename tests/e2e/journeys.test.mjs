// What a person does with the app, in a real Chromium against the fake Ollama.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import { look } from "./screens.mjs";
import { click, text, until } from "./acts.mjs";
import { ENGINES, begin, budget, cleanUp, codingSession, importFile, near, ours, say, transcript } from "./harness.mjs";

const SLOW = { timeout: 180_000 };
test.afterEach(cleanUp);

const DOUGHS = ["rye", "spelt", "wheat", "oat", "barley"];

/** A conversation with enough in it to be compacted: `turns` exchanges about a bakery, of `lines` lines each. */
function bakery(turns, lines = 15) {
  const messages = [];
  for (let i = 1; i <= turns; i += 1) {
    const dough = DOUGHS[i % DOUGHS.length];
    const line = (k) => [
      `The ${dough} rests ${8 + k} hours at ${20 + ((i + k) % 8)} °C`,
      `${400 + 10 * k} g of water go to ${600 + 10 * i} g of flour`,
      `Batch ${i}-${k} came out ${k % 2 ? "too dark" : "pale"} at the rim`,
      `Shelf ${k} cools before loaf ${10 * i + k} is cut`,
      `Mara took ${k + 2} crates of ${dough} to the market`,
      `The salt was weighed at ${9 + k} g`,
    ][(k + i) % 6];
    const notes = (from) => Array.from({ length: lines }, (_, k) => line(from + k)).join(". ");
    messages.push({ role: "user", content: `Question ${i} about oven ${100 + i}. ${notes(0)}. What do we change?` });
    messages.push({ role: "assistant", content: `Oven ${100 + i} bakes at ${200 + i} °C. The recipe lies in /recipes/bread-${i}.md. ${notes(3)}.` });
  }
  return messages;
}

test("sessions are made, renamed, deleted and brought back; a reload finds them", SLOW, async () => {
  const world = await begin();
  const { page } = world;
  await until(page, () => document.querySelector(".live.okc"));
  await click(page, "[aria-label='Title and tags']");
  await until(page, () => document.activeElement?.matches("dialog[open] input"));
  await page.keyboard.down("Control");
  await page.keyboard.press("a");
  await page.keyboard.up("Control");
  await page.keyboard.type("Bread");
  await page.keyboard.press("Enter");
  await until(page, () => document.querySelector("#h-chat").textContent === "Bread");
  await say(page, "Hello there");
  await until(page, () => document.querySelectorAll(".msg:not(.replying)").length === 2);
  await click(page, ".new");
  await until(page, () => document.querySelectorAll("[data-session]").length === 2);
  assert.equal(await text(page, "#h-chat"), "New session");
  await click(page, "[data-session]:not([aria-current])");
  await until(page, () => document.querySelector("#h-chat").textContent === "Bread");
  await page.reload();
  await page.waitForSelector("[data-session]");
  await until(page, () => document.querySelector("#h-chat").textContent === "Bread" && document.querySelectorAll(".msg").length === 2);
  await click(page, "[aria-label='Delete session: Bread']");
  await until(page, () => document.querySelectorAll("[data-session]").length === 1);
  await click(page, ".toast .btn");
  await until(page, () => document.querySelectorAll("[data-session]").length === 2 && document.querySelector("#h-chat").textContent === "Bread");
  await world.end();
});

for (const engine of ENGINES) test(`a reply streams, its markdown is safe, Esc stops it, and what was written stays (${engine})`, SLOW, async () => {
  const evil = "# Plan\n\nSee [the site](https://example.org/a) and [a trap](javascript:alert(1)).\n\n<img src=x onerror=alert(1)>\n\n```rust\nfn main() {}\n```\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n![chart](https://example.org/c.png)\n\n- [x] done\n";
  const world = await begin({ engine, script: { replies: [evil, { content: Array.from({ length: 400 }, (_, i) => `word${i} `), delay_ms: 20 }] } });
  const { page } = world;
  await until(page, () => document.querySelector(".live.okc"));
  await say(page, "Show me everything");
  await until(page, () => document.querySelectorAll(".msg:not(.replying) .prose").length === 2);
  const found = await page.$eval(".msg:not(.you) .prose", (prose) => ({
    heading: prose.querySelector("h3")?.textContent,
    links: [...prose.querySelectorAll("a")].map((a) => [a.getAttribute("href"), a.rel, a.textContent]),
    images: prose.querySelectorAll("img").length,
    html: prose.textContent.includes("<img src=x onerror=alert(1)>"),
    trap: prose.textContent.includes("a trap"),
    code: prose.querySelector("figure.code code")?.textContent,
    cell: prose.querySelector("tbody td.n")?.textContent,
  }));
  assert.deepEqual(found, {
    heading: "Plan",
    links: [["https://example.org/a", "noreferrer noopener", "the site"], ["https://example.org/c.png", "noreferrer noopener", "Picture on example.org: chart"]],
    images: 0, html: true, trap: true, code: "fn main() {}", cell: "2",
  });
  const request = world.chats().at(-1);
  assert.deepEqual([request.truncate, request.shift, request.options.num_ctx], [false, false, 8192]);

  await say(page, "Now slowly");
  await until(page, () => /word12 /.test(document.querySelector(".replying .prose")?.textContent ?? ""));
  await page.keyboard.press("Escape");
  await until(page, () => !document.querySelector(".replying") && document.querySelectorAll(".msg").length === 4);
  const kept = await text(page, ".msg:last-of-type .prose");
  assert.match(kept, /word12/);
  assert.ok(!kept.includes("word399"));
  await page.reload();
  await until(page, () => document.querySelectorAll(".msg").length === 4);
  assert.equal(await text(page, ".msg:last-of-type .prose"), kept);
  await world.end();
});

for (const engine of ENGINES) test(`an imported conversation is compacted, survives a reload, and the compaction is undone (${engine})`, SLOW, async () => {
  const world = await begin({ engine, settings: { window: 8192 } });
  const { page } = world;
  await until(page, () => document.querySelector(".live.okc"));
  const file = transcript([{ role: "system", content: "You run a bakery." }, ...bakery(9)], "Bakery");
  await importFile(page, file);
  await until(page, () => document.querySelector("#h-chat").textContent === "Bakery");
  assert.match(await text(page, ".notes .system"), /You run a bakery\./);
  const before = await budget(page);
  assert.ok(before.used > 3000 && before.used < 7000, JSON.stringify(before));

  await click(page, "#compact");
  await until(page, () => document.querySelector(".card.done"));
  const after = await budget(page);
  assert.ok(after.used < before.used * 0.9, `${before.used} → ${after.used}`);
  const card = await page.$eval(".card.done", (element) => element.textContent);
  assert.ok(card.includes(before.used.toLocaleString("en")) && card.includes(after.used.toLocaleString("en")), card);
  assert.equal((await page.$$(".strata li")).length, 1);
  await page.$$eval(".toast button", (all) => all.forEach((button) => button.click()));
  if (process.env.PALIMPSEST_PICTURES && engine === "chrome") await pictures(file, process.env.PALIMPSEST_PICTURES);
  // segments, free, answer and margin are the window, on the bar and in its table
  const sum = Object.values(after.stretches).reduce((a, b) => a + b, 0);
  assert.equal(sum, 8192, JSON.stringify(after));

  await page.reload();
  await page.waitForSelector(".card.done");
  await near(page, after);
  assert.ok(await page.$(".msg .in"), "covered messages say in which layer they are");

  await click(page, ".card.done .acts .btn:nth-child(2)");
  await until(page, () => document.querySelector(".card h3").textContent === "Layer 1 undone");
  await near(page, before);

  // the same file again is the same session
  await importFile(page, file);
  await until(page, () => /everything in it is here already/.test(document.querySelector("#status").textContent));
  assert.equal(await page.$$eval("[data-session]", (all) => all.filter((a) => a.textContent.includes("Bakery")).length), 1);
  await world.end();
});

test("a live chat crosses the trigger and is compacted in the background while one types", SLOW, async () => {
  const world = await begin({ settings: { window: 2048 }, script: { answer: { words: 160 } } });
  const { page } = world;
  await until(page, () => document.querySelector(".live.okc"));
  for (let i = 1; i <= 12; i += 1) {
    await say(page, `Message ${i}: please remember the number ${1000 + i}.`);
    await until(page, (n) => document.querySelectorAll(".msg.you").length >= n && !document.querySelector(".replying"), i);
    await page.focus("#msg");
    await page.keyboard.type("typing on");
    if (await page.$(".card.done")) break;
    await page.$eval("#msg", (field) => (field.value = ""));
  }
  await page.waitForSelector(".card.done", { timeout: 60_000 });
  assert.equal(await page.$eval("#msg", (field) => field.value), "typing on");
  const now = await budget(page);
  assert.ok(now.used <= 1639, JSON.stringify(now));
  await world.end();
});

test("without a model everything but chatting works, and the page says how to connect", SLOW, async () => {
  const world = await begin({ settings: { address: "http://127.0.0.1:9" } });
  const { page } = world;
  await until(page, () => document.querySelector(".live.warnc"));
  assert.match(await text(page, ".start"), /No model answers at http:\/\/127\.0\.0\.1:9/);
  await say(page, "Anybody there?");
  await page.waitForSelector(".toast.bad");
  assert.equal(await page.$eval("#msg", (field) => field.value), "Anybody there?", "the text is kept");
  await page.$eval("#msg", (field) => (field.value = ""));

  await importFile(page, transcript(bakery(9), "Bakery"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Bakery");
  const before = await budget(page);
  await click(page, "#compact");
  await page.waitForSelector(".card.done");
  assert.match(await text(page, ".card.done"), /built-in summariser/);
  await click(page, ".card.done .acts .btn:nth-child(1)");
  await page.waitForSelector("dialog[open] .script");
  assert.match(await text(page, "dialog .script"), /[Oo]ven/);
  await page.keyboard.press("Escape");
  await until(page, () => !document.querySelector("dialog"));
  await click(page, ".card.done .acts .btn:nth-child(2)");
  await until(page, () => document.querySelector(".card h3").textContent.includes("undone"));
  assert.deepEqual(await budget(page), before);

  await page.evaluate(() => (location.hash = "settings"));
  await page.waitForSelector(".checks .badc");
  assert.match(await text(page, ".checks .badc"), /ollama/i);
  await world.end({ tolerate: [/ERR_UNSAFE_PORT|ERR_CONNECTION_REFUSED|Failed to load resource/, /request: http:\/\/127\.0\.0\.1:9\//] });
});

/// B1: the named sizes stand in the session's list, in the settings and in the dialog with their share for Ollama; the
/// number shown is the number sent, and the one the bar adds up to; an unknown size is refused by name.
test("named window sizes are offered, and the number shown is the number sent", SLOW, async () => {
  const world = await begin({ script: { replies: ["Yes.", "No.", "Perhaps."] } });
  const { page } = world;
  await until(page, () => document.querySelector(".live.okc"));
  const listed = (id) => page.$$eval(`#${id} optgroup:first-of-type option`, (all) => all.map((o) => `${o.value} ${o.textContent}`));
  const shown = () => page.$eval("#window", (list) => list.selectedOptions[0].textContent);
  /** The stretches of the bar in all: the window. */
  const adds = (tokens) => until(page, (tokens) => [...document.querySelectorAll("#s-chat .budget table td")].reduce((sum, cell) => sum + Number(cell.textContent.replace(/\D/g, "")), 0) === tokens, tokens);
  await until(page, () => document.querySelectorAll("#window optgroup").length === 2);
  assert.deepEqual((await listed("window")).slice(0, 3), ["3400 window 3,400 (4K)", "6800 window 6,800 (8K)", "13600 window 13,600 (16K)"]);
  assert.equal(await shown(), "window 8,192");
  await page.focus("#window");
  await page.select("#window", "13600");
  await adds(13600);
  assert.equal(await shown(), "window 13,600 (16K)");
  assert.equal(await page.evaluate(() => document.activeElement.id), "window", "the list stays under the hand");
  await say(page, "Is it 16K?");
  await until(page, () => document.querySelectorAll(".msg:not(.replying)").length === 2);
  assert.equal(world.chats().at(-1).options.num_ctx, 13600);

  const ask = async (typed) => {
    await page.select("#window", "other");
    await page.waitForSelector("dialog[open] #tokens");
    await page.$eval("#tokens", (field, typed) => (field.value = typed), typed);
    await click(page, "dialog [type=submit]");
  };
  await ask("12K");
  await until(page, () => document.querySelector("dialog [role=alert]").textContent.startsWith("There is no size 12K. This model has 4K, 8K, 16K, 32K"));
  assert.equal(await page.$eval("#tokens", (field) => field.getAttribute("aria-invalid")), "true");
  await page.keyboard.press("Escape");
  await until(page, () => !document.querySelector("dialog"));
  assert.equal(await shown(), "window 13,600 (16K)", "nothing has changed");
  await ask("8k");
  await adds(6800);
  await ask("9,000");
  await adds(9000);
  await until(page, () => document.querySelector("#window").selectedOptions[0].textContent === "window 9,000");
  await say(page, "And now?");
  await until(page, () => document.querySelectorAll(".msg:not(.replying)").length === 4);
  assert.equal(world.chats().at(-1).options.num_ctx, 9000);

  await page.evaluate(() => (location.hash = "settings"));
  await click(page, "[data-tab=model]");
  await page.waitForSelector("#default-window optgroup:nth-of-type(2)");
  assert.equal((await listed("default-window"))[3], "27200 27,200 (32K)");
  await page.select("#default-window", "27200");
  await click(page, ".side .new");
  await page.waitForSelector("#msg", { visible: true });
  await adds(27200);
  assert.equal(await shown(), "window 27,200 (32K)");
  await say(page, "How large now?");
  await until(page, () => document.querySelectorAll(".msg:not(.replying)").length === 2);
  assert.equal(world.chats().at(-1).options.num_ctx, 27200);
  await world.end();
});

test("window, model and system prompt are the session's own and come back", SLOW, async () => {
  const world = await begin();
  const { page } = world;
  await until(page, () => document.querySelector(".live.okc"));
  await page.select("#window", "16384");
  await until(page, () => document.querySelector("#s-chat .budget table").textContent.includes("free"));
  await until(page, () => Object.values([...document.querySelectorAll("#s-chat .budget table td")].map((c) => Number(c.textContent.replace(/\D/g, "")))).reduce((a, b) => a + b, 0) === 16384);
  await click(page, "#model");
  await page.waitForSelector("dialog[open] [data-model]");
  const names = await page.$$eval("dialog [data-model]", (all) => all.map((o) => o.dataset.model));
  const about = await page.$$eval("dialog [data-model]", (all) => Object.fromEntries(all.map((o) => [o.dataset.model, o.textContent])));
  assert.match(about["qwen3:4b"], /4\.0B · Q4_K_M.*trained for 40,960.*tools, thinking$/);
  assert.ok(names.length > 1, names.join());
  await click(page, `dialog [data-model="${names[1]}"]`);
  await until(page, (name) => document.querySelector("#model").textContent === name, names[1]);
  await click(page, "#edit-system");
  await page.waitForSelector("dialog[open] #system");
  await page.type("#system", "Answer in one word.");
  // G4: what layers keep first
  assert.equal(await page.$eval("#mode", (s) => s.value), "assistant");
  await page.select("#mode", "planning");
  await click(page, "dialog [type=submit]");
  await until(page, () => document.querySelector(".notes .system")?.textContent === "Answer in one word.");
  await page.reload();
  await until(page, () => document.querySelector(".notes .system")?.textContent === "Answer in one word.");
  assert.equal(await page.$eval("#window", (s) => s.value), "16384");
  assert.equal(await text(page, "#model"), names[1]);
  await click(page, "#edit-system");
  await page.waitForSelector("dialog[open] #mode");
  assert.equal(await page.$eval("#mode", (s) => s.value), "planning");
  await page.keyboard.press("Escape");
  await until(page, () => document.querySelector(".live.okc"));
  await say(page, "Hi");
  await until(page, () => document.querySelectorAll(".msg:not(.replying)").length === 2);
  const body = world.chats().at(-1);
  assert.deepEqual([body.model, body.options.num_ctx, body.messages[0].role], [names[1], 16384, "system"]);
  assert.match(body.messages[0].content, /^Answer in one word\./);
  await world.end();
});

test("bad files are refused with a sentence each", SLOW, async () => {
  const world = await begin();
  const { page } = world;
  await until(page, () => document.querySelector(".live.okc"));
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-bad-"));
  const check = async (name, content, expected) => {
    const file = path.join(folder, name);
    fs.writeFileSync(file, content);
    await importFile(page, file);
    await until(page, (n) => [...document.querySelectorAll(".toast.bad")].some((t) => t.textContent.includes(n)), name);
    const said = await page.$$eval(".toast.bad", (all, n) => all.map((t) => t.textContent).find((t) => t.includes(n)), name);
    assert.match(said, expected);
  };
  await check("broken.json", "{\"messages\": [", /not JSON/);
  await check("empty.json", "", /it is empty/);
  await check("list.json", "{\"a\": 1}", /holds no messages: it is an object with a/);
  await check("large.json", Buffer.alloc(257_000_000, 32), /it is 257 MB; files up to 256 MB are read/);
  assert.equal((await page.$$("[data-session]")).length, 1);
  await world.end();
});

test("a server that dies mid-reply, and a model that is gone: a sentence, and the question is kept", SLOW, async () => {
  const world = await begin({ script: { replies: [{ content: "This reply breaks off in the middle of", hostile: "reset" }, { status: 404, error: "model 'x' not found" }, "Here again."] } });
  const { page } = world;
  await until(page, () => document.querySelector(".live.okc"));
  await say(page, "First question");
  await page.waitForSelector(".notice");
  assert.equal((await page.$$(".msg.you")).length, 1);
  await click(page, ".notice .btn:last-of-type");
  await until(page, () => /not installed|not found/i.test(document.querySelector(".notice")?.textContent ?? ""));
  await click(page, ".notice .btn:last-of-type");
  await until(page, () => document.querySelector(".msg:not(.you):not(.replying) .prose")?.textContent === "Here again.");
  assert.equal((await page.$$(".msg.you")).length, 1);
  await world.end({ tolerate: [/ERR_|404|Failed to load resource/] });
});

test("unknown commands are refused, known ones are not sent", SLOW, async () => {
  const world = await begin();
  const { page } = world;
  await until(page, () => document.querySelector(".live.okc"));
  await say(page, "/comapct");
  await page.waitForSelector(".toast.bad");
  assert.match(await text(page, ".toast.bad"), /no command \/comapct/);
  await page.$eval("#msg", (field) => (field.value = ""));
  await say(page, "/title Ovens");
  await until(page, () => document.querySelector("#h-chat").textContent === "Ovens");
  await say(page, "/compact");
  await until(page, () => [...document.querySelectorAll(".toast")].some((toast) => /the conversation is empty/.test(toast.textContent)));
  assert.equal(world.chats().length, 0);
  await world.end();
});

const refuse = {
  indexedDB: () => Object.defineProperty(globalThis, "indexedDB", { get: () => ({ open: () => { throw new DOMException("refused", "SecurityError"); } }) }),
  localStorage: () => Object.defineProperty(globalThis, "localStorage", { get: () => { throw new DOMException("refused", "SecurityError"); } }),
};

/** S5: where IndexedDB is refused the small storage takes its place, and the page says what that means */
test("without IndexedDB small sessions are kept all the same, and the page says how well", SLOW, async () => {
  const world = await begin({ ready: false });
  const { page } = world;
  await page.evaluateOnNewDocument(refuse.indexedDB);
  await world.open();
  await page.waitForSelector(".notice");
  assert.match(await text(page, ".notice"), /small storage, a few megabytes/);
  await until(page, () => document.querySelector(".live.okc"));
  await say(page, "Keep this, please");
  await until(page, () => document.querySelectorAll(".msg:not(.replying)").length === 2);
  const said = await page.$$eval(".msg .prose", (all) => all.map((one) => one.textContent));
  await page.reload();
  await until(page, () => document.querySelectorAll(".msg:not(.replying)").length === 2);
  assert.deepEqual(await page.$$eval(".msg .prose", (all) => all.map((one) => one.textContent)), said);
  await world.end();
});

/** S5: where nothing is kept the page works from memory and says so */
test("where the browser stores nothing, the page says so and works from memory", SLOW, async () => {
  const world = await begin({ ready: false });
  const { page } = world;
  await page.evaluateOnNewDocument(refuse.indexedDB);
  await page.evaluateOnNewDocument(refuse.localStorage);
  await world.open();
  await page.waitForSelector(".notice");
  assert.match(await text(page, ".notice"), /your sessions are gone when you close the tab/);
  await page.waitForSelector(".start");
  const welcome = await text(page, ".start");
  assert.doesNotMatch(welcome, /stays in this browser/);
  assert.match(welcome, /gone when you close the tab/);
  // its settings are gone with the storage: the address is given by hand
  await page.evaluate(() => (location.hash = "settings"));
  const field = await page.waitForSelector("#address");
  await field.click({ count: 3 });
  await page.keyboard.type(world.fake.url);
  await page.keyboard.press("Enter");
  await until(page, () => document.querySelector(".live.okc"));
  await page.evaluate(() => (location.hash = "chat"));
  await page.waitForSelector("#msg", { visible: true });
  await say(page, "Still there?");
  await until(page, () => document.querySelectorAll(".msg:not(.replying)").length === 2);
  await world.end({ tolerate: [/localhost:11434/, /ERR_CONNECTION_REFUSED/] });
});

for (const [name, messages] of [["a coding session of our own", codingSession(Infinity, ours)], ["the coding session", codingSession()]]) {
  const skip = messages ? false : "../shared/data is not there";
  test(`${name}: imported with a system prompt, compacted at 8,192, window within its limit`, { timeout: 300_000, skip }, () => compactedWithPrompt(messages));
}

async function compactedWithPrompt(messages) {
  const world = await begin({ settings: { window: 8192 } });
  const { page } = world;
  await until(page, () => document.querySelector(".live.okc"));
  await importFile(page, transcript([{ role: "system", content: "You untangle code. KEEP-ME-7431." }, ...messages], "Coding"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Coding");
  assert.equal((await budget(page)).state, "over");
  await click(page, "#compact");
  await page.waitForSelector(".card.done", { timeout: 200_000 });
  const after = await budget(page);
  assert.ok(after.used <= 7004, JSON.stringify(after));
  await page.reload();
  await page.waitForSelector(".card.done");
  await near(page, after);
  await page.evaluate(() => (location.hash = "context"));
  await page.waitForSelector(".lens [data-lens=sees]");
  await click(page, ".lens [data-lens=sees]");
  await page.waitForSelector(".sent pre");
  assert.match(await text(page, ".sent pre"), /^You untangle code\. KEEP-ME-7431\./);
  // a part that the server finds too long is asked for in halves
  await world.end({ tolerate: [/status of 400/] });
}

/** The pictures of the readme, of a conversation with layers that the built-in summariser wrote. */
async function pictures(file, folder) {
  const world = await begin({ settings: { window: 4096, summary_model: "-" } });
  const { page } = world;
  await until(page, () => document.querySelector(".live.okc"));
  await importFile(page, file);
  await until(page, () => document.querySelector("#h-chat").textContent === "Bakery");
  await click(page, "#compact");
  await page.waitForSelector(".card.done");
  await page.$$eval(".toast button", (all) => all.forEach((button) => button.click()));
  await until(page, () => !document.querySelector(".toast"));
  const shot = (name) => page.screenshot({ path: path.join(folder, `${name}.png`) });
  await shot("chat");
  await look(page, 1440, "dark");
  await page.evaluate(() => (location.hash = "context"));
  await click(page, ".lens [data-lens=overlay]");
  await page.waitForSelector(".margin .script");
  await shot("context");
  await look(page, 1440, "light");
  await page.evaluate(() => (location.hash = "settings"));
  await click(page, "[data-tab=compaction]");
  await click(page, "#policy-editor > summary");
  await page.$eval("#policy-at", (field) => { field.value = "60"; field.dispatchEvent(new Event("input", { bubbles: true })); });
  await page.waitForSelector("#policy-tried p");
  await page.waitForSelector("#policy-differs li");
  await page.$eval("#policy-use", (button) => button.scrollIntoView({ block: "end" }));
  await shot("policy");
  await look(page, 360, "dark");
  await page.evaluate(() => (location.hash = "chat"));
  await page.waitForSelector(".card.done", { visible: true });
  await page.$eval(".card.done", (card) => card.scrollIntoView({ block: "center" }));
  await new Promise((done) => setTimeout(done, 300));
  await shot("narrow");
  await world.end();
}
