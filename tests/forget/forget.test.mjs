// "What did it forget?" as a visitor goes through it, in Chromium and Firefox.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { launch } from "../packaging/browser.mjs";
import { root } from "../packaging/consumer.mjs";
import { choose, complete, figures, rows, start, visit } from "./page.mjs";

const expected = JSON.parse(fs.readFileSync(path.join(root, "tests/forget/figures.json"), "utf8"));

let server;
const browsers = {};
let files;
before(async () => {
  server = await start();
  for (const name of ["chrome", "firefox"]) browsers[name] = await launch(name);
  files = fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-forget-"));
});
after(async () => {
  for (const { close } of Object.values(browsers)) await close();
  await server?.close();
  fs.rmSync(files, { recursive: true, force: true });
});

/** The numbers in "3 of 17". */
const numbers = (text) => text.match(/\d[\d,]*/g).map((one) => Number(one.replaceAll(",", "")));

/** R2: the page shows of its samples what the bench measures of the same conversations, and nothing goes wrong on the way. */
for (const engine of ["chrome", "firefox"]) {
  for (const sample of ["trip", "coding", "support"]) {
    test(`the sample ${sample} has the figures of the bench, ${engine}`, async () => {
      const { page, problems } = await visit(browsers[engine].browser, `${server.url}/#${sample}`);
      await complete(page);
      for (const window of [4096, 8192]) {
        await choose(page, window);
        assert.equal((await rows(page)).length, 12);
        for (const [row, { facts, rules, stale, loop }] of Object.entries(expected[`${sample}/${window}`])) {
          const got = await figures(page, row);
          const where = `${sample}, ${window}, ${row}`;
          assert.deepEqual(numbers(got["Noted facts that stand"]), facts, where);
          if (rules[1] > 0) assert.deepEqual(numbers(got["Rules word for word"]), rules, where);
          assert.deepEqual(numbers(got["Replaced values left alone"]), stale, where);
          if (loop) {
            const [breaks, requests, reread, sent] = loop;
            assert.deepEqual(numbers(got["Requests read anew"]), [breaks, requests], where);
            assert.deepEqual(numbers(got["Tokens read anew"]), [Math.round((100 * reread) / sent)], where);
          }
          const [tokens, limit] = numbers(got.Tokens);
          // the frame of a whole prompt is a few tokens that no message has
          assert.ok(tokens <= limit + 8, `${where}: ${tokens} of ${limit}`);
        }
      }
      // what is larger than the conversation forgets nothing, under every rule
      await choose(page, 32768);
      for (const { id, forgot } of await rows(page)) if (id !== "prune-messages" && id !== "keep-10") assert.equal(numbers(forgot)[0], 0, id);
      assert.match(await page.$eval("#verdict", (e) => e.textContent), /stands whole|forgot/);
      assert.deepEqual(problems, []);
      await page.close();
    });
  }
}

const turns = Array.from({ length: 90 }, (_, i) => [i % 2 ? "assistant" : "user", i === 0 ? "Never deliver to the neighbour. The order is KF-83920." : `Message ${i}: parcel ${1000 + i} weighs ${i} kg, goes to gate ${i % 9} and was seen at 1${i % 10}:30 by the driver of van ${200 + i}.`]);

/** A conversation in the files of other programs, and how many messages it has there. */
const FORMATS = {
  "openai.json": turns.map(([role, content]) => ({ role, content })),
  "anthropic.json": { messages: turns.map(([role, text]) => ({ role, content: [{ type: "text", text }] })) },
  "ai-sdk.json": turns.map(([role, text], i) => ({ id: `m${i}`, role, parts: [{ type: "text", text }] })),
  "gemini.json": { contents: turns.map(([role, text]) => ({ role: role === "assistant" ? "model" : role, parts: [{ text }] })) },
  "responses.json": turns.map(([role, text]) => ({ type: "message", role, content: [{ type: role === "user" ? "input_text" : "output_text", text }] })),
  "lines.jsonl": turns.map(([role, content]) => JSON.stringify({ role, content })).join("\n"),
  "chatgpt.json": [{
    title: "Parcels",
    current_node: `n${turns.length - 1}`,
    mapping: Object.fromEntries(turns.map(([role, text], i) => [`n${i}`, { id: `n${i}`, parent: i > 0 ? `n${i - 1}` : null, children: i + 1 < turns.length ? [`n${i + 1}`] : [], message: { id: `n${i}`, author: { role }, content: { content_type: "text", parts: [text] }, create_time: 1_700_000_000 + i } }])),
  }],
  "claude.json": [{ uuid: "c", name: "Parcels", chat_messages: turns.map(([role, text], i) => ({ uuid: `m${i}`, sender: role === "user" ? "human" : "assistant", text, content: [{ type: "text", text }], created_at: "2026-01-01T00:00:00Z" })) }],
};

