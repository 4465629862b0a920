// The reference of the packages' functions and types: docs/api, made by TypeDoc from the declarations of the packed packages.
//
//   node tests/packaging/reference.mjs      writes docs/api from the tarballs in dist/

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { install, remove, root } from "./consumer.mjs";

/** The packages that make it. TypeDoc reads declarations with a compiler of its own. */
export const MAKERS = ["typedoc@0.28.20", "typedoc-plugin-markdown@4.14.1", "typescript@5.9.3"];
/** Packages whose types the declarations name. */
export const NAMED = ["ai@6", "@langchain/core@1", "@langchain/langgraph@1", "langchain@1", "zod@4", "@types/node@20", "@types/react@19"];

/** Every entry that a program imports, and the file of its declarations. */
const ENTRIES = {
  palimpsest: "index",
  "palimpsest/async": "async",
  "palimpsest/ai-sdk": "ai-sdk",
  "palimpsest/langchain": "langchain",
  "palimpsest/langgraph": "langgraph",
  "palimpsest/tanstack-ai": "tanstack-ai",
  "palimpsest/openai-agents": "openai-agents",
  "palimpsest/mastra": "mastra",
  "palimpsest/pi": "pi",
  "palimpsest/opencode": "opencode",
  "palimpsest/openclaw": "openclaw",
  "palimpsest/react": "react",
  "palimpsest/node": "node-stores",
  "palimpsest/storage": "storage-kit",
  "palimpsest/testing": "testing",
  "palimpsest-ui": "ui",
  "palimpsest-ui/vscode-host": "vscode-host",
};

const START = `# The packages' functions and types

Made by TypeDoc from the declarations of the packed packages: \`node tests/packaging/reference.mjs\`; a test keeps it so. [The guide](../guide.md)
says how they are used together.
`;

const OPTIONS = {
  plugin: ["typedoc-plugin-markdown"],
  name: "palimpsest",
  readme: "none",
  outputFileStrategy: "modules",
  excludeInternal: true,
  skipErrorChecking: true,
  disableSources: true,
  hideBreadcrumbs: true,
  hidePageHeader: true,
  useCodeBlocks: true,
  parametersFormat: "table",
  interfacePropertiesFormat: "table",
  typeDeclarationFormat: "table",
  expandParameters: true,
  // what every error has by the language is not ours to explain
  excludeExternals: true,
  groupOrder: ["Functions", "Classes", "Interfaces", "Type Aliases", "Variables"],
  sort: ["kind", "source-order"],
  hideGenerator: true,
  githubPages: false,
  validation: { notExported: true, invalidLink: true, notDocumented: false },
};

/** Makes the reference of the packages that a folder has installed. Returns the pages by name, and what TypeDoc complains of. */
export function reference(folder) {
  const place = fs.mkdtempSync(path.join(folder, "reference-"));
  // outside of node_modules, where TypeDoc looks for types that an entry should export and does not
  for (const name of ["palimpsest", "palimpsest-ui"]) fs.cpSync(path.join(folder, "node_modules", name, "dist"), path.join(place, name), { recursive: true, filter: (file) => !/\.(js|wasm|css)$/.test(file) });
  const sources = Object.entries(ENTRIES).map(([entry, name]) => {
    const file = path.join(place, entry.split("/")[0], `${name}.d.ts`);
    fs.writeFileSync(file, `/**\n * @module ${entry}\n */\n${fs.readFileSync(file, "utf8")}`);
    return file;
  });
  const config = path.join(place, "tsconfig.json");
  fs.writeFileSync(config, JSON.stringify({
    compilerOptions: { target: "ES2022", module: "NodeNext", moduleResolution: "NodeNext", lib: ["ES2024", "DOM", "DOM.Iterable", "DOM.AsyncIterable", "ESNext.Disposable"], types: ["node"], strict: true, skipLibCheck: true, noEmit: true },
    include: ["palimpsest", "palimpsest-ui"],
  }));
  const options = path.join(place, "typedoc.json");
  const out = path.join(place, "out");
  fs.writeFileSync(options, JSON.stringify({ ...OPTIONS, entryPoints: sources, tsconfig: config, out }));
  const { status, stdout, stderr } = spawnSync(process.execPath, [path.join(folder, "node_modules/typedoc/bin/typedoc"), "--options", options], { cwd: place, encoding: "utf8", env: { ...process.env, NO_COLOR: "1" } });
  assert.equal(status, 0, `${stdout}\n${stderr}`);
  const complaints = `${stdout}\n${stderr}`.replace(/\u001b\[\d+m/g, "").split("\n").filter((line) => /^\[(warning|error)\]/.test(line) && !/ Found 0 errors/.test(line));
  const pages = new Map(fs.readdirSync(out, { recursive: true }).map(String).filter((name) => name.endsWith(".md")).sort().map((name) => [name, fs.readFileSync(path.join(out, name), "utf8")]));
  pages.set("README.md", pages.get("README.md").replace("# palimpsest\n", START).replace(/(?:^- .*\n)+/m, (modules) => `${modules.trimEnd().split("\n").sort().join("\n")}\n`));
  return { pages, complaints };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const folder = install([...MAKERS, ...NAMED], ["ui"]);
  try {
    const { pages, complaints } = reference(folder);
    const place = path.join(root, "docs/api");
    fs.rmSync(place, { recursive: true, force: true });
    for (const [name, text] of pages) {
      fs.mkdirSync(path.dirname(path.join(place, name)), { recursive: true });
      fs.writeFileSync(path.join(place, name), text);
    }
    for (const line of complaints) console.log(line);
  } finally {
    remove(folder);
  }
}
