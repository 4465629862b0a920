//! Quotes in lists: what layers cover and the user asks for stands before the question.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::rc::Rc;

use palimpsest_core::compact::{CompactOptions, CompactOutput, CompactState, Compaction};
use palimpsest_core::context::Seed;
use palimpsest_core::dialect::{Dialect, Rendered, detect, validate::validate};
use palimpsest_tokens::{Estimator, TokenCounter};
use proptest::prelude::*;
use serde_json::{Value, json};

const SEED: Seed = Seed {
    now: 0.0,
    secret: [0; 16],
};
const FACT: &str = "The spare key hangs behind the blue kiln.";

fn compact(list: &[Value], options: &CompactOptions, state: Option<CompactState>) -> CompactOutput {
    let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
    let out = Compaction::start(list.to_vec(), options, state, &counter, SEED)
        .and_then(Compaction::finish_without_model)
        .unwrap();
    assert!(
        out.report.after.tokens <= out.report.limit,
        "over the limit"
    );
    out
}

fn fill(out: &CompactOutput, raw: &[Value]) -> Vec<Value> {
    let own = |message: &Rendered| match message {
        Rendered::Kept(i) => raw[*i].clone(),
        Rendered::Made(value) => value.clone(),
    };
    out.messages.iter().map(own).collect()
}

fn without(window: u32) -> CompactOptions {
    let mut options = CompactOptions::new(window);
    options.policy.recall = false;
    options
}

/// A long talk with one fact near its beginning, said by the assistant.
fn talk(turns: usize) -> Vec<Value> {
    let mut list = Vec::new();
    for n in 0..turns {
        list.push(json!({"role": "user", "content": format!("Tell me of garden {n} and its {} trees.", n * 3 + 2)}));
        let answer = if n == 3 {
            FACT.to_owned()
        } else {
            format!(
                "Garden {n} lies by the river. Its trees were planted in {}, and they are watered each week.",
                1900 + n
            )
        };
        list.push(json!({"role": "assistant", "content": answer}));
    }
    list
}

fn asked(turns: usize, question: &str) -> Vec<Value> {
    let mut list = talk(turns);
    list.push(json!({"role": "user", "content": question}));
    list
}

const QUESTION: &str = "Where does the spare key hang?";

fn text(list: &[Value]) -> String {
    Value::Array(list.to_vec()).to_string()
}

/// R1, I8: the passage stands in a block of quotes before the question, and only there; without recall it does not, and a
/// list that fits comes back as it is.
#[test]
fn what_is_asked_for_is_quoted() {
    let list = asked(80, QUESTION);
    let out = compact(&list, &CompactOptions::new(1_024), None);
    let got = fill(&out, &list);
    let end = got.last().unwrap()["content"].as_str().unwrap();
    let (block, question) = end.split_once("</recalled_quotes>").unwrap();
    assert!(block.starts_with("<recalled_quotes>\nQuoted from earlier messages, for reference:"));
    assert!(block.contains(&format!("[8] {FACT}")), "{block}");
    assert_eq!(question.trim(), QUESTION);
    assert!(out.report.recalled.contains(&7) && out.report.recalled_tokens > 0);
    let bare = compact(&list, &without(1_024), None);
    assert_eq!(
        (bare.report.recalled, bare.report.recalled_tokens),
        (vec![], 0)
    );
    let short = asked(2, QUESTION);
    assert_eq!(
        fill(&compact(&short, &CompactOptions::new(8_192), None), &short),
        short
    );
    // nothing answers it
    let other = asked(80, "Zymurgy?");
    let none = compact(&other, &CompactOptions::new(1_024), None);
    assert!(none.report.recalled.is_empty());
}

/// R1: a message that asks nothing is answered by what nothing in the window says, each thing once, more than by what resembles
/// it. A question is answered by what resembles it.
#[test]
fn small_talk_brings_what_is_out_of_sight() {
    let recalled = |list: &[Value], options: &CompactOptions| {
        let got = text(&fill(&compact(list, options, None), list));
        let (_, block) = got.split_once("<recalled_quotes>").unwrap();
        block.split_once("</recalled_quotes>").unwrap().0.to_owned()
    };
    let thanks = "Thank you, that river sounds like a nice place to sit.";
    let mut list = asked(80, thanks);
    let block = recalled(&list, &CompactOptions::new(1_024));
    assert!(block.contains(FACT), "{block}");
    // the answers say the same of one garden after the other
    let alike = |block: &str| block.matches("they are watered each week").count();
    let beside_news = alike(&block);
    list.last_mut().unwrap()["content"] = json!(format!("{thanks} Or does it not?"));
    let block = recalled(&list, &CompactOptions::new(1_024));
    assert!(
        !block.contains(FACT) && alike(&block) > 2 * beside_news,
        "{block}"
    );
}

/// R1: thanks bring no thanks, and no text is quoted that stands in the window already or in another quote.
#[test]
fn nothing_is_quoted_twice() {
    const POLITE: &str = "Thanks for letting me know! I keep track of everything as we move along, so just tell me if \
                          anything else comes up.";
    let quotes = |last: &str| {
        let mut list = talk(80);
        for reply in list.iter_mut().skip(9).step_by(4) {
            reply["content"] = json!(POLITE);
        }
        list.push(json!({"role": "user", "content": last}));
        let got = text(&fill(
            &compact(&list, &CompactOptions::new(1_024), None),
            &list,
        ));
        let (_, block) = got.split_once("<recalled_quotes>").unwrap();
        block.split_once("</recalled_quotes>").unwrap().0.to_owned()
    };
    let block = quotes("Thanks, that's all for now.");
    assert!(
        !block.contains("Thanks for letting") && block.contains(FACT),
        "{block}"
    );
    let block = quotes("Did you keep track of everything, and where does the spare key hang?");
    assert!(
        block.contains(FACT) && block.matches("letting me know").count() <= 1,
        "{block}"
    );
}

