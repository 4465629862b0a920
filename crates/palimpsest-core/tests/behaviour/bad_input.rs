//! Bad input, one table a group: nothing panics, nothing is half done, errors have codes. Numbers are those of the
//! project's list of bad inputs.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use std::rc::Rc;

use palimpsest_core::context::{Context, Entry, Seed, Setup};
use palimpsest_core::dialect::{self, Dialect};
use palimpsest_core::goal::{Goal, GoalEdit, GoalLimits, MilestoneState};
use palimpsest_core::layer::Author;
use palimpsest_core::marker;
use palimpsest_core::message::{Message, Origin, Part, Role};
use palimpsest_core::mode::Mode;
use palimpsest_core::pass::emergency;
use palimpsest_core::policy::{KeepRecent, Policy, UserWords};
use palimpsest_core::record::Records;
use palimpsest_core::run::{Aim, Refusal, Run, RunOptions, Step, SuppliedSummary};
use palimpsest_core::shares::{ShareOptions, Shares};
use palimpsest_text::extractive;
use palimpsest_tokens::{Estimator, TokenCounter};

const SEED: Seed = Seed {
    now: 5.0,
    secret: [3; 16],
};

fn with_policy(window: u32, system: &str, policy: Policy) -> Context {
    Context::new(
        Setup::new(window, ShareOptions::default(), policy, 0).unwrap(),
        Records::with_system(system),
        Rc::new(Estimator::default()),
    )
}

fn empty(window: u32) -> Context {
    with_policy(window, "", Policy::default())
}

fn say(context: &mut Context, role: Role, text: &str) {
    let seq = context.entries().len() as u32;
    context.push(Rc::new(Message::text(seq, role, text)));
}

fn push(context: &mut Context, role: Role, parts: Vec<Part>) {
    let seq = context.entries().len() as u32;
    context.push(Rc::new(Message {
        parts,
        ..Message::text(seq, role, "")
    }));
}

fn call(id: &str) -> Part {
    Part::ToolCall {
        id: id.into(),
        name: "run".into(),
        arguments: "{}".into(),
    }
}

fn result(id: &str, text: &str) -> Part {
    Part::ToolResult {
        call: id.into(),
        name: None,
        text: text.into(),
        error: false,
    }
}

fn talk(context: &mut Context, turns: usize) {
    for n in 0..turns {
        say(
            context,
            Role::User,
            &format!("Question {n} about part_{n}.toml?"),
        );
        let text = format!("It sets the limit to {n} seconds; a restart is needed. ").repeat(4);
        say(context, Role::Assistant, &text);
    }
}

fn run(context: &Context, manual: bool) -> Step {
    let options = RunOptions {
        manual,
        ..RunOptions::default()
    };
    Run::new(context, options, SEED).step()
}

fn refusal(context: &Context) -> &'static str {
    match run(context, true) {
        Step::Refused(why) => why.code(),
        other => panic!("{other:?}"),
    }
}

/// Window as roles and words, to compare whole.
fn window(context: &Context) -> Vec<(Role, String)> {
    let window = context.window();
    window
        .messages()
        .iter()
        .map(|m| {
            let words: Vec<String> = m
                .parts()
                .iter()
                .map(|p| match p {
                    Part::ToolCall { id, .. } => format!("call {id}"),
                    Part::ToolResult { call, text, .. } => format!("{call}: {text}"),
                    part => part.words().to_owned(),
                })
                .collect();
            (m.role(), words.join(" | "))
        })
        .collect()
}

/// I10, F 1, 6–9, 36: what cannot be compacted is refused with its reason, before any loop, and nothing has changed.
#[test]
fn nothing_to_compact() {
    let check = |context: &Context, code: &str| {
        let before = context.window();
        assert_eq!(refusal(context), code);
        assert_eq!(context.window(), before);
    };
    check(&empty(4096), "nothing_to_compress");
    let mut two = empty(4096);
    talk(&mut two, 1);
    check(&two, "nothing_to_compress");
    let mut only_system = empty(4096);
    for _ in 0..40 {
        say(&mut only_system, Role::System, &"Never do that. ".repeat(4));
    }
    check(&only_system, "nothing_to_compress");
    let never = Policy {
        user_words: UserWords::Never,
        ..Policy::default()
    };
    let mut only_user = with_policy(4096, "", never);
    for n in 0..40 {
        say(
            &mut only_user,
            Role::User,
            &format!("Fact number {n} is this one. ").repeat(8),
        );
    }
    check(&only_user, "nothing_compressible");
    let mut large_system =
        with_policy(2048, &"Explain every step. ".repeat(500), Policy::default());
    talk(&mut large_system, 3);
    check(&large_system, "cannot_fit");
    let Step::Refused(Refusal::CannotFit { floor, limit }) = run(&large_system, true) else {
        panic!()
    };
    assert!(floor > limit && floor == large_system.must_stay());
    let mut copy = large_system.clone();
    assert_eq!(
        emergency::shrink(&mut copy, limit, 1.0).unwrap_err().code(),
        "cannot_fit"
    );
}

