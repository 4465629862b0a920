//! What the class `Session` does: each function translates and calls the engine's of the same name.

use palimpsest_text::json::ToJson as _;
use std::cell::RefCell;
use std::rc::Rc;

use futures_util::lock::Mutex;
use js_sys::{Function, Promise};
use palimpsest_browser::outline::{Info, Item};
use palimpsest_core::dialect;
use palimpsest_core::error::CoreError;
use palimpsest_core::goal::{Goal, GoalEdit};
use palimpsest_core::mode::Mode;
use palimpsest_core::prompt::Skill;
use palimpsest_core::record::PinKind;
use palimpsest_core::request::RequestMessage;
use palimpsest_core::run::Scope;
use palimpsest_engine::Engine;
use palimpsest_engine::ports::LanguageModel;
use palimpsest_engine::session::{CompactOptions, Compacted, IfOver, PromptParts};
use serde::{Deserialize, Serialize};
use serde_json::json;
use wasm_bindgen::JsValue;

use super::send::What;
use super::server::Address;
use super::told::{dialect, format_named, losses, messages};
use super::vocabulary;
use crate::border::{crossed, named, options, promise, taken, told};
use crate::failure::Failure;
use crate::host::Host;
use crate::session::Conversing;
use crate::stop::Stop;

/// An open session and what it was opened with.
pub(crate) struct Open {
    pub(crate) host: Rc<Host>,
    pub(crate) model: Option<Rc<dyn LanguageModel>>,
    pub(crate) engine: Engine,
    /// The server that is asked, if it is one of ours.
    server: Option<Address>,
    /// The model whose window the server was asked for last.
    model_asked: Mutex<Option<String>>,
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
            model_asked: Mutex::new(None),
            session: RefCell::new((session, listener)),
        }
    }

    pub(crate) fn session(&self) -> palimpsest_engine::Session {
        self.session.borrow().0.clone()
    }

    pub(crate) fn model_name(&self) -> String {
        self.session().head().model
    }

    /// Goes by the window that the server really has, where that is the smaller one, and by the size that it says the model has
    /// (G5). The server is asked once for each model; where it cannot be asked now, the next call tries again, and nobody is held up by an error.
    pub(crate) async fn heed_server(&self) {
        let Some(server) = &self.server else { return };
        let mut asked = self.model_asked.lock().await;
        let model = self.model_name();
        if asked.as_ref() == Some(&model) {
            return;
        }
        let Ok(listed) = server.served(&model).await else {
            return;
        };
        if let Some(size) = &listed.parameter_size {
            self.engine.know_model(&model, size);
        }
        *asked = Some(model);
        let session = self.session();
        // a smaller one was learned from a refusal, which knows better than a list
        let smaller = listed
            .window
            .filter(|window| *window < session.head().effective_window());
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
        if let Ok(event) = told(event) {
            host.emit(&event);
        }
    })
}

/// The session that JavaScript has.
pub(crate) struct Live(pub(crate) Rc<Open>);

impl Live {
    fn now(&self) -> palimpsest_engine::Session {
        self.0.session()
    }

    fn compacting(&self, given: Compacting, stop: &Stop) -> Result<Promise, Failure> {
        let scope = given.scope()?;
        let (open, session, signal) = (Rc::clone(&self.0), self.now(), stop.signal());
        let model = self.0.model.clone().filter(|_| !given.extractive);
        Ok(promise(async move {
            open.heed_server().await;
            let options = CompactOptions {
                scope,
                model,
                focus: given.focus,
                most_seconds: given.most_seconds,
                manual: true,
                ..CompactOptions::default()
            };
            let done = session.compact(options, signal).await?;
            told(&Done::from(done))
        }))
    }

