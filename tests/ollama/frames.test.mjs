// What a real server's answers look like, in values of our own: the same promises as golden.test.mjs holds against recordings,
// where those are not at hand.

import assert from "node:assert/strict";
import { test } from "node:test";
import { startFake } from "./fake.mjs";

const MODEL = "smollm2:135m";

async function withFake(script, run) {
  const fake = await startFake(script);
  try {
    await run(fake);
  } finally {
    await fake.close();
  }
}

const post = (fake, path, body, headers = {}) => fetch(fake.url + path, { method: "POST", headers, body: typeof body === "string" ? body : JSON.stringify(body) });
const chat = (fake, content, fields = {}) => post(fake, "/api/chat", { model: MODEL, messages: [{ role: "user", content }], ...fields });
const frames = async (answer) => (await answer.text()).trim().split("\n").map((line) => JSON.parse(line));

test("a streamed answer: a line a piece, then the counts", () =>
  withFake({ counts: { table: { "How deep?": 9 } }, replies: [[" Nine", " metres", "."]] }, async (fake) => {
    const answer = await chat(fake, "How deep?");
    assert.equal(answer.headers.get("content-type"), "application/x-ndjson");
    const lines = await frames(answer);
    assert.deepEqual(lines.map((line) => [line.message.content, line.done]), [[" Nine", false], [" metres", false], [".", false], ["", true]]);
    const last = lines.at(-1);
    assert.deepEqual([last.done_reason, last.prompt_eval_count, last.eval_count], ["stop", 18, 4], "nine tokens of the text, nine of the template");
    assert.deepEqual(Object.keys(last), ["model", "created_at", "message", "done", "done_reason", "total_duration", "load_duration", "prompt_eval_count", "prompt_eval_duration", "eval_count", "eval_duration"]);
  }));

test("a whole answer is one object, with its length", () =>
  withFake({ replies: ["Nine metres."] }, async (fake) => {
    const answer = await chat(fake, "How deep?", { stream: false });
    assert.match(answer.headers.get("content-type"), /^application\/json/);
    const body = await answer.text();
    assert.equal(Number(answer.headers.get("content-length")), body.length);
    assert.equal(JSON.parse(body).message.content, "Nine metres.");
  }));

test("an answer that is cut says length", () =>
  withFake({ replies: [["a", " b", " c", " d"]] }, async (fake) => {
    const lines = await frames(await chat(fake, "count", { options: { num_predict: 2 } }));
    assert.deepEqual([lines.at(-1).done_reason, lines.at(-1).eval_count, lines.length], ["length", 2, 3]);
  }));

test("an error in the middle of a stream stays inside a 200", () =>
  withFake({ replies: [{ content: ["a", " b", " c"], error_after: 2 }] }, async (fake) => {
    const answer = await chat(fake, "count");
    assert.equal(answer.status, 200);
    const lines = await frames(answer);
    assert.equal(lines.length, 3);
    assert.deepEqual(Object.keys(lines.at(-1)), ["error"]);
  }));

test("a prompt that is too long: cut in silence, or refused with numbers where that is asked for", () =>
  withFake({ counts: { table: { long: 701 } }, replies: ["x", "y"] }, async (fake) => {
    const options = { num_ctx: 512 };
    const silent = (await frames(await chat(fake, "long", { options }))).at(-1);
    assert.ok(silent.prompt_eval_count < 512, `${silent.prompt_eval_count} tokens were read`);
    const refused = await chat(fake, "long", { options, truncate: false });
    const { error } = await refused.json();
    assert.deepEqual([refused.status, JSON.parse(error).error.n_ctx], [400, 512]);
    const unshifted = await chat(fake, "long", { options, shift: false });
    assert.equal(unshifted.status, 400);
    assert.equal(typeof (await unshifted.json()).error, "string");
  }));

test("errors have their own status and one sentence", () =>
  withFake({}, async (fake) => {
    const check = async (answer, status, words) => {
      assert.equal(answer.status, status);
      assert.match(await answer.text(), words);
    };
    await check(await post(fake, "/api/chat", '{"model": '), 400, /"error"/);
    await check(await post(fake, "/api/chat", { model: "nobody", messages: [] }), 404, /'nobody' not found/);
    await check(await chat(fake, "a", { options: { num_ctx: "4096" } }), 500, /num_ctx.*integer/);
    await check(await fetch(`${fake.url}/api/chat`), 405, /not allowed/);
    await check(await fetch(`${fake.url}/api/nothing`), 404, /not found/);
  }));

test("pages of this machine may ask, others get nothing", () =>
  withFake({}, async (fake) => {
    const ask = (origin) => fetch(`${fake.url}/api/chat`, { method: "OPTIONS", headers: { Origin: origin, "Access-Control-Request-Method": "POST" } });
    const here = await ask("http://localhost:5173");
    assert.deepEqual([here.status, here.headers.get("access-control-allow-origin")], [204, "http://localhost:5173"]);
    const foreign = await ask("https://example.org");
    assert.equal(foreign.headers.get("access-control-allow-origin"), null);
  }));
