// One real browser, the built app from dist/app behind the policy it is shipped with, and a fake Ollama.
//
//   import { begin } from "./harness.mjs";
//   const world = await begin({ script });        // world.page, world.fake, world.problems, world.end()
//
// `problems` collects everything that must not happen: console errors, exceptions, policy violations,
// requests to other origins. A journey ends with `world.end()`, which asserts that there were none.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import puppeteer from "puppeteer-core";
import { startFake } from "../ollama/fake.mjs";
import { click } from "./acts.mjs";

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");

/** The built app. */
export const app = process.env.PALIMPSEST_APP ?? path.join(root, "dist/app");

/** Real transcripts, where they are at hand. */
export const data = path.resolve(root, "../shared/data");
/** Small transcripts of our own, always there. */
export const ours = path.resolve(root, "tests/fixtures");

const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".svg": "image/svg+xml", ".json": "application/json" };

/** The policy as `cargo xtask serve` sends it: that of the page, and what a page cannot say itself. */
export const policy = (folder = app) => `${fs.readFileSync(path.join(folder, "index.html"), "utf8").match(/Content-Security-Policy" content="([^"]*)"/)[1]}; frame-ancestors 'self'`;

/**
 * Serves the app on a free port of this machine. `site.folder` may be exchanged for another build, and `site.delay` is how
 * long each file takes, in milliseconds. `plain`: as any static host does it, without a header of ours.
 */
