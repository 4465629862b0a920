// Compares the package's types with the shapes of what the module tells (`shapes.ts`). A line that does not compile says which
// type differs: change the declaration, or what the module tells. Nothing of this file is in the package.

import type { CompactReport, Facts, Policy, Shed } from "./compact.js";
import type { ImportReport } from "./conversations.js";
import type { Forgotten } from "./forgotten.js";
import type { ReplayReport } from "./replay.js";
import type { ResolvedPolicy } from "./report.js";
import type { RequestFigures } from "./series.js";
import type {
  CompactionPreview, CompactionReport, GoalProposal, HistoryItem, OffloadedResult, RecalledQuote, SendChunk, SessionBudget, SessionEvents, SessionGoal, SessionInfo,
  SessionLayer, SessionLogEntry, SessionPin, SessionPrompt, SessionReliability, SessionSnapshot, ToolFigures, Usage,
} from "./session.js";
import type * as Told from "./shapes.js";
import type { Count } from "./tokenizer.js";
import type { Problem } from "./validate.js";

/** The names of the fields of a type, or of all types of a union. */
type Names<T> = T extends unknown ? keyof T : never;
/** The type of a field, wherever in a union it stands. */
type At<T, Name> = T extends unknown ? (Name extends keyof T ? Exclude<T[Name], undefined> : never) : never;
/** A mark for a field that may be missing. */
type Missing<T, Name> = T extends unknown ? (Name extends keyof T ? (object extends Pick<T, Name> ? "may be missing" : never) : "may be missing") : never;
/** A union of objects as one: every field is required, and may hold the mark. So a field too many is seen. */
type Whole<T> = [T] extends [never] ? never : { [Name in Names<T>]: Exact<At<T, Name>> | Missing<T, Name> };
type List<T> = T extends readonly (infer Item)[] ? (number extends T["length"] ? Exact<Item>[] : { [Place in keyof T]: Exact<T[Place]> }) : never;
type Exact<T> = Exclude<T, object> | List<Extract<T, readonly unknown[]>> | Whole<Exclude<Extract<T, object>, readonly unknown[]>>;

/** The same of a type whose fields may all be left out: names and types alone. */
type Named<T> = Exclude<T, object | null> | NamedList<Extract<T, readonly unknown[]>> | NamedObject<Exclude<Extract<T, object>, readonly unknown[]>>;
type NamedList<T> = T extends readonly (infer Item)[] ? Named<Item>[] : never;
type NamedObject<T> = [T] extends [never] ? never : { [Name in Names<T>]: Named<At<T, Name>> };

/** `true` if both are the same, but for which fields of a union go together. */
type Same<A, B> = [Exact<A>] extends [Exact<B>] ? ([Exact<B>] extends [Exact<A>] ? true : "what is told does not fit") : "what is declared does not fit";

/** Fails to compile for anything else than `true`. */
const same = <_ extends true>(): void => {};

same<Same<Count, Told.Count>>();
same<Same<Facts, Told.Facts>>();
same<Same<Shed, Told.Shed>>();
same<Same<CompactReport, Told.CompactReport>>();
same<Same<Omit<ResolvedPolicy, "policy">, Omit<Told.Resolved, "policy">>>();
same<Same<Named<Omit<Policy, "base">>, Named<Told.Policy>>>();
same<Same<Problem, Told.Problem>>();
same<Same<Forgotten, Told.Forgotten>>();
same<Same<RequestFigures, Told.SeriesFigures>>();
same<Same<ReplayReport, Told.ReplayReport>>();
same<Same<ImportReport, Told.Report>>();

same<Same<Omit<SessionInfo, "store">, Told.Info>>();
same<Same<HistoryItem, Told.Item>>();
same<Same<SessionBudget, Told.Budget>>();
same<Same<SessionLayer, Told.Layer>>();
same<Same<CompactionReport, Told.RunReport>>();
same<Same<CompactionPreview, Told.Preview>>();
same<Same<SessionSnapshot, Told.Snapshot>>();
same<Same<SessionPin, Told.Pin>>();
same<Same<SessionReliability, Told.Reliability>>();
same<Same<SessionLogEntry, Told.LogEntry>>();
same<Same<ToolFigures, Told.ToolFigures>>();
same<Same<SessionPrompt["built"], Told.BuiltPrompt>>();
same<Same<OffloadedResult, Told.Reference>>();
same<Same<Omit<RecalledQuote, "session" | "source">, Told.Quote>>();
same<Same<Usage, Told.Usage>>();
same<Same<Exclude<SendChunk, { type: "stored" | "waiting" | "tool" }>, Told.Delta>>();
same<Same<SessionGoal, Told.Goal>>();
same<Same<GoalProposal, Told.PendingProposal>>();

type Events = { [Name in keyof SessionEvents]: { event: Name } & SessionEvents[Name] }[keyof SessionEvents];
same<Same<Exclude<Events, { event: "storage-changed" }>, Told.Event>>();
