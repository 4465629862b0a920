//! Saying something again: regenerate, edit and resend, go from branch to branch. Nothing is removed.

use std::rc::Rc;

use palimpsest_engine::Session;

use crate::act::{
    self, Back, failed, forget_failure, list, note, offer_reply, show_all, take_model, with_engine,
    with_writer,
};
use crate::chat::actions::attachments::attached_to;
use crate::chat::actions::talk::{Turn, talk};
use crate::chat::data::thread::{self, Block, Entry, Who};
use crate::platform::page;
use crate::state::AppState;
use crate::text::{T, t};

/// Has the last reply written again; the present one stays on its branch.
pub(crate) fn regenerate() {
    with_writer(|back, session| async move { again(&back, &session).await });
}

/// The same by another model, which the session has from then on.
pub(crate) fn regenerate_with(model: String) {
    with_writer(|back, session| async move {
        // the reply that is there stays where the model could not be taken
        if !session.is_replying() && take_model(&back, &session, model).await {
            again(&back, &session).await;
        }
    });
}

async fn again(back: &Rc<Back>, session: &Session) {
    if session.is_replying() || !act::can_send(back) {
        return;
    }
    match session.rewind_to_last_user().await {
        Ok(_) => {
            show_all(back).await;
            talk(back, session, Turn::Waits).await;
        }
        Err(error) => failed(back, &error),
    }
}

/// Has the model go on with the last reply, which is not whole.
pub(crate) fn continue_reply() {
    with_engine(|back| async move {
        if let Some(session) = back.writer()
            && !session.is_replying()
            && act::can_send(&back)
        {
            talk(&back, &session, Turn::GoesOn).await;
        }
    });
}

/// Says something else in place of the message with the number `place`. What followed stays on its branch.
pub(crate) fn resend(place: u32, text: String) {
    with_writer(move |back, session| async move {
        if text.trim().is_empty() || session.is_replying() {
            return;
        }
        if !act::can_send(&back) {
            return;
        }
        // what was attached goes with the new words
        let said = session.history(Some(place), 1).pop();
        let attached = said.map_or_else(Vec::new, |said| attached_to(&said.message.parts));
        match session.rewind_before(place.saturating_sub(1)).await {
            Ok(()) => {
                show_all(&back).await;
                let mut new = palimpsest_engine::session::NewMessage::user(text);
                new.parts.extend(attached);
                talk(&back, &session, Turn::Says(new)).await;
            }
            Err(error) => failed(&back, &error),
        }
    });
}

/// Shows the branch `by` steps beside that of the message with the number `place`.
pub(crate) fn flip(place: u32, by: i32) {
    with_writer(move |back, session| async move {
        if session.is_replying() {
            return note(t(T::BusyReplying).to_owned(), true);
        }
        let seq = place.saturating_sub(1);
        let all = session.siblings(seq);
        let Some(to) = all
            .iter()
            .position(|s| *s == seq)
            .and_then(|at| at.checked_add_signed(by as isize))
            .and_then(|at| all.get(at))
        else {
            return;
        };
        match session.switch_to(*to).await {
            Ok(()) => forget_failure(back.state),
            Err(error) => failed(&back, &error),
        }
        show_all(&back).await;
        list(&back).await;
        offer_reply(back.state, &session);
        page::focus(&format!("[data-seq='{}'] .flip button", thread::place(*to)));
    });
}

/// The last message of the person: its number and its words.
pub fn last_said(state: AppState) -> Option<(u32, String)> {
    state.thread.with_untracked(|all| {
        all.iter().rev().find_map(|entry| match entry {
            Entry::Message(m) if m.who == Who::You => Some((m.seq, words(&m.blocks))),
            _ => None,
        })
    })
}

/// The text of a message.
pub fn words(blocks: &[Block]) -> String {
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|b| match b {
            Block::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n\n")
}
