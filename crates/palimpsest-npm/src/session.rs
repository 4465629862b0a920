//! The classes of sessions, as JavaScript sees them. Their code is the part `session`.

use js_sys::{Function, Promise};
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
        fn info() -> Result<String, Failure>;
        /// Stores messages: their numbers. System lines before them become the system prompt.
        fn append(given: String, named: Option<String>) -> Promise;
        /// Shows the conversation as a whole list has it: JSON text of what was new, and whether another branch is shown.
        fn sync(given: String, named: Option<String>) -> Promise;
        /// The exact messages for the model, in a dialect.
        fn window(named: Option<String>) -> Result<String, Failure>;
        /// The budget report.
        fn budget() -> Result<String, Failure>;
        /// The layers in the window, oldest first.
        fn layers() -> Result<String, Failure>;
        /// What was said on the current path: the last `limit` messages before `before`.
        fn history(before: Option<u32>, limit: u32) -> Result<String, Failure>;
        /// Makes the window smaller.
        fn compact(given: &str, stop: &Stop) -> Result<Promise, Failure>;
        /// The automatic compaction, if it is due: to be called after every reply. JSON text of the milliseconds until one is due
        /// because nothing is said, or `null`.
        fn tend(stop: &Stop) -> Promise;
        /// Takes the deterministic summary instead of waiting for the model.
        #[wasm_bindgen(js_name = skipWait)]
        fn skip_wait();
        /// What a compaction would do now.
        fn preview(focus: Option<String>) -> Result<String, Failure>;
        /// Takes the last compaction back.
        fn undo(show: bool) -> Promise;
        /// Takes one layer off.
        fn lift(layer: u32, show: bool) -> Promise;
        /// Puts a text in place of a layer's.
        #[wasm_bindgen(js_name = editLayer)]
        fn edit_layer(layer: u32, written: String, show: bool) -> Promise;
        /// System prompt, goal, pins, and what is proposed for the goal.
        fn records() -> Result<String, Failure>;
        /// Another system prompt.
        #[wasm_bindgen(js_name = setSystem)]
        fn set_system(system: String) -> Promise;
        /// Begins a goal, or says it anew.
        #[wasm_bindgen(js_name = describeGoal)]
        fn describe_goal(description: String) -> Promise;
        /// Another goal as JSON text, or none.
        #[wasm_bindgen(js_name = setGoal)]
        fn set_goal(goal: Option<String>) -> Result<Promise, Failure>;
        /// Changes the goal.
        #[wasm_bindgen(js_name = editGoal)]
        fn edit_goal(edit: &str) -> Result<Promise, Failure>;
        /// Takes a proposal for the goal on, or declines it.
        fn decide(proposal: u32, accept: bool) -> Promise;
        /// Keeps a line word for word: its number.
        fn pin(line: String, decision: bool) -> Promise;
        /// Takes a line out of the records.
        fn unpin(id: u32) -> Promise;
        /// The snapshots, oldest first.
        fn snapshots() -> Result<String, Failure>;
        /// Remembers the present under a name: the snapshot's number.
        fn snapshot(name: String) -> Promise;
        /// Returns to a snapshot.
        fn restore(n: u32) -> Promise;
        /// Exempts a snapshot from pruning, or not any longer.
        #[wasm_bindgen(js_name = pinSnapshot)]
        fn pin_snapshot(n: u32, pinned: bool) -> Promise;
        /// Removes a snapshot.
        #[wasm_bindgen(js_name = deleteSnapshot)]
        fn delete_snapshot(n: u32) -> Promise;
        /// Passages that answer a question, the best first.
        fn search(query: &str, limit: u32) -> Result<String, Failure>;
        /// What of the session could not be read.
        fn losses() -> Result<String, Failure>;
        /// The session as a file.
        fn export(format: &str) -> Result<Promise, Failure>;
        /// A summary that the host is to write, if one is needed.
        #[wasm_bindgen(js_name = nextJob)]
        fn next_job(manual: bool) -> Option<String>;
        /// Commits what needed no summary of the host's.
        #[wasm_bindgen(js_name = finishJobs)]
        fn finish_jobs() -> Promise;
        /// The host's summary, or nothing if it could not write one.
        #[wasm_bindgen(js_name = completeJob)]
        fn complete_job(id: u32, written: Option<String>) -> Promise;
        /// Another model, window, policy.
        #[wasm_bindgen(js_name = setModel)]
        fn set_model(model: String, window: u32, policy: String, thinking: bool) -> Promise;
        /// Another title.
        fn rename(title: String) -> Promise;
        /// How far the session can be trusted, and what that is made of.
        fn reliability() -> Result<String, Failure>;
        /// Every change of the window that has figures, oldest first.
        fn log() -> Promise;
        /// What is shown of the tools' words, by tool and in total.
        fn analytics() -> Result<String, Failure>;
        /// Another kind of work, by its name.
        #[wasm_bindgen(js_name = setMode)]
        fn set_mode(mode: &str) -> Result<Promise, Failure>;
        /// The parts of the system message, their sizes, and what is wrong with them.
        fn prompt() -> String;
        /// Changes parts of the system message: JSON text.
        #[wasm_bindgen(js_name = setPrompt)]
        fn set_prompt(given: &str) -> Result<Promise, Failure>;
        /// Switches skills on or off, by patterns of their names: the names of those that changed.
        #[wasm_bindgen(js_name = switchSkills)]
        fn switch_skills(patterns: Vec<String>, on: bool) -> Promise;
        /// The large results that the window shows as references, oldest first.
        fn references() -> Result<String, Failure>;
        /// What the references of a message stand for, in their order.
        fn offloaded(message: u32) -> Result<String, Failure>;
        /// Shows an offloaded message as it was said again.
        #[wasm_bindgen(js_name = bringBack)]
        fn bring_back(message: u32) -> Promise;
        /// The quotes for the last question: a list of covered messages, and one of other sessions.
        fn recalled() -> Result<String, Failure>;
        /// Takes one recalled quote out of the window, or all. `from` is its session, if that is another one.
        #[wasm_bindgen(js_name = forgetRecalled)]
        fn forget_recalled(message: Option<u32>, from: Option<String>) -> Promise;
        /// The present end becomes the watermark.
        fn mark() -> Promise;
        /// Keeps a message whole before the watermark, or no longer.
        fn anchor(message: u32, keep: bool) -> Promise;
        /// The messages that follow the same one as this, oldest first.
        fn siblings(message: u32) -> Result<String, Failure>;
        /// Shows the branch on which a message lies.
        #[wasm_bindgen(js_name = switchTo)]
        fn switch_to(message: u32) -> Promise;
        /// Goes back to just before a message.
        #[wasm_bindgen(js_name = rewindBefore)]
        fn rewind_before(message: u32) -> Promise;
        /// Uses a quiet moment: a layer that was cut without a model is written again by one.
        fn rest(stop: &Stop) -> Promise;
        /// Stops what runs and hears nothing more. What has arrived is stored.
        fn close();
        /// Says something, in a dialect, and hears the reply: `on` gets each step as JSON text, the promise the reply.
        fn send(given: &str, named: Option<String>, how: &str, stop: &Stop, on: Function) -> Result<Promise, Failure>;
        /// Lets the model answer what stands at the end.
        fn reply(how: &str, stop: &Stop, on: Function) -> Result<Promise, Failure>;
        /// Lets the model go on with the reply at the end, which is not whole.
        #[wasm_bindgen(js_name = continueReply)]
        fn continue_reply(how: &str, stop: &Stop, on: Function) -> Result<Promise, Failure>;
        /// Counts with the vocabulary of a snapshot from now on, or without one by estimate.
        #[wasm_bindgen(js_name = setVocabulary)]
        fn set_vocabulary(bytes: Option<Vec<u8>>) -> Promise;
        /// The same with the vocabulary that the Ollama at an address gives for the model.
        #[wasm_bindgen(js_name = askVocabulary)]
        fn ask_vocabulary(address: &str) -> Result<Promise, Failure>;
    }
}

