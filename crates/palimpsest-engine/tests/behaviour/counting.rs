//! What a session's numbers are, where they come from, and how they get better.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_executor::block_on;
use futures_util::{StreamExt, stream};
use palimpsest_core::budget::{Budget, SegmentKind};
use palimpsest_core::message::{Part, Role};
use palimpsest_core::request::{ChatRequest, Delta, FinishReason, Purpose, Usage};
use palimpsest_core::tool::definitions_tokens;
use palimpsest_engine::ports::{DeltaStream, KeyPart, LanguageModel, Query, Signal, Store, Table};
use palimpsest_engine::session::{CompactOptions, NewMessage, SendOptions};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Config, Engine, Event, MemoryStore, NewSession, Session};
use palimpsest_tokens::{Estimator, Overhead, Source, TokenCounter, Vocabulary};
use serde_json::json;

const MODEL: &str = "someone/model:1b";
/// What the model's template really adds, unlike any default.
const TEMPLATE: Overhead = Overhead {
    base: 7,
    system: 6,
    user: 4,
    assistant: 9,
    tool: 5,
};

/// What is talked about here.
const WORDS: &str = "Answer in one sentence There is a reason for that and it the oldest of them thing was rest Question what \
    setting part there other reads station at seconds And Why then What else to know Go on Is so others before first The";

