//! The state of the page, in one place.
//!
//! Views read these signals and call [`crate::act`]; only actions write what comes from the
//! engine. Pure interface state (an open dialog, a typed filter) is written where it belongs.

use std::cell::Cell;

use palimpsest_core::analytics::Analytics;
use palimpsest_core::budget::MarkReport;
use palimpsest_core::message::{Part, Seq};
use palimpsest_core::replay::ReplayReport;
use palimpsest_engine::session::LogEntry;
use palimpsest_engine::{Fault, Profile};
use palimpsest_text::sorted::SortedMap;

use crate::app::data::address::Screen;
use crate::chat::data::sent::Sent;
use crate::chat::data::thread::Entry;
use crate::context::data::budget::{Activity, Budget};
use crate::context::data::card::Card;
use crate::context::data::layer::LayerView;
use crate::context::data::record::{
    GoalView, PinView, PreviewView, ProposalView, QuoteView, SnapshotView, TriedView, TrustView,
};
use crate::library::data::hit::{Hits, Scope};
use crate::library::data::kept::Kept;
use crate::library::data::session::SessionEntry;
use crate::library::data::stored::{Integrity, Sizes};
use crate::platform::signal::Signal;
use crate::settings::data::connection::{Check, Connection, ModelEntry, Pull};
use crate::settings::data::key::Key;
use crate::settings::{Server, Settings};
use crate::text::T;

thread_local! {
    static STATE: Cell<Option<AppState>> = const { Cell::new(None) };
    /// The state of a page that is gone, for whoever still asks for one: everything in it is empty.
    static GONE: Cell<Option<AppState>> = const { Cell::new(None) };
}

