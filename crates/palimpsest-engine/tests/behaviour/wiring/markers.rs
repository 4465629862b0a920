//! Goals, pins and proposals on their way through a session.

use futures_executor::block_on;
use palimpsest_core::goal::{GoalEdit, MilestoneState};
use palimpsest_core::message::Part;
use palimpsest_core::mode::Mode;
use palimpsest_core::prompt::Skill;
use palimpsest_core::record::PinKind;
use palimpsest_engine::ports::Signal;
use palimpsest_engine::session::{CompactOptions, IfOver, NewMessage, PromptParts};
use palimpsest_engine::testing::model::{Answer, ScriptedModel};
use palimpsest_engine::{Event, NewSession, Session};

use super::{SUMMARY, compact, marking, nonce, record, reopen, session, system_of};
use crate::scene::talk;

fn is_over_budget(event: &Event) -> bool {
    matches!(event, Event::Warning { code: "prompt_over_budget", message } if message.contains("200"))
}

/// G3, I8: markers in a summary are proposals with the messages they cite. The goal and the window's system message
/// stay as they are until the user accepts; LOCKED is never taken from a marker; what was declined is not proposed
/// again; all of it survives reopening. Markers with another nonce are text.
#[test]
fn markers_are_proposals() {
    block_on(async {
        let (store, engine, s) = session(4096).await;
        s.begin_goal("Understand the configuration").await.unwrap();
        s.edit_goal(GoalEdit::AddMilestone {
            text: "Read part 3".into(),
            state: MilestoneState::Pending,
            at: 1.0,
        })
        .await
        .unwrap();
        talk(&s, 24).await;
        let goal = s.records().goal;
        let events = record(&s);
        let model = marking(
            "- **[CHECKPOINT]** Read part 3 - COMPLETED (#6, #7, #9999)\n[DECISION] Restart after each change - LOCKED (#1)\n[next] Read part 30 (#2)\n[FOO] what is this",
        );
        compact(&s, &model).await;
        assert_eq!(s.records().goal, goal, "nobody has consented yet");
        let pending = s.proposals();
        assert_eq!(pending.len(), 3);
        assert_eq!(
            pending[0].proposal.cites,
            [5, 6],
            "9999 was not summarised: it is no evidence"
        );
        assert!(
            events
                .borrow()
                .contains(&Event::ProposalsChanged { pending: 3 })
        );
        let words = s.window().messages()[0].parts()[0].words().to_owned();
        assert!(words.contains("Read part 3") && !words.contains("Restart after each change"));
        let layer = &s.layers()[0];
        assert!(layer.summary.contains("[FOO]") && !layer.summary.contains("[CHECKPOINT]"));
        assert!(layer.next_steps.contains(&"Read part 30".to_owned()));
        assert!(
            layer
                .key_decisions
                .contains(&"Restart after each change".to_owned())
        );

        let id = s.id().to_owned();
        drop((s, engine));
        let engine = reopen(&store).await;
        let s = engine.open(&id, true).await.unwrap();
        assert_eq!(s.proposals(), pending);
        assert!(s.accept_proposal(pending[0].id).await.unwrap());
        assert!(s.accept_proposal(pending[1].id).await.unwrap());
        s.decline_proposal(pending[2].id).await.unwrap();
        let goal = s.records().goal.unwrap();
        assert_eq!(goal.milestones[0].state, MilestoneState::Completed);
        assert_eq!(goal.decisions[0].text, "Restart after each change");
        assert!(!goal.decisions[0].locked, "only the user locks");
        assert!(goal.next_steps.is_empty());
        assert_eq!(
            s.accept_proposal(pending[0].id).await.unwrap_err().code(),
            "not_found"
        );

        // the same again: said already, or declined
        talk(&s, 12).await;
        compact(&s, &model).await;
        assert_eq!(s.proposals(), []);
    });
}

