// A fake Ollama for tests: scripted answers, hostile modes, and a recorder of every request.
//
//   node tests/ollama/fake.mjs --port 11434 [--script file.json] [--die-with-stdin]
//
//   import { startFake } from "./fake.mjs";
//   const fake = await startFake({ replies: ["Hello!"] });   // fake.url, fake.requests, fake.close()
//
// The script (a file, the argument of startFake, or the body of POST /__script, which replaces it):
//
//   replies     list of replies (see fake/reply.mjs), or when imported a function (request, n) → reply; used up in order, then the default
//   loop        true: begin the list again instead
//   hostile     a mode of fake/hostile.mjs for every chat; `hostile_times` limits it to the first so many
//   models      what is installed (fake/models.mjs); [] for none
//   tokenizer   "bytes": /api/show serves a byte vocabulary and counts are bytes
//   counts      "rule", "bytes" or {table: {text: tokens}} (fake/counting.mjs)
//   default_ctx num_ctx when a request has none (4096); loaded_ctx: what /api/ps claims instead of the truth
//   answer      {words}: length of default replies
//   first_delay_ms, delay_ms    for every reply that has none of its own
//   origins     what OLLAMA_ORIGINS would add: ["https://example.org"] or ["*"]
//   library     what can be pulled: names and bytes, {"gemma3:1b": 800000000}; pull_steps (20) lines of progress, delay_ms apart
//   version     "0.33.0"
//   v1          "ollama" (default) or "llama.cpp": whose errors and fields /v1 shows, and whether /props tells the window
//   lists       "meta" (llama.cpp) or "max_model_len" (vLLM): how /v1/models tells the window; else it does not
//
// GET /__recorder: requests as JSON lines; DELETE /__recorder empties it. GET /__hostile lists the modes.

import http from "node:http";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { Recorder, goJson, goSyntaxError, goTime, readBody, sendChunkedJson, sendJson, sendText } from "./fake/wire.mjs";
import { guard } from "./fake/cors.mjs";
import { countChat, makeCounter, render } from "./fake/counting.mjs";
import { answerRoom, exceedError, fit, runnerWindow } from "./fake/overflow.mjs";
import { defaultReply, normalise, pieces } from "./fake/reply.mjs";
import { HOSTILE } from "./fake/hostile.mjs";
import { defaultModels, findModel, ps, pulled, show, tags, withTag } from "./fake/models.mjs";

export { HOSTILE, defaultModels };

const INTEGER_OPTIONS = ["num_ctx", "num_predict", "num_keep", "num_thread", "num_batch", "seed", "top_k"];
const NO_IMAGES = { error: { code: 400, message: "Multimodal data provided, but model does not support multimodal requests.", type: "invalid_request_error" } };
const LONGEST_BODY = 256 * 1024 * 1024;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Starts a fake on loopback. `port` 0 takes a free one. */
export async function startFake(script = {}, { port = 0 } = {}) {
  const fake = new Fake(script);
  const server = http.createServer({ maxHeaderSize: 1024 * 1024 }, (req, res) => fake.handle(req, res));
  server.requestTimeout = 0;
  server.keepAliveTimeout = 1000;
  await new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    port: server.address().port,
    /** Replaces the script and starts counting replies again. */
    setScript: (next) => fake.setScript(next),
    /** What came in: method, path, headers, body, status, counts; see fake/wire.mjs. */
    get requests() {
      return fake.recorder.entries;
    },
    clear: () => fake.recorder.clear(),
    close: () => new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    }),
  };
}

class Fake {
  recorder = new Recorder();

  constructor(script) {
    this.setScript(script);
  }

