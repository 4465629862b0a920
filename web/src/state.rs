//! The state of the page, in one place.
//!
//! Components read these signals and call [`crate::act`]; only `act` writes what comes from the
//! engine. Pure interface state (an open dialog, a typed filter) is written where it belongs.

use std::collections::BTreeMap;

use leptos::prelude::*;

use crate::settings::Settings;
use crate::view::budget::{Activity, Budget};
use crate::view::card::Card;
use crate::view::layer::LayerView;
use crate::view::model::{Check, Connection, ModelEntry};
use crate::view::sent::Sent;
use crate::view::session::SessionEntry;
use crate::view::thread::Entry;

/// Everything the page shows.
#[derive(Clone, Copy)]
pub struct AppState {
    /// The screen that is shown.
    pub screen: RwSignal<Screen>,
    /// All sessions.
    pub sessions: RwSignal<Vec<SessionEntry>>,
    /// Whether the list has been read.
    pub ready: RwSignal<bool>,
    /// The session that is open.
    pub open: RwSignal<Option<Open>>,
    /// Its thread, oldest first.
    pub thread: RwSignal<Vec<Entry>>,
    /// What its cards say, by number.
    pub cards: RwSignal<BTreeMap<u32, Card>>,
    /// Its layers, newest first.
    pub layers: RwSignal<Vec<LayerView>>,
    /// The layer that is being read.
    pub layer: RwSignal<Option<LayerView>>,
    /// Its window's budget.
    pub budget: RwSignal<Option<Budget>>,
    /// What is being done about the window.
    pub activity: RwSignal<Activity>,
    /// The next window, made when the lens asks for it.
    pub sent: RwSignal<Vec<Sent>>,
    /// Its pinned lines and constraints.
    pub pins: RwSignal<Vec<String>>,
    /// The reply that is being written.
    pub reply: RwSignal<Option<Reply>>,
    /// Its text so far.
    pub reply_text: RwSignal<String>,
    /// Its thinking so far.
    pub reply_thinking: RwSignal<String>,
    /// Tokens of the draft, estimated.
    pub draft_tokens: RwSignal<u32>,
    /// What goes into the message field next: a kept draft, or nothing.
    pub draft: RwSignal<String>,
    /// The models of the server.
    pub models: RwSignal<Vec<ModelEntry>>,
    /// Whether it answers.
    pub connection: RwSignal<Connection>,
    /// What the connection doctor found.
    pub checks: RwSignal<Vec<Check>>,
    /// What the person chose.
    pub settings: RwSignal<Settings>,
    /// The API key for this tab.
    pub key: RwSignal<String>,
    /// How messages are kept.
    pub storage: RwSignal<Storage>,
    /// Something that must not be missed, above the thread.
    pub notice: RwSignal<Option<Notice>>,
    /// What a screen reader hears.
    pub status: RwSignal<String>,
    /// Short notes at the foot of the page.
    pub toasts: RwSignal<Vec<Toast>>,
    /// The dialog that is open.
    pub dialog: RwSignal<Option<Dialog>>,
    /// The notes are open as a sheet, where they have no column.
    pub notes: RwSignal<bool>,
    /// The lens of the context screen.
    pub lens: RwSignal<Lens>,
    /// The part of the settings that is shown.
    pub tab: RwSignal<Tab>,
}

