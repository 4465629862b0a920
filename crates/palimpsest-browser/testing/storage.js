// A whole storage of one's own, as the package's types describe it: three calls and a release, here over a Map.
// Everything a storage must decide is decided here, so another one can be made from it. The store contract runs on it.

/** Numbers before texts, texts as JavaScript compares them, a key before those that begin with it. */
function compare(a, b) {
  for (let i = 0; i < a.length && i < b.length; i++) {
    if (a[i] === b[i]) continue;
    if (typeof a[i] !== typeof b[i]) return typeof a[i] === "number" ? -1 : 1;
    return a[i] < b[i] ? -1 : 1;
  }
  return a.length - b.length;
}

const begins = (key, prefix) => prefix.every((part, i) => key[i] === part);
const address = (table, key) => JSON.stringify([table, key]);
const refuse = (code, message = code) => Object.assign(new Error(message), { code });

/** A head with what a storage looks at in it, or `null`. */
function numbers(value) {
  try {
    const head = JSON.parse(value);
    return Number.isInteger(head.epoch) && Number.isInteger(head.version) ? head : null;
  } catch {
    return null;
  }
}

/** The first epoch after a head that could not be read: far from any that was counted up. */
const AFTER_DAMAGE = 2 ** 30;

/** Sessions in memory. What it gives is a storage for `openSession`, and the rows to look at. */
export function memoryStorage() {
  const rows = new Map();
  const holders = new Map();
  const get = (table, key) => rows.get(address(table, key))?.value;
  /** A session's head: `undefined` if there is none, `null` if it cannot be read. */
  const head = (session) => {
    const value = get("heads", [session]);
    return value === undefined ? undefined : numbers(value);
  };
  /** The epoch of a session without a head is kept beside it. */
  const epochs = new Map();

  return {
    rows,
    async claim({ session, takeOver }) {
      if (holders.has(session) && !takeOver) throw refuse("session_busy");
      const now = head(session);
      if (now === null && !takeOver) throw refuse("storage_corrupt");
      const epoch = (now?.epoch ?? epochs.get(session) ?? (now === null ? AFTER_DAMAGE : 0)) + 1;
      if (!now) epochs.set(session, epoch);
      else rows.set(address("heads", [session]), { table: "heads", key: [session], value: JSON.stringify({ ...now, epoch }) });
      holders.set(session, epoch);
      return { epoch };
    },
    async read(query) {
      if (query.query === "get") {
        const value = get(query.table, query.key);
        return value === undefined ? [] : [{ key: query.key, value }];
      }
      const { table, prefix, from, to, reverse, limit } = query;
      const found = [...rows.values()].filter((row) => {
        if (row.table !== table || !begins(row.key, prefix)) return false;
        if (from === undefined && to === undefined) return true;
        const next = row.key[prefix.length];
        return typeof next === "number" && next >= (from ?? 0) && next <= (to ?? Infinity);
      });
      found.sort((a, b) => (reverse ? compare(b.key, a.key) : compare(a.key, b.key)));
      return found.slice(0, limit || undefined).map(({ key, value }) => ({ key, value }));
    },
    async apply({ lease: { session, epoch }, expect, ops }) {
      const now = head(session);
      const current = now?.epoch ?? epochs.get(session);
      if (now === null && (current === undefined || (current === epoch && expect))) throw refuse("storage_corrupt");
      if (current !== epoch) throw refuse("superseded");
      if (expect && expect.version !== (now?.version ?? null)) throw refuse("superseded");
      // all or none: what is written is seen only once everything could be
      const next = new Map(rows);
      let hasHead = false;
      for (const op of ops) {
        if (op.op === "delete_prefix") {
          for (const [at, row] of next) if (row.table === op.table && begins(row.key, op.prefix)) next.delete(at);
          continue;
        }
        const at = address(op.table, op.key);
        const isHead = op.value !== undefined && at === address("heads", [session]);
        // a head with another epoch would let two writers in
        if (isHead && numbers(op.value)?.epoch !== epoch) throw refuse("storage_failed", "a head of another epoch");
        hasHead ||= isHead;
        if (op.op === "delete") next.delete(at);
        else if (op.op === "add" && next.has(at)) throw refuse("row_exists", `${op.table} ${JSON.stringify(op.key)}`);
        else next.set(at, { table: op.table, key: op.key, value: op.value });
      }
      rows.clear();
      for (const [at, row] of next) rows.set(at, row);
      // from now on the head says whose it is; where it is deleted, nobody's
      if (hasHead) epochs.delete(session);
    },
    async release({ session, epoch }) {
      if (holders.get(session) === epoch) holders.delete(session);
    },
  };
}
