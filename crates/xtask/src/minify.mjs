// Shortens scripts in their place, without changing what they do: node minify.mjs [--legible] FILE…
//
// With --legible only comments go: names, lines and order stay. A script that is called sw.js is no module.

import fs from "node:fs";
import path from "node:path";
import { minify } from "../../../tests/node_modules/vite/dist/node/index.js";

const legible = process.argv[2] === "--legible";
for (const file of process.argv.slice(legible ? 3 : 2)) {
  const options = { module: path.basename(file) !== "sw.js", compress: !legible, mangle: !legible, codegen: { removeWhitespace: !legible } };
  const { code, errors } = await minify(file, fs.readFileSync(file, "utf8"), options);
  if (errors.length > 0) throw new Error(`${file}: ${errors.map((error) => error.message).join("; ")}`);
  fs.writeFileSync(file, code);
}
