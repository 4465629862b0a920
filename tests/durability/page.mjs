// Builds the page, serves it, starts and kills browsers.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import puppeteer from "puppeteer-core";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");

/** Makes the page in a temporary folder and returns that. `DURABILITY_MODULE` names a module that is built already. */
export function build() {
  const module = process.env.DURABILITY_MODULE ?? compile();
  const out = fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-durability-"));
  execFileSync("wasm-bindgen", [module, "--target", "web", "--no-typescript", "--out-dir", out], { stdio: "inherit" });
  fs.writeFileSync(path.join(out, "index.html"), "<!doctype html><title>durability</title>");
  return out;
}

function compile() {
  const what = ["--package", "palimpsest-browser", "--example", "durability", "--target", "wasm32-unknown-unknown"];
  const cargo = spawnSync("cargo", ["build", "--quiet", ...what, "--message-format", "json"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 1 << 28,
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (cargo.status !== 0) throw new Error("the page does not build");
  const artifacts = cargo.stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  return artifacts
    .filter((artifact) => artifact.reason === "compiler-artifact" && artifact.target.name === "durability")
    .flatMap((artifact) => artifact.filenames)
    .find((file) => file.endsWith(".wasm"));
}

/** Serves a folder on a free port of this machine. */
export async function serve(folder) {
  const types = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };
  const server = http.createServer((request, response) => {
    const name = new URL(request.url, "http://x").pathname;
    const file = path.join(folder, name === "/" ? "index.html" : path.basename(name));
    if (!fs.existsSync(file)) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": types[path.extname(file)] ?? "application/octet-stream" });
    fs.createReadStream(file).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close: () => new Promise((done) => { server.close(done); server.closeAllConnections(); }),
  };
}

/** Starts Chromium with this profile. */
export async function launch(profile, env = {}) {
  return puppeteer.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    userDataDir: profile,
    headless: true,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"],
    env: { ...process.env, ...env },
    handleSIGINT: false,
  });
}

/** Starts Firefox with this profile. */
export async function launchFirefox(profile) {
  return puppeteer.launch({
    browser: "firefox",
    executablePath: process.env.FIREFOX ?? "/usr/bin/firefox-esr",
    userDataDir: profile,
    headless: true,
  });
}

/** Opens the page and loads the module. `globalThis.emptied` will say why the browser emptied a database, if it did. */
export async function open(browser, url) {
  const page = await browser.newPage();
  await page.evaluateOnNewDocument(() => {
    const open = IDBFactory.prototype.open;
    IDBFactory.prototype.open = function (...given) {
      const request = open.apply(this, given);
      request.addEventListener("upgradeneeded", (event) => {
        if (event.dataLoss === "total") globalThis.emptied = event.dataLossMessage;
      });
      return request;
    };
  });
  await page.goto(url);
  await page.evaluate(async () => {
    globalThis.module = await import("/durability.js");
    await globalThis.module.default();
  });
  return page;
}

/** What is left in the database `name`. */
export async function left(browser, url, name) {
  const page = await open(browser, url);
  const [text, emptied] = await page.evaluate(async (name) => [await globalThis.module.check(name), globalThis.emptied], name);
  await page.close();
  return { ...JSON.parse(text), ...(emptied ? { emptied } : {}) };
}

/** Writes into a database of the page's own, without ours; says what was there, or why the browser emptied it. */
export async function writePlainly(browser, url) {
  const page = await open(browser, url);
  const found = await page.evaluate(async () => {
    const answer = (request) => new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
    const asked = indexedDB.open("plain", 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore("rows");
    const rows = (await answer(asked)).transaction("rows", "readwrite").objectStore("rows");
    const count = await answer(rows.count());
    await answer(rows.put("x", count));
    return globalThis.emptied ?? count;
  });
  await page.close();
  return found;
}

/** Adds to the log of Chromium's databases what a kill between the two steps of a write leaves: an entry's head alone. */
export function tear(databases) {
  const logs = fs.readdirSync(databases, { recursive: true }).filter((name) => /\.leveldb\/\d+\.log$/.test(name));
  assert.equal(logs.length, 1, `logs: ${logs}`);
  // a checksum, the length of what should follow, and that it is an entry in one piece
  fs.appendFileSync(path.join(databases, logs[0]), Buffer.from([1, 2, 3, 4, 80, 0, 1]));
}

/**
 * Lets the page write. `acked` grows while it does; `ended` resolves to the code of the error that stopped it, and not
 * at all if the page is killed.
 */
export async function write(page, name, durability) {
  const acked = { turn: 0, commit: 0 };
  let first;
  const started = new Promise((resolve) => { first = resolve; });
  await page.exposeFunction("acknowledge", (kind, n) => {
    acked[kind] = Math.max(acked[kind], n);
    first();
  });
  const ended = page.evaluate(
    (name, durability) => globalThis.module.write(name, durability, (kind, n) => { globalThis.acknowledge(kind, n); }),
    name,
    durability,
  );
  // a killed page rejects this; nobody may be waiting for it
  ended.catch(() => {});
  await Promise.race([started, ended]);
  return { acked, ended };
}

/** Kills every process that shows pages, as a crash or the system's memory guard does. */
export async function killPages(browser) {
  const session = await browser.target().createCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const pages = processInfo.filter((process) => process.type === "renderer");
  for (const { id } of pages) kill(id);
  await session.detach();
  return pages.length;
}

/** Kills the browser with everything it started, at once. */
export async function killBrowser(browser) {
  const family = descendants(browser.process().pid);
  family.forEach(kill);
  await Promise.all(family.map(gone));
}

function kill(id) {
  try {
    process.kill(id, "SIGKILL");
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

async function gone(id) {
  for (let n = 0; n < 500; n += 1) {
    try {
      process.kill(id, 0);
      // a zombie has let go of everything
      const stat = fs.readFileSync(`/proc/${id}/stat`, "utf8");
      if (stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z")) return;
    } catch {
      return;
    }
    await sleep(10);
  }
}

function descendants(root) {
  const table = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" });
  const pairs = table.trim().split("\n").map((line) => line.trim().split(/\s+/).map(Number));
  const family = [root];
  for (let next = 0; next < family.length; next += 1) {
    family.push(...pairs.filter(([, parent]) => parent === family[next]).map(([id]) => id));
  }
  return family;
}

export const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

/** Compiles the library that keeps a copy of every file as it was when it was last synced; `undefined` if it cannot. */
export function synced(folder) {
  if (process.platform !== "linux") return undefined;
  const library = path.join(folder, "synced.so");
  const source = path.join(root, "tests/durability/synced.c");
  const compiler = spawnSync("cc", ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], { stdio: "inherit" });
  return compiler.status === 0 ? library : undefined;
}

/** Sets every file under `real` back to its last synced content, as kept under `kept`. Never synced files go. */
export function losePower(real, kept) {
  for (const entry of fs.readdirSync(real, { withFileTypes: true })) {
    const file = path.join(real, entry.name);
    const copy = path.join(kept, entry.name);
    if (entry.isDirectory()) losePower(file, copy);
    // written without a promise and without a need
    else if (["LOCK", "LOG", "LOG.old"].includes(entry.name)) continue;
    else if (fs.existsSync(copy)) fs.copyFileSync(copy, file);
    else fs.rmSync(file);
  }
}

