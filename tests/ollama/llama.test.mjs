// The real model server as the tests and the demo use it: starts, answers pages of other origins, ends when it should.
// Slow and about 130 MB on first use, so it runs only when asked for: PALIMPSEST_LLAMA=1.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { startLlama } from "./llama.mjs";

const skip = process.env.PALIMPSEST_LLAMA ? false : "set PALIMPSEST_LLAMA=1 to test with a real llama.cpp";

test("a real llama.cpp serves a page of another origin, counts, and ends with its standard input", { skip }, async () => {
  const llama = await startLlama({ ctx: 1024 });
  try {
    const page = { Origin: "http://localhost:8080" };
    const preflight = await fetch(`${llama.url}/v1/chat/completions`, { method: "OPTIONS", headers: { ...page, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type" } });
    assert.equal(preflight.headers.get("access-control-allow-origin"), page.Origin);
    assert.equal(preflight.headers.get("access-control-allow-headers"), "*");
    const { data } = await (await fetch(`${llama.url}/v1/models`, { headers: page })).json();
    assert.deepEqual([data[0].id, data[0].meta.n_ctx, data[0].meta.n_ctx_train], ["smollm2:135m", 1024, 8192]);
    const post = (path, json) => fetch(llama.url + path, { method: "POST", headers: { ...page, "Content-Type": "application/json" }, body: JSON.stringify(json) });
    const { tokens } = await (await post("/tokenize", { content: "Hello world" })).json();
    assert.deepEqual(tokens, [19556, 905]);
    const answer = await post("/v1/chat/completions", { model: "smollm2:135m", max_tokens: 4, messages: [{ role: "user", content: "Hi" }] });
    assert.equal(answer.headers.get("access-control-allow-origin"), page.Origin);
    assert.equal((await answer.json()).usage.completion_tokens, 4);
    const over = await post("/v1/chat/completions", { model: "smollm2:135m", messages: [{ role: "user", content: "word ".repeat(2000) }] });
    const { error } = await over.json();
    assert.deepEqual([over.status, error.type, error.n_ctx], [400, "exceed_context_size_error", 1024]);
  } finally {
    await llama.close();
  }
  await assert.rejects(fetch(`${llama.url}/health`));
});

const noCargo = spawnSync("cargo", ["--version"]).status === 0 ? false : "cargo is not installed";

test("our codec streams from it, makes a real summary, and counts as its tokenizer does", { skip: skip || noCargo }, async () => {
  const llama = await startLlama({ ctx: 2048 });
  try {
    const cargo = spawn("cargo", ["test", "--quiet", "--package", "palimpsest-ollama", "--test", "llama", "--", "--ignored", "--nocapture"], {
      cwd: fileURLToPath(new URL("../..", import.meta.url)),
      env: { ...process.env, PALIMPSEST_LLAMA_URL: llama.url },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let out = "";
    let err = "";
    cargo.stdout.on("data", (data) => (out += data));
    cargo.stderr.on("data", (data) => (err += data));
    const code = await new Promise((resolve) => cargo.once("exit", resolve));
    assert.equal(code, 0, out + err);
    assert.match(out, /summarised \d+ tokens to \d+/);
    assert.match(out, /3 passed; 0 failed/);
    console.log(out.match(/summarised.*/)[0]);
  } finally {
    await llama.close();
  }
});

const described = fileURLToPath(new URL("../../../shared/data/ollama-golden/show_verbose.body", import.meta.url));
const noData = fs.existsSync(described) ? false : `no ${described}`;

/** Texts of every kind, from a generator that always says the same. */
function kinds(count) {
  let state = 42;
  const random = (n) => (state = (state * 48271) % 2147483647) % n;
  const pick = (list) => list[random(list.length)];
  const ranges = [[0x20, 0x7e], [0x20, 0x7e], [0x61, 0x7a], [0x30, 0x39], [0xa0, 0x17f], [0x370, 0x3ff], [0x400, 0x4ff], [0x590, 0x5ff], [0x620, 0x64a], [0x900, 0x97f], [0xe00, 0xe4f], [0x3040, 0x30ff], [0x4e00, 0x9fa5], [0xac00, 0xd7a3], [0x1f300, 0x1f64f], [0x2500, 0x257f], [0x300, 0x36f]];
  const words = ["the", "I'm", "they'll", "function", "return", "const x = ", "{\"id\": ", "\n\n", "\t", "    ", "  \n", "12345", "3.14", "http://a.b/c?d=e", "==", "->", "<|im_end|>", "</s>", "ﬁ", "…", "—", "\r\n", "e\u0301"];
  const run = () => {
    const [from, to] = pick(ranges);
    return Array.from({ length: 1 + random(12) }, () => String.fromCodePoint(from + random(to - from + 1))).join("");
  };
  return Array.from({ length: count }, () => Array.from({ length: 1 + random(30) }, () => (random(3) ? pick(words) : run()) + pick(["", " ", " "])).join(""));
}

/** B8: our ids are those of llama.cpp's own `/tokenize`, text for text. */
test("our ids are those of its /tokenize", { skip: skip || noCargo || noData }, async () => {
  const llama = await startLlama({ ctx: 1024 });
  try {
    const texts = kinds(2000);
    const cargo = spawnSync("cargo", ["run", "--quiet", "--package", "palimpsest-tokens", "--example", "ids", described], {
      cwd: fileURLToPath(new URL("../..", import.meta.url)),
      input: JSON.stringify(texts),
      maxBuffer: 1 << 28,
    });
    assert.equal(cargo.status, 0, String(cargo.stderr));
    const ours = JSON.parse(cargo.stdout);
    let tokens = 0;
    for (const [i, text] of texts.entries()) {
      const body = JSON.stringify({ content: text, add_special: false, parse_special: true });
      const theirs = await (await fetch(`${llama.url}/tokenize`, { method: "POST", headers: { "Content-Type": "application/json" }, body })).json();
      assert.deepEqual(ours[i], theirs.tokens, JSON.stringify(text));
      tokens += theirs.tokens.length;
    }
    console.log(`${texts.length} texts, ${tokens} tokens, 0 differences from /tokenize`);
  } finally {
    await llama.close();
  }
});