calls! {
    /// What a library does.
    Library by Keeping {
        /// The sessions that are not deleted, and the identifiers of those that no list can show.
        fn sessions() -> Promise;
        /// The deleted sessions that can be brought back.
        fn deleted() -> Promise;
        /// Another title.
        fn rename(id: String, title: String) -> Promise;
        /// Puts a session first, or back among the others.
        fn pin(id: String, pinned: bool) -> Promise;
        /// Other tags.
        fn tag(id: String, tags: Vec<String>) -> Promise;
        /// Makes a second session of one, with everything that it holds: its identifier.
        fn duplicate(id: String, title: Option<String>) -> Promise;
        /// Passages of every session that answer a question, the best first.
        fn search(query: String, limit: u32) -> Promise;
        /// Every row of a session as text, for a backup.
        fn archive(id: String) -> Promise;
        /// Brings a session back from its archive: its identifier, and what became of it.
        #[wasm_bindgen(js_name = restoreArchive)]
        fn restore_archive(given: String) -> Promise;
        /// Deletes a session: it can be brought back for thirty days.
        fn delete(id: String) -> Promise;
        /// Brings a deleted session back.
        fn restore(id: String) -> Promise;
        /// Removes every row of a session for good.
        fn purge(id: String) -> Promise;
        /// What can be read of a session, as a file, and what could not.
        fn salvage(id: String, named: String) -> Promise;
    }
}

calls! {
    /// What a server does.
    Server by Serving {
        /// Asks: JSON text of a request.
        fn chat(request: &str) -> Result<Answer, Failure>;
    }
}

calls! {
    /// What an answer does that comes in. It is ended when it is dropped.
    Answer by Answering {
        /// The next piece as JSON text; nothing at the end.
        fn next() -> Promise;
        /// No more is wanted.
        fn stop();
    }
}
