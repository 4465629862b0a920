// What other programs do with a conversation that is too long, as rules: a list goes in, the list that a model would get comes out.
//
// Each rule is written here from its description, because the programs count tokens in other ways, need a host, or would make this
// page a third larger. A test compares those of LangChain and of the AI SDK with the real packages. Every rule gets all the room that ours
// may fill, and the same count of tokens.

import { cleared, isResult, isUser, withoutCalls } from "./messages.js";

/** What a rule leaves in place of a tool's result. The programs have texts of their own, of about this length. */
const CLEARED = "[Old tool result content cleared]";

/** Results that masking keeps. */
const KEPT_RESULTS = 10;

/**
 * A rule.
 *
 * @typedef {object} Rule
 * @property {string} id its name in addresses and reports
 * @property {string} name what a person reads
 * @property {string} does the rule in a sentence
 * @property {string} source where it is described
 * @property {(talk: Talk) => object[]} [apply] the messages that stay; a rule without it needs a model
 *
 * @typedef {object} Talk
 * @property {object[]} messages the conversation without its system prompt
 * @property {number} room the most tokens that these may take
 * @property {number} window the model's window, in tokens
 * @property {(message: object) => number} tokens what a message takes
 */

/** @type {Rule[]} */
export const RULES = [
  {
    id: "truncation",
    name: "Truncation",
    does: "The newest messages that fit; everything before them is dropped.",
    source: "https://github.com/ollama/ollama/blob/main/server/prompt.go",
    apply: (talk) => newest(talk, talk.messages),
  },
  {
    id: "trim-messages",
    name: "LangChain trimMessages",
    does: "The newest messages that fit, beginning with one of the user's.",
    source: "https://js.langchain.com/docs/how_to/trim_messages/",
    apply: (talk) => newest(talk, talk.messages, "user first"),
  },
  {
    id: "prune-messages",
    name: "AI SDK pruneMessages",
    does: "Tool calls and results before the last two messages are removed; then the newest messages that fit.",
    source: "https://ai-sdk.dev/docs/reference/ai-sdk-ui/prune-messages",
    apply(talk) {
      const last = Math.max(0, talk.messages.length - 2);
      const old = talk.messages.slice(0, last).filter((message) => !isResult(message)).map(withoutCalls).filter(Boolean);
      return newest(talk, [...old, ...talk.messages.slice(last)]);
    },
  },
  {
    id: "evict-oldest",
    name: "TanStack AI evictOldest",
    does: "Once the limit is passed, the newest messages in half of it, and a marker in place of the rest.",
    source: "https://github.com/TanStack/ai/blob/main/docs/advanced/compaction.md",
    apply(talk) {
      if (fits(talk, talk.messages)) return talk.messages;
      const kept = newest({ ...talk, room: talk.room / 2 }, talk.messages);
      return [{ role: "user", content: "[Earlier messages were removed to fit the context window.]" }, ...kept];
    },
  },
  {
    id: "clear-tool-results",
    name: "TanStack AI clearToolResults",
    does: "Once the limit is passed, all but the three newest tool results become a stub; then the newest messages that fit.",
    source: "https://github.com/TanStack/ai/blob/main/docs/advanced/compaction.md",
    apply(talk) {
      if (fits(talk, talk.messages)) return talk.messages;
      return newest(talk, masked(talk.messages, 3));
    },
  },
  {
    id: "keep-10",
    name: "Keep-10 masking",
    does: "The ten newest tool results stay, all older ones become a placeholder; then the newest messages that fit.",
    source: "https://arxiv.org/abs/2508.21433",
    apply: (talk) => newest(talk, masked(talk.messages, KEPT_RESULTS)),
  },
  {
    id: "opencode",
    name: "opencode pruning",
    does: "Tool results beyond the newest fifth of the window are cleared once that frees a tenth of it; then the newest messages that fit.",
    source: "https://github.com/anomalyco/opencode/blob/dev/packages/opencode/src/session/compaction.ts",
    apply(talk) {
      // 40,000 of 200,000 tokens are protected, and less than 20,000 are not worth it
      const [protect, worth] = [Math.floor(talk.window / 5), Math.floor(talk.window / 10)];
      const users = talk.messages.flatMap((message, n) => (isUser(message) ? [n] : []));
      const turn = users.at(-2) ?? -1;
      let [seen, freed] = [0, 0];
      const old = new Set();
      for (let n = turn - 1; n >= 0; n -= 1) {
        if (!isResult(talk.messages[n])) continue;
        seen += talk.tokens(talk.messages[n]);
        if (seen <= protect) continue;
        freed += talk.tokens(talk.messages[n]);
        old.add(n);
      }
      if (freed < worth) old.clear();
      return newest(talk, talk.messages.map((message, n) => (old.has(n) ? cleared(message, CLEARED) : message)));
    },
  },
  {
    id: "summarization-middleware",
    name: "LangChain summarizationMiddleware",
    does: "A model writes a summary of everything but the newest messages.",
    source: "https://docs.langchain.com/oss/javascript/langchain/middleware/built-in#summarization",
  },
  {
    id: "open-webui",
    name: "Open WebUI compaction",
    does: "The newest half of the messages by number stays, whatever their size; a model summarises the others.",
    source: "https://github.com/open-webui/open-webui/issues/30035",
  },
];

const fits = ({ room, tokens }, messages) => messages.reduce((sum, message) => sum + tokens(message), 0) <= room;

/** The newest messages that fit. A result does not stand without its call. */
function newest({ room, tokens }, messages, begin) {
  let first = messages.length;
  for (let left = room; first > 0; first -= 1) {
    const size = tokens(messages[first - 1]);
    if (size > left) break;
    left -= size;
  }
  const wrong = (message) => isResult(message) || (begin === "user first" && !isUser(message));
  while (first < messages.length && wrong(messages[first])) first += 1;
  return messages.slice(first);
}

/** All but the newest tool results become a placeholder. */
function masked(messages, kept) {
  const results = messages.flatMap((message, n) => (isResult(message) ? [n] : []));
  const old = new Set(results.slice(0, Math.max(0, results.length - kept)));
  return messages.map((message, n) => (old.has(n) ? cleared(message, CLEARED) : message));
}

