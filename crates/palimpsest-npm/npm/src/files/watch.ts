// Tells of sessions that somebody has written. Who changes a head rings: one small file, so that who listens looks at that alone
// while nothing happens. A ring that was lost with its program is made up for by a look at everything now and then.

import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { StorageChange } from "../storage.js";
import { numbersOf } from "./contents.js";
import { statOf } from "./disk.js";

/** Milliseconds between two looks. */
const LOOK = 1000;
/** Looks after which the sessions are looked at even if nobody has rung. */
const ANYWAY = 10;

/** Who listens, and what they were told. */
export class Watch {
  readonly #bell: string;
  readonly #heads: () => Promise<Map<string, string | null>>;
  readonly #listening = new Set<(change: StorageChange) => void>();
  readonly #told = new Map<string, string | null>();
  #timer: ReturnType<typeof setInterval> | undefined;
  #rung = "";
  #looks = 0;

  /** `heads` gives the sessions' heads. */
  constructor(folder: string, heads: () => Promise<Map<string, string | null>>) {
    this.#bell = join(folder, "changes");
    this.#heads = heads;
  }

  /** Calls `heard` when a head has become another. @returns what ends it. */
  listen(heard: (change: StorageChange) => void): () => void {
    // the same function may listen twice
    const own = (change: StorageChange): void => heard(change);
    this.#listening.add(own);
    if (this.#timer === undefined) {
      // what is there already is no news
      this.#heads().then((heads) => { for (const [session, head] of heads) this.#told.set(session, head); }).catch(() => {});
      this.#timer = setInterval(() => { this.#look().catch(() => {}); }, LOOK);
      // a program is not kept alive by it
      (this.#timer as { unref?(): void }).unref?.();
    }
    return () => {
      this.#listening.delete(own);
      if (this.#listening.size === 0) this.stop();
    };
  }

  stop(): void {
    this.#listening.clear();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** A head of this program's making. */
  async ring(session: string, head: string | null): Promise<void> {
    this.#tell(session, head);
    // what was written counts, also where nobody can be told of it at once
    await writeFile(this.#bell, randomUUID(), { flag: "w" }).catch(() => {});
  }

  async #look(): Promise<void> {
    const found = await statOf(this.#bell);
    const rung = found === undefined ? "" : `${found.ino} ${found.mtimeNs}`;
    this.#looks += 1;
    if (rung === this.#rung && this.#looks % ANYWAY !== 0) return;
    this.#rung = rung;
    for (const [session, head] of await this.#heads()) this.#tell(session, head);
  }

  #tell(session: string, head: string | null): void {
    if (this.#listening.size === 0 || this.#told.get(session) === head) return;
    this.#told.set(session, head);
    const epoch = numbersOf(head)?.epoch;
    if (epoch === undefined) return;
    // later: who has just claimed it learns of the epoch first
    for (const heard of this.#listening) setTimeout(() => { if (this.#listening.has(heard)) heard({ session, epoch }); });
  }
}
