// Vocabularies as other programs keep them, made into the description that the module reads.

import { PalimpsestError } from "./errors.js";

/** A description for the module, and how it merges. @internal */
export interface Description {
  origin: "listed" | "wholeWords" | "ranks";
  json: string;
}

/** The parts of a `tokenizer.json` that decide how many tokens a text has. */
interface TokenizerJson {
  normalizer?: Step | null;
  pre_tokenizer?: Step | null;
  added_tokens?: { id: number; content: string; special?: boolean }[];
  model?: {
    type?: string;
    vocab?: Record<string, number>;
    merges?: (string | [string, string])[];
    continuing_subword_prefix?: string | null;
    end_of_word_suffix?: string | null;
    byte_fallback?: boolean;
    ignore_merges?: boolean;
    dropout?: number | null;
  };
}

/** A normalizer or a pre-tokenizer. */
interface Step {
  type?: string;
  normalizers?: Step[];
  pretokenizers?: Step[];
  pattern?: { Regex?: string; String?: string };
  behavior?: string;
  invert?: boolean;
  add_prefix_space?: boolean;
  use_regex?: boolean;
  individual_digits?: boolean;
  prepend?: string;
  content?: string;
}

const CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const SPACES = "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const LLAMA3 = `${CONTRACTIONS}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|${SPACES}`;
const UPPER = "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]";
const LOWER = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]";
const cased = (contractions: string, digits: string): string =>
  `[^\\r\\n\\p{L}\\p{N}]?${UPPER}*${LOWER}+${contractions}|[^\\r\\n\\p{L}\\p{N}]?${UPPER}+${LOWER}*${contractions}|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${SPACES}`;
const GPT2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const DEEPSEEK = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/** The regular expressions that the module has code for, one after the other, and the name that it knows each list by. */
const KNOWN: Readonly<Record<string, string>> = {
  [LLAMA3]: "dbrx",
  [LLAMA3.replace("\\p{N}{1,3}", "\\p{N}")]: "qwen2",
  [`${CONTRACTIONS}|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|${SPACES}`]: "qwen35",
  [cased(`${CONTRACTIONS}?`, "\\p{N}{1,3}")]: "gpt-4o",
  [cased("", "\\p{N}")]: "tekken",
  [GPT2]: "gpt-2",
  [`digits ${GPT2}`]: "smollm",
  [`\\p{N}{1,3} [一-龥぀-ゟ゠-ヿ]+ ${DEEPSEEK}`]: "deepseek-v3",
};

/** Other ways to write their beginnings and ends, as tiktoken and its ports do. */
const WRITTEN: readonly [string, string][] = [
  ["'(?i:[sdmt]|ll|ve|re)", CONTRACTIONS],
  ["'(?:[sdmt]|ll|ve|re)", "'s|'t|'re|'ve|'m|'ll|'d"],
  ["('s|'S|'t|'T|'re|'rE|'Re|'RE|'ve|'vE|'Ve|'VE|'m|'M|'ll|'lL|'Ll|'LL|'d|'D)", CONTRACTIONS],
  ["|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s", `|${SPACES}`],
  ["|\\s++$|\\s+(?!\\S)|\\s", "|\\s+(?!\\S)|\\s+"],
];

function expression(pattern: string): string {
  // line ends may stand as themselves; possessive quantifiers cut the same words
  let text = pattern.replaceAll("\r", "\\r").replaceAll("\n", "\\n");
  for (const [other, usual] of WRITTEN) {
    if (!other.startsWith("|")) text = text.replaceAll(other, usual);
    else if (text.endsWith(other)) text = text.slice(0, -other.length) + usual;
  }
  return text.replace(/([+?*]|\{\d+,\d*\})\+/g, "$1");
}

function unknown(what: string): never {
  throw new PalimpsestError("tokenizer_unknown", `The tokenizer cannot be used: ${what}. Count without it, which estimates, or with a function of yours.`);
}

function malformed(what: string, cause?: unknown): never {
  throw new PalimpsestError("tokenizer_malformed", `The tokenizer cannot be used: ${what}.`, { cause });
}

const names = (step: Step): string => String(step.type);

/** Steps that come one after the other, without the lists that hold them. */
function flat(step: Step | null | undefined, inner: "normalizers" | "pretokenizers"): Step[] {
  if (step === null || step === undefined) return [];
  return step.type === "Sequence" ? (step[inner] ?? []).flatMap((one) => flat(one, inner)) : [step];
}

