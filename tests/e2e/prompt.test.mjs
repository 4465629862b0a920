// The system message by its parts: rules that always hold, skills that are switched on and off, checks before each answer.

import assert from "node:assert/strict";
import test from "node:test";
import { ENGINES, begin, cleanUp, say } from "./harness.mjs";
import { click, messages, ready, text, until } from "./acts.mjs";

const SLOW = { timeout: 180_000 };
test.afterEach(cleanUp);

const put = (page, selector, value) => page.$eval(selector, (field, value) => { field.value = value; }, value);
const notes = (page) => page.$$eval(".notes .tick-box", (all) => all.map((box) => [box.textContent, box.querySelector("input").checked]));

/** G8, W1 in the app: a session has rules, skills and checks; skills are switched in the notes, and one that goes leaves a mark. */
for (const engine of ENGINES) test(`rules, skills and checks are parts of the system message (${engine})`, SLOW, async () => {
  const world = await begin({ engine, script: { replies: ["One.", "Two.", "Three."] } });
  const { page } = world;
  await ready(page);
  const edit = async () => {
    await click(page, "#edit-system");
    await page.waitForSelector("dialog[open]");
  };
  const save = async () => {
    await click(page, "dialog .btn.solid");
    await until(page, () => !document.querySelector("dialog[open]"));
  };
  await edit();
  await put(page, "#system", "You keep a bakery.");
  await click(page, "#prompt-parts");
  await put(page, "#mandates", "Never name a price.");
  await put(page, "#checks", "Is every weight in grams?");
  for (const [n, name, words] of [[0, "sql", "Table: loaves(id, grams)."], [1, "style", "Write short sentences."], [2, "", "A skill without a name."]]) {
    await click(page, "#add-skill");
    await page.waitForSelector(`#skill-name-${n}`);
    await put(page, `#skill-name-${n}`, name);
    await put(page, `#skill-text-${n}`, words);
  }
  await click(page, "#skill-on-1");
  await save();
  await until(page, () => document.querySelectorAll(".notes .tick-box").length === 2);
  assert.deepEqual(await notes(page), [["sql", true], ["style", false]]);
  assert.match(await text(page, ".notes .system"), /bakery.*price.*grams/s);

  const system = () => world.chats().at(-1).messages[0].content;
  await say(page, "Hello?");
  await messages(page, 2);
  for (const words of ["You keep a bakery.", "Never name a price.", "Table: loaves(id, grams).", "Is every weight in grams?"]) {
    assert.ok(system().includes(words), `${words} in ${system()}`);
  }
  assert.ok(!system().includes("short sentences"));

  await click(page, ".notes .tick-box:nth-of-type(1) input");
  await until(page, () => !document.querySelector(".notes .tick-box input").checked);
  await click(page, ".notes .tick-box:nth-of-type(2) input");
  await until(page, () => [...document.querySelectorAll(".notes .tick-box input")][1].checked);
  await say(page, "And now?");
  await messages(page, 4);
  assert.ok(system().includes("short sentences") && !system().includes("loaves(id"));

  // it is all there again, and can be changed
  await page.reload();
  await ready(page);
  await until(page, () => document.querySelectorAll(".notes .tick-box").length === 2);
  assert.deepEqual(await notes(page), [["sql", false], ["style", true]]);
  await edit();
  assert.equal(await page.$eval("#mandates", (field) => field.value), "Never name a price.");
  await click(page, "dialog [role=group]:nth-of-type(1) .link");
  await until(page, () => document.querySelectorAll("dialog [role=group]").length === 1);
  await put(page, "#mandates", "");
  await save();
  await until(page, () => document.querySelectorAll(".notes .tick-box").length === 1);
  await say(page, "Last?");
  await messages(page, 6);
  assert.ok(!system().includes("price") && system().includes("short sentences"));
  await world.end();
});
