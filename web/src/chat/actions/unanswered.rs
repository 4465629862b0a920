//! A question without an answer: what had arrived of it is shown, and the reply can be asked for.

use palimpsest_core::message::Role;
use palimpsest_engine::Session;

use crate::state::{AppState, Notice};

/// A question without an answer, as after a reload in the middle of one: what had arrived is shown, and the reply can be
/// asked for.
pub(crate) fn offer_reply(state: AppState, session: &Session) {
    if is_unanswered(session)
        && !session.is_replying()
        && state.notice.with_untracked(Option::is_none)
    {
        state.notice.set(Some(Notice::Open(arrived(session))));
    }
}

/// Whether the last message is a question without an answer.
pub(crate) fn is_unanswered(session: &Session) -> bool {
    let last = session.history(None, 1);
    last.first()
        .is_some_and(|item| item.message.role == Role::User)
}

/// What had arrived of the answer to the last question; empty if nothing did, or if it was answered.
pub(crate) fn arrived(session: &Session) -> String {
    let arrived = session.partial().filter(|_| is_unanswered(session));
    arrived.unwrap_or_default()
}

/// Takes away what was said about an answer that is missing.
pub(crate) fn forget_failure(state: AppState) {
    state.notice.update(|n| {
        if matches!(n, Some(Notice::Reply { .. } | Notice::Open(_))) {
            *n = None;
        }
    });
}
