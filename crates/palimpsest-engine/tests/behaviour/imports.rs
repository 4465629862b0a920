//! Conversations of other programs, as sessions are made of them.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use futures_executor::block_on;
use palimpsest_core::message::{Message, Origin, Part, Role};
use palimpsest_engine::NewSession;
use palimpsest_engine::imports::{FileReader, ImportError, Imported, Meeting, meet};
use palimpsest_engine::session::{Follows, NewMessage};

use crate::transfer::engine;

/// What stands before a system line that was not taken.
const QUOTED: &str = "[System line of the imported conversation]\n";

fn read(text: &str, name: &str) -> Result<Vec<Imported>, ImportError> {
    let mut reader = FileReader::default();
    reader.push(text.as_bytes());
    Ok(reader.finish(name)?.conversations)
}

fn one(text: &str, name: &str) -> Imported {
    let mut all = read(text, name).unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// S3, S7: other apps' conversations keep their times and their identity: exported again with more in it, it is the same
/// conversation; another one's is another.
#[test]
fn other_apps_keep_times_and_identity() {
    let check = |text: &str, longer: &str, times: &[f64]| {
        let (a, b) = (one(text, "a.json"), one(longer, "b.json"));
        let at: Vec<f64> = a.messages.iter().map(|m| m.at).collect();
        assert_eq!(at, times, "{text}");
        assert_eq!(a.id, b.id);
        assert_ne!(a.other, b.other);
        assert_ne!(a.id, a.other);
        let here: Vec<Message> = a.messages.iter().map(stored).collect();
        assert_eq!(meet(here.iter(), &b.messages), Meeting::More(1));
    };
    check(
        r#"[{"uuid":"u1","name":"N","chat_messages":[{"sender":"human","text":"A","created_at":"2023-11-14T22:13:20.5Z"}]}]"#,
        r#"[{"uuid":"u1","name":"N","chat_messages":[{"sender":"human","text":"A","created_at":"2023-11-14T22:13:20.500000+00:00"},{"sender":"assistant","text":"B"}]}]"#,
        &[1_700_000_000_500.0],
    );
    check(
        r#"[{"conversation_id":"c","id":"c","current_node":"a","mapping":{"a":{"parent":null,"message":{"author":{"role":"user"},"create_time":1700000000.25,"content":{"parts":["A"]}}}}}]"#,
        r#"[{"conversation_id":"c","id":"c","current_node":"b","mapping":{"a":{"parent":null,"message":{"author":{"role":"user"},"content":{"parts":["A"]}}},"b":{"parent":"a","message":{"author":{"role":"assistant"},"content":{"parts":["B"]}}}}}]"#,
        &[1_700_000_000_250.0],
    );
    check(
        r#"[{"id":"w","chat":{"history":{"currentId":"1","messages":{"1":{"parentId":null,"role":"user","content":"A","timestamp":1700000000}}}}}]"#,
        r#"[{"id":"w","chat":{"history":{"currentId":"2","messages":{"1":{"parentId":null,"role":"user","content":"A"},"2":{"parentId":"1","role":"assistant","content":"B"}}}}}]"#,
        &[1_700_000_000_000.0],
    );
}

fn stored(new: &NewMessage) -> Message {
    Message {
        seq: 0,
        parent: None,
        role: new.role,
        origin: new.origin,
        parts: new.parts.clone(),
        at: new.at,
        ended: new.ended,
    }
}

/// S7, F 88: what is here already, what goes on, and what went another way; a quoted system line is no difference.
#[test]
fn conversations_meet() {
    let said = |texts: &[&str]| -> Vec<NewMessage> {
        texts.iter().map(|text| NewMessage::user(*text)).collect()
    };
    let check = |here: &[&str], file: &[&str], expected: Meeting| {
        let here: Vec<Message> = said(here).iter().map(stored).collect();
        assert_eq!(meet(here.iter(), &said(file)), expected, "{file:?}");
    };
    let quoted = format!("{QUOTED}Be brief.");
    check(&["a", "b"], &["a", "b"], Meeting::Here);
    check(&["a", "b", "c"], &["a", "b"], Meeting::Here);
    check(&["a"], &["a", "b"], Meeting::More(1));
    check(&["a", "x"], &["a", "b"], Meeting::Apart);
    check(&[&quoted, "a"], &["a"], Meeting::Here);
    check(&["a"], &[&quoted, "a"], Meeting::Here);
    check(&["a"], &[&quoted, "a", "b"], Meeting::More(2));
    check(&[], &["a"], Meeting::More(0));
}

/// S7: what was stored of a session counts only for that session, and only where the person accepts it.
#[test]
fn an_archive_belongs_to_its_session() {
    let file = |id: &str| {
        format!(
            r#"{{"id":"abc123","title":"T","layers":[],"pins":[],"messages":[{{"role":"user","content":"Hi"}}],
            "archive":{{"id":"{id}","head":"{{}}","rows":[["messages",[0],"x"]],"texts":[]}}}}"#
        )
    };
    let mut own = one(&file("abc123"), "x.json");
    assert_eq!(own.archive.as_ref().unwrap().rows.len(), 1);
    own.decline_system();
    assert_eq!(own.archive, None);
    assert_eq!(one(&file("other"), "x.json").archive, None);
}

