//! The session's own settings: model, window, policy, system prompt.

use std::rc::Rc;

use palimpsest_core::message::Role;
use palimpsest_core::mode::Mode;
use palimpsest_engine::error::EngineError;
use palimpsest_engine::session::PromptParts;
use palimpsest_engine::{Config, Sampling, Session};

use crate::act::{
    Back, back, begins_with, change, check_again, failed, list, show_all, show_head, show_window,
    tended, want_vocabulary, with_engine, with_writer,
};
use crate::context::data::bind;
use crate::context::data::budget::Activity;
use crate::settings::data::policy;
use crate::settings::{ModelSettings, Server, Settings, Think};
use crate::state::AppState;

/// The model of new sessions: the one chosen last if it is there, else the first there is.
pub(crate) fn usual_model(state: AppState) -> Option<String> {
    let preferred = state.settings.with_untracked(|s| s.model.clone());
    state.models.with_untracked(|all| {
        all.iter()
            .find(|m| m.name == preferred)
            .or_else(|| all.first())
            .map(|m| m.name.clone())
    })
}

/// Whether that model thinks before it answers, which takes twice the room of an answer. `None` while the server has
/// not told.
pub(crate) fn thinks(state: AppState, model: &str) -> Option<bool> {
    let chosen = state
        .settings
        .with_untracked(|s| s.models.get(model).and_then(|own| own.think));
    state.models.with_untracked(|all| {
        let there = all.iter().find(|m| m.name == model)?;
        // a server that does not tell what its models can do: as the person says
        Some(match chosen {
            None => there.can("thinking"),
            Some(think) => think != Think::Off && there.may_think(),
        })
    })
}

/// Another model.
pub(crate) fn choose_model(name: String) {
    remodel(move |s| s.model = name);
}

/// Changes what goes with the open session's model. A window holds for this session too.
pub fn for_model(edit: impl FnOnce(&mut ModelSettings) + 'static) {
    let Some(head) = back().and_then(|b| b.session()).map(|s| s.head()) else {
        return;
    };
    let (mut window, mut think) = (None, false);
    change(|s| {
        s.edit_model(&head.model, |own| {
            let before = (own.window, own.think);
            edit(own);
            window = own.window.filter(|_| own.window != before.0);
            think = own.think != before.1;
        });
    });
    match window {
        Some(window) => choose_window(window),
        None if think => remodel(|_| {}),
        None => {}
    }
}

/// Another window.
pub(crate) fn choose_window(tokens: u32) {
    remodel(move |s| {
        let own = s
            .models
            .get_mut(&s.model)
            .and_then(|own| own.window.as_mut());
        if let Some(own) = own {
            *own = tokens;
        }
        s.window = tokens;
    });
}

/// Another policy, by its name or as JSON; for a model that has one of its own, it gets this one.
pub(crate) fn choose_policy(text: String) {
    remodel(move |s| {
        if let Some(own) = s.model_policies.get_mut(&s.model) {
            own.clone_from(&text);
        }
        s.policy = text;
    });
}

/// Other tokens kept for the answer, in this session and in new ones; `None` as fits the window.
pub(crate) fn choose_reserve(tokens: Option<u32>) {
    with_writer(move |back, session| async move {
        let mut config = session.config();
        config.reserve = tokens;
        match session.configure(config).await {
            Ok(()) => change(|s| s.reserve = tokens),
            Err(error) => failed(&back, &error),
        }
        show_all(&back).await;
        tended(back, session);
    });
}

/// Another share of its denominator at which the policy acts, in percent.
pub(crate) fn compact_at(percent: u32) {
    with_writer(move |back, session| async move {
        let mut config = session.config();
        let policy = config.policy.clone().unwrap_or_default();
        let Some(text) = policy::acting_at(&policy, percent) else {
            return;
        };
        // a share of the session's own would go before the policy's
        if config.compression.trigger_at.take().is_some()
            && let Err(error) = session.configure(config).await
        {
            failed(&back, &error);
        }
        choose_policy(text);
    });
}

