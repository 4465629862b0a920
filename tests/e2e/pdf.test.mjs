// PDF files: their text goes with a message.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import { ENGINES, begin, cleanUp, say } from "./harness.mjs";
import { messages, ready, text, until } from "./acts.mjs";

const SLOW = { timeout: 180_000 };
test.afterEach(cleanUp);

/** A PDF file whose pages hold these lines. */
function pdf(pages) {
  const objects = ["<< /Type /Catalog /Pages 2 0 R >>", null, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"];
  const kids = pages.map((lines) => {
    const drawn = `BT /F1 12 Tf 72 720 Td ${lines.map((line) => `(${line}) Tj 0 -20 Td`).join(" ")} ET`;
    const content = objects.push(`<< /Length ${drawn.length} >>\nstream\n${drawn}\nendstream`);
    return objects.push(`<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents ${content} 0 R >>`);
  });
  objects[1] = `<< /Type /Pages /Count ${kids.length} /Kids [${kids.map((kid) => `${kid} 0 R`).join(" ")}] >>`;
  let out = "%PDF-1.4\n";
  const places = objects.map((object, at) => {
    const place = out.length;
    out += `${at + 1} 0 obj\n${object}\nendobj\n`;
    return place;
  });
  const table = out.length;
  out += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${places.map((place) => `${String(place).padStart(10, "0")} 00000 n \n`).join("")}`;
  return Buffer.from(`${out}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${table}\n%%EOF\n`, "latin1");
}

/** 19.7: the text of a PDF file goes with a message, page by page; one without text is refused with a sentence. */
for (const engine of ENGINES) test(`the text of a PDF file goes with a message (${engine})`, SLOW, async () => {
  const world = await begin({ engine, script: { replies: ["Read."] } });
  const { page, browser } = world;
  await ready(page);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-pdf-"));
  const attach = async (name, content) => {
    fs.writeFileSync(path.join(folder, name), content);
    await (await page.$("#attach")).uploadFile(path.join(folder, name));
  };
  const fetched = () => page.evaluate(() => performance.getEntriesByType("resource").filter((entry) => /\/pdf\//.test(entry.name)).length);
  assert.equal(await fetched(), 0, "nobody loads it before");
  await attach("lease.pdf", pdf([["Lease of the bakery", "Rent: 1,250 EUR"], ["Deposit 3,750 EUR", "Code KEEP-7731"]]));
  await page.waitForSelector(".attached li");
  assert.ok(await fetched() > 0);
  assert.match(await text(page, ".attached li"), /lease\.pdf/);
  if (engine === "chrome") {
    // what a browser prints has letters of its own fonts
    const printed = await browser.newPage();
    await printed.setContent("<h1>Invoice 4711</h1><p>Grüße aus Köln: 12,50 €");
    const bytes = await printed.pdf();
    await printed.close();
    await attach("invoice.pdf", bytes);
    await until(page, () => document.querySelectorAll(".attached li").length === 2);
  }
  await say(page, "What is the rent?");
  await messages(page, 2);
  const said = JSON.stringify(world.chats().at(-1).messages);
  assert.match(said, /\[page 1\]\\nLease of the bakery\\nRent: 1,250 EUR\\n\\n\[page 2\]\\nDeposit 3,750 EUR\\nCode KEEP-7731/);
  if (engine === "chrome") assert.match(said, /Invoice 4711\\nGrüße aus Köln: 12,50 €/);

  for (const [name, content] of [["empty.pdf", pdf([[]])], ["broken.pdf", "%PDF-1.4\nnothing of it"]]) {
    await attach(name, content);
    await until(page, (name) => [...document.querySelectorAll(".toast.bad")].some((one) => one.textContent.includes(`No text of “${name}” could be read`)), name);
  }
  assert.equal(await page.$(".attached"), null);
  fs.rmSync(folder, { recursive: true });
  await world.end();
});
