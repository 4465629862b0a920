// A session that is open: each function translates and calls the module's.

import { PalimpsestError } from "./errors.js";
import { parsed, type Address, type DatedEdit, type SessionRecords } from "./border.js";
import { mended, toText, written } from "./json.js";
import type { Loss } from "./library.js";
import { check, checkBoolean } from "./options.js";
import type { Instance } from "./instance.js";
import { raced, type SessionHost } from "./session-host.js";
import { policyText, size, withCause } from "./session-options.js";
import type {
  ChatMessageLike, Compaction, CompactionOutcome, CompactionPreview, GoalEdit, HistoryItem, Reply, SearchHit, SendChunk, SendOptions, SendStream,
  Session, SessionBudget, SessionEvent, SessionInfo, SessionJob, SessionLayer, SessionLogEntry, SessionReliability, ToolCall, ToolFigures,
} from "./session.js";
import type { Goal } from "./compact.js";
import type { Tokenizer } from "./tokenizer.js";
import type * as Exports from "./wasm/palimpsest_npm.js";

type Module = typeof Exports;

export class LiveSession implements Session {
  #inner: Exports.Session | undefined;
  readonly #module: Instance<Module>;
  readonly #host: SessionHost;
  readonly #tools: readonly unknown[];
  /** Where the model is asked, if we ask it ourselves. */
  readonly #server: Address | undefined;
  /** What has not ended yet. */
  readonly #running = new Set<Promise<unknown>>();
  /** Ends everything that can be ended. */
  readonly #closing = new AbortController();
  /** The timer until the conversation has rested for as long as its policy says. */
  #rest: ReturnType<typeof setTimeout> | undefined;
  #closed: Promise<void> | undefined;
  /** How the last compaction ended. */
  #outcome: CompactionOutcome | null = null;
  /** A compaction that needed no summary is being committed. */
  #finishing = false;

  readonly goals: Session["goals"];
  readonly pins: Session["pins"];
  readonly snapshots: Session["snapshots"];
  readonly prompt: Session["prompt"];
  readonly offloaded: Session["offloaded"];
  readonly recalled: Session["recalled"];
  readonly watermark: Session["watermark"];
  readonly branches: Session["branches"];

  constructor(
    inner: Exports.Session, module: Instance<Module>, host: SessionHost, tools: readonly unknown[] = [], server?: Address | undefined,
  ) {
    this.#inner = inner;
    this.#module = module;
    this.#host = host;
    this.#tools = tools;
    this.#server = server;
    host.first = (event) => {
      const outcome = outcomeOf(event);
      if (outcome !== undefined) this.#outcome = outcome;
    };
    this.goals = {
      current: () => this.#records().goal ?? null,
      set: (goal) => this.#done((s) => (typeof goal === "string" ? s.describeGoal(goal) : s.setGoal(said(goal)))),
      edit: (edit) => this.#done((s) => s.editGoal(timed(edit))),
      proposals: () => this.#records().pending ?? [],
      accept: (proposal) => this.#done((s) => s.decide(whole(proposal, "A proposal"), true)),
      decline: (proposal) => this.#done((s) => s.decide(whole(proposal, "A proposal"), false)),
    };
    this.pins = {
      list: () => this.#records().pins,
      add: (line, kind = "pin") => this.#act((s) => s.pin(line, kind === "decision")),
      remove: (id) => this.#done((s) => s.unpin(id)),
    };
    this.snapshots = {
      list: () => this.#call((s) => s.snapshots()),
      create: (name) => this.#act((s) => s.snapshot(name)),
      restore: (n) => this.#done((s) => s.restore(whole(n, "A snapshot"))),
      pin: (n, pinned = true) => this.#done((s) => s.pinSnapshot(whole(n, "A snapshot"), checkBoolean(pinned, "pinned"))),
      remove: (n) => this.#done((s) => s.deleteSnapshot(whole(n, "A snapshot"))),
    };
    this.prompt = {
      current: () => this.#call((s) => s.prompt()),
      set: (parts) => this.#done((s) => s.setPrompt(parts)),
      activate: (...patterns) => this.#act((s) => s.switchSkills(texts(patterns), true)),
      deactivate: (...patterns) => this.#act((s) => s.switchSkills(texts(patterns), false)),
    };
    this.offloaded = {
      list: () => this.#call((s) => s.references()),
      read: (message) => this.#call((s) => s.offloaded(whole(message, "A message"))),
      bringBack: (message) => this.#done((s) => s.bringBack(whole(message, "A message"))),
    };
    this.recalled = {
      list: () => this.#call((s) => s.recalled()).flat(),
      remove: (message, from) => this.#done((s) => s.forgetRecalled(message === undefined ? undefined : whole(message, "A message"), from)),
    };
    this.watermark = {
      mark: () => this.#done((s) => s.mark()),
      anchor: (message, keep = true) => this.#done((s) => s.anchor(whole(message, "A message"), checkBoolean(keep, "keep"))),
    };
    this.branches = {
      of: (message) => this.#call((s) => s.siblings(whole(message, "A message"))),
      show: (message) => this.#done((s) => s.switchTo(whole(message, "A message"))),
      rewindBefore: (message) => this.#done((s) => s.rewindBefore(whole(message, "A message"))),
    };
  }