/// S7: a session of ours keeps its identity, so that importing it again adds nothing.
#[test]
fn our_own_sessions_keep_their_identity() {
    let session = r#"{"id":"abc123","title":"T","layers":[],"goal":null,
        "pins":[{"id":1,"kind":"pin","text":"Keep"}],"messages":[{"role":"user","content":"Hi"}]}"#;
    let vault = format!(r#"{{"palimpsest":1,"sessions":[{session}]}}"#);
    let read_in = one(&vault, "vault.json");
    assert_eq!(
        (read_in.id.as_str(), read_in.pins.len(), &read_in.goal),
        ("abc123", 1, &None)
    );
    // a foreign file cannot name a session of ours
    let foreign = r#"{"id":"abc123","title":"T","messages":[{"role":"user","content":"Hi"}]}"#;
    assert_ne!(one(foreign, "x.json").id, "abc123");
}

/// S7: roles, origin, system lines and title; the same file has the same identity.
#[test]
fn an_openai_list_is_read() {
    let text = r#"[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"},
        {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"run","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"c1","content":"ok"},{"role":"assistant","content":"Done."}]"#;
    let read_in = one(text, "talk.json");
    assert_eq!(
        (read_in.title.as_str(), read_in.system.as_str()),
        ("talk", "Be brief.")
    );
    let roles: Vec<Role> = read_in.messages.iter().map(|m| m.role).collect();
    assert_eq!(
        roles,
        [Role::User, Role::Assistant, Role::Tool, Role::Assistant]
    );
    assert!(read_in.messages.iter().all(|m| m.origin == Origin::Import));
    assert_eq!(read_in.id, one(text, "other.json").id);
    let wrapped = format!(r#"{{"title":" Auth ","messages":{text}}}"#);
    assert_eq!(one(&wrapped, "talk.json").title, "Auth");
}

/// S7, I8: what somebody demands in a file is never pinned, whoever says it there.
#[test]
fn demands_of_a_file_are_not_pinned() {
    let text = r#"[{"role":"user","content":"Always answer in English. What is up?"},
        {"role":"assistant","content":"Never open the oven."},
        {"role":"user","content":"From now on always answer in German."}]"#;
    assert_eq!(one(text, "talk.json").pins, []);
}

/// S7: system lines that are not taken become quoted text at the beginning, of an import's origin.
#[test]
fn a_declined_system_line_is_quoted() {
    let text = r#"[{"role":"system","content":"Obey me."},{"role":"user","content":"Hi"}]"#;
    let mut read_in = one(text, "talk.json");
    read_in.decline_system();
    assert_eq!((read_in.system.as_str(), read_in.messages.len()), ("", 2));
    let first = &read_in.messages[0];
    assert_eq!((first.role, first.origin), (Role::User, Origin::Import));
    assert_eq!(
        first.parts[0].words(),
        "[System line of the imported conversation]\nObey me."
    );
    // nothing to decline, nothing added
    read_in.decline_system();
    assert_eq!(read_in.messages.len(), 2);
}

/// I10: what is no conversation is refused with a sentence.
#[test]
fn bad_files_are_refused() {
    let check = |text: &str, part: &str| {
        let said = read(text, "x.json").unwrap_err().to_string();
        assert!(said.contains(part), "{text:?}: {said}");
    };
    check("{", "not JSON");
    check("\"hello\"", "no messages");
    check("{\"a\":1}", "no messages");
    check("[]", "no messages");
    check("[1,2]", "no messages");
    check(r#"[{"role":"wizard","content":"x"}]"#, "essage 0");
}

/// S7: every branch comes along: what is not shown follows what it followed there.
#[test]
fn branches_come_along() {
    let text = r#"[{"id":"w","title":"W","chat":{"params":{"system":"Be brief."},"history":{"currentId":"c","messages":{
        "a":{"parentId":null,"role":"user","content":"A"},"b":{"parentId":"a","role":"assistant","content":"B"},
        "x":{"parentId":"b","role":"user","content":"X"},"c":{"parentId":"a","role":"assistant","content":"C"},
        "y":{"parentId":null,"role":"user","content":"Y"}}}}}]"#;
    let check = |imported: &Imported, path: &[&str], asides: &[(&str, Option<Follows>)]| {
        let words = |m: &NewMessage| m.parts.iter().map(Part::words).collect::<String>();
        let said: Vec<String> = imported.messages.iter().map(words).collect();
        assert_eq!(said, path);
        let beside: Vec<_> = imported
            .asides
            .iter()
            .map(|a| (words(&a.message), a.follows))
            .collect();
        let expected: Vec<_> = asides
            .iter()
            .map(|(text, f)| ((*text).to_owned(), *f))
            .collect();
        assert_eq!(beside, expected);
    };
    let mut imported = one(text, "w.json");
    let (path, aside) = (|n| Some(Follows::Path(n)), |n| Some(Follows::Aside(n)));
    check(
        &imported,
        &["A", "C"],
        &[("B", path(0)), ("X", aside(0)), ("Y", None)],
    );
    imported.decline_system();
    let quoted = format!("{QUOTED}Be brief.");
    check(
        &imported,
        &[&quoted, "A", "C"],
        &[("B", path(1)), ("X", aside(0)), ("Y", path(0))],
    );
}

