// The tarball through other people's tools: each builds a page (or runs a test) that asserts a value.

import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { defaultModels, startFake } from "../ollama/fake.mjs";
import { launch, open, POLICY, result, serve } from "../packaging/browser.mjs";
import { install, remove } from "../packaging/consumer.mjs";

/** What every page does: a list is compacted, a session in IndexedDB, and a transcript is read and replayed. Its text says whether all of it held. */
const WORK = `
  await init();
  const list = Array.from({ length: 80 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: "Message " + i + ": parcel " + (1000 + i) + " goes to gate " + (i % 9) + ", never to the neighbour." }));
  const { report } = compact(list, { window: 1024 });
  const session = await openSession({ model: "any", window: 1024 });
  await session.append(list.slice(0, 30));
  const done = await session.compact();
  await session.close();
  const { policies } = await replay(list, { window: 1024, policies: ["balanced"] });
  const [found] = await readConversations(JSON.stringify({ messages: list }));
  return [report.changed, report.after.tokens <= report.limit, done.report.after < done.report.before, policies[0].peak <= report.limit, found.messages.length === 80].join();
`;
const PAGE = `import { compact, init, openSession, readConversations, replay } from "palimpsest";
async function work() {${WORK}}
work().then((said) => { document.getElementById("result").textContent = said; }, (error) => { document.getElementById("result").textContent = error.code + ": " + error.message; });
`;

let folder;
let chrome;
before(async () => {
  folder = install([
    "esbuild@0.28.2", "rollup@4.68.7", "@rollup/plugin-node-resolve@16.0.3", "webpack@5.112.2", "webpack-cli@7.3.1", "vitest@4.1.12",
    "next@16.4.6", "react@19.3.1", "react-dom@19.3.1",
  ], ["ui", "inline"]);
  fs.writeFileSync(path.join(folder, "page.js"), PAGE);
  chrome = await launch();
});
after(async () => {
  await chrome?.close();
  remove(folder);
});

const bin = (name) => path.join(folder, "node_modules/.bin", name);
const modules = () => path.join(folder, "node_modules/palimpsest/dist/wasm");

/** Runs a tool in the folder. What it says is shown when it fails. */
function tool(name, args, env = {}) {
  try {
    return execFileSync(bin(name), args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, NO_COLOR: "1", ...env } });
  } catch (error) {
    throw new Error(`${name} ended with ${error.status}\n${error.stdout}\n${error.stderr}`);
  }
}

/** Serves what a tool made and reads what its page says. */
async function says(out, policy = POLICY) {
  const server = await serve(out, { policy });
  const { page, problems } = await open(chrome.browser, server.url);
  try {
    assert.equal(await result(page, /\S/), "true,true,true,true,true", problems.join("\n"));
    assert.deepEqual(problems, []);
  } finally {
    await page.close();
    await server.close();
  }
}

/** As {@link says}, for tools that make a script and no page. */
async function check(out) {
  fs.writeFileSync(path.join(out, "index.html"), '<!doctype html><link rel="icon" href="data:,"><p id="result"></p><script type="module" src="main.js"></script>');
  await says(out);
}

/** Builds a page that mounts the chat app and sees whether it stands, and whether its worker reads the model's vocabulary. */
async function mounts(out, build) {
  const fake = await startFake({ models: defaultModels().map((one) => ({ ...one, tokenizer: "bytes" })), counts: "bytes" });
  fs.writeFileSync(
    path.join(folder, "mounted.js"),
    `import { mount } from "palimpsest-ui";
     const kept = new Map([["palimpsest.settings", ${JSON.stringify(JSON.stringify({ address: fake.url, language: "en" }))}]]);
     const settings = { getItem: (name) => kept.get(name) ?? null, setItem: (name, text) => void kept.set(name, text), removeItem: (name) => void kept.delete(name) };
     const say = (text) => { document.getElementById("result").textContent = text; };
     mount(document.getElementById("chat"), { settings }).then(({ engine }) => say(engine.info.messages + " messages"), (error) => say(error.code + ": " + error.message));`,
  );
  build();
  fs.writeFileSync(path.join(out, "index.html"), '<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>T</title><p id="result"></p><div id="chat"></div><script type="module" src="main.js"></script></html>');
  const server = await serve(out, { policy: POLICY.replace("connect-src 'self'", `connect-src 'self' ${fake.url}`) });
  const { page, problems } = await open(chrome.browser, "about:blank");
  let workers = 0;
  page.on("workercreated", () => { workers += 1; });
  try {
    await page.goto(server.url);
    assert.equal(await result(page, /\S/), "0 messages", problems.join("\n"));
    const asked = () => fake.requests.filter((r) => r.method === "POST" && r.path === "/api/show" && JSON.parse(r.body).verbose === true).length;
    for (let n = 0; n < 200 && asked() === 0; n += 1) await new Promise((resolve) => { setTimeout(resolve, 50); });
    assert.deepEqual([asked(), workers, problems], [1, 1, []]);
  } finally {
    await page.close();
    await server.close();
    await fake.close();
  }
}

