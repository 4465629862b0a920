//! Making the window smaller: by hand, after a reply, its card, and taking it back.

use std::rc::Rc;

use leptos::task::spawn_local;
use palimpsest_core::run::{Refusal, Scope};
use palimpsest_engine::Session;
use palimpsest_engine::error::EngineError;
use palimpsest_engine::ports::{Signal, StoreError};
use palimpsest_engine::session::{CompactOptions, Compacted, IfOver};

use crate::act::{
    Back, back, failed, list, note, parameters, send_waiting, show_all, show_head, toast,
    with_engine, with_writer,
};
use crate::chat::data::thread::{Entry, place};
use crate::context::data::bind;
use crate::context::data::budget::Activity;
use crate::context::data::card::{Card, Stage, State};
use crate::context::data::layer::Writer;
use crate::context::data::record::{PreviewView, Takes};
use crate::platform::page;
use crate::settings::data::connection::Connection;
use crate::state::{Dialog, Undo};
use crate::text::{T, fill, number, t};

/// The number the next layer will have, and the place its card takes.
fn next_card(session: &Session) -> (u32, u32) {
    let number = session.context().view().compactions + 1;
    (number, session.head().last_seq.map_or(0, place))
}

fn put_card(back: &Back, number: u32, after: u32, card: Card) {
    let there = back
        .state
        .cards
        .with_untracked(|cards| cards.contains_key(&number));
    back.passing
        .borrow_mut()
        .insert(number, (after, card.clone()));
    back.state.cards.update(|cards| {
        cards.insert(number, card);
    });
    if !there {
        back.state
            .thread
            .update(|all| all.push(Entry::Card(number)));
    }
}

/// The card of the run that works now.
pub(crate) fn working(back: &Back, stage: Stage, progress: Option<(u32, u32)>) {
    let Some(session) = back.session() else {
        return;
    };
    let (number, after) = next_card(&session);
    let budget = session.budget();
    let at = back
        .passing
        .borrow()
        .get(&number)
        .map_or_else(|| back.world.clock.now(), |(_, card)| card.at);
    let state = State::Working {
        stage,
        progress,
        before: budget.used.tokens,
        expected: budget.target.min(budget.used.tokens),
    };
    back.state.activity.set(Activity::Writing(number));
    put_card(back, number, after, Card { number, at, state });
}

/// A run is over, whoever began it: the bar says no longer that it works. A card of a run that wrote nothing goes.
pub(crate) fn worked(back: &Back, wrote: bool) {
    let state = back.state;
    if matches!(state.activity.get_untracked(), Activity::Writing(_)) {
        state.activity.set(Activity::Quiet);
    }
    if !wrote {
        let working = |card: &Card| matches!(card.state, State::Working { .. });
        back.passing
            .borrow_mut()
            .retain(|_, (_, card)| !working(card));
    }
}

/// Makes the window smaller because a person asked, with an eye on `focus`.
pub(crate) fn compact(focus: String) {
    with_writer(|back, session| async move {
        if session.message_count() == 0 {
            // no card: the page of an empty session stays
            return note(t(T::CompactsNothing).to_owned(), false);
        }
        // The card of a compaction tells of every other outcome.
        if let Err(error @ EngineError::Busy(_)) = compact_now(&back, focus).await {
            note(error.to_string(), true);
        }
    });
}

/// Makes a layer of the messages between two, both included.
pub(crate) fn cover(from: u32, to: u32, by: Writer) {
    with_writer(move |back, session| async move {
        let (Some(from), Some(to)) = (from.checked_sub(1), to.checked_sub(1)) else {
            return;
        };
        let options = CompactOptions {
            scope: Scope::Range { from, to },
            manual: true,
            ..writer(&back, by)
        };
        back.manual.set(true);
        // what became of it is on its card
        let _ = run(&back, &session, options).await;
        back.manual.set(false);
        send_waiting(&back, &session);
    });
}

/// Has a layer written again, by a model or the built-in summariser, with an eye on `focus`.
pub(crate) fn rewrite_layer(id: u32, by: Writer, focus: String) {
    with_writer(move |back, session| async move {
        let options = CompactOptions {
            focus: Some(focus).filter(|f| !f.is_empty()),
            ..writer(&back, by)
        };
        if by == Writer::Model && options.model.is_none() {
            return note(t(T::RewriteNoModel).to_owned(), true);
        }
        let (passing, _) = next_card(&session);
        back.manual.set(true);
        let done = session.rewrite_layer(id, options, Signal::never()).await;
        back.manual.set(false);
        // its progress was shown on a card; the layer it wrote has one already
        back.passing.borrow_mut().remove(&passing);
        if back.shows(&session) {
            back.state.activity.set(Activity::Quiet);
            show_all(&back).await;
        }
        list(&back).await;
        match done {
            Ok(done) => {
                let (before, after) = (done.report.before, done.report.after);
                let text = fill(T::LayerRewritten, &[&number(before), &number(after)]);
                back.state.say(text.clone());
                toast(&back, text, Some(Undo::Window), false);
            }
            Err(EngineError::Refused(Refusal::ModelFailed)) => {
                note(t(T::RewriteFailed).to_owned(), true);
            }
            Err(error) => failed(&back, &error),
        }
        send_waiting(&back, &session);
    });
}

