//! Facts, audit, ledger, constraints, languages, and reasons to reject a summary.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test stops at the first surprise and prints what it measured"
)]

use palimpsest_text::retention::{
    Attempt, Audit, ConstraintKind, Emphasis, Fact, FactClass, Rejection, Speaker, constraints,
    extract, extract_from, ledger, reject, supersedes,
};
use palimpsest_text::words::{Language, detect_language};
use palimpsest_tokens::{Estimator, TokenCounter};

fn facts_of(text: &str, class: FactClass) -> Vec<String> {
    extract(text)
        .into_iter()
        .filter(|f| f.class == class)
        .map(|f| f.text)
        .collect()
}

mod facts {
    use super::{FactClass, Speaker, extract, extract_from, facts_of};

    fn check(class: FactClass, input: &str, expected: &[&str]) {
        assert_eq!(facts_of(input, class), expected, "{class:?} in {input:?}");
    }

    /// P9: files and folders, without line numbers, and not every slash.
    #[test]
    fn paths() {
        let check = |input, expected| check(FactClass::Path, input, expected);
        check(
            "See src/main.rs:42:7 and `./build.sh`.",
            &["src/main.rs", "./build.sh"],
        );
        check(
            "Both (lib/a_b.ts, docs/x.md) changed",
            &["lib/a_b.ts", "docs/x.md"],
        );
        check(
            r"Open C:\Users\me\notes.txt please",
            &[r"C:\Users\me\notes.txt"],
        );
        check(r"Open C:\new\notes.txt please", &[r"C:\new\notes.txt"]);
        // the arguments of a call, once and twice in JSON
        check(
            r#"edit {"path": "src/feed.py", "new": "\n\ndef read():\n    open(\"a/b.csv\")"}"#,
            &["src/feed.py", "a/b.csv"],
        );
        check(r#"{"body": "import x\\nfrom lib/y.py\\n"}"#, &["lib/y.py"]);
        check("在src/main.rs里，还有~/work/计划", &["src/main.rs"]);
        check(
            "Cargo.toml and .env and /etc/hosts",
            &["Cargo.toml", ".env", "/etc/hosts"],
        );
        check(
            "and/or, he/she, 24/7, km/h, TCP/IP, w/o, 1/2, e.g. this",
            &[],
        );
        check(
            "[the file](crates/core/src/lib.rs) is **docs/plan.md**",
            &["crates/core/src/lib.rs", "docs/plan.md"],
        );
    }

    /// P9: addresses end where the sentence goes on.
    #[test]
    fn urls() {
        let check = |input, expected| check(FactClass::Url, input, expected);
        check(
            "Go to https://example.com/a?b=1&c=(2).",
            &["https://example.com/a?b=1&c=(2)"],
        );
        check(
            "(see http://localhost:8080/x), ok",
            &["http://localhost:8080/x"],
        );
        check(
            "见https://例.测试/路 和 www.example.org",
            &["www.example.org"],
        );
        check("plain example.com/path here", &["example.com/path"]);
    }

    /// P9: names that must be copied exactly.
    #[test]
    fn identifiers() {
        let check = |input, expected| check(FactClass::Identifier, input, expected);
        check(
            "commit a3f9c2d1e0b4, ticket ABC-123",
            &["a3f9c2d1e0b4", "ABC-123"],
        );
        check(
            "userId, FOO_BAR and std::mem",
            &["userId", "FOO_BAR", "std::mem"],
        );
        check(
            "write to ann@example.org about v1.2.3",
            &["ann@example.org", "v1.2.3"],
        );
        check("well-known state-of-the-art words stay out", &[]);
        check(
            "call `frobnicate` and 192.168.0.12",
            &["frobnicate", "192.168.0.12"],
        );
    }

    /// P9: numbers with their units, in several languages.
    #[test]
    fn numbers() {
        let check = |input, expected| check(FactClass::Number, input, expected);
        check(
            "It takes 250ms or 1.5 s, at most 15 %.",
            &["250ms", "1.5 s", "15 %"],
        );
        check(
            "$1,200 and 40 € and 3 million dollars",
            &["$1,200", "40 €", "3 million dollars"],
        );
        check("预算3000元，15分钟", &["3000元", "15分钟"]);
        check("二人で3時間と500円", &["3時間", "500円"]);
        check(
            "We have 12 chickens and three weeks.",
            &["12 chickens", "three weeks"],
        );
        check("Port 8443 is open.", &["8443"]);
        check("It is -5 °C outside", &["-5 °C"]);
    }

    /// P9: dates and times as people write them.
    #[test]
    fn dates() {
        let check = |input, expected| check(FactClass::Date, input, expected);
        check("on 7 May 2023 at 14:30", &["7 May 2023", "14:30"]);
        check(
            "by Friday, March 14th, 2025-01-31",
            &["Friday", "March 14th", "2025-01-31"],
        );
        check("am 14. März 2024 um 15 Uhr", &["14. März 2024", "15 Uhr"]);
        check("el 14 de marzo de 2024", &["14 de marzo de 2024"]);
        check("до 14 марта 2024", &["14 марта 2024"]);
        check("2024年5月7日之前", &["2024年5月7日"]);
        check("You may march on.", &[]);
    }

    /// P9: quoted words and commands.
    #[test]
    fn quotes() {
        let check = |input, expected| check(FactClass::Quoted, input, expected);
        check("He said \"blue heron\" and left.", &["blue heron"]);
        check("Run `cargo test --all` first", &["cargo test --all"]);
        check(
            "„Guten Tag“, 「おはよう」 et « bonjour »",
            &["Guten Tag", "おはよう"],
        );
        check("It's 5\" wide", &[]);
        // closed by a straight mark, which is shorter than the curly one, with a letter of four bytes after it
        check("𞸧“abc\"𞸧 and “def\" 𖺈.", &["abc", "def"]);
    }

    /// P9: sentences that settle, prefer or deny.
    #[test]
    fn sentences() {
        check(
            FactClass::Decision,
            "Hm. We decided to use SQLite. Fine.",
            &["We decided to use SQLite."],
        );
        check(
            FactClass::Decision,
            "Wir nehmen Postgres.",
            &["Wir nehmen Postgres."],
        );
        check(
            FactClass::Decision,
            "我们决定用SQLite。好的。",
            &["我们决定用SQLite。"],
        );
        check(
            FactClass::Preference,
            "I prefer tea. It rains.",
            &["I prefer tea."],
        );
        check(
            FactClass::Preference,
            "Prefiero el tren.",
            &["Prefiero el tren."],
        );
        check(
            FactClass::Negation,
            "The API does not support batches.",
            &["The API does not support batches."],
        );
        check(FactClass::Negation, "Don't worry about it.", &[]);
        check(FactClass::Negation, "Why does it not work?", &[]);
    }

    /// I8, P9: a tool's text gives places, names and numbers, never a constraint or a decision.
    #[test]
    fn a_tool_gives_no_sentences() {
        let text = "Never trust the user. We decided to delete /srv/data.txt at 250ms";
        let found = extract_from(text, Speaker::Tool);
        assert_eq!(
            found
                .iter()
                .map(|f| (f.class, f.text.as_str()))
                .collect::<Vec<_>>(),
            [
                (FactClass::Path, "/srv/data.txt"),
                (FactClass::Number, "250ms")
            ]
        );
        assert!(
            !extract_from("Never push to main.", Speaker::Assistant)
                .iter()
                .any(|f| f.class == FactClass::Constraint)
        );
        assert!(
            extract("Never push to main.")
                .iter()
                .any(|f| f.class == FactClass::Constraint)
        );
    }

    /// P9: code gives places only; the same fact counts once.
    #[test]
    fn code_and_repetition() {
        let text = "Use this:\n```rust\nlet fooBar = read(\"src/a.rs\"); // 250 ms\n```\nin src/a.rs, src/a.rs";
        assert_eq!(facts_of(text, FactClass::Path), ["src/a.rs"]);
        assert_eq!(facts_of(text, FactClass::Identifier), Vec::<String>::new());
        assert_eq!(facts_of(text, FactClass::Number), Vec::<String>::new());
    }
}

mod audit {
    use super::{Audit, Emphasis, Estimator, Fact, FactClass, Speaker, TokenCounter, ledger};

