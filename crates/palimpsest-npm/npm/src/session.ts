// Sessions: what they are, without the code behind them, which is loaded when one is opened.

import type { Demands, Facts, Goal, Policy, PolicyName, Shed } from "./compact.js";
import type { Loss } from "./library.js";
import type { LanguageModel } from "./language-model.js";
import type { StorageAdapter } from "./storage.js";
import type { Count, Tokenizer } from "./tokenizer.js";
import type { Dialect } from "./validate.js";

/** Settings of a session. Each one may be left out. */
export interface SessionSettings {
  /** Whether covered passages are quoted when a message asks for them. */
  recall?: boolean;
  /**
   * Tokens kept free for the answer, the most that a reply takes: at most half of the window. If not said, what fits
   * the window, and twice that for a model that thinks.
   */
  reserve?: number;
  /** How this session's replies choose their words, where a call does not say. */
  sampling?: {
    /** Randomness, 0 to 2. */
    temperature?: number;
    /** The share of probability that words are chosen from, above 0 and at most 1. */
    topP?: number;
    /** Words that are less likely than this share of the likeliest one are never chosen; 0 to 1. */
    minP?: number;
    /** How much words lose that were just written, above 0 and at most 2; 1 for nothing. */
    repeatPenalty?: number;
    /** A number that makes choices repeatable. */
    seed?: number;
  };
  /** When and how the window is made smaller. */
  compression?: {
    /** Whether it happens on its own. Without, a message that does not fit is refused. */
    enabled?: boolean;
    /** By a summary, or by a line that says how much was left out. */
    strategy?: "summarise" | "truncate";
    /** Tokens of the end that stay as they were said. */
    preserveRecent?: number;
    /** Messages of the end that stay as they were said, instead of tokens. */
    preserveCount?: number;
    /** The most tokens a new summary takes. */
    summaryMaxTokens?: number;
    /** The model that writes summaries; the session's own if not said. */
    summaryModel?: string;
    /** How often a summary is asked for when the server is busy. */
    attempts?: number;
    /** Seconds that a message waits for a model's summary before the built-in one takes over; 10 if not said. */
    waitSeconds?: number;
    /** The share of the room at which it happens, above 0 and at most 1. */
    triggerAt?: number;
    /** Tokens that offloading must free, or older text is summarised too. */
    triggerThreshold?: number;
  };
  /** When positions to return to are noted. */
  snapshots?: { enabled?: boolean; autoCreate?: boolean; autoThreshold?: number };
  /** When the conversation goes on in a new session. */
  rollover?: { enabled?: boolean; smallModelCompactions?: number };
  /** Tools of palimpsest's own, answered inside `send`, and their names. */
  tools?: {
    enabled?: boolean;
    recall?: string;
    searchHistory?: string;
    compressToCheckpoint?: string;
    activateSkills?: string;
    deactivateSkills?: string;
  };
}

/**
 * A named size of a window, as Ollama's users name them. Of what the name says 85 % are used: `"8K"` is 6,800 tokens, which is the
 * number that {@link SessionInfo} shows and that the server is asked for.
 */
export type WindowName = "4K" | "8K" | "16K" | "32K" | "64K" | "128K" | "256K";

/** How to open a session. */
export interface SessionOptions {
  /** Which one: it is opened if the store has it, else made. A fresh identifier if not said. */
  id?: string;
  /** The model's name, as its server knows it. */
  model: string;
  /**
   * The model's context window: a number of tokens, or a named size. If a new session is not told, 4,096 tokens are assumed, and
   * a `warning` says so: the code is `window_assumed`.
   */
  window?: number | WindowName;
  /** When and how the window is made smaller; `balanced` if not said. */
  policy?: PolicyName | Policy;
  /** Where found demands of the user's stand; comes before what the policy says. A session keeps it. */
  demands?: Demands;
  /**
   * Where it is kept: `memory` (gone when it is closed) if not said, the browser's `indexeddb`, or a storage of yours.
   */
  store?: "indexeddb" | "memory" | StorageAdapter;
  /** The name of the database in IndexedDB; `palimpsest` if not said, which is the chat app's too. */
  database?: string;
  /**
   * With a storage of yours: whether each of its writes waits until it is safe from a power failure. If not said, that is so for
   * what a session cannot do without, and not for what the next write brings again.
   */
  durability?: "strict" | "relaxed";
  /** Who answers, and writes summaries. Without one, {@link Session.send} is refused and summaries are extractive. */
  llm?: LanguageModel;
  /** Tool definitions that go with every request. */
  tools?: readonly unknown[];
  /** The system prompt. */
  system?: string;
  /** Its title; the beginning of the first message if not said. */
  title?: string;
  /** The model thinks before it answers: more is kept free. */
  thinking?: boolean;
  /** What kind of work the conversation is. */
  mode?: SessionMode;
  /** Settings that differ from the defaults. An unknown one is refused with the nearest name. */
  settings?: SessionSettings;
  /** Take it from another tab or program that writes it. That one is refused from then on. */
  takeOver?: boolean;
  /** Hears of everything that happens to it. */
  onEvent?: (event: SessionEvent) => void;
  /** Counts with the model's own vocabulary from the start: see {@link Session.setTokenizer}. */
  tokenizer?: Tokenizer;
  /**
   * The text of an exported session (what {@link Session.export} gave): that session is opened, made if the store has not
   * got it, and what the file has more is added; the same file twice adds nothing. `id` is left out with it.
   */
  file?: string;
  /**
   * Whether you vouch for the file: then its system prompt, goal, pins and layers come along. If not, it is only read as
   * what was said.
   */
  trustFile?: boolean;
  /**
   * Also quotes what was said in the other sessions of the store before a message that asks for it, each passage with the title of its
   * session and its day; off if not said. At most six passages, in at most half of the room for quotes. Deleted sessions are not quoted. A
   * store that every session has for itself (`memory`) is refused with it.
   */
  otherSessions?: boolean;
  /** Ends the opening. */
  signal?: AbortSignal;
}