  setScript(script) {
    if (script.hostile !== undefined && script.hostile !== null && !HOSTILE[script.hostile]) {
      throw new Error(`unknown hostile mode "${script.hostile}"; known: ${Object.keys(HOSTILE).join(", ")}`);
    }
    this.script = script;
    this.models = (script.models ?? defaultModels()).map((m) => ({ tokenizer: script.tokenizer, ...m }));
    this.count = makeCounter(script.counts ?? (script.tokenizer === "bytes" ? "bytes" : "rule"));
    this.loaded = new Map();
    this.pulledTo = new Map();
    this.served = 0;
    this.hostileLeft = script.hostile_times ?? Infinity;
  }

  async handle(req, res) {
    const path = new URL(req.url, "http://fake").pathname;
    if (path.startsWith("/__")) return this.control(req, res, path);
    const entry = this.recorder.open(req);
    res.on("close", () => {
      entry.status = res.statusCode;
      entry.aborted = !res.writableFinished;
    });
    try {
      const body = await readBody(req);
      this.recorder.body(entry, body);
      if (body.length > LONGEST_BODY) return sendText(res, 413, "413 request too large");
      if (guard(req, res, this.script.origins)) return;
      await this.route(req, res, path, body, entry);
    } catch (error) {
      if (!res.headersSent) sendJson(res, 500, { error: `fake: ${error.stack}` });
      else res.destroy();
    }
  }

  async control(req, res, path) {
    if (path === "/__recorder" && req.method === "GET") return sendText(res, 200, this.recorder.toJsonLines());
    if (path === "/__recorder" && req.method === "DELETE") {
      this.recorder.clear();
      return sendJson(res, 200, {});
    }
    if (path === "/__hostile") return sendJson(res, 200, Object.keys(HOSTILE));
    if (path === "/__script" && req.method === "POST") {
      try {
        this.setScript(JSON.parse((await readBody(req)).toString() || "{}"));
        return sendJson(res, 200, {});
      } catch (error) {
        return sendJson(res, 400, { error: error.message });
      }
    }
    return sendText(res, 404, "404 page not found");
  }

  /** The window that a server as llama.cpp's was started with. */
  startedWith() {
    return runnerWindow(this.script.default_ctx ?? 4096, Infinity);
  }

  /** What the list of models says of a window beside OpenAI's own fields. */
  listed(model) {
    if (this.script.lists === "max_model_len") return { max_model_len: this.startedWith() };
    if (this.script.lists === "meta") return { meta: { n_ctx: this.startedWith(), n_ctx_train: model.trained } };
    return {};
  }

  async route(req, res, path, body, entry) {
    const get = {
      "/": () => sendText(res, 200, "Ollama is running"),
      "/api/version": () => sendJson(res, 200, { version: this.script.version ?? "0.33.0" }),
      "/api/tags": () => sendJson(res, 200, tags(this.models)),
      "/api/ps": () => sendJson(res, 200, ps(this.models, this.nowLoaded())),
      "/v1/models": () => sendJson(res, 200, {
        object: "list",
        data: this.models.map((m) => ({ id: withTag(m.name), object: "model", created: 1761991200, owned_by: "library", ...this.listed(m) })),
      }),
      ...(this.script.v1 === "llama.cpp" ? { "/props": () => sendJson(res, 200, { default_generation_settings: { n_ctx: this.startedWith() }, total_slots: 1 }) } : {}),
    };
    const post = {
      "/api/chat": (json) => this.generate(res, json, entry, ollamaChat(json)),
      "/api/generate": (json) => this.generate(res, json, entry, ollamaGenerate(json)),
      "/api/show": (json) => this.show(res, json),
      "/api/pull": (json) => this.pull(res, json),
      "/v1/chat/completions": (json) => this.generate(res, json, entry, openaiChat(json, this.script.v1)),
    };
    if (get[path] && (req.method === "GET" || req.method === "HEAD")) return get[path]();
    const remove = path === "/api/delete" && req.method === "DELETE" && ((json) => this.remove(res, json));
    if (get[path] || (post[path] && req.method !== "POST") || (path === "/api/delete" && !remove)) return sendText(res, 405, "405 method not allowed");
    const answer = remove || post[path];
    if (!answer) return sendText(res, 404, "404 page not found");
    const openai = path.startsWith("/v1/");
    const refuse = (status, message) => sendJson(res, status, openai ? openaiError(status, message) : { error: message });
    if (body.length === 0) return refuse(400, "missing request body");
    let json;
    try {
      json = JSON.parse(body.toString("utf8"));
    } catch {
      return refuse(400, goSyntaxError(body.toString("utf8")));
    }
    if (json === null || typeof json !== "object" || Array.isArray(json)) {
      const kind = Array.isArray(json) ? "array" : typeof json === "boolean" ? "bool" : typeof json;
      return refuse(400, `json: cannot unmarshal ${kind} into Go value of type api.ChatRequest`);
    }
    return answer(json);
  }

