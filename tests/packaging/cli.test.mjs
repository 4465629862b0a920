// The command line, as `npx palimpsest` runs it from the tarball.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { startFake } from "../ollama/fake.mjs";
import { install, remove, run } from "./consumer.mjs";

let folder;
before(() => { folder = install(); });
after(() => remove(folder));

const history = Array.from({ length: 80 }, (_, i) => ({
  role: i % 2 ? "assistant" : "user",
  content: `Message ${i}: parcel ${1000 + i} weighs ${i} kg and goes to gate ${i % 9}, never to the neighbour.`,
}));
const dialogue = [{ role: "user", content: "Where?" }, { role: "assistant", content: "Gate 4." }];

/** Writes a file of the consumer's and gives its name. */
function file(name, content) {
  fs.writeFileSync(path.join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
  return name;
}

/** The policies that the module itself replays if none is named. */
function everyPolicy() {
  return run(folder, `
    import { init, replay } from "palimpsest";
    await init();
    console.log(JSON.stringify((await replay(${JSON.stringify(dialogue)}, { window: 8192 })).policies.map(({ policy }) => policy)));
  `);
}

/** Runs the command; `input` goes to its standard input. */
function palimpsest(args, input, { env = {}, stopAt } = {}) {
  const child = spawn(path.join(folder, "node_modules/.bin/palimpsest"), args, { cwd: folder, stdio: "pipe", env: { ...process.env, NO_COLOR: "", FORCE_COLOR: "", ...env } });
  const got = { out: "", err: "" };
  child.stdout.on("data", (data) => { got.out += data; });
  child.stderr.on("data", (data) => {
    got.err += data;
    if (stopAt?.test(got.err) && !child.killed) child.kill("SIGINT");
  });
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  return new Promise((resolve) => child.once("close", (code) => resolve({ ...got, code })));
}

test("compact writes the messages to standard output and the story to standard error", async () => {
  const { code, out, err } = await palimpsest(["compact", file("long.json", history), "--window", "1024", "--pin", "Gate 4 is closed.", "--state", "state.json"]);
  assert.equal(code, 0, err);
  const messages = JSON.parse(out);
  assert.ok(messages.length < history.length);
  assert.match(messages[0].content, /- Gate 4 is closed\./);
  assert.deepEqual(messages.at(-1), history.at(-1));
  assert.match(err, /before\n.*after, of \d/s);
  const covered = (message) => Math.max(...[...message.content.matchAll(/\[Messages? (?:\d+-)?(\d+)\]/g)].map(([, last]) => Number(last)));
  assert.doesNotMatch(err, /\x1b/, "no colours where nobody looks");
  // the state it wrote keeps what the layers cover
  const more = Array.from({ length: 8 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: `Report ${i}: lane ${i} has ${i + 3} carts and ${i + 9} crates at the ramp.` }));
  const longer = [...history, ...more, { role: "user", content: "And now?" }];
  const again = await palimpsest(["compact", "-", "--window", "1024", "--pin", "Gate 4 is closed.", "--state", "state.json", "--json"], JSON.stringify(longer));
  const { messages: next, report } = JSON.parse(again.out);
  assert.ok(covered(next[1]) >= covered(messages[1]) && covered(messages[1]) > 0, "the layers still cover what they covered");
  assert.ok(report.covered.length >= 2, JSON.stringify(report.covered));
  // with what was covered and answers it before it
  assert.match(next.at(-1).content, /^<recalled_quotes>[^]*<\/recalled_quotes>\n\nAnd now\?$/);
  assert.ok(next.length < longer.length && report.after.tokens <= report.limit);
});