/** What kind of work a conversation is: what its summaries hold dearest. */
export type SessionMode = "developer" | "planning" | "debugger" | "assistant";

/** What a compaction did. All sizes are tokens; messages are named by their numbers. */
export interface CompactionReport {
  /** The window before. */
  before: number;
  /** The window after. */
  after: number;
  /** The new layer, if one was written. */
  layer?: number;
  /** What the new layer covers. */
  covers: { from: number; to: number }[];
  /** How many messages that is. */
  messages: number;
  /** Tokens of those messages. */
  coveredTokens: number;
  /** The user's messages that stand word for word beside the layer. */
  quoted: number[];
  /** The user's messages of which an excerpt stands beside the layer, or in their own place. */
  shortened?: number[];
  /** The user's demands that were found in what it covered, word for word, the message each is from, and `likely` where it is not sure. */
  demands?: { text: string; message: number; level?: "likely" }[];
  /**
   * The user's messages that stood word for word before it, of which neither the words nor an excerpt stand now.
   */
  summarised?: number[];
  /** What became of the facts of what was taken out or shortened. Reports of earlier versions have none. */
  facts?: Facts;
  /** `kept` ÷ `touched` of the facts; 1 if nothing was touched. */
  retention: number;
  /**
   * Whether something left without a trace: facts were dropped, or words are gone, and neither a shorter form of them nor a
   * layer with text stands in their place.
   */
  lossy?: boolean;
  /** Dropped facts, the most important first: at most 64. `facts.dropped` says how many there were. */
  dropped: string[];
  /** Tokens the model has to read again. */
  reread: number;
  /** Messages that are still shown. */
  preserved: number;
  /** What each pass took, in the order in which they ran: all together `before` less `after`. */
  passes?: Shed[];
  /** What was done beside summarising, in sentences. */
  adjustments: string[];
  /** A stable name for each of the adjustments, in their order. */
  codes?: string[];
  /** Warnings though it went well: marks that were dropped or not found, references that stay. */
  cautions?: { code: "mark_dropped" | "watermark_not_found" | "not_released"; tool?: string; reference?: OffloadedResult }[];
  /** Offloaded results that the new layer covers: their references left the window, their texts stay in the history. */
  released?: OffloadedResult[];
  /** Whether somebody asked for it. */
  manual: boolean;
  /** The stretches of the window before, neighbours of one kind as one. */
  segmentsBefore?: WindowSegment[];
  /** The stretches after. */
  segmentsAfter?: WindowSegment[];
  /** How long it took, in milliseconds. */
  took?: number;
  /** The same for each stage; `summarize` holds the wait for a model. */
  stages?: { stage: CompactionStage; ms: number }[];
  /** The findings of the last stage: whether the new window holds what it must, its tokens, its limit, the share of facts. */
  verification?: { valid: boolean; tokens: number; limit: number; retention: number };
}

/** A stage of a compaction, in order. */
export type CompactionStage = "identify" | "prepare" | "summarize" | "checkpoint" | "update" | "verify";

/** A compaction that was committed. */
export interface Compaction {
  /** The revision it made. */
  revision: number;
  /** What it did. */
  report: CompactionReport;
}

/** How the last compaction of a session ended, in this program: committed, not worth it or not possible, or failed. */
export type CompactionOutcome =
  | ({ how: "compressed" } & Compaction)
  | { how: "skipped"; code: string; message: string }
  | { how: "failed"; code: string; message: string };

/** What a compaction would do. All sizes are tokens. */
export interface CompactionPreview {
  /** The window now. */
  before: number;
  /** About what it would be. */
  after: number;
  /** What would be covered, by the numbers of messages. */
  covers: { from: number; to: number }[];
  /** How many messages that is. */
  messages: number;
  /** Tokens of those messages: what a summariser has to read. */
  coveredTokens: number;
  /** The most the new layer takes. */
  layerTokens: number;
  /** What the passes before it would shed. */
  passes?: Shed[];
}

/** How big the window is and what it holds. All sizes are tokens. */
export interface SessionBudget {
  /** The window asked for. */
  window: number;
  /** Free for the answer. */
  reserve: number;
  /** Free because counts may be off. */
  margin: number;
  /** What a sent window may hold. */
  limit: number;
  /** What it holds now. */
  used: Count;
  /** System prompt, tools, records and layers. */
  fixed: number;
  /** What the conversation may take. */
  available: number;
  /** What the conversation takes. */
  conversation: number;
  /** What no compaction may shrink. */
  floor: number;
  /** Where the automatic compaction starts. */
  trigger: number;
  /** What a compaction aims at. */
  target: number;
  /** Tokens that the budget advised for a system prompt in such a window has left. The preset `checkpoints` makes layers only if it is not 0. */
  checkpointBudget: number;
  /** Tokens until the trigger fires; 0 if it does now. The bound of an estimate counts: where counts are estimated, it fires before `trigger` tokens are counted. */
  untilTrigger: number;
  /** Tokens until the limit. */
  free: number;
  /** Tokens past the limit. */
  over: number;
  /** Tokens that the server has to read at the next request: all, if something before the last messages has changed. */
  reread: number;
  /** The watermark, if there is one or the policy sets one. */
  watermark?: {
    /** The first message after it. */
    boundary?: number;
    /** It is not among these messages, so nothing is stripped. */
    lost: boolean;
    /** The tool whose call sets the next one. */
    waitsFor?: string;
    /** Messages before it that stay whole. */
    anchors: number;
    /** The content that stays besides text before it: so many of the newest results, those that failed, so many of the best. */
    stays?: { keep: number; keepErrors: boolean; keepBest: number };
    /** What sets one: calls of tools that match, a compaction, so many tokens, the end of a task. */
    marks: { tools: string; onActivate: boolean; everyTokens: number; atTasks: boolean };
  };
  /** What stands in it, in order. */
  segments: WindowSegment[];
}

