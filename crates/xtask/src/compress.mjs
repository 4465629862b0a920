// Writes name.br and name.gz beside every file of a folder that gets smaller by it.
//   node compress.mjs best|fast FOLDER
// With `measure` instead it writes nothing and prints one JSON object: {file: [raw, gzip, brotli]}.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const [level, folder] = process.argv.slice(2);
const text = /\.(html|js|mjs|css|svg|json|webmanifest|txt|md|wasm|ts|map)$/;
const quality = level === "fast" ? 4 : 11;
const sizes = {};

for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
  const file = join(entry.parentPath ?? entry.path, entry.name);
  if (!entry.isFile() || /\.(br|gz)$/.test(entry.name)) continue;
  const raw = readFileSync(file);
  if (!text.test(entry.name)) {
    sizes[file] = [raw.length, raw.length, raw.length];
    continue;
  }
  const gzip = gzipSync(raw, { level: level === "fast" ? 5 : 9 });
  // the last percents of a very large file would take a quarter of a minute
  const effort = raw.length > 4e6 ? Math.min(quality, 9) : quality;
  const brotli = brotliCompressSync(raw, {
    params: { [constants.BROTLI_PARAM_QUALITY]: effort, [constants.BROTLI_PARAM_SIZE_HINT]: raw.length },
  });
  sizes[file] = [raw.length, gzip.length, brotli.length];
  if (level === "measure") continue;
  if (gzip.length < raw.length) writeFileSync(`${file}.gz`, gzip);
  if (brotli.length < raw.length) writeFileSync(`${file}.br`, brotli);
}
if (level === "measure") console.log(JSON.stringify(sizes));
