// Sessions in PostgreSQL, which any number of programs and machines share. `pool` is a Pool of the package `pg`.

import { checkWrite, decodeKey, encodeKey, keyRange, nextClaim, storageError } from "palimpsest/storage";

/** To be run once, by your migrations. */
export const TABLES = `
  CREATE TABLE IF NOT EXISTS palimpsest_rows (tab text, key bytea, value text NOT NULL, PRIMARY KEY (tab, key));
  CREATE TABLE IF NOT EXISTS palimpsest_epochs (session bytea PRIMARY KEY, epoch bigint NOT NULL);
`;

export function postgresStorage(pool) {
  /** One transaction, which has the session for itself. */
  async function alone(session, durability, work) {
    const client = await pool.connect();
    let broken;
    try {
      await client.query(`BEGIN; SET LOCAL synchronous_commit = ${durability === "strict" ? "on" : "off"}`);
      const name = Buffer.from(encodeKey([session]));
      await client.query("SELECT pg_advisory_xact_lock(hashtextextended(encode($1, 'hex'), 0))", [name]);
      const { rows } = await client.query(
        "SELECT (SELECT value FROM palimpsest_rows WHERE tab = 'heads' AND key = $1) AS head, (SELECT epoch FROM palimpsest_epochs WHERE session = $1) AS epoch",
        [name],
      );
      const { head, epoch } = rows[0];
      const done = await work(client, { head, epoch: epoch === null ? null : Number(epoch) }, name);
      await client.query("COMMIT");
      return done;
    } catch (error) {
      await client.query("ROLLBACK").catch((lost) => (broken = lost));
      throw error.code === "53100" ? storageError("storage_quota", error.message) : error;
    } finally {
      // a connection that cannot even roll back is not used again
      client.release(broken);
    }
  }

  async function change(client, op) {
    const { table } = op;
    if (op.op === "delete_prefix") {
      const { from, before } = keyRange(op);
      return client.query("DELETE FROM palimpsest_rows WHERE tab = $1 AND key >= $2 AND ($3::bytea IS NULL OR key < $3)", [table, Buffer.from(from), before && Buffer.from(before)]);
    }
    const key = Buffer.from(encodeKey(op.key));
    if (op.op === "delete") return client.query("DELETE FROM palimpsest_rows WHERE tab = $1 AND key = $2", [table, key]);
    const taken = op.op === "add" ? "NOTHING" : "UPDATE SET value = excluded.value";
    const { rowCount } = await client.query(`INSERT INTO palimpsest_rows VALUES ($1, $2, $3) ON CONFLICT (tab, key) DO ${taken}`, [table, key, op.value]);
    if (rowCount === 0) throw storageError("row_exists", `${table} ${JSON.stringify(op.key)}`);
  }

  return {
    // who holds a session elsewhere cannot be told: the newer claim wins, and the older one is refused as superseded
    claim: ({ session, takeOver }) =>
      alone(session, "strict", async (client, state, name) => {
        const { epoch, head } = nextClaim(state, takeOver);
        if (head !== undefined) await client.query("UPDATE palimpsest_rows SET value = $2 WHERE tab = 'heads' AND key = $1", [name, head]);
        else await client.query("INSERT INTO palimpsest_epochs VALUES ($1, $2) ON CONFLICT (session) DO UPDATE SET epoch = excluded.epoch", [name, epoch]);
        return { epoch };
      }),

    async read(query) {
      const { from, before } = query.query === "get" ? { from: encodeKey(query.key) } : keyRange(query);
      const where = query.query === "get" ? "key = $2" : "key >= $2 AND ($3::bytea IS NULL OR key < $3)";
      const values = [query.table, Buffer.from(from), ...(query.query === "get" ? [] : [before && Buffer.from(before)])];
      const limit = query.limit > 0 ? ` LIMIT ${Number(query.limit)}` : "";
      const { rows } = await pool.query(`SELECT key, value FROM palimpsest_rows WHERE tab = $1 AND ${where} ORDER BY key ${query.reverse ? "DESC" : "ASC"}${limit}`, values);
      return rows.map(({ key, value }) => ({ key: decodeKey(key), value }));
    },

    apply: (write) =>
      alone(write.lease.session, write.durability, async (client, state, name) => {
        const { endsEpoch } = checkWrite(state, write);
        for (const op of write.ops) await change(client, op);
        if (endsEpoch) await client.query("DELETE FROM palimpsest_epochs WHERE session = $1", [name]);
      }),
  };
}
