// The conformance cases in Node: what the native crate answers, the package answers, byte for byte.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { install, remove, root, run } from "./consumer.mjs";

/** I2: the same input gives the same bytes in every build. */
test("conformance cases in Node", () => {
  const folder = install();
  try {
    const cases = path.join(root, "tests/conformance");
    const files = fs.readdirSync(cases).filter((file) => file.endsWith(".json")).sort();
    const answers = run(folder, `
      import { readFileSync } from "node:fs";
      import * as palimpsest from "palimpsest";
      import { answer } from ${JSON.stringify(path.join(root, "tests/packaging/answer.js"))};
      await palimpsest.init();
      const load = (file) => JSON.parse(readFileSync(${JSON.stringify(cases)} + "/" + file, "utf8"));
      const all = ${JSON.stringify(files)}.map(async (file) => [file, await answer(palimpsest, load(file))]);
      console.log(JSON.stringify(Object.fromEntries(await Promise.all(all))));
    `);
    for (const file of files) {
      const { expected } = JSON.parse(fs.readFileSync(path.join(cases, file), "utf8"));
      assert.ok(JSON.stringify(answers[file]) === JSON.stringify(expected), `${file} is answered differently`);
    }
    assert.ok(files.length >= 13);
  } finally {
    remove(folder);
  }
});
