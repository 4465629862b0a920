// Types of values that cross between the module and the TypeScript around it, where no public type says it. The declarations
// of the module's functions name these types and the public ones (`src/types.rs`).

import type { CompactOptions, CompactReport, CompactState, SummaryJob } from "./compact.js";
import type { FoundBranch, FoundConversation, FoundMessage, ImportReport } from "./conversations.js";
import type { Loss, StoredSession } from "./library.js";
import type { ChatMessageLike, GoalEdit, GoalProposal, Session, SessionEvents, SessionGoal, SessionOptions, SessionPin, ToolFigures } from "./session.js";
import type { Validation } from "./validate.js";

/** JSON text of a value: messages, and whatever else holds names of the caller's own. */
export type Text<T> = string & { readonly of?: T };

/** The value of a text of the module's. */
export function parsed<T>(text: Text<T>): T {
  return JSON.parse(text);
}

/** A list of messages on its way back: a number stands for the caller's own message of that index. */
export type Items = readonly unknown[];

/** Options of `compact`, without those that cross beside them. */
export type Compacting = Omit<CompactOptions, "tokenizer" | "state" | "tools" | "policy"> & { policy?: string | undefined; rules?: unknown; model?: string };

/** The result of a compaction of a list. */
export interface Fitting {
  messages: Items;
  report: CompactReport;
}

/** The same with the state for the next one. */
export interface Compacted extends Fitting {
  state: CompactState;
}

/** A step of a compaction whose summaries somebody else writes. */
export type Step = { job: SummaryJob } | Compacted;

/** The findings in a list. */
export type Checked = Omit<Validation<unknown>, "repaired"> & { repaired?: Items };

/** A piece of a file: a message, or the end of a conversation. */
export type Piece = [0, FoundMessage] | [1, ConversationEnd];

/** A conversation at its end. Its messages are named by their numbers. */
export type ConversationEnd = Omit<FoundConversation, "messages" | "branches"> & {
  shown: number[];
  branches: (Omit<FoundBranch, "messages"> & { messages: number[] })[];
};

/** The end of a file. */
export interface FileEnd {
  pieces: Piece[];
  report: ImportReport;
}

/** The address of a server. */
export interface Address {
  protocol: "ollama" | "openai" | "llama.cpp";
  url: string;
  key: string;
}

/** The place of sessions. */
interface Kept {
  store: "memory" | "indexeddb" | "host";
  database?: string | undefined;
}

/** Options of `openSession` that cross. */
export type Opening = Kept &
  Pick<SessionOptions, "id" | "model" | "demands" | "system" | "title" | "thinking" | "mode" | "takeOver" | "file" | "trustFile" | "otherSessions"> & {
    window: number | undefined;
    /** A name, or the JSON text of a policy. */
    policy: string | undefined;
    settings: unknown;
    client: boolean;
    server: Address | undefined;
  };

/** Options of `openLibrary` that cross. */
export type OpeningLibrary = Kept;

/** Options of a session's compaction. */
export type Shrinking = Omit<NonNullable<Parameters<Session["compact"]>[0]>, "signal"> & { layer?: number };

/** A change of a goal, and when it was made: milliseconds since 1970. */
export type DatedEdit = GoalEdit & { at?: number };

/** Parts of the system message that change. */
export type PromptParts = Parameters<Session["prompt"]["set"]>[0];

/** An event as the module tells it. */
export type HostEvent = { [Name in keyof SessionEvents]: { event: Name } & SessionEvents[Name] }[keyof SessionEvents];

/** The messages for the model. */
export interface SentWindow {
  messages: ChatMessageLike[];
  tokens: number;
}

/** The change that a list which was taken over has brought. */
export interface Synced {
  added: number[];
  branched: boolean;
}

/** Content that is never summarised. */
export interface SessionRecords {
  system: string;
  goal?: SessionGoal;
  pins: SessionPin[];
  pending?: GoalProposal[];
}

/** Figures of the tools' words in the window. */
export interface SessionFigures {
  tools: ToolFigures[];
  total: ToolFigures;
}

/** The sessions of a library. */
export interface StoredSessions {
  sessions: StoredSession[];
  damaged: string[];
}

/** The session of an archive, and what became of it. */
export interface RestoredArchive {
  id: string;
  became: "made" | "there" | "continued" | "beside";
}

/** The end of a session. */
export interface PurgedSession {
  released: number;
  kept: boolean;
}

/** The readable rest of a session. */
export interface SalvagedSession {
  text: string;
  losses: Loss[];
}
