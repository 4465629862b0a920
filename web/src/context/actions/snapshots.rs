//! Snapshots: the present under a name, and the way back to it.

use palimpsest_core::message::Message;

use crate::act::{
    self, failed, forget_failure, list, note, offer_reply, show_all, toast, with_writer,
};
use crate::chat::data::thread::place;
use crate::context::actions::records::show;
use crate::state::Undo;
use crate::text::{T, fill, number, t};

/// Remembers the present under a name, or without one.
pub(crate) fn snapshot(name: String) {
    with_writer(move |back, session| async move {
        let name = if name.trim().is_empty() {
            t(T::SnapshotUnnamed).to_owned()
        } else {
            name.trim().to_owned()
        };
        match session.snapshot(&name).await {
            Ok(_) => note(fill(T::SnapshotTaken, &[&name]), false),
            Err(error) => failed(&back, &error),
        }
        show(&back);
    });
}

/// Describes the result of going back to the place after message `tip`: the number of newer messages, and the last
/// messages there with their numbers.
pub fn look_back(tip: u32) -> (u32, Vec<(u32, String)>) {
    let Some(session) = act::back().and_then(|b| b.session()) else {
        return (0, Vec::new());
    };
    let there = session.look_back(tip.checked_sub(1), 2);
    let words = |m: &Message| {
        let words = m.words();
        match words.char_indices().nth(240) {
            Some((end, _)) => format!("{}…", &words[..end]),
            None => words,
        }
    };
    let last = there.last.iter().map(|m| (place(m.seq), words(m)));
    (there.newer, last.collect())
}

/// Returns to a snapshot. Later messages stay. A snapshot of the present is taken first, under that name if it is not
/// empty, so the way back is one click.
pub(crate) fn restore(n: u32, present: String) {
    with_writer(move |back, session| async move {
        match session.restore_as(n, &present).await {
            Ok(()) => {
                let present = session.snapshots().last().map(|s| s.n);
                forget_failure(back.state);
                show_all(&back).await;
                list(&back).await;
                offer_reply(back.state, &session);
                let text = fill(
                    T::SnapshotRestored,
                    &[&number(session.message_count() as u32)],
                );
                back.state.say(text.clone());
                toast(&back, text, present.map(|n| Undo::Restore { n }), false);
            }
            Err(error) => failed(&back, &error),
        }
    });
}

/// Removes a snapshot. Nothing that was said goes with it.
pub(crate) fn delete_snapshot(n: u32) {
    with_writer(move |back, session| async move {
        if let Err(error) = session.delete_snapshot(n).await {
            failed(&back, &error);
        }
        show(&back);
    });
}
