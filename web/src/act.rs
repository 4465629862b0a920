//! Everything that a person can do. Every function here may be called from any view at any time: each
//! checks what it needs, says what went wrong, and leaves what was said untouched.
//!
//! The features meet here: a view calls an action, and an action of one feature calls one of another, by the names below.
//! [`parts`] lists what is loaded later, and everything else is in the page from its beginning or in the part that calls it.

pub(crate) mod back;
pub(crate) mod parts;

pub(crate) use back::{BACK, Back, Incoming, back, failed, now, with_engine, with_writer};
pub(crate) use parts::*;

// what views call at once
pub use crate::app::actions::address::{link, turn};
pub use crate::app::actions::begin::{end, expect_talk, start};
pub use crate::app::actions::hosted::changed_elsewhere;
pub use crate::app::actions::page::{drop_toast, go, look, note};
pub use crate::chat::actions::attachments::{address_of, detach, image_at, name_of};
pub use crate::chat::actions::branch::{last_said, words};
pub use crate::chat::actions::talk::{drafted, send, stop, unqueue};
pub use crate::context::actions::compaction::cancel_compaction;
pub use crate::context::actions::snapshots::look_back;
pub use crate::library::actions::library::found_line;
pub use crate::library::actions::sessions::{new_session, open, show_message};
pub use crate::settings::actions::model::{for_model, mode, prompt_parts, sampling};
pub use crate::settings::actions::settings::{
    change, load_settings, settings_elsewhere, switch_theme,
};

// what actions of another feature call
pub(crate) use crate::app::actions::address::{arrive, follow, present, settle};
pub(crate) use crate::app::actions::begin::{is_talk_expected, note_of};
pub(crate) use crate::app::actions::opening::Opening;
pub(crate) use crate::app::actions::page::{Progress, contents, toast};
pub(crate) use crate::app::actions::show::{heard, show_all, show_head, show_window};
pub(crate) use crate::chat::actions::removal::show_branch;
pub(crate) use crate::chat::actions::reply::take_in;
pub(crate) use crate::chat::actions::talk::{can_send, send_held, send_waiting};
pub(crate) use crate::chat::actions::unanswered::{arrived, forget_failure, offer_reply};
pub(crate) use crate::context::actions::compaction::{
    compact_now, summariser, tend, worked, working,
};
pub(crate) use crate::library::actions::sessions::{
    adopt, begins_with, create_now, leave_draft, list, open_now, opened, profiles_there,
    read_along, superseded, together,
};
pub(crate) use crate::log::actions::figures::forget_replay;
pub(crate) use crate::settings::actions::model::{give_model, take_model, thinks, usual_model};
pub(crate) use crate::settings::actions::parameters;
pub(crate) use crate::settings::actions::profiles::{load_profiles, take_profiles};
pub(crate) use crate::settings::actions::server::tokens_of;
pub(crate) use crate::settings::actions::settings::{
    forget_key, keep_draft, kept_draft, key_of, remember_key,
};
