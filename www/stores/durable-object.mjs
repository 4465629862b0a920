// Sessions in a Durable Object of Cloudflare's, on its SQLite. One object holds one session, or a library of sessions: all that has the
// same name is in one place, and whoever writes asks it.
//
//   wrangler.toml   [[durable_objects.bindings]] name = "SESSIONS", class_name = "PalimpsestStore"
//                   [[migrations]] tag = "v1", new_sqlite_classes = ["PalimpsestStore"]
//
// Inside of the object use `durableObjectStorage(this.ctx.storage)`; from a worker `remoteStorage(env.SESSIONS.getByName("japan"))`.

import { DurableObject } from "cloudflare:workers";
import { checkWrite, decodeKey, encodeKey, keyRange, nextClaim, storageError } from "palimpsest/storage";

/** The object: a storage that workers call. */
export class PalimpsestStore extends DurableObject {
  #storage;

  constructor(ctx, env) {
    super(ctx, env);
    this.#storage = durableObjectStorage(ctx.storage);
  }

  claim(claim) {
    return answered(() => this.#storage.claim(claim));
  }

  read(query) {
    return answered(() => this.#storage.read(query));
  }

  apply(write) {
    return answered(() => this.#storage.apply(write));
  }
}

/** An error's code does not survive the call from one to the other: it goes as a value. */
async function answered(work) {
  try {
    return { done: await work() };
  } catch (error) {
    return { code: error.code ?? "storage_failed", message: error.message };
  }
}

/** The storage of an object, for a worker. `stub` is what the binding gives for the object's name. */
export function remoteStorage(stub) {
  const ask = async (call) => {
    const { done, code, message } = await call;
    if (code !== undefined) throw storageError(code, message);
    return done;
  };
  return { claim: (claim) => ask(stub.claim(claim)), read: (query) => ask(stub.read(query)), apply: (write) => ask(stub.apply(write)) };
}

/** The storage inside of an object. `storage` is its `ctx.storage`. */
export function durableObjectStorage(storage) {
  const { sql } = storage;
  sql.exec("CREATE TABLE IF NOT EXISTS palimpsest_rows (tab TEXT, key BLOB, value TEXT NOT NULL, PRIMARY KEY (tab, key)) WITHOUT ROWID");
  sql.exec("CREATE TABLE IF NOT EXISTS palimpsest_epochs (session BLOB PRIMARY KEY, epoch INTEGER NOT NULL)");
  /** SQLite takes bytes as a buffer of their own. */
  const blob = (bytes) => bytes.slice().buffer;
  const name = (session) => blob(encodeKey([session]));
  const first = (query, ...values) => sql.exec(query, ...values).toArray()[0];

  function stateOf(session) {
    return {
      head: first("SELECT value FROM palimpsest_rows WHERE tab = 'heads' AND key = ?", name(session))?.value,
      epoch: first("SELECT epoch FROM palimpsest_epochs WHERE session = ?", name(session))?.epoch,
    };
  }

  function change(op) {
    const { table } = op;
    if (op.op === "delete_prefix") {
      const { from, before } = keyRange(op);
      if (before === null) return sql.exec("DELETE FROM palimpsest_rows WHERE tab = ? AND key >= ?", table, blob(from));
      return sql.exec("DELETE FROM palimpsest_rows WHERE tab = ? AND key >= ? AND key < ?", table, blob(from), blob(before));
    }
    const key = blob(encodeKey(op.key));
    if (op.op === "delete") return sql.exec("DELETE FROM palimpsest_rows WHERE tab = ? AND key = ?", table, key);
    const taken = op.op === "add" ? "NOTHING" : "UPDATE SET value = excluded.value";
    const { rowsWritten } = sql.exec(`INSERT INTO palimpsest_rows VALUES (?, ?, ?) ON CONFLICT (tab, key) DO ${taken}`, table, key, op.value);
    if (rowsWritten === 0) throw storageError("row_exists", `${table} ${JSON.stringify(op.key)}`);
  }

  return {
    // who holds a session elsewhere cannot be told: the newer claim wins, and the older one is refused as superseded
    claim: async ({ session, takeOver }) =>
      storage.transactionSync(() => {
        const { epoch, head } = nextClaim(stateOf(session), takeOver);
        if (head !== undefined) sql.exec("UPDATE palimpsest_rows SET value = ? WHERE tab = 'heads' AND key = ?", head, name(session));
        else sql.exec("INSERT INTO palimpsest_epochs VALUES (?, ?) ON CONFLICT (session) DO UPDATE SET epoch = excluded.epoch", name(session), epoch);
        return { epoch };
      }),

    async read(query) {
      const { from, before } = query.query === "get" ? { from: encodeKey(query.key), before: null } : keyRange(query);
      const where = query.query === "get" ? "key = ?" : before === null ? "key >= ?" : "key >= ? AND key < ?";
      const limit = query.limit > 0 ? ` LIMIT ${Number(query.limit)}` : "";
      const rows = sql.exec(`SELECT key, value FROM palimpsest_rows WHERE tab = ? AND ${where} ORDER BY key ${query.reverse ? "DESC" : "ASC"}${limit}`, query.table, blob(from), ...(before === null ? [] : [blob(before)]));
      return rows.toArray().map(({ key, value }) => ({ key: decodeKey(new Uint8Array(key)), value }));
    },

    async apply(write) {
      const { session } = write.lease;
      storage.transactionSync(() => {
        const { endsEpoch } = checkWrite(stateOf(session), write);
        for (const op of write.ops) change(op);
        if (endsEpoch) sql.exec("DELETE FROM palimpsest_epochs WHERE session = ?", name(session));
      });
      // what was written is on the disk of more than one machine
      if (write.durability === "strict") await storage.sync();
    },
  };
}
