//! How many questions about long chats have all their evidence, word for word, in the window in which they are asked: in
//! lists, in sessions, and in the newest messages alone. Run with `--nocapture` for the figures.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test stops at the first surprise, and prints what it measured with a clock of the machine"
)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use futures_executor::block_on;
use palimpsest_core::compact::{CompactOptions as ListOptions, CompactState, Compaction};
use palimpsest_core::context::Seed;
use palimpsest_core::dialect::Rendered;
use palimpsest_core::message::{Part, Role, Seq};
use palimpsest_core::window::WindowMessage;
use palimpsest_engine::ports::Signal;
use palimpsest_engine::session::{CompactOptions, NewMessage};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Engine, MemoryStore, NewSession};
use palimpsest_tokens::{Estimator, TokenCounter};
use serde_json::{Value, json};

const SEED: Seed = Seed {
    now: 0.0,
    secret: [0; 16],
};

/// A chat, and what is asked of it.
struct Chat {
    /// Who speaks, and the words.
    turns: Vec<(Role, String)>,
    /// A question, and the turns that answer it.
    questions: Vec<(String, Vec<usize>)>,
}

fn chats(file: &str) -> Vec<Chat> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file);
    let all: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    all.as_array().unwrap().iter().map(chat).collect()
}

fn chat(from: &Value) -> Chat {
    let talk = &from["conversation"];
    let mut ids: BTreeMap<&str, usize> = BTreeMap::new();
    let mut turns = Vec::new();
    for n in 1..60 {
        let session = talk[format!("session_{n}")].as_array();
        for turn in session.into_iter().flatten() {
            let (speaker, text) = (turn["speaker"].as_str().unwrap(), &turn["text"]);
            let role = if turn["speaker"] == talk["speaker_a"] {
                Role::User
            } else {
                Role::Assistant
            };
            ids.insert(turn["dia_id"].as_str().unwrap(), turns.len());
            turns.push((
                role,
                format!("{speaker}: {}", text.as_str().unwrap_or_default()),
            ));
        }
    }
    let asked = from["qa"].as_array().unwrap().iter();
    // category 5 asks for what was never said
    let asked = asked.filter(|qa| qa["category"] != 5).filter_map(|qa| {
        let evidence = qa["evidence"].as_array()?.iter();
        let evidence = evidence.flat_map(|e| e.as_str().unwrap_or_default().split([';', ' ']));
        let evidence = evidence.map(str::trim).filter(|e| !e.is_empty());
        let gold: Option<Vec<usize>> = evidence.map(|e| ids.get(e).copied()).collect();
        let gold = gold.filter(|g| !g.is_empty())?;
        Some((qa["question"].as_str()?.to_owned(), gold))
    });
    Chat {
        questions: asked.collect(),
        turns,
    }
}

fn value(role: Role, text: &str) -> Value {
    let role = if role == Role::User {
        "user"
    } else {
        "assistant"
    };
    json!({"role": role, "content": text})
}

