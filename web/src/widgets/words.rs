//! The words for things that several features name: ages, levels, passes, policies, speakers, sessions, keys.

use leptos::prelude::window;
use palimpsest_core::policy::PassKind;

use crate::chat::data::thread::Who;
use crate::context::data::budget::Age;
use crate::library::data::kept::Kept;
use crate::library::data::session::SessionEntry;
use crate::text::{T, t};

/// The word for a layer's age.
pub fn age_name(age: Age) -> &'static str {
    match age {
        Age::Fresh => t(T::LayerFresh),
        Age::Aged => t(T::LayerAged),
        Age::Old => t(T::LayerOld),
        Age::Ancient => t(T::LayerAncient),
    }
}

/// The name of a pass: a verb for its effect on messages.
pub const fn pass_name(pass: PassKind) -> T {
    match pass {
        PassKind::Condense => T::PassCondense,
        PassKind::Dedupe => T::PassDedupe,
        PassKind::Strip => T::PassStrip,
        PassKind::Offload => T::PassOffload,
        PassKind::Summarize => T::PassSummarize,
        PassKind::Truncate => T::PassTruncate,
        PassKind::Fade => T::PassFade,
        PassKind::Emergency => T::PassEmergency,
        PassKind::Reasoning => T::PassReasoning,
        PassKind::Recall => T::PassRecall,
        PassKind::Earlier => T::PassEarlier,
    }
}

/// The name beside a message.
pub fn speaker(who: Who, name: &str) -> String {
    match who {
        Who::You => t(T::You).to_owned(),
        Who::Model | Who::Other if name.is_empty() => t(T::Imported).to_owned(),
        Who::Model | Who::Other => name.split(':').next().unwrap_or(name).to_owned(),
    }
}

/// A session's title, or the text in its place.
pub fn title_of(session: &SessionEntry) -> String {
    if session.title.is_empty() {
        t(T::Untitled).to_owned()
    } else {
        session.title.clone()
    }
}

/// A key combination as the system writes it.
pub fn shortcut(key: &str, shift: bool) -> String {
    let apple = window()
        .navigator()
        .user_agent()
        .is_ok_and(|agent| agent.contains("Mac OS"));
    match (apple, shift) {
        (true, true) => format!("⇧⌘{key}"),
        (true, false) => format!("⌘{key}"),
        (false, true) => format!("Ctrl ⇧ {key}"),
        (false, false) => format!("Ctrl {key}"),
    }
}

/// The warning about the place of the messages; `None` if all is well.
pub fn durability(kept: Kept) -> Option<&'static str> {
    match kept {
        Kept::Whole => None,
        Kept::Small => Some(t(T::StorageSmall)),
        Kept::Memory => Some(t(T::StorageMemory)),
    }
}
