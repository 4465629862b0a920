// The pages of www/ in real browsers, under a strict policy, and the conformance cases there.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { defaultModels, startFake } from "../ollama/fake.mjs";
import { launch, open, POLICY, result, serve } from "./browser.mjs";
import { build as rolldown } from "../node_modules/rolldown/dist/index.mjs";
import { copy, install, remove, root } from "./consumer.mjs";

let folder;
let chrome;
before(async () => {
  folder = install([], ["ui", "inline"]);
  for (const page of ["plain", "worker"]) {
    copy(`www/${page}`, path.join(folder, page));
    for (const name of ["palimpsest", "palimpsest-ui"]) fs.cpSync(path.join(folder, "node_modules", name), path.join(folder, page, name), { recursive: true });
  }
  copy("tests/conformance", path.join(folder, "plain/cases"));
  fs.copyFileSync(path.join(root, "tests/packaging/answer.js"), path.join(folder, "plain/answer.js"));
  fs.writeFileSync(path.join(folder, "plain/cases.html"), '<!doctype html><link rel="icon" href="data:,"><p id="result"></p>');
  chrome = await launch();
});
after(async () => {
  await chrome?.close();
  remove(folder);
});

/** A page without a bundler, under a strict policy, compacts what is typed into it. */
test("plain page", async () => {
  const server = await serve(path.join(folder, "plain"));
  try {
    const { page, problems } = await open(chrome.browser, server.url);
    assert.equal(await result(page, /Ready/), "Ready.");
    await page.click("button");
    const said = await result(page, /became/);
    const [before, after, limit] = said.match(/\d+/g).map(Number);
    assert.ok(after <= limit && limit < before, said);
    const messages = JSON.parse(await page.$eval("#messages-after", (e) => e.textContent));
    assert.match(JSON.stringify(messages), /Never deliver to the neighbour/);
    await page.$eval("#window", (e) => { e.value = "0"; });
    await page.$eval("#form", (e) => { e.noValidate = true; });
    await page.click("button");
    assert.match(await result(page, /invalid_window/), /^invalid_window: A window of 0 tokens is not possible/);
    assert.deepEqual(problems, []);
  } finally {
    await server.close();
  }
});

/** A worker does the same; its errors keep their code. */
test("worker", async () => {
  const server = await serve(path.join(folder, "worker"));
  try {
    const { page, problems } = await open(chrome.browser, server.url);
    const said = await result(page, /became/);
    assert.match(said, /^200 messages became \d+, within the limit; a mistake is bad_input\.$/);
    assert.ok(Number(said.match(/became (\d+)/)[1]) < 100, said);
    assert.deepEqual(problems, []);
  } finally {
    await server.close();
  }
});

/** The wrong address and a policy without wasm are named, with the cure. */
test("what goes wrong on a page says how to mend it", async () => {
  const wrong = path.join(folder, "wrong");
  fs.cpSync(path.join(folder, "plain"), wrong, { recursive: true });
  fs.rmSync(path.join(wrong, "palimpsest/dist/wasm/palimpsest_npm_bg.wasm"));
  const html = await serve(wrong, { fallback: true });
  const strict = await serve(path.join(folder, "plain"), { policy: POLICY.replace(" 'wasm-unsafe-eval'", "") });
  try {
    for (const [url, code, cure] of [[html.url, "load_failed", /HTML page instead of the wasm module/], [strict.url, "load_failed", /script-src 'wasm-unsafe-eval'/]]) {
      const { page } = await open(chrome.browser, `${url}/cases.html`);
      const error = await page.evaluate(async () => {
        const { init } = await import("./palimpsest/dist/index.js");
        return init().then(() => ({}), ({ code, message, retryable }) => ({ code, message, retryable }));
      });
      assert.deepEqual([error.code, error.retryable], [code, true]);
      assert.match(error.message, cure);
    }
  } finally {
    await html.close();
    await strict.close();
  }
});

