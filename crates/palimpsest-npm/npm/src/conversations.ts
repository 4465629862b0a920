import { parsed, type Piece } from "./border.js";
import { PalimpsestError } from "./errors.js";
import { call } from "./runtime.js";
import { transcripts, type Transcripts } from "./transcripts.js";

/** A message that was found in a file. */
export type FoundMessage = { role?: string; content?: unknown; timestamp?: number; [field: string]: unknown };

/** Another way that a conversation went: a reply that was written again, a request that was changed, a swipe. */
export interface FoundBranch {
  /** The branch that it leaves, by its place in `branches`; nothing if it leaves `messages`. */
  of?: number;
  /** How many messages, counted from the first one, it has in common with what it leaves. */
  after: number;
  /** Its own messages, oldest first. */
  messages: FoundMessage[];
}

/** A conversation that was found in a file. */
export interface FoundConversation {
  /** Its title; empty if it has none. */
  title: string;
  /** The format that it was in: `"chatgpt"`, `"claude-code"`, …; `"messages"` for a plain list. */
  format: string;
  /** Its identifier in the program that wrote it. */
  id?: string;
  /**
   * What was said, oldest first, on the branch that was shown last. Messages of a plain list are as they were; those of other
   * programs are as OpenAI's servers take them, with milliseconds since 1970 in `timestamp` where the time is known, and what a
   * model thought in `reasoning_content`.
   */
  messages: FoundMessage[];
  /** Every other way that it went. */
  branches: FoundBranch[];
}

/** What became of a file that was read. */
export interface ImportReport {
  /** The formats that were found in it. */
  formats: string[];
  /** Conversations in which something was said. */
  conversations: number;
  /** Messages of them, on all branches. */
  imported: number;
  /** What was left out. */
  skipped: {
    /**
     * It is no JSON; it is no UTF-8; the file ends in the middle of it; nobody here knows it; it is known and says nothing to
     * a model; the program that wrote it did not show it to the model; it is empty.
     */
    reason: "not_json" | "not_text" | "cut_off" | "unknown" | "not_said" | "hidden" | "empty";
    /** What kind of record it is, in the words of the program that wrote it. */
    what: string;
    /** How many there are. */
    count: number;
    /** The first one, counted from 1: the line in JSON Lines, else the value. */
    first: number;
  }[];
}

/** Everything that was found in a file. */
export interface ImportedFile {
  conversations: FoundConversation[];
  report: ImportReport;
}

/** Where the bytes of a file come from: its text, its bytes, a `File`, the body of an answer, a stream of Node's. */
export type FileSource = string | Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array | string>;

/** Bytes that are handed over at once: what wasm holds of a file beside the record that is not complete. */
const SLICE = 256 * 1024;

/** Puts conversations together from what the module reads. */
class Reading {
  readonly #reader;
  readonly #name: string;
  readonly #conversations: FoundConversation[] = [];
  #open: FoundMessage[] = [];

  constructor(name: string, part: Transcripts) {
    this.#name = name;
    this.#reader = call(name, () => part.reader());
  }

  push(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; from += SLICE) {
      this.#take(call(this.#name, () => parsed(this.#reader.push(bytes.subarray(from, from + SLICE)))));
    }
  }

  finish(): ImportedFile {
    const { pieces, report } = call(this.#name, () => parsed(this.#reader.finish()));
    this.#take(pieces);
    return { conversations: this.#conversations, report };
  }

  end(): void {
    this.#reader.free();
  }

  #take(pieces: Piece[]): void {
    for (const [kind, piece] of pieces) {
      if (kind === 0) {
        this.#open.push(piece);
        continue;
      }
      const all = this.#open;
      const said = (numbers: number[]) => numbers.map((n) => all[n]!);
      const { shown, branches, ...head } = piece;
      this.#conversations.push({ ...head, messages: said(shown), branches: branches.map(({ messages, ...branch }) => ({ ...branch, messages: said(messages) })) });
      this.#open = [];
    }
  }
}

