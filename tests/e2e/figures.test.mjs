// The two plain pages of figures: the session's log and the replay under several policies; and what is sent exactly.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import { defaultModels, startFake } from "../ollama/fake.mjs";
import { ENGINES, begin, budget, cleanUp, importFile, say, transcript, watch } from "./harness.mjs";
import { touching } from "./screens.mjs";
import { bakery, click, messages, ready, text, until } from "./acts.mjs";

const SLOW = { timeout: 240_000 };
test.afterEach(cleanUp);

const numbers = (line) => [...line.matchAll(/[\d,]+/g)].map(([n]) => Number(n.replaceAll(",", "")));

/** A conversation with tools: every turn reads a file. */
function reading(turns) {
  return Array.from({ length: turns }, (_, i) => [
    { role: "user", content: `Look at src/part_${i}.rs, please.` },
    { role: "assistant", content: null, tool_calls: [{ id: `c${i}`, type: "function", function: { name: "read", arguments: JSON.stringify({ path: `src/part_${i}.rs` }) } }] },
    { role: "tool", tool_call_id: `c${i}`, content: Array.from({ length: 40 }, (_, k) => `let value_${k} = compute(${i}, ${k}); // step ${k}`).join("\n") },
    { role: "assistant", content: `src/part_${i}.rs computes forty values.` },
  ]).flat();
}

/** Clicks, and gives what the page saves meanwhile: name and text. */
async function saved(world, folder, selector, pattern) {
  await click(world.page, selector);
  for (let tries = 0; tries < 200; tries += 1) {
    // the file may be there before its content is
    const name = fs.readdirSync(folder).find((file) => pattern.test(file) && fs.statSync(path.join(folder, file)).size > 0);
    if (name) return fs.readFileSync(path.join(folder, name), "utf8");
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`nothing like ${pattern} was saved: ${fs.readdirSync(folder)}`);
}

