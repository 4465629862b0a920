// The sessions of a storage as a whole: what they are, without the code behind them, which is loaded when it is opened.

import type { SearchHit } from "./session.js";
import type { StorageAdapter } from "./storage.js";

/** Which storage: the same options as those of a session. */
export interface LibraryOptions {
  /** Where the sessions are kept: the browser's `indexeddb` if not said, or a storage of yours. */
  store?: "indexeddb" | StorageAdapter;
  /** The name of the database in IndexedDB; `palimpsest` if not said, which is the chat app's too. */
  database?: string;
  /** Ends the opening. */
  signal?: AbortSignal;
}

/** A stored session in a list. */
export interface StoredSession {
  id: string;
  title: string;
  model: string;
  /** The window in tokens. */
  window: number;
  /** Messages on the current path. */
  messages: number;
  /** Tokens of the window at the last commit. */
  tokens: number;
  /** It stands first. */
  pinned: boolean;
  /** The words under which a person finds it, sorted. */
  tags: string[];
  /** When it began; milliseconds since 1970. */
  created: number;
  /** When it was last written; milliseconds since 1970. */
  updated: number;
}

/** A passage that was found in one of the sessions. */
export interface StoredHit extends SearchHit {
  /** The session's identifier. */
  session: string;
  /** Its title. */
  title: string;
}

/** A deleted session that can be brought back. */
export interface DeletedSession extends StoredSession {
  /** When it was deleted; milliseconds since 1970. */
  deleted: number;
  /** Days in which it can still be brought back, 30 at most; 0 where it is removed at one of the next calls. */
  daysLeft: number;
}

/** Something of a session that cannot be read. Its row stays as it is. */
export interface Loss {
  /**
   * `damaged`: a row is there and cannot be read. `missing`: it is named and not there. `text`: a large text of message `n`.
   * `head`: what lists show; it was made anew. `other`: see `message`.
   */
  what: "damaged" | "missing" | "text" | "head" | "other";
  /** The table of the row. */
  table?: string;
  /** The row's number in it; of a message and its shorter form the message's number. */
  n?: number;
  /** The same in words. */
  message: string;
}

/** The sessions of one storage. It holds no session: one that is open elsewhere is `session_busy` for what would write it. */
export interface Library {
  /**
   * The sessions that are not deleted, those that stand first before those last used; and the identifiers of sessions
   * whose head cannot be read, so that no list can show more of them: `openSession` and `salvage` take those, too. Sessions
   * that were deleted more than 30 days ago are removed for good here and in `deleted`, a few at each call.
   */
  sessions(): Promise<{ sessions: StoredSession[]; damaged: string[] }>;
  /** The deleted sessions that can be brought back. */
  deleted(): Promise<DeletedSession[]>;
  /** Gives a session another title. */
  rename(id: string, title: string): Promise<void>;
  /** Puts a session first, or (`false`) back among the others. */
  pin(id: string, pinned?: boolean): Promise<void>;
  /**
   * Gives a session these tags instead of those that it has: at most eight, of at most 40 characters each, else `invalid_setting`. Space
   * around them goes, and each counts once whatever its case.
   */
  tag(id: string, tags: readonly string[]): Promise<void>;
  /**
   * Makes a second session of one with everything that it holds: messages, layers, branches, snapshots.
   *
   * @returns its identifier.
   */
  duplicate(id: string, title?: string): Promise<string>;
  /** Passages of every session that is not deleted, the best first; 8 if `limit` does not say otherwise. */
  search(query: string, options?: { limit?: number }): Promise<StoredHit[]>;
  /** Everything of a session as text, for a backup: messages, layers, branches, snapshots, log. */
  archive(id: string): Promise<string>;
  /**
   * Brings a session back from its archive. You answer for the archive: what it holds counts as the user's own. Nothing that is there
   * is lost: `there` if the session has all of it already, `continued` if the archive went on from it, `beside` if the two went
   * different ways and the archive is another session now.
   */
  restoreArchive(archive: string): Promise<{ id: string; became: "made" | "there" | "continued" | "beside" }>;
  /** Deletes a session. It can be brought back for 30 days. */
  delete(id: string): Promise<void>;
  /** Brings a deleted session back. */
  restore(id: string): Promise<void>;
  /**
   * Removes a session for good, at once, deleted before or not. `released` large texts went with it. `kept`: a message could
   * not be read, so nobody knows whose the large texts are, and all of them stay.
   */
  purge(id: string): Promise<{ released: number; kept: boolean }>;
  /**
   * What can be read of a session, as a file that `openSession({ file })` takes, and what could not. Lost messages are marked
   * in their places. Writes nothing, and works while the session is open elsewhere.
   */
  salvage(id: string, format?: "jsonl" | "markdown" | "json"): Promise<{ text: string; losses: Loss[] }>;
  /** Gives the storage back. */
  close(): void;
}
