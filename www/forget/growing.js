// A list that grows under a preset: what the package's `Conversation` does, without the code that reads options, goals and policies
// of one's own.

import { call, filled, toText, transcripts } from "./core.js";
import { counterOf } from "./counter.js";

class Growing {
  #made;
  #messages = [];

  constructor(made) {
    this.#made = made;
  }

  /** Adds messages at the end. */
  push(messages) {
    call("push()", () => this.#made.push(toText(messages)));
    this.#messages.push(...messages);
  }

  /** Makes the list fit: the messages to send, the report, and the layers among them. */
  fit() {
    const { messages, report, layers } = JSON.parse(call("fit()", () => this.#made.fit()));
    return { messages: filled(messages, this.#messages), report, layers };
  }

  free() {
    this.#made.free();
  }
}

/** Begins a list under a preset in a window of so many tokens. */
export async function grow(preset, window) {
  const part = await transcripts("grow()");
  return new Growing(call("grow()", () => part.growing(preset, window, counterOf())));
}
