// The page's own files: which build a page is of, and what it may do wherever it is served.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import { ENGINES, app, begin, cleanUp, say } from "./harness.mjs";
import { messages, patient, ready, text, until } from "./acts.mjs";

test.afterEach(cleanUp);

const HASH = /\.([0-9a-f]{16})\./;

/** The files of a build, without what is made of them for the way. */
const files = (folder) => fs.readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && !/\.(br|gz)$/.test(entry.name))
  .map((entry) => path.relative(folder, path.join(entry.parentPath ?? entry.path, entry.name)));

/** The version that a page or sw.js names. */
const versionOf = (folder) => fs.readFileSync(path.join(folder, "index.html"), "utf8").match(/data-build="([^"]+)"/)[1];

/**
 * The app as a later build: every file has another name, and each script and the styles say which build they are of. Names
 * are exchanged as the build exchanges them, in all texts at once.
 */
function build(n) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), `palimpsest-build-${n}-`));
  const renamed = new Map([[versionOf(app), `${n}`.repeat(16)]]);
  for (const name of files(app)) {
    const hash = name.match(HASH)?.[1];
    if (hash) renamed.set(hash, createHash("sha256").update(`${n} ${name}`).digest("hex").slice(0, 16));
  }
  const exchanged = (text) => [...renamed].reduce((text, [from, to]) => text.replaceAll(from, to), text);
  for (const name of files(app)) {
    let content = fs.readFileSync(path.join(app, name));
    if (/\.(html|js|css|json)$/.test(name)) content = exchanged(content.toString());
    if (/\.js$/.test(name) && name !== "sw.js") content += `\n(globalThis.builds ??= []).push(${n});\n`;
    if (/\.css$/.test(name)) content += `\n:root { --build: ${n} }\n`;
    const target = path.join(folder, exchanged(name));
    fs.mkdirSync(path.dirname(target), { recursive: true });
    fs.writeFileSync(target, content);
  }
  return { n, folder, version: versionOf(folder), names: new Set(files(folder).filter((name) => HASH.test(name))) };
}

/** Which build a page is of. It is of one: every script, the styles, and all that it has asked for since. */
async function of(page, builds) {
  const seen = await page.evaluate(() => ({
    version: document.documentElement.dataset.build,
    said: [...new Set(globalThis.builds)],
    styles: getComputedStyle(document.documentElement).getPropertyValue("--build").trim(),
    loaded: performance.getEntriesByType("resource").map((entry) => new URL(entry.name)).filter((url) => url.origin === location.origin).map((url) => url.pathname.slice(1)),
  }));
  const build = builds.find((one) => one.version === seen.version);
  assert.ok(build, seen.version);
  assert.deepEqual([seen.said, seen.styles], [[build.n], String(build.n)], JSON.stringify(seen));
  for (const name of seen.loaded.filter((name) => HASH.test(name))) assert.ok(build.names.has(name), `${name} is not of build ${build.n}`);
  return build.n;
}

/** The builds of which everything is kept, and those of which something is. */
const kept = (page) => page.evaluate(async () => {
  const [whole, begun] = [[], []];
  for (const name of await caches.keys()) {
    const mark = await (await caches.open(name)).match("build-is-complete");
    (mark ? whole : begun).push(Number(name.split(" ").at(-1)[0]));
  }
  return { whole: whole.sort(), begun };
});

const holds = (page, n) => patient(120_000)(page, async (n) => {
  const cache = await caches.open(`palimpsest-build / ${String(n).repeat(16)}`);
  const { active, installing, waiting } = await navigator.serviceWorker.getRegistration();
  return (await cache.match("build-is-complete")) && active.state === "activated" && !installing && !waiting;
}, n);

/** Has the browser look for a new build now, and not when it gets to it. */
const update = (page) => page.evaluate(() => { navigator.serviceWorker.getRegistration().then((one) => one.update()).catch(() => {}); });

