// cargo xtask bench web: bytes and speed of the app, as a person meets them, in a real Chromium.
//
//   bytes     what a first visit loads, as brotli
//   start     shell painted, session open, message field usable: after the page was asked for
//   open      a click on a session in the list until its last message is there
//   type      a key until the next frame shows it: median, and the slowest of forty
//   stream    100 tokens a second for five seconds: frames that took more than a twentieth of a second
//
//   nodes     elements of the page, with the session open and answered
//
// Growth is what a session of ten times the messages may cost: opening may grow with the messages, typing and the number
// of nodes may not.

import fs from "node:fs";
import path from "node:path";
import { app, begin, importFile, transcript } from "../e2e/harness.mjs";
import { click, patient, ready, until } from "../e2e/acts.mjs";

const SIZES = (process.env.SIZES ?? "100,1000,5000,20000").split(",").map(Number);
const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];

function bytes() {
  const eager = ["index.html", ...fs.readdirSync(app).filter((name) => /\.(js|wasm|css)$/.test(name) && !/^(tokenizer|sw)\./.test(name))];
  for (const name of eager) {
    const small = path.join(app, `${name}.br`);
    const size = (file) => (fs.existsSync(file) ? fs.statSync(file).size : NaN);
    console.log(`  ${name.padEnd(36)}${String(size(path.join(app, name))).padStart(10)}${String(size(small)).padStart(10)} brotli`);
  }
}

/** Words of a length that people and models write; none twice the same. */
function talk(n) {
  return Array.from({ length: n }, (_, i) =>
    i % 2 === 0
      ? { role: "user", content: `Question ${i} about oven ${i % 97}: how long does the dough of batch ${i} rest, and at what temperature?` }
      : { role: "assistant", content: `Batch ${i - 1} rests ${8 + (i % 5)} hours at ${20 + (i % 9)} °C. **Then** it bakes ${30 + (i % 20)} minutes.\n\n- steam for the first ten minutes\n- the recipe lies in \`/recipes/bread-${i}.md\`\n` });
}

/** Milliseconds from `act` in the page until `there` is true, looked at every frame. */
const after = (page, act, there, ...args) =>
  page.evaluate(
    async (act, there, args) => {
      const look = new Function("...args", `return (${there})(...args)`);
      const from = performance.now();
      new Function(`return (${act})()`)();
      while (!look(...args)) await new Promise(requestAnimationFrame);
      return performance.now() - from;
    },
    act.toString(), there.toString(), args,
  );

async function started(page) {
  await page.reload({ waitUntil: "load" });
  await page.waitForFunction(() => window.usable, { timeout: 600_000, polling: 100 });
  return page.evaluate(() => ({ paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN, usable: window.usable }));
}

/** Each key: from the event until the frame after it. */
async function typing(page) {
  await page.focus("#msg");
  await page.evaluate(() => {
    window.typed = [];
    document.querySelector("#msg").addEventListener("keydown", () => {
      const from = performance.now();
      requestAnimationFrame(() => setTimeout(() => window.typed.push(performance.now() - from)));
    });
  });
  for (const letter of "how long should a rye sourdough rest tonight".slice(0, 40)) {
    await page.keyboard.press(letter === " " ? "Space" : letter);
    await new Promise((done) => setTimeout(done, 30));
  }
  return page.evaluate(() => window.typed);
}

async function streaming(page) {
  await page.evaluate(() => {
    window.frames = [];
    let last = performance.now();
    const frame = (now) => {
      window.frames.push(now - last);
      last = now;
      if (window.frames.length < 1e5) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  await page.$eval("#msg", (field) => (field.value = ""));
  await page.focus("#msg");
  await page.keyboard.type("Tell me more");
  await page.keyboard.press("Enter");
  await until(page, () => document.querySelector(".replying .prose"));
  await page.evaluate(() => (window.frames = []));
  await until(page, () => /word480 /.test(document.querySelector(".replying .prose")?.textContent ?? "") || !document.querySelector(".replying"));
  return page.evaluate(() => window.frames);
}

async function measure(n) {
  const pieces = Array.from({ length: 500 }, (_, i) => `word${i} `);
  const world = await begin({ script: { replies: [{ content: pieces, delay_ms: 10 }] }, settings: { automatic: false, window: 131072 } });
  const { page } = world;
  page.setDefaultTimeout(600_000);
  await ready(page);
  await importFile(page, transcript(talk(n), "Long"));
  await patient(600_000)(page, () => document.querySelector("#h-chat").textContent === "Long");
  await page.evaluateOnNewDocument(() => {
    const look = () => {
      const field = document.querySelector("#msg");
      if (field && !field.disabled && document.querySelector(".thread .msg")) window.usable = performance.now();
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  const starts = [];
  for (let i = 0; i < 3; i += 1) starts.push(await started(page));
  await click(page, ".side .new");
  await until(page, () => document.querySelectorAll(".thread .msg").length === 0);
  const opens = [];
  for (let i = 0; i < 3; i += 1) {
    opens.push(await after(page, () => [...document.querySelectorAll("[data-session]")].find((row) => row.textContent.includes("Long")).click(), (n) => document.querySelector(`.thread .msg[data-seq="${n}"]`), n));
    await click(page, "[data-session]:not([aria-current])");
    await until(page, () => document.querySelectorAll(".thread .msg").length === 0);
  }
  await page.evaluate(() => [...document.querySelectorAll("[data-session]")].find((row) => row.textContent.includes("Long")).click());
  await until(page, (n) => document.querySelector(`.thread .msg[data-seq="${n}"]`), n);
  const keys = await typing(page);
  const frames = await streaming(page);
  const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
  await world.end({ tolerate: [/./] });
  return {
    n, paint: median(starts.map((s) => s.paint)), usable: median(starts.map((s) => s.usable)), open: median(opens),
    key: median(keys), slowest: Math.max(...keys), frames: frames.length, dropped: frames.filter((ms) => ms > 50).length, nodes,
  };
}

console.log("bytes of a first visit");
bytes();
console.log("\n messages  first paint, ms  usable, ms  open, ms  key, ms  slowest  frames  > 50 ms   nodes");
const rows = [];
for (const n of SIZES) {
  const row = await measure(n);
  rows.push(row);
  const cell = (value, width) => (Number.isFinite(value) ? value.toFixed(value < 100 ? 1 : 0) : "–").padStart(width);
  console.log(`${String(n).padStart(9)}${cell(row.paint, 17)}${cell(row.usable, 12)}${cell(row.open, 10)}${cell(row.key, 9)}${cell(row.slowest, 9)}${String(row.frames).padStart(8)}${String(row.dropped).padStart(9)}${String(row.nodes).padStart(8)}`);
}
const [first, last] = [rows.find((row) => row.n >= 1000) ?? rows[0], rows.at(-1)];
if (last.key > Math.max(first.key * 3, 34)) {
  console.log(`typing grows with the session: ${first.key.toFixed(1)} ms at ${first.n}, ${last.key.toFixed(1)} ms at ${last.n}`);
  process.exitCode = 1;
}
if (last.nodes > first.nodes * 1.5) {
  console.log(`the page grows with the session: ${first.nodes} nodes at ${first.n}, ${last.nodes} at ${last.n}`);
  process.exitCode = 1;
}
