//! The classes of sessions, as JavaScript sees them. Their code is the part `session`.

use js_sys::{Function, Promise};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::class::calls;
use crate::failure::Failure;
use crate::stop::Stop;

/// One conversation.
#[wasm_bindgen]
pub struct Session(pub(crate) Box<dyn Conversing>);

/// The sessions of one storage.
#[wasm_bindgen]
pub struct Library(pub(crate) Box<dyn Keeping>);

/// A server that JavaScript asks itself.
#[wasm_bindgen]
pub struct Server(pub(crate) Box<dyn Serving>);

/// An answer that comes in.
#[wasm_bindgen]
pub struct Answer(pub(crate) Box<dyn Answering>);

calls! {
    /// What a session does: each function is the engine's of the same name.
    Session by Conversing {
        /// Its identifier.
        fn id() -> String;
        /// What its head says.
        #[wasm_bindgen(unchecked_return_type = "Omit<SessionInfo, \"store\">")]
        fn info() -> Result<JsValue, Failure>;
        /// Stores messages: their numbers. System lines before them become the system prompt.
        #[wasm_bindgen(unchecked_return_type = "Promise<number[]>")]
        fn append(given: String, named: Option<String>) -> Promise;
        /// Shows the conversation as a whole list has it: what was new, and whether another branch is shown.
        #[wasm_bindgen(unchecked_return_type = "Promise<Border.Synced>")]
        fn sync(given: String, named: Option<String>) -> Promise;
        /// The exact messages for the model, in a dialect.
        #[wasm_bindgen(unchecked_return_type = "Border.Text<Border.SentWindow>")]
        fn window(named: Option<String>) -> Result<String, Failure>;
        /// The budget report.
        #[wasm_bindgen(unchecked_return_type = "SessionBudget")]
        fn budget() -> Result<JsValue, Failure>;
        /// The layers in the window, oldest first.
        #[wasm_bindgen(unchecked_return_type = "SessionLayer[]")]
        fn layers() -> Result<JsValue, Failure>;
        /// What was said on the current path: the last `limit` messages before `before`.
        #[wasm_bindgen(unchecked_return_type = "Border.Text<HistoryItem[]>")]
        fn history(before: Option<u32>, limit: u32) -> Result<String, Failure>;
        /// Makes the window smaller.
        #[wasm_bindgen(unchecked_return_type = "Promise<CompactionDone>")]
        fn compact(#[wasm_bindgen(unchecked_param_type = "Border.Shrinking")] given: JsValue, stop: &Stop) -> Result<Promise, Failure>;
        /// The automatic compaction, if it is due: to be called after every reply. the milliseconds until one is due
        /// because nothing is said, or `null`.
        #[wasm_bindgen(unchecked_return_type = "Promise<number | null>")]
        fn tend(stop: &Stop) -> Promise;
        /// Takes the deterministic summary instead of waiting for the model.
        #[wasm_bindgen(js_name = skipWait)]
        fn skip_wait();
        /// What a compaction would do now.
        #[wasm_bindgen(unchecked_return_type = "CompactionPreview")]
        fn preview(focus: Option<String>) -> Result<JsValue, Failure>;
        /// Takes the last compaction back.
        #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
        fn undo(show: bool) -> Promise;
        /// Takes one layer off.
        #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
        fn lift(layer: u32, show: bool) -> Promise;
        /// Puts a text in place of a layer's.
        #[wasm_bindgen(js_name = editLayer, unchecked_return_type = "Promise<CompactionDone>")]
        fn edit_layer(layer: u32, written: String, show: bool) -> Promise;
        /// System prompt, goal, pins, and what is proposed for the goal.
        #[wasm_bindgen(unchecked_return_type = "Border.SessionRecords")]
        fn records() -> Result<JsValue, Failure>;
        /// Another system prompt.
        #[wasm_bindgen(js_name = setSystem, unchecked_return_type = "Promise<void>")]
        fn set_system(system: String) -> Promise;
        /// Begins a goal, or says it anew.
        #[wasm_bindgen(js_name = describeGoal, unchecked_return_type = "Promise<void>")]
        fn describe_goal(description: String) -> Promise;
        /// Another goal, or none.
        #[wasm_bindgen(js_name = setGoal, unchecked_return_type = "Promise<void>")]
        fn set_goal(#[wasm_bindgen(unchecked_param_type = "Goal | null")] goal: JsValue) -> Result<Promise, Failure>;
        /// Changes the goal.
        #[wasm_bindgen(js_name = editGoal, unchecked_return_type = "Promise<void>")]
        fn edit_goal(#[wasm_bindgen(unchecked_param_type = "Border.DatedEdit")] edit: JsValue) -> Result<Promise, Failure>;
        /// Takes a proposal for the goal on, or declines it.
        #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
        fn decide(proposal: u32, accept: bool) -> Promise;
        /// Keeps a line word for word: its number.
        #[wasm_bindgen(unchecked_return_type = "Promise<number>")]
        fn pin(line: String, decision: bool) -> Promise;
        /// Takes a line out of the records.
        #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
        fn unpin(id: u32) -> Promise;
        /// The snapshots, oldest first.
        #[wasm_bindgen(unchecked_return_type = "SessionSnapshot[]")]
        fn snapshots() -> Result<JsValue, Failure>;
        /// Remembers the present under a name: the snapshot's number.
        #[wasm_bindgen(unchecked_return_type = "Promise<number>")]
        fn snapshot(name: String) -> Promise;
        /// Returns to a snapshot.
        #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
        fn restore(n: u32) -> Promise;
        /// Exempts a snapshot from pruning, or not any longer.
        #[wasm_bindgen(js_name = pinSnapshot, unchecked_return_type = "Promise<void>")]
        fn pin_snapshot(n: u32, pinned: bool) -> Promise;
        /// Removes a snapshot.
        #[wasm_bindgen(js_name = deleteSnapshot, unchecked_return_type = "Promise<void>")]
        fn delete_snapshot(n: u32) -> Promise;
        /// Passages that answer a question, the best first.
        #[wasm_bindgen(unchecked_return_type = "SearchHit[]")]
        fn search(query: &str, limit: u32) -> Result<JsValue, Failure>;
        /// What of the session could not be read.
        #[wasm_bindgen(unchecked_return_type = "Loss[]")]
        fn losses() -> Result<JsValue, Failure>;
        /// The session as a file.
        #[wasm_bindgen(unchecked_return_type = "Promise<string>")]
        fn export(format: &str) -> Result<Promise, Failure>;
        /// A summary that the host is to write, if one is needed.
        #[wasm_bindgen(js_name = nextJob, unchecked_return_type = "SessionJob | null")]
        fn next_job(manual: bool) -> Result<JsValue, Failure>;
        /// Commits what needed no summary of the host's.
        #[wasm_bindgen(js_name = finishJobs, unchecked_return_type = "Promise<CompactionDone | null>")]
        fn finish_jobs() -> Promise;
        /// The host's summary, or nothing if it could not write one.
        #[wasm_bindgen(js_name = completeJob, unchecked_return_type = "Promise<CompactionDone | null>")]
        fn complete_job(id: u32, written: Option<String>) -> Promise;
        /// Another model, window, policy.
        #[wasm_bindgen(js_name = setModel, unchecked_return_type = "Promise<void>")]
        fn set_model(model: String, window: u32, policy: String, thinking: bool) -> Promise;
        /// Another title.
        #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
        fn rename(title: String) -> Promise;
        /// How far the session can be trusted, and what that is made of.
        #[wasm_bindgen(unchecked_return_type = "SessionReliability")]
        fn reliability() -> Result<JsValue, Failure>;
        /// Every change of the window that has figures, oldest first.
        #[wasm_bindgen(unchecked_return_type = "Promise<SessionLogEntry[]>")]
        fn log() -> Promise;
        /// What is shown of the tools' words, by tool and in total.
        #[wasm_bindgen(unchecked_return_type = "Border.SessionFigures")]
        fn analytics() -> Result<JsValue, Failure>;
        /// Another kind of work, by its name.
        #[wasm_bindgen(js_name = setMode, unchecked_return_type = "Promise<void>")]
        fn set_mode(mode: &str) -> Result<Promise, Failure>;
        /// The parts of the system message, their sizes, and what is wrong with them.
        #[wasm_bindgen(unchecked_return_type = "SessionPrompt")]
        fn prompt() -> Result<JsValue, Failure>;
        /// Changes parts of the system message.
        #[wasm_bindgen(js_name = setPrompt, unchecked_return_type = "Promise<void>")]
        fn set_prompt(#[wasm_bindgen(unchecked_param_type = "Border.PromptParts")] given: JsValue) -> Result<Promise, Failure>;
        /// Switches skills on or off, by patterns of their names: the names of those that changed.
        #[wasm_bindgen(js_name = switchSkills, unchecked_return_type = "Promise<string[]>")]
        fn switch_skills(patterns: Vec<String>, on: bool) -> Promise;
        /// The large results that the window shows as references, oldest first.
        #[wasm_bindgen(unchecked_return_type = "OffloadedResult[]")]
        fn references() -> Result<JsValue, Failure>;
        /// What the references of a message stand for, in their order.
        #[wasm_bindgen(unchecked_return_type = "string[]")]
        fn offloaded(message: u32) -> Result<JsValue, Failure>;
        /// Shows an offloaded message as it was said again.
        #[wasm_bindgen(js_name = bringBack, unchecked_return_type = "Promise<void>")]
        fn bring_back(message: u32) -> Promise;
        /// The quotes for the last question: a list of covered messages, and one of other sessions.
        #[wasm_bindgen(unchecked_return_type = "RecalledQuote[][]")]
        fn recalled() -> Result<JsValue, Failure>;
        /// Takes one recalled quote out of the window, or all. `from` is its session, if that is another one.
        #[wasm_bindgen(js_name = forgetRecalled, unchecked_return_type = "Promise<void>")]
        fn forget_recalled(message: Option<u32>, from: Option<String>) -> Promise;
        /// The present end becomes the watermark.
        #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
        fn mark() -> Promise;
        /// Keeps a message whole before the watermark, or no longer.
        #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
        fn anchor(message: u32, keep: bool) -> Promise;
        /// The messages that follow the same one as this, oldest first.
        #[wasm_bindgen(unchecked_return_type = "number[]")]
        fn siblings(message: u32) -> Result<JsValue, Failure>;
        /// Shows the branch on which a message lies.
        #[wasm_bindgen(js_name = switchTo, unchecked_return_type = "Promise<void>")]
        fn switch_to(message: u32) -> Promise;
        /// Goes back to just before a message.
        #[wasm_bindgen(js_name = rewindBefore, unchecked_return_type = "Promise<void>")]
        fn rewind_before(message: u32) -> Promise;
        /// Uses a quiet moment: a layer that was cut without a model is written again by one.
        #[wasm_bindgen(unchecked_return_type = "Promise<number | null>")]
        fn rest(stop: &Stop) -> Promise;
        /// Stops what runs and hears nothing more. What has arrived is stored.
        fn close();
        /// Says something, in a dialect, and hears the reply: `on` gets each step, the promise the reply.
        #[wasm_bindgen(unchecked_return_type = "Promise<Reply>")]
        fn send(given: &str, named: Option<String>, #[wasm_bindgen(unchecked_param_type = "Omit<SendOptions, \"signal\"> & { handled: boolean }")] how: JsValue, stop: &Stop, #[wasm_bindgen(unchecked_param_type = "(step: SendChunk) => void")] on: Function) -> Result<Promise, Failure>;
        /// Lets the model answer what stands at the end.
        #[wasm_bindgen(unchecked_return_type = "Promise<Reply>")]
        fn reply(#[wasm_bindgen(unchecked_param_type = "Omit<SendOptions, \"signal\"> & { handled: boolean }")] how: JsValue, stop: &Stop, #[wasm_bindgen(unchecked_param_type = "(step: SendChunk) => void")] on: Function) -> Result<Promise, Failure>;
        /// Lets the model go on with the reply at the end, which is not whole.
        #[wasm_bindgen(js_name = continueReply, unchecked_return_type = "Promise<Reply>")]
        fn continue_reply(#[wasm_bindgen(unchecked_param_type = "Omit<SendOptions, \"signal\"> & { handled: boolean }")] how: JsValue, stop: &Stop, #[wasm_bindgen(unchecked_param_type = "(step: SendChunk) => void")] on: Function) -> Result<Promise, Failure>;
        /// Counts with the vocabulary of a snapshot from now on, or without one by estimate.
        #[wasm_bindgen(js_name = setVocabulary, unchecked_return_type = "Promise<void>")]
        fn set_vocabulary(bytes: Option<Vec<u8>>) -> Promise;
        /// The same with the vocabulary that the Ollama at an address gives for the model.
        #[wasm_bindgen(js_name = askVocabulary, unchecked_return_type = "Promise<void>")]
        fn ask_vocabulary(#[wasm_bindgen(unchecked_param_type = "Border.Address")] address: JsValue) -> Result<Promise, Failure>;
    }
}

calls! {
    /// What a library does.
    Library by Keeping {
        /// The sessions that are not deleted, and the identifiers of those that no list can show.
        #[wasm_bindgen(unchecked_return_type = "Promise<Border.StoredSessions>")]
        fn sessions() -> Promise;
        /// The deleted sessions that can be brought back.
        #[wasm_bindgen(unchecked_return_type = "Promise<DeletedSession[]>")]
        fn deleted() -> Promise;
        /// Another title.
        #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
        fn rename(id: String, title: String) -> Promise;
        /// Puts a session first, or back among the others.
        #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
        fn pin(id: String, pinned: bool) -> Promise;
        /// Other tags.
        #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
        fn tag(id: String, tags: Vec<String>) -> Promise;
        /// Makes a second session of one, with everything that it holds: its identifier.
        #[wasm_bindgen(unchecked_return_type = "Promise<string>")]
        fn duplicate(id: String, title: Option<String>) -> Promise;
        /// Passages of every session that answer a question, the best first.
        #[wasm_bindgen(unchecked_return_type = "Promise<StoredHit[]>")]
        fn search(query: String, limit: u32) -> Promise;
        /// Every row of a session as text, for a backup.
        #[wasm_bindgen(unchecked_return_type = "Promise<string>")]
        fn archive(id: String) -> Promise;
        /// Brings a session back from its archive: its identifier, and what became of it.
        #[wasm_bindgen(js_name = restoreArchive, unchecked_return_type = "Promise<Border.RestoredArchive>")]
        fn restore_archive(given: String) -> Promise;
        /// Deletes a session: it can be brought back for thirty days.
        #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
        fn delete(id: String) -> Promise;
        /// Brings a deleted session back.
        #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
        fn restore(id: String) -> Promise;
        /// Removes every row of a session for good.
        #[wasm_bindgen(unchecked_return_type = "Promise<Border.PurgedSession>")]
        fn purge(id: String) -> Promise;
        /// What can be read of a session, as a file, and what could not.
        #[wasm_bindgen(unchecked_return_type = "Promise<Border.SalvagedSession>")]
        fn salvage(id: String, named: String) -> Promise;
    }
}

calls! {
    /// What a server does.
    Server by Serving {
        /// Asks: JSON text of a request.
        fn chat(#[wasm_bindgen(unchecked_param_type = "Border.Text<ChatRequest>")] request: &str) -> Result<Answer, Failure>;
    }
}

calls! {
    /// What an answer does that comes in. It is ended when it is dropped.
    Answer by Answering {
        /// The next piece; nothing at the end.
        #[wasm_bindgen(unchecked_return_type = "Promise<ChatPiece | undefined>")]
        fn next() -> Promise;
        /// No more is wanted.
        fn stop();
    }
}
