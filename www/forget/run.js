// One conversation under one rule in one window: what the model would be sent, and what that forgot.
//
// Ours grows with the conversation and is made to fit before every reply, as a host would do it; the rules of others see the whole
// conversation each time. All are measured by the same two functions of the package: `forgotten`, as `cargo xtask bench survival`
// does, and `measureRequests`, as `cargo xtask bench loop` does.

import { isSystem, roleOf, textOf } from "./messages.js";
import { RULES } from "./rules.js";

/** The named policies of the package, and what they do in a sentence. */
const OURS = {
  balanced: "Layers of what was said first, tool output shortened, and what the last message asks for is quoted.",
  checkpoints: "A layer as soon as the room fills; layers fade with age.",
  watermark: "Everything before a mark becomes one layer, in whole exchanges.",
  "offload-compact": "Tool output is put aside first; then layers.",
  "auto-summarize": "One summary that grows, with rules for tool output.",
};

export const POLICIES = Object.keys(OURS);

export const WINDOWS = [4096, 8192, 16384, 32768];

/** Up to this many messages every reply is a moment of its own. */
const SHORT = 800;

/** Windows that are compared for their common beginning. */
const MOST_BEFORE = 20;

/** Rows of the page: ours first, those that need a model last. */
export const ROWS = [
  ...POLICIES.map((id) => ({ id, name: id, ours: true, needsModel: false, does: OURS[id], source: "docs/guide.md" })),
  ...RULES.map(({ id, name, does, source, apply }) => ({ id, name, ours: false, needsModel: apply === undefined, does, source })),
];

/** A conversation, its counts, and what is made of it. */
export class Conversation {
  #core;
  #tokens = new Map();
  #base;

  /**
   * @param {typeof import("palimpsest") & { grow: typeof import("./growing.js").grow }} core the package, ready
   * @param {{ title?: string, messages: object[], labels?: object }} given
   */
  constructor(core, { title = "", messages, labels }) {
    this.#core = core;
    this.#base = core.countTokens([]).tokens;
    this.title = title;
    this.messages = messages;
    this.labels = labels;
    const talk = messages.findIndex((message) => !isSystem(message));
    this.system = messages.slice(0, talk === -1 ? messages.length : talk);
  }

  /** Tokens of one message, counted once. */
  tokens(message) {
    let known = this.#tokens.get(message);
    if (known === undefined) {
      known = this.#core.countTokens([message]).tokens - this.#base;
      this.#tokens.set(message, known);
    }
    return known;
  }

  /** What the strip shows: each message's role, size and beginning. */
  outline() {
    return this.messages.map((message) => ({ role: roleOf(message), tokens: this.tokens(message), text: textOf(message).slice(0, 400) }));
  }

  /** The positions before which a request is sent: every reply, or for a long conversation some of them, evenly. */
  moments() {
    const { messages } = this;
    const roles = messages.map(roleOf);
    const replies = roles.flatMap((role, n) => (role === "assistant" && roles[n - 1] !== "assistant" && n > 0 ? [n] : []));
    if (messages.length <= SHORT) return replies;
    const most = Math.max(6, Math.min(60, Math.floor(120_000 / messages.length)));
    return Array.from({ length: most }, (_, i) => replies[Math.floor((i * replies.length) / most)]).filter((n) => n !== undefined);
  }

  /** Runs one row in one window. */
  async run(row, window) {
    const policy = POLICIES.includes(row);
    const made = policy ? await this.#compacted(row, window) : await this.#ruled(row, window);
    return this.measured({ row, window, ...made });
  }

