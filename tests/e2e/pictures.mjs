// The pictures of the app in the README, all of the sample conversation.
//
//   node tests/e2e/pictures.mjs      writes docs/images/{chat,context,policy,narrow}.png from dist/app

import path from "node:path";
import { fileURLToPath } from "node:url";
import { click, ready, until } from "./acts.mjs";
import { begin } from "./harness.mjs";

/** The answer to the sample's last question. */
const REPLY = "Sleep well. The list waits: three of you, **4,200 euros** with the flights, lifts instead of stairs, and no seafood restaurant.";
const images = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../docs/images");

/** Opens the sample, arranges the page, and takes a picture without passing notes. */
async function picture(name, look, arrange) {
  const world = await begin({ settings: { summary_model: "-" }, script: { replies: [REPLY], delay_ms: 25 }, ...look });
  const { page } = world;
  await ready(page);
  await click(page, "#sample");
  await page.waitForSelector(".card.done .hands");
  // with the question answered nothing stands over the conversation
  await click(page, ".notice .btn");
  await until(page, () => document.querySelectorAll(".thread .msg").length > 0 && !document.querySelector(".notice, .replying"));
  await arrange(page);
  await until(page, () => !document.querySelector(".toast"));
  // what is animated has come to rest
  await new Promise((done) => setTimeout(done, 500));
  await page.screenshot({ path: path.join(images, `${name}.png`) });
  await world.end();
}

const card = async (page) => {
  await page.$eval(".card.done", (card) => card.scrollIntoView({ block: "start" }));
  await page.mouse.move(0, 0);
};

await picture("chat", { height: 1000 }, async (page) => {
  await page.$eval(".thread", (thread) => (thread.scrollTop = thread.scrollHeight));
  await page.mouse.move(0, 0);
});
await picture("narrow", { dark: true, width: 360, height: 780 }, card);
await picture("context", { dark: true }, async (page) => {
  await page.evaluate(() => (location.hash = "context"));
  await until(page, () => document.querySelector("#s-context h2")?.offsetParent);
});
await picture("policy", {}, async (page) => {
  await page.evaluate(() => (location.hash = "settings"));
  await click(page, "[data-tab=compaction]");
  await page.waitForSelector("#policy-editor");
  await page.$eval("#policy-editor", (editor) => {
    editor.open = true;
    const at = editor.querySelector("#policy-at");
    at.value = "60";
    at.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await page.waitForSelector("#policy-differs li");
  await page.waitForSelector("#policy-tried p");
  await page.$eval("#policy-differs", (list) => list.scrollIntoView({ block: "center" }));
});
