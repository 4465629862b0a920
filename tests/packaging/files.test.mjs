// Sessions in files, from the packed package: what a cut, damage or a removal leaves, what others see, files of version 1.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { install, remove, run } from "./consumer.mjs";

let folder;
let host;
before(async () => {
  folder = install();
  host = await import(pathToFileURL(path.join(folder, "node_modules/palimpsest/dist/node-stores.js")));
});
after(() => remove(folder));

const put = (session, n, value) => ({ op: "add", table: "messages", key: [session, n], value: JSON.stringify(value) });
const headOf = (session, epoch, version) => ({ op: "put", table: "heads", key: [session], value: JSON.stringify({ epoch, version, title: session }) });
const all = (table, ...prefix) => ({ query: "range", table, prefix, reverse: false, limit: 0 });
const filesIn = (place) => fs.readdirSync(place, { recursive: true }).filter((name) => fs.statSync(path.join(place, name)).isFile()).sort();
const textIn = (place) => filesIn(place).map((name) => fs.readFileSync(path.join(place, name), "utf8")).join("");
/** The segments of a session, the newest last. */
const segments = (place, session) => {
  const own = fs.readdirSync(path.join(place, "sessions")).find((name) => name.startsWith(`${session}-`));
  const at = path.join(place, "sessions", own);
  return fs.readdirSync(at).sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10)).map((name) => path.join(at, name));
};
/** The storage of another program: another module, which shares nothing with the first. */
const another = async (place) => (await import(`${pathToFileURL(path.join(folder, "node_modules/palimpsest/dist/files/storage.js"))}?${Math.random()}`)).fileStorage(place);

/** I6, S5: a write is there whole or not at all, wherever its line was cut, and reading cuts nothing. */
test("files after a crash", async () => {
  const place = path.join(folder, "crash");
  const write = async (storage, epoch, n, more = []) => storage.apply({ lease: { session: "s", epoch }, expect: { version: n === 0 ? null : n }, ops: [put("s", n, { n, text: "x".repeat(50) }), headOf("s", epoch, n + 1), ...more], durability: "strict" });
  let storage = host.fileStorage(place);
  assert.equal(host.fileStorage(place), storage, "a folder has one storage in a program");
  const { epoch } = await storage.claim({ session: "s", takeOver: false });
  for (let n = 0; n < 3; n += 1) await write(storage, epoch, n, [{ op: "put", table: "blobs", key: [`hash${n}`, 0], value: `"${n}"` }]);
  const [file] = segments(place, "s");
  const whole = fs.readFileSync(file);
  await storage.close();

  const lines = whole.toString().split("\n");
  const last = Buffer.byteLength(lines.at(-2)) + 1;
  let checked = 0;
  // a cut at every byte of the last write: before its end nothing of it is there, and it can be written again
  for (let cut = 1; cut <= last; cut += cut < 40 || cut > last - 40 ? 1 : 17) {
    for (const one of segments(place, "s")) fs.rmSync(one);
    fs.writeFileSync(file, whole.subarray(0, whole.length - cut));
    storage = await another(place);
    const there = await storage.read(all("messages", "s"));
    const [head] = await storage.read(all("heads"));
    assert.deepEqual([there.length, JSON.parse(head.value).version], [2, 2], `cut ${cut} bytes`);
    assert.equal(fs.statSync(file).size, whole.length - cut, "who reads cuts nothing");
    const again = await storage.claim({ session: "s", takeOver: true });
    await write(storage, again.epoch, 2);
    await storage.close();
    storage = await another(place);
    assert.equal((await storage.read(all("messages", "s"))).length, 3);
    await storage.close();
    checked += 1;
  }
  assert.ok(checked > 60, `${checked} cuts`);

  // damage in the middle costs the write that it is in; a session can be read, written and removed
  for (const one of segments(place, "s")) fs.rmSync(one);
  fs.writeFileSync(file, whole.toString().replace(lines[3], lines[3].slice(5)));
  storage = await another(place);
  assert.deepEqual((await storage.read(all("messages", "s"))).map(({ key }) => key[1]), [0, 2]);
  assert.deepEqual((await storage.read(all("blobs"))).map((row) => row.value).sort(), ['"0"', '"1"', '"2"']);
  const taken = await storage.claim({ session: "s", takeOver: true });
  await storage.apply({ lease: { session: "s", epoch: taken.epoch }, expect: { version: 3 }, ops: [{ ...put("s", 1, "again"), op: "put" }, headOf("s", taken.epoch, 4)], durability: "strict" });
  assert.equal((await storage.read(all("messages", "s"))).length, 3);
  await storage.close();

  // the line that names the segments before it: what is there counts
  const [, top] = segments(place, "s");
  const [first, seal, ...rest] = fs.readFileSync(top, "utf8").split("\n");
  fs.writeFileSync(top, [first, seal.slice(3), ...rest].join("\n"));
  storage = await another(place);
  assert.equal((await storage.read(all("messages", "s"))).length, 3);
  assert.equal(JSON.parse((await storage.read(all("heads")))[0].value).version, 4);
  await storage.close();

  // a newer version
  fs.writeFileSync(top, '{"palimpsest":3,"session":"s"}\n');
  storage = await another(place);
  await assert.rejects(storage.read(all("messages", "s")), { code: "storage_newer" });
  await storage.close();
});

