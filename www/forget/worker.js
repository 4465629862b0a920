// Everything that takes longer than a frame: reading a transcript, running the rules, measuring.

import { forgotten, load, importConversations, measureRequests, open } from "./core.js";
import { countTokens } from "./counter.js";
import { grow } from "./growing.js";
import { Conversation } from "./run.js";
import { sampleOf } from "./samples.js";

const core = { countTokens, forgotten, grow, measureRequests };
// both are needed for the first cell: neither waits for the other
const [first, part] = ["core", "transcripts"].map((file) => open(new URL(`${file}.wasm`, self.location)));
part.catch(() => {}); // who asks for it hears it
const ready = load(() => part, () => first);

let found = [];
let conversation;
/** Cells as they were made, before any layer was taken off. */
const cells = new Map();

const keyOf = (row, window) => `${row} ${window}`;

/** A cell as the page needs it: the messages of the window only where they are shown. */
function toPage({ messages, report, ...cell }) {
  return { ...cell, report };
}

const acts = {
  async read({ file }) {
    await ready;
    const started = performance.now();
    const { conversations, report } = await importConversations(file);
    found = conversations;
    return { ms: performance.now() - started, skipped: report.skipped, conversations: found.map(({ title, messages, branches }) => ({ title, messages: messages.length, branches: branches.length })) };
  },
  async sample({ text }) {
    await ready;
    found = [sampleOf(JSON.parse(text))];
    return { ms: 0, conversations: found.map(({ title, messages }) => ({ title, messages: messages.length })) };
  },
  async choose({ n }) {
    conversation = new Conversation(core, found[n]);
    cells.clear();
    return { title: conversation.title, outline: conversation.outline(), isLabelled: conversation.labels !== undefined };
  },
  async run({ row, window }) {
    const cell = await conversation.run(row, window);
    cells.set(keyOf(row, window), cell);
    return toPage(cell);
  },
  async lift({ row, window, layers }) {
    const cell = cells.get(keyOf(row, window));
    return toPage(layers.length === 0 ? cell : await conversation.lifted(cell, layers));
  },
  async window({ row, window, layers }) {
    const cell = cells.get(keyOf(row, window));
    return (layers.length === 0 ? cell : await conversation.lifted(cell, layers)).messages;
  },
  async message({ n }) {
    return conversation.messages[n];
  },
};

self.onmessage = async ({ data: { id, act, ...given } }) => {
  try {
    self.postMessage({ id, done: await acts[act](given) });
  } catch (error) {
    self.postMessage({ id, failed: { code: error.code ?? error.name, message: error.message } });
  }
};
