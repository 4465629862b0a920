// How an app in a webview or an iframe talks to what keeps its sessions and asks its model server: small JSON messages
// over `postMessage`, with a version, identifiers, streams with credit, and an end.
//
//   app → host   { id, op, args }      a call; the first is `hello`
//                { id, ack }           so many pieces of a stream were taken
//                { id, cancel: true }  no more of it is wanted
//   host → app   { id, ok } | { id, err: { code, message, … } }
//                { id, seq, chunk } …, { id, end: true }
//                { do }                something that the host's own menu asks for
//                { changed }           a session that another view of the same storage has written or taken over
//
// Every message also has `p: "palimpsest"` and `v: 1`. Identifiers begin with a name that the app makes up when it begins, so
// that an answer to a view that is gone is never taken for one to the view that came after it.

import { PalimpsestError } from "./errors.js";
import type { StorageChange } from "./storage.js";

/** The version of the protocol. */
export const VERSION = 1;

/** Pieces of a stream that may be on their way. */
export const CREDIT = 64;

/** Pieces after which the app says that it took them. */
const ACK_EVERY = 32;

/** Milliseconds that a host may take to answer `hello`. */
const PATIENCE = 15_000;

/** The other side: where messages go, and where they come from. */
export interface WirePort {
  /** Sends a message of plain JSON. */
  post(message: object): void;
  /** Hears what comes; what comes back ends it. */
  listen(heard: (message: unknown) => void): () => void;
}

/** A failure as it crosses. */
export interface WireError {
  code: string;
  message: string;
  /** The status of a server's refusal, and its `Retry-After`. */
  status?: number;
  retryAfter?: string;
}

/** A message in either direction. */
export interface WireMessage {
  p: "palimpsest";
  v: number;
  id?: string;
  op?: string;
  args?: unknown;
  ok?: unknown;
  err?: WireError;
  seq?: number;
  chunk?: unknown;
  end?: boolean;
  ack?: number;
  cancel?: boolean;
  do?: string;
  changed?: StorageChange;
  client?: string;
}

/** What a host says of itself. */
export interface Welcome {
  v: number;
  /** Where the model server is, to be shown. */
  address?: string;
}

/** A message of ours, or nothing. */
export function ours(message: unknown): WireMessage | undefined {
  const is = typeof message === "object" && message !== null && (message as WireMessage).p === "palimpsest" && typeof (message as WireMessage).v === "number";
  return is ? (message as WireMessage) : undefined;
}

interface Call {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

interface Stream {
  pieces: unknown[];
  next: number;
  taken: number;
  over: boolean;
  error: unknown;
  wake: () => void;
}

/** The app's side. */
export class WireClient {
  readonly #port: WirePort;
  readonly #name = `${Date.now().toString(36)}${Math.random().toString(36).slice(2, 10)}`;
  readonly #calls = new Map<string, Call>();
  readonly #streams = new Map<string, Stream>();
  readonly #commands = new Set<(command: string) => void>();
  readonly #changes = new Set<(change: StorageChange) => void>();
  #last = 0;
  #welcome: Promise<Welcome> | undefined;

  constructor(port: WirePort) {
    this.#port = port;
    port.listen((message) => {
      const own = ours(message);
      if (own !== undefined) this.#heard(own);
    });
  }