/** S5, S6: what is erased is gone from the disk; a file of old drafts does not grow; another program's writes are seen, and two do not write one session. */
test("files over time", async () => {
  const place = path.join(folder, "time");
  const storage = host.fileStorage(place);
  const { epoch } = await storage.claim({ session: "s", takeOver: false });
  const lease = { session: "s", epoch };
  await storage.apply({ lease, expect: null, ops: [headOf("s", epoch, 1), put("s", 0, "kept")], durability: "strict" });
  const draft = "d".repeat(20_000);
  for (let n = 0; n < 200; n += 1) await storage.apply({ lease, expect: null, ops: [{ op: "put", table: "partials", key: ["s"], value: JSON.stringify(draft + n) }], durability: "relaxed" });
  const size = segments(place, "s").reduce((sum, file) => sum + fs.statSync(file).size, 0);
  assert.ok(size < 600_000, `${size} bytes for 4 MB of drafts`);
  assert.equal((await storage.read(all("messages", "s")))[0].value, '"kept"');
  assert.equal(JSON.parse((await storage.read({ query: "get", table: "partials", key: ["s"] }))[0].value), `${draft}199`);

  // who watches hears of this program's writes and, a moment later, of those of others; not of drafts, and not once it has ended
  const heard = [];
  const until = async (what) => { for (let n = 0; n < 100 && !what(); n += 1) await new Promise((resolve) => { setTimeout(resolve, 50); }); };
  const unwatch = storage.watch((change) => heard.push(`${change.session} ${change.epoch}`));
  await storage.read(all("heads"));
  await storage.apply({ lease, expect: null, ops: [{ op: "put", table: "partials", key: ["s"], value: JSON.stringify(`${draft}199`) }], durability: "relaxed" });
  await storage.apply({ lease, expect: null, ops: [{ ...headOf("s", epoch, 1), value: JSON.stringify({ epoch, version: 1, title: "other" }) }], durability: "relaxed" });
  await until(() => heard.length > 0);
  assert.deepEqual(heard, [`s ${epoch}`]);

  // another program: its claim is refused while we live and changes nothing, and its writes are seen once it has taken over
  const theirs = await another(place);
  assert.notEqual(theirs, storage);
  const before = [filesIn(place), textIn(place)];
  await assert.rejects(theirs.claim({ session: "s", takeOver: false }), { code: "session_busy" });
  assert.deepEqual([filesIn(place), textIn(place)], before, "a refused claim leaves no trace");
  const taken = await theirs.claim({ session: "s", takeOver: true });
  assert.equal(taken.epoch, epoch + 1);
  await theirs.apply({ lease: { session: "s", epoch: taken.epoch }, expect: { version: 1 }, ops: [put("s", 1, "theirs"), headOf("s", taken.epoch, 2)], durability: "strict" });
  await assert.rejects(storage.apply({ lease, expect: null, ops: [put("s", 9, "late")], durability: "strict" }), { code: "superseded" });
  assert.deepEqual((await storage.read(all("messages", "s"))).map((row) => row.value), ['"kept"', '"theirs"']);
  const third = await theirs.claim({ session: "t", takeOver: false });
  await theirs.apply({ lease: { session: "t", epoch: third.epoch }, expect: { version: null }, ops: [headOf("t", third.epoch, 1)], durability: "strict" });
  assert.equal((await storage.read(all("heads"))).length, 2, "a session that another program began is listed");
  // in which order is not promised
  const wanted = [`s ${taken.epoch}`, `t ${third.epoch}`];
  await until(() => wanted.every((one) => heard.includes(one)));
  assert.deepEqual(wanted.filter((one) => heard.includes(one)), wanted);
  unwatch();
  const sofar = [...heard];
  await theirs.apply({ lease: { session: "t", epoch: third.epoch }, expect: { version: 1 }, ops: [headOf("t", third.epoch, 2)], durability: "strict" });
  await new Promise((resolve) => { setTimeout(resolve, 1500); });
  assert.deepEqual(heard, sofar);
  assert.equal(heard.filter((one) => one === `t ${third.epoch}`).length, 1);

  // erased; once it is given back, nothing is left of it at all
  await theirs.apply({ lease: { session: "s", epoch: taken.epoch }, expect: null, ops: ["messages", "heads", "partials"].map((table) => ({ op: "delete_prefix", table, prefix: ["s"] })), durability: "strict" });
  assert.ok(!textIn(place).includes("kept") && !textIn(place).includes("d".repeat(30)), "what was erased is not on the disk");
  assert.equal((await storage.read(all("messages", "s"))).length, 0);
  await theirs.release({ session: "s", epoch: taken.epoch });
  assert.equal(fs.readdirSync(path.join(place, "sessions")).length, 1);
  await theirs.close();
  await storage.close();

  // names that no file may have
  const names = host.fileStorage(path.join(folder, "names"));
  for (const session of ["../../up", "CON", "a/b", "A", "a", "é".repeat(300), "shared", "index", ""]) {
    const own = await names.claim({ session, takeOver: false });
    await names.apply({ lease: { session, epoch: own.epoch }, expect: { version: null }, ops: [headOf(session, own.epoch, 1)], durability: "relaxed" });
    assert.equal(JSON.parse((await names.read({ query: "get", table: "heads", key: [session] }))[0].value).title, session);
  }
  assert.equal((await names.read(all("heads"))).length, 9);
  assert.equal(fs.readdirSync(path.join(folder, "names/sessions")).length, 9);
  await names.close();
});

