// What a thread does for `compactAsync`: it starts the module and compacts one list after the other.

import { PalimpsestError } from "./errors.js";
import type { FromThread, Job, ToThread } from "./elsewhere.js";
import { call, load } from "./runtime.js";
import { counterOf } from "./tokenizer.js";

/** Answers what a thread is sent. @internal */
export function answering(post: (answer: FromThread) => void): (message: ToThread) => void {
  let ready: Promise<void>;
  return (message) => {
    if ("code" in message) {
      ready = load(undefined, async () => message.code);
      // a list that waits for it hears why
      ready.catch(() => {});
      return;
    }
    ready.then(() => compacted(message)).then(post, ({ message: why }: Error) => post({ id: message.id, failed: why }));
  };
}

function compacted({ id, messages, plain, tools, state }: Job): FromThread {
  try {
    const done = call("compactAsync()", (exports) => {
      const compaction = new exports.Compaction(messages, plain, tools, state, counterOf(undefined), new Uint8Array());
      try {
        return compaction.finish();
      } finally {
        compaction.free();
      }
    });
    return { id, done };
  } catch (error) {
    if (!(error instanceof PalimpsestError)) return { id, failed: String(error) };
    const { code, message, retryable, details } = error;
    return { id, refused: { code, message, retryable, details } };
  }
}
