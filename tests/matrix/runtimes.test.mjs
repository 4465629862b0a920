// The tarball in other runtimes and bundles: Deno, Bun, Cloudflare's workerd, a CommonJS bundle as extensions of VS Code are, Rspack,
// Parcel. Where it cannot run as it stands, the error names the cure.

import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { launch, open, POLICY, result, serve } from "../packaging/browser.mjs";
import { install, remove } from "../packaging/consumer.mjs";

/** What everything here does: a list is compacted, a session in memory, and a transcript is read and replayed. The text says whether all of it held. */
const WORK = `
  const list = Array.from({ length: 80 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: "Message " + i + ": parcel " + (1000 + i) + " goes to gate " + (i % 9) + ", never to the neighbour." }));
  const { report } = compact(list, { window: 1024 });
  const session = await openSession({ model: "any", window: 1024, store: "memory" });
  await session.append(list.slice(0, 30));
  const done = await session.compact();
  await session.close();
  const { policies } = await replay(list, { window: 1024, policies: ["balanced"] });
  const [found] = await readConversations(JSON.stringify({ messages: list }));
  return [report.changed, report.after.tokens <= report.limit, done.report.after < done.report.before, policies[0].peak <= report.limit, found.messages.length === 80].join();
`;
const HELD = "true,true,true,true,true";
const source = (entry, how = "await init();") => `import { compact, init, openSession, readConversations, replay } from "${entry}";\nexport async function work() {\n${how}${WORK}}\n`;

/** A list is compacted on another thread, as here, and this one is free for most of that time. */
const APART = `
  import { compact, init } from "palimpsest";
  import { compactAsync } from "palimpsest/async";
  await init();
  const list = Array.from({ length: 6000 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: "Message " + i + ": parcel " + (1000 + i) + " goes to gate " + (i % 9) + ", never to the neighbour." }));
  const began = performance.now();
  const here = JSON.stringify(compact(list, { window: 8192 }));
  const took = performance.now() - began;
  let [longest, last, on] = [0, performance.now(), true];
  const look = () => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
    if (on) setTimeout(look, 1);
  };
  look();
  const there = JSON.stringify(await compactAsync(list, { window: 8192 }));
  on = false;
  console.log([here === there, longest < took / 2].join());
`;

let folder;
let load;
before(() => {
  folder = install(["esbuild@0.28.2", "miniflare@4.20260730.0", "@deno/linux-x64-glibc@2.9.6", "@oven/bun-linux-x64@1.4.5", "@rspack/core@2.3.3", "parcel@2.16.4"], ["inline"]);
  const manifest = path.join(folder, "package.json");
  const resolve = createRequire(manifest).resolve;
  load = (name) => import(pathToFileURL(resolve(name)));
  // Parcel looks at the exports of a package only when it is told to
  fs.writeFileSync(manifest, JSON.stringify({ ...JSON.parse(fs.readFileSync(manifest, "utf8")), "@parcel/resolver-default": { packageExports: true } }));
  fs.writeFileSync(path.join(folder, "work.mjs"), source("palimpsest"));
  fs.writeFileSync(path.join(folder, "say.mjs"), 'import { work } from "./work.mjs";\nconsole.log(await work());\n');
  fs.writeFileSync(path.join(folder, "apart.mjs"), APART);
  fs.writeFileSync(path.join(folder, "page.js"), 'import { work } from "./work.mjs";\nwork().then((said) => { document.getElementById("result").textContent = said; }, (error) => { document.getElementById("result").textContent = `${error.code}: ${error.message}`; });\n');
});
after(() => remove(folder));

/** Runs a program of the folder and returns what it printed. */
function says(program, args, env = {}) {
  return execFileSync(path.join(folder, program), args, { cwd: folder, encoding: "utf8", env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] }).trim();
}

