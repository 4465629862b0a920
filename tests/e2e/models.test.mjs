// The models of an Ollama server: a person downloads one from the page and removes it again.

import assert from "node:assert/strict";
import fs from "node:fs";
import test from "node:test";
import { click, messages, ready, text, until } from "./acts.mjs";
import { startFake } from "../ollama/fake.mjs";
import { defaultModels } from "../ollama/fake/models.mjs";
import { ENGINES, begin, cleanUp, say } from "./harness.mjs";

const SLOW = { timeout: 180_000 };
test.afterEach(cleanUp);

const type = (page, name) => page.$eval("#pull", (field, name) => (field.value = name), name);
const listed = (page) => page.$$eval("#models li > span", (all) => all.map((one) => one.textContent.split(" · ")[0]));

/** From a server without a model to a conversation, without a terminal; a download that is stopped goes on where it was. */
for (const engine of ENGINES) test(`a model is downloaded, used and removed (${engine})`, SLOW, async () => {
  const script = { models: [], library: { "gemma3:1b": 800_000_000 }, delay_ms: 150, replies: [{ content: "Hello from the new model.", delay_ms: 0 }] };
  const world = await begin({ engine, script });
  const { page, fake } = world;
  await until(page, () => document.querySelector(".live") && !document.querySelector(".live.okc"));
  await page.evaluate(() => (location.hash = "#settings"));
  await page.waitForSelector("#pull");
  assert.deepEqual(await listed(page), []);

  // a name that the library does not know: a sentence, and nothing else happens
  await type(page, "gemma3:1bb");
  await click(page, "#pull-now");
  await until(page, () => document.querySelector("#models [role=alert]")?.textContent.includes("no model called “gemma3:1bb”"));

  await type(page, " gemma3:1b ");
  await click(page, "#pull-now");
  await until(page, () => Number(document.querySelector("#models [role=progressbar]")?.getAttribute("aria-valuenow")) >= 10);
  await until(page, () => /Downloading gemma3:1b: \d+ MB of 800 MB/.test(document.querySelector("#models").textContent));
  await click(page, "#pull-stop");
  await until(page, () => !document.querySelector("#models [role=progressbar]"));
  assert.deepEqual(await listed(page), []);
  await click(page, "#pull-now");
  await until(page, () => Number(document.querySelector("#models [role=progressbar]")?.getAttribute("aria-valuenow")) >= 10);
  await until(page, () => document.querySelector("#models li")?.textContent.includes("gemma3:1b · 1.0B · Q4_K_M"));
  const pulls = fake.requests.filter((request) => request.method === "POST" && request.path === "/api/pull").map((request) => JSON.parse(request.body).model);
  assert.deepEqual(pulls, ["gemma3:1bb", "gemma3:1b", "gemma3:1b"]);

  await click(page, "[data-session]");
  await ready(page);
  await say(page, "Hello");
  await messages(page, 2);
  assert.equal(world.chats()[0].model, "gemma3:1b");

  await page.evaluate(() => (location.hash = "#settings"));
  await click(page, "#models li .link");
  await page.waitForSelector("dialog[open]");
  assert.match(await text(page, "dialog"), /removes gemma3:1b from the server’s disk/);
  await click(page, "dialog .btn:not(.danger)");
  await until(page, () => !document.querySelector("dialog[open]"));
  assert.deepEqual(await listed(page), ["gemma3:1b"]);
  await click(page, "#models li .link");
  await click(page, "#remove-model");
  await until(page, () => document.querySelectorAll("#models li").length === 0);
  assert.deepEqual(JSON.parse(fake.requests.find((request) => request.method === "DELETE").body), { model: "gemma3:1b" });
  await world.end();
});

/** One list for all servers: a model of another one is chosen with one click, also where the one in use does not answer. */
for (const engine of ENGINES) test(`models of all servers stand in one list (${engine})`, SLOW, async () => {
  const beside = await startFake({ models: [defaultModels()[2]].map((model) => ({ ...model, name: "tiny:1b" })), replies: ["From beside.", "Once more."] });
  const dead = "http://127.0.0.1:9";
  const world = await begin({ engine, script: { replies: ["From the first."] }, settings: { places: [{ server: "openai", address: beside.url }, { server: "ollama", address: dead }] }});
  const { page } = world;
  try {
    await until(page, () => document.querySelector(".live.okc"));
    await say(page, "Hello?");
    await messages(page, 2);
    await click(page, "#model");
    await until(page, () => document.querySelectorAll(".elsewhere section").length === 2);
    await until(page, () => document.querySelector(".elsewhere section:nth-child(1) [data-model='tiny:1b']") && document.querySelector(".elsewhere section:nth-child(2)").textContent.includes("It does not answer."));
    assert.equal(await text(page, ".elsewhere section:nth-child(1) h3"), beside.url);
    assert.ok((await page.$$("dialog .models > li")).length === 4);
    await click(page, ".elsewhere [data-model='tiny:1b']");
    await until(page, () => document.querySelector("#model").textContent === "tiny:1b" && document.querySelector(".live.okc"));
    await say(page, "And you?");
    await messages(page, 4);
    const asked = beside.requests.filter(({ method, path }) => method === "POST" && path === "/v1/chat/completions");
    assert.equal(JSON.parse(asked.at(-1).body).model, "tiny:1b");

    // the session notes who runs its model
    const saved = await world.downloads();
    await page.evaluate(() => (location.hash = "context"));
    await click(page, "#save-as");
    await page.waitForSelector("dialog[open] .forms");
    await page.evaluate(() => [...document.querySelectorAll("dialog .forms button")].find((one) => one.textContent === "Session JSON").click());
    assert.equal(JSON.parse(fs.readFileSync(await saved(".session.json"), "utf8")).provider, "openai");
    await page.evaluate(() => (location.hash = "chat"));

    // back, from a server that went away
    await beside.close();
    await page.reload();
    await until(page, () => document.querySelector(".live") && !document.querySelector(".live.okc"));
    await click(page, "#model");
    await click(page, ".elsewhere [data-model='qwen3:4b']");
    await until(page, () => document.querySelector("#model").textContent === "qwen3:4b" && document.querySelector(".live.okc"));
    await say(page, "Still there?");
    await messages(page, 6);
    assert.equal(world.chats().at(-1).model, "qwen3:4b");
  } finally {
    await beside.close();
  }
  await world.end({ tolerate: [/^request: http:\/\/127\.0\.0\.1:/, /Failed to load resource|CORS|Cross-Origin/] });
});