  /** Downloads from the library of the script, and goes on where an earlier attempt ended. */
  async pull(res, json) {
    const name = withTag(String(json.model || json.name));
    const bytes = Object.entries(this.script.library ?? {}).find(([known]) => withTag(known) === name)?.[1];
    res.writeHead(200, { "Content-Type": "application/x-ndjson" });
    const write = (line) => res.write(`${goJson(line)}\n`);
    write({ status: "pulling manifest" });
    if (bytes === undefined) {
      write({ error: "pull model manifest: file does not exist" });
      return res.end();
    }
    const steps = this.script.pull_steps ?? 20;
    const digest = `sha256:${"5e".repeat(32)}`;
    for (let step = this.pulledTo.get(name) ?? 0; step <= steps; step += 1) {
      if (res.destroyed) return undefined;
      this.pulledTo.set(name, step);
      write({ status: "pulling 5e5e5e5e5e5e", digest, total: bytes, ...(step > 0 ? { completed: Math.round(bytes * step / steps) } : {}) });
      await sleep(this.script.delay_ms ?? 0);
    }
    for (const status of ["verifying sha256 digest", "writing manifest", "success"]) write({ status });
    this.models.push(pulled(name, bytes));
    return res.end();
  }

  remove(res, json) {
    const found = findModel(this.models, json.model || json.name);
    if (!found) return sendJson(res, 404, { error: `model '${json.model ?? ""}' not found` });
    this.models = this.models.filter((model) => model !== found);
    res.writeHead(200, { "Content-Length": 0 });
    return res.end();
  }

  show(res, json) {
    const name = json.model || json.name;
    const found = findModel(this.models, name);
    if (!found) return sendJson(res, 404, { error: `model '${withTag(String(name))}' not found` });
    // The real one does not escape angle brackets here.
    return sendChunkedJson(res, 200, show(found, json.verbose === true), { type: "application/json; charset=utf-8", encode: JSON.stringify });
  }

  /** Models whose keep-alive has not run out. */
  nowLoaded() {
    for (const [name, { expires }] of this.loaded) if (expires <= Date.now()) this.loaded.delete(name);
    return this.loaded;
  }

