// A model server as the mounted app asks it: by a host's own way, as the module wants it.

import { understood } from "./session-host.js";

/** A request to the model server. */
export interface TransportRequest {
  method: "GET" | "POST";
  /** Begins with a slash: `/api/chat`. */
  path: string;
  /** JSON text; absent for `GET`. */
  body?: string;
  /** Ends it. */
  signal: AbortSignal;
}

/**
 * The way to a model server, where the page must not or cannot ask it itself.
 *
 * Answer with a `Response`, or with its body in pieces. Where the server refuses, throw an error with its `status`; where it
 * cannot be reached, one with the code `unreachable` (or another of {@link ErrorCode}'s for models).
 *
 * @example
 * ```ts
 * import { mount, type Transport } from "palimpsest-ui";
 *
 * const transport: Transport = {
 *   request: ({ method, path, body, signal }) => fetch(`/models${path}`, { method, body, signal }),
 * };
 * await mount(document.getElementById("chat")!, { transport });
 * ```
 */
export interface Transport {
  request(request: TransportRequest): PromiseLike<Response> | AsyncIterable<string | Uint8Array>;
}

/** What the module reads an answer from. None of these throws, and no promise rejects. @internal */
export interface Exchange {
  head(): Promise<string>;
  next(): Promise<Uint8Array | string | undefined>;
  stop(): void;
}

interface Head {
  status: number;
  retryAfter?: string;
}

/** A request that is under way. @internal */
export function exchange(transport: Transport, method: string, path: string, body: string): Exchange {
  const stop = new AbortController();
  const asked: TransportRequest = { method: method === "POST" ? "POST" : "GET", path, signal: stop.signal, ...(body === "" ? {} : { body }) };
  const answer = answered(transport, asked);
  return {
    head: async () => {
      try {
        const { value } = await answer.next();
        return JSON.stringify({ Ok: value });
      } catch (error) {
        return JSON.stringify({ Err: failed(error) });
      }
    },
    next: async () => {
      try {
        const { done, value } = await answer.next();
        return done ? undefined : (value as Uint8Array);
      } catch (error) {
        return JSON.stringify({ Err: failed(error) });
      }
    },
    stop: () => {
      stop.abort(new DOMException("No more of this answer is wanted.", "AbortError"));
      // one that waits for something else than the signal stays where it is
      answer.return(undefined).catch(() => {});
    },
  };
}

/** The head first, then the bytes. */
async function* answered(transport: Transport, request: TransportRequest): AsyncGenerator<Head | Uint8Array, void> {
  const given = await transport.request(request);
  if (!(Symbol.asyncIterator in given)) {
    const retryAfter = given.headers.get("retry-after");
    yield { status: given.status, ...(retryAfter === null ? {} : { retryAfter }) };
    const reader = given.body?.getReader();
    for (;;) {
      const piece = await reader?.read();
      if (piece === undefined || piece.done) return;
      yield piece.value;
    }
  }
  const encoder = new TextEncoder();
  const pieces = given[Symbol.asyncIterator]();
  try {
    let piece: IteratorResult<string | Uint8Array>;
    try {
      piece = await pieces.next();
    } catch (error) {
      const { status, retryAfter, message } = error as { status?: unknown; retryAfter?: unknown; message?: unknown };
      if (typeof status !== "number" || status < 100 || status > 599) throw error;
      yield { status, ...(typeof retryAfter === "string" ? { retryAfter } : {}) };
      yield encoder.encode(String(message ?? ""));
      return;
    }
    yield { status: 200 };
    for (; !piece.done; piece = await pieces.next()) {
      yield typeof piece.value === "string" ? encoder.encode(piece.value) : piece.value;
    }
  } finally {
    await pieces.return?.();
  }
}

function failed(error: unknown): object {
  const failure = understood(error);
  // what has no code of ours came of the way, not of the server
  const why = error instanceof Error ? error.message : String(error);
  return failure.kind === "server_failed" ? { kind: "unreachable", why } : failure;
}
