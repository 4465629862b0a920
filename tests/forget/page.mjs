// The page of www/forget as `cargo xtask pack` leaves it, in a browser.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { root } from "../packaging/consumer.mjs";
import { serve } from "../packaging/browser.mjs";

export const folder = path.join(root, "dist/www/forget");

/** The policy that the page states itself. */
export function policy() {
  const page = path.join(folder, "index.html");
  assert.ok(fs.existsSync(page), "run `cargo xtask pack` first: it leaves the page in dist/www/forget");
  return fs.readFileSync(page, "utf8").match(/http-equiv="Content-Security-Policy" content="([^"]+)"/)[1];
}

/** Serves the page under its own policy. */
export const start = () => serve(folder, { policy: policy() });

/** Opens the page, with everything on it that should not be. */
export async function visit(browser, url, { width = 1280, height = 900, theme = "light" } = {}) {
  const page = await browser.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => ["error", "warn", "warning"].includes(message.type()) && problems.push(message.text()));
  await page.setViewport({ width, height });
  // Firefox has no such call; the themes are looked at in Chromium
  await page.emulateMediaFeatures?.([{ name: "prefers-color-scheme", value: theme }, { name: "prefers-reduced-motion", value: "reduce" }]).catch(() => {});
  await page.goto(url);
  return { page, problems };
}

/** Waits until every cell of every window is there. */
export const complete = (page) => page.waitForFunction(() => document.documentElement.dataset.done === "yes", { timeout: 240_000 });

/** What the page says of each row in the window that is chosen. */
export const rows = (page) => page.$$eval(".row", (items) => items.map((item) => ({ id: item.dataset.row, forgot: item.querySelector(".forgot").textContent, more: item.querySelector(".more").textContent })));

/** Chooses a window. */
export async function choose(page, window) {
  await page.$eval(`[name=window][value="${window}"]`, (input) => input.click());
}

/** Opens a row, and reads the figures of its cell. */
export async function figures(page, row) {
  await page.$eval(`[data-row="${row}"] .name`, (button) => button.click());
  const title = await page.$eval(`[data-row="${row}"] .name`, (button) => button.textContent);
  await page.waitForFunction((wanted) => document.getElementById("detail-title")?.textContent === wanted && !document.getElementById("detail").hidden, {}, title);
  return page.$$eval(".facts div", (pairs) => Object.fromEntries(pairs.map((pair) => [pair.querySelector("dt").textContent, pair.querySelector("dd").textContent])));
}