/// A byte-level vocabulary that knows those words whole, with a space before them or without. `every` n-th word only.
pub(crate) fn vocabulary(every: usize) -> Vocabulary {
    let printable = |b: u32| matches!(b, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    let mut tokens: Vec<String> = Vec::new();
    let mut others = 0;
    for b in 0..=255_u32 {
        let code = if printable(b) {
            b
        } else {
            others += 1;
            0xff + others
        };
        tokens.push(char::from_u32(code).unwrap().to_string());
    }
    let mut made = Vec::new();
    for word in WORDS.split_whitespace().step_by(every) {
        for word in [word.to_owned(), format!("Ġ{word}")] {
            let ends: Vec<usize> = word.char_indices().map(|(at, _)| at).skip(1).collect();
            for at in ends {
                let (left, rest) = word.split_at(at);
                let right = rest.chars().next().unwrap();
                let whole = format!("{left}{right}");
                if !tokens.contains(&whole) {
                    tokens.push(whole);
                    made.push(format!("{left} {right}"));
                }
            }
        }
    }
    let types = vec![1; tokens.len()];
    let show = json!({"model_info": {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.merges": made, "tokenizer.ggml.token_type": types}});
    Vocabulary::from_show(show.to_string().as_bytes()).unwrap()
}

/// Counts prompts as a server does that has this vocabulary and template, and says so unless told otherwise.
struct Server {
    vocabulary: Vocabulary,
    /// What it says instead of the number it counted.
    says: Cell<fn(u32) -> Option<u32>>,
    counted: Cell<u32>,
}

impl Server {
    fn new() -> Rc<Self> {
        Rc::new(Self {
            vocabulary: vocabulary(1),
            says: Cell::new(Some),
            counted: Cell::new(0),
        })
    }

    fn count(&self, request: &ChatRequest) -> u32 {
        self.vocabulary.set_overhead(TEMPLATE);
        let messages = request.messages.iter().map(|m| {
            let text: Vec<&str> = m.parts.iter().map(Part::words).collect();
            self.vocabulary
                .count_message(m.role.into(), &text.join("\n"))
        });
        let tools = definitions_tokens(&request.tools, &Estimator::for_model(MODEL));
        TEMPLATE.base + messages.sum::<u32>() + tools
    }
}

impl LanguageModel for Server {
    fn complete(&self, request: ChatRequest, _: Signal) -> DeltaStream<'_> {
        let counted = self.count(&request);
        if request.purpose == Purpose::Chat {
            self.counted.set(counted);
        }
        let usage = Usage {
            prompt_tokens: self.says.get()(counted),
            ..Usage::default()
        };
        let text = match request.purpose {
            Purpose::Chat => "There is a reason for that one, and it is the oldest of them.",
            Purpose::Summary => {
                "UNTRUSTED SUMMARY of half of it. The oldest thing was the reason for the rest."
            }
        };
        stream::iter(vec![
            Ok(Delta::text(text)),
            Ok(Delta::Usage(usage)),
            Ok(Delta::Done {
                reason: FinishReason::Stop,
            }),
        ])
        .boxed_local()
    }
}

async fn engine(store: &Rc<MemoryStore>) -> Engine {
    let store: Rc<dyn Store> = Rc::clone(store) as Rc<dyn Store>;
    Engine::start(store, world(), Rc::new(Estimator::default()))
        .await
        .unwrap()
}

async fn begin(window: u32) -> (Rc<MemoryStore>, Engine, Session) {
    let store = Rc::new(MemoryStore::new());
    let engine = engine(&store).await;
    let session = engine
        .create_with_id(
            "s",
            NewSession {
                window,
                model: MODEL.into(),
                system: "Answer in one sentence.".into(),
                ..NewSession::default()
            },
        )
        .await
        .unwrap();
    (store, engine, session)
}

async fn say(session: &Session, server: &Rc<Server>, text: &str) {
    let options = SendOptions::new(Rc::clone(server) as Rc<dyn LanguageModel>);
    session
        .send(NewMessage::user(text), &options, Signal::never(), &|_| {})
        .await
        .unwrap();
}

/// Turns without a fact that a summary could miss.
async fn small_talk(session: &Session, turns: usize) {
    let places = ["garden", "river", "kitchen", "meadow", "cellar"];
    for n in 0..turns {
        let (here, there) = (places[n % 5], places[n / 5 % 5]);
        let asked = format!("what do you think about the {here} and the {there} behind it?");
        session.append(NewMessage::user(asked)).await.unwrap();
        let told = format!(
            "the {here} is a quiet place, and from the {there} one hears little. it is warm there in the evening, \
             and people like to sit a while before they go on."
        );
        session
            .append(NewMessage::assistant(vec![Part::text(told)]))
            .await
            .unwrap();
    }
}

async fn fill(session: &Session, turns: usize) {
    for n in 0..turns {
        let asked =
            format!("Question {n}: what is the reason for the setting of part {n} in there?");
        session.append(NewMessage::user(asked)).await.unwrap();
        let told = format!(
            "The reason for part {n} is the other one: it reads the station at {n} seconds. "
        )
        .repeat(3);
        session
            .append(NewMessage::assistant(vec![Part::text(told)]))
            .await
            .unwrap();
    }
}

fn cuts(session: &Session) -> Rc<RefCell<Vec<(u32, u32)>>> {
    let cuts = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&cuts);
    session.on(move |event| {
        if let Event::PromptTruncated { sent, read } = event {
            seen.borrow_mut().push((*sent, *read));
        }
    });
    cuts
}

#[track_caller]
fn adds_up(budget: &Budget) {
    let sum: u32 = budget.segments.iter().map(|s| s.count.tokens).sum();
    assert_eq!(sum, budget.used.tokens);
    assert_eq!(budget.free, budget.limit - budget.used.tokens);
    // the trigger adds the bound of what is there, and of what comes until then
    let left = budget.trigger.saturating_sub(budget.used.tokens);
    let sure = left.saturating_sub(budget.used.bound);
    assert!(budget.until_trigger <= sure, "{budget:?}");
    assert_eq!(budget.until_trigger == 0, sure == 0, "{budget:?}");
    if budget.used.source == Source::Exact {
        assert_eq!(budget.until_trigger, left);
    }
}

/// B7, B8: every number says where it comes from. An estimate turns into what the server measured, then, with the model's
/// vocabulary, into an exact count of every part, with the same window all along.
#[test]
fn estimated_then_measured_then_exact() {
    block_on(async {
        let (_, engine, s) = begin(8192).await;
        let server = Server::new();
        fill(&s, 8).await;
        let before = s.budget();
        assert_eq!(before.used.source, Source::Estimated);
        assert!(before.used.bound > 0);
        assert!(
            before
                .segments
                .iter()
                .all(|s| s.count.source == Source::Estimated && s.count.bound > 0)
        );
        adds_up(&before);

        say(&s, &server, "And what is the reason for the rest?").await;
        let measured = s.budget();
        let reply = s.count_text(
            Role::Assistant,
            "There is a reason for that one, and it is the oldest of them.",
        );
        assert_eq!(measured.used.tokens, server.counted.get() + reply.tokens);
        assert_eq!(measured.reread, reply.tokens);
        assert!(measured.used.bound <= 12, "{:?}", measured.used);
        adds_up(&measured);

        let window = s.window().to_request();
        engine.set_vocabulary(Some((MODEL, vocabulary(1))));
        assert_eq!(engine.vocabulary_of().as_deref(), Some(MODEL));
        // Nothing was counted again yet, and nothing pretends to be.
        assert_eq!(s.window().to_request(), window);
        assert_ne!(s.budget().used.source, Source::Exact);
        s.settle().await;
        assert_eq!(s.window().to_request(), window);
        for question in ["Why?", "And the other one?", "What then?"] {
            say(&s, &server, question).await;
        }
        let exact = s.budget();
        assert_eq!((exact.used.source, exact.used.bound), (Source::Exact, 0));
        assert!(
            exact
                .segments
                .iter()
                .all(|s| s.count.source == Source::Exact && s.count.bound == 0)
        );
        adds_up(&exact);
        // To the token: what the server counts next is what the report says now, and the message.
        let more = s.count_text(Role::User, "Is that so?");
        assert_eq!(more.source, Source::Exact);
        say(&s, &server, "Is that so?").await;
        assert_eq!(server.counted.get(), exact.used.tokens + more.tokens);
        assert!(s.budget().margin < before.margin);
    });
}

/// B7: the segments stand in window order, with what is being typed at the end; after a change of the view everything is to
/// be read again.
#[test]
fn segments_stand_in_window_order() {
    block_on(async {
        let (_, _, s) = begin(4096).await;
        let server = Server::new();
        fill(&s, 24).await;
        s.pin(
            palimpsest_core::record::PinKind::Pin,
            "The station is the old one.",
        )
        .await
        .unwrap();
        s.compact(CompactOptions::default(), Signal::never())
            .await
            .unwrap();
        let budget = s.budget_with_draft("What else is there to know?");
        let kinds: Vec<_> = budget.segments.iter().map(|s| s.kind).collect();
        assert!(
            matches!(
                kinds[..],
                [
                    SegmentKind::System,
                    SegmentKind::Pins,
                    SegmentKind::Layer { .. },
                    ..,
                    SegmentKind::User,
                    SegmentKind::Assistant,
                    SegmentKind::Draft
                ]
            ),
            "{kinds:?}"
        );
        adds_up(&budget);
        assert_eq!(
            budget.used.tokens,
            s.window().tokens()
                + s.count_text(Role::User, "What else is there to know?")
                    .tokens
        );
        assert_eq!(budget.reread, budget.used.tokens);
        say(&s, &server, "Go on.").await;
        let after = s.budget();
        assert!(after.reread < 40, "{}", after.reread);
        adds_up(&after);
        s.unpin(1).await.unwrap();
        assert_eq!(s.budget().reread, s.budget().used.tokens);
    });
}

/// B8, G9: the tools that are sent are part of what is measured, our own as well: with them a model's words are learned as
/// exactly as without, and the measured window holds them once.
#[test]
fn tools_are_part_of_what_is_measured() {
    let text = "The station is in the other part. ".repeat(20);
    let learned = |tools: bool| {
        block_on(async {
            let (_, engine, s) = begin(8192).await;
            if tools {
                let config = Config::from_json(r#"{"tools":{"enabled":true}}"#).unwrap();
                s.configure(config).await.unwrap();
            }
            let server = Server::new();
            for n in 0..6 {
                let asked = format!("What is the reason for part {n} of the station?");
                say(&s, &server, &asked).await;
            }
            let reply = "There is a reason for that one, and it is the oldest of them.";
            let reply = s.count_text(Role::Assistant, reply).tokens;
            assert_eq!(s.budget().used.tokens, server.counted.get() + reply);
            adds_up(&s.budget());
            let counter = engine.counter_for(MODEL);
            assert_ne!(counter.epoch(), Estimator::for_model(MODEL).epoch());
            counter.count(&text)
        })
    };
    let truth = Server::new().vocabulary.count(&text);
    let (with, without) = (learned(true), learned(false));
    let (with, without) = (truth.abs_diff(with), truth.abs_diff(without));
    assert!(
        with <= without + truth / 20,
        "{with} and {without} of {truth}"
    );
}

/// B9, G9: a template that writes tools shorter, or leaves them out, is no server that cuts the prompt; one that reads less
/// than what was said is.
#[test]
fn tools_that_a_template_leaves_out_are_no_cut() {
    let check = |turns: usize, says: fn(u32) -> Option<u32>, expected: usize| {
        block_on(async {
            let (_, _, s) = begin(8192).await;
            let config = Config::from_json(r#"{"tools":{"enabled":true}}"#).unwrap();
            s.configure(config).await.unwrap();
            fill(&s, turns).await;
            let (server, cuts) = (Server::new(), cuts(&s));
            server.says.set(says);
            say(&s, &server, "And what is the reason for the rest?").await;
            assert_eq!(cuts.borrow().len(), expected, "{:?}", cuts.borrow());
        });
    };
    check(0, Some, 0);
    check(0, |_| Some(40), 0);
    check(40, |counted| Some(counted / 4), 1);
}

/// B8: what was learned about a model is kept: another visit starts from it, another model does not.
#[test]
fn what_was_learned_is_kept() {
    block_on(async {
        let (store, first, s) = begin(8192).await;
        let server = Server::new();
        let untaught = first.counter_for(MODEL).epoch();
        for n in 0..6 {
            say(
                &s,
                &server,
                &format!("What is the reason for part {n} of the station, and for the others?"),
            )
            .await;
        }
        let learned = first.counter_for(MODEL);
        assert_ne!(learned.epoch(), untaught);
        let text = "The station is in the other part. ".repeat(20);
        let (truth, estimate) = (server.vocabulary.count(&text), learned.count(&text));
        let before = Estimator::for_model(MODEL).count(&text);
        assert!(
            truth.abs_diff(estimate) * 5 < truth.abs_diff(before) * 3,
            "{truth} {estimate} {before}"
        );

        let second = engine(&store).await;
        assert_eq!(second.counter_for(MODEL).epoch(), learned.epoch());
        assert_eq!(
            second.counter_for("other").epoch(),
            Estimator::for_model("other").epoch()
        );
    });
}

/// B8: a message is counted once: its row says by which counter, and a session opens with the counts of its rows; those of
/// another counter are counted again in slices, newest first, without a change of what the model sees.
#[test]
fn counted_once_and_again_in_slices() {
    block_on(async {
        let (store, first, s) = begin(131_072).await;
        fill(&s, 60).await;
        let rows = store
            .read(Query::all(Table::Messages, vec!["s".into()]))
            .await
            .unwrap();
        let epoch = first.counter_for(MODEL).epoch();
        assert_eq!(rows.len(), 120);
        assert!(
            rows.iter()
                .all(|row| row.value.contains(&format!("\"counted_by\":{epoch}")))
        );
        let (window, estimated) = (s.window().to_request(), s.budget().used);
        drop(s);

        let second = engine(&store).await;
        let s = second.open("s", true).await.unwrap();
        assert!(s.recount(0));
        assert_eq!(s.budget().used, estimated);
        second.set_vocabulary(Some((MODEL, vocabulary(1))));
        let stale = s.budget().used;
        assert_eq!(stale.source, Source::Estimated);
        assert!(stale.bound * 6 > stale.tokens, "{stale:?}");
        let mut slices = 1;
        while !s.recount(2_000) {
            slices += 1;
        }
        assert!(slices > 5, "{slices}");
        assert_eq!(s.window().to_request(), window);
        let counter = second.counter_for(MODEL);
        let expected: u32 = window
            .iter()
            .map(|m| counter.count_message(m.role.into(), m.parts[0].words()))
            .sum();
        assert_eq!(s.window().tokens(), expected + counter.overhead().base);
        // Another model's turn: no vocabulary is held for it.
        s.set_model("other", 131_072, "balanced", false)
            .await
            .unwrap();
        assert_eq!(s.budget().used.source, Source::Estimated);
        assert_eq!(s.budget().used.tokens, estimated.tokens);
        assert_eq!(s.window().to_request(), window);
    });
}

/// B8: a vocabulary that live counts contradict is put aside; what was learned beside it counts.
#[test]
fn a_wrong_vocabulary_is_put_aside() {
    block_on(async {
        let (_, engine, s) = begin(16_384).await;
        let server = Server::new();
        let wrong = vocabulary(2);
        let epoch = wrong.epoch();
        engine.set_vocabulary(Some((MODEL, wrong)));
        let text =
            "There is a reason for the other station in the one before: the first one was there. ";
        for n in 1..12 {
            say(&s, &server, &text.repeat(n)).await;
        }
        assert_ne!(engine.counter_for(MODEL).source(), Source::Exact);
        assert_ne!(engine.counter_for(MODEL).epoch(), epoch);
        let used = s.budget().used;
        assert_ne!(used.source, Source::Exact);
        let truth = server.counted.get();
        assert!(
            used.tokens > truth && used.tokens < truth + 60,
            "{used:?} {truth}"
        );
    });
}

/// B9: counts that are absent, or of the part that was not cached, teach nothing and accuse nobody; a cut prompt is an
/// event and is not learned from.
#[test]
fn odd_counts_are_guarded_against() {
    block_on(async {
        let (_, engine, s) = begin(8192).await;
        let server = Server::new();
        let cuts = cuts(&s);
        fill(&s, 10).await;
        server.says.set(|_| None);
        say(&s, &server, "Why?").await;
        server.says.set(|_| Some(0));
        say(&s, &server, "Why not?").await;
        assert_eq!(
            engine.counter_for(MODEL).epoch(),
            Estimator::for_model(MODEL).epoch()
        );
        server.says.set(Some);
        say(&s, &server, "Who says so?").await;
        let learned = engine.counter_for(MODEL).epoch();
        server.says.set(|_| Some(31));
        say(&s, &server, "And then?").await;
        assert_eq!(
            (engine.counter_for(MODEL).epoch(), cuts.borrow().len()),
            (learned, 0)
        );
        server.says.set(|n| Some(n / 2));
        say(&s, &server, "And after that?").await;
        assert_eq!(engine.counter_for(MODEL).epoch(), learned);
        let sent = server.counted.get();
        let (told, read) = cuts.borrow()[0];
        assert_eq!((cuts.borrow().len(), read), (1, sent / 2));
        assert!(told.abs_diff(sent) * 50 < sent, "{told} {sent}");
    });
}

/// B9: a summary made from a prompt that the server cut is not used.
#[test]
fn a_summary_of_half_is_rejected() {
    block_on(async {
        for (says, trusted) in [
            (Some as fn(u32) -> Option<u32>, true),
            (|n| Some(n / 2), false),
        ] {
            let (_, engine, s) = begin(4096).await;
            engine.set_vocabulary(Some((MODEL, vocabulary(1))));
            let server = Server::new();
            server.says.set(says);
            let cuts = cuts(&s);
            small_talk(&s, 40).await;
            let options = CompactOptions {
                model: Some(Rc::clone(&server) as Rc<dyn LanguageModel>),
                manual: true,
                ..CompactOptions::default()
            };
            let _ = s.compact(options, Signal::never()).await;
            let written = s
                .layers()
                .iter()
                .any(|l| l.summary.contains("oldest thing"));
            assert_eq!((written, cuts.borrow().is_empty()), (trusted, trusted));
        }
    });
}

/// B8: the key under which a calibration lies is the model's name.
#[test]
fn calibrations_lie_by_model() {
    block_on(async {
        let (store, _, s) = begin(4096).await;
        say(&s, &Server::new(), "What is the reason?").await;
        let rows = store
            .read(Query::all(Table::Tokenizers, Vec::new()))
            .await
            .unwrap();
        let keys: Vec<_> = rows.iter().map(|row| row.key.clone()).collect();
        assert_eq!(keys, [vec![KeyPart::Text(MODEL.into())]]);
    });
}
