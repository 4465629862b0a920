// The heads of all sessions, read from the ends of their segments: a list of sessions does not read the sessions.

import { open } from "node:fs/promises";
import { join } from "node:path";
import { touchesHead } from "./contents.js";
import { namesIn, statOf } from "./disk.js";
import { oldSessions } from "./older.js";
import { codeOf } from "./refusal.js";
import { beginningOf, lastLine, linesOf, nameOf, numberOf, type Line } from "./segment.js";
import { SessionLog } from "./session-log.js";

/** Sessions that are looked at together. */
const TOGETHER = 32;
/** Looks at a session that is being written anew. */
const LOOKS = 20;

interface Known {
  session: string;
  head: string | null;
  /** What the files looked like. */
  seen: string;
}

/** The heads of the sessions in a folder, as they were last looked at. */
export class Heads {
  readonly #folder: string;
  #known = new Map<string, Known>();
  #old = new Map<string, string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Sessions with their heads' values; `null` where there is none. */
  async read(): Promise<Map<string, string | null>> {
    const next = new Map<string, Known>();
    const places = await namesIn(join(this.#folder, "sessions"));
    for (let at = 0; at < places.length; at += TOGETHER) {
      await Promise.all(places.slice(at, at + TOGETHER).map(async (place) => {
        const found = await this.#look(place);
        if (found !== undefined) next.set(place, found);
      }));
    }
    this.#old = await oldSessions(this.#folder, this.#old);
    for (const [file, session] of this.#old) {
      const place = file.slice(0, -".jsonl".length);
      if (!next.has(place)) next.set(place, await this.#whole(place, session, `older ${await seenOf(join(this.#folder, file))}`));
    }
    this.#known = next;
    return new Map([...next.values()].map(({ session, head }) => [session, head]));
  }

  async #look(place: string): Promise<Known | undefined> {
    for (let looks = 0; looks < LOOKS; looks++) {
      try {
        return await this.#end(place);
      } catch (error) {
        if (codeOf(error) !== "ENOENT") throw error;
      }
    }
    return this.#known.get(place);
  }

  /** The head that the highest segment with a seal says. */
  async #end(place: string): Promise<Known | undefined> {
    const folder = join(this.#folder, "sessions", place);
    const numbers = (await namesIn(folder)).flatMap((name) => numberOf(name) ?? []).sort((a, b) => b - a);
    let session: string | undefined;
    for (const number of numbers) {
      const path = join(folder, nameOf(number));
      const seen = `${number} ${await seenOf(path)}`;
      const known = this.#known.get(place);
      if (known?.seen === seen) return known;
      const handle = await open(path, "r");
      try {
        const { header, seal, sealAt, end } = await beginningOf(handle);
        session = header?.session ?? session;
        if (seal === undefined || session === undefined) continue;
        const last = await lastLine(handle, end);
        let head = seal.head;
        if (last !== undefined) {
          const ops = last.line?.ops ?? [];
          const own = ops.some((op) => touchesHead(op, session as string));
          const [found] = own ? [last] : last.line?.h === sealAt ? [] : await linesOf<Line>(handle, last.line?.h ?? 0, last.end);
          const said = found?.line?.ops?.findLast((op) => touchesHead(op, session as string));
          const isSeal = !own && last.line?.h === sealAt;
          if (said !== undefined) head = "value" in said ? said.value : null;
          else if (!isSeal) return await this.#whole(place, session, seen);
        }
        if (seal.isDamaged === true) return await this.#whole(place, session, seen);
        return { session, head, seen };
      } finally {
        await handle.close();
      }
    }
    // claims that were never finished, perhaps of a session that has only its file of version 1
    if (session === undefined) return undefined;
    return this.#whole(place, session, `unsealed ${await seenOf(join(this.#folder, `${place}.jsonl`))}`);
  }

  /** The head of a session that has to be read whole for that. */
  async #whole(place: string, session: string, seen: string): Promise<Known> {
    const known = this.#known.get(place);
    if (known?.seen === seen) return known;
    const log = new SessionLog(this.#folder, session);
    try {
      await log.refresh();
      return { session, head: log.contents.head ?? null, seen };
    } catch {
      // who asks for it hears what is wrong with it; the others are as they were
      return { session, head: known?.head ?? null, seen };
    } finally {
      await log.close();
    }
  }
}

async function seenOf(path: string): Promise<string> {
  const found = await statOf(path);
  return found === undefined ? "" : `${found.ino} ${found.size} ${found.mtimeNs}`;
}