export async function serve({ folder = app, plain = false, asServed = false } = {}) {
  if (asServed) return servedByXtask();
  const site = { folder, delay: 0 };
  const server = http.createServer(async (request, response) => {
    const { folder } = site;
    if (site.delay) await new Promise((done) => setTimeout(done, site.delay));
    const name = decodeURIComponent(new URL(request.url, "http://x").pathname);
    if (name === "/empty") {
      // a page of this origin without the app, to prepare its storage
      response.writeHead(200, { "content-type": "text/html" }).end("<link rel=icon href=data:,>");
      return;
    }
    const file = path.join(folder, name === "/" ? "index.html" : name);
    if (!file.startsWith(folder) || !fs.existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    const small = /\bbr\b/.test(request.headers["accept-encoding"] ?? "") && fs.existsSync(`${file}.br`);
    response.writeHead(200, {
      "content-type": TYPES[path.extname(file)] ?? "application/octet-stream",
      ...(plain ? {} : { "content-security-policy": policy(folder), "cache-control": "no-store" }),
      ...(small ? { "content-encoding": "br" } : {}),
    });
    fs.createReadStream(small ? `${file}.br` : file).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(site, { url: `http://localhost:${server.address().port}`, close: () => new Promise((done) => { server.close(done); server.closeAllConnections(); }) });
}

/** The browsers that the main journeys run in; the others run in the first. */
/** The app as `cargo xtask serve` serves it, with its headers and the files of models that are set up. */
async function servedByXtask() {
  const child = spawn("cargo", ["xtask", "serve", "--as-built", "--port", "0"], { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  const url = await new Promise((resolve, reject) => {
    let said = "";
    child.stdout.on("data", (data) => {
      said += data;
      const there = said.match(/^(http:\/\/localhost:\d+)$/m);
      if (there) resolve(there[1]);
    });
    child.once("exit", (code) => reject(new Error(`cargo xtask serve ended with ${code}: ${said}`)));
  });
  return { url, close: () => new Promise((done) => { child.once("exit", done); child.kill(); }) };
}

export const ENGINES = ["chrome", "firefox"];

/** How each is started. */
export const BROWSERS = {
  chrome: {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--font-render-hinting=none",
    ],
  },
  firefox: { executablePath: process.env.FIREFOX ?? "/usr/bin/firefox-esr" },
};

/** Firefox saves files there without a question; its protocol has no command for that. */
const saving = (folder) => ({ "browser.download.folderList": 2, "browser.download.dir": folder, "browser.download.alwaysOpenPanel": false });

/** Starts the system's Chromium, or with `firefox` its Firefox, with a profile of its own. */
export async function launch(engine = "chrome") {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-e2e-"));
  const saved = fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-saved-"));
  const browser = await puppeteer.launch({ browser: engine, userDataDir: profile, headless: true, protocolTimeout: 120_000, extraPrefsFirefox: saving(saved), ...BROWSERS[engine] });
  const close = async () => {
    await browser.close();
    for (const folder of [profile, saved]) fs.rmSync(folder, { recursive: true, force: true });
  };
  return { browser, saved, close };
}

/** The browsers of this file's journeys, by engine. */
const browsers = new Map();

/** Whether Node's test runner started this file. It says when the file is over; elsewhere each world closes its own browser. */
const isSuite = Boolean(process.env.NODE_TEST_CONTEXT);

/**
 * The browser that the journeys of one file share. It starts with the first of them and ends with the file. Every journey serves the app on a port of
 * its own, so each has an origin, and with it a storage, of its own. A browser that crashed is replaced for the journeys that follow.
 */
async function shared(engine) {
  if (!isSuite) return launch(engine);
  const there = await browsers.get(engine);
  if (there?.browser.connected) return there;
  const started = launch(engine);
  browsers.set(engine, started);
  return started;
}

if (isSuite) after(async () => {
  for (const started of browsers.values()) await (await started).close();
});

const running = new Set();

/** Ends what a failed journey left behind. */
export async function cleanUp() {
  for (const stop of [...running]) await stop().catch(() => {});
}

/** Everything a journey needs. `host` says how the app is served; `settings` are put into localStorage before the page loads; `before` runs in the page before its scripts do; `engine` is chrome or firefox. */
export async function begin({ engine = "chrome", host = {}, script = {}, settings = {}, width = 1440, height = 900, dark = false, ready = true, before } = {}) {
  const [site, fake, started] = [await serve(host), await startFake(script), await shared(engine)];
  const { browser, saved } = started;
  // a failed journey may have left its own behind
  for (const name of fs.readdirSync(saved)) fs.rmSync(path.join(saved, name), { recursive: true });
  const others = new Set(await browser.pages());
  const page = await browser.newPage();
  const problems = [];
  watch(page, problems, [site.url, fake.url]);
  if (before) await page.evaluateOnNewDocument(before);
  await page.setViewport({ width, height });
  // Firefox's protocol has no such command: there its own light theme stays
  if (engine === "chrome") await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }]);
  // titles are asked for in the background: only journeys about them want that call among the others
  const chosen = { address: fake.url, language: "en", titles: false, ...settings };
  // a page of this origin without the app
  await page.goto(`${site.url}/${host.asServed ? "sw.js" : "empty"}`);
  await page.evaluate((text) => localStorage.setItem("palimpsest.settings", text), JSON.stringify(chosen));
  /** What was said to the model, newest last. */
  const chats = () => fake.requests.filter((r) => r.method === "POST" && r.path === "/api/chat").map((r) => JSON.parse(r.body));
  const stop = async () => {
    running.delete(stop);
    // the blank page that a browser starts with stays: Firefox ends with its last one
    if (browser.connected) for (const one of await browser.pages()) if (!others.has(one)) await one.close();
    if (!isSuite) await started.close();
    await fake.close();
    await site.close();
  };
  running.add(stop);
  const world = {
    site, fake, page, problems, chats, browser,
    /** Lets the page save files, and gives what finds one by the end of its name. */
    downloads: async () => {
      if (engine === "chrome") {
        const client = await page.createCDPSession();
        await client.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: saved });
      }
      return async (ending) => {
        for (let i = 0; i < 200; i += 1) {
          // Firefox makes the file first and fills it when all is there
          const file = fs.readdirSync(saved).map((name) => path.join(saved, name)).find((f) => f.endsWith(ending) && fs.statSync(f).size > 0);
          await new Promise((done) => setTimeout(done, 100));
          if (file) return file;
        }
        throw new Error(`nothing that ends with ${ending} was saved`);
      };
    },
    open: async () => {
      await page.goto(site.url, { waitUntil: "load" });
      if (ready) await page.waitForSelector("[data-session]", { timeout: 60_000 });
    },
    /** `tolerate`: patterns of problems that this journey causes on purpose. */
    end: async ({ tolerate = [] } = {}) => {
      await stop();
      const left = problems.filter((text) => !tolerate.some((pattern) => pattern.test(text)));
      assert.deepEqual(left, []);
    },
  };
  await world.open();
  return world;
}

