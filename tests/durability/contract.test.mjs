// S5, I1, I6: the store contract, in both engines, in a page and in a worker.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
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
