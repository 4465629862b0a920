// Bundles www/forget for any static host: node forget.mjs TARGET MODULE
//
// The page's scripts become two, the page and its worker, with those of the package's sources that they use. MODULE is the folder of the
// package's module with what the page calls, and of its part that reads transcripts; both come to stand beside the scripts.

import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { build } from "../../../tests/node_modules/vite/dist/node/index.js";

const [target, module] = process.argv.slice(2).map((folder) => path.resolve(folder));
const root = path.resolve(import.meta.dirname, "../../..");
const source = path.join(root, "www/forget");
const npm = path.join(root, "crates/palimpsest-npm/npm/src");

/** The package's functions that the page uses, each from its own module: the entries would bring sessions along. */
const core = Object.entries({ forgotten: "forgotten", series: "measureRequests", conversations: "importConversations", runtime: "call, load", source: "open", json: "filled, toText", transcripts: "transcripts" })
  .map(([name, names]) => `export { ${names} } from ${JSON.stringify(path.join(npm, `${name}.ts`))};`)
  .join("\n");

/** What the page imports as `./core.js`. */
const entry = {
  name: "core",
  enforce: "pre",
  resolveId(id) {
    if (id === "./core.js") return "\0core";
    if (id === "./tokenizer.js") return path.join(source, "counter.js");
    if (id.startsWith("./wasm/")) return path.join(module, id.slice("./wasm/".length));
    // the script that loads the module's parts is no TypeScript, but the file that it imports is
    return id === "../parts.js" ? path.join(npm, "parts.ts") : undefined;
  },
  load: (id) => (id === "\0core" ? core : undefined),
};

for (const name of ["page", "worker"]) {
  await build({
    configFile: false,
    logLevel: "warn",
    root: source,
    plugins: [entry],
    build: {
      outDir: target,
      emptyOutDir: false,
      copyPublicDir: false,
      target: "es2022",
      modulePreload: false,
      // not as a library: those keep their white space
      rolldownOptions: { input: path.join(source, `${name}.js`), output: { format: "es", entryFileNames: "[name].js", codeSplitting: false } },
    },
  });
}

const put = (name, text) => {
  const file = path.join(target, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
};
const read = (...name) => fs.readFileSync(path.join(root, ...name), "utf8");

// the tokens of the app's design, and the page's own styles
const tokens = read("web/public/app.css").match(/@layer tokens \{\n([\s\S]*?)\n\}\n\n@layer base/);
if (!tokens) throw new Error("web/public/app.css has no layer of tokens to begin with");
put("page.css", tokens[1] + "\n" + read("www/forget/style.css"));
for (const name of ["index.html", "icon.svg"]) put(name, read("www/forget", name));
for (const [name, file] of [["trip", "trip"], ["coding", "coding"], ["support", "service"]]) {
  const talks = JSON.parse(read(`tests/fixtures/survival/${file}.json`));
  const texts = (labels = []) => labels.map(({ text }) => text);
  put(`samples/${name}.json`, JSON.stringify(talks.map(({ id, kind, system, messages, facts, rules, updates = [] }) => ({ id, kind, system, messages, facts: texts(facts), rules: texts(rules), updates: updates.map((update) => ({ old: update.old, new: update.new })) }))));
}
fs.copyFileSync(path.join(module, "palimpsest_npm_bg.wasm"), path.join(target, "core.wasm"));
fs.copyFileSync(path.join(module, "parts/transcripts.wasm"), path.join(target, "transcripts.wasm"));

// without a network: what stands in one build is kept under its own name
const files = fs.readdirSync(target, { recursive: true }).map(String).map((name) => name.replaceAll("\\", "/")).filter((name) => fs.statSync(path.join(target, name)).isFile()).sort();
const hash = createHash("sha256");
for (const name of files) hash.update(name).update(fs.readFileSync(path.join(target, name)));
put("offline.js", read("www/forget/offline.js").replace("{ version: \"\", files: [] }", JSON.stringify({ version: hash.digest("hex").slice(0, 16), files: ["./", ...files.filter((name) => name !== "index.html")] })));
