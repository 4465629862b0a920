// A folder as a stranger's project: the packed tarball, installed by npm.

import assert from "node:assert/strict";
import { execFile, execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** The checkout. */
export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");

/** The tarball of a package that `cargo xtask pack` left. */
export function tarball(name = "palimpsest") {
  const dist = process.env.PALIMPSEST_DIST ?? path.join(root, "dist");
  const found = fs.existsSync(dist) ? fs.readdirSync(dist).filter((file) => new RegExp(`^${name}-\\d.*\\.tgz$`).test(file)) : [];
  assert.equal(found.length, 1, `run \`cargo xtask pack\` first: there must be one tarball of ${name} in dist/`);
  return path.join(dist, found[0]);
}

/** Installs the tarball, those of `beside` (`ui`, `inline`), and packages of the registry, in a new folder. */
export function install(packages = [], beside = []) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-consumer-"));
  fs.writeFileSync(path.join(folder, "package.json"), '{ "name": "consumer", "private": true, "type": "module" }');
  const offline = packages.length === 0 ? ["--offline"] : ["--prefer-offline"];
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", ...offline, tarball(), ...beside.map((name) => tarball(`palimpsest-${name}`)), ...packages], {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
  });
  return folder;
}

/** Copies a folder of the checkout into the consumer's. */
export function copy(from, to) {
  fs.cpSync(path.join(root, from), to, { recursive: true });
}

/** Runs a script as a program of the consumer's and gives back what it printed as JSON. */
export function run(folder, script, flags = []) {
  const file = path.join(folder, `script-${Math.random().toString(36).slice(2)}.mjs`);
  fs.writeFileSync(file, script);
  const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, file], { cwd: folder, encoding: "utf8", timeout: 120_000 });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout);
}

/** As {@link run}, for scripts that talk to a server of the test's: it can answer meanwhile. */
export async function runAsync(folder, script) {
  const file = path.join(folder, `script-${Math.random().toString(36).slice(2)}.mjs`);
  fs.writeFileSync(file, script);
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [file], { cwd: folder, encoding: "utf8", timeout: 240_000, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      if (error) reject(new Error(stderr || String(error)));
      else resolve(JSON.parse(stdout));
    });
  });
}

/** Removes what `install` made. */
export function remove(folder) {
  fs.rmSync(folder, { recursive: true, force: true });
}
