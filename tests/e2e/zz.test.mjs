import { test } from "node:test";
import { begin, cleanUp, importFile, transcript } from "./harness.mjs";
import { after } from "node:test";
import { patient, ready, until } from "./acts.mjs";
test("zz", { timeout: 900_000 }, async () => {
  const world = await begin({ settings: { window: 131072, summary_model: "-", automatic: false } });
  const { page } = world;
  await ready(page);
  const talk = (n) => Array.from({ length: n }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: `Line ${i + 1} of a talk about bread.` }));
  for (const n of [1000, 5000, 50000]) {
    let began = Date.now();
    await importFile(page, transcript(talk(n), `Long ${n}`));
    await patient(400_000)(page, (n) => document.querySelector(".thread .msg:last-of-type .prose")?.textContent === `Line ${n} of a talk about bread.`, n);
    console.log(n, "import", Date.now() - began);
    for (let k = 0; k < 3; k += 1) {
      began = Date.now();
      await page.reload();
      await patient(200_000)(page, (n) => document.querySelector(".thread .msg:last-of-type .prose")?.textContent === `Line ${n} of a talk about bread.`, n);
      console.log(n, "open", Date.now() - began);
    }
  }
  await world.end({ tolerate: [/.*/] });
});