/// R1: a quote that says what was changed later comes with the change, or not at all.
#[test]
fn a_quoted_value_stands_with_its_change() {
    let check = |old: &str, new: &str, values: [&str; 2], question: &str| {
        let mut list = talk(80);
        list[12]["content"] = json!(old);
        list[70]["content"] = json!(new);
        list.push(json!({"role": "user", "content": question}));
        let mut stood = 0;
        for window in (512..=2_048).step_by(256) {
            let out = compact(&list, &CompactOptions::new(window), None);
            let got = text(&fill(&out, &list));
            let stands = values.map(|value| got.contains(value));
            assert!(!stands[0] || stands[1], "{window}: {old}");
            stood += usize::from(stands[0]);
        }
        assert!(stood > 0, "{old}: what is asked for is quoted");
    };
    check(
        "The dinner at Rossi's is on 12 May at 19:30, with a dress code: white.",
        "We moved the dinner to 14 May.",
        ["12 May", "14 May"],
        "What was the dress code at Rossi's?",
    );
    check(
        "The kitchen budget is £2,400, tiles and a walnut worktop included.",
        "I'm raising the kitchen budget to £2,900 now.",
        ["£2,400", "£2,900"],
        "Which wood is the worktop, walnut?",
    );
}

/// Adds the calls of a loop, each with its result.
fn step(list: &mut Vec<Value>, n: usize) {
    let id = format!("c{n}");
    list.push(json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": {"name": "look", "arguments": format!("{{\"shelf\":{n}}}")}}]}));
    list.push(
        json!({"role": "tool", "tool_call_id": id, "content": format!("Shelf {n} is empty.")}),
    );
}

/// I2, R1: in a loop of tool calls the list only grows: what was sent stands as it was, whether the whole list is passed
/// with the state or what came back is.
#[test]
fn a_loop_keeps_the_beginning_of_its_prompt() {
    let options = CompactOptions::new(2_048);
    for handed in [false, true] {
        let mut list = asked(110, QUESTION);
        let mut state = None;
        let mut before: Vec<Value> = Vec::new();
        for n in 0..6 {
            let out = compact(&list, &options, state);
            let sent = fill(&out, &list);
            assert!(text(&sent).contains(FACT), "{handed} {n}");
            assert_eq!(text(&sent).matches("<recalled_quotes>").count(), 1);
            assert!(sent.starts_with(&before), "{handed} {n}: another beginning");
            state = Some(serde_json::from_value(json!(out.state)).unwrap());
            before.clone_from(&sent);
            if handed {
                list = sent;
            }
            step(&mut list, n);
        }
    }
}

/// I7, R1: the next message takes the quotes out: they are nobody's words, in no layer, and are not quoted themselves.
#[test]
fn quotes_go_with_the_next_message() {
    for dialect in ["openai", "ollama", "anthropic"] {
        let options = CompactOptions {
            dialect: Some(Dialect::named(dialect).unwrap()),
            ..CompactOptions::new(1_024)
        };
        let mut list = asked(80, QUESTION);
        let first = compact(&list, &options, None);
        list = fill(&first, &list);
        assert!(text(&list).contains(FACT), "{dialect}");
        let again = compact(&list, &options, Some(first.state.clone()));
        assert!(!again.report.changed, "{dialect}");
        list.push(json!({"role": "assistant", "content": "Behind it."}));
        list.push(json!({"role": "user", "content": "Zymurgy?"}));
        let next = compact(&list, &options, Some(first.state));
        let told = &next.report.adjustments;
        assert!(
            !told.iter().any(|a| a.contains("another list")),
            "{dialect}: {told:?}"
        );
        let sent = fill(&next, &list);
        assert!(!text(&sent).contains("recalled_quotes"), "{dialect}");
        assert!(text(&sent).contains(QUESTION), "{dialect}");
        let checked = validate(&sent, detect(&sent));
        assert!(checked.ok, "{dialect}: {:?}", checked.problems);
    }
}

/// A state holds where the quotes are from, not their words.
#[test]
fn the_state_stays_small() {
    let list = asked(80, QUESTION);
    let with = compact(&list, &CompactOptions::new(1_024), None);
    assert!(!text(&[json!(with.state)["asked"].clone()]).contains("kiln"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// B5, R1: whatever is asked, at every window, quotes never bring a list over its limit, and the list is valid.
    #[test]
    fn quotes_never_exceed_the_limit(window in 256u32..3_000, turns in 5usize..60, pick in 0usize..60) {
        let list = asked(turns, &format!("What of garden {pick}, the river and the spare key of {}?", 1900 + pick));
        let out = compact(&list, &CompactOptions::new(window), None);
        prop_assert!(out.report.recalled_tokens <= out.report.limit / 4);
        let sent = fill(&out, &list);
        let checked = validate(&sent, Some(Dialect::OpenAi));
        prop_assert!(checked.ok, "{:?}", checked.problems);
    }
}
