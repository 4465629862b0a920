// What every storage must do, as cases that run against anybody's: without a test framework, and without a model.

import { check } from "./options.js";
import type { StorageAdapter, StorageKey, StorageLease, StorageOp, StorageQuery, StorageRow, StorageTable } from "./storage.js";

export type { StorageAdapter } from "./storage.js";

/** How one case ended. */
export interface ContractCase {
  /** What the storage must do. */
  name: string;
  /** What it did instead; nothing if the case holds. */
  failure?: string;
}

/** How the cases ended. */
export interface ContractReport {
  cases: ContractCase[];
  /** How many hold. */
  passed: number;
  /** How many do not. */
  failed: number;
}

/** What a storage is known not to do. */
export interface ContractOptions {
  /**
   * Whether it can tell that a holder is alive: `"refuse"` if it refuses another claim with `session_busy`, `"supersede"` if it answers
   * every claim with the next epoch. `"refuse"` if not said.
   */
  claims?: "refuse" | "supersede";
  /** Called with each storage when its case is over. */
  close?: (storage: StorageAdapter) => unknown;
}

/**
 * Runs every case, each on an empty storage of its own that `make` gives.
 *
 * @example
 * ```ts
 * import { sqliteStorage } from "palimpsest/node";
 * import { storageContract } from "palimpsest/testing";
 *
 * const report = await storageContract(() => sqliteStorage(":memory:"));
 * for (const { name, failure } of report.cases) console.log(failure ? `not ok: ${name}: ${failure}` : `ok: ${name}`);
 * ```
 */
export async function storageContract(make: () => StorageAdapter | Promise<StorageAdapter>, options: ContractOptions = {}): Promise<ContractReport> {
  check(options, ["claims", "close"]);
  const cases: ContractCase[] = [];
  for (const [name, holds] of Object.entries(CASES)) {
    const store = await make();
    try {
      await holds(new Hands(store), options.claims ?? "refuse");
      cases.push({ name });
    } catch (error) {
      cases.push({ name, failure: error instanceof Error ? error.message : String(error) });
    } finally {
      await options.close?.(store);
    }
  }
  const failed = cases.filter((one) => one.failure !== undefined).length;
  return { cases, passed: cases.length - failed, failed };
}

/**
 * The same, for a test: it throws if a case does not hold, and the error names all that do not.
 *
 * @example
 * ```ts
 * import { sqliteStorage } from "palimpsest/node";
 * import { checkStorage } from "palimpsest/testing";
 *
 * declare function test(name: string, work: () => Promise<void>): void; // of node:test, Vitest, Jest
 * test("the storage", () => checkStorage(() => sqliteStorage(":memory:")));
 * ```
 */
export async function checkStorage(make: () => StorageAdapter | Promise<StorageAdapter>, options: ContractOptions = {}): Promise<void> {
  const { cases, failed } = await storageContract(make, options);
  if (failed === 0) return;
  const lines = cases.filter((one) => one.failure !== undefined).map(({ name, failure }) => `\n  ${name}: ${failure}`);
  throw new Error(`The storage does not hold ${failed} of ${cases.length} cases:${lines.join("")}`);
}

const TABLES: readonly StorageTable[] = ["messages", "revisions", "renditions", "layers", "notes", "records", "heads", "snapshots", "partials", "jobs", "blobs", "tokenizers", "log", "meta"];

const all = (table: StorageTable, ...prefix: StorageKey): StorageQuery => ({ query: "range", table, prefix, reverse: false, limit: 0 });
const add = (table: StorageTable, key: StorageKey, value: string): StorageOp => ({ op: "add", table, key, value });
const put = (table: StorageTable, key: StorageKey, value: string): StorageOp => ({ op: "put", table, key, value });
const head = (epoch: number, version: number): string => JSON.stringify({ epoch, version });

