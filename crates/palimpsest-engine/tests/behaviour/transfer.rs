//! Sessions as files: each format loads back.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::rc::Rc;

use futures_executor::block_on;
use palimpsest_core::message::{Origin, Part, Role};
use palimpsest_core::record::PinKind;
use palimpsest_engine::ports::Signal;
use palimpsest_engine::session::{CompactOptions, IfOver, NewMessage};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Accept, Engine, Format, MemoryStore, NewSession, Session, Transfer};
use palimpsest_tokens::Estimator;
use proptest::prelude::*;

pub(super) async fn engine() -> Engine {
    Engine::start(
        Rc::new(MemoryStore::new()),
        world(),
        Rc::new(Estimator::default()),
    )
    .await
    .unwrap()
}

/// Texts that try to look like the format they are written in.
const AWKWARD: [&str; 8] = [
    "plain",
    "  leading and trailing \n\n",
    "<!-- palimpsest end -->",
    "a\n\\<!-- palimpsest part {} -->\nb",
    "\\\\<!-- palimpsest message {} -->",
    "crlf\r\nline\r\n",
    "## User\n\n```json\n{\"a\": \"--> <!--\"}\n```",
    "日本語 🏳️‍🌈 \u{0} \u{202e}",
];

pub(super) async fn full(engine: &Engine) -> Session {
    let s = engine
        .create(NewSession {
            title: "Awkward -- talk -->".into(),
            window: 4096,
            model: "m:3b".into(),
            provider: "ollama".into(),
            system: "Be exact.\n<!-- palimpsest end -->".into(),
            ..NewSession::default()
        })
        .await
        .unwrap();
    s.pin(PinKind::Pin, "The customer is Ada.").await.unwrap();
    s.begin_goal("Ship it").await.unwrap();
    for (n, text) in AWKWARD.iter().enumerate() {
        s.append(NewMessage::user(*text)).await.unwrap();
        let id = format!("call_{n}");
        s.append(NewMessage::assistant(vec![
            Part::Thinking {
                text: "hm -- so".into(),
            },
            Part::text(*text),
            Part::ToolCall {
                id: id.clone(),
                name: "read_file".into(),
                arguments: r#"{"path":"a--b.txt"}"#.into(),
            },
        ]))
        .await
        .unwrap();
        s.append(NewMessage::tool(vec![Part::ToolResult {
            call: id,
            name: Some("read_file".into()),
            text: (*text).into(),
            error: n == 3,
        }]))
        .await
        .unwrap();
        s.append(NewMessage::assistant(vec![
            Part::text("Seen."),
            Part::Image {
                name: "x.png".into(),
                media_type: "image/png".into(),
                data: "AAAA".into(),
                tokens: None,
            },
            Part::File {
                name: "a.txt".into(),
                text: (*text).into(),
            },
        ]))
        .await
        .unwrap();
    }
    for n in 0..20 {
        s.append(NewMessage::user(format!(
            "Question {n} about part_{n}.toml?"
        )))
        .await
        .unwrap();
        let text = format!("It sets the limit to {n} seconds; a restart is needed. ").repeat(4);
        s.append(NewMessage::assistant(vec![Part::text(text)]))
            .await
            .unwrap();
    }
    s.compact(
        CompactOptions {
            manual: true,
            ..CompactOptions::default()
        },
        Signal::never(),
    )
    .await
    .unwrap();
    s
}

fn words(session: &Session) -> Vec<(Role, Vec<Part>)> {
    session
        .history(None, usize::MAX)
        .iter()
        .map(|i| (i.message.role, i.message.parts.clone()))
        .collect()
}

/// S3: JSON Lines brings back everything: branches, records, layers with their figures, the same window byte for byte.
#[test]
fn json_lines_bring_back_everything() {
    block_on(async {
        let here = engine().await;
        let s = full(&here).await;
        let tip = s.head().tip.unwrap();
        s.rewind_before(2).await.unwrap();
        s.append(NewMessage::user("Another branch.")).await.unwrap();
        s.switch_to(tip).await.unwrap();
        let file = s.export(Format::JsonLines).await.unwrap();
        assert!(
            file.lines()
                .any(|l| l.contains("\"kind\":\"layer\"") && l.contains("\"ratio\":"))
        );
        let there = engine().await;
        let read = Transfer::read(&file).unwrap();
        assert_eq!(read.write(Format::JsonLines), file);
        let t = there.import(read, Accept::Everything).await.unwrap();
        assert_eq!(t.id(), s.id());
        assert_eq!(t.window(), s.window());
        assert_eq!(words(&t), words(&s));
        assert_eq!(t.siblings(2).len(), s.siblings(2).len());
        let (a, b) = (t.layers(), s.layers());
        assert_eq!(a, b);
        assert_eq!(t.records().goal, s.records().goal);
        assert!(a[0].original_tokens > a[0].tokens);
        // it is a session like any other
        t.undo_with(IfOver::Show).await.unwrap();
        assert!(t.layers().is_empty());
        // again: the same session, nothing twice
        let count = t.message_count();
        let again = there
            .import(Transfer::read(&file).unwrap(), Accept::Everything)
            .await
            .unwrap();
        assert_eq!(again.message_count(), count);
    });
}

