// Where the numbers come from: the budget bar turns from estimated to exact when the model's own vocabulary has come from its server,
// by way of the app's worker, and a second visit takes it from the cache.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { defaultModels } from "../ollama/fake.mjs";
import { byteVocabulary } from "../ollama/fake/models.mjs";
import { until } from "./acts.mjs";
import { begin, budget, cleanUp, data, say } from "./harness.mjs";

const SLOW = { timeout: 180_000 };
test.afterEach(cleanUp);

const source = (page) => page.$eval("#s-chat .budget", (element) => element.dataset.source);
/** Requests for a whole vocabulary. */
const asked = (fake) => fake.requests.filter((r) => r.method === "POST" && r.path === "/api/show" && JSON.parse(r.body).verbose === true).length;

/** Says something and waits until the reply is there and counted. */
async function turn(page, text) {
  const before = await page.$$eval(".msg:not(.replying)", (all) => all.length);
  await say(page, text);
  await until(page, (n) => document.querySelectorAll(".msg:not(.replying)").length >= n + 2 && !document.querySelector(".msg.replying"), before);
}

/** The fake's models with that vocabulary. */
function withVocabulary(vocabulary) {
  const info = Object.fromEntries(Object.entries(vocabulary).map(([key, value]) => [`tokenizer.ggml.${key}`, value]));
  return defaultModels().map((m) => ({ ...m, show: { ...m.show, model_info: { ...m.show.model_info, ...info } } }));
}

async function journey(script, texts, count) {
  const world = await begin({ script });
  const { page, fake } = world;
  await until(page, () => document.querySelector(".live.okc"));
  assert.equal(await source(page), "estimated");
  for (const text of texts) await turn(page, text);
  await until(page, () => document.querySelector("#s-chat .budget").dataset.source === "exact");
  assert.equal(asked(fake), 1);

  // To the token: what the bar says is what the server counts when nothing but the next words are added.
  const bar = await budget(page);
  const more = "Is that so?";
  await turn(page, more);
  const counted = fake.requests.filter((r) => r.method === "POST" && r.path === "/api/chat").at(-1).promptTokens;
  assert.equal(counted, bar.used + 5 + count(more));
  assert.equal(await page.$eval("#s-chat .sum", (line) => line.textContent.includes("≈")), false);

  // Another visit: from the cache, and exact at once.
  await page.reload();
  await page.waitForSelector("[data-session]");
  await until(page, () => document.querySelector("#s-chat .budget")?.dataset.source === "exact");
  assert.equal(asked(fake), 1);
  await world.end();
}

/** B7, B8: with a vocabulary of bytes, whose counts the fake knows for any text. */
test("the bar turns from estimated to exact with the server's vocabulary", SLOW, async () => {
  const count = (text) => Buffer.byteLength(text, "utf8");
  // a vocabulary without a merge is none: two control characters that nobody types become one token
  const { tokens, token_type } = byteVocabulary();
  const models = withVocabulary({ tokens: [...tokens, tokens[3] + tokens[4]], merges: [`${tokens[3]} ${tokens[4]}`], token_type: [...token_type, 1] });
  await journey({ models, counts: "bytes", replies: ["Because of the oven.", "There it was.", "Yes, it is.", "No."] }, ["Why is the bread black?", "Where was it?", "Really?"], count);
});

/** B8: with the vocabulary that a real Ollama returned for SmolLM2, on texts whose tokens llama.cpp counted. */
test("the same with a real model's vocabulary", SLOW, async (t) => {
  const [show, oracle] = ["ollama-golden/show_verbose.body", "oracle-tokens-smollm2.json"].map((name) => path.join(data, name));
  if (!fs.existsSync(show) || !fs.existsSync(oracle)) return t.skip(`no recorded vocabulary in ${data}`);
  const info = JSON.parse(fs.readFileSync(show, "utf8")).model_info;
  const known = JSON.parse(fs.readFileSync(oracle, "utf8")).texts.filter(({ text }) => text.trim() === text && /^[\p{L}]/u.test(text) && text.length < 400 && !text.includes("<|"));
  assert.ok(known.length >= 4, `${known.length} texts`);
  const table = Object.fromEntries(known.map(({ text, ids_parse_special: ids }) => [text, ids.length]));
  table["Is that so?"] = 4;
  const models = withVocabulary(Object.fromEntries(["tokens", "merges", "token_type"].map((key) => [key, info[`tokenizer.ggml.${key}`]])));
  const texts = known.map(({ text }) => text);
  const replies = [texts[1], texts[3], texts[1], texts[3]];
  await journey({ models, counts: { table }, replies }, [texts[0], texts[2], texts[0]], (text) => table[text]);
});