/**
 * The conversations of a file that another program wrote, with all their branches: sessions of Claude Code, Codex, pi, opencode
 * and Gemini CLI, exports of ChatGPT, Claude, Open WebUI, LibreChat, LobeHub, Jan and LM Studio, chats of SillyTavern, and lists
 * of messages in every dialect, as JSON or as JSON Lines. What a file is shows in its content. The first call loads the part
 * `transcripts` of the module.
 *
 * @param file the text of the file; {@link importConversations} reads large files while they arrive, and reports what was left out
 * @throws {@link PalimpsestError} `bad_input` for text that is no JSON or holds no messages, naming what was found; `load_failed`
 *
 * @example
 * ```ts
 * import { init, readConversations } from "palimpsest";
 *
 * await init();
 * const [first] = await readConversations('{ "title": "Gate", "messages": [{ "role": "user", "content": "Where?" }] }');
 * console.log(first?.title, first?.messages.length); // "Gate" 1
 * ```
 */
export async function readConversations(file: string): Promise<FoundConversation[]> {
  if (typeof file !== "string") throw new PalimpsestError("bad_input", "Expected the text of a file.");
  const reading = new Reading("readConversations()", await transcripts("readConversations()"));
  try {
    reading.push(new TextEncoder().encode(file));
    return reading.finish().conversations;
  } finally {
    reading.end();
  }
}

/**
 * As {@link readConversations}, while the file arrives, with a report: what was read, and what was not and why. Of JSON Lines the
 * module holds one line at a time, of an array one element, so that files of hundreds of megabytes can be read.
 *
 * @throws {@link PalimpsestError} `bad_input` for a file that is no JSON or holds no messages, naming what was found
 *
 * @example
 * ```ts
 * import { importConversations, init } from "palimpsest";
 *
 * await init();
 * const { conversations, report } = await importConversations(
 *   '{"role":"user","content":"Where?"}\n{"role":"assistant","content":"Gate 4."}\nnot JSON',
 * );
 * console.log(conversations[0]?.messages.length); // 2
 * console.log(report.skipped[0]); // { reason: "not_json", what: "no JSON", count: 1, first: 3 }
 * ```
 */
export async function importConversations(file: FileSource): Promise<ImportedFile> {
  const all = pieces(file);
  // begun at once: a stream may fail while the part is loaded
  const first = all.next();
  first.catch(() => {});
  let reading: Reading | undefined;
  try {
    reading = new Reading("importConversations()", await transcripts("importConversations()"));
    for (let next = await first; next.done !== true; next = await all.next()) reading.push(next.value);
    return reading.finish();
  } finally {
    reading?.end();
    // lets go of the stream, where something failed before its end
    await all.return(undefined);
  }
}

/** The bytes of a file, piece by piece. */
async function* pieces(file: FileSource): AsyncGenerator<Uint8Array, undefined, undefined> {
  if (typeof file === "string") {
    yield new TextEncoder().encode(file);
    return;
  }
  if (file instanceof Uint8Array || file instanceof ArrayBuffer) {
    yield new Uint8Array(file);
    return;
  }
  if (typeof Blob !== "undefined" && file instanceof Blob) {
    // not its stream: some browsers hand that out whole
    for (let from = 0; from < file.size; from += 4 * SLICE) yield new Uint8Array(await file.slice(from, from + 4 * SLICE).arrayBuffer());
    return;
  }
  const encoder = new TextEncoder();
  const other = file as unknown;
  if (typeof other === "object" && other !== null && Symbol.asyncIterator in other) {
    for await (const piece of other as AsyncIterable<Uint8Array | string>) yield typeof piece === "string" ? encoder.encode(piece) : piece;
    return;
  }
  if (typeof other === "object" && other !== null && "getReader" in other) {
    const reader = (other as ReadableStream<Uint8Array>).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  }
  throw new PalimpsestError("bad_input", "Expected a file: its text, its bytes, a Blob, or a stream of bytes.");
}