  async generate(res, json, entry, dialect) {
    const refuse = (status, message) => sendJson(res, status, dialect.error(status, message));
    const model = findModel(this.models, json.model);
    if (!model) return refuse(404, `model '${json.model ?? ""}' not found`);
    for (const name of INTEGER_OPTIONS) {
      const value = json.options?.[name];
      if (value !== undefined && value !== null && !Number.isInteger(value)) {
        return refuse(500, `option "${name}" must be of type integer`);
      }
    }
    if (dialect.tools?.length > 0 && !model.capabilities.includes("tools")) {
      return refuse(400, `registry.ollama.ai/library/${withTag(model.name)} does not support tools`);
    }
    const think = json.think;
    if (![undefined, null, true, false, "low", "medium", "high", "max"].includes(think)) {
      return refuse(400, `invalid think value: "${think}" (must be "high", "medium", "low", "max", true, or false)`);
    }
    if (think && !model.capabilities.includes("thinking")) return refuse(400, `"${json.model}" does not support thinking`);
    const thinks = model.capabilities.includes("thinking") && think !== false;

    if (dialect.messages.some((m) => m.images?.length > 0) && !model.capabilities.includes("vision")) {
      return sendChunkedJson(res, 400, { error: goJson(NO_IMAGES) });
    }

    const numCtx = dialect.numCtx ?? this.script.default_ctx ?? 4096;
    const messages = dialect.messages;
    if (messages.length === 0) return this.loadOrUnload(res, json, model, numCtx, dialect);

    const fitted = dialect.llamaCpp
      ? this.refuseOverflow(messages, runnerWindow(numCtx, model.trained))
      : fit(messages, { numCtx, trained: model.trained, truncate: json.truncate, shift: json.shift, countMessages: (m) => countChat(m, this.count) });
    entry.sentMessages = messages.length;
    if (fitted.error !== undefined) {
      return dialect.openai ? sendJson(res, 400, fitted.error) : sendChunkedJson(res, 400, { error: fitted.error });
    }
    entry.keptMessages = fitted.messages.length;
    if (json._debug_render_only === true) {
      return sendChunkedJson(res, 200, {
        model: json.model, created_at: goTime(), message: { role: "", content: "" }, done: false,
        _debug_info: { rendered_template: render(fitted.messages) },
      }, { type: "application/json; charset=utf-8" });
    }
    this.load(json, model, numCtx);

    const room = answerRoom({ numPredict: dialect.numPredict, tokens: fitted.tokens, window: fitted.window, shift: dialect.llamaCpp ? false : json.shift });
    this.served += 1;
    const reply = this.nextReply(dialect.request, fitted.messages, room);
    const hostile = reply.hostile ?? (this.hostileLeft-- > 0 ? this.script.hostile : undefined);
    entry.hostile = hostile ?? null;
    if (reply.status !== undefined) {
      res.writeHead(reply.status, { "Content-Type": "application/json; charset=utf-8", ...reply.headers });
      return res.end(reply.body ?? goJson(dialect.error(reply.status, reply.error ?? "")));
    }
    const stream = new Stream(res, { model: json.model, dialect, fitted, reply, room, thinks, entry, script: this.script });
    if (hostile) return HOSTILE[hostile](stream.hostileWire());
    return stream.run();
  }

  refuseOverflow(messages, window) {
    const tokens = countChat(messages, this.count);
    return tokens >= window ? { error: exceedError(tokens, window) } : { messages, tokens, window };
  }

  nextReply(request, messages, room) {
    const { replies, loop, answer } = this.script;
    const n = this.served;
    let reply;
    if (typeof replies === "function") reply = replies(request, n);
    else if (replies?.length > 0) reply = replies[loop ? (n - 1) % replies.length : n - 1];
    const full = normalise(reply ?? {});
    if (full.content === undefined && full.tool_calls === undefined && full.thinking === undefined && full.status === undefined) {
      Object.assign(full, defaultReply(request, messages, n, { room, ...answer }));
    }
    return full;
  }

  load(json, model, numCtx) {
    const window = this.script.loaded_ctx ?? Math.min(numCtx, model.trained);
    this.loaded.set(model.name, { window, expires: Date.now() + keepAliveMs(json.keep_alive) });
  }

  loadOrUnload(res, json, model, numCtx, dialect) {
    const unload = json.keep_alive === 0 || /^0\D*$/.test(String(json.keep_alive));
    if (unload) this.loaded.delete(model.name);
    else this.load(json, model, numCtx);
    const body = dialect.generate ? { response: "" } : { message: { role: "assistant", content: "" } };
    sendJson(res, 200, { model: json.model, created_at: goTime(), ...body, done: true, done_reason: unload ? "unload" : "load" });
  }
}

