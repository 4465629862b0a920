// I1, I6, S5: the package's storage in files under two and three real programs that are killed: nothing that was acknowledged is
// lost, nobody is superseded by one who has not taken over, every session can be read and claimed at once. `FILE_ROUNDS`, 200.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const npm = path.resolve(process.env.PALIMPSEST_NPM ?? path.resolve(here, "../../dist/npm"));
const ROUNDS = Number(process.env.FILE_ROUNDS ?? 200);
const TEXT = "large ".repeat(7000);

let fileStorage;
let base;
before(async () => {
  assert.ok(fs.existsSync(npm), "run `cargo xtask pack` first");
  ({ fileStorage } = await import(pathToFileURL(path.join(npm, "dist/node-stores.js"))));
  base = fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-files-"));
});
after(() => fs.rmSync(base, { recursive: true, force: true }));

/** Starts a program; what it said by its end is in `lines`. */
function start(given) {
  const child = spawn(process.execPath, [path.join(here, "files-process.mjs"), JSON.stringify({ npm, ...given })], { stdio: ["ignore", "pipe", "inherit"] });
  const program = { lines: [], kill: () => child.kill("SIGKILL"), freeze: () => child.kill("SIGSTOP"), thaw: () => child.kill("SIGCONT"), ended: undefined };
  let rest = "";
  const waiting = new Set();
  child.stdout.setEncoding("utf8");
  child.stdout.on("data", (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    program.lines.push(...lines);
    for (const look of waiting) look();
  });
  program.ended = new Promise((resolve) => { child.on("close", () => { for (const look of waiting) look(true); resolve(); }); });
  /** Waits until it has said so many lines that begin so, or has ended. */
  program.said = (word, times = 1) => new Promise((resolve) => {
    const look = (isOver = false) => {
      if (!isOver && program.of(word).length < times) return;
      waiting.delete(look);
      resolve();
    };
    waiting.add(look);
    look();
    program.ended.then(() => resolve());
  });
  program.of = (word) => program.lines.filter((line) => line.split(" ", 1)[0] === word);
  return program;
}

const sleep = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });

const total = { rounds: 0, kills: 0, acked: 0, read: 0, busy: 0, takenOver: 0, deleted: 0, lost: 0, superseded: 0, unreadable: 0 };
const faults = [];
const fault = (kind, what) => {
  total[kind] += 1;
  faults.push(`${kind}: ${what}`);
};

/** What is left, seen by one more program: this one. */
async function check(round, folder, session, acked) {
  const store = fileStorage(folder);
  try {
    const rows = await store.read({ query: "range", table: "messages", prefix: [session], reverse: false, limit: 0 });
    const there = new Map(rows.map(({ key, value }) => [key[1], JSON.parse(value)]));
    for (const n of acked) if (!there.has(n)) fault("lost", `${round}: message ${n} of ${acked.size}`);
    for (const { n, hash } of there.values()) {
      if (hash === null) continue;
      const [blob] = await store.read({ query: "range", table: "blobs", prefix: [hash], reverse: false, limit: 0 });
      if (blob === undefined || JSON.parse(blob.value) !== `${TEXT} ${n}`) fault(acked.has(n) ? "lost" : "unreadable", `${round}: the large text of message ${n}`);
    }
    const [head] = await store.read({ query: "get", table: "heads", key: [session] });
    const version = head === undefined ? 0 : JSON.parse(head.value).version;
    if (version !== there.size) fault("unreadable", `${round}: head ${version}, ${there.size} messages`);
    // whoever held it is gone: nothing is in the way
    const { epoch } = await store.claim({ session, takeOver: false });
    const ops = [{ op: "put", table: "heads", key: [session], value: JSON.stringify({ epoch, version, title: session }) }];
    if (version > 0) await store.apply({ lease: { session, epoch }, expect: { version }, ops, durability: "strict" });
    await store.release({ session, epoch });
  } catch (error) {
    fault("unreadable", `${round}: ${error.code ?? error.stack}`);
  } finally {
    await store.close();
  }
}

/** Adds up what programs have said. @returns the messages that were acknowledged to them */
function count(round, programs, { takenOver }) {
  for (const program of programs) {
    for (const line of program.of("unreadable")) fault("unreadable", `${round}: ${line}`);
    total.acked += program.of("acked").length;
    total.read += program.of("read").length;
    total.busy += program.of("busy").length;
    total.deleted += program.of("deleted").length;
    if (!takenOver) for (const line of program.of("superseded")) fault("superseded", `${round}: ${line}`);
  }
}
const numbers = (...programs) => new Set(programs.flatMap((program) => program.of("acked").map((line) => Number(line.split(" ")[1]))));

