// Sessions in one file of SQLite, by the module that Node itself has.

import { checkWrite, decodeKey, encodeKey, keyRange, nextClaim, storageError, type SessionState } from "./storage-kit.js";
import type { StorageAdapter, StorageLease, StorageOp, StorageQuery, StorageRow, StorageWrite } from "./storage.js";

/** A storage in a file of SQLite. */
export interface SqliteStorage extends StorageAdapter {
  /** Closes the file. */
  close(): void;
}

/** What `node:sqlite` has of a database, as far as it is used. */
interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

interface Statement {
  get(...values: unknown[]): Record<string, unknown> | undefined;
  all(...values: unknown[]): Record<string, unknown>[];
  run(...values: unknown[]): { changes: number | bigint };
}

/** The version of the tables. */
const VERSION = 1;

const TABLES = `
  CREATE TABLE IF NOT EXISTS rows (tab TEXT NOT NULL, key BLOB NOT NULL, value TEXT NOT NULL, PRIMARY KEY (tab, key)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS epochs (session BLOB PRIMARY KEY, epoch INTEGER NOT NULL) WITHOUT ROWID;
`;

/** Milliseconds to wait for another program's write. */
const PATIENCE = 10_000;

/**
 * Sessions in one file of SQLite, which is made if it is not there. Needs Node 22.13 or newer, which has `node:sqlite`. Several programs
 * may use one file. Within one program a session is opened by one at a time; a program that opens a session which another one
 * writes takes it over, and the other one is refused with `superseded` from then on.
 *
 * @throws `storage_unavailable` where there is no `node:sqlite`, or the file cannot be opened; `storage_newer` for a file of a
 * newer version of palimpsest
 *
 * @example
 * ```ts
 * import { openSession } from "palimpsest";
 * import { sqliteStorage } from "palimpsest/node";
 *
 * const store = sqliteStorage("/tmp/sessions.db");
 * await using session = await openSession({ id: "japan", model: "any", store });
 * ```
 */
export function sqliteStorage(file: string): SqliteStorage {
  return new Sqlite(opened(file));
}

function opened(file: string): Database {
  const modules = (globalThis as { process?: { getBuiltinModule?(name: string): unknown } }).process;
  const sqlite = modules?.getBuiltinModule?.("node:sqlite") as { DatabaseSync: new (file: string) => Database } | undefined;
  if (sqlite === undefined) throw storageError("storage_unavailable", "There is no node:sqlite here: it came with Node 22.13. fileStorage() works in older ones.");
  try {
    const database = new sqlite.DatabaseSync(file);
    database.exec(`PRAGMA busy_timeout = ${PATIENCE}; PRAGMA journal_mode = WAL;`);
    const version = Number(database.prepare("PRAGMA user_version").get()?.["user_version"] ?? 0);
    if (version > VERSION) {
      database.close();
      throw storageError("storage_newer", `${file} was written by a newer version of palimpsest`);
    }
    database.exec(`${TABLES} PRAGMA user_version = ${VERSION};`);
    return database;
  } catch (error) {
    throw meaning(error);
  }
}

/** A failure of SQLite's with a code of ours, where there is one for it. */
function meaning(error: unknown): unknown {
  const { code, errcode, message } = error as { code?: unknown; errcode?: number; message?: string };
  if (code !== "ERR_SQLITE_ERROR" || errcode === undefined) return error;
  const primary = errcode & 255;
  if (primary === 13) return storageError("storage_quota", message);
  if (primary === 11 || primary === 26) return storageError("storage_corrupt", message);
  if (primary === 3 || primary === 8 || primary === 14 || primary === 23) return storageError("storage_unavailable", message);
  return error;
}

class Sqlite implements SqliteStorage {
  readonly #database: Database;
  readonly #statements = new Map<string, Statement>();
  readonly #holders = new Map<string, number>();
  #durability = "";

  constructor(database: Database) {
    this.#database = database;
  }

  async claim({ session, takeOver }: { session: string; takeOver: boolean }): Promise<{ epoch: number }> {
    if (this.#holders.has(session) && !takeOver) throw storageError("session_busy");
    const epoch = this.#written("strict", () => {
      const { epoch, head } = nextClaim(this.#state(session), takeOver);
      if (head === undefined) this.#run("INSERT INTO epochs VALUES (?, ?) ON CONFLICT DO UPDATE SET epoch = excluded.epoch", encodeKey([session]), epoch);
      else this.#run("UPDATE rows SET value = ? WHERE tab = 'heads' AND key = ?", head, encodeKey([session]));
      return epoch;
    });
    this.#holders.set(session, epoch);
    return { epoch };
  }

