// A library that is open: each function translates and calls the module's.

import { PalimpsestError } from "./errors.js";
import type { DeletedSession, Library, Loss, StoredHit, StoredSession } from "./library.js";
import { check, checkBoolean } from "./options.js";
import type { Instance } from "./instance.js";
import type { SessionHost } from "./session-host.js";
import { withCause } from "./session-options.js";
import type * as Exports from "./wasm/palimpsest_npm.js";

export class LiveLibrary implements Library {
  #inner: Exports.Library | undefined;
  readonly #module: Instance<typeof Exports>;
  readonly #host: SessionHost;

  constructor(inner: Exports.Library, module: Instance<typeof Exports>, host: SessionHost) {
    this.#inner = inner;
    this.#module = module;
    this.#host = host;
  }

  async sessions(): Promise<{ sessions: StoredSession[]; damaged: string[] }> {
    return this.#act((l) => l.sessions());
  }

  async deleted(): Promise<DeletedSession[]> {
    return this.#act((l) => l.deleted());
  }

  async rename(id: string, title: string): Promise<void> {
    await this.#act((l) => l.rename(text("id", id), text("title", title)));
  }

  async pin(id: string, pinned = true): Promise<void> {
    await this.#act((l) => l.pin(text("id", id), checkBoolean(pinned, "pinned")));
  }

  async tag(id: string, tags: readonly string[]): Promise<void> {
    if (!Array.isArray(tags)) throw new PalimpsestError("invalid_options", "tag() needs a list of tags.");
    await this.#act((l) => l.tag(text("id", id), tags.map((tag) => text("tags", tag))));
  }

  async duplicate(id: string, title?: string): Promise<string> {
    return this.#act((l) => l.duplicate(text("id", id), title === undefined ? undefined : text("title", title)));
  }

  async search(query: string, options: { limit?: number } = {}): Promise<StoredHit[]> {
    check(options, ["limit"]);
    return this.#act((l) => l.search(text("query", query), count(options.limit ?? 8)));
  }

  archive(id: string): Promise<string> {
    return this.#act((l) => l.archive(text("id", id)));
  }

  async restoreArchive(archive: string): Promise<{ id: string; became: "made" | "there" | "continued" | "beside" }> {
    return this.#act((l) => l.restoreArchive(text("archive", archive)));
  }

  async delete(id: string): Promise<void> {
    await this.#act((l) => l.delete(text("id", id)));
  }

  async restore(id: string): Promise<void> {
    await this.#act((l) => l.restore(text("id", id)));
  }

  async purge(id: string): Promise<{ released: number; kept: boolean }> {
    return this.#act((l) => l.purge(text("id", id)));
  }

  async salvage(id: string, format: "jsonl" | "markdown" | "json" = "jsonl"): Promise<{ text: string; losses: Loss[] }> {
    return this.#act((l) => l.salvage(text("id", id), text("format", format)));
  }

  close(): void {
    this.#inner?.free();
    this.#inner = undefined;
  }

  async #act<T>(use: (inner: Exports.Library) => Promise<T>): Promise<T> {
    const inner = this.#inner;
    if (inner === undefined) throw new PalimpsestError("closed", "This library is closed. Open it again with openLibrary().");
    try {
      return await this.#module.wait(this.#module.call("a library", () => use(inner)));
    } catch (error) {
      throw withCause(this.#module.own(error), this.#host);
    }
  }
}

/** A number of things. */
function count(limit: number): number {
  return limit >= 0 && limit < 2 ** 32 ? Math.floor(limit) : 0xffff_ffff;
}

/** What must be a text. */
function text(name: string, value: unknown): string {
  if (typeof value !== "string" || value === "") throw new PalimpsestError("invalid_options", `\`${name}\` must be a text that is not empty.`);
  return value;
}