test("Deno", () => {
  const deno = "node_modules/@deno/linux-x64-glibc/deno";
  fs.chmodSync(path.join(folder, deno), 0o755);
  const run = (script) => says(deno, ["run", "--no-remote", "--node-modules-dir=manual", "--allow-read", script], { DENO_DIR: path.join(folder, ".deno"), DENO_NO_UPDATE_CHECK: "1" });
  assert.equal(run("say.mjs"), HELD);
  assert.equal(run("apart.mjs"), "true,true");
});

test("Bun", () => {
  const bun = "node_modules/@oven/bun-linux-x64/bin/bun";
  fs.chmodSync(path.join(folder, bun), 0o755);
  assert.equal(says(bun, ["say.mjs"]), HELD);
  assert.equal(says(bun, ["apart.mjs"]), "true,true");
});

/** A bundle of `work` as CommonJS for Node, as an extension of VS Code is. */
async function commonJs(entry, out) {
  const { build } = await load("esbuild");
  const file = path.join(folder, out, "extension.cjs");
  await build({ stdin: { contents: source(entry), resolveDir: folder }, bundle: true, platform: "node", format: "cjs", outfile: file, logLevel: "error" });
  return file;
}

/** Requires a bundle in a process of its own and returns what it says. */
const required = (file) =>
  new Promise((resolve, reject) => {
    const script = "require(process.argv[1]).work().then(console.log, (error) => console.log(`${error.code}: ${error.message}`))";
    execFile(process.execPath, ["--eval", script, file], { encoding: "utf8" }, (error, stdout, stderr) => (error ? reject(new Error(stderr)) : resolve(stdout.trim())));
  });

test("a CommonJS bundle for Node, with the files copied beside, or inline", async () => {
  const file = await commonJs("palimpsest", "extension");
  const alone = await required(file);
  assert.match(alone, /^load_failed: /);
  assert.match(alone, /node_modules\/palimpsest\/dist\/wasm as wasm\/ beside itself/);
  assert.match(alone, /palimpsest-inline/);
  fs.cpSync(path.join(folder, "node_modules/palimpsest/dist/wasm"), path.join(path.dirname(file), "wasm"), { recursive: true });
  assert.equal(await required(file), HELD);
  assert.equal(await required(await commonJs("palimpsest-inline", "inline")), HELD);
});

/** Bundles a worker as Cloudflare's tools do, where each wasm file is a module, and returns what workerd's answer says. */
async function workerd(code) {
  const { build } = await load("esbuild");
  const { Log, LogLevel, Miniflare } = await load("miniflare");
  const out = fs.mkdtempSync(path.join(folder, "worker-"));
  const contents = `${code}\nexport default { fetch: () => work().then((said) => new Response(said), (error) => new Response(\`\${error.code}: \${error.message}\`)) };\n`;
  await build({ stdin: { contents, resolveDir: folder }, bundle: true, format: "esm", outfile: path.join(out, "worker.js"), loader: { ".wasm": "copy" }, assetNames: "[name]", conditions: ["workerd", "worker", "browser"], logLevel: "error" });
  const server = new Miniflare({
    modules: true,
    modulesRoot: out,
    scriptPath: path.join(out, "worker.js"),
    modulesRules: [{ type: "ESModule", include: ["**/*.js"] }, { type: "CompiledWasm", include: ["**/*.wasm"] }],
    compatibilityDate: "2026-04-01",
    log: new Log(LogLevel.NONE),
  });
  try {
    return await (await server.dispatchFetch("http://localhost/")).text();
  } finally {
    await server.dispose();
  }
}

