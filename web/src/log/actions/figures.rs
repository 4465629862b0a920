//! Shows the past and possible changes of the window: the session's log, its figures, replays, and the exact prompt.

use std::cell::Cell;
use std::rc::Rc;

use palimpsest_core::policy::Policy;
use palimpsest_core::replay::{PolicyRun, ReplayOptions, Said, counted};
use palimpsest_core::run::SummaryJob;
use palimpsest_core::shares::ShareOptions;
use palimpsest_engine::Session;
use palimpsest_engine::session::log_markdown;
use palimpsest_tokens::Source;

use crate::act::{Back, failed, note, parameters, with_engine};
use crate::platform::page;
use crate::server;
use crate::state::{AppState, Figures, Replayed};
use crate::text::{T, t};

/// Messages that are replayed before the page may breathe.
const STRIDE: usize = 16;

thread_local! {
    /// The number of the newest replay. Older ones stop.
    static REPLAY: Cell<u32> = const { Cell::new(0) };
}

/// Reads the log and the figures of the open session.
pub(crate) fn load_log() {
    with_engine(|back| async move {
        let Some(session) = back.session() else {
            return back.state.figures.set(None);
        };
        match session.log().await {
            Ok(log) => back.state.figures.set(Some(Figures {
                log,
                analytics: session.analytics(),
            })),
            Err(error) => failed(&back, &error),
        }
    });
}

/// Saves the log as Markdown.
pub(crate) fn save_log() {
    with_engine(|back| async move {
        let Some(session) = back.session() else {
            return;
        };
        match session.log().await {
            Ok(log) => {
                let title = title_of(&session);
                let stamp = |at: f64| format!("{} {}", page::date(at), page::clock(at));
                let text = log_markdown(&title, &log, &stamp);
                save(&format!("{title} log.md"), "text/markdown", &text);
            }
            Err(error) => failed(&back, &error),
        }
    });
}

/// Saves the request that the next message would be sent with: the very body, as the chosen server gets it.
pub(crate) fn save_request() {
    with_engine(|back| async move {
        let Some(session) = back.session() else {
            return;
        };
        let options = parameters::options(&back);
        match session.request(&options) {
            Ok(mut request) => {
                parameters::tune(back.state, &mut request);
                let text = server::exact(back.state, &request);
                let name = format!("{} request.json", title_of(&session));
                save(&name, "application/json", &text);
            }
            Err(error) => failed(&back, &error),
        }
    });
}

/// Saves the system message as the model reads it.
pub(crate) fn save_system() {
    with_engine(|back| async move {
        if let Some(session) = back.session() {
            let name = format!("{} system.md", title_of(&session));
            save(&name, "text/markdown", &session.system_message());
        }
    });
}

fn save(name: &str, kind: &str, text: &str) {
    if page::save(name, kind, text).is_none() {
        note(t(T::SaveFailed).to_owned(), true);
    }
}

fn title_of(session: &Session) -> String {
    let title = session.head().title;
    if title.is_empty() {
        "session".into()
    } else {
        title
    }
}

/// Replays the open session under these policies, one after the other, in a window of `window` tokens. Nothing of
/// the session changes, and no model is asked.
pub(crate) fn replay(policies: Vec<String>, window: u32) {
    let turn = REPLAY.get() + 1;
    REPLAY.set(turn);
    with_engine(move |back| async move {
        let Some(session) = back.session() else {
            return;
        };
        let state = back.state;
        let (said, options) = of(&session, window);
        let said = Said::new(said, &session.context().counter().clone());
        let mut replayed = Replayed {
            report: said.report(),
            window,
            of: policies.len() as u32,
            done: false,
            failed: String::new(),
        };
        state.replayed.set(Some(replayed.clone()));
        for name in policies {
            match one(&back, &said, &name, &options, turn).await {
                Some(Ok(played)) => replayed.report.policies.push(played),
                Some(Err(why)) => replayed.failed = why,
                // another one began
                None => return,
            }
            state.replayed.set(Some(replayed.clone()));
        }
        replayed.done = true;
        state.replayed.set(Some(replayed));
        state.say(t(T::ReplayDone));
    });
}

/// Returns the messages of a session and the options of a replay.
fn of(
    session: &Session,
    window: u32,
) -> (Vec<Rc<palimpsest_core::message::Message>>, ReplayOptions) {
    let context = session.context();
    let said = context
        .entries()
        .iter()
        .map(|e| Rc::clone(&e.message))
        .collect();
    let head = session.head();
    let options = ReplayOptions {
        share: ShareOptions {
            reserve: None,
            thinking: head.thinking,
            exact: context.counter().source() == Source::Exact,
        },
        system: session.records().system,
        tools: context.setup().tools,
        mode: head.mode,
        model: Some(head.model),
        ..ReplayOptions::new(window)
    };
    (said, options)
}

/// One policy; `None` if another replay began meanwhile.
async fn one(
    back: &Rc<Back>,
    said: &Said,
    name: &str,
    options: &ReplayOptions,
    turn: u32,
) -> Option<Result<palimpsest_core::replay::PolicyReplay, String>> {
    let policy = match Policy::from_text(name) {
        Ok(policy) => policy,
        Err(error) => return Some(Err(error.to_string())),
    };
    let counter = back.session()?.context().counter().clone();
    let mut summarize = |job: &SummaryJob| counted(job, counter.as_ref());
    let mut run = match PolicyRun::new(said, policy, options, &mut summarize) {
        Ok(run) => run,
        Err(error) => return Some(Err(error.to_string())),
    };
    while run.advance(STRIDE) {
        back.world.timer.sleep(0).await;
        if REPLAY.get() != turn {
            return None;
        }
    }
    Some(Ok(run.finish()))
}

/// Forgets a replay: of another session.
pub(crate) fn forget_replay(state: AppState) {
    REPLAY.set(REPLAY.get() + 1);
    state.replayed.set(None);
    state.figures.set(None);
}
