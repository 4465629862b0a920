// Who holds a session: a program, told apart from a later one that was given the same number.

import { execFile } from "node:child_process";
import { readlink } from "node:fs/promises";
import { hostname } from "node:os";
import { randomUUID } from "node:crypto";
import { textOf } from "./disk.js";

/** The program that has made a claim. */
export interface Holder {
  /** The claim itself. */
  claim: string;
  pid: number;
  /** When that program was started, as the system says it; `null` where the system does not say. */
  began: string | null;
  /** The machine since it was last started, and the room of process numbers in it. */
  machine: string;
}

/** `unknown`: on another machine, or in another container. */
export type Life = "alive" | "gone" | "unknown";

/** Claims of this program that came to nothing. */
const dropped: Set<string> = new Set();
let here: Promise<string> | undefined;
let started: Promise<string | null | undefined> | undefined;

/** This program, as it stands in a claim of its own. */
export async function thisProgram(): Promise<Holder> {
  started ??= startOf(process.pid);
  here ??= machine();
  return { claim: randomUUID(), pid: process.pid, began: (await started) ?? null, machine: await here };
}

/** Nobody holds what this claim would have given. */
export function dropClaim(holder: Holder): void {
  dropped.add(holder.claim);
}

/** Whether the program that made a claim is still there. */
export async function lifeOf(holder: Holder): Promise<Life> {
  here ??= machine();
  if (holder.machine !== (await here)) return "unknown";
  if (dropped.has(holder.claim)) return "gone";
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    if ((error as { code?: unknown }).code !== "EPERM") return "gone";
  }
  if (holder.began === null) return "alive";
  const began = await startOf(holder.pid);
  // it is there, and the system does not tell us more
  if (began === null) return "alive";
  return began === holder.began ? "alive" : "gone";
}

async function machine(): Promise<string> {
  if (process.platform !== "linux") return hostname();
  const boot = await textOf("/proc/sys/kernel/random/boot_id").catch(() => undefined);
  const room = await readlink("/proc/self/ns/pid").catch(() => "");
  return `${boot?.trim() ?? hostname()} ${room}`;
}

/** When a program was started; nothing if it has ended and only its number is left; `null` if the system does not say. */
async function startOf(pid: number): Promise<string | null | undefined> {
  if (process.platform === "linux") {
    const text = await textOf(`/proc/${pid}/stat`).catch(() => undefined);
    // the program's name stands in brackets and may hold anything; a program that has ended and was not waited for has state Z
    if (text === undefined) return null;
    const rest = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return rest[0] === "Z" || rest[0] === "X" ? undefined : (rest[19] ?? null);
  }
  if (process.platform === "win32") return null;
  return new Promise((resolve) => {
    execFile("ps", ["-o", "lstart=", "-p", String(pid)], (error, stdout) => resolve(error === null && stdout.trim() !== "" ? stdout.trim() : null));
  });
}
