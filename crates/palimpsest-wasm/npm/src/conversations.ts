import { PalimpsestError } from "./errors.js";
import { call } from "./runtime.js";

/** A conversation that {@link readConversations} found in a file. */
export interface FoundConversation {
  /** Its title; empty if it has none. */
  title: string;
  /**
   * What was said, oldest first. Messages of a plain list are as they were; those of other programs are as OpenAI's servers
   * take them, with milliseconds since 1970 in `timestamp` where the time is known.
   */
  messages: { role: string; content?: unknown; timestamp?: number; [field: string]: unknown }[];
}

/**
 * The conversations of a file: what ChatGPT, Claude and Open WebUI export, a list of messages, `{ messages }`, or JSON Lines
 * with a message each. Of a conversation with branches the one that was shown last is taken.
 *
 * @param file the text of the file
 * @throws {@link PalimpsestError} `bad_input` for text that is no JSON or holds no messages
 *
 * @example
 * ```ts
 * import { init, readConversations } from "palimpsest";
 *
 * await init();
 * const [first] = readConversations('{ "title": "Gate", "messages": [{ "role": "user", "content": "Where?" }] }');
 * console.log(first?.title, first?.messages.length); // "Gate" 1
 * ```
 */
export function readConversations(file: string): FoundConversation[] {
  if (typeof file !== "string") throw new PalimpsestError("bad_input", "Expected the text of a file.");
  return call("readConversations()", (module) => JSON.parse(module.readConversations(file)) as FoundConversation[]);
}
