// What the package tells coding agents: every file, name, option and code in llms.txt and in the skill exists, and the code runs.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { install, remove, root, run } from "./consumer.mjs";

const FILES = ["llms.txt", "skills/palimpsest/SKILL.md"];
let folder;
let home;
before(() => {
  folder = install(["ai@6"], ["ui"]);
  home = path.join(folder, "node_modules/palimpsest");
});
after(() => remove(folder));

const text = (name) => fs.readFileSync(path.join(home, name), "utf8");
const blocks = (name) => [...text(name).matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code);
/** Declarations of both packages that the files speak of, without what comments say. */
const declared = () => ["palimpsest", "palimpsest-ui"].flatMap((name) => {
  const dist = path.join(folder, "node_modules", name, "dist");
  const files = fs.readdirSync(dist, { recursive: true }).filter((file) => file.endsWith(".d.ts") && !file.includes("_bg"));
  return files.map((file) => fs.readFileSync(path.join(dist, file), "utf8").replace(/\/\*[\s\S]*?\*\//g, ""));
}).join("\n");

/** What other packages call their things. */
const OTHERS = ["trimMessages", "pruneMessages", "createAgent", "prepareStep", "generateText", "usage"];

test("every file that llms.txt leads to is in the package", () => {
  const links = [...text("llms.txt").matchAll(/\]\(([^)]+)\)/g)].map(([, to]) => to);
  assert.ok(links.length >= 20, `${links.length} links`);
  assert.deepEqual(links.filter((to) => !fs.existsSync(path.join(home, to))), []);
  const { exports } = JSON.parse(text("package.json"));
  for (const name of [...text("llms.txt").matchAll(/\[(palimpsest\/[a-z-]+)\]/g)].map(([, entry]) => entry)) assert.ok(exports[name.replace("palimpsest", ".")], name);
  // an entry that an agent cannot find is not there for it
  const missing = Object.keys(exports).filter((name) => /^\.\/[a-z-]+$/.test(name) && name !== "./slim" && !text("llms.txt").includes(`palimpsest${name.slice(1)}`));
  assert.deepEqual(missing, []);
});

test("every name in them exists", () => {
  const words = new Set(declared().match(/[A-Za-z_$][\w$]*/g));
  const { exports } = JSON.parse(text("package.json"));
  let checked = 0;
  for (const file of FILES) {
    const prose = text(file).replace(/```[\s\S]*?```/g, "");
    for (const [, code] of prose.matchAll(/`([^`\n]+)`/g)) {
      if (code.startsWith("palimpsest/")) {
        assert.ok(exports[code.replace("palimpsest", ".")], `${file}: ${code}`);
        continue;
      }
      if (/^palimpsest-(ui|inline)(\/|$)/.test(code)) continue;
      for (const name of code.match(/[A-Za-z_$][\w$]*/g) ?? []) {
        if (OTHERS.includes(name) || ["await", "true", "error"].includes(name)) continue;
        checked += 1;
        assert.ok(words.has(name), `${file}: there is no "${name}" (in \`${code}\`)`);
      }
    }
  }
  assert.ok(checked > 60, `${checked} names`);
});

test("the skill has what programs read of one", () => {
  const [, head] = /^---\n([\s\S]*?)\n---\n/.exec(text("skills/palimpsest/SKILL.md"));
  const fields = Object.fromEntries(head.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]));
  assert.equal(fields.name, "palimpsest");
  assert.ok(fields.description.length > 80 && fields.description.length <= 1024, `${fields.description.length}`);
  assert.ok(text("skills/palimpsest/SKILL.md").split("\n").length < 200);
});

test("its code compiles", () => {
  const names = blocks("skills/palimpsest/SKILL.md").map((code, i) => {
    fs.writeFileSync(path.join(folder, `skill-${i}.ts`), `${code}\nexport {};\n`);
    return `skill-${i}.ts`;
  });
  assert.equal(names.length, 3);
  const { status, stdout } = spawnSync(process.execPath, [path.join(root, "tests/node_modules/typescript/bin/tsc"), "--noEmit", "--strict", "--skipLibCheck", "--module", "NodeNext", "--target", "ES2022", "--lib", "ES2024,DOM,DOM.Iterable,DOM.AsyncIterable,ESNext.Disposable", "--types", "", ...names], { cwd: folder, encoding: "utf8" });
  assert.equal(status, 0, stdout);
});

test("its code runs", () => {
  const [list, , session] = blocks("skills/palimpsest/SKILL.md").map((code, i) => {
    fs.writeFileSync(path.join(folder, `run-${i}.ts`), code);
    spawnSync(process.execPath, [path.join(root, "tests/node_modules/typescript/bin/tsc"), "--noCheck", "--target", "ES2022", "--module", "ESNext", "--moduleResolution", "Bundler", "--outDir", folder, path.join(folder, `run-${i}.ts`)]);
    return fs.readFileSync(path.join(folder, `run-${i}.js`), "utf8");
  });
  const printed = (code) => run(folder, `const printed = []; console.log = (...what) => printed.push(what.join(" "));\n${code.replace(/^export \{\};$/m, "")}\nprocess.stdout.write(JSON.stringify(printed));`);
  assert.deepEqual(printed(list), ["2 messages"]);
  assert.deepEqual(printed(session), ["You said: I never fly.", "true"]);
});
