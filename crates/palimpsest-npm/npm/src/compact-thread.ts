// The thread of `compactAsync` in Node, Deno and Bun. It has no exports.

import { parentPort } from "node:worker_threads";
import { answering } from "./compact-job.js";

const answer = answering((message) => parentPort?.postMessage(message));
parentPort?.on("message", answer);
