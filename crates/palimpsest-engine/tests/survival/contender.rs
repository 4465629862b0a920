//! Who makes windows: ours, as a function for lists and as a session.

use std::rc::Rc;
use std::time::{Duration, Instant};

use futures_executor::block_on;
use palimpsest_core::budget::Segment;
use palimpsest_core::compact::{CompactOptions as ListOptions, CompactState, Compaction};
use palimpsest_core::context::{Context, Seed};
use palimpsest_core::dialect::{self, Dialect, Rendered};
use palimpsest_core::layer::{Layer, Span};
use palimpsest_core::message::{Origin, Part};
use palimpsest_core::policy::presets;
use palimpsest_core::window::WindowMessage;
use palimpsest_engine::ports::Signal;
use palimpsest_engine::session::{CompactOptions, NewMessage};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Engine, EngineError, MemoryStore, NewSession, Session};
use palimpsest_tokens::{Estimator, TokenCounter};
use serde_json::{Value, json};

use crate::corpus::said;
use crate::peers::{Kind, Peer};

const SEED: Seed = Seed {
    now: 0.0,
    secret: [0; 16],
};

/// A window: what a model would be sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shown {
    /// All words, the system prompt's and those of a question left out.
    pub(crate) text: String,
    /// The part that stands in place of covered messages: layers, or what a peer selected.
    pub(crate) made: String,
    pub(crate) tokens: u32,
    pub(crate) took: Duration,
    /// What the window's parts take, in tokens, where that is known.
    pub(crate) parts: Vec<(String, u32)>,
}

/// The stretches of a window by their kind, in tokens.
fn parts_of(stretches: &[Segment]) -> Vec<(String, u32)> {
    let mut parts: Vec<(String, u32)> = Vec::new();
    for segment in stretches {
        let kind = serde_json::to_value(segment.kind).unwrap();
        let name = kind["kind"].as_str().unwrap_or("?").to_owned();
        match parts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, tokens)) => *tokens += segment.count.tokens,
            None => parts.push((name, segment.count.tokens)),
        }
    }
    parts
}

/// Something that makes windows of a conversation that grows.
pub(crate) trait Contender {
    /// The conversation goes on.
    fn push(&mut self, message: &Value);
    /// A request is about to be sent.
    fn tend(&mut self);
    /// The window as it would be sent now.
    fn now(&mut self) -> Shown;
    /// The window for a question that is asked next. The conversation stays as it was.
    fn ask(&mut self, question: &str) -> Shown;
}

/// One row of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// The function for lists, with the preset of that name.
    List(&'static str),
    /// A session.
    Session,
    /// A method that people use, made for the comparison.
    Peer(Kind),
}

impl Who {
    pub(crate) fn name(self) -> String {
        match self {
            Self::List(preset) => format!("**list, {preset}**"),
            Self::Session => "**session**".into(),
            Self::Peer(kind) => kind.name().into(),
        }
    }

    pub(crate) fn start(self, system: &str, window: u32) -> Box<dyn Contender> {
        match self {
            Self::List(preset) => Box::new(List::new(preset, system, window)),
            Self::Session => Box::new(InSession::new(system, window)),
            Self::Peer(kind) => Box::new(Peer::new(kind, system, window)),
        }
    }
}

/// The words of what stands in place of covered messages.
fn words_of(layer: &Layer) -> String {
    let lines = layer.ledger.iter().map(String::as_str);
    let all: Vec<&str> = std::iter::once(layer.summary.as_str())
        .chain(lines)
        .collect();
    all.join("\n")
}

/// The function for lists, called before every request with what it gave the last time.
pub(crate) struct List {
    system: String,
    values: Vec<Value>,
    state: Option<CompactState>,
    covered: Vec<Span>,
    /// Calls that covered something new.
    pub(crate) compactions: u32,
    options: ListOptions,
    counter: Rc<dyn TokenCounter>,
}

impl List {
    pub(crate) fn new(preset: &str, system: &str, window: u32) -> Self {
        let make = presets::ALL.iter().find(|(name, _)| *name == preset);
        let mut options = ListOptions::new(window);
        options.policy = make.unwrap().1();
        let mut values = Vec::new();
        if !system.is_empty() {
            values.push(json!({"role": "system", "content": system}));
        }
        Self {
            system: system.into(),
            values,
            state: None,
            covered: Vec::new(),
            compactions: 0,
            options,
            counter: Rc::new(Estimator::default()),
        }
    }

