//! Whole windows and budgets of one session, step by step, under every preset: what a change of the shape of the code must
//! leave byte for byte as it is. A snapshot that differs is read before it is taken: `INSTA_UPDATE=always`.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fmt::Write;
use std::rc::Rc;

use futures_executor::block_on;
use palimpsest_core::message::Part;
use palimpsest_core::policy::presets;
use palimpsest_core::prompt::Skill;
use palimpsest_core::record::PinKind;
use palimpsest_engine::ports::Signal;
use palimpsest_engine::session::{CompactOptions, NewMessage, PromptParts, Session};
use palimpsest_engine::testing::model::{Answer, ScriptedModel};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Engine, MemoryStore, NewSession};
use palimpsest_tokens::Estimator;

use crate::scene::{options, silent};

/// The next window, message by message, and the budget, segment by segment.
fn show(out: &mut String, title: &str, session: &Session) {
    let window = session.window();
    let _ = writeln!(out, "=== {title}: {} tokens ===", window.tokens());
    for message in window.messages() {
        let _ = writeln!(out, "--- {:?}, {} tokens", message.role(), message.tokens());
        for part in message.parts() {
            let _ = match part {
                Part::ToolCall {
                    id,
                    name,
                    arguments,
                } => writeln!(out, "call {id}: {name} {arguments}"),
                Part::ToolResult { call, text, .. } => writeln!(out, "result of {call}:\n{text}"),
                other => writeln!(out, "{}", other.words()),
            };
        }
    }
    let budget = session.budget();
    let _ = writeln!(
        out,
        "--- budget: {} of {}, fixed {}, floor {}, trigger {}, target {}",
        budget.used.tokens, budget.limit, budget.fixed, budget.floor, budget.trigger, budget.target
    );
    for segment in &budget.segments {
        let kind = serde_json::to_string(&segment.kind).unwrap();
        let _ = writeln!(out, "{kind}: {}", segment.count.tokens);
    }
    out.push('\n');
}

/// A question, a call of a tool with a long result, an answer with facts.
async fn exchange(session: &Session, n: usize) {
    let rows: Vec<_> = (0..14)
        .map(|i| {
            format!(
                "{{\"oven\":{},\"degrees\":{},\"state\":\"ready\"}}",
                n * 20 + i,
                180 + i
            )
        })
        .collect();
    let result = if n.is_multiple_of(2) {
        format!("[{}]", rows.join(","))
    } else {
        (0..14).fold(String::new(), |text, i| {
            text + &format!(
                "2026-03-{n:02} 06:{i:02} INFO oven {i} baked {} loaves\n",
                i * n
            )
        })
    };
    let call = Part::ToolCall {
        id: format!("c{n}"),
        name: "ovens".into(),
        arguments: format!("{{\"hall\":{n}}}"),
    };
    let part = Part::ToolResult {
        call: format!("c{n}"),
        name: None,
        text: result,
        error: false,
    };
    let said = format!(
        "In hall {n} oven {} is free. I wrote the list to /plans/hall_{n}.md, since the paper of {} March was lost.",
        n * 20 + 3,
        n + 1
    );
    let all = vec![
        NewMessage::user(format!("Which oven is free in hall {n}, and until when?")),
        NewMessage::assistant(vec![call]),
        NewMessage::tool(vec![part]),
        NewMessage::assistant(vec![Part::text(said)]),
    ];
    session.append_all(all).await.unwrap();
}

async fn walk(preset: &str) -> String {
    let mut out = String::new();
    let store = Rc::new(MemoryStore::new());
    let engine = Engine::start(store.clone(), world(), Rc::new(Estimator::default()))
        .await
        .unwrap();
    let session = engine
        .create(NewSession {
            window: 4_096,
            model: "any".into(),
            system: "You run a bakery.".into(),
            policy: preset.into(),
            ..NewSession::default()
        })
        .await
        .unwrap();
    let rule = "Never bake on Sundays. I manage nine halls.";
    session.append(NewMessage::user(rule)).await.unwrap();
    let noted = NewMessage::assistant(vec![Part::text("Noted.")]);
    session.append(noted).await.unwrap();
    for n in 0..4 {
        exchange(&session, n).await;
    }
    session.begin_goal("Open hall nine by May").await.unwrap();
    let pin = "The key is under the third stone.";
    session.pin(PinKind::Pin, pin).await.unwrap();
    let skill = Skill {
        name: "rye".into(),
        text: "Rye dough rests for twelve hours.".into(),
        active: true,
    };
    let parts = PromptParts {
        mandates: Some("Answer in one sentence.".into()),
        skills: Some(vec![skill]),
        checks: Some("Is the hall open?".into()),
        ..PromptParts::default()
    };
    session.set_prompt(parts).await.unwrap();
    show(&mut out, "goal, pin, skill", &session);
    for n in 4..8 {
        exchange(&session, n).await;
    }
    let done = session.compact(CompactOptions::default(), Signal::never());
    let _ = writeln!(out, "compacted: {}", done.await.is_ok());
    show(&mut out, "compacted", &session);
    session.mark_end().await.unwrap();
    for n in 8..12 {
        exchange(&session, n).await;
        let tended = session.tend(CompactOptions::default(), Signal::never());
        let _ = writeln!(out, "tended: {}", tended.await.unwrap().is_some());
    }
    show(&mut out, "grown and compacted by itself", &session);
    let model = ScriptedModel::new([Answer::text("Oven 23 is.")], |_| Answer::text("Notes."));
    let asked = "What was written to /plans/hall_1.md, and which oven was free in hall 1?";
    let sent = session
        .send(
            NewMessage::user(asked),
            &options(&model),
            Signal::never(),
            &silent,
        )
        .await;
    let _ = writeln!(out, "sent: {}", sent.is_ok());
    show(&mut out, "asked about what is covered", &session);
    let id = session.id().to_owned();
    let before = session.window();
    drop((session, engine));
    let engine = Engine::start(store, world(), Rc::new(Estimator::default()))
        .await
        .unwrap();
    let session = engine.open(&id, true).await.unwrap();
    assert_eq!(session.window(), before, "{preset}: opened again");
    let undone = session.undo().await.map_err(|error| error.code());
    let _ = writeln!(out, "undone: {undone:?}");
    show(&mut out, "undone", &session);
    out
}

#[test]
fn sessions_under_every_preset() {
    block_on(async {
        for (name, _) in presets::ALL {
            insta::assert_snapshot!(
                format!("session_{}", name.replace('-', "_")),
                walk(name).await
            );
        }
    });
}
