#!/usr/bin/env node
// The command line of palimpsest. Results go to standard output, everything for people to standard error.

import { createReadStream, readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { Tokenizer, compact, compactWith, countTokens, forgotten, importConversations, init, receipt, replay, validate, version } from "palimpsest";
import { markdown } from "./markdown.js";
import { bar, gone, replayed, report } from "./show.js";
import { ollama } from "./ollama.js";

const USAGE = `palimpsest <command> <file>         a file of messages, or - for standard input

  compact    shorten a conversation to a window; the messages go to standard output
               --window N          the model's context window, in tokens (8192)
               --reserve N         kept free for the answer
               --max-tokens N      the most the result may hold
               --policy NAME       balanced and others; see the guide
               --goal TEXT         what is to be reached; --pin TEXT, also several times, is kept word for word
               --state FILE        read before and written after: earlier layers then stay as they are
               --ollama URL        summaries by a model there; --model NAME says which
               --output FILE       instead of standard output
               --json              print { messages, report } instead of the messages
  inspect    what is in it, how it fills a window, and what is wrong with it: --window N, --json
  count      tokens of the messages, or of a text file with --text: --tokenizer FILE (what Ollama's /api/show
             says with "verbose": true) counts exactly; --json
  replay     the same conversation under several policies, side by side: what each would have sent, how often it would
             have compacted and asked a model, what would be left: --policy a,b (all), --window N, --json
  forget     what a window of it would not hold any more, each fact with the message that said it: --window N, --policy NAME;
               --against FILE  a window that somebody else made of it, instead of ours
               --at-most N     ends with 1 if more facts are lost
               --json          the receipt: kept, lost, why, digests; see palimpsest/receipt.schema.json
  import     a file of another program as a list of OpenAI messages; --conversation N of several
               read are: Claude Code, Codex, pi, opencode, Gemini CLI, ChatGPT, Claude, Open WebUI, LibreChat, LobeHub, Jan,
               LM Studio, SillyTavern, and lists of messages in JSON or JSON Lines
               --json  every conversation with its branches, and a report of what was read and what was left out
  export     as Markdown to read
  version    of this package

Ends with 0 when done, 1 when it failed, inspect found something wrong or forget more than --at-most, 2 when the command was not understood, 3 when the conversation does not fit,
130 when it was stopped. Colours where a terminal shows them; NO_COLOR and FORCE_COLOR say otherwise.`;

const OPTIONS = {
  window: { type: "string" }, reserve: { type: "string" }, "max-tokens": { type: "string" }, policy: { type: "string" },
  goal: { type: "string" }, pin: { type: "string", multiple: true }, state: { type: "string" }, ollama: { type: "string" },
  model: { type: "string" }, output: { type: "string" }, json: { type: "boolean" }, text: { type: "boolean" },
  tokenizer: { type: "string" }, conversation: { type: "string" }, against: { type: "string" }, "at-most": { type: "string" }, help: { type: "boolean", short: "h" },
};

/** What `replay` plays if nothing is said. */
const POLICIES = ["balanced", "checkpoints", "watermark", "offload-compact", "auto-summarize"];

/** A command that cannot be understood. */
class Usage extends Error {}

/** Somebody pressed Ctrl-C. */
class Stopped extends Error {}

const commands = { compact: shorten, inspect, count, replay: play, forget, import: take, export: print };

async function main(argv) {
  let given;
  try {
    given = parseArgs({ args: argv, options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new Usage(error.message);
  }
  const { values, positionals } = given;
  const [name, file, ...rest] = positionals;
  if (values.help || name === "help") return process.stdout.write(`${USAGE}\n`);
  if (name === undefined) throw new Usage("Which command?");
  await init();
  if (name === "version") return process.stdout.write(`${version()}\n`);
  if (!Object.hasOwn(commands, name)) throw new Usage(`There is no command "${name}".`);
  if (file === undefined) throw new Usage(`${name} needs a file, or - for standard input.`);
  if (rest.length > 0) throw new Usage(`One file at a time: what is "${rest[0]}"?`);
  return commands[name](values, file);
}

function read(file) {
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (error) {
    throw new Error(error.code === "ENOENT" ? `There is no file ${file}.` : `${file} cannot be read: ${error.message}`);
  }
}

/** Everything in a file, whatever program made it. A file is read while it arrives. */
async function imported(file) {
  try {
    return await importConversations(file === "-" ? read(file) : createReadStream(file));
  } catch (error) {
    if (error.code === "ENOENT") throw new Error(`There is no file ${file}.`);
    throw error.code === "bad_input" ? new Error(error.message.replace(/^The file/, file)) : error;
  }
}

/** The messages of a file. What was not understood in it is said. */
async function messagesOf(values, file) {
  const { conversations: found, report: { skipped } } = await imported(file);
  const lost = skipped.filter(({ reason }) => !["not_said", "hidden", "empty"].includes(reason));
  if (lost.length > 0) {
    note(`${file}: not understood and left out: ${lost.map(({ what, count, first }) => `${count} × ${what} (first: ${first})`).join(", ")}.`);
  }
  const n = values.conversation === undefined ? 1 : number(values.conversation, "conversation");
  if (values.conversation === undefined && found.length > 1) {
    note(`${file} holds ${found.length} conversations; this is the first. --conversation N takes another.`);
  }
  const one = found[n - 1];
  if (!one) throw new Usage(`--conversation ${n}: ${file} holds ${found.length}.`);
  return one;
}

function number(text, option) {
  const value = Number(text.replaceAll(/[_,]/g, ""));
  if (!Number.isSafeInteger(value) || value < 1) throw new Usage(`--${option} is a whole number of 1 or more, not "${text}".`);
  return value;
}

function natural(text, option) {
  return text === "0" ? 0 : number(text, option);
}

const optional = (values, option) => (values[option] === undefined ? undefined : number(values[option], option));
const note = (line) => process.stderr.write(`${line}\n`);
const toJson = (value) => `${JSON.stringify(value, null, 2)}\n`;

function put(values, text) {
  if (values.output === undefined) process.stdout.write(text);
  else writeFileSync(values.output, text);
}

async function shorten(values, file) {
  const { messages } = await messagesOf(values, file);
  const options = { window: optional(values, "window") ?? 8192 };
  for (const [option, field] of [["reserve", "reserve"], ["max-tokens", "maxTokens"]]) {
    if (values[option] !== undefined) options[field] = number(values[option], option);
  }
  if (values.policy) options.policy = values.policy;
  if (values.goal) options.goal = { description: values.goal };
  if (values.pin) options.pins = values.pin;
  if (values.state) options.state = kept(values.state);
  if (values.tokenizer) options.tokenizer = await tokenizer(values.tokenizer);
  const done = values.ollama ? await byModel(messages, options, values) : compact(messages, options);
  if (values.state) writeFileSync(values.state, JSON.stringify(done.state));
  put(values, toJson(values.json ? { messages: done.messages, report: done.report } : done.messages));
  for (const line of report(done.report, process.stderr)) note(line);
}

function kept(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw new Error(`${file} is no state of compact: ${error.message}`);
  }
}

async function byModel(messages, options, values) {
  if (!values.model) throw new Usage("--ollama needs --model NAME.");
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort(new Stopped("Stopped; nothing was written.")));
  let done = 0;
  const summarize = async (job, signal) => {
    note(`summary ${(done += 1)}: part ${job.part} of ${job.parts}, at most ${job.targetTokens} tokens${job.attempt > 1 ? ", once more" : ""} …`);
    return ollama(values.ollama, values.model, options.window, job, signal);
  };
  return compactWith(messages, { ...options, model: values.model, signal: stop.signal, onError: "throw" }, summarize);
}

const tokenizer = (file) => Tokenizer.fromOllamaShow(readFileSync(file));

async function inspect(values, file) {
  const { messages, title } = await messagesOf(values, file);
  const window = optional(values, "window") ?? 8192;
  const { dialect, problems } = validate(messages);
  const roles = {};
  for (const message of messages) {
    const role = String(message.role ?? message.type ?? "other");
    roles[role] ??= { messages: 0, tokens: 0 };
    roles[role].messages += 1;
    roles[role].tokens += countTokens([message]).tokens;
  }
  const { tokens, bound, source } = countTokens(messages);
  const found = { title, dialect, messages: messages.length, tokens, bound, source, window, roles, problems };
  if (problems.length > 0) process.exitCode = 1;
  put(values, values.json ? toJson(found) : `${bar(found, process.stdout).join("\n")}\n`);
}

async function count(values, file) {
  const counter = values.tokenizer ? await tokenizer(values.tokenizer) : undefined;
  const found = countTokens(values.text ? read(file) : (await messagesOf(values, file)).messages, counter);
  put(values, values.json ? toJson(found) : `${found.tokens}\n`);
  if (!values.json && found.source === "estimated") note(`estimated; at most ${found.tokens + found.bound} in 95 of 100 cases`);
}

async function play(values, file) {
  const { messages } = await messagesOf(values, file);
  const options = { window: optional(values, "window") ?? 8192, model: values.model ?? "any" };
  if (values.reserve !== undefined) options.reserve = number(values.reserve, "reserve");
  if (values.tokenizer) options.tokenizer = await tokenizer(values.tokenizer);
  const names = values.policy ? values.policy.split(",").map((name) => name.trim()).filter(Boolean) : POLICIES;
  const found = { messages: 0, said: 0, policies: [] };
  for (const [i, name] of names.entries()) {
    // a long conversation takes a while under each
    if (names.length > 1) note(`${name}: ${i + 1} of ${names.length} …`);
    const { policies, ...rest } = await replay(messages, { ...options, policies: [name] });
    Object.assign(found, rest);
    found.policies.push(...policies);
  }
  put(values, values.json ? toJson(found) : `${replayed(found, options.window, process.stdout).join("\n")}\n`);
}

async function forget(values, file) {
  const { messages } = await messagesOf(values, file);
  const window = optional(values, "window") ?? 8192;
  const known = values.tokenizer ? { tokenizer: await tokenizer(values.tokenizer) } : {};
  let made;
  if (values.against !== undefined) {
    if (values.policy) throw new Usage("--policy makes a window, --against names one that is there: one of them.");
    made = { messages: (await messagesOf({}, values.against)).messages, by: values.against };
  } else {
    const policy = values.policy ?? "balanced";
    made = { ...compact(messages, { window, policy, ...known }), by: policy };
  }
  const { messages: shown, by, report: why } = made;
  const found = values.json
    ? await receipt(messages, shown, { ...known, window, by, ...(why && { report: why }) })
    : await forgotten(messages, shown, known);
  const lost = values.json ? found.lost.facts : found.lost;
  if (values["at-most"] !== undefined && lost > natural(values["at-most"], "at-most")) process.exitCode = 1;
  put(values, values.json ? toJson(found) : `${gone(found, by, process.stdout).join("\n")}\n`);
}

async function take(values, file) {
  if (values.json) return put(values, toJson(await imported(file)));
  // servers refuse fields that they do not know
  put(values, toJson((await messagesOf(values, file)).messages.map(({ timestamp, ...message }) => message)));
}

async function print(values, file) {
  put(values, markdown(await messagesOf(values, file)));
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (error instanceof Usage) note(`${error.message}\n\n${USAGE}`);
  else note(error.code ? `${error.code}: ${error.message}` : error.message);
  process.exitCode = error instanceof Usage ? 2 : error instanceof Stopped ? 130 : error.code === "cannot_fit" ? 3 : 1;
}
