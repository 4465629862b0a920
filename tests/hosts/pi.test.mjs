// palimpsest/pi through pi's own sessions, against a model server on loopback.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { remove } from "../packaging/consumer.mjs";
import { ledger, model, pairs } from "./model.mjs";
import { installWithNode, runWith } from "./newer.mjs";

let folder;
let node;
before(() => { ({ folder, node } = installWithNode(["@earendil-works/pi-coding-agent@0.87.1"])); });
after(() => remove(folder));

const parcel = (body) => Number(/parcel (\d+)/.exec(JSON.stringify(body.messages.findLast(({ role }) => role === "user")))?.[1]);

/** I3: every request of pi's fits in its model's window and is whole, pi's session keeps every message, and `/compact` takes palimpsest's summary. */
test("pi", { timeout: 240_000 }, async () => {
  const server = await model((body) => (body.messages.at(-1).role === "tool" ? `Noted for parcel ${parcel(body)}.` : { tool: "gate", args: { parcel: parcel(body) } }));
  try {
    const got = await runWith(node, folder, `
      import fs from "node:fs";
      import os from "node:os";
      import path from "node:path";
      import { createAgentSession, DefaultResourceLoader, ModelRuntime, SessionManager, SettingsManager } from "@earendil-works/pi-coding-agent";
      import { init } from "palimpsest";
      import { fitPi } from "palimpsest/pi";
      await init();
      const agentDir = fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-pi-"));
      fs.writeFileSync(path.join(agentDir, "models.json"), JSON.stringify({ providers: { fake: { baseUrl: ${JSON.stringify(server.url)}, api: "openai-completions", apiKey: "none", models: [{ id: "fake", name: "fake", contextWindow: 4096, maxTokens: 512, reasoning: false, input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } }] } } }));
      const modelRuntime = await ModelRuntime.create({ authPath: path.join(agentDir, "auth.json"), modelsPath: path.join(agentDir, "models.json") });
      const settingsManager = SettingsManager.inMemory({ compaction: { enabled: true, reserveTokens: 300, keepRecentTokens: 500 } });
      const problems = [];
      let compactions = 0;
      const gate = (pi) => pi.registerTool({ name: "gate", label: "gate", description: "The gate of a parcel", parameters: { type: "object", properties: { parcel: { type: "number" } }, required: ["parcel"] }, execute: async (id, { parcel }) => ({ content: [{ type: "text", text: ("Parcel " + parcel + " goes to gate " + (parcel % 7) + ", as the ledger of hall " + parcel * 13 + " says. ").repeat(8) }], details: {} }) });
      const fit = fitPi({ reserve: 1024, onCompact: () => compactions++, onProblem: (problem) => problems.push(problem.message) });
      const resourceLoader = new DefaultResourceLoader({ cwd: agentDir, agentDir, settingsManager, systemPrompt: "You know the gates.", noSkills: true, extensionFactories: [fit, gate] });
      await resourceLoader.reload();
      const { session, extensionsResult } = await createAgentSession({ cwd: agentDir, agentDir, model: modelRuntime.getModel("fake", "fake"), modelRuntime, resourceLoader, tools: ["gate"], sessionManager: SessionManager.inMemory(agentDir), settingsManager });
      for (let n = 1; n <= 30; n++) await session.prompt((n === 1 ? "Never send anything to gate 6. " : "") + "Where does parcel " + n + " go?");
      const kept = session.messages.length;
      const first = await session.compact();
      await session.prompt("Where does parcel 31 go?");
      for (let n = 32; n <= 36; n++) await session.prompt("Where does parcel " + n + " go?");
      const size = () => session.messages.map(({ content, summary }) => JSON.stringify(content ?? summary).length).reduce((a, b) => a + b, 0);
      const before = size();
      const second = await session.compact();
      const after = size();
      await session.prompt("Where does parcel 37 go?");
      session.dispose();
      fs.rmSync(agentDir, { recursive: true });
      console.log(JSON.stringify({ errors: extensionsResult.errors, kept, compactions, problems, first, second, before, after }));
      process.exit(0);
    `);
    assert.deepEqual([got.errors, got.problems], [[], []]);
    assert.equal(got.kept, 1 + 30 * 4, "pi's session has every message, and its system prompt");
    assert.ok(got.compactions >= 2, `${got.compactions} compactions`);
    for (const { messages } of server.requests) {
      assert.ok(pairs(messages));
      assert.ok(JSON.stringify(messages).includes("Never send anything to gate 6"));
      assert.match(messages[0].content, /^You know the gates\./);
      assert.ok(JSON.stringify(messages).length < 4 * 4096, `${JSON.stringify(messages).length} bytes`);
    }
    // pi's own compaction took our summary, which names what it stands for and goes on from the one before
    for (const { summary, details } of [got.first, got.second]) {
      assert.match(summary, /^<user_demands>[\s\S]*Never send anything to gate 6[\s\S]*<earlier_conversation>/);
      assert.equal(typeof details.palimpsest.version, "number");
      assert.ok(summary.length < 8000, `${summary.length} characters`);
    }
    assert.notEqual(got.first.firstKeptEntryId, got.second.firstKeptEntryId);
    // pi counts the last request, which was fitted a moment ago and is short already; its session is shorter all the same
    assert.ok(got.after < got.before, `${got.before} -> ${got.after} characters`);
    assert.ok(JSON.stringify(server.requests.at(-1).messages).includes(ledger(37).slice(0, 60)), "what came last is there");
  } finally {
    await server.close();
  }
});