/** S5: claims above one's own that come to nothing. */
test("claims that were never finished", async () => {
  const place = path.join(folder, "unfinished");
  const storage = host.fileStorage(place);
  const { epoch } = await storage.claim({ session: "s", takeOver: false });
  const write = (n) => storage.apply({ lease: { session: "s", epoch }, expect: null, ops: [put("s", n, "kept"), headOf("s", epoch, n + 1)], durability: "strict" });
  await write(0);
  const [own] = segments(place, "s");
  const above = path.join(path.dirname(own), `${Number.parseInt(path.basename(own), 10) + 1}.jsonl`);

  // a program that ended before it said who it is: the session stays with its holder, whom nobody gets past without taking over
  fs.writeFileSync(above, "");
  const longAgo = new Date(Date.now() - 60_000);
  fs.utimesSync(above, longAgo, longAgo);
  await write(1);
  const theirs = await another(place);
  await assert.rejects(theirs.claim({ session: "s", takeOver: false }), { code: "session_busy" });
  await theirs.close();
  await write(2);

  // one on another machine, of which nobody here knows whether it lives: what was lost to it keeps nobody out any more
  const header = JSON.parse(fs.readFileSync(own, "utf8").split("\n")[0]);
  header.holder = { ...header.holder, claim: "another", machine: "elsewhere" };
  fs.writeFileSync(above, `${JSON.stringify(header)}\n`);
  await assert.rejects(write(3), { code: "superseded" });
  const again = await storage.claim({ session: "s", takeOver: false });
  assert.ok(again.epoch > epoch);
  assert.ok((await storage.read(all("messages", "s"))).length >= 3);
  await storage.close();
});

/** O4, S6: a large text that two sessions have lies on the disk once, goes with the last of them, and a purge of one takes nothing from the other. */
test("large texts of two sessions", async () => {
  const place = path.join(folder, "texts");
  const storage = host.fileStorage(place);
  const theirs = await another(place);
  const text = "long ".repeat(10_000);
  const bring = async (store, session) => {
    const { epoch } = await store.claim({ session, takeOver: true });
    const lease = { session, epoch };
    const [head] = await store.read({ query: "get", table: "heads", key: [session] });
    const n = head === undefined ? 0 : JSON.parse(head.value).version;
    await store.apply({ lease, expect: null, ops: [{ op: "put", table: "blobs", key: ["h", 0], value: JSON.stringify(text) }, put(session, n, "h"), headOf(session, epoch, n + 1)], durability: "strict" });
    return lease;
  };
  const purge = (store, lease) => store.apply({ lease, expect: null, ops: [...["messages", "heads"].map((table) => ({ op: "delete_prefix", table, prefix: [lease.session] })), { op: "delete_prefix", table: "blobs", prefix: ["h"] }], durability: "strict" });
  const a = await bring(storage, "a");
  const b = await bring(theirs, "b");
  const kept = filesIn(place).filter((name) => name.startsWith("blobs"));
  assert.equal(kept.length, 2);
  assert.equal(new Set(kept.map((name) => fs.statSync(path.join(place, name)).ino)).size, 1, "one file under two names");
  // whoever purged `a` had looked before `b` was there
  await purge(storage, a);
  assert.equal((await theirs.read(all("blobs", "h")))[0].value, JSON.stringify(text));
  await bring(theirs, "b");
  await purge(theirs, { ...b, epoch: b.epoch + 1 });
  assert.deepEqual(await theirs.read(all("blobs", "h")), []);
  assert.ok(!textIn(place).includes("long long"));
  await storage.close();
  await theirs.close();
});

