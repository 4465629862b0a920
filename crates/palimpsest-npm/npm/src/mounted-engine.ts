// What a page reads of its mounted app's open session, and asks to be done with it.

import { PalimpsestError, type ErrorCode, type RoomChoice } from "./errors.js";
import type { MountHost } from "./mount-host.js";
import { camel } from "./options.js";
import type { Compaction, HistoryItem, Session, SessionBudget, SessionInfo } from "./session.js";

/**
 * The open session of a mounted app: the very one that the person sees, so what is done here is seen there. It is no second
 * engine, and it opens no sessions: which one is open, and what is said, is the person's to decide. For a conversation that your
 * program leads itself there is `openSession`.
 *
 * @example
 * ```ts
 * import { mount } from "palimpsest-ui";
 *
 * const { engine } = await mount(document.getElementById("chat")!);
 * engine.on("budget-changed", ({ tokens, limit }) => {
 *   document.title = `${engine.info?.title}: ${Math.round((100 * tokens) / limit)} %`;
 * });
 * const [last] = engine.history({ limit: 1 });
 * if (last !== undefined && engine.budget().untilTrigger === 0) {
 *   const done = await engine.compact({ focus: "dates" });
 *   if (done !== null) console.log(`${done.report.before} → ${done.report.after} tokens`);
 *   await engine.undo();
 * }
 * ```
 */
export interface MountedEngine {
  /** What the open session is; `null` while none is open. */
  readonly info: SessionInfo | null;
  /** What was said in it, oldest first: the last `limit` messages (all if not said) before the one with the number `before`. */
  history(options?: { before?: number; limit?: number }): HistoryItem[];
  /** How big its window is and what it holds. */
  budget(): SessionBudget;
  /**
   * Makes its window smaller now, as `/compact` does: with the summariser of the app's settings, and with a card in the thread.
   *
   * @returns what was done; `null` if there is nothing to compress.
   * @throws {@link PalimpsestError} `not_worth`, `nothing_compressible`, `cannot_fit`, `model_failed`; `busy`; `session_busy` while
   * another view writes the session; the signal's reason.
   */
  compact(options?: { focus?: string; signal?: AbortSignal | undefined }): Promise<Compaction | null>;
  /**
   * Takes its last compaction back.
   *
   * @throws {@link PalimpsestError} `nothing_to_undo`; `session_busy`; `would_not_fit` with {@link PalimpsestError.choices}, unless
   * `ifOver` is `show`.
   */
  undo(options?: { ifOver?: "refuse" | "show" }): Promise<void>;
  /** Listens to one kind of event of whichever session is open, or with `*` to all. @returns what ends it. */
  on: Session["on"];
}

/** What the app's module has for it. @internal */
export interface EngineModule {
  look(what: string, before: number | null | undefined, limit: number): string | undefined;
  ask(what: string, given: string): Promise<unknown>;
}

interface Told {
  code: ErrorCode;
  message: string;
  retryable: boolean;
  choices?: RoomChoice[];
}

/** The engine of a mounted app; `use` calls its module, and fails once it is unmounted. @internal */
export function mountedEngine(host: MountHost, use: <T>(name: string, act: (app: EngineModule) => T) => T): MountedEngine {
  const told = <T>(name: string, what: string, before?: number, limit = 0): T | null => {
    const text = use(name, (app) => app.look(what, before, limit));
    return text === undefined ? null : (camel(JSON.parse(text)) as T);
  };
  const open = <T>(value: T | null): T => {
    if (value === null) throw new PalimpsestError("no_session", "The app has no session open.");
    return value;
  };
  const asked = async <T>(name: string, what: string, given: string): Promise<T> => {
    const text = (await use(name, (app) => app.ask(what, given))) as string;
    const { Ok, Err } = JSON.parse(text) as { Ok?: unknown; Err?: Told };
    if (Err === undefined) return camel(Ok) as T;
    const error = new PalimpsestError(Err.code, Err.message, { retryable: Err.retryable });
    throw Err.choices === undefined ? error : Object.assign(error, { choices: camel(Err.choices) });
  };
  return {
    get info() {
      return told<SessionInfo>("engine", "info");
    },
    history: ({ before, limit } = {}) => {
      const most = typeof limit === "number" && limit >= 0 && limit < 2 ** 32 ? Math.floor(limit) : 0xffff_ffff;
      return open(told<HistoryItem[]>("history()", "history", before, most));
    },
    budget: () => open(told<SessionBudget>("budget()", "budget")),
    compact: async ({ focus = "", signal } = {}) => {
      signal?.throwIfAborted();
      open(told("compact()", "info"));
      const end = (): void => void asked("compact()", "cancel", "").catch(() => {});
      signal?.addEventListener("abort", end, { once: true });
      try {
        return await asked<Compaction>("compact()", "compact", focus);
      } catch (error) {
        if (signal?.aborted) throw signal.reason;
        if (error instanceof PalimpsestError && error.code === "nothing_to_compress") return null;
        throw error;
      } finally {
        signal?.removeEventListener("abort", end);
      }
    },
    undo: async ({ ifOver = "refuse" } = {}) => {
      open(told("undo()", "info"));
      await asked("undo()", "undo", ifOver);
    },
    on: (type: string, listener: (event: never) => void) => {
      // a page that listens to an app that is gone has made a mistake
      told("on()", "info");
      if (typeof listener !== "function") throw new PalimpsestError("invalid_options", "on() needs a function that listens.");
      return host.listen(type, listener as never);
    },
  };
}
