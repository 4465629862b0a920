// Sessions in PostgreSQL: the contract, and eight programs that append, take over and are killed.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import path from "node:path";
import { after, before, test } from "node:test";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { copy, install, remove } from "../packaging/consumer.mjs";
import { postgres } from "./servers.mjs";

const SESSIONS = Number(process.env.STORE_SESSIONS ?? 200);
const APPENDS = Number(process.env.STORE_APPENDS ?? 20_000);

let folder;
let server;
let pg;
let example;
let testing;
before(async () => {
  folder = install(["pg@8.22.0"]);
  copy("www/stores/postgres.mjs", path.join(folder, "postgres.mjs"));
  copy("tests/stores/worker.mjs", path.join(folder, "worker.mjs"));
  server = await postgres();
  pg = createRequire(path.join(folder, "package.json"))("pg");
  example = await import(pathToFileURL(path.join(folder, "postgres.mjs")));
  testing = await import(pathToFileURL(path.join(folder, "node_modules/palimpsest/dist/testing.js")));
});
after(async () => {
  await server?.close();
  remove(folder);
});

async function emptied() {
  const pool = new pg.Pool({ connectionString: server.url, max: 4 });
  await pool.query(`DROP TABLE IF EXISTS palimpsest_rows, palimpsest_epochs; ${example.TABLES}`);
  return pool;
}

/** S5, I1, I6: the example holds the store contract. */
test("the store contract on PostgreSQL", { timeout: 300_000 }, async () => {
  const pools = new Map();
  const make = async () => {
    const pool = await emptied();
    const store = example.postgresStorage(pool);
    pools.set(store, pool);
    return store;
  };
  const report = await testing.storageContract(make, { claims: "supersede", close: (store) => pools.get(store).end() });
  assert.deepEqual([report.passed, report.failed], [25, 0], JSON.stringify(report.cases.filter((one) => one.failure)));
});

/** Runs workers; some are killed on their way. @returns what they acknowledged, and how long it took */
async function run(workers, appends, kills) {
  const acked = [];
  let began = performance.now();
  let superseded = 0;
  let killed = 0;
  const work = async (n) => {
    let left = Math.round(appends / workers);
    for (let life = 0; left > 0; life++) {
      const given = { url: server.url, sessions: SESSIONS, appends: left, seed: n * 1000 + life + 1, name: `w${n}.${life}` };
      const child = spawn(process.execPath, ["worker.mjs", JSON.stringify(given)], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
      const dies = n % 2 === 0 && life < kills ? 20 + ((n * 7 + life * 13) % Math.max(1, Math.floor(left / 2))) : Infinity;
      let rest = "";
      let own = 0;
      child.stdout.setEncoding("utf8").on("data", (text) => {
        const lines = (rest + text).split("\n");
        rest = lines.pop();
        for (const line of lines) {
          if (line.startsWith("acked ")) {
            // the start of a program is not what is measured
            if (acked.length === 0) began = performance.now();
            acked.push(line.slice(6));
            own += 1;
            if (own === dies) child.kill("SIGKILL");
          } else superseded += Number(line.slice(4));
        }
      });
      const [code, signal] = await new Promise((resolve) => { child.once("close", (...how) => resolve(how)); });
      if (signal === "SIGKILL") killed += 1;
      else assert.equal(code, 0);
      left -= own;
    }
  };
  await Promise.all(Array.from({ length: workers }, (_, n) => work(n)));
  return { acked, seconds: (performance.now() - began) / 1000, superseded, killed };
}

/** Every message that is stored. */
async function stored(pool) {
  const store = example.postgresStorage(pool);
  const rows = await store.read({ query: "range", table: "messages", prefix: [], reverse: false, limit: 0 });
  const places = new Map();
  for (const { key: [session, seq] } of rows) places.set(session, [...(places.get(session) ?? []), seq]);
  return { places, found: rows.map(({ key: [session], value }) => `${session} ${/w\d+\.\d+ \d+/.exec(value)?.[0]}`) };
}

/** S5, I6: what was acknowledged is there, once, whoever took over or was killed meanwhile. */
test("eight programs on one PostgreSQL", { timeout: 3_000_000 }, async () => {
  const pool = await emptied();
  try {
    const { acked, seconds, superseded, killed } = await run(8, APPENDS, 3);
    const { places, found } = await stored(pool);
    const there = new Set(found);
    const lost = acked.filter((one) => !there.has(one));
    assert.equal(acked.length, APPENDS);
    assert.deepEqual([lost.length, found.length - there.size], [0, 0], `${lost.length} lost, ${found.length - there.size} doubled`);
    // a killed program may have stored one append that it could not acknowledge any more
    assert.ok(found.length >= acked.length && found.length <= acked.length + killed, `${found.length} stored, ${acked.length} acknowledged, ${killed} killed`);
    for (const [session, seqs] of places) assert.deepEqual(seqs, seqs.map((_, n) => n + seqs[0]), `${session} has a gap`);
    assert.ok(superseded > 0 && killed > 0, `${superseded} take-overs noticed, ${killed} killed`);
    console.log(`# ${acked.length} appends to ${places.size} sessions by 8 programs: 0 lost, 0 doubled, ${superseded} refused as superseded, ${killed} killed, ${Math.round(acked.length / seconds)} a second`);
  } finally {
    await pool.end();
  }
});

/** What one to eight programs append in a second, printed. */
test("throughput on PostgreSQL", { timeout: 3_000_000 }, async () => {
  for (const workers of [1, 2, 4, 8]) {
    const pool = await emptied();
    const { acked, seconds } = await run(workers, APPENDS / 10, 0);
    assert.equal(acked.length, APPENDS / 10);
    console.log(`# ${workers} programs: ${Math.round(acked.length / seconds)} appends a second`);
    await pool.end();
  }
});