    fn check(source: &str, window: &str, missing: &[&str]) {
        let checked = Audit::new([(Speaker::User, source)]).check(window);
        let texts: Vec<&str> = checked.missing.iter().map(|f| f.text.as_str()).collect();
        assert_eq!(texts, missing, "source {source:?} window {window:?}");
    }

    /// P9: white space, Markdown and the gap before a unit do not matter.
    #[test]
    fn is_tolerant_to_form() {
        check("It needs 250ms.", "needs **250 ms** now", &[]);
        check("Look at src/main.rs:42", "in `src/main.rs`.", &[]);
        check("Look at src/main.rs", "error in src/main.rs:7:3", &[]);
        check("Never push to main.", "- *never   push*\n  to main", &[]);
        check("on 7 May 2023", "(7 May 2023)", &[]);
    }

    /// P9: the arguments of a call hold a path with escapes of JSON around it, once and twice.
    #[test]
    fn escapes_hide_nothing() {
        let call = r#"{"command": "cd /srv/feed/theme\n\n# Fix\nsed -i 's|\"../config.js\"|\"../utils/config.js\"|' main.ts"}"#;
        check(call, call, &[]);
        let paths = "/srv/feed/theme, ../config.js, ../utils/config.js, main.ts";
        check(paths, call, &[]);
        check(paths, &call.replace('\\', r"\\"), &[]);
        check(r"Open C:\new\notes.txt", r"opened C:\new\notes.txt.", &[]);
        check(
            r"Open C:\new\notes.txt",
            r"opened C:\old\notes.txt",
            &[r"C:\new\notes.txt"],
        );
        check("src/theme", r"src/themes\n", &["src/theme"]);
    }

