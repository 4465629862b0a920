// The worker in which a mounted app reads its model's vocabulary: `vocabulary.ts` makes it and says what to read. It runs the
// app's own module, and has no exports.

import { create } from "./ui/palimpsest_web.js";
import type { FromWorker, ToWorker, Wanted } from "./vocabulary.js";

/** What waits for an answer of the page's, by exchange: one at a time. */
const waiting = new Map<number, (value: unknown) => void>();
let last = 0;

function post(message: FromWorker, transfer: Transferable[] = []): void {
  postMessage(message, { transfer });
}

/** The host's way to its server, which only the page has. */
const host = {
  request(method: string, path: string, body: string): object {
    last += 1;
    const id = last;
    const wait = (call: "head" | "next"): Promise<unknown> => new Promise((resolve) => {
      waiting.set(id, resolve);
      post({ id, call });
    });
    post({ id, call: "request", method, path, body });
    return { head: () => wait("head"), next: () => wait("next"), stop: () => post({ id, call: "stop" }) };
  },
};

async function read({ code, hosted, address, key, model }: Wanted): Promise<void> {
  const { start, exports: app } = create();
  await start({ module_or_path: code });
  const done = (await app.vocabulary(hosted ? (host as never) : undefined, address, key, model)) as Uint8Array<ArrayBuffer> | string;
  post({ done }, typeof done === "string" ? [] : [done.buffer]);
}

addEventListener("message", ({ data }: MessageEvent<ToWorker>) => {
  if ("code" in data) {
    // what cannot be done here is done on the page
    read(data).catch(() => post({ done: null }));
    return;
  }
  const resolve = waiting.get(data.id);
  waiting.delete(data.id);
  resolve?.(data.value);
});
addEventListener("messageerror", () => post({ done: null }));
post({ listens: true });
