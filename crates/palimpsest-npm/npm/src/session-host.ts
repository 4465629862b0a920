// What the module asks of us: your client, your tools, your storage, your listeners. Nothing here throws into the
// module, and no promise rejects: what went wrong is part of the answer's text, and the very error is kept.

import { PalimpsestError } from "./errors.js";
import { parsed, type HostEvent, type Text } from "./border.js";
import { mended, written } from "./json.js";
import type { ChatPiece, ChatRequest, LanguageModel } from "./language-model.js";
import type { SessionEvent, SessionInfo, ToolCall } from "./session.js";
import type { StorageAdapter, StorageWrite } from "./storage.js";

/** An answer of a client as the module reads it. */
interface Reader {
  next(): Promise<string | undefined>;
  stop(): void;
}

/** What the module knows a session's host as. */
export class SessionHost {
  /** What your client threw last, while it was asked for a reply. */
  thrown: { error: unknown; code: string } | undefined;
  /** What your storage threw last that has no code of ours. */
  lost: unknown;
  /** Runs the tools. */
  handler: ((call: ToolCall, signal: AbortSignal) => unknown) | undefined;
  /** Hears of every event before all listeners, at once. It must not call the module. */
  first: ((event: SessionEvent) => void) | undefined;
  /** The place in which the session is kept. */
  keeps: SessionInfo["store"] = "memory";
  /** Ends the tool that runs. */
  stop: AbortSignal | undefined;

  readonly #llm: LanguageModel | undefined;
  readonly #storage: StorageAdapter | undefined;
  readonly #durability: StorageWrite["durability"] | undefined;
  /** The epochs of the sessions that were claimed here. */
  readonly #epochs = new Map<string, number>();
  #unwatch: (() => void) | undefined;
  readonly #listeners = new Map<string, Set<(event: SessionEvent) => void>>();

  constructor(llm: LanguageModel | undefined, storage: StorageAdapter | undefined, durability?: StorageWrite["durability"]) {
    this.#llm = llm;
    this.#storage = storage;
    this.#durability = durability;
  }

  /** Tells of sessions that were claimed here, and then by somebody else, if the storage can. */
  watch(): void {
    this.#unwatch ??= this.#storage?.watch?.(({ session, epoch }) => {
      if (epoch <= (this.#epochs.get(session) ?? epoch)) return;
      this.#epochs.delete(session);
      this.#tell({ type: "storage-changed", what: "taken-over" });
    });
  }

