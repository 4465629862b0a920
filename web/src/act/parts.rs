//! What a person can do, by when its code is loaded: what is not named here is there from the beginning.
//!
//! Everybody calls these functions as they are re-exported by `act`; only a part's own functions call each other directly,
//! since whoever names one of them takes its code along.

use std::rc::Rc;

use leptos::prelude::AnyView;
use palimpsest_browser::{HostTransport, Transport};
use palimpsest_core::goal::{GoalStatus, Priority};
use palimpsest_core::mode::Mode;
use palimpsest_engine::event::Event;
use palimpsest_engine::ports::{LocalFuture, Store};
use palimpsest_engine::session::{NewMessage, PromptParts};
use palimpsest_engine::{Engine, Profile, Sampling, Session};
use wasm_bindgen::JsValue;
use web_sys::{Element, File};

use super::Back;
use crate::app::actions::{begin, hosted, page};
use crate::chat::actions::{attachments, branch, removal, talk as saying};
use crate::context::actions::{compaction, layers, records, snapshots};
use crate::context::data::layer::Writer;
use crate::context::data::record::{GoalKind, NewLine};
use crate::library::actions::{
    import as files, library, sample, sessions, storage, temporary, trash,
};
use crate::library::data::export::Format;
use crate::library::data::hit::Place;
use crate::log::actions::figures;
use crate::markdown::{dom, math};
use crate::platform::later::{Door, part};
use crate::platform::{guest, host, tokenizer};
use crate::settings::Server;
use crate::settings::actions::{model, profiles, pull, server};
use crate::settings::data::connection::Connection;
use crate::state::{Dialog, Undo};
use crate::text::{self, learn};
use crate::tools::actions::calls::{self, Permission, Tools};
use crate::tools::actions::servers as tool_servers;

part! {
    /// German.
    german: German {
        /// Takes its texts.
        fn learn_german() = learn_german_now;
    }
}

fn learn_german_now() {
    learn(text::german);
}

part! {
    /// Markdown. It is there before a stored session is shown; a first visit does without it until somebody begins to do something.
    prose: Prose {
        answer {
            /// Writes a text into an element; its code is coloured if nothing more is coming.
            fn mark_up(element: Element, text: String, whole: bool) -> () = dom::write;
        }
    }
}

part! {
    /// Formulas. It is loaded for the first message that has one.
    formulas: Formulas {
        /// Sets the formulas of a message.
        fn set_formulas(message: Element) = math::set;
    }
}

/// Writes a text into an element; its code is coloured if nothing more is coming. Until the part is there, and where it could
/// not be loaded, the text stands as it is: nothing that was said is hidden.
pub(crate) fn write(element: Element, text: String, whole: bool) {
    if mark_up(element.clone(), text.clone(), whole).is_some() {
        return;
    }
    let Some(raw) = beside(&element) else { return };
    raw.set_class_name("verbatim");
    raw.set_text_content(Some(&text));
    let _ = element.append_child(&raw);
    prose().with(Box::new(move |part| {
        // a reply goes on while the part comes: what stands there now may be another text
        let (Some(parent), Some(written)) = (raw.parent_node(), beside(&raw)) else {
            return;
        };
        (part.mark_up)(written.clone(), text, whole);
        while let Some(child) = written.first_child() {
            let _ = parent.insert_before(&child, Some(&raw));
        }
        raw.remove();
    }));
}

/// A new element for the document of another one.
fn beside(element: &Element) -> Option<Element> {
    element.owner_document()?.create_element("div").ok()
}

part! {
    /// A model's vocabulary: a worker reads it, and the page counts with it.
    reader: Reader {
        answer {
            /// Counts with a vocabulary: see [`tokenizer::count_with`].
            fn count_with(engine: Engine, model: String, bytes: Vec<u8>) -> LocalFuture<'static, ()> = tokenizer::count_with;
            /// Brings a model's vocabulary: see [`tokenizer::bring`].
            fn bring(host: Option<HostTransport>, address: String, key: String, model: String) -> LocalFuture<'static, JsValue> =
                tokenizer::bring;
        }
    }
}

