// The chat app in other people's pages: in a view of an editor (the faked one on one side, the real `palimpsest-ui/vscode-host` on
// the other), in a frame of another origin, and in an element of a plain page.

import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { patient } from "../e2e/acts.mjs";
import { defaultModels, startFake } from "../ollama/fake.mjs";
import { launch, POLICY, serve } from "./browser.mjs";
import { copy, install, remove } from "./consumer.mjs";

let folder;
let chrome;
let host;
before(async () => {
  folder = install([], ["ui"]);
  for (const page of ["plain", "embed"]) {
    copy(`www/${page}`, path.join(folder, page));
    fs.cpSync(path.join(folder, "node_modules/palimpsest-ui"), path.join(folder, page, "palimpsest-ui"), { recursive: true });
  }
  copy("crates/palimpsest-browser/testing/storage.js", path.join(folder, "embed/storage.js"));
  fs.writeFileSync(
    path.join(folder, "plain/mounted.html"),
    '<!doctype html><html lang="en"><link rel="icon" href="data:,"><link rel="stylesheet" href="style.css"><link rel="stylesheet" href="mounted.css"><title>Mine</title><h1 id="mine">Mine</h1><button id="own">Own</button><div id="chat"></div></html>',
  );
  fs.writeFileSync(path.join(folder, "plain/mounted.css"), "html, body { height: 100%; margin: 0 } #chat { height: 700px } h1 { color: rgb(1, 2, 3); text-transform: uppercase } button { background: rgb(4, 5, 6) }");
  chrome = await launch();
  host = await import(pathToFileURL(path.join(folder, "node_modules/palimpsest-ui/dist/vscode-host.js")));
});
after(async () => {
  await chrome?.close();
  remove(folder);
});

