// The fake against recorded answers of a real server: status, headers and body, byte for byte after the clock is taken out.
// Without the recordings frames.test.mjs holds the same shapes.

import assert from "node:assert/strict";
import http from "node:http";
import { test } from "node:test";
import { startFake, defaultModels } from "./fake.mjs";
import { golden, promptCounts, skipWithoutRecordings as skip } from "./recorded.mjs";

/** A request as bytes; every header of the answer as it came. */
export function request(url, { method = "GET", headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const req = http.request(url, { method, headers, agent: false }, (res) => {
      const parts = [];
      res.on("data", (part) => parts.push(part));
      res.on("end", () => {
        const raw = [];
        for (let i = 0; i < res.rawHeaders.length; i += 2) raw.push([res.rawHeaders[i], res.rawHeaders[i + 1]]);
        resolve({ status: res.statusCode, headers: raw, body: Buffer.concat(parts).toString() });
      });
      res.on("error", reject);
    });
    req.on("error", reject);
    req.end(body);
  });
}

/** Takes out what the clock and the machine decide. */
function normal(body) {
  return body
    .replace(/"(created_at|expires_at)":"[^"]*"/g, '"$1":"T"')
    .replace(/"(total|load|prompt_eval|eval)_duration":\d+/g, '"$1_duration":0');
}

function check(actual, expected) {
  assert.equal(actual.status, expected.status);
  assert.ok(normal(actual.body) === normal(expected.body), `got\n${normal(actual.body).slice(0, 2000)}\nnot\n${normal(expected.body).slice(0, 2000)}`);
  const timed = expected.body.includes("_duration"); // the length then depends on the digits of a clock
  const wanted = expected.headers.filter(([name]) => name !== "Date" && !(timed && name === "Content-Length"));
  for (const [name, value] of wanted) {
    const found = actual.headers.filter(([n]) => n === name).map(([, v]) => v);
    assert.ok(found.includes(value), `${name}: ${value}, but got ${found}`);
  }
  const extra = actual.headers.map(([n]) => n).filter((n) => !["Date", "Connection", "Keep-Alive", "Content-Length"].includes(n));
  assert.deepEqual(extra.filter((n) => !expected.headers.some(([m]) => m === n)), [], "headers the real server does not send");
}

/** The models of the recording, with what the real server said about them. */
function recordedModels() {
  const verbose = JSON.parse(golden("show_verbose").body);
  return JSON.parse(golden("tags").body).models.map((m) => {
    const { context_length: trained, embedding_length: embedding, ...details } = m.details;
    const { parameters, template, model_info, tensors } = verbose;
    return { ...m, details, trained, embedding, show: { parameters, template, model_info, tensors }, loaded_size: 124444998 };
  });
}

/** The pieces the real model streamed. */
function streamed(name, field = "content") {
  return golden(name).body.trim().split("\n").map((line) => JSON.parse(line))
    .filter((v) => !v.done).map((v) => (v.message ? v.message[field] : v.response) ?? "");
}

async function withFake(script, run) {
  const fake = await startFake({ version: "0.33.0-rc2", ...script });
  try {
    await run(fake);
  } finally {
    await fake.close();
  }
}

const FRANCE = [{ role: "user", content: "What is the capital of France?" }];
const post = (fake, path, json) => request(fake.url + path, { method: "POST", headers: { "Content-Type": "application/json" }, body: typeof json === "string" ? json : JSON.stringify(json) });

test("version, tags, show and verbose show are the recorded ones", { skip }, () =>
  withFake({ models: recordedModels() }, async (fake) => {
    check(await request(`${fake.url}/api/version`), golden("version"));
    check(await request(`${fake.url}/api/tags`), golden("tags"));
    // Go prints 1e-05 where JavaScript prints 0.00001: compared as values, keys in order.
    for (const [name, verbose] of [["show", false], ["show_verbose", true]]) {
      const actual = await post(fake, "/api/show", { model: "smollm2:135m", verbose });
      const reprint = (answer) => ({ ...answer, body: JSON.stringify(JSON.parse(answer.body)) });
      check(reprint(actual), reprint(golden(name)));
    }
  }));

