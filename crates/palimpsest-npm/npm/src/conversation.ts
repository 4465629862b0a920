import { type CompactOptions, type CompactReport, crossing } from "./compact.js";
import { PalimpsestError } from "./errors.js";
import { parsed } from "./border.js";
import { filled, mended, toText } from "./json.js";
import { check } from "./options.js";
import { call } from "./runtime.js";
import type { TextCounter } from "./own-counter.js";
import { counterOf, type Tokenizer } from "./tokenizer.js";
import type { Live } from "./wasm/palimpsest_npm.js";

/** Options of a {@link Conversation}: those of `compact`, for all its calls. */
export type ConversationOptions = Omit<CompactOptions, "state">;

/** What {@link Conversation.fit} gives. */
export interface Fitted<M> {
  /** The list for the model. Messages that stand as they were said are the very objects that were pushed. */
  messages: M[];
  /** What was done. Positions are those of {@link Conversation.messages}. */
  report: CompactReport;
}

/** A conversation that {@link Conversation.load} has opened. */
class Loaded {
  constructor(
    readonly live: Live,
    readonly messages: unknown[],
  ) {}
}

/**
 * A list of messages that grows, for programs that hold it themselves: an agent's loop, a chat. It gives the lists that
 * `compact` gives for the whole history with the `state` of the call before, and a step costs what is new, however long the
 * history is: messages are read and counted once.
 *
 * Push only what is finished, and do not change it afterwards: what was pushed is read then and not looked at again. Memory of
 * the module holds the messages until the conversation is disposed of.
 *
 * @throws {@link PalimpsestError} `invalid_options`, `invalid_window`, `invalid_policy`, `unknown_policy`, `records_too_large`
 * from the constructor; `bad_input` from `push`; `cannot_fit` from `fit`; `closed` from everything once it was disposed of. After
 * an error the conversation is as it was before.
 *
 * @example
 * ```ts
 * import { Conversation, init } from "palimpsest";
 *
 * await init();
 * using conversation = new Conversation({ window: 8192 });
 * conversation.push({ role: "system", content: "You help with travel plans." });
 * conversation.push({ role: "user", content: "I never fly. Plan two weeks in Japan." });
 * const { messages, report } = conversation.fit(); // the list for the model
 * console.log(messages.length, report.changed); // 2 false
 * conversation.push({ role: "assistant", content: "Then let us look at ferries and trains." });
 *
 * const saved = conversation.save(); // JSON text: everything that was pushed, and what was done to it
 * using again = Conversation.load(saved);
 * console.log(again.length); // 3
 * ```
 */
export class Conversation<M = unknown> implements Disposable {
  #live: Live | undefined;
  readonly #messages: M[];

  constructor(options: ConversationOptions) {
    if ((options as unknown) instanceof Loaded) {
      const { live, messages } = options as unknown as Loaded;
      this.#live = live;
      this.#messages = messages as M[];
      return;
    }
    if (typeof options === "object" && options !== null && "state" in options) {
      throw new PalimpsestError("invalid_options", "A conversation keeps its state itself: load() takes what save() gave.");
    }
    const { plain, tools, counter } = crossing(options);
    this.#live = call("new Conversation()", (module) => new module.Live(plain, tools, counter()));
    this.#messages = [];
  }

  /**
   * A conversation that {@link Conversation.save} wrote, with the options it had. A tokenizer is not saved: give it again.
   *
   * @throws {@link PalimpsestError} `saved_damaged` for text that `save` did not write, or that was changed; `saved_newer` if a
   * later version of palimpsest wrote it.
   */
  static load<M = unknown>(saved: string, options: { tokenizer?: Tokenizer | TextCounter | undefined } = {}): Conversation<M> {
    if (typeof saved !== "string") throw new PalimpsestError("saved_damaged", "Expected the text that save() gave.");
    check(options, ["tokenizer"]);
    const live = call("Conversation.load()", (module) => module.Live.load(mended(saved), counterOf(options.tokenizer)));
    const { messages } = JSON.parse(saved) as { messages: unknown[] };
    return new Conversation<M>(new Loaded(live, messages) as unknown as ConversationOptions);
  }

  /** How many messages were pushed. */
  get length(): number {
    return this.#messages.length;
  }

  /** Everything that was pushed, oldest first. */
  get messages(): readonly M[] {
    return this.#messages;
  }

  /** Adds messages at the end: all of them, or none. Gives the new length. */
  push(...messages: M[]): number {
    const live = this.#open("push()");
    const text = toText(messages);
    call("Conversation.push()", () => live.push(text));
    for (const message of messages) this.#messages.push(message);
    return this.#messages.length;
  }

  /** Makes the list fit, as `compact` does. A list that fits comes back unchanged. */
  fit(): Fitted<M> {
    const live = this.#open("fit()");
    const { messages, report } = parsed(call("Conversation.fit()", () => live.fit()));
    return { messages: filled(messages, this.#messages), report };
  }

  /**
   * All of it as JSON text: every message, the options, and what {@link Conversation.fit} did last, with a version and a check
   * sum. It holds the users' words: store it like those.
   */
  save(): string {
    const live = this.#open("save()");
    return call("Conversation.save()", () => live.save());
  }

  /** Frees its memory. Later calls throw `closed`; calling it again does nothing. */
  [Symbol.dispose](): void {
    const live = this.#live;
    this.#live = undefined;
    live?.free();
  }

  #open(what: string): Live {
    if (this.#live === undefined) throw new PalimpsestError("closed", `${what} was called on a conversation that was disposed of.`);
    return this.#live;
  }
}
