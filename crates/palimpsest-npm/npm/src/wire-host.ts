// The other side of `wire.ts`: serves one view. What comes from there is not trusted: every call is checked, and only the
// paths of a model server that an app needs are asked for.

import type { StorageAdapter, StorageChange, StorageLease, StorageOp, StorageTable, StorageWrite } from "./storage.js";
import { CREDIT, crossing, ours, VERSION, type WireMessage, type WirePort } from "./wire.js";

/** What is asked of a model server. */
export interface WireRequest {
  method: "GET" | "POST";
  path: string;
  body?: string;
  signal: AbortSignal;
}

/** Its answer. */
export interface WireAnswer {
  status: number;
  retryAfter?: string;
  body: AsyncIterable<Uint8Array>;
}

/** What a view is served with. */
export interface WireServices {
  storage: StorageAdapter;
  request(request: WireRequest): Promise<WireAnswer>;
  /** Paths beside Ollama's own, such as `/v1/chat/completions`. */
  paths?: readonly string[];
  /** Where the model server is, to be shown. */
  address?: string;
  /** What the view asks of the host's program. */
  actions?: {
    openExternal?(url: string): unknown;
    saveFile?(name: string, text: string): unknown;
    copy?(text: string): unknown;
  };
}

/** A view that is served. */
export interface WireService {
  /** Tells the view what was chosen in a menu of the host's. */
  command(name: string): void;
  /** Ends it: what runs is cancelled, what is held is given back, and nothing is answered any more. */
  dispose(): void;
}

/** What may be asked, and how. */
const PATHS: Readonly<Record<string, "GET" | "POST">> = {
  "/api/chat": "POST",
  "/api/generate": "POST",
  "/api/show": "POST",
  "/api/embed": "POST",
  "/api/tags": "GET",
  "/api/ps": "GET",
  "/api/version": "GET",
};

const TABLES = new Set([
  "messages", "revisions", "renditions", "layers", "notes", "records", "heads", "snapshots", "partials", "jobs", "blobs", "tokenizers", "log", "meta",
]);

/** Characters of a piece of a stream. */
const PIECE = 65_536;
/** Characters of a request's body. */
const LONGEST_BODY = 64 << 20;
/** Requests of a view at the same time. */
const REQUESTS = 8;

interface Running {
  stop: AbortController;
  acked: number;
  wake: () => void;
}

/** Who hears of changes of a storage that does not tell of them itself: the views that are served with it. */
const watching = new WeakMap<StorageAdapter, Set<(change: StorageChange) => void>>();

function watch(storage: StorageAdapter, heard: (change: StorageChange) => void): () => void {
  if (storage.watch !== undefined) return storage.watch(heard);
  const all = watching.get(storage) ?? new Set();
  watching.set(storage, all);
  all.add(heard);
  return () => void all.delete(heard);
}

/** Tells the other views of a storage what one of them has done. */
function tell(storage: StorageAdapter, { session, epoch }: StorageChange): void {
  if (storage.watch !== undefined) return;
  for (const heard of [...(watching.get(storage) ?? [])]) heard({ session, epoch });
}

