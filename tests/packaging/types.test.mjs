// The package's types as a strict consumer reads them, every example of the documentation compiled, and its manifest.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { publint } from "publint";
import { install, remove, root } from "./consumer.mjs";
import { reference } from "./reference.mjs";

let folder;
before(() => { folder = install(["ai@6", "@langchain/core@1", "@langchain/langgraph@1", "langchain@1", "zod@4"]); });
after(() => remove(folder));

function tsc(options, files, skipLibCheck) {
  const config = {
    compilerOptions: { target: "ES2022", lib: ["ES2022", "DOM", "DOM.Iterable"], strict: true, noEmit: true, types: [], skipLibCheck, ...options },
    files,
  };
  fs.writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify(config));
  const { status, stdout } = spawnSync(process.execPath, [path.join(root, "tests/node_modules/typescript/bin/tsc"), "--project", folder], { cwd: folder, encoding: "utf8" });
  assert.equal(status, 0, stdout);
}

/** Every `@example` of the public types compiles, in both ways TypeScript resolves packages. */
for (const [module, moduleResolution] of [["NodeNext", "NodeNext"], ["ESNext", "Bundler"]]) {
  test(`examples and declarations, ${moduleResolution}`, () => {
    const dist = path.join(folder, "node_modules/palimpsest/dist");
    const own = [];
    const framework = [];
    for (const file of fs.readdirSync(dist).filter((name) => name.endsWith(".d.ts"))) {
      const text = fs.readFileSync(path.join(dist, file), "utf8");
      for (const [i, [, code]] of [...text.matchAll(/@example\n\s*\* ```ts\n([\s\S]*?)\s*\* ```/g)].entries()) {
        const name = `example-${file.replace(".d.ts", "")}-${i}.ts`;
        const needsFramework = /from "(ai|langchain|@langchain)/.test(code);
        fs.writeFileSync(path.join(folder, name), `${code.replace(/^\s*\* ?/gm, "")}\nexport {};\n`);
        (needsFramework ? framework : own).push(name);
      }
    }
    assert.ok(own.length >= 14 && framework.length >= 4, `${own.length} and ${framework.length} examples`);
    const entries = ["palimpsest", "palimpsest/inline", "palimpsest/slim", "palimpsest/ai-sdk", "palimpsest/tanstack-ai", "palimpsest/openai-agents", "palimpsest/mastra", "palimpsest/pi", "palimpsest/opencode", "palimpsest/openclaw", "palimpsest/react", "palimpsest/node", "palimpsest/storage", "palimpsest/testing", "palimpsest/ui", "palimpsest/vscode-host"].map((name, i) => `import * as e${i} from "${name}"; void e${i};`);
    fs.writeFileSync(path.join(folder, "entries.ts"), entries.join("\n"));
    // our own declarations are checked to the last line; those of the frameworks are theirs
    tsc({ module, moduleResolution }, ["entries.ts", ...own], false);
    tsc({ module, moduleResolution, lib: ["ES2024", "DOM", "DOM.Iterable", "DOM.AsyncIterable", "ESNext.Disposable"] }, framework, true);
  });
}

/** Every block of the guide compiles, as a file of its own. */
test("the guide", () => {
  const text = fs.readFileSync(path.join(root, "docs/guide.md"), "utf8");
  const blocks = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code], i) => {
    fs.writeFileSync(path.join(folder, `guide-${i}.ts`), `${code}\nexport {};\n`);
    return `guide-${i}.ts`;
  });
  assert.ok(blocks.length >= 12, `${blocks.length} blocks`);
  tsc({ module: "ESNext", moduleResolution: "Bundler", lib: ["ES2024", "DOM", "DOM.Iterable", "DOM.AsyncIterable", "ESNext.Disposable"] }, blocks, true);
});

/** The reference in docs/ is that of these very declarations. */
test("the reference", () => {
  const made = reference(path.join(folder, "node_modules/palimpsest/dist"));
  assert.ok(made === fs.readFileSync(path.join(root, "docs/api.md"), "utf8"), "docs/api.md is another: node tests/packaging/reference.mjs");
  for (const name of ["openSession()", "Session", "compact()", "Conversation", "StorageAdapter", "fitStep()", "fitMessages()", "mount()", "attachPalimpsest()"]) {
    assert.ok(made.includes(`\n### ${name}\n`), name);
  }
});

/** The result has the type of what was passed in, and a wrong option is an error of the compiler's. */
test("types of results and options", () => {
  fs.writeFileSync(path.join(folder, "types.ts"), `
    import { compact, Conversation, countTokens, validate, type PalimpsestError } from "palimpsest";
    type Message = { role: "user" | "assistant"; content: string; mark: number };
    const history: Message[] = [];
    const { messages, report } = compact(history, { window: 8192, policy: "balanced" });
    const mark: number = messages[0]!.mark;
    const after: number = report.after.tokens;
    const source: "exact" | "measured" | "estimated" = countTokens("x").source;
    const repaired: Message[] | undefined = validate(history).repaired;
    const code: PalimpsestError["code"] = "cannot_fit";
    // @ts-expect-error there is no such option
    compact(history, { window: 8192, maxToken: 5 });
    // @ts-expect-error a window is needed
    compact(history, {});
    const held = new Conversation<Message>({ window: 8192 });
    held.push(...history);
    const fitted: Message[] = held.fit().messages;
    // @ts-expect-error it is of another shape
    held.push({ role: "user", text: "x" });
    // @ts-expect-error a conversation keeps its state itself
    new Conversation({ window: 8192, state: { version: 2 } });
    // @ts-expect-error there is no such code
    const wrong: PalimpsestError["code"] = "oops";
    export { mark, after, source, repaired, code, wrong, fitted };
  `);
  tsc({ module: "NodeNext", moduleResolution: "NodeNext", exactOptionalPropertyTypes: true }, ["types.ts"], false);
});

/** The manifest is what tools expect: publint finds nothing at all. */
test("publint", async () => {
  const { messages } = await publint({ pkgDir: path.join(folder, "node_modules/palimpsest"), strict: true, pack: false });
  assert.deepEqual(messages, []);
  const manifest = JSON.parse(fs.readFileSync(path.join(folder, "node_modules/palimpsest/package.json"), "utf8"));
  assert.equal(manifest.dependencies, undefined, "no dependencies at run time");
  for (const file of ["README.md", "LICENSE-MIT", "LICENSE-APACHE"]) {
    assert.ok(fs.existsSync(path.join(folder, "node_modules/palimpsest", file)), file);
  }
});
