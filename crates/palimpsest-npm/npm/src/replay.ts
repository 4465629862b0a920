import type { Policy, PolicyName, Shed } from "./compact.js";
import { toText, written } from "./json.js";
import { checkObject } from "./options.js";
import { call } from "./runtime.js";
import { replayer } from "./transcripts.js";
import type { TextCounter } from "./own-counter.js";
import { counterOf, type Tokenizer } from "./tokenizer.js";
import type { Dialect } from "./validate.js";

/** How to replay. All sizes are tokens. */
export interface ReplayOptions {
  /** The model's context window. */
  window: number;
  /** Kept free for the answer; a share of the window if not said. */
  reserve?: number;
  /** Named policies, or your own; every named one if not said. */
  policies?: readonly (PolicyName | Policy)[];
  /** Tool definitions that go with each request: their size counts. */
  tools?: readonly unknown[];
  /** Counts exactly, where you have the model's vocabulary, or with a function of yours. */
  tokenizer?: Tokenizer | TextCounter;
  /** The list's shape; the one it looks like if not said. */
  dialect?: Dialect;
  /** The model thinks before it answers. */
  thinking?: boolean;
  /** What the conversation is about. */
  mode?: string;
  /** A model that would summarise: its calls are counted, and answered by the extractive summariser. */
  model?: string;
}

/** What one pass shed over the whole conversation. */
export type PassFigures = Shed;

/** One policy's figures. All sizes are tokens. */
export interface PolicyReplay {
  /** The policy's name. */
  policy: string;
  /** The window with each message, before and after anything was done. */
  tokens: { message: number; before: number; after: number }[];
  /** The most that was ever sent. */
  peak: number;
  /** What the window holds at the end. */
  last: number;
  /** What was sent in all: a request for every message of the model. */
  sent: number;
  /** Compactions. */
  compactions: number;
  /** Compactions that were due and changed nothing. */
  refused: number;
  /** How often the emergency had to help. */
  emergencies: number;
  /** Summaries a model would be asked for, if one is named. */
  modelCalls: number;
  /** What a model had to read again because the beginning of the window had changed. */
  reread: number;
  /** What each pass shed. */
  passes: PassFigures[];
  /** What was saved by condensing results as they arrived. */
  onArrival: number;
  /** Facts that were said, that the last window holds, and that can be recalled from places it shows, by class. */
  retention: { class: string; said: number; shown: number; recallable: number }[];
}

/** Every policy's figures. */
export interface ReplayReport {
  /** How many messages were said. */
  messages: number;
  /** Tokens of all of them, as they were said. */
  said: number;
  /** In the order in which the policies were given. */
  policies: PolicyReplay[];
}

/**
 * Replays a conversation under several policies, side by side: what each would have sent, how often it would have
 * compacted, what would be left. Asks no model. The first call loads the part `replay` of the module.
 *
 * @throws {@link PalimpsestError} `bad_input` if the list cannot be read, `invalid_options`, `invalid_window`, `unknown_policy`, `load_failed`
 *
 * @example
 * ```ts
 * import { init, replay } from "palimpsest";
 *
 * await init();
 * const messages = Array.from({ length: 200 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: `Message ${i}` }));
 * const { policies } = await replay(messages, { window: 8192, policies: ["balanced", "watermark"] });
 * for (const { policy, sent, compactions } of policies) console.log(policy, sent, compactions);
 * ```
 */
export async function replay(messages: readonly unknown[], options: ReplayOptions): Promise<ReplayReport> {
  checkObject(options);
  const { tools, tokenizer, ...plain } = options;
  // as they are now: the part may have to be loaded first
  const given = [toText(messages), JSON.parse(written(plain)), tools === undefined ? undefined : toText(tools)] as const;
  const counter = counterOf(tokenizer);
  const part = await replayer("replay()");
  return call("replay()", () => part.replay(...given, counter));
}
