// A file of each program that is imported, dropped on the page: the page says what it read, and what it did not understand.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { launch } from "../packaging/browser.mjs";
import { root } from "../packaging/consumer.mjs";
import { start, visit } from "./page.mjs";

const folder = path.join(root, "tests/fixtures/imports");

const branch = "1 other branch is not shown: this is the one that was shown last.";
const silent = (n) => (n === 1 ? "1 record of the other program says nothing to a model." : `${n} records of the other program say nothing to a model.`);
const unknown = (what) => `Not understood and left out: ${what}.`;

/** The number of messages of each file's first conversation, and the lines that the page writes about it. */
const FILES = {
  "chatgpt.json": [5, unknown("image_asset_pointer (1, first at 1)"), silent(2), branch],
  "claude-code.jsonl": [7, unknown("brand-new-record (1, first at 16)"), silent(5), branch],
  "claude.json": [5, unknown("hologram (1, first at 1), image (1, first at 1)"), branch],
  "codex.jsonl": [6, unknown("telepathy (1, first at 13)"), silent(3)],
  "gemini-cli.json": [4, silent(1)],
  "gemini-cli.jsonl": [3, silent(2)],
  "jan.jsonl": [5],
  "librechat.json": [4, branch],
  "lm-studio.json": [6, silent(1), branch],
  "lobehub.json": [4],
  "open-webui.json": [3, branch],
  "opencode.json": [6, unknown("hologram (1, first at 1)"), silent(1)],
  "pi.jsonl": [6, silent(2), branch],
  "sillytavern.jsonl": [4, unknown("no JSON (1, first at 6)"), silent(1), "3 other branches are not shown: this is the one that was shown last."],
};

let server;
const browsers = {};
before(async () => {
  server = await start();
  for (const name of ["chrome", "firefox"]) browsers[name] = await launch(name);
});
after(async () => {
  for (const { close } of Object.values(browsers)) await close();
  await server?.close();
});

/** R2, S7: every fixture of a format has its line here, so a format that is added is tried on the page, too. */
test("every format that has a fixture is tried", () => {
  const there = fs.readdirSync(folder).filter((name) => name !== "README.md");
  assert.deepEqual(Object.keys(FILES).sort(), there.sort());
});

/** R2, S7: what a file holds, what of it is no message, and what was not understood. */
for (const engine of ["chrome", "firefox"]) {
  test(`files of other programs, ${engine}`, async () => {
    const { page, problems } = await visit(browsers[engine].browser, `${server.url}/`);
    for (const [name, [messages, ...notes]] of Object.entries(FILES)) {
      await (await page.waitForSelector("#file")).uploadFile(path.join(folder, name));
      // the figures of a file come after its line; those before were of the sample, or of another file
      await page.waitForFunction((name) => document.getElementById("told").textContent.startsWith(`${name}: `) && !document.querySelector(".row.is-waiting"), { timeout: 60_000 }, name);
      const said = await page.evaluate(() => ["told", "said-figures", "verdict"].map((id) => document.getElementById(id).textContent));
      const [first, ...others] = said[0].split("\n");
      assert.match(first, new RegExp(`: ${name === "lobehub.json" ? "2 conversations" : "1 conversation"}, read in \\d+ ms\\.$`), name);
      assert.deepEqual(others, notes, name);
      assert.match(said[1], new RegExp(`^${messages} messages, about \\d+ tokens$`), name);
      assert.match(said[2], /stands whole/, name);
      // whoever has several conversations in one file chooses among them
      assert.equal(await page.$eval("#which", (which) => which.hidden), name !== "lobehub.json", name);
    }
    assert.deepEqual(problems, []);
    await page.close();
  });
}
