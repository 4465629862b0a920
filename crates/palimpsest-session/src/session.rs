//! The class `Session`: each function translates and calls the engine's of the same name.

use std::cell::RefCell;
use std::rc::Rc;

use futures_util::lock::Mutex;
use js_sys::Promise;
use palimpsest_browser::outline::{Info, Item};
use palimpsest_core::dialect;
use palimpsest_core::goal::{Goal, GoalEdit};
use palimpsest_core::mode::Mode;
use palimpsest_core::prompt::Skill;
use palimpsest_core::record::PinKind;
use palimpsest_core::request::RequestMessage;
use palimpsest_engine::Engine;
use palimpsest_engine::ports::LanguageModel;
use palimpsest_engine::session::{CompactOptions, Compacted, IfOver, PromptParts};
use serde::{Deserialize, Serialize};
use serde_json::json;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::error::Failure;
use crate::host::Host;
use crate::server::Address;
use crate::stop::Stop;
use crate::text::{dialect, format_named, losses, messages, options, promise, text};

/// An open session and what it was opened with.
pub(crate) struct Open {
    pub(crate) host: Rc<Host>,
    pub(crate) model: Option<Rc<dyn LanguageModel>>,
    pub(crate) engine: Engine,
    /// The server that is asked, if it is one of ours.
    server: Option<Address>,
    /// The model whose window the server was asked for last.
    window_asked: Mutex<Option<String>>,
    /// The session, and the number of our listener on it. Another one after a rollover.
    session: RefCell<(palimpsest_engine::Session, u32)>,
}

impl Open {
    pub(crate) fn new(
        host: Rc<Host>,
        engine: Engine,
        session: palimpsest_engine::Session,
        model: Option<Rc<dyn LanguageModel>>,
        server: Option<Address>,
    ) -> Self {
        let listener = listen(&session, &host);
        Self {
            host,
            model,
            engine,
            server,
            window_asked: Mutex::new(None),
            session: RefCell::new((session, listener)),
        }
    }

    pub(crate) fn session(&self) -> palimpsest_engine::Session {
        self.session.borrow().0.clone()
    }

    pub(crate) fn model_name(&self) -> String {
        self.session().head().model
    }

    /// Goes by the window that the server really has, where that is the smaller one. The server is asked once for each
    /// model; where it cannot be asked now, the next call tries again, and nobody is held up by an error.
    pub(crate) async fn heed_server(&self) {
        let Some(server) = &self.server else { return };
        let mut asked = self.window_asked.lock().await;
        let model = self.model_name();
        if asked.as_ref() == Some(&model) {
            return;
        }
        let Ok(listed) = server.window_of(&model).await else {
            return;
        };
        *asked = Some(model);
        let session = self.session();
        // a smaller one was learned from a refusal, which knows better than a list
        let smaller = listed.filter(|window| *window < session.head().effective_window());
        if smaller.is_some() {
            // only one who may write can note it; a reader goes by what is noted
            let _ = session.serve_window(smaller).await;
        }
    }

    /// The conversation goes on in another session (E1).
    pub(crate) async fn go_on_in(&self, id: &str) -> Result<palimpsest_engine::Session, Failure> {
        let next = self.engine.open(id, false).await?;
        let listener = listen(&next, &self.host);
        let (old, number) = self.session.replace((next.clone(), listener));
        old.off(number);
        Ok(next)
    }
}

fn listen(session: &palimpsest_engine::Session, host: &Rc<Host>) -> u32 {
    let host = Rc::clone(host);
    session.on(move |event| {
        if let Ok(text) = text(event) {
            host.emit(&text);
        }
    })
}

/// One conversation.
#[wasm_bindgen]
pub struct Session(pub(crate) Rc<Open>);

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Session").field(&self.0.session()).finish()
    }
}

impl Session {
    fn now(&self) -> palimpsest_engine::Session {
        self.0.session()
    }

    fn compacting(&self, given: Compacting, stop: &Stop) -> Promise {
        let (open, session, signal) = (Rc::clone(&self.0), self.now(), stop.signal());
        let model = self.0.model.clone().filter(|_| !given.extractive);
        promise(async move {
            open.heed_server().await;
            let options = CompactOptions {
                model,
                focus: given.focus,
                most_seconds: given.most_seconds,
                manual: true,
                ..CompactOptions::default()
            };
            let done = session.compact(options, signal).await?;
            text(&Done::from(done))
        })
    }