/// Everything the page shows.
#[derive(Clone, Copy)]
pub struct AppState {
    /// The screen that is shown.
    pub screen: Signal<Screen>,
    /// All sessions.
    pub sessions: Signal<Vec<SessionEntry>>,
    /// Whether the list has been read.
    pub ready: Signal<bool>,
    /// The session that is open.
    pub open: Signal<Option<Open>>,
    /// Its thread, oldest first.
    pub thread: Signal<Vec<Entry>>,
    /// What its cards say, by number.
    pub cards: Signal<SortedMap<u32, Card>>,
    /// Its layers, newest first.
    pub layers: Signal<Vec<LayerView>>,
    /// The layer that is being read.
    pub layer: Signal<Option<LayerView>>,
    /// Its window's budget.
    pub budget: Signal<Option<Budget>>,
    /// What is being done about the window.
    pub activity: Signal<Activity>,
    /// The next window, made when the lens asks for it.
    pub sent: Signal<Vec<Sent>>,
    /// Its goal.
    pub goal: Signal<Option<GoalView>>,
    /// Its pinned lines, decisions and constraints.
    pub pins: Signal<Vec<PinView>>,
    /// Changes of the goal that a summary proposed: number and sentence.
    pub proposals: Signal<Vec<ProposalView>>,
    /// Demands that the person seems to make, oldest first: number and words.
    pub asked: Signal<Vec<(u32, String)>>,
    /// How far it can be trusted after its compactions; nothing while it was not compacted.
    pub trust: Signal<Option<TrustView>>,
    /// Its snapshots, newest first.
    pub snapshots: Signal<Vec<SnapshotView>>,
    /// Passages quoted for the last question.
    pub quotes: Signal<Vec<QuoteView>>,
    /// What a compaction would do.
    pub preview: Signal<Option<PreviewView>>,
    /// What the policy that is being edited would do.
    pub tried: Signal<Option<TriedView>>,
    /// A message that is not sent yet.
    pub waiting: Signal<Option<Waiting>>,
    /// Text files that go with the next message: name and text.
    pub attached: Signal<Vec<Attached>>,
    /// The beginning of a command in the message field; empty while none is typed.
    pub command: Signal<String>,
    /// The message that the thread is to show; 0 for none.
    pub jump: Signal<u32>,
    /// The messages by which the focus is to move on in the thread; negative towards its beginning.
    pub steps: Signal<i32>,
    /// What is looked for in the library, and what was found.
    pub hits: Signal<Option<Hits>>,
    /// Where it is looked for.
    pub scope: Signal<Scope>,
    /// What the sessions take in the store.
    pub sizes: Signal<Sizes>,
    /// The check of what is stored, once somebody has asked for it.
    pub integrity: Signal<Integrity>,
    /// The reply that is being written.
    pub reply: Signal<Option<Reply>>,
    /// Its text so far.
    pub reply_text: Signal<String>,
    /// Its thinking so far.
    pub reply_thinking: Signal<String>,
    /// The number of tool calls of replies that wait for a person, or run, in any session.
    pub calls: Signal<u32>,
    /// Tokens of the draft, estimated.
    pub draft_tokens: Signal<u32>,
    /// What goes into the message field next: a kept draft, or nothing.
    pub draft: Signal<String>,
    /// The models of the server.
    pub models: Signal<Vec<ModelEntry>>,
    /// Whether it answers.
    pub connection: Signal<Connection>,
    /// What the connection doctor found.
    pub checks: Signal<Vec<Check>>,
    /// The same of servers that are not in use, by their addresses.
    pub visited: Signal<SortedMap<String, Vec<Check>>>,
    /// The models of servers that are not in use, by their addresses; `None` for one that does not answer.
    pub elsewhere: Signal<SortedMap<String, Option<Vec<ModelEntry>>>>,
    /// The download of a model that runs or has failed.
    pub pull: Signal<Option<Pull>>,
    /// What the person chose.
    pub settings: Signal<Settings>,
    /// The API key for this tab.
    pub key: Signal<Key>,
    /// How messages are kept.
    pub storage: Signal<Storage>,
    /// Something that must not be missed, above the thread.
    pub notice: Signal<Option<Notice>>,
    /// What a screen reader hears.
    pub status: Signal<String>,
    /// Short notes at the foot of the page.
    pub toasts: Signal<Vec<Toast>>,
    /// The dialog that is open.
    pub dialog: Signal<Option<Dialog>>,
    /// What of the open session cannot be read.
    pub losses: Signal<Vec<Fault>>,
    /// Deleted sessions that can be brought back.
    pub trash: Signal<Vec<Trashed>>,
    /// Sessions that are in no list, because their head cannot be read.
    pub damaged: Signal<Vec<String>>,
    /// The notes are open as a sheet, where they have no column.
    pub notes: Signal<bool>,
    /// The open session's log and what its tools take, as last read.
    pub figures: Signal<Option<Figures>>,
    /// A replay of the open session.
    pub replayed: Signal<Option<Replayed>>,
    /// Its watermark, if there is one or its policy sets some.
    pub mark: Signal<Option<MarkReport>>,
    /// The messages that stay whole before it, by their numbers.
    pub anchors: Signal<Vec<u32>>,
    /// The lens of the context screen.
    pub lens: Signal<Lens>,
    /// The part of the settings that is shown.
    pub tab: Signal<Tab>,
    /// What a new session would begin with, and how many turns there are room for.
    pub fresh: Signal<Option<(Budget, Option<u32>)>>,
    /// Settings that several sessions share, by name.
    pub profiles: Signal<SortedMap<String, Profile>>,
}

impl AppState {
    /// The name of the open session's model, which is followed; empty without one.
    pub fn model(self) -> String {
        self.open
            .with(|open| open.as_ref().map(|o| o.model.clone()))
            .unwrap_or_default()
    }

    /// The tokens of the files that go with the next message.
    pub fn attached_tokens(self) -> u32 {
        let sum = |all: &Vec<Attached>| all.iter().map(|one| one.tokens).sum();
        self.attached.with_untracked(sum)
    }