/// Who writes, as a person chose.
fn writer(back: &Back, by: Writer) -> CompactOptions {
    match by {
        Writer::Model => summariser(back),
        Writer::BuiltIn => CompactOptions::default(),
    }
}

/// The same, with what became of it.
pub(crate) async fn compact_now(
    back: &Rc<Back>,
    focus: String,
) -> Result<Option<Compacted>, EngineError> {
    let Some(session) = back.writer() else {
        return Err(StoreError::Busy.into());
    };
    if session.is_compacting() {
        return Err(EngineError::Busy("a compaction"));
    }
    let focus = Some(focus).filter(|f| !f.is_empty());
    let options = CompactOptions {
        focus,
        manual: true,
        ..summariser(back)
    };
    back.manual.set(true);
    let done = run(back, &session, options).await;
    back.manual.set(false);
    send_waiting(back, &session);
    done
}

/// The automatic run after a reply, if it is due.
pub(crate) async fn tend(back: &Rc<Back>, session: &Session) {
    if !back.state.settings.with_untracked(|s| s.automatic) || session.is_compacting() {
        return;
    }
    if !session.is_due() {
        // a quiet moment: a layer that was cut without a model is written again by one
        if let Ok(Some(_)) = session.rest(summariser(back), Signal::never()).await
            && back.shows(session)
        {
            show_all(back).await;
        }
        rest(back, session);
        return;
    }
    let options = CompactOptions {
        manual: false,
        ..summariser(back)
    };
    // what became of it is on its card
    let _ = run(back, session, options).await;
}

/// Looks again once the conversation has rested for as long as its policy says. Only the newest wait counts: each look begins one.
fn rest(back: &Rc<Back>, session: &Session) {
    let wait = back.rests.get().wrapping_add(1);
    back.rests.set(wait);
    let Some(ms) = session.until_idle() else {
        return;
    };
    let (back, id) = (Rc::clone(back), session.id().to_owned());
    page::after(i32::try_from(ms).unwrap_or(i32::MAX), move || {
        let session = back.writer().filter(|s| s.id() == id);
        if let Some(session) = session.filter(|_| back.rests.get() == wait) {
            tended(back, session);
        }
    });
}

/// Does what is due after a reply or another limit, in its own time.
pub(crate) fn tended(back: Rc<Back>, session: Session) {
    spawn_local(async move { tend(&back, &session).await });
}

/// Who writes layers, as the settings say: a model, or nobody if none answers.
pub(crate) fn summariser(back: &Back) -> CompactOptions {
    let state = back.state;
    let own = back.session().map(|s| s.head().model).unwrap_or_default();
    let name = state
        .settings
        .with_untracked(|s| s.summary_model_for(&own).to_owned());
    let connected = state
        .connection
        .with_untracked(|c| *c == Connection::Connected);
    if name == "-" || !connected {
        return CompactOptions::default();
    }
    let model = if name.is_empty() { own } else { name };
    if model.is_empty() {
        return CompactOptions::default();
    }
    CompactOptions {
        model: Some(parameters::model(state)),
        model_name: Some(model),
        ..CompactOptions::default()
    }
}

