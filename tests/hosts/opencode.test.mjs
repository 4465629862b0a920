// palimpsest/opencode as a plugin of the real opencode, which runs against a model server on loopback.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { install, remove, root } from "../packaging/consumer.mjs";
import { ledger, model, pairs } from "./model.mjs";

let folder;
before(() => { folder = install(["opencode-linux-x64@1.18.33", "@opencode-ai/plugin@1.18.33"]); });
after(() => remove(folder));

/** I3: through a loop of opencode's own tools every request fits and is whole; opencode's own session keeps what was said. */
test("opencode", { timeout: 240_000 }, async () => {
  const server = await model((body, n) => (body.tools?.length > 0 && n < 26 ? { tool: "read", args: { filePath: path.join(folder, `parcels/${n}.txt`) } } : "All sorted."));
  try {
    fs.mkdirSync(path.join(folder, "parcels"));
    for (let n = 1; n < 30; n++) fs.writeFileSync(path.join(folder, `parcels/${n}.txt`), Array.from({ length: 12 }, (_, i) => ledger(n * 12 + i)).join("\n"));
    const limit = { context: 200_000, output: 4096 };
    fs.writeFileSync(path.join(folder, "opencode.json"), JSON.stringify({
      model: "fake/fake", small_model: "fake/fake", autoupdate: false, share: "disabled", permission: "allow",
      provider: { fake: { npm: "@ai-sdk/openai-compatible", name: "fake", options: { baseURL: server.url, apiKey: "none" }, models: { fake: { name: "fake", tool_call: true, limit } } } },
    }));
    fs.mkdirSync(path.join(folder, ".opencode/plugin"), { recursive: true });
    fs.writeFileSync(path.join(folder, ".opencode/plugin/palimpsest.ts"), `
      import { appendFileSync } from "node:fs";
      import { init } from "palimpsest";
      import { fitOpencode } from "palimpsest/opencode";
      const note = (what: unknown) => appendFileSync(${JSON.stringify(path.join(folder, "told.txt"))}, JSON.stringify(what) + "\\n");
      export const palimpsest = async () => {
        await init();
        return fitOpencode({ window: 8192, reserve: 2048, onCompact: ({ before, after, limit }, { key }) => note({ before: before.tokens, after: after.tokens, limit, key }), onProblem: (problem) => note({ problem }) });
      };
    `);
    const home = path.join(folder, "home");
    const child = spawn(path.join(folder, "node_modules/opencode-linux-x64/bin/opencode"), ["run", "Never delete a file. Read every parcel."], {
      cwd: folder,
      env: { ...process.env, PWD: folder, HOME: home, XDG_DATA_HOME: home, XDG_CONFIG_HOME: home, XDG_STATE_HOME: home, XDG_CACHE_HOME: home, OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_LSP_DOWNLOAD: "1" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    child.stdout.on("data", (text) => { said += text; });
    child.stderr.on("data", (text) => { said += text; });
    const late = setTimeout(() => child.kill("SIGKILL"), 180_000);
    await new Promise((resolve) => { child.on("exit", resolve); });
    clearTimeout(late);
    assert.match(said, /All sorted\./);
    const asked = server.requests.filter(({ tools }) => tools?.length > 0);
    assert.ok(asked.length >= 25, `${asked.length} requests`);
    for (const { messages } of asked) {
      assert.ok(pairs(messages));
      assert.ok(JSON.stringify(messages).includes("Never delete a file"));
      assert.equal(messages[0].role, "system");
    }
    const told = fs.readFileSync(path.join(folder, "told.txt"), "utf8").trim().split("\n").map((line) => JSON.parse(line));
    assert.ok(told.length >= 3 && told.every(({ after, limit, key }) => after <= limit && key.startsWith("ses_")), JSON.stringify(told));
    assert.ok(told.at(-1).before > 5 * told.at(-1).limit, "opencode's own session keeps everything");
    // what came last is whole
    assert.ok(JSON.stringify(asked.at(-1).messages).includes(ledger(25 * 12).slice(0, 60)));
  } finally {
    await server.close();
  }
});

/** The hooks have the types that opencode publishes. */
test("opencode's types", () => {
  fs.writeFileSync(path.join(folder, "plugin.ts"), `
    import type { Hooks, Plugin } from "@opencode-ai/plugin";
    import { fitOpencode } from "palimpsest/opencode";
    const hooks: Hooks = fitOpencode({ window: 8192 });
    export const palimpsest: Plugin = async () => hooks;
  `);
  const { status, stdout } = spawnSync(process.execPath, [path.join(root, "tests/node_modules/typescript/bin/tsc"), "--noEmit", "--strict", "--skipLibCheck", "--module", "ESNext", "--moduleResolution", "Bundler", "--target", "ES2022", "--types", "", "plugin.ts"], { cwd: folder, encoding: "utf8" });
  assert.equal(status, 0, stdout);
});
