// What the options of every function share: names that are checked, and their form inside.

import { PalimpsestError } from "./errors.js";

/** Refuses options that are no object. */
export function checkObject(options: unknown): asserts options is object {
  if (typeof options === "object" && options !== null && !Array.isArray(options)) return;
  throw new PalimpsestError("invalid_options", "The options must be an object, such as { window: 8192 }.");
}

/** Refuses what is neither true nor false. */
export function checkBoolean(value: unknown, name: string): boolean {
  if (typeof value === "boolean") return value;
  throw new PalimpsestError("invalid_options", `\`${name}\` is true or false.`);
}

/** Refuses an option that does not exist, with the nearest one that does. */
export function check(options: object, known: readonly string[]): void {
  checkObject(options);
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const like = (other: string): number => [...other.toLowerCase()].filter((letter) => name.toLowerCase().includes(letter)).length - Math.abs(other.length - name.length);
    const nearest = known.reduce((best, other) => (like(other) > like(best) ? other : best));
    throw new PalimpsestError("invalid_options", `There is no option "${name}". Did you mean "${nearest}"?`);
  }
}

/** Policies and settings are data that is shared with other languages: inside, their names have underscores. */
export function snake(value: unknown): unknown {
  return renamed(value, (key) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
}

/** What comes from inside, with names as JavaScript writes them. Only for values all of whose names are ours. */
export function camel(value: unknown): unknown {
  return renamed(value, (key) => key.replace(/_[a-z]/g, (letters) => letters.charAt(1).toUpperCase()));
}

function renamed(value: unknown, name: (key: string) => string): unknown {
  if (Array.isArray(value)) return value.map((inner) => renamed(inner, name));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [name(key), renamed(inner, name)]));
}