part! {
    /// What the page needs to be ready: the model server, a new session, storage. It is loaded once the page stands.
    wire: Wire {
        learns text::wire;
        /// Asks the model server what there is, and the doctor what is wrong.
        fn survey() = server::survey_now;
        /// The doctor's findings for another model or window.
        fn check_again() = server::check_again;
        /// A session that was opened gets what had arrived of a reply, its model and that model's vocabulary.
        fn settle_in(back: Rc<Back>, session: Session) = server::settle_in;
        /// A session gets its model and that model's vocabulary, once everything that had arrived is in it.
        fn equip(back: Rc<Back>, session: Session) = server::equip;
        /// Asks for the vocabulary of the open session's model, where it is to be had.
        fn want_vocabulary(back: Rc<Back>) = server::want_vocabulary;
        /// Reads every profile there is.
        fn reload_profiles(back: Rc<Back>) = profiles::reload_profiles;
        /// Looks how much is stored.
        fn measure() = storage::measure_now;
        /// Lets other pages count this one, and has what was deleted long ago removed.
        fn be_present(back: Rc<Back>) = begin::be_present;
        /// Writes here from now on; the other tab reads along.
        fn take_over() = sessions::take_over;
        answer {
            /// Makes a session and shows it, if it is still the last wish.
            fn create(back: Rc<Back>, wish: u32) -> LocalFuture<'static, ()> = sessions::create;
        }
        view {
            /// What stands in the notes.
            fn notes_inside() = crate::context::view::notes::inside;
            /// What to do when no model answers.
            fn offline(connection: Connection) = crate::app::view::session::offline;
        }
    }
}

part! {
    /// The host of an app that is a guest: its storage, its way to the server, its ear. A page of our own has none.
    guest: Guest {
        answer {
            /// The host hears of what happens to the open session.
            fn tell(event: &Event) -> () = guest::tell;
            /// The storage of a host, if it brings one.
            fn hosted_store() -> Option<Rc<dyn Store>> = guest::storage;
            /// The host's way to the model server, if it brings one.
            fn host_transport() -> Option<Rc<dyn Transport>> = guest::shared_transport;
        }
    }
}

part! {
    /// Stores for a browser that refuses the best one.
    spare: Spare {
        answer {
            /// A store that is gone with the tab.
            fn memory_store() -> Rc<dyn Store> = host::memory;
            /// That store, with one beside it that is gone with the tab: for temporary sessions.
            fn memory_beside(stored: Rc<dyn Store>) -> Rc<dyn Store> = host::memory_beside;
            /// A store for little.
            fn small_store() -> Option<Rc<dyn Store>> = host::small;
        }
    }
}

part! {
    /// The conversation: replies and compactions. It is loaded when somebody begins to do something, or has a session already.
    talk: Talk {
        learns text::talk;
        /// Says something, or has the last question answered.
        fn say(back: Rc<Back>, session: Session, message: Option<NewMessage>) = saying::say_now;
        /// Asks the model server, with a question to the open session's model at the end: it is loaded with the session's window.
        fn try_model() = server::try_model;
        /// Removes what was deleted long ago.
        fn sweep(back: Rc<Back>) = begin::sweep;
        /// Does what is due after a reply or another limit.
        fn tended(back: Rc<Back>, session: Session) = compaction::tended;
        /// Stores what had arrived of a reply when the page ended. Then the session settles in.
        fn keep_arrived(back: Rc<Back>, session: Session) = saying::keep_arrived_now;
        /// Copies a text.
        fn copy(text: String) = page::copy;
        /// Takes text files and images along with the next message.
        fn attach(files: Vec<File>) = attachments::attach;
        /// Asks for the reply again after a failure.
        fn retry() = saying::retry;
        fn keep_part() = saying::keep_part;
        /// Has the last reply written again; the present one stays on its branch.
        fn regenerate() = branch::regenerate;
        /// The same by another model, which the session has from then on.
        fn regenerate_with(model: String) = branch::regenerate_with;
        /// Has the model go on with the last reply, which is not whole.
        fn continue_reply() = branch::continue_reply;
        /// Says something else in place of the message with the number `place`. What followed stays on its branch.
        fn resend(place: u32, text: String) = branch::resend;
        /// Shows the branch `by` steps beside that of the message with the number `place`.
        fn flip(place: u32, by: i32) = branch::flip;
        /// Makes the window smaller because a person asked, with an eye on `focus`.
        fn compact(focus: String) = compaction::compact;
        /// Has a layer written again, by a model or the built-in summariser, with an eye on `focus`.
        fn rewrite_layer(id: u32, by: Writer, focus: String) = compaction::rewrite_layer;
        /// Makes a layer of the messages between two, both included.
        fn cover(from: u32, to: u32, by: Writer) = compaction::cover;
        /// Takes the last compaction back. Where the window before does not fit, the note names the choices and
        /// offers to show it all the same.
        fn undo() = compaction::undo;
        /// The same, although the window before is over its limit.
        fn undo_even_if_over() = compaction::undo_even_if_over;
        answer {
            /// Does something with the open session for a host: see [`hosted::asked`].
            fn asked(what: String, given: String) -> LocalFuture<'static, String> = hosted::asked;
        }
        view {
            /// The card of a compaction. A first visit has none.
            fn card(number: u32) = crate::context::view::card::card;
            /// The list of files and images that go with the next message.
            fn attached_inside() = crate::chat::view::attached::attached;
            /// The reply that comes in.
            fn incoming() = crate::chat::view::reply::reply;
        }
    }
}

