// I10: whatever a function, a class or a method is called with, it throws one of the package's own errors or does what it can. No call
// ends the module: it counts afterwards as before.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { install, remove } from "./consumer.mjs";

let folder;
let palimpsest;
const unhandled = [];
const note = (error) => unhandled.push(String(error?.message ?? error));
before(async () => {
  folder = install();
  palimpsest = await import(pathToFileURL(path.join(fs.realpathSync(folder), "node_modules/palimpsest/dist/node.js")));
  await palimpsest.init();
  process.on("unhandledRejection", note);
});
after(() => {
  process.off("unhandledRejection", note);
  remove(folder);
});

const cyclic = {};
cyclic.self = cyclic;
const list = [{ role: "user", content: "Hello there." }, { role: "assistant", content: "Hi." }, { role: "user", content: "What is new?" }];

/** Values that callers pass by mistake, each under a name. */
const GIVEN = {
  undefined, null: null, 0: 0, NaN, "-1": -1, "1.5": 1.5, "1e300": 1e300, true: true, "an empty text": "", "a text": "x", "half a character": "\ud800",
  "an empty list": [], "an empty object": {}, "a function": () => 1, "a symbol": Symbol("s"), "a big integer": 10n, "a circle": cyclic, "a list": list,
  "a list in a list": [[]], "null in a list": [null], "a date": new Date(0), "a map": new Map(), bytes: new Uint8Array([1, 2, 3]),
  "options with a text as window": { window: "x" }, "options with an empty policy": { window: 4096, policy: {} }, "options with a number as dialect": { dialect: 7 },
  "a message": { role: "user", content: "x" }, "a message without a role": { role: 5 },
};

/** Calls something with nothing, with everything, and with every pair, and collects what a caller should not meet. */
async function tried(name, call, faults, first = []) {
  const entries = Object.entries(GIVEN);
  const pairs = entries.flatMap(([a, x]) => entries.map(([b, y]) => [`${a}, ${b}`, [x, y]]));
  for (const [label, given] of [["nothing", []], ...entries.map(([a, x]) => [a, [x]]), ...pairs]) {
    try {
      const made = call(...first, ...given);
      const isWaited = typeof made?.then === "function";
      const value = isWaited ? await Promise.race([made, new Promise((resolve) => { setTimeout(resolve, 5000, "waiting").unref(); })]) : made;
      if (value === "waiting") faults.push(`${name}(${label}) never ends`);
      value?.close?.();
    } catch (error) {
      if (!(error instanceof palimpsest.PalimpsestError)) faults.push(`${name}(${label}) throws ${error?.name}: ${error?.message}`);
      else if (error.code === "engine_crashed") return void faults.push(`${name}(${label}) ends the module`);
    }
  }
  if (palimpsest.countTokens("Hello there.").tokens < 2) faults.push(`${name}: it counts otherwise now`);
}

test("functions and classes", async () => {
  const faults = [];
  for (const [name, value] of Object.entries(palimpsest)) {
    if (typeof value !== "function" || ["init", "initSession", "PalimpsestError"].includes(name)) continue;
    const isClass = /^class/.test(Function.prototype.toString.call(value));
    const call = isClass ? (...given) => new value(...given) : value;
    await tried(name, call, faults);
    if (["compact", "compactWith", "forgotten", "measureRequests", "receipt", "replay", "recall", "recallTool"].includes(name)) await tried(`${name}(a list, …)`, call, faults, [list]);
    if (isClass) {
      const made = Object.getOwnPropertyNames(value).filter((one) => typeof value[one] === "function" && one !== "of");
      for (const one of made) await tried(`${name}.${one}`, (...given) => value[one](...given), faults);
    }
  }
  assert.deepEqual([faults, unhandled], [[], []]);
});

/** The names of an object's methods. Getters are not called. */
function methods(object) {
  const names = new Set();
  for (let at = object; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) if (typeof value === "function") names.add(name);
  }
  names.delete("constructor");
  names.delete("close");
  assert.ok(names.size > 0);
  return [...names];
}

test("methods", async () => {
  const { Calibration, Conversation, openLibrary, openSession, recallTool, Tokenizer } = palimpsest;
  const { fileStorage } = await import(pathToFileURL(path.join(fs.realpathSync(folder), "node_modules/palimpsest/dist/node-stores.js")));
  const place = fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-arguments-"));
  const store = fileStorage(place);
  const makers = {
    conversation: () => { const made = new Conversation({ window: 4096 }); made.push(...list); return made; },
    calibration: () => Calibration.start("any"),
    tokenizer: () => Tokenizer.estimate("llama3.2"),
    recallTool: () => recallTool(list),
    session: async () => { const made = await openSession({ model: "any", window: 4096 }); await made.append(list); return made; },
    library: () => openLibrary({ store }),
  };
  const faults = [];
  for (const [name, make] of Object.entries(makers)) {
    for (const method of methods(await make())) {
      const object = await make();
      await tried(`${name}.${method}`, (...given) => object[method](...given), faults);
      await object.close?.();
    }
  }
  for (const part of ["prompt", "offloaded", "recalled", "watermark", "branches", "goals", "snapshots"]) {
    const session = await makers.session();
    for (const method of methods(session[part])) await tried(`session.${part}.${method}`, (...given) => session[part][method](...given), faults);
    await session.close();
  }
  await store.close();
  fs.rmSync(place, { recursive: true, force: true });
  assert.deepEqual([faults, unhandled], [[], []]);
});