/** What a `tokenizer.json` of Hugging Face's says. @internal */
export function ofTokenizerJson(text: string): Description {
  let file: TokenizerJson;
  try {
    file = JSON.parse(text) as TokenizerJson;
  } catch (cause) {
    return malformed("it is not JSON", cause);
  }
  const model = file?.model;
  if (typeof model !== "object" || model === null) return malformed("it is no tokenizer.json: it has no model");
  if (model.type !== undefined && model.type !== "BPE") unknown(`its model is of type ${model.type}, and only BPE is implemented`);
  const { vocab, merges } = model;
  if (typeof vocab !== "object" || vocab === null || !Array.isArray(merges)) return malformed("its model has no vocab and merges");
  if (model.continuing_subword_prefix) unknown("its model has a continuing_subword_prefix");
  if (model.end_of_word_suffix) unknown("its model has an end_of_word_suffix");
  const added = file.added_tokens ?? [];
  const size = Math.max(...[Object.values(vocab), added.map((one) => one.id)].map(largest)) + 1;
  if (!Number.isInteger(size) || size < 1 || size > 1 << 20) return malformed("the numbers of its tokens are not whole numbers from 0 on");
  const tokens = Array.from({ length: size }, () => "");
  const types = Array.from({ length: size }, () => 5);
  for (const [written, id] of Object.entries(vocab)) {
    tokens[id] = written;
    types[id] = /^<0x[0-9A-F]{2}>$/.test(written) ? 6 : 1;
  }
  for (const { id, content, special } of added) {
    tokens[id] = content;
    types[id] = special ? 3 : 4;
  }
  const info: Record<string, unknown> = { "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.token_type": types, "tokenizer.ggml.add_bos_token": false };
  const pairs = merges.map((pair) => (typeof pair === "string" ? pair : pair.join(" ")));
  const spaces = sentencePiece(file);
  if (spaces === undefined) {
    info["tokenizer.ggml.model"] = "gpt2";
    info["tokenizer.ggml.pre"] = words(file, model.ignore_merges === true);
    info["tokenizer.ggml.merges"] = pairs;
  } else {
    if (!model.byte_fallback) unknown("its model has ▁ for a space, but no byte_fallback");
    // a piece's score says when it is made, as the merges do
    const scores = tokens.map(() => -1e7);
    for (const [rank, pair] of pairs.entries()) {
      const id = vocab[pair.replace(" ", "")];
      if (id !== undefined && scores[id] === -1e7) scores[id] = -rank;
    }
    Object.assign(info, { "tokenizer.ggml.model": "llama", "tokenizer.ggml.scores": scores, "tokenizer.ggml.add_space_prefix": spaces === "prefix" });
  }
  return { origin: model.ignore_merges ? "wholeWords" : "listed", json: JSON.stringify({ model_info: info }) };
}

// not Math.max(...list): a list this long is too many arguments
const largest = (list: readonly number[]): number => list.reduce((most, one) => Math.max(most, one), -1);

/** Whether it replaces spaces by ▁, as SentencePiece does, and puts one before a text. */
function sentencePiece(file: TokenizerJson): "prefix" | "plain" | undefined {
  const steps = flat(file.normalizer, "normalizers");
  const replaces = steps.some((step) => step.type === "Replace" && step.pattern?.String === " " && step.content === "▁");
  if (!replaces) {
    const other = steps.find((step) => step.type !== "NFC");
    if (other) unknown(`its normalizer ${names(other)} is not implemented`);
    return undefined;
  }
  const other = steps.find((step) => step.type !== "Replace" && !(step.type === "Prepend" && step.prepend === "▁"));
  if (other) unknown(`its normalizer ${names(other)} is not implemented`);
  const cuts = flat(file.pre_tokenizer, "pretokenizers").filter((step) => !(step.type === "Split" && step.pattern?.String === " " && step.behavior === "MergedWithPrevious"));
  if (cuts[0]) unknown(`its pre-tokenizer ${names(cuts[0])} is not implemented beside the normalizer Replace`);
  return steps.some((step) => step.type === "Prepend") ? "prefix" : "plain";
}

/** The name of how it cuts words. */
function words(file: TokenizerJson, whole: boolean): string {
  const steps = flat(file.pre_tokenizer, "pretokenizers");
  const last = steps.pop();
  if (last?.type !== "ByteLevel") unknown(last ? `its pre-tokenizer ${names(last)} is not implemented: ByteLevel must be the last one` : "it has no pre-tokenizer");
  if (last?.add_prefix_space) unknown("its pre-tokenizer ByteLevel has add_prefix_space");
  const cuts = steps.map((step) => {
    if (step.type === "Digits" && step.individual_digits) return "digits";
    const pattern = step.pattern?.Regex;
    const whole = (step.behavior === "Isolated" && !step.invert) || (step.behavior === "Removed" && step.invert === true);
    if (step.type !== "Split" || pattern === undefined || !whole) unknown(`its pre-tokenizer ${names(step)} is not implemented`);
    return expression(pattern ?? "");
  });
  if (last?.use_regex !== false) cuts.push(GPT2);
  const pre = KNOWN[cuts.join(" ")];
  if (pre === undefined || (pre === "tekken" && !whole)) unknown("the regular expression of its pre-tokenizer is none of those that are implemented");
  return pre ?? "";
}