/// Works out what a new session would begin with.
pub(crate) fn preview_new() {
    with_engine(|back| async move {
        let budget = back.engine.budget_of(begins_with(&back)).await.ok();
        let usual = back.session().and_then(|s| usual_turn(&s));
        let fresh = budget.map(|b| {
            let turns = usual.map(|usual| b.until_trigger / usual);
            (bind::budget(&b, &[]), turns)
        });
        back.state.fresh.change(fresh);
    });
}

/// Tokens of a question with what came of it, on average; nothing while there were only few.
fn usual_turn(session: &Session) -> Option<u32> {
    let history = session.history(None, usize::MAX);
    let turns = history
        .iter()
        .filter(|item| item.message.role == Role::User)
        .count() as u32;
    let tokens = history
        .iter()
        .map(|item| item.tokens)
        .fold(0, u32::saturating_add);
    (turns >= 3 && tokens >= turns).then(|| tokens / turns)
}

/// Whether the policy of the open session goes with its model from now on.
pub(crate) fn policy_for_model(on: bool) {
    let Some(head) = back().and_then(|b| b.session()).map(|s| s.head()) else {
        return;
    };
    change(move |s| {
        if on {
            s.model_policies.insert(head.model, head.policy);
        } else {
            s.model_policies.remove(&head.model);
        }
    });
}

/// Changes model, window or policy of the open session; the next session starts with the same.
fn remodel(edit: impl FnOnce(&mut Settings) + 'static) {
    with_writer(|back, session| async move {
        remodelled(&back, &session, edit).await;
        tended(back, session);
    });
}

/// The open session gets another model, and its settings. Returns `false` if it could not be stored.
pub(crate) async fn take_model(back: &Rc<Back>, session: &Session, name: String) -> bool {
    remodelled(back, session, move |s| s.model = name).await
}

async fn remodelled(back: &Rc<Back>, session: &Session, edit: impl FnOnce(&mut Settings)) -> bool {
    let head = session.head();
    let general = back.state.settings.get_untracked();
    let mut wish = general.clone();
    wish.model.clone_from(&head.model);
    wish.window = head.window;
    wish.policy.clone_from(&head.policy);
    edit(&mut wish);
    if wish.model != head.model {
        if let Some(own) = wish.model_policies.get(&wish.model) {
            wish.policy.clone_from(own);
        }
        // a window that went with the model before stays with it
        let own = |model: &str| wish.models.get(model).and_then(|own| own.window);
        match (own(&wish.model), own(&head.model)) {
            (Some(window), _) => wish.window = window,
            (None, Some(_)) => wish.window = general.window,
            (None, None) => {}
        }
    }
    let same = head.thinking && wish.model == head.model;
    let thinking = thinks(back.state, &wish.model).unwrap_or(same);
    let stored = session
        .set_model(&wish.model, wish.window, &wish.policy, thinking)
        .await;
    let is_stored = stored.is_ok();
    match stored {
        Ok(()) => {
            heed_window(back, session).await;
            change(move |s| {
                *s = wish;
                // what goes with one model says nothing about the others
                if s.models.get(&s.model).and_then(|own| own.window) == Some(s.window) {
                    s.window = general.window;
                }
            });
            back.state.activity.set(Activity::Quiet);
        }
        Err(error) => failed(back, &error),
    }
    show_all(back).await;
    list(back).await;
    want_vocabulary(Rc::clone(back));
    let now = session.head();
    if (&now.model, now.window) != (&head.model, head.window) {
        check_again();
    }
    is_stored
}

/// How replies of the open session choose their words.
pub fn sampling() -> Sampling {
    let session = back().and_then(|b| b.session());
    session.map_or_else(Sampling::default, |s| s.config().sampling)
}

/// The system message of the open session by its parts.
pub fn prompt_parts() -> PromptParts {
    let session = back().and_then(|b| b.session());
    session.map_or_else(PromptParts::default, |session| {
        let records = session.records();
        PromptParts {
            base: Some(records.system.clone()),
            mandates: Some(records.mandates.clone()),
            skills: Some(records.skills.clone()),
            checks: Some(records.checks.clone()),
        }
    })
}