/** What must not happen on a page. */
async function watched(page) {
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => ["error", "warn", "warning"].includes(message.type()) && problems.push(message.text()));
  await page.evaluateOnNewDocument(() => {
    addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  return problems;
}

/** Waits until a function of the page gives something. */
const until = patient(30_000);
/** The text of the mounted app. */
const says = (page, text) => until(page, (text) => document.querySelector("#palimpsest > div, #chat > div, #app > div")?.shadowRoot?.querySelector(".thread")?.textContent.includes(text), text);
const FIELD = "body >>> #msg";
/** The databases of a page beside the one of vocabularies, which is a cache: nothing that was said is in it. */
const databases = (page) => page.evaluate(() => indexedDB.databases().then((all) => all.map(({ name }) => name).filter((name) => name !== "palimpsest-vocabularies")));

async function say(page, text) {
  await page.waitForSelector(FIELD, { timeout: 60_000 });
  // without a model nothing can be sent: the server is asked which there are once the app stands
  await until(page, () => /:/.test(document.querySelector("#palimpsest > div, #chat > div, #app > div").shadowRoot.querySelector("#model").textContent));
  await page.type(FIELD, text);
  await page.keyboard.press("Enter");
}

// ── a view of an editor ──

/** The page of a view, as the real `palimpsestHtml` writes it, and the package's files. */
async function views() {
  const dist = path.join(folder, "node_modules/palimpsest-ui/dist");
  const types = { ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };
  let html = "";
  const server = http.createServer((request, response) => {
    const name = decodeURIComponent(new URL(request.url, "http://x").pathname);
    if (name === "/view") return response.writeHead(200, { "content-type": "text/html" }).end(html);
    const file = path.join(dist, name.replace("/extension/node_modules/palimpsest-ui/dist", ""));
    if (!file.startsWith(dist) || !fs.existsSync(file)) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": types[path.extname(file)] ?? "application/octet-stream" });
    fs.createReadStream(file).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://localhost:${server.address().port}`;
  const uri = (path) => ({ path, with: (change) => uri(change.path), toString: () => path });
  const webview = { cspSource: url, asWebviewUri: (one) => ({ toString: () => `${url}${one.path}` }) };
  html = host.palimpsestHtml(webview, uri("/extension"), {}).replace("<head>", '<head><link rel="icon" href="data:,">');
  return { url: `${url}/view`, html, webview, close: () => new Promise((done) => { server.close(done); server.closeAllConnections(); }) };
}

const COLOURS = {
  "vscode-dark": { "--vscode-sideBar-background": "#181818", "--vscode-foreground": "#cccccc" },
  "vscode-light": { "--vscode-sideBar-background": "#f8f8f8", "--vscode-foreground": "#3b3b3b" },
};

/** A view: a tab with a faked `acquireVsCodeApi`, served by the real host. `state` is what an editor would have kept. */
async function view(site, options, { state, theme = "vscode-dark" } = {}) {
  const page = await chrome.browser.newPage();
  await page.setViewport({ width: 420, height: 800 });
  const problems = await watched(page);
  const heard = new Set();
  const own = { page, problems, client: undefined, posted: [], state, served: undefined };
  const webview = {
    ...site.webview,
    postMessage: async (message) => {
      own.posted.push(message);
      await page.evaluate((message) => window.postMessage(message, "*"), message);
      return true;
    },
    onDidReceiveMessage: (listener) => {
      heard.add(listener);
      return { dispose: () => heard.delete(listener) };
    },
  };
  own.send = (message) => { for (const listener of [...heard]) listener(message); };
  await page.exposeFunction("toHost", (text) => {
    const message = JSON.parse(text);
    own.client = message.client;
    own.send(message);
  });
  await page.exposeFunction("toState", (text) => { own.state = JSON.parse(text); });
  await page.evaluateOnNewDocument((first, theme, colours) => {
    const kept = sessionStorage.getItem("state");
    let state = kept === null ? first : JSON.parse(kept);
    let acquired = false;
    globalThis.acquireVsCodeApi = () => {
      if (acquired) throw new Error("acquireVsCodeApi was called twice");
      acquired = true;
      return {
        postMessage: (message) => { globalThis.toHost(JSON.stringify(message)); },
        getState: () => state,
        setState: (next) => {
          state = JSON.parse(JSON.stringify(next));
          sessionStorage.setItem("state", JSON.stringify(state));
          globalThis.toState(JSON.stringify(state));
          return next;
        },
      };
    };
    globalThis.colour = (theme) => {
      document.body.className = theme;
      for (const [name, value] of Object.entries(colours[theme] ?? {})) document.documentElement.style.setProperty(name, value);
    };
    new MutationObserver((_, watching) => {
      if (document.body === null) return;
      watching.disconnect();
      globalThis.colour(theme);
    }).observe(document, { childList: true, subtree: true });
  }, state, theme, COLOURS);
  own.served = host.attachPalimpsest(webview, options);
  await page.goto(site.url);
  return own;
}

/** in a view of an editor a message is answered and kept by the host; a reload and a move lose nothing; only the paths of a model server are asked for. */
test("a view in an editor", async () => {
  const site = await views();
  const fake = await startFake({ replies: ["It is raining in Bergen.", { content: Array.from({ length: 400 }, (_, i) => `word${i} `), delay_ms: 1 }, "Four degrees."] });
  const storageFolder = path.join(folder, "kept");
  const opened = [];
  const files = [];
  const options = { storageFolder, ollamaUrl: fake.url, openExternal: (url) => opened.push(url), saveFile: (name, text) => files.push([name, text]) };
  // a title would be asked for in the background, among the answers that the test counts
  let first = await view(site, options, { state: { palimpsest: { "palimpsest.settings": JSON.stringify({ titles: false, language: "en" }) } } });
  try {
    await say(first.page, "How is the weather?");
    await says(first.page, "It is raining in Bergen.");
    const { models } = await first.page.evaluate(() => {
      const root = document.querySelector("#palimpsest > div").shadowRoot.querySelector(".palimpsest");
      return { models: root.querySelector(".model").textContent };
    });
    assert.match(models, /llama3\.2/);
    // more pieces than there is credit for, so that the host waits for the view
    await say(first.page, "Now a long one.");
    await says(first.page, "word399");
    const chats = first.posted.filter((m) => m.chunk !== undefined).length;
    assert.ok(chats > 64, `${chats} pieces crossed`);

    // the files are the host's: lines, to which only is added
    const lines = fs.readdirSync(storageFolder, { recursive: true }).filter((name) => name.endsWith(".jsonl"));
    assert.ok(lines.some((name) => name.startsWith("sessions")), lines.join());
    const said = lines.map((name) => fs.readFileSync(path.join(storageFolder, name), "utf8")).join("");
    assert.match(said, /How is the weather\?/);
    assert.deepEqual(await databases(first.page), [], "nothing that was said is kept in the view");

    // a path that is no model server's is refused, and never asked for
    const asked = async (args) => {
      const id = `probe:${Math.random()}`;
      first.send({ p: "palimpsest", v: 1, client: first.client, id, op: "request", args });
      for (let n = 0; n < 100; n += 1) {
        const answer = first.posted.find((m) => m.id === id);
        if (answer !== undefined) return answer;
        await new Promise((resolve) => { setTimeout(resolve, 20); });
      }
      return undefined;
    };
    for (const args of [
      { method: "POST", path: "/api/delete" }, { method: "POST", path: "/api/tags" }, { method: "GET", path: "/api/tags/../delete" }, { method: "GET", path: "//evil.example/" },
      { method: "GET", path: "/__proto__" }, { method: "GET", path: 7 },
    ]) assert.equal((await asked(args))?.err?.code, "bad_request", JSON.stringify(args));
    assert.equal((await asked({ method: "GET", path: "/api/version" }))?.chunk?.status, 200);
    const paths = new Set(fake.requests.map((r) => r.path));
    for (const one of paths) assert.ok(/^\/api\/(chat|tags|ps|version|show)$/.test(one), one);
    for (const message of [{ op: "apply", args: { lease: { session: "s", epoch: 1 }, ops: [{ op: "add", table: "users", key: [1], value: "{}" }] } }, { op: "eval", args: {} }, { op: "openExternal", args: { url: "file:///etc/passwd" } }]) {
      const id = `wrong:${Math.random()}`;
      first.send({ p: "palimpsest", v: 1, client: first.client, id, ...message });
      await new Promise((resolve) => { setTimeout(resolve, 50); });
      assert.equal(first.posted.find((m) => m.id === id)?.err?.code, "bad_request");
    }
    assert.deepEqual(opened, []);

    // the host's menu: a file
    first.served.command("exportMarkdown");
    for (let n = 0; n < 100 && files.length === 0; n += 1) await new Promise((resolve) => { setTimeout(resolve, 50); });
    assert.match(files[0]?.[1] ?? "", /It is raining in Bergen/);

    // the draft and the place in the thread survive a reload, and the session is not taken for another writer's
    await first.page.type(FIELD, "And tomorrow");
    await first.page.evaluate(() => {
      const thread = document.querySelector("#palimpsest > div").shadowRoot.querySelector(".thread");
      thread.scrollTop = 0;
    });
    await until(first.page, () => /palimpsest.place.*left/.test(sessionStorage.getItem("state")) && sessionStorage.getItem("state").includes("And tomorrow"));
    await first.page.reload();
    await says(first.page, "word399");
    const back = await until(first.page, () => {
      const root = document.querySelector("#palimpsest > div").shadowRoot;
      const thread = root.querySelector(".thread");
      const far = thread.scrollHeight - thread.scrollTop - thread.clientHeight;
      return root.querySelector("#msg").value === "And tomorrow" && far > 200 ? far : undefined;
    });
    assert.ok(await back.jsonValue() > 200);

    // a view that is moved is another one with the state of the one before, which is gone without a word
    const { state } = first;
    first.served.dispose();
    const before = first.posted.length;
    first.send({ p: "palimpsest", v: 1, client: first.client, id: "late", op: "read", args: { query: "get", table: "heads", key: ["x"] } });
    await new Promise((resolve) => { setTimeout(resolve, 100); });
    assert.equal(first.posted.length, before, "after the end nothing is answered");
    assert.deepEqual(first.problems, []);
    await first.page.close();
    first = await view(site, options, { state, theme: "vscode-light" });
    await says(first.page, "How is the weather?");
    await until(first.page, () => document.querySelector("#palimpsest > div").shadowRoot.querySelector("#msg").value === "And tomorrow");
    await first.page.click(FIELD);
    await first.page.keyboard.type("?");
    await first.page.keyboard.press("Enter");
    await says(first.page, "Four degrees.");
    assert.deepEqual(first.problems, []);
  } finally {
    first.served.dispose();
    await first.page.close();
    await fake.close();
    await site.close();
  }
});

/** the colours are the editor's, now and after a change, and text can be read in both. */
test("a view has the editor's colours", async () => {
  const site = await views();
  const fake = await startFake({});
  const own = await view(site, { storageFolder: path.join(folder, "colours"), ollamaUrl: fake.url });
  try {
    await own.page.waitForSelector(FIELD, { timeout: 60_000 });
    const look = () => own.page.evaluate(() => {
      const root = document.querySelector("#palimpsest > div").shadowRoot.querySelector(".palimpsest");
      const { backgroundColor, color } = getComputedStyle(root);
      return [root.dataset.theme, root.dataset.contrast ?? "", backgroundColor, color];
    });
    assert.deepEqual(await look(), ["dark", "", "rgb(24, 24, 24)", "rgb(204, 204, 204)"]);
    await own.page.evaluate(() => globalThis.colour("vscode-light"));
    await until(own.page, () => document.querySelector("#palimpsest > div").shadowRoot.querySelector("[data-theme=light]"));
    assert.deepEqual(await look(), ["light", "", "rgb(248, 248, 248)", "rgb(59, 59, 59)"]);
    await own.page.evaluate(() => globalThis.colour("vscode-high-contrast"));
    await until(own.page, () => document.querySelector("#palimpsest > div").shadowRoot.querySelector("[data-contrast=more]"));
    assert.deepEqual((await look()).slice(0, 2), ["dark", "more"]);
    // nothing is wider than the view, which is narrow
    assert.ok(await own.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    assert.deepEqual(own.problems, []);
  } finally {
    own.served.dispose();
    await own.page.close();
    await fake.close();
    await site.close();
  }
});

/** A model server whose models tell a vocabulary of bytes, and which counts with it. */
const telling = (replies) => startFake({ models: defaultModels().map((one) => ({ ...one, tokenizer: "bytes" })), counts: "bytes", replies });
/** Requests for a whole vocabulary. */
const vocabularies = (fake) => fake.requests.filter((r) => r.path === "/api/show" && r.method === "POST" && JSON.parse(r.body).verbose === true).length;
/** Where the bar's numbers come from. */
const source = (page, wanted) => until(page, (wanted) => document.querySelector("#palimpsest > div, #chat > div").shadowRoot.querySelector("#s-chat .budget")?.dataset.source === wanted, wanted);

/** B8: a mounted app counts with the model's own vocabulary: read in a worker of the package's, by the page's own requests or the host's, on
 * the page itself where its rules allow no worker, and on the next visit from the cache. */
test("a mounted app counts exactly", async () => {
  const words = ["Because of the oven.", "There it was.", "Yes, it is.", "No."];
  const talk = async (page) => {
    for (const [i, text] of ["Why is the bread black?", "Where was it?", "Really?"].entries()) {
      await say(page, text);
      await says(page, words[i]);
    }
    await source(page, "exact");
  };
  const visit = async (page, url, fake, begin) => {
    let workers = 0;
    page.on("workercreated", () => { workers += 1; });
    await page.goto(url);
    await begin(page, fake.url);
    await talk(page);
    assert.equal(vocabularies(fake), 1);
    const made = workers;
    await page.reload();
    await begin(page, fake.url);
    await source(page, "exact");
    assert.equal(vocabularies(fake), 1, "the next visit takes it from the cache");
    return made;
  };
  for (const [rules, workers] of [["worker-src 'self'", 1], ["worker-src 'none'", 0]]) {
    const fake = await telling(words);
    const server = await serve(path.join(folder, "plain"), { policy: POLICY.replace("connect-src 'self'", `connect-src 'self' ${fake.url}`).replace("worker-src 'self'", rules) });
    const page = await chrome.browser.newPage();
    try {
      const problems = await watched(page);
      const made = await visit(page, `${server.url}/mounted.html`, fake, mounted);
      if (workers === 1) assert.deepEqual([made, problems], [1, []]);
      else assert.ok(problems.every((one) => /worker/i.test(one)), problems.join("\n"));
    } finally {
      await page.close();
      await server.close();
      await fake.close();
    }
  }
  // over messages: the host asks, the view's worker reads
  const site = await views();
  const fake = await telling(words);
  const state = { palimpsest: { "palimpsest.settings": JSON.stringify({ titles: false, language: "en" }) } };
  const own = await view(site, { storageFolder: path.join(folder, "counted"), ollamaUrl: fake.url }, { state });
  try {
    let workers = 0;
    own.page.on("workercreated", () => { workers += 1; });
    await talk(own.page);
    assert.equal(vocabularies(fake), 1);
    await own.page.reload();
    await source(own.page, "exact");
    assert.equal(vocabularies(fake), 1);
    assert.ok(workers >= 1, `${workers} workers`);
    assert.deepEqual(own.problems, []);
    assert.deepEqual(await databases(own.page), []);
  } finally {
    own.served.dispose();
    await own.page.close();
    await fake.close();
    await site.close();
  }
});

/** S5: two views over one host's folder, of origins that cannot hear each other: the second reads along, is shown what the first writes, takes
 * over, and then the first reads along. */
test("two views on one storage", async () => {
  const [site, beside] = [await views(), await views()];
  const fake = await startFake({ replies: ["One.", "Two.", "Three."] });
  const options = { storageFolder: path.join(folder, "shared"), ollamaUrl: fake.url };
  const state = { palimpsest: { "palimpsest.settings": JSON.stringify({ titles: false, language: "en" }) } };
  const said = (page, n) => until(page, (n) => document.querySelector("#palimpsest > div")?.shadowRoot?.querySelectorAll(".msg:not(.replying)").length === n, n);
  const follows = (page, wanted) => until(page, (wanted) => {
    const app = document.querySelector("#palimpsest > div")?.shadowRoot;
    return app?.querySelector(".thread") != null && /another tab/.test(app.querySelector(".notice")?.textContent ?? "") === wanted;
  }, wanted);
  const first = await view(site, options, { state });
  let second;
  try {
    await say(first.page, "Say one");
    await says(first.page, "One.");
    second = await view(beside, options, { state });
    assert.notEqual(await first.page.evaluate(() => origin), await second.page.evaluate(() => origin));
    await follows(second.page, true);
    await said(second.page, 2);

    await first.page.bringToFront();
    await say(first.page, "Say two");
    await says(first.page, "Two.");
    await says(second.page, "Two.");
    await said(second.page, 4);

    await second.page.bringToFront();
    await second.page.click("body >>> .notice .btn");
    await follows(second.page, false);
    await follows(first.page, true);
    await say(second.page, "Say three");
    await says(second.page, "Three.");
    await says(first.page, "Three.");
    await said(first.page, 6);
    // a new session of one is in the other's list
    const listed = (page, n) => until(page, (n) => document.querySelector("#palimpsest > div").shadowRoot.querySelectorAll(".side [data-session]").length === n, n);
    await listed(first.page, 1);
    second.served.command("newSession");
    await listed(first.page, 2);
    assert.equal(fake.requests.filter((r) => r.path === "/api/chat").length, 3, "who reads along asks nothing");
    assert.deepEqual([first.problems, second.problems], [[], []]);
    // what a view did itself it is not told of
    const own = first.posted.filter((m) => m.changed !== undefined).map((m) => m.changed.epoch);
    assert.ok(own.length > 0 && own.every((epoch) => epoch >= 1), JSON.stringify(own));
  } finally {
    for (const one of [first, second]) {
      one?.served.dispose();
      await one?.page.close();
    }
    await fake.close();
    await site.close();
    await beside.close();
  }
});

/** What the page around the app decides is no setting of the app's: its fields say so, and the bytes shown are those of the host's storage. */
test("settings that the host decides", async () => {
  const site = await views();
  const fake = await startFake({ replies: ["Good morning."] });
  const storageFolder = path.join(folder, "decided");
  const state = { palimpsest: { "palimpsest.settings": JSON.stringify({ titles: false, language: "en" }) } };
  const own = await view(site, { storageFolder, ollamaUrl: fake.url }, { state });
  const plain = await serve(path.join(folder, "plain"), { policy: POLICY.replace("connect-src 'self'", `connect-src 'self' ${fake.url}`) });
  const page = await chrome.browser.newPage();
  /** What the screens say: whether the address and the colours can be chosen, and the storage's figures. */
  const look = (page) => page.evaluate(async () => {
    const root = document.querySelector("#palimpsest > div, #chat > div").shadowRoot;
    const go = async (hash, there) => {
      root.querySelector(`[href="#${hash}"]`).click();
      for (let n = 0; n < 100 && root.querySelector(there) === null; n += 1) await new Promise((resolve) => { setTimeout(resolve, 50); });
    };
    await go("settings", "#address");
    const address = root.querySelector("#address").disabled;
    const said = root.querySelector(".addr").textContent.includes("page around this app asks");
    root.querySelector("[data-tab=appearance]").click();
    for (let n = 0; n < 100 && root.querySelector("[name=palette]") === null; n += 1) await new Promise((resolve) => { setTimeout(resolve, 50); });
    const colours = root.querySelectorAll("[name=theme], [name=contrast]").length;
    const theirs = root.querySelector("#s-settings").textContent.includes("colours are those of the page");
    await go("library", ".store .figures");
    // the figures come a moment later
    await new Promise((resolve) => { setTimeout(resolve, 500); });
    const library = root.querySelector("#s-library header").textContent.includes("in this browser");
    return { address, said, colours, theirs, library, figures: [...root.querySelectorAll(".store .figures dt")].map((e) => e.textContent), used: root.querySelector(".store .figures dd").textContent };
  });
  try {
    await say(own.page, "Hello");
    await says(own.page, "Good morning.");
    await until(own.page, () => !document.querySelector("#palimpsest > div").shadowRoot.querySelector(".replying"));
    const { used, ...rest } = await look(own.page);
    assert.deepEqual(rest, { address: true, said: true, colours: 0, theirs: true, library: false, figures: ["Used", "Last export"] });
    const bytes = (await host.fileStorage(storageFolder).estimate()).used;
    const onDisk = fs.readdirSync(storageFolder, { recursive: true }).map((name) => fs.statSync(path.join(storageFolder, name))).filter((found) => found.isFile()).reduce((sum, found) => sum + found.size, 0);
    assert.equal(bytes, onDisk);
    const shown = Number(/^([\d,]+) KB$/.exec(used)?.[1].replaceAll(",", ""));
    assert.ok(shown > 0 && Math.abs(shown - bytes / 1000) <= 2, `${used} for ${bytes} bytes`);
    assert.deepEqual(own.problems, []);

    // where the page decides nothing, all of it can be chosen
    await page.setViewport({ width: 1200, height: 900 });
    await page.goto(`${plain.url}/mounted.html`);
    await mounted(page, fake.url);
    const { used: _, ...free } = await look(page);
    assert.deepEqual(free, { address: false, said: false, colours: 5, theirs: false, library: true, figures: ["Used", "Protection", "Last export", "Other tabs"] });
  } finally {
    own.served.dispose();
    await own.page.close();
    await page.close();
    await plain.close();
    await fake.close();
    await site.close();
  }
});

/** P10, E2: what the page reads of the open session is what the person sees, and what it asks for is done there: a compaction with its card, its
 * undoing, events. Mistakes have codes, and after the end there is nothing to be had. */
test("the engine of a mounted app", async () => {
  const reply = (n) => Array.from({ length: 45 }, (_, i) => `Oven ${100 * n + i} bakes at ${200 + i} degrees.`).join(" ");
  const fake = await startFake({ replies: [1, 2, 3, 4].map(reply) });
  const server = await serve(path.join(folder, "plain"), { policy: POLICY.replace("connect-src 'self'", `connect-src 'self' ${fake.url}`) });
  const page = await chrome.browser.newPage();
  await page.setViewport({ width: 1200, height: 900 });
  try {
    const problems = await watched(page);
    await page.goto(`${server.url}/mounted.html`);
    await page.evaluate((address) => localStorage.setItem("palimpsest.settings", JSON.stringify({ address, language: "en", titles: false, automatic: false, window: 4096, summary_model: "-" })), fake.url);
    await mounted(page, fake.url);
    const empty = await page.evaluate(async () => {
      const { engine } = globalThis.app;
      const code = (error) => `${error.name} ${error.code} ${error.retryable}`;
      globalThis.heard = [];
      engine.on("compressed", (event) => globalThis.heard.push(event.report.before > event.report.after));
      const wrong = (() => { try { engine.on("compressed"); return "done"; } catch (error) { return code(error); } })();
      const reason = await engine.compact({ signal: AbortSignal.abort("enough") }).catch((error) => error);
      return [engine.info.messages, engine.history().length, await engine.compact().catch(code), await engine.undo().catch(code), wrong, reason];
    });
    assert.deepEqual(empty, [0, 0, null, "PalimpsestError nothing_to_undo false", "PalimpsestError invalid_options false", "enough"]);
    for (const n of [1, 2, 3, 4]) {
      await say(page, `Tell me about ovens of hall ${n}.`);
      await says(page, `Oven ${100 * n + 44} bakes`);
      await until(page, () => globalThis.app.engine.info.replying === false);
    }
    const got = await page.evaluate(async () => {
      const { engine } = globalThis.app;
      const { id, messages, window, replying } = engine.info;
      const all = engine.history();
      const [last] = engine.history({ limit: 1 });
      const before = engine.budget();
      const { revision, report } = await engine.compact({ focus: "ovens" });
      const after = engine.budget();
      const done = () => document.querySelector("#chat > div").shadowRoot.querySelectorAll(".thread .card.done").length;
      for (let n = 0; n < 60 && done() === 0; n += 1) await new Promise((resolve) => { setTimeout(resolve, 50); });
      const cards = done();
      const covered = engine.history().filter(({ shown, layer }) => shown === "covered" && layer !== null).length;
      await engine.undo();
      await new Promise((resolve) => { setTimeout(resolve, 0); });
      return {
        id: typeof id, messages, window, replying, all: all.map((m) => m.role), first: all[0].parts[0].text, last: last.seq === all.at(-1).seq,
        report: report.after < report.before && report.after === after.used.tokens && after.used.tokens < before.used.tokens, revision: revision > 0, cards, covered,
        undone: engine.budget().used.tokens === report.before && engine.history().every(({ shown }) => shown === "verbatim"), heard: globalThis.heard, limit: before.limit < window,
      };
    });
    const { covered, ...rest } = got;
    assert.deepEqual(rest, {
      id: "string", messages: 8, window: 4096, replying: false, all: Array.from({ length: 4 }, () => ["user", "assistant"]).flat(), first: "Tell me about ovens of hall 1.", last: true,
      report: true, revision: true, cards: 1, undone: true, heard: [true], limit: true,
    });
    assert.ok(covered >= 2 && covered < 8, `${covered} messages are covered`);
    const gone = await page.evaluate(async () => {
      const { engine } = globalThis.app;
      globalThis.app.unmount();
      const code = async (act) => { try { await act(); return "done"; } catch (error) { return error.code; } };
      return [await code(() => engine.info), await code(() => engine.budget()), await code(() => engine.history()), await code(() => engine.compact()), await code(() => engine.undo()), await code(() => engine.on("*", () => {}))];
    });
    assert.deepEqual(gone, Array(6).fill("closed"));
    assert.deepEqual(problems, []);
  } finally {
    await page.close();
    await server.close();
    await fake.close();
  }
});

/** I10: the page of a view has a policy with one script, and what would break out of it is refused or written harmlessly. */
test("the page of a view, and bad options", async () => {
  const site = await views();
  await site.close();
  const policy = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(site.html)[1].replaceAll("&#39;", "'");
  assert.match(policy, /^default-src 'none'; script-src http:\/\/localhost:\d+ 'nonce-[\w]{32}' 'wasm-unsafe-eval'; style-src http:\/\/localhost:\d+; /);
  assert.ok(!policy.includes("unsafe-inline") && !policy.includes("'unsafe-eval'"));
  assert.equal([...site.html.matchAll(/<script/g)].length, 1);
  const uri = { path: "/x", with: ({ path }) => ({ path }), toString: () => "" };
  const html = host.palimpsestHtml({ cspSource: "s", asWebviewUri: () => ({ toString: () => '"><script>alert(1)</script>' }) }, uri, { lang: '"><b>', nonce: "a".repeat(20) });
  assert.ok(!html.includes("<script>alert") && !html.includes("<b>"));
  // an error of the one package is one of the class of the other, which is a copy; another error is none
  const { PalimpsestError } = await import(pathToFileURL(path.join(folder, "node_modules/palimpsest/dist/node.js")));
  assert.notEqual(PalimpsestError, host.PalimpsestError);
  assert.ok(!(new Error("PalimpsestError") instanceof PalimpsestError));
  const code = (act) => { try { act(); return "done"; } catch (error) { return error instanceof PalimpsestError ? `${error.name} ${error.code}` : String(error); } };
  const webview = { cspSource: "s", asWebviewUri: () => "", postMessage: async () => true, onDidReceiveMessage: () => ({ dispose() {} }) };
  for (const act of [
    () => host.attachPalimpsest(), () => host.attachPalimpsest(webview), () => host.attachPalimpsest(webview, {}), () => host.attachPalimpsest(webview, { storageFoldr: "x" }),
    () => host.attachPalimpsest(webview, { storageFolder: "x", ollamaUrl: "nowhere" }), () => host.attachPalimpsest(webview, { storageFolder: "x", ollamaUrl: "file:///etc" }),
    () => host.palimpsestHtml(webview, uri, { nonce: "short" }), () => host.palimpsestHtml(webview, uri, { nonce: `${"a".repeat(20)}'` }),
  ]) assert.equal(code(act), "PalimpsestError invalid_options", String(act));
});

/** I10: a stream waits for who reads it, ends when nobody does, and cuts no character; what a view held is given back when it goes. */
test("messages between a view and its host", async () => {
  const dist = (name) => import(pathToFileURL(path.join(folder, "node_modules/palimpsest-ui/dist", name)));
  const [{ CREDIT, WireClient }, { serveWire }] = await Promise.all([dist("wire.js"), dist("wire-host.js")]);
  const wire = () => {
    const [a, b] = [new Set(), new Set()];
    const port = (own, other) => ({
      post: (message) => { const text = JSON.stringify(message); queueMicrotask(() => [...other].forEach((heard) => heard(JSON.parse(text)))); },
      listen: (heard) => { own.add(heard); return () => own.delete(heard); },
    });
    return [port(a, b), port(b, a)];
  };
  const rest = () => new Promise((resolve) => { setTimeout(resolve, 30); });
  const released = [];
  let made = 0;
  let signal;
  let text = "";
  const storage = {
    claim: async ({ session }) => ({ epoch: session.length }),
    read: async () => [],
    apply: async () => undefined,
    release: async (lease) => { released.push(lease); },
  };
  const services = {
    storage,
    async request(asked) {
      signal = asked.signal;
      made = 0;
      async function* endless() {
        for (; made < 5000; made += 1) yield new TextEncoder().encode(`piece ${made} `);
      }
      async function* cut() {
        const bytes = new TextEncoder().encode(text);
        for (let at = 0; at < bytes.length; at += 100_003) yield bytes.subarray(at, at + 100_003);
      }
      return asked.path === "/api/tags" ? { status: 200, body: cut() } : { status: 200, body: endless() };
    },
  };
  const [near, far] = wire();
  const service = serveWire(far, services);
  const client = new WireClient(near);
  const stream = client.stream("request", { method: "POST", path: "/api/chat", body: "{}" }, new AbortController().signal);
  await stream.next();
  await rest();
  assert.ok(made <= CREDIT, `${made} pieces were made while nobody read`);
  for (let n = 0; n < 300; n += 1) await stream.next();
  await rest();
  assert.ok(made > 300 && made <= 301 + CREDIT, String(made));
  await stream.return();
  await rest();
  assert.ok(signal.aborted && made < 400, "who reads no more ends it");
  const stop = new AbortController();
  const other = client.stream("request", { method: "POST", path: "/api/chat", body: "{}" }, stop.signal);
  await other.next();
  stop.abort("enough");
  await assert.rejects(async () => { for (;;) if ((await other.next()).done) return; }, (error) => error === "enough");
  await rest();
  assert.ok(signal.aborted);

  // pairs of characters at every kind of border
  text = `x${"😀漢é".repeat(60_000)}`;
  let read = "";
  for await (const piece of client.stream("request", { method: "GET", path: "/api/tags" }, new AbortController().signal)) {
    if (typeof piece !== "string") continue;
    assert.ok(piece.isWellFormed?.() ?? true);
    read += piece;
  }
  assert.ok(read === text);

  assert.deepEqual(await client.call("claim", { session: "four", takeOver: false }), { epoch: 4 });
  // another view in its place: the first one is gone
  const second = new WireClient(near);
  await second.hello();
  assert.deepEqual(released, [{ session: "four", epoch: 4 }]);
  await second.call("claim", { session: "abc" });
  // another view of the same storage hears of it, and of what changes a head; who did it does not
  const [there, here] = wire();
  const neighbour = serveWire(here, services);
  const third = new WireClient(there);
  const heard = [[], []];
  const ends = [second, third].map((one, i) => one.onChange((change) => heard[i].push(change)));
  await third.hello();
  const apply = (client, session, epoch, table) => client.call("apply", { lease: { session, epoch }, expect: null, ops: [{ op: "put", table, key: [session], value: "{}" }] });
  await apply(second, "abc", 3, "partials");
  await apply(second, "abc", 3, "heads");
  await third.call("claim", { session: "abcde" });
  await rest();
  assert.deepEqual(heard, [[{ session: "abcde", epoch: 5 }], [{ session: "abc", epoch: 3 }]]);
  neighbour.dispose();
  ends[1]();
  await apply(second, "abc", 3, "heads");
  await rest();
  assert.deepEqual(heard.map((all) => all.length), [1, 1]);
  assert.deepEqual(await second.call("estimate", {}), null, "a storage that does not know");
  service.dispose();
  assert.deepEqual(released.at(-1), { session: "abc", epoch: 3 });
  // a host in place of the first one does not know the view, which says hello again by itself
  const again = serveWire(far, services);
  assert.deepEqual(await second.call("read", { query: "get", table: "heads", key: ["s"] }), []);
  again.dispose();
});

// ── an element of a plain page ──

/** Mounts the app in the page; what it was is in `globalThis.app`. */
const mounted = (page, address) => page.evaluate(async (address) => {
  const { mount } = await import("./palimpsest-ui/dist/ui.js");
  if (localStorage.getItem("palimpsest.settings") === null) localStorage.setItem("palimpsest.settings", JSON.stringify({ address, language: "en", titles: false }));
  globalThis.events = [];
  globalThis.app = await mount(document.getElementById("chat"), { settings: localStorage, onEvent: (event) => globalThis.events.push(event.type) });
}, address);

/** in an element of a plain page the app works with its own storage, and neither's styles reach the other. */
test("a mounted app", async () => {
  const fake = await startFake({ replies: ["Good morning.", "Again good."] });
  const server = await serve(path.join(folder, "plain"), { policy: POLICY.replace("connect-src 'self'", `connect-src 'self' ${fake.url}`) });
  const page = await chrome.browser.newPage();
  await page.setViewport({ width: 1200, height: 900 });
  try {
    const problems = await watched(page);
    await page.goto(`${server.url}/mounted.html`);
    const looks = () => page.evaluate(() => {
      const style = (selector) => getComputedStyle(document.querySelector(selector));
      const root = document.querySelector("#chat > div")?.shadowRoot;
      const theirs = root && getComputedStyle(root.querySelector("h1"));
      return [style("#mine").color, style("#own").backgroundColor, style("#mine").fontFamily, getComputedStyle(document.body).backgroundColor, document.title, location.hash, document.documentElement.dataset.theme ?? "", theirs?.textTransform, theirs && theirs.color !== "rgb(1, 2, 3)"];
    });
    const before = await looks();
    await mounted(page, fake.url);
    const after = await looks();
    assert.deepEqual(after.slice(0, 7), before.slice(0, 7), "the page around it is as it was");
    assert.deepEqual(after.slice(7), ["none", true], "its styles do not reach inside");
    await say(page, "Hello");
    await says(page, "Good morning.");
    const inside = (act) => page.evaluate(act);
    assert.ok((await inside(() => globalThis.events)).includes("budget-changed"));
    // its screens are not in the address, and its keys are only for those who are in it
    await inside(() => document.querySelector("#chat > div").shadowRoot.querySelector('.side a[href="#settings"]').click());
    await until(page, () => document.querySelector("#chat > div").shadowRoot.querySelector('[data-view="settings"]'));
    assert.equal(await inside(() => location.hash), "");
    await page.focus("#own");
    await page.keyboard.press("?");
    assert.equal(await inside(() => document.querySelector("#chat > div").shadowRoot.querySelector("dialog[open]")), null);
    await inside(() => globalThis.app.focus());
    await until(page, () => document.querySelector("#chat > div").shadowRoot.activeElement?.id === "msg");
    await inside(() => globalThis.app.setModel("qwen3:4b"));
    await until(page, () => /qwen3:4b/.test(document.querySelector("#chat > div").shadowRoot.querySelector(".model").textContent));

    // one in an element
    const code = await page.evaluate(async () => {
      const { mount } = await import("./palimpsest-ui/dist/ui.js");
      return mount(document.getElementById("chat")).then(() => "mounted", (error) => `${error.name} ${error.code}`);
    });
    assert.equal(code, "PalimpsestError already_mounted");
    await inside(() => { globalThis.app.unmount(); globalThis.app.unmount(); });
    assert.equal(await inside(() => document.getElementById("chat").childNodes.length), 0);
    assert.equal(await inside(() => { try { globalThis.app.focus(); return "done"; } catch (error) { return error.code; } }), "closed");
    await mounted(page, fake.url);
    await says(page, "Good morning.");
    await say(page, "Once more");
    await says(page, "Again good.");
    // what is shown is stored once the reply is over
    await until(page, () => globalThis.app.engine.info.replying === false);
    await page.reload();
    await mounted(page, fake.url);
    await says(page, "Again good.");
    assert.deepEqual(problems, []);
    const chats = fake.requests.filter((r) => r.method === "POST" && r.path === "/api/chat").map((r) => r.body);
    assert.equal(chats.length, 2, chats.join("\n"));
  } finally {
    await page.close();
    await server.close();
    await fake.close();
  }
});

/** I10: fifty times mounted and taken away leaves no listener, no element and no document behind. */
test("mounted and taken away fifty times", async () => {
  const server = await serve(path.join(folder, "plain"), { policy: POLICY.replace("connect-src 'self'", "connect-src 'self' http://localhost:*") });
  const page = await chrome.browser.newPage();
  try {
    await page.goto(`${server.url}/mounted.html`);
    const cdp = await page.createCDPSession();
    const counts = async () => {
      // what waits for a moment has its moment
      await page.evaluate(() => new Promise((resolve) => { setTimeout(resolve, 300); }));
      for (let n = 0; n < 3; n += 1) await cdp.send("HeapProfiler.collectGarbage");
      const { Nodes, JSEventListeners, Documents } = await page.metrics();
      return { Nodes, JSEventListeners, Documents };
    };
    const times = (n) => page.evaluate(async (n) => {
      const { mount } = await import("./palimpsest-ui/dist/ui.js");
      for (let i = 0; i < n; i += 1) {
        const app = await mount(document.getElementById("chat"), { settings: globalThis.kept ??= (() => { const all = new Map([["palimpsest.settings", '{"language":"en"}']]); return { getItem: (k) => all.get(k) ?? null, setItem: (k, v) => void all.set(k, v), removeItem: (k) => void all.delete(k) }; })() });
        app.unmount();
      }
    }, n);
    await times(5);
    const early = await counts();
    await times(50);
    const late = await counts();
    console.log(`# after 5: ${JSON.stringify(early)}, after 55: ${JSON.stringify(late)}`);
    assert.ok(late.JSEventListeners <= early.JSEventListeners + 5, JSON.stringify([early, late]));
    assert.ok(late.Nodes <= early.Nodes + 50, JSON.stringify([early, late]));
    assert.equal(late.Documents, early.Documents);
  } finally {
    await page.close();
    await server.close();
  }
});

/**
 * Fifty times mounted and taken away with a session of 5,000 messages, each time until its last message stands there: nothing
 * of it stays in the module's memory. What still runs when the app is taken away finds it gone and goes on.
 */
test("fifty times with 5,000 messages: the memory stays", { timeout: 1_500_000 }, async () => {
  const server = await serve(path.join(folder, "plain"), { policy: POLICY.replace("connect-src 'self'", "connect-src 'self' http://localhost:*") });
  const page = await chrome.browser.newPage();
  try {
    const problems = [];
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("console", (message) => message.type() === "error" && !/ERR_|Failed to load/.test(message.text()) && problems.push(message.text()));
    await page.evaluateOnNewDocument(() => {
      for (const name of ["instantiate", "instantiateStreaming"]) {
        const own = WebAssembly[name];
        WebAssembly[name] = async (...given) => {
          const made = await own.apply(WebAssembly, given);
          const memory = (made.instance ?? made).exports.memory;
          if (memory) globalThis.memories = [...(globalThis.memories ?? []), memory];
          return made;
        };
      }
    });
    await page.goto(`${server.url}/mounted.html`);
    await page.evaluate(async () => {
      const { mount } = await import("./palimpsest-ui/dist/ui.js");
      const all = new Map([["palimpsest.settings", '{"language":"en","titles":false,"summary_model":"-","automatic":false,"window":131072}']]);
      const settings = { getItem: (k) => all.get(k) ?? null, setItem: (k, v) => void all.set(k, v), removeItem: (k) => void all.delete(k) };
      globalThis.begin = () => mount(document.getElementById("chat"), { settings });
      globalThis.root = () => document.querySelector("#chat > div")?.shadowRoot;
      globalThis.there = async () => {
        const end = Date.now() + 120_000;
        while (!/Line 5000 of/.test(root()?.querySelector(".thread .msg:last-of-type .prose")?.textContent ?? "")) {
          if (Date.now() > end) throw new Error(`the last message does not stand there: ${root()?.textContent.slice(0, 500)}`);
          await new Promise((done) => setTimeout(done, 20));
        }
      };
    });
    // into the store as a person brings it: a file is dropped on the app
    await page.evaluate(async () => {
      const app = await begin();
      const messages = Array.from({ length: 5000 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: `Line ${i + 1} of a long talk about bread, flour and water: batch ${i * 7919 % 10007} rests for a day.` }));
      const data = new DataTransfer();
      data.items.add(new File([JSON.stringify({ title: "Long", messages })], "long.json", { type: "application/json" }));
      root().querySelector(".app").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, composed: true, cancelable: true }));
      await there();
      app.unmount();
    });
    const bytes = () => page.evaluate(() => globalThis.memories.reduce((sum, memory) => sum + memory.buffer.byteLength, 0));
    const sizes = [];
    for (let i = 1; i <= 50; i += 1) {
      await page.evaluate(async (screens) => {
        const app = await begin();
        await there();
        // what is opened leaves nothing either
        for (const screen of screens) {
          root().querySelector(`.side a[href="${screen}"]`)?.click();
          await new Promise((done) => setTimeout(done, 50));
        }
        app.unmount();
        if (screens.length > 0) {
          // taken away before it stands: what was begun ends without it
          const early = await begin();
          early.unmount();
        }
      }, i % 10 === 0 ? ["#settings", "#library", "#log", "#context", "#chat"] : []);
      sizes.push(await bytes());
    }
    console.log(`# bytes after 1, 5, 25, 50: ${[0, 4, 24, 49].map((at) => sizes[at]).join(", ")}`);
    assert.ok(sizes[49] <= 1.1 * sizes[4], sizes.join(" "));
    assert.deepEqual(problems, []);
  } finally {
    await page.close();
    await server.close();
  }
});

