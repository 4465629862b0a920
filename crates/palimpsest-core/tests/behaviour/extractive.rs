//! The extractive summariser, the shortener and the excerpt.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use palimpsest_text::extractive::{
    Emphasis, Labels, Options, Passage, Speaker, Summary, excerpt, shorten, summarize,
};
use palimpsest_tokens::{Estimator, TokenCounter};
use proptest::prelude::*;

fn talk<'a>(lines: &[(Speaker, &'a str)]) -> Vec<Passage<'a>> {
    lines
        .iter()
        .enumerate()
        .map(|(i, &(role, text))| Passage::new(i as u32 + 1, role, text))
        .collect()
}

fn summary(lines: &[(Speaker, &str)], options: Options<'_>) -> Summary {
    summarize(&talk(lines), &options, &Estimator::default())
}

fn tokens(text: &str) -> u32 {
    Estimator::default().count(text)
}

const U: Speaker = Speaker::User;
const A: Speaker = Speaker::Assistant;
const T: Speaker = Speaker::Tool;

mod summaries {
    use super::{A, Emphasis, Labels, Options, Passage, Speaker, T, U, summary, talk, tokens};
    use palimpsest_text::extractive::summarize;
    use palimpsest_tokens::Estimator;
    use std::fmt::Write as _;

    /// P8: a name, an amount or a day that was said once outlives the stories around it, where few such values were said.
    #[test]
    fn what_nobody_can_guess_outlives_stories() {
        const STORIES: [&str; 8] = [
            "Last summer I walked along the coast with my sister and we slept in a tent.",
            "Yesterday Clara told me about her first concert in the old theatre.",
            "My neighbour always paints his fence in the morning before the children wake up.",
            "We visited the harbour last Sunday and watched the boats for an hour.",
            "I learned to bake bread from my grandmother when I was a child.",
            "On Friday Jonas and I repaired the swing behind the school.",
            "I was so nervous last week that I forgot the words of my speech.",
            "Tomorrow I meet Priya at the station and we go to the museum.",
        ];
        let said = [
            "The boat is registered as 74aafb5a139c.",
            "The tank holds 317 litres.",
            "The insurance ends on 19 March 2066.",
        ];
        let mut lines: Vec<(Speaker, String)> = Vec::new();
        for n in 0..96 {
            let story = STORIES[n % STORIES.len()].replace("the", NOUNS[n % NOUNS.len()]);
            lines.push((if n % 2 == 0 { U } else { A }, story));
            if n % 40 == 7 {
                lines.push((A, said[n / 40].to_owned()));
            }
        }
        let lines: Vec<(Speaker, &str)> =
            lines.iter().map(|(s, text)| (*s, text.as_str())).collect();
        let s = summary(
            &lines,
            Options {
                target_tokens: 220,
                ..Options::default()
            },
        );
        for kept in said {
            assert!(s.text.contains(kept), "{kept}: {}", s.text);
        }
    }

    const NOUNS: [&str; 7] = ["our", "my", "that", "her", "his", "their", "this"];

    /// P8: everything fits, so everything is there, one line per unit, in order, labelled once per passage.
    #[test]
    fn a_roomy_target_keeps_every_line() {
        let s = summary(
            &[
                (
                    U,
                    "The kitchen oven is broken today. The cellar smells of gas again.",
                ),
                (A, "Close the yellow valve beside the boiler first."),
            ],
            Options {
                target_tokens: 200,
                ..Options::default()
            },
        );
        assert_eq!(
            s.text,
            "User: The kitchen oven is broken today. The cellar smells of gas again.\nAssistant: Close the yellow valve beside the boiler first."
        );
        assert_eq!(s.tokens, tokens(&s.text));
        assert_eq!(
            s.kept
                .iter()
                .map(|k| (k.id, k.start, k.end))
                .collect::<Vec<_>>(),
            [(1, 0, 33), (1, 34, 65), (2, 0, 47)]
        );
        let plain = summary(
            &[(U, "The kitchen oven is broken today.")],
            Options {
                target_tokens: 200,
                labels: Labels::None,
                ..Options::default()
            },
        );
        assert_eq!(plain.text, "The kitchen oven is broken today.");
    }

