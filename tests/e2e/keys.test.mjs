// Where keys go. Every server here writes down each request with all its headers.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import { begin, cleanUp } from "./harness.mjs";
import { click, ready, until } from "./acts.mjs";
import { startFake } from "../ollama/fake.mjs";

test.afterEach(cleanUp);

const SLOW = { timeout: 300_000 };

/** Servers beside the one of the journey, each of which gets a question before `asked` resolves. */
async function servers(t, n) {
  const all = [];
  for (let i = 0; i < n; i += 1) all.push(await startFake());
  // also after a failure: a server that still listens keeps the program of these tests from ending
  t.after(() => Promise.all(all.map((one) => one.close())));
  return all;
}

/** Waits until somebody has asked for the models of that server. */
async function asked(fake, patience = 60_000) {
  for (const end = Date.now() + patience; Date.now() < end; await new Promise((done) => setTimeout(done, 100))) {
    if (fake.requests.some((r) => r.method === "GET" && /models|tags/.test(r.path))) return;
  }
  throw new Error(`nobody asked ${fake.url}`);
}

/** Waits until no request has come for a second: what was asked before what follows has come in. */
async function quiet(fake) {
  for (let seen = -1; seen !== fake.requests.length;) {
    seen = fake.requests.length;
    await new Promise((done) => setTimeout(done, 1_000));
  }
}

/** Whether a secret is anywhere in what a server was sent: headers, address or body. */
const knows = (fake, secret) => fake.requests.some((r) => JSON.stringify(r).includes(secret));

/** The address field of the server in use. */
async function connect(page, url) {
  await page.$eval("#address", (field, url) => (field.value = url), url);
  await click(page, "#test");
  await until(page, (url) => JSON.parse(localStorage.getItem("palimpsest.settings")).address === url, url);
}

async function typeKey(page, key) {
  await page.waitForSelector("#key");
  await page.$eval("#key", (field, key) => {
    field.value = key;
    field.dispatchEvent(new Event("change", { bubbles: true }));
  }, key);
}

const TOLERATE = { tolerate: [/^request: http:\/\/127\.0\.0\.1:/, /status of 40/] };

/// A key goes to the origin it was given for, and comes back with it: not to an address that is typed over its own, not to
/// one that another tab sets, and to no Ollama, for which no key is shown.
test("a key is sent to its own server only", SLOW, async (t) => {
  const [typed, elsewhere] = await servers(t, 2);
  const world = await begin({ settings: { server: "openai" }, ready: true });
  const { page, fake } = world;
  await page.evaluate(() => {
    const settings = JSON.parse(localStorage.getItem("palimpsest.settings"));
    localStorage.setItem("palimpsest.settings", JSON.stringify({ ...settings, key: "secret-first" }));
  });
  fake.clear();
  await page.reload();
  await ready(page);
  assert.ok(knows(fake, "Bearer secret-first"), "a key that is kept is used");
  await page.evaluate(() => (location.hash = "settings"));
  await until(page, () => document.querySelector("#key")?.value === "secret-first");

  await connect(page, typed.url);
  await asked(typed);
  await until(page, () => document.querySelector("#key").value === "");
  assert.ok(!knows(typed, "secret-first"), "the address was typed over that of the key");
  typed.clear();
  await typeKey(page, "secret-second");
  await click(page, "#test");
  await asked(typed);
  assert.ok(knows(typed, "Bearer secret-second"));

  fake.clear();
  await connect(page, fake.url);
  await asked(fake);
  await until(page, () => document.querySelector("#key").value === "secret-first");
  assert.ok(knows(fake, "Bearer secret-first") && !knows(fake, "secret-second"));

  // one that is taken away does not come back
  const goTo = async (server, key) => {
    await connect(page, server.url);
    await until(page, (key) => document.querySelector("#key").value === key, key);
  };
  await goTo(typed, "secret-second");
  await typeKey(page, "");
  await goTo(fake, "secret-first");
  typed.clear();
  await connect(page, typed.url);
  await asked(typed);
  await until(page, () => document.querySelector("#key").value === "");
  assert.ok(!knows(typed, "secret-"), "the key was taken away");
  await goTo(fake, "secret-first");

  await quiet(fake);
  fake.clear();
  await page.select("#kind", "ollama");
  await asked(fake);
  await until(page, () => !document.querySelector("#key"));
  assert.ok(!knows(fake, "secret-"), "no key is shown for an Ollama, and none is sent");
  fake.clear();
  await page.select("#kind", "llamacpp");
  // what was asked of it as an Ollama may still come in
  for (const end = Date.now() + 60_000; Date.now() < end && !knows(fake, "Bearer secret-first"); await new Promise((done) => setTimeout(done, 100)));
  assert.ok(knows(fake, "Bearer secret-first"), "the same server, where keys are shown");

  // another tab writes another address beside the key
  const other = await world.browser.newPage();
  await other.goto(`${world.site.url}/empty`);
  await other.evaluate((url) => {
    const settings = JSON.parse(localStorage.getItem("palimpsest.settings"));
    localStorage.setItem("palimpsest.settings", JSON.stringify({ ...settings, server: "openai", address: url }));
  }, elsewhere.url);
  await page.bringToFront();
  await until(page, (url) => document.querySelector("#address").value === url, elsewhere.url);
  await click(page, "#test");
  await asked(elsewhere);
  await page.reload();
  await page.waitForSelector("[data-session]");
  await page.waitForSelector("#key");
  assert.equal(await page.$eval("#key", (field) => field.value), "");
  assert.ok(!knows(elsewhere, "secret-"), "another tab has set the address");
  assert.ok(!knows(typed, "secret-first"));
  await world.end(TOLERATE);
});

