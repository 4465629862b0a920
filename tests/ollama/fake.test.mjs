// The fake's own promises: scripts, the recorder, deterministic summaries, cancellation, the OpenAI routes.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { HOSTILE, startFake } from "./fake.mjs";

const post = (fake, path, json, extra = {}) => fetch(fake.url + path, { method: "POST", body: JSON.stringify(json), ...extra });
const chat = (fake, content, fields = {}) => post(fake, "/api/chat", { model: "llama3.2:3b", messages: [{ role: "user", content }], stream: false, ...fields });

async function withFake(script, run) {
  const fake = await startFake(script);
  try {
    await run(fake);
  } finally {
    await fake.close();
  }
}

test("scripted replies come in order, then the default", () =>
  withFake({ replies: ["one", { content: "two", done_reason: "length" }, { status: 503, error: "server busy" }] }, async (fake) => {
    assert.equal((await (await chat(fake, "a")).json()).message.content, "one");
    assert.equal((await (await chat(fake, "b")).json()).done_reason, "length");
    const busy = await chat(fake, "c");
    assert.deepEqual([busy.status, await busy.json()], [503, { error: "server busy" }]);
    assert.match((await (await chat(fake, "d")).json()).message.content, /^Reply 4: you wrote "d"/);
  }));

test("a function sees the request", () =>
  withFake({ replies: (request, n) => `${n}:${request.messages.length}:${request.options.num_ctx}` }, async (fake) => {
    assert.equal((await (await chat(fake, "a", { options: { num_ctx: 2048 } })).json()).message.content, "1:1:2048");
  }));

