// The rules of www/forget beside the packages that they describe: the same messages stay.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { install, remove, root, run } from "../packaging/consumer.mjs";

let folder;
before(() => { folder = install(["ai@6", "@langchain/core@1", "zod@4"]); });
after(() => remove(folder));

const rules = JSON.stringify(path.join(root, "www/forget/rules.js"));
const talk = JSON.parse(fs.readFileSync(path.join(root, "tests/fixtures/survival/coding.json"), "utf8"))[0].messages;

/** A conversation of text with lengths that differ, and one of an agent with tools. */
const SETUP = `
  import { RULES } from ${rules};
  const talk = ${JSON.stringify(talk)};
  const rule = (id) => RULES.find((one) => one.id === id).apply;
  // any count will do, as long as both have the same
  const size = (text) => Math.ceil(text.length / 4) + 5;
  const sizeOf = (message) => size((message.content ?? "") + (message.tool_calls ?? []).map((call) => call.function.arguments).join(""));
`;

/** R2: the rule called trimMessages keeps what LangChain's function keeps, at every size. */
test("LangChain trimMessages", () => {
  const got = run(folder, `${SETUP}
    import { AIMessage, HumanMessage, ToolMessage, trimMessages } from "@langchain/core/messages";
    const theirs = talk.map((m, i) => m.role === "user" ? new HumanMessage({ id: String(i), content: m.content })
      : m.role === "tool" ? new ToolMessage({ id: String(i), content: m.content, tool_call_id: m.tool_call_id })
      : new AIMessage({ id: String(i), content: m.content ?? "", tool_calls: (m.tool_calls ?? []).map((c) => ({ id: c.id, name: c.function.name, args: JSON.parse(c.function.arguments) })) }));
    const tokenCounter = (list) => list.reduce((sum, m) => sum + sizeOf(talk[Number(m.id)]), 0);
    const out = [];
    for (const room of [300, 900, 1500, 2600, 4000, 7000, 11000]) {
      const kept = await trimMessages(theirs, { maxTokens: room, tokenCounter, strategy: "last", startOn: "human" });
      const ours = rule("trim-messages")({ messages: talk, room, window: room, tokens: sizeOf });
      out.push([room, kept.map((m) => Number(m.id)), ours.map((m) => talk.indexOf(m))]);
    }
    console.log(JSON.stringify(out));
  `);
  assert.equal(got.length, 7);
  for (const [room, theirs, ours] of got) assert.deepEqual(ours, theirs, `in ${room}`);
  assert.ok(got.at(-1)[1].length > got[0][1].length);
});

/** R2: the rule called pruneMessages leaves what the AI SDK's function leaves, before both are cut to the newest. */
test("AI SDK pruneMessages", () => {
  const got = run(folder, `${SETUP}
    import { pruneMessages } from "ai";
    const names = {};
    const theirs = talk.map((m) => {
      if (m.role === "tool") return { role: "tool", content: [{ type: "tool-result", toolCallId: m.tool_call_id, toolName: names[m.tool_call_id], output: { type: "text", value: m.content } }] };
      const calls = (m.tool_calls ?? []).map((c) => { names[c.id] = c.function.name; return { type: "tool-call", toolCallId: c.id, toolName: c.function.name, input: JSON.parse(c.function.arguments) }; });
      return calls.length > 0 ? { role: "assistant", content: [...(m.content ? [{ type: "text", text: m.content }] : []), ...calls] } : { role: m.role, content: m.content };
    });
    const words = (m) => [m.role, typeof m.content === "string" ? m.content : m.content.map((part) => part.text ?? part.toolCallId).join("|")];
    const kept = pruneMessages({ messages: theirs, toolCalls: "before-last-2-messages", emptyMessages: "remove" }).map(words);
    const ours = rule("prune-messages")({ messages: theirs, room: Infinity, window: 0, tokens: () => 1 }).map(words);
    console.log(JSON.stringify({ kept, ours, all: theirs.length }));
  `);
  assert.deepEqual(got.ours, got.kept);
  assert.ok(got.kept.length < got.all);
});