/** The other engine mounts it, too: laid out by its frame's width, with its icons, and answered. */
test("a mounted app in Firefox", async () => {
  const fake = await startFake({ replies: ["Good evening."] });
  const server = await serve(path.join(folder, "plain"), { policy: POLICY.replace("connect-src 'self'", `connect-src 'self' ${fake.url}`) });
  const firefox = await launch("firefox");
  try {
    const page = await firefox.browser.newPage();
    const problems = [];
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
    await page.setViewport({ width: 1200, height: 900 });
    await page.goto(`${server.url}/mounted.html`);
    await page.evaluate(() => { document.getElementById("chat").style.width = "360px"; });
    await mounted(page, fake.url);
    const bottom = await page.evaluate(() => {
      const root = document.querySelector("#chat > div").shadowRoot;
      return [getComputedStyle(root.querySelector(".bottom")).display, getComputedStyle(root.querySelector(".side")).display, root.querySelectorAll(".sprite symbol").length > 25];
    });
    assert.deepEqual(bottom, ["grid", "none", true], "a narrow element has the narrow layout, however wide its page is");
    await until(page, () => /:/.test(document.querySelector("#chat > div").shadowRoot.querySelector("#model").textContent));
    await page.evaluate(() => globalThis.app.focus());
    await until(page, () => document.querySelector("#chat > div").shadowRoot.activeElement?.id === "msg");
    await page.keyboard.type("Hello");
    await page.keyboard.press("Enter");
    await says(page, "Good evening.");
    await page.evaluate(() => globalThis.app.unmount());
    assert.deepEqual(problems, []);
  } finally {
    await firefox.close();
    await server.close();
    await fake.close();
  }
});