test("ps follows what was loaded, with which window, and forgets what was unloaded", { skip }, () =>
  withFake({ models: recordedModels() }, async (fake) => {
    check(await request(`${fake.url}/api/ps`), golden("ps_empty"));
    check(await post(fake, "/api/chat", { model: "smollm2:135m", messages: [], options: { num_ctx: 512 }, keep_alive: "30m" }), golden("load"));
    check(await request(`${fake.url}/api/ps`), golden("ps"));
    check(await post(fake, "/api/chat", { model: "smollm2:135m", messages: [], keep_alive: 0 }), golden("unload"));
    check(await request(`${fake.url}/api/ps`), golden("ps_empty"));
  }));

test("chat, streamed and whole, and generate: frames and counts", { skip }, () =>
  withFake({ counts: { table: promptCounts().table }, replies: [streamed("chat_stream"), streamed("chat_stream")] }, async (fake) => {
    check(await post(fake, "/api/chat", { model: "smollm2:135m", messages: FRANCE }), golden("chat_stream"));
    check(await post(fake, "/api/chat", { model: "smollm2:135m", messages: FRANCE, stream: false }), golden("chat_nostream"));
  }));

test("generate differs from the recording only by the token ids the fake cannot know", { skip }, () =>
  withFake({ counts: { table: promptCounts().table }, replies: [streamed("generate_stream")] }, async (fake) => {
    const expected = golden("generate_stream");
    expected.body = expected.body.replace(/"context":\[[\d,]*\],/, "");
    check(await post(fake, "/api/generate", { model: "smollm2:135m", prompt: FRANCE[0].content }), expected);
  }));

test("an answer stopped by num_predict ends with reason length and no token over", { skip }, () =>
  withFake({ counts: { table: { "Tell me a story.": 5 } }, replies: [[...streamed("chat_length"), " never", " sent"]] }, async (fake) => {
    const actual = await post(fake, "/api/chat", { model: "smollm2:135m", messages: [{ role: "user", content: "Tell me a story." }], options: { num_predict: 12 } });
    check(actual, golden("chat_length"));
  }));

test("thinking and tool calls are framed as recorded", { skip }, () =>
  withFake({
    models: recordedModels(),
    replies: [
      { thinking: streamed("think_stream", "thinking"), prompt_eval_count: 17, eval_count: 12, done_reason: "length" },
      { tool_calls: [{ id: "call_wek5i7y2", function: { name: "get_weather", arguments: { city: "Paris" } } }], prompt_eval_count: 65, eval_count: 17 },
    ],
  }, async (fake) => {
    check(await post(fake, "/api/chat", { model: "smol-think", messages: FRANCE, options: { num_predict: 12 } }), golden("think_stream"));
    check(await post(fake, "/api/chat", { model: "smol-tools", messages: FRANCE, tools: [{ type: "function", function: { name: "get_weather" } }] }), golden("tools_stream"));
  }));

test("an error in the middle of a stream stays inside a 200", { skip }, () =>
  withFake({ replies: [{ content: ["Once", " upon", " a", " time"], error_after: 3 }] }, async (fake) => {
    check(await post(fake, "/api/chat", { model: "smollm2:135m", messages: FRANCE }), golden("midstream_error"));
  }));

test("errors are word for word", { skip }, () =>
  withFake({}, async (fake) => {
    const chat = (json) => post(fake, "/api/chat", json);
    check(await chat(""), golden("err_emptybody_400"));
    check(await chat('{"model": '), golden("err_badjson_400"));
    check(await chat({ model: "nope", messages: FRANCE }), golden("err_model_404"));
    check(await chat({ model: "smollm2:135m", messages: FRANCE, think: true }), golden("err_think_400"));
    check(await chat({ model: "smollm2:135m", messages: FRANCE, tools: [{ type: "function" }] }), golden("err_tools_400"));
    check(await chat({ model: "smollm2:135m", messages: FRANCE, options: { num_ctx: "4096" } }), golden("err_option_500"));
    check(await request(`${fake.url}/api/nothing`), golden("err_404path"));
    check(await request(`${fake.url}/api/chat`), golden("err_405"));
    const missing = await post(fake, "/api/show", { model: "nope" });
    assert.equal(missing.body, '{"error":"model \'nope:latest\' not found"}');
  }));

