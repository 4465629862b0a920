// What every entry exports beside its own `init`.

/// <reference lib="esnext.disposable" preserve="true" />

import { call } from "./runtime.js";

export {
  compact,
  compactWith,
  type CompactOptions,
  type CompactReport,
  type CompactState,
  type CompactWithOptions,
  type Compacted,
  type Goal,
  type Demands,
  type Facts,
  type Pass,
  type Policy,
  type PolicyName,
  type Shed,
  type SummaryJob,
} from "./compact.js";
export { Calibration, type ObserveOptions, type ProviderUsage } from "./calibration.js";
export { Conversation, type ConversationOptions, type Fitted } from "./conversation.js";
export { importConversations, readConversations, type FileSource, type FoundBranch, type FoundConversation, type FoundMessage, type ImportedFile, type ImportReport } from "./conversations.js";
export { PalimpsestError, type ErrorCode, type RoomChoice } from "./errors.js";
export {
  forgotten,
  type FactClass,
  type FactSpeaker,
  type Forgotten,
  type ForgottenLabels,
  type ForgottenOptions,
  type GoneFact,
  type ListSize,
  type Tally,
} from "./forgotten.js";
export { measureRequests, type MeasureRequestsOptions, type RequestFigures, type SentRequest } from "./series.js";
export {
  ollama,
  openai,
  type ChatMessage,
  type ChatPiece,
  type ChatRequest,
  type LanguageModel,
  type OllamaOptions,
  type OpenAiOptions,
} from "./language-model.js";
export type { DeletedSession, Library, LibraryOptions, Loss, StoredHit, StoredSession } from "./library.js";
export type { WasmParts } from "./parts.js";
export { receipt, type Receipt, type ReceiptList, type ReceiptOptions } from "./receipt.js";
export { recall, recallTool, type RecallArguments, type RecallOptions, type RecallTool, type RecallToolOptions } from "./recall.js";
export type { TextCounter } from "./own-counter.js";
export { replay, type PassFigures, type PolicyReplay, type ReplayOptions, type ReplayReport } from "./replay.js";
export { resolvePolicy, telemetryAttributes, type ResolvedPolicy, type ResolveOptions, type TelemetryValue } from "./report.js";
export type {
  ChatMessageLike,
  Compaction,
  CompactionOutcome,
  CompactionPreview,
  CompactionReport,
  CompactionStage,
  FinishReason,
  GoalEdit,
  GoalProposal,
  HistoryItem,
  OffloadedResult,
  RecalledQuote,
  Reply,
  ReplyEnd,
  SearchHit,
  SendChunk,
  SendOptions,
  SendStream,
  Session,
  SessionBudget,
  SessionEvent,
  SessionEvents,
  SessionInfo,
  SessionJob,
  SessionLayer,
  SessionLogEntry,
  SessionMode,
  SessionOptions,
  SessionPin,
  SessionPrompt,
  SessionGoal,
  SessionReliability,
  WindowSegment,
  SessionSettings,
  SessionSnapshot,
  Skill,
  ToolCall,
  ToolFigures,
  Usage,
  WindowName,
} from "./session.js";
export type {
  StorageAdapter,
  StorageChange,
  StorageKey,
  StorageLease,
  StorageOp,
  StorageQuery,
  StorageRow,
  StorageTable,
  StorageWrite,
} from "./storage.js";
export type { WasmSource } from "./source.js";
export { countTokens, Tokenizer, type Count } from "./tokenizer.js";
export type { TiktokenOptions, TiktokenRanks } from "./tokenizer-files.js";
export { validate, type Dialect, type Problem, type Validation } from "./validate.js";

/** The package's version. */
export function version(): string {
  return call("version()", (module) => module.version());
}
