// Sessions as a whole: search, pin, duplicate, export and import, erase.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import { ENGINES, begin, cleanUp, importFile, say, transcript } from "./harness.mjs";
import { bakery, click, messages, ready, text, until } from "./acts.mjs";

const SLOW = { timeout: 240_000 };
test.afterEach(cleanUp);

const library = (page) => page.evaluate(() => (location.hash = "library"));

/// S6, F 25: words are found in titles, messages and layers of all sessions; a hit leads to its message.
for (const engine of ENGINES) test(`search finds titles, messages and layers, and leads there (${engine})`, SLOW, async () => {
  const world = await begin({ engine, settings: { summary_model: "-" } });
  const { page } = world;
  await ready(page);
  const talk = bakery(9);
  talk[3].content += " The marmalade is kept in the cellar. " + "Die Äpfel auch.".normalize("NFD");
  await importFile(page, transcript(talk, "Bakery"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Bakery");
  await click(page, "#compact");
  await page.waitForSelector(".card.done");
  await importFile(page, transcript([{ role: "user", content: "Hello" }, { role: "assistant", content: "Good day." }], "On marmalade"));
  await until(page, () => document.querySelector("#h-chat").textContent === "On marmalade");
  await library(page);
  await page.type("#search-all", "MARMALADE");
  await until(page, () => document.querySelectorAll(".hits li").length >= 2);
  await until(page, () => /places found/.test(document.querySelector("#status").textContent));
  const hits = await page.$$eval(".hits a", (all) => all.map((a) => [a.querySelector("b").textContent, a.querySelector("i").textContent, a.querySelector("mark").textContent]));
  assert.ok(hits.some((h) => h.join() === "On marmalade,in the title,marmalade"), JSON.stringify(hits));
  const at = hits.findIndex((h) => h[0] === "Bakery" && h[1] === "in message 4");
  assert.ok(at >= 0, JSON.stringify(hits));
  await (await page.$$(".hits a"))[at].click();
  await until(page, () => document.activeElement?.dataset.seq === "4");
  assert.match(await page.evaluate(() => document.activeElement.textContent), /marmalade is kept/);
  await library(page);
  await page.waitForSelector("#search-all");
  await page.type("#search-all", "äpfel");
  await until(page, () => document.querySelector(".hits mark")?.textContent === "Äpfel");
  await page.$eval("#search-all", (field) => field.select());
  await page.type("#search-all", "zebra crossing");
  await until(page, () => /stand nowhere/.test(document.querySelector("#s-library").textContent));
  await world.end();
});

/// S6, S7: pin, duplicate, export all; what is erased is gone; the exported file brings everything back, once.
for (const engine of ENGINES) test(`sessions are pinned, doubled, exported, erased, and imported again (${engine})`, SLOW, async () => {
  const world = await begin({ engine, script: { replies: ["Kept in words."] } });
  const { page } = world;
  await ready(page);
  const saved = await world.downloads();
  await say(page, "Remember the number 4711");
  await messages(page, 2);
  await click(page, ".new");
  await until(page, () => document.querySelectorAll("[data-session]").length === 2);
  await library(page);
  await click(page, "[aria-label='Pin session: Remember the number 4711']");
  await until(page, () => document.querySelector(".lists h2")?.textContent === "Pinned");
  await click(page, "[aria-label='Duplicate session: Remember the number 4711']");
  await until(page, () => document.querySelector("#h-chat").textContent === "Remember the number 4711 (copy)");
  await messages(page, 2);
  await say(page, "/export md");
  const markdown = fs.readFileSync(await saved(".md"), "utf8");
  assert.match(markdown, /^# Remember the number 4711 \(copy\)[\s\S]*## 1\. You[\s\S]*4711[\s\S]*Kept in words\./);

  await library(page);
  await click(page, "#export-all");
  const vault = await saved(".json");
  assert.equal(JSON.parse(fs.readFileSync(vault, "utf8")).sessions.length, 3);
  await click(page, "#erase");
  await page.waitForSelector("dialog[open] #erase-now");
  await click(page, "#erase-now");
  await until(page, () => document.querySelectorAll("[data-session]").length === 1 && !document.querySelector(".lists").textContent.includes("4711"));
  await page.reload();
  await until(page, () => document.querySelectorAll("[data-session]").length === 1);

  await importFile(page, vault);
  await until(page, () => [...document.querySelectorAll("[data-session]")].filter((a) => a.textContent.includes("4711")).length === 2);
  await until(page, () => /imported/.test(document.querySelector(".toasts").textContent) && location.hash === "#chat");
  await page.$$eval(".toast .quiet", (all) => all.forEach((button) => button.click()));
  await until(page, () => !document.querySelector(".toast"));
  await importFile(page, vault);
  await until(page, () => /imported/.test(document.querySelector(".toast")?.textContent ?? ""));
  assert.equal(await page.$$eval("[data-session]", (all) => all.filter((a) => a.textContent.includes("4711")).length), 2);
  await world.end();
});

/// S7: what Open WebUI, ChatGPT and Claude export is read: every conversation, its active branch first.
test("exports of other chat apps are imported", SLOW, async () => {
  const world = await begin();
  const { page } = world;
  await ready(page);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-other-"));
  const file = (name, value) => (fs.writeFileSync(path.join(folder, name), JSON.stringify(value)), path.join(folder, name));
  const node = (id, parent, role, words) => [id, { id, parent, children: [], message: { author: { role }, create_time: 1700000000, content: { content_type: "text", parts: [words] } } }];
  const chatgpt = [{ title: "From ChatGPT", current_node: "d", mapping: Object.fromEntries([["root", { id: "root", parent: null, children: ["a"], message: null }], node("a", "root", "user", "How high is it?"), node("b", "a", "assistant", "The other branch."), node("d", "a", "assistant", "8,849 metres.")]) }];
  const claude = [{ uuid: "u1", name: "From Claude", chat_messages: [{ sender: "human", text: "Name a river", created_at: "2025-01-01T00:00:00Z" }, { sender: "assistant", text: "The Nile.", created_at: "2025-01-01T00:00:05Z" }] }, { uuid: "u2", name: "Second", chat_messages: [{ sender: "human", text: "Hi", created_at: "2025-01-02T00:00:00Z" }] }];
  const webui = [{ id: "w", title: "From Open WebUI", chat: { title: "From Open WebUI", history: { currentId: "2", messages: { 1: { id: "1", parentId: null, role: "user", content: "Ping" }, 2: { id: "2", parentId: "1", role: "assistant", content: "Pong" }, 3: { id: "3", parentId: "1", role: "assistant", content: "Not this" } } } } }];
  const check = async (name, value, title, count, expected, absent) => {
    await importFile(page, file(name, value));
    await until(page, (t) => document.querySelector("#h-chat").textContent === t, title);
    await messages(page, count);
    await until(page, (source) => new RegExp(source).test(document.querySelector(".thread").textContent), expected.source);
    const said = await text(page, ".thread");
    assert.match(said, expected);
    assert.ok(!said.includes(absent), said);
  };
  await check("chatgpt.json", chatgpt, "From ChatGPT", 2, /How high is it\?[\s\S]*8,849 metres\./, "The other branch");
  await check("claude.json", claude, "From Claude", 2, /Name a river[\s\S]*The Nile\./, "Hi there");
  assert.ok(await page.$eval(".lists", (l) => l.textContent.includes("Second")));
  await check("webui.json", webui, "From Open WebUI", 2, /Ping[\s\S]*Pong/, "Not this");
  await world.end();
});