    /// A window in which the fixed part has no room holds nothing.
    fn compact(&self, values: &[Value]) -> Option<(Shown, CompactState, Vec<Span>)> {
        let started = Instant::now();
        let out = Compaction::start(
            values.to_vec(),
            &self.options,
            self.state.clone(),
            &self.counter,
            SEED,
        )
        .and_then(Compaction::finish_without_model)
        .ok()?;
        let took = started.elapsed();
        let report = out.report;
        assert!(report.after.tokens <= report.limit, "over the limit");
        let own = |message: &Rendered| match message {
            Rendered::Kept(index) => said(&values[*index]),
            Rendered::Made(value) => said(value),
        };
        let mut text = out.messages.iter().map(own).collect::<Vec<_>>().join("\n");
        if !self.system.is_empty() {
            text = text.replacen(&self.system, "", 1);
        }
        let state = serde_json::to_value(&out.state).unwrap();
        let layers = state["view"]["layers"].as_array().into_iter().flatten();
        let made = layers
            .map(|layer| words_of(&serde_json::from_value(layer.clone()).unwrap()))
            .collect::<Vec<_>>();
        let shown = Shown {
            text,
            made: made.join("\n"),
            tokens: report.after.tokens,
            took,
            parts: Vec::new(),
        };
        Some((shown, out.state, report.covered))
    }
}

impl Contender for List {
    fn push(&mut self, message: &Value) {
        self.values.push(message.clone());
    }

    fn tend(&mut self) {
        if let Some((_, state, covered)) = self.compact(&self.values) {
            self.compactions += u32::from(self.covered != covered);
            self.covered = covered;
            self.state = Some(state);
        }
    }

    fn now(&mut self) -> Shown {
        self.compact(&self.values)
            .map(|made| made.0)
            .unwrap_or_default()
    }

    fn ask(&mut self, question: &str) -> Shown {
        let mut values = self.values.clone();
        values.push(json!({"role": "user", "content": question}));
        let mut shown = self.compact(&values).map(|made| made.0).unwrap_or_default();
        shown.text = shown.text.replace(question, "");
        shown
    }
}

/// A session over a store in memory, tended before every request.
struct InSession {
    engine: Engine,
    session: Session,
    system: String,
}

impl InSession {
    fn new(system: &str, window: u32) -> Self {
        let counter = Rc::new(Estimator::default());
        let start = async {
            let engine = Engine::start(Rc::new(MemoryStore::new()), world(), counter).await?;
            let new = NewSession {
                window,
                system: system.into(),
                ..NewSession::default()
            };
            let session = engine.create(new).await?;
            Ok::<_, EngineError>((engine, session))
        };
        let (engine, session) = block_on(start).unwrap();
        Self {
            engine,
            session,
            system: system.into(),
        }
    }

    /// The context as it is sent. The session itself stays as it was: a copy is made to fit.
    fn sent(&self) -> Context {
        let context = self.session.context();
        if context.check_limit().valid {
            return context;
        }
        let fit = async {
            let id = self.engine.duplicate(self.session.id(), "copy").await?;
            let copy = self.engine.open(&id, false).await?;
            make_fit(&copy).await?;
            let context = copy.context();
            self.engine.purge(&id).await?;
            Ok::<_, EngineError>(context)
        };
        block_on(fit).unwrap()
    }
}

/// Does what a session does before it sends a window that is too large.
async fn make_fit(session: &Session) -> Result<(), EngineError> {
    let fits = || session.context().check_limit().valid;
    if fits() {
        return Ok(());
    }
    session.forget_recalled(None).await?;
    if !fits() {
        let options = CompactOptions {
            manual: true,
            ..CompactOptions::default()
        };
        // a refusal leaves it to the last resort
        drop(session.compact(options, Signal::never()).await);
    }
    if fits() {
        session.recall_anew().await
    } else {
        session.emergency().await
    }
}

impl Contender for InSession {
    fn push(&mut self, message: &Value) {
        let one = std::slice::from_ref(message);
        let parsed = dialect::parse(one, Dialect::OpenAi, Origin::Host).unwrap();
        for from in parsed.messages {
            let new = NewMessage {
                role: from.message.role,
                origin: from.message.origin,
                parts: from.message.parts,
                at: 0.0,
                ended: None,
            };
            block_on(self.session.append(new)).unwrap();
        }
    }

    fn tend(&mut self) {
        let options = CompactOptions::default();
        // a refusal leaves the window as it was
        drop(block_on(self.session.tend(options, Signal::never())));
        block_on(make_fit(&self.session)).unwrap();
    }

    fn now(&mut self) -> Shown {
        let started = Instant::now();
        let context = self.sent();
        let window = context.window();
        let took = started.elapsed();
        let parts = window.messages().iter().flat_map(WindowMessage::parts);
        let mut text = parts.map(Part::words).collect::<Vec<_>>().join("\n");
        if !self.system.is_empty() {
            text = text.replacen(&self.system, "", 1);
        }
        let layers = context.view().layers.iter();
        let made: Vec<String> = layers.map(|layer| words_of(layer)).collect();
        if !context.check_limit().valid {
            return Shown::default();
        }
        Shown {
            text,
            made: made.join("\n"),
            tokens: window.tokens(),
            took,
            parts: parts_of(&context.stretches()),
        }
    }

    fn ask(&mut self, question: &str) -> Shown {
        let started = Instant::now();
        let seq = block_on(self.session.append(NewMessage::user(question))).unwrap();
        let mut shown = self.now();
        shown.took = started.elapsed();
        shown.text = shown.text.replace(question, "");
        block_on(self.session.rewind_before(seq)).unwrap();
        shown
    }
}
