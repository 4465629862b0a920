//! Quotes from other sessions, where a person wants them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test stops at the first surprise and prints what it measured"
)]

use std::collections::BTreeMap;
use std::rc::Rc;

use futures_executor::block_on;
use palimpsest_core::message::Part;
use palimpsest_engine::ports::Signal;
use palimpsest_engine::session::NewMessage;
use palimpsest_engine::testing::model::{Answer, ScriptedModel};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Engine, MemoryStore, NewSession, Session, WithTemporary};
use palimpsest_tokens::Estimator;
use serde_json::Value;

use super::scene::{options, silent};

async fn engine() -> Engine {
    let (stored, temporary) = (MemoryStore::new(), MemoryStore::new());
    let both = WithTemporary::new(Rc::new(stored), Rc::new(temporary));
    Engine::start(Rc::new(both), world(), Rc::new(Estimator::default()))
        .await
        .unwrap()
}

fn titled(title: &str) -> NewSession {
    NewSession {
        title: title.to_owned(),
        window: 4_096,
        ..NewSession::default()
    }
}

async fn say(session: &Session, said: &[&str]) {
    for (n, text) in said.iter().enumerate() {
        let new = if n % 2 == 0 {
            NewMessage::user(*text)
        } else {
            NewMessage::assistant(vec![Part::text(*text)])
        };
        session.append(new).await.unwrap();
    }
}

/// Asks in a new session. Returns the words that stand before the question.
async fn asked(engine: &Engine, question: &str) -> (Session, String) {
    let session = engine.create(titled("")).await.unwrap();
    session.append(NewMessage::user(question)).await.unwrap();
    session.recall_others().await.unwrap();
    let quoted = quoted(&session);
    (session, quoted)
}

fn quoted(session: &Session) -> String {
    let window = session.window();
    let last = window.messages().last().unwrap();
    assert!(window.tokens() <= session.context().setup().shares.limit);
    match last.parts() {
        [quotes, _] => quotes.words().to_owned(),
        _ => String::new(),
    }
}

const CABIN: &[&str] = &[
    "The door code of the cabin is 4711-bluebird. The boat is behind the shed.",
    "I will remember the cabin's door code and the boat.",
    "We go there in August with Ida and two dogs.",
    "Two dogs and Ida, in August.",
];
const BREAD: &[&str] = &[
    "How long does a rye bread of 900 grams bake at 230 degrees?",
    "About 50 minutes; it is done when it sounds hollow.",
];

/// R3: a question is answered by words of another session, which is named; what no session answers brings nothing.
#[test]
fn other_sessions_are_quoted_for_a_question() {
    block_on(async {
        let engine = engine().await;
        let cabin = engine
            .create(titled("The \"cabin\" in\nNorway"))
            .await
            .unwrap();
        say(&cabin, CABIN).await;
        let bread = engine.create(titled("Bread")).await.unwrap();
        say(&bread, BREAD).await;

        let (_, nothing) = asked(&engine, "What is the door code of the cabin?").await;
        assert_eq!(nothing, "", "nobody has wished for it");

        engine.recall_others();
        let (session, found) = asked(&engine, "What is the door code of the cabin?").await;
        assert!(
            found.starts_with("<recalled_quotes>\nQuoted from other conversations of the user"),
            "{found}"
        );
        assert!(found.contains("[\"The 'cabin' in Norway"), "{found}");
        assert!(found.contains("4711-bluebird"), "{found}");
        assert!(!found.contains("rye"), "{found}");
        for quote in session.recalled_elsewhere() {
            assert_eq!(quote.session, cabin.id());
        }

        for (question, expected) in [
            ("How long does the rye bread bake?", "50 minutes"),
            ("Thanks!", ""),
            ("Which planet has the most moons?", ""),
        ] {
            let (_, found) = asked(&engine, question).await;
            assert!(found.contains(expected), "{question}: {found}");
            assert_eq!(found.is_empty(), expected.is_empty(), "{question}: {found}");
        }
    });
}

/// R3: what is said later, edited or deleted elsewhere is followed; temporary sessions and the own one are not quoted.
#[test]
fn quotes_follow_the_other_sessions() {
    block_on(async {
        let engine = engine().await;
        engine.recall_others();
        let cabin = engine.create(titled("Cabin")).await.unwrap();
        say(&cabin, &CABIN[..2]).await;
        let question = "What is the door code of the cabin?";
        assert!(asked(&engine, question).await.1.contains("4711-bluebird"));

        // it goes on
        say(
            &cabin,
            &["The key of the sauna hangs under the porch, left."],
        )
        .await;
        let sauna = asked(&engine, "Where does the key of the sauna hang?")
            .await
            .1;
        assert!(sauna.contains("under the porch"), "{sauna}");

        // its beginning is another
        cabin
            .sync(vec![NewMessage::user(
                "The door code of the cabin is 9000-heron now.",
            )])
            .await
            .unwrap();
        let changed = asked(&engine, question).await.1;
        assert!(
            changed.contains("9000-heron") && !changed.contains("4711"),
            "{changed}"
        );

        engine.delete(cabin.id()).await.unwrap();
        assert_eq!(asked(&engine, question).await.1, "");
        engine.undelete(cabin.id()).await.unwrap();
        assert!(asked(&engine, question).await.1.contains("9000-heron"));
        engine.purge(cabin.id()).await.unwrap();
        assert_eq!(asked(&engine, question).await.1, "");

        let secret = engine.create_temporary(titled("Secret")).await.unwrap();
        say(&secret, CABIN).await;
        assert_eq!(asked(&engine, question).await.1, "");
        // the own words stand in the window already
        let own = engine.create(titled("Own")).await.unwrap();
        say(&own, CABIN).await;
        own.append(NewMessage::user(question)).await.unwrap();
        own.recall_others().await.unwrap();
        assert_eq!(quoted(&own), "");

        engine.forget_others();
        let other = engine.create(titled("")).await.unwrap();
        other.append(NewMessage::user(question)).await.unwrap();
        other.recall_others().await.unwrap();
        assert_eq!(quoted(&other), "");
    });
}