/** A stretch of a window. */
export interface WindowSegment {
  kind: "system" | "tools" | "goal" | "pins" | "layer" | "quoted" | "recalled" | "user" | "assistant" | "tool" | "draft";
  /** The layer's number. */
  id?: number;
  count: Count;
}

/** Everything that can happen to a session, by name. */
export interface SessionEvents {
  /** A message was stored. */
  "message-added": { seq: number };
  /** A compaction goes on. */
  compressing: { stage: CompactionStage; written: number; of: number };
  /** A compaction was committed. */
  compressed: Compaction;
  /** A compaction changed nothing. */
  "compression-skipped": { code: string; message: string };
  /**
   * Two automatic compactions in a row freed too little, and none is tried before the window changes. What no compaction may shrink
   * takes `floor` tokens; one starts at `trigger`. Fewer pins, a shorter system prompt or a wider window help.
   */
  "cannot-shrink": { floor: number; trigger: number };
  /** A compaction failed. Nothing changed. */
  "compression-error": { code: string; message: string };
  /** A layer was written. */
  "checkpoint-created": { layer: number };
  /** A layer got shorter. */
  "checkpoint-aged": { from: number; to: number };
  /** A snapshot was made. */
  "snapshot-created": { snapshot: number; automatic: boolean };
  /** A snapshot was made without anybody asking for it. */
  "auto-snapshot-created": { snapshot: number; purpose: SessionSnapshot["purpose"] };
  /** A snapshot could not be made, restored or removed. */
  "snapshot-error": { code: string; message: string };
  /** A snapshot was restored. */
  "snapshot-restored": { snapshot: number };
  /** The conversation goes on in another session, which starts from notes: this object is that session now. */
  "rollover-complete": { session: string; notes: number };
  /** A large tool result is shown as a reference. */
  offloaded: { seq: number; freed: number };
  /** A message that was shown in a shorter form is shown as it was said. */
  restored: { seq: number };
  /** Changes of the goal wait for a decision, or one was decided. */
  "proposals-changed": { pending: number };
  /** Skills were switched on or off. */
  "skills-changed": { activated: string[]; deactivated: string[] };
  /** Another revision is shown. */
  "view-changed": { revision: number };
  /** Old passages were quoted for the last message. */
  recalled: { seqs: number[] };
  /** The window's numbers changed. */
  "budget-changed": { tokens: number; trigger: number; limit: number };
  /** The server read less of the prompt than was sent. */
  "prompt-truncated": { sent: number; read: number };
  /** Something the user should know. */
  warning: { code: string; message: string };
  /**
   * Something happened to the storage from outside. `taken-over`: somebody else writes the session now, and this one is refused
   * from here on; of a storage of yours that is known if it has `watch`.
   */
  "storage-changed": { what: "blocked" | "upgraded" | "deleted" | "lost" | "reopened" | "taken-over" | "changed" };
}

/** Something that happened to a session. */
export type SessionEvent = { [Name in keyof SessionEvents]: { type: Name } & SessionEvents[Name] }[keyof SessionEvents];

/** A step of a reply. */
export type SendChunk =
  /** The user's message is stored, under this number. */
  | { type: "stored"; seq: number }
  /** The window is made smaller first. */
  | { type: "waiting" }
  | { type: "text"; text: string }
  | { type: "thinking"; text: string }
  | { type: "tool_call"; id: string; name: string; arguments: string }
  /** A tool runs. */
  | { type: "tool"; name: string }
  | ({ type: "usage" } & Usage)
  /** An answer of the model is complete. After tool calls another one follows. */
  | { type: "done"; reason: FinishReason };

/** Why an answer ended. */
export type FinishReason = "stop" | "length" | "tool_calls" | "load" | "other";

/** What the server says it read and wrote, in tokens and milliseconds. */
export interface Usage {
  promptTokens: number | null;
  completionTokens: number | null;
  promptMs: number | null;
  completionMs: number | null;
}

/**
 * How a reply ended that is not whole: it was stopped or broke off (a lost connection, a closed page, a crash), or the server cut
 * it at its most, after so many tokens.
 */
export type ReplyEnd = { how: "stopped" } | { how: "cut"; tokens: number };

/** A finished reply. */
export interface Reply {
  /** Its message's number. */
  seq: number;
  /** Its text. */
  text: string;
  /** What the server read and wrote for it. */
  usage: Usage;
  /** Why it ended. */
  reason: FinishReason;
  /** Whether it was stopped: what had arrived is stored. */
  stopped: boolean;
  /** How it ended, if it is not whole: {@link Session.continueReply} goes on with it. */
  ended: ReplyEnd | null;
  /** The session it was given in: another one after a rollover. */
  session: string;
}

/** A reply that comes in: iterate over it once, or wait for the whole. It goes on whether anybody looks or not. */
export interface SendStream extends AsyncIterable<SendChunk> {
  /** The finished reply. */
  reply(): Promise<Reply>;
  /** The text of the finished reply. */
  text(): Promise<string>;
  /** Stops it. What has arrived is stored, and the reply is finished. Leaving the loop early does the same. */
  stop(): void;
}

