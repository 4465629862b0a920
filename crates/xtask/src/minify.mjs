// Shortens scripts in their place, without changing what they do: node minify.mjs FILE…
//
// A script that is called sw.js is no module.

import fs from "node:fs";
import path from "node:path";
import { minify } from "../../../tests/node_modules/vite/dist/node/index.js";

for (const file of process.argv.slice(2)) {
  const options = { module: path.basename(file) !== "sw.js", compress: true, mangle: true, codegen: { removeWhitespace: true } };
  const { code, errors } = await minify(file, fs.readFileSync(file, "utf8"), options);
  if (errors.length > 0) throw new Error(`${file}: ${errors.map((error) => error.message).join("; ")}`);
  fs.writeFileSync(file, code);
}
