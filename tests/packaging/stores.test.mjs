// Storages of the package and of one's own, from the packed package: the contract as a suite, files, SQLite, keys as bytes.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { memoryStorage } from "../../crates/palimpsest-browser/testing/storage.js";
import { install, remove } from "./consumer.mjs";

let folder;
let stores;
let testing;
let kit;
before(async () => {
  folder = install();
  const entry = (name) => import(pathToFileURL(path.join(folder, `node_modules/palimpsest/dist/${name}.js`)));
  [stores, testing, kit] = await Promise.all(["node-stores", "testing", "storage-kit"].map(entry));
});
after(() => remove(folder));

let made = 0;
const place = () => path.join(folder, `store-${made++}`);
const hasSqlite = process.getBuiltinModule?.("node:sqlite") !== undefined;

/** S5, I1, I6: anybody's storage is held against the contract, and what it does not hold is named. */
test("the store contract as a suite", async () => {
  const { checkStorage, storageContract } = testing;
  const report = await storageContract(() => stores.fileStorage(place()), { close: (store) => store.close() });
  assert.deepEqual([report.passed, report.failed], [25, 0], JSON.stringify(report.cases));
  assert.deepEqual((await storageContract(memoryStorage)).failed, 0);

  // storages with a fault each: the suite finds it
  const faulty = (change) => () => ({ ...(({ claim, read, apply, release }) => ({ claim, read, apply, release }))(memoryStorage()), ...change });
  const broken = async (make, options) => (await storageContract(make, options)).cases.filter((one) => one.failure).map((one) => one.name);
  const unsorted = () => {
    const store = memoryStorage();
    return { ...store, read: async (query) => (await store.read(query)).sort((a, b) => (JSON.stringify(a.key) < JSON.stringify(b.key) ? -1 : 1)) };
  };
  assert.ok((await broken(unsorted)).includes("rows come in the order of their keys"));
  const forgetful = () => {
    const store = memoryStorage();
    return { ...store, apply: (write) => store.apply({ ...write, expect: null }) };
  };
  assert.deepEqual((await broken(forgetful)).sort(), ["a damaged head can only be taken over", "only the expected version is written", "writers at once do not mix"]);
  const polite = () => {
    const store = memoryStorage();
    return { ...store, claim: ({ session }) => store.claim({ session, takeOver: false }).catch((error) => (error.code === "session_busy" ? store.claim({ session, takeOver: true }) : Promise.reject(error))) };
  };
  assert.ok((await broken(polite)).includes("a session has one writer unless it is taken over"));
  assert.deepEqual((await broken(polite, { claims: "supersede" })).filter((name) => name.includes("one writer")), []);
  await assert.rejects(checkStorage(faulty({ read: async () => [] })), /does not hold \d+ of 25 cases:\n {2}what is written is read back/);
  await checkStorage(memoryStorage);
});

/** S5: sessions in one file of SQLite, written by several programs; the version of its tables is looked at. */
test("sessions in SQLite", async () => {
  const { sqliteStorage } = stores;
  if (!hasSqlite) {
    assert.throws(() => sqliteStorage(place()), { code: "storage_unavailable", message: /Node 22\.13/ });
    return;
  }
  await testing.checkStorage(() => sqliteStorage(place()), { close: (store) => store.close() });
  const file = place();
  const { openSession } = await import(pathToFileURL(path.join(folder, "node_modules/palimpsest/dist/node.js")));
  const store = sqliteStorage(file);
  const session = await openSession({ id: "japan", model: "any", window: 2048, store });
  for (let n = 0; n < 40; n++) await session.append({ role: n % 2 ? "assistant" : "user", content: `${n}: the tide table of harbour ${n} is read aloud. `.repeat(8) });
  const done = await session.compact();
  assert.ok(done.report.after < done.report.before);
  // another connection, as another program has it: it reads along, takes over, and the first one is refused
  const other = sqliteStorage(file);
  const taken = await openSession({ id: "japan", model: "any", window: 2048, store: other });
  assert.equal((await taken.history()).length, (await session.history()).length);
  await taken.append({ role: "user", content: "Whose turn is it?" });
  await assert.rejects(session.append({ role: "user", content: "Mine!" }), { code: "superseded" });
  assert.ok((await other.estimate()).used > 10_000);
  await taken.close();
  other.close();
  await session.close().catch(() => {});
  store.close();

  const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
  const newer = new DatabaseSync(file);
  newer.exec("PRAGMA user_version = 9");
  newer.close();
  assert.throws(() => sqliteStorage(file), { code: "storage_newer" });
  fs.writeFileSync(file, "this is no database, whatever its name says. ".repeat(50));
  for (const ending of ["-wal", "-shm"]) fs.rmSync(file + ending, { force: true });
  assert.throws(() => sqliteStorage(file), { code: "storage_corrupt" });
  assert.throws(() => sqliteStorage(path.join(folder, "no/such/folder/x.db")), { code: "storage_unavailable" });
});

/** S5: keys as bytes come back, and sort as keys do. */
test("keys as bytes", () => {
  const { decodeKey, encodeKey, keyRange } = kit;
  const keys = [[], [0], [1], [255], [256], [0xffff_ffff], [2 ** 53 - 1], [""], ["", 0], ["\u0000"], ["\u0000\u0001"], ["a"], ["a", 2], ["a", 10], ["a", "10"], ["a", "2"], ["a\u0000"], ["b"], ["é"], ["漢"], ["😀"], ["\uffee"], ["\uffff\uffff", 3]];
  const bytes = keys.map((key) => Buffer.from(encodeKey(key)));
  assert.deepEqual(bytes.map((one) => decodeKey(one)), keys);
  assert.deepEqual([...bytes].sort(Buffer.compare), bytes);
  const within = (range, key) => Buffer.compare(Buffer.from(encodeKey(key)), range.from) >= 0 && (range.before === null || Buffer.compare(Buffer.from(encodeKey(key)), range.before) < 0);
  assert.deepEqual(keys.filter((key) => within(keyRange({ prefix: ["a"] }), key)), [["a"], ["a", 2], ["a", 10], ["a", "10"], ["a", "2"]]);
  assert.deepEqual(keys.filter((key) => within(keyRange({ prefix: ["a"], from: 3 }), key)), [["a", 10]]);
  assert.deepEqual(keys.filter((key) => within(keyRange({ prefix: ["a"], to: 2 }), key)), [["a", 2]]);
  assert.equal(keys.filter((key) => within(keyRange({ prefix: [] }), key)).length, keys.length);
});
