// Tools: a person adds a server, the model calls its tools, and nothing runs that was not allowed.

import assert from "node:assert/strict";
import http from "node:http";
import test from "node:test";
import { ENGINES, begin, cleanUp, say } from "./harness.mjs";
import { click, messages, ready, text, until } from "./acts.mjs";
import { startTools } from "./toolserver.mjs";

const SLOW = { timeout: 180_000 };
test.afterEach(cleanUp);

const calling = (name, args = {}) => ({ tool_calls: [{ function: { name, arguments: args } }] });

/** Adds a tool server by the settings. */
async function add(page, address, key = "") {
  await page.evaluate(() => (location.hash = "#settings"));
  await click(page, "[data-tab=tools]");
  await page.waitForSelector("#tool-server");
  await page.$eval("#tool-server", (field, address) => { field.value = address; }, address);
  await page.$eval("#tool-key", (field, key) => { field.value = key; }, key);
  await click(page, "#add-tools");
}

/** Problems that are none here: this server is asked, and refuses at times. */
const asked = (...servers) => ({ tolerate: [...servers.map((server) => new RegExp(`^request: ${server.url.replace("/mcp", "/")}`)), /Failed to load resource.*40[14]/] });

const listed = (page) => page.$$eval(".servers li b", (all) => all.map((one) => one.textContent));
const back = (page) => click(page, "[data-session]");
const question = (page, tool) => until(page, (tool) => document.querySelector("#calls [role=group]")?.textContent.includes(tool), tool);
const choose = (page, n) => click(page, `#calls [role=group] .btn:nth-of-type(${n})`);
const [ALLOW, ALWAYS, REFUSE] = [1, 2, 3];

/** 19.7: the model reads what a tool gives; each call is asked about, until its tool is allowed for good. */
for (const engine of ENGINES) test(`a model uses the tools that a person allows (${engine})`, SLOW, async () => {
  const server = await startTools();
  const replies = [
    calling("shelf_find", { title: "Rye" }), "It is on shelf 4711.",
    { ...calling("shelf_find", { title: "Spelt" }), first_delay_ms: 2500 }, "Then I cannot say.",
    calling("shelf_find", { title: "Oats" }), "4711 again.",
    calling("shelf_find", { title: "none" }), "There is none.",
  ];
  const world = await begin({ engine, script: { replies } });
  const { page } = world;
  try {
    await ready(page);
    await add(page, server.url);
    await until(page, () => document.querySelectorAll(".servers li").length === 3);
    assert.deepEqual(await listed(page), ["shelf.find", "list", "wait"]);
    assert.match(await text(page, ".servers summary"), /3 of 3 tools offered, about \d+ tokens/);
    await page.evaluate(() => { document.querySelector(".servers details").open = true; });
    await click(page, "#use-0-2");
    await until(page, () => document.querySelector(".servers summary").textContent.startsWith("2 of 3"));
    assert.ok(await page.$eval(".servers details", (list) => list.open), "the list stays open");

    await back(page);
    await say(page, "Where is Rye?");
    await question(page, "shelf.find");
    assert.match(await text(page, "#calls"), /127\.0\.0\.1.*"title": "Rye"/s);
    assert.deepEqual(server.calls, [], "nothing runs before it is allowed");
    await choose(page, ALLOW);
    await messages(page, 3);
    assert.equal(await page.$("#calls"), null);
    assert.deepEqual(server.calls, [{ tool: "shelf.find", title: "Rye" }]);
    assert.match(await text(page, ".thread"), /shelf_find.*It is on shelf 4711\./s);
    const [first, second] = world.chats();
    assert.ok(!(await text(page, "body")).includes("silently cut"), "a template that leaves tools out is no cut");
    assert.deepEqual(first.tools.map((tool) => tool.function.name), ["shelf_find", "list"]);
    assert.deepEqual(first.tools[0].function.parameters.required, ["title"]);
    assert.match(second.messages.at(-1).content, /“Rye” stands on shelf 4711\./);

    // one that asks while another session is shown waits, and says where
    await say(page, "And Spelt?");
    await click(page, ".new");
    await until(page, () => [...document.querySelectorAll(".toast")].some((one) => /In “.*” the model wants to use the tool shelf\.find/.test(one.textContent)));
    assert.equal(await page.$("#calls [role=group]"), null);
    await click(page, "[data-session]:not([aria-current])");
    await question(page, "shelf.find");
    await choose(page, REFUSE);
    await messages(page, 6);
    assert.equal(server.calls.length, 1, "what was refused does not run");
    assert.match(world.chats().at(-1).messages.at(-1).content, /did not allow/);

    await say(page, "Oats?");
    await question(page, "shelf.find");
    await choose(page, ALWAYS);
    await messages(page, 9);
    // a server that was started anew is greeted again, and the tool that was allowed for good asks no more
    server.forget();
    await say(page, "And none?");
    await messages(page, 12);
    assert.deepEqual(server.calls.map((call) => call.title), ["Rye", "Oats", "none"]);
    assert.equal(world.chats().at(-1).messages.at(-1).content.includes("There is no such book."), true);

    // all of it is stored
    await page.reload();
    await ready(page);
    await messages(page, 12);
    await page.evaluate(() => (location.hash = "#settings"));
    await click(page, "[data-tab=tools]");
    await until(page, () => document.querySelectorAll(".servers li").length === 3);
    assert.deepEqual(await page.$$eval(".servers li input", (all) => all.map((box) => box.checked)), [true, true, true, false, false, false]);
    await world.end(asked(server));
  } finally {
    await server.close();
  }
});

