// Talking: saying it again, branches, files, the queue, commands.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import { ENGINES, begin, cleanUp, importFile, say, transcript } from "./harness.mjs";
import { bakery, click, messages, ready, text, until } from "./acts.mjs";

const SLOW = { timeout: 180_000 };
test.afterEach(cleanUp);

/// Regenerate and edit keep what was said on branches of their own, across a reload.
for (const engine of ENGINES) test(`a reply is written again, a question is changed, and every branch stays one click away (${engine})`, SLOW, async () => {
  const world = await begin({ engine, script: { replies: ["First answer.", "Second answer.", "About Rome."] } });
  const { page } = world;
  const thread = () => text(page, ".thread");
  await ready(page);
  await say(page, "Which city?");
  await messages(page, 2);
  await page.hover(".msg:last-of-type");
  await click(page, "#again");
  await until(page, () => document.querySelector(".thread").textContent.includes("Second answer."));
  await messages(page, 2);
  assert.equal(await text(page, ".flip > span"), "2 / 2");
  assert.ok(!(await thread()).includes("First answer."));
  await click(page, ".flip button:first-child");
  await until(page, () => document.querySelector(".thread").textContent.includes("First answer."));
  assert.equal(await text(page, ".flip > span"), "1 / 2");

  await page.hover(".msg.you");
  await click(page, ".msg.you [aria-label^='Edit and send again']");
  await page.waitForSelector("dialog[open] #edit-text");
  await page.$eval("#edit-text", (field) => (field.value = "Tell me about Rome."));
  await click(page, "dialog [type=submit]");
  await until(page, () => document.querySelector(".thread").textContent.includes("About Rome."));
  await messages(page, 2);
  const last = world.chats().at(-1).messages.filter((m) => m.role !== "system");
  assert.deepEqual(last.map((m) => m.content), ["Tell me about Rome."]);
  await page.reload();
  await until(page, () => document.querySelector(".thread").textContent.includes("About Rome."));
  await click(page, ".msg.you .flip button:first-child");
  await until(page, () => document.querySelector(".thread").textContent.includes("Which city?"));
  await world.end();
});

/// A text file is a part of its own; bytes that are no text are refused.
test("text files go with a message, other files do not", SLOW, async () => {
  const world = await begin({ script: { replies: ["Read.", "Here.", "Read, too."] } });
  const { page } = world;
  await ready(page);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-attach-"));
  const file = (name, content) => (fs.writeFileSync(path.join(folder, name), content), path.join(folder, name));
  await (await page.$("#attach")).uploadFile(file("notes.bin", Buffer.from([0x89, 0x50, 0, 0xff, 0xfe])));
  await page.waitForSelector(".toast.bad");
  assert.match(await text(page, ".toast.bad"), /notes\.bin.*neither text nor an image/);
  await (await page.$("#attach")).uploadFile(file("notes.txt", "alpha\nKEEP-9182\nomega\n"));
  await page.waitForSelector(".attached li");
  assert.match(await text(page, ".attached li"), /notes\.txt3 lines/);
  await say(page, "What is in it?");
  await messages(page, 2);
  assert.equal(await page.$(".attached"), null);
  assert.match(JSON.stringify(world.chats().at(-1).messages), /KEEP-9182/);
  assert.match(await text(page, ".msg.you .tool summary"), /notes\.txt/);

  // a file that waits in one session is not sent from another, and waits there still
  await (await page.$("#attach")).uploadFile(file("waits.txt", "KEEP-4471\n"));
  await page.waitForSelector(".attached li");
  await click(page, ".side .new");
  await until(page, () => document.querySelector(".start") && !document.querySelector(".attached"));
  await say(page, "Without a file");
  await messages(page, 2);
  assert.doesNotMatch(JSON.stringify(world.chats().at(-1).messages), /KEEP-4471/);
  await click(page, ".side .lists li:nth-of-type(2) a");
  await until(page, () => document.querySelector(".attached")?.textContent.includes("waits.txt"));
  await say(page, "And in that?");
  await messages(page, 4);
  assert.match(JSON.stringify(world.chats().at(-1).messages), /KEEP-4471/);

  // what no window holds is refused, and nothing of it is lost
  await (await page.$("#attach")).uploadFile(file("long.txt", "every word of it counts\n".repeat(9_000)));
  await page.waitForSelector(".attached li");
  await say(page, "And in this one?");
  await until(page, () => document.querySelector("#msg").value === "And in this one?" && document.querySelector(".attached")?.textContent.includes("long.txt"));
  await until(page, () => Number(document.querySelector(".under .num").textContent.replace(/\D/g, "")) > 8_192);
  assert.equal(world.chats().length, 3);
  await world.end();
});

