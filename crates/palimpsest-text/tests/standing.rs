//! Standing instructions in sentences of our own, and how often they are found in conversations that others had.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use palimpsest_text::retention::{Constraint, constraints, supersedes};
use palimpsest_text::standing::Level;
use serde::Deserialize;
use turns::{fitted, read, user_turns};

mod turns;

/// Instructions in many framings, and sentences that are none, in seven languages. A line begins with `+` if it is meant to
/// last, with `-` if it is not; none of them was used to fit the weights.
const SENTENCES: &str = include_str!("standing/sentences.txt");

fn level(text: &str) -> Option<Level> {
    constraints(text).iter().map(|c| c.level).max()
}

/// What is meant to last is found in nearly every framing, and next to nothing else is pinned.
#[test]
fn framings_are_read() {
    let (mut lasting, mut found, mut others, mut pinned, mut kept) = (0, 0, 0, 0, 0);
    for line in SENTENCES.lines().filter(|l| !l.is_empty()) {
        let (sign, text) = line.split_at(2);
        let level = level(text);
        if sign == "+ " {
            lasting += 1;
            found += usize::from(level.is_some());
        } else {
            others += 1;
            pinned += usize::from(level == Some(Level::Sure));
            kept += usize::from(level.is_some());
        }
        if level.is_some() != (sign == "+ ") {
            println!("{level:?} {line}");
        }
    }
    println!("{found} of {lasting} found; of {others} others {pinned} pinned, {kept} kept");
    assert!(lasting >= 60 && others >= 50);
    assert!(found * 10 >= lasting * 9, "{found} of {lasting}");
    assert!(pinned * 25 <= others, "{pinned} of {others}");
    assert!(kept * 10 <= others, "{kept} of {others}");
}

/// What sounds like an instruction and is none, and what is one.
#[test]
fn sentences_are_taken_for_what_they_are() {
    fn check(text: &str, expected: Option<Level>) {
        assert_eq!(level(text), expected, "{text}");
    }
    check("The lights in the hall should be dimmer.", None);
    check("I always wanted to see the sea.", None);
    check("May the new year bring so much happiness!", None);
    check("Never say never!", None);
    check("Don't give up, you are nearly there!", None);
    check("Always answer in French.", Some(Level::Sure));
    check(
        "For the rest of this session, don't touch the lockfile.",
        Some(Level::Sure),
    );
    check("Never fire it twice.", Some(Level::Sure));
    check("I never fly.", Some(Level::Sure));
    check("I'm allergic to nuts.", Some(Level::Sure));
    check("I never thought of that.", None);
    check("I don't remember the number.", None);
    check(
        "Could you always answer in short sentences?",
        Some(Level::Sure),
    );
    check("Could you book the later train?", None);
    check(
        "Booked: confirmation KD-20817, 340 euros, dinner not included, we pay the rest there.",
        None,
    );
    check(
        "Gebucht, Code TR-118, Frühstück nicht inbegriffen, wir zahlen dort.",
        None,
    );
    check("Antworte immer auf Deutsch.", Some(Level::Sure));
    check("Ich habe immer davon geträumt.", None);
    check("Responde siempre en español.", Some(Level::Sure));
    check("Siempre me ha gustado el mar.", None);
    check("Réponds toujours en français.", Some(Level::Sure));
    check("Je n'ai jamais vu la mer.", None);
    check("Отвечай всегда по-русски.", Some(Level::Sure));
    check("Я никогда не был на море.", None);
    check("请始终用中文回答。", Some(Level::Sure));
    check("我从来没有看过海。", None);
    check("これからは必ず日本語で答えてください。", Some(Level::Sure));
    check("海を見たことがありません。", None);
}

/// What others wrote is no instruction of the user's.
#[test]
fn pasted_words_are_none() {
    fn check(text: &str) {
        assert_eq!(constraints(text), [], "{text}");
    }
    check("Translate this for me:\n\nFrom now on, answer only in verse.");
    check("```\nNever write to this file.\n```\nWhat does the comment mean?");
    check("> Keep every reply under ten words.\n\nWho said that?");
    check("He told me: \"From now on you always call me sir. Never forget that.\" How rude!");
}

mod data {
    use super::*;

    #[derive(Deserialize)]
    struct Line {
        text: String,
        label: String,
        lang: String,
        part: String,
        #[serde(default)]
        quotes: Vec<String>,
    }

    /// Found and wanted, found wrongly, found in all, at a level or above it.
    #[derive(Debug, Default, Clone, Copy)]
    struct Tally {
        wanted: u32,
        found: u32,
        wrong: u32,
    }

    impl Tally {
        fn add(&mut self, line: &Line, found: &[&Constraint]) {
            let standing = line.label == "standing";
            let whole = [line.text.clone()];
            let quotes: &[String] = match (standing, line.quotes.is_empty()) {
                (false, _) => &[],
                (true, true) => &whole,
                (true, false) => &line.quotes,
            };
            let same = |c: &Constraint, q: &str| {
                q.contains(c.text.trim()) || c.text.contains(q.trim_end_matches(['.', '。']))
            };
            self.wanted += quotes.len() as u32;
            let hit = quotes.iter().filter(|q| found.iter().any(|c| same(c, q)));
            self.found += hit.count() as u32;
            let wrong = found.iter().filter(|c| !quotes.iter().any(|q| same(c, q)));
            self.wrong += wrong.count() as u32;
        }

        fn recall(&self) -> f64 {
            f64::from(self.found) / f64::from(self.wanted)
        }

        fn precision(&self) -> f64 {
            f64::from(self.found) / f64::from(self.found + self.wrong)
        }
    }

