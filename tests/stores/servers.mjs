// PostgreSQL and Redis from the system's packages, on loopback, in folders of the test's own.

import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";

/** A free port. */
const port = () => new Promise((resolve) => {
  const server = net.createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address();
    server.close(() => resolve(port));
  });
});

/** Installs a package of Debian's where its program is missing and that can be done. */
function installed(found, name) {
  if (found() === undefined && process.getuid() === 0) execFileSync("sh", ["-c", `apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends ${name}`], { stdio: "ignore" });
  const program = found();
  if (program === undefined) throw new Error(`${name} is needed: install it with your system's packages`);
  return program;
}

async function answers(port, child) {
  for (let n = 0; n < 300; n++) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
    const open = await new Promise((resolve) => {
      const socket = net.connect(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false));
      socket.on("connect", () => socket.destroy());
    });
    if (open) return;
    await new Promise((resolve) => { setTimeout(resolve, 100); });
  }
  throw new Error("the server does not answer");
}

const ended = (child) => new Promise((resolve) => (child.exitCode !== null ? resolve() : child.once("exit", resolve)));

/** A PostgreSQL. @returns the address of its database, and what ends it */
export async function postgres() {
  const newest = () => (fs.existsSync("/usr/lib/postgresql") ? fs.readdirSync("/usr/lib/postgresql").map((version) => `/usr/lib/postgresql/${version}/bin`).filter((bin) => fs.existsSync(`${bin}/initdb`)).at(-1) : undefined);
  const bin = installed(newest, "postgresql");
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-postgres-"));
  // it refuses to run as root
  const user = process.getuid() === 0 ? { uid: Number(execFileSync("id", ["-u", "postgres"])), gid: Number(execFileSync("id", ["-g", "postgres"])) } : {};
  if (user.uid !== undefined) fs.chownSync(folder, user.uid, user.gid);
  execFileSync(`${bin}/initdb`, ["--pgdata", `${folder}/data`, "--username", "test", "--auth", "trust", "--encoding", "UTF8", "--no-locale"], { ...user, cwd: folder, stdio: "ignore" });
  const at = await port();
  const child = spawn(`${bin}/postgres`, ["-D", `${folder}/data`, "-p", String(at), "-h", "127.0.0.1", "-k", folder], { ...user, cwd: folder, stdio: "ignore" });
  await answers(at, child);
  return {
    url: `postgres://test@127.0.0.1:${at}/postgres`,
    async close() {
      child.kill("SIGINT");
      await ended(child);
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A Redis that keeps nothing. @returns its address, and what ends it */
export async function redis() {
  const bin = installed(() => ["/usr/bin/redis-server", "/usr/local/bin/redis-server"].find((file) => fs.existsSync(file)), "redis-server");
  const at = await port();
  const child = spawn(bin, ["--port", String(at), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"], { cwd: os.tmpdir(), stdio: "ignore" });
  await answers(at, child);
  return {
    url: `redis://127.0.0.1:${at}`,
    async close() {
      child.kill();
      await ended(child);
    },
  };
}
