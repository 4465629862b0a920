//! Plays a list as an agent's loop through a way of making windows, and measures it.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::HashMap;
use std::rc::Rc;

use palimpsest_core::compact::{CompactOptions, CompactState, Compaction};
use palimpsest_core::context::Seed;
use palimpsest_core::dialect::{self, Dialect, Rendered};
use palimpsest_core::policy::Policy;
use palimpsest_core::series::{self, Sent, Series, SeriesFigures};
use palimpsest_tokens::{Estimator, TokenCounter};
use serde_json::Value;

/// Makes the window of one request.
pub(crate) trait Way {
    fn window(&mut self, list: &[Value], tokens: &mut Tokens) -> Made;
}

/// One window.
pub(crate) struct Made {
    pub(crate) window: Vec<Value>,
    /// What it may hold, if there is such a number.
    pub(crate) limit: Option<u32>,
    /// Bytes of what has to be kept for the next request.
    pub(crate) state: usize,
    /// What was said to have been done.
    pub(crate) told: Vec<String>,
}

/// Counts messages, each text once.
pub(crate) struct Tokens {
    counter: Rc<dyn TokenCounter>,
    known: HashMap<String, u32>,
}

impl Tokens {
    pub(crate) fn new() -> Self {
        Self {
            counter: Rc::new(Estimator::default()),
            known: HashMap::new(),
        }
    }

    pub(crate) fn of(&mut self, message: &Value) -> u32 {
        let key = message.to_string();
        if let Some(tokens) = self.known.get(&key) {
            return *tokens;
        }
        let one = std::slice::from_ref(message);
        let count = dialect::count(one, Some(Dialect::OpenAi), self.counter.as_ref()).unwrap();
        let tokens = count.tokens.saturating_sub(self.counter.overhead().base);
        self.known.insert(key, tokens);
        tokens
    }

    pub(crate) fn all(&mut self, messages: &[Value]) -> u32 {
        messages.iter().map(|m| self.of(m)).sum()
    }
}

/// The text of a message, all of it.
pub(crate) fn said(message: &Value) -> String {
    let mut out = match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        out.push('\n');
        out.push_str(call["function"]["arguments"].as_str().unwrap_or_default());
    }
    out
}

/// What a run of requests came to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Figures {
    pub(crate) measured: SeriesFigures,
    /// The largest state, in parts of the list's bytes then, among lists of 100 messages and more.
    pub(crate) state: f64,
    /// Bytes of the state at the end, and of the list.
    pub(crate) state_bytes: usize,
    pub(crate) list_bytes: usize,
    /// Bytes of the state when the list had half of its messages, and of the list then.
    pub(crate) half: (usize, usize),
    pub(crate) told: Vec<(u32, String)>,
}

impl Figures {
    pub(crate) fn broken(&self) -> f64 {
        f64::from(self.measured.breaks) / f64::from(self.measured.requests)
    }

    pub(crate) fn read_anew(&self) -> f64 {
        self.measured.reread as f64 / self.measured.sent as f64
    }

    pub(crate) fn needed_later(&self) -> f64 {
        f64::from(self.measured.seen) / f64::from(self.measured.needed.max(1))
    }

    /// The same of the newest messages with as many tokens as each window.
    pub(crate) fn needed_in_tail(&self) -> f64 {
        f64::from(self.measured.seen_in_tail) / f64::from(self.measured.needed.max(1))
    }

    pub(crate) fn line(&self, name: &str) -> String {
        format!(
            "{name:34} requests {:4}  breaks {:5.1} %  anew {:5.1} %  cost {:9.0}  fill {:4.0} / {:4.0} %  needed {:5.1} % (tail {:5.1} %)  state {:6.1} % ({} / {}; half {:?})",
            self.measured.requests,
            100.0 * self.broken(),
            100.0 * self.read_anew(),
            self.measured.cost,
            100.0 * self.measured.least_fill,
            100.0 * self.measured.mean_fill,
            100.0 * self.needed_later(),
            100.0 * self.needed_in_tail(),
            100.0 * self.state,
            self.state_bytes,
            self.list_bytes,
            self.half,
        )
    }
}

/// Numbers messages. Those that say the same have one number.
#[derive(Default)]
struct Numbers {
    known: HashMap<String, u32>,
    messages: Vec<Value>,
}

impl Numbers {
    fn of(&mut self, message: &Value) -> u32 {
        let next = self.messages.len() as u32;
        *self.known.entry(message.to_string()).or_insert_with(|| {
            self.messages.push(message.clone());
            next
        })
    }

    fn all(&mut self, messages: &[Value]) -> Vec<u32> {
        messages.iter().map(|message| self.of(message)).collect()
    }
}

