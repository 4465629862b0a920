// A model in the page where there is none yet, and the browser's own. The real one is in resident-llama.test.mjs.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import { click, text, until } from "./acts.mjs";
import { ENGINES, begin, cleanUp, say } from "./harness.mjs";

test.afterEach(cleanUp);

/** An address at which nobody answers, on any machine. */
const NOBODY = "http://127.0.0.1:9";

/** Messages of a browser about a server that is not there. */
const ABSENT = { tolerate: [/ERR_CONNECTION_REFUSED|ERR_UNSAFE_PORT|Failed to load resource/, /request: http:\/\/(127\.0\.0\.1:9|localhost:11434)/] };

/// A page without a model, where no server answers either, takes a file of one, and refuses any other with a sentence.
test("a page without a model says how to add one, and takes no other file", { timeout: 180_000 }, async () => {
  const world = await begin({ settings: { address: NOBODY } });
  const { page } = world;
  await click(page, "#use-page-model");
  await until(page, () => /Add a small one as a GGUF file/.test(document.querySelector(".offline").textContent));
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-file-")), "notes.gguf");
  fs.writeFileSync(file, "These are notes.");
  await (await page.waitForSelector("#first-model-file")).uploadFile(file);
  await until(page, () => /notes\.gguf was not added: notes\.gguf is no GGUF file/.test(document.querySelector(".toasts").textContent));
  await page.evaluate(() => (location.hash = "settings"));
  await until(page, () => document.querySelector("#h-server").textContent.includes("This page") && document.querySelector("#model-file"));
  assert.equal(await page.$("#address"), null, "there is no address to set");
  // and back to a server
  await page.select("#kind", "ollama");
  await until(page, () => document.querySelector("#address")?.value === "http://localhost:11434");
  await world.end(ABSENT);
});

/** The beginning of a model's file: what kind of model it is, and no weights. */
function beginning() {
  const bytes = [];
  const whole = (value, size) => { for (let at = 0; at < size; at += 1) bytes.push(Math.floor(value / 256 ** at) % 256); };
  const text = (words) => { whole(words.length, 8); bytes.push(...Buffer.from(words)); };
  bytes.push(...Buffer.from("GGUF"));
  whole(3, 4);
  whole(0, 8);
  whole(2, 8);
  text("general.architecture"); whole(8, 4); text("llama");
  text("llama.context_length"); whole(4, 4); whole(2048, 4);
  return Buffer.from(bytes);
}

/// An added file is a model from then on, also after a reload; one that llama.cpp cannot load says so, the question stays, and added files are
/// removed again.
for (const engine of ENGINES) test(`a file is added, cannot be loaded, and is removed (${engine})`, { timeout: 180_000 }, async () => {
  const world = await begin({ engine, settings: { address: NOBODY } });
  const { page } = world;
  await click(page, "#use-page-model");
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-file-")), "Tiny model.gguf");
  fs.writeFileSync(file, beginning());
  await (await page.waitForSelector("#first-model-file")).uploadFile(file);
  await until(page, () => document.querySelector(".live.okc") && document.querySelector("#model").textContent === "tiny-model");
  await page.reload();
  await until(page, () => document.querySelector(".live.okc") && document.querySelector("#model").textContent === "tiny-model");
  await say(page, "Is anybody there?");
  await until(page, () => /The reply failed: \S/.test(document.querySelector("#s-chat").textContent) && !document.querySelector(".replying"));
  assert.match(await text(page, ".thread"), /Is anybody there\?/);
  await page.evaluate(() => (location.hash = "settings"));
  await click(page, "#drop-models");
  await until(page, () => !document.querySelector(".live.okc"));
  await page.evaluate(() => (location.hash = "chat"));
  await world.end(ABSENT);
});

/** A stand-in for the browser's own model, which no browser of the tests has: it answers with what it was asked, and counts words. */
function standIn() {
  const words = (text) => text.split(/\s+/).filter(Boolean).length;
  globalThis.LanguageModel = class {
    static availability = async () => "available";
    static made = [];
    static async create({ initialPrompts }) {
      const session = new this();
      session.inputUsage = initialPrompts.reduce((sum, { content }) => sum + words(content), 0);
      this.made.push(initialPrompts.map(({ role }) => role).join(" "));
      return session;
    }
    inputQuota = 512;
    measureInputUsage = async (text) => words(text);
    async *promptStreaming(text) {
      for (const word of `You said: ${text}`.split(" ")) {
        this.inputUsage += 1;
        yield `${word} `;
      }
    }
    destroy() {}
  };
}

/// A browser with a model of its own offers it beside the others. Each request stands for itself, and what the browser would leave out
/// is refused and made to fit.
test("the browser's own model answers where there is one", { timeout: 180_000 }, async () => {
  const world = await begin({ settings: { address: NOBODY, window: 1024 }, before: standIn });
  const { page } = world;
  await click(page, "#use-page-model");
  await until(page, () => document.querySelector(".live.okc"));
  await say(page, "Which bread is dark?");
  await until(page, () => /You said: Which bread is dark/.test(document.querySelector(".msg:last-of-type .prose")?.textContent ?? "") && !document.querySelector(".replying"));
  await say(page, "And which one is light?");
  await until(page, () => /You said: And which one is light/.test(document.querySelector(".msg:last-of-type .prose")?.textContent ?? "") && !document.querySelector(".replying"));
  const made = await page.evaluate(() => LanguageModel.made);
  assert.ok(made.includes("user assistant"), JSON.stringify(made));
  for (let n = 0; n < 4; n += 1) {
    await say(page, `Bread ${n} has a crust of rye and seeds, and costs ${n + 3} francs at the market${" of the town by the lake".repeat(9)}.`);
    await until(page, (n) => document.querySelectorAll(".msg .prose").length === 6 + 2 * n && !document.querySelector(".replying"), n);
  }
  assert.match(await text(page, ".thread .msg:nth-last-of-type(1) .prose"), /You said: Bread 3/);
  assert.ok(await page.evaluate(() => LanguageModel.made.length) > 6, "one was refused, and asked again");
  await world.end(ABSENT);
});