part! {
    /// Tools, and the search in other sessions, which is not a part of its own because every part makes the page larger. It is loaded
    /// where a tool server stands in the settings or other sessions are remembered, or when its part of the settings is looked at.
    toolbox: Toolbox {
        learns text::tools;
        /// Adds a tool server and asks what it offers. One that is known gets the key.
        fn add_tool_server(address: String, key: String) = tool_servers::add_tool_server;
        /// Forgets a tool server.
        fn drop_tool_server(address: String) = tool_servers::drop_tool_server;
        /// Offers the tools of a server no longer, or again.
        fn pause_tool_server(address: String, paused: bool) = tool_servers::pause_tool_server;
        /// Asks a server again what it offers.
        fn ask_tool_server(address: String) = tool_servers::ask_tool_server;
        /// Offers a tool, or leaves it out.
        fn offer_tool(address: String, tool: String, on: bool) = tool_servers::offer_tool;
        /// Lets a tool run without a question, or asks before each call.
        fn allow_tool(address: String, tool: String, on: bool) = tool_servers::allow_tool;
        /// Asks every server that is not paused what it offers, unless that is known.
        fn look_at_tools() = tool_servers::look_at_tools;
        /// Lets the model look up what was said, in the open session and in new ones, or no longer.
        fn offer_own_tools(on: bool) = tool_servers::offer_own_tools;
        /// A person answers the question about a call.
        fn decide_call(id: u32, permission: Permission) = calls::decide_call;
        answer {
            /// Quotes what was said in other sessions from now on.
            fn recall_others(engine: Engine) -> () = sessions::recall_others;
            /// The tools for the next message of a session: see [`calls::offered_tools`].
            fn offered_tools(session: Session) -> LocalFuture<'static, Option<Tools>> = calls::offered_tools;
        }
        view {
            /// The part of the settings about tools.
            fn tool_settings() = crate::tools::view::servers::tools;
            /// The tool calls of the open session's reply.
            fn calls_inside() = crate::tools::view::calls::calls;
        }
    }
}

