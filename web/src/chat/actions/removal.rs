//! Taking messages out of the conversation. Nothing that was said is removed.

use palimpsest_core::message::Seq;

use crate::act::{failed, forget_failure, list, note, offer_reply, show_all, toast, with_writer};
use crate::platform::page;
use crate::state::Undo;
use crate::text::{T, t};

/// Takes the messages with the numbers from `first` to `last` out of the conversation. They stay on their branch, and the
/// note offers to show it again.
pub(crate) fn remove_messages(first: u32, last: u32) {
    with_writer(move |back, session| async move {
        if session.is_replying() {
            return note(t(T::BusyReplying).to_owned(), true);
        }
        let Some(tip) = session.head().tip else {
            return;
        };
        let (from, to) = (first.saturating_sub(1), last.saturating_sub(1));
        match session.remove_messages(from, to).await {
            Ok(_) => {
                forget_failure(back.state);
                toast(
                    &back,
                    t(T::MessageRemoved).to_owned(),
                    Some(Undo::Branch { tip }),
                    false,
                );
            }
            Err(error) => failed(&back, &error),
        }
        show_all(&back).await;
        list(&back).await;
        offer_reply(back.state, &session);
        page::focus("#msg");
    });
}

/// Shows the branch that ends with that message.
pub(crate) fn show_branch(tip: Seq) {
    with_writer(move |back, session| async move {
        if let Err(error) = session.switch_to(tip).await {
            failed(&back, &error);
        }
        show_all(&back).await;
        list(&back).await;
        offer_reply(back.state, &session);
    });
}