/** How to send. */
export interface SendOptions {
  /** Stops the reply: what has arrived is stored, and the iteration ends with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Tool definitions instead of the session's. */
  tools?: readonly unknown[];
  /** The most tokens of the reply: at most the room that the session keeps free for one (`settings.reserve`). */
  maxTokens?: number;
  /** Randomness, 0 to 2. This and the next four come before what {@link SessionSettings.sampling} says. */
  temperature?: number;
  /** The share of probability that words are chosen from, above 0 and at most 1. */
  topP?: number;
  /** Words that are less likely than this share of the likeliest one are never chosen; 0 to 1. */
  minP?: number;
  /** How much words lose that were just written, above 0 and at most 2; 1 for nothing. */
  repeatPenalty?: number;
  /** A number that makes choices repeatable. */
  seed?: number;
  /** Texts that end the reply. */
  stop?: readonly string[];
  /** The JSON schema that the reply has to follow, or `"json"` for any JSON. A server that cannot do that may ignore it. */
  format?: "json" | Readonly<Record<string, unknown>>;
  /** Whether a thinking model thinks. */
  think?: boolean;
}

/** A tool that the model asks for. */
export interface ToolCall {
  name: string;
  /** The arguments as the model wrote them: JSON text, most of the time. */
  arguments: string;
}

/** A message of the session, and how it is shown to the model. */
export interface HistoryItem {
  /** Its number. */
  seq: number;
  role: "system" | "user" | "assistant" | "tool";
  /** What was said. */
  parts: (
    | { type: "text" | "thinking"; text: string }
    | { type: "tool_call"; id: string; name: string; arguments: string }
    | { type: "tool_result"; call: string; name?: string; text: string; error?: boolean }
    | { type: "image"; name: string; mediaType: string; data: string; tokens?: number }
    | { type: "file"; name: string; text: string }
  )[];
  /** When, in milliseconds since 1970. */
  at: number;
  /** How it ended, if it is a reply that is not whole. */
  ended: ReplyEnd | null;
  /** Tokens as it was said. */
  tokens: number;
  /** How the model sees it: as it was said, covered by a layer, or in a shorter form. */
  shown: "verbatim" | "covered" | "condensed" | "stripped" | "offloaded" | "excerpt";
  /** The layer that covers it. */
  layer: number | null;
  /** Which of its versions it is, and how many there are. */
  branch: { n: number; of: number };
}

/** A layer in the window. All sizes are tokens. */
export interface SessionLayer {
  id: number;
  /** The messages it stands for. */
  covers: { from: number; to: number }[];
  /** The summary. */
  summary: string;
  /** Facts carried along word for word because the summary missed them. */
  ledger: string[];
  tokens: number;
  /** Tokens of what it covers. */
  originalTokens: number;
  /** How many messages it covers. */
  messages: number;
  /** 3 as first written, 2 and 1 as it gets shorter with age. */
  level: 1 | 2 | 3;
  /** Who wrote it. */
  author: { by: "model"; name: string } | { by: "person" } | { by: "extractive" } | { by: "fallback"; reason: string };
  /** Facts that are in no part of the window any more. */
  dropped: string[];
  /** The share of the facts of what it covers that it holds, 0 to 1. */
  retention: number;
  /** Decisions that the summary names. */
  keyDecisions: string[];
  /** Files that were changed in what it covers. */
  filesModified: string[];
  /** What is still to be done, as the summary says. */
  nextSteps: string[];
  /** The notes that it is made from, oldest first. */
  notes: number[];
  /** The layers whose place it took. */
  replaces: number[];
  /** The compaction of the session that wrote it, from 1. */
  number: number;
  /** The number of times that the text was made shorter: 1 for the first form. */
  compressions: number;
  /** The number of times that layers were joined to it. */
  rank: number;
  /** Whether it was cut without a model, so that {@link Session.rest} writes it again. */
  isCut?: boolean;
  /** When its first form was written, in milliseconds since 1970. */
  created: number;
  /** When this form was written, in milliseconds since 1970. */
  compressedAt: number;
}

/** A position to return to. */
export interface SessionSnapshot {
  n: number;
  /** Empty for those that were made on their own. */
  name: string;
  purpose: "recovery" | "rollback" | "emergency";
  /** When, in milliseconds since 1970. */
  at: number;
  /** Tokens of the window then. */
  tokens: number;
  /** Messages then. */
  messages: number;
  /** Layers then. */
  layers: number;
  /** Whether it is kept however many follow. */
  pinned: boolean;
  /** The revision that was shown. */
  revision: number;
  /** The last message then; `null` before the first. */
  tip: number | null;
  /** The revision of system prompt, goal and pins. */
  records: number;
  model: string;
  mode: SessionMode;
  /** The class of the window's size. */
  tier: "minimal" | "basic" | "standard" | "premium" | "ultra";
  /** The layer that a compaction was about to write. */
  before?: number;
  /** What the goal said. */
  goal?: string;
}

/** A line that is kept word for word. */
export interface SessionPin {
  id: number;
  /** Pinned by you, a demand found in the user's words, or a decision. */
  kind: "pin" | "constraint" | "decision";
  /** The message a demand was said in. */
  from?: number;
  /** `likely` if it is not sure that a demand is meant to last. */
  level?: "likely";
  text: string;
}

/** A passage that was found. */
export interface SearchHit {
  /** The message. */
  seq: number;
  role: HistoryItem["role"];
  text: string;
  /** How well it answers; comparable within one search. */
  score: number;
  /** The layer that covers the message, if one does. */
  layer: number | null;
}

/** How far what the model sees can be trusted, after compactions. */
export interface SessionReliability {
  /** In whole percent: 100 while nothing was compacted. */
  percent: number;
  /** The same in a word: below 40 %, below 60 %, below 85 %, and above. */
  level: "critical" | "low" | "medium" | "high";
  /** Whether the share of the facts that survived was measured; else it is taken as 1. */
  measured: boolean;
  /** The share that `percent` rounds, 0 to 1. */
  relative: number;
  /** With the model's size in it, 0 to 1; `null` where the size is not known. */
  score: number | null;
  /** The same in a word. */
  scoreLevel: SessionReliability["level"] | null;
  /** The size of the model, where it is known. */
  class: "small" | "medium" | "large" | null;
}