/** A reply that is stopped while its tool works ends, and the server hears of it; one that asks is stopped as well. */
test("a tool that works is stopped with its reply", SLOW, async () => {
  const server = await startTools();
  const replies = [calling("wait"), calling("shelf_find", { title: "Rye" }), "Nothing more."];
  const world = await begin({ script: { replies }, settings: { tool_servers: JSON.stringify([{ address: server.url, allowed: ["wait"] }]) } });
  const { page } = world;
  try {
    await ready(page);
    await say(page, "Wait.");
    await until(page, () => document.querySelector("#calls [role=status]")?.textContent.startsWith("wait runs on"));
    await click(page, "#stop");
    await until(page, () => !document.querySelector("#calls") && !document.querySelector(".replying"));
    for (let tries = 0; !server.calls[0].cancelled; tries += 1) {
      assert.ok(tries < 50, "the server was told");
      await new Promise((done) => setTimeout(done, 100));
    }
    await say(page, "Where is Rye?");
    await question(page, "shelf.find");
    await click(page, "#stop");
    await until(page, () => !document.querySelector("#calls") && !document.querySelector(".replying"));
    assert.equal(server.calls.length, 1);
    await say(page, "And now?");
    await until(page, () => document.querySelector(".thread").textContent.includes("Nothing more."));
    await world.end(asked(server));
  } finally {
    await server.close();
  }
});

/** A result larger than the window is made smaller as any other, and can be read whole. */
test("a long result of a tool fits the window", SLOW, async () => {
  const server = await startTools();
  const world = await begin({ script: { replies: [calling("list"), "Many books."] }, settings: { window: 4096, tool_servers: JSON.stringify([{ address: server.url, allowed: ["list"] }]) } });
  const { page } = world;
  try {
    await ready(page);
    await say(page, "Which books are there?");
    await until(page, () => document.querySelector(".thread").textContent.includes("Many books."));
    const sent = world.chats().at(-1);
    assert.ok(JSON.stringify(sent.messages).length < 4096 * 5, "it fits");
    await until(page, () => document.querySelector(".thread").textContent.includes("Book 1999 stands on shelf 59."));
    await world.end(asked(server));
  } finally {
    await server.close();
  }
});

/** G9, O1: a model may look up what was said, in the open session and in new ones, as long as a person wants it. */
test("a model looks up what was said", SLOW, async () => {
  const replies = ["Noted.", calling("search_history", { query: "Spelt" }), calling("recall", { message: 1 }), "In the cellar.", "In a new session.", "Without."];
  const world = await begin({ script: { replies } });
  const { page } = world;
  const own = async () => {
    await page.evaluate(() => (location.hash = "#settings"));
    await click(page, "[data-tab=tools]");
    await click(page, "#own-tools");
    await back(page);
  };
  await ready(page);
  await say(page, "The Spelt lies in the cellar.");
  await messages(page, 2);
  assert.equal(world.chats()[0].tools, undefined);
  await own();
  await say(page, "Where was it?");
  await messages(page, 6);
  const [found, recalled] = world.chats().slice(-2);
  assert.ok(found.tools.some((tool) => tool.function.name === "recall"));
  for (const sent of [found, recalled]) assert.match(sent.messages.at(-1).content, /The Spelt lies in the cellar\./);
  assert.match(await text(page, ".thread"), /search_history.*In the cellar\./s);
  await click(page, ".new");
  await until(page, () => !document.querySelector(".thread .msg"));
  await say(page, "Hello?");
  await messages(page, 2);
  assert.ok(world.chats().at(-1).tools.length > 0);
  await own();
  await say(page, "And now?");
  await messages(page, 4);
  assert.equal(world.chats().at(-1).tools, undefined);
  await world.end();
});