/** Serves the view behind `port` until it is disposed of. Views with the same storage hear of each other's changes. */
export function serveWire(port: WirePort, services: WireServices): WireService {
  let client: string | undefined;
  let disposed = false;
  const running = new Map<string, Running>();
  const leases = new Map<string, StorageLease>();

  const post = (message: Omit<WireMessage, "p" | "v">): void => {
    if (disposed) return;
    // a view that is just going away refuses messages; there is nobody left to tell
    try {
      port.post({ p: "palimpsest", v: VERSION, ...message });
    } catch {
      /* it is gone */
    }
  };

  /** What a view that is gone had begun ends, and what it held is given back. */
  const letGo = (): void => {
    for (const { stop, wake } of running.values()) {
      stop.abort();
      wake();
    }
    running.clear();
    for (const lease of leases.values()) Promise.resolve(services.storage.release?.(lease)).catch(() => {});
    leases.clear();
  };

  async function call(own: string | undefined, op: string, args: unknown): Promise<unknown> {
    const given = object(args);
    switch (op) {
      case "claim": {
        const session = text(given["session"]);
        const { epoch } = await services.storage.claim({ session, takeOver: given["takeOver"] === true });
        const lease = { session, epoch };
        // the view may be gone by now: nobody else would ever give this back
        if (disposed || own !== client) await services.storage.release?.(lease);
        else leases.set(session, lease);
        // who had it before may not write it any more
        tell(services.storage, lease);
        return { epoch };
      }
      case "read":
        return services.storage.read(query(given) as never);
      case "apply": {
        const asked = write(given);
        const done = await services.storage.apply(asked);
        // what changes nothing of a session's head is a draft, which nobody else shows
        if (asked.ops.some(({ table }) => table === "heads")) tell(services.storage, asked.lease);
        return done;
      }
      case "estimate":
        return services.storage.estimate?.();
      case "release": {
        const lease = { session: text(given["session"]), epoch: whole(given["epoch"]) };
        if (leases.get(lease.session)?.epoch === lease.epoch) leases.delete(lease.session);
        return services.storage.release?.(lease);
      }
      case "openExternal": {
        const url = text(given["url"]);
        if (!/^(https?|mailto):/i.test(url)) throw refused("only addresses of the web are opened");
        return services.actions?.openExternal?.(url);
      }
      case "saveFile":
        return services.actions?.saveFile?.(text(given["name"]).replace(/[\\/:*?"<>|\u0000-\u001f]/g, " ").slice(0, 120), text(given["text"]));
      case "copy":
        return services.actions?.copy?.(text(given["text"]));
      default:
        throw refused(`there is no call "${op}"`);
    }
  }

  async function stream(id: string, args: unknown): Promise<void> {
    const given = object(args);
    const path = text(given["path"]);
    const method = given["method"] === "POST" ? "POST" : "GET";
    const allowed = Object.hasOwn(PATHS, path) ? PATHS[path] === method : (services.paths ?? []).includes(path);
    if (!allowed) throw refused(`${method} ${path.slice(0, 100)} is not among the paths that this view may ask for`);
    const body = given["body"] === undefined ? undefined : text(given["body"]);
    if (body !== undefined && body.length > LONGEST_BODY) throw refused("the request is too long");
    if (running.size >= REQUESTS) throw refused("too many requests at the same time");
    const own: Running = { stop: new AbortController(), acked: 0, wake: () => {} };
    running.set(id, own);
    const { signal } = own.stop;
    let seq = 0;
    const send = async (chunk: unknown): Promise<void> => {
      while (seq - own.acked >= CREDIT && !signal.aborted) await new Promise<void>((resolve) => { own.wake = resolve; });
      signal.throwIfAborted();
      post({ id, seq, chunk });
      seq += 1;
    };
    try {
      const answer = await services.request({ method, path, ...(body === undefined ? {} : { body }), signal });
      const { status, retryAfter } = answer;
      await send({ status, ...(retryAfter === undefined ? {} : { retryAfter }) });
      // characters that are cut in two by the network are put together here
      const decoder = new TextDecoder();
      for await (const bytes of answer.body) {
        const all = decoder.decode(bytes, { stream: true });
        for (const piece of pieces(all)) await send(piece);
      }
      const rest = decoder.decode();
      if (rest !== "") await send(rest);
      post({ id, end: true });
    } finally {
      own.stop.abort();
      running.delete(id);
    }
  }

  function heard(message: WireMessage): void {
    const { id, op } = message;
    if (disposed || typeof id !== "string" || id.length > 100) return;
    if (typeof message.ack === "number" || message.cancel === true) {
      const own = running.get(id);
      if (own === undefined) return;
      if (message.cancel === true) own.stop.abort();
      else own.acked = Math.max(own.acked, message.ack ?? 0);
      own.wake();
      return;
    }
    if (typeof op !== "string") return;
    const fail = (error: unknown): void => post({ id, err: crossing(error) });
    const own = typeof message.client === "string" ? message.client : "";
    if (op === "hello") {
      const versions = (message.args as { versions?: unknown } | undefined)?.versions;
      if (!Array.isArray(versions) || !versions.includes(VERSION)) {
        return fail(Object.assign(new Error(`this host speaks version ${VERSION} of the protocol`), { code: "storage_newer" }));
      }
      // a view that was moved or loaded again is another one: the one before is gone
      if (own !== client) letGo();
      client = own;
      return post({ id, ok: { v: VERSION, ...(services.address === undefined ? {} : { address: services.address }) } });
    }
    if (client === undefined) return fail(Object.assign(new Error("say hello first"), { code: "say_hello" }));
    // what an earlier view still sends is nobody's any more
    if (own !== client) return;
    if (op === "request") {
      stream(id, message.args).catch((error: unknown) => {
        if (own === client) fail(error);
      });
      return;
    }
    call(own, op, message.args).then(
      (ok) => { if (own === client) post({ id, ok: ok ?? null }); },
      (error: unknown) => { if (own === client) fail(error); },
    );
  }

  const stop = port.listen((message) => {
    const own = ours(message);
    if (own !== undefined) heard(own);
  });
  const unwatch = watch(services.storage, ({ session, epoch }) => {
    // a view knows what it has done itself
    if (client !== undefined && leases.get(session)?.epoch !== epoch) post({ changed: { session, epoch } });
  });
  return {
    command: (name) => post({ do: name }),
    dispose: () => {
      if (disposed) return;
      disposed = true;
      stop();
      unwatch();
      letGo();
    },
  };
}

/** A text in pieces, none of which ends in the middle of a character. */
function* pieces(all: string): Generator<string> {
  for (let at = 0; at < all.length;) {
    const cut = at + PIECE;
    const half = cut < all.length && /[\ud800-\udbff]/.test(all.charAt(cut - 1));
    yield all.slice(at, half ? cut - 1 : cut);
    at = half ? cut - 1 : cut;
  }
}

function refused(why: string): Error {
  return Object.assign(new Error(why), { code: "bad_request" });
}

function object(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw refused("expected an object");
  return value as Record<string, unknown>;
}

function text(value: unknown): string {
  if (typeof value !== "string") throw refused("expected a text");
  return value;
}

function whole(value: unknown): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0) throw refused("expected a whole number");
  return value;
}

function table(value: unknown): StorageTable {
  const name = text(value);
  if (!TABLES.has(name)) throw refused(`there is no table "${name}"`);
  return name as StorageTable;
}

function key(value: unknown): (string | number)[] {
  if (!Array.isArray(value) || value.length > 8) throw refused("expected a key");
  return value.map((part) => (typeof part === "string" ? part : whole(part)));
}

function query(given: Record<string, unknown>): object {
  if (given["query"] === "get") return { query: "get", table: table(given["table"]), key: key(given["key"]) };
  if (given["query"] !== "range") throw refused("expected a query");
  const bound = (value: unknown): number | undefined => (value === undefined || value === null ? undefined : whole(value));
  const [from, to] = [bound(given["from"]), bound(given["to"])];
  return {
    query: "range",
    table: table(given["table"]),
    prefix: key(given["prefix"]),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    reverse: given["reverse"] === true,
    limit: bound(given["limit"]) ?? 0,
  };
}

function write(given: Record<string, unknown>): StorageWrite {
  const { session, epoch } = object(given["lease"]);
  const expect = given["expect"] === null || given["expect"] === undefined ? null : object(given["expect"])["version"];
  if (!Array.isArray(given["ops"])) throw refused("expected operations");
  const ops = given["ops"].map((one: unknown): StorageOp => {
    const op = object(one);
    switch (op["op"]) {
      case "add":
      case "put":
        return { op: op["op"], table: table(op["table"]), key: key(op["key"]), value: text(op["value"]) };
      case "delete":
        return { op: "delete", table: table(op["table"]), key: key(op["key"]) };
      case "delete_prefix":
        return { op: "delete_prefix", table: table(op["table"]), prefix: key(op["prefix"]) };
      default:
        throw refused("expected an operation");
    }
  });
  return {
    lease: { session: text(session), epoch: whole(epoch) },
    expect: given["expect"] === null || given["expect"] === undefined ? null : { version: expect === null || expect === undefined ? null : whole(expect) },
    ops,
    durability: given["durability"] === "relaxed" ? "relaxed" : "strict",
  };
}
