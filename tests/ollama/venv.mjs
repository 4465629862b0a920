// Makes a Python environment with pinned packages once, and keeps it.
//
//   node tests/ollama/venv.mjs model      prints the path of a Python that has llama.cpp and SmolLM2 (about 130 MB)
//   node tests/ollama/venv.mjs clients    … of one that has Ollama's official client
//
// The model's packages are those of tests/requirements.txt; where cargo xtask has installed them already
// (PALIMPSEST_PYTHON), that Python is used. Otherwise kept under ${XDG_CACHE_HOME:-~/.cache}/palimpsest/venv-<hash>; the hash covers the list of packages and Python's version.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const REQUIREMENTS = { model: "../requirements.txt", clients: "requirements-clients.txt" };

/** The Python of the environment `kind`, made if it is missing. Throws with a cure when that fails. */
export function python(kind, { log = (line) => process.stderr.write(`${line}\n`) } = {}) {
  if (kind === "model" && process.env.PALIMPSEST_PYTHON) return process.env.PALIMPSEST_PYTHON;
  const requirements = fileURLToPath(new URL(REQUIREMENTS[kind], import.meta.url));
  let version;
  try {
    version = execFileSync("python3", ["--version"], { encoding: "utf8" }).trim();
  } catch {
    throw new Error("python3 is not installed; on Debian: apt-get install python3 python3-venv");
  }
  const hash = createHash("sha256").update(version).update(readFileSync(requirements)).digest("hex").slice(0, 16);
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "palimpsest");
  const folder = join(cache, `venv-${hash}`);
  const bin = (base) => join(base, "bin", "python");
  if (existsSync(bin(folder))) return bin(folder);
  log(`making a Python environment with the packages of ${basename(requirements)} …`);
  const started = Date.now();
  mkdirSync(cache, { recursive: true });
  // Built aside and moved into place whole: an interrupted run leaves nothing half made, two at once do no harm.
  const building = `${folder}.${process.pid}`;
  try {
    run("python3", ["-m", "venv", building], "the module venv is missing; on Debian: apt-get install python3-venv");
    run(bin(building), ["-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", "-r", requirements], "the packages could not be installed");
    try {
      renameSync(building, folder);
    } catch (error) {
      if (!existsSync(bin(folder))) throw error;
    }
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
  log(`… done in ${Math.round((Date.now() - started) / 1000)} s: ${folder}`);
  return bin(folder);
}

function run(command, args, cure) {
  try {
    execFileSync(command, args, { stdio: ["ignore", "ignore", "pipe"] });
  } catch (error) {
    throw new Error(`${cure}\n${String(error.stderr ?? error).trim().slice(-2000)}`);
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    process.stdout.write(`${python(process.argv[2] ?? "model")}\n`);
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}
