// The parts of the module that read, measure and replay transcripts.

import { begin, type Exports } from "./runtime.js";

/** A way to the object through which a part is called. It is made once; after a failure the next call tries again. */
function once<T>(of: Parameters<typeof begin>[0], open: (module: Exports) => Promise<T>): (name: string) => Promise<T> {
  let made: Promise<T> | undefined;
  return async (name) => {
    made ??= begin(of, name, open);
    try {
      return await made;
    } catch (error) {
      made = undefined;
      throw error;
    }
  };
}

/** The part that reads and measures transcripts. @internal */
export const transcripts = /* @__PURE__ */ once("transcripts", (module) => module.transcripts());

/** Its object. @internal */
export type Transcripts = Awaited<ReturnType<typeof transcripts>>;

/** The part that replays a conversation. @internal */
export const replayer = /* @__PURE__ */ once("replay", (module) => module.replayer());