/** R2: a transcript of one's own is read, measured and never sent anywhere. */
for (const engine of ["chrome", "firefox"]) {
  test(`own transcripts of every form, ${engine}`, async () => {
    const { page, problems } = await visit(browsers[engine].browser, `${server.url}/`);
    const asked = [];
    page.on("request", (request) => asked.push([request.method(), request.url()]));
    await complete(page);
    for (const [name, content] of Object.entries(FORMATS)) {
      const file = path.join(files, name);
      fs.writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
      await (await page.$("#file")).uploadFile(file);
      await page.waitForFunction((wanted) => document.getElementById("told").textContent.startsWith(wanted), {}, `${name}: 1 conversation`);
      await page.waitForFunction(() => /^Truncation forgot/.test(document.getElementById("verdict").textContent) && document.querySelectorAll(".row.is-waiting").length === 0, { timeout: 120_000 });
      assert.match(await page.$eval("#said-figures", (e) => e.textContent), /^90 messages/, name);
      const { "Requests read anew": requests } = await figures(page, "balanced");
      assert.equal(numbers(requests)[1], 46, `${name}: a request before each reply and one at the end`);
      // the newest messages alone hold the rule at the beginning no more; ours does
      const [, of, rules, all, ours, lost] = numbers(await page.$eval("#verdict", (e) => e.textContent));
      assert.ok(of > 100 && all >= 1 && rules === all && lost === 0 && ours < of, `${name}: ${await page.$eval("#verdict", (e) => e.textContent)}`);
    }
    for (const [name, text, says] of [["empty.json", "", /empty/], ["prose.txt", "Just words.", /not JSON/], ["none.json", "{}", /no messages/]]) {
      const file = path.join(files, name);
      fs.writeFileSync(file, text);
      await (await page.$("#file")).uploadFile(file);
      await page.waitForFunction((wanted) => document.getElementById("told").textContent.startsWith(wanted) && document.getElementById("told").classList.contains("is-bad"), {}, name);
      assert.match(await page.$eval("#told", (e) => e.textContent), says);
    }
    for (const [method, url] of asked) assert.ok(method === "GET" && (url.startsWith(server.url) || url.startsWith("data:") || url.startsWith("blob:")), `${method} ${url}`);
    assert.deepEqual(problems, []);
    await page.close();
  });
}

/** R2: an address opens a cell; its window, its messages and its layers are shown, a layer is taken off and put back, and the cell is run again. */
test("a cell, as far as one wants to look", async () => {
  const { page, problems } = await visit(browsers.chrome.browser, `${server.url}/#coding/4096/balanced`);
  await page.waitForSelector("#detail:not([hidden]) .layer");
  await complete(page);
  const tokens = async () => numbers(await page.$$eval(".facts div", (pairs) => pairs.find((pair) => pair.querySelector("dt").textContent === "Tokens").querySelector("dd").textContent))[0];
  const press = (text) => page.$$eval("#detail button", (buttons, wanted) => buttons.find((button) => button.textContent === wanted).click(), text);
  const before = await tokens();
  await press("Take this layer off");
  await page.waitForSelector('.layer [aria-pressed="true"]');
  const off = await tokens();
  assert.ok(off > before, `${off} after ${before}`);
  await press("Undo");
  await page.waitForFunction(() => !document.querySelector('.layer [aria-pressed="true"]'));
  assert.equal(await tokens(), before);
  await press("Show the window");
  await page.waitForSelector("dialog[open]");
  const text = await page.$eval("#reader-text", (e) => e.textContent);
  assert.match(text, /<earlier_conversation>/);
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog[open]"));
  await page.$eval(".group .at", (button) => button.click());
  await page.waitForSelector("dialog[open]");
  assert.match(await page.$eval("#reader-title", (e) => e.textContent), /^Message \d+$/);
  await page.keyboard.press("Escape");
  await press("Run this cell again");
  await page.waitForFunction(() => document.querySelectorAll(".row").length === 12);
  assert.equal(await tokens(), before, "the same again");
  assert.deepEqual(problems, []);
  await page.close();
});

/** R2: with the keyboard alone one reaches a sample, a window and a row. */
test("by keyboard", async () => {
  const { page } = await visit(browsers.chrome.browser, `${server.url}/`);
  await complete(page);
  const focused = () => page.evaluate(() => document.activeElement.className + document.activeElement.textContent);
  const reached = [];
  for (let n = 0; n < 40; n += 1) {
    await page.keyboard.press("Tab");
    reached.push(await focused());
    if (/^name/.test(reached.at(-1))) break;
  }
  assert.match(reached[0], /^skip/);
  assert.ok(reached.some((one) => one.startsWith("sample")), reached.join(" | "));
  assert.match(reached.at(-1), /^name/);
  await page.keyboard.press("Enter");
  await page.waitForSelector("#detail:not([hidden])");
  assert.equal(await page.evaluate(() => document.activeElement.id), "detail");
  await page.close();
});