/** A change of the window, with its figures. */
export interface SessionLogEntry {
  /** The revision that it made. */
  revision: number;
  /** When, in milliseconds since 1970. */
  at: number;
  action: "compacted by hand" | "compacted" | "emergency" | "layer edited" | "layer rewritten";
  /** Messages that were shown before and after. */
  messages: [number, number];
  /** Tokens of the window before and after. */
  tokens: [number, number];
  /** The window's size in tokens. */
  window: number;
  /** What each pass shed. */
  passes: Shed[];
  /** Tokens the model had to read again. */
  reread: number;
  /** What was done beside that, in sentences. */
  adjustments: string[];
}

/** What is shown of the words of a tool. All sizes are tokens. */
export interface ToolFigures {
  /** The tool's name; empty where a result names none. */
  tool: string;
  /** Calls and results that were said. */
  blocks: number;
  /** Of those, the ones that are not shown at all. */
  removed: number;
  /** As they were said. */
  said: number;
  /** As they are shown. */
  shown: number;
}

/** A named block of the system message that is switched on and off. */
export interface Skill {
  /** Its name, unique in the prompt. */
  name: string;
  /** The instructions. */
  text: string;
  /** Whether it is part of the system message now. */
  active?: boolean;
}

/** The parts of the system message. */
export interface SessionPrompt {
  /** Who the model is and how it works: the system prompt. */
  base: string;
  /** What it must always or never do. */
  mandates: string;
  /** What it should check before it answers. */
  checks: string;
  skills: Skill[];
  /** What is made of them. */
  built: {
    text: string;
    tokens: number;
    /** The parts that are in it, in order, with their tokens. */
    sections: { kind: "base" | "mandates" | "goal" | "skill" | "checks"; name: string; tokens: number }[];
    /** What is wrong with it: too long for the window (its tokens, the most, its largest part), or two skills of one name. */
    warnings: ({ warning: "over-budget"; tokens: number; budget: number; largest: [string, number] } | { warning: "duplicate-skill"; name: string })[];
  };
}

/** A large tool result that the window shows as a reference. */
export interface OffloadedResult {
  /** The message that holds it. */
  message: number;
  /** The part of the message, from 0. */
  part: number;
  /** Name of the content. */
  hash: string;
  /** Bytes of the text. */
  bytes: number;
  /** Its beginning. */
  head: string;
  /** Its end. */
  tail: string;
}

/** A passage of a covered message that the window quotes for the last question. */
export interface RecalledQuote {
  /** The message that it is from. */
  seq: number;
  /** The session that it is from, if that is another one: see {@link SessionOptions.otherSessions}. */
  session?: string;
  /** The title of that session, and the day on which it was said there if that is known: `The cabin, 2026-05-12`. */
  source?: string;
  text: string;
  /** Tokens that it takes. */
  tokens: number;
}

/** A summary that you write, with a model of your own. */
export interface SessionJob {
  id: number;
  /** The system message for your model. */
  system: string;
  /** The user message for your model. */
  prompt: string;
  /** Tokens the summary should have at most. */
  targetTokens: number;
}

/** What a session is. */
export interface SessionInfo {
  id: string;
  /** The place in which it is kept: memory only, the browser's IndexedDB, or the storage that was given. */
  store: "memory" | "indexeddb" | "given";
  title: string;
  model: string;
  window: number;
  policy: string;
  thinking: boolean;
  mode: SessionMode;
  /** Messages on the current path. */
  messages: number;
  /** Tokens of the window at the last change. */
  tokens: number;
  /** The revision that is shown. */
  revision: number;
  /** Milliseconds since 1970. */
  created: number;
  /** Milliseconds since 1970. */
  updated: number;
  /** The session this one goes on from. */
  continues: string | null;
  /** Whether the policy asks for a compaction now. */
  due: boolean;
  /** Whether a reply comes in. */
  replying: boolean;
  /** Whether a compaction runs. */
  compacting: boolean;
}

/** A change of a goal. Items are named by their numbers. */
export type GoalEdit =
  | { edit: "describe"; text: string }
  | { edit: "prioritise"; priority: NonNullable<Goal["priority"]> }
  | { edit: "set-status"; status: NonNullable<Goal["status"]> }
  | { edit: "add-milestone"; text: string; state?: "pending" | "in-progress" | "completed" }
  | { edit: "set-milestone"; id: number; state: "pending" | "in-progress" | "completed" }
  | { edit: "add-decision"; text: string; rationale?: string; kind?: "general" | "architecture"; locked?: boolean }
  | { edit: "lock-decision"; id: number; locked: boolean }
  | { edit: "record-artifact"; path: string; action: "created" | "modified" | "deleted"; kind?: string }
  | { edit: "add-next-step" | "add-blocker"; text: string }
  | { edit: "reword"; id: number; text: string }
  | { edit: "remove"; id: number };

/**
 * A change of the goal that a summary proposed, or (`kind: "demand"`, with `text`) something the user just said that sounds as
 * if it should hold for the whole conversation. Nothing changes before you decide; a demand that is taken on becomes a pin.
 */
export interface GoalProposal {
  id: number;
  /** The messages that are said to show it. */
  cites: number[];
  /** What would change. */
  kind: "goal" | "milestone" | "decision" | "artifact" | "next-step" | "blocker" | "demand";
  /** In words, for all but a file. */
  text?: string;
  /** A milestone's state, as the summary sees it. */
  state?: "pending" | "in-progress" | "completed";
  /** Whether the summary would lock the decision. You do that, or nobody. */
  lockAsked?: boolean;
  /** A file. */
  path?: string;
  /** What was done with it. */
  action?: "created" | "modified" | "deleted";
}

