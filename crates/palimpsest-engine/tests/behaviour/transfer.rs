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

async fn engine() -> Engine {
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

async fn full(engine: &Engine) -> Session {
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

/// S7: the same file again, grown, adds what it has more; one that went another way changes nothing.
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

/// I10: what is no session file, is damaged, or is newer, is refused with a code.
#[test]
fn bad_files_are_refused() {
    let check = |text: &str, code: &str| {
        assert_eq!(Transfer::read(text).unwrap_err().code(), code, "{text:?}");
    };
    check("", "unknown_file");
    check("hello", "unknown_file");
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