/** S5: a folder of version 1 is read as it is, becomes one of this version with the first claim, and the older program then keeps out. */
test("files of version 1", async () => {
  const place = path.join(folder, "older");
  const name = "s-" + "043a718774c572bd8a25adbeb1bfcd5c0256ae11cecf9f9c3f925d0e52beaf89".slice(0, 24);
  const lines = (...all) => all.map((line) => `${JSON.stringify(line)}\n`).join("");
  fs.mkdirSync(place);
  const head = (epoch, version) => headOf("s", epoch, version);
  const blob = (n) => ({ op: "put", table: "blobs", key: [`hash${n}`, 0], value: `"${n}"` });
  const session = lines(
    { palimpsest: 1, session: "s" },
    { e: 1, claim: true, ops: [] },
    { e: 1, ops: [{ ...put("s", 0, "zero"), op: "put" }, head(1, 1), blob(0)] },
    { e: 2, ops: [head(2, 1)] },
    { e: 1, ops: [{ ...put("s", 7, "void"), op: "put" }] },
    { e: 2, ops: [{ ...put("s", 1, "one"), op: "put" }, head(2, 2), blob(1)] },
  );
  fs.writeFileSync(path.join(place, `${name}.jsonl`), `${session}{"e":2,"ops":[{"op":"pu`);
  const shared = lines({ palimpsest: 1, session: null }, { f: true, ops: [blob(0)] }, { f: true, ops: [{ op: "put", table: "meta", key: ["secret"], value: '"old"' }] });
  fs.writeFileSync(path.join(place, "shared.jsonl"), shared);
  fs.writeFileSync(path.join(place, "index.jsonl"), lines({ session: "s", file: name, size: 1, head: null }));
  const before = textIn(place);
  const look = async (storage) => {
    const rows = await Promise.all([all("messages", "s"), all("heads"), all("meta")].map((query) => storage.read(query)));
    return [rows[0].map((row) => row.value), JSON.parse(rows[1][0].value).version, rows[2][0].value];
  };
  const expected = [['"zero"', '"one"'], 2, '"old"'];
  let storage = host.fileStorage(place);
  assert.deepEqual(await look(storage), expected);
  assert.equal((await storage.read(all("blobs", "hash0")))[0].value, '"0"');
  assert.equal(textIn(place), before, "reading leaves it as it was");

  const { epoch } = await storage.claim({ session: "s", takeOver: false });
  assert.equal(epoch, 3);
  assert.deepEqual(await look(storage), expected);
  // a crash of the older program had come before the second text was in its shared file
  assert.deepEqual((await storage.read(all("blobs"))).map((row) => row.value), ['"0"', '"1"']);
  const lease = { session: "s", epoch };
  await storage.apply({ lease, expect: { version: 2 }, ops: [put("s", 2, "two"), headOf("s", 3, 3), { op: "put", table: "meta", key: ["secret"], value: '"new"' }], durability: "strict" });
  await storage.close();
  storage = host.fileStorage(place);
  assert.deepEqual(await look(storage), [['"zero"', '"one"', '"two"'], 3, '"new"']);
  assert.match(fs.readFileSync(path.join(place, "shared.jsonl"), "utf8"), /^\{"palimpsest":2/, "an older program refuses it: storage_newer");
  assert.ok(!fs.existsSync(path.join(place, "index.jsonl")));
  const again = await storage.claim({ session: "s", takeOver: false });
  await storage.apply({ lease: { session: "s", epoch: again.epoch }, expect: null, ops: [...["messages", "heads"].map((table) => ({ op: "delete_prefix", table, prefix: ["s"] })), { op: "delete_prefix", table: "blobs", prefix: ["hash0"] }], durability: "strict" });
  assert.ok(!textIn(place).includes("zero") && !fs.existsSync(path.join(place, `${name}.jsonl`)));
  assert.deepEqual((await storage.read(all("blobs"))).map((row) => row.value), ['"1"']);
  await storage.close();
});

/** I2, S5: a session of the package in files is the same in the next program, byte for byte, also after one that ended without a word. */
test("a session in files, from program to program", () => {
  const place = JSON.stringify(path.join(folder, "sessions"));
  const program = (script) => run(folder, `
    import { openSession } from "palimpsest";
    import { fileStorage } from "palimpsest/node";
    const store = fileStorage(${place});
    const session = await openSession({ id: "a", model: "any", window: 2048, store });
    ${script}
  `);
  const first = program(`
    await session.append(Array.from({ length: 60 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: \`Message \${i}: parcel \${1000 + i} weighs \${i} kg and goes to gate \${i % 9}. \` })));
    await session.compact();
    console.log(JSON.stringify({ window: session.window(), layers: session.layers().length }));
    process.exit(0); // nothing is closed
  `);
  const second = program(`
    console.log(JSON.stringify({ window: session.window(), layers: session.layers().length }));
    await session.append("And gate 4?");
    await session.close();
    await store.close();
  `);
  assert.deepEqual(second, first);
  assert.ok(first.layers >= 1);
  const third = program('console.log(JSON.stringify(session.history().length)); await session.close();');
  assert.equal(third, 61);
});

/** I1, I6: a session of the package that one program leads, one asks for, and one takes over in the middle of a compaction: every message that was acknowledged is in it. */
test("a session in files under three programs", { timeout: 240_000 }, async () => {
  const place = path.join(folder, "shared-session");
  const start = (script) => {
    const file = path.join(folder, `program-${Math.random().toString(36).slice(2)}.mjs`);
    fs.writeFileSync(file, `
      import fs from "node:fs";
      import { openSession } from "palimpsest";
      import { fileStorage } from "palimpsest/node";
      const say = (word, what = "") => fs.writeSync(1, word + " " + what + "\\n");
      const open = (more = {}) => openSession({ id: "a", model: "any", window: 32_768, store: fileStorage(${JSON.stringify(place)}), ...more });
      const lead = async (session, name) => {
        for (let n = 0; ; n += 1) {
          const text = name + " " + n + ": parcel " + n + " goes to gate " + (n % 9) + (n % 10 === 5 ? ". More of it".repeat(3200) : ".");
          await session.append(text);
          say("acked", name + " " + n + ":");
          if (n % 12 === 11) await session.compact();
        }
      };
      try { ${script} } catch (error) { say("ended", error.code ?? error.stack); }
    `);
    const child = spawn(process.execPath, [file], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
    const program = { text: "", kill: () => child.kill("SIGKILL"), ended: new Promise((resolve) => { child.on("close", resolve); }) };
    child.stdout.setEncoding("utf8");
    child.stdout.on("data", (text) => { program.text += text; });
    program.of = (word) => program.text.split("\n").slice(0, -1).filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1));
    program.said = async (word, times) => {
      for (let n = 0; n < 1200 && program.of(word).length < times && program.of("ended").length === 0; n += 1) await new Promise((resolve) => { setTimeout(resolve, 50); });
    };
    return program;
  };
  const acked = [];
  for (const round of [0, 1]) {
    const first = start(`await lead(await open(), "first${round}");`);
    await first.said("acked", 3);
    const refused = start('for (;;) { try { await open(); say("entered"); } catch (error) { say(error.code); } await new Promise((resolve) => { setTimeout(resolve, 20); }); }');
    await refused.said("session_busy", 2);
    await first.said("acked", 14);
    assert.deepEqual([first.of("ended"), refused.of("entered")], [[], []]);
    refused.kill();
    const second = start(`await lead(await open({ takeOver: true }), "second${round}");`);
    await second.said("acked", 8 + round);
    for (const program of [first, second]) program.kill();
    await Promise.all([first, refused, second].map((program) => program.ended));
    assert.deepEqual([first.of("ended").filter((code) => code !== "superseded"), second.of("ended")], [[], []]);
    acked.push(...first.of("acked"), ...second.of("acked"));
  }
  const said = run(folder, `
    import { openSession } from "palimpsest";
    import { fileStorage } from "palimpsest/node";
    const session = await openSession({ id: "a", model: "any", window: 32_768, store: fileStorage(${JSON.stringify(place)}) });
    const history = session.history();
    console.log(JSON.stringify({ history: JSON.stringify(history), large: history.filter((one) => JSON.stringify(one).length > 30_000).length }));
    await session.close();
  `);
  assert.ok(acked.length > 40, `${acked.length} acknowledged`);
  assert.deepEqual(acked.filter((one) => !said.history.includes(one)), [], "every acknowledged message is there");
  assert.ok(said.large >= 4, `${said.large} large texts`);
  console.log(`# a session under three programs: ${acked.length} acknowledged, 0 lost`);
});
