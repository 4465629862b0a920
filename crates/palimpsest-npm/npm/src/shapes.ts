// Made by `PALIMPSEST_BLESS=1 cargo test -p palimpsest-npm shapes` of the types that the module tells. Do not edit.

export type Analytics = { tools: Array<ToolFigures>, total: ToolFigures, };

export type Artifact = { id: number, kind: string, path: string, action: ArtifactAction, };

export type ArtifactAction = "created" | "modified" | "deleted";

export type Author = { "by": "model", name: string, } | { "by": "person" } | { "by": "extractive" } | { "by": "fallback", reason: string, };

export type Branch = { n: number, of: number, };

export type Budget = { window: number, reserve: number, margin: number, limit: number, used: Count, fixed: number, available: number, conversation: number, floor: number, trigger: number, target: number, untilTrigger: number, free: number, over: number, reread: number, checkpointBudget: number, segments: Array<Segment>, watermark?: MarkReport, };

export type BuiltPrompt = { text: string, tokens: number, sections: Array<PromptSection>, warnings: Array<SystemPromptWarning>, };

export type Caution = { "code": "mark_dropped", tool: string, } | { "code": "watermark_not_found" } | { "code": "not_released", reference: Reference, };

export type Change = { "kind": "goal", text: string, } | { "kind": "milestone", text: string, state: MilestoneState, } | { "kind": "decision", text: string, lockAsked: boolean, } | { "kind": "artifact", path: string, action: ArtifactAction, } | { "kind": "next-step", text: string, } | { "kind": "blocker", text: string, } | { "kind": "demand", text: string, };

export type ClassRetention = { class: FactClass, said: number, shown: number, recallable: number, };

export type ClassTally = { class: FactClass, speaker: Speaker, said: number, gone: number, };

export type Code = "not_a_message" | "unknown_role" | "bad_content" | "bad_part" | "bad_arguments" | "missing_id" | "id_too_long" | "duplicate_id" | "duplicate_message_id" | "missing_result" | "orphan_result" | "second_result" | "misplaced_result" | "empty_message" | "empty_part" | "consecutive_users" | "consecutive_assistants" | "leading_assistant" | "system_message";

export type CompactReport = { changed: boolean, before: Count, after: Count, limit: number, layers: number, covered: Array<Span>, quoted: Array<number>, shortened: Array<number>, demands: Array<FoundDemand>, summarised: Array<number>, recalled: Array<number>, recalledTokens: number, passes: Array<Shed>, facts: Facts, retention: number, lossy: boolean, dropped: Array<string>, adjustments: Array<string>, codes: Array<string>, };

export type CondenseOptions = { debug: boolean, floor: number, structuredFloor: number, errorPercent: number, gainPercent: number, rules: Array<CondenseRule>, };

export type CondenseRule = { tools: string, content: Content | null, aboveLines: number, aboveRows: number, method: Method, };

export type Content = "json" | "diff" | "html" | "log" | "trace" | "hits" | "csv" | "yaml" | "text";

export type Count = { tokens: number, source: Source, bound: number, };

export type Cover = "needed" | "all";

export type Decision = { id: number, text: string, rationale?: string, kind: DecisionKind, locked: boolean, };

export type DecisionKind = "general" | "architecture";

export type DedupeOptions = { floor: number, reads: string, writes: string, edits: string, paths: Array<string>, };

export type Delta = { "type": "text", text: string, } | { "type": "thinking", text: string, } | { "type": "tool_call", id: string, name: string, arguments: string, } | { "type": "usage" } & Usage | { "type": "done", reason: FinishReason, };

export type Demands = "layer" | "system" | "off";

export type Denominator = "available" | "window_less_fixed" | "window" | "window_less_tier";

export type End = { how: "stopped" | "cut", tokens?: number, };

export type Escalation = { "when": "target" } | { "when": "weak", tokens: number, windowPercent: number, };

