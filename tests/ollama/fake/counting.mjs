// How the fake counts tokens, and how it renders a chat.
//
// The fake has no vocabulary. Its rule is plain and deterministic, close to what real ones give for English:
// a run of up to eight letters with the space before it, one digit, one ideograph, up to three other signs
// (with the space before them), a run of left-over white space. It is not the count of any real model. Where exactness matters there are
// two other counters: `bytes` (one token per UTF-8 byte, matching the vocabulary the fake can serve) and a table of recorded counts.

const RULE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]| ?[\p{L}\p{M}]{1,8}|\p{N}| ?[^\s\p{L}\p{M}\p{N}]{1,3}|\s+/gu;

/** Tokens of `text` by the fake's own rule. */
export function countByRule(text) {
  return text.match(RULE)?.length ?? 0;
}

/** Splits `text` into the tokens of the rule: what a reply is streamed in. */
export function piecesByRule(text) {
  return text.match(RULE) ?? [];
}

/** A counter: `"rule"`, `"bytes"`, or `{table: {text: tokens}}` with the rule for what is not in it. */
export function makeCounter(spec = "rule") {
  if (spec === "rule") return countByRule;
  if (spec === "bytes") return (text) => Buffer.byteLength(text, "utf8");
  const table = new Map(Object.entries(spec.table ?? {}));
  return (text) => table.get(text) ?? countByRule(text);
}

/** ChatML as measured: per prompt, per message by role; other roles cost what their longer name costs. */
const BASE = 4;
const PER_MESSAGE = { user: 5, system: 5, tool: 5, assistant: 6, "": 4 };
/** A blank line between two merged messages: two line feeds. */
const SEPARATOR = 2;

/** Runs of one role (not tool) become one message, joined by a blank line, before the template sees them. */
export function collate(messages) {
  const runs = [];
  for (const message of messages) {
    const role = message.role ?? "";
    const last = runs.at(-1);
    if (last && last.role === role && role !== "tool") last.contents.push(message.content ?? "");
    else runs.push({ role, contents: [message.content ?? ""] });
  }
  return runs;
}

/** The text the model would see. */
export function render(messages) {
  const body = collate(messages).map(({ role, contents }) => `<|im_start|>${role}\n${joined(contents)}<|im_end|>\n`);
  return body.join("") + "<|im_start|>assistant\n";
}

/** Merging adds a blank line only between contents that are there. */
function joined(contents) {
  return contents.join("\n\n");
}

/** Tokens of the rendered chat. */
export function countChat(messages, count) {
  let tokens = BASE;
  for (const { role, contents } of collate(messages)) {
    tokens += PER_MESSAGE[role] ?? 6;
    for (const content of contents) tokens += count(content);
    tokens += SEPARATOR * (contents.length - 1);
  }
  return tokens;
}
