// A model in the page. llama.cpp, compiled to wasm, answers what the app asks of an Ollama: which models there are, what is in one of
// them, and chats. The window of a request is the window that the model is loaded with.
//
// Models are files that the page's own server lists in `models/list.json`, and files that a person added, which the browser keeps in
// its private file system. Nothing is asked of any other server.
import { Wllama } from "./llm/wllama.js";

const WASM = new URL("llm/wllama.wasm", import.meta.url).href;
const LIST = new URL("models/list.json", import.meta.url);
const FOLDER = "palimpsest-models";
const LEAST_HEADER = 1 << 20;
const MOST_HEADER = 1 << 27;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** An answer that is no success, as an Ollama would give it. */
class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// ---- files of models

/** The name of a model in a file of that name: lower case, without the ending. */
const called = (file) => file.replace(/\.gguf$/i, "").toLowerCase().replace(/[^a-z0-9.:_-]+/g, "-");

async function folder(create) {
  return (await navigator.storage.getDirectory()).getDirectoryHandle(FOLDER, { create });
}

/** The models there are: name, size in bytes, and how to get the file. */
async function models() {
  const found = new Map();
  try {
    const answer = await fetch(LIST, { cache: "no-cache" });
    if (answer.ok) {
      for (const { name, file, size } of await answer.json()) {
        const from = new URL(file, LIST);
        found.set(name, { name, size, blob: async () => {
          const answer = await fetch(from);
          if (!answer.ok) throw new Refused(500, `the file ${file} of the model could not be fetched: ${answer.status}`);
          return answer.blob();
        } });
      }
    }
  } catch {
    // a page whose server lists none
  }
  try {
    for await (const handle of (await folder(false)).values()) {
      const file = await handle.getFile();
      found.set(called(handle.name), { name: called(handle.name), size: file.size, blob: async () => file });
    }
  } catch {
    // nothing was added
  }
  return found;
}

async function keep(file) {
  const magic = decoder.decode(await file.slice(0, 4).arrayBuffer());
  if (magic !== "GGUF") throw new Error(`${file.name} is no GGUF file`);
  const there = await folder(true);
  const to = await there.getFileHandle(file.name, { create: true });
  const access = await to.createSyncAccessHandle();
  let whole = false;
  try {
    access.truncate(0);
    const step = 1 << 24;
    for (let at = 0; at < file.size; at += step) {
      const piece = new Uint8Array(await file.slice(at, at + step).arrayBuffer());
      if (access.write(piece, { at }) < piece.length) throw new Error("there is no room for it");
    }
    access.flush();
    whole = true;
  } finally {
    access.close();
    // half of a model is none
    if (!whole) await there.removeEntry(file.name);
  }
  headers.delete(called(file.name));
}

/** Removes every file that was added. */
async function drop() {
  await unload();
  headers.clear();
  try {
    await (await navigator.storage.getDirectory()).removeEntry(FOLDER, { recursive: true });
  } catch (error) {
    if (error.name !== "NotFoundError") throw error;
  }
}

/** Headers that were read, by the model's name. */
const headers = new Map();

/** What the beginning of a model's file says: keys with numbers, texts and lists. */
async function header(model) {
  if (headers.has(model.name)) return headers.get(model.name);
  const blob = await model.blob();
  let read;
  for (let size = LEAST_HEADER; read === undefined; size *= 4) {
    try {
      read = parsed(new DataView(await blob.slice(0, size).arrayBuffer()));
    } catch (error) {
      if (!(error instanceof RangeError) || size > MOST_HEADER || size >= blob.size) throw new Refused(500, `the model's file cannot be read: ${error.message}`);
    }
  }
  headers.set(model.name, read);
  return read;
}