    /// A page with nothing open.
    pub fn new(settings: Settings) -> Self {
        let key = settings.in_use().own_key();
        Self {
            screen: Signal::new(Screen::Chat),
            sessions: Signal::default(),
            ready: Signal::new(false),
            open: Signal::new(None),
            thread: Signal::default(),
            cards: Signal::default(),
            layers: Signal::default(),
            layer: Signal::new(None),
            budget: Signal::new(None),
            activity: Signal::default(),
            sent: Signal::default(),
            goal: Signal::default(),
            pins: Signal::default(),
            proposals: Signal::default(),
            asked: Signal::default(),
            trust: Signal::default(),
            snapshots: Signal::default(),
            quotes: Signal::default(),
            preview: Signal::default(),
            tried: Signal::default(),
            waiting: Signal::default(),
            attached: Signal::default(),
            command: Signal::default(),
            jump: Signal::new(0),
            steps: Signal::new(0),
            hits: Signal::default(),
            scope: Signal::default(),
            sizes: Signal::default(),
            integrity: Signal::default(),
            reply: Signal::new(None),
            reply_text: Signal::default(),
            reply_thinking: Signal::default(),
            calls: Signal::default(),
            draft_tokens: Signal::new(0),
            draft: Signal::default(),
            models: Signal::default(),
            connection: Signal::default(),
            checks: Signal::default(),
            visited: Signal::default(),
            elsewhere: Signal::default(),
            pull: Signal::default(),
            fresh: Signal::default(),
            settings: Signal::new(settings),
            key: Signal::new(key),
            storage: Signal::default(),
            notice: Signal::new(None),
            status: Signal::default(),
            toasts: Signal::default(),
            dialog: Signal::new(None),
            losses: Signal::new(Vec::new()),
            trash: Signal::new(Vec::new()),
            damaged: Signal::new(Vec::new()),
            notes: Signal::new(false),
            figures: Signal::default(),
            replayed: Signal::default(),
            mark: Signal::default(),
            anchors: Signal::default(),
            lens: Signal::new(Lens::Overlay),
            tab: Signal::new(Tab::Connection),
            profiles: Signal::default(),
        }
    }

    /// Makes this the page's state.
    pub fn remember(self) {
        STATE.set(Some(self));
    }

    /// The page's state, if it has begun.
    pub fn remembered() -> Option<Self> {
        STATE.get()
    }

    /// The page is gone. Its signals go with the owner they were made under.
    pub fn forget() {
        GONE.set(STATE.take());
    }

    /// Whether the page that it was of is gone.
    pub fn is_gone(self) -> bool {
        self.ready.is_gone()
    }

    /// The state, from any component.
    pub fn here() -> Self {
        Self::remembered().or(GONE.get()).unwrap_or_else(|| {
            let none = Self::new(Settings::default());
            GONE.set(Some(none));
            none
        })
    }

    /// Says something to a screen reader.
    pub fn say(&self, text: impl Into<String>) {
        self.status.set(text.into());
    }
}

/// What was done to the open session's window.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// Every change of the window, oldest first.
    pub log: Vec<LogEntry>,
    /// What each tool takes.
    pub analytics: Analytics,
}

/// A replay of the open session, as far as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    /// The figures of the policies that were played.
    pub report: ReplayReport,
    /// The window they were played in, in tokens.
    pub window: u32,
    /// How many policies there are.
    pub of: u32,
    /// All were played.
    pub done: bool,
    /// Why one could not be.
    pub failed: String,
}

/// A file or an image that goes with the next message.
#[derive(Debug, Clone, PartialEq)]
pub struct Attached {
    /// The part of the message.
    pub part: Part,
    /// Its tokens, counted when it was attached.
    pub tokens: u32,
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
    /// Its policy.
    pub policy: String,
    /// The profile that its settings came from; empty without one.
    pub profile: String,
    /// Its system prompt, with the rules and checks beside it.
    pub system: String,
    /// Its skills, and which of them are switched on.
    pub skills: Vec<(String, bool)>,
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
    /// The unfinished reply that it goes on with, which is shown in it.
    pub instead: Option<u32>,
    /// Tokens so far, estimated, at most four times a second.
    pub tokens: u32,
    /// While the message waits for the window to be made smaller: the seconds after which it waits for no model.
    pub waits: Option<u32>,
}

