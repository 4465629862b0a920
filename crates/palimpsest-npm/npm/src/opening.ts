// Opening sessions, libraries and servers: what they need of the module is loaded first.

import { PalimpsestError } from "./errors.js";
import { written } from "./json.js";
import type { ChatPiece, ChatRequest } from "./language-model.js";
import { addressOf } from "./language-model.js";
import type { Library, LibraryOptions } from "./library.js";
import { LiveLibrary } from "./live-library.js";
import { LiveSession } from "./live-session.js";
import type { Address, Opening } from "./border.js";
import { check, snake } from "./options.js";
import type { Files } from "./parts.js";
import { loadSession, module, part } from "./runtime.js";
import type { Session, SessionOptions } from "./session.js";
import { raced, SessionHost } from "./session-host.js";
import type { StorageAdapter } from "./storage.js";
import { policyText, size, withCause } from "./session-options.js";

const KNOWN = [
  "id", "model", "window", "policy", "demands", "store", "database", "llm", "tools", "system", "title", "thinking", "mode", "settings", "takeOver",
  "onEvent", "signal", "tokenizer", "file", "trustFile", "durability", "otherSessions",
];

/** Opens a session; the module's files are taken from `files` if nobody has said yet where they are. */
export async function openSession(options: SessionOptions, files: Files | undefined): Promise<Session> {
  if (typeof options !== "object" || options === null) {
    throw new PalimpsestError("invalid_options", 'Expected options with a model: { model: "llama3.2:3b" }.');
  }
  check(options, KNOWN);
  const { llm, store = "memory", policy, settings, window, tools, onEvent, signal, tokenizer, durability, ...plain } = options;
  signal?.throwIfAborted();
  if (typeof plain.model !== "string") throw new PalimpsestError("invalid_options", "`model` must be the model's name.");
  const tokens = window === undefined ? undefined : size(window);
  if (plain.file !== undefined && typeof plain.file !== "string") {
    throw new PalimpsestError("invalid_options", "`file` must be the text of an exported session: read the file first, `await blob.text()`.");
  }
  if (plain.file !== undefined && plain.id !== undefined) {
    throw new PalimpsestError("invalid_options", "`file` brings the id of its session along: leave `id` out.");
  }
  const address = llm === undefined ? undefined : addressOf(llm);
  if (llm !== undefined && typeof llm.chat !== "function") {
    throw new PalimpsestError("invalid_options", "`llm` must be ollama(), openai(), or an object with a function `chat`.");
  }
  const storage = adapter(store);
  if (storage === undefined && typeof store !== "string") {
    throw new PalimpsestError("invalid_options", '`store` must be "memory", "indexeddb" or a storage of yours.');
  }
  if (durability !== undefined && durability !== "strict" && durability !== "relaxed") {
    throw new PalimpsestError("invalid_options", '`durability` is "strict" or "relaxed".');
  }
  if (durability !== undefined && storage === undefined) {
    throw new PalimpsestError("invalid_options", "`durability` is for a storage of yours: how IndexedDB writes is the browser's own, and memory keeps nothing.");
  }
  if (plain.otherSessions === true && storage === undefined && store === "memory") {
    throw new PalimpsestError("invalid_options", '`otherSessions` needs a store that sessions share: "indexeddb" or a storage of yours.');
  }
  const given: Opening = {
    ...plain,
    window: tokens,
    store: typeof store === "string" ? store : "host",
    client: llm !== undefined && address === undefined,
    server: address,
    policy: policyText(policy),
    settings: snake(settings),
  };
  await loadSession(files);
  const host = new SessionHost(llm, storage, durability);
  host.keeps = storage === undefined && typeof store === "string" ? store : "given";
  if (onEvent !== undefined) host.listen("*", onEvent);
  const opening = module.wait(module.call("openSession()", (exports) => exports.open(given, host)));
  try {
    const inner = await (signal === undefined ? opening : raced(opening, signal));
    host.watch();
    const session = new LiveSession(inner, module, host, tools, address);
    if (tokenizer === undefined) return session;
    return await session.setTokenizer(tokenizer).then(() => session, async (error: unknown) => {
      await session.close();
      throw error;
    });
  } catch (error) {
    // what opens after the signal is given back at once
    opening.then((late) => { late.close(); late.free(); }, () => {});
    throw withCause(named(module.own(error)), host);
  }
}

/** Opens a library; the module's files are taken from `files` if nobody has said yet where they are. */
export async function openLibrary(options: LibraryOptions, files: Files | undefined): Promise<Library> {
  if (typeof options !== "object" || options === null) throw new PalimpsestError("invalid_options", 'Expected options, such as { store: "indexeddb" }.');
  check(options, ["store", "database", "signal"]);
  const { store = "indexeddb", database, signal } = options;
  signal?.throwIfAborted();
  const storage = adapter(store);
  if (storage === undefined && store !== "indexeddb") {
    throw new PalimpsestError("invalid_options", '`store` must be "indexeddb" or a storage of yours: what is kept in memory belongs to one session.');
  }
  await loadSession(files);
  const host = new SessionHost(undefined, storage);
  const given = { store: storage === undefined ? ("indexeddb" as const) : ("host" as const), database };
  const opening = module.wait(module.call("openLibrary()", (exports) => exports.library(given, host)));
  try {
    return new LiveLibrary(await (signal === undefined ? opening : raced(opening, signal)), module, host);
  } catch (error) {
    opening.then((late) => late.free(), () => {});
    throw withCause(module.own(error), host);
  }
}

/** A setting that does not exist, by its name as JavaScript writes it. */
function named(error: unknown): unknown {
  if (error instanceof PalimpsestError && error.code === "unknown_setting") error.message = error.message.replace(/_[a-z]/g, (letters) => letters.charAt(1).toUpperCase());
  return error;
}

/** A storage of the caller's, if it is one. */
function adapter(store: unknown): StorageAdapter | undefined {
  if (typeof store !== "object" || store === null) return undefined;
  for (const call of ["claim", "read", "apply"] as const) {
    if (typeof (store as StorageAdapter)[call] !== "function") throw new PalimpsestError("invalid_options", `A storage needs a function \`${call}\`.`);
  }
  return store as StorageAdapter;
}

/** Asks a server without a session. */
export async function* chat(address: Address, request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatPiece, void> {
  signal.throwIfAborted();
  module.call("chat()", () => {});
  await part("session");
  const server = await module.wait(module.call("chat()", (exports) => exports.server(address)));
  const answer = module.call("chat()", () => server.chat(written(request)));
  const end = (): void => answer.stop();
  signal.addEventListener("abort", end, { once: true });
  try {
    for (;;) {
      const piece = await module.wait(answer.next());
      if (piece === undefined) return;
      yield piece;
    }
  } catch (error) {
    throw signal.aborted ? signal.reason : module.own(error);
  } finally {
    signal.removeEventListener("abort", end);
    answer.free();
    server.free();
  }
}