function same(what: string, got: unknown, expected: unknown): void {
  const [a, b] = [JSON.stringify(got), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${what}: got ${short(a)}, expected ${short(b)}`);
}

const short = (text: string | undefined): string => (text === undefined ? "nothing" : text.length > 400 ? `${text.slice(0, 400)}…` : text);

/** A storage, and what the cases do with it. */
class Hands {
  readonly store: StorageAdapter;

  constructor(store: StorageAdapter) {
    this.store = store;
  }

  async claim(session: string, takeOver = false): Promise<StorageLease> {
    const { epoch } = await this.store.claim({ session, takeOver });
    return { session, epoch };
  }

  /** A claimed session with a head of version 1. */
  async begin(session: string): Promise<StorageLease> {
    const lease = await this.claim(session);
    await this.write(lease, put("heads", [session], head(lease.epoch, 1)));
    return lease;
  }

  async write(lease: StorageLease, ...ops: StorageOp[]): Promise<void> {
    await this.store.apply({ lease, expect: null, ops, durability: "relaxed" });
  }

  async values(query: StorageQuery): Promise<string[]> {
    return (await this.store.read(query)).map((row) => row.value);
  }

  async keys(query: StorageQuery): Promise<StorageKey[]> {
    return (await this.store.read(query)).map((row) => row.key);
  }

  async everything(): Promise<[StorageTable, StorageRow][]> {
    const rows: [StorageTable, StorageRow][] = [];
    for (const table of TABLES) rows.push(...(await this.store.read(all(table))).map((row): [StorageTable, StorageRow] => [table, row]));
    return rows;
  }

  async release(lease: StorageLease): Promise<void> {
    await this.store.release?.(lease);
  }

  /** Something is refused, with one of these codes; any error will do for `storage_failed`. */
  async refused(what: string, code: string, work: Promise<unknown>): Promise<Error> {
    let given: unknown;
    try {
      given = await work;
    } catch (error) {
      const found = (error as { code?: unknown } | null)?.code;
      if (code === "storage_failed" ? found === undefined || found === code || !CODES.has(String(found)) : found === code) return error as Error;
      throw new Error(`${what}: refused with ${String(found)} (${error instanceof Error ? error.message : String(error)}), expected ${code}`);
    }
    throw new Error(`${what}: got ${short(JSON.stringify(given))}, expected the code ${code}`);
  }
}

const CODES = new Set(["session_busy", "superseded", "row_exists", "storage_quota", "storage_newer", "storage_unavailable", "storage_corrupt"]);

type Case = (hands: Hands, claims: "refuse" | "supersede") => Promise<void>;

const CASES: Readonly<Record<string, Case>> = {
  async "an empty store has no rows"(hands) {
    for (const table of TABLES) {
      same("rows", await hands.values(all(table)), []);
      same("row", await hands.values({ query: "get", table, key: ["s", 1] }), []);
    }
  },

  async "what is written is read back unchanged"(hands) {
    const session = "ключ 鍵 \u0000 '\"";
    const lease = await hands.begin(session);
    const values = [String.raw`{"text":"a\u0000b \ud83d é 漢字 👩‍👩‍👧 \u2028"}`, '""', "0", `"${"z".repeat(300_000)}"`];
    for (const [n, value] of values.entries()) {
      await hands.write(lease, add("messages", [session, n], value));
      same("row", await hands.store.read({ query: "get", table: "messages", key: [session, n] }).then((rows) => rows.map(({ key, value }) => [key, value])), [[[session, n], value]]);
    }
    same("keys", await hands.keys(all("messages", session)), values.map((_, n) => [session, n]));
  },

  async "a row that must be new is not overwritten"(hands) {
    const lease = await hands.begin("s");
    await hands.write(lease, add("messages", ["s", 1], "1"));
    await hands.refused("adding a row twice", "row_exists", hands.write(lease, add("messages", ["s", 1], "2")));
    same("row", await hands.values(all("messages")), ["1"]);
  },

  async "a failing batch leaves nothing behind"(hands) {
    const lease = await hands.begin("s");
    await hands.write(lease, ...[0, 1, 2].map((n) => add("messages", ["s", n], '"old"')));
    const before = await hands.everything();
    const ops: StorageOp[] = [
      add("messages", ["s", 7], '"new"'),
      put("messages", ["s", 0], '"new"'),
      { op: "delete", table: "messages", key: ["s", 1] },
      add("revisions", ["s", 1], '"new"'),
      { op: "delete_prefix", table: "heads", prefix: [] },
      add("messages", ["s", 2], '"taken"'),
      add("messages", ["s", 8], '"new"'),
    ];
    for (const durability of ["relaxed", "strict"] as const) {
      await hands.refused("the batch", "row_exists", hands.store.apply({ lease, expect: null, ops, durability }));
      same("rows", await hands.everything(), before);
    }
    // the lease is as good as before
    await hands.write(lease, add("messages", ["s", 7], "1"));
  },

  async "operations take effect in their order"(hands) {
    const lease = await hands.begin("s");
    const key: StorageKey = ["s", 1];
    await hands.write(
      lease,
      add("jobs", key, "1"),
      { op: "delete", table: "jobs", key },
      add("jobs", key, "2"),
      put("jobs", key, "3"),
      { op: "delete_prefix", table: "jobs", prefix: ["s"] },
      put("jobs", key, "4"),
    );
    same("row", await hands.values(all("jobs")), ["4"]);
    await hands.refused("adding after putting", "row_exists", hands.write(lease, put("log", key, "1"), add("log", key, "2")));
    same("rows", await hands.values(all("log")), []);
  },

  async "put replaces and delete removes"(hands) {
    const lease = await hands.begin("s");
    await hands.write(lease, put("partials", ["s"], "1"));
    await hands.write(lease, put("partials", ["s"], "2"));
    same("row", await hands.values(all("partials")), ["2"]);
    await hands.write(lease, { op: "delete", table: "partials", key: ["s"] });
    same("rows", await hands.values(all("partials")), []);
    // what is not there can be removed
    await hands.write(lease, { op: "delete", table: "partials", key: ["s"] });
  },

  async "delete_prefix removes exactly the prefix"(hands) {
    const lease = await hands.begin("s");
    const keys: StorageKey[] = [["a", 1, 0], ["a", 1, 9], ["a", 10, 0], ["a", 0xffff_ffff, 0], ["a\u0000", 1, 0], ["aa", 1, 0], ["b", 1, 0]];
    await hands.write(lease, ...keys.map((key) => add("renditions", key, "0")));
    const steps: [StorageKey, StorageKey[]][] = [
      [["a", 1], keys.slice(2)],
      [["a", 0xffff_ffff], [...keys.slice(2, 3), ...keys.slice(4)]],
      [["a"], keys.slice(4)],
      [[], []],
    ];
    for (const [prefix, left] of steps) {
      await hands.write(lease, { op: "delete_prefix", table: "renditions", prefix });
      same(`keys after removing ${JSON.stringify(prefix)}`, await hands.keys(all("renditions")), left);
    }
  },

  async "tables are separate"(hands) {
    const lease = await hands.begin("s");
    await hands.write(lease, ...TABLES.map((table) => add(table, ["t", 1], JSON.stringify(table === "heads" ? { epoch: 1, version: 1 } : table))));
    for (const table of TABLES) {
      same("row", await hands.values({ query: "get", table, key: ["t", 1] }), [JSON.stringify(table === "heads" ? { epoch: 1, version: 1 } : table)]);
    }
  },

  async "rows come in the order of their keys"(hands) {
    const lease = await hands.begin("s");
    const sorted: StorageKey[] = [["a"], ["a", 2], ["a", 2, 0], ["a", 10], ["a", 0xffff_ffff], ["a", ""], ["a", "10"], ["a", "2"], ["b", 0], ["é", 0], ["😀", 0], ["\uffee", 0]];
    // from the middle outwards, so that the order of writing is not the order of keys
    await hands.write(lease, ...[4, 7, 11, 1, 9, 0, 5, 10, 8, 2, 6, 3].map((n) => add("records", sorted[n] ?? [], "0")));
    same("keys", await hands.keys(all("records")), sorted);
    same("keys", await hands.keys(all("records", "a")), sorted.slice(0, 8));
  },

  async "a range has bounds, a direction and a limit"(hands) {
    const lease = await hands.begin("s");
    const numbers = Array.from({ length: 12 }, (_, n) => add("messages", ["s", n + 1], String(n + 1)));
    await hands.write(lease, ...numbers, ...["r", "s\u0000", "t"].map((other) => add("messages", [other, 5], '"other"')), add("messages", ["s", "x"], '"text"'));
    const check = async (from: number | undefined, to: number | undefined, reverse: boolean, limit: number, expected: string): Promise<void> => {
      const query: StorageQuery = { query: "range", table: "messages", prefix: ["s"], ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }), reverse, limit };
      same(JSON.stringify(query), (await hands.values(query)).join(" "), expected);
    };
    await check(undefined, undefined, false, 3, "1 2 3");
    await check(undefined, undefined, true, 3, '"text" 12 11');
    await check(10, undefined, false, 0, "10 11 12");
    await check(10, undefined, true, 2, "12 11");
    await check(undefined, 3, false, 0, "1 2 3");
    await check(undefined, 3, true, 1, "3");
    await check(4, 6, false, 0, "4 5 6");
    await check(4, 6, true, 0, "6 5 4");
    await check(4, 6, false, 99, "4 5 6");
    await check(12, 0xffff_ffff, false, 0, "12");
    await check(13, undefined, false, 0, "");
    await check(6, 4, false, 0, "");
    await check(7, 6, true, 5, "");
  },

  async "a range goes by the part after the prefix"(hands) {
    const lease = await hands.begin("s");
    await hands.write(lease, ...[1, 2, 3].flatMap((seq) => [1, 2].map((n) => add("renditions", ["s", seq, n], `${seq}${n}`))));
    const range = (prefix: StorageKey, bounds: { from?: number; to?: number }, reverse: boolean, limit: number): StorageQuery => ({ query: "range", table: "renditions", prefix, ...bounds, reverse, limit });
    same("rows of messages 2 and 3", await hands.values(range(["s"], { from: 2, to: 3 }, false, 3)), ["21", "22", "31"]);
    same("newest row of message 2", await hands.values(range(["s", 2], {}, true, 1)), ["22"]);
    same("rows of message 1", await hands.values(range(["s"], { to: 1 }, true, 0)), ["12", "11"]);
  },

  async "a large batch is one write"(hands) {
    const lease = await hands.begin("s");
    await hands.write(lease, ...Array.from({ length: 2000 }, (_, n) => add("messages", ["s", n], `"${n}"`)));
    same("last rows", await hands.values({ query: "range", table: "messages", prefix: ["s"], reverse: true, limit: 2 }), ['"1999"', '"1998"']);
    same("rows", (await hands.values(all("messages"))).length, 2000);
  },

  async "epochs grow with every claim"(hands) {
    for (const expected of [1, 2, 3]) {
      const lease = await hands.claim("s");
      same("epoch of a session without a head", lease.epoch, expected);
      await hands.release(lease);
    }
    const lease = await hands.begin("s");
    same("epoch", lease.epoch, 4);
    await hands.release(lease);
    for (const expected of [5, 6]) {
      const again = await hands.claim("s");
      same("epoch of a session with a head", again.epoch, expected);
      await hands.release(again);
    }
  },

  async "a claim changes nothing else in the head"(hands) {
    const lease = await hands.claim("s");
    const text = String.raw`{"zeta":[1,{"epoch":9}],"version":3,"epoch":1,"title":"a \"b\" é","alpha":null}`;
    await hands.write(lease, put("heads", ["s"], text));
    await hands.release(lease);
    const again = await hands.claim("s");
    same("head", (await hands.values(all("heads"))).map((value) => JSON.parse(value) as unknown), [{ ...(JSON.parse(text) as object), epoch: 2 }]);
    same("epoch", again.epoch, 2);
  },

  async "a session has one writer unless it is taken over"(hands, claims) {
    const first = await hands.begin("s");
    if (claims === "refuse") await hands.refused("a second claim", "session_busy", hands.claim("s"));
    await hands.write(first, add("log", ["s", 1], "1"));
    const second = await hands.claim("s", true);
    same("epoch", second.epoch, first.epoch + 1);
    await hands.refused("a write of the first one", "superseded", hands.write(first, add("log", ["s", 2], "1")));
    // the first one going away does not free what the second one holds
    await hands.release(first);
    if (claims === "refuse") await hands.refused("a third claim", "session_busy", hands.claim("s"));
    await hands.write(second, add("log", ["s", 2], "2"));
    await hands.release(second);
    await hands.claim("s");
  },

  async "sessions are claimed apart"(hands) {
    const a = await hands.begin("a");
    const b = await hands.begin("b");
    await hands.write(a, add("messages", ["a", 1], "1"));
    await hands.write(b, add("messages", ["b", 1], "1"));
    same("epochs", [a.epoch, b.epoch], [1, 1]);
  },

  async "a superseded writer writes nothing"(hands) {
    const old = await hands.begin("s");
    const now = await hands.claim("s", true);
    const before = await hands.everything();
    for (const expect of [null, { version: 1 }]) {
      const ops = [add("messages", ["s", 1], '"late"'), put("heads", ["s"], head(old.epoch, 2))];
      await hands.refused("a late write", "superseded", hands.store.apply({ lease: old, expect, ops, durability: "strict" }));
      same("rows", await hands.everything(), before);
    }
    await hands.write(now, put("heads", ["s"], head(now.epoch, 2)));
  },

  async "a writer is superseded before there is a head"(hands) {
    const old = await hands.claim("s");
    const now = await hands.claim("s", true);
    if (now.epoch <= old.epoch) throw new Error(`epochs: ${old.epoch}, then ${now.epoch}`);
    const draft = (lease: StorageLease): StorageOp[] => [put("partials", ["s"], String(lease.epoch))];
    await hands.refused("a late write", "superseded", hands.store.apply({ lease: old, expect: { version: null }, ops: draft(old), durability: "relaxed" }));
    await hands.write(now, ...draft(now));
    same("drafts", await hands.values(all("partials")), [String(now.epoch)]);
  },

  async "the first head takes the epoch over"(hands) {
    const lease = await hands.begin("s");
    same("notes", await hands.values(all("meta")), []);
    await hands.write(lease, put("heads", ["s"], head(lease.epoch, 2)));
  },

  async "only the expected version is written"(hands) {
    const lease = await hands.claim("s");
    const attempt = (version: number | null, next: number): Promise<unknown> =>
      hands.store.apply({ lease, expect: { version }, ops: [put("heads", ["s"], head(lease.epoch, next)), put("log", ["s", next], "1")], durability: "strict" });
    await hands.refused("some version while there is none", "superseded", attempt(0, 9));
    await attempt(null, 1);
    await hands.refused("the first version again", "superseded", attempt(null, 9));
    await hands.refused("an older version", "superseded", attempt(0, 9));
    await hands.refused("a newer version", "superseded", attempt(2, 9));
    await attempt(1, 2);
    same("log", await hands.keys(all("log")), [["s", 1], ["s", 2]]);
    same("head", await hands.values(all("heads")), [head(lease.epoch, 2)]);
  },

  async "a head of another epoch is refused"(hands) {
    const lease = await hands.begin("s");
    for (const value of [head(lease.epoch + 1, 2), "{}", "not json"]) {
      await hands.refused(`writing the head ${value}`, "storage_failed", hands.write(lease, put("heads", ["s"], value)));
    }
    same("head", await hands.values(all("heads")), [head(lease.epoch, 1)]);
  },

  async "deleting the head ends the lease"(hands) {
    const lease = await hands.begin("s");
    await hands.write(lease, { op: "delete", table: "heads", key: ["s"] });
    await hands.refused("a write after the end", "superseded", hands.write(lease, add("messages", ["s", 1], '"late"')));
    same("rows", await hands.everything(), []);
  },

  async "a damaged head can only be taken over"(hands) {
    const a = await hands.begin("a");
    // the head of "b" is another row to the writer of "a": this is how a test damages it
    await hands.write(a, put("heads", ["b"], '{"epo'));
    await hands.refused("claiming it", "storage_corrupt", hands.claim("b"));
    const b = await hands.claim("b", true);
    const again = [put("heads", ["b"], head(b.epoch, 1))];
    await hands.refused("expecting a version of it", "storage_corrupt", hands.store.apply({ lease: b, expect: { version: null }, ops: again, durability: "strict" }));
    await hands.write(b, ...again);
    await hands.store.apply({ lease: b, expect: { version: 1 }, ops: [], durability: "strict" });
    await hands.release(b);
    const { epoch } = await hands.claim("b");
    same("head", await hands.values({ query: "get", table: "heads", key: ["b"] }), [head(epoch, 1)]);
  },

  async "an empty batch still needs the lease"(hands) {
    const old = await hands.begin("s");
    await hands.write(old);
    await hands.claim("s", true);
    await hands.refused("an empty batch of a superseded writer", "superseded", hands.write(old));
  },

  async "writers at once do not mix"(hands) {
    const lease = await hands.begin("s");
    // each expects the version before it: of those that expect the same, one is written
    const attempts = Array.from({ length: 8 }, (_, n) =>
      hands.store
        .apply({ lease, expect: { version: 1 }, ops: [put("heads", ["s"], head(lease.epoch, 2)), add("messages", ["s", n], "1")], durability: "relaxed" })
        .then(() => n, (error: { code?: string }) => { if (error.code !== "superseded") throw error; }),
    );
    const written = (await Promise.all(attempts)).filter((n) => n !== undefined);
    same("writers of version 2", written.length, 1);
    same("messages", await hands.keys(all("messages")), [["s", written[0]]]);
  },
};