/** Rounds on one folder and one session: what earlier rounds wrote stays, too. */
const KINDS = {
  /** The writer is killed while two read along. */
  async reader(round, given) {
    const writer = start({ ...given, role: "writer" });
    await writer.said("claimed");
    const readers = [start({ ...given, role: "reader" }), start({ ...given, role: "reader" })];
    await readers[0].said("read");
    await sleep(Math.random() * 150);
    for (const one of round % 2 ? [writer, ...readers] : [...readers, writer]) {
      one.kill();
      await sleep(Math.random() * 20);
    }
    return { programs: [writer, ...readers], writers: [writer], takenOver: false };
  },
  /** Another one asks for the session again and again, and is refused; it and a reader leave no trace. */
  async refused(round, given) {
    const writer = start({ ...given, role: "writer" });
    await writer.said("claimed");
    const others = [start({ ...given, role: "refused" }), start({ ...given, role: "reader" })];
    await others[0].said("busy");
    await sleep(Math.random() * 150);
    others[0].kill();
    await sleep(Math.random() * 30);
    writer.kill();
    others[1].kill();
    await Promise.all([writer.ended, others[0].ended]);
    for (const line of others[0].of("entered")) fault("superseded", `${round}: entered while the writer lived: ${line}`);
    return { programs: [writer, ...others], writers: [writer], takenOver: false };
  },
  /** One takes over from the other while a third reads; who is killed first, and when, is left to chance. */
  async takeOver(round, given) {
    const first = start({ ...given, role: "writer" });
    await first.said("acked", 1 + (round % 5));
    const reader = start({ ...given, role: "reader" });
    const second = start({ ...given, role: "writer", takeOver: true });
    await second.said("acked", 1 + Math.floor(Math.random() * 4));
    total.takenOver += second.of("claimed").length;
    await sleep(Math.random() * 40);
    for (const one of round % 2 ? [first, second] : [second, first]) {
      one.kill();
      await sleep(Math.random() * 10);
    }
    reader.kill();
    return { programs: [first, second, reader], writers: [first, second], takenOver: true };
  },
  /** A claim that takes over is killed at each of its steps, the holder goes on or is superseded. */
  async killedTakeOver(round, given) {
    const first = start({ ...given, role: "writer" });
    await first.said("acked");
    const second = start({ ...given, role: "writer", takeOver: true, killAt: 1 + (round % 24) });
    await second.ended;
    total.takenOver += second.of("claimed").length;
    await sleep(Math.random() * 60);
    first.kill();
    return { programs: [first, second], writers: [first, second], takenOver: true };
  },
  /** The holder stands still wherever it is, another one takes over and writes; then the holder goes on, and is told. */
  async frozen(round, given) {
    const first = start({ ...given, role: "writer" });
    await first.said("acked", 1 + (round % 5));
    await sleep(Math.random() * 30);
    first.freeze();
    const second = start({ ...given, role: "writer", takeOver: true });
    await second.said("acked", 2);
    first.thaw();
    await first.ended;
    total.takenOver += second.of("claimed").length;
    if (first.of("superseded").length !== 1) fault("unreadable", `frozen ${round}: ${first.lines.slice(-2)}`);
    await sleep(Math.random() * 30);
    second.kill();
    return { programs: [first, second], writers: [first, second], takenOver: true };
  },
  /** One who takes over stands still at a step of that; the holder writes, a third one takes over and writes; then the second goes on. */
  async frozenTakeOver(round, given) {
    const first = start({ ...given, role: "writer" });
    await first.said("acked");
    const second = start({ ...given, role: "writer", takeOver: true, stopAt: 1 + (round % 12) });
    await second.said("halted");
    await sleep(Math.random() * 60);
    const third = start({ ...given, role: "writer", takeOver: true });
    await third.said("acked", 2);
    second.thaw();
    await second.said("acked", 2);
    total.takenOver += second.of("claimed").length + third.of("claimed").length;
    for (const one of [first, third, second]) one.kill();
    return { programs: [first, second, third], writers: [first, second, third], takenOver: true };
  },
  /** One who takes over stands still before its seal, the holder writes what will never count, a third one reads: it must not see that. */
  async readBesideTakeOver(round, given) {
    const first = start({ ...given, role: "writer" });
    const reader = start({ ...given, role: "reader" });
    await Promise.all([first.said("acked", 2), reader.said("read")]);
    const second = start({ ...given, role: "writer", takeOver: true, stopAt: 1 + (round % 8) });
    await second.said("halted");
    await sleep(Math.random() * 60);
    second.thaw();
    await second.said("acked", 2);
    total.takenOver += second.of("claimed").length;
    for (const one of [first, second, reader]) one.kill();
    return { programs: [first, second, reader], writers: [first, second], takenOver: true };
  },
  /** Another session with the same large texts is made and removed meanwhile, and its remover killed. */
  async deleter(round, given) {
    const writer = start({ ...given, role: "writer" });
    const deleter = start({ ...given, session: "other", role: "deleter" });
    await Promise.all([writer.said("acked", 3), deleter.said("deleted")]);
    await sleep(Math.random() * 120);
    deleter.kill();
    await sleep(Math.random() * 20);
    writer.kill();
    await deleter.ended;
    total.acked -= deleter.of("acked").length;
    return { programs: [writer, deleter], writers: [writer], takenOver: false };
  },
  /** Drafts have the session written anew all the time, while one reads; the writer is killed at one step after the other. */
  async renewal(round, given) {
    const reader = start({ ...given, role: "reader" });
    await reader.said("read");
    const writer = start({ ...given, role: "writer", drafts: true, writes: 12, killAt: 20 + Math.floor(Math.random() * 260) });
    await writer.ended;
    reader.kill();
    return { programs: [writer, reader], writers: [writer], takenOver: false };
  },
};

