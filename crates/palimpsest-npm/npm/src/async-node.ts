// Compacting without holding up the event loop. The types of this entry are those of async.ts, where the function is documented.

import { Worker } from "node:worker_threads";
import type { Compacted } from "./compact.js";
import { onThreads, type CompactAsyncOptions, type FromThread } from "./elsewhere.js";

const compactOnThread = /* @__PURE__ */ onThreads((hears) => {
  const worker = new Worker(new URL("./compact-thread.js", import.meta.url));
  worker.on("message", (answer: FromThread) => hears.answer(answer));
  worker.on("error", () => hears.failed());
  // a thread that has nothing to do keeps no program alive
  const hold = (busy: boolean): void => (busy ? worker.ref() : worker.unref());
  return { post: (message) => worker.postMessage(message), hold, end: () => void worker.terminate() };
});

export function compactAsync<M>(messages: readonly M[], options: CompactAsyncOptions): Promise<Compacted<M>> {
  return compactOnThread(messages, options);
}
