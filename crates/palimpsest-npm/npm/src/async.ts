// Compacting without holding up the page.

import { onThreads, type CompactAsyncOptions } from "./elsewhere.js";
import type { Compacted } from "./compact.js";

export type { CompactAsyncOptions } from "./elsewhere.js";

const compactOnThread = /* @__PURE__ */ onThreads((hears) => {
  const worker = new Worker(new URL("./compact-worker.js", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }) => hears.answer(data);
  // rules that forbid it, or a script that was not copied along
  worker.onerror = (event) => {
    event.preventDefault();
    hears.failed();
  };
  return { post: (message) => worker.postMessage(message), hold: () => {}, end: () => worker.terminate() };
});

/**
 * As `compact`, and the calling thread goes on meanwhile: the list is read and compacted in a worker (in Node, Deno and Bun in a
 * thread), which is started with the first call and ended when it was idle for half a minute. The result is the same, message by
 * message. What is left to the calling thread is to write the list as JSON, in pieces of a few milliseconds, and to read the answer.
 *
 * With a `tokenizer`, which belongs to the calling thread, and where no worker can be had (rules of the page such as `worker-src`,
 * Trusted Types, a bundler that does not take `dist/compact-worker.js` along, Cloudflare Workers), the list is compacted on the calling
 * thread, in one piece, after what waits there.
 *
 * @throws a `PalimpsestError` as `compact`; what `signal` was aborted with.
 *
 * @example
 * ```ts
 * import { init } from "palimpsest";
 * import { compactAsync } from "palimpsest/async";
 *
 * await init();
 * const history = [{ role: "user", content: "Hello" }];
 * const { messages, state } = await compactAsync(history, { window: 8192 });
 * console.log(messages.length); // 1
 * ```
 */
export function compactAsync<M>(messages: readonly M[], options: CompactAsyncOptions): Promise<Compacted<M>> {
  return compactOnThread(messages, options);
}