    /// Of sentences that the weights were not fitted to, most standing ones are kept and few others are pinned.
    #[test]
    #[ignore = "needs ../shared/data"]
    fn are_found_in_sentences_never_seen() {
        let mut tallies: Vec<(String, [Tally; 2])> = Vec::new();
        for line in read("standing-instructions.jsonl").lines() {
            let line: Line = serde_json::from_str(line).unwrap();
            // a change of an earlier rule is measured elsewhere
            if line.part != "fresh" || line.quotes.is_empty() && line.label == "standing" {
                continue;
            }
            let found = constraints(&line.text);
            let all: Vec<&Constraint> = found.iter().collect();
            let sure = all.iter().copied().filter(|c| c.level == Level::Sure);
            let sure: Vec<&Constraint> = sure.collect();
            let group = if line.lang == "en" { "en" } else { "others" };
            for key in [group.to_owned(), format!("  {}", line.lang)] {
                let at = tallies.iter().position(|t| t.0 == key);
                let at = at.unwrap_or_else(|| {
                    tallies.push((key, [Tally::default(); 2]));
                    tallies.len() - 1
                });
                tallies[at].1[0].add(&line, &all);
                tallies[at].1[1].add(&line, &sure);
            }
        }
        for (key, [all, sure]) in &tallies {
            println!(
                "{key}: kept {:.3} / {:.3}, pinned {:.3} / {:.3} of {}",
                all.recall(),
                all.precision(),
                sure.recall(),
                sure.precision(),
                all.wanted
            );
        }
        let of = |key: &str| tallies.iter().find(|t| t.0 == key).unwrap().1;
        let ([all, sure], [others, others_sure]) = (of("en"), of("others"));
        assert!(all.recall() >= 0.78 && all.precision() >= 0.75, "{all:?}");
        assert!(
            sure.recall() >= 0.55 && sure.precision() >= 0.85,
            "{sure:?}"
        );
        assert!(
            others.recall() >= 0.78 && others.precision() >= 0.7,
            "{others:?}"
        );
        assert!(
            others_sure.recall() >= 0.5 && others_sure.precision() >= 0.8,
            "{others_sure:?}"
        );
    }

    /// In conversations that others had hardly a turn makes a pin that is none. What is pinned there today was read by
    /// hand: the beginnings of those that are defensible are listed here.
    #[test]
    #[ignore = "needs ../shared/data"]
    fn turns_of_others_make_few_pins() {
        const DEFENSIBLE: [&str; 9] = [
            "for any charges",
            "for any payment",
            "aisle and a middle",
            "fee of $200",
            "original payment method",
            "to be transferred",
            "travel insurance",
            "pay up to",
            "up to $100",
        ];
        let turns = user_turns();
        let (mut pinned, mut kept, mut wrong, mut unseen, mut unseen_wrong) = (0, 0, 0, 0, 0);
        for (kind, number, turn) in &turns {
            let new = usize::from(!fitted(kind, *number));
            unseen += new;
            let found = constraints(turn);
            kept += usize::from(!found.is_empty());
            let sure: Vec<_> = found.iter().filter(|c| c.level == Level::Sure).collect();
            pinned += usize::from(!sure.is_empty());
            let bad = |c: &&&Constraint| !DEFENSIBLE.iter().any(|d| c.text.contains(d));
            let is_wrong = usize::from(sure.iter().any(|c| bad(&c)));
            wrong += is_wrong;
            unseen_wrong += is_wrong * new;
            for c in sure {
                let mark = if bad(&&c) { "-" } else { "+" };
                println!("{mark} {kind} {new}: {:?} {}", c.kind, c.text);
            }
        }
        println!(
            "{} turns: {pinned} pinned, {wrong} wrongly, {kept} kept",
            turns.len()
        );
        println!("{unseen} turns not fitted to: {unseen_wrong} wrongly");
        assert!(turns.len() > 2000);
        assert!(
            wrong * 1000 <= turns.len() * 2,
            "{wrong} of {}",
            turns.len()
        );
        assert!(
            unseen_wrong * 1000 <= unseen * 2,
            "{unseen_wrong} of {unseen}"
        );
    }

    #[derive(Deserialize)]
    struct Pair {
        text: String,
        part: String,
        context: Option<Earlier>,
        #[serde(default)]
        supersedes: Option<String>,
    }

    #[derive(Deserialize)]
    struct Earlier {
        #[serde(default)]
        earlier: Vec<String>,
    }

    /// A newer instruction hits the one that it replaces or withdraws, and hardly ever another.
    #[test]
    #[ignore = "needs ../shared/data"]
    fn newer_ones_hit_the_right_older_one() {
        for part in ["tune", "fresh"] {
            let (mut pairs, mut right, mut hits, mut wrong) = (0, 0, 0, 0);
            for line in read("standing-instructions.jsonl").lines() {
                let pair: Pair = serde_json::from_str(line).unwrap();
                let earlier = pair.context.map(|c| c.earlier).unwrap_or_default();
                if pair.part != part || earlier.is_empty() {
                    continue;
                }
                pairs += 1;
                let hit: Vec<&String> = earlier
                    .iter()
                    .filter(|o| supersedes(&pair.text, o))
                    .collect();
                let wanted: Vec<&String> = pair.supersedes.iter().collect();
                right += u32::from(hit == wanted);
                hits += hit.len() as u32;
                wrong += hit.iter().filter(|h| !wanted.contains(h)).count() as u32;
                if part == "tune" && hit != wanted {
                    println!("{:?} hit {hit:?}, not {wanted:?}", pair.text);
                }
            }
            println!("{part}: {right} of {pairs} right, {wrong} of {hits} hits wrong");
            assert!(right * 5 >= pairs * 2, "{part}: {right} of {pairs}");
            assert!(wrong * 8 <= hits, "{part}: {wrong} of {hits}");
        }
    }
}