impl AppState {
    /// A page with nothing open.
    pub fn new(settings: Settings) -> Self {
        let key = settings.key.clone();
        Self {
            screen: RwSignal::new(Screen::Chat),
            sessions: RwSignal::default(),
            ready: RwSignal::new(false),
            open: RwSignal::new(None),
            thread: RwSignal::default(),
            cards: RwSignal::default(),
            layers: RwSignal::default(),
            layer: RwSignal::new(None),
            budget: RwSignal::new(None),
            activity: RwSignal::default(),
            sent: RwSignal::default(),
            pins: RwSignal::default(),
            reply: RwSignal::new(None),
            reply_text: RwSignal::default(),
            reply_thinking: RwSignal::default(),
            draft_tokens: RwSignal::new(0),
            draft: RwSignal::default(),
            models: RwSignal::default(),
            connection: RwSignal::default(),
            checks: RwSignal::default(),
            settings: RwSignal::new(settings),
            key: RwSignal::new(key),
            storage: RwSignal::default(),
            notice: RwSignal::new(None),
            status: RwSignal::default(),
            toasts: RwSignal::default(),
            dialog: RwSignal::new(None),
            notes: RwSignal::new(false),
            lens: RwSignal::new(Lens::Overlay),
            tab: RwSignal::new(Tab::Connection),
        }
    }

    /// The state, from any component.
    pub fn here() -> Self {
        expect_context()
    }

    /// Says something to a screen reader.
    pub fn say(&self, text: impl Into<String>) {
        self.status.set(text.into());
    }
}

/// The screens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Screen {
    /// The open session.
    Chat,
    /// Its context.
    Context,
    /// All sessions.
    Library,
    /// Settings.
    Settings,
}

impl Screen {
    /// The part of the address after `#`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Context => "context",
            Self::Library => "library",
            Self::Settings => "settings",
        }
    }

    /// The screen of an address; the session when it is none.
    pub fn of(hash: &str) -> Self {
        match hash.trim_start_matches('#') {
            "context" => Self::Context,
            "library" => Self::Library,
            "settings" => Self::Settings,
            _ => Self::Chat,
        }
    }
}

/// The session that is open.
#[derive(Debug, Clone, PartialEq)]
pub struct Open {
    /// Its identifier.
    pub id: String,
    /// Its title; empty until it has one.
    pub title: String,
    /// Its model; empty until one is chosen.
    pub model: String,
    /// Its window in tokens.
    pub window: u32,
    /// Its system prompt.
    pub system: String,
    /// Messages so far.
    pub messages: u32,
    /// This tab reads along; another one writes.
    pub follower: bool,
}

/// A reply that is being written.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The model's name.
    pub name: String,
    /// The place it will have.
    pub seq: u32,
    /// Tokens so far, estimated, at most four times a second.
    pub tokens: u32,
}

/// The lens of the context screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lens {
    /// What was said.
    Said,
    /// Both.
    Overlay,
    /// What the model sees.
    Sees,
}

/// The parts of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    /// The model server.
    Connection,
    /// Model, window, layers.
    Model,
    /// Colours and language.
    Appearance,
    /// Keys.
    Shortcuts,
}

/// A dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dialog {
    /// A new title for a session.
    Rename {
        /// Which.
        id: String,
        /// Its title now.
        title: String,
    },
    /// The system prompt of the open session.
    System,
    /// Choosing a file to import.
    Import,
    /// The text of [`AppState::layer`].
    Layer,
    /// Another window size.
    Window,
    /// Another model.
    Model,
}

/// How messages are kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Storage {
    /// Bytes used, if the browser says.
    pub used: Option<f64>,
    /// Bytes there are, if the browser says.
    pub quota: Option<f64>,
    /// The browser promised not to clear them.
    pub persistent: bool,
    /// They only live in memory.
    pub memory: bool,
}

/// A note above the thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// Nothing can be stored here.
    Memory,
    /// Saving failed: why.
    Saving(String),
    /// A reply failed: why.
    Reply(String),
}

/// A short note at the foot of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toast {
    /// What keeps its element.
    pub id: u32,
    /// What it says.
    pub text: String,
    /// What can be taken back.
    pub undo: Option<Undo>,
    /// It tells of a failure.
    pub bad: bool,
}

/// What a toast takes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undo {
    /// The deletion of a session.
    Delete {
        /// Which.
        id: String,
        /// Its title.
        title: String,
    },
    /// The last compaction, although the window before is over its limit.
    EvenIfOver,
}