test("summaries come from a model where one is named", async () => {
  const fake = await startFake({});
  try {
    const { code, err } = await palimpsest(["compact", file("long.json", history), "--window", "4096", "--max-tokens", "900", "--ollama", fake.url, "--model", "llama3.2:3b"]);
    assert.equal(code, 0, err);
    const asked = fake.requests.filter((request) => request.path === "/api/chat").map((request) => JSON.parse(request.body));
    assert.ok(asked.length > 0);
    assert.deepEqual([asked[0].options.num_ctx, asked[0].truncate, asked[0].shift, asked[0].think], [4096, false, false, false]);
    assert.match(err, /summary 1: part 1 of/);
  } finally {
    await fake.close();
  }
  const gone = await palimpsest(["compact", "long.json", "--window", "4096", "--max-tokens", "900", "--ollama", "http://127.0.0.1:9", "--model", "m"]);
  assert.notEqual(gone.code, 0);
  assert.match(gone.err, /No server answers at http:\/\/127\.0\.0\.1:9: is Ollama running\?/);
  assert.equal(gone.out, "");
});

test("who is stopped has written nothing", async () => {
  const fake = await startFake({ hostile: "hang" });
  try {
    const args = ["compact", file("long.json", history), "--window", "4096", "--max-tokens", "900", "--ollama", fake.url, "--model", "llama3.2:3b", "--state", "never.json", "--output", "never.out"];
    const { code, out, err } = await palimpsest(args, undefined, { stopAt: /summary 1/ });
    assert.deepEqual([code, out], [130, ""], err);
    assert.match(err, /Stopped; nothing was written\.\n$/);
    assert.ok(!fs.existsSync(path.join(folder, "never.json")) && !fs.existsSync(path.join(folder, "never.out")));
  } finally {
    await fake.close();
  }
});

test("replay shows policies side by side", async () => {
  const shown = await palimpsest(["replay", file("long.json", history), "--policy", "balanced,watermark", "--window", "1024"]);
  assert.equal(shown.code, 0, shown.err);
  const lines = shown.out.split("\n");
  assert.match(lines[0], /^80 messages, [\d,]+ tokens said, a window of 1,024$/);
  assert.match(lines[1], /peak +last +sent +read again +compactions +refused +model calls$/);
  assert.ok(lines[2].startsWith("balanced ") && lines[3].startsWith("watermark "));
  assert.match(shown.out, /balanced +[▁▂▃▄▅▆▇█]{60}\n/);
  assert.match(shown.out, /facts left +.*number/);
  assert.equal(shown.err, "balanced: 1 of 2 …\nwatermark: 2 of 2 …\n", "what takes long tells how far it is");
  const { out, code } = await palimpsest(["replay", "-", "--policy", "balanced,checkpoints", "--window", "4096", "--json"], JSON.stringify([...history, ...history]));
  assert.equal(code, 0);
  const { messages, policies } = JSON.parse(out);
  assert.deepEqual([messages, policies.map((p) => p.policy)], [160, ["balanced", "checkpoints"]]);
  const all = JSON.parse((await palimpsest(["replay", "-", "--json"], JSON.stringify(dialogue))).out).policies.map((p) => p.policy);
  assert.deepEqual(all, everyPolicy(), "without names it is every one there is");
  for (const one of policies) {
    assert.equal(one.tokens.length, 160);
    assert.ok(one.compactions > 0 && one.modelCalls >= one.compactions && one.peak <= 4096, JSON.stringify({ ...one, tokens: 0 }));
    assert.ok(one.retention.every(({ said, shown: left, recallable }) => left + recallable <= said));
  }
  const wrong = await palimpsest(["replay", "long.json", "--policy", "balancd"]);
  assert.deepEqual([wrong.code, wrong.out], [1, ""]);
  assert.match(wrong.err, /unknown_policy: There is no policy called/);
});

