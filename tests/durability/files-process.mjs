// One program that uses the package's storage in files, for files.test.mjs to start and to kill. What it is to do is its last
// argument, as JSON. It prints a line for everything that counts once that has happened: a kill leaves no line behind that is not true.

import fs from "node:fs";
import fsp from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { pathToFileURL } from "node:url";

const { npm, folder, session, role, killAt, stopAt, takeOver = false, writes = Infinity, drafts = false, noLinks = false, text } = JSON.parse(process.argv.at(-1));
const say = (...words) => fs.writeSync(1, `${words.join(" ")}\n`);

/** Kills this program before its n-th step that changes a file, with half a write done, or has it stand still there until it is let go on. */
async function haltBefore(n, signal) {
  let step = 0;
  const next = async (half) => {
    step += 1;
    if (step !== n) return;
    if (signal === "SIGKILL") await half?.();
    else say("halted");
    process.kill(process.pid, signal);
    if (signal === "SIGKILL") await new Promise(() => {});
  };
  for (const name of ["link", "rename", "unlink", "rmdir", "mkdir", "writeFile", "rm", "truncate"]) {
    const real = fsp[name];
    fsp[name] = async (...given) => {
      await next();
      return real(...given);
    };
  }
  const probe = await fsp.open(process.execPath, "r");
  const handles = Object.getPrototypeOf(probe);
  await probe.close();
  const { write, sync, truncate } = handles;
  handles.write = async function (bytes, offset, length, position) {
    await next(() => write.call(this, bytes, offset, length >> 1, position));
    return write.call(this, bytes, offset, length, position);
  };
  handles.sync = async function () {
    await next();
    return sync.call(this);
  };
  handles.truncate = async function (length) {
    await next();
    return truncate.call(this, length);
  };
  syncBuiltinESMExports();
}

// a file system that has no links
if (noLinks) {
  fsp.link = async () => { throw Object.assign(new Error("no links"), { code: "EPERM" }); };
  syncBuiltinESMExports();
}
if (killAt !== undefined) await haltBefore(killAt, "SIGKILL");
if (stopAt !== undefined) await haltBefore(stopAt, "SIGSTOP");
const { fileStorage } = await import(pathToFileURL(`${npm}/dist/node-stores.js`));
const store = fileStorage(folder);
const get = async (table, key) => (await store.read({ query: "get", table, key }))[0]?.value;
const all = (table, ...prefix) => store.read({ query: "range", table, prefix, reverse: false, limit: 0 });
const headOf = async () => JSON.parse((await get("heads", [session])) ?? '{"version":0}');

/** Rows as the engine writes them: a message, the head with it, a large text before both, a draft that each message ends. */
async function write(epoch, n, durability) {
  const large = text !== undefined && n % 4 === 1;
  const ops = [
    ...(large ? [{ op: "put", table: "blobs", key: [`hash-${n}`, 0], value: JSON.stringify(`${text} ${n}`) }] : []),
    { op: "add", table: "messages", key: [session, n], value: JSON.stringify({ n, text: `message ${n} `.repeat(20), hash: large ? `hash-${n}` : null }) },
    { op: "delete", table: "partials", key: [session] },
    { op: "put", table: "heads", key: [session], value: JSON.stringify({ epoch, version: n + 1, title: session }) },
  ];
  await store.apply({ lease: { session, epoch }, expect: { version: n === 0 ? null : n }, ops, durability });
  say("acked", n);
}

async function writer() {
  const { epoch } = await store.claim({ session, takeOver });
  const { version } = await headOf();
  say("claimed", epoch);
  for (let n = version; n < version + writes; n += 1) {
    if (drafts) {
      for (let part = 0; part < 8; part += 1) {
        const value = JSON.stringify("draft ".repeat(4000) + part);
        await store.apply({ lease: { session, epoch }, expect: null, ops: [{ op: "put", table: "partials", key: [session], value }], durability: "relaxed" });
      }
    }
    await write(epoch, n, n % 3 === 0 ? "strict" : "relaxed");
  }
  await store.release({ session, epoch });
  say("released");
}

/** Reads along: what was there once stays there, and a head never names a message that is not. */
async function reader() {
  let before = 0;
  for (;;) {
    const messages = await all("messages", session);
    const { version } = await headOf();
    if (messages.length < before || version < messages.length) say("unreadable", `${messages.length} messages after ${before}, head ${version}`);
    before = messages.length;
    if ((await all("heads")).length < 1 && before > 0) say("unreadable", "no session is listed");
    say("read", before);
    await new Promise((resolve) => { setTimeout(resolve, Math.random() * 8); });
  }
}

async function refused() {
  for (;;) {
    try {
      const { epoch } = await store.claim({ session, takeOver: false });
      say("entered", epoch);
      await store.release({ session, epoch });
    } catch (error) {
      if (error.code !== "session_busy") throw error;
      say("busy");
    }
    await new Promise((resolve) => { setTimeout(resolve, Math.random() * 8); });
  }
}

/** Makes sessions that have the large texts of another one, and removes them again. */
async function deleter() {
  for (let turn = 0; turn < writes; turn += 1) {
    const { epoch } = await store.claim({ session, takeOver: true });
    const { version } = await headOf();
    for (let n = version; n < version + 4; n += 1) await write(epoch, n, "relaxed");
    const own = ["messages", "partials", "heads"].map((table) => ({ op: "delete_prefix", table, prefix: [session] }));
    const texts = Array.from({ length: version + 4 }, (_, n) => ({ op: "delete_prefix", table: "blobs", prefix: [`hash-${n}`] }));
    await store.apply({ lease: { session, epoch }, expect: null, ops: [...own, ...texts], durability: "strict" });
    say("deleted");
    await store.release({ session, epoch });
  }
}

try {
  await { writer, reader, refused, deleter }[role]();
} catch (error) {
  say(error.code === "superseded" ? "superseded" : error.code === "session_busy" ? "busy" : "unreadable", role, error.code ?? error.stack);
}
say("end");
