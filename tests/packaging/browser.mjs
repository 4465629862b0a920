// A static server under a strict policy, and the system's browsers.

import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import puppeteer from "puppeteer-core";

const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".json": "application/json" };

/** What the README says a page needs, and nothing more. */
export const POLICY =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'";

/** Serves a folder on a free port of this machine. What is not there is answered with the page, as many hosts do. */
export async function serve(folder, { policy = POLICY, fallback = false } = {}) {
  const server = http.createServer((request, response) => {
    const name = decodeURIComponent(new URL(request.url, "http://x").pathname);
    let file = path.join(folder, name.endsWith("/") ? `${name}index.html` : name);
    if (!file.startsWith(folder) || !fs.existsSync(file) || fs.statSync(file).isDirectory()) {
      if (!fallback) return response.writeHead(404).end();
      file = path.join(folder, "index.html");
    }
    const type = TYPES[path.extname(file)] ?? "application/octet-stream";
    response.writeHead(200, { "content-type": type, "cache-control": "no-store", "x-content-type-options": "nosniff", "content-security-policy": policy });
    fs.createReadStream(file).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => new Promise((done) => { server.close(done); server.closeAllConnections(); });
  return { url: `http://localhost:${server.address().port}`, close };
}

/** Starts one of the system's browsers with a profile of its own. */
export async function launch(name = "chrome") {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-packaging-"));
  const firefox = name === "firefox";
  const browser = await puppeteer.launch({
    browser: name,
    executablePath: firefox ? (process.env.FIREFOX ?? "/usr/bin/firefox-esr") : (process.env.CHROMIUM ?? "/usr/bin/chromium"),
    userDataDir: profile,
    headless: true,
    protocolTimeout: 120_000,
    args: firefox ? [] : ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"],
  });
  const close = async () => {
    await browser.close();
    fs.rmSync(profile, { recursive: true, force: true });
  };
  return { browser, close };
}

/** A page, and everything on it that should not be: errors, warnings, violations of the policy. */
export async function open(browser, url) {
  const page = await browser.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => ["error", "warn", "warning"].includes(message.type()) && problems.push(message.text()));
  await page.goto(url);
  return { page, problems };
}

/** The text of `#result` once it matches. */
export async function result(page, wanted) {
  try {
    await page.waitForFunction((source) => new RegExp(source).test(document.getElementById("result")?.textContent ?? ""), { timeout: 60_000 }, wanted.source);
  } catch {
    // the comparison below says what is there instead
  }
  return page.$eval("#result", (element) => element.textContent);
}
