// The parts of the module that read, measure and replay transcripts. Each is loaded when the first call asks for it.

import { call, module, part, type Exports } from "./runtime.js";

/**
 * A way to what a part does, which loads the part once; after a failure the next call tries again. The module must have been
 * started.
 */
function later<T>(of: Parameters<typeof part>[0], open: (exports: Exports) => Promise<T>): (name: string) => Promise<T> {
  let loading: Promise<T> | undefined;
  async function load(name: string): Promise<T> {
    await part(of);
    try {
      return await module.wait(call(name, open));
    } catch (error) {
      throw module.own(error);
    }
  }
  return async (name) => {
    call(name, () => {});
    loading ??= load(name);
    try {
      return await loading;
    } catch (error) {
      loading = undefined;
      throw error;
    }
  };
}

/** What reads and measures transcripts. @internal */
export const transcripts = /* @__PURE__ */ later("transcripts", (exports) => exports.transcripts());

/** What reads and measures transcripts. @internal */
export type Transcripts = Awaited<ReturnType<typeof transcripts>>;

/** What replays a conversation. @internal */
export const replayer = /* @__PURE__ */ later("replay", (exports) => exports.replayer());