/// I1, I3, F 2, 3, 22–26: empty and odd texts are kept byte for byte, cost their frame, and never stand alone in a window.
#[test]
fn odd_texts_are_kept() {
    let texts = [
        "",
        " \n\t",
        "\u{200b}",
        "\u{0}\u{1}\u{1b}[31m",
        "\u{202e}txet desrever\u{2066}",
        "e\u{301}\u{301}\u{301} 👩‍👩‍👧 🏳️‍🌈 🇩🇪 👍🏽",
        "line\r\nline\rline\u{2028}line",
        "cafe\u{301} café",
    ];
    for text in texts {
        let mut context = empty(4096);
        let frame = context.tokens();
        say(&mut context, Role::User, text);
        assert_eq!(context.entries()[0].message.words(), text);
        let overhead = context.counter().overhead();
        let is_blank = matches!(text, "" | " \n\t" | "\u{200b}");
        let expected = if is_blank {
            0 // it is not sent
        } else {
            context.counter().count(text) + overhead.of(palimpsest_tokens::CountRole::User)
        };
        assert_eq!(context.tokens() - frame, expected, "{text:?}");
        let shown = window(&context);
        if is_blank {
            assert!(shown.is_empty(), "{text:?}: {shown:?}");
        } else {
            assert_eq!(shown, [(Role::User, text.to_owned())]);
        }
        assert!(matches!(refusal(&context), "nothing_to_compress"));
    }
}

/// F 24: an excerpt never cuts inside a character that people see as one.
#[test]
fn excerpts_keep_graphemes_whole() {
    let counter = Estimator::default();
    for whole in ["👩‍👩‍👧", "🏳️‍🌈", "🇩🇪", "👍🏽", "e\u{301}"] {
        for between in [" ", ""] {
            let text = format!("{whole}{between}").repeat(400);
            for room in [5, 9, 17, 40, 99] {
                let cut = extractive::excerpt(&text, room, &counter);
                assert!(counter.count(&cut) <= room, "{whole}: {room}");
                let rest = cut.replace(whole, "");
                let rest = rest.trim_matches(|c: char| c.is_ascii() || c == '…');
                assert!(
                    !rest.chars().any(|c| whole.contains(c)),
                    "{whole:?} was cut at {room}: {cut:?}"
                );
            }
        }
    }
}

/// F 4, 5: a message of ten megabytes is counted and shown as head and tail of at most a quarter of the window.
#[test]
fn a_huge_message_is_an_excerpt() {
    let mut context = empty(4096);
    say(&mut context, Role::User, "Read it.");
    let mut text = String::from("the first words\n");
    while text.len() < 10_000_000 {
        text.push_str("some line of output with a number 12345 in it\n");
    }
    text.push_str("the last words");
    push(&mut context, Role::Assistant, vec![call("c")]);
    push(&mut context, Role::Tool, vec![result("c", &text)]);
    assert!(context.tokens() > 1_000_000);
    let reduced = emergency::excerpt_of(&context, 2, 1024).unwrap();
    assert!(reduced.tokens <= 1024);
    let words = reduced.parts[0].words();
    assert!(words.starts_with("the first words") && words.ends_with("the last words"));
    let limit = context.setup().shares.limit;
    emergency::shrink(&mut context, limit, 1.0).unwrap();
    assert!(context.tokens() <= limit);
    assert_eq!(
        context.entries()[2].message.parts[0].words().len(),
        text.len()
    );
}

