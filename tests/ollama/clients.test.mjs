// The fake driven by Ollama's official clients, npm `ollama` and PyPI `ollama`: an independent check of its protocol.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { startFake } from "./fake.mjs";
import { python } from "./venv.mjs";

async function official() {
  try {
    return await import("ollama");
  } catch (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
    return undefined;
  }
}

const client = await official();
const skip = client ? false : "the npm package ollama is not installed (cargo xtask setup installs it)";
const HELLO = [{ role: "user", content: "Hello" }];

async function withClient(script, run) {
  const fake = await startFake(script);
  try {
    await run(new client.Ollama({ host: fake.url }), fake);
  } finally {
    await fake.close();
  }
}

test("npm client: list, show, ps, version", { skip }, () =>
  withClient({ tokenizer: "bytes" }, async (ollama) => {
    const { models } = await ollama.list();
    assert.deepEqual(models.map((m) => m.name), ["llama3.2:3b", "qwen3:4b", "smollm2:135m"]);
    const show = await ollama.show({ model: "llama3.2:3b" });
    assert.equal(show.details.parameter_size, "3.2B");
    assert.equal(show.model_info["llama.context_length"], 131072);
    await ollama.chat({ model: "llama3.2:3b", messages: HELLO, options: { num_ctx: 2048 } });
    const running = await ollama.ps();
    assert.equal(running.models[0].name, "llama3.2:3b");
    assert.equal(running.models[0].context_length, 2048);
    assert.equal((await ollama.version()).version, "0.33.0");
  }));

test("npm client: chat whole and streamed, thinking, tools, generate", { skip }, () =>
  withClient({
    replies: ["Whole answer.", "Streamed answer.", { thinking: "I wonder.", content: "Yes." }, { tool_calls: [{ function: { name: "f", arguments: { a: [1] } } }] }, "Generated."],
  }, async (ollama) => {
    const whole = await ollama.chat({ model: "llama3.2:3b", messages: HELLO });
    assert.deepEqual([whole.message.content, whole.done_reason], ["Whole answer.", "stop"]);
    const parts = [];
    for await (const part of await ollama.chat({ model: "llama3.2:3b", messages: HELLO, stream: true })) parts.push(part);
    assert.equal(parts.map((p) => p.message.content).join(""), "Streamed answer.");
    assert.ok(parts.length > 2 && parts.at(-1).done && parts.at(-1).eval_count === parts.length);
    const thought = await ollama.chat({ model: "qwen3:4b", messages: HELLO, think: true });
    assert.deepEqual([thought.message.thinking, thought.message.content], ["I wonder.", "Yes."]);
    const call = await ollama.chat({ model: "llama3.2:3b", messages: HELLO, tools: [{ type: "function", function: { name: "f", description: "", parameters: { type: "object", properties: {} } } }] });
    assert.deepEqual(call.message.tool_calls[0].function.arguments, { a: [1] });
    assert.equal((await ollama.generate({ model: "llama3.2:3b", prompt: "Hello" })).response, "Generated.");
  }));

test("npm client: errors arrive as its ResponseError, an abort as AbortError", { skip }, () =>
  withClient({ delay_ms: 20, answer: { words: 500 } }, async (ollama, fake) => {
    await assert.rejects(ollama.chat({ model: "nope", messages: HELLO }), (error) => {
      assert.deepEqual([error.name, error.status_code, error.message], ["ResponseError", 404, "model 'nope' not found"]);
      return true;
    });
    const stream = await ollama.chat({ model: "llama3.2:3b", messages: HELLO, stream: true });
    await assert.rejects(async () => {
      for await (const part of stream) {
        assert.equal(part.done, false);
        ollama.abort();
      }
    }, { name: "AbortError" });
    for (let i = 0; i < 100 && !fake.requests.at(-1).aborted; i += 1) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(fake.requests.at(-1).aborted, true);
  }));

test("npm client: an error in the middle of a stream is thrown", { skip }, () =>
  withClient({ replies: [{ content: "one two three", error_after: 2 }] }, async (ollama) => {
    const stream = await ollama.chat({ model: "llama3.2:3b", messages: HELLO, stream: true });
    await assert.rejects(async () => {
      for await (const part of stream) assert.equal(part.done, false);
    }, /unexpected EOF/);
  }));

const PYTHON = fileURLToPath(new URL("client.py", import.meta.url));

/** Runs the same steps with the Python client; it prints what it saw as JSON. */
async function withPython(fake) {
  const child = spawn(python("clients"), [PYTHON, fake.url], { stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  let err = "";
  child.stdout.on("data", (data) => (out += data));
  child.stderr.on("data", (data) => (err += data));
  const code = await new Promise((resolve) => child.once("exit", resolve));
  assert.equal(code, 0, err);
  return JSON.parse(out);
}

test("Python client: list, show, chat streamed, tools, 404, abort", async () => {
  const fake = await startFake({
    replies: ["Whole answer.", "Streamed answer.", { tool_calls: [{ function: { name: "f", arguments: { a: [1] } } }] }, { content: "word ".repeat(500), delay_ms: 10 }],
  });
  try {
    const seen = await withPython(fake);
    assert.deepEqual(seen, {
      models: ["llama3.2:3b", "qwen3:4b", "smollm2:135m"],
      parameter_size: "3.2B",
      capabilities: ["completion", "tools"],
      whole: "Whole answer.",
      streamed: "Streamed answer.",
      done_reason: "stop",
      arguments: { a: [1] },
      error: { status: 404, text: "model 'nope' not found" },
      left_after: 3,
    });
    for (let i = 0; i < 100 && !fake.requests.at(-1).aborted; i += 1) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(fake.requests.at(-1).aborted, true);
  } finally {
    await fake.close();
  }
});