/** What the conversation is to reach, as the session has it. */
export interface SessionGoal {
  description: string;
  priority: NonNullable<Goal["priority"]>;
  status: NonNullable<Goal["status"]>;
  /** When it was set, in milliseconds since 1970. */
  created: number;
  /** When it was reached. */
  completed: number | null;
  milestones: { id: number; text: string; state: "pending" | "in-progress" | "completed"; completed: number | null }[];
  decisions: { id: number; text: string; rationale?: string; kind: "general" | "architecture"; locked: boolean }[];
  /** Files that belong to it. */
  artifacts: { id: number; kind: string; path: string; action: "created" | "modified" | "deleted" }[];
  nextSteps: { id: number; text: string }[];
  blockers: { id: number; text: string }[];
  /** The largest number of an item. */
  lastId: number;
}

/**
 * One conversation: everything that was said, and the window that a model sees of it. Nothing that was said is ever
 * changed; every compaction can be undone, every layer lifted. Made by `openSession`.
 *
 * Close it: `await session.close()`, or `await using session = await openSession(…)`. After that every call is refused
 * with the code `closed`.
 *
 * @example
 * ```ts
 * import { openSession } from "palimpsest";
 *
 * await using session = await openSession({ model: "any", window: 4096 });
 * session.on("compressed", ({ report }) => console.log(`${report.before} → ${report.after} tokens`));
 * await session.append([
 *   { role: "user", content: "I never fly. Plan two weeks in Japan." },
 *   { role: "assistant", content: "Then let us look at ferries and trains." },
 * ]);
 * const { messages, tokens } = session.window(); // what to send
 * console.log(messages.length, tokens <= session.budget().limit); // 2 true
 * ```
 */
export interface Session {
  /** Its identifier. */
  readonly id: string;
  /** What it is. */
  readonly info: SessionInfo;
  /** How the last compaction since the session was opened ended, also one in the background; `null` if there was none. */
  readonly lastCompaction: CompactionOutcome | null;

  /**
   * Stores what was said elsewhere: messages in any dialect, one, or the user's words as text. System lines before the
   * first message become the system prompt. All of them are stored or none.
   *
   * @returns the messages' numbers.
   * @throws `message_too_large` if a message of the user's fits in no window; `bad_input`.
   */
  append(messages: string | object | readonly object[], options?: { dialect?: Dialect; signal?: AbortSignal | undefined }): Promise<number[]>;

  /**
   * Shows the conversation as a list has it that holds all of it, from its first message: what a chat frontend keeps. What is
   * stored already is not stored again, so it may be called after every change. Where the list has changed, left out or brought
   * back a message, that branch is shown; what was there stays on its own. Messages are the same if they say the same: ids,
   * reasoning and white space at the ends do not count. Give replies when they are whole. An empty list changes nothing.
   *
   * @returns the numbers of the new messages, and whether another branch is shown now.
   * @throws `busy` while a reply comes in, or if another call stores a message meanwhile; `message_too_large`, `bad_input`: nothing
   * changes then.
   * @example
   * ```ts
   * import { openSession } from "palimpsest";
   *
   * await using session = await openSession({ model: "any", window: 4096 });
   * const list = [{ role: "user", content: "Plan two weeks in Japan." }];
   * await session.sync(list);
   * const { added } = await session.sync([...list, { role: "assistant", content: "By ferry or by train?" }]);
   * console.log(added.length, session.info.messages); // 1 2
   * ```
   */
  sync(messages: readonly object[], options?: { dialect?: Dialect; signal?: AbortSignal | undefined }): Promise<{ added: number[]; branched: boolean }>;

  /**
   * Answers the tools that the model asks for. What the handler returns is the result (text as it is, anything else as
   * JSON); what it throws is shown to the model as a failed call. Without a handler a tool call ends the turn: store the
   * result with {@link Session.append}, and go on with {@link Session.reply}.
   *
   * @returns what takes the handler away again.
   */
  onToolCall(handler: (call: ToolCall, signal: AbortSignal) => unknown): () => void;

  /**
   * Says something and streams the reply. The message is stored before the model is asked; the window is made to fit
   * before; the reply is stored; and after it the automatic compaction runs in the background, if it is due.
   *
   * @throws `no_model` without an `llm`; `busy` while another reply comes in; a model's failure, with its code; what
   * your own client threw, as it is.
   *
   * @example
   * ```ts
   * import { ollama, openSession } from "palimpsest";
   *
   * await using session = await openSession({ model: "llama3.2:3b", llm: ollama() });
   * const stop = new AbortController();
   * for await (const chunk of session.send("Tell me a story.", { signal: stop.signal })) {
   *   if (chunk.type === "text") console.log(chunk.text);
   * }
   * const { usage } = await session.send("A shorter one.").reply();
   * console.log(usage.promptTokens);
   * ```
   */
  send(message: string | object, options?: SendOptions & { dialect?: Dialect }): SendStream;

  /**
   * Lets the model answer what stands at the end: after {@link Session.append}, or a question that nobody answered. A reply at the end
   * that is not whole ({@link HistoryItem.ended}) is written anew; what was there stays on its branch.
   */
  reply(options?: SendOptions): SendStream;

  /**
   * Lets the model go on with the last reply, which was stopped, broke off or was cut ({@link HistoryItem.ended}). The result is one
   * message that takes its place; what was there stays on its branch, and nothing changes before the new one is stored. Ollama and
   * llama.cpp go on from the very word; other servers are asked to in a line that is not stored. A client of your own gets the
   * unfinished reply as the last message.
   *
   * @throws `nothing_to_continue` if the last message is no such reply; what {@link Session.send} throws.
   *
   * @example
   * ```ts
   * import { ollama, openSession } from "palimpsest";
   *
   * await using session = await openSession({ model: "llama3.2:3b", llm: ollama() });
   * let reply = await session.send("Tell me a long story.").reply();
   * while (reply.ended?.how === "cut") reply = await session.continueReply().reply();
   * console.log(reply.text);
   * ```
   */
  continueReply(options?: SendOptions): SendStream;