export type Event = { "event": "message-added", seq: number, } | { "event": "compressing", stage: Stage, written: number, of: number, } | { "event": "compressed", revision: number, report: RunReport, } | { "event": "compression-skipped", code: string, message: string, } | { "event": "cannot-shrink", floor: number, trigger: number, } | { "event": "compression-error", code: string, message: string, } | { "event": "checkpoint-created", layer: number, } | { "event": "checkpoint-aged", from: number, to: number, } | { "event": "snapshot-created", snapshot: number, automatic: boolean, } | { "event": "auto-snapshot-created", snapshot: number, purpose: Purpose, } | { "event": "snapshot-error", code: string, message: string, } | { "event": "rollover-complete", session: string, notes: number, } | { "event": "offloaded", seq: number, freed: number, } | { "event": "restored", seq: number, } | { "event": "proposals-changed", pending: number, } | { "event": "skills-changed", activated: Array<string>, deactivated: Array<string>, } | { "event": "snapshot-restored", snapshot: number, } | { "event": "view-changed", revision: number, } | { "event": "recalled", seqs: Array<number>, } | { "event": "budget-changed", tokens: number, trigger: number, limit: number, } | { "event": "prompt-truncated", sent: number, read: number, } | { "event": "warning", code: string, message: string, };

export type FactClass = "constraint" | "negation" | "decision" | "path" | "url" | "identifier" | "number" | "date" | "quoted" | "preference";

export type Facts = { touched: number, kept: number, recallable: number, dropped: number, };

export type Fading = { "by": "notes" } | { "by": "cascade", sizes: Array<number>, } | { "by": "ratios", largest: number, percent: Array<number>, } | { "by": "single", tokens: number, };

export type FinishReason = "stop" | "length" | "tool_calls" | "load" | "other";

export type Forgotten = { history: Size, window: Size, said: number, lost: number, classes: Array<ClassTally>, gone: Array<GoneFact>, shares: Array<number>, stale: Array<StaleValue>, orphans: Array<Orphan>, prefix?: Prefix, labels?: Labelled, };

export type FoundDemand = { text: string, message: number, level?: "likely", };

export type Goal = { description: string, priority: Priority, status: GoalStatus, created: number, completed: number | null, milestones: Array<Milestone>, decisions: Array<Decision>, artifacts: Array<Artifact>, nextSteps: Array<GoalNote>, blockers: Array<GoalNote>, lastId: number, };

export type GoalEdit = { "edit": "describe", text: string, } | { "edit": "prioritise", priority: Priority, } | { "edit": "set-status", status: GoalStatus, at: number, } | { "edit": "add-milestone", text: string, state: MilestoneState, at: number, } | { "edit": "set-milestone", id: number, state: MilestoneState, at: number, } | { "edit": "add-decision", text: string, rationale: string, kind: DecisionKind, locked: boolean, } | { "edit": "lock-decision", id: number, locked: boolean, } | { "edit": "record-artifact", path: string, action: ArtifactAction, kind: string, } | { "edit": "add-next-step", text: string, } | { "edit": "add-blocker", text: string, } | { "edit": "reword", id: number, text: string, } | { "edit": "remove", id: number, };

export type GoalNote = { id: number, text: string, };

export type GoalStatus = "active" | "paused" | "completed";

export type GoneFact = { class: FactClass, text: string, context: string, message: number, speaker: Speaker, };

export type Grade = "critical" | "low" | "medium" | "high";

export type Headings = "level" | "eight" | "short";

export type Info = { id: string, title: string, model: string, window: number, policy: string, thinking: boolean, mode: Mode, messages: number, tokens: number, revision: number, created: number, updated: number, continues: string | null, due: boolean, replying: boolean, compacting: boolean, };

export type Item = { seq: number, role: Role, parts: Array<Part>, at: number, ended: End | null, tokens: number, shown: Shown, layer: number | null, branch: Branch, };

export type KeepRecent = { "by": "share" } | { "by": "tokens", tokens: number, } | { "by": "messages", messages: number, };

export type Labelled = { facts: Tally, rules: Tally, stale: Tally, gone: Array<string>, outdated: Array<Update>, };

export type Layer = { id: number, level: LayerLevel, covers: Array<Span>, summary: string, ledger: Array<string>, tokens: number, originalTokens: number, messages: number, notes: Array<number>, rank: number, number: number, compressions: number, created: number, compressedAt: number, replaces: Array<number>, author: Author, isCut?: boolean, retention: number, dropped: Array<string>, keyDecisions: Array<string>, filesModified: Array<string>, nextSteps: Array<string>, };

export type LayerLevel = 1 | 2 | 3;

export type Levels = "age" | "size";

export type LogAction = "compacted by hand" | "compacted" | "emergency" | "layer edited" | "layer rewritten";