/** tiktoken's ranks as js-tiktoken holds them. */
export interface TiktokenRanks {
  pat_str: string;
  special_tokens: Record<string, number>;
  bpe_ranks: string;
}

/** What cuts the words of a file of ranks, which does not say it itself. */
export interface TiktokenOptions {
  /** The encoding's name, such as `o200k_base`, or its regular expression. */
  pattern?: string;
  /** Special tokens and their numbers. */
  specialTokens?: Record<string, number>;
  signal?: AbortSignal | undefined;
}

/** The encodings whose regular expressions are known by name. */
const ENCODINGS: Readonly<Record<string, string>> = {
  o200k_base: cased(`${CONTRACTIONS}?`, "\\p{N}{1,3}"),
  o200k_harmony: cased(`${CONTRACTIONS}?`, "\\p{N}{1,3}"),
  cl100k_base: LLAMA3,
  p50k_base: GPT2,
  r50k_base: GPT2,
  gpt2: GPT2,
};

/** What tiktoken's ranks say. @internal */
export function ofTiktoken(ranks: string | TiktokenRanks, options: TiktokenOptions): Description {
  const text = typeof ranks === "string" ? ranks : ranks?.bpe_ranks;
  if (typeof text !== "string") return malformed("expected the text of a .tiktoken file, or the ranks of js-tiktoken");
  const pattern = options.pattern ?? (typeof ranks === "string" ? undefined : ranks.pat_str);
  if (pattern === undefined) {
    throw new PalimpsestError("invalid_options", 'A file of ranks does not say how words are cut: give its pattern, such as { pattern: "o200k_base" }.');
  }
  const pre = KNOWN[expression(ENCODINGS[pattern] ?? pattern)];
  if (pre === undefined) return unknown("its regular expression is none of those that are implemented");
  const tokens: string[] = [];
  const put = (rank: number, base64: string): void => {
    let bytes: string;
    try {
      bytes = atob(base64);
    } catch (cause) {
      return malformed(`the token of rank ${rank} is not base64`, cause);
    }
    if (!Number.isInteger(rank) || rank < 0 || rank >= 1 << 20) malformed(`a rank is ${rank}`);
    tokens[rank] = printable(bytes);
  };
  for (const line of text.split("\n")) {
    const fields = line.trim().split(" ");
    // js-tiktoken: "!", the rank of the first, the tokens that follow each other
    if (fields[0] === "!") for (let n = 2; n < fields.length; n++) put(Number(fields[1]) + n - 2, fields[n] ?? "");
    else if (fields.length === 2) put(Number(fields[1]), fields[0] ?? "");
    else if (fields[0] !== "") malformed("a line is no token with its rank");
  }
  if (tokens.length === 0) malformed("it holds no tokens");
  const special = options.specialTokens ?? (typeof ranks === "string" ? {} : ranks.special_tokens);
  const types = Array.from(tokens, () => 1);
  for (const [content, id] of Object.entries(special)) {
    if (!Number.isInteger(id) || id < 0 || id >= 1 << 20) malformed(`the number of the special token ${content} is ${id}`);
    tokens[id] = content;
    types[id] = 3;
  }
  const info = {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": pre,
    "tokenizer.ggml.add_bos_token": false,
    "tokenizer.ggml.tokens": Array.from(tokens, (token) => token ?? ""),
    "tokenizer.ggml.token_type": Array.from({ length: tokens.length }, (_, id) => types[id] ?? 5),
  };
  return { origin: "ranks", json: JSON.stringify({ model_info: info }) };
}

/** Characters of GPT-2's alphabet for bytes. */
const ALPHABET: readonly string[] = (() => {
  let other = 0x100;
  return Array.from({ length: 256 }, (_, byte) => {
    const plain = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    return String.fromCharCode(plain ? byte : other++);
  });
})();

function printable(bytes: string): string {
  let text = "";
  for (let at = 0; at < bytes.length; at++) text += ALPHABET[bytes.charCodeAt(at)];
  return text;
}
