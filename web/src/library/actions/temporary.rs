//! Temporary sessions: they are in memory alone, until the tab closes or somebody keeps them.

use palimpsest_engine::is_temporary;

use crate::act::{
    adopt, begins_with, failed, go, keep_draft, list, memory_beside, note, open_now, opened,
    profiles_there, spare, with_engine, with_writer,
};
use crate::app::data::address::Screen;
use crate::platform::page;
use crate::text::{T, t};

/// Begins a temporary session.
pub(crate) fn begin_temporary() {
    with_engine(|back| async move {
        if !back.store.is_turned() {
            spare().wait().await;
            let Some(both) = memory_beside(back.store.now()) else {
                return note(t(T::PartMissing).to_owned(), true);
            };
            back.store.turn_to(both);
        }
        let wish = back.wish_to_open();
        profiles_there(&back).await;
        match back.engine.create_temporary(begins_with(&back)).await {
            Ok(session) => {
                if back.wishes(wish) {
                    adopt(&back, session, false).await;
                }
                list(&back).await;
            }
            Err(error) => failed(&back, &error),
        }
        opened(&back, wish);
        go(Screen::Chat);
        page::next_frame(|| page::focus("#msg"));
    });
}

/// Stores the open session, which was temporary until now.
pub(crate) fn keep_session() {
    with_writer(|back, session| async move {
        if session.is_replying() || back.manual.get() {
            return note(t(T::BusyReplying).to_owned(), true);
        }
        let id = session.id().to_owned();
        // a second click
        if !is_temporary(&id) {
            return;
        }
        match back.engine.keep(&id).await {
            Ok(kept) => {
                keep_draft(&kept, &page::value("#msg"));
                let files = back.state.attached.get_untracked();
                back.state.attached.set(Vec::new());
                back.unsent.borrow_mut().insert(kept.clone(), files);
                open_now(&back, &kept, false).await;
                // what is left of it is gone with the tab
                let _ = back.engine.purge(&id).await;
                list(&back).await;
                note(t(T::SessionKept).to_owned(), false);
            }
            Err(error) => failed(&back, &error),
        }
    });
}