/** I10: what is wrong is said with a code, and the next call works. */
test("bad input of mount", async () => {
  const server = await serve(path.join(folder, "plain"));
  const page = await chrome.browser.newPage();
  try {
    await page.goto(`${server.url}/mounted.html`);
    const got = await page.evaluate(async () => {
      const { mount, parentPort } = await import("./palimpsest-ui/dist/ui.js");
      const el = document.getElementById("chat");
      const bad = (...given) => mount(...given).then(() => "mounted", (error) => `${error.name} ${error.code} ${error.retryable}`);
      const html = new TextEncoder().encode("<!doctype html>");
      const out = [];
      for (const given of [
        [null], ["chat"], [{}], [document.querySelector("svg")], [el, null], [el, { wsm: 1 }], [el, { theme: "pink" }], [el, { storage: {} }], [el, { transport: {} }],
        [el, { settings: {} }], [el, { features: { router: "history" } }], [el, { features: { sidebr: false } }],
        [el, { wasm: html }], [el, { wasm: new Uint8Array(8) }], [el, { wasm: "/nowhere.wasm" }], [el, { wasm: "mounted.html" }], [el, { css: "/nowhere.css" }],
      ]) out.push(await bad(...given));
      const port = (() => { try { parentPort("*"); return "made"; } catch (error) { return error.code; } })();
      const both = await Promise.all([bad(el), bad(el)]);
      const left = el.childNodes.length;
      return { out, port, both, left };
    });
    assert.deepEqual(got.out, [
      ...Array(12).fill("PalimpsestError invalid_options false"),
      ...Array(5).fill("PalimpsestError load_failed true"),
    ]);
    assert.equal(got.port, "invalid_options");
    assert.deepEqual(got.both, ["mounted", "PalimpsestError already_mounted false"]);
    assert.equal(got.left, 1);
  } finally {
    await page.close();
    await server.close();
  }
});