/// S6, S7: branches of an import are branches of the session, after it is opened again, too.
#[test]
fn branches_can_be_shown() {
    block_on(async {
        let text = include_str!("../../../../tests/fixtures/imports/sillytavern.jsonl");
        let imported = one(text, "captain.jsonl");
        let engine = engine().await;
        let session = engine
            .create_with_id(&imported.id, NewSession::default())
            .await
            .unwrap();
        let path = session.append_all(imported.messages).await.unwrap();
        let date = engine.sessions().await.unwrap()[0].head.updated;
        let numbers: Vec<_> = path.iter().copied().map(Some).collect();
        session
            .append_aside(&numbers, imported.asides)
            .await
            .unwrap();
        // a chat is as old as what was said in it
        let kept = engine.sessions().await.unwrap()[0].head.updated;
        assert_eq!(kept.to_bits(), date.to_bits());
        let window = session.window();
        drop(session);
        let session = engine.open(&imported.id, true).await.unwrap();
        assert_eq!(session.window(), window);
        let ways = session.siblings(path[2]);
        let said = |session: &palimpsest_engine::Session| -> Vec<String> {
            session
                .history(None, 9)
                .iter()
                .map(|item| item.message.words())
                .collect()
        };
        assert_eq!(
            said(&session),
            [
                "Welcome aboard.",
                "Where do we sail?",
                "To Svalbard.",
                "Aye."
            ]
        );
        assert_eq!(ways.len(), 3);
        session.switch_to(ways[1]).await.unwrap();
        assert_eq!(
            said(&session),
            ["Welcome aboard.", "Where do we sail?", "To Iceland."]
        );
        session.switch_to(path[2]).await.unwrap();
        assert_eq!(said(&session).len(), 4);
        session.append(NewMessage::user("And then?")).await.unwrap();
        assert_eq!(said(&session).len(), 5);
    });
}

/// S7: a file that is imported again adds the messages and the branches that are new in it, and nothing twice; with and without
/// its system line.
#[test]
fn branches_that_are_new_come_along() {
    let file = |more: &str| {
        format!(
            r#"[{{"id":"w","chat":{{"history":{{"currentId":"3","messages":{{
            "1":{{"parentId":null,"role":"user","content":"A"}},
            "2":{{"parentId":"1","role":"assistant","content":"B"}}{more}}}}}}}}}]"#
        )
    };
    let third = r#","3":{"parentId":"2","role":"user","content":"C"}"#;
    let (short, long) = (file(third), {
        let branch = r#","4":{"parentId":"1","role":"assistant","content":"X"},"5":{"parentId":"4","role":"user","content":"Y"}"#;
        file(&format!(
            r#"{third}{branch},"6":{{"parentId":null,"role":"user","content":"Z"}}"#
        ))
    });
    block_on(async {
        for decline in [false, true] {
            let read = |text: &str| {
                let mut imported = one(text, "w.json");
                if decline {
                    imported.system = "Be brief.".into();
                    imported.decline_system();
                }
                imported
            };
            let (first, again) = (read(&short), read(&long));
            let engine = engine().await;
            let session = engine
                .create_with_id(&first.id, NewSession::default())
                .await
                .unwrap();
            session.append_all(first.messages.clone()).await.unwrap();
            drop(session);
            assert_eq!(engine.join(&first.id, &first).await.unwrap(), Some(0));
            assert_eq!(engine.join(&first.id, &again).await.unwrap(), Some(3));
            assert_eq!(engine.join(&first.id, &again).await.unwrap(), Some(0));
            assert_eq!(engine.join(&first.id, &first).await.unwrap(), Some(0));
            // with a system line that is here, or that is not
            assert_eq!(
                engine.join(&first.id, &one(&long, "w.json")).await.unwrap(),
                Some(usize::from(decline)),
                "only the root without the line is another place"
            );
            let session = engine.open(&first.id, true).await.unwrap();
            let b = session.history(None, 9)[usize::from(decline) + 1]
                .message
                .seq;
            let ways = session.siblings(b);
            assert_eq!(ways.len(), 2);
            session.switch_to(ways[1]).await.unwrap();
            let said: Vec<String> = session
                .history(None, 9)
                .iter()
                .map(|item| item.message.words())
                .collect();
            assert_eq!(said[usize::from(decline)..], ["A", "X", "Y"]);
        }
    });
}
