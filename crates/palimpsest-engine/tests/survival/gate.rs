//! What every run of the tests holds, on conversations of our own: ratios to the newest messages alone and to TextRank, each in
//! the same room.
//!
//! A gate stands below what was reached when it was set, so that a change that helps one figure and costs another a little
//! passes. To raise one, run the bench, read the whole table, and set the ratio to about three quarters of the new one.

use crate::contender::Who;
use crate::corpus::{Talk, joined, own};
use crate::measure::{
    Asked, Ended, Share, after_compactions, looks, measured, needed, needs, own_rules, rules,
};
use crate::peers::Kind;

const LIST: Who = Who::List("balanced");
const TAIL: Who = Who::Peer(Kind::Tail);
const TEXT_RANK: Who = Who::Peer(Kind::TextRank);

fn figures(talks: &[Talk], who: Who, window: u32) -> (Asked, Ended) {
    let got = measured(talks, who, window, 6);
    println!(
        "{}: evidence {:.0} %, answers {:.0} %, facts {:.0} %, empty {:.0} %, stale {:.0} %, {:.0} tokens",
        who.name(),
        got.0.evidence.percent(),
        got.0.answer.percent(),
        got.1.facts.percent(),
        got.1.empty.percent(),
        got.1.stale.percent(),
        got.0.tokens.hits / got.0.tokens.of,
    );
    got
}

/// At least so many times the other's hits, of as many.
fn at_least(what: &str, ours: Share, times: f64, theirs: Share) {
    assert!(
        ours.of > 0.0 && (ours.of - theirs.of).abs() < 0.5,
        "{what}: not the same was asked"
    );
    assert!(
        ours.hits >= times * theirs.hits,
        "{what}: {} is not {times} times {}, of {}",
        ours.hits,
        theirs.hits,
        ours.of
    );
}

/// R1: what is asked for later stands in the window when it is asked for.
#[test]
fn questions_about_a_long_chat() {
    let talks = own("move");
    let of = |who| figures(&talks, who, 2_048);
    let (list, session, tail, rank) = (of(LIST), of(Who::Session), of(TAIL), of(TEXT_RANK));
    at_least("list, evidence", list.0.evidence, 2.5, tail.0.evidence);
    at_least(
        "session, evidence",
        session.0.evidence,
        3.5,
        tail.0.evidence,
    );
    at_least("list, answers", list.0.answer, 3.0, rank.0.answer);
    at_least("session, answers", session.0.answer, 3.0, rank.0.answer);
    // nothing is asked: what layers tell
    at_least("list, facts", list.1.facts, 0.8, tail.1.facts);
    at_least("list, facts", list.1.facts, 1.5, rank.1.facts);
}

/// R1: the same where a desk and an agent use tools, whose requests come between steps of a loop.
#[test]
fn questions_where_tools_are_used() {
    for (name, window, list, session) in [("service", 2_048, 2.7, 3.0), ("coding", 4_096, 1.8, 1.9)]
    {
        let talk = joined(name, &own(name));
        let of = |who| figures(std::slice::from_ref(&talk), who, window).0.evidence;
        let tail = of(TAIL);
        at_least(&format!("{name}, list"), of(LIST), list, tail);
        at_least(&format!("{name}, session"), of(Who::Session), session, tail);
    }
}

/// R1: the same in seven languages. In none is it much worse than the newest messages, of which half fit.
#[test]
fn questions_in_seven_languages() {
    let mut sums = [Asked::default(); 3];
    for talk in own("small") {
        let of = |who| measured(std::slice::from_ref(&talk), who, 768, 3).0;
        let all = [of(LIST), of(Who::Session), of(TAIL)];
        println!("{}: {all:?}", talk.language);
        for (ours, name) in all.iter().zip(["list", "session"]) {
            at_least(
                &format!("{name}, {}", talk.language),
                ours.answer,
                0.9,
                all[2].answer,
            );
        }
        sums.iter_mut()
            .zip(all)
            .for_each(|(sum, own)| sum.join(own));
    }
    at_least("list, evidence", sums[0].evidence, 1.1, sums[2].evidence);
    at_least(
        "session, evidence",
        sums[1].evidence,
        1.15,
        sums[2].evidence,
    );
}

/// Standing instructions outlive compactions, in the user's words.
#[test]
fn rules_after_compactions() {
    let ruled = own_rules().swap_remove(0);
    let at = after_compactions(&ruled.talk, ruled.said, 2_048, &[1, 5]);
    assert_eq!(at.len(), 2);
    let of = |who| rules(&ruled.talk, &at, &ruled.rules, who, 2_048);
    let (list, session, tail) = (of(LIST), of(Who::Session), of(TAIL));
    println!("list {list:?}, session {session:?}, tail {tail:?}");
    for ours in list.iter().chain(&session) {
        assert!(ours.of > 0.0 && ours.hits >= ours.of, "{ours:?}");
    }
    // else they would still stand among the newest messages
    assert!(tail[1].hits < tail[1].of, "{tail:?}");
}

/// What a tool call needs stands in the window with which it is asked for.
#[test]
fn values_that_calls_need() {
    let talk = own("coding").remove(0);
    let needs = needs(&talk, 800, 30);
    let of = |who: Who| needed(&talk, &needs, who.start(&talk.system, 4_096).as_mut());
    let (list, tail) = (of(LIST), of(TAIL));
    println!("list {list:?}, tail {tail:?}");
    at_least("values", list, 0.8, tail);
}

/// 16.1: in a session's small window a value that was replaced seldom stands without its successor.
#[test]
fn replaced_values_stand_with_their_successors() {
    let mut stale = Share::default();
    for talk in [own("boat"), own("choir")].concat() {
        for window in [768, 1_024] {
            stale.join(looks(&talk, Who::Session, window).0.stale);
        }
    }
    println!("{stale:?}");
    assert!(stale.of > 80.0, "{stale:?}");
    assert!(stale.hits <= stale.of * 0.04, "{stale:?}");
}

/// A joined conversation asks what its parts asked, of the same words.
#[test]
fn joined_conversations_keep_their_questions() {
    let parts = own("service");
    let all = joined("service", &parts);
    let mut first = 0;
    let mut questions = all.questions.iter();
    for part in &parts {
        for own in &part.questions {
            let joined = questions.next().unwrap();
            assert_eq!(joined.text, own.text);
            for (a, b) in joined.evidence.iter().zip(&own.evidence) {
                assert_eq!(all.messages[*a]["content"], part.messages[*b]["content"]);
                assert_eq!(*a, *b + first);
            }
        }
        first += part.messages.len();
    }
    assert!(questions.next().is_none());
}