/**
 * I10, B8: a document has as many apps as it has elements for them, over one storage, each with its own memory, settings and looks.
 * An app that traps says so in its element, and one that is taken away takes nothing along: the other goes on.
 */
test("two apps in one document", async () => {
  const fake = await startFake({ replies: ["The first answers.", "The second answers.", "The first goes on.", "A third answers."] });
  const server = await serve(path.join(folder, "plain"), { policy: POLICY.replace("connect-src 'self'", `connect-src 'self' ${fake.url}`) });
  const page = await chrome.browser.newPage();
  await page.setViewport({ width: 1200, height: 900 });
  try {
    const problems = await watched(page);
    await page.evaluateOnNewDocument(() => {
      // each instance can be made to trap when something calls it back
      globalThis.instances = [];
      const own = WebAssembly.instantiate;
      WebAssembly.instantiate = async (...given) => {
        const made = await own.apply(WebAssembly, given);
        const one = { traps: false };
        globalThis.instances.push(one);
        const exports = { ...made.exports };
        for (const name of Object.keys(exports).filter((name) => name.includes("convert__closures"))) {
          const call = exports[name];
          exports[name] = (...args) => {
            if (one.traps) throw new WebAssembly.RuntimeError("unreachable");
            return call(...args);
          };
        }
        return Object.create(WebAssembly.Instance.prototype, { exports: { value: exports } });
      };
    });
    await page.goto(`${server.url}/mounted.html`);
    await page.evaluate(async (address) => {
      const { mount } = await import("./palimpsest-ui/dist/ui.js");
      const [one, two] = ["chat", "second"].map((id) => document.getElementById(id) ?? Object.assign(document.createElement("div"), { id }));
      for (const el of [one, two]) el.style.height = "420px";
      document.body.append(two);
      globalThis.heard = { chat: [], second: [] };
      globalThis.begin = (id, theme) => {
        const all = new Map([["palimpsest.settings", JSON.stringify({ address, language: "en", titles: false })]]);
        const settings = { getItem: (k) => all.get(k) ?? null, setItem: (k, v) => void all.set(k, v), removeItem: (k) => void all.delete(k) };
        return mount(document.getElementById(id), { settings, theme, onEvent: (event) => globalThis.heard[id].push(event.type) });
      };
      globalThis.apps = { chat: await begin("chat", "light"), second: await begin("second", "dark") };
      globalThis.inside = (id) => document.querySelector(`#${id} > div`).shadowRoot;
    }, fake.url);
    const talk = async (id, text, answer) => {
      await until(page, (id) => /:/.test(inside(id).querySelector("#model").textContent), id);
      await page.evaluate((id) => apps[id].focus(), id);
      await until(page, (id) => inside(id).activeElement?.id === "msg", id);
      await page.keyboard.type(text);
      await page.keyboard.press("Enter");
      await until(page, (id, answer) => inside(id).querySelector(".thread").textContent.includes(answer), id, answer);
    };
    await talk("chat", "Who is first?", "The first answers.");
    assert.deepEqual(await page.evaluate(() => ["chat", "second"].map((id) => heard[id].includes("message-added"))), [true, false]);
    // both have the newest session open, which the first one writes
    await until(page, () => /Read-only/.test(inside("second").textContent));
    await page.evaluate(() => apps.second.newSession());
    await until(page, () => !/Read-only/.test(inside("second").textContent));
    await talk("second", "Who is second?", "The second answers.");
    const apart = await page.evaluate(() => ["chat", "second"].map((id) => [inside(id).querySelector(".thread").textContent.includes("The first"), getComputedStyle(inside(id).querySelector(".palimpsest")).backgroundColor]));
    assert.deepEqual(apart.map(([first]) => first), [true, false], "each shows its own session");
    assert.notEqual(apart[0][1], apart[1][1], "each has its own theme");
    // what the one has said is in the list of the other, where it is read and not written
    await until(page, () => /Who is first/.test(inside("second").querySelector(".side").textContent));
    await page.evaluate(() => [...inside("second").querySelectorAll(".side a, .side button")].find((row) => /Who is first/.test(row.textContent)).click());
    await until(page, () => inside("second").querySelector(".thread").textContent.includes("The first answers.") && /Read-only/.test(inside("second").textContent));
    await page.evaluate(() => apps.second.newSession());
    await until(page, () => !/Read-only/.test(inside("second").textContent));

    // the second traps, and says so; the first goes on
    await page.evaluate(() => {
      instances[1].traps = true;
      inside("second").querySelector("#msg").dispatchEvent(new Event("input", { bubbles: true }));
    });
    await until(page, () => /Your data is safe.*RuntimeError/s.test(inside("second").querySelector(".crash")?.textContent ?? ""));
    await talk("chat", "Are you still there?", "The first goes on.");
    assert.equal(await page.evaluate(() => inside("chat").querySelector(".crash")), null);
    // where it stood, another one begins anew
    await page.evaluate(async () => {
      apps.second.unmount();
      apps.chat.unmount();
      apps.second = await begin("second", "dark");
    });
    assert.equal(await page.evaluate(() => document.getElementById("chat").childNodes.length), 0);
    await talk("second", "And you?", "A third answers.");
    assert.deepEqual(problems.filter((problem) => !/unreachable/.test(problem)), []);
  } finally {
    await page.close();
    await server.close();
    await fake.close();
  }
});