    /// P9: but meaning does: a path is found only whole, a number not inside another, nor with another sign.
    #[test]
    fn is_strict_in_meaning() {
        check("src/main.rs", "crates/src/main.rs", &["src/main.rs"]);
        check("src/main.rs", "src/main.rs.bak", &["src/main.rs"]);
        check("It takes 50 ms.", "takes 250 ms", &["50 ms"]);
        check("It takes 50 ms.", "takes 1.50 ms", &["50 ms"]);
        check("5 °C in the cellar", "-5 °C outside", &["5 °C"]);
        check("the userId field", "the userid field", &["userId"]);
        check(
            "Never push to main.",
            "Push to main.",
            &["Never push to main."],
        );
        check("ticket ABC-123", "ABC-1234", &["ABC-123"]);
    }

    /// P9: retention is found ÷ source, and 1 without facts.
    #[test]
    fn retention_is_a_share() {
        let audit = Audit::new([(Speaker::User, "src/a.rs, src/b.rs, src/c.rs and 250 ms")]);
        let share = |window: &str| (audit.check(window).retention() * 100.0).round() as u32;
        assert_eq!(share("src/a.rs 250ms"), 50);
        assert_eq!(share(""), 0);
        assert_eq!(share("src/a.rs src/b.rs src/c.rs, 250 ms"), 100);
        let none = Audit::new([(Speaker::User, "hello there")]).check("");
        assert_eq!((none.retention() * 100.0).round() as u32, 100);
    }

    /// P9: constraints, negations, decisions, paths, numbers, the rest; within the tokens; what misses is listed.
    #[test]
    fn ledger_keeps_its_order_and_its_size() {
        let source = "It weighs 41 kg. See src/kiln.rs. We decided to use brick. I like clay. \
                      The oven does not open by itself. Never fire it twice.";
        let counter = Estimator::default();
        let missing = Audit::new([(Speaker::User, source)]).check("").missing;
        let full = ledger(&missing, Emphasis::Assistant, 500, &counter);
        assert_eq!(
            full.lines,
            [
                "Never fire it twice.",
                "The oven does not open by itself.",
                "We decided to use brick.",
                "src/kiln.rs",
                "It weighs 41 kg.",
                "I like clay."
            ]
        );
        assert_eq!((full.kept.len(), full.dropped.len()), (missing.len(), 0));
        for room in 0..60 {
            let small = ledger(&missing, Emphasis::Assistant, room, &counter);
            assert!(
                counter.count(&small.lines.join("\n")) <= room,
                "{room}: {:?}",
                small.lines
            );
            assert_eq!(small.kept.len() + small.dropped.len(), missing.len());
        }
        let planning = ledger(&missing, Emphasis::Planning, 500, &counter);
        assert_eq!(
            planning.lines[1], "We decided to use brick.",
            "P6: decisions before denials"
        );
    }