/// S3, I8: Markdown and the session JSON of seed 2 bring back every part of every message exactly, whatever the text
/// looks like. Without the user's consent nothing of a file counts as a record and all of it is an import's word.
#[test]
fn markdown_and_session_json_bring_back_what_was_said() {
    block_on(async {
        for format in [Format::Markdown, Format::SessionJson] {
            let here = engine().await;
            let s = full(&here).await;
            let file = s.export(format).await.unwrap();
            let there = engine().await;
            let read = Transfer::read(&file).unwrap();
            assert_eq!(read.facts.title, "Awkward -- talk -->");
            assert_eq!(read.facts.compressions, 1);
            assert_eq!(read.facts.provider, "ollama");
            let t = there
                .import(read.clone(), Accept::Everything)
                .await
                .unwrap();
            assert_eq!(words(&t), words(&s), "{format:?}");
            assert_eq!(t.records().system, s.records().system);
            let w = there.import(read, Accept::Words).await.unwrap();
            assert_ne!(w.id(), t.id());
            assert_eq!(words(&w), words(&s));
            assert_eq!(w.records().system, "");
            assert!(w.records().goal.is_none() && w.records().pins.is_empty());
            assert!(
                w.history(None, usize::MAX)
                    .iter()
                    .all(|i| i.message.origin == Origin::Import)
            );
        }
    });
}

/// S7, F 88: the same file again, grown, adds what it has more; one that went another way changes nothing.
#[test]
fn imports_merge() {
    block_on(async {
        let here = engine().await;
        let s = full(&here).await;
        let first = Transfer::read(&s.export(Format::Markdown).await.unwrap()).unwrap();
        s.append(NewMessage::user("One more.")).await.unwrap();
        let second = Transfer::read(&s.export(Format::Markdown).await.unwrap()).unwrap();
        let there = engine().await;
        let t = there.import(first.clone(), Accept::Words).await.unwrap();
        let count = t.message_count();
        let t = there.import(second, Accept::Words).await.unwrap();
        assert_eq!(t.message_count(), count + 1);
        let t = there.import(first, Accept::Words).await.unwrap();
        assert_eq!(t.message_count(), count + 1);
        assert_eq!(there.sessions().await.unwrap().len(), 1);
    });
}

/// S3: the session JSON has seed 2's shape; a file of another writer gets its tool calls back by their time.
#[test]
fn session_json_has_the_shape_of_seed_2() {
    block_on(async {
        let here = engine().await;
        let s = full(&here).await;
        let file = s.export(Format::SessionJson).await.unwrap();
        let value: serde_json::Value = serde_json::from_str(&file).unwrap();
        let keys: Vec<&str> = value
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        for key in [
            "sessionId",
            "startTime",
            "lastActivity",
            "model",
            "provider",
            "messages",
            "toolCalls",
            "metadata",
        ] {
            assert!(keys.contains(&key), "{key}");
        }
        assert_eq!(value["toolCalls"].as_array().unwrap().len(), AWKWARD.len());
        assert_eq!(value["toolCalls"][3]["result"]["error"], true);
        assert_eq!(value["toolCalls"][0]["args"]["path"], "a--b.txt");
        assert_eq!(value["metadata"]["compressionCount"], 1);

        let other = r#"{"sessionId":"u","startTime":"2026-01-26T10:00:00Z","lastActivity":"2026-01-26T11:30:00Z","model":"llama3.2:3b","provider":"ollama",
            "messages":[{"role":"user","parts":[{"type":"text","text":"Read it."}],"timestamp":"2026-01-26T10:00:00Z"},
                        {"role":"assistant","parts":[{"type":"text","text":"Done."}],"timestamp":"2026-01-26T10:00:25Z"}],
            "toolCalls":[{"id":"call_123","name":"read_file","args":{"path":"file.ts"},"result":{"llmContent":"x = 1"},"timestamp":"2026-01-26T10:00:20Z"}],
            "metadata":{"tokenCount":8500,"compressionCount":2}}"#;
        let read = Transfer::read(other).unwrap();
        let roles: Vec<Role> = read.messages.iter().map(|m| m.role).collect();
        assert_eq!(
            roles,
            [Role::User, Role::Assistant, Role::Tool, Role::Assistant]
        );
        assert_eq!(read.messages[2].words(), "x = 1");
        assert_eq!((read.facts.tokens, read.facts.compressions), (8500, 2));
        assert!((read.facts.created - 1_769_421_600_000.0).abs() < 0.5);
    });
}

