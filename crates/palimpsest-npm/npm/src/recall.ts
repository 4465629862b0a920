import { PalimpsestError } from "./errors.js";
import { toText } from "./json.js";
import { check } from "./options.js";
import { call } from "./runtime.js";
import type { Dialect } from "./validate.js";

/** Options of {@link recall} and {@link recallTool}. */
export interface RecallOptions {
  /** The list's shape, where it is not plain from the list. */
  dialect?: Dialect;
}

/**
 * The whole text of what a compressed list does not show whole: of an offloaded or condensed result, of a message that a
 * layer covers. `history` is the whole list, as it was before anything was compressed.
 *
 * `reference` is a text that names a message as the window does: a reference (`[offloaded: message 12, …]`), `message 12`,
 * or `messages 3-9`. A number is a position in `history`, as the report has them in `covered`, `shortened` and `demands`:
 * the window counts from 1 and leaves the system prompt out, so its message 1 is the first that is no system prompt.
 *
 * @throws {@link PalimpsestError} `not_found` if the list has no such message, or holds another text there; `bad_input` if
 * the text names none.
 *
 * @example
 * ```ts
 * import { compact, init, recall } from "palimpsest";
 *
 * await init();
 * const history = [{ role: "user", content: "Where is parcel 12?" }];
 * const { report } = compact(history, { window: 8192 });
 * for (const { from } of report.covered) console.log(recall(history, from));
 * console.log(recall(history, "message 1")); // "Where is parcel 12?"
 * ```
 */
export function recall(history: readonly unknown[], reference: string | number, options: RecallOptions = {}): string {
  check(options, ["dialect"]);
  const isPosition = typeof reference === "number" && Number.isSafeInteger(reference) && reference >= 0 && reference < 2 ** 32;
  if (!isPosition && typeof reference !== "string") {
    throw new PalimpsestError("bad_input", "Expected a reference as the window shows it, or a position in the list as a whole number.");
  }
  return call("recall()", (module) =>
    module.recall(toText(history), isPosition ? undefined : (reference as string), isPosition ? reference : 0, options.dialect),
  );
}

/** Options of {@link recallTool}. */
export interface RecallToolOptions extends RecallOptions {
  /** The most characters of one answer; 8,000 if not said. What is longer is given in pieces. */
  most?: number;
}

/** What a model calls the tool with. */
export interface RecallArguments {
  /** A place as the window names it: `12`, `3-9`, or the text of a reference. */
  message: string | number;
  /** The character to begin at, where an answer was too long for one. */
  from?: number;
}

/** A tool by which a model reads what its window does not show whole. */
export interface RecallTool {
  /** Its definition, as OpenAI's servers take it and most others. */
  definition: { type: "function"; function: { name: "recall"; description: string; parameters: Record<string, unknown> } };
  /**
   * Answers a call. Takes the arguments as an object or as JSON text; what cannot be found is said in words, for the model to
   * read.
   */
  execute(args: unknown): string;
}

/** @internal */
export const RECALL_DESCRIPTION =
  "Reads what this conversation shows shortened: the whole text of a message by its number, as in [recall message 12], " +
  "[offloaded: message 12, …] or [Messages 3-9].";

/** @internal */
export const RECALL_PARAMETERS = {
  type: "object",
  properties: {
    message: { type: "string", description: "The number of the message, such as 12, or the first and the last of several, such as 3-9." },
    from: { type: "integer", minimum: 0, description: "The character to begin at, where an answer said that there is more." },
  },
  required: ["message"],
  additionalProperties: false,
} satisfies Record<string, unknown>;

/**
 * A tool that gives a model the whole text of what its window shows shortened: its definition and what answers a call. With
 * the definition among the `tools` of {@link compact}, the texts it writes name the message to recall; without a tool called
 * `recall` none says that anything can be recalled.
 *
 * `history` is the whole list, or a function that gives it. `palimpsest/ai-sdk` and `palimpsest/langchain` have the same tool
 * as their frameworks take it.
 *
 * @example
 * ```ts
 * import { compact, init, recallTool } from "palimpsest";
 *
 * await init();
 * const history = [{ role: "user", content: "Read every file." }];
 * const tool = recallTool(() => history);
 * const { messages } = compact(history, { window: 8192, tools: [tool.definition] });
 * console.log(messages.length, tool.execute({ message: "1" })); // 1 "Read every file."
 * ```
 */
export function recallTool(history: readonly unknown[] | (() => readonly unknown[]), options: RecallToolOptions = {}): RecallTool {
  check(options, ["dialect", "most"]);
  const { most = 8_000, ...rest } = options;
  if (!Number.isSafeInteger(most) || most < 200) {
    throw new PalimpsestError("invalid_options", 'The option "most" must be a whole number of characters, 200 or more.');
  }
  if (typeof history !== "function" && !Array.isArray(history)) {
    throw new PalimpsestError("invalid_options", "recallTool() needs the whole list of messages, or a function that gives it.");
  }
  return {
    definition: { type: "function", function: { name: "recall", description: RECALL_DESCRIPTION, parameters: RECALL_PARAMETERS } },
    execute(given) {
      const { message, from } = argumentsOf(given);
      if (message === undefined) return 'Say which message: { "message": "12" }.';
      let whole: string;
      try {
        whole = recall(typeof history === "function" ? history() : history, message, rest);
      } catch (error) {
        const code = (error as { code?: unknown }).code;
        if (code !== "not_found" && code !== "bad_input") throw error;
        return code === "bad_input"
          ? "This names no message. Give its number as the conversation shows it, such as 12 or 3-9."
          : `There is no message ${message.slice(0, 80)} to recall.`;
      }
      const piece = cut(whole, from, most);
      const end = from + piece.length;
      const more = whole.length - end;
      return more > 0 ? `${piece}\n[${more} more characters: recall with "from": ${end}]` : piece;
    },
  };
}

/** A piece of a text that cuts no character in two. */
function cut(text: string, from: number, most: number): string {
  const piece = text.slice(from, from + most);
  return /[\ud800-\udbff]$/.test(piece) && from + most < text.length ? piece.slice(0, -1) : piece;
}

/** What a model wrote, however it wrote it. */
function argumentsOf(given: unknown): { message: string | undefined; from: number } {
  let args = given;
  if (typeof args === "string") {
    try {
      args = JSON.parse(args) as unknown;
    } catch {
      args = { message: given };
    }
  }
  if (typeof args !== "object" || args === null) args = { message: args };
  const { message, from } = args as { message?: unknown; from?: unknown };
  const start = Number(from ?? 0);
  return {
    message: (typeof message === "string" && message.trim() !== "") || typeof message === "number" ? String(message) : undefined,
    from: Number.isSafeInteger(start) && start > 0 ? start : 0,
  };
}