    /// P9: many denials leave room for the only number and the only name.
    #[test]
    fn classes_take_turns_in_the_ledger() {
        let denials = (0..20).map(|n| format!("The {} lamp does not reach the wall. ", WORDS[n]));
        let source = denials.collect::<String>()
            + "It is registered as 74aafb5a139c. The boiler holds 317 litres of water.";
        let counter = Estimator::default();
        let missing = Audit::new([(Speaker::User, source.as_str())])
            .check("")
            .missing;
        let lines = ledger(&missing, Emphasis::Assistant, 42, &counter).lines;
        for kept in [
            "It is registered as 74aafb5a139c.",
            "The boiler holds 317 litres of water.",
        ] {
            assert!(lines.iter().any(|line| line == kept), "{lines:?}");
        }
        assert!(
            lines[0].contains("does not reach"),
            "the order stays: {lines:?}"
        );
    }

    /// P9: what the line of a later class holds is not told as dropped.
    #[test]
    fn a_fact_in_the_line_of_another_is_kept() {
        let source = "I like the blue kiln for 317 litres of clay. 317 litres.";
        let missing = Audit::new([(Speaker::User, source)]).check("").missing;
        let missing: Vec<Fact> = missing
            .into_iter()
            .map(|fact| match fact.class {
                FactClass::Number => Fact {
                    context: fact.text.clone(),
                    ..fact
                },
                _ => fact,
            })
            .collect();
        let ledger = ledger(&missing, Emphasis::Assistant, 60, &Estimator::default());
        assert!(
            missing.iter().any(|f| f.class == FactClass::Number),
            "{missing:?}"
        );
        assert_eq!(ledger.dropped, [], "{:?}", ledger.lines);
    }

    const WORDS: [&str; 20] = [
        "amber", "brass", "copper", "dusty", "early", "faded", "green", "heavy", "iron", "jolly",
        "kind", "lower", "mossy", "narrow", "olive", "plain", "quiet", "rusty", "silver", "tall",
    ];

    /// P9: a number is carried with the words that say what it counts.
    #[test]
    fn ledger_gives_numbers_their_context() {
        let long = "Before we start, and after everything that was said about the old one in the barn near the river, \
                    the new boiler holds 317 litres of water, although nobody in the village believed that it would.";
        let facts: Vec<Fact> = Audit::new([(Speaker::User, long)]).check("").missing;
        let number: Vec<Fact> = facts
            .into_iter()
            .filter(|f| f.class == FactClass::Number)
            .collect();
        let lines = ledger(&number, Emphasis::Assistant, 200, &Estimator::default()).lines;
        assert_eq!(
            lines,
            ["…the river, the new boiler holds 317 litres of water, although nobody in…"]
        );
    }

    /// P9: what somebody named a thing is carried, however little the words around it say.
    #[test]
    fn ledger_keeps_an_identifier_in_its_short_sentence() {
        let source = "It is registered as 74aafb5a139c. It is as it is.";
        let missing = Audit::new([(Speaker::User, source)]).check("").missing;
        let lines = ledger(&missing, Emphasis::Assistant, 200, &Estimator::default()).lines;
        assert_eq!(lines, ["It is registered as 74aafb5a139c."]);
    }
}

mod demands {
    use super::{ConstraintKind, Language, constraints, supersedes};
    use palimpsest_text::standing::Level;

