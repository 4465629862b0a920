// A picture of the README: the sample conversation and the layer over its older part.
//
//   node tests/e2e/pictures.mjs      writes docs/images/context.png from dist/app

import path from "node:path";
import { fileURLToPath } from "node:url";
import { click, ready, until } from "./acts.mjs";
import { begin } from "./harness.mjs";

const images = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../docs/images");
const world = await begin({ settings: { summary_model: "-" }, dark: true });
const { page } = world;
await ready(page);
await click(page, "#sample");
await page.waitForSelector(".card.done .hands");
await page.evaluate(() => (location.hash = "context"));
await until(page, () => document.querySelector("#s-context h2")?.offsetParent && !document.querySelector(".toast"));
await page.screenshot({ path: path.join(images, "context.png") });
await world.end();