    /// P8: what says nothing goes first; a demand stays.
    #[test]
    fn small_talk_goes_before_demands() {
        let s = summary(
            &[
                (
                    U,
                    "Hi there! Thanks a lot. Never heat the kiln above 980 °C.",
                ),
                (
                    A,
                    "Sure! That sounds great. I am happy to help with that. Let me know what you think.",
                ),
                (U, "Ok great, thanks."),
            ],
            Options {
                target_tokens: 18,
                ..Options::default()
            },
        );
        assert_eq!(s.text, "User: Never heat the kiln above 980 °C.");
    }

    /// P8: every script has its sentence ends.
    #[test]
    fn sentences_end_in_every_script() {
        let check = |text: &str, expected: usize| {
            let units = palimpsest_text::words::segment::prose(text);
            assert_eq!(units.len(), expected, "{text}: {units:?}");
        };
        check("预算是三千元。截止日期是星期五！真的吗？", 3);
        check("予算は三千円です。締め切りは金曜日です。", 2);
        check("Бюджет три тысячи. Срок в пятницу!", 2);
        check("الميزانية محدودة؟ الموعد الجمعة. نعم شكرا لك", 3);
        check("बजट सीमित है। समय सीमा शुक्रवार है।", 2);
        check(
            "Dr. Meyer kommt am 14. März um 15 Uhr. Er bringt z.B. Kuchen mit.",
            2,
        );
        check(
            "Version 1.2.3 of foo.rs is out, see https://a.example/x.y?z=1. It works.",
            2,
        );
        check("Call `a.b(). c` now. Then stop.", 2);
    }

    /// P8: a list item, a code block and a path are kept whole or not at all.
    #[test]
    fn nothing_is_cut_inside() {
        let code = "```rust\nfn main() {\n    run(\"src/deep/path/file.rs\");\n}\n```";
        let text = format!(
            "The plan has parts.\n- First item. It has two sentences\n  and goes on here.\n- Second item about lamps.\n\n{code}\n\nThe end of the plan is near the harbour wall."
        );
        for target in 0..90 {
            let s = summary(
                &[(A, &text)],
                Options {
                    target_tokens: target,
                    emphasis: Emphasis::Developer,
                    ..Options::default()
                },
            );
            assert!(tokens(&s.text) <= target, "{target}: {}", s.text);
            if !s.text.contains('…') {
                for piece in ["First item", "goes on here"] {
                    let both = s
                        .text
                        .contains("First item. It has two sentences and goes on here.");
                    assert_eq!(s.text.contains(piece), both, "{target}: {}", s.text);
                }
                assert_eq!(
                    s.text.contains("fn main"),
                    s.text.contains(code),
                    "{target}: {}",
                    s.text
                );
            }
        }
    }

    /// P8: where one side explains at length what the other says briefly, the brief statements are kept: facts are in them,
    /// while advice can be given again. A question stands behind a statement.
    #[test]
    fn brief_statements_stand_before_long_advice() {
        let advice = "For a flat in Paranhos, compare the lift, the heating and the fibre of each block on Saturday.\n\
            - Ask the agent by Friday at 10:00 for the energy certificate of 2024 and the meter of June.\n\
            - Bring 3 copies of the tax letter to Rua Augusta 12 on Monday, with the IRS form of 2023.\n\
            - Visit the Covelo school on Tuesday at 9:30, since its list closes on 14 May at noon.";
        let statements = [
            "My booking reference is KX-4471.",
            "Our cat Biscuit weighs 4.8 kilos.",
            "Mila turns 7 on 2 May.",
        ];
        let kept = |reply: &str| {
            let said = statements.map(|s| [(U, s), (A, reply)]);
            let room = tokens(reply) / 2 + 40;
            let s = summary(
                said.as_flattened(),
                Options {
                    target_tokens: room,
                    ..Options::default()
                },
            );
            statements
                .iter()
                .filter(|said| s.text.contains(**said))
                .count()
        };
        assert_eq!(kept(advice), 3, "the user's words");
        let short = summary(
            &[
                (U, "What about the lift on Friday at 10:00?"),
                (A, "The lift works since 14 May."),
            ],
            Options {
                target_tokens: 12,
                ..Options::default()
            },
        );
        assert!(
            short.text.contains("The lift works"),
            "a question stands behind its answer: {}",
            short.text
        );
    }