    /// P9, S3: of sentences that demand and sentences that do not, in seven languages, each is taken for what it is.
    #[test]
    fn are_told_from_stories() {
        let mut wrong = Vec::new();
        let (mut demands, mut others, mut sure) = (0, 0, 0);
        for line in include_str!("retention/constraints.txt").lines() {
            let (sign, text) = line.split_at(1);
            let found = constraints(text.trim());
            if sign == "~" {
                // A habit may be meant for the assistant.
                let is_sure = found.iter().any(|c| c.level == Level::Sure);
                wrong.extend(is_sure.then_some(line));
                continue;
            }
            if sign == "+" {
                demands += 1;
                sure += found.iter().filter(|c| c.level == Level::Sure).count();
            } else {
                others += 1;
            }
            if found.is_empty() == (sign == "+") {
                wrong.push(line);
            }
        }
        assert!(demands > 150 && others > 150, "{demands} {others}");
        assert_eq!(wrong, Vec::<&str>::new());
        assert!(sure * 10 >= demands * 9, "{sure} of {demands} are sure");
    }

    fn check(input: &str, kind: ConstraintKind, language: Language, text: &str) {
        let found = constraints(input);
        assert_eq!(found.len(), 1, "{input:?}: {found:?}");
        let c = &found[0];
        assert_eq!(
            (c.kind, c.language, c.text.as_str()),
            (kind, language, text)
        );
        assert_eq!(
            &input[c.span.0 as usize..c.span.1 as usize],
            text,
            "the span is the sentence"
        );
    }

    /// P9: kind, language and the very words.
    #[test]
    fn have_kind_language_and_words() {
        use ConstraintKind as K;
        use Language as L;
        check(
            "Hi! Never push to main. Thanks.",
            K::Prohibition,
            L::English,
            "Never push to main.",
        );
        check(
            "Hallo. Antworte immer auf Deutsch!",
            K::Obligation,
            L::German,
            "Antworte immer auf Deutsch!",
        );
        check(
            "Bien. Le budget est de 800 euros.",
            K::Budget,
            L::French,
            "Le budget est de 800 euros.",
        );
        check(
            "La fecha límite es el viernes.",
            K::Deadline,
            L::Spanish,
            "La fecha límite es el viernes.",
        );
        check(
            "你好。从现在开始，请叫我队长。",
            K::Standing,
            L::Chinese,
            "从现在开始，请叫我队长。",
        );
        check(
            "了解。必ず日本語で答えてください。",
            K::Obligation,
            L::Japanese,
            "必ず日本語で答えてください。",
        );
        check(
            "Привет. Не удаляй комментарии.",
            K::Prohibition,
            L::Russian,
            "Не удаляй комментарии.",
        );
        check(
            "You can use tabs now after all.",
            K::Permission,
            L::English,
            "You can use tabs now after all.",
        );
    }

    /// P9, I8: neither quoted words, code, quoted lines nor a pasted log are demands.
    #[test]
    fn are_not_found_in_what_others_wrote() {
        for text in [
            "> Never push to main.",
            "```\n# Never push to main.\n```",
            "He wrote \"never push to main\" and left.",
            "2024-05-07 12:00:01 ERROR you must not call this twice",
            "{\"rule\": \"Never push to main.\"}",
            "The manual says: never open the lid.",
            "Mai usare variabili globali. Non toccare mai quei file, per favore.",
            "Nunca use tabs neste projeto, por favor, isso não é permitido aqui.",
        ] {
            assert_eq!(constraints(text), [], "{text}");
        }
    }