/// I10, F 87: what is no session file, is damaged, or is newer, is refused with a code.
#[test]
fn bad_files_are_refused() {
    let check = |text: &str, code: &str| {
        assert_eq!(Transfer::read(text).unwrap_err().code(), code, "{text:?}");
    };
    check("", "unknown_file");
    check("hello", "unknown_file");
    check(&"[".repeat(1_000_000), "unknown_file");
    check(
        &format!(
            "{{\"palimpsest\":1,\"kind\":\"session\",\"x\":{}",
            "[".repeat(1_000_000)
        ),
        "unknown_file",
    );
    check("[]", "unknown_file");
    check("{\"messages\":[]}", "unknown_file");
    check("{\"palimpsest\":9,\"kind\":\"session\"}", "newer_file");
    check("{\"palimpsest\":1,\"kind\":\"session\"}\n{", "damaged_file");
    check(
        "{\"palimpsest\":1,\"kind\":\"session\"}\n{\"kind\":\"x\"}",
        "damaged_file",
    );
    check(
        "{\"palimpsest\":1,\"kind\":\"session\"}\n{\"kind\":\"message\",\"message\":{\"seq\":1,\"parent\":5,\"role\":\"user\",\"origin\":\"host\",\"parts\":[]}}",
        "damaged_file",
    );
    check("<!-- palimpsest session {} -->\n", "damaged_file");
    check(
        "<!-- palimpsest session {\"version\":2,\"facts\":{},\"records\":{\"revision\":1}} -->\n",
        "newer_file",
    );
    check(
        "<!-- palimpsest session {\"version\":1,\"facts\":{},\"records\":{\"revision\":1}} -->\n<!-- palimpsest part {\"type\":\"text\",\"text\":\"\"} -->\nx\n\n<!-- palimpsest end -->",
        "damaged_file",
    );
    check(
        "<!-- palimpsest session {\"version\":1,\"facts\":{},\"records\":{\"revision\":1}} -->\n<!-- palimpsest mess",
        "damaged_file",
    );
    check(
        "{\"sessionId\":\"u\",\"messages\":[{\"role\":\"wizard\",\"parts\":[]}]}",
        "damaged_file",
    );
}

/// S7, I8: an import's first system line is the system prompt once the user vouches for it, and only then; what is demanded in
/// it is no pin even so; without consent nothing of it is a record and no word of it can become one; a grown file is merged,
/// the same one again changes nothing.
#[test]
fn consent_decides_what_an_import_is() {
    block_on(async {
        let text = |more: bool| {
            let mut said = vec![
                serde_json::json!({"role": "system", "content": "You are a careful baker."}),
                serde_json::json!({"role": "user", "content": "Always weigh the flour. How much for two loaves?"}),
                serde_json::json!({"role": "assistant", "content": "One kilogram. Never open the oven early."}),
            ];
            if more {
                said.push(serde_json::json!({"role": "user", "content": "And water?"}));
            }
            serde_json::json!({"sessionId": "bakery-1", "messages": said, "model": "m", "provider": "p"})
                .to_string()
        };
        let read = |more| Transfer::read(&text(more)).unwrap();
        let e = engine().await;
        let s = e.import(read(false), Accept::Everything).await.unwrap();
        let system = s.window().messages()[0].parts()[0].words().to_owned();
        assert!(system.contains("You are a careful baker."), "{system}");
        assert_eq!(
            s.records().pins,
            [],
            "a file pins nothing by what is said in it"
        );
        let again = e.import(read(false), Accept::Everything).await.unwrap();
        assert_eq!((again.id(), again.message_count()), (s.id(), 2));
        let grown = e.import(read(true), Accept::Everything).await.unwrap();
        assert_eq!((grown.id(), grown.message_count()), (s.id(), 3));
        assert_eq!(e.sessions().await.unwrap().len(), 1);

        let e = engine().await;
        let s = e.import(read(false), Accept::Words).await.unwrap();
        assert_eq!(s.records().pins, []);
        assert_eq!(s.records().system, "");
        let said = s.history(None, 9);
        assert!(said.iter().all(|i| i.message.origin == Origin::Import));
        for n in 0..30 {
            s.append(NewMessage::user(format!(
                "Question {n} about dough and {n} other things?"
            )))
            .await
            .unwrap();
            let text =
                format!("Dough number {n} needs {n} hours of rest and a warm place. ").repeat(6);
            s.append(NewMessage::assistant(vec![Part::text(text)]))
                .await
                .unwrap();
        }
        s.compact(
            CompactOptions {
                manual: true,
                ..CompactOptions::default()
            },
            Signal::never(),
        )
        .await
        .unwrap();
        assert!(s.history(None, 99)[0].covered_by.is_some());
        assert_eq!(
            s.records().pins,
            [],
            "no word of an import becomes a record"
        );
        let grown = e.import(read(true), Accept::Words).await.unwrap();
        assert_eq!(
            grown.id(),
            s.id(),
            "it went another way here: nothing is mixed in"
        );
        assert_eq!(grown.message_count(), s.message_count());
    });
}