  /** Asks who is there; asked once, and again after a failure. */
  hello(): Promise<Welcome> {
    this.#welcome ??= this.#greet().catch((error: unknown) => {
      this.#welcome = undefined;
      throw error;
    });
    return this.#welcome;
  }

  /** A call and its answer. */
  async call(op: string, args: unknown): Promise<unknown> {
    await this.hello();
    try {
      return await this.#ask(op, args);
    } catch (error) {
      if ((error as { code?: unknown }).code !== "say_hello") throw error;
      // a host that began anew has done nothing yet
      this.#welcome = undefined;
      await this.hello();
      return this.#ask(op, args);
    }
  }

  /** A call whose answer comes in pieces. Leaving the loop, or the signal, ends it there too. */
  async *stream(op: string, args: unknown, signal: AbortSignal): AsyncGenerator<unknown, void> {
    await this.hello();
    signal.throwIfAborted();
    const id = this.#id();
    const stream: Stream = { pieces: [], next: 0, taken: 0, over: false, error: undefined, wake: () => {} };
    this.#streams.set(id, stream);
    const abort = (): void => stream.wake();
    signal.addEventListener("abort", abort);
    this.#post({ id, op, args });
    try {
      for (;;) {
        signal.throwIfAborted();
        if (stream.pieces.length > 0) {
          const piece = stream.pieces.shift();
          stream.taken += 1;
          if (stream.taken % ACK_EVERY === 0) this.#post({ id, ack: stream.taken });
          yield piece;
        } else if (stream.over) {
          if (stream.error !== undefined) throw stream.error;
          return;
        } else {
          await new Promise<void>((resolve) => { stream.wake = resolve; });
        }
      }
    } finally {
      signal.removeEventListener("abort", abort);
      this.#streams.delete(id);
      if (!stream.over) this.#post({ id, cancel: true });
    }
  }

  /** Hears what the host's own menu asks for; what comes back ends it. */
  onCommand(heard: (command: string) => void): () => void {
    this.#commands.add(heard);
    return () => void this.#commands.delete(heard);
  }

  /** Hears of sessions that other views have changed; what comes back ends it. */
  onChange(heard: (change: StorageChange) => void): () => void {
    this.#changes.add(heard);
    return () => void this.#changes.delete(heard);
  }

  #greet(): Promise<Welcome> {
    const answer = this.#ask("hello", { versions: [VERSION] });
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(failure({ code: "storage_unavailable", message: "the host of this view does not answer" })), PATIENCE);
    });
    return Promise.race([answer as Promise<Welcome>, late]).finally(() => clearTimeout(timer));
  }

  #ask(op: string, args: unknown): Promise<unknown> {
    const id = this.#id();
    return new Promise((resolve, reject) => {
      this.#calls.set(id, { resolve, reject });
      this.#post({ id, op, args });
    });
  }

  #id(): string {
    this.#last += 1;
    return `${this.#name}:${this.#last}`;
  }

  #post(message: Omit<WireMessage, "p" | "v">): void {
    this.#port.post({ p: "palimpsest", v: VERSION, client: this.#name, ...message });
  }

  #heard(message: WireMessage): void {
    if (typeof message.do === "string") {
      for (const heard of [...this.#commands]) heard(message.do);
      return;
    }
    const { id, changed } = message;
    if (typeof changed?.session === "string" && typeof changed.epoch === "number") {
      for (const heard of [...this.#changes]) heard(changed);
      return;
    }
    if (id === undefined) return;
    const call = this.#calls.get(id);
    if (call !== undefined) {
      this.#calls.delete(id);
      if (message.err !== undefined) call.reject(failure(message.err));
      else call.resolve(message.ok);
      return;
    }
    const stream = this.#streams.get(id);
    if (stream === undefined || stream.over) return;
    if (message.err !== undefined) {
      stream.over = true;
      stream.error = failure(message.err);
    } else if (message.end === true) {
      stream.over = true;
    } else if (message.seq === stream.next) {
      stream.next += 1;
      stream.pieces.push(message.chunk);
    } else {
      // a piece is missing: what follows would be another text
      stream.over = true;
      stream.error = failure({ code: "truncated", message: "a piece of the answer was lost" });
      this.#post({ id, cancel: true });
    }
    stream.wake();
  }
}

/** A failure as an error with its code. */
function failure({ code, message, ...more }: WireError): Error {
  return Object.assign(new Error(message), { code }, more);
}

/** A failure as it crosses. Only words and codes do: no stack, nothing that only one side knows. */
export function crossing(error: unknown): WireError {
  const { code, status, retryAfter } = (typeof error === "object" && error !== null ? error : {}) as Partial<WireError>;
  const message = error instanceof Error ? error.message : String(error);
  return {
    code: typeof code === "string" ? code : "failed",
    message,
    ...(typeof status === "number" ? { status } : {}),
    ...(typeof retryAfter === "string" ? { retryAfter } : {}),
  };
}

/** The page of another origin that this one is embedded in, as the other side. Messages from anybody else are not heard. */
export function parentPort(origin: string): WirePort {
  if (!/^https?:\/\/[^/*]+$/.test(origin)) {
    throw new PalimpsestError("invalid_options", `"${origin}" is not an origin such as https://example.org.`);
  }
  const { parent } = globalThis.window;
  return windowPort(globalThis.window, parent, origin);
}

/** A frame of another origin inside this page, as the other side. Messages from anybody else are not heard. */
export function framePort(frame: HTMLIFrameElement, origin: string): WirePort {
  if (!/^https?:\/\/[^/*]+$/.test(origin)) {
    throw new PalimpsestError("invalid_options", `"${origin}" is not an origin such as https://example.org.`);
  }
  return {
    post: (message) => frame.contentWindow?.postMessage(message, origin),
    listen: (heard) => listening(globalThis.window, (event) => event.origin === origin && event.source === frame.contentWindow, heard),
  };
}

function windowPort(own: Window, other: Window, origin: string): WirePort {
  return {
    post: (message) => other.postMessage(message, origin),
    listen: (heard) => listening(own, (event) => event.origin === origin && event.source === other, heard),
  };
}

function listening(own: Window, from: (event: MessageEvent) => boolean, heard: (message: unknown) => void): () => void {
  const listener = (event: MessageEvent): void => {
    if (from(event)) heard(event.data);
  };
  own.addEventListener("message", listener);
  return () => own.removeEventListener("message", listener);
}
