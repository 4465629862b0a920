// The picture of the README: the page with its sample of a coding session, in the window of 4,096.
//
//   node tests/forget/picture.mjs      writes docs/images/forget.png from dist/www/forget

import path from "node:path";
import { launch } from "../packaging/browser.mjs";
import { root } from "../packaging/consumer.mjs";
import { complete, start, visit } from "./page.mjs";

const server = await start();
const { browser, close } = await launch();
try {
  const { page } = await visit(browser, `${server.url}/#coding`, { width: 1200, height: 1180 });
  await complete(page);
  await page.$eval(".verdict", (verdict) => verdict.scrollIntoView());
  await page.screenshot({ path: path.join(root, "docs/images/forget.png") });
} finally {
  await close();
  await server.close();
}
