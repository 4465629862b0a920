// palimpsest/openclaw through the code with which OpenClaw itself calls a context engine.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { remove } from "../packaging/consumer.mjs";
import { installWithNode, runWith } from "./newer.mjs";

let folder;
let node;
before(() => { ({ folder, node } = installWithNode(["openclaw@2026.9.6"])); });
after(() => remove(folder));

/** I3: what OpenClaw gets for a request fits in its budget, whole; a compaction on demand makes it smaller; a turn is committed once. */
test("OpenClaw", { timeout: 240_000 }, async () => {
  const got = await runWith(node, folder, `
    import { assembleHarnessContextEngine, compactContextEngineWithSafetyTimeout, finalizeHarnessContextEngineTurn, isActiveHarnessContextEngine } from "openclaw/plugin-sdk/agent-harness-runtime";
    import { init } from "palimpsest";
    import { contextEngine } from "palimpsest/openclaw";
    await init();
    const ledger = (n) => ("Parcel " + n + " goes to gate " + (n % 7) + ", as the ledger of hall " + n * 13 + " says. ").repeat(8);
    const problems = [];
    const make = contextEngine({ onProblem: (problem) => problems.push(problem.message) });
    const engine = make();
    const session = { sessionId: "s", sessionKey: "agent:main:s", tokenBudget: 4096 };
    const messages = [{ role: "user", content: "Never send anything to gate 6. Sort every parcel.", timestamp: 1 }];
    const ask = () => assembleHarnessContextEngine({ contextEngine: engine, ...session, messages, modelId: "fake" });
    const asked = [];
    const about = ({ messages: sent, estimatedTokens }) => {
      const calls = sent.flatMap(({ role, content }) => (role === "assistant" ? content.filter(({ type }) => type === "toolCall").map(({ id }) => id) : []));
      const results = sent.filter(({ role }) => role === "toolResult").map(({ toolCallId }) => toolCallId);
      return { tokens: estimatedTokens, pairs: JSON.stringify(calls) === JSON.stringify(results), rule: JSON.stringify(sent).includes("Never send anything to gate 6"), last: sent.at(-1) === messages.at(-1), own: sent.filter((message) => messages.includes(message)).length };
    };
    const none = await compactContextEngineWithSafetyTimeout(make(), { ...session, force: true }, 10_000);
    for (let n = 1; n <= 40; n++) {
      messages.push({ role: "assistant", content: [{ type: "toolCall", id: "c" + n, name: "gate", arguments: { parcel: n } }], api: "x", provider: "x", model: "x", stopReason: "toolUse", timestamp: n });
      messages.push({ role: "toolResult", toolCallId: "c" + n, toolName: "gate", content: [{ type: "text", text: ledger(n) }], isError: false, timestamp: n });
      asked.push(about(await ask()));
    }
    const frozen = JSON.stringify(messages).length;
    // OpenClaw makes an engine for each operation
    const demanded = await compactContextEngineWithSafetyTimeout(make(), { ...session, force: true }, 10_000);
    const then = about(await ask());
    const turn = () => make().commitTurn({ advancementKey: "turn-1", admission: {}, terminal: {}, messages: messages.slice(-2), ...session });
    const committed = [(await turn()).status, (await turn()).status];
    const ended = await finalizeHarnessContextEngineTurn({ contextEngine: engine, sessionIdUsed: "s", sessionKey: session.sessionKey, messagesSnapshot: messages, prePromptMessageCount: 79, tokenBudget: 4096, warn: (text) => problems.push(text), runMaintenance: async () => undefined });
    console.log(JSON.stringify({ active: isActiveHarnessContextEngine(engine), none, asked, demanded, then, committed, ended, problems, whole: JSON.stringify(messages).length === frozen }));
    process.exit(0);
  `);
  assert.deepEqual([got.active, got.none.compacted, got.problems, got.whole], [true, false, [], true]);
  for (const { tokens, pairs, rule, last } of [...got.asked, got.then]) {
    assert.deepEqual([pairs, rule, last], [true, true, true]);
    assert.ok(tokens <= 3072, `${tokens} tokens`);
  }
  assert.ok(got.asked.some(({ tokens }, n) => n > 0 && tokens < got.asked[n - 1].tokens), "something was compacted");
  assert.ok(got.asked.at(-1).own > 4, "what is shown as it was said is OpenClaw's own object");
  assert.equal(got.demanded.compacted, true);
  assert.ok(got.demanded.result.tokensAfter < got.demanded.result.tokensBefore);
  assert.equal(got.then.tokens, got.demanded.result.tokensAfter, "the next request goes on from it");
  assert.deepEqual(got.committed, ["committed", "duplicate"]);
  assert.equal(got.ended.postTurnFinalizationSucceeded, true);
});
