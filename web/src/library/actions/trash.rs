//! Deleted sessions: brought back, or removed for good.

use palimpsest_engine::days_left;

use crate::act::{self, failed, list, note, open_now, with_engine};
use crate::app::data::address::Screen;
use crate::state::Trashed;
use crate::text::{T, fill, t};

/// The number of sessions that one look at the library removes for good. For each one, the others are searched for its
/// large texts.
const AT_ONCE: u32 = 8;

/// Lists deleted and damaged sessions again, and removes those for good that were deleted more than thirty days ago.
pub(crate) fn look_through() {
    with_engine(|back| async move {
        if let Err(error) = back.engine.purge_expired(AT_ONCE).await {
            return failed(&back, &error);
        }
        let found = (
            back.engine.deleted_sessions().await,
            back.engine.damaged_sessions().await,
        );
        let (deleted, damaged) = match found {
            (Ok(deleted), Ok(damaged)) => (deleted, damaged),
            (Err(error), _) | (_, Err(error)) => return failed(&back, &error),
        };
        let now = back.world.clock.now();
        let mut trash: Vec<Trashed> = deleted
            .into_iter()
            .map(|info| Trashed {
                days: info.head.deleted_at.map_or(0, |at| days_left(at, now)),
                id: info.id,
                title: info.head.title,
            })
            .collect();
        // The session that is removed next comes first.
        palimpsest_text::order::sort_by(&mut trash, |a, b| a.days.cmp(&b.days));
        back.state.trash.change(trash);
        back.state.damaged.change(damaged);
    });
}

/// Brings a deleted session back and shows it.
pub(crate) fn bring_back(id: String) {
    with_engine(|back| async move {
        if let Err(error) = back.engine.undelete(&id).await {
            return failed(&back, &error);
        }
        list(&back).await;
        look_through();
        let title = back.state.sessions.with_untracked(|all| {
            let found = all.iter().find(|s| s.id == id);
            found.map(|s| s.title.clone()).unwrap_or_default()
        });
        note(fill(T::Restored, &[&shown(&title)]), false);
    });
}

/// Opens a session whose head cannot be read: it is made anew, and stands in the lists from then on.
pub(crate) fn open_damaged(id: String) {
    with_engine(|back| async move {
        back.state.screen.change(Screen::Chat);
        open_now(&back, &id, false).await;
        list(&back).await;
    });
}

/// Removes a session for good.
pub(crate) fn purge(id: String, title: String) {
    with_engine(|back| async move {
        act::keep_draft(&id, "");
        match back.engine.purge(&id).await {
            Ok(purged) => {
                let said = fill(T::Purged, &[&shown(&title)]);
                let said = if purged.kept {
                    format!("{said} {}", t(T::EraseKept))
                } else {
                    said
                };
                note(said, purged.kept);
            }
            Err(error) => failed(&back, &error),
        }
        look_through();
        act::measure_storage();
    });
}

fn shown(title: &str) -> String {
    if title.is_empty() {
        t(T::Untitled).to_owned()
    } else {
        title.to_owned()
    }
}