test("the chat app: webpack 5 takes module, styles and worker along by itself", () => {
  const out = path.join(folder, "webpack-ui");
  fs.writeFileSync(
    path.join(folder, "webpack-ui.config.mjs"),
    `export default { mode: "production", entry: "./mounted.js", output: { path: ${JSON.stringify(out)}, filename: "main.js", module: true, publicPath: "auto" }, experiments: { outputModule: true }, performance: { hints: false } };`,
  );
  return mounts(out, () => tool("webpack", ["--config", "webpack-ui.config.mjs"]));
});

test("the chat app: esbuild, with its files copied beside", () => {
  const out = path.join(folder, "esbuild-ui");
  return mounts(out, () => {
    tool("esbuild", ["mounted.js", "--bundle", "--format=esm", `--outdir=${out}`, "--entry-names=main", "--log-level=warning"]);
    const dist = path.join(folder, "node_modules/palimpsest-ui/dist");
    fs.cpSync(path.join(dist, "ui"), path.join(out, "ui"), { recursive: true });
    fs.copyFileSync(path.join(dist, "vocabulary-worker.js"), path.join(out, "vocabulary-worker.js"));
  });
});

test("webpack 5 takes the modules along by itself", async () => {
  const out = path.join(folder, "webpack");
  fs.writeFileSync(
    path.join(folder, "webpack.config.mjs"),
    `export default { mode: "production", entry: "./page.js", output: { path: ${JSON.stringify(out)}, filename: "main.js", module: true, publicPath: "auto" }, experiments: { outputModule: true }, performance: { hints: false } };`,
  );
  tool("webpack", ["--config", "webpack.config.mjs"]);
  assert.equal(fs.readdirSync(out).filter((name) => name.endsWith(".wasm")).length, 6, "the module and its five parts, each once");
  await check(out);
});

test("esbuild, with the modules copied beside", async () => {
  const out = path.join(folder, "esbuild");
  tool("esbuild", ["page.js", "--bundle", "--format=esm", "--splitting", `--outdir=${out}`, "--entry-names=main", "--log-level=warning"]);
  fs.cpSync(modules(), path.join(out, "wasm"), { recursive: true });
  await check(out);
});

test("esbuild, inline: nothing beside the JavaScript", async () => {
  const out = path.join(folder, "inline");
  fs.writeFileSync(path.join(folder, "inline.js"), PAGE.replace('"palimpsest"', '"palimpsest-inline"'));
  tool("esbuild", ["inline.js", "--bundle", "--format=esm", `--outdir=${out}`, "--entry-names=main", "--log-level=warning"]);
  assert.deepEqual(fs.readdirSync(out), ["main.js"]);
  await check(out);
});

test("rollup, with the modules copied beside", async () => {
  const out = path.join(folder, "rollup");
  tool("rollup", ["page.js", "--plugin", "node-resolve={browser:true}", "--format", "es", "--dir", out, "--entryFileNames", "main.js", "--silent"]);
  fs.cpSync(modules(), path.join(out, "wasm"), { recursive: true });
  await check(out);
});