  async read(query: StorageQuery): Promise<StorageRow[]> {
    try {
      if (query.query === "get") {
        const row = this.#prepared("SELECT value FROM rows WHERE tab = ? AND key = ?").get(query.table, encodeKey(query.key));
        return row === undefined ? [] : [{ key: query.key, value: String(row["value"]) }];
      }
      const { from, before } = keyRange(query);
      const end = before === null ? "" : " AND key < ?";
      const sql = `SELECT key, value FROM rows WHERE tab = ? AND key >= ?${end} ORDER BY key ${query.reverse ? "DESC" : "ASC"} LIMIT ?`;
      const values = [query.table, from, ...(before === null ? [] : [before]), query.limit > 0 ? query.limit : -1];
      return this.#prepared(sql).all(...values).map((row) => ({ key: decodeKey(row["key"] as Uint8Array), value: String(row["value"]) }));
    } catch (error) {
      throw meaning(error);
    }
  }

  async apply(write: StorageWrite): Promise<{ rows: number }> {
    const { session } = write.lease;
    return this.#written(write.durability, () => {
      const { endsEpoch } = checkWrite(this.#state(session), write);
      let rows = 0;
      for (const op of write.ops) rows += this.#change(op);
      if (endsEpoch) this.#run("DELETE FROM epochs WHERE session = ?", encodeKey([session]));
      return { rows };
    });
  }

  async release({ session, epoch }: StorageLease): Promise<void> {
    if (this.#holders.get(session) === epoch) this.#holders.delete(session);
  }

  async estimate(): Promise<{ used: number }> {
    const pages = this.#prepared("SELECT page_count * page_size AS used FROM pragma_page_count(), pragma_page_size()").get();
    return { used: Number(pages?.["used"] ?? 0) };
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }

  #state(session: string): SessionState {
    const head = this.#prepared("SELECT value FROM rows WHERE tab = 'heads' AND key = ?").get(encodeKey([session]));
    const kept = this.#prepared("SELECT epoch FROM epochs WHERE session = ?").get(encodeKey([session]));
    return { head: head && String(head["value"]), epoch: kept && Number(kept["epoch"]) };
  }

  /** @returns how many rows were written or removed */
  #change(op: StorageOp): number {
    const { table } = op;
    if (op.op === "delete") return this.#run("DELETE FROM rows WHERE tab = ? AND key = ?", table, encodeKey(op.key));
    if (op.op !== "delete_prefix") {
      const taken = op.op === "add" ? "NOTHING" : "UPDATE SET value = excluded.value";
      const written = this.#run(`INSERT INTO rows VALUES (?, ?, ?) ON CONFLICT DO ${taken}`, table, encodeKey(op.key), op.value);
      if (written === 0) throw storageError("row_exists", `${table} ${JSON.stringify(op.key)}`);
      return written;
    }
    const { from, before } = keyRange(op);
    return before === null
      ? this.#run("DELETE FROM rows WHERE tab = ? AND key >= ?", table, from)
      : this.#run("DELETE FROM rows WHERE tab = ? AND key >= ? AND key < ?", table, from, before);
  }

  /** All of it, or nothing. */
  #written<T>(durability: StorageWrite["durability"], work: () => T): T {
    try {
      // in a write-ahead log only FULL waits for the disk; it cannot be set inside of a transaction
      if (durability !== this.#durability) this.#database.exec(`PRAGMA synchronous = ${durability === "strict" ? "FULL" : "NORMAL"}`);
      this.#durability = durability;
      this.#database.exec("BEGIN IMMEDIATE");
      try {
        const result = work();
        this.#database.exec("COMMIT");
        return result;
      } catch (error) {
        this.#database.exec("ROLLBACK");
        throw error;
      }
    } catch (error) {
      throw meaning(error);
    }
  }

  #run(sql: string, ...values: unknown[]): number {
    return Number(this.#prepared(sql).run(...values).changes);
  }

  #prepared(sql: string): Statement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) this.#statements.set(sql, (statement = this.#database.prepare(sql)));
    return statement;
  }
}
