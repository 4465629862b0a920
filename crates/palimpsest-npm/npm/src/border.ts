// What crosses between the module and the TypeScript around it, where no public type says it. The declarations of the
// module's functions name these types and the public ones (`src/types.rs`).

import type { CompactOptions, CompactReport, CompactState, SummaryJob } from "./compact.js";
import type { FoundBranch, FoundConversation, FoundMessage, ImportReport } from "./conversations.js";
import type { Loss, StoredSession } from "./library.js";
import type { ChatMessageLike, GoalEdit, GoalProposal, SessionEvents, SessionGoal, SessionOptions, SessionPin, Skill, ToolFigures } from "./session.js";
import type { Validation } from "./validate.js";

/** JSON text of a value: messages, and whatever else holds names of the caller's own. */
export type Text<T> = string & { readonly of?: T };

/** The value of a text of the module's. */
export function parsed<T>(text: Text<T>): T {
  return JSON.parse(text);
}

/** A list of messages on its way back: a number stands for the caller's own message of that index. */
export type Items = readonly unknown[];

/** What {@link import("./compact.js").compact} takes, without what crosses beside it. */
export type Compacting = Omit<CompactOptions, "tokenizer" | "state" | "tools" | "policy"> & { policy?: string | undefined; rules?: unknown; model?: string };

/** What a compaction of a list comes to. */
export interface Fitting {
  messages: Items;
  report: CompactReport;
}

/** The same with what is kept for the next one. */
export interface Compacted extends Fitting {
  state: CompactState;
}

/** A step of a compaction whose summaries somebody else writes. */
export type Step = { job: SummaryJob } | Compacted;

/** What a list was found to be. */
export type Checked = Omit<Validation<unknown>, "repaired"> & { repaired?: Items };

/** What a file held up to here, in order. */
export type Piece = [0, FoundMessage] | [1, ConversationEnd];

/** What is known of a conversation at its end. Its messages are named by their numbers. */
export type ConversationEnd = Omit<FoundConversation, "messages" | "branches"> & {
  shown: number[];
  branches: (Omit<FoundBranch, "messages"> & { messages: number[] })[];
};

/** The end of a file. */
export interface FileEnd {
  pieces: Piece[];
  report: ImportReport;
}

/** Where a server is. */
export interface Address {
  protocol: "ollama" | "openai" | "llama.cpp";
  url: string;
  key: string;
}

/** Which store. */
interface Kept {
  store: "memory" | "indexeddb" | "host";
  database?: string | undefined;
}

/** What a session is opened with. */
export type Opening = Kept &
  Pick<SessionOptions, "id" | "model" | "demands" | "system" | "title" | "thinking" | "mode" | "takeOver" | "file" | "trustFile" | "otherSessions"> & {
    window: number | undefined;
    /** A name, or the JSON text of a policy. */
    policy: string | undefined;
    settings: unknown;
    client: boolean;
    server: Address | undefined;
  };

/** What a library is opened with. */
export type OpeningLibrary = Kept;

/** How a session's window is made smaller. */
export interface Shrinking {
  focus?: string;
  mostSeconds?: number;
  extractive?: boolean;
  upTo?: number;
  from?: number;
  to?: number;
  layer?: number;
}

/** A change of a goal, and when it was made: milliseconds since 1970. */
export type DatedEdit = GoalEdit & { at?: number };

/** Parts of the system message that change. */
export interface PromptParts {
  base?: string;
  mandates?: string;
  checks?: string;
  skills?: readonly Skill[];
}

/** An event as the module tells it. */
export type HostEvent = { [Name in keyof SessionEvents]: { event: Name } & SessionEvents[Name] }[keyof SessionEvents];

/** The messages for the model. */
export interface SentWindow {
  messages: ChatMessageLike[];
  tokens: number;
}

/** What a list that was taken over has brought. */
export interface Synced {
  added: number[];
  branched: boolean;
}

/** What is never summarised. */
export interface SessionRecords {
  system: string;
  goal?: SessionGoal;
  pins: SessionPin[];
  pending?: GoalProposal[];
}

/** What is shown of the tools' words. */
export interface SessionFigures {
  tools: ToolFigures[];
  total: ToolFigures;
}

/** The sessions of a library. */
export interface StoredSessions {
  sessions: StoredSession[];
  damaged: string[];
}

/** What became of an archive. */
export interface RestoredArchive {
  id: string;
  became: "made" | "there" | "continued" | "beside";
}

/** What went with a session. */
export interface PurgedSession {
  released: number;
  kept: boolean;
}

/** What could be read of a session. */
export interface SalvagedSession {
  text: string;
  losses: Loss[];
}