/** "5m", "30s", "1h30m", a number of seconds; negative: for ever. Five minutes when not said. */
function keepAliveMs(value) {
  if (value === undefined || value === null) return 300_000;
  const seconds = typeof value === "number" ? value : [...String(value).matchAll(/(-?[\d.]+)(ms|h|m|s)?/g)]
    .reduce((sum, [, n, unit]) => sum + Number(n) * { h: 3600, m: 60, s: 1, ms: 0.001 }[unit ?? "s"], 0);
  return seconds < 0 ? 1e12 : seconds * 1000;
}

/** Text of a message whose content is a string or a list of parts. */
function contentText(content) {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((part) => part?.text ?? "").join("") : "";
}

function ollamaChat(json) {
  const messages = Array.isArray(json.messages) ? json.messages.map((m) => ({ ...m, content: contentText(m?.content) })) : [];
  return {
    openai: false, generate: false, messages, tools: json.tools, numCtx: json.options?.num_ctx, numPredict: json.options?.num_predict,
    streams: json.stream !== false, request: { ...json, dialect: "ollama", messages }, error: (_, message) => ({ error: message }),
    frame: (model, { content = "", thinking, tool_calls }) => ({
      model, created_at: goTime(), message: { role: "assistant", content, ...(thinking ? { thinking } : {}), ...(tool_calls ? { tool_calls } : {}) }, done: false,
    }),
  };
}

function ollamaGenerate(json) {
  const messages = json.prompt ? [...(json.system ? [{ role: "system", content: json.system }] : []), { role: "user", content: json.prompt }] : [];
  return {
    ...ollamaChat({ ...json, messages }), generate: true,
    frame: (model, { content = "", thinking }) => ({ model, created_at: goTime(), response: content, ...(thinking ? { thinking } : {}), done: false }),
  };
}

function openaiChat(json, flavour) {
  const messages = Array.isArray(json.messages) ? json.messages.map((m) => ({ ...m, content: contentText(m?.content) })) : [];
  const llamaCpp = flavour === "llama.cpp";
  return {
    openai: true, llamaCpp, generate: false, messages, tools: json.tools, numPredict: json.max_completion_tokens ?? json.max_tokens,
    streams: json.stream === true, wantsUsage: json.stream_options?.include_usage === true,
    request: { ...json, dialect: "openai", messages },
    error: (status, message) => (llamaCpp
      ? { error: { code: status, message, type: status === 400 ? "invalid_request_error" : status === 404 ? "not_found_error" : "server_error" } }
      : openaiError(status, message)),
  };
}

/** How Ollama's /v1 shows an error. */
function openaiError(status, message) {
  const type = status === 400 ? "invalid_request_error" : status === 404 ? "not_found_error" : "api_error";
  return { error: { message, type, param: null, code: null } };
}

/** One answer on its way out. */
class Stream {
  constructor(res, parts) {
    this.res = res;
    Object.assign(this, parts);
    this.started = Date.now();
    this.gone = false;
    res.on("close", () => (this.gone = true));
    this.id = `chatcmpl-${this.entry.n}`;
  }

  /** The pieces to send, cut to the room there is. */
  plan() {
    const { reply, thinks, room } = this;
    const out = [];
    let left = room;
    const take = (list, wrap) => {
      for (const piece of list) {
        if (left <= 0) return false;
        left -= 1;
        out.push(wrap(piece));
      }
      return true;
    };
    let whole = take(thinks ? pieces(reply.thinking) : [], (thinking) => ({ thinking }));
    whole &&= take(pieces(reply.content), (content) => ({ content }));
    if (whole && reply.tool_calls) {
      out.push({ tool_calls: reply.tool_calls.map((call, index) => ({ id: call.id ?? `call_${this.entry.n}_${index}`, function: { index, ...call.function } })) });
    }
    // The token that ends the answer is counted, and needs room too.
    const stopped = whole && left > 0;
    return {
      out,
      reason: reply.done_reason ?? (stopped ? "stop" : "length"),
      answerTokens: reply.eval_count ?? room - left + (stopped ? 1 : 0),
    };
  }