test("workerd, with the files named; the other entries say how", async () => {
  const named = `import wasm from "palimpsest/palimpsest.wasm";\nimport sessions from "palimpsest/session.wasm";\nimport shared from "palimpsest/shared.wasm";\nimport transcripts from "palimpsest/transcripts.wasm";\nimport player from "palimpsest/replay.wasm";\n`;
  assert.equal(await workerd(named + source("palimpsest/slim", "await init(wasm, { session: sessions, shared, transcripts, replay: player });")), HELD);
  for (const entry of ["palimpsest", "palimpsest-inline"]) {
    const refused = await workerd(source(entry));
    assert.match(refused, /^load_failed: /, entry);
    assert.match(refused, /init\(wasm, \{ session, shared \}\)/, entry);
    assert.doesNotMatch(refused, /Content-Security-Policy/, entry);
  }
});

/** Reads what a page of a folder says in Chromium. */
async function shows(out, policy = POLICY) {
  const { browser, close } = await launch();
  const server = await serve(out, { policy });
  try {
    const { page, problems } = await open(browser, server.url);
    assert.equal(await result(page, /\S/), HELD, problems.join("\n"));
    assert.deepEqual(problems, []);
  } finally {
    await server.close();
    await close();
  }
}

test("a service worker, in one file, with the modules beside it", async () => {
  const { build } = await load("esbuild");
  const out = path.join(folder, "service-worker");
  // a service worker may not import later on: its bundle is one file
  const contents = `${source("palimpsest")}
    self.addEventListener("install", () => self.skipWaiting());
    self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
    self.addEventListener("fetch", (event) => {
      if (!event.request.url.endsWith("/said")) return;
      event.respondWith(work().then((said) => new Response(said), (error) => new Response(\`\${error.code}: \${error.message}\`)));
    });`;
  await build({ stdin: { contents, resolveDir: folder }, bundle: true, format: "esm", outfile: path.join(out, "sw.js"), logLevel: "error" });
  fs.cpSync(path.join(folder, "node_modules/palimpsest/dist/wasm"), path.join(out, "wasm"), { recursive: true });
  fs.writeFileSync(
    path.join(out, "main.js"),
    `await navigator.serviceWorker.register("sw.js", { type: "module" });
     await navigator.serviceWorker.ready;
     if (!navigator.serviceWorker.controller) await new Promise((resolve) => navigator.serviceWorker.addEventListener("controllerchange", resolve, { once: true }));
     document.getElementById("result").textContent = await (await fetch("said")).text();`,
  );
  fs.writeFileSync(path.join(out, "index.html"), '<!doctype html><link rel="icon" href="data:,"><p id="result"></p><script type="module" src="main.js"></script>');
  await shows(out);
});

test("Rspack takes the modules along by itself", async () => {
  const { rspack } = await load("@rspack/core");
  const out = path.join(folder, "rspack");
  const compiler = rspack({ mode: "production", context: folder, entry: "./page.js", output: { path: out, filename: "main.js", module: true, publicPath: "auto" }, experiments: { outputModule: true }, performance: { hints: false } });
  const stats = await new Promise((resolve, reject) => { compiler.run((error, done) => (error ? reject(error) : resolve(done))); });
  await new Promise((resolve) => { compiler.close(resolve); });
  const { errors, warnings } = stats.toJson({ all: false, errors: true, warnings: true });
  assert.deepEqual([errors, warnings], [[], []]);
  assert.equal(fs.readdirSync(out).filter((name) => name.endsWith(".wasm")).length, 6);
  fs.writeFileSync(path.join(out, "index.html"), '<!doctype html><link rel="icon" href="data:,"><p id="result"></p><script type="module" src="main.js"></script>');
  await shows(out);
});

test("Parcel takes the modules along by itself", async () => {
  fs.writeFileSync(path.join(folder, "index.html"), '<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>T</title><p id="result"></p><script type="module" src="page.js"></script></html>');
  says("node_modules/.bin/parcel", ["build", "index.html", "--dist-dir", "parcel", "--no-cache", "--no-source-maps", "--public-url", "./"]);
  // its pages carry a map of their scripts in the HTML, which our own policy forbids
  await shows(path.join(folder, "parcel"), "default-src 'self'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; img-src data:");
});