/// The lens of the context screen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lens {
    /// What was said.
    Said,
    /// Both.
    #[default]
    Overlay,
    /// What the model sees.
    Sees,
}

/// The parts of the settings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tab {
    /// The model server.
    #[default]
    Connection,
    /// Model and window.
    Model,
    /// When and how a window is made smaller.
    Compaction,
    /// Tool servers.
    Tools,
    /// Colours and language.
    Appearance,
    /// What is kept here, and files of it.
    Data,
    /// Keys.
    Shortcuts,
}

/// A deleted session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trashed {
    /// Its identifier.
    pub id: String,
    /// Its title; empty until it has one.
    pub title: String,
    /// Days in which it can still be brought back.
    pub days: u32,
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
    /// A person's own words in place of the text of [`AppState::layer`].
    EditLayer,
    /// Who writes [`AppState::layer`] again, and with an eye on what.
    RewriteLayer,
    /// Which messages a new layer covers.
    Cover {
        /// The number of the last one, as it is offered.
        place: u32,
    },
    /// Another window size.
    Window,
    /// Another model.
    Model,
    /// The goal.
    Goal,
    /// The open session as a file: in which form.
    Save,
    /// The model that writes the last reply again.
    AgainWith,
    /// A line to keep word for word.
    Pin,
    /// Sentences of a message to keep word for word.
    PinSentences {
        /// Its number.
        place: u32,
        /// Its words.
        text: String,
    },
    /// Other words in place of a message.
    Edit {
        /// Its number.
        place: u32,
        /// Its words now.
        text: String,
    },
    /// Lifting [`AppState::layer`], with its price.
    Lift,
    /// [`AppState::layer`] beside what it covers.
    Compare,
    /// [`AppState::preview`].
    Preview,
    /// Snapshots of the open session.
    Snapshots,
    /// A file of settings names another model server than the one in use.
    OtherServer {
        /// Its kind.
        server: Server,
        /// Its address.
        address: String,
    },
    /// Removing a model from the server in use.
    RemoveModel {
        /// Its name.
        name: String,
    },
    /// Commands and keys.
    Keys,
    /// Erasing everything.
    Erase,
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
    /// Where they are kept.
    pub kept: Kept,
    /// Other pages of this browser that show palimpsest, if that can be known.
    pub others: Option<u32>,
}

/// A message that is not sent yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Its words.
    pub text: String,
    /// What it waits for.
    pub until: Until,
}

/// The moment at which a message that waits is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// The reply or the compaction that runs is over.
    Free,
    /// The session that was asked for is open.
    Open,
}

impl Until {
    /// The text that tells of it.
    pub const fn told(self) -> T {
        match self {
            Self::Free => T::Waits,
            Self::Open => T::WaitsForOpening,
        }
    }
}

/// A note above the thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// Messages are not kept as well as they should be.
    Kept(Kept),
    /// Saving failed: why.
    Saving(String),
    /// A reply failed: why, and what had arrived of it, if anything.
    Reply {
        /// Why it failed.
        why: String,
        /// What had arrived.
        arrived: String,
    },
    /// The last question has no answer: what had arrived of one when the page went, if anything.
    Open(String),
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
    /// A layer, although what it covers is over the limit.
    LiftAll {
        /// Which.
        layer: u32,
    },
    /// The last change of the window.
    Window,
    /// Messages were taken out of the conversation: back to the branch with them.
    Branch {
        /// Its last message.
        tip: Seq,
    },
    /// A restored snapshot: back to the one of the present.
    Restore {
        /// Which.
        n: u32,
    },
}