  /** The exact messages for the model, in a dialect: to send them with a client of your own. */
  window(dialect?: Dialect): { messages: ChatMessageLike[]; tokens: number };

  /** How big the window is and what it holds. */
  budget(): SessionBudget;

  /** The layers in the window, oldest first. */
  layers(): SessionLayer[];

  /**
   * What of the session could not be read when it was opened: nothing, if storage is whole. A lost message stands as a marked
   * gap in its place; what a lost layer covered is shown as it was said; in the place of records or of a view that cannot be
   * read stand the newest whole ones before. Nothing that cannot be read is written over.
   */
  losses(): Loss[];

  /** What was said, oldest first: the last `limit` messages (all if not said) before the one with the number `before`. */
  history(options?: { before?: number; limit?: number }): HistoryItem[];

  /**
   * Makes the window smaller now. Either one revision is committed or nothing changes.
   *
   * @returns what was done; `null` if there is nothing to compress.
   * @throws `not_worth` if it would free too little, `nothing_compressible`, `cannot_fit`, `model_failed`; the signal's reason.
   */
  compact(options?: {
    /** What the summary should dwell on. */
    focus?: string;
    /** The model is only asked if it takes no longer, as measured; in seconds. */
    mostSeconds?: number;
    /** The extractive summariser instead of the model. */
    extractive?: boolean;
    /** The new layer covers every message up to the one with this number, and that one. */
    upTo?: number;
    /** The new layer begins with this message; goes with `to`. */
    from?: number;
    /** The new layer ends with this message; goes with `from`. Calls and their results stay together, the last exchange stays. */
    to?: number;
    signal?: AbortSignal | undefined;
  }): Promise<Compaction | null>;

  /**
   * Shows `text` in place of a layer's summary and ledger: a change like any other, measured against what the layer covers, with
   * a snapshot before, and taken back by {@link Session.undo}. Shorter forms of the layer are made from this text. A compaction
   * that runs meanwhile is refused as `busy`: it was planned with the text before.
   *
   * @throws `not_found` if the layer is not in the window, `empty_record`; `would_not_fit` unless `ifOver` is `show`.
   */
  editLayer(layer: number, text: string, options?: { ifOver?: "refuse" | "show" }): Promise<Compaction>;

  /**
   * Has a layer written again from the messages that it covers. {@link Session.undo} takes it back.
   *
   * @throws `not_found` if the layer is not in the window; `model_failed` if the model's text was not taken: the layer stays.
   */
  rewriteLayer(layer: number, options?: {
    /** Who writes: the session's model, or the built-in summariser. The model if there is one. */
    by?: "model" | "builtin";
    /** What the text should dwell on. */
    focus?: string;
    signal?: AbortSignal | undefined;
  }): Promise<Compaction>;

  /**
   * Uses a quiet moment: one layer that was cut without a model is written again by the session's model, from its notes. Gives way
   * to the user's next message.
   *
   * @returns the revision that it made; `null` if there was nothing to do, or nothing better came.
   */
  rest(options?: { signal?: AbortSignal | undefined }): Promise<number | null>;

  /** Takes the extractive summary instead of waiting for the model any longer. */
  skipWait(): void;

  /** What a compaction would do now. Asks no model and changes nothing. */
  preview(options?: { focus?: string }): Promise<CompactionPreview>;

  /**
   * Takes the last compaction back.
   *
   * @throws `nothing_to_undo`; `would_not_fit` with {@link PalimpsestError.choices}, unless `ifOver` is `show`: then the
   * next message compacts first.
   */
  undo(options?: { ifOver?: "refuse" | "show" }): Promise<void>;

  /** Takes one layer off: what it covers is shown as it was said. Refused as {@link Session.undo} is. */
  lift(layer: number, options?: { ifOver?: "refuse" | "show" }): Promise<void>;

  /** The system prompt. */
  readonly system: string;

  /** Another system prompt. */
  setSystem(system: string): Promise<void>;

  /** Another title. */
  rename(title: string): Promise<void>;

  /** Another kind of work: from now on summaries keep what it needs. */
  setMode(mode: SessionMode): Promise<void>;

  /** How far what the model sees can be trusted, after compactions. */
  reliability(): SessionReliability;

  /** Every change of the window that has figures, oldest first. */
  log(): Promise<SessionLogEntry[]>;

  /** What is shown of the tools' words, the tool that saves most first, and all of them together. */
  analytics(): { tools: ToolFigures[]; total: ToolFigures };

  /** The system message by its parts. A change is counted at once; `warning` tells if it is too long for the window. */
  readonly prompt: {
    /** The parts, and what is made of them. */
    current(): SessionPrompt;
    /** Changes the parts that are named. */
    set(parts: { base?: string; mandates?: string; checks?: string; skills?: readonly Skill[] }): Promise<void>;
    /** Switches on the skills whose names match (`*`, `?`, `{a,b}`). @returns those that were off. */
    activate(...patterns: string[]): Promise<string[]>;
    /** Switches off the skills whose names match. @returns those that were on. */
    deactivate(...patterns: string[]): Promise<string[]>;
  };

  /** Large tool results that the window shows as references. */
  readonly offloaded: {
    /** All of them, oldest first. */
    list(): OffloadedResult[];
    /** What the references of a message stand for, in their order. */
    read(message: number): string[];
    /** Shows a message as it was said again. @throws `cannot_fit` if the window has no room for it. */
    bringBack(message: number): Promise<void>;
  };