/// What kind of work the open session is.
pub fn mode() -> Mode {
    let session = back().and_then(|b| b.session());
    session.map_or_else(Mode::default, |s| s.head().mode)
}

/// Another system message, another way to choose words, and another kind of work.
pub(crate) fn set_system(parts: PromptParts, sampling: Sampling, mode: Mode) {
    with_writer(move |back, session| async move {
        if let Err(error) = set_parts(&session, parts).await {
            failed(&back, &error);
        }
        if session.head().mode != mode
            && let Err(error) = session.set_mode(mode).await
        {
            failed(&back, &error);
        }
        let config = session.config();
        if config.sampling != sampling
            && let Err(error) = session.configure(Config { sampling, ..config }).await
        {
            failed(&back, &error);
        }
        show_all(&back).await;
    });
}

/// Changes the parts of the system message. Skills that were there are switched by their names, since what was said with one
/// that goes can go, too.
async fn set_parts(session: &Session, mut parts: PromptParts) -> Result<(), EngineError> {
    let before = session.records().skills.clone();
    let (mut on, mut off) = (Vec::new(), Vec::new());
    for skill in parts.skills.iter_mut().flatten() {
        let known = before.iter().find(|known| known.name == skill.name);
        if let Some(known) = known.filter(|known| known.active != skill.active) {
            let turned = if skill.active { &mut on } else { &mut off };
            turned.push(skill.name.clone());
            skill.active = known.active;
        }
    }
    session.set_prompt(parts).await?;
    if !on.is_empty() {
        session.activate_skills(&on).await?;
    }
    if !off.is_empty() {
        session.deactivate_skills(&off).await?;
    }
    Ok(())
}

/// Switches a skill of the open session on or off.
pub(crate) fn switch_skill(name: String, on: bool) {
    with_writer(move |back, session| async move {
        let names = [name];
        let switched = if on {
            session.activate_skills(&names).await
        } else {
            session.deactivate_skills(&names).await
        };
        if let Err(error) = switched {
            failed(&back, &error);
        }
        show_all(&back).await;
    });
}

/// Where the server's window is what it was started with, it holds for the session, too, if it is the smaller one.
async fn heed_window(back: &Rc<Back>, session: &Session) {
    let state = back.state;
    let resizes = state
        .settings
        .with_untracked(|s| matches!(s.server, Server::Ollama));
    if resizes || back.follower.get() {
        return;
    }
    let head = session.head();
    let listed = state.models.with_untracked(|all| {
        let there = all.iter().find(|m| m.name == head.model)?;
        there.loaded
    });
    let Some(listed) = listed else { return };
    // a smaller one was learned from a refusal, which knows better than a list
    let is_known = head.served.as_ref().is_some_and(|served| {
        served.model == head.model && served.provider == head.provider && served.window <= listed
    });
    if !is_known && let Err(error) = session.serve_window(Some(listed)).await {
        failed(back, &error);
    }
}

/// A session without a model takes the last chosen one, or the first there is. One that was made before the server told
/// whether its model thinks learns it.
/// Whether anything changed.
pub(crate) async fn give_model(back: &Rc<Back>, session: &Session) -> bool {
    let given = choose_for(back, session).await;
    let before = session.head().effective_window();
    heed_window(back, session).await;
    given || before != session.head().effective_window()
}

async fn choose_for(back: &Rc<Back>, session: &Session) -> bool {
    let state = back.state;
    let head = session.head();
    let new = head.model.is_empty();
    let Some(name) = (if new {
        usual_model(state)
    } else {
        Some(head.model)
    }) else {
        return false;
    };
    let thinking = thinks(state, &name).unwrap_or(head.thinking);
    if !new && (thinking == head.thinking || back.follower.get()) {
        return false;
    }
    let own = |s: &Settings| s.models.get(&name).and_then(|own| own.window);
    let own = state.settings.with_untracked(own).filter(|_| new);
    let window = own.unwrap_or(head.window);
    match session
        .set_model(&name, window, &head.policy, thinking)
        .await
    {
        Ok(()) => {
            show_head(back);
            show_window(back);
            true
        }
        Err(error) => {
            failed(back, &error);
            false
        }
    }
}
