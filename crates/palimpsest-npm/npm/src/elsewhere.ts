// Compacting on another thread. `async.ts` and `async-node.ts` say how a thread is started; `compact-job.ts` is what it does.

import { parsed, type Compacted as Output, type Compacting, type Text } from "./border.js";
import { compact, crossing, result, type Compacted, type CompactOptions } from "./compact.js";
import { PalimpsestError, type ErrorCode } from "./errors.js";
import { toText } from "./json.js";
import { call, module } from "./runtime.js";

/** Options of `compactAsync`. */
export interface CompactAsyncOptions extends CompactOptions {
  /** Ends the call: it rejects with the signal's reason, and what was begun for it is stopped. */
  signal?: AbortSignal | undefined;
}

/** A list to compact, as it crosses. @internal */
export interface Job {
  id: number;
  messages: string;
  plain: Compacting;
  tools: string | undefined;
  state: string | undefined;
}

/** A message to a thread: the module first, then a list at a time. @internal */
export type ToThread = { code: WebAssembly.Module } | Job;

/** A message of a thread: the outcome for a list. @internal */
export type FromThread = { id: number; done: Text<Output> } | { id: number; refused: Refusal } | { id: number; failed: string };

/** An error of ours, as it crosses. @internal */
export interface Refusal {
  code: ErrorCode;
  message: string;
  retryable: boolean;
  details: Readonly<Record<string, number>> | undefined;
}

/** A thread that runs. @internal */
export interface Thread {
  post(message: ToThread): void;
  /** Keeps the program alive for it, or does not. */
  hold(busy: boolean): void;
  end(): void;
}

/** The listener of a thread. @internal */
export interface Hears {
  answer(answer: FromThread): void;
  /** It cannot be started, or has ended with an error. */
  failed(): void;
}

/** Milliseconds of writing before others may run. */
const PATIENCE = 5;
/** Messages that are written in one piece. */
const PIECE = 64;
/** Milliseconds after which a thread that has nothing to do is ended. */
const REST = 30_000;

/** One that waits for a list: `undefined` has it compacted here. */
interface Waiting {
  done(output: Output | undefined): void;
  refused(error: unknown): void;
}

/** Makes `compactAsync`, with a way to start a thread. @internal */
export function onThreads(start: (hears: Hears) => Thread) {
  const waiting = new Map<number, Waiting>();
  let last = 0;
  let thread: Thread | undefined;
  let resting: ReturnType<typeof setTimeout> | undefined;
  /** No thread works here: it could not be started, or has failed. */
  let refused = false;

  const end = (): void => {
    clearTimeout(resting);
    thread?.end();
    thread = undefined;
  };
  /** Empties the list of those who wait, and returns them. */
  const everyone = (): Waiting[] => {
    const all = [...waiting.values()];
    waiting.clear();
    return all;
  };
  /** Ends the thread some time after the last list. */
  const rest = (): void => {
    if (waiting.size > 0 || thread === undefined) return;
    thread.hold(false);
    clearTimeout(resting);
    resting = setTimeout(end, REST);
    (resting as { unref?: () => void }).unref?.();
  };
  const hears: Hears = {
    answer(answer) {
      if ("failed" in answer) return hears.failed();
      const one = waiting.get(answer.id);
      waiting.delete(answer.id);
      if ("done" in answer) {
        one?.done(parsed(answer.done));
      } else {
        const error = told(answer.refused);
        one?.refused(error);
        // a module that has come to its end answers nobody: the next list gets a new one
        if (error.code === "engine_crashed") {
          end();
          for (const other of everyone()) other.refused(error);
        }
      }
      rest();
    },
    failed() {
      end();
      refused = true;
      for (const one of everyone()) one.done(undefined);
    },
  };
  const begin = (code: WebAssembly.Module): Thread => {
    const begun = start(hears);
    begun.post({ code });
    return begun;
  };
  const post = (job: Omit<Job, "id">, code: WebAssembly.Module, one: Waiting): number => {
    clearTimeout(resting);
    thread ??= begin(code);
    try {
      const id = (last += 1);
      thread.post({ id, ...job });
      thread.hold(true);
      waiting.set(id, one);
      return id;
    } finally {
      rest();
    }
  };
  const elsewhere = (job: Omit<Job, "id">, code: WebAssembly.Module, signal: AbortSignal | undefined): Promise<Output | undefined> =>
    new Promise((done, refuse) => {
      signal?.throwIfAborted();
      let id: number;
      const stop = (): void => {
        waiting.delete(id);
        // it works for nobody any more
        if (waiting.size === 0) end();
        refuse(signal?.reason);
      };
      const over = <T>(then: (value: T) => void) => (value: T): void => {
        signal?.removeEventListener("abort", stop);
        then(value);
      };
      try {
        id = post(job, code, { done: over(done), refused: over(refuse) });
        signal?.addEventListener("abort", stop, { once: true });
      } catch {
        // no thread can be started here, or what is given does not cross
        done(undefined);
      }
    });

  return async function compactAsync<M>(messages: readonly M[], options: CompactAsyncOptions): Promise<Compacted<M>> {
    const { signal, ...rest } = options ?? {};
    signal?.throwIfAborted();
    call("compactAsync()", () => {});
    if (!Array.isArray(messages)) toText(messages);
    const own = [...messages];
    const { plain, tools, state } = crossing(options && rest);
    const code = rest.tokenizer === undefined && !refused ? module.code : undefined;
    if (code !== undefined) {
      const text = await inPieces(own, signal);
      const output = await elsewhere({ messages: text, plain, tools, state }, code, signal);
      if (output !== undefined) return result(output, own);
    }
    await others(signal);
    return compact(own, rest);
  };
}

/** Lets others run. */
async function others(signal: AbortSignal | undefined): Promise<void> {
  await new Promise((go) => setTimeout(go));
  signal?.throwIfAborted();
}

/** The text of a list, written in pieces between which others run. */
async function inPieces(messages: readonly unknown[], signal: AbortSignal | undefined): Promise<string> {
  const pieces: string[] = [];
  let began = performance.now();
  for (let at = 0; at < messages.length; at += PIECE) {
    if (performance.now() - began > PATIENCE) {
      await others(signal);
      began = performance.now();
    }
    // without its brackets
    pieces.push(toText(messages.slice(at, at + PIECE)).slice(1, -1));
  }
  return `[${pieces.join(",")}]`;
}

function told({ code, message, retryable, details }: Refusal): PalimpsestError {
  const made = new PalimpsestError(code, message, { retryable });
  return details === undefined ? made : Object.assign(made, { details });
}