  async run() {
    const { reply, script, dialect, entry } = this;
    const { out, reason, answerTokens } = this.plan();
    entry.promptTokens = reply.prompt_eval_count ?? this.fitted.tokens;
    entry.answerTokens = answerTokens;
    await this.wait(reply.first_delay_ms ?? script.first_delay_ms ?? 0);
    await reply.held;
    if (!dialect.streams) {
      const delay = reply.delay_ms ?? script.delay_ms ?? 0;
      await this.wait(delay * out.length);
      return this.gone ? undefined : this.plain(out, reason);
    }
    this.head();
    let sent = 0;
    for (const piece of out) {
      if (sent > 0) await this.wait(reply.delay_ms ?? script.delay_ms ?? 0);
      if (reply.error_after !== undefined && sent >= reply.error_after) break;
      if (!(await this.write(this.frame(piece)))) return;
      sent += 1;
    }
    if (reply.error_after !== undefined) await this.write(this.errorFrame(reply.error ?? "an error was encountered while running the model: unexpected EOF") + "\n");
    else await this.write(this.closing(reason));
    this.res.end();
  }

  async wait(ms) {
    for (let left = ms; left > 0 && !this.gone; left -= 50) await sleep(Math.min(50, left));
  }

  head(headers = {}, status = 200) {
    this.res.writeHead(status, { "Content-Type": this.dialect.openai ? "text/event-stream" : "application/x-ndjson", ...headers });
    this.res.flushHeaders();
  }

