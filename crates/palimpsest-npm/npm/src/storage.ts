// Where sessions are kept, if not in IndexedDB: a storage of your own.

/** The tables of rows. */
export type StorageTable =
  | "messages"
  | "revisions"
  | "renditions"
  | "layers"
  | "notes"
  | "records"
  | "heads"
  | "snapshots"
  | "partials"
  | "jobs"
  | "blobs"
  | "tokenizers"
  | "log"
  | "meta";

/** A row's key: whole numbers and texts. Numbers sort before texts, texts as JavaScript compares them, a key before longer ones. */
export type StorageKey = (string | number)[];

/** A stored row. */
export interface StorageRow {
  key: StorageKey;
  /** JSON text. Give back the very text that was given. */
  value: string;
}

/** What to read. */
export type StorageQuery =
  | { query: "get"; table: StorageTable; key: StorageKey }
  | {
      /** The rows whose keys begin with `prefix`, in the order of their keys. */
      query: "range";
      table: StorageTable;
      prefix: StorageKey;
      /** Only keys whose next part is a number, at least this one. */
      from?: number;
      /** Only keys whose next part is a number, at most this one. */
      to?: number;
      /** The last one first. */
      reverse: boolean;
      /** At most so many; 0 for all. */
      limit: number;
    };

/** One operation of a write, in order. `add` is refused with `row_exists` where the key is taken. */
export type StorageOp =
  | { op: "add" | "put"; table: StorageTable; key: StorageKey; value: string }
  | { op: "delete"; table: StorageTable; key: StorageKey }
  | { op: "delete_prefix"; table: StorageTable; prefix: StorageKey };

/** Who writes. */
export interface StorageLease {
  session: string;
  epoch: number;
}

/** A write: all operations, or none. */
export interface StorageWrite {
  lease: StorageLease;
  /** If there: the head must have this `version`; `null` means that there must be no head yet. Else `superseded`. */
  expect: { version: number | null } | null;
  ops: StorageOp[];
  /** `strict`: on the disk before the promise resolves. `relaxed`: may be lost in a power failure. */
  durability: "strict" | "relaxed";
}

/** A change of a session that somebody else has made. */
export interface StorageChange {
  session: string;
  /** The epoch of who made it: higher than that of who held the session before, if it was taken over. */
  epoch: number;
}

/**
 * A storage of your own: three calls, and others that may be left out. Only `heads` change; everything else is added
 * once. A session's head is the row `[session]` of `heads`; its value is an object with the numbers `epoch` and
 * `version`.
 *
 * Refuse with an error that has one of these codes: `session_busy`, `superseded`, `row_exists`, `storage_quota`,
 * `storage_newer`, `storage_unavailable`, `storage_corrupt`. Anything else that is thrown becomes `storage_failed`, with it
 * as the cause. `palimpsest/testing` holds a storage against everything that is said here, and `palimpsest/storage` has what one over a
 * database needs: keys as bytes, and the rules of who may write.
 */
export interface StorageAdapter {
  /**
   * The right to write a session: its epoch grows by one. If there is a head, the new epoch is written into it, and
   * nothing else of it changes; if not, it is kept until a head with it is written. While another holder is alive it is
   * `session_busy`, unless `takeOver`. A storage that cannot tell answers with the next epoch: the older holder is then
   * refused as `superseded`.
   */
  claim(given: { session: string; takeOver: boolean }): Promise<{ epoch: number }>;
  /** Rows. What is not there is no error. */
  read(query: StorageQuery): Promise<StorageRow[]>;
  /** Writes. If the session's epoch is not the lease's, nothing is written: `superseded`. */
  apply(write: StorageWrite): Promise<unknown>;
  /** The session is not written any more. */
  release?(lease: StorageLease): Promise<unknown>;
  /**
   * Tells of sessions that were written or claimed by others who use the same storage; one's own changes may be among them. A
   * mounted app then shows what they wrote, and reads along where it had written. @returns what ends it.
   */
  watch?(heard: (change: StorageChange) => void): () => void;
  /** How many bytes it takes, to be shown; `null` if that is not known. */
  estimate?(): Promise<{ used: number } | null>;
}
