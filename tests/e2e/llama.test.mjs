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
      const replies = await page.$$eval(".msg:not(.you) .prose", (all) => all.map((one) => one.textContent.trim()));
      assert.equal(replies.length, questions.length);
      assert.ok(replies.every((reply) => reply.length > 0), JSON.stringify(replies));
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
      console.log(`# ${before.used} → ${after.used} tokens, written by ${by}; the last reply: ${JSON.stringify(replies.at(-1).slice(0, 120))}`);
      if (process.env.PALIMPSEST_LOOK) await page.screenshot({ path: process.env.PALIMPSEST_LOOK });
      // the doctor asks for pages that this server does not have
      await world.end({ tolerate: [new RegExp(`request: ${llama.url}`), /404 \(Not Found\)/] });
    } finally {
      await llama.close();
    }
  });
}