    /// P10: what the user names as focus comes first.
    #[test]
    fn focus_decides() {
        let lines = [
            (
                A,
                "The harbour crane was painted green by the museum last spring.",
            ),
            (
                A,
                "The bakery roof leaks above the flour store every autumn.",
            ),
            (
                A,
                "The choir meets in the old tram depot behind the station.",
            ),
        ];
        let about = |focus| {
            summary(
                &lines,
                Options {
                    target_tokens: 22,
                    focus: Some(focus),
                    ..Options::default()
                },
            )
            .text
        };
        assert!(
            about("roof of the bakery").contains("bakery roof"),
            "{}",
            about("roof of the bakery")
        );
        assert!(
            about("where does the choir meet").contains("choir"),
            "{}",
            about("where does the choir meet")
        );
    }

    /// P6: developers keep paths, planners keep decisions.
    #[test]
    fn modes_weigh_differently() {
        let lines = [
            (
                A,
                "The parser lives in crates/parser/src/lexer.rs and uses next_token.",
            ),
            (U, "We agreed on the smaller stage for the spring fair."),
        ];
        let kept = |emphasis| {
            summary(
                &lines,
                Options {
                    target_tokens: 24,
                    emphasis,
                    ..Options::default()
                },
            )
            .text
        };
        assert!(
            kept(Emphasis::Developer).contains("lexer.rs"),
            "{}",
            kept(Emphasis::Developer)
        );
        assert!(
            kept(Emphasis::Planning).contains("smaller stage"),
            "{}",
            kept(Emphasis::Planning)
        );
    }

    /// P8: of a log the errors stay, and the same error once.
    #[test]
    fn logs_keep_their_errors() {
        let mut log = String::new();
        for i in 0..40 {
            writeln!(
                log,
                "2024-05-07 12:00:{i:02} INFO request {i} served in {i} ms"
            )
            .unwrap();
            if i % 10 == 3 {
                writeln!(log, "2024-05-07 12:00:{i:02} ERROR cannot open /srv/media/index.db: attempt {i} refused").unwrap();
            }
        }
        let s = summary(
            &[(T, &log)],
            Options {
                target_tokens: 60,
                emphasis: Emphasis::Debugger,
                ..Options::default()
            },
        );
        assert!(
            s.text.contains("ERROR cannot open /srv/media/index.db"),
            "{}",
            s.text
        );
        assert_eq!(s.text.matches("ERROR").count(), 1, "{}", s.text);
    }

    /// I10: nothing in, nothing out; a target too small for a sentence shows an excerpt of the best, or nothing.
    #[test]
    fn edges() {
        let counter = Estimator::default();
        assert_eq!(
            summarize(
                &[],
                &Options {
                    target_tokens: 50,
                    ..Options::default()
                },
                &counter
            )
            .text,
            ""
        );
        assert_eq!(
            summary(
                &[(U, "   \n ")],
                Options {
                    target_tokens: 50,
                    ..Options::default()
                }
            )
            .text,
            ""
        );
        assert_eq!(
            summary(&[(U, "The oven is broken.")], Options::default()).text,
            ""
        );
        let long = "word ".repeat(400);
        let s = summarize(
            &[Passage::new(7, Speaker::User, &long)],
            &Options {
                target_tokens: 30,
                ..Options::default()
            },
            &counter,
        );
        assert!(
            s.text.starts_with("User: word word") && s.text.contains("tokens left out"),
            "{}",
            s.text
        );
        assert!(s.tokens <= 30);
        let again = summarize(
            &talk(&[(
                U,
                "The oven is broken. The oven is broken. The oven is broken.",
            )]),
            &Options {
                target_tokens: 100,
                ..Options::default()
            },
            &counter,
        );
        assert_eq!(again.text, "User: The oven is broken.", "said once");
    }
}