export type LogEntry = { revision: number, at: number, action: LogAction, messages: [number, number], tokens: [number, number], window: number, passes: Array<Shed>, reread: number, adjustments: Array<string>, };

export type MarkReport = { boundary?: number, lost: boolean, waitsFor?: string, anchors: number, stays?: StripOptions, marks: Marks, };

export type Marks = { tools: string, onActivate: boolean, everyTokens: number, atTasks: boolean, };

export type Method = "keep" | "search" | "file" | "rows" | "api" | "content";

export type Milestone = { id: number, text: string, state: MilestoneState, completed: number | null, };

export type MilestoneState = "pending" | "in-progress" | "completed";

export type Mode = "developer" | "planning" | "debugger" | "assistant";

export type OffloadOptions = { tokens: number, windowPercent: number, brief: boolean, };

export type OnFailure = "extractive" | "refuse";

export type Orphan = { code: "missing_result" | "orphan_result", index: number, };

export type Part = { "type": "text", text: string, } | { "type": "thinking", text: string, } | { "type": "tool_call", id: string, name: string, arguments: string, } | { "type": "tool_result", call: string, name?: string, text: string, error?: boolean, } | { "type": "image", name: string, mediaType: string, data: string, tokens?: number, } | { "type": "file", name: string, text: string, };

export type Pass = { "pass": "condense" } | { "pass": "dedupe" } | { "pass": "strip" } & StripOptions | { "pass": "offload" } & OffloadOptions | { "pass": "summarize" } | { "pass": "truncate" } | { "pass": "fade" } | { "pass": "emergency" };

export type PassKind = "condense" | "dedupe" | "strip" | "offload" | "summarize" | "truncate" | "fade" | "emergency" | "reasoning" | "recall" | "earlier";

export type PendingProposal = { id: number, cites: Array<number>, } & ({ "kind": "goal", text: string, } | { "kind": "milestone", text: string, state: MilestoneState, } | { "kind": "decision", text: string, lockAsked: boolean, } | { "kind": "artifact", path: string, action: ArtifactAction, } | { "kind": "next-step", text: string, } | { "kind": "blocker", text: string, } | { "kind": "demand", text: string, });

export type Pin = { id: number, text: string, } & ({ "kind": "pin" } | { "kind": "constraint", from: number, level?: "likely", } | { "kind": "decision" });

export type Point = { message: number, before: number, after: number, };

export type Policy = { name: string, triggers: Array<Trigger>, passes: Array<Pass>, escalate: Escalation, cover: Cover, keepRecent: KeepRecent, userWords: UserWords, slotRole: SlotRole, demands: Demands, slotPrefix?: string, levels: Levels, fading: Fading, headings: Headings, onFailure: OnFailure, recall: boolean, onArrival: boolean, promptBudgets: TierBudgets, toolOutput: CondenseOptions, repeats: DedupeOptions, marks: Marks, };

export type PolicyReplay = { policy: string, tokens: Array<Point>, peak: number, last: number, sent: number, compactions: number, refused: number, emergencies: number, modelCalls: number, reread: number, passes: Array<Shed>, onArrival: number, retention: Array<ClassRetention>, };

export type Prefix = { bytes: number, of: number, };

export type Preview = { before: number, after: number, covers: Array<Span>, messages: number, coveredTokens: number, layerTokens: number, passes?: Array<Shed>, };

export type Priority = "high" | "medium" | "low";

export type Problem = { code: Code, index: number, message: string, };

export type PromptSection = { kind: SectionKind, name: string, tokens: number, };

export type Purpose = "recovery" | "rollback" | "emergency";

export type Quote = { seq: number, text: string, tokens: number, };

export type Reason = "not_json" | "not_text" | "cut_off" | "unknown" | "not_said" | "hidden" | "empty";

export type Recent = { "tokens": number } | { "messages": number };

export type Records = { revision: number, system: string, mandates?: string, skills?: Array<Skill>, checks?: string, pending?: Array<PendingProposal>, declined?: Array<Change>, lastProposal: number, goal?: Goal, pins: Array<Pin>, replaced?: Array<Replaced>, };

export type ReducedKind = "condensed" | "stripped" | "offloaded" | "excerpt";

export type Reference = { message: number, part: number, hash: string, bytes: number, head: string, tail: string, };

