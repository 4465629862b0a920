//! The models of an Ollama server: one is downloaded to it, or removed from it.

use std::cell::RefCell;

use leptos::task::spawn_local;
use palimpsest_core::request::ModelError;
use palimpsest_engine::ports::Abort;
use palimpsest_ollama::pull::Progress;

use crate::act::{note, survey};
use crate::server;
use crate::settings::data::connection::Pull;
use crate::state::AppState;
use crate::text::{T, fill};

thread_local! {
    /// Ends the download that is running.
    static STOP: RefCell<Abort> = RefCell::default();
}

/// Has the server download a model, and lists its models anew. One download runs at a time.
pub(crate) fn pull_model(name: String) {
    let Some(state) = AppState::remembered() else {
        return;
    };
    let model = name.trim().to_owned();
    let is_running = state
        .pull
        .with_untracked(|pull| pull.as_ref().is_some_and(|pull| pull.failed.is_none()));
    if model.is_empty() || is_running {
        return;
    }
    let stop = Abort::new();
    let signal = stop.signal();
    STOP.set(stop);
    let show = move |model: &str, progress: Progress, failed: Option<String>| {
        state.pull.change(Some(Pull {
            model: model.to_owned(),
            done: progress.done as f64,
            total: progress.total as f64,
            failed,
        }));
    };
    show(&model, Progress::default(), None);
    spawn_local(async move {
        let heard = |progress| show(&model, progress, None);
        match server::pull(state, &model, signal, heard).await {
            Ok(()) => {
                state.pull.set(None);
                state.say(fill(T::Pulled, &[&model]));
                survey();
            }
            Err(ModelError::Aborted) => state.pull.set(None),
            Err(error) => show(&model, Progress::default(), Some(sentence(&model, &error))),
        }
    });
}

/// The reason why a model did not come. Ollama has no code for a name that its library does not know.
fn sentence(model: &str, error: &ModelError) -> String {
    match error {
        ModelError::ServerFailed { message } | ModelError::BadRequest { message }
            if message.contains("file does not exist") =>
        {
            fill(T::PullUnknown, &[model])
        }
        error => fill(T::PullFailed, &[model, &error.to_string()]),
    }
}

/// Stops the download. What has arrived stays on the server, so the next attempt goes on there.
pub(crate) fn stop_pull() {
    STOP.with_borrow(Abort::abort);
}

/// Removes a model from the server.
pub(crate) fn remove_model(model: String) {
    let Some(state) = AppState::remembered() else {
        return;
    };
    spawn_local(async move {
        match server::remove(state, &model).await {
            Ok(()) => state.say(fill(T::ModelRemoved, &[&model])),
            Err(error) => note(
                fill(T::ModelNotRemoved, &[&model, &error.to_string()]),
                true,
            ),
        }
        survey();
    });
}
