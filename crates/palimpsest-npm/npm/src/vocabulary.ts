// The vocabulary of a mounted app's model, read in a worker of the package's own: a model's description is megabytes of JSON,
// which no page should read between two pictures. The worker asks the server itself, or by the host's way, over this side.

import { exchange, type Exchange, type Transport } from "./transport.js";

/** What the worker is to read. @internal */
export interface Wanted {
  /** The app's module, compiled. */
  code: WebAssembly.Module;
  /** Whether the page asks the server. */
  hosted: boolean;
  address: string;
  key: string;
  model: string;
}

/** @internal */
export type ToWorker = Wanted | { id: number; value: unknown };

/** @internal */
export type FromWorker =
  | { listens: true }
  | { done: Uint8Array | string | null }
  | { id: number; call: "request"; method: string; path: string; body: string }
  | { id: number; call: "head" | "next" | "stop" };

/** A reading that goes on. @internal */
export interface Reading {
  /** A snapshot's bytes; the code of the reason why there are none; `null` where no worker is to be had. */
  answer: Promise<Uint8Array | string | null>;
  /** It is not wanted any more: there is no answer then. */
  stop(): void;
}

/** Reads a vocabulary in a worker. @internal */
export function readVocabulary(wanted: Omit<Wanted, "hosted">, transport: Transport | undefined): Reading {
  let worker: Worker;
  try {
    worker = new Worker(new URL("./vocabulary-worker.js", import.meta.url), { type: "module" });
  } catch {
    // a webview whose files have another origin, a page with rules for the addresses of scripts, a host without workers
    return { answer: Promise.resolve(null), stop: () => {} };
  }
  const exchanges = new Map<number, Exchange>();
  const stop = (): void => {
    worker.terminate();
    for (const one of exchanges.values()) one.stop();
    exchanges.clear();
  };
  const serve = (message: Extract<FromWorker, { id: number }>): void => {
    const { id } = message;
    if (message.call === "request") {
      if (transport !== undefined) exchanges.set(id, exchange(transport, message.method, message.path, message.body));
      return;
    }
    const own = exchanges.get(id);
    if (own === undefined) return;
    if (message.call === "stop") {
      exchanges.delete(id);
      own.stop();
    } else {
      void (message.call === "head" ? own.head() : own.next()).then((value) => worker.postMessage({ id, value } satisfies ToWorker));
    }
  };
  const answer = new Promise<Uint8Array | string | null>((resolve) => {
    const end = (value: Uint8Array | string | null): void => {
      stop();
      resolve(value);
    };
    // rules that forbid it, or a script that was not copied along: nobody will answer
    worker.onerror = (event) => {
      event.preventDefault();
      end(null);
    };
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      if ("id" in data) return serve(data);
      if ("done" in data) return end(data.done);
      try {
        worker.postMessage({ ...wanted, hosted: transport !== undefined } satisfies ToWorker);
      } catch {
        // a module that does not cross
        end(null);
      }
    };
  });
  return { answer, stop };
}
