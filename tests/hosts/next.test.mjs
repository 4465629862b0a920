// The guide's chat in Next, file by file as it is written there: built by Next, and talked to until it has compacted.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { after, before, test } from "node:test";
import { launch } from "../packaging/browser.mjs";
import { install, remove, root } from "../packaging/consumer.mjs";
import { model } from "./model.mjs";

let folder;
before(() => {
  folder = install(["next@16.4.6", "react@19.3.1", "react-dom@19.3.1", "ai@6", "@ai-sdk/react@3", "@ai-sdk/openai-compatible@2", "typescript@5", "@types/node@20", "@types/react@19", "@types/react-dom@19"]);
  const guide = fs.readFileSync(path.join(root, "docs/guide.md"), "utf8");
  const files = [...guide.matchAll(/```tsx\n\/\/ (\S+)\n([\s\S]*?)```/g)];
  assert.deepEqual(files.map(([, name]) => name), ["app/api/chat/route.ts", "app/chat.tsx", "app/page.tsx"]);
  for (const [, name, code] of files) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), code);
  }
  // what create-next-app makes beside them
  fs.writeFileSync(path.join(folder, "app/layout.tsx"), 'export default function Layout({ children }: { children: React.ReactNode }) {\n  return <html lang="en"><body>{children}</body></html>;\n}\n');
  fs.writeFileSync(path.join(folder, "next.config.mjs"), "export default { cacheComponents: true, turbopack: { root: import.meta.dirname } };\n");
  fs.writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: { strict: true, noEmit: true, module: "esnext", moduleResolution: "bundler", target: "ES2017", lib: ["dom", "dom.iterable", "esnext"], jsx: "react-jsx", skipLibCheck: true, esModuleInterop: true, isolatedModules: true, plugins: [{ name: "next" }] }, include: ["**/*.ts", "**/*.tsx"], exclude: ["node_modules"] }));
});
after(() => remove(folder));

const freePort = () => new Promise((resolve) => {
  const server = net.createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address();
    server.close(() => resolve(port));
  });
});

test("the guide's chat in Next", { timeout: 300_000 }, async () => {
  const next = path.join(folder, "node_modules/next/dist/bin/next");
  const environment = { ...process.env, NEXT_TELEMETRY_DISABLED: "1", CI: "1" };
  const { status, stdout, stderr } = spawnSync(process.execPath, [next, "build"], { cwd: folder, encoding: "utf8", env: environment });
  assert.equal(status, 0, `${stdout}\n${stderr}`);
  const server = await model((body, n) => `Answer ${n}. ${"The ferry leaves at noon from pier four. ".repeat(14)}`);
  const port = await freePort();
  const child = spawn(process.execPath, [next, "start", "-H", "127.0.0.1", "-p", String(port)], { cwd: folder, env: { ...environment, MODEL_URL: server.url, MODEL: "fake" }, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  child.stdout.on("data", (text) => { said += text; });
  child.stderr.on("data", (text) => { said += text; });
  try {
    const url = `http://127.0.0.1:${port}`;
    for (let n = 0, up = false; n < 200 && !up; n++) up = await fetch(url).then(() => true, () => new Promise((resolve) => { setTimeout(resolve, 100, false); }));
    // the page, as a person uses it
    const { browser, close } = await launch();
    try {
      const page = await browser.newPage();
      await page.goto(url);
      await page.locator('[aria-label="Message"]').fill("Hello");
      await page.keyboard.press("Enter");
      await page.waitForFunction(() => document.body.innerText.includes("Answer 1."));
    } finally {
      await close();
    }
    const asked = server.requests.length;
    assert.equal(asked, 1);
    // what useChat sends
    const messages = [];
    for (let n = 0; n < 40; n++) {
      messages.push({ id: `u${n}`, role: "user", parts: [{ type: "text", text: `${n === 0 ? "Never book a flight for me. " : ""}Question ${n}: how do I get to island ${n}? ${"Tell me all about it. ".repeat(20)}` }] });
      const answer = await fetch(`${url}/api/chat`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ id: "japan", messages, trigger: "submit-message" }) });
      const stream = await answer.text();
      assert.equal(answer.status, 200, stream);
      const text = [...stream.matchAll(/"delta":"([^"]*)"/g)].map(([, delta]) => delta).join("");
      assert.match(text, new RegExp(`^Answer ${n + 2}\\.`), stream);
      messages.push({ id: `a${n}`, role: "assistant", parts: [{ type: "text", text }] });
    }
    const requests = server.requests.slice(asked);
    assert.equal(requests.length, 40);
    assert.match(said, /compacted \d+ to \d+ tokens/, said);
    for (const { messages: sent } of requests) {
      assert.equal(sent[0].content, "You help with travel plans.");
      assert.ok(JSON.stringify(sent).includes("Never book a flight for me"));
      assert.ok(JSON.stringify(sent).length < 7004 * 5, `${JSON.stringify(sent).length} bytes`);
    }
    const compactions = said.match(/compacted/g).length;
    assert.ok(compactions >= 1 && compactions <= 4, `${compactions} in 40 requests`);
  } finally {
    child.kill("SIGKILL");
    await server.close();
  }
});