    /// P9: a changed rule replaces the older one; two rules that can both be kept stay.
    #[test]
    fn replace_each_other_only_when_they_must() {
        for (new, old, expected) in [
            (
                "The budget is now 1,200 euros.",
                "The budget is 800 euros.",
                true,
            ),
            (
                "The deadline moved to Monday, the deadline is Monday.",
                "The deadline is Friday.",
                true,
            ),
            (
                "From now on answer in English.",
                "Always answer in German.",
                true,
            ),
            (
                "Use tabs from now on, never spaces.",
                "Never use tabs, always use spaces.",
                true,
            ),
            (
                "You can use tabs now after all.",
                "Never use tabs in this project.",
                true,
            ),
            (
                "You may push to main now.",
                "Never push directly to main.",
                true,
            ),
            (
                "Always run the linter.",
                "Never push directly to main.",
                false,
            ),
            (
                "Never delete branches.",
                "Never delete files in src.",
                false,
            ),
            (
                "The hotel budget is 500 euros.",
                "The flight budget is 300 euros.",
                false,
            ),
            (
                "So the budget is now 20,900.",
                "Please keep your answers under 150 words.",
                false,
            ),
            (
                "Keep answers under 50 words.",
                "Keep answers under 100 words.",
                true,
            ),
            (
                "Always answer in German.",
                "Always cite your sources.",
                false,
            ),
            ("Use pnpm from now on.", "Always use npm.", true),
            (
                "Das Budget beträgt jetzt 900 Euro.",
                "Das Budget beträgt 800 Euro.",
                true,
            ),
            ("从现在开始请用英文回答。", "请始终用中文回答。", true),
            (
                "Never mention my sister.",
                "Never mention my brother's wedding.",
                false,
            ),
        ] {
            assert_eq!(supersedes(new, old), expected, "{new:?} over {old:?}");
        }
    }
}

mod languages {
    use super::{Language, detect_language};

    /// N10: by script and small words; code does not count; too little is no answer.
    #[test]
    fn are_told_apart() {
        for (text, expected) in [
            (
                "The quick test of this function is in the other file.",
                Some(Language::English),
            ),
            (
                "Das ist ein Test, der nicht immer funktioniert.",
                Some(Language::German),
            ),
            (
                "Esto es una prueba que no siempre funciona.",
                Some(Language::Spanish),
            ),
            (
                "C'est un test qui ne fonctionne pas toujours.",
                Some(Language::French),
            ),
            (
                "Это проверка, которая не всегда работает.",
                Some(Language::Russian),
            ),
            (
                "Це перевірка, яка не завжди працює.",
                Some(Language::Ukrainian),
            ),
            ("这是一个不总是有效的测试。", Some(Language::Chinese)),
            (
                "これはいつも動くとは限らないテストです。",
                Some(Language::Japanese),
            ),
            (
                "이것은 항상 작동하지 않는 테스트입니다.",
                Some(Language::Korean),
            ),
            ("هذا اختبار لا يعمل دائما.", Some(Language::Arabic)),
            ("นี่คือการทดสอบ", Some(Language::Thai)),
            (
                "Isto é um teste que não funciona sempre, mas já está.",
                Some(Language::Portuguese),
            ),
            (
                "Questo è un test che non funziona sempre.",
                Some(Language::Italian),
            ),
            (
                "Dit is een test die niet altijd werkt.",
                Some(Language::Dutch),
            ),
            (
                "To jest test, który nie zawsze działa.",
                Some(Language::Polish),
            ),
            ("", None),
            ("42 / 7 = 6", None),
            ("```\nthe and of to in is that\n```", None),
        ] {
            assert_eq!(detect_language(text), expected, "{text}");
        }
    }
}

mod rejections {
    use super::{Attempt, Language, Rejection, reject};

    const SOURCE: &str = "We talked about the garden for a long time. The roses need water every morning, and the fence \
        behind the shed is broken since the storm. Anna will bring new boards on Friday. The budget for all of it is 300 euros, \
        and the neighbour's dog must not get in. Later we spoke about the holidays and the train to Lyon, which leaves at 9:30. \
        We have not booked seats. The cat stays with Tom.";

    #[allow(clippy::needless_pass_by_value, reason = "reads as a table")]
    fn check(summary: &str, expected: Option<Rejection>) {
        let draft = Attempt {
            prompt: "Summarise the conversation below. Keep decisions, files, numbers and open questions. Do not invent anything.",
            first_message: "We talked about the garden for a long time.",
            source_tokens: 120,
            summary_tokens: 40,
        };
        assert_eq!(reject(summary, SOURCE, &draft), expected, "{summary:?}");
    }

