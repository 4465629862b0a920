// The sessions of a storage as a whole, from the tarball in Node: listed, deleted, brought back, removed; and what is left of a damaged one.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { install, remove, root, runAsync } from "./consumer.mjs";

let folder;
before(() => {
  folder = install();
  fs.copyFileSync(path.join(root, "crates/palimpsest-browser/testing/storage.js"), path.join(folder, "storage.js"));
});
after(() => remove(folder));

/** Runs a script that finds what it needs in scope, and gives back what `out` holds at its end. */
const run = (script) => runAsync(folder, `
  import { openLibrary, openSession } from "palimpsest";
  import { memoryStorage } from "./storage.js";
  const talk = (n) => Array.from({ length: n }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: \`Message \${i}: parcel \${1000 + i} weighs \${i} kg and goes to gate \${i % 9}.\` }));
  const failed = (promise) => Promise.resolve(promise).then(() => "done", (e) => (e?.name === "PalimpsestError" ? e.code : String(e)));
  const make = async (store, id, messages, more = {}) => {
    const session = await openSession({ id, model: "any", window: 2048, store, ...more });
    await session.append(messages);
    return session;
  };
  const out = {};
  ${script}
  console.log(JSON.stringify(out));
`);

/** O4, S6: deleting can be taken back for thirty days; then, or at a word, every row and every large text is gone. */
test("sessions are listed, deleted, brought back, removed for good", async () => {
  const got = await run(`
    const store = memoryStorage();
    const long = [{ role: "user", content: "Read." }, { role: "assistant", content: "parcel 4711 at gate 7, ".repeat(3000) }];
    const held = await make(store, "a", talk(4), { title: "First" });
    await (await make(store, "b", long, { title: "Second", window: 65536 })).close();
    const library = await openLibrary({ store });
    const titles = async () => (await library.sessions()).sessions.map((s) => s.title).sort();
    out.all = await titles();
    out.entry = (({ id, messages, window, pinned, model }) => ({ id, messages, window, pinned, model }))((await library.sessions()).sessions.find((s) => s.id === "a"));
    out.held = await failed(library.delete("a"));
    await held.close();
    await library.rename("a", "Renamed");
    await library.delete("a");
    out.left = await titles();
    const [gone] = await library.deleted();
    out.gone = [gone.id, gone.title, gone.daysLeft, gone.deleted > gone.created - 1];
    await library.restore("a");
    out.back = await titles();
    const again = await openSession({ id: "a", model: "any", store });
    out.same = [again.info.messages, again.info.title, again.losses()];
    await again.close();
    // at a word
    const rows = (table) => [...store.rows.values()].filter((row) => row.table === table).length;
    out.texts = rows("blobs") > 0;
    out.purged = await library.purge("b");
    out.gonetoo = [rows("blobs"), [...store.rows.values()].filter((row) => row.key[0] === "b").length];
    // or after thirty days
    await library.delete("a");
    const head = [...store.rows.values()].find((row) => row.table === "heads");
    head.value = JSON.stringify({ ...JSON.parse(head.value), deleted_at: Date.now() - 30 * 86_400_000 - 1 });
    out.due = await library.deleted();
    out.empty = [...store.rows.values()].filter((row) => row.key[0] === "a").length;
    out.unknown = [await failed(library.delete("a")), await failed(library.salvage("a")), await failed(library.rename("", "x")), await failed(openLibrary({ store: "memory" })), await failed(openLibrary({ stroe: store })), await failed(openLibrary({ store: {} }))];
    library.close();
    out.closed = await failed(library.sessions());
  `);
  assert.deepEqual(got.all, ["First", "Second"]);
  assert.deepEqual(got.entry, { id: "a", messages: 4, window: 2048, pinned: false, model: "any" });
  assert.equal(got.held, "session_busy");
  assert.deepEqual([got.left, got.back], [["Second"], ["Renamed", "Second"]]);
  assert.deepEqual(got.gone, ["a", "Renamed", 30, true]);
  assert.deepEqual(got.same, [4, "Renamed", []]);
  assert.deepEqual([got.texts, got.purged, got.gonetoo], [true, { released: 1, kept: false }, [0, 0]]);
  assert.deepEqual([got.due, got.empty], [[], 0]);
  assert.deepEqual(got.unknown, ["no_session", "no_session", "invalid_options", "invalid_options", "invalid_options", "invalid_options"]);
  assert.equal(got.closed, "closed");
});

/** S5, F 86: whatever row is damaged or gone, the session opens, names the loss, goes on, and what is left is saved. */
test("one damaged row of any kind leaves the rest", async () => {
  const got = await run(`
    const base = memoryStorage();
    const made = await make(base, "s", talk(60), { system: "You sort parcels." });
    await made.compact();
    await made.pins.add("Gate 4 is closed.");
    await made.append(talk(4));
    await made.close();
    out.runs = [];
    for (const table of ["messages", "layers", "notes", "revisions", "records", "heads"]) {
      for (const harm of ["damaged", "missing"]) {
        const store = memoryStorage();
        for (const [key, row] of base.rows) store.rows.set(key, { ...row });
        const found = [...store.rows.entries()].filter(([, row]) => row.table === table).at(-1);
        if (harm === "missing") store.rows.delete(found[0]);
        else store.rows.set(found[0], { ...found[1], value: found[1].value.slice(0, -9) });
        const library = await openLibrary({ store });
        const { sessions, damaged } = await library.sessions();
        const saved = await library.salvage("s");
        const copy = await openSession({ model: "any", file: saved.text, trustFile: true }).catch((e) => e);
        const session = await openSession({ id: "s", model: "any", window: 2048, store });
        const losses = session.losses();
        const stood = [session.info.messages, session.system];
        await session.append("And gate 5?");
        await session.compact().catch((e) => { if (!["nothing_to_compress", "not_worth", "nothing_compressible"].includes(e.code)) throw e; });
        await session.close();
        await library.delete("s");
        await library.restore("s");
        await library.purge("s");
        const left = [...store.rows.values()].filter((row) => row.key.includes("s") && row.table !== "meta").length;
        out.runs.push({ of: table + " " + harm, listed: sessions.length, damaged, saved: saved.losses.map((l) => l.what + " " + (l.table ?? "")), words: saved.text.includes("parcel 1011"), copy: copy.info?.messages > 50, losses: losses.map((l) => [l.what, l.table]), told: losses.every((l) => l.message.length > 10), stood, left });
        library.close();
      }
    }
  `);
  assert.equal(got.runs.length, 12);
  for (const ran of got.runs) {
    const [table, harm] = ran.of.split(" ");
    const head = table === "heads";
    assert.deepEqual([ran.listed, ran.damaged], head ? [0, ["s"]] : [1, []], ran.of);
    const what = head ? "head" : harm;
    // the newest message is named by the head
    assert.ok(ran.losses.some(([w, t]) => w === what && t === table), JSON.stringify(ran));
    assert.ok(ran.saved.includes(`${what} ${table}`), JSON.stringify(ran));
    assert.deepEqual([ran.words, ran.copy, ran.told, ran.left], [true, true, true, 0], JSON.stringify(ran));
    assert.equal(ran.stood[0], 64, ran.of);
    assert.equal(ran.stood[1], "You sort parcels.", ran.of);
  }
});