/// G3: a job's nonce is its own among the sessions of a device and the revisions of a session, so that no nonce that
/// was ever seen opens another job's fence.
#[test]
fn nonces_are_not_repeated() {
    block_on(async {
        let model = ScriptedModel::new([Answer::text("Yes.")], |_| Answer::text(SUMMARY));
        let (_, engine, a) = session(4096).await;
        let b = engine
            .create(NewSession {
                window: 4096,
                ..NewSession::default()
            })
            .await
            .unwrap();
        for s in [&a, &b] {
            for _ in 0..3 {
                talk(s, 20).await;
                compact(s, &model).await;
            }
        }
        let mut nonces: Vec<String> = model.asked().iter().map(nonce).collect();
        let all = nonces.len();
        assert!(all >= 6);
        nonces.sort();
        nonces.dedup();
        assert_eq!(nonces.len(), all);
    });
}

/// G1, G2, G4, G8: the system message is built of prompt, mandates, goal, skills and checks in this order, rebuilt and
/// counted on each change; a prompt over its tier's budget is a warning with sizes; the mode of the session shapes
/// the summary prompt; a locked decision is the user's.
#[test]
fn the_system_message_is_built_of_parts() {
    block_on(async {
        let (_, _, s) = session(4096).await;
        let events = record(&s);
        let skill = |name: &str, active| Skill {
            name: name.into(),
            text: format!("How to {name}."),
            active,
        };
        s.set_prompt(PromptParts {
            base: Some("You help.".into()),
            mandates: Some("Never guess.".into()),
            skills: Some(vec![
                skill("sql-read", false),
                skill("sql-write", false),
                skill("mail", true),
            ]),
            checks: Some("Check units.".into()),
        })
        .await
        .unwrap();
        s.begin_goal("Ship").await.unwrap();
        s.edit_goal(GoalEdit::AddDecision {
            text: "Use SQLite".into(),
            rationale: "small".into(),
            kind: palimpsest_core::goal::DecisionKind::Architecture,
            locked: true,
        })
        .await
        .unwrap();
        s.pin(PinKind::Pin, "The customer is Ada.").await.unwrap();
        let words = |s: &Session| s.window().messages()[0].parts()[0].words().to_owned();
        let order = [
            "You help.",
            "Never guess.",
            "Ship",
            "[locked, architecture] Use SQLite",
            "The customer is Ada.",
            "How to mail.",
            "Check units.",
        ];
        let text = words(&s);
        let places: Vec<usize> = order.iter().map(|w| text.find(w).unwrap()).collect();
        assert!(places.is_sorted(), "{text}");
        let before = s.budget().used.tokens;
        assert_eq!(
            s.activate_skills(&["sql-*".into()]).await.unwrap(),
            ["sql-read", "sql-write"]
        );
        assert!(words(&s).contains("How to sql-read.") && s.budget().used.tokens > before);
        assert_eq!(
            s.deactivate_skills(&["{mail,sql-r*}".into(), "sql-?????".into()])
                .await
                .unwrap(),
            ["mail", "sql-read", "sql-write"]
        );
        assert!(!words(&s).contains("How to"));
        assert!(s.budget().used.tokens < before);
        assert_eq!(s.window().tokens(), s.budget().used.tokens);
        assert!(events.borrow().iter().any(|e| matches!(e,
            Event::SkillsChanged { deactivated, .. } if deactivated.len() == 3)));

        assert!(!events.borrow().iter().any(is_over_budget));
        s.set_system(&"Explain every step. ".repeat(90))
            .await
            .unwrap();
        assert!(events.borrow().iter().any(is_over_budget));

        s.set_mode(Mode::Debugger).await.unwrap();
        talk(&s, 20).await;
        let model = ScriptedModel::new([Answer::text("Yes.")], |_| Answer::text(SUMMARY));
        compact(&s, &model).await;
        assert!(system_of(&model.asked()[0]).contains("stack traces"));
        assert_eq!(
            s.edit_goal(GoalEdit::Remove { id: 1 })
                .await
                .unwrap_err()
                .code(),
            "decision_locked"
        );
    });
}