/** The keys of a GGUF file. Throws a RangeError where there are too few bytes. */
function parsed(view) {
  if (view.getUint32(0, true) !== 0x46554747) throw new Error("it is no GGUF file");
  let at = 16;
  const whole = () => Number(view.getBigUint64((at += 8) - 8, true));
  const text = () => {
    const length = whole();
    const bytes = new Uint8Array(view.buffer, at, length);
    at += length;
    return decoder.decode(bytes);
  };
  const value = (type) => {
    switch (type) {
      case 0: return view.getUint8(at++);
      case 1: return view.getInt8(at++);
      case 2: return view.getUint16((at += 2) - 2, true);
      case 3: return view.getInt16((at += 2) - 2, true);
      case 4: return view.getUint32((at += 4) - 4, true);
      case 5: return view.getInt32((at += 4) - 4, true);
      case 6: return view.getFloat32((at += 4) - 4, true);
      case 7: return view.getUint8(at++) !== 0;
      case 8: return text();
      case 9: {
        const of = view.getUint32((at += 4) - 4, true);
        return Array.from({ length: whole() }, () => value(of));
      }
      case 10: return whole();
      case 11: return Number(view.getBigInt64((at += 8) - 8, true));
      case 12: return view.getFloat64((at += 8) - 8, true);
      default: throw new Error(`a value of the unknown type ${type}`);
    }
  };
  const keys = {};
  for (let left = whole(); left > 0; left -= 1) {
    const key = text();
    keys[key] = value(view.getUint32((at += 4) - 4, true));
  }
  return keys;
}

// ---- the model that is loaded

/** The model that is loaded: its name, its window, llama.cpp. */
let loaded;

async function unload() {
  const { engine } = loaded ?? {};
  loaded = undefined;
  await engine?.exit();
}

async function load(model, window) {
  if (loaded?.name === model.name && loaded.window === window) return loaded.engine;
  await unload();
  const quiet = () => {};
  const engine = new Wllama({ default: WASM }, { suppressNativeLog: true, logger: { debug: quiet, log: quiet, warn: quiet, error: quiet } });
  await engine.loadModel([await model.blob()], { n_ctx: window });
  loaded = { name: model.name, window, engine };
  return engine;
}

/** Messages as llama.cpp takes them: arguments of calls as text, and an id for each call. */
function messages(all) {
  let calls = 0, open = [];
  return all.map((message) => {
    if (message.tool_calls?.length > 0) {
      const tool_calls = message.tool_calls.map(({ function: { name, arguments: given } }) => ({ id: `call_${(calls += 1)}`, type: "function", function: { name, arguments: JSON.stringify(given ?? {}) } }));
      open = tool_calls.map((call) => call.id);
      return { role: "assistant", content: message.content ?? "", tool_calls };
    }
    if (message.role === "tool") return { role: "tool", content: message.content, tool_call_id: open.shift() ?? "call_0" };
    return { role: message.role, content: message.content };
  });
}

/** What a failure of llama.cpp's means to the app. */
function refusal(error, window) {
  const text = String(error?.message ?? error);
  const tokens = /(\d+) tokens/.exec(text);
  if (/exceed|context size|too long/i.test(text)) {
    return new Refused(400, JSON.stringify({ error: { code: 400, message: text, type: "exceed_context_size_error", n_prompt_tokens: tokens ? Number(tokens[1]) : window, n_ctx: window } }));
  }
  return new Refused(500, text);
}

async function chat(given, write, signal) {
  const model = (await models()).get(given.model);
  if (!model) throw new Refused(404, `model '${given.model}' not found`);
  const options = given.options ?? {};
  const { trained } = await described(model);
  const window = Math.min(options.num_ctx || 4096, trained || 4096);
  const engine = await load(model, window);
  const line = (rest) => write({ model: given.model, created_at: new Date().toISOString(), ...rest });
  if (!given.messages?.length) return line({ message: { role: "assistant", content: "" }, done: true, done_reason: "load" });
  const asked = {
    messages: messages(given.messages), stream: true, stream_options: { include_usage: true }, abortSignal: signal,
    ...(options.num_predict > 0 && { max_tokens: options.num_predict }),
    ...(given.tools?.length > 0 && { tools: given.tools }),
    ...(given.format && { response_format: given.format === "json" ? { type: "json_object" } : { type: "json_schema", json_schema: { schema: given.format } } }),
  };
  for (const [ours, theirs] of [["temperature", "temperature"], ["top_p", "top_p"], ["top_k", "top_k"], ["min_p", "min_p"], ["repeat_penalty", "repeat_penalty"], ["seed", "seed"], ["stop", "stop"]]) {
    if (options[ours] !== undefined) asked[theirs] = options[ours];
  }
  const calls = [];
  let usage = {}, timings = {}, reason = "stop";
  try {
    for await (const chunk of await engine.createChatCompletion(asked)) {
      usage = chunk.usage ?? usage;
      timings = chunk.timings ?? timings;
      const [choice] = chunk.choices ?? [];
      if (choice?.finish_reason) reason = choice.finish_reason;
      for (const call of choice?.delta?.tool_calls ?? []) {
        const known = (calls[call.index ?? 0] ??= { name: "", arguments: "" });
        known.name += call.function?.name ?? "";
        known.arguments += call.function?.arguments ?? "";
      }
      const { content, reasoning_content: thinking } = choice?.delta ?? {};
      if (content || thinking) line({ message: { role: "assistant", content: content ?? "", ...(thinking && { thinking }) }, done: false });
    }
  } catch (error) {
    if (signal.aborted) return;
    throw refusal(error, window);
  }
  if (calls.length > 0) {
    const tool_calls = calls.filter(Boolean).map(({ name, arguments: text }) => ({ function: { name, arguments: object(text) } }));
    line({ message: { role: "assistant", content: "", tool_calls }, done: false });
  }
  const nanos = (ms) => Math.round((ms ?? 0) * 1e6);
  line({
    message: { role: "assistant", content: "" }, done: true, done_reason: reason === "length" ? "length" : "stop",
    prompt_eval_count: usage.prompt_tokens, prompt_eval_duration: nanos(timings.prompt_ms), eval_count: usage.completion_tokens, eval_duration: nanos(timings.predicted_ms),
  });
}