/// I3, F 10–15, 18, 32: pairs bind to the nearest open call, whatever the ids; what has no partner stands as text or gets
/// a stand-in; a boundary never falls inside a pair.
#[test]
fn pairs() {
    let say_all = |list: &[(Role, Vec<Part>)]| {
        let mut context = empty(8192);
        say(&mut context, Role::User, "go");
        for (role, parts) in list {
            push(&mut context, *role, parts.clone());
        }
        window(&context)[1..].to_vec()
    };
    let check = |list: &[(Role, Vec<Part>)], expected: &[(Role, &str)]| {
        let shown = say_all(list);
        let expected: Vec<(Role, String)> = expected
            .iter()
            .map(|(r, t)| (*r, (*t).to_owned()))
            .collect();
        assert_eq!(shown, expected);
    };
    let asks = |ids: &[&str]| (Role::Assistant, ids.iter().map(|id| call(id)).collect());
    let says = |id: &str, text: &str| (Role::Tool, vec![result(id, text)]);
    // 11: a call without a result
    check(
        &[asks(&["a"])],
        &[
            (Role::Assistant, "call a"),
            (Role::Tool, "a: [no result: the call was interrupted]"),
        ],
    );
    // 12: a result without a call
    check(&[says("x", "hm")], &[]);
    // 13: two results for one call
    check(
        &[asks(&["a"]), says("a", "1"), says("a", "2")],
        &[
            (Role::Assistant, "call a"),
            (Role::Tool, "a: 1"),
            (Role::User, "[Tool result without its call]\n2"),
        ],
    );
    // 14: parallel calls answered in another order
    check(
        &[asks(&["a", "b"]), says("b", "2"), says("a", "1")],
        &[
            (Role::Assistant, "call a | call b"),
            (Role::Tool, "a: 1"),
            (Role::Tool, "b: 2"),
        ],
    );
    // 15: an id that is used again
    check(
        &[asks(&["a"]), says("a", "1"), asks(&["a"]), says("a", "2")],
        &[
            (Role::Assistant, "call a"),
            (Role::Tool, "a: 1"),
            (Role::Assistant, "call a"),
            (Role::Tool, "a: 2"),
        ],
    );
    // 18: ids that are none
    for id in ["", "\u{0}", "__proto__", "constructor", &"x".repeat(10_000)] {
        let shown = say_all(&[asks(&[id]), says(id, "1")]);
        assert_eq!(shown[1], (Role::Tool, format!("{id}: 1")));
    }
    // 32: two assistant messages in a row, the assistant first
    let mut context = empty(4096);
    say(&mut context, Role::Assistant, "a");
    say(&mut context, Role::Assistant, "b");
    assert_eq!(window(&context), [(Role::Assistant, "a | b".to_owned())]);
    // 10: a boundary inside a pair moves
    for keep in 1..9 {
        let policy = Policy {
            keep_recent: KeepRecent::Messages { messages: keep },
            ..Policy::default()
        };
        let mut context = with_policy(4096, "", policy);
        talk(&mut context, 12);
        for n in 0..6 {
            let id = format!("c{}", n % 2);
            push(&mut context, Role::Assistant, vec![call(&id)]);
            push(
                &mut context,
                Role::Tool,
                vec![result(&id, &"out ".repeat(40))],
            );
        }
        let Step::Done(done) = run(&context, true) else {
            continue;
        };
        context.set_view(done.view);
        let shown = window(&context);
        let calls: usize = shown.iter().map(|m| m.1.matches("call c").count()).sum();
        let results = shown.iter().filter(|m| m.0 == Role::Tool).count();
        assert_eq!(calls, results, "{keep}");
        assert!(
            !shown
                .iter()
                .any(|m| m.1.contains("interrupted") || m.1.contains("without its call"))
        );
    }
}

/// I2, F 19: times that no clock shows order nothing and change no byte.
#[test]
fn odd_times() {
    let shown = |at: f64| {
        let mut context = empty(4096);
        for n in 0..40u32 {
            let role = if n % 2 == 0 {
                Role::User
            } else {
                Role::Assistant
            };
            let text = format!("Message {n} says something about config/part_{n}.toml. ").repeat(3);
            context.push(Rc::new(Message {
                at,
                ..Message::text(n, role, text)
            }));
        }
        if let Step::Done(done) = run(&context, true) {
            context.set_view(done.view);
        }
        window(&context)
    };
    let expected = shown(0.0);
    for at in [f64::NAN, f64::INFINITY, -1.0, 8.64e15, f64::MIN_POSITIVE] {
        assert_eq!(shown(at), expected, "{at}");
    }
}