/** Webviews that may fetch nothing bundle the package whose module is in its JavaScript. */
test("palimpsest-inline where nothing may be fetched", async () => {
  fs.writeFileSync(path.join(folder, "inlined.js"), 'export * from "palimpsest-inline";\n');
  await rolldown({ input: path.join(folder, "inlined.js"), output: { dir: path.join(folder, "plain/inlined") }, logLevel: "silent" });
  const server = await serve(path.join(folder, "plain"), { policy: POLICY.replace("connect-src 'self'", "connect-src 'none'") });
  try {
    const { page, problems } = await open(chrome.browser, `${server.url}/cases.html`);
    const tokens = await page.evaluate(async () => {
      const { countTokens, init } = await import("./inlined/inlined.js");
      await init();
      return countTokens("A short text.").tokens;
    });
    assert.ok(tokens >= 3 && tokens <= 6, String(tokens));
    assert.deepEqual(problems, []);
  } finally {
    await server.close();
  }
});

/** I2: what the native crate answers, browsers answer, byte for byte. */
for (const name of ["chrome", "firefox"]) {
  test(`conformance cases in ${name}`, async () => {
    const files = fs.readdirSync(path.join(root, "tests/conformance")).filter((file) => file.endsWith(".json")).sort();
    const server = await serve(path.join(folder, "plain"));
    const { browser, close } = name === "chrome" ? { browser: chrome.browser, close: async () => {} } : await launch(name);
    try {
      const { page } = await open(browser, `${server.url}/cases.html`);
      const answers = await page.evaluate(async (files) => {
        const [palimpsest, { answer }] = await Promise.all([import("./palimpsest/dist/index.js"), import("./answer.js")]);
        await palimpsest.init();
        const load = async (file) => [file, JSON.stringify(await answer(palimpsest, await (await fetch(`cases/${file}`)).json()))];
        return Object.fromEntries(await Promise.all(files.map(load)));
      }, files);
      for (const file of files) {
        const { expected } = JSON.parse(fs.readFileSync(path.join(root, "tests/conformance", file), "utf8"));
        assert.ok(answers[file] === JSON.stringify(expected), `${file} is answered differently`);
      }
      assert.ok(files.length >= 13);
    } finally {
      await close();
      await server.close();
    }
  });
}

/** S5, I2: a session in IndexedDB is there after the page was left, byte for byte, and has one writer; a worker has it too. */
for (const name of ["chrome", "firefox"]) {
  test(`sessions in IndexedDB, ${name}`, async () => {
    const server = await serve(path.join(folder, "plain"));
    const { browser, close } = name === "chrome" ? { browser: chrome.browser, close: async () => {} } : await launch(name);
    try {
      const { page, problems } = await open(browser, `${server.url}/cases.html`);
      const first = await page.evaluate(async () => {
        const { openSession } = await import("./palimpsest/dist/index.js");
        const session = await openSession({ id: "kept", model: "any", window: 2048, store: "indexeddb", system: "Sort parcels." });
        await session.append(Array.from({ length: 60 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: `Message ${i}: parcel ${1000 + i} weighs ${i} kg and goes to gate ${i % 9}.` })));
        await session.compact();
        // it stays open: another page of the same origin is refused while it is
        globalThis.session = session;
        return JSON.stringify(session.window());
      });
      const { page: other, problems: otherProblems } = await open(browser, `${server.url}/cases.html`);
      const busy = await other.evaluate(async () => {
        const { openSession } = await import("./palimpsest/dist/index.js");
        return openSession({ id: "kept", model: "any", store: "indexeddb" }).catch((error) => error.code);
      });
      assert.equal(busy, "session_busy");
      await page.evaluate(() => globalThis.session.close());
      await page.reload();
      const again = await other.evaluate(async () => {
        const { openSession } = await import("./palimpsest/dist/index.js");
        const session = await openSession({ id: "kept", model: "any", store: "indexeddb" });
        const window = JSON.stringify(session.window());
        const layers = session.layers().length;
        await session.close();
        return { window, layers };
      });
      assert.equal(again.window, first, "the window is the same, byte for byte");
      assert.ok(again.layers >= 1);
      fs.writeFileSync(
        path.join(folder, "plain/session-worker.js"),
        `import { openSession } from "./palimpsest/dist/index.js";
         onmessage = async () => {
           try {
             const session = await openSession({ id: "kept", model: "any", store: "indexeddb" });
             postMessage(JSON.stringify(session.window()));
             await session.close();
           } catch (error) { postMessage(error.code + error.message); }
         };`,
      );
      const inWorker = await page.evaluate(
        () => new Promise((resolve) => {
          const worker = new Worker("session-worker.js", { type: "module" });
          worker.onmessage = ({ data }) => resolve(data);
          worker.onerror = (error) => resolve(`worker: ${error.message}`);
          worker.postMessage(0);
        }),
      );
      assert.equal(inWorker, first, "and in a worker");
      assert.deepEqual([...problems, ...otherProblems], []);
      await page.close();
      await other.close();
    } finally {
      await close();
      await server.close();
    }
  });
}

