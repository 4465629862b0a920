// A conversation held in the app with a real model: llama.cpp's server with SmolLM2, through the OpenAI-compatible dialect.
// Nothing is asserted about what it says. Slow, so it runs only when asked for: PALIMPSEST_LLAMA=1.

import assert from "node:assert/strict";
import test from "node:test";
import { startLlama } from "../ollama/llama.mjs";
import { click, patient } from "./acts.mjs";
import { begin, budget, cleanUp, say } from "./harness.mjs";

const skip = process.env.PALIMPSEST_LLAMA ? false : "set PALIMPSEST_LLAMA=1 to test with a real llama.cpp";
test.afterEach(cleanUp);

const until = patient(240_000);
const replies = (page) => page.$$eval(".msg:not(.you):not(.replying) .prose", (all) => all.map((one) => one.textContent.trim()));

for (const server of ["openai", "llamacpp"]) {
  test(`a conversation with a real model, its compaction, and on: server kind ${server}`, { skip, timeout: 900_000 }, async () => {
    const llama = await startLlama({ ctx: 4096 });
    try {
      const world = await begin({ settings: { server, address: llama.url, window: 4096, model: "smollm2:135m" } });
      const { page } = world;
      await until(page, () => document.querySelector(".live.okc"));
      const questions = ["Name three kinds of bread.", "Which of them needs a sourdough starter?", "How long does a loaf bake at 220 °C?", "And what is sold at a bakery in Lyon?"];
      for (const [i, question] of questions.entries()) {
        await say(page, question);
        await until(page, (n) => document.querySelectorAll(".msg:not(.you):not(.replying) .prose").length >= n && !document.querySelector(".replying"), i + 1);
      }
      const said = await replies(page);
      assert.equal(said.length, questions.length);
      assert.ok(said.every((reply) => reply.length > 0), JSON.stringify(said));
      const before = await budget(page);
      await click(page, "#compact");
      await until(page, () => document.querySelector(".card.done") || document.querySelector(".card h3")?.textContent === "Nothing was written");
      const after = await budget(page);
      assert.ok(after.used <= 3277, JSON.stringify({ before, after }));
      const by = await page.$$eval(".card.done dt", (all) => all.find((dt) => dt.textContent === "Written by")?.nextElementSibling.textContent);
      await say(page, "Thank you. Say goodbye.");
      await until(page, (n) => document.querySelectorAll(".msg:not(.you):not(.replying) .prose").length > n && !document.querySelector(".replying"), questions.length);
      const thread = await page.$$eval(".msg .prose", (all) => all.length);
      await page.reload();
      await until(page, (n) => document.querySelectorAll(".msg .prose").length === n, thread);
      console.log(`# ${before.used} → ${after.used} tokens, written by ${by}; the last reply: ${JSON.stringify(said.at(-1).slice(0, 120))}`);
      if (process.env.PALIMPSEST_LOOK) await page.screenshot({ path: process.env.PALIMPSEST_LOOK });
      // the doctor asks for pages that this server does not have
      await world.end({ tolerate: [new RegExp(`request: ${llama.url}`), /404 \(Not Found\)/] });
    } finally {
      await llama.close();
    }
  });
}

/// P7: the real server goes on with a reply that was stopped: what it wrote before stays, and both are one message.
for (const server of ["openai", "llamacpp"]) {
  test(`a reply of a real model is stopped and continued: server kind ${server}`, { skip, timeout: 900_000 }, async () => {
    const llama = await startLlama({ ctx: 4096 });
    try {
      const world = await begin({ settings: { server, address: llama.url, window: 4096, model: "smollm2:135m" } });
      const { page } = world;
      await until(page, () => document.querySelector(".live.okc"));
      await say(page, "Tell a long story of a baker who sails around the world.");
      await until(page, () => (document.querySelector(".replying .prose")?.textContent.trim().split(/\s+/).length ?? 0) >= 12);
      await page.keyboard.press("Escape");
      await until(page, () => /Stopped before its end/.test(document.querySelector(".ended")?.textContent ?? "") && !document.querySelector(".replying"));
      const [part] = await replies(page);
      assert.ok(part.split(/\s+/).length >= 12, part);
      await click(page, "#continue");
      await until(page, (length) => !document.querySelector(".replying") && document.querySelector(".msg:not(.you) .prose").textContent.trim().length > length, part.length);
      const both = await replies(page);
      assert.equal(both.length, 1, "one message of both");
      assert.equal(both[0].slice(0, part.length), part, "what was written before stays");
      assert.notEqual(both[0].slice(part.length, part.length * 2).trim(), part.trim(), "it goes on instead of beginning anew");
      await page.reload();
      await until(page, (length) => document.querySelector(".msg:not(.you) .prose")?.textContent.trim().length === length, both[0].length);
      console.log(`# … ${JSON.stringify(part.slice(-60))} | ${JSON.stringify(both[0].slice(part.length, part.length + 60))} …`);
      await world.end({ tolerate: [new RegExp(`request: ${llama.url}`), /404 \(Not Found\)/] });
    } finally {
      await llama.close();
    }
  });
}
