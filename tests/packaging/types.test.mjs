// The package's types as a strict consumer reads them, every example of the documentation compiled, and its manifest.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { publint } from "publint";
import { install, remove, root } from "./consumer.mjs";
import { MAKERS, NAMED, reference } from "./reference.mjs";

const PACKAGES = ["palimpsest", "palimpsest-ui", "palimpsest-inline"];

let folder;
before(() => { folder = install([...MAKERS, ...NAMED], ["ui", "inline"]); });
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
    const own = [];
    const framework = [];
    // what two packages have is the same file
    const declarations = new Map(PACKAGES.flatMap((name) => {
      const dist = path.join(folder, "node_modules", name, "dist");
      return fs.readdirSync(dist).filter((file) => file.endsWith(".d.ts")).map((file) => [file, path.join(dist, file)]);
    }));
    for (const [file, place] of declarations) {
      const text = fs.readFileSync(place, "utf8");
      for (const [i, [, code]] of [...text.matchAll(/@example\n\s*\* ```ts\n([\s\S]*?)\s*\* ```/g)].entries()) {
        const name = `example-${file.replace(".d.ts", "")}-${i}.ts`;
        const needsFramework = /from "(ai|langchain|@langchain)/.test(code);
        fs.writeFileSync(path.join(folder, name), `${code.replace(/^\s*\* ?/gm, "")}\nexport {};\n`);
        (needsFramework ? framework : own).push(name);
      }
    }
    assert.ok(own.length >= 14 && framework.length >= 4, `${own.length} and ${framework.length} examples`);
    const entries = ["palimpsest", "palimpsest-inline", "palimpsest/slim", "palimpsest/async", "palimpsest/ai-sdk", "palimpsest/tanstack-ai", "palimpsest/openai-agents", "palimpsest/mastra", "palimpsest/pi", "palimpsest/opencode", "palimpsest/openclaw", "palimpsest/react", "palimpsest/node", "palimpsest/storage", "palimpsest/testing", "palimpsest-ui", "palimpsest-ui/vscode-host"].map((name, i) => `import * as e${i} from "${name}"; void e${i};`);
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

/** The reference in docs/ is that of these very declarations, and they leave no type without a name that a program could import. */
test("the reference", () => {
  const { pages, complaints } = reference(folder);
  assert.deepEqual(complaints, []);
  const place = path.join(root, "docs/api");
  const kept = fs.readdirSync(place, { recursive: true }).map(String).filter((name) => name.endsWith(".md")).sort();
  const cure = "docs/api is another: node tests/packaging/reference.mjs";
  assert.deepEqual(kept, [...pages.keys()], cure);
  for (const [name, text] of pages) assert.ok(text === fs.readFileSync(path.join(place, name), "utf8"), `${name}: ${cure}`);
  const told = (page, names) => { for (const name of names) assert.ok(pages.get(page).includes(`\n### ${name}\n`), `${page}: ${name}`); };
  told("palimpsest.md", ["openSession()", "Session", "compact()", "Conversation", "StorageAdapter", "ErrorCode"]);
  told("palimpsest/ai-sdk.md", ["fitStep()"]);
  told("palimpsest/langchain.md", ["fitMessages()"]);
  told("palimpsest-ui.md", ["mount()"]);
  told("palimpsest-ui/vscode-host.md", ["attachPalimpsest()"]);
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
for (const name of PACKAGES) {
  test(`publint: ${name}`, async () => {
    const home = path.join(folder, "node_modules", name);
    const { messages } = await publint({ pkgDir: home, strict: true, pack: false });
    assert.deepEqual(messages, []);
    const manifest = JSON.parse(fs.readFileSync(path.join(home, "package.json"), "utf8"));
    assert.equal(manifest.dependencies, undefined, "no dependencies at run time");
    for (const file of ["README.md", "LICENSE-MIT", "LICENSE-APACHE"]) {
      assert.ok(fs.existsSync(path.join(home, file)), file);
    }
  });
}

/** The package `palimpsest` alone has neither the app nor the files as text, and nothing in it misses them. */
test("each package has what it needs and no more", () => {
  const home = (name) => path.join(folder, "node_modules", name);
  const has = (name) => fs.readdirSync(home(name), { recursive: true }).map(String);
  const ending = (name, end) => has(name).filter((file) => file.endsWith(end)).map((file) => path.basename(file)).sort();
  assert.deepEqual(ending("palimpsest", ".wasm"), ["palimpsest_npm_bg.wasm", "replay.wasm", "session-tokenizer.wasm", "session.wasm", "tokenizer.wasm", "transcripts.wasm"]);
  assert.deepEqual([ending("palimpsest", ".css"), has("palimpsest").filter((file) => /inlined|^dist\/ui/.test(file))], [[], []]);
  assert.deepEqual([ending("palimpsest-ui", ".wasm"), ending("palimpsest-ui", ".css")], [["palimpsest_web_bg.wasm"], ["palimpsest.css"]]);
  assert.deepEqual(ending("palimpsest-inline", ".wasm"), []);
  assert.deepEqual(ending("palimpsest-inline", ".js").filter((file) => !/^inlined?\.js$/.test(file)), ["palimpsest_npm_bg.js", "replay.js", "session-tokenizer.js", "session.js", "tokenizer.js", "transcripts.js"]);
  const { version, peerDependencies } = JSON.parse(fs.readFileSync(path.join(home("palimpsest-inline"), "package.json"), "utf8"));
  assert.deepEqual(peerDependencies, { palimpsest: version });
  // no script names a file that is not there, and no package but those it declares
  const allowed = { palimpsest: /^(node:|palimpsest$|ai$|zod(?:\/v4)?$|react$|@langchain\/)/, "palimpsest-ui": /^node:/, "palimpsest-inline": /^palimpsest\/slim$/ };
  for (const name of PACKAGES) {
    for (const file of has(name).filter((one) => /\.(js|d\.ts)$/.test(one))) {
      const text = fs.readFileSync(path.join(home(name), file), "utf8").replace(/\/\*[\s\S]*?\*\//g, "");
      for (const [, from] of text.matchAll(/(?:\bfrom |\bimport ?\(?)"([^"\n]+)"/g)) {
        if (from.startsWith(".")) assert.ok(fs.existsSync(path.join(home(name), path.dirname(file), file.endsWith(".d.ts") ? from.replace(/\.js$/, ".d.ts") : from)), `${name}/${file}: ${from}`);
        else assert.match(from, allowed[name], `${name}/${file}`);
      }
    }
  }
});
