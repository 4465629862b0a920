// A model in the page: a worker answers what would else go to a server. The app loads this script when somebody wants that. Where the
// browser has a model of its own, it is one of the models.
import * as builtIn from "./builtin.js";

const policy = globalThis.trustedTypes?.createPolicy("palimpsest-model", { createScriptURL: () => "model-worker.js" });

/** An answer while it comes in: what a host's way to a server gives for a request. `stopped` is told once nobody reads it any more. */
function exchange(stopped) {
  const pieces = [];
  let wake, ended = false, head;
  const headed = new Promise((then) => (head = then));
  const add = (piece) => {
    pieces.push(piece);
    wake?.();
  };
  return {
    head: (status) => head(JSON.stringify({ Ok: { status } })),
    add,
    fail(error) {
      const text = JSON.stringify({ Err: error });
      head(text);
      add(text);
    },
    end() {
      ended = true;
      wake?.();
    },
    reader: {
      head: () => headed,
      async next() {
        while (pieces.length === 0 && !ended) await new Promise((then) => (wake = then));
        return pieces.shift();
      },
      stop() {
        if (ended) return;
        ended = true;
        stopped();
        wake?.();
      },
    },
  };
}

/** The same as `open`, once it is known whether the browser has a model of its own. */
export const opened = () => builtIn.ready.then(open);

/** Starts the worker. What it gives has the functions of a host's way to a server, and `add`, which keeps a file of a model. */
export function open() {
  const worker = new Worker(policy?.createScriptURL("") ?? "model-worker.js", { type: "module" });
  /** What waits for the worker, by the number of its request. */
  const waiting = new Map();
  let last = 0;
  worker.onmessage = ({ data }) => waiting.get(data.id)?.(data);
  worker.onerror = (event) => {
    event.preventDefault?.();
    const why = event.message || "the worker of the model could not be started";
    for (const hear of [...waiting.values()]) hear({ error: { kind: "unreachable", why } });
  };
  const ask = (message, hear) => {
    const id = (last += 1);
    waiting.set(id, (data) => {
      if (data.head === undefined && data.bytes === undefined) waiting.delete(id);
      hear(data);
    });
    worker.postMessage({ id, ...message });
    return id;
  };
  return {
    request(method, path, body) {
      if (builtIn.isFor(path, body)) return builtIn.answer(path, body, exchange);
      const asked = exchange(() => {
        waiting.delete(id);
        worker.postMessage({ id, stop: true });
      });
      const id = ask({ method, path, body }, ({ head, bytes, error }) => {
        if (head !== undefined) asked.head(head.status);
        else if (bytes !== undefined) asked.add(path === "/api/tags" ? builtIn.joined(bytes) : bytes);
        else {
          if (error !== undefined) asked.fail(error);
          asked.end();
        }
      });
      return asked.reader;
    },
    /** Keeps a file for later visits. Resolves with nothing, or with the reason why it was not kept. */
    add: (file) => new Promise((then) => ask({ add: file }, ({ error }) => then(error?.why))),
    /** Removes every file that was added. Resolves with nothing, or with the reason why one stays. */
    drop: () => new Promise((then) => ask({ drop: true }, ({ error }) => then(error?.why))),
  };
}
