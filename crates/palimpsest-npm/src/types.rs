//! The TypeScript names in the declarations of the exports: the package's public types, and those of `npm/src/border.ts`.

use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
import type * as Border from "../border.js";
import type { Goal, SummaryJob } from "../compact.js";
import type { Forgotten } from "../forgotten.js";
import type { ChatPiece, ChatRequest } from "../language-model.js";
import type { DeletedSession, Loss, StoredHit } from "../library.js";
import type { ReplayReport } from "../replay.js";
import type { ResolvedPolicy } from "../report.js";
import type { RequestFigures } from "../series.js";
import type { SessionHost } from "../session-host.js";
import type {
  Compaction as CompactionDone, CompactionPreview, HistoryItem, OffloadedResult, RecalledQuote, Reply, SearchHit, SendChunk, SendOptions,
  SessionBudget, SessionInfo, SessionJob, SessionLayer, SessionLogEntry, SessionPrompt, SessionReliability, SessionSnapshot,
} from "../session.js";
import type { Count } from "../tokenizer.js";
"#;