  /** Listens; what comes back ends it. */
  listen(type: string, listener: (event: SessionEvent) => void): () => void {
    const all = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, all);
    // the same function may listen twice
    const own = (event: SessionEvent): void => listener(event);
    all.add(own);
    return () => void all.delete(own);
  }

  /** Nobody listens any more. */
  hush(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#listeners.clear();
  }

  // ── called by the module ──

  emit({ event, ...rest }: HostEvent): void {
    this.#tell({ type: event, ...rest } as SessionEvent);
  }

  #tell(told: SessionEvent): void {
    this.first?.(told);
    // never while the module runs: a listener may call it
    queueMicrotask(() => {
      for (const type of [told.type, "*"]) {
        for (const listener of [...(this.#listeners.get(type) ?? [])]) {
          try {
            listener(told);
          } catch (error) {
            report(error);
          }
        }
      }
    });
  }

  chat(request: Text<ChatRequest>): Reader {
    const asked = parsed(request);
    if (asked.purpose === "chat") this.thrown = undefined;
    const stop = new AbortController();
    const pieces = answered(this.#llm, asked, stop.signal);
    return {
      next: async () => {
        try {
          const { done, value } = await pieces.next();
          return done ? undefined : JSON.stringify({ Ok: value });
        } catch (error) {
          const failure = understood(error);
          if (asked.purpose === "chat") this.thrown = { error, code: failure.kind };
          return JSON.stringify({ Err: failure });
        }
      },
      stop: () => {
        stop.abort(new DOMException("No more of this answer is wanted.", "AbortError"));
        // a generator that waits for something else than the signal stays where it is
        pieces.return(undefined).catch(() => {});
      },
    };
  }

  async tool(name: string, text: string): Promise<string> {
    const signal = this.stop ?? new AbortController().signal;
    try {
      const result = await raced(Promise.resolve(this.handler?.({ name, arguments: text }, signal)), signal);
      return JSON.stringify({ Ok: typeof result === "string" ? mended(result) : result === undefined ? "" : written(result) });
    } catch (error) {
      return JSON.stringify({ Err: words(error) });
    }
  }

  async store(call: "claim" | "read" | "apply" | "release", given: string): Promise<string> {
    try {
      const storage = this.#storage;
      if (storage === undefined) throw new Error("there is no storage");
      const asked = JSON.parse(given) as never;
      if (call === "apply" && this.#durability !== undefined) (asked as StorageWrite).durability = this.#durability;
      const answer: unknown = call === "release" ? await storage.release?.(asked) : await storage[call](asked);
      if (call === "claim") this.#epochs.set((asked as { session: string }).session, (answer as { epoch: number }).epoch);
      return JSON.stringify({ Ok: answer ?? null });
    } catch (error) {
      const code = (error as { code?: unknown } | null)?.code;
      const known = typeof code === "string" && STORAGE_CODES.includes(code);
      if (!known) this.lost = error;
      return JSON.stringify({ Err: { code: known ? code : "storage_failed", message: words(error) } });
    }
  }
}

const STORAGE_CODES = ["session_busy", "superseded", "row_exists", "storage_quota", "storage_newer", "storage_unavailable", "storage_corrupt", "storage_failed"];

/** The pieces of an answer, whatever a client gives, as the module reads them. */
async function* answered(llm: LanguageModel | undefined, request: ChatRequest, signal: AbortSignal): AsyncGenerator<object, void> {
  if (typeof llm?.chat !== "function") throw new PalimpsestError("invalid_options", "`llm` needs a function `chat`.");
  const given: unknown = await llm.chat(request, signal);
  const pieces = (typeof given === "string" ? [given] : given) as AsyncIterable<ChatPiece>;
  let calls = 0;
  let over = false;
  for await (const piece of pieces) {
    if (over) continue;
    if (typeof piece === "string") {
      if (piece !== "") yield { type: "text", text: mended(piece) };
      continue;
    }
    switch (piece?.type) {
      case "text":
      case "thinking":
        if (piece.text) yield { type: piece.type, text: mended(String(piece.text)) };
        break;
      case "tool_call":
        calls += 1;
        yield { type: "tool_call", id: piece.id ?? `call_${calls}`, name: piece.name, arguments: mended(piece.arguments) };
        break;
      case "usage":
        yield {
          type: "usage",
          prompt_tokens: whole(piece.promptTokens),
          completion_tokens: whole(piece.completionTokens),
          prompt_ms: whole(piece.promptMs),
          completion_ms: whole(piece.completionMs),
        };
        break;
      case "done":
        over = true;
        yield { type: "done", reason: piece.reason ?? (calls > 0 ? "tool_calls" : "stop") };
        break;
      default:
        throw new PalimpsestError("bad_response", `A client's pieces are texts or objects with a known type, not ${JSON.stringify(piece)}.`);
    }
  }
  if (!over) yield { type: "done", reason: calls > 0 ? "tool_calls" : "stop" };
}

/** A number as the module takes it, or nothing. */
function whole(value: unknown): number | null {
  return typeof value === "number" && value >= 0 && value < 2 ** 32 ? Math.round(value) : null;
}

/** What a client threw, as a failure that the engine knows what to do about. */
export function understood(error: unknown): { kind: string } {
  const { code, details = {}, name } = (typeof error === "object" && error !== null ? error : {}) as {
    code?: unknown;
    name?: unknown;
    details?: Record<string, unknown>;
  };
  const message = words(error);
  if (name === "AbortError") return { kind: "aborted" };
  const failures: Record<string, object> = {
    unreachable: { why: message },
    forbidden: {},
    unauthorized: {},
    model_missing: { model: message },
    overflow: { prompt: whole(details["prompt"]), window: whole(details["window"]) },
    not_supported: { what: message },
    busy: { retry_after_ms: whole(details["retryAfterMs"]) },
    bad_request: { message },
    bad_response: { why: message },
    truncated: {},
    timed_out: { seconds: whole(details["seconds"]) ?? 0 },
    aborted: {},
  };
  const known = typeof code === "string" && Object.hasOwn(failures, code) ? code : undefined;
  const failure = { message };
  return known === undefined ? { kind: "server_failed", ...failure } : { kind: known, ...failures[known] };
}

function words(error: unknown): string {
  return mended(error instanceof Error ? error.message : String(error));
}

/** Waits for a promise, but not after the signal. */
export function raced<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = (): void => reject(signal.reason);
    if (signal.aborted) end();
    signal.addEventListener("abort", end, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", end));
  });
}

/** A listener's error is the page's: it is reported as any other that nobody catches. */
function report(error: unknown): void {
  if (typeof reportError === "function") reportError(error);
  else setTimeout(() => { throw error; });
}