/** What the guide's blocks print, by something that only one of them has in it. Those that need another program are run elsewhere. */
const GUIDE = [
  ["const fitting = compact(history", /^2 false$/],
  ["const stored = JSON.stringify", /^true earlier$/],
  ["({ messages, state } = compact", /^3$/],
  ["new Conversation(", /^2 false\n\d+$/],
  ['store: "indexeddb", // or', /\n\d+ \d+$/],
  ["session.prompt.set(", /^nothing to compress\n0 100 0\n\[0,1\]$/],
  ['code === "model_missing"', /^Hello there\.$/],
  ["fromOllamaShow", /^17 \{"tokens":\d+,"source":"estimated","bound":\d+\}$/],
  ['setTokenizer("server")', /^\{"tokens":\d+,"source":"\w+","bound":\d+\}$/],
  ["Calibration.start(", /^5\nlearned 14$/],
  ["/my/backend", /^Heard: Hello$/],
  ["completeJob", /^$/],
  ["await session.sync(list)", /^1 true 2$/],
  ["async function next(", /^120 true true$/],
  ["onToolCall", /^Take one: rain in Oslo\.$/],
  ["session.continueReply()", /^Hello there\.$/],
  ["declare const mine: StorageAdapter", /^0$/],
  ["library.delete(sessions[0].id)", /^japan .*"\d{4}-/m],
  ["library.restoreArchive(backup)", /there$/],
  ["library.salvage(id)", /^$/],
  ["compactAsync(", /^1 false$/],
  ["// page.ts", /"messages":\[\{"role":"user","content":"Hello"\}\]/],
  ["const app = await mount", /^(\S+\n)*\S*$/],
  ["const { engine } = await mount", /^2 2 \w+\nnothing to compress$/],
  ["const transport: Transport", /^$/],
  ["recall(history, first.from)", /^Parcel 0 goes to gate 0\.$/],
  ["recallTool(() => history)", /^true .*Parcel 11 goes to gate 3\./],
  ["telemetryAttributes(compact", /^false$/],
  ["await importConversations(", /^ 2 0\n1 × no JSON: not_json$/],
  ["forgotten(history, messages)", /^false Never deliver to the neighbour\. 0\npalimpsest\/receipt@1 true true$/],
  ["await measureRequests(history, requests)", /^100 true true$/],
  ["Which files are there?", /^true$/],
  ['demands: "layer"', /^0 Never use metric units\.$/],
  ["replay(messages", /^balanced \d+ \d+ \d+\nwatermark \d+ \d+ \d+\nshort memory \d+ \d+ \d+$/],
];

/** The guide is tried as it is written: every block that a page can run does there what it says, against a model server. */
test("the guide", async () => {
  const place = path.join(folder, "plain/guide");
  fs.mkdirSync(place, { recursive: true });
  const text = fs.readFileSync(path.join(root, "docs/guide.md"), "utf8");
  const blocks = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code).filter((code) => !/from "(ai|@langchain\/.*|palimpsest(?:\/(?:node|storage|testing|pi|opencode|openclaw|mastra)|-ui\/vscode-host))"/.test(code));
  for (const [i, code] of blocks.entries()) fs.writeFileSync(path.join(place, code.includes("// worker.ts") ? "worker.ts" : `${i}.ts`), code);
  const sources = fs.readdirSync(place).map((name) => path.join(place, name));
  spawnSync(process.execPath, [path.join(root, "tests/node_modules/typescript/bin/tsc"), "--noCheck", "--ignoreConfig", "--target", "ES2022", "--module", "ESNext", "--moduleResolution", "Bundler", "--outDir", place, ...sources]);
  const entry = { palimpsest: "palimpsest/dist/index.js", "palimpsest/async": "palimpsest/dist/async.js", "palimpsest-ui": "palimpsest-ui/dist/ui.js" };
  for (const name of fs.readdirSync(place).filter((one) => one.endsWith(".js"))) {
    const file = path.join(place, name);
    fs.writeFileSync(file, fs.readFileSync(file, "utf8").replace(/from "(palimpsest(?:-ui|\/async)?)"/g, (_, name) => `from "../${entry[name]}"`));
  }
  fs.copyFileSync(path.join(root, "crates/palimpsest-browser/testing/storage.js"), path.join(place, "storage.js"));
  fs.writeFileSync(path.join(place, "chat.html"), '<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>T</title><div id="chat"></div></html>');

  const replies = ({ tools = [], messages }) => {
    const told = messages.find((m) => m.role === "tool");
    if (tools.length === 0) return "Hello there.";
    if (told === undefined) return { content: "", tool_calls: [{ function: { name: "weather", arguments: { city: "Oslo" } } }] };
    const { weather, city } = JSON.parse(told.content);
    return `Take one: ${weather} in ${city}.`;
  };
  const fake = await startFake({ models: defaultModels().map((one) => ({ ...one, tokenizer: "bytes" })), counts: "bytes", replies });
  const server = await serve(path.join(folder, "plain"), { policy: POLICY.replace("connect-src 'self'", `connect-src 'self' ${fake.url}`) });
  try {
    const tried = [];
    for (const [i, code] of blocks.entries()) {
      if (code.includes("// worker.ts")) continue;
      const [wanted, ...more] = GUIDE.filter(([part]) => code.includes(part));
      assert.ok(wanted !== undefined && more.length === 0, `nobody knows what this block prints:\n${code}`);
      tried.push(wanted[0]);
      const page = await chrome.browser.newPage();
      const problems = [];
      page.on("pageerror", (error) => problems.push(String(error)));
      // what the blocks take for granted: a model server at its usual address, a backend, a model of one's own, a storage
      await page.evaluateOnNewDocument((server) => {
        globalThis.printed = [];
        console.log = console.warn = (...what) => globalThis.printed.push(what.map((one) => (typeof one === "object" ? JSON.stringify(one) : String(one))).join(" "));
        const real = globalThis.fetch;
        globalThis.fetch = async (input, init) => {
          const url = String(input).replace("http://localhost:11434", server).replace(/^\/models/, server);
          if (url === "/my/backend") return new Response(`Heard: ${JSON.parse(init.body).messages.at(-1).content}`);
          if (url.startsWith("/weather")) return Response.json({ weather: "rain", city: new URL(url, location.href).searchParams.get("city") });
          return real(input instanceof URL || typeof input === "string" ? url : input, init);
        };
        globalThis.askMyModel = async () => "Oslo.";
      }, fake.url);
      await page.goto(`${server.url}/guide/chat.html`);
      const printed = await page.evaluate(async (file) => {
        const { memoryStorage } = await import("./storage.js");
        globalThis.mine = globalThis.storage = memoryStorage();
        await import(file);
        // what comes over messages comes later
        for (let n = 0; n < 100 && globalThis.printed.length === 0 && file.endsWith("page.js"); n += 1) await new Promise((resolve) => { setTimeout(resolve, 50); });
        await new Promise((resolve) => { setTimeout(resolve, 50); });
        return globalThis.printed.join("\n");
      }, `./${i}.js${code.includes("// page.ts") ? "?page.js" : ""}`);
      assert.match(printed, wanted[1], `${wanted[0]}\n${code}`);
      assert.deepEqual(problems, []);
      await page.close();
    }
    assert.deepEqual(tried, GUIDE.map(([part]) => part));
  } finally {
    await server.close();
    await fake.close();
  }
});
