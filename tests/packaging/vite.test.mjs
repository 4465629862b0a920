// www/react as a stranger builds it: Vite's production build and its development server, in Chromium.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { defaultModels, startFake } from "../ollama/fake.mjs";
import { launch, open, POLICY, result, serve } from "./browser.mjs";
import { copy, install, remove } from "./consumer.mjs";

let folder;
let chrome;
before(async () => {
  folder = install(["react@19.2.0", "react-dom@19.2.0", "vite@8.3.8"], ["ui"]);
  const manifest = fs.readFileSync(path.join(folder, "package.json"));
  copy("www/react", folder);
  fs.writeFileSync(path.join(folder, "package.json"), manifest);
  chrome = await launch();
});
after(async () => {
  await chrome?.close();
  remove(folder);
});

async function check(url) {
  const { page, problems } = await open(chrome.browser, url);
  // StrictMode opens the session twice in development: the second waits until the first one is closed
  assert.equal(await result(page, /20 said/), "20 said, 0 layers, fits");
  await page.click("button");
  assert.match(await result(page, /60 said, [1-9]\d* layers?/), /^60 said, [1-9]\d* layers, fits$/);
  // a reply is seen while it comes in, and stands in the list afterwards
  await page.type("input", "Which platform?");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#streaming", { timeout: 20_000 });
  await page.waitForFunction(() => document.querySelector("#streaming") === null && /assistant: Of \d+ messages I have read the last one\./.test(document.querySelector("ol").textContent), { timeout: 20_000 });
  assert.match(await result(page, /62 said/), /fits$/);
  assert.deepEqual(problems, []);
}

const vite = () => path.join(folder, "node_modules/.bin/vite");

test("production build", async () => {
  execFileSync(vite(), ["build", "--logLevel", "warn"], { cwd: folder, stdio: "inherit" });
  const assets = fs.readdirSync(path.join(folder, "dist/assets"));
  const modules = assets.filter((name) => name.endsWith(".wasm")).map((name) => name.replace(/(_bg)?-.{8}\.wasm$/, "")).sort();
  assert.deepEqual(modules.filter((name) => name.startsWith("palimpsest")), ["palimpsest_npm"], `the module is emitted once: ${assets}`);
  assert.ok(modules.includes("session") && new Set(modules).size === modules.length, `each part is emitted once: ${assets}`);
  const server = await serve(path.join(folder, "dist"));
  try {
    await check(server.url);
  } finally {
    await server.close();
  }
});

/** B8: the mounted app is built along with its styles, its module and the worker that reads vocabularies, without anything to set. */
test("the chat app in a build", async () => {
  const place = path.join(folder, "mounted");
  fs.mkdirSync(place);
  fs.writeFileSync(path.join(place, "index.html"), '<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>T</title><p id="result"></p><div id="chat"></div><script type="module" src="./main.js"></script></html>');
  fs.writeFileSync(path.join(place, "main.js"), `
    import { mount } from "palimpsest-ui";
    const address = new URLSearchParams(location.search).get("server");
    const settings = new Map([["palimpsest.settings", JSON.stringify({ address, language: "en" })]]);
    const store = { getItem: (name) => settings.get(name) ?? null, setItem: (name, text) => void settings.set(name, text), removeItem: (name) => void settings.delete(name) };
    const { engine } = await mount(document.getElementById("chat"), { settings: store });
    document.getElementById("result").textContent = engine.info.messages + " messages, " + engine.budget().window + " tokens";
  `);
  execFileSync(vite(), ["build", "--logLevel", "error"], { cwd: place, stdio: "inherit" });
  const fake = await startFake({ models: defaultModels().map((one) => ({ ...one, tokenizer: "bytes" })), counts: "bytes" });
  const server = await serve(path.join(place, "dist"), { policy: POLICY.replace("connect-src 'self'", `connect-src 'self' ${fake.url}`) });
  try {
    const { page, problems } = await open(chrome.browser, "about:blank");
    let workers = 0;
    page.on("workercreated", () => { workers += 1; });
    await page.goto(`${server.url}/?server=${encodeURIComponent(fake.url)}`);
    assert.equal(await result(page, /messages/), "0 messages, 8192 tokens");
    const shown = () => fake.requests.filter((r) => r.method === "POST" && r.path === "/api/show" && JSON.parse(r.body).verbose === true).length;
    for (let n = 0; n < 200 && shown() === 0; n += 1) await new Promise((resolve) => { setTimeout(resolve, 50); });
    assert.deepEqual([shown(), workers, problems], [1, 1, []]);
  } finally {
    await server.close();
    await fake.close();
  }
});

/** A build takes the worker of `palimpsest/async` along, too: the list is compacted in it. */
test("compacting in a worker of the build", async () => {
  const place = path.join(folder, "async");
  fs.mkdirSync(place);
  fs.writeFileSync(path.join(place, "index.html"), '<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>T</title><p id="result"></p><script type="module" src="./main.js"></script></html>');
  fs.writeFileSync(path.join(place, "main.js"), `
    import { compact, init } from "palimpsest";
    import { compactAsync } from "palimpsest/async";
    await init();
    const list = Array.from({ length: 300 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: "Parcel " + (1000 + i) + " goes to gate " + (i % 9) + "." }));
    const there = await compactAsync(list, { window: 1024 });
    document.getElementById("result").textContent = JSON.stringify(there) === JSON.stringify(compact(list, { window: 1024 })) ? "the same" : "another";
  `);
  execFileSync(vite(), ["build", "--logLevel", "error"], { cwd: place, stdio: "inherit" });
  const server = await serve(path.join(place, "dist"));
  try {
    const { page, problems } = await open(chrome.browser, "about:blank");
    let workers = 0;
    page.on("workercreated", () => { workers += 1; });
    await page.goto(server.url);
    assert.equal(await result(page, /same|another/), "the same");
    assert.deepEqual([workers, problems], [1, []]);
  } finally {
    await server.close();
  }
});

test("development server", async () => {
  const server = spawn(vite(), ["--host", "127.0.0.1", "--port", "0", "--clearScreen", "false"], { cwd: folder, stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, NO_COLOR: "1" } });
  try {
    const url = await new Promise((resolve, reject) => {
      let text = "";
      server.stdout.on("data", (chunk) => {
        text += chunk;
        const found = text.match(/http:\/\/127\.0\.0\.1:\d+\//);
        if (found) resolve(found[0]);
      });
      server.on("exit", () => reject(new Error(text)));
    });
    await check(url);
  } finally {
    server.kill();
  }
});
