//! From the open session to the signals of the page.

use std::rc::Rc;

use palimpsest_core::layer::Layer;
use palimpsest_core::sorted::SortedMap;
use palimpsest_engine::Session;
use palimpsest_engine::event::Event;
use palimpsest_engine::rows::RevisionRow;

use crate::act::{Back, note, tell, worked, working};
use crate::chat::data::bind::{sent, thread};
use crate::chat::data::thread::place;
use crate::context::actions::records;
use crate::context::data::bind;
use crate::context::data::card::Card;
use crate::platform::guest;
use crate::state::{Lens, Open};
use crate::text::{T, fill, number};

/// Shows everything of the open session in one tick: it reads all data before it shows any.
pub(crate) async fn show_all(back: &Rc<Back>) {
    let Some(session) = back.session() else {
        return;
    };
    let story = story(&session).await;
    if back.session().is_none_or(|s| s.id() != session.id()) {
        return;
    }
    show_head(back);
    show_window(back);
    records::show(back);
    show_thread(back, &session, &story);
}

/// The data for a session's cards: its revisions, and the layers that they wrote.
async fn story(session: &Session) -> (Vec<RevisionRow>, SortedMap<u32, Layer>) {
    let rows = session.revisions().await.unwrap_or_default();
    let mut written: SortedMap<u32, Layer> = SortedMap::new();
    for id in rows.iter().filter_map(|r| r.report.as_ref()?.layer) {
        if let Ok(layer) = session.layer(id).await {
            written.insert(id, (*layer).clone());
        }
    }
    (rows, written)
}

/// Title, model, window, records.
pub(crate) fn show_head(back: &Back) {
    let Some(session) = back.session() else {
        return;
    };
    let head = session.head();
    let records = session.records();
    let mut system = records.system.clone();
    for more in [&records.mandates, &records.checks] {
        if !system.is_empty() && !more.is_empty() {
            system.push_str("\n\n");
        }
        system.push_str(more);
    }
    let open = Open {
        id: session.id().to_owned(),
        title: head.title,
        model: head.model,
        window: head.window,
        policy: head.policy,
        profile: head.profile.unwrap_or_default(),
        system,
        skills: records
            .skills
            .iter()
            .map(|one| (one.name.clone(), one.active))
            .collect(),
        messages: head.last_seq.map_or(0, place),
        follower: back.follower.get(),
    };
    back.state.open.change(Some(open));
    back.state.losses.change(session.losses());
}

/// Budget, layers and the window itself.
pub(crate) fn show_window(back: &Back) {
    let Some(session) = back.session() else {
        return;
    };
    let state = back.state;
    let mut layers: Vec<_> = session.layers().iter().map(|l| bind::layer(l)).collect();
    let report = session.budget();
    state.budget.change(Some(bind::budget(&report, &layers)));
    state.mark.change(report.watermark);
    let context = session.context();
    let anchors = context.view().anchors.iter();
    state
        .anchors
        .change(anchors.map(|seq| place(*seq)).collect());
    layers.reverse();
    state.layers.change(layers);
    if state.lens.get_untracked() == Lens::Sees {
        state.sent.change(sent(&session.window()));
    }
}

/// Messages and cards.
fn show_thread(
    back: &Back,
    session: &Session,
    (rows, written): &(Vec<RevisionRow>, SortedMap<u32, Layer>),
) {
    let state = back.state;
    let head = session.head();
    let limit = session.budget().limit;
    let mut cards: SortedMap<u32, Card> = SortedMap::new();
    let mut places = Vec::new();
    let standing = bind::standing(&session.records());
    for (after, card) in bind::cards(rows, head.revision, written, limit, standing) {
        places.push((after, card.number));
        cards.insert(card.number, card);
    }
    let mut passing = back.passing.borrow_mut();
    passing.retain(|number, _| !cards.contains_key(number));
    for (number, (after, card)) in passing.iter() {
        places.push((*after, *number));
        cards.insert(*number, card.clone());
    }
    drop(passing);
    let items = session.history(None, usize::MAX);
    state.cards.change(cards);
    let costs = back.costs.borrow();
    let entries = thread(&items, &head.model, &places, &costs);
    drop(costs);
    state.thread.change(entries);
}

/// Handles an event of the engine.
pub(crate) fn heard(back: &Rc<Back>, event: &Event) {
    if guest::is_guest() {
        tell(event);
    }
    match event {
        Event::BudgetChanged { .. } => show_window(back),
        Event::Compressing { stage, written, of } => working(
            back,
            bind::stage(*stage),
            (*of > 0).then_some((*written, *of)),
        ),
        Event::Compressed { .. } => worked(back, true),
        Event::CompressionSkipped { .. } | Event::CompressionError { .. } => worked(back, false),
        Event::PromptTruncated { sent, read } => {
            note(fill(T::Truncated, &[&number(*sent), &number(*read)]), true);
        }
        Event::Warning { message, .. } => note(message.clone(), true),
        _ => {}
    }
}