test("the default answer to a summary request is shorter, repeatable, and made of what was said", () =>
  withFake({}, async (fake) => {
    const said = Array.from({ length: 30 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", text: `Sentence ${i} names the file src/part${i}.rs. ${"More words follow here. ".repeat(10)}` }));
    const messages = [{ role: "system", content: "Summarize the conversation." }, { role: "user", content: said.map((m) => JSON.stringify(m)).join("\n") }];
    const ask = async () => (await (await post(fake, "/api/chat", { model: "llama3.2:3b", messages, think: false, stream: false, options: { num_predict: 200, num_ctx: 16384 } })).json());
    const [first, second] = [await ask(), await ask()];
    assert.equal(first.message.content, second.message.content);
    assert.match(first.message.content, /The user said: Sentence 0 names the file src\/part0\.rs\./);
    assert.equal(first.done_reason, "stop");
    assert.ok(first.eval_count <= 200 && first.eval_count > 60, `${first.eval_count}`);
    assert.ok(first.prompt_eval_count > 4 * first.eval_count);
  }));

test("a chat that mentions summaries is no summary request", () =>
  withFake({}, async (fake) => {
    assert.match((await (await chat(fake, "Summarize this please")).json()).message.content, /^Reply 1/);
  }));

test("the recorder keeps the bytes, and what became of the request", () =>
  withFake({}, async (fake) => {
    const body = '{"model":"llama3.2:3b", "messages":[{"role":"user","content":"\u00e9\ud83d\ude00"}],"stream":false}';
    await (await fetch(`${fake.url}/api/chat`, { method: "POST", body, headers: { "X-Mine": "1" } })).text();
    await (await fetch(`${fake.url}/api/chat`, { method: "POST", body: Buffer.from([0x7b, 0xff]) })).text();
    const lines = (await (await fetch(`${fake.url}/__recorder`)).text()).trim().split("\n").map((line) => JSON.parse(line));
    assert.equal(lines.length, 2);
    assert.equal(lines[0].body, body);
    assert.ok(lines[0].headers.includes("X-Mine"));
    assert.deepEqual([lines[0].status, lines[0].sentMessages, lines[1].status, lines[1].bodyBase64], [200, 1, 400, "e/8="]);
    await fetch(`${fake.url}/__recorder`, { method: "DELETE" });
    assert.equal(await (await fetch(`${fake.url}/__recorder`)).text(), "");
  }));

test("the script can be set over HTTP; an unknown mode is refused by name", () =>
  withFake({}, async (fake) => {
    const bad = await post(fake, "/__script", { hostile: "no-such-mode" });
    assert.equal(bad.status, 400);
    assert.match((await bad.json()).error, /unknown hostile mode "no-such-mode"; known: endless/);
    await post(fake, "/__script", { replies: ["set"] });
    assert.equal((await (await chat(fake, "x")).json()).message.content, "set");
  }));

test("a client that goes away ends the answer, and the recorder says so", () =>
  withFake({ hostile: "endless", delay_ms: 1 }, async (fake) => {
    const stop = new AbortController();
    const answer = await post(fake, "/api/chat", { model: "llama3.2:3b", messages: [{ role: "user", content: "go" }] }, { signal: stop.signal });
    const reader = answer.body.getReader();
    await reader.read();
    stop.abort();
    for (let i = 0; i < 100 && !fake.requests[0].aborted; i += 1) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(fake.requests[0].aborted, true);
  }));

test("OpenAI chat: frames, usage on request, finish reason, errors of both servers", () =>
  withFake({ replies: ["Hi there", { tool_calls: [{ function: { name: "f", arguments: { a: 1 } } }] }], default_ctx: 256 }, async (fake) => {
    const ask = (fields) => post(fake, "/v1/chat/completions", { model: "llama3.2:3b", messages: [{ role: "user", content: "x" }], stream: true, ...fields });
    const text = await (await ask({ stream_options: { include_usage: true } })).text();
    const frames = text.split("\n\n").filter(Boolean);
    assert.equal(frames.at(-1), "data: [DONE]");
    const values = frames.slice(0, -1).map((frame) => JSON.parse(frame.slice(6)));
    assert.equal(values.map((v) => v.choices[0]?.delta.content ?? "").join(""), "Hi there");
    assert.deepEqual(values.at(-1).usage, { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 });
    assert.equal(values.at(-2).choices[0].finish_reason, "stop");
    const tool = await (await ask({ stream: false, tools: [{ type: "function", function: { name: "f" } }] })).json();
    assert.equal(tool.choices[0].finish_reason, "tool_calls");
    assert.equal(tool.choices[0].message.tool_calls[0].function.arguments, '{"a":1}');
    const missing = await ask({ model: "nope" });
    assert.deepEqual([missing.status, (await missing.json()).error.type], [404, "not_found_error"]);
    fake.setScript({ v1: "llama.cpp", default_ctx: 256 });
    const over = await post(fake, "/v1/chat/completions", { model: "llama3.2:3b", messages: [{ role: "user", content: "word ".repeat(400) }] });
    const { error } = await over.json();
    assert.deepEqual([over.status, error.type, error.n_ctx], [400, "exceed_context_size_error", 256]);
    assert.ok(error.n_prompt_tokens > 400);
  }));

test("the byte vocabulary and the counts agree", () =>
  withFake({ tokenizer: "bytes" }, async (fake) => {
    const show = await (await post(fake, "/api/show", { model: "llama3.2:3b", verbose: true })).json();
    assert.equal(show.model_info["tokenizer.ggml.tokens"].length, 260);
    const { prompt_eval_count: count } = await (await chat(fake, "né")).json();
    assert.equal(count, 4 + 5 + 3);
  }));

/** Every hostile mode answers over both dialects in a bounded time, or keeps silent, without bringing the fake down. */
test(`all ${Object.keys(HOSTILE).length} hostile modes do something, and the fake survives them`, async () => {
  assert.ok(Object.keys(HOSTILE).length >= 25);
  const openEnded = new Set(["endless", "slow", "hang", "silent", "late-done", "open-after-done"]);
  await withFake({}, async (fake) => {
    for (const mode of Object.keys(HOSTILE)) {
      for (const path of ["/api/chat", "/v1/chat/completions"]) {
        fake.setScript({ hostile: mode, mb: 2, kb: 20, slow_ms: 5, late_ms: 50, words: 100 });
        let bytes = 0;
        let ending = "closed";
        try {
          const answer = await post(fake, path, { model: "llama3.2:3b", stream: true, messages: [{ role: "user", content: "x" }] }, { signal: AbortSignal.timeout(openEnded.has(mode) ? 150 : 5000), redirect: "manual" });
          for await (const part of answer.body ?? []) bytes += part.length;
        } catch (error) {
          ending = error.name;
        }
        const silent = [ // huge headers are refused by the client itself
          "silent", "refuse", "empty-body", "no-content", "redirect", "empty-500", "huge-headers",
        ].includes(mode);
        assert.equal(bytes > 0, !silent, `${mode} over ${path}: ${bytes} bytes, ${ending}`);
        const alive = await fetch(`${fake.url}/api/version`);
        assert.equal(alive.status, 200, mode);
      }
    }
  });
});

test("it runs as a program, says where, and dies with its standard input", async () => {
  const child = spawn(process.execPath, [fileURLToPath(new URL("fake.mjs", import.meta.url)), "--port", "0", "--die-with-stdin"]);
  const [line] = await once(child.stdout, "data");
  const url = String(line).match(/^ready (http:\/\/127\.0\.0\.1:\d+)\n$/)[1];
  assert.equal((await fetch(`${url}/api/version`)).status, 200);
  child.stdin.end();
  const [code] = await once(child, "exit");
  assert.equal(code, 0);
});