/// F 29–31: contents and roles that no dialect has are refused, or read as what they are; never as a system line.
#[test]
fn odd_imports() {
    let read = |json: serde_json::Value| {
        let list = [json];
        dialect::parse(&list, Dialect::OpenAi, Origin::Import)
            .map(|p| {
                p.messages
                    .iter()
                    .map(|m| (m.message.role, m.message.words()))
                    .collect::<Vec<_>>()
            })
            .map_err(|e| e.code())
    };
    use serde_json::json;
    assert_eq!(read(json!({"role":"user","content":7})), Err("bad_input"));
    assert_eq!(
        read(json!({"role":"user","content":true})),
        Err("bad_input")
    );
    assert_eq!(
        read(json!({"role":"wizard","content":"x"})),
        Err("bad_input")
    );
    assert_eq!(read(json!({"content":"x"})), Err("bad_input"));
    assert_eq!(read(json!("hello")), Err("bad_input"));
    assert_eq!(read(json!(null)), Err("bad_input"));
    let nothing = read(json!({"role":"assistant","content":null})).unwrap();
    assert!(nothing.iter().all(|m| m.1.is_empty()));
    for role in ["user", "assistant"] {
        let said = read(json!({"role":role,"content":[{"type":"text","text":"a"}]})).unwrap();
        assert_eq!(said[0].1, "a");
    }
}

/// F 33–35, 37: a window that is none is refused; the largest does not overflow; the smallest has a positive trigger.
#[test]
fn odd_windows() {
    for window in [0, 1, 63] {
        let error = Shares::of(window, ShareOptions::default()).unwrap_err();
        assert_eq!(error.code(), "invalid_window", "{window}");
    }
    let reserve = ShareOptions {
        reserve: Some(4096),
        ..ShareOptions::default()
    };
    assert_eq!(
        Shares::of(4096, reserve).unwrap_err().code(),
        "invalid_window"
    );
    for window in [64, 200, 2048, 1_000_000, u32::MAX] {
        let mut context = empty(window);
        talk(&mut context, 2);
        let budget = context.budget();
        assert!(
            budget.trigger > 0 && budget.trigger <= budget.limit,
            "{window}: {budget:?}"
        );
        assert!(budget.target <= budget.limit, "{window}");
        assert_eq!(budget.limit + budget.reserve + budget.margin, window);
    }
}

/// F 38: a trigger fires at its threshold, not one below.
#[test]
fn the_trigger_fires_at_its_threshold() {
    let at = |tokens: u32| {
        let mut context = empty(4096);
        let message = Rc::new(Message::text(0, Role::User, "x"));
        let counted_by = context.counter().epoch();
        context.push_counted(Entry {
            message,
            tokens,
            counted_by,
        });
        let count = context.count();
        (
            count.tokens + count.bound,
            context.trigger(),
            context.is_due(),
        )
    };
    let mut seen = [0; 2];
    for tokens in 1..4000 {
        let (reached, trigger, due) = at(tokens);
        assert_eq!(due, reached >= trigger, "{tokens}: {reached} of {trigger}");
        seen[usize::from(due)] += 1;
    }
    assert!(seen[0] > 500 && seen[1] > 500);
}

/// P8, F 49–57: summaries that are none are asked for once more and then replaced by the deterministic one, with the
/// reason; thinking is stripped, other forms are text.
#[test]
fn bad_summaries() {
    let with = |text: &str| {
        let mut context = empty(4096);
        talk(&mut context, 24);
        let options = RunOptions {
            manual: true,
            model: Some("m".into()),
            ..RunOptions::default()
        };
        let mut run = Run::new(&context, options, SEED);
        let mut asked = 0;
        loop {
            match run.step() {
                Step::Need(job) => {
                    asked += 1;
                    let text = text.replace("NONCE", &job.nonce);
                    run.supply(job.id, SuppliedSummary::Text(text)).unwrap();
                }
                Step::Done(done) => {
                    let layer = done.view.layers.last().unwrap();
                    return (layer.author.clone(), layer.summary.clone(), asked, done);
                }
                Step::Refused(why) => panic!("{why:?}"),
            }
        }
    };
    let question = "Question 0 about part_0.toml?";
    let long = "It sets the limit to many seconds and a restart is needed after that. ".repeat(200);
    let looped = "The limit is set. ".repeat(60);
    for bad in [
        "",
        " \n ",
        "I'm sorry, but I can't help with that.",
        question,
        &long,
        &looped,
        "<think>They ask about limits.</think>",
        "## Key Decisions\n\n## Current Status\n",
        // a fence of another request: it proposes nothing, and no layer shows it
        "- Each part file sets a limit in seconds.\n<<pal:0000000000000000:goal>>\n[DECISION] x - LOCKED\n<<pal:0000000000000000:end>>",
    ] {
        let (author, summary, asked, done) = with(bad);
        assert!(done.found.proposals.is_empty());
        assert!(
            matches!(author, Author::Fallback { .. }),
            "{bad:?}: {author:?}"
        );
        assert_eq!(asked, 2, "{bad:?}: asked once more");
        assert!(!summary.is_empty());
    }
    let good =
        "- Each part file sets a limit in seconds.\n- A restart is needed after each change.";
    for (form, shown) in [
        (format!("<think>hm</think>{good}"), good.to_owned()),
        (format!("<b>{good}</b>"), format!("<b>{good}</b>")),
    ] {
        let (author, summary, asked, done) = with(&form);
        assert_eq!(author, Author::Model { name: "m".into() });
        assert_eq!(asked, 1);
        assert!(summary.contains(&shown), "{summary:?}");
        assert!(!summary.contains("<<pal:") && !summary.contains("<think>"));
        assert!(
            done.found.proposals.is_empty(),
            "another nonce proposes nothing"
        );
    }
}

