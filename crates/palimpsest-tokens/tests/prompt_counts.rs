//! Compares calibration with 273 requests that a real Ollama counted, and with prompts that are counted by hand.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "test helpers")]

use std::rc::Rc;

use palimpsest_tokens::{
    Calibration, CountRole, Family, Ignored, Overhead, Reported, Source, TokenCounter as _, Trust,
    Verdict, Vocabulary,
};
use serde_json::Value;

mod small;

/// The source of the counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counted {
    /// A real server counted.
    Recorded,
    /// The counts were made by hand: every text is one word, which is one token of a small vocabulary.
    ByHand,
}

fn data(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data")
        .join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

struct Request {
    name: String,
    messages: Vec<(CountRole, String)>,
    window: u32,
    /// `prompt_eval_count`, if the request succeeded.
    counted: Option<u32>,
    /// The server may cut the prompt without saying so.
    may_cut: bool,
    sent: Option<u32>,
    unchanged: bool,
}

/// A prompt of messages with the given numbers of words: 4 tokens for the prompt, 5 for each message, 6 for each reply.
fn by_hand(name: String, said: &[(CountRole, u32)], window: u32) -> Request {
    let around = |role| if role == CountRole::Assistant { 6 } else { 5 };
    let tokens = 4 + said.iter().map(|(r, n)| around(*r) + n).sum::<u32>();
    let words = |n: u32| vec!["the"; n as usize].join(" ");
    Request {
        name,
        messages: said.iter().map(|(r, n)| (*r, words(*n))).collect(),
        window,
        counted: Some(tokens),
        may_cut: true,
        sent: Some(tokens),
        unchanged: true,
    }
}

fn requests_by_hand(part: &str) -> Vec<Request> {
    use CountRole::{Assistant, System, Tool, User};
    let mut all = Vec::new();
    match part {
        "template" => {
            for role in [User, System, Assistant, Tool] {
                for words in [1, 7] {
                    all.push(by_hand(
                        format!("role/{role:?}/{words}"),
                        &[(role, words)],
                        8192,
                    ));
                }
            }
            let every = [(System, 3), (User, 5), (Assistant, 2), (Tool, 9), (User, 1)];
            all.push(by_hand("role/every".to_owned(), &every, 8192));
        }
        "conversation" => {
            for (talk, (base, step)) in [(11, 3), (40, 17)].into_iter().enumerate() {
                let mut said = Vec::new();
                for turn in 0..10 {
                    said.push((User, base + step * turn));
                    all.push(by_hand(format!("by hand {talk}/{turn}"), &said, 8192));
                    said.push((Assistant, base + 2 * turn));
                }
            }
        }
        _ => {
            for words in [100, 300, 450] {
                all.push(by_hand(format!("whole {words}"), &[(User, words)], 512));
            }
            for words in [900, 2000] {
                let said = [(User, words), (Assistant, 40), (User, 60)];
                // The server dropped all but the last message.
                all.push(Request {
                    counted: Some(4 + 5 + 60),
                    ..by_hand(format!("cut {words}"), &said, 512)
                });
            }
        }
    }
    all
}

fn requests(by: Counted, part: &str) -> Vec<Request> {
    if by == Counted::ByHand {
        return requests_by_hand(part);
    }
    let recorded: Value = serde_json::from_slice(&data("ollama-prompt-counts.json")).unwrap();
    let number = |v: &Value| v.as_u64().map(|n| u32::try_from(n).unwrap());
    let requests = recorded["entries"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|e| e["part"] == part)
        .filter_map(|e| {
            let messages = e["request"]["messages"].as_array().unwrap();
            let messages: Option<Vec<_>> = messages
                .iter()
                .map(|m| {
                    let role = match m["role"].as_str()? {
                        "system" => CountRole::System,
                        "user" => CountRole::User,
                        "assistant" => CountRole::Assistant,
                        "tool" => CountRole::Tool,
                        _ => return None,
                    };
                    Some((role, m["content"].as_str()?.to_owned()))
                })
                .collect();
            let chars: usize = messages
                .iter()
                .flatten()
                .map(|(role, text)| {
                    let role = match role {
                        CountRole::Assistant => 9,
                        CountRole::System => 6,
                        CountRole::User | CountRole::Tool => 4,
                    };
                    text.chars().count() + "<|im_start|>\n<|im_end|>\n".len() + role
                })
                .sum();
            let rendered = e["rendered_chars"].as_u64();
            let flags = &e["request"]["flags"];
            Some(Request {
                name: e["name"].as_str().unwrap().to_owned(),
                messages: messages?,
                window: number(&e["request"]["options"]["num_ctx"]).unwrap(),
                counted: number(&e["prompt_eval_count"]).filter(|_| e["status"] == 200),
                may_cut: flags["truncate"] != false,
                sent: number(&e["sent_tokens"]),
                unchanged: rendered == Some(chars as u64 + "<|im_start|>assistant\n".len() as u64),
            })
        });
    requests.collect()
}

fn vocabulary(by: Counted, change: impl Fn(String) -> String) -> Rc<Vocabulary> {
    let show = match by {
        Counted::Recorded => String::from_utf8(data("ollama-golden/show_verbose.body")).unwrap(),
        Counted::ByHand => small::show().to_string(),
    };
    Rc::new(Vocabulary::from_show(change(show).as_bytes()).unwrap())
}

fn texts(request: &Request) -> impl Iterator<Item = (CountRole, &str)> {
    request
        .messages
        .iter()
        .map(|(role, text)| (*role, text.as_str()))
}

/// The turns of each recorded conversation whose texts are unchanged. In ten of them host names were replaced after
/// recording, which the length of the rendered prompt reveals.
fn conversations(by: Counted) -> Vec<Vec<Request>> {
    let mut all: Vec<Vec<Request>> = Vec::new();
    let name = |r: &Request| r.name.rsplit_once('/').unwrap().0.to_owned();
    for request in requests(by, "conversation")
        .into_iter()
        .filter(|r| r.unchanged)
    {
        match all.last_mut() {
            Some(turns) if name(&turns[0]) == name(&request) => turns.push(request),
            _ => all.push(vec![request]),
        }
    }
    let requests = if by == Counted::Recorded { 86 } else { 20 };
    assert_eq!(all.iter().map(Vec::len).sum::<usize>(), requests);
    all
}

/// B8: with the model's vocabulary, the first turns show what the template adds, and every prompt after the second turn
/// is predicted to the token. Three such counts in a row are proof.
#[test]
#[ignore = "needs ../shared/data"]
fn recorded_template_costs_are_solved_from_the_first_turns() {
    template_costs_are_solved_from_the_first_turns(Counted::Recorded);
}

/// B8: the same holds for prompts that are counted by hand.
#[test]
fn by_hand_template_costs_are_solved_from_the_first_turns() {
    template_costs_are_solved_from_the_first_turns(Counted::ByHand);
}

fn template_costs_are_solved_from_the_first_turns(by: Counted) {
    let (conversations, vocabulary) = (conversations(by), vocabulary(by, |s| s));
    let mut predicted = 0;
    for turns in &conversations {
        let mut calibration = Calibration::new(vocabulary.family());
        vocabulary.set_trust(Trust::Unproven);
        for (i, turn) in turns.iter().enumerate() {
            let weight = calibration.weigh(Some(&vocabulary), texts(turn));
            let expected = calibration.predict(&weight);
            let counted = turn.counted.unwrap();
            if i >= 2 {
                assert_eq!(
                    (expected.tokens, expected.source, expected.bound),
                    (counted, Source::Exact, 0),
                    "{}",
                    turn.name
                );
                predicted += 1;
            }
            let verdict = calibration.observe(
                &weight,
                Reported {
                    prompt_tokens: Some(counted),
                    window: turn.window,
                },
            );
            assert!(
                matches!(verdict, Verdict::Learned { .. }),
                "{}: {verdict:?}",
                turn.name
            );
        }
        calibration.apply(&vocabulary);
        assert_eq!(vocabulary.trust(), Trust::Proven);
    }
    let requests: usize = conversations.iter().map(Vec::len).sum();
    assert_eq!(predicted, requests - conversations.len() * 2);
}

/// B8: requests with every pattern of roles give the true costs: 4 per prompt, 5 per message, 6 per reply.
#[test]
#[ignore = "needs ../shared/data"]
fn recorded_each_role_has_its_own_cost() {
    each_role_has_its_own_cost(Counted::Recorded);
}

/// B8: the same holds for prompts that are counted by hand.
#[test]
fn by_hand_each_role_has_its_own_cost() {
    each_role_has_its_own_cost(Counted::ByHand);
}

fn each_role_has_its_own_cost(by: Counted) {
    let (requests, vocabulary) = (requests(by, "template"), vocabulary(by, |s| s));
    let mut calibration = Calibration::new(Family::Generic);
    for request in requests.iter().filter(|r| r.name.starts_with("role/")) {
        let weight = calibration.weigh(Some(&vocabulary), texts(request));
        calibration.observe(
            &weight,
            Reported {
                prompt_tokens: request.counted,
                window: request.window,
            },
        );
    }
    assert_eq!(
        calibration.overhead(),
        Overhead {
            base: 4,
            system: 5,
            user: 5,
            assistant: 6,
            tool: 5
        }
    );
}

/// B8: a vocabulary that is not the model's is detected, and its source and bound say so.
#[test]
#[ignore = "needs ../shared/data"]
fn recorded_a_wrong_vocabulary_is_refuted() {
    a_wrong_vocabulary_is_refuted(Counted::Recorded);
}

/// B8: the same holds for prompts that are counted by hand.
#[test]
fn by_hand_a_wrong_vocabulary_is_refuted() {
    a_wrong_vocabulary_is_refuted(Counted::ByHand);
}

fn a_wrong_vocabulary_is_refuted(by: Counted) {
    let conversations = conversations(by);
    // The same tokens without half of the merges are closer to the right vocabulary than any real wrong one.
    let wrong = vocabulary(by, |show| {
        let mut show: Value = serde_json::from_str(&show).unwrap();
        let merges = show["model_info"]["tokenizer.ggml.merges"]
            .as_array_mut()
            .unwrap();
        merges.truncate(merges.len() / 2);
        show.to_string()
    });
    let mut refuted = 0;
    for turns in conversations.iter().filter(|turns| turns.len() >= 8) {
        let mut calibration = Calibration::new(Family::Starcoder);
        for turn in turns {
            let weight = calibration.weigh(Some(&wrong), texts(turn));
            calibration.observe(
                &weight,
                Reported {
                    prompt_tokens: turn.counted,
                    window: turn.window,
                },
            );
        }
        wrong.set_trust(Trust::Proven);
        calibration.apply(&wrong);
        refuted += u32::from(wrong.trust() == Trust::Refuted);
        // The estimate that learned meanwhile takes over: the next prompt's texts are within a few per cent.
        assert_eq!(
            calibration.is_refuted(),
            wrong.source() == Source::Estimated
        );
        let right = vocabulary(by, |show| show);
        let sum = |counter: &dyn palimpsest_tokens::TokenCounter| -> u32 {
            texts(turns.last().unwrap())
                .map(|(_, text)| counter.count(text))
                .sum()
        };
        let (exact, estimated) = (sum(right.as_ref()), sum(&calibration.estimator()));
        assert!(
            exact.abs_diff(estimated) * 100 <= exact * 6,
            "{exact} {estimated}"
        );
    }
    // Of the two that are counted by hand, the one with small steps is too even to tell.
    assert_eq!(refuted, if by == Counted::Recorded { 7 } else { 1 });
}

/// B8, F 82: without a vocabulary, prompts are estimated within 1 % after six turns, and within the bound at least as
/// often as promised. A stored calibration continues where it stopped.
#[test]
#[ignore = "needs ../shared/data"]
fn recorded_estimates_are_calibrated() {
    estimates_are_calibrated(Counted::Recorded);
}

/// B8, F 82: the same holds for prompts that are counted by hand.
#[test]
fn by_hand_estimates_are_calibrated() {
    estimates_are_calibrated(Counted::ByHand);
}

fn estimates_are_calibrated(by: Counted) {
    let conversations = conversations(by);
    for (family, first_turns) in [(Family::Starcoder, 16.0), (Family::Generic, 60.0)] {
        let (mut late, mut late_n, mut early, mut within, mut n) = (0.0, 0, 0.0_f64, 0, 0);
        for turns in &conversations {
            let mut calibration = Calibration::new(family);
            for (i, turn) in turns.iter().enumerate() {
                let weight = calibration.weigh(None, texts(turn));
                let expected = calibration.predict(&weight);
                let counted = turn.counted.unwrap();
                let error =
                    f64::from(expected.tokens.abs_diff(counted)) / f64::from(counted) * 100.0;
                if i >= 6 {
                    late += error;
                    late_n += 1;
                } else if i == 0 {
                    early = early.max(error);
                }
                n += 1;
                within += u32::from(counted <= expected.tokens + expected.bound);
                assert_eq!(expected.source, Source::Estimated);
                calibration.observe(
                    &weight,
                    Reported {
                        prompt_tokens: Some(counted),
                        window: turn.window,
                    },
                );
                let stored = serde_json::to_string(&calibration).unwrap();
                let restored: Calibration = serde_json::from_str(&stored).unwrap();
                assert_eq!(restored.predict(&weight), calibration.predict(&weight));
                calibration = restored;
            }
        }
        let late = late / f64::from(late_n);
        println!(
            "{family:?}: first prompt off by up to {early:.1} %, from the seventh turn {late:.2} %, {within}/{n} within the bound"
        );
        assert!(late <= 1.0, "{family:?}: {late}");
        assert!(early <= first_turns, "{family:?}: {early}");
        assert!(within * 100 >= n * 95, "{family:?}: {within}/{n}");
    }
}

/// B9: a prompt that the server cut is detected, with a vocabulary and without, and teaches nothing. A prompt that the
/// server kept whole is not reported as cut.
#[test]
#[ignore = "needs ../shared/data"]
fn recorded_cut_prompts_are_noticed() {
    cut_prompts_are_noticed(Counted::Recorded);
}

/// B9: the same holds for prompts that are counted by hand.
#[test]
fn by_hand_cut_prompts_are_noticed() {
    cut_prompts_are_noticed(Counted::ByHand);
}

fn cut_prompts_are_noticed(by: Counted) {
    let (requests, vocabulary) = (requests(by, "overflow"), vocabulary(by, |s| s));
    let conversations = conversations(by);
    for exact in [true, false] {
        let vocabulary = exact.then_some(&vocabulary);
        let mut calibration = Calibration::new(Family::Starcoder);
        for turn in conversations.iter().flatten() {
            let weight = calibration.weigh(vocabulary, texts(turn));
            calibration.observe(
                &weight,
                Reported {
                    prompt_tokens: turn.counted,
                    window: turn.window,
                },
            );
        }
        calibration.lift_anchor();
        let (mut cut, mut whole) = (0, 0);
        for request in &requests {
            let (Some(counted), Some(sent)) = (request.counted, request.sent) else {
                continue;
            };
            let weight = calibration.weigh(vocabulary, texts(request));
            let mut after = calibration.clone();
            let verdict = after.observe(
                &weight,
                Reported {
                    prompt_tokens: Some(counted),
                    window: request.window,
                },
            );
            let truncated = matches!(verdict, Verdict::Truncated { .. });
            // Without a vocabulary, one dropped message of fifty tokens stays within the bound.
            if counted < sent && (exact || counted * 3 < sent * 2) {
                assert!(
                    request.may_cut || request.name.contains("shift"),
                    "{}",
                    request.name
                );
                assert!(
                    truncated,
                    "{}: {verdict:?}, sent {sent}, counted {counted}",
                    request.name
                );
                assert_eq!(after, calibration);
                cut += 1;
            } else if counted == sent {
                assert!(!truncated, "{}: {verdict:?}", request.name);
                whole += 1;
            }
        }
        println!("exact {exact}: {cut} cut, {whole} whole");
        assert!(
            by == Counted::ByHand && (cut, whole) == (2, 3)
                || cut >= if exact { 13 } else { 7 } && whole >= 20,
            "{cut} {whole}"
        );
    }
}

/// B9: absent counts, counts of the uncached part only, counts at the limit and counts beyond reason teach nothing.
#[test]
fn useless_counts_are_ignored() {
    let mut calibration = Calibration::new(Family::Llama3);
    let text = "The quick brown fox jumps over the lazy dog. ".repeat(40);
    let first = calibration.weigh(None, [(CountRole::User, text.as_str())]);
    let report = |prompt_tokens, window| Reported {
        prompt_tokens,
        window,
    };
    assert_eq!(
        calibration.observe(&first, report(None, 8192)),
        Verdict::Ignored(Ignored::Absent)
    );
    assert_eq!(
        calibration.observe(&first, report(Some(0), 8192)),
        Verdict::Ignored(Ignored::Absent)
    );
    let n = calibration.predict(&first).tokens;
    assert_eq!(
        calibration.observe(&first, report(Some(n), n + 10)),
        Verdict::Ignored(Ignored::AtTheLimit)
    );
    assert_eq!(
        calibration.observe(&first, report(Some(n * 3), 8192)),
        Verdict::Ignored(Ignored::Implausible)
    );
    assert_eq!(calibration.learned(), 0);
    assert_eq!(
        calibration.observe(&first, report(Some(n), 8192)),
        Verdict::Learned { difference: 0 }
    );
    assert_eq!(calibration.predict(&first).source, Source::Measured);
    let second = calibration.weigh(
        None,
        [
            (CountRole::User, text.as_str()),
            (CountRole::Assistant, "Indeed it does."),
            (CountRole::User, "Why?"),
        ],
    );
    assert_eq!(
        calibration.observe(&second, report(Some(20), 8192)),
        Verdict::Ignored(Ignored::Cached)
    );
    assert_eq!(calibration.learned(), 1);
}

/// B8: tool calls and definitions, whose form only the template knows, neither prove nor refute a vocabulary.
#[test]
#[ignore = "needs ../shared/data"]
fn recorded_what_only_the_template_knows_proves_nothing() {
    what_only_the_template_knows_proves_nothing(Counted::Recorded);
}

/// B8: the same for prompts that are counted by hand.
#[test]
fn by_hand_what_only_the_template_knows_proves_nothing() {
    what_only_the_template_knows_proves_nothing(Counted::ByHand);
}

fn what_only_the_template_knows_proves_nothing(by: Counted) {
    let vocabulary = vocabulary(by, |s| s);
    let mut calibration = Calibration::new(Family::Starcoder);
    for turn in 0..5 {
        let mut weigher = calibration.weigher(Some(Rc::clone(&vocabulary) as _));
        weigher.message(CountRole::User, "What is the weather in Paris?");
        for _ in 0..=turn {
            weigher.message(CountRole::Assistant, "");
            weigher.loose("get_weather {\"city\":\"Paris\"}");
            weigher.message(CountRole::Tool, "22 degrees");
        }
        let weight = weigher.finish();
        let expected = calibration.predict(&weight);
        assert_eq!(expected.source, Source::Estimated);
        assert!(expected.bound >= 24 * (turn + 1));
        calibration.observe(
            &weight,
            Reported {
                prompt_tokens: Some(expected.tokens + 7 + turn * 3),
                window: 8192,
            },
        );
    }
    calibration.apply(&vocabulary);
    assert_eq!(
        (vocabulary.trust(), calibration.learned()),
        (Trust::Proven, 5)
    );
}

/// B8: a vocabulary whose family was not compared with its original reports estimates until three live counts agree; and
/// no message's count is called exact before a live count has confirmed the template.
#[test]
#[ignore = "needs ../shared/data"]
fn recorded_live_counts_prove_a_family() {
    live_counts_prove_a_family(Counted::Recorded);
}

/// B8: the same for prompts that are counted by hand.
#[test]
fn by_hand_live_counts_prove_a_family() {
    live_counts_prove_a_family(Counted::ByHand);
}

fn live_counts_prove_a_family(by: Counted) {
    let conversations = conversations(by);
    let unproven = vocabulary(by, |show| show.replace("\"smollm\"", "\"laguna\""));
    let counts: Vec<u32> = conversations[0].iter().filter_map(|t| t.counted).collect();
    let right = vocabulary(by, |show| show);
    let mut calibration = Calibration::new(Family::Starcoder);
    assert_eq!(
        (unproven.source(), unproven.bound(1000)),
        (Source::Estimated, 10)
    );
    assert_eq!((right.source(), right.bound(1000)), (Source::Exact, 0));
    assert_eq!(right.template_bound(10), 38);
    let epoch = right.epoch();
    let mut proven_after = None;
    for (i, (turn, counted)) in conversations[0].iter().zip(&counts).enumerate() {
        let weight = calibration.weigh(Some(&right), texts(turn));
        calibration.observe(
            &weight,
            Reported {
                prompt_tokens: Some(*counted),
                window: turn.window,
            },
        );
        calibration.apply(&unproven);
        calibration.apply(&right);
        if unproven.source() == Source::Exact {
            proven_after.get_or_insert(i + 1);
        }
    }
    // The first count has nothing before it to agree with.
    assert_eq!(proven_after, Some(4));
    assert_eq!(right.template_bound(10), 0);
    // The template is SmolLM2's own, which is the default: the epoch is the same.
    assert_eq!(right.epoch(), epoch);
    right.set_overhead(Overhead {
        base: 9,
        ..right.overhead()
    });
    assert_ne!(right.epoch(), epoch);
}