/// R3: a sent message has the quotes in its request; they go with the next one, can be removed, and are stored.
#[test]
fn quotes_of_others_go_with_a_request() {
    block_on(async {
        let engine = engine().await;
        engine.recall_others();
        let cabin = engine.create(titled("Cabin")).await.unwrap();
        say(&cabin, CABIN).await;
        engine.read_others().await.unwrap();
        let session = engine.create(titled("")).await.unwrap();
        let model = ScriptedModel::new(
            [Answer::text("4711-bluebird."), Answer::text("Gladly.")],
            |_| Answer::Silence,
        );
        let question = NewMessage::user("What is the door code of the cabin?");
        session
            .send(question, &options(&model), Signal::never(), &silent)
            .await
            .unwrap();
        let sent = format!("{:?}", model.asked().last().unwrap().messages);
        assert!(
            sent.contains("4711-bluebird") && sent.contains("[\\\"Cabin, "),
            "{sent}"
        );

        let again = engine.open(session.id(), true).await.unwrap();
        assert_eq!(again.recalled_elsewhere(), session.recalled_elsewhere());
        let from = session.recalled_elsewhere()[0].clone();
        again
            .forget_elsewhere(&from.session, from.quote.seq)
            .await
            .unwrap();
        assert!(
            again
                .recalled_elsewhere()
                .iter()
                .all(|one| one.quote.seq != from.quote.seq)
        );
        again.forget_recalled(None).await.unwrap();
        assert_eq!(again.recalled_elsewhere(), []);

        let thanks = NewMessage::user("Thank you!");
        again
            .send(thanks, &options(&model), Signal::never(), &silent)
            .await
            .unwrap();
        let sent = format!("{:?}", model.asked().last().unwrap().messages);
        assert!(!sent.contains("recalled_quotes"), "{sent}");
    });
}

/// Measures the evidence that is quoted when the sessions of a long chat are sessions of their own, and how many questions of
/// another chat, which nothing here answers, bring quotes. Run with `--nocapture` for the figures.
#[test]
#[ignore = "reads the folder of recorded chats"]
fn evidence_of_other_sessions_is_quoted() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/data/locomo-dev.json"
    );
    let text = std::fs::read_to_string(file).unwrap();
    let chats: Vec<Value> = serde_json::from_str(&text).unwrap();
    let (mut evidence, mut found, mut all, mut tokens, mut strange, mut misled) =
        (0, 0, 0, 0, 0, 0);
    for (n, chat) in chats.iter().enumerate() {
        let other = &chats[(n + 1) % chats.len()];
        block_on(async {
            let engine = engine().await;
            engine.recall_others();
            let places = tell(&engine, chat).await;
            for qa in chat["qa"].as_array().unwrap().iter().step_by(3) {
                let gold: Vec<&(String, u32)> = qa["evidence"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|e| places.get(e.as_str()?))
                    .collect();
                if gold.is_empty() {
                    continue;
                }
                let (session, _) = asked(&engine, qa["question"].as_str().unwrap()).await;
                let quotes = session.recalled_elsewhere();
                let is_quoted = |(id, seq): &(String, u32)| {
                    quotes
                        .iter()
                        .any(|q| q.session == *id && q.quote.seq == *seq)
                };
                evidence += gold.len();
                found += gold.iter().filter(|place| is_quoted(place)).count();
                tokens += session.context().recalled_tokens();
                all += 1;
                engine.purge(session.id()).await.unwrap();
            }
            for qa in other["qa"].as_array().unwrap().iter().step_by(3) {
                let (session, _) = asked(&engine, qa["question"].as_str().unwrap()).await;
                strange += 1;
                misled += u32::from(!session.recalled_elsewhere().is_empty());
                engine.purge(session.id()).await.unwrap();
            }
        });
    }
    println!(
        "{all} questions: {found} of {evidence} quoted, {} tokens each; {misled} of {strange} strange questions quoted",
        tokens / all
    );
    assert!(found * 10 > evidence * 4);
    assert!(misled * 20 < strange);
}

/// Makes a session of each session of a chat. Returns the places of what was said by its name in the file.
async fn tell(engine: &Engine, chat: &Value) -> BTreeMap<String, (String, u32)> {
    let talk = &chat["conversation"];
    let mut places = BTreeMap::new();
    for n in 1..60 {
        let Some(turns) = talk[format!("session_{n}")].as_array() else {
            continue;
        };
        let session = engine.create(titled(&format!("Talk {n}"))).await.unwrap();
        for turn in turns {
            let text = format!(
                "{}: {}",
                turn["speaker"].as_str().unwrap(),
                turn["text"].as_str().unwrap_or_default()
            );
            let new = if turn["speaker"] == talk["speaker_a"] {
                NewMessage::user(text)
            } else {
                NewMessage::assistant(vec![Part::text(text)])
            };
            let seq = session.append(new).await.unwrap();
            places.insert(
                turn["dia_id"].as_str().unwrap().to_owned(),
                (session.id().to_owned(), seq),
            );
        }
    }
    places
}