part! {
    /// Everything beside the conversation: the screens, the dialogs, and what is done there.
    desk: Desk {
        learns text::screens;
        /// Begins a temporary session.
        fn begin_temporary() = temporary::begin_temporary;
        /// Stores the open session, which was temporary until now.
        fn keep_session() = temporary::keep_session;
        /// Opens a session at a message or a layer.
        fn open_at(id: String, place: Place) = sessions::open_at;
        /// Does what a command says.
        fn obey(text: String) = crate::chat::view::composer::obey;
        /// Another title, and other tags if some are given.
        fn rename(id: String, title: String, tags: Option<Vec<String>>) = sessions::rename;
        /// Deletes a session, until it is taken back.
        fn delete(id: String) = sessions::delete;
        /// Looks again which sessions are deleted or damaged; what was deleted long ago is removed for good.
        fn look_through_trash() = trash::look_through;
        /// Brings a deleted session back.
        fn bring_back(id: String) = trash::bring_back;
        /// Opens what is left of a session whose head cannot be read.
        fn open_damaged(id: String) = trash::open_damaged;
        /// Removes a deleted session for good.
        fn purge(id: String, title: String) = trash::purge;
        /// Saves what can be read of a session as a file.
        fn save_what_is_left(id: String) = library::save_what_is_left;
        /// Takes back what a toast told of.
        fn take_back(id: u32, undo: Undo) = sessions::take_back;
        /// Sets what is to be reached, with its priority and its status where they are given. Without words the goal goes.
        fn set_goal(text: String, rest: Option<(Priority, GoalStatus)>) = records::set_goal;
        /// Adds a line to the goal.
        fn add_goal_line(text: String, line: NewLine) = records::add_goal_line;
        /// Moves a line of the goal on: a milestone from open to begun to done and back, a decision's lock.
        fn turn_goal_item(id: u32, kind: GoalKind) = records::turn_goal_item;
        /// Takes a line out of the goal.
        fn remove_goal_item(id: u32) = records::remove_goal_item;
        /// Keeps lines word for word; as decisions if `decided`.
        fn pin(texts: Vec<String>, decided: bool) = records::pin;
        /// Takes a line out of the records. It stays in what was said.
        fn unpin(id: u32) = records::unpin;
        /// Pins a demand that was found in a message.
        fn confirm_demand(id: u32) = records::confirm_demand;
        /// Takes a proposal over into the goal, or turns it down for good.
        fn decide_proposal(id: u32, accept: bool) = records::decide_proposal;
        /// Does not wait for the summary model any longer: the deterministic summary is taken.
        fn skip_wait() = compaction::skip_wait;
        /// Goes on in a new session that starts from the layers and records of this one.
        fn roll_over() = sessions::roll_over;
        /// Remembers the present under a name, or without one.
        fn snapshot(name: String) = snapshots::snapshot;
        /// Goes back to a snapshot. What was said since stays; the present is remembered first, under that name if it is
        /// not empty, so that the way back is one click.
        fn restore(n: u32, present: String) = snapshots::restore;
        /// Removes a snapshot. Nothing that was said goes with it.
        fn delete_snapshot(n: u32) = snapshots::delete_snapshot;
        /// Takes a recalled quote out of the window. `from`: the session that it is from, if that is another one.
        fn forget_quote(place: u32, from: Option<String>) = records::forget_quote;
        /// Takes a layer off: what it covers is sent word for word again.
        fn lift(layer: u32, if_over: bool) = layers::lift;
        /// Asks before a layer is lifted: `number` is the one people see.
        fn ask_lift(number: u32) = layers::ask_lift;
        /// Has tool results sent whole again, of which the model was sent a reference.
        fn bring_results_back(places: Vec<u32>) = layers::bring_results_back;
        /// Keeps messages whole before the watermark, or no longer.
        fn anchor(from: u32, to: u32, on: bool) = layers::anchor;
        /// Sets the watermark at the present end of the conversation.
        fn mark_end() = layers::mark_end;
        /// Puts a person's words in place of a layer's text.
        fn edit_layer(id: u32, text: String) = layers::edit_layer;
        /// Opens a dialog about the layer that people see under that number.
        fn with_layer(number: u32, dialog: Dialog) = layers::with_layer;
        /// Opens the conversation that shows what the page does.
        fn open_sample() = sample::open_sample;
        /// Opens the text of a layer beside what it covers.
        fn compare(id: u32) = layers::compare;
        /// Opens the text of a layer.
        fn read_layer(id: u32) = layers::read_layer;
        /// Says what a compaction would do now. Asks no model.
        fn preview(focus: String) = compaction::preview;
        /// What the open session's window would be under another policy. The newest one asked for is shown.
        fn try_policy(text: String) = compaction::try_policy;
        /// Takes a file in: a conversation, several, or settings.
        fn import(file: File, take_system: bool) = files::import;
        /// Looks for words in everything there is.
        fn search(words: String) = library::search;
        /// Keeps a session at the top of the lists, or not.
        fn pin_session(id: String, pinned: bool) = library::pin_session;
        /// Makes a copy of a session.
        fn duplicate(id: String) = library::duplicate;
        /// Saves the open session as a file.
        fn export_session(format: Format) = library::export_session;
        /// Saves everything as a file.
        fn export_all() = library::export_all;
        /// Saves settings and profiles as a file, without keys.
        fn export_settings() = library::export_settings;
        /// Deletes everything.
        fn erase() = library::erase;
        /// Reads the log and the figures of the open session.
        fn load_log() = figures::load_log;
        /// Saves the log as Markdown.
        fn save_log() = figures::save_log;
        /// Saves the request that the next message would be sent with.
        fn save_request() = figures::save_request;
        /// Saves the system message.
        fn save_system() = figures::save_system;
        /// Goes through the session again under other policies.
        fn replay(policies: Vec<String>, window: u32) = figures::replay;
        /// Takes the messages between two numbers, both included, out of the conversation. They stay on their branch.
        fn remove_messages(first: u32, last: u32) = removal::remove_messages;
        /// Copies the next window as the JSON it is sent as.
        fn copy_window() = page::copy_window;
        /// Another system message, another way to choose words, and another kind of work.
        fn set_system(parts: PromptParts, sampling: Sampling, mode: Mode) = model::set_system;
        /// Switches a skill of the open session on or off.
        fn switch_skill(name: String, on: bool) = model::switch_skill;
        /// Another model.
        fn choose_model(name: String) = model::choose_model;
        /// Another window.
        fn choose_window(tokens: u32) = model::choose_window;
        /// Another policy, by its name or as JSON; for a model that has one of its own, it gets this one.
        fn choose_policy(text: String) = model::choose_policy;
        /// Other tokens kept for the answer, in this session and in new ones; `None` as fits the window.
        fn choose_reserve(tokens: Option<u32>) = model::choose_reserve;
        /// Another share of its denominator at which the policy acts, in percent.
        fn compact_at(percent: u32) = model::compact_at;
        /// Works out what a new session would begin with.
        fn preview_new() = model::preview_new;
        /// Whether the policy of the open session goes with its model from now on.
        fn policy_for_model(on: bool) = model::policy_for_model;
        /// The open session, and new ones, take over the settings of a profile; without a name it keeps those it has.
        fn use_profile(name: Option<String>) = profiles::use_profile;
        /// Keeps a profile under that name, and the open session takes it over.
        fn save_profile(name: String, profile: Profile) = profiles::save_profile;
        /// Forgets a profile. The sessions that used it keep their settings.
        fn remove_profile(name: String) = profiles::remove_profile;
        /// Another address.
        fn connect(address: String) = server::connect;
        /// Another kind of server, at its usual address unless one was typed.
        fn choose_server(server: Server) = server::choose_server;
        /// Keeps the file of a model for the model in the page.
        fn add_model(file: File) = server::add_model;
        /// Removes the files of models that were added.
        fn drop_models() = server::drop_models;
        /// Has the server in use download a model.
        fn pull_model(name: String) = pull::pull_model;
        /// Stops that download.
        fn stop_pull() = pull::stop_pull;
        /// Removes a model from the server in use.
        fn remove_model(name: String) = pull::remove_model;
        /// A place for one more server.
        fn add_place() = server::add_place;
        /// Another kind or address for one that is not in use; it is examined if it has an address.
        fn edit_place(at: usize, server: Server, address: String) = server::edit_place;
        /// Another server is used from now on.
        fn use_place(at: usize) = server::use_place;
        /// Asks the servers that are not in use for their models.
        fn look_elsewhere() = server::look_elsewhere;
        /// The open session gets a model of another server, which is used from now on.
        fn choose_elsewhere(at: usize, name: String) = server::choose_elsewhere;
        /// Another server is used from now on, which a file of settings named.
        fn use_server(server: Server, address: String) = server::use_server;
        /// Forgets a server that is not in use.
        fn drop_place(at: usize) = server::drop_place;
        /// Another key for this tab, and for the settings if it is kept there.
        fn set_key(key: String) = server::set_key;
        /// Keeps the key in the settings, or takes it out of them.
        fn keep_key(keep: bool) = server::keep_key;
        /// Asks the browser not to clear what is stored.
        fn persist() = storage::persist;
        /// Looks again at how much is stored, at the vocabularies, and at the other pages.
        fn measure_storage() = storage::measure_storage;
        /// Measures one session after the other, as long as the library is shown. What was not written since is not read
        /// again.
        fn measure_sessions() = storage::measure_sessions;
        /// Reads everything back, and says whether it is as it was written.
        fn check_integrity() = storage::check_integrity;
        answer {
            /// Something of the open session for a host: see [`hosted::told`].
            fn told(what: String, before: Option<u32>, limit: u32) -> Option<String> = hosted::told;
        }
        view {
            /// What of the open session cannot be read, line by line.
            fn losses() = crate::library::view::storage::losses;
            /// The screen of layers.
            fn context_screen() = crate::context::view::context::context;
            /// The screen of all sessions.
            fn library_screen() = crate::library::view::library::library;
            /// The screen of settings.
            fn settings_screen() = crate::settings::view::settings::settings;
            /// The screen of the log.
            fn log_screen() = crate::log::view::figures::log;
            /// The screen of replays.
            fn replay_screen() = crate::log::view::figures::replay;
            /// A dialog.
            fn dialog(dialog: Dialog) = crate::app::view::dialog::dialog;
        }
    }
}
