// The worker of `compactAsync` in a browser. It has no exports.

import { answering } from "./compact-job.js";
import type { ToThread } from "./elsewhere.js";

const answer = answering((message) => postMessage(message));
addEventListener("message", ({ data }: MessageEvent<ToThread>) => answer(data));