test("Next: a client component, exported as static pages", async () => {
  const app = path.join(folder, "app");
  fs.mkdirSync(app);
  fs.writeFileSync(path.join(folder, "next.config.mjs"), 'export default { output: "export", turbopack: { root: import.meta.dirname } };\n');
  fs.writeFileSync(path.join(app, "layout.js"), "export default function Layout({ children }) {\n  return <html lang=\"en\"><head><link rel=\"icon\" href=\"data:,\" /></head><body>{children}</body></html>;\n}\n");
  fs.writeFileSync(
    path.join(app, "page.js"),
    `"use client";
import { useEffect, useState } from "react";
import { compact, init, openSession, readConversations, replay } from "palimpsest";
async function work() {${WORK}}
export default function Page() {
  const [said, say] = useState("");
  useEffect(() => { work().then(say, (error) => say(error.code + ": " + error.message)); }, []);
  return <p id="result">{said}</p>;
}
`,
  );
  tool("next", ["build"], { NEXT_TELEMETRY_DISABLED: "1", CI: "1" });
  // its pages carry scripts in the HTML, which our own policy forbids
  await says(path.join(folder, "out"), "default-src 'self'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src data:");
});

/** The sandbox of an edge function has classes of its own: a module that it hands over is no `WebAssembly.Module` of the package's. */
test("Next: an edge function", async () => {
  const place = path.join(folder, "edge");
  fs.mkdirSync(path.join(place, "app/api/work"), { recursive: true });
  fs.writeFileSync(path.join(place, "next.config.mjs"), `export default { turbopack: { root: ${JSON.stringify(folder)} } };\n`);
  fs.writeFileSync(path.join(place, "app/layout.js"), "export default function Layout({ children }) {\n  return <html lang=\"en\"><body>{children}</body></html>;\n}\n");
  fs.writeFileSync(path.join(place, "app/page.js"), "export default function Page() {\n  return <p>Hello</p>;\n}\n");
  fs.writeFileSync(
    path.join(place, "app/api/work/route.js"),
    `import { compact, init, openSession, readConversations, replay } from "palimpsest/slim";
import wasm from "palimpsest/wasm/palimpsest_npm_bg.wasm?module";
import sessions from "palimpsest/wasm/parts/session.wasm?module";
import shared from "palimpsest/wasm/parts/session-tokenizer.wasm?module";
import transcripts from "palimpsest/wasm/parts/transcripts.wasm?module";
import player from "palimpsest/wasm/parts/replay.wasm?module";
export const runtime = "edge";
async function work() {
await init(wasm, { session: sessions, shared, transcripts, replay: player });${WORK.replace("await init();", "")}}
export const GET = () => work().then((said) => new Response(\`\${said} \${typeof EdgeRuntime}\`), (error) => new Response(\`\${error.code}: \${error.message}\`));
`,
  );
  const next = path.join(folder, "node_modules/next/dist/bin/next");
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: "1", CI: "1" };
  const { status, stdout, stderr } = spawnSync(process.execPath, [next, "build"], { cwd: place, encoding: "utf8", env });
  assert.equal(status, 0, `${stdout}\n${stderr}`);
  const child = spawn(process.execPath, [next, "start", "-H", "127.0.0.1", "-p", "0"], { cwd: place, env, stdio: ["ignore", "pipe", "pipe"] });
  try {
    const url = await new Promise((resolve, reject) => {
      let said = "";
      const hear = (text) => {
        said += text;
        const found = /http:\/\/127\.0\.0\.1:\d+/.exec(said);
        if (found && said.includes("Ready")) resolve(found[0]);
      };
      child.stdout.on("data", hear);
      child.stderr.on("data", hear);
      child.on("exit", () => reject(new Error(said)));
    });
    assert.equal(await (await fetch(`${url}/api/work`)).text(), "true,true,true,true,true string");
  } finally {
    child.kill();
  }
});

test("Vitest runs it in Node", () => {
  fs.writeFileSync(
    path.join(folder, "some.test.js"),
    `import { expect, test } from "vitest";
     import { compact, init, openSession, readConversations, replay } from "palimpsest";
     test("palimpsest", async () => {
       await init();
       expect(compact([{ role: "user", content: "Hello" }], { window: 1024 }).messages).toHaveLength(1);
       const session = await openSession({ model: "any", store: "memory" });
       expect(await session.append("Hello")).toEqual([0]);
       await session.close();
     });`,
  );
  assert.match(tool("vitest", ["run", "some.test.js"]), /1 passed/);
});
