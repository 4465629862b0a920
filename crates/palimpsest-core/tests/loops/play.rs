//! Plays a list as an agent's loop through a way of making windows, and measures it.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use palimpsest_core::compact::{CompactOptions, CompactState, Compaction};
use palimpsest_core::context::Seed;
use palimpsest_core::dialect::{self, Dialect, Rendered};
use palimpsest_core::policy::Policy;
use palimpsest_tokens::{Estimator, TokenCounter};
use serde_json::Value;

/// What a token that the provider has read already costs, of what one costs that is written into its cache.
const CACHED: f64 = 0.1;
const WRITTEN: f64 = 1.25;

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

/// Paths, identifiers and the like in a text: what a later call may have to name.
pub(crate) fn values(text: &str) -> HashSet<&str> {
    let is_in = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let words = text
        .split(|c: char| !is_in(c))
        .map(|w| w.trim_matches(|c: char| "./-".contains(c)));
    let names = |w: &&str| {
        let marks = w.contains('/')
            || w.contains('_')
            || (w.bytes().any(|b| b.is_ascii_digit())
                && w.bytes().any(|b| b.is_ascii_alphabetic()));
        (6..120).contains(&w.len()) && marks
    };
    words.filter(names).collect()
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
    pub(crate) requests: usize,
    /// Requests whose window is not the last one with more at its end.
    pub(crate) breaks: usize,
    pub(crate) sent: u64,
    /// Tokens behind the first message that differs.
    pub(crate) anew: u64,
    pub(crate) cost: f64,
    /// The fill at each request since the list was longer than its limit.
    pub(crate) fills: Vec<f64>,
    needed: usize,
    seen: usize,
    seen_in_tail: usize,
    /// The largest state, in parts of the list's bytes then, among lists of 100 messages and more.
    pub(crate) state: f64,
    /// Bytes of the state at the end, and of the list.
    pub(crate) state_bytes: usize,
    pub(crate) list_bytes: usize,
    /// Bytes of the state when the list had half of its messages, and of the list then.
    pub(crate) half: (usize, usize),
    pub(crate) told: Vec<(usize, String)>,
}

impl Figures {
    pub(crate) fn broken(&self) -> f64 {
        self.breaks as f64 / self.requests as f64
    }

    pub(crate) fn read_anew(&self) -> f64 {
        self.anew as f64 / self.sent as f64
    }

    pub(crate) fn needed_later(&self) -> f64 {
        self.seen as f64 / self.needed.max(1) as f64
    }

    /// The same of the newest messages with as many tokens as each window.
    pub(crate) fn needed_in_tail(&self) -> f64 {
        self.seen_in_tail as f64 / self.needed.max(1) as f64
    }

    pub(crate) fn least_fill(&self) -> f64 {
        self.fills.iter().copied().fold(1.0, f64::min)
    }

    pub(crate) fn mean_fill(&self) -> f64 {
        self.fills.iter().sum::<f64>() / self.fills.len().max(1) as f64
    }

    pub(crate) fn line(&self, name: &str) -> String {
        format!(
            "{name:34} requests {:4}  breaks {:5.1} %  anew {:5.1} %  cost {:9.0}  fill {:4.0} / {:4.0} %  needed {:5.1} % (tail {:5.1} %)  state {:6.1} % ({} / {}; half {:?})",
            self.requests,
            100.0 * self.broken(),
            100.0 * self.read_anew(),
            self.cost,
            100.0 * self.least_fill(),
            100.0 * self.mean_fill(),
            100.0 * self.needed_later(),
            100.0 * self.needed_in_tail(),
            100.0 * self.state,
            self.state_bytes,
            self.list_bytes,
            self.half,
        )
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
    let mut tokens = Tokens::new();
    let mut figures = Figures::default();
    let mut before: Vec<Value> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    let (mut counted, mut bytes, mut total) = (0, 0, 0u32);
    let mut was_full = false;
    for n in 1..list.len() {
        if list[n]["role"] != "assistant" {
            continue;
        }
        for message in &list[counted..n] {
            bytes += message.to_string().len();
            total += tokens.of(message);
        }
        let made = way.window(&list[..n], &mut tokens);
        let same = before
            .iter()
            .zip(&made.window)
            .take_while(|(a, b)| a == b)
            .count();
        let (cached, sent) = (tokens.all(&made.window[..same]), tokens.all(&made.window));
        figures.requests += 1;
        show(figures.requests, &made.window, &mut tokens);
        figures.breaks += usize::from(same < before.len());
        figures.sent += u64::from(sent);
        figures.anew += if same < before.len() {
            u64::from(sent - cached)
        } else {
            0
        };
        figures.cost += f64::from(cached) * CACHED + f64::from(sent - cached) * WRITTEN;
        was_full |= total > full;
        if let Some(limit) = made.limit.filter(|limit| total > *limit) {
            figures.fills.push(f64::from(sent) / f64::from(limit));
        }
        figures
            .told
            .extend(made.told.into_iter().map(|what| (figures.requests, what)));
        // what the next call names that was said before
        for message in &list[counted..n] {
            known.extend(values(&said(message)).into_iter().map(str::to_owned));
        }
        let next = said(&list[n]);
        let has_call = !list[n]["tool_calls"].as_array().is_none_or(Vec::is_empty);
        if was_full && has_call {
            let seen: String = made.window.iter().map(said).collect::<Vec<_>>().join("\n");
            let newest = tail(&list[..n], sent, &mut tokens);
            let newest: String = newest.iter().map(said).collect::<Vec<_>>().join("\n");
            for value in values(&next).into_iter().filter(|v| known.contains(*v)) {
                figures.needed += 1;
                figures.seen += usize::from(seen.contains(value));
                figures.seen_in_tail += usize::from(newest.contains(value));
            }
        }
        counted = n;
        figures.list_bytes = bytes;
        figures.state_bytes = made.state;
        if n >= 100 {
            figures.state = figures.state.max(made.state as f64 / bytes as f64);
        }
        if n <= list.len() / 2 {
            figures.half = (made.state, bytes);
        }
        before = made.window;
    }
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
