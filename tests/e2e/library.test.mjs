// Sessions as a whole: search, pin, duplicate, export and import, erase.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import { ENGINES, begin, budget, cleanUp, importFile, say, transcript } from "./harness.mjs";
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
  talk[3].content += " The marmalade is kept in cellar 7 since Friday. " + "Die Äpfel auch.".normalize("NFD");
  await importFile(page, transcript(talk, "Bakery"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Bakery");
  await click(page, "#compact");
  await page.waitForSelector(".card.done");
  await importFile(page, transcript([{ role: "user", content: "Hello" }, { role: "assistant", content: "Good day." }], "On marmalade"));
  await until(page, () => document.querySelector("#h-chat").textContent === "On marmalade");
  await library(page);
  await page.type("#search-all", "MARMALADE");
  const line = () => text(page, ".seek .sub");
  // letters that come slowly are looked for as far as they go
  await until(page, () => document.querySelector("#status").textContent === "2 sessions, 3 places");
  assert.equal(await line(), "2 sessions, 3 places");
  const rows = await page.$$eval(".rows tbody tr", (all) => all.map((row) => [row.querySelector("th > a").textContent, row.querySelector("th > a mark")?.textContent ?? "", row.querySelector(".found")?.textContent, row.cells.length]));
  assert.deepEqual(rows.map((r) => [r[0], r[1], r[3]]), [["On marmalade", "marmalade", 8], ["Bakery", "", 8]]);
  assert.match(rows[1][2], /The marmalade is kept.*in message 4/);
  // where is looked is chosen, and stays chosen
  const tick = (n) => click(page, `.scope label:nth-of-type(${n}) input`);
  await tick(1);
  await until(page, () => document.querySelector(".seek .sub").textContent === "1 session, 2 places");
  await tick(2);
  await until(page, () => document.querySelector(".found a")?.textContent === "in layer 1");
  await tick(3);
  await until(page, () => /Choose where to search/.test(document.querySelector("#s-library").textContent));
  await tick(2);
  await page.waitForSelector(".found a");
  await click(page, ".found a");
  await until(page, () => document.activeElement?.dataset.seq === "4");
  assert.match(await page.evaluate(() => document.activeElement.textContent), /marmalade is kept/);
  await library(page);
  await page.waitForSelector("#search-all");
  assert.deepEqual(await page.$$eval(".scope input", (all) => all.map((box) => box.checked)), [false, true, false]);
  assert.equal((await page.$$(".rows tbody tr")).length, 3);
  await page.type("#search-all", "äpfel");
  await until(page, () => document.querySelector(".found mark")?.textContent === "Äpfel");
  // every further place is counted and can be opened; layers are places, too
  await tick(3);
  await page.$eval("#search-all", (field) => field.select());
  await page.type("#search-all", "oven 10");
  await until(page, () => /^1 session, \d\d places$/.test(document.querySelector("#status").textContent));
  const places = Number((await line()).match(/, (\d+) place/)[1]);
  assert.equal(await text(page, ".found summary"), `and ${places - 1} more`);
  await page.focus(".found summary");
  await page.keyboard.press("Enter");
  const all = await page.$$eval(".found a", (links) => links.map((a) => a.textContent));
  assert.equal(all.length, places);
  assert.ok(all.includes("in message 1") && all.includes("in layer 1"), all.join());
  await click(page, ".found li:last-child a");
  await page.waitForSelector("#s-context");
  await library(page);
  await page.waitForSelector("#search-all");
  await page.type("#search-all", "zebra crossing");
  await until(page, () => /Nothing found/.test(document.querySelector("#s-library").textContent));
  await world.end();
});