  get id(): string {
    return this.#call((s) => s.id());
  }

  get info(): SessionInfo {
    return { ...this.#call((s) => s.info()), store: this.#host.keeps };
  }

  get lastCompaction(): CompactionOutcome | null {
    this.#open();
    return this.#outcome;
  }

  async append(messages: string | object | readonly object[], options: Parameters<Session["append"]>[1] = {}): Promise<number[]> {
    check(options, ["dialect", "signal"]);
    return this.#act((s) => s.append(listed(messages), options.dialect), options.signal);
  }

  async sync(messages: readonly object[], options: Parameters<Session["sync"]>[1] = {}): Promise<{ added: number[]; branched: boolean }> {
    check(options, ["dialect", "signal"]);
    return this.#act((s) => s.sync(listed(messages), options.dialect), options.signal);
  }

  onToolCall(handler: (call: ToolCall, signal: AbortSignal) => unknown): () => void {
    this.#open();
    if (typeof handler !== "function") throw new PalimpsestError("invalid_options", "onToolCall() needs a function.");
    this.#host.handler = handler;
    return () => {
      if (this.#host.handler === handler) this.#host.handler = undefined;
    };
  }

  send(message: string | object, options: Parameters<Session["send"]>[1] = {}): SendStream {
    return this.#stream(options, (s, how, stop, on) => s.send(listed(message), options.dialect, how, stop, on));
  }

  reply(options: SendOptions = {}): SendStream {
    return this.#stream(options, (s, how, stop, on) => s.reply(how, stop, on));
  }

  continueReply(options: SendOptions = {}): SendStream {
    return this.#stream(options, (s, how, stop, on) => s.continueReply(how, stop, on));
  }

  window(dialect?: Parameters<Session["window"]>[0]): { messages: ChatMessageLike[]; tokens: number } {
    // a caller's own names stand in these messages: they stay as they are
    return parsed(this.#call((s) => s.window(dialect)));
  }

  budget(): SessionBudget {
    return this.#call((s) => s.budget());
  }

  layers(): SessionLayer[] {
    return this.#call((s) => s.layers());
  }

  losses(): Loss[] {
    return this.#call((s) => s.losses());
  }

  history(options: { before?: number; limit?: number } = {}): HistoryItem[] {
    check(options, ["before", "limit"]);
    return parsed(this.#call((s) => s.history(options.before, count(options.limit))));
  }

  async compact(options: Parameters<Session["compact"]>[0] = {}): Promise<Compaction | null> {
    check(options, ["focus", "mostSeconds", "extractive", "upTo", "from", "to", "signal"]);
    const { signal, ...rest } = options;
    try {
      return await this.#stoppable(signal, (s, stop) => s.compact(rest, stop));
    } catch (error) {
      if (error instanceof PalimpsestError && error.code === "nothing_to_compress") return null;
      throw error;
    }
  }

  async editLayer(layer: number, text: string, options: { ifOver?: "refuse" | "show" } = {}): Promise<Compaction> {
    check(options, ["ifOver"]);
    return this.#act((s) => s.editLayer(whole(layer, "A layer"), text, options.ifOver === "show"));
  }

  async rewriteLayer(layer: number, options: Parameters<Session["rewriteLayer"]>[1] = {}): Promise<Compaction> {
    check(options, ["by", "focus", "signal"]);
    const { by, focus, signal } = options;
    if (by !== undefined && by !== "model" && by !== "builtin") {
      throw new PalimpsestError("invalid_options", `"by" is "model" or "builtin", not ${JSON.stringify(by)}.`);
    }
    const given = { layer, extractive: by === "builtin", ...(focus !== undefined && { focus }) };
    return this.#stoppable(signal, (s, stop) => s.compact(given, stop));
  }

  async rest(options: { signal?: AbortSignal | undefined } = {}): Promise<number | null> {
    check(options, ["signal"]);
    return this.#stoppable(options.signal, (s, stop) => s.rest(stop));
  }

  rename(title: string): Promise<void> {
    return this.#done((s) => s.rename(title));
  }

  setMode(mode: Parameters<Session["setMode"]>[0]): Promise<void> {
    return this.#done((s) => s.setMode(mode));
  }

  reliability(): SessionReliability {
    return this.#call((s) => s.reliability());
  }

  log(): Promise<SessionLogEntry[]> {
    return this.#act((s) => s.log());
  }

  analytics(): { tools: ToolFigures[]; total: ToolFigures } {
    return this.#call((s) => s.analytics());
  }

  skipWait(): void {
    this.#call((s) => s.skipWait());
  }

  async preview(options: { focus?: string } = {}): Promise<CompactionPreview> {
    check(options, ["focus"]);
    return this.#call((s) => s.preview(options.focus));
  }

  async undo(options: { ifOver?: "refuse" | "show" } = {}): Promise<void> {
    check(options, ["ifOver"]);
    return this.#done((s) => s.undo(options.ifOver === "show"));
  }

  async lift(layer: number, options: { ifOver?: "refuse" | "show" } = {}): Promise<void> {
    check(options, ["ifOver"]);
    return this.#done((s) => s.lift(whole(layer, "A layer"), options.ifOver === "show"));
  }

  get system(): string {
    return this.#records().system;
  }

  setSystem(system: string): Promise<void> {
    return this.#done((s) => s.setSystem(system));
  }

  async setModel(change: Parameters<Session["setModel"]>[0]): Promise<void> {
    check(change, ["model", "window", "policy", "thinking"]);
    const now = this.info;
    const window = change.window === undefined ? now.window : size(change.window);
    const { model = now.model, thinking = now.thinking } = change;
    await this.#done((s) => s.setModel(model, window, policyText(change.policy) ?? now.policy, thinking));
  }

  async setTokenizer(tokenizer: Tokenizer | "server" | null): Promise<void> {
    if (tokenizer !== "server") return this.#count(tokenizer);
    const server = this.#server;
    if (server === undefined) {
      throw new PalimpsestError("invalid_options", 'There is no server to ask: open the session with `llm: ollama()`, or load a Tokenizer yourself.');
    }
    await this.#done((s) => s.askVocabulary(server));
  }

  async #count(tokenizer: Tokenizer | null): Promise<void> {
    if (tokenizer !== null && typeof tokenizer?.snapshot !== "function") {
      throw new PalimpsestError("invalid_options", 'A tokenizer is a Tokenizer of palimpsest, "server", or null. A function counts for lists only.');
    }
    if (tokenizer?.isOwn) {
      throw new PalimpsestError("not_supported", "A session counts with a vocabulary, not with a function: give it Tokenizer.fromTokenizerJson(), fromTiktoken() or fromOllamaShow(). Without one it learns from what the server reports.");
    }
    const bytes = tokenizer?.snapshot() ?? undefined;
    await this.#done((s) => s.setVocabulary(bytes));
  }

  search(query: string, options: { limit?: number } = {}): SearchHit[] {
    check(options, ["limit"]);
    return this.#call((s) => s.search(query, count(options.limit ?? 8)));
  }

  export(format: "jsonl" | "markdown" | "json" = "jsonl"): Promise<string> {
    return this.#act((s) => s.export(format));
  }

  nextJob(options: { manual?: boolean } = {}): SessionJob | null {
    check(options, ["manual"]);
    if (this.#finishing) return null;
    const { manual = false } = options;
    const due = manual || this.info.due;
    const job = this.#call((s) => s.nextJob(manual));
    if (job !== null || !due) return job;
    // where no summary was needed, what was done is committed; what becomes of it is told by events
    this.#finishing = true;
    this.#act((s) => s.finishJobs()).catch(() => {}).finally(() => { this.#finishing = false; });
    return null;
  }

  async completeJob(id: number, summary: string | null): Promise<Compaction | null> {
    if (summary !== null && typeof summary !== "string") throw new PalimpsestError("bad_input", "A summary is a text, or null where there is none.");
    return this.#act((s) => s.completeJob(whole(id, "A job"), summary === null ? undefined : mended(summary)));
  }

  on(type: string, listener: (event: never) => void): () => void {
    this.#open();
    if (typeof listener !== "function") throw new PalimpsestError("invalid_options", "on() needs a function that listens.");
    return this.#host.listen(type, listener as (event: SessionEvent) => void);
  }

  close(): Promise<void> {
    this.#closed ??= (async () => {
      const inner = this.#inner;
      if (inner === undefined) return;
      this.#inner = undefined;
      this.#closing.abort(closed());
      clearTimeout(this.#rest);
      if (!this.#module.crashed) inner.close();
      while (this.#running.size > 0) await Promise.allSettled(this.#running);
      this.#host.hush();
      if (!this.#module.crashed) inner.free();
    })();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  [Symbol.dispose](): void {
    void this.close();
  }

  // ── calling ──

  #open(): Exports.Session {
    if (this.#inner === undefined) throw closed();
    return this.#inner;
  }

  #call<T>(use: (inner: Exports.Session) => T): T {
    const inner = this.#open();
    return this.#module.call("A session", () => use(inner));
  }

  #records(): SessionRecords {
    return this.#call((s) => s.records());
  }

  /** Waits for an answer of the module's. */
  async #act<T>(use: (inner: Exports.Session) => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    const promise = this.#module.wait(this.#call(use));
    this.#track(promise);
    try {
      return await (signal === undefined ? promise : raced(promise, signal));
    } catch (error) {
      throw this.#own(error);
    }
  }

  #done(use: (inner: Exports.Session) => Promise<void>): Promise<void> {
    return this.#act(use);
  }

  /** Something that a signal ends inside. */
  async #stoppable<T>(signal: AbortSignal | undefined, use: (inner: Exports.Session, stop: Exports.Stop) => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    this.#open();
    const stop = this.#module.call("A session", (module) => new module.Stop());
    const end = (): void => stop.stop();
    signal?.addEventListener("abort", end, { once: true });
    try {
      return await this.#act((inner) => use(inner, stop));
    } catch (error) {
      throw signal?.aborted ? signal.reason : error;
    } finally {
      signal?.removeEventListener("abort", end);
      stop.free();
    }
  }

  #track(promise: Promise<unknown>): void {
    const ended = promise.catch(() => {}).finally(() => this.#running.delete(ended));
    this.#running.add(ended);
  }

  #own(error: unknown): unknown {
    return withCause(this.#module.own(error), this.#host);
  }

  #stream(
    options: SendOptions,
    use: (inner: Exports.Session, how: Parameters<Exports.Session["reply"]>[0], stop: Exports.Stop, on: (step: SendChunk) => void) => Promise<Reply>,
  ): SendStream {
    // options that are no object are refused below, by the promise
    const { signal, tools = this.#tools, dialect: _, ...chosen } = Object(options) as SendOptions & { dialect?: unknown };
    const stop = new AbortController();
    const host = this.#host;
    const stream = new Stream(stop);
    const ends = AbortSignal.any([stop.signal, this.#closing.signal, ...(signal === undefined ? [] : [signal])]);
    const work = async (): Promise<Reply> => {
      check(options, ASKED);
      signal?.throwIfAborted();
      // tools and schemas are the caller's own: only what JSON has of them is sent
      const how = JSON.parse(written({ ...chosen, tools, handled: host.handler !== undefined }));
      try {
        return await this.#stoppable(ends, (inner, end) => {
          const asked = use(inner, how, end, (step) => stream.push(step));
          // only now: what was refused has not taken the place of what runs
          host.stop = ends;
          host.thrown = undefined;
          return asked;
        });
      } catch (error) {
        if (signal?.aborted) throw signal.reason;
        const thrown = host.thrown;
        if (thrown !== undefined && error instanceof PalimpsestError && error.code === thrown.code) throw thrown.error;
        throw error;
      }
    };
    const reply = work().then((reply) => {
      // what was stopped is stored, and the caller who stopped it learns why it ended
      if (signal?.aborted) throw signal.reason;
      this.#tend();
      return reply;
    });
    stream.follow(reply);
    return stream;
  }

  /** The automatic compaction, in the background. What becomes of it is told by events. */
  #tend(): void {
    if (this.#inner === undefined) return;
    clearTimeout(this.#rest);
    const done = this.#stoppable(this.#closing.signal, (inner, stop) => inner.tend(stop));
    done.then((wait) => {
      if (wait === null || this.#inner === undefined) return;
      // a conversation that rests keeps no program running
      this.#rest = setTimeout(() => this.#tend(), wait);
      (this.#rest as { unref?: () => void }).unref?.();
    }).catch(() => {});
  }
}

/** A reply that comes in. */
class Stream implements SendStream {
  readonly #stop: AbortController;
  readonly #chunks: SendChunk[] = [];
  #reply: Promise<Reply> | undefined;
  #wake: (() => void) | undefined;
  #over = false;

  constructor(stop: AbortController) {
    this.#stop = stop;
  }

  push(chunk: SendChunk): void {
    this.#chunks.push(chunk);
    this.#wake?.();
  }

  follow(reply: Promise<Reply>): void {
    this.#reply = reply;
    const over = (): void => {
      this.#over = true;
      this.#wake?.();
    };
    // whoever only iterates learns of a failure there
    reply.then(over, over);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<SendChunk, void> {
    let whole = false;
    try {
      for (;;) {
        const chunk = this.#chunks.shift();
        if (chunk !== undefined) {
          yield chunk;
        } else if (this.#over) {
          whole = true;
          await this.#reply;
          return;
        } else {
          await new Promise<void>((resolve) => { this.#wake = resolve; });
        }
      }
    } finally {
      if (!whole) this.stop();
    }
  }

  reply(): Promise<Reply> {
    return this.#reply as Promise<Reply>;
  }

  async text(): Promise<string> {
    return (await this.reply()).text;
  }

  stop(): void {
    this.#stop.abort(new DOMException("The reply was stopped.", "AbortError"));
  }
}

/** What an event says of how a compaction ended. */
function outcomeOf(event: SessionEvent): CompactionOutcome | undefined {
  switch (event.type) {
    case "compressed":
      return { how: "compressed", revision: event.revision, report: event.report };
    case "compression-skipped":
      return { how: "skipped", code: event.code, message: event.message };
    case "compression-error":
      return { how: "failed", code: event.code, message: event.message };
    default:
      return undefined;
  }
}

/** How a reply may be asked for. */
const ASKED = [
  "signal", "tools", "maxTokens", "temperature", "topP", "minP", "repeatPenalty", "seed", "stop", "format", "think", "dialect",
];

/** A goal that was given, or `null` for none. Nothing at all is a mistake, and takes no goal away. */
function said(goal: Goal | null | undefined): Goal | null {
  if (goal === undefined) throw new PalimpsestError("bad_input", "goals.set() needs a goal, the words of one, or null for none.");
  return goal;
}

/** A change of a goal with its time, where it has one. */
function timed(edit: GoalEdit): DatedEdit {
  switch (edit?.edit) {
    case "set-status":
    case "add-milestone":
    case "set-milestone":
      return { at: Date.now(), ...edit };
    default:
      return edit;
  }
}

function closed(): PalimpsestError {
  return new PalimpsestError("closed", "This session is closed. Open it again.");
}

/** One message, several, or the user's words, as the text of a list. */
function listed(messages: string | object | readonly object[]): string {
  return toText(typeof messages === "string" ? [{ role: "user", content: messages }] : Array.isArray(messages) ? messages : [messages]);
}

/** A number that something of ours has. The module would take anything else for 0, and do it to the first message. */
function whole(number: unknown, what: string): number {
  if (typeof number === "number" && Number.isInteger(number) && number >= 0 && number < 2 ** 32) return number;
  throw new PalimpsestError("bad_input", `${what} is named by its number, a whole one that is not negative.`);
}

/** Names of skills, as they are handed on. */
function texts(patterns: readonly unknown[]): string[] {
  if (patterns.every((one) => typeof one === "string")) return [...patterns];
  throw new PalimpsestError("bad_input", 'A skill is named by a text, which may hold "*".');
}

/** A number of things; all of them if it is none. */
function count(limit: number | undefined): number {
  return typeof limit === "number" && limit >= 0 && limit < 2 ** 32 ? Math.floor(limit) : 0xffff_ffff;
}
