//! Which dialog is drawn by which feature, and the sheet of commands and keys.

use leptos::prelude::AnyView;

use crate::act;
use crate::chat::data::command::NAMES;
use crate::chat::view::edit;
use crate::context::view::snapshots::timeline;
use crate::context::view::{dialogs as context, goal, layers, pin};
use crate::library::view::{dialogs as sessions, save};
use crate::platform::el::el;
use crate::settings::view::settings::{KEYS, key_name};
use crate::settings::view::{dialogs as settings, system};
use crate::state::{AppState, Dialog};
use crate::text::{T, t};
use crate::widgets::dialog::frame;

/// A dialog.
pub fn dialog(dialog: Dialog) -> AnyView {
    let state = AppState::here();
    match dialog {
        Dialog::Rename { id, title } => sessions::rename(state, id, title),
        Dialog::System => system::system(state),
        Dialog::Import => sessions::import(state),
        Dialog::Layer => context::layer(state),
        Dialog::EditLayer => layers::edit(state),
        Dialog::RewriteLayer => layers::rewrite(state),
        Dialog::Cover { place } => layers::cover(state, place),
        Dialog::Window => settings::window_size(state),
        Dialog::Model => settings::model(state, T::ChooseModel, act::choose_model),
        Dialog::AgainWith => settings::model(state, T::RegenerateWith, act::regenerate_with),
        Dialog::Goal => goal::goal(state),
        Dialog::Save => save::save(state),
        Dialog::Pin => pin::typed(state),
        Dialog::PinSentences { place, text } => pin::sentences_of(state, place, text),
        Dialog::Edit { place, text } => edit::edit(state, place, text),
        Dialog::Lift => context::lift(state),
        Dialog::Compare => context::compare(state),
        Dialog::Preview => context::preview(state),
        Dialog::Snapshots => frame(state, t(T::Snapshots).to_owned(), timeline(state)),
        Dialog::OtherServer { server, address } => settings::other_server(state, server, address),
        Dialog::RemoveModel { name } => settings::remove_model(state, name),
        Dialog::Keys => keys(state),
        Dialog::Erase => sessions::erase(state),
    }
}

/// Commands and keys.
fn keys(state: AppState) -> AnyView {
    let row = |name: AnyView, what: &'static str| {
        el("div")
            .child(el("dt").child(name))
            .child(el("dd").child(what))
    };
    let commands = NAMES
        .into_iter()
        .map(|(name, what)| row(el("code").child(name).view(), t(what)));
    let keys = KEYS
        .into_iter()
        .map(|(key, what)| row(el("kbd").child(key_name(key)).view(), t(what)));
    let body = el("div")
        .class("keymap")
        .child(
            el("div")
                .child(el("h3").child(t(T::Commands)))
                .child(el("dl").class("facts").children(commands)),
        )
        .child(
            el("div")
                .child(el("h3").child(t(T::TabShortcuts)))
                .child(el("dl").class("facts").children(keys)),
        );
    frame(state, t(T::KeysTitle).to_owned(), body)
}