/// T4, W5, O5: the log shows every compaction with the card's figures, what each tool takes, and is saved as Markdown;
/// `/compact` prints what it freed; the exact request and the system message can be saved.
test("the session log has the card's figures, and is saved with the exact request", SLOW, async () => {
  const world = await begin({ settings: { window: 8192, summary_model: "-" } });
  const { page } = world;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-saved-"));
  const client = await world.browser.target().createCDPSession();
  await client.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: folder });
  await ready(page);
  await importFile(page, transcript(reading(7), "Parts"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Parts");
  const before = await budget(page);
  await page.evaluate(() => (location.hash = "chat"));
  await say(page, "/pin The port is 4711");
  await until(page, () => document.querySelectorAll(".notes .marks li").length === 1);
  await say(page, "/compact");
  await page.waitForSelector(".card.done .pair");
  const after = await budget(page);
  assert.ok(after.used < before.used);
  const printed = await page.$$eval(".toast, .toasts", (all) => all.map((e) => e.textContent).join(" "));
  assert.match(printed, /[\d,]+ → [\d,]+ tokens: [\d,]+ freed\./);
  const [from, to, freed] = numbers(printed.match(/[\d,]+ → [\d,]+ tokens: [\d,]+ freed/)[0]);
  assert.equal(from - to, freed);

  await say(page, "/log");
  await page.waitForSelector("#s-log #log tbody tr");
  const row = await page.$$eval("#log tbody tr:first-child > *", (cells) => cells.map((c) => c.textContent));
  assert.equal(row[1], "compacted by hand");
  assert.deepEqual([numbers(row[3])[0], numbers(row[4])[0], numbers(row[5])[0]], [from, to, freed]);
  assert.match(row[3], /\(\d+\.\d %\)$/);
  const tool = await page.$$eval("#tool-figures tbody tr:first-child > *", (cells) => cells.map((c) => c.textContent));
  assert.deepEqual([tool[0], tool[1]], ["read", "14"], "seven calls and seven results");
  const [, , , said, shown, savedTokens] = tool.map((cell) => numbers(cell)[0] ?? 0);
  assert.equal(said - shown, savedTokens);
  assert.ok(savedTokens > 0);
  // the chart by turn, and the table that says the same
  const turns = await page.$$eval("#turns tbody tr", (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.deepEqual(turns.map((row) => row[0]), ["1", "5", "9", "13", "17", "21", "25"], "seven turns of four messages");
  assert.ok(turns.every((row) => numbers(row[2])[0] > numbers(row[1])[0] && numbers(row[1])[0] > 0));
  assert.deepEqual(turns.map((row) => row[3]).filter(Boolean), [`1: ${from.toLocaleString("en")} → ${to.toLocaleString("en")}`]);
  const columns = await page.$$eval(".turns li", (all) => all.map((li) => [...li.children].map((i) => i.textContent || Math.round(i.getBoundingClientRect().height))));
  assert.equal(columns.length, 7);
  assert.deepEqual(columns.at(-1).at(-1), "1", "the compaction stands at its turn");
  assert.ok(columns.every(([answered, said]) => answered > said), JSON.stringify(columns));
  if (process.env.PALIMPSEST_SHOTS) await page.screenshot({ path: path.join(process.env.PALIMPSEST_SHOTS, "log.png") });

  const log = await saved(world, folder, "#save-log", /log\.md$/);
  assert.match(log, /^# Session log: Parts\n\n## Compacted by hand @ \d{4}-\d\d-\d\d \d\d:\d\d\n/);
  assert.ok(log.includes(`- Saved: ${freed} tokens`), log);
  const request = JSON.parse(await saved(world, folder, "#save-request", /request\.json$/));
  assert.equal(request.options.num_ctx, 8192);
  assert.deepEqual([request.truncate, request.shift, request.messages[0].role], [false, false, "system"]);
  const system = await saved(world, folder, "#save-system", /system\.md$/);
  assert.equal(request.messages[0].content, system, "the same system message");
  assert.match(system, /The port is 4711/);
  fs.rmSync(folder, { recursive: true });
  await world.end();
});

/// E4: the open session is replayed under the chosen policies in the chosen window, side by side; nothing of it changes,
/// and no model is asked.
test("a session is replayed under several policies side by side", SLOW, async () => {
  const world = await begin({ settings: { window: 8192, summary_model: "-" } });
  const { page } = world;
  await ready(page);
  await importFile(page, transcript([...reading(10), ...bakery(20)], "Both"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Both");
  const before = await budget(page);
  const asked = world.chats().length;
  await page.evaluate(() => (location.hash = "replay"));
  await page.waitForSelector("#replay-run");
  await click(page, "[name=replayed][value=checkpoints]");
  await page.select("#replay-window", "4096");
  await click(page, "#replay-run");
  await page.waitForSelector("#replayed[data-done]", { timeout: 120_000 });
  const table = await page.$$eval("#replayed tr", (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.deepEqual(table[0].slice(1), ["Balanced", "Watermark", "Offload, then compact", "Summarise at half"]);
  const figures = Object.fromEntries(table.slice(2).map(([name, ...cells]) => [name, cells.map((cell) => numbers(cell)[0] ?? 0)]));
  const limit = 4096;
  for (const peak of figures["Largest request"]) assert.ok(peak > 0 && peak < limit, `${peak}`);
  const [balanced, watermark] = figures.Compactions;
  assert.ok(balanced > 0 && figures["Model calls"][0] >= 1, "summaries are counted");
  assert.equal(figures["Model calls"][1], 0, "the watermark asks nobody");
  assert.ok(figures.Emergencies[1] > 0 || watermark > 0, "it had to do something in so small a window");
  assert.ok(figures["Total sent"].every((sent, i) => sent >= figures["Largest request"][i]));
  const paths = table.find(([name]) => name === "Paths").slice(1);
  for (const cell of paths) {
    const found = numbers(cell);
    assert.ok(found.slice(0, -1).reduce((a, b) => a + b) <= found.at(-1), cell);
    assert.ok(found.at(-1) >= 30, `ten files and twenty recipes were named: ${cell}`);
  }
  const columns = await page.$$eval("#replayed .spark", (all) => all.map((one) => one.childElementCount));
  assert.deepEqual(columns, [80, 80, 80, 80], "one for each of eighty messages");
  assert.match(await text(page, "#replay-state"), /^80 messages, [\d,]+ tokens said, in a window of 4,096\.$/);
  if (process.env.PALIMPSEST_SHOTS) await page.screenshot({ path: path.join(process.env.PALIMPSEST_SHOTS, "replay.png") });
  await page.evaluate(() => (location.hash = "chat"));
  assert.deepEqual(await budget(page), before, "the session is as it was");
  assert.equal(world.chats().length, asked, "nobody was asked");
  await world.end();
});

/// E4, W4: a model may have a policy of its own, which new sessions with it begin with; the inspector says where the
/// watermark is.
test("a policy goes with its model, and the inspector shows the watermark", SLOW, async () => {
  const world = await begin({});
  const { page } = world;
  await ready(page);
  await page.evaluate(() => (location.hash = "settings"));
  await click(page, "[data-tab=compaction]");
  await click(page, "[name=policy][value=watermark]");
  await until(page, () => document.querySelector("[name=policy][value=watermark]")?.checked);
  await click(page, "#policy-for-model");
  await until(page, () => Object.values(JSON.parse(localStorage.getItem("palimpsest.settings")).model_policies ?? {}).includes("watermark"));
  await page.evaluate(() => (location.hash = "context"));
  assert.match(await text(page, "#watermark"), /^No watermark yet\./);
  await page.evaluate(() => localStorage.setItem("palimpsest.settings", JSON.stringify({ ...JSON.parse(localStorage.getItem("palimpsest.settings")), policy: "balanced" })));
  await page.reload();
  await ready(page);
  await click(page, ".side .new");
  await page.evaluate(() => (location.hash = "settings"));
  await click(page, "[data-tab=compaction]");
  await until(page, () => document.querySelector("[name=policy][value=watermark]")?.checked);
  await world.end();
});

/// W4: the watermark is set by hand, and a message that is kept whole stays before it with its tool's answer.
test("the watermark is set by hand, and a message is kept whole before it", SLOW, async () => {
  const world = await begin({ settings: { window: 8192, policy: "watermark", automatic: false } });
  const { page } = world;
  await ready(page);
  const step = (n) => [
    { role: "user", content: `Read table ${n}.` },
    { role: "assistant", content: "", tool_calls: [{ id: `c${n}`, type: "function", function: { name: "read", arguments: "{}" } }] },
    { role: "tool", tool_call_id: `c${n}`, content: `row of table ${n} `.repeat(60) },
    { role: "assistant", content: `Table ${n} is read.` },
  ];
  await importFile(page, transcript([1, 2, 3].flatMap(step), "Tables"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Tables" && document.querySelector(".thread .msg"));
  await page.evaluate(() => (location.hash = "context"));
  assert.match(await text(page, "#watermark"), /^No watermark yet\./);
  const keep = "[aria-label='Keep whole: 2']";
  await click(page, keep);
  await until(page, (keep) => document.querySelector(keep)?.getAttribute("aria-pressed") === "true" && /Kept whole/.test(document.querySelector(keep).textContent), keep);
  await click(page, "#mark-end");
  await until(page, () => /Watermark before message 13/.test(document.querySelector("#watermark").textContent));
  await page.evaluate(() => (location.hash = "chat"));
  await click(page, "#compact");
  await until(page, () => document.querySelectorAll(".msg header .in").length > 0);
  const sent = async () => {
    await page.evaluate(() => (location.hash = "context"));
    await click(page, ".lens [data-lens=sees]");
    return text(page, "#s-context .page");
  };
  const window = await sent();
  assert.match(window, /row of table 1/);
  assert.doesNotMatch(window, /row of table 2/);
  // it is released again, also after a reload
  await page.reload();
  await until(page, () => document.querySelector("#watermark"));
  await click(page, ".lens [data-lens=overlay]");
  await click(page, `${keep}[aria-pressed=true]`);
  await until(page, (keep) => document.querySelector(keep)?.getAttribute("aria-pressed") === "false", keep);
  await world.end();
});

/// O1: a long tool result is sent as a reference, which says where it was, and is sent whole again when somebody wants that.
test("an offloaded result is brought back", SLOW, async () => {
  const world = await begin({ settings: { window: 8192, policy: "offload-compact", automatic: false, summary_model: "-" } });
  const { page } = world;
  await ready(page);
  const step = (n) => [
    { role: "user", content: `Read table ${n}.` },
    { role: "assistant", content: "", tool_calls: [{ id: `c${n}`, type: "function", function: { name: "read", arguments: "{}" } }] },
    { role: "tool", tool_call_id: `c${n}`, content: Array.from({ length: 90 }, (_, row) => `table ${n} row ${row} weighs ${row * 7 % 31} kg`).join("\n") },
    { role: "assistant", content: `Table ${n} is read.` },
  ];
  await importFile(page, transcript([1, 2, 3, 4].flatMap(step), "Tables"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Tables" && document.querySelector(".thread .msg"));
  // every title that the card has while it works
  await page.evaluate(() => {
    globalThis.titles = new Set();
    new MutationObserver(() => document.querySelectorAll(".card.working h3").forEach((title) => globalThis.titles.add(title.textContent))).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  await click(page, "#compact");
  await until(page, () => [...document.querySelectorAll(".msg header .in")].some((mark) => mark.textContent === "sent as a reference"));
  assert.deepEqual(await page.evaluate(() => [...globalThis.titles]), ["Making room"], "no layer is named where none is written");
  // the card tells what was done, and of no layer
  const card = await text(page, ".card.done");
  assert.match(card, /^[\s\S]*Made room without a layer[\s\S]*Steps[\s\S]*Offload: \d messages, [\d,]+ tokens fewer/);
  assert.doesNotMatch(card, /Covers|Written by|Layer \d/);
  const before = await budget(page);
  const back = "[aria-label^='Send the whole result']";
  await page.waitForSelector(back);
  const count = (await page.$$(back)).length;
  await page.$eval(back, (button) => button.click());
  await until(page, ([back, count]) => document.querySelectorAll(back).length === count - 1, [back, count]);
  const after = await budget(page);
  assert.ok(after.used > before.used + 500, JSON.stringify({ before, after }));
  await page.evaluate(() => (location.hash = "context"));
  await click(page, ".lens [data-lens=sees]");
  await until(page, () => /row 40 weighs/.test(document.querySelector("#s-context .page").textContent));
  await page.evaluate(() => (location.hash = "chat"));
  await say(page, "/undo");
  await say(page, "/undo");
  await until(page, () => document.querySelector(".card h3")?.textContent === "Compaction undone");
  await world.end();
});

/// E4, P10: the policy is edited as a form with what it would do now beside it; a mistake is told at its field and kept
/// nowhere; what is used holds, survives a reload, and does what the preview said; one click goes back to the preset.
for (const engine of ENGINES) test(`the policy is edited with a live preview (${engine})`, SLOW, async () => {
  const world = await begin({ engine, settings: { window: 8192, summary_model: "-", automatic: false } });
  const { page } = world;
  await ready(page);
  await importFile(page, transcript(bakery(9), "Bakery"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Bakery");
  const before = await budget(page);
  const edit = async () => {
    await page.evaluate(() => (location.hash = "settings"));
    await click(page, "[data-tab=compaction]");
    await click(page, "#policy-editor > summary");
  };
  const type = (id, value) => page.$eval(`#${id}`, (field, value) => {
    field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }, value);
  const kept = () => page.evaluate(() => JSON.parse(localStorage.getItem("palimpsest.settings")).policy ?? "balanced");
  const preview = (pattern) => until(page, (pattern) => new RegExp(pattern).test(document.querySelector("#policy-tried p")?.textContent), pattern);
  const now = () => page.$$eval("#policy-tried p", (all) => all.map((p) => p.textContent));
  await edit();
  await preview("^Compacts at");
  const [usual] = await now();
  const [trigger, limit] = numbers(usual);
  assert.equal(await page.$eval("#policy-at", (f) => f.value), "90");
  assert.ok(await page.$eval("#policy-count", (f) => f.disabled), "no number beside a share");

  await type("policy-at", "often");
  await until(page, () => document.querySelector("#policy-at-wrong").textContent === "A whole number from 1 to 100.");
  assert.equal(await page.$eval("#policy-at", (f) => f.getAttribute("aria-invalid")), "true");
  assert.deepEqual(await now(), [], "no preview of what cannot be");
  await click(page, "#policy-use");
  assert.equal(await kept(), "balanced");

  await type("policy-at", "40");
  await preview("^Compacts at");
  for (const width of [800, 1000, 1440]) {
    await page.setViewport({ width, height: 900 });
    assert.deepEqual(await touching(page), [], `words under the bar at ${width}`);
  }
  const [sizes, plan] = await now();
  assert.ok(numbers(sizes)[0] < trigger * 0.7, `${usual} ${sizes}`);
  assert.equal(numbers(sizes)[1], limit);
  await type("policy-keep", "messages");
  await until(page, () => document.querySelector("#policy-count-wrong").textContent === "A whole number above 0.");
  await type("policy-count", "2");
  await page.select("#policy-cover", "all");
  await until(page, (plan) => { const all = document.querySelectorAll("#policy-tried p"); return all.length === 3 && all[1].textContent !== plan; }, plan);
  const [, most] = await now();
  const [used, after, messages, first, last] = numbers(most);
  assert.equal(used, before.used);
  assert.ok(after < used && messages > 8 && first === 1, most);
  assert.deepEqual(await budget(page), before, "nothing has changed");
  await click(page, "#policy-use");
  await until(page, () => JSON.parse(localStorage.getItem("palimpsest.settings")).policy.includes("0.4"));
  assert.ok((await kept()).length < 400, await kept());
  assert.equal(await page.$("[name=policy]:checked"), null, "it is none of the presets");

  await page.reload();
  await ready(page);
  await page.evaluate(() => (location.hash = "chat"));
  // the server may answer before the session is open
  await page.waitForSelector(".thread .msg");
  await click(page, "#compact");
  await page.waitForSelector(".card.done .facts");
  assert.match(await text(page, ".card.done .facts"), new RegExp(`messages ${first}–${last}: ${messages} of them`));
  await edit();
  assert.deepEqual(await page.$$eval("#policy-at, #policy-count", (all) => all.map((f) => f.value)), ["40", "2"]);
  // what is shown in advance moves the button as it comes
  await preview("^Compacts at");
  await click(page, "#policy-reset");
  await until(page, () => document.querySelector("[name=policy][value=balanced]").checked && document.querySelector("#policy-at").value === "90");
  assert.equal(await kept(), "balanced");
  await world.end();
});

/// E4, W4, T2, O5: every other field of the policy is in the form too: a mistake is told in words at its field, what differs
/// from the preset is listed, one field goes back by itself, and what is used is kept as what differs.
test("the whole policy is in the form, and says what differs from its preset", SLOW, async () => {
  const world = await begin({ settings: { window: 8192, summary_model: "-", automatic: false } });
  const { page } = world;
  await ready(page);
  await importFile(page, transcript(bakery(9), "Bakery"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Bakery");
  await page.evaluate(() => (location.hash = "settings"));
  await click(page, "[data-tab=compaction]");
  await click(page, "#policy-editor > summary");
  await until(page, () => document.querySelector("#policy-differs p")?.textContent === "Same as “Balanced”.");
  for (const summary of await page.$$("#policy-editor .more-fields > summary")) await summary.click();
  assert.equal((await page.$$("#policy-editor .more-fields[open]")).length, 6);
  const type = (id, value) => page.$eval(`#${id}`, (field, value) => {
    field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }, value);
  const differs = (expected) => until(page, (expected) => JSON.stringify([...document.querySelectorAll("#policy-differs li")].map((li) => li.textContent)) === expected, JSON.stringify(expected));

  assert.ok(await page.$eval("#policy-weak", (field) => field.disabled), "a number of what is not chosen");
  await page.select("#policy-escalate", "weak");
  await until(page, () => !document.querySelector("#policy-weak").disabled);
  await type("policy-weak", "lots");
  await until(page, () => document.querySelector("#policy-weak-wrong").textContent === "A whole number from 0 to 1,000,000.");
  await type("policy-weak", "900");
  await type("policy-weak-share", "10");
  const rules = await page.$eval("#policy-out-rules", (field) => field.value);
  assert.match(rules, /→ search\n[\s\S]*\* → content$/);
  await type("policy-out-rules", `psql* rows>9 → shorten\n${rules}`);
  await until(page, () => document.querySelector("#policy-out-rules-wrong").textContent === "Line 1: “shorten” is not a known rule.");
  assert.equal(await page.$eval("#policy-out-rules", (f) => f.getAttribute("aria-invalid")), "true");
  await click(page, "#policy-use");
  const kept = () => page.evaluate(() => JSON.parse(localStorage.getItem("palimpsest.settings")).policy ?? "balanced");
  assert.equal(await kept(), "balanced", "nothing wrong is kept");
  await type("policy-out-rules", `psql* rows>9 → rows\n${rules}`);
  await page.select("#policy-headings", "short");
  await click(page, "#policy-mark-tasks");
  await differs([
    "Continue after the first steps: until the target is reached → if they freed fewer tokens than this",
    "Tokens freed: none → 900",
    "At most this share of the window, %: none → 10",
    "Headings in a summary: by how detailed it is → the short form",
    "Set a watermark where a new task begins: off → on",
    "Rules, the first that fits: tools, what it looks like, lines>N, rows>N → method: 9 → 10",
  ]);
  // one field goes back by itself
  await click(page, "[data-back=policy-headings]");
  await until(page, () => document.querySelector("#policy-headings").value === "level" && document.activeElement.id === "policy-headings");
  await until(page, () => document.querySelectorAll("#policy-differs li").length === 5 && !document.querySelector("[data-back=policy-headings]"));
  await click(page, "#policy-use");
  await until(page, () => JSON.parse(localStorage.getItem("palimpsest.settings")).policy?.includes("psql"));
  const policy = JSON.parse(await kept());
  assert.deepEqual(Object.keys(policy).sort(), ["base", "escalate", "marks", "tool_output"]);
  assert.deepEqual(policy.escalate, { when: "weak", tokens: 900, window_percent: 10 });
  assert.deepEqual(policy.tool_output.rules[0], { tools: "psql*", content: null, aboveLines: 0, aboveRows: 9, method: "rows" });
  assert.equal(policy.marks.atTasks, true);
  await world.end();
});

/// A model has parameters, a window and a summariser of its own: they go with it and with no other; a mistake is told at
/// its field and kept nowhere.
test("what goes with one model is sent with it alone", SLOW, async () => {
  const world = await begin({ settings: { window: 8192, temperature: 1 }, script: { replies: ["One.", "Two.", "Three."] } });
  const { page } = world;
  await ready(page);
  const own = await text(page, "#model");
  await page.evaluate(() => (location.hash = "settings"));
  await click(page, "[data-tab=model]");
  await click(page, "#model-editor > summary");
  const type = (id, value) => page.$eval(`#${id}`, (field, value) => {
    field.value = value;
    field.dispatchEvent(new Event("change", { bubbles: true }));
  }, value);
  const kept = () => page.evaluate(() => JSON.parse(localStorage.getItem("palimpsest.settings")).models ?? {});
  await type("own-share", "1.5");
  await until(page, () => document.querySelector("#own-share-wrong").textContent === "A number above 0, at most 1." && document.querySelector("#own-share").getAttribute("aria-invalid") === "true");
  assert.deepEqual(await kept(), {});
  await type("own-share", "0,9");
  await type("own-temperature", "0.4");
  await type("own-seed", "7");
  await type("own-penalty", "3");
  await until(page, () => document.querySelector("#own-penalty-wrong").textContent === "A number above 0, at most 2.");
  await type("own-penalty", "1,1");
  await type("own-least", "0.05");
  await type("own-most", "64");
  await type("own-stop", "END\nYou:");
  await page.select("#own-stay", "7200");
  await type("own-window", "16k");
  await until(page, () => document.querySelector("#window")?.value === "16384");
  assert.deepEqual(Object.values(await kept()), [{ window: 16384, temperature: 0.4, top_p: 0.9, min_p: 0.05, repeat_penalty: 1.1, seed: 7, most_tokens: 64, stop: ["END", "You:"], keep_alive: 7200 }]);
  assert.equal(await page.evaluate(() => JSON.parse(localStorage.getItem("palimpsest.settings")).window), 8192, "others keep theirs");
  await page.evaluate(() => (location.hash = "chat"));
  await say(page, "One");
  await messages(page, 2);
  const sent = world.chats().at(-1);
  assert.equal(own, sent.model);
  assert.deepEqual([sent.options.temperature, sent.options.top_p, sent.options.seed, sent.options.num_ctx, sent.keep_alive], [0.4, 0.9, 7, 16384, 7200]);

  assert.deepEqual([sent.options.min_p, sent.options.repeat_penalty, sent.options.num_predict, sent.options.stop], [0.05, 1.1, 64, ["END", "You:"]]);

  await say(page, "/model");
  await page.waitForSelector("dialog[open]");
  const names = await page.$$eval("dialog [data-model]", (all) => all.map((e) => e.dataset.model));
  const second = names.find((name) => name !== own);
  await click(page, `dialog [data-model='${second}']`);
  await until(page, (name) => document.querySelector("#model").textContent === name && document.querySelector("#window").value === "8192", second);
  await say(page, "Two");
  await messages(page, 4);
  const plain = world.chats().at(-1);
  assert.deepEqual([plain.options.min_p, plain.options.repeat_penalty, plain.options.stop, plain.options.num_predict > 64], [undefined, undefined, undefined, true]);
  assert.deepEqual([plain.model, plain.options.temperature, plain.options.top_p, plain.options.num_ctx, plain.keep_alive], [second, 1, undefined, 8192, 1800]);

  // the last reply is written again by the first model; the other one stays on its branch
  await page.hover(".msg:last-of-type");
  await click(page, "#again-with");
  await click(page, `dialog[open] [data-model='${own}']`);
  await until(page, () => document.querySelector(".flip > span")?.textContent === "2 / 2" && !document.querySelector(".replying"));
  assert.equal(world.chats().at(-1).model, own);
  assert.equal(await text(page, "#model"), own);
  await world.end();
});

/// B5: whether a model thinks first, and how much, goes with it where the server says that it can; an answer that may think
/// has twice the room. Nothing is asked of a model that cannot.
test("a model that thinks is told how much, and has twice the room for an answer", SLOW, async () => {
  const world = await begin({ settings: { window: 8192 }, script: { replies: ["One.", "Two.", "Three.", "Four.", "Five."] } });
  const { page } = world;
  await ready(page);
  const room = (limit) => until(page, (limit) => document.querySelector("#s-chat .budget .sum").textContent.includes(`of ${limit} tokens`), limit);
  const parameters = async () => {
    await page.evaluate(() => (location.hash = "settings"));
    await click(page, "[data-tab=model]");
    await page.waitForSelector("#model-editor #own-stay");
  };
  let said = 0;
  const asked = async (words) => {
    await page.evaluate(() => (location.hash = "chat"));
    await say(page, words);
    await messages(page, (said += 2));
    return world.chats().at(-1);
  };
  await room("7,004");
  await parameters();
  assert.equal(await page.$("#own-think"), null, "llama3.2 cannot think");
  await page.evaluate(() => (location.hash = "chat"));
  await say(page, "/model");
  await click(page, "dialog [data-model='qwen3:4b']");
  await room("5,980");
  assert.ok(!("think" in (await asked("One"))), "model’s default");
  for (const [choice, sent, limit] of [["high", "high", "5,980"], ["off", false, "7,004"], ["on", true, "5,980"]]) {
    await parameters();
    await page.$eval("#model-editor", (editor) => (editor.open = true));
    await page.select("#own-think", choice);
    await room(limit);
    assert.equal((await asked(choice)).think, sent);
  }
  assert.equal(await page.evaluate(() => JSON.parse(localStorage.getItem("palimpsest.settings")).models["qwen3:4b"].think), "on");
  // what is kept for a model that has lost its gift is not sent
  await page.evaluate(() => {
    const settings = JSON.parse(localStorage.getItem("palimpsest.settings"));
    settings.models["llama3.2:3b"] = { think: "high" };
    localStorage.setItem("palimpsest.settings", JSON.stringify(settings));
  });
  await page.reload();
  await ready(page);
  await page.evaluate(() => (location.hash = "chat"));
  await say(page, "/model");
  await click(page, "dialog [data-model='llama3.2:3b']");
  await room("7,004");
  assert.ok(!("think" in (await asked("Last"))));
  await world.end();
});

/// W4, E3, E4: a profile is settings under a name: the session and new ones take them over, another model gets its policy,
/// a change of the profile reaches the session, mistakes are told at their fields, and removing it changes no session.
test("a profile is made, used, changed and removed", SLOW, async () => {
  const world = await begin({ settings: { window: 8192, summary_model: "-" }, script: { replies: ["One.", "Two.", "Three."] } });
  const { page } = world;
  await ready(page);
  const model = async () => {
    await page.evaluate(() => (location.hash = "settings"));
    await click(page, "[data-tab=compaction]");
    await page.waitForSelector("#profiles");
    await page.$eval("#profiles", (details) => (details.open = true));
  };
  const put = (id, value) => page.$eval(`#${id}`, (field, value) => (field.value = value), value);
  const policy = (name) => until(page, (name) => document.querySelector("[name=policy]:checked")?.value === name, name);
  const used = (name) => until(page, (name) => document.querySelector("#profile-of")?.value === name, name);
  await model();
  await put("profile-rules", "qwen3* → shorten");
  await click(page, "#profile-save");
  await until(page, () => document.querySelector("#profile-name-wrong").textContent === "Required." && document.activeElement.id === "profile-name");
  await put("profile-name", "Rust work");
  await click(page, "#profile-save");
  await until(page, () => document.querySelector("#profile-rules-wrong").textContent === "Line 1: “shorten” is not a known rule." && document.querySelector("#profile-rules").getAttribute("aria-invalid") === "true");
  assert.deepEqual(await page.$$eval("#profile-of option", (all) => all.map((o) => o.value)), [""]);
  await put("profile-rules", "qwen3* → watermark");
  await page.select("#profile-policy", "checkpoints");
  await click(page, "#profile-tools");
  await click(page, "#profile-save");
  await used("Rust work");
  await policy("checkpoints");
  await page.evaluate(() => (location.hash = "chat"));
  await say(page, "Go");
  await messages(page, 2);
  const tools = () => (world.chats().at(-1).tools ?? []).map((tool) => tool.function.name);
  assert.ok(tools().includes("recall"), tools().join());

  // another model has its own policy; a model without tools is not offered any
  await say(page, "/model");
  await click(page, "dialog [data-model='qwen3:4b']");
  await model();
  await policy("watermark");
  await page.evaluate(() => (location.hash = "chat"));
  await say(page, "/model");
  await click(page, "dialog [data-model='smollm2:135m']");
  await model();
  await policy("checkpoints");
  await page.evaluate(() => (location.hash = "chat"));
  await say(page, "Go on");
  await messages(page, 4);
  assert.deepEqual(tools(), []);

  // a new session begins with it, and a change reaches it; both after a reload
  await click(page, ".side .new");
  await until(page, () => document.querySelectorAll("[data-session]").length === 2);
  await model();
  await used("Rust work");
  await policy("checkpoints");
  await page.select("#profile-policy", "balanced");
  await put("profile-keep", "4");
  await click(page, "#profile-save");
  await policy("balanced");
  await page.reload();
  await ready(page);
  await model();
  await used("Rust work");
  assert.deepEqual(await page.$$eval("#profile-keep, #profile-rules", (all) => all.map((f) => f.value)), ["4", "qwen3* → watermark"]);
  assert.ok(await page.$eval("#profile-tools", (box) => box.checked));

  await click(page, "#profile-remove");
  await used("");
  assert.deepEqual(await page.$$eval("#profile-of option", (all) => all.map((o) => o.value)), [""]);
  await policy("balanced");
  assert.equal(await page.evaluate(() => JSON.parse(localStorage.getItem("palimpsest.settings")).profile), "");
  await world.end();
});

/// B4, B5, E3: what is kept for the answer and where compaction starts are set for the session and hold in its bar, its
/// requests and new sessions, whose beginning is shown; a mistake is told at its field; the doctor loads the model with the
/// window that is asked for.
test("the answer's room and the trigger are set, and shown is what a new session would begin with", SLOW, async () => {
  const world = await begin({ settings: { window: 8192, summary_model: "-" }, script: { replies: ["One.", "Two.", "Three.", "Four."] } });
  const { page } = world;
  await ready(page);
  for (const [n, words] of ["One", "Two", "Three"].entries()) {
    await say(page, `${words}: ${"what does the oven say about rye and wheat? ".repeat(12)}`);
    await messages(page, 2 * (n + 1));
  }
  const settings = async (tab) => {
    await page.evaluate(() => (location.hash = "settings"));
    await click(page, `[data-tab=${tab}]`);
  };
  const put = (id, value) => page.$eval(`#${id}`, (field, value) => {
    field.value = value;
    field.dispatchEvent(new Event("change", { bubbles: true }));
  }, value);
  const shows = (id, value) => until(page, (id, value) => document.querySelector(`#${id}`)?.value === value, id, value);
  /** Window, answer's room and trigger of the bar in the settings. */
  const fresh = () => page.$eval("#fresh .bar", (bar) => [bar.style.getPropertyValue("--w"), bar.querySelector(".s-reserve").style.getPropertyValue("--t"), bar.querySelector(".trig").style.getPropertyValue("--at")].map(Number));
  await settings("model");
  await shows("reserve", "1,024");
  await shows("compact-at", "90 %");
  await until(page, () => /room for about \d+ turns of your usual length/.test(document.querySelector("#fresh .fresh").textContent));
  const [window, room, trigger] = await fresh();
  assert.deepEqual([window, room], [8192, 1024]);
  await put("reserve", "12");
  await until(page, () => document.querySelector("#reserve-wrong").textContent === "Enter a number of tokens, at least 16, or leave it empty.");
  await put("reserve", "2.048");
  await shows("reserve", "2,048");
  await until(page, () => document.querySelector("#fresh .s-reserve").style.getPropertyValue("--t") === "2048");
  await put("compact-at", "60");
  await shows("compact-at", "60 %");
  await until(page, (before) => Number(document.querySelector("#fresh .trig").style.getPropertyValue("--at")) < before * 0.7, trigger);
  await until(page, () => JSON.parse(localStorage.getItem("palimpsest.settings")).reserve === 2048);
  await page.evaluate(() => (location.hash = "chat"));
  await until(page, () => [...document.querySelectorAll("#s-chat .budget tr")].some((row) => row.cells[0].textContent === "Reserved for the reply" || row.cells[1].textContent === "2,048"));
  await say(page, "And four?");
  await messages(page, 8);
  assert.equal(world.chats().at(-1).options.num_predict, 2048);
  await page.$eval(".side .new", (button) => button.click());
  await until(page, () => document.querySelectorAll(".thread .msg").length === 0);
  await settings("model");
  await shows("reserve", "2,048");
  await put("reserve", "");
  await shows("reserve", "1,024");

  // the window that is loaded is the one that is asked for, once the model was asked
  await settings("connection");
  await click(page, "#try-model");
  await until(page, () => [...document.querySelectorAll(".checks .ok b")].some((b) => b.textContent === "The model answers."));
  await until(page, () => /window of 8,192 tokens/.test(document.querySelector(".checks").textContent));
  assert.equal(world.chats().at(-1).options.num_predict, 1);
  await world.end();
});

/// A second server is examined beside the one in use and taken into use with its models; the one before stays in the list.
test("a second server is added, examined and used", SLOW, async (t) => {
  const other = await startFake({ models: defaultModels().filter((model) => model.name === "qwen3:4b"), replies: ["From the other."] });
  t.after(() => other.close());
  const world = await begin({ script: { replies: ["From the first."] } });
  const { page } = world;
  await ready(page);
  await page.evaluate(() => (location.hash = "settings"));
  await click(page, "#add-server");
  await page.waitForSelector("#address-0");
  assert.equal(await page.$("#use-0"), null, "there is nothing to use yet");
  await page.type("#address-0", other.url.replace("http://", ""));
  await click(page, "#test-0");
  await until(page, (url) => document.querySelector("#address-0").value === url && document.querySelector("[aria-labelledby=h-server-0] .chip.okc"), other.url);
  assert.ok(other.requests.some((r) => r.path === "/api/tags"));
  await click(page, "#use-0");
  await until(page, (url) => document.querySelector("#address").value === url, other.url);
  await until(page, (url) => document.querySelector("#address-0").value === url, world.fake.url);
  await ready(page);
  await page.evaluate(() => (location.hash = "chat"));
  await say(page, "/model");
  await page.waitForSelector("dialog [data-model]");
  assert.deepEqual(await page.$$eval("dialog .models:not(.elsewhere *) [data-model]", (all) => all.map((e) => e.dataset.model)), ["qwen3:4b"]);
  await click(page, "dialog [data-model='qwen3:4b']");
  await until(page, () => document.querySelector("#model").textContent === "qwen3:4b");
  await say(page, "Who answers?");
  await until(page, () => document.querySelector(".thread").textContent.includes("From the other."));
  await page.evaluate(() => (location.hash = "settings"));
  await click(page, "#drop-0");
  await until(page, () => !document.querySelector("#address-0"));
  await world.end({ tolerate: [new RegExp(`^request: ${other.url}/`)] });
});

/// E3: settings and profiles leave as a file without keys and come back in another browser; a profile that is made in one tab
/// is there in the other.
test("settings and profiles go to a file and to another tab", SLOW, async () => {
  const world = await begin({ settings: { key: "secret-key", window: 16384 } });
  const { page } = world;
  await ready(page);
  const settings = async (page, tab) => {
    await page.evaluate(() => (location.hash = "settings"));
    await click(page, `[data-tab=${tab}]`);
  };
  const second = await world.browser.newPage();
  watch(second, world.problems, [world.site.url, world.fake.url]);
  await second.goto(world.site.url);
  await ready(second);
  await settings(second, "compaction");
  await page.bringToFront();
  await settings(page, "compaction");
  await page.$eval("#profiles", (details) => (details.open = true));
  await page.$eval("#profile-name", (field) => (field.value = "Rye"));
  await page.$eval("#profile-at", (field) => (field.value = "65"));
  await page.$eval("#tool-search", (field) => (field.value = "find_words"));
  await page.select("#profile-recall", "false");
  await click(page, "#profile-save");
  await until(page, () => document.querySelector("#profile-of")?.value === "Rye");
  await until(second, () => [...document.querySelectorAll("#profile-of option")].some((o) => o.value === "Rye"));
  await settings(page, "appearance");
  await page.bringToFront();
  await click(page, "[name=theme][value=dark]");
  await until(second, () => document.documentElement.dataset.theme === "dark");
  await second.close();

  const saved = await world.downloads();
  await settings(page, "data");
  await click(page, "#save-settings");
  const file = await saved("palimpsest-settings.json");
  const written = JSON.parse(fs.readFileSync(file, "utf8"));
  assert.ok(!JSON.stringify(written).includes("secret-key"));
  assert.deepEqual(Object.keys(written.profiles), ["Rye"]);

  await settings(page, "compaction");
  await page.$eval("#profiles", (details) => (details.open = true));
  await click(page, "#profile-remove");
  await until(page, () => document.querySelectorAll("#profile-of option").length === 1);
  await settings(page, "appearance");
  await click(page, "[name=theme][value=light]");
  await settings(page, "data");
  await click(page, "#read-file");
  const input = await page.waitForSelector("dialog #file");
  await input.uploadFile(file);
  await until(page, () => document.documentElement.dataset.theme === "dark");
  const kept = await page.evaluate(() => JSON.parse(localStorage.getItem("palimpsest.settings")));
  assert.deepEqual([kept.key, kept.window, kept.theme], ["secret-key", 16384, "dark"]);
  await settings(page, "compaction");
  await page.$eval("#profiles", (details) => (details.open = true));
  await page.select("#profile-of", "Rye");
  await until(page, () => document.querySelector("#profile-at")?.value === "65");
  assert.deepEqual(await page.$$eval("#tool-search, #profile-recall", (all) => all.map((f) => f.value)), ["false", "find_words"]);
  await world.end();
});
