// What the app's module asks of us while it is mounted. Nothing here throws into the module.

import { parsed, type HostEvent, type Text } from "./border.js";
import { camel } from "./options.js";
import { SessionHost } from "./session-host.js";
import type { SessionEvent } from "./session.js";
import type { StorageAdapter, StorageChange, StorageLease } from "./storage.js";
import { exchange, type Exchange, type Transport } from "./transport.js";
import type { HostActions, SettingsStore } from "./view.js";
import { readVocabulary, type Reading } from "./vocabulary.js";

/** What a mounted app is told by the one who mounted it. */
export interface MountHostOptions {
  storage: StorageAdapter | undefined;
  transport: Transport | undefined;
  settings: SettingsStore | undefined;
  actions: HostActions;
  onEvent: ((event: SessionEvent) => void) | undefined;
  /** The app's module, compiled, if it could be. */
  code: WebAssembly.Module | undefined;
}

/** The host of a mounted app. */
export class MountHost extends SessionHost {
  /** Called when everything stands. */
  onReady: () => void = () => {};
  /** Called when the app wants to begin anew. */
  onAgain: () => void = () => {};
  /** Called when the app cannot go on. */
  onCrash: (text: string, detail: string) => void = () => {};

  readonly #options: MountHostOptions;
  /** Where there is no place for settings they last as long as the app. */
  readonly #entries = new Map<string, string>();
  /** The sessions that the app writes, with their epochs. */
  readonly #held = new Map<string, number>();
  #reading: Reading | undefined;

  constructor(options: MountHostOptions) {
    super(undefined, options.storage);
    this.#options = options;
    if (options.onEvent !== undefined) this.listen("*", options.onEvent);
  }

  /** The app tells its events as text. */
  override emit(event: HostEvent | Text<unknown>): void {
    super.emit(typeof event === "string" ? (camel(parsed(event)) as HostEvent) : event);
  }

  override async store(call: "claim" | "read" | "apply" | "release", given: string): Promise<string> {
    if (call !== "claim" && call !== "release") return super.store(call, given);
    const { session, epoch } = JSON.parse(given) as StorageLease;
    // until the answer is there, a claim that the storage tells of may be this one
    if (call === "claim" || this.#held.get(session) === epoch) this.#held.delete(session);
    const answer = await super.store(call, given);
    if (call === "claim") {
      const { Ok } = JSON.parse(answer) as { Ok?: { epoch?: unknown } };
      if (typeof Ok?.epoch === "number") this.#held.set(session, Ok.epoch);
    }
    return answer;
  }

  /** Whose a change is that the storage tells of: our own, somebody else's, or of one who took a session from us. */
  whose({ session, epoch }: StorageChange): "ours" | "theirs" | "taken" {
    const own = this.#held.get(session);
    if (own === undefined || epoch < own) return "theirs";
    if (epoch === own) return "ours";
    this.#held.delete(session);
    return "taken";
  }

  async used(): Promise<number | undefined> {
    try {
      return (await this.#options.storage?.estimate?.())?.used;
    } catch {
      return undefined;
    }
  }

  vocabulary(address: string, key: string, model: string): Promise<Uint8Array | string | null> {
    this.forget();
    const { code, transport } = this.#options;
    if (code === undefined) return Promise.resolve(null);
    this.#reading = readVocabulary({ code, address, key, model }, transport);
    return this.#reading.answer;
  }

  forget(): void {
    this.#reading?.stop();
    this.#reading = undefined;
  }

  get(name: string): string | undefined {
    try {
      return this.#entries.get(name) ?? this.#options.settings?.getItem(name) ?? undefined;
    } catch {
      return undefined;
    }
  }

  set(name: string, text: string | undefined): void {
    if (this.#options.settings === undefined) {
      if (text === undefined) this.#entries.delete(name);
      else this.#entries.set(name, text);
      return;
    }
    // a full or forbidden storage is no reason to stop: what was chosen lasts as long as the app then
    try {
      if (text === undefined) this.#options.settings.removeItem(name);
      else this.#options.settings.setItem(name, text);
      this.#entries.delete(name);
    } catch {
      if (text !== undefined) this.#entries.set(name, text);
    }
  }

  request(method: string, path: string, body: string): Exchange {
    const { transport } = this.#options;
    return exchange(transport ?? { request: () => Promise.reject(new Error("there is no transport")) }, method, path, body);
  }

  save(name: string, text: string): boolean {
    const { saveFile } = this.#options.actions;
    if (saveFile === undefined) return false;
    queueMicrotask(() => saveFile(name, text));
    return true;
  }

  async copy(text: string): Promise<boolean> {
    try {
      const { copy } = this.#options.actions;
      await (copy === undefined ? navigator.clipboard.writeText(text) : copy(text));
      return true;
    } catch {
      return false;
    }
  }

  ready(): void {
    queueMicrotask(() => this.onReady());
  }

  again(): void {
    // never while the module runs
    setTimeout(() => this.onAgain());
  }

  crashed(text: string, detail: string): void {
    this.onCrash(text, detail);
  }
}
