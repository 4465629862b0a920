// axe over every screen and state, in light, dark and forced colours, at 360 and 1280 pixels: no violation. In light colours at 780 and 1150, too, nothing is cut off, collides or is squeezed.
// PALIMPSEST_PICTURES=folder keeps a picture of each, at 360, 1024 and 1440.

import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import test from "node:test";
import { defaultModels } from "../ollama/fake/models.mjs";
import { begin, cleanUp } from "./harness.mjs";
import { BUSY, STATES, TROUBLE, furnish, hurry, leave, look, outside, squeezed, touching } from "./screens.mjs";

test.afterEach(cleanUp);

const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Violations of the page as it stands, each with the elements it is about. */
async function violations(page) {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const found = await globalThis.axe.run(document, { resultTypes: ["violations"] });
    // the app's pages are hashes: a link to one that is scrolled out of sight looks like a skip link without a target
    const real = (v) => v.id !== "skip-link" || v.nodes.some((n) => document.querySelector(n.target[0])?.matches(".skip"));
    return found.violations.filter(real).map((v) => `${v.id} (${v.impact}): ${v.nodes.slice(0, 3).map((n) => `${n.target.join(" ")} ${n.any[0]?.message ?? n.failureSummary}`).join(" | ")}`);
  });
}

/** Every state at every width: what is wrong with it; and pictures, where they are wanted. */
async function walk(page, colours, states) {
  const found = [];
  const pictures = process.env.PALIMPSEST_PICTURES;
  // what goes on does not go on long enough for two more rounds
  const between = colours === "light" && states !== BUSY ? [780, 1150] : [];
  for (const width of [360, 1280, ...between, ...(pictures && states !== BUSY ? [1024, 1440] : [])]) {
    await look(page, width, colours);
    for (const [name, visit, end] of states) {
      try {
        await visit(page);
      } catch (error) {
        throw new Error(`${name} at ${width}: ${error.message}`);
      }
      if (pictures && ![780, 1150, 1280].includes(width)) {
        await new Promise((done) => setTimeout(done, 150));
        await page.screenshot({ path: path.join(pictures, `${name}-${colours}-${width}.png`) });
      }
      // what is wider than its screen scrolls in a box of its own
      const wide = await page.$$eval(".screen", (all) => all.filter((s) => getComputedStyle(s).overflowX === "auto" && s.scrollWidth > s.clientWidth + 1).map((s) => `${s.id} is ${s.scrollWidth} wide`));
      found.push(...wide.map((text) => `${name} at ${width}: ${text}`));
      found.push(...[...(await touching(page)), ...(await outside(page)), ...(await squeezed(page))].map((text) => `${name} at ${width}: ${text}`));
      if (width === 360 || width === 1280) found.push(...(await violations(page)).map((text) => `${name} at ${width}: ${text}`));
      await end?.(page);
      await leave(page);
    }
  }
  return found;
}

for (const colours of ["light", "dark", "forced"]) {
  test(`no screen has an accessibility violation in ${colours} colours`, { timeout: 600_000 }, async () => {
    const world = await begin({ settings: { summary_model: "-" }, script: { answer: { words: 40 } } });
    await furnish(world.page);
    const found = await walk(world.page, colours, STATES);
    await world.end();
    assert.deepEqual(found, []);
  });

  test(`nothing that goes on has an accessibility violation in ${colours} colours`, { timeout: 300_000 }, async () => {
    const words = Array.from({ length: 600 }, (_, i) => `word${i} `);
    const models = defaultModels().map((model) => ({ ...model, capabilities: [...model.capabilities, "vision"] }));
    const world = await begin({ settings: { window: 4096, automatic: false }, script: { models, replies: () => ({ content: words, delay_ms: 60 }), delay_ms: 60 } });
    await hurry(world.page);
    const found = await walk(world.page, colours, BUSY);
    await world.end();
    assert.deepEqual(found, []);
  });

  test(`no screen of trouble has an accessibility violation in ${colours} colours`, { timeout: 300_000 }, async () => {
    // nobody listens there, and nothing is kept
    const world = await begin({ settings: { address: "http://127.0.0.1:58999" } });
    const { page } = world;
    await page.evaluateOnNewDocument(() => Object.defineProperty(globalThis, "indexedDB", { get: () => ({ open: () => { throw new DOMException("refused", "SecurityError"); } }) }));
    await page.reload();
    await page.waitForSelector(".offline");
    const found = await walk(page, colours, TROUBLE);
    await world.end({ tolerate: [/58999|ERR_CONNECTION_REFUSED|Failed to/] });
    assert.deepEqual(found, []);
  });
}
