import type { ErrorCode } from "./wasm/palimpsest_npm.js";

export type { ErrorCode };

/** A way out where something would not fit, the least far-reaching first. */
export type RoomChoice =
  | { choice: "lift"; layer: number; tokens: number }
  | { choice: "larger_window"; window: number }
  | { choice: "show_anyway"; over: number };

/**
 * Every error of palimpsest. Branch on {@link PalimpsestError.code}, which is stable, rather than on `instanceof`: a
 * page may hold two copies of a package.
 *
 * @example
 * ```ts
 * import { compact, init, type PalimpsestError } from "palimpsest";
 *
 * await init();
 * try {
 *   compact([{ role: "user", content: "a very long message ".repeat(1000) }], { window: 512 });
 * } catch (error) {
 *   const { code, details } = error as PalimpsestError;
 *   if (code === "cannot_fit") console.log(`at least ${details?.floor} tokens must stay`);
 *   else throw error;
 * }
 * ```
 */
export class PalimpsestError extends Error {
  /** What kind of failure it is. */
  readonly code!: ErrorCode;
  /** Whether the same call may succeed later without any change. */
  readonly retryable!: boolean;
  /** Numbers that go with it, such as `floor` and `limit` of `cannot_fit`. All are tokens. */
  declare readonly details?: Readonly<Record<string, number>>;
  /** What can be done instead: with `would_not_fit`. */
  declare readonly choices?: readonly RoomChoice[];
  /** The session in which the conversation goes on: with `rolled_over`. */
  declare readonly session?: string;

  /** Recognises the errors of every copy of this class: `palimpsest-ui` brings one of its own. @internal */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && value.name === "PalimpsestError";
  }

  /** @internal */
  constructor(code: ErrorCode, message: string, options?: { cause?: unknown; retryable?: boolean }) {
    super(message, options && "cause" in options ? { cause: options.cause } : undefined);
    this.name = "PalimpsestError";
    this.code = code;
    this.retryable = options?.retryable ?? false;
  }
}
