// The recorded answers of a real server. They lie outside the repository; tests that need them skip without them.

import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL("../../../shared/data/", import.meta.url));

/** False, or the reason to skip, for `test(name, { skip }, …)`. */
export const skipWithoutRecordings = existsSync(`${FOLDER}ollama-golden`)
  ? false
  : "the folder ../shared/data with recorded answers is not here";

/** Status, headers and body of one recorded answer. */
export function golden(name) {
  const [first, ...lines] = readFileSync(`${FOLDER}ollama-golden/${name}.headers`, "utf8").trimEnd().split(/\r?\n/);
  const body = `${FOLDER}ollama-golden/${name}.body`;
  return {
    status: Number(first.split(" ")[1]),
    headers: lines.filter(Boolean).map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]),
    body: existsSync(body) ? readFileSync(body, "utf8") : "",
  };
}

/** What ChatML costs around a text of this role, as recorded. */
const AROUND = { user: 5, system: 5, tool: 5, assistant: 6 };

/**
 * The recorded prompt counts: entries, and the tokens of every text in them. Where only the sum was recorded the texts
 * are synthetic: "Question 12: alpha beta …" is one token per word, digit, colon and the space before a digit; the last
 * message is what remains of the sum.
 */
export function promptCounts() {
  const { entries } = JSON.parse(readFileSync(`${FOLDER}ollama-prompt-counts.json`, "utf8"));
  const table = {};
  for (const { request, content_tokens: tokens, sent_tokens: sum } of entries) {
    if (request.model !== "smollm2:135m" || !request.messages) continue;
    if (tokens) request.messages.forEach(({ content }, i) => (table[content ?? ""] = tokens[i]));
    else if (sum) {
      let rest = sum - 4;
      request.messages.forEach(({ role, content }, i) => {
        const last = i === request.messages.length - 1;
        table[content] = last ? rest - AROUND[role] : content.match(/[A-Za-z]+|\d|:| (?=\d)|[.]/g).length;
        rest -= AROUND[role] + table[content];
      });
    }
  }
  return { entries, table };
}