test("inspect tells sizes and what is wrong, count counts", async () => {
  const broken = [...dialogue, { role: "tool", tool_call_id: "none", content: "lost" }];
  const seen = await palimpsest(["inspect", file("broken.json", broken), "--window", "100", "--json"]);
  const { messages, roles, problems, window } = JSON.parse(seen.out);
  assert.deepEqual([seen.code, messages, window, roles.user.messages, problems.map((p) => p.code)], [1, 3, 100, 1, ["orphan_result"]]);
  const shown = await palimpsest(["inspect", file("two.json", dialogue), "--window", "100"]);
  assert.equal(shown.code, 0, shown.err);
  assert.match(shown.out, /2 messages \(openai\), ≈ \d+ of 100 tokens/);
  assert.match(shown.out, /\[U+A+·+\]/);
  const coloured = await palimpsest(["inspect", "two.json", "--window", "100"], undefined, { env: { FORCE_COLOR: "1" } });
  assert.match(coloured.out, /\[\x1b\[34mU+\x1b\[0m\x1b\[32mA+\x1b\[0m\x1b\[90m·+\x1b\[0m\]/);
  assert.equal((await palimpsest(["inspect", "two.json", "--window", "100"], undefined, { env: { FORCE_COLOR: "1", NO_COLOR: "1" } })).out, shown.out);
  const counted = await palimpsest(["count", "-", "--text", "--json"], "one two three");
  const { tokens, source } = JSON.parse(counted.out);
  assert.equal(source, "estimated");
  assert.ok(tokens >= 3 && tokens <= 6, String(tokens));
});

test("import reads what other programs export", async () => {
  const node = (id, parent, role, text) => [id, { id, parent, message: { author: { role }, content: { parts: [text] } } }];
  const forms = {
    "chatgpt.json": [{ title: "T", current_node: "c", mapping: Object.fromEntries([node("a", null, "user", "Where?"), node("b", "a", "assistant", "Gate 1."), node("c", "a", "assistant", "Gate 4.")]) }],
    "claude.json": [{ name: "T", chat_messages: [{ sender: "human", text: "Where?" }, { sender: "assistant", content: [{ text: "Gate 4." }] }] }],
    "webui.json": [{ title: "T", chat: { history: { currentId: "b", messages: { a: { id: "a", parentId: null, role: "user", content: "Where?" }, b: { id: "b", parentId: "a", role: "assistant", content: "Gate 4." } } } } }],
    "lines.jsonl": dialogue.map((one) => JSON.stringify(one)).join("\n"),
    "wrapped.json": { title: "T", messages: dialogue },
  };
  for (const [name, content] of Object.entries(forms)) {
    const { out, err } = await palimpsest(["import", file(name, content)]);
    assert.deepEqual(JSON.parse(out || "null"), dialogue, `${name}: ${err}`);
  }
  // the time is known to compact, and no server is sent a field that it does not know
  const timed = file("timed.json", [{ name: "T", chat_messages: [{ sender: "human", text: "Where?", created_at: "2026-01-26T10:00:00Z" }] }]);
  assert.deepEqual(JSON.parse((await palimpsest(["import", timed])).out), [{ role: "user", content: "Where?" }]);
  const circle = { mapping: { a: { parent: "b", message: null }, b: { parent: "a", message: { author: { role: "user" }, content: { parts: ["x"] } } } }, current_node: "a" };
  assert.deepEqual(JSON.parse((await palimpsest(["import", file("circle.json", circle)])).out), [{ role: "user", content: "x" }]);
  const { out } = await palimpsest(["export", "wrapped.json"]);
  assert.equal(out, "# T\n\n## user\n\nWhere?\n\n## assistant\n\nGate 4.\n");
});

/** S7: the command and the package read what other programs write, with every branch, and say what was left out. */
test("import reads every format, with branches and a report", async () => {
  const fixtures = new URL("../fixtures/imports/", import.meta.url);
  const expected = {
    "chatgpt.json": ["chatgpt", 5, 1], "claude.json": ["claude", 5, 1], "open-webui.json": ["open-webui", 3, 1], "librechat.json": ["librechat", 4, 1],
    "lobehub.json": ["lobehub", 4, 0], "jan.jsonl": ["jan", 5, 0], "lm-studio.json": ["lm-studio", 6, 1], "sillytavern.jsonl": ["sillytavern", 4, 3],
    "claude-code.jsonl": ["claude-code", 7, 1], "codex.jsonl": ["codex", 6, 0], "pi.jsonl": ["pi", 6, 1], "opencode.json": ["opencode", 6, 0],
    "gemini-cli.json": ["gemini-cli", 4, 0], "gemini-cli.jsonl": ["gemini-cli", 3, 0],
  };
  assert.deepEqual(Object.keys(expected).sort(), fs.readdirSync(fixtures).filter((name) => name !== "README.md").sort());
  for (const [name, [format, messages, branches]] of Object.entries(expected)) {
    fs.copyFileSync(new URL(name, fixtures), path.join(folder, name));
    const { out, err } = await palimpsest(["import", name, "--json"]);
    const { conversations: [first], report } = JSON.parse(out || "null") ?? assert.fail(`${name}: ${err}`);
    assert.deepEqual([first.format, first.messages.length, first.branches.length, report.formats], [format, messages, branches, [format]], name);
  }
  const { out, err } = await palimpsest(["import", "sillytavern.jsonl"]);
  assert.deepEqual(JSON.parse(out).map(({ role }) => role), ["assistant", "user", "assistant", "user"]);
  assert.match(err, /sillytavern\.jsonl: not understood and left out: 1 × no JSON \(first: 6\)\./);
});

/** S7: a file of 200 MB is read in pieces, from wherever it comes, and nothing is kept of it but its messages. */
test("a large file is read while it arrives", async () => {
  const script = `
    import { importConversations, init } from "palimpsest";
    await init();
    const line = (n) => JSON.stringify({ role: n % 2 ? "assistant" : "user", content: "x".repeat(1000) + n }) + "\\n";
    let bytes = 0;
    async function* lines() { for (let n = 0; bytes < 200e6; n += 1) { const one = line(n); bytes += one.length; yield one; } }
    const streamed = await importConversations(lines());
    const peak = process.resourceUsage().maxRSS * 1024 / bytes;
    const blob = await importConversations(new Blob([line(0), line(1)]));
    const text = await importConversations(line(0) + line(1));
    const refused = await importConversations(new Uint8Array([123, 125])).catch(({ code, message }) => ({ code, message }));
    console.log(JSON.stringify([streamed.conversations[0].messages.length, peak, blob.conversations[0].messages, text.conversations[0].messages, refused]));`;
  const [streamed, peak, blob, text, refused] = run(folder, script);
  assert.ok(streamed > 180_000, String(streamed));
  // the messages' texts are once the file; twice more is what the engine has not collected yet
  assert.ok(peak < 3, `the process took ${peak} times the file's size`);
  assert.deepEqual(blob, text);
  assert.equal(refused.code, "bad_input");
  assert.match(refused.message, /it is an empty object\. Understood are ChatGPT, /);
});

test("what goes wrong is one sentence and a number", async () => {
  const check = async (args, code, expected, input) => {
    const got = await palimpsest(args, input);
    assert.deepEqual([got.code, got.out], [code, ""], got.err);
    assert.match(got.err, expected);
  };
  await check([], 2, /Which command\?/);
  await check(["shorten", "x"], 2, /There is no command "shorten"/);
  await check(["toString", "x"], 2, /There is no command/);
  await check(["compact", "long.json", "--windows", "3"], 2, /--windows/);
  await check(["compact", file("two.json", dialogue), "--window", "wide"], 2, /--window is a whole number/);
  await check(["compact", "nowhere.json"], 1, /There is no file nowhere\.json/);
  await check(["compact", "-"], 1, /- is empty/, "");
  await check(["compact", "-"], 1, /- is not JSON/, "{");
  await check(["compact", "-"], 1, /holds no messages/, "[1, 2]");
  await check(["compact", "-", "--window", "64"], 3, /^cannot_fit: /, JSON.stringify([{ role: "user", content: "word ".repeat(4000) }]));
});

/** R2: what a window would not hold is listed with its message; as a receipt by the schema that comes along; a check in CI ends with 1. */
test("forget lists what is gone, and writes the receipt", async () => {
  const long = file("long.json", [{ role: "user", content: "Never deliver to the neighbour." }, { role: "assistant", content: "Noted." }, ...history]);
  const told = await palimpsest(["forget", long, "--window", "1024"]);
  assert.equal(told.code, 0, told.err);
  assert.match(told.out, /^balanced: \d+ of \d+ facts are gone; \d+ of 82 messages stand whole/);
  assert.match(told.out, /\n {2}(user|assistant), message \d+: /);
  const { code, out, err } = await palimpsest(["forget", long, "--window", "1024", "--json"]);
  assert.equal(code, 0, err);
  const receipt = JSON.parse(out);
  const schema = JSON.parse(fs.readFileSync(path.join(folder, "node_modules/palimpsest/schema/receipt.schema.json"), "utf8"));
  assert.deepEqual(faults(receipt, schema), []);
  assert.deepEqual(faults({ ...receipt, kept: { ...receipt.kept, facts: "all" }, more: 1 }, schema), ["more is unknown", "kept.facts is no integer"]);
  assert.deepEqual([receipt.by, receipt.limit.window, receipt.why.covered.length > 0], ["balanced", 1024, true]);
  assert.equal(receipt.kept.facts + receipt.lost.facts, receipt.kept.of);
  assert.equal(receipt.lost.list.length, receipt.lost.facts);
  assert.ok(receipt.lost.facts > 0 && receipt.window.tokens <= receipt.limit.tokens, out.slice(0, 500));
  // the digest is of what was measured
  const { createHash } = await import("node:crypto");
  assert.equal(receipt.history.sha256, createHash("sha256").update(JSON.stringify(JSON.parse(fs.readFileSync(path.join(folder, long), "utf8")))).digest("hex"));
  // a window that somebody else made: the newest twenty messages forget the rule
  const newest = await palimpsest(["forget", long, "--against", file("newest.json", history.slice(-20)), "--json"]);
  const theirs = JSON.parse(newest.out);
  assert.deepEqual([theirs.by, theirs.why, theirs.kept.messages], ["newest.json", null, 20]);
  assert.ok(theirs.lost.list.some(({ class: name, message }) => name === "constraint" && message === 0));
  assert.equal((await palimpsest(["forget", long, "--against", "newest.json", "--at-most", "0"])).code, 1);
  assert.equal((await palimpsest(["forget", long, "--window", "32768", "--at-most", "0"])).code, 0);
  assert.equal((await palimpsest(["forget", long, "--policy", "balanced", "--against", "newest.json"])).code, 2);
});

/** What is wrong with a value by as much of JSON schema as the receipt's needs. */
function faults(value, schema, at = "") {
  const here = at || "it";
  if (schema.const !== undefined) return value === schema.const ? [] : [`${here} is not ${schema.const}`];
  if (schema.enum) return schema.enum.includes(value) ? [] : [`${here} is none of the names`];
  if (schema.oneOf) return schema.oneOf.some((one) => faults(value, one, at).length === 0) ? [] : schema.oneOf.flatMap((one) => faults(value, one, at));
  const kind = value === null ? "null" : Array.isArray(value) ? "array" : Number.isInteger(value) ? "integer" : typeof value;
  if (schema.type && ![schema.type].flat().includes(kind)) return [`${here} is no ${[schema.type].flat().join(" or ")}`];
  if (schema.minimum !== undefined && value < schema.minimum) return [`${here} is below ${schema.minimum}`];
  if (schema.pattern && !new RegExp(schema.pattern).test(value)) return [`${here} has another form`];
  if (kind === "array") return value.flatMap((one, i) => faults(one, schema.items ?? {}, `${at}[${i}]`));
  if (kind !== "object") return [];
  const name = (key) => (at ? `${at}.${key}` : key);
  const missing = (schema.required ?? []).filter((key) => !Object.hasOwn(value, key)).map((key) => `${name(key)} is missing`);
  const unknown = schema.additionalProperties === false ? Object.keys(value).filter((key) => !Object.hasOwn(schema.properties, key)).map((key) => `${name(key)} is unknown`) : [];
  return [...missing, ...unknown, ...Object.entries(schema.properties ?? {}).flatMap(([key, own]) => (Object.hasOwn(value, key) ? faults(value[key], own, name(key)) : []))];
}