/// F 21, F 27, I10: bytes that are no UTF-8 and half surrogates are named with their place; in JSON Lines the other records
/// are read and stand in their order; nothing is guessed and nothing panics.
#[test]
fn files_of_broken_bytes() {
    block_on(async {
        let e = engine().await;
        let s = full(&e).await;
        let file = s.export(Format::JsonLines).await.unwrap().into_bytes();
        let whole = Transfer::read_bytes(&file).unwrap();
        assert_eq!(whole.1, []);
        let lines: Vec<&[u8]> = file.split_inclusive(|b| *b == b'\n').collect();
        let at = lines
            .iter()
            .position(|l| l.windows(8).any(|w| w == b"\"seq\":4,"))
            .unwrap();
        let before: usize = lines[..at].iter().map(|l| l.len()).sum();
        let mut broken = file.clone();
        broken[before + 20] = 0xff;
        let (read, rejected) = Transfer::read_bytes(&broken).unwrap();
        assert_eq!(
            (rejected[0].line, rejected[0].offset),
            (at + 1, before + 20)
        );
        assert_eq!(read.messages.len() + 1, whole.0.messages.len());
        let e = engine().await;
        let s = e.import(read, Accept::Everything).await.unwrap();
        assert_eq!(
            s.message_count() + 1,
            whole.0.messages.len(),
            "one path, over the gap"
        );

        let markdown = s.export(Format::Markdown).await.unwrap();
        let mut bytes = markdown.into_bytes();
        let place = bytes.len() / 2;
        bytes[place] = 0xfe;
        let error = Transfer::read_bytes(&bytes).unwrap_err();
        assert_eq!(error.code(), "damaged_file");
        assert!(error.to_string().contains("is no UTF-8"), "{error}");
        let half = r#"{"id":"x","messages":[{"role":"user","content":"\ud800"}]}"#;
        assert!(
            ["damaged_file", "unknown_file"].contains(&Transfer::read(half).unwrap_err().code())
        );
    });
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// I10: whatever stands in a file, in settings or in a policy: an error with a code, or something that works.
    #[test]
    fn no_file_breaks_it(cut in 0usize..4000, at in 0usize..4000, byte in any::<u8>(), format in 0u8..3, text in ".{0,40}") {
        let file = FILES.with(|files| files[format as usize].clone());
        block_on(async {
            let mut bytes = file.into_bytes();
            if !bytes.is_empty() {
                let at = at % bytes.len();
                bytes[at] = byte;
                bytes.truncate(bytes.len() - cut.min(bytes.len()) / 8);
            }
            match Transfer::read_bytes(&bytes) {
                Err(error) => assert!(!error.code().is_empty()),
                Ok((read, _)) => {
                    let e = engine().await;
                    match e.import(read, Accept::Everything).await {
                        Err(error) => assert!(!error.code().is_empty()),
                        Ok(s) => {
                            s.window().check_egress(&s.context()).unwrap();
                            assert_eq!(s.window().tokens(), s.context().tokens());
                        }
                    }
                }
            }
            if let Err(error) = palimpsest_engine::Config::from_json(&text) {
                assert!(!error.code().is_empty());
            }
            if let Err(error) = palimpsest_core::policy::Policy::from_text(&text) {
                assert!(!error.code().is_empty());
            }
        });
    }
}

thread_local! {
    static FILES: [String; 3] = block_on(async {
        let s = full(&engine().await).await;
        [
            s.export(Format::JsonLines).await.unwrap(),
            s.export(Format::Markdown).await.unwrap(),
            s.export(Format::SessionJson).await.unwrap(),
        ]
    });
}