function object(text) {
  try {
    return JSON.parse(text || "{}");
  } catch {
    return {};
  }
}

// ---- requests

const details = (keys) => ({ format: "gguf", family: keys["general.architecture"], parameter_size: keys["general.size_label"] ?? "", quantization_level: "" });

async function described(model) {
  const keys = await header(model);
  const architecture = keys["general.architecture"];
  const template = String(keys["tokenizer.chat_template"] ?? "");
  return {
    keys, template, details: details(keys), trained: keys[`${architecture}.context_length`],
    capabilities: ["completion", ...(/tools/.test(template) ? ["tools"] : [])],
  };
}

async function answer({ method, path, body }, write, signal) {
  const given = body ? JSON.parse(body) : {};
  switch (`${method} ${path}`) {
    case "GET /api/version":
      return write({ version: Wllama.getLibllamaVersion?.() ?? "" });
    case "GET /api/tags": {
      const all = await Promise.all([...(await models()).values()].map(async (model) => {
        const { details, capabilities, trained } = await described(model);
        // the vocabulary that was read of a file is kept by this
        return { name: model.name, model: model.name, size: model.size, digest: `${model.name}-${model.size}`, details: { ...details, context_length: trained }, capabilities };
      }));
      return write({ models: all });
    }
    case "GET /api/ps":
      return write({ models: loaded ? [{ name: loaded.name, model: loaded.name, context_length: loaded.window }] : [] });
    case "POST /api/show": {
      const model = (await models()).get(given.model);
      if (!model) throw new Refused(404, `model '${given.model}' not found`);
      const { keys, template, details, capabilities } = await described(model);
      const short = Object.fromEntries(Object.entries(keys).map(([key, value]) => [key, Array.isArray(value) && !given.verbose ? null : value]));
      return write({ parameters: "", template, details, model_info: short, capabilities });
    }
    case "POST /api/chat":
      return chat(given, write, signal);
    default:
      throw new Refused(404, "404 page not found");
  }
}

/** What is being answered, by the number of its request. */
const running = new Map();
/** Chats go one after the other, as on a server with one model. */
let turn = Promise.resolve();

onmessage = ({ data }) => {
  const { id } = data;
  if (data.stop) return running.get(id)?.abort();
  if (data.add || data.drop) {
    const done = data.add ? keep(data.add) : drop();
    return done.then(() => postMessage({ id }), (error) => postMessage({ id, error: { why: String(error?.message ?? error) } }));
  }
  const stop = new AbortController();
  running.set(id, stop);
  let begun = false;
  const head = (status) => {
    if (!begun) postMessage({ id, head: { status } });
    begun = true;
  };
  const write = (value) => {
    head(200);
    const bytes = encoder.encode(`${JSON.stringify(value)}\n`);
    postMessage({ id, bytes }, [bytes.buffer]);
  };
  const work = async () => {
    if (stop.signal.aborted) return;
    try {
      await answer(data, write, stop.signal);
    } catch (error) {
      // what failed in the middle ends with a line, as a stream of an Ollama's does
      head(error.status ?? 500);
      write({ error: String(error?.message ?? error) });
    }
  };
  const done = data.path === "/api/chat" ? (turn = turn.then(work)) : work();
  done.then(() => {
    running.delete(id);
    postMessage({ id });
  });
};
