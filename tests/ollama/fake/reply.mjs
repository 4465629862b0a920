// What the model "says": the scripted reply if there is one, else something plain made from the request.

import { piecesByRule } from "./counting.mjs";
import { asksForSummary, summarise } from "./summary.mjs";

/**
 * One reply, in full:
 *
 * - `content`, `thinking`: text, or a list of pieces, each streamed as one token
 * - `tool_calls`: as in the API, arguments as an object
 * - `done_reason`, `prompt_eval_count`, `eval_count`: override what follows from the request
 * - `first_delay_ms`, `delay_ms`: before the first piece, between pieces
 * - `held`: a promise that the first piece waits for
 * - `status`, `error`, `headers`: answer with an error instead
 * - `error_after`: that many pieces, then an error line inside a 200
 * - `hostile`, and options of that mode beside it
 *
 * A plain string is `{content}`.
 */
export function normalise(reply) {
  return typeof reply === "string" || Array.isArray(reply) ? { content: reply } : { ...reply };
}

/** The pieces a text is streamed in. */
export function pieces(text) {
  if (Array.isArray(text)) return text;
  return piecesByRule(text ?? "");
}

/** The reply when the script has none left. `room` is the most tokens it may have. */
export function defaultReply(request, messages, n, { room, words = 60 }) {
  if (asksForSummary(request, messages)) {
    return { content: summarise(messages, Math.min(room, 4000)) };
  }
  const last = String(messages.findLast((m) => m.role === "user")?.content ?? "").replace(/\s+/g, " ").trim();
  const heard = last.slice(0, 80);
  const opening = `Reply ${n}: you wrote "${heard}"${last.length > 80 ? " and more" : ""}.`;
  const filler = [];
  for (let i = 1; opening.split(" ").length + filler.join(" ").split(" ").length < words; i += 1) {
    filler.push(`Point ${i} of reply ${n} is that this text was written by a test server.`);
  }
  return { content: [opening, ...filler].join(" ") };
}