  /** Passages of covered messages, and of other sessions, that the window quotes for the last question. */
  readonly recalled: {
    /** All of them, as they stand. */
    list(): RecalledQuote[];
    /** Takes one message's out of the window, or all. `session` is the other session that it is from. */
    remove(message?: number, session?: string): Promise<void>;
  };

  /** The watermark: what stands before it may be stripped by a policy that does so. */
  readonly watermark: {
    /** The present end becomes the watermark. */
    mark(): Promise<void>;
    /** Keeps a message whole before the watermark, or (`false`) no longer. */
    anchor(message: number, keep?: boolean): Promise<void>;
  };

  /** The ways that the conversation went. */
  readonly branches: {
    /** The messages that follow the same one as this one, oldest first, this one among them. */
    of(message: number): number[];
    /** Shows the branch on which a message lies, to its newest end. */
    show(message: number): Promise<void>;
    /** Goes back to just before a message: what is said next stands beside it. Nothing is removed. */
    rewindBefore(message: number): Promise<void>;
  };

  /** Another model, window or policy. What does not fit any more is compacted at the next message. */
  setModel(change: { model?: string; window?: number | WindowName; policy?: PolicyName | Policy; thinking?: boolean }): Promise<void>;

  /**
   * Counts with the model's own vocabulary instead of an estimate: one that you loaded, or with `"server"` the one that the
   * Ollama behind `llm` tells, which is kept in the browser's IndexedDB. `null` goes back to estimating. It counts for the
   * model that the session has now; with another model counts are estimates again. What the chat template adds is learned from
   * the server's own counts: until three of them agree, sums are still called estimates.
   *
   * @throws `invalid_options`, `not_supported` for other servers; the codes of {@link Tokenizer.fromOllamaShow}; the
   * server's failures. Counts then stay as they were.
   *
   * @example
   * ```ts
   * import { ollama, openSession } from "palimpsest";
   *
   * await using session = await openSession({ model: "llama3.2:3b", llm: ollama() });
   * await session.setTokenizer("server").catch((error) => console.warn(`estimating: ${error.message}`));
   * console.log(session.budget().used); // { tokens: …, source: …, bound: … }
   * ```
   */
  setTokenizer(tokenizer: Tokenizer | "server" | null): Promise<void>;

  /** What the conversation is to reach: never summarised. */
  readonly goals: {
    /** The goal, if there is one. */
    current(): SessionGoal | null;
    /** Another goal; words alone begin one, or say it anew; `null` for none. */
    set(goal: Goal | string | null): Promise<void>;
    /** Changes it. */
    edit(edit: GoalEdit): Promise<void>;
    /** What summaries proposed, and nobody has decided on. */
    proposals(): GoalProposal[];
    /** Takes a proposal on. */
    accept(proposal: number): Promise<void>;
    /** Declines a proposal: it is not made again. */
    decline(proposal: number): Promise<void>;
  };

  /** Lines that are kept word for word. */
  readonly pins: {
    /** All of them, oldest first. */
    list(): SessionPin[];
    /** Keeps a line. Its number. */
    add(line: string, kind?: "pin" | "decision"): Promise<number>;
    /** Takes one out. What was said stays said. */
    remove(id: number): Promise<void>;
  };

  /** Positions to return to. */
  readonly snapshots: {
    /** All of them, oldest first. */
    list(): SessionSnapshot[];
    /** Remembers the present. Its number. */
    create(name: string): Promise<number>;
    /** Returns to one. What was said since stays on its own branch. */
    restore(n: number): Promise<void>;
    /** Keeps one however many follow, or not any longer. */
    pin(n: number, pinned?: boolean): Promise<void>;
    /** Removes one. Nothing that was said goes with it. */
    remove(n: number): Promise<void>;
  };

  /** Passages of everything that was said, the best first. */
  search(query: string, options?: { limit?: number }): SearchHit[];

  /** The session as a file: `jsonl` with everything, `markdown` to read, `json`. */
  export(format?: "jsonl" | "markdown" | "json"): Promise<string>;

  /**
   * A summary that is to be written by a model of yours: `null` if no compaction is due (or, with `manual`, possible).
   * Give the answer to {@link Session.completeJob}, then ask again. A compaction that needs no summary is committed in the
   * background, which `compressed` tells; where a compaction would not help, `compression-skipped` tells why.
   *
   * @example
   * ```ts
   * import { openSession, type SessionJob } from "palimpsest";
   *
   * declare function askMyModel(job: SessionJob): Promise<string>;
   * await using session = await openSession({ model: "mine", window: 4096 });
   * for (let job = session.nextJob(); job; job = session.nextJob()) {
   *   await session.completeJob(job.id, await askMyModel(job));
   * }
   * ```
   */
  nextJob(options?: { manual?: boolean }): SessionJob | null;

  /**
   * The summary for a job, or `null` if there is none: then the extractive one is taken.
   *
   * @returns what was committed, if this was the last summary it needed.
   */
  completeJob(id: number, summary: string | null): Promise<Compaction | null>;

  /** Listens to one kind of event, or with `*` to all. @returns what ends it. */
  on<Name extends keyof SessionEvents>(type: Name, listener: (event: { type: Name } & SessionEvents[Name]) => void): () => void;
  on(type: "*", listener: (event: SessionEvent) => void): () => void;

  /** Stops what runs (what has arrived of a reply is stored), waits for it, and gives the memory and the storage back. */
  close(): Promise<void>;

  /** As {@link Session.close}. */
  [Symbol.asyncDispose](): Promise<void>;

  /** As {@link Session.close}, without waiting. */
  [Symbol.dispose](): void;
}

/** A message in whatever dialect was asked for. */
export interface ChatMessageLike {
  role: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  [field: string]: any;
}