/// The servers beside the one in use, and a file of settings: each gets its own key or none, and a file leads conversations
/// to another server only if the person agrees.
test("a key goes to no server beside, and a file leads nowhere unasked", SLOW, async (t) => {
  const [beside, typed, named] = await servers(t, 3);
  const places = [{ server: "openai", address: beside.url, key: "secret-beside" }, { server: "openai", address: "https://old.example", key: "secret-old" }];
  const world = await begin({ settings: { server: "openai", places } });
  const { page, fake } = world;
  await ready(page);
  await page.evaluate(() => (location.hash = "settings"));
  await typeKey(page, "secret-first");
  await page.waitForSelector("#address-1");
  await page.$eval("#address-1", (field, url) => (field.value = url), typed.url);
  await click(page, "#test-1");
  await asked(typed);
  assert.ok(!knows(typed, "secret-"), "the address was typed over that of the key");

  await click(page, "#use-0");
  await asked(beside);
  assert.ok(knows(beside, "Bearer secret-beside") && !knows(beside, "secret-first"));
  fake.clear();
  await click(page, "#use-0");
  await asked(fake);
  assert.ok(knows(fake, "Bearer secret-first") && !knows(fake, "secret-beside"), "each with its own");

  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-settings-")), "settings.json");
  fs.writeFileSync(file, JSON.stringify({ palimpsest: 1, settings: { server: "openai", address: named.url, language: "en", theme: "dark", key: "secret-file", key_origin: named.url } }));
  const read = async () => {
    await click(page, "[data-tab=data]");
    await click(page, "#read-file");
    const input = await page.waitForSelector("dialog #file");
    await input.uploadFile(file);
    await page.waitForSelector("dialog[open] #use-server");
    assert.equal(await page.evaluate(() => JSON.parse(localStorage.getItem("palimpsest.settings")).address), fake.url);
  };
  await read();
  assert.ok((await page.$eval("dialog", (dialog) => dialog.textContent)).includes(named.url));
  await until(page, () => document.documentElement.dataset.theme === "dark");
  await page.keyboard.press("Escape");
  await until(page, () => !document.querySelector("dialog[open]"));
  await page.reload();
  await ready(page);
  assert.deepEqual(named.requests, [], "who does not agree stays where they are");

  await page.evaluate(() => (location.hash = "settings"));
  await read();
  await click(page, "#use-server");
  await asked(named);
  await until(page, (url) => JSON.parse(localStorage.getItem("palimpsest.settings")).address === url, named.url);
  assert.ok(!knows(named, "secret-"), "neither a key from here nor one from the file");
  await world.end(TOLERATE);
});