/** R2: the picture to take along holds figures, and none of the words. */
test("the picture without content", async () => {
  const { page, problems } = await visit(browsers.chrome.browser, `${server.url}/#trip`);
  await complete(page);
  const saved = async (id) => page.evaluate(async (button) => {
    const blob = await new Promise((resolve) => {
      const make = URL.createObjectURL;
      const kinds = [];
      URL.createObjectURL = (what) => { kinds.push(what); if (button === "svg" || what.type === "image/png") resolve(what); return make.call(URL, what); };
      HTMLAnchorElement.prototype.click = () => {};
      document.getElementById(button).click();
    });
    return { type: blob.type, size: blob.size, text: blob.type.includes("svg") ? await blob.text() : "" };
  }, id);
  const svg = await saved("svg");
  assert.equal(svg.type, "image/svg+xml");
  const words = [...svg.text.matchAll(/<text [^>]*>([^<]*)</g)].map(([, text]) => text).join(" ");
  assert.match(words, /Truncation forgot \d+ of \d+ facts and \d+ of 5 rules; palimpsest \d+/);
  for (const word of ["Nadia", "Porto", "QX7L2M", "shellfish"]) assert.ok(!svg.text.includes(word), word);
  const png = await saved("png");
  assert.ok(png.type === "image/png" && png.size > 5_000, JSON.stringify(png));
  assert.deepEqual(problems, []);
  await page.close();
});

/** R2: nothing reaches over the edge of a narrow screen, and no rule of accessibility is broken, in either theme. */
test("axe, two widths, two themes", async () => {
  const axe = fs.readFileSync(path.join(root, "tests/node_modules/axe-core/axe.min.js"), "utf8");
  for (const [width, theme] of [[360, "light"], [360, "dark"], [1440, "light"], [1440, "dark"]]) {
    const { page } = await visit(browsers.chrome.browser, `${server.url}/#coding/4096/balanced`, { width, theme });
    await page.waitForSelector("#detail:not([hidden]) .layer");
    await complete(page);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
    // the page's own policy lets no foreign script in; the debugger may
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`), [], `${width} ${theme}`);
    await page.close();
  }
});

/** R2: once it was open, the page opens without its server. */
test("offline", async () => {
  const own = await start();
  const { page } = await visit(browsers.chrome.browser, `${own.url}/`);
  await complete(page);
  await page.evaluate(() => navigator.serviceWorker.ready.then(({ active }) => active.state === "activated" || new Promise((resolve) => { active.onstatechange = resolve; })));
  await own.close();
  await page.goto(`${own.url}/#coding`);
  await page.reload();
  await complete(page);
  assert.match(await page.$eval("#said-figures", (e) => e.textContent), /^161 messages/);
  await page.close();
});

/** R2, F93: a very long chat of SillyTavern is read and compared, and ten times the messages take at most twenty times as long. */
test("a chat of 27,000 messages", async () => {
  const { page, problems } = await visit(browsers.chrome.browser, `${server.url}/`);
  const [paint] = await page.evaluate(() => new Promise((done) => new PerformanceObserver((list) => done(list.getEntriesByName("first-contentful-paint").map(({ startTime }) => startTime))).observe({ type: "paint", buffered: true })));
  console.log(`first picture after ${Math.round(paint)} ms`);
  await complete(page);
  const names = ["Mira", "Tomas", "Ileana", "Rook"];
  const head = { user_name: "Ilka", character_name: "Rook", create_date: "2026-01-05@10h00m00s", chat_metadata: {} };
  const said = (i) => (i % 2
      ? `${names[i % 4]} put the lamp number ${i} on the table and said that the ferry to Port ${i % 97} leaves at ${i % 24}:${10 + (i % 50)}. The rain had not stopped for ${i % 9} days, and nobody spoke of door ${i % 31} any more.`
      : `I look at the door and ask ${names[(i + 1) % 4]} about night ${i}. Turn ${i}.`);
  // every seventh reply was made anew, and the second one stands
  const line = (i) => ({
    name: i % 2 ? "Rook" : "Ilka", is_user: i % 2 === 0, is_system: false, send_date: new Date(1767607200000 + i * 60_000).toISOString(), mes: said(i), extra: {},
    ...(i % 14 === 1 && { swipes: [`The lamp ${i} is out.`, said(i)], swipe_id: 1 }),
  });
  const took = [];
  for (const n of [2_700, 27_000]) {
    const file = path.join(files, `tale-${n}.jsonl`);
    fs.writeFileSync(file, [head, ...Array.from({ length: n }, (_, i) => line(i))].map((one) => JSON.stringify(one)).join("\n"));
    const begun = performance.now();
    await (await page.$("#file")).uploadFile(file);
    await page.waitForFunction((wanted) => document.getElementById("said-figures").textContent.startsWith(wanted) && /^Truncation forgot/.test(document.getElementById("verdict").textContent), { timeout: 240_000 }, `${n.toLocaleString("en")} messages`);
    took.push(performance.now() - begun);
  }
  console.log(`read, cut and compacted: ${took.map((ms) => `${Math.round(ms)} ms`).join(", ")}`);
  assert.ok(took[1] <= 20 * took[0], took.join(", "));
  assert.deepEqual(problems, []);
  await page.close();
});