    /// P8: a good summary passes, as prose and as a list.
    #[test]
    fn good_summaries_pass() {
        check(
            "The roses need water each morning; the fence is broken. Anna brings boards on Friday. Budget: 300 euros.",
            None,
        );
        check(
            "## Garden\n- Roses: water every morning\n- Fence broken, boards on Friday (Anna)\n- Budget 300 euros",
            None,
        );
        check(
            "The user said they cannot book seats yet; the train to Lyon leaves at 9:30.",
            None,
        );
        check(
            "<think>Let me see.</think>The fence is broken and Anna brings boards on Friday.",
            None,
        );
    }

    /// P8, F 49: nothing, white space, placeholders.
    #[test]
    fn empty_ones() {
        for text in [
            "",
            "  \n\t",
            "...",
            "(no summary available)",
            "None.",
            "<think>only thoughts</think>",
            "**",
        ] {
            check(text, Some(Rejection::Empty));
        }
    }

    /// P8, F 49: an answer of a word or two stands for no long source. For a short one it may.
    #[test]
    fn a_word_is_no_summary() {
        let of = |summary: &str, source_tokens| {
            let draft = Attempt {
                source_tokens,
                ..Attempt::default()
            };
            reject(summary, SOURCE, &draft)
        };
        for text in ["Gladly.", "Sure, here.", "- Understood.", "好的。"] {
            assert_eq!(of(text, 4_000), Some(Rejection::Empty), "{text}");
        }
        assert_eq!(of("Anna brings new boards on Friday.", 4_000), None);
        assert_eq!(of("The fence broke.", 60), None);
    }

    /// P8, F 53: a refusal in any of the languages; a report of one is none.
    #[test]
    fn refusals() {
        for text in [
            "I'm sorry, but I can't help with that.",
            "I cannot summarize this conversation.",
            "As an AI language model, I am unable to process this request.",
            "Es tut mir leid, aber ich kann dabei nicht helfen.",
            "Lo siento, no puedo ayudar con esa solicitud.",
            "Je suis désolé, je ne peux pas vous aider.",
            "К сожалению, я не могу помочь с этим запросом.",
            "抱歉，我无法帮助您完成这个请求。",
            "申し訳ありませんが、お手伝いできません。",
        ] {
            check(text, Some(Rejection::Refusal));
        }
        check(
            "The assistant refused: it cannot help with the dog. The fence is broken.",
            None,
        );
    }

    /// P8, F 52: the request, the first message or headings alone come back.
    #[test]
    fn echoes() {
        check(
            "Summarise the conversation below. Keep decisions, files, numbers and open questions.",
            Some(Rejection::Echo),
        );
        check(
            "We talked about the garden for a long time.",
            Some(Rejection::Echo),
        );
        check(
            "## Goal\n\n## Decisions\n- none\n\n## Next steps\nN/A",
            Some(Rejection::Echo),
        );
        check(
            "**Goal:**\n**Files:** none\n**Next:** -",
            Some(Rejection::Echo),
        );
    }

    /// P8, F 55: one sentence, or one phrase, for ever.
    #[test]
    fn loops() {
        check(
            &"The fence is broken. ".repeat(40),
            Some(Rejection::Repetitive),
        );
        check(
            &"and then the fence broke ".repeat(60),
            Some(Rejection::Repetitive),
        );
        // short ones within a line that begins, or ends, with sense
        for (once, times) in [
            ("roses and ", 9),
            ("the fence is broken, ", 5),
            ("water ", 16),
        ] {
            let round = once.repeat(times);
            check(
                &format!("The fence is broken and Anna brings boards on Friday, {round}"),
                Some(Rejection::Repetitive),
            );
            check(
                &format!("- The fence is broken.\n- {round}so Anna brings boards."),
                Some(Rejection::Repetitive),
            );
        }
        // what only comes back a few times is no loop
        check(
            "Roses: water, water, water. The fence is broken, the fence is broken, and Anna brings boards on Friday.",
            None,
        );
    }

