// Messages cross into the module as JSON text: keys such as `__proto__` are only data there.

import { PalimpsestError } from "./errors.js";

/** The text of a list of messages. */
export function toText(messages: readonly unknown[]): string {
  if (!Array.isArray(messages)) {
    throw new PalimpsestError("bad_input", "Expected an array of messages.");
  }
  const text = written(messages, messages.some(hasBytes) ? base64 : undefined);
  // JSON.stringify writes a lone surrogate as an escape, which no UTF-8 text can hold
  return /\\ud[89a-f]/.test(text) ? written(messages, wellFormed) : text;
}

/** The text of something that is not a list of messages. */
export function written(value: unknown, replacer?: (this: unknown, key: string, value: unknown) => unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value, replacer);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.split("\n")[0] : String(cause);
    throw new PalimpsestError("bad_input", `This cannot be written as JSON: ${why}.`, { cause });
  }
  if (text === undefined) throw new PalimpsestError("bad_input", "This cannot be written as JSON.");
  return text;
}

/** A list that came back: a number stands for the caller's own message of that index. */
export function filled<M>(list: readonly unknown[], own: readonly M[]): M[] {
  // a message of ours has the shape of the caller's
  return list.map((message) => (typeof message === "number" ? own[message] : message) as M);
}

function hasBytes(message: unknown): boolean {
  if (typeof message !== "object" || message === null) return false;
  const { content, parts } = message as { content?: unknown; parts?: unknown };
  const blocks = Array.isArray(content) ? content : parts;
  return Array.isArray(blocks) && blocks.some((block) => typeof block === "object" && block !== null && Object.values(block).some(isBytes));
}

function isBytes(value: unknown): value is ArrayBuffer | ArrayBufferView {
  return value instanceof ArrayBuffer || ArrayBuffer.isView(value);
}

/** Bytes as base64, which the AI SDK reads where it reads bytes. */
function base64(this: unknown, key: string, value: unknown): unknown {
  // Node's Buffer has turned itself into something else already
  const bytes = (this as Record<string, unknown>)[key];
  if (!isBytes(bytes)) return value;
  const view = ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes);
  let binary = "";
  for (let at = 0; at < view.length; at += 0x8000) {
    binary += String.fromCharCode(...view.subarray(at, at + 0x8000));
  }
  return btoa(binary);
}

function wellFormed(this: unknown, key: string, value: unknown): unknown {
  const plain = base64.call(this, key, value);
  return typeof plain === "string" ? mended(plain) : plain;
}

/** Every lone surrogate becomes U+FFFD. */
export function mended(text: string): string {
  return text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
}
