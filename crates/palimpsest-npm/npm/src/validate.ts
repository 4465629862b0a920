import { parsed } from "./border.js";
import { filled, toText } from "./json.js";
import { call } from "./runtime.js";

/**
 * A shape of message lists: OpenAI chat completions, Anthropic messages, Ollama's `/api/chat`, the Vercel AI SDK's model messages
 * and messages of the user interface, the items of OpenAI's Responses API, Gemini's `contents`, and the messages of Amazon
 * Bedrock's Converse API.
 */
export type Dialect = "openai" | "anthropic" | "ollama" | "ai-sdk" | "ai-sdk-ui" | "openai-responses" | "gemini" | "bedrock";

/** One thing that is wrong with a list of messages. */
export interface Problem {
  /** What kind of thing; stable. */
  code:
    | "not_a_message"
    | "unknown_role"
    | "bad_content"
    | "bad_part"
    | "bad_arguments"
    | "missing_id"
    | "id_too_long"
    | "duplicate_id"
    | "duplicate_message_id"
    | "missing_result"
    | "orphan_result"
    | "second_result"
    | "misplaced_result"
    | "empty_message"
    | "empty_part"
    | "consecutive_users"
    | "consecutive_assistants"
    | "leading_assistant"
    | "system_message";
  /** Index of the message. */
  index: number;
  /** The same in words, with what is expected. */
  message: string;
}

/** What {@link validate} found. */
export interface Validation<M> {
  /** Whether nothing is wrong. */
  ok: boolean;
  /** The shape the list was read as. */
  dialect: Dialect;
  /** What is wrong, in the order of the list. */
  problems: Problem[];
  /**
   * The list with all of it mended, if anything is wrong. Messages nothing is wrong with are the very objects that were
   * passed in.
   */
  repaired?: M[];
}

/**
 * Checks a list of messages: tool calls without results, results without calls, roles that must alternate, empty
 * messages, ids, arguments. Without a dialect the one the list looks like is taken.
 *
 * @example
 * ```ts
 * import { init, validate } from "palimpsest";
 *
 * await init();
 * const { ok, problems, repaired } = validate([
 *   { role: "user", content: "What time is it?" },
 *   { role: "tool", tool_call_id: "a", content: "noon" },
 * ]);
 * console.log(ok, problems[0]?.code, repaired?.length); // false "orphan_result" 1
 * ```
 */
export function validate<M = unknown>(messages: readonly M[], dialect?: Dialect): Validation<M> {
  return call("validate()", (module) => {
    const { repaired, ...found } = parsed(module.validate(toText(messages), dialect));
    return repaired === undefined ? found : { ...found, repaired: filled(repaired, messages) };
  });
}