/// What is said while a reply comes in waits for it, can be taken back, and is sent after it.
test("a message said during a reply waits its turn", SLOW, async () => {
  const slow = { content: Array.from({ length: 40 }, (_, i) => `word${i} `), delay_ms: 50 };
  const world = await begin({ script: { replies: [slow, "Second reply.", slow] } });
  const { page } = world;
  await ready(page);
  await say(page, "Slowly please");
  await until(page, () => /word2 /.test(document.querySelector(".replying .prose")?.textContent ?? ""));
  await say(page, "And then this");
  await page.waitForSelector(".queued");
  assert.equal(world.chats().length, 1);
  await messages(page, 4);
  assert.equal(world.chats().length, 2);
  assert.match(await text(page, ".thread"), /word39[\s\S]*And then this[\s\S]*Second reply\./);
  await say(page, "Slowly again");
  await until(page, () => document.querySelector(".replying"));
  await say(page, "Not this");
  await click(page, ".queued .link");
  assert.equal(await page.$eval("#msg", (field) => field.value), "Not this");
  await messages(page, 6);
  assert.equal(world.chats().length, 3);
  await world.end();
});

/// Commands are offered while they are typed, and the sheet lists them with the keys.
test("commands are offered, the sheet of keys opens, the keyboard goes from message to message", SLOW, async () => {
  const world = await begin({ script: { replies: ["Yes."] } });
  const { page } = world;
  await ready(page);
  await say(page, "Is it?");
  await messages(page, 2);
  await page.focus("#msg");
  await page.keyboard.type("/co");
  await page.waitForSelector(".offered");
  assert.deepEqual(await page.$$eval(".offered code", (all) => all.map((c) => c.textContent)), ["/compact [focus]", "/context"]);
  await page.keyboard.press("Backspace");
  await page.keyboard.press("Backspace");
  await page.keyboard.press("Backspace");
  await until(page, () => !document.querySelector(".offered"));
  // an empty field: the arrow up takes the last message up again
  await page.keyboard.press("ArrowUp");
  await page.waitForSelector("dialog[open] #edit-text");
  assert.equal(await page.$eval("#edit-text", (f) => f.value), "Is it?");
  await page.keyboard.press("Escape");
  await until(page, () => !document.querySelector("dialog"));
  await page.focus(".thread");
  await page.keyboard.down("Alt");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.up("Alt");
  assert.equal(await page.evaluate(() => document.activeElement.dataset.seq), "1");
  await page.keyboard.press("?");
  await page.waitForSelector("dialog[open] .keymap");
  assert.match(await text(page, "dialog"), /\/lift n[\s\S]*Shift Esc/);
  await page.keyboard.press("Escape");
  await world.end();
});

/** Everything in the page that can be clicked, typed into or chosen, as it is now. */
const hold = (page) => page.evaluate(() => {
  globalThis.held = [...document.querySelectorAll(".side :is(a, button, input), .head :is(a, button, select), .composer :is(button, input, textarea), .notes button")];
  return globalThis.held.length;
});

