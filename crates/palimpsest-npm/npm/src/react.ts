// React: a session as state. Nothing of palimpsest is imported here: the page opens the session, from whichever entry it uses.

import { useCallback, useEffect, useRef, useState } from "react";
import type { Compaction, HistoryItem, SendOptions, Session, SessionBudget, SessionEvents, SessionLayer } from "./session.js";

/** A session as a component shows it. */
export interface SessionView {
  /** `failed` if it could not be opened; `error` says why. */
  status: "opening" | "ready" | "failed";
  /** The session itself, for everything else that it can do; nothing before it is open. */
  session: Session | undefined;
  /** What was said, the newest 200 messages. */
  messages: readonly HistoryItem[];
  /** The reply that is coming in; `undefined` while none is. */
  streaming: { text: string; thinking: string } | undefined;
  budget: SessionBudget | undefined;
  layers: readonly SessionLayer[];
  /** The stage of the compaction that runs; `undefined` while none does. */
  compacting: SessionEvents["compressing"] | undefined;
  /** What failed last: opening, a reply, a compaction. The next success takes it away. */
  error: unknown;
  /** Sends a message, and resolves when the reply is whole. Failures are in `error`. */
  send(message: string, options?: SendOptions): Promise<void>;
  /** Stops the reply that is coming in. */
  stop(): void;
  /** Compresses by hand. Resolves with `null` if there was nothing to compress or it failed. */
  compact(options?: { focus?: string }): Promise<Compaction | null>;
}

/** Sessions that are being closed: who opens the same one again waits for them. */
let closing: Promise<unknown> = Promise.resolve();

type Shown = Pick<SessionView, "status" | "session" | "messages" | "budget" | "layers">;
const NOTHING: Shown = { status: "opening", session: undefined, messages: [], budget: undefined, layers: [] };

/**
 * Opens a session when the component appears, closes it when it goes, and opens another when `deps` change.
 *
 * @example
 * ```ts
 * import { ollama, openSession } from "palimpsest";
 * import { useSession } from "palimpsest/react";
 *
 * export function useChat(id: string) {
 *   return useSession(() => openSession({ id, model: "llama3.2:3b", window: 8192, llm: ollama(), store: "indexeddb" }), [id]);
 * }
 * ```
 */
export function useSession(open: () => Promise<Session>, deps: readonly unknown[]): SessionView {
  const [shown, setShown] = useState<Shown>(NOTHING);
  const [streaming, setStreaming] = useState<SessionView["streaming"]>();
  const [compacting, setCompacting] = useState<SessionView["compacting"]>();
  const [error, setError] = useState<unknown>();
  const running = useRef<{ stop(): void } | undefined>(undefined);

  useEffect(() => {
    let isCurrent = true;
    let unlisten = (): void => {};
    const opened = closing.then(() => (isCurrent ? open() : undefined));
    opened.then(
      (session) => {
        if (!isCurrent || session === undefined) return;
        const show = (): void => setShown({ status: "ready", session, messages: session.history({ limit: 200 }), budget: session.budget(), layers: session.layers() });
        // several events of one moment are one look
        let isDue = false;
        unlisten = session.on("*", (event) => {
          setCompacting(event.type === "compressing" ? event : (before) => (/^(compress|cannot)/.test(event.type) ? undefined : before));
          if (isDue) return;
          isDue = true;
          queueMicrotask(() => {
            isDue = false;
            if (isCurrent) show();
          });
        });
        show();
        setError(undefined);
      },
      (cause: unknown) => {
        if (!isCurrent) return;
        setShown({ ...NOTHING, status: "failed" });
        setError(cause);
      },
    );
    return () => {
      isCurrent = false;
      unlisten();
      running.current?.stop();
      closing = opened.then((session) => session?.close()).catch(() => {});
      setShown(NOTHING);
      setStreaming(undefined);
      setCompacting(undefined);
    };
    // the caller says what makes it another session
  }, deps);

  const { session } = shown;
  const send = useCallback(
    async (message: string, options?: SendOptions) => {
      if (session === undefined) return;
      let [text, thinking] = ["", ""];
      setStreaming({ text, thinking });
      try {
        const stream = session.send(message, options);
        running.current = stream;
        for await (const chunk of stream) {
          if (chunk.type === "text") text += chunk.text;
          else if (chunk.type === "thinking") thinking += chunk.text;
          else continue;
          setStreaming({ text, thinking });
        }
        setError(undefined);
      } catch (cause) {
        setError(cause);
      } finally {
        running.current = undefined;
        setStreaming(undefined);
      }
    },
    [session],
  );
  const stop = useCallback(() => running.current?.stop(), []);
  const compact = useCallback(
    async (options?: { focus?: string }) => {
      try {
        const done = (await session?.compact(options)) ?? null;
        setError(undefined);
        return done;
      } catch (cause) {
        setError(cause);
        return null;
      }
    },
    [session],
  );
  return { ...shown, streaming, compacting, error, send, stop, compact };
}