// ── a frame of another origin ──

/** in a frame of another origin the app has its sessions and its model server from the page around it, and from nobody else. */
test("a frame of another origin", async () => {
  const fake = await startFake({ replies: ["From far away."] });
  const inner = await serve(path.join(folder, "embed"));
  const outer = await serve(path.join(folder, "embed"), { policy: `${POLICY.replace("connect-src 'self'", `connect-src 'self' ${fake.url}`)}; frame-src ${inner.url}` });
  const page = await chrome.browser.newPage();
  await page.setViewport({ width: 1000, height: 800 });
  try {
    const problems = await watched(page);
    await page.goto(`${outer.url}/?frame=${encodeURIComponent(inner.url)}&server=${encodeURIComponent(fake.url)}`);
    const frame = await page.waitForFrame((one) => one.url().startsWith(inner.url));
    await frame.waitForSelector(FIELD, { timeout: 60_000 });
    await until(frame, () => /:/.test(document.querySelector("#app > div").shadowRoot.querySelector("#model").textContent));
    await frame.type(FIELD, "Who answers?");
    await page.keyboard.press("Enter");
    await says(frame, "From far away.");
    await until(page, () => /^2 messages kept here/.test(document.getElementById("result").textContent));
    assert.deepEqual(await databases(frame), []);
    // what another window says to the frame is not heard: its own parent's origin counts
    const heard = await frame.evaluate(() => new Promise((resolve) => {
      const own = document.querySelector("#app > div").shadowRoot.querySelector(".thread").textContent;
      window.postMessage({ p: "palimpsest", v: 1, do: "newSession" }, "*");
      setTimeout(() => resolve(own === document.querySelector("#app > div").shadowRoot.querySelector(".thread").textContent), 300);
    }));
    assert.ok(heard);
    assert.deepEqual(problems, []);
  } finally {
    await page.close();
    await outer.close();
    await inner.close();
    await fake.close();
  }
});
