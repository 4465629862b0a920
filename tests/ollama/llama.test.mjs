// The real model server as the tests and the demo use it: starts, answers pages of other origins, ends when it should.
// Slow and about 130 MB on first use, so it runs only when asked for: PALIMPSEST_LLAMA=1.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
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
    const cargo = spawn("cargo", ["test", "--quiet", "--package", "palimpsest-ollama", "--test", "llama", "--", "--nocapture"], {
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