  async #compacted(policy, window) {
    const { messages } = this;
    const growing = await this.#core.grow(policy, window);
    try {
      const requests = [];
      let [at, ms, report] = [0, 0];
      for (const n of [...this.moments(), messages.length]) {
        const started = performance.now();
        growing.push(messages.slice(at, n));
        const done = growing.fit();
        ms = performance.now() - started;
        report = done.report;
        requests.push({ at: n, messages: done.messages, limit: report.limit });
        at = n;
      }
      // the request that comes next
      const last = growing.fit();
      return { messages: last.messages, report, limit: report.limit, requests, ms, layers: layersOf(last) };
    } finally {
      growing.free();
    }
  }

  async #ruled(row, window) {
    const { apply } = RULES.find(({ id }) => id === row);
    const limit = await this.limit(window);
    const taken = this.system.reduce((sum, message) => sum + this.tokens(message), 0);
    const at = (n) => {
      const messages = this.messages.slice(this.system.length, n);
      return [...this.system, ...apply({ messages, room: limit - taken, window, tokens: (message) => this.tokens(message) })];
    };
    const moments = [...this.moments().filter((n) => n > this.system.length), this.messages.length];
    const requests = moments.map((n) => ({ at: n, messages: at(n), limit }));
    const started = performance.now();
    const messages = at(this.messages.length);
    return { messages, limit, requests, ms: performance.now() - started, layers: [] };
  }

  /** The most tokens that a request may hold: the window without the room for the answer. */
  async limit(window) {
    const growing = await this.#core.grow(POLICIES[0], window);
    try {
      growing.push([{ role: "user", content: "." }]);
      return growing.fit().report.limit;
    } finally {
      growing.free();
    }
  }

  /** A cell: the window that was made, with what it forgot, and what the requests until then came to. */
  async measured({ requests = [], ...made }) {
    const { forgotten, measureRequests } = this.#core;
    const before = requests.slice(-MOST_BEFORE - 1, -1).map(({ messages }) => messages);
    const found = await forgotten(this.messages, made.messages, { before, ...(this.labels && { labels: this.labels }) });
    const loop = requests.length > 0 ? await measureRequests(this.messages, requests) : undefined;
    const people = ({ speaker }) => speaker !== "tool";
    const count = (list, key) => list.reduce((sum, one) => sum + one[key], 0);
    const spoken = found.classes.filter(people);
    return { ...made, ...found, loop, spoken: { said: count(spoken, "said"), lost: count(spoken, "gone") }, shares: Float32Array.from(found.shares) };
  }

  /** The same cell with some of its layers taken off: their messages stand in their place again, whether that fits or not. */
  async lifted(cell, layers) {
    const off = cell.layers.filter(({ id }) => layers.includes(id));
    const covers = (n) => off.some((layer) => layer.covers.some(({ from, to }) => n >= from && n <= to));
    const shown = new Set(cell.messages);
    const back = this.messages.filter((message, n) => shown.has(message) || covers(n - this.system.length));
    const made = cell.messages.filter((message) => !this.messages.includes(message)).map((message) => off.reduce(withoutLayer, message));
    const head = back.filter((message) => this.system.includes(message));
    const rest = back.filter((message) => !this.system.includes(message));
    const messages = [...head, ...made, ...rest];
    const { row, window, limit, ms } = cell;
    return { ...(await this.measured({ row, window, limit, ms, messages, layers: cell.layers.filter(({ id }) => !layers.includes(id)) })), prefix: cell.prefix, loop: cell.loop };
  }
}

/** How the block of each layer begins in the message that holds them. */
const HEADER = /^\[Messages (\d+)-[^\]\n]*\]$/gm;

/** The blocks of layers in a text: from where to where, and the first message that each stands for. */
function blocks(text) {
  const heads = [...text.matchAll(HEADER)];
  const end = text.lastIndexOf("\n</");
  return heads.map(({ index, 1: from }, n) => ({ from: Number(from), start: index, end: heads[n + 1]?.index ?? (end > index ? end + 1 : text.length) }));
}

/** The layers of a list, with what stands of each. */
function layersOf({ layers, messages }) {
  const texts = messages.filter(({ content }) => typeof content === "string" && content.includes("[Messages ")).map(({ content }) => content);
  const found = texts.flatMap((text) => blocks(text).map(({ from, start, end }) => ({ from, text: text.slice(start, end).trim() })));
  return layers.map(({ id, covers }) => ({ id, covers, text: found.find(({ from }) => from === covers[0]?.from)?.text ?? "" }));
}

/** A message without the block of a layer. */
function withoutLayer(message, { covers }) {
  if (typeof message.content !== "string") return message;
  const block = blocks(message.content).find(({ from }) => from === covers[0]?.from);
  return block === undefined ? message : { ...message, content: message.content.slice(0, block.start) + message.content.slice(block.end) };
}