export type Reliability = { score: number | null, scoreLevel: Grade | null, relative: number, percent: number, level: Grade, measured: boolean, class: SizeClass | null, };

export type Replaced = { from: number, text: string, by: string, };

export type ReplayReport = { messages: number, said: number, policies: Array<PolicyReplay>, };

export type Report = { formats: Array<string>, conversations: number, imported: number, skipped: Array<Skipped>, };

export type Resolved = { name: string, window: number, reserve: number, margin: number, limit: number, trigger: number, target: number, recent: Recent, userWords: number, records: number, newestLayer: number, olderLayer: number, olderLayers: number, recall: number, summaryJob: number, passes: Array<Step>, policy: Policy, };

export type Role = "system" | "user" | "assistant" | "tool";

export type RunReport = { before: number, after: number, layer?: number, covers: Array<Span>, messages: number, coveredTokens: number, quoted: Array<number>, shortened?: Array<number>, demands?: Array<FoundDemand>, summarised?: Array<number>, retention: number, facts?: Facts, lossy?: boolean, dropped: Array<string>, reread: number, preserved: number, released?: Array<Reference>, passes?: Array<Shed>, adjustments: Array<string>, codes?: Array<string>, cautions?: Array<Caution>, manual: boolean, segmentsBefore?: Array<Segment>, segmentsAfter?: Array<Segment>, took?: number, verification?: Verification, stages?: Array<StageTime>, };

export type SectionKind = "base" | "mandates" | "goal" | "skill" | "checks";

export type Segment = { count: Count, } & ({ "kind": "system" } | { "kind": "tools" } | { "kind": "goal" } | { "kind": "pins" } | { "kind": "layer", id: number, } | { "kind": "quoted" } | { "kind": "recalled" } | { "kind": "user" } | { "kind": "assistant" } | { "kind": "tool" } | { "kind": "draft" });

export type SeriesFigures = { requests: number, breaks: number, sent: number, reread: number, cost: number, costOfEverything: number, full: number, leastFill: number, meanFill: number, needed: number, seen: number, seenInTail: number, };

export type Shed = { pass: PassKind, messages: number, tokens: number, facts?: Facts, };

export type Shown = "verbatim" | "covered" | ReducedKind;

export type Size = { messages: number, tokens: number, bound: number, };

export type SizeClass = "small" | "medium" | "large";

export type Skill = { name: string, text: string, active: boolean, };

export type Skipped = { reason: Reason, what: string, count: number, first: number, };

export type SlotRole = "user" | "assistant" | "system";

export type Snapshot = { n: number, name: string, purpose: Purpose, revision: number, tip: number | null, records: number, pinned: boolean, at: number, tokens: number, messages: number, layers: number, model: string, tier: Tier, mode: Mode, before?: number, goal?: string, };

export type Source = "exact" | "measured" | "estimated";

export type Span = { from: number, to: number, };

export type Speaker = "user" | "assistant" | "tool";

export type Stage = "identify" | "prepare" | "summarize" | "checkpoint" | "update" | "verify";

export type StageTime = { stage: Stage, ms: number, };

export type StaleValue = { old: string, message: number, new: string, by: number, };

export type Step = { pass: PassKind, above?: number, };

export type StripOptions = { keep: number, keepErrors: boolean, keepBest: number, };

export type SystemPromptWarning = { "warning": "over-budget", tokens: number, budget: number, largest: [string, number], } | { "warning": "duplicate-skill", name: string, };

export type Tally = { of: number, found: number, };

export type Tier = "minimal" | "basic" | "standard" | "premium" | "ultra";

export type TierBudgets = { minimal: number, basic: number, standard: number, premium: number, ultra: number, };

export type ToolFigures = { tool: string, blocks: number, removed: number, said: number, shown: number, };

export type Trigger = { "on": "fill", of: Denominator, at: number, } | { "on": "messages", count: number, } | { "on": "watermark" } | { "on": "idle", seconds: number, } | { "on": "overflow" } | { "on": "manual" };

export type Update = { old: string, new: string, };

export type Usage = { promptTokens: number | null, completionTokens: number | null, promptMs: number | null, completionMs: number | null, };

export type UserWords = "share" | "summarize" | "never";

export type Verification = { valid: boolean, tokens: number, limit: number, retention: number, };