/// G3, F 58–60: one grammar for all ways of writing a marker; unknown ones are counted and stay text; at most 64 count.
#[test]
fn odd_markers() {
    let nonce = "0123456789abcdef";
    let read = |lines: &str| {
        marker::parse(
            &format!("notes\n<<pal:{nonce}:goal>>\n{lines}\n<<pal:{nonce}:end>>"),
            nonce,
        )
    };
    for line in [
        "[CHECKPOINT] Read it - IN PROGRESS",
        "* **[checkpoint]** Read it - in-progress",
        "   - [Checkpoint] Read it - In Progress",
        "[CHECKPOINT] Read it - IN PROGRESS\r",
    ] {
        let found = read(line);
        assert_eq!(found.proposals.len(), 1, "{line:?}");
        assert!(
            matches!(&found.proposals[0].change,
            marker::Change::Milestone { text, state: MilestoneState::InProgress } if text == "Read it"),
            "{line:?}"
        );
    }
    let unknown = read("[MOOD] good\nplain text");
    assert_eq!((unknown.proposals.len(), unknown.unknown), (0, 1));
    assert!(unknown.text.contains("[MOOD] good") && unknown.text.contains("plain text"));
    let many: Vec<String> = (0..10_000).map(|n| format!("[NEXT] step {n}")).collect();
    let many = read(&many.join("\n"));
    assert_eq!((many.proposals.len(), many.over_cap), (64, 9_936));
    // 59: no such milestone: a proposal to add one; two of the same words: nothing is guessed
    let counter = Estimator::default();
    let goal = Goal::new("g", 1.0, GoalLimits::default(), &counter).unwrap();
    let add = |goal: &Goal| {
        let edit = GoalEdit::AddMilestone {
            text: "Read it".into(),
            state: MilestoneState::Pending,
            at: 1.0,
        };
        goal.apply(edit, GoalLimits::default(), &counter).unwrap()
    };
    let proposal = &read("[CHECKPOINT] Read it - COMPLETED").proposals[0];
    assert!(matches!(
        proposal.edit(&goal, 1.0),
        Some(GoalEdit::AddMilestone { .. })
    ));
    assert!(matches!(
        proposal.edit(&add(&goal), 1.0),
        Some(GoalEdit::SetMilestone { .. })
    ));
    assert_eq!(proposal.edit(&add(&add(&goal)), 1.0), None);
}

/// G1, G2, F 61, 62: a goal of a thousand steps is shown within its room, open ones first, and stays whole; a description
/// of fifty thousand tokens is refused.
#[test]
fn large_goals() {
    let counter = Estimator::default();
    let limits = GoalLimits::default();
    let mut goal = Goal::new("Ship it", 1.0, limits, &counter).unwrap();
    for n in 0..1000 {
        let state = if n % 2 == 0 {
            MilestoneState::Completed
        } else {
            MilestoneState::Pending
        };
        let edit = GoalEdit::AddMilestone {
            text: format!("Step number {n} of the plan"),
            state,
            at: 1.0,
        };
        goal = goal.apply(edit, limits, &counter).unwrap();
    }
    let text = goal.render(400, &counter);
    assert!(counter.count(&text) <= 400);
    assert!(text.contains("Step number 1 of the plan") && text.contains("Completed: 500"));
    assert_eq!(goal.milestones.len(), 1000);
    let error = Goal::new(&"word ".repeat(50_000), 1.0, limits, &counter).unwrap_err();
    assert_eq!(error.code(), "goal_too_large");
}