test("overflow: cut in silence by default, refused with and without numbers when asked to", { skip }, () =>
  withFake({ counts: { table: { long: 701, longer: 2301 } }, replies: [{ content: "" }] }, async (fake) => {
    const chat = (content, fields) => post(fake, "/api/chat", { model: "smollm2:135m", messages: [{ role: "user", content }], options: { num_ctx: 512 }, ...fields });
    check(await chat("longer", {}), golden("ctx_silent_truncation_200"));
    check(await chat("long", { truncate: false }), golden("err_ctx_truncate_false_400"));
    check(await chat("long", { shift: false }), golden("err_ctx_shift_false_400"));
  }));

test("CORS: the recorded preflight, and nothing at all for a foreign page", { skip }, () =>
  withFake({}, async (fake) => {
    const preflight = { method: "OPTIONS", headers: { Origin: "http://localhost:5173", "Access-Control-Request-Method": "POST" } };
    check(await request(`${fake.url}/api/chat`, preflight), golden("cors_preflight_ok"));
    for (const origin of ["https://example.org", "null", "chrome-extension://abc", "http://[::1]:8080", "http://192.168.1.5:8080"]) {
      check(await request(`${fake.url}/api/tags`, { headers: { Origin: origin } }), golden("cors_forbidden"));
    }
    assert.equal(fake.requests.at(-1).status, 403);
  }));

/** Every recorded prompt around the limit: what is kept, what is counted, what is refused, and how far the answer may run. */
test("all recorded prompts: counts, refusals, silent cuts, and the rendered text", { skip }, async () => {
  const { entries, table } = promptCounts();
  const models = defaultModels().filter((m) => m.name === "smollm2:135m");
  let compared = 0;
  let rendered = 0;
  const different = [];
  await withFake({ models, counts: { table } }, async (fake) => {
    for (const entry of entries) {
      if (entry.request.model !== "smollm2:135m" || !entry.request.messages) continue;
      if (entry.part === "template" && /^(space|special|role\/uppercase|empty)/.test(entry.name)) continue; // needs a real vocabulary
      const words = Array.from({ length: 12 }, () => "word");
      const replies = [entry.done_reason === "stop" ? { content: words.slice(0, entry.eval_count - 1) } : { content: words.concat(Array(5000).fill("word")) }];
      fake.setScript({ models, counts: { table }, replies });
      const { messages, options, flags } = entry.request;
      const actual = await post(fake, "/api/chat", { model: "smollm2:135m", messages, options, ...flags, stream: false });
      const value = JSON.parse(actual.body);
      const said = [actual.status, value.error ?? null, value.prompt_eval_count ?? null, value.eval_count ?? null, value.done_reason ?? null];
      const recorded = [entry.status, entry.error, entry.prompt_eval_count, entry.eval_count, entry.done_reason];
      if (JSON.stringify(said) !== JSON.stringify(recorded)) different.push({ name: entry.name, said, recorded });
      compared += 1;
      if (entry.status === 200 && entry.rendered && entry.part === "template" ) {
        const probe = await post(fake, "/api/chat", { model: "smollm2:135m", messages, options, ...flags, _debug_render_only: true });
        assert.equal(JSON.parse(probe.body)._debug_info.rendered_template, entry.rendered, entry.name);
        rendered += 1;
      }
    }
  });
  assert.deepEqual(different, []);
  assert.ok(compared >= 190, `compared only ${compared}`);
  console.log(`compared ${compared} recorded prompts, ${rendered} rendered texts`);
});
