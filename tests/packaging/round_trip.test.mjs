// I3, I10: random talks and agents' loops in every shape, through the package: what comes back is what the provider takes, fits, and is
// the caller's own where nothing had to be shortened. The rules are written here once more, from the providers' documentation, so that
// the package is not its own judge. `ROUND_TRIPS` talks, 40; `ROUND_TRIP_FROM` is the seed of the first.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { install, remove } from "./consumer.mjs";

const TALKS = Number(process.env.ROUND_TRIPS ?? 40);
const FROM = Number(process.env.ROUND_TRIP_FROM ?? 0);
const WINDOWS = [1024, 2048, 4096, 8192];
const POLICIES = ["balanced", "checkpoints", "watermark", "offload-compact", "auto-summarize"];

let folder;
let palimpsest;
before(async () => {
  folder = install();
  palimpsest = await import(pathToFileURL(path.join(fs.realpathSync(folder), "node_modules/palimpsest/dist/node.js")));
  await palimpsest.init();
});
after(() => remove(folder));

// ── talks ──

/** Numbers between 0 and 1, the same for the same seed. */
function chance(seed) {
  let at = seed >>> 0;
  return () => {
    at = (at + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(at ^ (at >>> 15), 1 | at);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const WORDS = ("the build of parser fails when config has an empty list so we read src/parse.rs and found that Token::End is never matched " +
  "deploy on 12 March costs 450 EUR ask Ines about it never push to main use tabs тест 测试 Größe été").split(" ");

/** A talk: requests, replies, and steps whose calls have their results. */
function talk(seed) {
  const next = chance(seed);
  const pick = (list) => list[Math.floor(next() * list.length)];
  const number = (low, high) => low + Math.floor(next() * (high - low + 1));
  const words = (count) => Array.from({ length: count }, () => pick(WORDS)).join(" ");
  const turns = [];
  const requests = number(2, 9);
  let id = 0;
  for (let request = 0; request < requests; request += 1) {
    turns.push({ kind: "request", text: words(number(3, next() < 0.1 ? 700 : 60)), image: next() < 0.05 });
    const steps = next() < 0.3 ? 0 : number(1, next() < 0.3 ? 14 : 4);
    for (let step = 0; step < steps; step += 1) {
      const calls = Array.from({ length: next() < 0.35 ? number(2, 4) : 1 }, () => {
        id += 1;
        return { id: `c${id}`, name: pick(["read", "read", "grep", "bash"]), args: { path: `src/f${number(1, 99)}.rs` }, out: words(number(1, next() < 0.2 ? 1500 : 120)), failed: next() < 0.12 };
      });
      turns.push({ kind: "step", text: next() < 0.4 ? words(number(2, 25)) : "", thought: next() < 0.4 ? words(number(2, 30)) : "", calls, reversed: next() < 0.2 });
    }
    if (request < requests - 1 || next() < 0.9) turns.push({ kind: "reply", text: words(number(2, 80)), thought: next() < 0.3 ? words(number(2, 40)) : "" });
  }
  return turns;
}

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const URL_OF = `data:image/png;base64,${PNG}`;
const answers = ({ calls, reversed }) => (reversed ? [...calls].reverse() : calls);

// ── shapes ──

/** The writers of each shape: of a request, a reply and a step. */
const SHAPES = {
  openai: {
    request: ({ text, image }) => [{ role: "user", content: image ? [{ type: "text", text }, { type: "image_url", image_url: { url: URL_OF } }] : text }],
    reply: ({ text }) => [{ role: "assistant", content: text }],
    step: (turn) => [
      { role: "assistant", content: turn.text || null, tool_calls: turn.calls.map(({ id, name, args }) => ({ id, type: "function", function: { name, arguments: JSON.stringify(args) } })) },
      ...answers(turn).map(({ id, out }) => ({ role: "tool", tool_call_id: id, content: out })),
    ],
  },
  ollama: {
    request: ({ text, image }) => [{ role: "user", content: text, ...(image && { images: [PNG] }) }],
    reply: ({ text, thought }) => [{ role: "assistant", content: text, ...(thought && { thinking: thought }) }],
    step: ({ text, thought, calls }) => [
      { role: "assistant", content: text, ...(thought && { thinking: thought }), tool_calls: calls.map(({ name, args }) => ({ function: { name, arguments: args } })) },
      ...calls.map(({ name, out }) => ({ role: "tool", tool_name: name, content: out })),
    ],
  },
  anthropic: {
    request: ({ text, image }) => [{ role: "user", content: image ? [{ type: "image", source: { type: "base64", media_type: "image/png", data: PNG } }, { type: "text", text }] : text }],
    reply: ({ text, thought }) => [{ role: "assistant", content: thought ? [...SHAPES.anthropic.thought(thought), { type: "text", text }] : text }],
    step: (turn) => [
      { role: "assistant", content: [...SHAPES.anthropic.thought(turn.thought), ...(turn.text ? [{ type: "text", text: turn.text }] : []), ...turn.calls.map(({ id, name, args }) => ({ type: "tool_use", id, name, input: args }))] },
      { role: "user", content: answers(turn).map(({ id, out, failed }) => ({ type: "tool_result", tool_use_id: id, content: out, ...(failed && { is_error: true }) })) },
    ],
    thought: (text) => (text ? [{ type: "thinking", thinking: text, signature: `s${text.length}` }] : []),
  },
  bedrock: {
    request: ({ text, image }) => [{ role: "user", content: [{ text }, ...(image ? [{ image: { format: "png", source: { bytes: new Uint8Array([1, 2, 3]) } } }] : [])] }],
    reply: ({ text, thought }) => [{ role: "assistant", content: [...SHAPES.bedrock.thought(thought), { text }] }],
    step: (turn) => [
      { role: "assistant", content: [...SHAPES.bedrock.thought(turn.thought), ...(turn.text ? [{ text: turn.text }] : []), ...turn.calls.map(({ id, name, args }) => ({ toolUse: { toolUseId: id, name, input: args } }))] },
      { role: "user", content: answers(turn).map(({ id, out, failed }) => ({ toolResult: { toolUseId: id, content: [{ text: out }], status: failed ? "error" : "success" } })) },
    ],
    thought: (text) => (text ? [{ reasoningContent: { reasoningText: { text, signature: "s" } } }] : []),
  },
  gemini: {
    request: ({ text, image }) => [{ role: "user", parts: [{ text }, ...(image ? [{ inlineData: { mimeType: "image/png", data: PNG } }] : [])] }],
    reply: ({ text, thought }) => [{ role: "model", parts: [...SHAPES.gemini.thought(thought), { text }] }],
    step: ({ text, thought, calls }) => [
      { role: "model", parts: [...SHAPES.gemini.thought(thought), ...(text ? [{ text }] : []), ...calls.map(({ id, name, args }, n) => ({ functionCall: { name, args }, ...(n === 0 && { thoughtSignature: `s${id}` }) }))] },
      { role: "user", parts: calls.map(({ name, out, failed }) => ({ functionResponse: { name, response: failed ? { error: out } : { output: out } } })) },
    ],
    thought: (text) => (text ? [{ text, thought: true }] : []),
  },
  "openai-responses": {
    request: ({ text, image }) => [{ type: "message", role: "user", content: [{ type: "input_text", text }, ...(image ? [{ type: "input_image", image_url: URL_OF }] : [])] }],
    reply: ({ text, thought }, n) => [...SHAPES["openai-responses"].thought(thought, n), SHAPES["openai-responses"].said(text, n)],
    step: (turn, n) => [
      ...SHAPES["openai-responses"].thought(turn.thought, n),
      ...(turn.text ? [SHAPES["openai-responses"].said(turn.text, n)] : []),
      ...turn.calls.map(({ id, name, args }) => ({ type: "function_call", id: `f${id}`, call_id: id, name, arguments: JSON.stringify(args), status: "completed" })),
      ...answers(turn).map(({ id, out }) => ({ type: "function_call_output", call_id: id, output: out })),
    ],
    thought: (text, n) => (text ? [{ type: "reasoning", id: `rs${n}`, summary: [{ type: "summary_text", text }], encrypted_content: "g".repeat(80) }] : []),
    said: (text, n) => ({ type: "message", role: "assistant", id: `m${n}`, status: "completed", content: [{ type: "output_text", text, annotations: [] }] }),
  },
  "ai-sdk": {
    request: ({ text, image }) => [{ role: "user", content: image ? [{ type: "text", text }, { type: "image", image: PNG, mediaType: "image/png" }] : text }],
    reply: ({ text, thought }) => [{ role: "assistant", content: [...SHAPES["ai-sdk"].thought(thought), { type: "text", text }] }],
    step: (turn) => [
      { role: "assistant", content: [...SHAPES["ai-sdk"].thought(turn.thought), ...(turn.text ? [{ type: "text", text: turn.text }] : []), ...turn.calls.map(({ id, name, args }) => ({ type: "tool-call", toolCallId: id, toolName: name, input: args }))] },
      { role: "tool", content: answers(turn).map(({ id, name, out, failed }) => ({ type: "tool-result", toolCallId: id, toolName: name, output: { type: failed ? "error-text" : "text", value: out } })) },
    ],
    thought: (text) => (text ? [{ type: "reasoning", text }] : []),
  },
};

const written = (shape, turns) => turns.flatMap((turn, n) => SHAPES[shape][turn.kind](turn, n));

// ── rules ──

const holds = (condition, message) => { if (!condition) throw new Error(message); };
const isSame = (a, b) => JSON.stringify([...a].sort()) === JSON.stringify([...b].sort());

/** What both shapes with turns ask for: the user first, alternation, results at the beginning of the message after their calls. */
function turnsHold(messages, { words, call, result, isThought, mayMix }) {
  const seen = new Set();
  for (const [i, { role, content }] of messages.entries()) {
    holds(role === (i % 2 === 0 ? "user" : "assistant"), `message ${i} is the ${role}'s`);
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    holds(blocks.length > 0, `message ${i} is empty`);
    for (const block of blocks) holds(words(block)?.trim() !== "", `a blank text in message ${i}`);
    const calls = blocks.flatMap((block) => call(block) ?? []);
    const results = blocks.flatMap((block) => result(block) ?? []);
    for (const id of calls) {
      holds(!seen.has(id), `two calls have the id ${id}`);
      seen.add(id);
    }
    const before = i === 0 || role === "assistant" ? [] : [messages[i - 1].content].flat().flatMap((block) => call(block) ?? []);
    holds(isSame(before, results), `message ${i} answers ${results}, the calls before it are ${before}`);
    holds(calls.length === 0 || i < messages.length - 1, `the calls ${calls} have no results`);
    if (!mayMix) holds(blocks.slice(0, results.length).every((block) => result(block) !== undefined), `something stands before the results of message ${i}`);
    if (isThought(blocks.at(-1))) holds(i === messages.length - 1, `message ${i} ends with a thought`);
  }
}

const RULES = {
  openai(messages) {
    for (const [i, message] of messages.entries()) {
      const ids = (message.tool_calls ?? []).map(({ id }) => id);
      const following = messages.slice(i + 1);
      const end = following.findIndex(({ role }) => role !== "tool");
      const results = message.role === "assistant" ? following.slice(0, end === -1 ? undefined : end).map(({ tool_call_id }) => tool_call_id) : [];
      holds(isSame(ids, results), `message ${i} calls ${ids}, the results are ${results}`);
      for (const { function: made } of message.tool_calls ?? []) JSON.parse(made.arguments);
      if (message.role === "tool") holds(["tool", "assistant"].includes(messages[i - 1]?.role), `message ${i} answers nobody`);
      else holds(ids.length > 0 || (typeof message.content === "string" ? message.content.trim() !== "" : message.content.length > 0), `message ${i} is empty`);
    }
  },
  ollama(messages) {
    for (const [i, message] of messages.entries()) {
      holds(typeof message.content === "string", `the content of message ${i} is no text`);
      const names = (message.tool_calls ?? []).map(({ function: { name } }) => name);
      const results = names.map((_, n) => messages[i + 1 + n]?.tool_name);
      holds(JSON.stringify(names) === JSON.stringify(results), `message ${i} calls ${names}, the results are ${results}`);
      if (message.role !== "tool" && names.length === 0) holds(message.content.trim() !== "" || message.images?.length > 0, `message ${i} is empty`);
      if (message.role === "tool") holds(messages[i - 1]?.tool_calls !== undefined || messages[i - 1]?.role === "tool", `message ${i} answers nobody`);
    }
  },
  anthropic: (messages) => turnsHold(messages, {
    words: (block) => (block.type === "text" ? block.text : undefined),
    call: (block) => (block.type === "tool_use" ? [block.id] : undefined),
    result: (block) => (block.type === "tool_result" ? [block.tool_use_id] : undefined),
    isThought: ({ type }) => type === "thinking",
    mayMix: false,
  }),
  bedrock: (messages) => turnsHold(messages, {
    words: ({ text }) => text,
    call: ({ toolUse }) => (toolUse ? [toolUse.toolUseId] : undefined),
    result: ({ toolResult }) => (toolResult ? [toolResult.toolUseId] : undefined),
    isThought: ({ reasoningContent }) => reasoningContent !== undefined,
    mayMix: true,
  }),
  gemini(messages) {
    for (const [i, { role, parts }] of messages.entries()) {
      holds(role === (i % 2 === 0 ? "user" : "model"), `message ${i} is the ${role}'s`);
      holds(parts.length > 0 && parts.every(({ text }) => text?.trim() !== ""), `message ${i} has a blank text or nothing`);
      const calls = parts.flatMap(({ functionCall }) => functionCall?.name ?? []);
      const responses = (messages[i + 1]?.parts ?? []).flatMap(({ functionResponse }) => functionResponse?.name ?? []);
      if (role === "model") holds(JSON.stringify(calls) === JSON.stringify(responses), `message ${i} calls ${calls}, the responses are ${responses}`);
    }
    holds((messages[0]?.parts ?? []).every(({ functionResponse }) => functionResponse === undefined), "the list begins with a response");
  },
  "openai-responses"(items) {
    const open = new Set();
    const seen = new Set();
    for (const [i, item] of items.entries()) {
      if (item.type === "function_call") {
        holds(!seen.has(item.call_id), `two calls have the id ${item.call_id}`);
        seen.add(item.call_id);
        open.add(item.call_id);
        JSON.parse(item.arguments);
      } else if (item.type === "function_call_output") {
        holds(open.delete(item.call_id), `item ${i} answers ${item.call_id}, which is not open`);
      } else if (item.type === "reasoning") {
        const after = items.slice(i + 1).find(({ type }) => type !== "reasoning");
        holds(after?.type === "function_call" || after?.role === "assistant", `the reasoning of item ${i} leads to nothing`);
      } else {
        holds(open.size === 0 || item.role === "assistant", `item ${i} stands before the results of ${[...open]}`);
        holds([item.content].flat().some((part) => typeof part !== "object" || part.type === "input_image" || part.text.trim() !== ""), `item ${i} is empty`);
      }
    }
    holds(open.size === 0, `the calls ${[...open]} have no results`);
  },
  "ai-sdk"(messages) {
    for (const [i, { role, content }] of messages.entries()) {
      holds(content.length > 0, `message ${i} is empty`);
      const calls = role === "assistant" && typeof content !== "string" ? content.filter(({ type }) => type === "tool-call").map(({ toolCallId }) => toolCallId) : [];
      const following = messages[i + 1];
      const results = role === "assistant" && following?.role === "tool" ? following.content.map(({ toolCallId }) => toolCallId) : [];
      holds(isSame(calls, results), `message ${i} calls ${calls}, the results are ${results}`);
      if (role === "tool") holds(messages[i - 1]?.role === "assistant", `message ${i} answers nobody`);
    }
  },
};

/** Everything that is asked of a window. Words do not say whether a list is Anthropic's, so the shape is said. */
function accepted(shape, messages, window, what) {
  const { countTokens, validate } = palimpsest;
  holds(messages.length > 0, `${what} is empty`);
  try {
    RULES[shape](messages);
  } catch (error) {
    throw new Error(`${what}: ${error.message}`);
  }
  const { problems } = validate(messages, shape);
  holds(problems.length === 0, `${what}: validate() refuses it: ${JSON.stringify(problems[0])}`);
  const { tokens } = countTokens(messages, undefined, shape);
  holds(tokens <= window, `${what} has ${tokens} tokens`);
}

for (const shape of Object.keys(SHAPES)) {
  test(`${shape}, ${TALKS} talks`, () => {
    const { compact, Conversation, validate } = palimpsest;
    const faults = [];
    let shortened = 0;
    for (let seed = FROM; seed < FROM + TALKS; seed += 1) {
      const next = chance(seed + 7e6);
      const pick = (list) => list[Math.floor(next() * list.length)];
      const window = pick(WINDOWS);
      const policy = pick(POLICIES);
      const options = { window, policy, dialect: shape };
      const turns = talk(seed);
      const all = written(shape, turns);
      try {
        RULES[shape](all);
        holds(validate(all, shape).ok, `a good list is refused: ${JSON.stringify(validate(all, shape).problems[0])}`);
        let conversation = new Conversation(options);
        let state;
        let pushed = 0;
        for (let turn = 1; turn <= turns.length; turn += 1) {
          const part = all.slice(0, written(shape, turns.slice(0, turn)).length);
          conversation.push(...part.slice(pushed));
          pushed = part.length;
          const { messages, report, state: after } = compact(part, { ...options, state });
          accepted(shape, messages, window, `turn ${turn}`);
          const live = conversation.fit();
          holds(JSON.stringify(live.messages) === JSON.stringify(messages), `turn ${turn}: a live conversation gives another window`);
          if (!report.changed) holds(messages.length === part.length && messages.every((one, i) => one === part[i]), `turn ${turn}: nothing was changed, and the messages are others`);
          shortened += report.changed ? 1 : 0;
          // both as they come from a database
          state = after === undefined ? undefined : JSON.parse(JSON.stringify(after));
          if (next() < 0.2) conversation = Conversation.load(JSON.parse(JSON.stringify(conversation.save())), {});
        }
        accepted(shape, compact(all, options).messages, window, "the whole list at once");
        const wide = compact(all, { ...options, window: 200_000 }).messages;
        holds(wide.length === all.length && wide.every((one, i) => one === all[i]), "a list that fits comes back as another");
      } catch (error) {
        // a request of 700 words is more than a small window may hold, and the error says so
        if (error.code === "cannot_fit" && window <= 2048) continue;
        faults.push(`talk ${seed}, window ${window}, ${policy}: ${error.message}`);
      }
    }
    assert.deepEqual(faults, []);
    assert.ok(shortened > TALKS, `${shortened} windows were shortened`);
  });
}
