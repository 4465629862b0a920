// Counting with a function of the caller's: what it throws reaches the caller of the function that counted.

import { PalimpsestError } from "./errors.js";

/** A function that counts the tokens of a text: a whole number, 0 or more, the same for the same text. */
export type TextCounter = (text: string) => number;

let failure: PalimpsestError | undefined;

/** A counter of the caller's as the module calls it: it throws nothing, and answers NaN once something went wrong. @internal */
export function guarded(count: TextCounter): (text: string) => number {
  return (text) => {
    if (failure !== undefined) return NaN;
    let tokens: unknown;
    try {
      tokens = count(text);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      failure = new PalimpsestError("tokenizer_failed", `The function that counts tokens threw: ${why}`, { cause });
      return NaN;
    }
    if (typeof tokens === "number" && Number.isFinite(tokens) && tokens >= 0) return Math.ceil(tokens);
    const found = tokens instanceof Promise ? "a promise" : typeof tokens === "number" ? String(tokens) : tokens === null ? "null" : `a value of type ${typeof tokens}`;
    failure = new PalimpsestError("tokenizer_failed", `The function that counts tokens answered ${found}: it must answer a number, 0 or more, at once.`);
    return NaN;
  };
}

/** Throws what a counter of the caller's failed with since the last call, if it did. @internal */
export function raise(): void {
  if (failure === undefined) return;
  const error = failure;
  failure = undefined;
  throw error;
}