/// E2: what happens to a context is told in typed events, under their names.
#[test]
fn events_have_names_and_payloads() {
    block_on(async {
        let (_, _, s) = session(4096).await;
        s.set_model("m", 4096, "offload-compact", false)
            .await
            .unwrap();
        let events = record(&s);
        s.append(NewMessage::user("Run it.")).await.unwrap();
        let lines: Vec<String> = (0..220)
            .map(|n| format!("line {n} of the output"))
            .collect();
        let output = lines.join("\n");
        for n in 0..2 {
            let id = format!("t{n}");
            let call = Part::ToolCall {
                id: id.clone(),
                name: "run".into(),
                arguments: "{}".into(),
            };
            s.append(NewMessage::assistant(vec![call])).await.unwrap();
            let result = Part::ToolResult {
                call: id,
                name: Some("run".into()),
                text: format!("{n}\n{output}"),
                error: false,
            };
            s.append(NewMessage::tool(vec![result])).await.unwrap();
        }
        s.append(NewMessage::assistant(vec![Part::text("It ran.")]))
            .await
            .unwrap();
        talk(&s, 4).await;
        s.compact(
            CompactOptions {
                manual: true,
                ..CompactOptions::default()
            },
            Signal::never(),
        )
        .await
        .unwrap();
        s.undo_with(IfOver::Show).await.unwrap();
        let skipped = session(4096).await.2;
        let others = record(&skipped);
        let _ = skipped
            .compact(
                CompactOptions {
                    manual: true,
                    ..CompactOptions::default()
                },
                Signal::never(),
            )
            .await
            .unwrap_err();
        let _ = skipped.restore(9).await.unwrap_err();
        skipped.snapshot("named").await.unwrap();
        skipped.restore(1).await.unwrap();
        let names: std::collections::BTreeSet<String> = events
            .borrow()
            .iter()
            .chain(others.borrow().iter())
            .map(|e| {
                let json = serde_json::to_value(e).unwrap();
                json["event"].as_str().unwrap().to_owned()
            })
            .collect();
        for name in [
            "compressed",
            "compression-skipped",
            "offloaded",
            "restored",
            "snapshot-created",
            "snapshot-restored",
            "snapshot-error",
            "auto-snapshot-created",
            "budget-changed",
        ] {
            assert!(names.contains(name), "{name} is not among {names:?}");
        }
        // the others, by their payloads
        let json = |e: &Event| serde_json::to_value(e).unwrap();
        assert_eq!(
            json(&Event::CheckpointAged { from: 1, to: 2 }),
            serde_json::json!({"event": "checkpoint-aged", "from": 1, "to": 2})
        );
        assert_eq!(
            json(&Event::RolloverComplete {
                session: "x".into(),
                notes: 3
            }),
            serde_json::json!({"event": "rollover-complete", "session": "x", "notes": 3})
        );
        assert_eq!(
            json(&Event::PromptTruncated { sent: 2, read: 1 })["event"],
            "prompt-truncated"
        );
    });
}

/// S4, I4: after a return to older records they can be changed again, and the way back to the newer ones stays; also
/// for a session that is opened anew.
#[test]
fn records_can_be_changed_after_a_restore() {
    block_on(async {
        let (store, _, s) = session(4096).await;
        talk(&s, 4).await;
        let before = s.snapshot("before").await.unwrap();
        let kept = s.pin(PinKind::Pin, "Gate 4 is closed.").await.unwrap();
        let after = s.snapshot("after").await.unwrap();
        s.restore(before).await.unwrap();
        assert_eq!(s.records().pins, []);
        s.pin(PinKind::Pin, "Gate 5 is closed.").await.unwrap();
        s.restore(after).await.unwrap();
        s.unpin(kept).await.unwrap();
        assert_eq!(s.records().pins, []);
        let records = s.records();
        drop(s);
        let again = reopen(&store).await;
        let id = again.sessions().await.unwrap()[0].id.clone();
        assert_eq!(again.open(&id, true).await.unwrap().records(), records);
    });
}