async fn run(
    back: &Rc<Back>,
    session: &Session,
    options: CompactOptions,
) -> Result<Option<Compacted>, EngineError> {
    let state = back.state;
    let began = back.world.clock.now();
    let (number, after) = next_card(session);
    let manual = options.manual;
    let result = if manual {
        session.compact(options, Signal::never()).await.map(Some)
    } else {
        session.tend(options, Signal::never()).await
    };
    if !back.shows(session) {
        // Its card is made from its story when it is opened again.
        list(back).await;
        return result;
    }
    state.activity.set(Activity::Quiet);
    let card = |state| Card {
        number,
        at: began,
        state,
    };
    match &result {
        Ok(Some(done)) => {
            if session.is_stuck() {
                state.activity.set(Activity::Stuck);
            }
            let report = &done.report;
            let mut said = fill(
                T::StatusCompacted,
                &[
                    &number_of(report.before),
                    &number_of(report.after),
                    &number_of(report.freed()),
                ],
            );
            if !report.released.is_empty() {
                let released = number_of(report.released.len() as u32);
                said.push(' ');
                said.push_str(&fill(T::StatusReleased, &[&released]));
            }
            state.say(said);
            // who typed /compact sees it, not only hears it
            if manual {
                note(state.status.get_untracked(), false);
            }
        }
        Ok(None) => {
            back.passing.borrow_mut().remove(&number);
        }
        Err(error) => {
            let why = error.to_string();
            match error {
                EngineError::CannotShrink { .. } => {
                    state.activity.set(Activity::Stuck);
                    put_card(
                        back,
                        number,
                        after,
                        card(State::Skipped { why: why.clone() }),
                    );
                }
                EngineError::Refused(Refusal::Cancelled) | EngineError::Busy(_) => {
                    back.passing.borrow_mut().remove(&number);
                }
                EngineError::Refused(_) if manual => put_card(
                    back,
                    number,
                    after,
                    card(State::Skipped { why: why.clone() }),
                ),
                EngineError::Refused(_) => {
                    back.passing.borrow_mut().remove(&number);
                }
                _ => put_card(
                    back,
                    number,
                    after,
                    card(State::Failed { why: why.clone() }),
                ),
            }
            state.say(fill(T::StatusNothing, &[&why]));
        }
    }
    show_all(back).await;
    list(back).await;
    result
}

fn number_of(n: u32) -> String {
    number(n)
}

/// Stops the run that works now. Nothing changes.
pub fn cancel_compaction() {
    if let Some(session) = back().and_then(|b| b.session()) {
        session.cancel_compaction();
    }
}

/// Takes the last compaction back. Where the window before does not fit, the note names the choices and
/// offers to show it all the same.
pub(crate) fn undo() {
    with_engine(|back| async move { undo_now(&back, IfOver::Refuse).await });
}

/// The same, although the window before is over its limit.
pub(crate) fn undo_even_if_over() {
    with_engine(|back| async move { undo_now(&back, IfOver::Show).await });
}

/// The number of the newest layer, as the page shows it.
fn newest_layer(session: &Session) -> Option<u32> {
    session.layers().iter().map(|layer| layer.number).max()
}

async fn undo_now(back: &Rc<Back>, if_over: IfOver) {
    let Some(session) = back.writer() else {
        return;
    };
    let before = newest_layer(&session);
    match session.undo_with(if_over).await {
        Ok(()) => {
            show_all(back).await;
            list(back).await;
            let tokens = number(session.budget().used.tokens);
            let gone = before.filter(|_| newest_layer(&session) != before);
            back.state.say(match gone {
                Some(layer) => fill(T::StatusUndone, &[&layer.to_string(), &tokens]),
                None => fill(T::StatusWindowUndone, &[&tokens]),
            });
        }
        Err(error @ EngineError::WouldNotFit { .. }) => {
            back.state.say(error.to_string());
            toast(back, error.to_string(), Some(Undo::EvenIfOver), true);
        }
        Err(error) => failed(back, &error),
    }
}

/// Describes the compaction that would happen now. It asks no model.
pub(crate) fn preview(focus: String) {
    with_engine(move |back| async move {
        let Some(session) = back.session() else {
            return;
        };
        let wish = Some(focus.clone()).filter(|f| !f.is_empty());
        match session.preview(wish) {
            Ok(plan) => {
                let asked = summariser(&back).model.is_some() && plan.covered_tokens > 0;
                let takes = match session.summary_seconds(&plan) {
                    _ if !asked => Takes::Nothing,
                    Some(seconds) => Takes::Seconds(seconds),
                    None => Takes::Unknown,
                };
                back.state.preview.set(Some(PreviewView {
                    takes,
                    ..bind::preview(&plan, &focus)
                }));
                back.state.dialog.set(Some(Dialog::Preview));
            }
            Err(error) => note(fill(T::StatusNothing, &[&error.to_string()]), true),
        }
        show_head(&back);
    });
}

/// Shows the window of the open session under another policy. Only the newest request counts.
pub(crate) fn try_policy(text: String) {
    with_engine(|back| async move {
        let tried = back.session().map(|s| s.preview_with(&text));
        back.state.tried.change(match tried {
            Some(Ok((budget, plan))) => back
                .state
                .layers
                .with_untracked(|layers| Some(bind::tried(&budget, layers, plan.as_ref()))),
            Some(Err(_)) | None => None,
        });
    });
}

/// Does not wait for the summary model any longer: the deterministic summary is taken.
pub(crate) fn skip_wait() {
    with_engine(|back| async move {
        if let Some(session) = back.session() {
            session.skip_wait();
        }
    });
}