/** Collects what must not happen on a page. */
export function watch(page, problems, origins) {
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`exception: ${error.message}`));
  page.on("request", (request) => {
    const url = request.url();
    if (!origins.some((origin) => url.startsWith(origin)) && !/^(data|blob|about):/.test(url)) problems.push(`request: ${url}`);
  });
  page.evaluateOnNewDocument(() => {
    addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
  });
}

/** A file of OpenAI messages for the import dialog. */
export function transcript(messages, title) {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-file-")), `${title}.json`);
  fs.writeFileSync(file, JSON.stringify({ title, messages }));
  return file;
}

/** Imports a file through the dialog, as a person does. */
export async function importFile(page, file) {
  await page.evaluate(() => (location.hash = "library"));
  await click(page, "#s-library .acts .btn:nth-child(2)");
  const input = await page.waitForSelector("dialog #file");
  await input.uploadFile(file);
}

/** The numbers of the budget bar. */
export async function budget(page) {
  return page.$eval("#s-chat .budget", (element) => {
    const number = (text) => Number((text ?? "").replace(/[^0-9]/g, ""));
    return {
      state: element.dataset.state,
      used: number(element.querySelector(".sum strong").textContent),
      stretches: Object.fromEntries([...element.querySelectorAll("table tr")].map((row) => [row.cells[0].textContent, number(row.cells[1].textContent)])),
      text: element.querySelector(".sum").textContent,
    };
  });
}

/** The window is as large as it was then; what a reply taught about the model's tokens may have moved the figures a little. */
export async function near(page, then) {
  const now = await budget(page);
  assert.equal(now.state, then.state);
  assert.ok(Math.abs(now.used - then.used) < then.used * 0.1, JSON.stringify({ then, now }));
}

/** Types into the message field and sends with Enter. */
export async function say(page, text) {
  await page.focus("#msg");
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
}

/** The coding session as OpenAI messages; `null` without the data. */
export function codingSession(limit = Infinity, folder = data) {
  const file = path.join(folder, "coding-session.jsonl");
  if (!fs.existsSync(file)) return null;
  const messages = [];
  for (const line of fs.readFileSync(file, "utf8").split("\n")) {
    if (!line || messages.length >= limit) continue;
    const row = JSON.parse(line);
    if (row.type !== "message") continue;
    const { role, content, toolCallId } = row.message;
    const texts = (content ?? []).filter((part) => part.type === "text").map((part) => part.text).join("\n");
    if (role === "user") messages.push({ role, content: texts });
    if (role === "toolResult") messages.push({ role: "tool", tool_call_id: toolCallId, content: texts });
    if (role === "assistant") {
      const calls = content.filter((part) => part.type === "toolCall").map((part) => ({ id: part.id, type: "function", function: { name: part.name, arguments: JSON.stringify(part.arguments) } }));
      if (!texts && calls.length === 0) continue;
      messages.push({ role, content: texts || null, ...(calls.length ? { tool_calls: calls } : {}) });
    }
  }
  return messages;
}

/** One customer-service conversation; `null` without the data. */
export function tauChat(index = 0, file = path.join(data, "tau-airline-dev.json")) {
  if (!fs.existsSync(file)) return null;
  const chat = JSON.parse(fs.readFileSync(file, "utf8"))[index];
  return chat.traj ?? chat.messages;
}

/** One long chat between two people as user and assistant; `null` without the data. */
export function locomoChat(index = 0, file = path.join(data, "locomo-dev.json")) {
  if (!fs.existsSync(file)) return null;
  const { conversation } = JSON.parse(fs.readFileSync(file, "utf8"))[index];
  const sessions = Object.keys(conversation).filter((key) => /^session_\d+$/.test(key)).sort((a, b) => a.slice(8) - b.slice(8));
  return sessions.flatMap((key) => conversation[key]).map((turn) => ({ role: turn.speaker === conversation.speaker_a ? "user" : "assistant", content: turn.text }));
}
