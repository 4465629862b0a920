// Starts a real small model: llama.cpp's server with SmolLM2-135M, installed on first use (see venv.mjs).
//
//   node tests/ollama/llama.mjs [--port N] [--ctx C]      prints `ready http://127.0.0.1:N`, ends with its standard input
//
//   import { startLlama } from "./llama.mjs";
//   const llama = await startLlama({ ctx: 2048 });        // llama.url, llama.close()

import { spawn } from "node:child_process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { python } from "./venv.mjs";

const SERVER = fileURLToPath(new URL("llama_server.py", import.meta.url));

/** Resolves when the server answers. Rejects with what it said if it does not come up. */
export async function startLlama({ port = 0, ctx = 8192, log } = {}) {
  const child = spawn(python("model", { log }), [SERVER, "--port", String(port), "--ctx", String(ctx)], { stdio: ["pipe", "pipe", "pipe"] });
  let said = "";
  child.stderr.on("data", (data) => (said = (said + data).slice(-4000)));
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const url = await new Promise((resolve, reject) => {
    let out = "";
    child.stdout.on("data", (data) => {
      out += data;
      const ready = out.match(/^ready (\S+)$/m);
      if (ready) resolve(ready[1]);
    });
    child.once("error", reject);
    ended.then((code) => reject(new Error(`the model server ended with ${code}: ${said}`)));
  });
  return {
    url,
    ended,
    close: () => {
      child.stdin.end();
      return ended;
    },
  };
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const value = (name, otherwise) => (process.argv.includes(name) ? Number(process.argv[process.argv.indexOf(name) + 1]) : otherwise);
  try {
    const llama = await startLlama({ port: value("--port", 0), ctx: value("--ctx", 8192) });
    process.stdout.write(`ready ${llama.url}\n`);
    const stop = () => llama.close().then(() => process.exit(0));
    process.on("SIGTERM", stop);
    process.on("SIGINT", stop);
    process.stdin.on("end", stop);
    process.stdin.resume();
    llama.ended.then(() => process.exit(1));
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}
