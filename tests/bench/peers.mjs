// cargo xtask bench peers: what it costs to make a list fit, beside what LangChain.js and the AI SDK have for it, in one run.
// Needs the package in dist/npm (`cargo xtask pack`).
//
// Milliseconds of processor time, the best of several calls, measured in turns. What is compared is one call on a list that is new to
// it, as a server without memory has it, and one step of a program that has the list already: one message more, then the list again.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { agent, chat } from "./peers/lists.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, "../..");
const dist = path.join(root, "dist/npm/dist/node.js");
assert.ok(fs.existsSync(dist), "run `cargo xtask pack` first: what is measured is the package in dist/npm");

/** The peers, installed once for each lock file. */
function peers() {
  const own = path.join(here, "peers");
  const lock = fs.readFileSync(path.join(own, "package-lock.json"));
  const cache = process.env.PALIMPSEST_CACHE ?? path.join(os.homedir(), ".cache/palimpsest");
  const folder = path.join(cache, `bench-peers-${createHash("sha256").update(lock).digest("hex").slice(0, 16)}`);
  if (!fs.existsSync(path.join(folder, "node_modules"))) {
    fs.mkdirSync(folder, { recursive: true });
    for (const file of ["package.json", "package-lock.json"]) fs.copyFileSync(path.join(own, file), path.join(folder, file));
    const { status } = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--ignore-scripts"], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
    assert.equal(status, 0, "the peers could not be installed");
  }
  return createRequire(path.join(folder, "package.json"));
}

const require = peers();
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { AIMessage, HumanMessage, SystemMessage, ToolMessage, trimMessages } = await load("@langchain/core/messages");
const { pruneMessages } = await load("ai");
const { Conversation, compact, countTokens, init } = await import(pathToFileURL(dist).href);
await init();

/** Milliseconds of processor time: a busy machine makes them few where a clock would go on. */
const spent = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

/** The least that each of several things costs, done in turns. */
async function least(rounds, things) {
  const best = things.map(() => Infinity);
  for (let round = 0; round < rounds; round++) {
    for (const [n, thing] of things.entries()) {
      globalThis.gc?.();
      const from = spent();
      await thing();
      best[n] = Math.min(best[n], spent() - from);
    }
  }
  return best;
}

const langchain = (message) => {
  if (message.role === "system") return new SystemMessage(message.content);
  if (message.role === "user") return new HumanMessage(message.content);
  if (message.role === "tool") return new ToolMessage({ content: message.content, tool_call_id: message.tool_call_id });
  const calls = (message.tool_calls ?? []).map((call) => ({ id: call.id, name: call.function.name, args: JSON.parse(call.function.arguments), type: "tool_call" }));
  return new AIMessage({ content: message.content, tool_calls: calls });
};
const sdk = (message) => {
  if (message.role === "tool") return { role: "tool", content: [{ type: "tool-result", toolCallId: message.tool_call_id, toolName: "read", output: { type: "text", value: message.content } }] };
  if (!message.tool_calls) return message;
  const calls = message.tool_calls.map((call) => ({ type: "tool-call", toolCallId: call.id, toolName: call.function.name, input: JSON.parse(call.function.arguments) }));
  return { role: "assistant", content: [{ type: "text", text: message.content }, ...calls] };
};
/** The counter that is usual where nothing better is at hand: four letters are a token. */
const four = (messages) => messages.reduce((sum, { content }) => sum + Math.ceil((typeof content === "string" ? content : JSON.stringify(content)).length / 4) + 3, 0);

const rows = [];
for (const [kind, make] of [["chat", chat], ["agent's loop", agent]]) {
  for (const count of [100, 1_000, 10_000]) {
    const window = count === 100 ? 2_048 : 8_192;
    const list = make(count);
    const tokens = countTokens(list).tokens;
    const first = compact(list, { window });
    const limit = first.report.limit;
    const theirs = list.map(langchain);
    const models = list.map(sdk);
    const more = { role: "user", content: "And what did we say about the archive?" };
    const longer = [...list, more];
    // a step of a conversation that is held open: the same message again and again, each time one more
    const live = new Conversation({ window });
    live.push(...list);
    live.fit();
    const step = () => {
      live.push({ role: live.length % 2 ? "user" : "assistant", content: "The archive is fine as it is." });
      live.fit();
    };
    const rounds = count === 10_000 ? 4 : 12;
    const [cold, withState, held, trim, prune] = await least(rounds, [
      () => compact(list, { window }),
      () => compact(longer, { window, state: first.state }),
      () => { for (let n = 0; n < 8; n++) step(); },
      () => trimMessages(theirs, { maxTokens: limit, tokenCounter: four, strategy: "last", includeSystem: true, startOn: kind === "chat" ? "human" : undefined }),
      () => pruneMessages({ messages: models, toolCalls: "before-last-10-messages" }),
    ]);
    live[Symbol.dispose]();
    rows.push({ kind, count, tokens, window, cold, withState, held: held / 8, trim, prune });
    console.error(`${kind}, ${count} messages done`);
  }
}

const ms = (value) => (value < 10 ? value.toFixed(2) : value.toFixed(0));
const ratio = (ours, theirs) => {
  const times = theirs / ours;
  return times >= 10 ? times.toFixed(0) : times.toFixed(times >= 1 ? 1 : 2);
};
const table = [
  "| list | messages | tokens | window | `compact` | with `state` | step of a `Conversation` | `trimMessages` | `pruneMessages` | `trimMessages` ÷ `compact` | ÷ step |",
  "|---|---|---|---|---|---|---|---|---|---|---|",
  ...rows.map((row) =>
    `| ${[row.kind, row.count.toLocaleString("en"), row.tokens.toLocaleString("en"), row.window.toLocaleString("en"), ms(row.cold), ms(row.withState), ms(row.held), ms(row.trim), ms(row.prune), ratio(row.cold, row.trim), ratio(row.held, row.trim)].join(" | ")} |`,
  ),
].join("\n");
console.log(table);