/// What a list says.
fn words(list: &[Value]) -> String {
    let texts = list.iter().filter_map(|m| m["content"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

#[derive(Debug, Default)]
struct Figures {
    asked: u32,
    list: u32,
    session: u32,
    tail: u32,
    /// Tokens of all the windows of the questions.
    list_tokens: u64,
    session_tokens: u64,
    took: Duration,
}

struct Grown {
    values: Vec<Value>,
    state: Option<CompactState>,
    options: ListOptions,
    counter: Rc<dyn TokenCounter>,
}

impl Grown {
    /// The chat as a list that was compacted as it grew.
    fn new(chat: &Chat, window: u32) -> Self {
        let mut grown = Self {
            values: Vec::new(),
            state: None,
            options: ListOptions::new(window),
            counter: Rc::new(Estimator::default()),
        };
        for (n, (role, text)) in chat.turns.iter().enumerate() {
            grown.values.push(value(*role, text));
            if n % 8 == 7 {
                grown.state = Some(grown.compact(&grown.values).1);
            }
        }
        grown
    }

    fn compact(&self, values: &[Value]) -> (Vec<Value>, CompactState, u32) {
        let compaction = Compaction::start(
            values.to_vec(),
            &self.options,
            self.state.clone(),
            &self.counter,
            SEED,
        );
        let out = compaction.unwrap().finish_without_model().unwrap();
        let report = &out.report;
        assert!(report.after.tokens <= report.limit, "over the limit");
        let own = |message: &Rendered| match message {
            Rendered::Kept(index) => values[*index].clone(),
            Rendered::Made(value) => value.clone(),
        };
        let list = out.messages.iter().map(own).collect();
        (list, out.state, report.after.tokens)
    }
}

fn ask_lists(chat: &Chat, window: u32, sum: &mut Figures) {
    let grown = Grown::new(chat, window);
    for (question, gold) in &chat.questions {
        let mut values = grown.values.clone();
        values.push(value(Role::User, question));
        let started = Instant::now();
        let (list, _, tokens) = grown.compact(&values);
        sum.took += started.elapsed();
        let all = |said: &str| gold.iter().all(|g| said.contains(&chat.turns[*g].1));
        sum.asked += 1;
        sum.list += u32::from(all(&words(&list)));
        sum.list_tokens += u64::from(tokens);
        // as many of the newest messages as take the room of the window
        let mut left = tokens;
        let newest = values.iter().rev().take_while(|message| {
            let text = message["content"].as_str().unwrap();
            let own = grown.counter.count(text) + 5;
            left.checked_sub(own).inspect(|rest| left = *rest).is_some()
        });
        let newest: Vec<Value> = newest.cloned().collect();
        sum.tail += u32::from(all(&words(&newest)));
    }
}

async fn ask_session(chat: &Chat, window: u32, sum: &mut Figures) {
    let engine = Engine::start(
        Rc::new(MemoryStore::new()),
        world(),
        Rc::new(Estimator::default()),
    )
    .await
    .unwrap();
    let new = NewSession {
        window,
        ..NewSession::default()
    };
    let s = engine.create(new).await.unwrap();
    let mut seqs: Vec<Seq> = Vec::new();
    for (role, text) in &chat.turns {
        let message = match role {
            Role::User => NewMessage::user(text.as_str()),
            _ => NewMessage::assistant(vec![Part::text(text.as_str())]),
        };
        seqs.push(s.append(message).await.unwrap());
        if *role == Role::Assistant {
            s.tend(CompactOptions::default(), Signal::never())
                .await
                .unwrap();
        }
    }
    for (question, gold) in &chat.questions {
        let seq = s.append(NewMessage::user(question.as_str())).await.unwrap();
        let context = s.context();
        assert!(context.check_limit().valid, "over the limit");
        let window = context.window();
        let parts = window.messages().iter().flat_map(WindowMessage::parts);
        let said = parts.map(Part::words).collect::<Vec<_>>().join("\n");
        sum.session += u32::from(gold.iter().all(|g| said.contains(&chat.turns[*g].1)));
        sum.session_tokens += u64::from(window.tokens());
        s.rewind_before(seq).await.unwrap();
    }
}

fn figures(file: &str, window: u32) -> Figures {
    let mut sum = Figures::default();
    for chat in chats(file) {
        ask_lists(&chat, window, &mut sum);
        block_on(ask_session(&chat, window, &mut sum));
    }
    let percent = |n: u32| f64::from(n) * 100.0 / f64::from(sum.asked);
    println!(
        "window {window}, {} questions: list {:.1} %, session {:.1} %, tail {:.1} %; {} and {} tokens; {:.2} ms a call",
        sum.asked,
        percent(sum.list),
        percent(sum.session),
        percent(sum.tail),
        sum.list_tokens / u64::from(sum.asked),
        sum.session_tokens / u64::from(sum.asked),
        sum.took.as_secs_f64() * 1_000.0 / f64::from(sum.asked),
    );
    sum
}

/// R1: questions of real chats whose evidence stands whole in the window.
#[test]
#[ignore = "needs ../shared/data"]
fn recorded_evidence_stands_in_lists_and_sessions() {
    for window in [4_096, 8_192] {
        holds("../../../shared/data/locomo-dev.json", window);
    }
}

/// R1: the same for a small chat of our own.
#[test]
fn evidence_of_our_own_stands_in_lists_and_sessions() {
    holds("../../tests/fixtures/friends.json", 1_024);
}

/// At least twice as many questions have all their evidence as in a tail of the same size.
fn holds(file: &str, window: u32) {
    let got = figures(file, window);
    assert!(got.asked > 10);
    assert!(got.list >= 2 * got.tail, "list: {got:?}");
    assert!(got.session >= 2 * got.tail, "session: {got:?}");
}