/// Three builds in a row, over a slow network, with reloads in between: each page is whole, of the build that it began with,
/// also for what it loads only later, when the server has long had another; and a build goes when its last page is gone.
test("three builds in a row: each page is of one of them", { timeout: 600_000 }, async () => {
  const builds = [1, 2, 3, 4].map(build);
  const world = await begin({ host: { folder: builds[0].folder } });
  const { page, site } = world;
  const put = (n) => (site.folder = builds[n - 1].folder);
  await ready(page);
  assert.equal(await of(page, builds), 1);
  await holds(page, 1);
  await page.reload();
  await ready(page);
  assert.equal(await of(page, builds), 1);
  // a tab that stays as it is, and has not asked for the settings' part yet
  const first = await world.browser.newPage();
  await first.goto(site.url);
  await first.waitForSelector("[data-session]");

  // the second is on its way for a while: who loads the page meanwhile gets the first
  site.delay = 1500;
  put(2);
  await update(page);
  await until(page, async () => (await caches.keys()).length === 2);
  await page.reload();
  await page.waitForSelector("[data-session]");
  assert.deepEqual([await of(page, builds), await kept(page)], [1, { whole: [1], begun: [2] }]);
  // before it is whole the third takes its place: what is left of the second cannot be had any more
  put(3);
  await page.reload();
  await page.waitForSelector("[data-session]");
  assert.equal(await of(page, builds), 1);
  site.delay = 100;
  await until(page, async () => !(await navigator.serviceWorker.getRegistration()).installing);
  await update(page);
  await holds(page, 3);
  assert.equal(await of(page, builds), 1, "a page stays what it is");
  await page.reload();
  await ready(page);
  assert.equal(await of(page, builds), 3);
  const second = await world.browser.newPage();
  await second.goto(site.url);
  await second.waitForSelector("[data-session]");
  assert.equal(await of(second, builds), 3);

  put(4);
  site.delay = 0;
  await page.bringToFront();
  await update(page);
  await holds(page, 4);
  await page.reload();
  await ready(page);
  assert.equal(await of(page, builds), 4);
  for (const [tab, n] of [[first, 1], [second, 3]]) {
    await tab.bringToFront();
    await tab.evaluate(() => (location.hash = "settings"));
    await tab.waitForSelector("#address");
    assert.equal(await of(tab, builds), n, "a part that comes later is of the page's own build");
  }

  await first.close();
  await page.bringToFront();
  // as if the pages had begun long ago
  await page.evaluate(async () => { for (const name of await caches.keys()) await (await caches.open(name)).delete("page-was-begun"); });
  await until(page, async (version) => !(await navigator.locks.query()).held.some((lock) => lock.name.endsWith(version)), builds[0].version);
  await page.reload();
  await ready(page);
  await until(page, async () => (await caches.keys()).length === 2);
  assert.deepEqual(await kept(page), { whole: [3, 4], begun: [] }, "a build stays while a page of it is open");
  await site.close();
  await page.reload();
  await page.waitForSelector("[data-session]");
  assert.equal(await of(page, builds), 4);
  site.close = async () => {};
  await world.end({ tolerate: [/ERR_CONNECTION_REFUSED|Failed to load resource|Failed to fetch|status of 404/] });
  for (const { folder } of builds) fs.rmSync(folder, { recursive: true, force: true });
});

for (const engine of ENGINES) {
  /// A static host that sends no header of ours: the policy is in force all the same, and the app works under it.
  test(`the policy holds on any static host, in ${engine}`, { timeout: 180_000 }, async () => {
    const world = await begin({ engine, host: { plain: true }, script: { replies: ["Under a policy."] } });
    const { page } = world;
    await ready(page);
    const header = await page.evaluate(async () => (await fetch("./", { cache: "no-store" })).headers.get("content-security-policy"));
    assert.equal(header, null, "the host sends none");
    await say(page, "Hello");
    await messages(page, 2);
    assert.match(await text(page, ".thread"), /Under a policy\./);
    const done = await page.evaluate(async () => {
      const refused = (act) => { try { act(); return false; } catch (error) { return error.name === "TypeError"; } };
      const broken = [];
      addEventListener("securitypolicyviolation", (event) => broken.push(`${event.effectiveDirective} ${event.disposition}`));
      refused(() => {
        const script = document.createElement("script");
        script.append("globalThis.ran = true");
        document.body.append(script);
      });
      refused(() => {
        const image = document.createElement("img");
        image.setAttribute("onerror", "globalThis.ran = true");
        image.src = "data:,";
        document.body.append(image);
      });
      const sent = await fetch("https://example.org/").then(() => true, () => false);
      const markup = refused(() => { document.createElement("div").innerHTML = "<b>x</b>"; });
      await new Promise((resolve) => setTimeout(resolve, 500));
      return { ran: globalThis.ran === true, sent, markup: markup || !globalThis.trustedTypes, broken: [...new Set(broken)] };
    });
    assert.deepEqual([done.ran, done.sent, done.markup], [false, false, true], JSON.stringify(done));
    assert.ok(done.broken.some((one) => /^connect-src enforce$/.test(one)), done.broken.join());
    assert.ok(done.broken.some((one) => /^(script-src|require-trusted-types-for).* enforce$/.test(one)), done.broken.join());
    await world.end({ tolerate: [/policy|Trusted|example\.org|Content.Security|TypeError/i] });
  });
}

for (const engine of ENGINES) {
  /// A module that traps while a timer calls it says so, in the page's language, and a reload shows everything that was said.
  test(`a module that traps says so, in ${engine}`, { timeout: 180_000 }, async () => {
    const world = await begin({ engine, settings: { language: "de" }, script: { replies: ["Stored before it broke."] } });
    const { page } = world;
    await ready(page);
    await say(page, "Hello");
    await messages(page, 2);
    await page.evaluate(async () => {
      const script = performance.getEntriesByType("resource").find((one) => /palimpsest_web\.[0-9a-f]+\.js$/.test(one.name));
      const { default: begun } = await import(script.name);
      const exports = await begun();
      const back = Object.keys(exports).find((name) => name.includes("convert__closures"));
      // a closure that is not there
      setTimeout(() => exports[back](0x7ffffff0, 0));
    });
    await until(page, () => !document.getElementById("crash").hidden);
    assert.match(await text(page, "#crash p"), /Daten sind sicher/);
    assert.notEqual(await text(page, "#crash code"), "");
    await Promise.all([page.waitForNavigation(), page.$eval("#reload", (button) => button.click())]);
    await messages(page, 2);
    assert.match(await text(page, ".thread"), /Stored before it broke\./);
    await world.end({ tolerate: [/null function|indirect call/] });
  });
}
