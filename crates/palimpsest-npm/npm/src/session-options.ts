// What opening a session and changing it share.

import { PalimpsestError } from "./errors.js";
import { written } from "./json.js";
import { snake } from "./options.js";
import type { SessionOptions } from "./session.js";
import type { SessionHost } from "./session-host.js";

/** A policy as the engine keeps it: a name, or the JSON text of the rules. */
export function policyText(policy: SessionOptions["policy"]): string | undefined {
  return typeof policy === "object" ? written(snake(policy)) : policy;
}

/** The named sizes, in thousands of tokens. Of what a name says 85 % are used, as in the app. */
const NAMED = [4, 8, 16, 32, 64, 128, 256];
const USED = 850;

/** A window in tokens, from its number or its name. Refuses anything else. */
export function size(window: unknown): number {
  if (typeof window === "number" && Number.isInteger(window) && window > 0 && window < 2 ** 32) return window;
  if (typeof window === "string") {
    const named = NAMED.find((thousands) => `${thousands}K` === window.toUpperCase());
    if (named !== undefined) return named * USED;
    throw new PalimpsestError("invalid_window", `There is no window "${window}". Give a number of tokens, or one of ${NAMED.map((n) => `"${n}K"`).join(", ")}.`);
  }
  throw new PalimpsestError("invalid_window", `A window of ${String(window)} tokens is not possible: it must be a whole number above 0.`);
}

/** A failure of the storage with what the storage itself threw. */
export function withCause(error: unknown, host: SessionHost): unknown {
  if (error instanceof PalimpsestError && error.code === "storage_failed" && host.lost !== undefined) {
    error.cause = host.lost;
    host.lost = undefined;
  }
  return error;
}
