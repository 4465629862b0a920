// Sessions in Redis: the contract, and a session that two programs have in turn.

import assert from "node:assert/strict";
import path from "node:path";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { copy, install, remove } from "../packaging/consumer.mjs";
import { redis } from "./servers.mjs";

let folder;
let server;
let client;
let example;
const entry = (name) => import(pathToFileURL(path.join(folder, `node_modules/palimpsest/dist/${name}.js`)));
before(async () => {
  folder = install(["redis@5.8.3"]);
  copy("www/stores/redis.mjs", path.join(folder, "redis.mjs"));
  server = await redis();
  client = await createRequire(path.join(folder, "package.json"))("redis").createClient({ url: server.url }).connect();
  example = await import(pathToFileURL(path.join(folder, "redis.mjs")));
});
after(async () => {
  await client?.close();
  await server?.close();
  remove(folder);
});

/** S5, I1, I6: the example holds the store contract. */
test("the store contract on Redis", { timeout: 300_000 }, async () => {
  const { storageContract } = await entry("testing");
  const make = async () => {
    await client.flushAll();
    return example.redisStorage(client);
  };
  const report = await storageContract(make, { claims: "supersede" });
  assert.deepEqual([report.passed, report.failed], [25, 0], JSON.stringify(report.cases.filter((one) => one.failure)));
});

/** S5, I6: two writers in turn; the one that was taken over is refused, and nothing of it is there. */
test("a session in Redis", { timeout: 120_000 }, async () => {
  await client.flushAll();
  const { openSession } = await entry("node");
  const open = (takeOver) => openSession({ id: "japan", model: "any", window: 2048, store: example.redisStorage(client), takeOver });
  const first = await open(false);
  for (let n = 0; n < 40; n++) await first.append({ role: n % 2 ? "assistant" : "user", content: `${n}: the tide table of harbour ${n} is read aloud. `.repeat(8) });
  const done = await first.compact();
  assert.ok(done.report.after < done.report.before);
  const second = await open(true);
  await second.append({ role: "user", content: "Whose turn is it?" });
  await assert.rejects(first.append({ role: "user", content: "Mine!" }), { code: "superseded" });
  const texts = JSON.stringify(await second.history());
  assert.ok(texts.includes("Whose turn") && !texts.includes("Mine!"));
  await second.close();
  await first.close().catch(() => {});
});
