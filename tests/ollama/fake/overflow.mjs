// What the real server does with a chat that is longer than its window. All numbers are measured; see the comments.

const STEP = 256;
const KEEP = 4;

/** The runner's window: the size asked for, clamped to the trained length, rounded up to a multiple of 256 (500 → 512, 64 → 256). */
export function runnerWindow(numCtx, trained) {
  return Math.ceil(Math.min(numCtx, trained) / STEP) * STEP;
}

const TOO_LONG =
  "the prompt is longer than the context length currently available to the model; shorten the prompt, " +
  "adjust the context length in settings, or use a model with a longer context length";

/** The error of llama.cpp's server that carries exact counts. */
export function exceedError(tokens, window) {
  return {
    error: {
      code: 400,
      message: `request (${tokens} tokens) exceeds the available context size (${window} tokens), try increasing it`,
      type: "exceed_context_size_error",
      n_prompt_tokens: tokens,
      n_ctx: window,
    },
  };
}

/**
 * Fits `messages` as the real server does.
 * Returns `{messages, tokens, window}` or `{error}`, the text of a 400.
 *
 * - `truncate` not false: the oldest messages that are no system message go one by one until the prompt is ≤ num_ctx;
 *   system messages stay and move to the front; the last message stays whatever it is. Nothing in the answer says so.
 * - `truncate: false`: a prompt ≥ the runner's window is a 400 with both numbers, as JSON inside the error string.
 * - `shift: false`: what is still ≥ the runner's window is a 400 without numbers.
 * - neither: a prompt ≥ num_ctx is cut to 4 tokens of head plus the tail, so that 4 + (num_ctx − 4)/2 remain.
 */
export function fit(messages, { numCtx, trained, truncate, shift, countMessages }) {
  const asked = Math.min(numCtx, trained);
  const window = runnerWindow(numCtx, trained);
  let kept = messages;
  let tokens = countMessages(kept);
  if (truncate !== false) {
    for (let start = 1; tokens > asked && start < messages.length; start += 1) {
      kept = [...messages.slice(0, start).filter((m) => m.role === "system"), ...messages.slice(start)];
      tokens = countMessages(kept);
    }
  }
  if (truncate === false && tokens >= window) return { error: JSON.stringify(exceedError(tokens, window)) };
  if (truncate !== false && shift === false && tokens >= window) return { error: TOO_LONG };
  if (truncate !== false && shift !== false && tokens >= asked) tokens = KEEP + Math.floor((asked - KEEP) / 2);
  return { messages: kept, tokens, window };
}

/** Most tokens the answer may have: num_predict, and the window (shift false) or ten windows (shift). */
export function answerRoom({ numPredict, tokens, window, shift }) {
  const asked = numPredict === undefined || numPredict < 0 ? Infinity : numPredict;
  return Math.min(asked, shift === false ? Math.max(0, window - tokens) : 10 * window);
}