  /** Resolves when the bytes are handed to the system: false when the client is gone. */
  write(bytes) {
    if (this.gone || this.res.destroyed) return Promise.resolve(false);
    if (bytes.length === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const gone = () => resolve(false);
      this.res.once("close", gone);
      this.res.write(bytes, (error) => {
        this.res.off("close", gone);
        setImmediate(resolve, !error); // a client in the same process gets its turn
      });
    });
  }

  wrap(json) {
    return this.dialect.openai ? `data: ${json}\n\n` : `${json}\n`;
  }

  frame(piece) {
    if (!this.dialect.openai) return this.wrap(goJson(this.dialect.frame(this.model, piece)));
    return this.wrap(goJson(this.chunk([{ index: 0, delta: openaiDelta(piece, this.dialect.llamaCpp), finish_reason: null }])));
  }

  chunk(choices, extra = {}) {
    return {
      id: this.id, object: "chat.completion.chunk", created: Math.floor(this.started / 1000), model: this.model,
      system_fingerprint: "fp_ollama", choices, ...extra,
    };
  }

  errorFrame(message) {
    return this.dialect.openai ? `data: ${goJson({ error: { message, type: "api_error", param: null, code: null } })}` : goJson({ error: message });
  }

  metrics() {
    const ns = Math.max(1, Date.now() - this.started) * 1_000_000;
    const { promptTokens, answerTokens } = this.entry;
    return {
      total_duration: ns, load_duration: 1_000_000, prompt_eval_count: promptTokens, prompt_eval_duration: Math.ceil(ns / 2),
      eval_count: answerTokens, eval_duration: Math.ceil(ns / 2),
    };
  }

  usage() {
    const { promptTokens, answerTokens } = this.entry;
    return { prompt_tokens: promptTokens, completion_tokens: answerTokens, total_tokens: promptTokens + answerTokens };
  }

  closing(reason) {
    if (!this.dialect.openai) {
      const { done, ...open } = this.dialect.frame(this.model, {});
      return this.wrap(goJson({ ...open, done: true, done_reason: reason, ...this.metrics() }));
    }
    const finish = this.reply.tool_calls && reason === "stop" ? "tool_calls" : reason;
    let text = this.wrap(goJson(this.chunk([{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: finish }])));
    if (this.dialect.wantsUsage) text += this.wrap(goJson(this.chunk([], { usage: this.usage() })));
    return text + this.wrap("[DONE]");
  }

  plain(out, reason) {
    const join = (key) => out.map((piece) => piece[key] ?? "").join("");
    const calls = out.find((piece) => piece.tool_calls)?.tool_calls;
    const whole = { content: join("content"), thinking: join("thinking"), tool_calls: calls };
    if (!this.dialect.openai) {
      return sendJson(this.res, 200, { ...this.dialect.frame(this.model, whole), done: true, done_reason: reason, ...this.metrics() });
    }
    return sendJson(this.res, 200, {
      id: this.id, object: "chat.completion", created: Math.floor(this.started / 1000), model: this.model, system_fingerprint: "fp_ollama",
      choices: [{ index: 0, message: openaiDelta(whole, this.dialect.llamaCpp), finish_reason: calls && reason === "stop" ? "tool_calls" : reason }],
      usage: this.usage(),
    });
  }

  /** What a hostile mode writes with: see fake/hostile.mjs. */
  hostileWire() {
    const { entry, reply, script } = this;
    entry.promptTokens = this.fitted.tokens;
    entry.answerTokens = 3;
    const jsonWith = (fields) => {
      const json = goJson(this.dialect.openai ? this.chunk([]) : { model: this.model, created_at: goTime(), done: false });
      // A later key of the same name wins in every JSON parser in use here.
      return `${json.slice(0, -1)},${fields}}`;
    };
    return {
      sse: this.dialect.openai,
      option: (name, otherwise) => reply[name] ?? script[name] ?? otherwise,
      prompt: () => this.fitted.messages.map((m) => m.content ?? "").join("\n"),
      head: (headers, status) => this.head(headers, status),
      text: (content) => this.frame({ content }),
      raw: (json) => this.wrap(json),
      jsonWith,
      done: () => this.closing("stop"),
      doneWithCounts: (prompt, answer) => {
        const fields = this.dialect.openai ? ["prompt_tokens", "completion_tokens"] : ["prompt_eval_count", "eval_count"];
        entry.promptTokens = 111_111;
        entry.answerTokens = 222_222;
        const saved = this.dialect.wantsUsage;
        this.dialect.wantsUsage = true;
        let text = this.closing("stop");
        this.dialect.wantsUsage = saved;
        [[fields[0], prompt, 111_111], [fields[1], answer, 222_222]].forEach(([name, value, mark]) => {
          text = text.replace(value === null ? `"${name}":${mark},` : `"${name}":${mark}`, value === null ? "" : `"${name}":${value}`);
        });
        return text;
      },
      error: (message) => this.errorFrame(message),
      write: (bytes) => this.write(bytes),
      end: () => this.res.end(),
      destroy: () => this.res.destroy(),
    };
  }
}

function openaiDelta({ content = "", thinking, tool_calls }, llamaCpp) {
  return {
    role: "assistant",
    content,
    ...(thinking ? { [llamaCpp ? "reasoning_content" : "reasoning"]: thinking } : {}),
    ...(tool_calls
      ? { tool_calls: tool_calls.map(({ id, function: f }) => ({ id, index: f.index, type: "function", function: { name: f.name, arguments: JSON.stringify(f.arguments) } })) }
      : {}),
  };
}

async function main(args) {
  const value = (name) => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined);
  if (args.includes("--help")) {
    process.stdout.write("node fake.mjs --port N [--script file.json] [--die-with-stdin]\n");
    return;
  }
  const file = value("--script");
  const script = file ? JSON.parse(readFileSync(file, "utf8")) : {};
  const fake = await startFake(script, { port: Number(value("--port") ?? 11434) });
  process.stdout.write(`ready ${fake.url}\n`);
  const stop = () => fake.close().then(() => process.exit(0));
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
  if (args.includes("--die-with-stdin")) {
    process.stdin.on("end", stop);
    process.stdin.resume();
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  main(process.argv.slice(2)).catch((error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  });
}