/// B7, G6, S6: each row shows its window as the bar has it, its layers, its badge and its size, from what the list knows:
/// no message is read for it; a head of an older version shows the plain gauge.
test("rows show window, recall and size of sessions that are not open", SLOW, async () => {
  const world = await begin({ settings: { summary_model: "-" } });
  const { page } = world;
  await ready(page);
  await importFile(page, transcript(bakery(9), "Bakery"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Bakery");
  await click(page, "#compact");
  await page.waitForSelector(".card.done");
  const bar = await page.$$eval("#s-chat .budget .seg", (all) => all.map((s) => [s.className, Number(s.style.getPropertyValue("--t"))]));
  const percent = await text(page, "#s-chat .budget .pct");
  await click(page, ".new");
  await until(page, () => document.querySelector("#h-chat").textContent === "New session");
  await page.reload();
  await ready(page);
  await library(page);
  await page.waitForSelector(".rows .mini");
  const row = () => page.$$eval(".rows tbody tr", (all) => all.filter((r) => r.textContent.includes("Bakery")).map((r) => ({
    bar: [...r.querySelectorAll(".seg")].map((s) => [s.className, Number(s.style.getPropertyValue("--t"))]),
    gauge: Boolean(r.querySelector(".gauge")),
    cells: [...r.cells].map((c) => c.textContent),
  }))[0]);
  await until(page, () => [...document.querySelectorAll(".rows tbody tr")].every((r) => /KB|MB/.test(r.cells[6].textContent)));
  const found = await row();
  assert.deepEqual(found.bar, bar);
  assert.equal(found.cells[1].startsWith(percent), true, `${found.cells[1]} ${percent}`);
  assert.deepEqual(found.cells.slice(2, 5), ["18", "1", "▮▮▮▮ Most"]);
  assert.match(found.cells[6], /^\d+ KB$/);
  assert.match(await text(page, "#s-library .of"), /^3 sessions, [\d.]+ [KM]B in this browser$/);
  // a head that an older version wrote
  await page.evaluate(() => new Promise((done, fail) => {
    const opening = indexedDB.open("palimpsest");
    opening.onerror = () => fail(opening.error);
    opening.onsuccess = () => {
      const heads = opening.result.transaction("heads", "readwrite").objectStore("heads");
      const reading = heads.openCursor();
      reading.onsuccess = () => {
        const at = reading.result;
        if (!at) return opening.result.close(), done();
        const { glance, ...head } = JSON.parse(at.value);
        at.update(JSON.stringify(head));
        at.continue();
      };
    };
  }));
  await page.reload();
  await page.waitForSelector(".rows .gauge");
  const old = await row();
  assert.deepEqual([old.bar.length, old.gauge, old.cells[3], old.cells[4]], [0, true, "–", "–"]);
  await world.end();
});

/// S4: the library shows the open session's snapshots as a line from now: one is taken, looked at, and gone back to, as a
/// branch whose way back has a name, or by rewinding; by keyboard.
test("the library shows the snapshots of the open session and the ways back", SLOW, async () => {
  const world = await begin({ settings: { summary_model: "-" } });
  const { page } = world;
  await ready(page);
  await importFile(page, transcript(bakery(9), "Bakery"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Bakery");
  await click(page, "#compact");
  await page.waitForSelector(".card.done");
  await say(page, "And rye?");
  await messages(page, 20);
  await library(page);
  await page.waitForSelector(".line-list");
  assert.equal(await text(page, "#h-snap"), "Snapshots of Bakery");
  const lines = () => page.$$eval("#s-library .line-list > li", (all) => all.map((li) => li.querySelector("div").textContent));
  assert.match((await lines())[0], /^Now20 messages, 1 layer, [\d,]+ tokens$/);
  assert.match((await lines())[1], /^\d\d:\d\d before layer 1 automatic18 messages, no layer, [\d,]+ tokens$/);
  await page.type(".line-list input", "rye asked");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".line-list .mine");
  assert.match((await lines())[1], /^\d\d:\d\d rye asked yours, kept until you delete it20 messages, 1 layer/);
  // preview and restore below the line, one at a time
  await page.focus(".line-list li:nth-child(3) .link");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".line-list .ask");
  assert.match(await text(page, ".line-list .ask"), /17: Question 9 about oven 109[\s\S]*18: Oven 109 bakes[\s\S]*Since then: 2 messages\./);
  await page.focus(".line-list li:nth-child(3) .link:nth-of-type(2)");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".ask .btn.solid");
  assert.equal((await page.$$(".ask")).length, 1);
  assert.match(await text(page, ".ask"), /^2 messages are newer than \d\d:\d\d\.[\s\S]*Continue in a new branchRewind this sessionCancel/);
  await click(page, ".ask .acts .btn:nth-child(2)");
  await until(page, () => /^Now18 messages, no layer/.test(document.querySelector(".line-list .here div").textContent));
  assert.equal(await page.evaluate(() => location.hash), "#library");
  assert.match((await lines())[1], /before a change automatic20 messages, 1 layer/);
  // and forward again, as a branch with a name
  await click(page, ".line-list .mine .link:nth-of-type(2)");
  await click(page, ".ask .btn.solid");
  await messages(page, 20);
  await until(page, () => document.activeElement?.id === "msg");
  await library(page);
  await until(page, () => /^\d\d:\d\d before going back to \d\d:\d\d yours/.test(document.querySelector(".line-list li:nth-child(2) div")?.textContent));
  await click(page, ".line-list .mine [aria-label^='Delete snapshot']");
  await until(page, () => document.querySelectorAll(".line-list .mine").length === 1);
  await world.end();
});

/// S5: what is stored is shown by kind; everything is read back and checked; what was altered or lost is named with what to
/// do, and the rest can still be exported. Other tabs are counted.
test("storage is shown by kind, and damage is found", SLOW, async () => {
  const world = await begin({ settings: { summary_model: "-" } });
  const { page } = world;
  await ready(page);
  const saved = await world.downloads();
  const talk = bakery(9);
  talk.push({ role: "assistant", content: null, tool_calls: [{ id: "c1", type: "function", function: { name: "read", arguments: "{}" } }] });
  talk.push({ role: "tool", tool_call_id: "c1", content: "sensor 204\n".repeat(4000) });
  await importFile(page, transcript(talk, "Bakery"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Bakery");
  await library(page);
  await until(page, () => /^4\d KB$/.test(document.querySelector(".meter li:nth-child(2) b")?.textContent));
  const kinds = Object.fromEntries(await page.$$eval(".meter li", (all) => all.map((li) => [li.querySelector("span").textContent, li.querySelector("b").textContent])));
  assert.deepEqual(Object.keys(kinds), ["Messages", "Tool results", "Vocabularies", "Layers, notes", "Snapshots", "The app, models, overhead"]);
  // what the browser counts is what the parts come to
  const sized = (line) => { const [number, unit] = line.split(" "); return Number(number.replace(/,/g, "")) * { B: 1, KB: 1e3, MB: 1e6 }[unit]; };
  const used = await page.$$eval(".figures > div", (all) => all.map((d) => d.textContent).find((t) => t.startsWith("Used")).match(/^Used([\d.,]+ [KM]?B)/)[1]);
  const parts = Object.values(kinds).reduce((sum, line) => sum + sized(line), 0);
  assert.ok(Math.abs(parts - sized(used)) < 0.02 * sized(used) + 6000, `${parts} of ${used}: ${JSON.stringify(kinds)}`);
  assert.ok(/^[1-9]\d* KB$/.test(kinds["Layers, notes"]) && /^[1-9]\d* KB$/.test(kinds.Messages), JSON.stringify(kinds));
  const tabs = () => page.$$eval(".figures > div", (all) => all.map((d) => d.textContent).find((t) => t.startsWith("Other tabs")));
  assert.equal(await tabs(), "Other tabsNone");
  await click(page, "#integrity");
  await page.waitForSelector(".checked .okc");
  assert.match(await text(page, ".checked"), /complete and unchanged\.Read back: 2 sessions, 20 messages\./);
  // a message is altered, another is lost
  await page.evaluate(() => new Promise((done, fail) => {
    const opening = indexedDB.open("palimpsest");
    opening.onerror = () => fail(opening.error);
    opening.onsuccess = () => {
      const rows = opening.result.transaction("messages", "readwrite").objectStore("messages");
      const reading = rows.openCursor();
      let n = 0;
      reading.onsuccess = () => {
        const at = reading.result;
        if (!at) return opening.result.close(), done();
        n += 1;
        if (n === 4) at.update(at.value.replace("bakes at 202", "bakes at 999"));
        if (n === 7) at.delete();
        at.continue();
      };
    };
  }));
  await click(page, "#integrity");
  await page.waitForSelector(".checked .warnc");
  assert.deepEqual(await page.$$eval(".checked li", (all) => all.map((li) => li.textContent)), [
    "Bakery: message 4 cannot be read or was altered", "Bakery: message 7 is missing", "Bakery: message 8 follows one that is missing",
  ]);
  await click(page, ".checked .btn.solid");
  const vault = fs.readFileSync(await saved(".json"), "utf8");
  // what was said before and after is in it, in order, with two marks between
  assert.match(vault, /Oven 101 bakes at 201[\s\S]*cannot be read[\s\S]*Oven 103 bakes at 203[\s\S]*cannot be read[\s\S]*Oven 109 bakes at 209/);
  const second = await world.browser.newPage();
  await second.goto(world.site.url);
  await until(second, () => /another tab/.test(document.querySelector(".notice")?.textContent ?? ""));
  await library(second);
  await until(second, () => [...document.querySelectorAll(".figures > div")].some((d) => d.textContent === "Other tabs1 openanother one writes the open session; this one is read-only"));
  await second.close();
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
  assert.match(markdown, /^# Remember the number 4711 \(copy\)$[\s\S]*^## User$[\s\S]*4711[\s\S]*^## Assistant$[\s\S]*Kept in words\./m);

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
  await until(page, () => /imported/.test(document.querySelector(".toasts").textContent) && location.hash !== "#library");
  await page.$$eval(".toast .quiet", (all) => all.forEach((button) => button.click()));
  await until(page, () => !document.querySelector(".toast"));
  await importFile(page, vault);
  await until(page, () => /everything in it is here already/.test(document.querySelector(".toast")?.textContent ?? ""));
  assert.equal(await page.$$eval("[data-session]", (all) => all.filter((a) => a.textContent.includes("4711")).length), 2);
  await world.end();
});

/// S3, S4, S7: a backup brings a session back as it was, with its layers, branches and snapshots; once.
test("a backup brings a session back as it was", SLOW, async () => {
  const world = await begin({ script: { replies: ["Rye at 220.", "Rye at 230."] }, settings: { summary_model: "-" } });
  const { page } = world;
  await ready(page);
  const saved = await world.downloads();
  await importFile(page, transcript(bakery(9), "Bakery"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Bakery");
  await click(page, "#compact");
  await page.waitForSelector(".card.done");
  await say(page, "/snapshot rye asked");
  await say(page, "And rye?");
  await messages(page, 20);
  await page.hover(".msg:last-of-type");
  await click(page, "#again");
  await until(page, () => document.querySelector(".flip > span")?.textContent === "2 / 2" && !document.querySelector(".replying"));
  const state = async () => {
    await page.evaluate(() => (location.hash = "chat"));
    await until(page, () => document.querySelector(".flip > span")?.textContent === "2 / 2" && document.querySelector(".thread").textContent.includes("Rye at 230."));
    const used = (await budget(page)).used;
    await library(page);
    await page.waitForSelector(".line-list .mine");
    const lines = await page.$$eval("#s-library .line-list > li", (all) => all.map((li) => li.querySelector("div").textContent));
    const row = await page.$$eval(".rows tbody tr", (all) => [...all.find((row) => row.textContent.includes("Bakery")).cells].slice(0, 6).map((cell) => cell.textContent));
    // what was learned about the model's tokens is the device's: the estimate may differ by a few
    return { used, now: lines[0].replace(/[\d,]+ tokens/, ""), lines: lines.slice(1), row };
  };
  const before = await state();
  assert.match(before.now, /20 messages, 1 layer/);
  await click(page, "#export-all");
  const vault = await saved(".json");
  await click(page, "#erase");
  await click(page, "dialog[open] #erase-now");
  await until(page, () => !document.querySelector(".lists").textContent.includes("Bakery"));
  for (let n = 0; n < 2; n += 1) {
    await importFile(page, vault);
    await until(page, (said) => document.querySelector("#h-chat").textContent === "Bakery" && new RegExp(said).test(document.querySelector(".toasts").textContent), n === 0 ? "imported" : "is here already");
    const after = await state();
    assert.ok(Math.abs(after.used - before.used) < before.used * 0.02, JSON.stringify({ before, after }));
    assert.deepEqual({ ...after, used: before.used }, before);
    assert.equal((await page.$$(".rows tbody tr")).length, 2);
    await page.$$eval(".toast .quiet", (all) => all.forEach((button) => button.click()));
    await until(page, () => !document.querySelector(".toast"));
  }
  await click(page, "#integrity");
  await page.waitForSelector(".checked .okc");
  // without consent it is what was said and nothing else
  await click(page, "#erase");
  await click(page, "dialog[open] #erase-now");
  await until(page, () => !document.querySelector(".lists").textContent.includes("Bakery"));
  await click(page, "#s-library .acts .btn:nth-child(2)");
  await click(page, "dialog #take-system");
  await (await page.waitForSelector("dialog #file")).uploadFile(vault);
  await until(page, () => document.querySelector("#h-chat").textContent === "Bakery");
  await messages(page, 20);
  assert.equal(await page.$(".flip"), null);
  await world.end();
});

/// S6: a library of many sessions shows the first hundred, more when they are wanted, and what is found wherever it is. An import of
/// many says how far it is.
/// S3: a session is saved in every form from its context, and the forms that hold it bring it back.
test("a session is saved in every form, and comes back from each that holds it", SLOW, async () => {
  const world = await begin({ settings: { window: 8192, summary_model: "-" } });
  const { page } = world;
  await ready(page);
  const saved = await world.downloads();
  await importFile(page, transcript(bakery(9), "Bakery"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Bakery");
  await click(page, "#compact");
  await page.waitForSelector(".card.done");
  await say(page, "/pin Rye only");
  await until(page, () => document.querySelector(".notes").textContent.includes("Rye only"));
  const save = async (name, ending) => {
    await page.evaluate(() => (location.hash = "context"));
    await click(page, "#save-as");
    await page.waitForSelector("dialog[open] .forms");
    await page.evaluate((name) => [...document.querySelectorAll("dialog .forms button")].find((b) => b.textContent === name).click(), name);
    return saved(ending);
  };
  const files = {
    lines: await save("JSON Lines", ".jsonl"), markdown: await save("Markdown", "Bakery.md"), session: await save("Session JSON", ".session.json"),
    json: await save("JSON for other programs", "Bakery.json"), log: await save("Log of the window", "log.md"), request: await save("Next request", "request.json"), system: await save("System message", "system.md"),
  };
  const read = (file) => fs.readFileSync(file, "utf8");
  assert.match(read(files.markdown), /^## User$/m);
  assert.match(read(files.markdown), /^### Layer \d+$/m);
  assert.equal(JSON.parse(read(files.request)).model, "llama3.2:3b");
  assert.match(read(files.system), /Rye only/);
  for (const [form, whole] of [["lines", true], ["markdown", true], ["session", false], ["json", true]]) {
    await page.evaluate(() => (location.hash = "library"));
    await click(page, "#erase");
    await click(page, "dialog[open] #erase-now");
    await until(page, () => !document.querySelector(".lists").textContent.includes("Bakery"));
    await importFile(page, files[form]);
    await until(page, () => document.querySelector("#h-chat").textContent === "Bakery" && document.querySelectorAll(".thread .msg").length === 18).catch((e) => { throw new Error(`${form}: ${e.message}`); });
    await until(page, (whole) => !whole || document.querySelector(".notes").textContent.includes("Rye only"), whole).catch((e) => { throw new Error(`${form}: ${e.message}`); });
    assert.equal((await page.$$(".notes .strata li")).length, form === "lines" || form === "json" ? 1 : 0, `layers of ${form}`);
  }
  await world.end();
});

test("many sessions are shown a hundred at a time", SLOW, async () => {
  const world = await begin();
  const { page } = world;
  await ready(page);
  const many = Array.from({ length: 130 }, (_, i) => ({ uuid: `u${i}`, name: `Talk ${i}`, chat_messages: [{ sender: "human", text: i === 3 ? "The quincunx" : "Hi", created_at: new Date(Date.UTC(2024, 0, 1, 0, i)).toISOString() }] }));
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-many-")), "many.json");
  fs.writeFileSync(file, JSON.stringify(many));
  await importFile(page, file);
  await until(page, () => /many.json: \d+ of 130 conversations/.test(document.querySelector(".toasts").textContent));
  await until(page, () => /many.json imported/.test(document.querySelector(".toasts").textContent));
  await library(page);
  await until(page, () => document.querySelectorAll(".rows tbody tr").length === 100);
  assert.equal(await text(page, ".more-rows"), "100 of 131 shown – show more");
  await click(page, ".more-rows");
  await until(page, () => document.querySelectorAll(".rows tbody tr").length === 131 && !document.querySelector(".more-rows"));
  await page.type("#search-all", "quincunx");
  await until(page, () => [...document.querySelectorAll(".rows tbody tr th > a")].map((a) => a.textContent).join() === "Talk 3");
  await world.end();
});

/// F27, S7: of JSON Lines of the package the line that is no text is named with its place and the others are read; one JSON
/// document is whole or refused, with its place.
test("a file that is not all text", SLOW, async () => {
  const world = await begin();
  const { page } = world;
  await ready(page);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-bytes-"));
  const latin = (text) => Buffer.from(text, "latin1");
  const line = (value) => `${JSON.stringify(value)}\n`;
  const said = (seq, role, words) => line({ kind: "message", message: { seq, ...(seq > 0 ? { parent: seq - 1 } : {}), role, origin: "host", parts: [{ type: "text", text: words }], at: 1 } });
  const head = line({ kind: "session", palimpsest: 1, id: "elsewhere", title: "Half readable", model: "any", window: 4096, policy: "balanced", tip: 2 }) + said(0, "user", "Where do we meet?");
  const file = path.join(folder, "session.jsonl");
  fs.writeFileSync(file, latin(head + said(1, "assistant", "In the Caf\u00e9.") + said(2, "user", "At nine.")));
  const place = head.length + said(1, "assistant", "In the Caf\u00e9.").indexOf("\u00e9");
  await importFile(page, file);
  await until(page, () => document.querySelector("#h-chat").textContent === "Half readable");
  await until(page, () => [...document.querySelectorAll(".thread .msg.you .prose")].map((one) => one.textContent).join() === "Where do we meet?,At nine.");
  await until(page, (place) => [...document.querySelectorAll(".toast")].some((one) => one.textContent.includes(`Left out, since it is not UTF-8: line 3 (byte ${place}).`)), place);
  const whole = path.join(folder, "latin.json");
  fs.writeFileSync(whole, latin('[{"role":"user",\n"content":"Caf\u00e9"}]'));
  const before = (await page.$$("[data-session]")).length;
  await importFile(page, whole);
  await until(page, () => [...document.querySelectorAll(".toast.bad")].some((one) => /latin\.json.*damaged at line 2: byte 31 is no UTF-8/.test(one.textContent)));
  assert.equal((await page.$$("[data-session]")).length, before);
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
  const chatgpt = [{ id: "g1", title: "From ChatGPT", current_node: "d", mapping: Object.fromEntries([["root", { id: "root", parent: null, children: ["a"], message: null }], node("a", "root", "user", "How high is it?"), node("b", "a", "assistant", "The other branch."), node("d", "a", "assistant", "8,849 metres.")]) }];
  const claude = [{ uuid: "u1", name: "From Claude", chat_messages: [{ sender: "human", text: "Name a river", created_at: "2025-01-01T00:00:00Z" }, { sender: "assistant", text: "The Nile.", created_at: "2025-01-01T00:00:05Z" }] }, { uuid: "u2", name: "Second", chat_messages: [{ sender: "human", text: "Hi", created_at: "2025-01-02T00:00:00Z" }] }];
  const webui = [{ id: "w", title: "From Open WebUI", chat: { title: "From Open WebUI", history: { currentId: "2", messages: { 1: { id: "1", parentId: null, role: "user", content: "Ping" }, 2: { id: "2", parentId: "1", role: "assistant", content: "Pong" }, 3: { id: "3", parentId: "1", role: "assistant", content: "Not this" } } } } }];
  const check = async (name, value, title, count, expected, absent) => {
    await importFile(page, file(name, value));
    // what is there already changes no title: the import is over when it shows the chat
    await until(page, () => location.hash !== "#library");
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
  // they are as old as what was said in them
  await library(page);
  const used = () => page.$$eval(".rows tbody tr", (all) => Object.fromEntries(all.map((row) => [row.cells[0].textContent, row.cells[5].textContent])));
  const days = await used();
  assert.match(days["From ChatGPT"], /1[45] Nov|Nov 1[45]/);
  assert.match(days["From Claude"], /\b1 Jan|Jan 1\b|31 Dec|Dec 31/);
  // exported again with more in it, it is the same conversation; one that went another way stands beside it
  const count = Object.keys(days).length;
  Object.assign(chatgpt[0].mapping, Object.fromEntries([node("e", "d", "user", "And K2?")]));
  chatgpt[0].current_node = "e";
  await check("chatgpt-2.json", chatgpt, "From ChatGPT", 3, /8,849 metres\.[\s\S]*And K2\?/, "The other branch");
  await check("chatgpt.json", chatgpt, "From ChatGPT", 3, /And K2\?/, "The other branch");
  // a branch that is new in the file comes along, beside what is shown
  Object.assign(chatgpt[0].mapping, Object.fromEntries([node("f", "d", "user", "And Elbrus?")]));
  await check("chatgpt-4.json", chatgpt, "From ChatGPT", 3, /And K2\?/, "And Elbrus?");
  await until(page, () => document.querySelector(".msg.you .flip > span")?.textContent === "1 / 2");
  await click(page, ".msg.you .flip button:last-child");
  await until(page, () => /And Elbrus\?/.test(document.querySelector(".thread").textContent));
  await click(page, ".msg.you .flip button:first-child");
  await until(page, () => /And K2\?/.test(document.querySelector(".thread").textContent));
  await check("chatgpt-4.json", chatgpt, "From ChatGPT", 3, /And K2\?/, "And Elbrus?");
  chatgpt[0].current_node = "b";
  await check("chatgpt-3.json", chatgpt, "From ChatGPT", 2, /The other branch\./, "8,849");
  await library(page);
  await until(page, (n) => document.querySelectorAll(".rows tbody tr").length === n + 1, count);
  await world.end();
});

/** S7: sessions of coding agents and chats of local programs are read by what is in them, and have the policy of new sessions; what was not understood is said. */
test("every format of other programs is imported", SLOW, async () => {
  const world = await begin({ settings: { policy: "checkpoints", window: 4096 } });
  const { page } = world;
  await ready(page);
  const check = async (name, title, expected) => {
    await importFile(page, path.join(import.meta.dirname, "../fixtures/imports", name));
    await until(page, () => location.hash !== "#library");
    await until(page, (t) => document.querySelector("#h-chat").textContent === t, title);
    await until(page, (words) => document.querySelector(".thread").textContent.includes(words), expected);
  };
  await check("chatgpt.json", "Harbour walk", "1.4 km, along the quay.");
  await check("claude.json", "Bread", "Spelt, it is milder.");
  await check("open-webui.json", "Ferry", "At 06:40.");
  await check("librechat.json", "Tent", "The blue one, 1.9 kg.");
  await check("lobehub.json", "Garden", "Not today: frost.");
  await check("jan.jsonl", "jan", "Yes, it is on.");
  await check("lm-studio.json", "Knots", "round the tree");
  await check("claude-code.jsonl", "Empty functions", "Both are empty.");
  await check("codex.jsonl", "codex", "Two.");
  await check("pi.jsonl", "Files", "One file.");
  await check("opencode.json", "Port in use", "nginx does.");
  await check("gemini-cli.json", "Counting lines", "Twelve.");
  await check("sillytavern.jsonl", "Captain", "To Svalbard.");
  await until(page, () => /Not understood and left out: no JSON \(1 times, first at 6\)/.test(document.body.textContent));
  // what is imported has the policy and the window of new sessions
  assert.equal(await page.$eval("#window", (list) => list.selectedOptions[0].textContent), "window 4,096");
  await page.evaluate(() => (location.hash = "settings"));
  await click(page, "[data-tab=compaction]");
  await until(page, () => document.querySelector("input[name=policy]:checked")?.value === "checkpoints");
  await world.end();
});