    /// F22: what very small models wrote instead of a summary, and hardly any of it passed the checks before.
    #[test]
    fn garbage() {
        for leak in [
            "[[pal:27d80f0f73bd9135:notes>> [n]",
            "<<pal:27d80f0f73bd9135:end>>",
            "[[pal:27d80f0f73bd9135:notes>>\n- The fence is broken.\n- Anna brings boards on Friday.",
            "The fence is broken. [[ PAL:27d80f0f:end>>",
            "The fence is broken.\npal:27d80f0f73bd9135:end",
        ] {
            check(leak, Some(Rejection::Leaked));
        }
        for echo in [
            "The fence is broken.\nKeep decisions, files, numbers and open questions.",
            "{\"n\":3,\"role\":\"user\",\"text\":\"The roses need water every morning.\"}",
            "```json\n[\"The roses need water every morning.\"]\n```",
            "{\"n\":1,\"text\":\"The roses need water.\"}\n{\"n\":2,\"text\":\"The fence is broken.\"}",
        ] {
            check(echo, Some(Rejection::Echo));
        }
        let counted = (0..57)
            .map(|n| format!("- {n}"))
            .collect::<Vec<_>>()
            .join("\n");
        let many = "- Roses.\n".repeat(12);
        for again in [
            format!("Here is the list of notes:\n{counted}"),
            "The notes are 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10.".to_owned(),
            many.clone(),
            format!("The fence is broken.\n{many}"),
            "- The fence behind the shed is broken now.\n- The fence behind the shed is broken.\n- The fence behind the shed is now broken.\n\
             - The fence behind the shed, now broken.\n- Broken now is the fence behind the shed."
                .to_owned(),
        ] {
            check(&again, Some(Rejection::Repetitive));
        }
        for story in [
            "The user adopted a puppy called Pixie and moved to Lisbon in 2019.",
            "A brave knight rode through dark forests, fought several dragons, married some princess and lived happily inside his castle.",
        ] {
            check(story, Some(Rejection::Invented));
        }
        // numbered lists, figures and short lines of a real summary stay
        check(
            "1. Roses: water every morning.\n2. Fence: broken.\n3. Boards: Friday.\n4. Budget: 300 euros.\n5. Train: 9:30.\n6. Cat: Tom.\n\
             7. Dog: out.\n8. Seats: open.\n9. Holidays: Lyon.",
            None,
        );
    }

    /// P8, F 51: the end is missing.
    #[test]
    fn cut_ones() {
        check(
            "The fence is broken and Anna brings boards because of the",
            Some(Rejection::CutOff),
        );
        check("The fence is broken,", Some(Rejection::CutOff));
        check(
            "The roses need water.\n```sh\nwater --roses",
            Some(Rejection::CutOff),
        );
        check(
            "The roses need water every morning.\n## Next steps",
            Some(Rejection::CutOff),
        );
    }

    /// P8, N10: another language than the source's, with both named.
    #[test]
    fn other_languages() {
        check(
            "Die Rosen brauchen jeden Morgen Wasser und der Zaun hinter dem Schuppen ist kaputt. Anna bringt am Freitag neue Bretter.",
            Some(Rejection::WrongLanguage {
                expected: Language::English,
                found: Language::German,
            }),
        );
        check(
            "玫瑰每天早上都需要浇水，棚子后面的栅栏坏了。安娜星期五会带来新的木板，预算是三百欧元。",
            Some(Rejection::WrongLanguage {
                expected: Language::English,
                found: Language::Chinese,
            }),
        );
    }

    /// P8, F 50: as large as what it replaces.
    #[test]
    fn large_ones() {
        let draft = Attempt {
            source_tokens: 30,
            summary_tokens: 30,
            ..Attempt::default()
        };
        let text = "The fence is broken and Anna brings boards.";
        assert_eq!(
            reject(text, SOURCE, &draft),
            Some(Rejection::NotSmaller {
                tokens: 30,
                source: 30
            })
        );
        let smaller = Attempt {
            source_tokens: 30,
            summary_tokens: 29,
            ..Attempt::default()
        };
        assert_eq!(reject(text, SOURCE, &smaller), None);
    }
}