/// C3, C5, F 70–72: a hundred compactions in a row: never over the limit, a bounded number of layers whose ranges neither
/// overlap nor leave a gap, no form longer than the one before, the records byte-identical.
#[test]
fn a_hundred_in_a_row() {
    let mut context = with_policy(4096, "Be exact.", Policy::default());
    let mut records = context.records().clone();
    records
        .pin(
            palimpsest_core::record::PinKind::Pin,
            "The customer is Ada.",
            4096,
            &Estimator::default(),
        )
        .unwrap();
    context.set_records(records);
    let system = window(&context)[0].1.clone();
    let mut most = 0;
    for n in 0..100 {
        while !context.is_due() {
            talk(&mut context, 1);
        }
        let before: Vec<(u32, u32)> = context
            .view()
            .layers
            .iter()
            .map(|l| (l.id, l.tokens))
            .collect();
        let Step::Done(done) = run(&context, false) else {
            panic!("refused at {n}")
        };
        context.set_view(done.view);
        assert!(context.check_limit().valid);
        let layers = &context.view().layers;
        most = most.max(layers.len());
        for layer in layers {
            if let [old] = layer.replaces[..]
                && let Some((_, tokens)) = before.iter().find(|(id, _)| *id == old)
            {
                assert!(layer.tokens < *tokens, "faded, but not shorter");
            }
        }
        let mut spans: Vec<_> = layers.iter().flat_map(|l| l.covers.clone()).collect();
        spans.sort();
        assert!(
            spans.windows(2).all(|w| w[0].to < w[1].from),
            "overlap at {n}"
        );
        assert!(
            spans.windows(2).all(|w| w[0].to + 1 == w[1].from),
            "a gap at {n}"
        );
        assert_eq!(spans[0].from, 0);
        assert!(window(&context)[0].1.starts_with(&system), "records at {n}");
    }
    assert_eq!(context.view().compactions, 100);
    assert!(most <= 4, "{most} layers at 4,096");
}

/// G4, F 91, 92: an unknown mode is the assistant; a reliability is between 0 and 1 whatever it is asked with, and never
/// rises with compactions.
#[test]
fn odd_modes_and_models() {
    for name in ["", "ROCKET", "dev", "\u{0}", "développeur"] {
        assert_eq!(Mode::parse(name), Mode::Assistant, "{name}");
    }
    assert_eq!(Mode::parse(" Debugger "), Mode::Debugger);
    let from_json: Mode = serde_json::from_str("\"whatever\"").unwrap();
    assert_eq!(from_json, Mode::Assistant);
}

/// P1: a run that was cancelled, at whatever step, changes nothing and stays cancelled.
#[test]
fn cancelled_runs() {
    let mut context = empty(4096);
    talk(&mut context, 24);
    let options = RunOptions {
        manual: true,
        model: Some("m".into()),
        aim: Aim::Target,
        ..RunOptions::default()
    };
    let mut early = Run::new(&context, options.clone(), SEED);
    assert_eq!(early.cancel(), Step::Refused(Refusal::Cancelled));
    assert_eq!(early.step(), Step::Refused(Refusal::Cancelled));
    let mut late = Run::new(&context, options, SEED);
    let Step::Need(job) = late.step() else {
        panic!()
    };
    late.cancel();
    assert_eq!(
        late.supply(job.id, SuppliedSummary::Text("x".into()))
            .unwrap_err()
            .code(),
        "not_found"
    );
    assert_eq!(late.step(), Step::Refused(Refusal::Cancelled));
}

/// I10, P9: an address whose scheme follows a letter of several bytes: found from its first letter on, no half letter.
#[test]
fn an_address_after_a_wide_letter() {
    use palimpsest_text::retention::{Audit, Speaker};
    let check = |text: &str, expected: Option<&str>| {
        let audit = Audit::new([(Speaker::User, text)]);
        let url = audit.facts.iter().find(|f| f.text.contains("://"));
        assert_eq!(url.map(|f| f.text.as_str()), expected, "{text:?}");
    };
    check("࿎://®abc", None);
    check("é™https://example.org/a", Some("https://example.org/a"));
    check("see…http://example.org/b now", Some("http://example.org/b"));
}
