// Sessions in a Durable Object, in the real workerd by miniflare: the contract inside of the object and from a worker, and a session there.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { build } from "vite";
import { copy, install, remove } from "../packaging/consumer.mjs";

/** The files of the package's module that sessions need. */
const MODULES = ["palimpsest", "session", "shared"];

let folder;
let server;
before(async () => {
  folder = install(["miniflare@4.20260730.0"]);
  copy("www/stores/durable-object.mjs", path.join(folder, "durable-object.mjs"));
  fs.writeFileSync(path.join(folder, "worker.mjs"), `
    import { DurableObject } from "cloudflare:workers";
    import { init, openSession } from "palimpsest";
    import { storageContract } from "palimpsest/testing";
    import palimpsest from "./palimpsest.wasm";
    import session from "./session.wasm";
    import shared from "./shared.wasm";
    import { PalimpsestStore, durableObjectStorage, remoteStorage } from "./durable-object.mjs";
    export { PalimpsestStore };

    /** Checks the storage inside of an object. */
    export class Inside extends DurableObject {
      async contract() {
        return storageContract(async () => {
          this.ctx.storage.sql.exec("DROP TABLE IF EXISTS palimpsest_rows");
          this.ctx.storage.sql.exec("DROP TABLE IF EXISTS palimpsest_epochs");
          return durableObjectStorage(this.ctx.storage);
        }, { claims: "supersede" });
      }
    }

    const failed = (promise) => promise.then(() => "done", (error) => error.code ?? String(error));

    export default {
      async fetch(request, env) {
        const { pathname } = new URL(request.url);
        let n = 0;
        if (pathname === "/inside") return Response.json(await env.INSIDE.getByName("x").contract());
        if (pathname === "/remote") return Response.json(await storageContract(() => remoteStorage(env.SESSIONS.getByName("contract " + n++)), { claims: "supersede" }));
        await init(palimpsest, { session, shared });
        const store = remoteStorage(env.SESSIONS.getByName("japan"));
        const open = (takeOver) => openSession({ id: "japan", model: "any", window: 2048, store, takeOver });
        if (pathname === "/write") {
          const first = await open(false);
          for (let n = 0; n < 40; n++) await first.append({ role: n % 2 ? "assistant" : "user", content: (n + ": the tide table of harbour " + n + " is read aloud. ").repeat(8) });
          const { report } = await first.compact();
          const second = await open(true);
          await second.append({ role: "user", content: "Whose turn is it?" });
          const refused = await failed(first.append({ role: "user", content: "Mine!" }));
          const window = second.window();
          await second.close();
          await first.close().catch(() => {});
          return Response.json({ report, refused, window });
        }
        const again = await open(true);
        const answer = { window: again.window(), texts: JSON.stringify(again.history()), losses: again.losses() };
        await again.close();
        return Response.json(answer);
      },
    };
  `);
  for (const name of MODULES) fs.copyFileSync(createRequire(path.join(folder, "package.json")).resolve(`palimpsest/${name}.wasm`), path.join(folder, `${name}.wasm`));
  // as wrangler does it: one script, with modules of wasm beside it
  await build({
    root: folder, logLevel: "error",
    resolve: { conditions: ["workerd", "worker", "browser"] },
    build: { outDir: "built", target: "es2022", minify: false, rollupOptions: { input: path.join(folder, "worker.mjs"), preserveEntrySignatures: "strict", external: ["cloudflare:workers", /^\.\/\w+\.wasm$/], output: { entryFileNames: "worker.mjs", format: "es", codeSplitting: false } } },
  });
  await start();
});
after(async () => {
  await server?.dispose();
  remove(folder);
});

/** Starts the server over what it keeps in the folder. */
async function start() {
  const { Miniflare } = await import(pathToFileURL(createRequire(path.join(folder, "package.json")).resolve("miniflare")));
  server = new Miniflare({
    modules: [
      { type: "ESModule", path: "worker.mjs", contents: fs.readFileSync(path.join(folder, "built/worker.mjs"), "utf8") },
      ...MODULES.map((name) => ({ type: "CompiledWasm", path: `${name}.wasm`, contents: fs.readFileSync(path.join(folder, `${name}.wasm`)) })),
    ],
    compatibilityDate: "2026-06-01",
    durableObjects: { SESSIONS: { className: "PalimpsestStore", useSQLite: true }, INSIDE: { className: "Inside", useSQLite: true } },
    durableObjectsPersist: path.join(folder, "kept"),
  });
  await server.ready;
}
const ask = async (name) => {
  const answer = await server.dispatchFetch(`http://worker/${name}`);
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return JSON.parse(text);
};

/** S5, I1, I6: the example holds the store contract, inside of an object and called from a worker. */
for (const where of ["inside", "remote"]) {
  test(`the store contract in a Durable Object, ${where}`, { timeout: 300_000 }, async () => {
    const report = await ask(where);
    assert.deepEqual([report.passed, report.failed], [25, 0], JSON.stringify(report.cases.filter((one) => one.failure)));
  });
}

/** S5, I6: a session runs in workerd over an object; the writer that was taken over is refused; after a restart all of it is there. */
test("a session in a Durable Object", { timeout: 120_000 }, async () => {
  const { report, refused, window } = await ask("write");
  assert.ok(report.after < report.before);
  assert.equal(refused, "superseded");
  await server.dispose();
  await start();
  const again = await ask("again");
  assert.deepEqual([again.window, again.losses], [window, []]);
  assert.ok(again.texts.includes("Whose turn") && !again.texts.includes("Mine!"));
});
