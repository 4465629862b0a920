// The tarball through other people's tools: each builds a page (or runs a test) that asserts a value.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { launch, open, result, serve } from "./browser.mjs";
import { install, remove } from "./consumer.mjs";

const PAGE = `import { compact, init, openSession } from "palimpsest";
await init();
const list = Array.from({ length: 80 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: "Message " + i + ": parcel " + (1000 + i) + " goes to gate " + (i % 9) + ", never to the neighbour." }));
const { report } = compact(list, { window: 1024 });
const session = await openSession({ model: "any", window: 1024 });
await session.append(list.slice(0, 30));
const done = await session.compact();
await session.close();
document.getElementById("result").textContent = [report.changed, report.after.tokens <= report.limit, done.report.after < done.report.before].join();
`;

let folder;
let chrome;
before(async () => {
  folder = install(["esbuild@0.25", "rollup@4", "@rollup/plugin-node-resolve@16", "webpack@5", "webpack-cli@6", "vitest@4"]);
  fs.writeFileSync(path.join(folder, "page.js"), PAGE);
  chrome = await launch();
});
after(async () => {
  await chrome?.close();
  remove(folder);
});

const bin = (name) => path.join(folder, "node_modules/.bin", name);
const modules = () => path.join(folder, "node_modules/palimpsest/dist/wasm");

/** Serves what a tool made, as the page `main.js`, and reads what it says. */
async function check(out, script = "main.js") {
  fs.writeFileSync(path.join(out, "index.html"), `<!doctype html><link rel="icon" href="data:,"><p id="result"></p><script type="module" src="${script}"></script>`);
  const server = await serve(out);
  try {
    const { page, problems } = await open(chrome.browser, server.url);
    assert.equal(await result(page, /,/), "true,true,true", problems.join("\n"));
    assert.deepEqual(problems, []);
    await page.close();
  } finally {
    await server.close();
  }
}

test("webpack 5 takes the modules along by itself", async () => {
  fs.writeFileSync(
    path.join(folder, "webpack.config.mjs"),
    `export default { mode: "production", entry: "./page.js", output: { path: ${JSON.stringify(path.join(folder, "webpack"))}, filename: "main.js", module: true, publicPath: "auto" }, experiments: { outputModule: true }, performance: { hints: false } };`,
  );
  execFileSync(bin("webpack"), ["--config", "webpack.config.mjs"], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  await check(path.join(folder, "webpack"));
});

test("esbuild, with the modules copied beside", async () => {
  const out = path.join(folder, "esbuild");
  execFileSync(bin("esbuild"), ["page.js", "--bundle", "--format=esm", "--splitting", `--outdir=${out}`, "--entry-names=main", "--log-level=warning"], { cwd: folder, stdio: "inherit" });
  fs.cpSync(modules(), path.join(out, "wasm"), { recursive: true });
  await check(out);
});

test("esbuild, inline: nothing beside the JavaScript", async () => {
  const out = path.join(folder, "inline");
  fs.writeFileSync(path.join(folder, "inline.js"), PAGE.replace('"palimpsest"', '"palimpsest/inline"'));
  execFileSync(bin("esbuild"), ["inline.js", "--bundle", "--format=esm", `--outdir=${out}`, "--entry-names=main", "--log-level=warning"], { cwd: folder, stdio: "inherit" });
  await check(out);
});

test("rollup, with the modules copied beside", async () => {
  const out = path.join(folder, "rollup");
  execFileSync(bin("rollup"), ["page.js", "--plugin", "node-resolve={browser:true}", "--format", "es", "--dir", out, "--entryFileNames", "main.js", "--silent"], { cwd: folder, stdio: "inherit" });
  fs.cpSync(modules(), path.join(out, "wasm"), { recursive: true });
  await check(out);
});

test("Vitest runs it in Node", () => {
  fs.writeFileSync(
    path.join(folder, "some.test.js"),
    `import { expect, test } from "vitest";
     import { compact, init, openSession } from "palimpsest";
     test("palimpsest", async () => {
       await init();
       expect(compact([{ role: "user", content: "Hello" }], { window: 1024 }).messages).toHaveLength(1);
       const session = await openSession({ model: "any" });
       expect(await session.append("Hello")).toEqual([0]);
       await session.close();
     });`,
  );
  const out = execFileSync(bin("vitest"), ["run", "some.test.js"], { cwd: folder, encoding: "utf8", env: { ...process.env, NO_COLOR: "1" } });
  assert.match(out, /1 passed/);
});
