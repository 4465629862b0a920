// What the rules see of messages, whatever shape a transcript has.

import assert from "node:assert/strict";
import { test } from "node:test";
import { cleared, hasCalls, isResult, isUser, roleOf, textOf, withoutCalls } from "../../www/forget/messages.js";

const given = { path: "src/gate.rs" };

/** The same four messages: a request, a call with words, its result, a reply. */
const SHAPES = {
  openai: [
    { role: "user", content: "Read it." },
    { role: "assistant", content: "I do.", tool_calls: [{ id: "c", type: "function", function: { name: "read", arguments: JSON.stringify(given) } }] },
    { role: "tool", tool_call_id: "c", content: "fn open()" },
    { role: "assistant", content: "It opens." },
  ],
  anthropic: [
    { role: "user", content: "Read it." },
    { role: "assistant", content: [{ type: "text", text: "I do." }, { type: "tool_use", id: "c", name: "read", input: given }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: "fn open()" }] },
    { role: "assistant", content: "It opens." },
  ],
  "ai-sdk": [
    { role: "user", content: "Read it." },
    { role: "assistant", content: [{ type: "text", text: "I do." }, { type: "tool-call", toolCallId: "c", toolName: "read", input: given }] },
    { role: "tool", content: [{ type: "tool-result", toolCallId: "c", toolName: "read", output: { type: "text", value: "fn open()" } }] },
    { role: "assistant", content: "It opens." },
  ],
  gemini: [
    { role: "user", parts: [{ text: "Read it." }] },
    { role: "model", parts: [{ text: "I do." }, { functionCall: { name: "read", args: given } }] },
    { role: "user", parts: [{ functionResponse: { name: "read", response: { output: "fn open()" } } }] },
    { role: "model", parts: [{ text: "It opens." }] },
  ],
};

/** R2: roles, calls, results and texts are read in every shape, and a rule changes only what it is about. */
for (const [shape, messages] of Object.entries(SHAPES)) {
  test(`messages of ${shape}`, () => {
    assert.deepEqual(messages.map(roleOf), ["user", "assistant", "tool", "assistant"]);
    assert.deepEqual(messages.map(hasCalls), [false, true, false, false]);
    assert.deepEqual(messages.map(isResult), [false, false, true, false]);
    assert.deepEqual(messages.map(isUser), [true, false, false, false]);
    assert.match(textOf(messages[1]), /I do\.[\s\S]*read[\s\S]*src\/gate\.rs/);
    assert.match(textOf(messages[2]), /fn open\(\)/);
    const bare = withoutCalls(messages[1]);
    assert.equal(textOf(bare), "I do.");
    assert.equal(hasCalls(bare), false);
    assert.match(textOf(cleared(messages[2], "gone")), /^(\{"output":"gone"\}|"?gone"?)$/);
    assert.match(textOf(messages[2]), /fn open\(\)/, "the message itself is as it was");
  });
}

/** R2: an item of Responses is a message of its own. */
test("items of Responses", () => {
  const items = [
    { type: "message", role: "user", content: [{ type: "input_text", text: "Read it." }] },
    { type: "function_call", call_id: "c", name: "read", arguments: JSON.stringify(given) },
    { type: "function_call_output", call_id: "c", output: "fn open()" },
  ];
  assert.deepEqual(items.map(roleOf), ["user", "assistant", "tool"]);
  assert.deepEqual(items.map(hasCalls), [false, true, false]);
  assert.equal(withoutCalls(items[1]), undefined);
  assert.equal(cleared(items[2], "gone").output, "gone");
  assert.equal(textOf(items[1]), `read ${JSON.stringify(given)}`);
});