mod shorter {
    use super::{shorten, tokens};
    use palimpsest_tokens::Estimator;

    const LAYER: &str = "## Done\n- Rewrote the importer in src/import.rs; it streams now\n- See src/a.rs, src/b.rs\n\n```rust\nfn import() {}\n```\n\n## Open\n- The cache is never cleared. Anna looks at it on Friday";

    /// C2: level 3 drops nothing that fits, 2 drops snippets, 1 drops bare references too.
    #[test]
    fn levels_drop_detail() {
        let at = |level| shorten(LAYER, 500, level, &Estimator::default());
        assert_eq!(at(3), LAYER);
        assert_eq!(
            at(2),
            "## Done\n- Rewrote the importer in src/import.rs; it streams now\n- See src/a.rs, src/b.rs\n## Open\n- The cache is never cleared. Anna looks at it on Friday"
        );
        assert_eq!(
            at(1),
            "## Done\n- Rewrote the importer in src/import.rs; it streams now\n## Open\n- The cache is never cleared. Anna looks at it on Friday"
        );
    }

    /// C2, C3: never over the target, whole bullets only, no heading without something under it.
    #[test]
    fn targets_hold_and_bullets_stay_whole() {
        let counter = Estimator::default();
        for target in 0..80 {
            let out = shorten(LAYER, target, 2, &counter);
            assert!(tokens(&out) <= target, "{target}: {out}");
            if out.contains("left out") || out == "[…]" {
                continue;
            }
            for line in out.lines() {
                assert!(
                    LAYER.lines().any(|l| l == line),
                    "{target}: {line:?} is no line of the layer"
                );
            }
            let lines: Vec<&str> = out.lines().collect();
            for (i, line) in lines.iter().enumerate() {
                if line.starts_with('#') {
                    assert!(
                        lines.get(i + 1).is_some_and(|n| !n.starts_with('#')),
                        "{target}: {out}"
                    );
                }
            }
        }
    }
}

mod excerpts {
    use super::{excerpt, tokens};
    use palimpsest_tokens::{Estimator, TokenCounter};

    fn cut(text: &str, max: u32) -> String {
        excerpt(text, max, &Estimator::default())
    }

    /// B10: what fits is untouched; what does not keeps both ends and says how much is missing.
    #[test]
    fn keeps_both_ends_and_counts_the_rest() {
        assert_eq!(cut("short", 12), "short");
        let lines: Vec<String> = (1..=200).map(|i| format!("line number {i}\n")).collect();
        let text = lines.concat();
        let out = cut(&text, 60);
        assert!(tokens(&out) <= 60, "{out}");
        assert!(out.starts_with("line number 1\nline number 2\n"), "{out}");
        assert!(
            out.ends_with("line number 200\n") || out.ends_with("line number 200"),
            "{out}"
        );
        let mark = out.lines().find(|l| l.starts_with("[…")).unwrap();
        let said: u32 = mark.split(' ').nth(1).unwrap().parse().unwrap();
        let kept: u32 = out
            .lines()
            .filter(|l| !l.starts_with("[…"))
            .map(tokens)
            .sum();
        assert!(
            said + kept <= tokens(&text) + 20 && said + kept + 60 >= tokens(&text),
            "{said} + {kept} of {}",
            tokens(&text)
        );
    }