    /// Does something that gives nothing back.
    fn done<F>(&self, act: impl FnOnce(palimpsest_engine::Session) -> F) -> Promise
    where
        F: Future<Output = Result<(), palimpsest_engine::EngineError>> + 'static,
    {
        let work = act(self.now());
        promise(async move {
            work.await?;
            Ok(JsValue::UNDEFINED)
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
    /// The last message of the new layer, which begins with the first.
    up_to: Option<u32>,
    /// The first message of the new layer.
    from: Option<u32>,
    /// The last message of the new layer.
    to: Option<u32>,
    /// The layer that is written again.
    layer: Option<u32>,
}

impl Compacting {
    /// Which messages the new layer covers.
    fn scope(&self) -> Result<Scope, CoreError> {
        match (self.layer, self.up_to, self.from, self.to) {
            (None, None, None, None) => Ok(Scope::Policy),
            (Some(layer), None, None, None) => Ok(Scope::Layer(layer)),
            (None, Some(to), None, None) => Ok(Scope::UpTo(to)),
            (None, None, Some(from), Some(to)) => Ok(Scope::Range { from, to }),
            _ => Err(CoreError::BadInput(
                "Say either `upTo`, or both `from` and `to`: the numbers of messages, as `history` has them.".into(),
            )),
        }
    }
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

impl Conversing for Live {
    fn id(&self) -> String {
        self.now().id().to_owned()
    }

    fn info(&self) -> Result<JsValue, Failure> {
        told(&Info::of(&self.now()))
    }

    fn append(&self, given: String, named: Option<String>) -> Promise {
        let session = self.now();
        promise(async move {
            let (system, said) = messages(&given, named.as_deref())?;
            if !system.is_empty() && system != session.records().system {
                session.set_system(&system).await?;
            }
            let seqs = if said.is_empty() {
                Vec::new()
            } else {
                let seqs = session.append_all(said).await?;
                session.recall_others().await?;
                seqs
            };
            told(&seqs)
        })
    }

    fn sync(&self, given: String, named: Option<String>) -> Promise {
        let session = self.now();
        promise(async move {
            let (system, said) = messages(&given, named.as_deref())?;
            let before = session.records().system;
            let changes = !system.is_empty() && system != before;
            if changes {
                session.set_system(&system).await?;
            }
            let done = session.sync(said).await;
            if done.is_err() && changes {
                session.set_system(&before).await?;
            }
            let done = done?;
            if !done.added.is_empty() {
                session.recall_others().await?;
            }
            crossed(&json!({"added": done.added, "branched": done.branched}))
        })
    }

    fn window(&self, named: Option<String>) -> Result<String, Failure> {
        let window = self.now().window();
        let dialect = dialect(named.as_deref(), &[])?;
        let messages = dialect::to_values(
            window.to_request().iter().map(RequestMessage::said),
            dialect,
        );
        Ok(json!({"messages": messages, "tokens": window.tokens()}).to_json())
    }

    fn budget(&self) -> Result<JsValue, Failure> {
        told(&self.now().budget())
    }

    fn layers(&self) -> Result<JsValue, Failure> {
        told(&self.now().layers())
    }

    fn history(&self, before: Option<u32>, limit: u32) -> Result<String, Failure> {
        let items = self.now().history(before, limit as usize);
        let items: Vec<Item<'_>> = items.iter().map(Item::of).collect();
        named(&items)
    }

    fn compact(&self, given: JsValue, stop: &Stop) -> Result<Promise, Failure> {
        let given: Compacting = options(given)?;
        self.compacting(given, stop)
    }

    fn tend(&self, stop: &Stop) -> Promise {
        let (session, signal) = (self.now(), stop.signal());
        let options = CompactOptions {
            model: self.0.model.clone(),
            ..CompactOptions::default()
        };
        promise(async move {
            let done = session.tend(options, signal).await?;
            let wait = done.is_none().then(|| session.until_idle()).flatten();
            told(&wait)
        })
    }

    fn skip_wait(&self) {
        self.now().skip_wait();
    }

    fn preview(&self, focus: Option<String>) -> Result<JsValue, Failure> {
        let preview = self.now().preview(focus).map_err(Failure::from)?;
        told(&preview)
    }

    fn undo(&self, show: bool) -> Promise {
        self.done(move |session| async move { session.undo_with(if_over(show)).await })
    }

    fn lift(&self, layer: u32, show: bool) -> Promise {
        self.done(move |session| async move { session.lift_with(layer, if_over(show)).await })
    }

    fn edit_layer(&self, layer: u32, written: String, show: bool) -> Promise {
        let session = self.now();
        promise(async move {
            let done = session.edit_layer(layer, &written, if_over(show)).await?;
            told(&Done::from(done))
        })
    }

    fn records(&self) -> Result<JsValue, Failure> {
        told(&self.now().records())
    }

    fn set_system(&self, system: String) -> Promise {
        self.done(move |session| async move {
            let parts = PromptParts {
                base: Some(system),
                ..PromptParts::default()
            };
            session.set_prompt(parts).await
        })
    }

    fn describe_goal(&self, description: String) -> Promise {
        self.done(move |session| async move { session.begin_goal(&description).await })
    }

    fn set_goal(&self, goal: JsValue) -> Result<Promise, Failure> {
        let goal: Option<Goal> = options(goal)?;
        Ok(self.done(move |session| async move { session.set_goal(goal).await }))
    }

    fn edit_goal(&self, edit: JsValue) -> Result<Promise, Failure> {
        let edit: GoalEdit = options(edit)?;
        Ok(self.done(move |session| async move { session.edit_goal(edit).await }))
    }

    fn decide(&self, proposal: u32, accept: bool) -> Promise {
        self.done(move |session| async move {
            if accept {
                session.accept_proposal(proposal).await.map(drop)
            } else {
                session.decline_proposal(proposal).await
            }
        })
    }

    fn pin(&self, line: String, decision: bool) -> Promise {
        let session = self.now();
        let kind = if decision {
            PinKind::Decision
        } else {
            PinKind::Pin
        };
        promise(async move { told(&session.pin(kind, &line).await?) })
    }

    fn unpin(&self, id: u32) -> Promise {
        self.done(move |session| async move { session.unpin(id).await })
    }

    fn snapshots(&self) -> Result<JsValue, Failure> {
        told(&self.now().snapshots())
    }

    fn snapshot(&self, name: String) -> Promise {
        let session = self.now();
        promise(async move { told(&session.snapshot(&name).await?) })
    }

    fn restore(&self, n: u32) -> Promise {
        self.done(move |session| async move { session.restore(n).await })
    }

    fn pin_snapshot(&self, n: u32, pinned: bool) -> Promise {
        self.done(move |session| async move { session.pin_snapshot(n, pinned).await })
    }

    fn delete_snapshot(&self, n: u32) -> Promise {
        self.done(move |session| async move { session.delete_snapshot(n).await })
    }

    fn search(&self, query: &str, limit: u32) -> Result<JsValue, Failure> {
        told(&super::search::search(&self.now(), query, limit as usize))
    }

    fn losses(&self) -> Result<JsValue, Failure> {
        told(&losses(&self.now().losses()))
    }

    fn export(&self, format: &str) -> Result<Promise, Failure> {
        let format = format_named(format)?;
        let session = self.now();
        Ok(promise(
            async move { Ok(session.export(format).await?.into()) },
        ))
    }

    fn next_job(&self, manual: bool) -> Result<JsValue, Failure> {
        let Some(job) = self.now().next_job(manual).job() else {
            return Ok(JsValue::NULL);
        };
        crossed(
            &json!({"id": job.id, "system": job.system, "prompt": job.prompt, "targetTokens": job.target_tokens}),
        )
    }

    fn finish_jobs(&self) -> Promise {
        let session = self.now();
        promise(async move {
            let done = session.finish_jobs().await?;
            told(&done.map(Done::from))
        })
    }

    fn complete_job(&self, id: u32, written: Option<String>) -> Promise {
        let session = self.now();
        promise(async move {
            let done = session.complete_job(id, written).await?;
            told(&done.map(Done::from))
        })
    }

    fn set_model(&self, model: String, window: u32, policy: String, thinking: bool) -> Promise {
        self.done(move |session| async move {
            session.set_model(&model, window, &policy, thinking).await
        })
    }

    fn rename(&self, title: String) -> Promise {
        self.done(move |session| async move { session.rename(&title).await })
    }

    fn reliability(&self) -> Result<JsValue, Failure> {
        told(&self.now().reliability())
    }

    fn log(&self) -> Promise {
        let session = self.now();
        promise(async move { told(&session.log().await?) })
    }

    fn analytics(&self) -> Result<JsValue, Failure> {
        told(&self.now().analytics())
    }

    fn set_mode(&self, mode: &str) -> Result<Promise, Failure> {
        let mode: Mode = taken(mode.into())?;
        Ok(self.done(move |session| async move { session.set_mode(mode).await }))
    }

    fn prompt(&self) -> Result<JsValue, Failure> {
        let session = self.now();
        let records = session.records();
        let built = session.prompt();
        told(&json!({
            "base": records.system, "mandates": records.mandates, "checks": records.checks, "skills": records.skills,
            "built": built,
        }))
    }

    fn set_prompt(&self, given: JsValue) -> Result<Promise, Failure> {
        let given: Parts = options(given)?;
        let parts = PromptParts {
            base: given.base,
            mandates: given.mandates,
            skills: given.skills,
            checks: given.checks,
        };
        Ok(self.done(move |session| async move { session.set_prompt(parts).await }))
    }

    fn switch_skills(&self, patterns: Vec<String>, on: bool) -> Promise {
        let session = self.now();
        promise(async move {
            let names = if on {
                session.activate_skills(&patterns).await?
            } else {
                session.deactivate_skills(&patterns).await?
            };
            told(&names)
        })
    }

    fn references(&self) -> Result<JsValue, Failure> {
        told(&self.now().references())
    }

    fn offloaded(&self, message: u32) -> Result<JsValue, Failure> {
        let session = self.now();
        let texts: Result<Vec<String>, _> = session
            .references()
            .iter()
            .filter(|reference| reference.message == message)
            .map(|reference| session.offloaded_text(reference))
            .collect();
        told(&texts.map_err(Failure::from)?)
    }

    fn bring_back(&self, message: u32) -> Promise {
        self.done(move |session| async move { session.bring_back(message).await })
    }

    fn recalled(&self) -> Result<JsValue, Failure> {
        let session = self.now();
        let elsewhere = session.recalled_elsewhere().into_iter().map(|one| {
            let (session, source, quote) = one.into();
            json!({ "seq": quote.seq, "text": quote.text, "tokens": quote.tokens, "session": session, "source": source })
        });
        told(&(session.recalled(), elsewhere.collect::<Vec<_>>()))
    }

    fn forget_recalled(&self, message: Option<u32>, from: Option<String>) -> Promise {
        self.done(move |session| async move {
            match (message, from) {
                (Some(message), Some(from)) => session.forget_elsewhere(&from, message).await,
                (message, _) => session.forget_recalled(message).await,
            }
        })
    }

    fn mark(&self) -> Promise {
        self.done(move |session| async move { session.mark_end().await })
    }

    fn anchor(&self, message: u32, keep: bool) -> Promise {
        self.done(move |session| async move {
            if keep {
                session.anchor(message).await
            } else {
                session.release(message).await
            }
        })
    }

    fn siblings(&self, message: u32) -> Result<JsValue, Failure> {
        told(&self.now().siblings(message))
    }

    fn switch_to(&self, message: u32) -> Promise {
        self.done(move |session| async move { session.switch_to(message).await })
    }

    fn rewind_before(&self, message: u32) -> Promise {
        self.done(move |session| async move { session.rewind_before(message).await })
    }

    fn rest(&self, stop: &Stop) -> Promise {
        let (session, signal) = (self.now(), stop.signal());
        let options = CompactOptions {
            model: self.0.model.clone(),
            ..CompactOptions::default()
        };
        promise(async move { told(&session.rest(options, signal).await?) })
    }

    fn close(&self) {
        let session = self.now();
        session.off(self.0.session.borrow().1);
        session.stop();
        session.cancel_compaction();
    }

    fn send(
        &self,
        given: &str,
        named: Option<String>,
        how: JsValue,
        stop: &Stop,
        on: Function,
    ) -> Result<Promise, Failure> {
        self.says(given, named.as_deref(), how, stop, on)
    }

    fn reply(&self, how: JsValue, stop: &Stop, on: Function) -> Result<Promise, Failure> {
        self.ask(What::Waits, how, stop, on)
    }

    fn continue_reply(&self, how: JsValue, stop: &Stop, on: Function) -> Result<Promise, Failure> {
        self.ask(What::BrokeOff, how, stop, on)
    }

    fn set_vocabulary(&self, bytes: Option<Vec<u8>>) -> Promise {
        vocabulary::set(&self.0, bytes)
    }

    fn ask_vocabulary(&self, address: JsValue) -> Result<Promise, Failure> {
        vocabulary::ask(&self.0, address)
    }
}

const fn if_over(show: bool) -> IfOver {
    if show { IfOver::Show } else { IfOver::Refuse }
}