/// The newest messages of at most `room` tokens, behind the system prompt, beginning where a list may begin.
pub(crate) fn tail(list: &[Value], room: u32, tokens: &mut Tokens) -> Vec<Value> {
    let system = usize::from(list.first().is_some_and(|m| m["role"] == "system"));
    let mut left = room.saturating_sub(tokens.all(&list[..system]));
    let mut from = list.len();
    while from > system {
        let Some(rest) = left.checked_sub(tokens.of(&list[from - 1])) else {
            break;
        };
        left = rest;
        from -= 1;
    }
    while list.get(from).is_some_and(|m| m["role"] == "tool") {
        from += 1;
    }
    list[..system]
        .iter()
        .chain(&list[from..])
        .cloned()
        .collect()
}

/// Prints the windows of the requests whose numbers stand in `PALIMPSEST_LOOP_SHOW`, with commas between them.
#[allow(clippy::print_stdout, reason = "windows are to be read")]
fn show(request: usize, window: &[Value], tokens: &mut Tokens) {
    let wanted = std::env::var("PALIMPSEST_LOOP_SHOW").unwrap_or_default();
    if wanted
        .split(',')
        .all(|number| number != request.to_string())
    {
        return;
    }
    println!("request {request}");
    for message in window {
        let (role, size) = (&message["role"], tokens.of(message));
        println!("  {role} {size} {:?}", said(message));
    }
}

/// One request before every message of the assistant's. What is needed later is looked for from the request on at which
/// the list was larger than `full` tokens.
pub(crate) fn play(list: &[Value], way: &mut dyn Way, full: u32) -> Figures {
    let (mut tokens, mut numbers) = (Tokens::new(), Numbers::default());
    let mut figures = Figures::default();
    let mut requests = Vec::new();
    let (mut counted, mut bytes) = (0, 0);
    for n in 1..list.len() {
        if list[n]["role"] != "assistant" {
            continue;
        }
        let said = list[counted..n].iter().map(|m| m.to_string().len());
        bytes += said.sum::<usize>();
        counted = n;
        let made = way.window(&list[..n], &mut tokens);
        requests.push(Sent {
            at: n as u32,
            window: numbers.all(&made.window),
            limit: made.limit,
        });
        show(requests.len(), &made.window, &mut tokens);
        let at = requests.len() as u32;
        figures
            .told
            .extend(made.told.into_iter().map(|what| (at, what)));
        figures.list_bytes = bytes;
        figures.state_bytes = made.state;
        if n >= 100 {
            figures.state = figures.state.max(made.state as f64 / bytes as f64);
        }
        if n <= list.len() / 2 {
            figures.half = (made.state, bytes);
        }
    }
    let series = Series {
        history: numbers.all(list),
        messages: numbers.messages,
        requests,
    };
    figures.measured = series::measure(&series, full, &Estimator::default()).unwrap();
    figures
}

/// `compact`, with the state of the last call.
pub(crate) struct Compact {
    options: CompactOptions,
    pub(crate) state: Option<String>,
    counter: Rc<dyn TokenCounter>,
}

impl Compact {
    pub(crate) fn new(preset: &str, window: u32) -> Self {
        Self::with(CompactOptions {
            policy: Policy::preset(preset).unwrap(),
            ..CompactOptions::new(window)
        })
    }

    pub(crate) fn with(options: CompactOptions) -> Self {
        Self {
            options,
            state: None,
            counter: Rc::new(Estimator::default()),
        }
    }
}

impl Way for Compact {
    fn window(&mut self, list: &[Value], _: &mut Tokens) -> Made {
        const SEED: Seed = Seed {
            now: 0.0,
            secret: [0; 16],
        };
        let state: Option<CompactState> = self
            .state
            .take()
            .map(|text| serde_json::from_str(&text).unwrap());
        let out = Compaction::start(list.to_vec(), &self.options, state, &self.counter, SEED)
            .and_then(Compaction::finish_without_model)
            .unwrap_or_else(|error| panic!("a list of {}: {error}", list.len()));
        assert!(out.report.after.tokens <= out.report.limit);
        let state = serde_json::to_string(&out.state).unwrap();
        let bytes = state.len();
        self.state = Some(state);
        let own = |message: Rendered| match message {
            Rendered::Kept(index) => list[index].clone(),
            Rendered::Made(value) => value,
        };
        let passes = out
            .report
            .passes
            .iter()
            .map(|p| format!("{} {}/{}", p.pass.name(), p.messages, p.tokens));
        let mut told: Vec<String> = Vec::new();
        if !out.report.passes.iter().all(|p| p.pass.name() == "earlier") {
            told.push(format!(
                "{} of {}: {}; {}",
                out.report.after.tokens,
                out.report.limit,
                passes.collect::<Vec<_>>().join(", "),
                out.report.codes.join(", ")
            ));
        }
        Made {
            window: out.messages.into_iter().map(own).collect(),
            limit: Some(out.report.limit),
            state: bytes,
            told,
        }
    }
}