/** Those that are not in the page any more: each should be the element it was. */
const lost = (page) => page.evaluate(() => globalThis.held.filter((e) => !e.isConnected).map((e) => `${e.tagName} ${e.id} ${e.getAttribute("aria-label") ?? e.textContent}`));

/** Puts the focus on an element; `stays` says whether that very element still has it. */
const stand = (page, selector) => page.$eval(selector, (e) => { e.focus(); globalThis.stood = e; });
const stays = (page) => page.evaluate(() => globalThis.stood.isConnected && document.activeElement === globalThis.stood);

/// Whatever goes on (a reply, counting, a compaction), the controls stay the elements they are, and who stands in one with
/// the keyboard stays there.
test("the focus stays while a reply streams and a compaction runs", SLOW, async () => {
  const slow = { content: Array.from({ length: 60 }, (_, i) => `word${i} `), delay_ms: 25 };
  const world = await begin({ settings: { window: 8192 }, script: { replies: [slow], delay_ms: 15 } });
  const { page } = world;
  await ready(page);
  await importFile(page, transcript([{ role: "user", content: "Which bread?" }, { role: "assistant", content: "Rye." }], "Rye"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Rye");
  await importFile(page, transcript(bakery(9), "Bakery"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Bakery");
  await say(page, "/goal Bake a loaf");
  await say(page, "/pin Answer in grams");
  await until(page, () => document.querySelectorAll(".notes .marks li").length === 1 && document.querySelector(".notes .goal"));
  await click(page, "#edit-goal");
  await page.waitForSelector("dialog[open] #goal-line");
  await page.type("#goal-line", "Feed the starter");
  await click(page, "#add-goal-line");
  await until(page, () => document.querySelector("dialog .marks li"));
  await page.keyboard.press("Escape");
  await until(page, () => !document.querySelector("dialog") && document.querySelectorAll(".notes .marks li").length === 2);
  assert.ok((await hold(page)) > 20);

  // a reply, with the focus in the notes
  await page.$eval("#msg", (field) => (field.value = "Go on"));
  await stand(page, "#send");
  await page.keyboard.press("Enter");
  await until(page, () => /word5 /.test(document.querySelector(".replying .prose")?.textContent ?? ""));
  assert.ok(await stays(page), "what sent the message has the focus, and now stops the reply");
  assert.equal(await page.evaluate(() => document.activeElement.id), "stop");
  await stand(page, ".notes [aria-label='Remove: Answer in grams']");
  await until(page, () => /word40 /.test(document.querySelector(".replying .prose")?.textContent ?? ""));
  assert.ok(await stays(page), "the focus in the notes");
  await messages(page, 20);
  assert.ok(await stays(page), "the focus in the notes after the reply");
  assert.deepEqual(await lost(page), []);

  // a compaction with a model, with the focus on what cancels it, then in the composer, then in the notes
  await stand(page, "#compact");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".card.working .btn");
  assert.ok(await stays(page));
  const step = () => text(page, ".card.working .now");
  await stand(page, ".card.working .btn");
  const first = await step();
  await until(page, (first) => document.querySelector(".card.working .now")?.textContent !== first, first);
  assert.ok(await stays(page), "the focus on what cancels the run");
  await stand(page, "#attach");
  await page.waitForSelector(".card.done", { timeout: 60_000 });
  assert.ok(await stays(page), "the focus in the composer");
  assert.deepEqual(await lost(page), []);
  await world.end();
});

/// After the first reply the model is asked once for a title, in the background; the person's next message goes first, a
/// name that a person gave is never touched, and where the answer is no title the first words stay.
test("the model names a session after the first exchange", SLOW, async () => {
  const asks = (request) => request.messages.at(-1).content.startsWith("Give the conversation");
  const title = { content: ["**“Rye", " bread", " at home.”**"], delay_ms: 400 };
  let answer = title;
  const world = await begin({ settings: { titles: true }, script: { replies: (request) => (asks(request) ? answer : "Rye keeps longest.") } });
  const { page } = world;
  const name = () => text(page, "#h-chat");
  const named = (title) => until(page, (title) => document.querySelector("#h-chat").textContent === title && [...document.querySelectorAll("[data-session] span")].some((s) => s.textContent === title), title);
  const titles = () => world.chats().filter(asks);
  await ready(page);
  await say(page, "Which bread keeps longest?");
  await messages(page, 2);
  assert.equal(await name(), "Which bread keeps longest?", "the first words until then");
  for (let tries = 0; titles().length === 0 && tries < 100; tries += 1) await new Promise((done) => setTimeout(done, 20));
  // the person speaks meanwhile: the title gives way, and is asked for after that reply
  await say(page, "And wheat?");
  await messages(page, 4);
  await named("Rye bread at home");
  assert.equal(titles().length, 2);
  const request = titles().at(-1);
  assert.deepEqual([request.messages.length, request.options.num_ctx, request.think ?? false], [1, 8192, false]);
  assert.match(request.messages[0].content, /Which bread keeps longest\?[\s\S]*Rye keeps longest\./);
  assert.ok(!request.messages[0].content.includes("And wheat?"), "the first exchange alone");
  await say(page, "And oats?");
  await messages(page, 6);
  await page.reload();
  await named("Rye bread at home");
  assert.equal(titles().length, 2, "one title is enough");

  // renamed while the model thinks about it
  await click(page, ".side .new");
  await until(page, () => document.querySelectorAll("[data-session]").length === 2);
  await say(page, "Another question");
  await messages(page, 2);
  for (let tries = 0; titles().length === 2 && tries < 100; tries += 1) await new Promise((done) => setTimeout(done, 20));
  await say(page, "/title My own words");
  await named("My own words");
  await new Promise((done) => setTimeout(done, 2000));
  assert.equal(await name(), "My own words");

  // no title in the answer: the first words stay; and without the switch nobody is asked
  answer = "Certainly! I would be happy to help you with finding a good title for this very conversation.";
  await click(page, ".side .new");
  await until(page, () => document.querySelectorAll("[data-session]").length === 3);
  await say(page, "Third question");
  await messages(page, 2);
  for (let tries = 0; titles().length === 3 && tries < 100; tries += 1) await new Promise((done) => setTimeout(done, 20));
  await say(page, "Still the third");
  await messages(page, 4);
  assert.equal(await name(), "Third question");
  await page.evaluate(() => (location.hash = "settings"));
  await click(page, "[data-tab=model]");
  await click(page, "#titles");
  await click(page, ".side .new");
  await until(page, () => document.querySelectorAll("[data-session]").length === 4);
  const asked = titles().length;
  await say(page, "Fourth question");
  await messages(page, 2);
  await new Promise((done) => setTimeout(done, 500));
  assert.equal(titles().length, asked);
  assert.equal(await name(), "Fourth question");
  await world.end();
});

/// Code is coloured where a block is complete and seen; what it says, and what is copied, stays what it was.
test("code blocks are coloured, and stay their text", SLOW, async () => {
  const rust = "fn main() {\n    // say it\n    println!(\"{}\", 42);\n}";
  const answer = `Here:\n\n\`\`\`rust\n${rust}\n\`\`\`\n\nAnd this:\n\n\`\`\`klingon\nfn 42\n\`\`\`\n\nThen one more:\n\n\`\`\`html\n<img src=x onerror=\"alert(1)\">\n\`\`\`\n`;
  const world = await begin({ script: { replies: [{ content: answer.match(/[\s\S]{1,6}/g), delay_ms: 30 }] } });
  const { page } = world;
  await ready(page);
  await say(page, "Show me code");
  // complete blocks are coloured while the reply goes on, the one that is being written is not
  await until(page, () => document.querySelector(".replying .tk"));
  assert.equal(await text(page, ".replying code"), rust);
  await messages(page, 2);
  await until(page, () => document.querySelectorAll(".msg:not(.replying) .tk").length === 2);
  const coloured = await page.$$eval(".msg:not(.you) code", (all) => all.map((code) => [code.textContent, [...code.children].map((s) => `${s.className}:${s.textContent}`)]));
  assert.deepEqual(coloured, [
    [rust, ["tk:fn", "tf:main", "tc:// say it", "ts:\"{}\"", "td:42"]],
    ["fn 42", []],
    ["<img src=x onerror=\"alert(1)\">", ["tk:img", "ts:\"alert(1)\""]],
  ]);
  assert.equal(await page.$$eval(".prose img", (all) => all.length), 0);
  await world.end();
});

/** A message goes out of the conversation with one click: the model does not read it any more, it stays on its branch, and one click brings it back. */
for (const engine of ENGINES) test(`a message is removed and comes back (${engine})`, SLOW, async () => {
  const world = await begin({ engine, script: { replies: ["Noted.", "Blue it is.", "Green, then.", "Fine."] } });
  const { page } = world;
  await ready(page);
  await say(page, "My colour is red");
  await messages(page, 2);
  await say(page, "And blue");
  await messages(page, 4);
  const shown = () => page.$$eval(".thread .msg .prose", (all) => all.map((one) => one.textContent.trim()));
  await click(page, "[aria-label='Remove message: 2']");
  await messages(page, 3);
  assert.deepEqual(await shown(), ["My colour is red", "And blue", "Blue it is."]);
  await click(page, "[aria-label='Remove message: 1']");
  await messages(page, 2);
  await say(page, "And green");
  await messages(page, 4);
  const sent = world.chats().at(-1).messages.map((message) => message.content);
  assert.deepEqual(sent, ["And blue", "Blue it is.", "And green"]);

  // the note brings it back; after a reload its branch is one click away
  await page.$$eval("[aria-label^='Remove message']", (all) => all.at(-1).click());
  await messages(page, 3);
  await page.$$eval(".toast", (all) => all.at(-1).querySelector("button").click());
  await messages(page, 4);
  assert.deepEqual(await shown(), ["And blue", "Blue it is.", "And green", "Green, then."]);
  await page.reload();
  await messages(page, 4);
  await click(page, ".flip button:first-child");
  await until(page, () => document.querySelector(".thread .prose").textContent.includes("red"));
  await world.end();
});

/** Formulas are set, wherever they stand; prices are none, what cannot be read stays as it is, and what is copied is what was said. The code for it comes with the first formula. */
for (const engine of ENGINES) test(`formulas are set (${engine})`, SLOW, async () => {
  const reply = "The area is \\(A = \\pi r^2\\), and $a_1$ costs $5 and $10.\n\n$$\\sum_{i=1}^{n} i = \\frac{n(n+1)}{2}$$\n\n- \\[\\begin{aligned} a &= b \\\\ &= c \\end{aligned}\\]\n- `$x^2$` and \\(\\nosuchthing{x}\\)";
  // as deep as a formula may be, and deeper: neither stops the page
  const deep = `Deep: \\(${"\\sqrt".repeat(150)}x\\), deeper: \\(${"{".repeat(60)}x${"}".repeat(60)}\\), and \\(y\\).`;
  const world = await begin({ engine, script: { replies: ["No formula.", reply, deep] } });
  const { page } = world;
  await ready(page);
  const parts = () => page.evaluate(() => performance.getEntriesByType("resource").filter((entry) => /formulas/.test(entry.name)).length);
  await say(page, "Hello");
  await messages(page, 2);
  assert.equal(await parts(), 0);
  await say(page, "Which formulas?");
  await messages(page, 4);
  await until(page, () => document.querySelectorAll(".thread .formula math").length === 4);
  const seen = await page.evaluate(() => {
    const prose = [...document.querySelectorAll(".thread .prose")].at(-1);
    const math = [...prose.querySelectorAll("math")];
    return {
      names: math.every((one) => one.namespaceURI === "http://www.w3.org/1998/Math/MathML"),
      display: math.map((one) => one.getAttribute("display")),
      titles: [...prose.querySelectorAll(".formula")].map((one) => one.title),
      first: prose.querySelector("p").textContent.replace(/\s+/g, " "),
      code: prose.querySelector("code").textContent,
      left: prose.querySelectorAll("[data-formula]").length,
      unread: prose.textContent.includes("\\(\\nosuchthing{x}\\)"),
      styles: prose.querySelectorAll("[style]").length,
      wide: document.documentElement.scrollWidth <= innerWidth,
    };
  });
  assert.equal(await parts(), 1);
  assert.deepEqual(seen.display, ["inline", "inline", "block", "block"]);
  assert.match(seen.first, /costs \$5 and \$10\.$/);
  assert.equal(seen.titles[0], "A = \\pi r^2");
  assert.deepEqual({ names: seen.names, code: seen.code, left: seen.left, unread: seen.unread, styles: seen.styles, wide: seen.wide }, { names: true, code: "$x^2$", left: 0, unread: true, styles: 0, wide: true });
  // the same after a reload, and the model reads what was said
  await page.reload();
  await messages(page, 4);
  await until(page, () => document.querySelectorAll(".thread .formula math").length === 4);
  assert.equal(world.chats().length, 2);
  await say(page, "Again");
  await messages(page, 6);
  assert.equal(world.chats().at(-1).messages.at(-2).content, reply);
  await until(page, () => document.querySelectorAll(".thread .formula math").length === 5);
  assert.ok((await text(page, ".thread .msg:last-child")).includes("Deep: \\(\\sqrt\\sqrt"));
  await world.end();
});

/** A system prompt is kept under a name, and used in another session: what the page knows is filled in, and it asks for the rest. */
test("system prompts are kept and used", SLOW, async () => {
  const world = await begin({ script: { replies: ["Yes."] } });
  const { page } = world;
  await ready(page);
  const open = async () => {
    await click(page, "#edit-system");
    await page.waitForSelector("dialog[open] #system");
    await click(page, "dialog .more-fields summary");
  };
  const typed = (id, words) => page.$eval(id, (field, words) => (field.value = words), words);
  await open();
  assert.match(await text(page, "dialog .more-fields"), /None is kept yet/);
  await typed("#system", "You are {{role}} on {{date}}. Answer in {{language}}. Code like {{ return 1; }} stays.");
  await typed("#prompt-name", "Expert");
  await click(page, "#prompt-keep");
  await page.waitForSelector("#prompt");
  await page.keyboard.press("Escape");
  await until(page, () => !document.querySelector("dialog[open]"));
  await page.reload();
  await ready(page);
  await open();
  assert.equal(await page.$eval("#system", (field) => field.value), "", "nothing was saved with the session");
  await page.select("#prompt", "Expert");
  await page.waitForSelector("#gap-0");
  assert.equal(await page.$$eval("[id^=gap-]", (all) => all.length), 1);
  await typed("#gap-0", "a baker");
  await click(page, "#prompt-put");
  const today = await page.evaluate(() => { const now = new Date(); return `${now.getFullYear()}-${String(now.getMonth() + 1).padStart(2, "0")}-${String(now.getDate()).padStart(2, "0")}`; });
  const whole = `You are a baker on ${today}. Answer in English. Code like {{ return 1; }} stays.`;
  assert.equal(await page.$eval("#system", (field) => field.value), whole);
  await click(page, "dialog [type=submit]");
  await until(page, () => !document.querySelector("dialog[open]"));
  await say(page, "Hello");
  await messages(page, 2);
  assert.equal(world.chats()[0].messages[0].content, whole);
  await open();
  await page.select("#prompt", "Expert");
  await click(page, "#prompt-forget");
  await until(page, () => document.querySelector("dialog .more-fields").textContent.includes("None is kept yet"));
  await world.end();
});