test(`two and three programs, ${ROUNDS} rounds with kills`, { timeout: 1_800_000 }, async () => {
  const kinds = (process.env.FILE_KINDS ?? Object.keys(KINDS).join()).split(",");
  const folders = new Map();
  for (let round = 0; round < ROUNDS; round += 1) {
    const kind = kinds[round % kinds.length];
    // a folder serves ten rounds of its kind: later ones build upon what kills have left
    const turn = Math.floor(round / kinds.length);
    const at = `${kind} ${Math.floor(turn / 10)}`;
    const known = folders.get(at) ?? { folder: path.join(base, at.replace(" ", "-")), acked: new Set() };
    folders.set(at, known);
    const given = { folder: known.folder, session: "s", text: TEXT };
    const { programs, writers, takenOver } = await KINDS[kind](turn, given);
    for (const program of programs) program.kill();
    await Promise.all(programs.map((program) => program.ended));
    total.rounds += 1;
    total.kills += programs.filter((program) => program.of("end").length === 0).length;
    const name = `${kind} ${turn}`;
    count(name, programs, { takenOver });
    for (const n of numbers(...writers)) known.acked.add(n);
    await check(name, known.folder, "s", known.acked);
  }
  console.log(`# files, ${ROUNDS} rounds: ${JSON.stringify(total)}`);
  assert.deepEqual([faults.slice(0, 20), total.lost, total.superseded, total.unreadable], [[], 0, 0, 0]);
  assert.ok(total.acked > ROUNDS && total.kills >= ROUNDS, JSON.stringify(total));
});

/** Every step of a whole life: claim, strict and relaxed writes, large texts, writing anew, release, removal. */
test("a kill before every step", { timeout: 1_800_000 }, async () => {
  const every = Math.max(1, Math.ceil(200 / ROUNDS));
  let steps = 0;
  const before = faults.length;
  const lives = [["writer", { drafts: true, writes: 4 }], ["writer", { drafts: true, writes: 4, noLinks: true }], ["deleter", { writes: 2 }]];
  for (const [at, [role, given]] of lives.entries()) {
    for (let killAt = 1 + at; ; killAt += every) {
      const name = `step ${killAt} of life ${at}`;
      const folder = path.join(base, `life-${at}-${killAt}`);
      const first = start({ folder, session: "s", text: TEXT, role: "writer", writes: 3 });
      await first.ended;
      const program = start({ folder, session: role === "writer" ? "s" : "other", text: TEXT, role, killAt, ...given });
      await program.ended;
      count(name, [first, program], { takenOver: false });
      await check(name, folder, "s", role === "writer" ? numbers(first, program) : numbers(first));
      await check(name, folder, "other", new Set());
      fs.rmSync(folder, { recursive: true, force: true });
      if (program.of("end").length > 0) break;
      steps += 1;
    }
  }
  console.log(`# files: killed before each of ${steps} steps`);
  assert.deepEqual(faults.slice(before), []);
  assert.ok(steps > 10, `${steps} steps`);
});
