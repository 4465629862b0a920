// The reference of the package's functions and types, from its own declarations.
//
//   node tests/packaging/reference.mjs      writes docs/api.md from the packages in dist/

import fs from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");

/** What the entries export, in the order of the reference. */
const ENTRIES = [
  ["palimpsest", "index.d.ts"],
  ["palimpsest/ai-sdk", "ai-sdk.d.ts"],
  ["palimpsest/langchain", "langchain.d.ts"],
  ["palimpsest/langgraph", "langgraph.d.ts"],
  ["palimpsest/tanstack-ai", "tanstack-ai.d.ts"],
  ["palimpsest/openai-agents", "openai-agents.d.ts"],
  ["palimpsest/mastra", "mastra.d.ts"],
  ["palimpsest/pi", "pi.d.ts"],
  ["palimpsest/opencode", "opencode.d.ts"],
  ["palimpsest/openclaw", "openclaw.d.ts"],
  ["palimpsest/react", "react.d.ts"],
  ["palimpsest/node", "node-stores.d.ts"],
  ["palimpsest/storage", "storage-kit.d.ts"],
  ["palimpsest/testing", "testing.d.ts"],
  ["palimpsest-ui", "ui.d.ts"],
  ["palimpsest-ui/vscode-host", "vscode-host.d.ts"],
];

/** The reference as Markdown. `dist` gives the folder of a package's declarations. */
export function reference(dist) {
  const out = [
    "# The packages' functions and types",
    "",
    "Made from the packages' declarations by `node tests/packaging/reference.mjs`; a test keeps it so. [The guide](guide.md) says how they",
    "are used together.",
  ];
  const told = new Set();
  for (const [entry, file] of ENTRIES) {
    // what two entries export is said once
    const found = declarations(dist(entry.split("/")[0]), file).filter(({ name }) => !told.has(name) && told.add(name));
    out.push("", `## ${entry}`);
    for (const kind of ["function", "class", "interface", "type"]) {
      for (const one of found.filter((f) => f.kind === kind)) out.push("", ...section(one));
    }
  }
  return `${out.join("\n")}\n`;
}

/** Everything a declaration file exports itself or from others, each once. */
function declarations(dist, file, wanted, seen = new Set()) {
  const key = `${file} ${wanted ?? "*"}`;
  if (seen.has(key)) return [];
  seen.add(key);
  const text = fs.readFileSync(path.join(dist, file), "utf8");
  const beside = (name) => path.join(path.dirname(file), name.replace(/\.js$/, ".d.ts"));
  const found = own(text).filter(({ name }) => wanted === undefined || wanted.includes(name));
  if (wanted === undefined) {
    for (const [, from] of text.matchAll(/export \* from "(\.[^"]+)"/g)) found.push(...declarations(dist, beside(from), undefined, seen));
    for (const [, names, from] of text.matchAll(/export (?:type )?\{([^}]*)\} from "(\.[^"]+)"/g)) {
      const list = names.split(",").map((name) => name.trim().replace(/^type /, "")).filter(Boolean);
      found.push(...declarations(dist, beside(from), list, seen));
    }
  }
  return found;
}

/** The exported declarations of a text, with their comments. */
function own(text) {
  const found = [];
  const start = /(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)?export (?:declare )?(?:abstract )?(function|class|interface|type) (\w+)/g;
  for (let match = start.exec(text); match !== null; match = start.exec(text)) {
    const [whole, comment = "", kind, name] = match;
    const from = match.index + whole.length;
    const code = text.slice(match.index + whole.lastIndexOf("export "), end(text, from, kind));
    found.push({ kind, name, comment: plain(comment), code: code.replace(/^export (declare )?/, "") });
    start.lastIndex = from;
  }
  return found;
}

/** Where a declaration ends: after its last brace, or its semicolon. Comments are passed over. */
function end(text, from, kind) {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if (text.startsWith("/*", at)) {
      at = text.indexOf("*/", at) + 1;
      continue;
    }
    const char = text[at];
    if ("{[(".includes(char)) depth++;
    else if ("}])".includes(char)) {
      depth--;
      if (depth === 0 && char === "}" && (kind === "class" || kind === "interface")) return at + 1;
    } else if (char === ";" && depth === 0) return at + 1;
  }
  return text.length;
}

/** A comment without its stars. */
function plain(comment) {
  return comment.split("\n").map((line) => line.replace(/^\s*\* ?/, "")).join("\n").trim();
}

function section({ name, kind, comment, code }) {
  const [text, ...tags] = comment.replace(/\{@link ([^}]+)\}/g, "`$1`").split(/^@(?=\w)/m);
  const out = [`### ${name}${kind === "function" ? "()" : ""}`];
  if (text.trim()) out.push("", text.trim());
  for (const tag of tags) {
    const [, label, body] = /^(\w+)\s*([\s\S]*)$/.exec(tag);
    if (label === "example") out.push("", body.trim());
    else out.push("", `**${label[0].toUpperCase()}${label.slice(1)}** ${body.trim()}`);
  }
  return [...out, "", "```ts", code, "```"];
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  fs.writeFileSync(path.join(root, "docs/api.md"), reference((name) => path.join(root, "dist", name.replace("palimpsest", "npm"), "dist")));
}
