// www/react as a stranger builds it: Vite's production build and its development server, in Chromium.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { launch, open, result, serve } from "./browser.mjs";
import { copy, install, remove } from "./consumer.mjs";

let folder;
let chrome;
before(async () => {
  folder = install(["react@19.2.0", "react-dom@19.2.0", "vite@8.3.8"]);
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
  assert.equal(await result(page, /20 said/), "20 said, 20 sent, 0 layers");
  await page.click("button");
  const said = await result(page, /60 said/);
  const [, sent, layers] = said.match(/\d+/g).map(Number);
  assert.ok(sent < 40 && layers >= 1, said);
  assert.deepEqual(problems, []);
}

const vite = () => path.join(folder, "node_modules/.bin/vite");

test("production build", async () => {
  execFileSync(vite(), ["build", "--logLevel", "warn"], { cwd: folder, stdio: "inherit" });
  const assets = fs.readdirSync(path.join(folder, "dist/assets"));
  const modules = assets.filter((name) => name.endsWith(".wasm")).map((name) => name.replace(/_bg.*/, "")).sort();
  assert.ok(modules.includes("palimpsest_wasm") && new Set(modules).size === modules.length, `each module is emitted once: ${assets}`);
  const server = await serve(path.join(folder, "dist"));
  try {
    await check(server.url);
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