/** Tools that would leave no room for the conversation are left out, and the person is told. */
test("tools that fill the window are left out", SLOW, async () => {
  const server = await startTools({ more: 40 });
  const world = await begin({ script: { replies: ["Hello."] }, settings: { window: 2048, tool_servers: JSON.stringify([{ address: server.url }]) } });
  const { page } = world;
  try {
    await ready(page);
    await say(page, "Hello?");
    await messages(page, 2);
    await until(page, () => /The tools would take [\d,]+ of 2,048 tokens/.test(document.body.textContent));
    assert.equal(world.chats()[0].tools, undefined);
    await world.end(asked(server));
  } finally {
    await server.close();
  }
});

/** A page that goes while it looks for tools keeps what was typed; a second message waits for the first. */
test("what is said while tools are looked for is not lost", SLOW, async () => {
  const silent = http.createServer(() => {});
  await new Promise((done) => { silent.listen(0, "127.0.0.1", done); });
  const url = `http://127.0.0.1:${silent.address().port}/mcp`;
  const world = await begin({ script: { replies: ["First.", "Second."] }, settings: { tool_servers: JSON.stringify([{ address: url }]) } });
  const { page } = world;
  try {
    await ready(page);
    await say(page, "A question of many words");
    await page.waitForSelector(".replying");
    await page.reload();
    await ready(page);
    assert.equal(await page.$eval("#msg", (field) => field.value), "A question of many words");
    assert.equal(await page.$(".thread .msg"), null);
    await click(page, "#send");
    await page.waitForSelector(".replying");
    await say(page, "Another one");
    await messages(page, 4);
    assert.deepEqual(world.chats().map((chat) => chat.messages.filter((m) => m.role === "user").at(-1).content), ["A question of many words", "Another one"]);
    await page.reload();
    await ready(page);
    assert.equal(await page.$eval("#msg", (field) => field.value), "");
    await world.end(asked({ url }));
  } finally {
    silent.close();
    silent.closeAllConnections();
  }
});

/** The looking for tools is stopped like a reply: the message is stored, and no model is asked. */
test("a reply is stopped while tools are looked for", SLOW, async () => {
  const silent = http.createServer(() => {});
  await new Promise((done) => { silent.listen(0, "127.0.0.1", done); });
  const url = `http://127.0.0.1:${silent.address().port}/mcp`;
  const world = await begin({ script: { replies: ["Here I am."] }, settings: { tool_servers: JSON.stringify([{ address: url }]) } });
  const { page } = world;
  try {
    await ready(page);
    await say(page, "A question of many words");
    await page.waitForSelector(".replying");
    await click(page, "#stop");
    await until(page, () => !document.querySelector(".replying") && document.querySelectorAll(".thread .msg").length === 1);
    assert.deepEqual(world.chats(), []);
    assert.equal(await page.$eval("#msg", (field) => field.value), "", "it stands in the thread");
    await page.reload();
    await ready(page);
    await until(page, () => document.querySelector(".thread .msg").textContent.includes("A question of many words"));
    await world.end(asked({ url }));
  } finally {
    silent.close();
    silent.closeAllConnections();
  }
});

/** Faults of a tool server are told where it is added, and a message goes without its tools. */
test("a tool server that cannot be used is told of", SLOW, async () => {
  const [locked, closed] = [await startTools({ key: "sesame" }), await startTools({ open: false })];
  const world = await begin({ script: { replies: ["Hello.", "Again."] } });
  const { page } = world;
  const told = (words) => until(page, (words) => [...document.querySelectorAll(".settings .badc")].some((one) => one.textContent.includes(words)), words);
  try {
    await ready(page);
    await add(page, "localhost:3001");
    await told("is not an address like");
    await add(page, locked.url.replace("/mcp", "/other"));
    await told("speaks MCP over HTTP");
    await add(page, locked.url);
    await told("wants another key");
    await add(page, locked.url, "sesame");
    await until(page, () => document.querySelectorAll(".servers li").length === 3);
    // another key for a server that is known takes nothing of what was chosen away
    await page.$eval(".servers details", (list) => { list.open = true; });
    await click(page, ".servers details li input");
    await until(page, () => document.querySelector(".servers details summary").textContent.startsWith("2 of 3"));
    await add(page, locked.url, " sesame ");
    await until(page, () => document.querySelector(".servers details summary")?.textContent.startsWith("2 of 3"));
    await add(page, closed.url);
    await told("allow requests from this page");
    // a page that begins anew asks them with the first message
    await page.reload();
    await back(page);
    await ready(page);
    await say(page, "Hello?");
    await messages(page, 2);
    assert.equal(world.chats()[0].tools.length, 2, "the tools of the one that works");
    await until(page, () => document.body.textContent.includes("are left out: "));
    await page.evaluate(() => (location.hash = "#settings"));
    // the key stays here
    assert.match(await page.evaluate(() => localStorage.getItem("palimpsest.settings")), /sesame/);
    const problems = asked(locked, closed);
    await world.end({ tolerate: [...problems.tolerate, /CORS policy|net::ERR_FAILED/] });
  } finally {
    await locked.close();
    await closed.close();
  }
});