    /// F 24: never inside a grapheme, never inside a word or path if it can be helped.
    #[test]
    fn cuts_between_words_and_graphemes() {
        let text = "see /very/long/path/to/some/file_name.rs and /another/long/path/of/things.txt or more ".repeat(20);
        for max in 20..60 {
            let out = cut(&text, max);
            for word in out
                .lines()
                .filter(|l| !l.starts_with("[…"))
                .flat_map(str::split_whitespace)
            {
                assert!(
                    text.split_whitespace().any(|w| w == word),
                    "{max}: cut {word:?}"
                );
            }
        }
        let family = "👨‍👩‍👧‍👦".repeat(200);
        let out = cut(&family, 40);
        for line in out.lines().filter(|l| !l.starts_with("[…")) {
            assert_eq!(line.replace("👨‍👩‍👧‍👦", ""), "", "a family was split: {line}");
        }
        let zalgo = "a\u{301}\u{302}\u{303}\u{304}".repeat(300);
        for line in cut(&zalgo, 40).lines().filter(|l| !l.starts_with("[…")) {
            assert_eq!(line.replace("a\u{301}\u{302}\u{303}\u{304}", ""), "");
        }
    }

    /// B10: at most the tokens asked for, however few.
    #[test]
    fn is_never_too_long() {
        let counter = Estimator::default();
        for text in [
            "word ".repeat(300),
            "字".repeat(500),
            "x".repeat(3000),
            "a,b;c:".repeat(400),
            "\n".repeat(900) + "end",
        ] {
            for max in 0..40 {
                let out = excerpt(&text, max, &counter);
                assert!(counter.count(&out) <= max, "{max}: {out:?}");
                assert!(
                    max < 14 || out.contains("left out") || out == text,
                    "{max}: {out:?}"
                );
            }
        }
    }
}

/// Text as people, tools and accidents make it.
fn anything() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "\\PC{0,40}",
        "[a-zA-Z ,.!?\n]{0,60}",
        "[ -~\n`#*>|\"{}\\[\\]:/-]{0,60}",
        "[一-龥。、！？ぁ-んァ-ヶ]{0,30}",
        "[а-яА-Я .,!?]{0,40}",
        Just("```rust\nlet x = 1;\n```\n".to_owned()),
        Just("👨‍👩‍👧‍👦🇩🇪e\u{301}\u{200d}".to_owned()),
        Just("Never push to main. We decided to use src/a.rs at 250 ms. ".to_owned()),
        Just("\u{0}\u{7f}\u{202e}\r\n\u{2028}".to_owned()),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|p| p.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// P8, I2, I10: never over the target, always the same, every range valid, from whatever text.
    #[test]
    fn any_text_can_be_summarised(texts in proptest::collection::vec((0..3u8, anything()), 0..6), target in 0..120u32) {
        let counter = Estimator::default();
        let roles = [U, A, T];
        let lines: Vec<(Speaker, &str)> = texts.iter().map(|(r, t)| (roles[*r as usize], t.as_str())).collect();
        let options = Options { target_tokens: target, ..Options::default() };
        let first = summarize(&talk(&lines), &options, &counter);
        prop_assert!(counter.count(&first.text) <= target, "{:?}", first.text);
        prop_assert_eq!(first.tokens, counter.count(&first.text));
        prop_assert_eq!(&first, &summarize(&talk(&lines), &options, &counter));
        for k in &first.kept {
            prop_assert!(lines[k.id as usize - 1].1.get(k.start as usize..k.end as usize).is_some_and(|s| !s.is_empty()));
        }
        let order: Vec<(u32, u32)> = first.kept.iter().map(|k| (k.id, k.start)).collect();
        prop_assert!(order.is_sorted());
    }

    /// C2, I10: shortening and excerpts keep their limits on whatever text.
    #[test]
    fn any_text_can_be_cut(text in anything(), target in 0..80u32, level in 0..4u8) {
        let counter = Estimator::default();
        let short = shorten(&text, target, level, &counter);
        prop_assert!(counter.count(&short) <= target, "{:?}", short);
        prop_assert_eq!(&short, &shorten(&text, target, level, &counter));
        let cut = excerpt(&text, target, &counter);
        prop_assert!(counter.count(&cut) <= target, "{:?}", cut);
        prop_assert!(cut == text || counter.count(&text) > target);
    }
}
