// The tarball through other people's tools: each builds a page (or runs a test) that asserts a value.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { launch, open, POLICY, result, serve } from "../packaging/browser.mjs";
import { install, remove } from "../packaging/consumer.mjs";

/** What every page does: a list is compacted, and a session in IndexedDB. Its text says whether all of it held. */
const WORK = `
  await init();
  const list = Array.from({ length: 80 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: "Message " + i + ": parcel " + (1000 + i) + " goes to gate " + (i % 9) + ", never to the neighbour." }));
  const { report } = compact(list, { window: 1024 });
  const session = await openSession({ model: "any", window: 1024 });
  await session.append(list.slice(0, 30));
  const done = await session.compact();
  await session.close();
  return [report.changed, report.after.tokens <= report.limit, done.report.after < done.report.before].join();
`;
const PAGE = `import { compact, init, openSession } from "palimpsest";
async function work() {${WORK}}
work().then((said) => { document.getElementById("result").textContent = said; }, (error) => { document.getElementById("result").textContent = error.code + ": " + error.message; });
`;

let folder;
let chrome;
before(async () => {
  folder = install([
    "esbuild@0.28.2", "rollup@4.68.7", "@rollup/plugin-node-resolve@16.0.3", "webpack@5.112.2", "webpack-cli@7.3.1", "vitest@4.1.12",
    "next@16.4.6", "react@19.3.1", "react-dom@19.3.1",
  ]);
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
    assert.equal(await result(page, /\S/), "true,true,true", problems.join("\n"));
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

test("webpack 5 takes the modules along by itself", async () => {
  const out = path.join(folder, "webpack");
  fs.writeFileSync(
    path.join(folder, "webpack.config.mjs"),
    `export default { mode: "production", entry: "./page.js", output: { path: ${JSON.stringify(out)}, filename: "main.js", module: true, publicPath: "auto" }, experiments: { outputModule: true }, performance: { hints: false } };`,
  );
  tool("webpack", ["--config", "webpack.config.mjs"]);
  assert.equal(fs.readdirSync(out).filter((name) => name.endsWith(".wasm")).length, 2);
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
  fs.writeFileSync(path.join(folder, "inline.js"), PAGE.replace('"palimpsest"', '"palimpsest/inline"'));
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
import { compact, init, openSession } from "palimpsest";
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

test("Vitest runs it in Node", () => {
  fs.writeFileSync(
    path.join(folder, "some.test.js"),
    `import { expect, test } from "vitest";
     import { compact, init, openSession } from "palimpsest";
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
