// One worker of the test with PostgreSQL: it opens sessions, appends, and goes on where another one has taken over. It prints a line for
// each append that was acknowledged, once it was: a kill leaves no line behind that is not true.

import fs from "node:fs";
import pg from "pg";
import { openSession } from "palimpsest";
import { postgresStorage } from "./postgres.mjs";

const { url, sessions, appends, seed, name } = JSON.parse(process.argv.at(-1));
const pool = new pg.Pool({ connectionString: url, max: 2 });
const store = postgresStorage(pool);
let state = seed * 2654435761 + 1;
const random = (n) => {
  state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
  return (state >>> 0) % n;
};

let done = 0;
let superseded = 0;
while (done < appends) {
  const id = `s${random(sessions)}`;
  try {
    const session = await openSession({ id, model: "any", window: 8192, store, takeOver: true });
    for (let n = random(12) + 1; n > 0 && done < appends; n--) {
      const text = `${name} ${done}`;
      await session.append({ role: "user", content: text });
      fs.writeSync(1, `acked ${id} ${text}\n`);
      done += 1;
    }
    await session.close();
  } catch (error) {
    // somebody else has it now: the append that was refused is not there, and is made anew, perhaps elsewhere
    if (error.code !== "superseded" && error.code !== "session_busy") throw error;
    superseded += 1;
  }
}
fs.writeSync(1, `end ${superseded}\n`);
await pool.end();
