//! The session's own settings: model, window, policy, system prompt.

use std::rc::Rc;

use palimpsest_engine::Session;

use super::{
    Back, back, change, failed, list, show_all, show_head, show_window, tend, want_vocabulary,
    with_engine,
};
use crate::settings::{ModelSettings, Settings, Think};
use crate::state::AppState;
use crate::view::budget::Activity;

/// The model of new sessions: the one chosen last if it is there, else the first there is.
pub(super) fn usual_model(state: AppState) -> Option<String> {
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
pub(super) fn thinks(state: AppState, model: &str) -> Option<bool> {
    let chosen = state
        .settings
        .with_untracked(|s| s.models.get(model).and_then(|own| own.think));
    state.models.with_untracked(|all| {
        let there = all.iter().find(|m| m.name == model)?;
        Some(there.can("thinking") && chosen != Some(Think::Off))
    })
}

/// Another model.
pub fn choose_model(name: String) {
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
pub fn choose_window(tokens: u32) {
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
pub fn choose_policy(text: String) {
    remodel(move |s| {
        if let Some(own) = s.model_policies.get_mut(&s.model) {
            own.clone_from(&text);
        }
        s.policy = text;
    });
}

/// Whether the policy of the open session goes with its model from now on.
pub fn policy_for_model(on: bool) {
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
    with_engine(|back| async move {
        let Some(session) = back.writer() else {
            return;
        };
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
        match session
            .set_model(&wish.model, wish.window, &wish.policy, thinking)
            .await
        {
            Ok(()) => {
                change(move |s| {
                    *s = wish;
                    // what goes with one model says nothing about the others
                    if s.models.get(&s.model).and_then(|own| own.window) == Some(s.window) {
                        s.window = general.window;
                    }
                });
                back.state.activity.set(Activity::Quiet);
            }
            Err(error) => failed(&back, &error),
        }
        show_all(&back).await;
        list(&back).await;
        want_vocabulary(&back);
        tend(&back, &session).await;
    });
}

/// Another system prompt.
pub fn set_system(text: String) {
    with_engine(|back| async move {
        let Some(session) = back.writer() else {
            return;
        };
        if let Err(error) = session.set_system(&text).await {
            failed(&back, &error);
        }
        show_all(&back).await;
    });
}

/// A session without a model takes the last chosen one, or the first there is. One that was made before the server told
/// whether its model thinks learns it.
pub(super) async fn give_model(back: &Rc<Back>, session: &Session) {
    let state = back.state;
    let head = session.head();
    let new = head.model.is_empty();
    let Some(name) = (if new {
        usual_model(state)
    } else {
        Some(head.model)
    }) else {
        return;
    };
    let thinking = thinks(state, &name).unwrap_or(head.thinking);
    if !new && (thinking == head.thinking || back.follower.get()) {
        return;
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
        }
        Err(error) => failed(back, &error),
    }
}