    /// Does something that gives nothing back.
    fn done<F>(&self, act: impl FnOnce(palimpsest_engine::Session) -> F) -> Promise
    where
        F: Future<Output = Result<(), palimpsest_engine::EngineError>> + 'static,
    {
        let work = act(self.now());
        promise(async move {
            work.await?;
            Ok(String::new())
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Compacting {
    focus: Option<String>,
    /// A model is only asked if it takes no longer, in seconds.
    most_seconds: Option<u32>,
    /// Without the model, though there is one.
    #[serde(default)]
    extractive: bool,
}

/// What is to change of the system message's parts.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Parts {
    base: Option<String>,
    mandates: Option<String>,
    skills: Option<Vec<Skill>>,
    checks: Option<String>,
}

#[derive(Serialize)]
struct Done {
    revision: u32,
    report: palimpsest_core::run::RunReport,
}

impl From<Compacted> for Done {
    fn from(done: Compacted) -> Self {
        Self {
            revision: done.revision,
            report: done.report,
        }
    }
}

#[wasm_bindgen]
impl Session {
    /// Its identifier.
    pub fn id(&self) -> String {
        self.now().id().to_owned()
    }

    /// What its head says.
    pub fn info(&self) -> Result<String, JsValue> {
        Ok(text(&Info::of(&self.now()))?)
    }

    /// Stores messages: their numbers. System lines before them become the system prompt.
    pub fn append(&self, given: String, named: Option<String>) -> Promise {
        let session = self.now();
        promise(async move {
            let (system, said) = messages(&given, named.as_deref())?;
            if !system.is_empty() && system != session.records().system {
                session.set_system(&system).await?;
            }
            let seqs = if said.is_empty() {
                Vec::new()
            } else {
                session.append_all(said).await?
            };
            text(&seqs)
        })
    }

    /// The exact messages for the model, in a dialect.
    pub fn window(&self, named: Option<String>) -> Result<String, JsValue> {
        let window = self.now().window();
        let dialect = dialect(named.as_deref(), &[])?;
        let messages = dialect::to_values(
            window.to_request().iter().map(RequestMessage::said),
            dialect,
        );
        Ok(json!({"messages": messages, "tokens": window.tokens()}).to_string())
    }

    /// The budget report.
    pub fn budget(&self) -> Result<String, JsValue> {
        Ok(text(&self.now().budget())?)
    }

    /// The layers in the window, oldest first.
    pub fn layers(&self) -> Result<String, JsValue> {
        Ok(text(&self.now().layers())?)
    }

    /// What was said on the current path: the last `limit` messages before `before`.
    pub fn history(&self, before: Option<u32>, limit: u32) -> Result<String, JsValue> {
        let items = self.now().history(before, limit as usize);
        let items: Vec<Item<'_>> = items.iter().map(Item::of).collect();
        Ok(text(&items)?)
    }

    /// Makes the window smaller.
    pub fn compact(&self, given: &str, stop: &Stop) -> Result<Promise, JsValue> {
        let given: Compacting = options(given)?;
        Ok(self.compacting(given, stop))
    }

    /// The automatic compaction, if it is due: to be called after every reply.
    pub fn tend(&self, stop: &Stop) -> Promise {
        let (session, signal) = (self.now(), stop.signal());
        let options = CompactOptions {
            model: self.0.model.clone(),
            ..CompactOptions::default()
        };
        promise(async move {
            let done = session.tend(options, signal).await?;
            text(&done.map(Done::from))
        })
    }

    /// Takes the deterministic summary instead of waiting for the model.
    #[wasm_bindgen(js_name = skipWait)]
    pub fn skip_wait(&self) {
        self.now().skip_wait();
    }

    /// What a compaction would do now.
    pub fn preview(&self, focus: Option<String>) -> Result<String, JsValue> {
        let preview = self.now().preview(focus).map_err(Failure::from)?;
        Ok(text(&preview)?)
    }

    /// Takes the last compaction back.
    pub fn undo(&self, show: bool) -> Promise {
        self.done(move |session| async move { session.undo_with(if_over(show)).await })
    }

    /// Takes one layer off.
    pub fn lift(&self, layer: u32, show: bool) -> Promise {
        self.done(move |session| async move { session.lift_with(layer, if_over(show)).await })
    }

    /// System prompt, goal, pins, and what is proposed for the goal.
    pub fn records(&self) -> Result<String, JsValue> {
        Ok(text(&self.now().records())?)
    }

    /// Another system prompt.
    #[wasm_bindgen(js_name = setSystem)]
    pub fn set_system(&self, system: String) -> Promise {
        self.done(move |session| async move {
            let parts = PromptParts {
                base: Some(system),
                ..PromptParts::default()
            };
            session.set_prompt(parts).await
        })
    }

    /// Begins a goal, or says it anew.
    #[wasm_bindgen(js_name = describeGoal)]
    pub fn describe_goal(&self, description: String) -> Promise {
        self.done(move |session| async move { session.begin_goal(&description).await })
    }

    /// Another goal as JSON text, or none.
    #[wasm_bindgen(js_name = setGoal)]
    pub fn set_goal(&self, goal: Option<String>) -> Result<Promise, JsValue> {
        let goal: Option<Goal> = goal.as_deref().map(options).transpose()?;
        Ok(self.done(move |session| async move { session.set_goal(goal).await }))
    }

    /// Changes the goal.
    #[wasm_bindgen(js_name = editGoal)]
    pub fn edit_goal(&self, edit: &str) -> Result<Promise, JsValue> {
        let edit: GoalEdit = options(edit)?;
        Ok(self.done(move |session| async move { session.edit_goal(edit).await }))
    }

    /// Takes a proposal for the goal on, or declines it.
    pub fn decide(&self, proposal: u32, accept: bool) -> Promise {
        self.done(move |session| async move {
            if accept {
                session.accept_proposal(proposal).await.map(drop)
            } else {
                session.decline_proposal(proposal).await
            }
        })
    }

    /// Keeps a line word for word: its number.
    pub fn pin(&self, line: String, decision: bool) -> Promise {
        let session = self.now();
        let kind = if decision {
            PinKind::Decision
        } else {
            PinKind::Pin
        };
        promise(async move { text(&session.pin(kind, &line).await?) })
    }

    /// Takes a line out of the records.
    pub fn unpin(&self, id: u32) -> Promise {
        self.done(move |session| async move { session.unpin(id).await })
    }

    /// The snapshots, oldest first.
    pub fn snapshots(&self) -> Result<String, JsValue> {
        Ok(text(&self.now().snapshots())?)
    }

    /// Remembers the present under a name: the snapshot's number.
    pub fn snapshot(&self, name: String) -> Promise {
        let session = self.now();
        promise(async move { text(&session.snapshot(&name).await?) })
    }

    /// Returns to a snapshot.
    pub fn restore(&self, n: u32) -> Promise {
        self.done(move |session| async move { session.restore(n).await })
    }

    /// Exempts a snapshot from pruning, or not any longer.
    #[wasm_bindgen(js_name = pinSnapshot)]
    pub fn pin_snapshot(&self, n: u32, pinned: bool) -> Promise {
        self.done(move |session| async move { session.pin_snapshot(n, pinned).await })
    }

    /// Removes a snapshot.
    #[wasm_bindgen(js_name = deleteSnapshot)]
    pub fn delete_snapshot(&self, n: u32) -> Promise {
        self.done(move |session| async move { session.delete_snapshot(n).await })
    }

    /// Passages that answer a question, the best first.
    pub fn search(&self, query: &str, limit: u32) -> Result<String, JsValue> {
        Ok(text(&crate::search::search(
            &self.now(),
            query,
            limit as usize,
        ))?)
    }

    /// What of the session could not be read.
    pub fn losses(&self) -> Result<String, JsValue> {
        Ok(text(&losses(&self.now().losses()))?)
    }

    /// The session as a file.
    pub fn export(&self, format: &str) -> Result<Promise, JsValue> {
        let format = format_named(format)?;
        let session = self.now();
        Ok(promise(async move { Ok(session.export(format).await?) }))
    }

    /// A summary that the host is to write, if one is needed.
    #[wasm_bindgen(js_name = nextJob)]
    pub fn next_job(&self, manual: bool) -> Option<String> {
        let job = self.now().next_job(manual).job()?;
        let job = json!({"id": job.id, "system": job.system, "prompt": job.prompt, "targetTokens": job.target_tokens});
        Some(job.to_string())
    }

    /// Commits what needed no summary of the host's.
    #[wasm_bindgen(js_name = finishJobs)]
    pub fn finish_jobs(&self) -> Promise {
        let session = self.now();
        promise(async move {
            let done = session.finish_jobs().await?;
            text(&done.map(Done::from))
        })
    }

    /// The host's summary, or nothing if it could not write one.
    #[wasm_bindgen(js_name = completeJob)]
    pub fn complete_job(&self, id: u32, written: Option<String>) -> Promise {
        let session = self.now();
        promise(async move {
            let done = session.complete_job(id, written).await?;
            text(&done.map(Done::from))
        })
    }

    /// Another model, window, policy.
    #[wasm_bindgen(js_name = setModel)]
    pub fn set_model(&self, model: String, window: u32, policy: String, thinking: bool) -> Promise {
        self.done(move |session| async move {
            session.set_model(&model, window, &policy, thinking).await
        })
    }

    /// Another title.
    pub fn rename(&self, title: String) -> Promise {
        self.done(move |session| async move { session.rename(&title).await })
    }

    /// How far the session can be trusted, and what that is made of.
    pub fn reliability(&self) -> Result<String, JsValue> {
        Ok(text(&self.now().reliability())?)
    }

    /// Every change of the window that has figures, oldest first.
    pub fn log(&self) -> Promise {
        let session = self.now();
        promise(async move { text(&session.log().await?) })
    }

    /// What is shown of the tools' words, by tool and in total.
    pub fn analytics(&self) -> Result<String, JsValue> {
        Ok(text(&self.now().analytics())?)
    }

    /// Another kind of work, by its name.
    #[wasm_bindgen(js_name = setMode)]
    pub fn set_mode(&self, mode: &str) -> Result<Promise, JsValue> {
        let mode: Mode = options(&json!(mode).to_string())?;
        Ok(self.done(move |session| async move { session.set_mode(mode).await }))
    }

    /// The parts of the system message, their sizes, and what is wrong with them.
    pub fn prompt(&self) -> String {
        let session = self.now();
        let records = session.records();
        let built = session.prompt();
        json!({
            "base": records.system, "mandates": records.mandates, "checks": records.checks, "skills": records.skills,
            "built": built,
        })
        .to_string()
    }

    /// Changes parts of the system message: JSON text.
    #[wasm_bindgen(js_name = setPrompt)]
    pub fn set_prompt(&self, given: &str) -> Result<Promise, JsValue> {
        let given: Parts = options(given)?;
        let parts = PromptParts {
            base: given.base,
            mandates: given.mandates,
            skills: given.skills,
            checks: given.checks,
        };
        Ok(self.done(move |session| async move { session.set_prompt(parts).await }))
    }

    /// Switches skills on or off, by patterns of their names: the names of those that changed.
    #[wasm_bindgen(js_name = switchSkills)]
    pub fn switch_skills(&self, patterns: Vec<String>, on: bool) -> Promise {
        let session = self.now();
        promise(async move {
            let names = if on {
                session.activate_skills(&patterns).await?
            } else {
                session.deactivate_skills(&patterns).await?
            };
            text(&names)
        })
    }

    /// The large results that the window shows as references, oldest first.
    pub fn references(&self) -> Result<String, JsValue> {
        Ok(text(&self.now().references())?)
    }

    /// What the references of a message stand for, in their order.
    pub fn offloaded(&self, message: u32) -> Result<String, JsValue> {
        let session = self.now();
        let texts: Result<Vec<String>, _> = session
            .references()
            .iter()
            .filter(|reference| reference.message == message)
            .map(|reference| session.offloaded_text(reference))
            .collect();
        Ok(text(&texts.map_err(Failure::from)?)?)
    }

    /// Shows an offloaded message as it was said again.
    #[wasm_bindgen(js_name = bringBack)]
    pub fn bring_back(&self, message: u32) -> Promise {
        self.done(move |session| async move { session.bring_back(message).await })
    }

    /// What is quoted of covered messages for the last question.
    pub fn recalled(&self) -> Result<String, JsValue> {
        Ok(text(&self.now().recalled())?)
    }

    /// Takes one recalled quote out of the window, or all.
    #[wasm_bindgen(js_name = forgetRecalled)]
    pub fn forget_recalled(&self, message: Option<u32>) -> Promise {
        self.done(move |session| async move { session.forget_recalled(message).await })
    }

    /// The present end becomes the watermark.
    pub fn mark(&self) -> Promise {
        self.done(move |session| async move { session.mark_end().await })
    }

    /// Keeps a message whole before the watermark, or no longer.
    pub fn anchor(&self, message: u32, keep: bool) -> Promise {
        self.done(move |session| async move { session.anchor(message, keep).await })
    }

    /// The messages that follow the same one as this, oldest first.
    pub fn siblings(&self, message: u32) -> Result<String, JsValue> {
        Ok(text(&self.now().siblings(message))?)
    }

    /// Shows the branch on which a message lies.
    #[wasm_bindgen(js_name = switchTo)]
    pub fn switch_to(&self, message: u32) -> Promise {
        self.done(move |session| async move { session.switch_to(message).await })
    }

    /// Goes back to just before a message.
    #[wasm_bindgen(js_name = rewindBefore)]
    pub fn rewind_before(&self, message: u32) -> Promise {
        self.done(move |session| async move { session.rewind_before(message).await })
    }

    /// Uses a quiet moment: a layer that was cut without a model is written again by one.
    pub fn rest(&self, stop: &Stop) -> Promise {
        let (session, signal) = (self.now(), stop.signal());
        let options = CompactOptions {
            model: self.0.model.clone(),
            ..CompactOptions::default()
        };
        promise(async move { text(&session.rest(options, signal).await?) })
    }

    /// Stops what runs and hears nothing more. What has arrived is stored.
    pub fn close(&self) {
        let session = self.now();
        session.off(self.0.session.borrow().1);
        session.stop();
        session.cancel_compaction();
    }
}

const fn if_over(show: bool) -> IfOver {
    if show { IfOver::Show } else { IfOver::Refuse }
}
