// S5, I1, I6: the store contract, in both engines, in a page and in a worker; and in Node for the package's storage in files.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, launch, launchFirefox, open, serve } from "./page.mjs";

const CASES = 24;

let folder;
let server;

before(async () => {
  folder = build();
  fs.writeFileSync(
    path.join(folder, "worker.js"),
    `import init, { contract } from "/durability.js";
     onmessage = async ({ data }) => {
       try { await init(); postMessage(await contract(data)); } catch (error) { postMessage(JSON.stringify([0, 1, String(error)])); }
     };`,
  );
  server = await serve(folder);
});

after(async () => {
  await server?.close();
  fs.rmSync(folder, { recursive: true, force: true });
});

for (const [engine, start] of [["Chromium", launch], ["Firefox", launchFirefox]]) {
  test(`the store contract in ${engine}, page and worker`, { timeout: 600_000 }, async () => {
    const profile = fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-contract-"));
    const browser = await start(profile);
    try {
      const page = await open(browser, server.url);
      const inPage = await page.evaluate(() => globalThis.module.contract("page"));
      const inWorker = await page.evaluate(
        () => new Promise((resolve) => {
          const worker = new Worker("/worker.js", { type: "module" });
          worker.onmessage = ({ data }) => resolve(data);
          worker.onerror = (error) => resolve(JSON.stringify([0, 1, `worker: ${error.message}`]));
          worker.postMessage("worker");
        }),
      );
      const version = await browser.version();
      for (const [where, report] of [["page", inPage], ["worker", inWorker]]) {
        const [hold, fail, words] = JSON.parse(report);
        assert.deepEqual([hold, fail], [CASES, 0], `${engine}, ${where}: ${words}`);
        console.log(`# ${version}, ${where}: ${words}`);
      }
    } finally {
      await browser.close();
      fs.rmSync(profile, { recursive: true, force: true });
    }
  });
}

test("the store contract for files, in Node", { timeout: 600_000 }, async () => {
  const npm = process.env.PALIMPSEST_NPM ?? path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../dist/npm");
  assert.ok(fs.existsSync(npm), "run `cargo xtask pack` first");
  const { fileStorage } = await import(pathToFileURL(path.join(npm, "dist/node-stores.js")));
  fs.writeFileSync(path.join(folder, "package.json"), '{ "type": "module" }');
  const module = await import(pathToFileURL(path.join(folder, "durability.js")));
  await module.default({ module_or_path: fs.readFileSync(path.join(folder, "durability_bg.wasm")) });
  const storages = [];
  const make = () => {
    const storage = fileStorage(path.join(folder, `files-${storages.length}`));
    storages.push(storage);
    return {
      async store(call, given) {
        try {
          return JSON.stringify({ Ok: (await storage[call](JSON.parse(given))) ?? null });
        } catch (error) {
          return JSON.stringify({ Err: { code: error.code ?? "storage_failed", message: String(error.message) } });
        }
      },
    };
  };
  const [hold, fail, words] = JSON.parse(await module.contract_of(make));
  assert.deepEqual([hold, fail], [CASES, 0], words);
  assert.equal(storages.length, CASES, "each case had a folder of its own");
  for (const storage of storages) await storage.close();
});
