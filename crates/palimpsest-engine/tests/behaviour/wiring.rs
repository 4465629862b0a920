//! Goals, proposals, modes, skills, our own tools, right of way, snapshots, rollover, settings: a session from the
//! outside.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test stops at the first surprise and prints what it measured"
)]

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_executor::block_on;
use futures_util::future::join;
use palimpsest_core::goal::{GoalEdit, MilestoneState};
use palimpsest_core::message::{Part, Role};
use palimpsest_core::mode::Mode;
use palimpsest_core::prompt::Skill;
use palimpsest_core::record::PinKind;
use palimpsest_core::request::{ChatRequest, Delta, FinishReason, ModelError, Purpose, Usage};
use palimpsest_core::run::Stage;
use palimpsest_engine::ports::{Clock, LocalFuture, Signal, Store, World};
use palimpsest_engine::session::{
    CompactOptions, Compacted, IfOver, NewMessage, PromptParts, SendEvent, SendOptions, Summariser,
    ToolHandler,
};
use palimpsest_engine::testing::fault::{Fault, FaultStore};
use palimpsest_engine::testing::model::{Answer, ScriptedModel};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{
    Accept, Config, Engine, EngineError, Event, MemoryStore, NewSession, Session,
};
use palimpsest_tokens::{Estimator, TokenCounter};

use super::scene::{options, silent, talk};

async fn session(window: u32) -> (Rc<MemoryStore>, Engine, Session) {
    let store = Rc::new(MemoryStore::new());
    let engine = reopen(&store).await;
    let new = NewSession {
        window,
        model: "m".into(),
        system: "Be exact.".into(),
        ..NewSession::default()
    };
    let session = engine.create(new).await.unwrap();
    (store, engine, session)
}

async fn reopen(store: &Rc<MemoryStore>) -> Engine {
    Engine::start(store.clone(), world(), Rc::new(Estimator::default()))
        .await
        .unwrap()
}

fn manual(model: &ScriptedModel) -> CompactOptions {
    CompactOptions {
        model: Some(Rc::new(model.clone())),
        manual: true,
        ..CompactOptions::default()
    }
}

async fn compact(session: &Session, model: &ScriptedModel) -> Compacted {
    session
        .compact(manual(model), Signal::never())
        .await
        .unwrap()
}

fn record(session: &Session) -> Rc<RefCell<Vec<Event>>> {
    let events = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&events);
    session.on(move |e| log.borrow_mut().push(e.clone()));
    events
}

fn system_of(request: &ChatRequest) -> &str {
    request.messages[0].parts[0].words()
}

/// The nonce of a summary request, as an honest model copies it.
fn nonce(request: &ChatRequest) -> String {
    let prompt = request.messages[1].parts[0].words();
    let at = prompt.find("<<pal:").unwrap() + "<<pal:".len();
    prompt[at..at + 16].to_owned()
}

const SUMMARY: &str = "- The user asks what each config/part file sets; each sets a limit in seconds.\n- A restart is needed after each change.";

/// A summariser that writes notes and these marker lines between this job's fences.
fn marking(lines: &'static str) -> ScriptedModel {
    ScriptedModel::new([Answer::text("Yes.")], move |request| {
        let nonce = nonce(request);
        Answer::text(&format!(
            "{SUMMARY}\n<<pal:{nonce}:goal>>\n{lines}\n<<pal:{nonce}:end>>"
        ))
    })
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

fn is_over_budget(event: &Event) -> bool {
    matches!(event, Event::Warning { code: "prompt_over_budget", message } if message.contains("200"))
}

/// Asks for these tools, one reply each, then says a word.
fn calling(calls: &[(&str, &str)]) -> ScriptedModel {
    let mut answers: Vec<Answer> = calls
        .iter()
        .enumerate()
        .map(|(n, (name, arguments))| {
            Answer::Deltas(vec![
                Ok(Delta::ToolCall {
                    id: format!("call-{n}"),
                    name: (*name).into(),
                    arguments: (*arguments).into(),
                }),
                Ok(Delta::Done {
                    reason: FinishReason::ToolCalls,
                }),
            ])
        })
        .collect();
    answers.push(Answer::text("Done."));
    ScriptedModel::new(answers, |_| Answer::text(SUMMARY))
}

fn last_result(session: &Session) -> String {
    let items = session.history(None, 100_000);
    let tool = items
        .iter()
        .rev()
        .find(|i| i.message.role == Role::Tool)
        .unwrap();
    tool.message.words()
}

struct Host(RefCell<Vec<String>>);

impl ToolHandler for Host {
    fn call<'a>(&'a self, name: &'a str, _: &'a str) -> LocalFuture<'a, Result<String, String>> {
        self.0.borrow_mut().push(name.to_owned());
        Box::pin(std::future::ready(Ok("from the host".into())))
    }
}

/// G9: our own tools are offered and counted when switched on, answered inside the turn, under configurable names;
/// others go to the host; bad arguments are an answer for the model, never a failure of the turn; at most 8 rounds.
#[test]
fn own_tools_are_answered_inside_send() {
    block_on(async {
        let (_, _, s) = session(4096).await;
        talk(&s, 24).await;
        let plain = ScriptedModel::new([Answer::text("Yes.")], |_| Answer::text(SUMMARY));
        compact(&s, &plain).await;
        let mut config = Config::default();
        config.tools.enabled = true;
        config.tools.search_history = "look".into();
        s.configure(config).await.unwrap();
        s.set_prompt(PromptParts {
            skills: Some(vec![Skill {
                name: "sql".into(),
                text: "Write SQL.".into(),
                active: false,
            }]),
            ..PromptParts::default()
        })
        .await
        .unwrap();
        let ask = async |name: &str, arguments: &str, expect: &str| {
            let model = calling(&[(name, arguments)]);
            let reply = s
                .send(
                    NewMessage::user("Go on."),
                    &options(&model),
                    Signal::never(),
                    &silent,
                )
                .await
                .unwrap();
            assert_eq!(reply.reason, FinishReason::Stop);
            let result = last_result(&s);
            assert!(result.contains(expect), "{name} {arguments}: {result}");
            let asked = model.asked();
            let chat = asked.iter().find(|r| r.purpose == Purpose::Chat).unwrap();
            assert_eq!(chat.tools.len(), 5);
        };
        ask("recall", r#"{"query":"config/part_3.toml"}"#, "part_3.toml").await;
        ask(
            "recall",
            r#"{"message":1}"#,
            "[1] Question 0: what does config/part_0.toml set?",
        )
        .await;
        ask(
            "recall",
            r#"{"message":99999}"#,
            "There is no message 99999",
        )
        .await;
        ask("recall", "{}", "Say what to look for").await;
        ask("recall", "no json", "not JSON").await;
        ask("look", r#"{"query":"part_23"}"#, "part_23").await;
        ask("look", r#"{"query":"zebra"}"#, "Nothing that was said").await;
        ask(
            "activate_skills",
            r#"{"patterns":["s*"]}"#,
            "Switched on: sql",
        )
        .await;
        ask(
            "deactivate_skills",
            r#"{"patterns":"sql"}"#,
            "Switched off: sql",
        )
        .await;
        ask("deactivate_skills", "", "Say which skills").await;
        let layers = s.layers().len();
        talk(&s, 20).await;
        ask("compress_to_checkpoint", r#"{"focus":"limits"}"#, "tokens").await;
        assert!(s.layers().len() > layers);
        assert!(s.budget().segments.iter().any(|seg| {
            seg.kind == palimpsest_core::budget::SegmentKind::Tools && seg.count.tokens > 100
        }));

        let host = Rc::new(Host(RefCell::default()));
        let model = calling(&[("search_history", "{}")]);
        let with_host = SendOptions {
            handler: Some(host.clone()),
            ..options(&model)
        };
        s.send(
            NewMessage::user("Go on."),
            &with_host,
            Signal::never(),
            &silent,
        )
        .await
        .unwrap();
        assert_eq!(
            *host.0.borrow(),
            ["search_history"],
            "not ours under that name"
        );

        let model = calling(&[("look", r#"{"query":"x"}"#); 12]);
        let reply = s
            .send(
                NewMessage::user("Go on."),
                &options(&model),
                Signal::never(),
                &silent,
            )
            .await
            .unwrap();
        let asked = model.asked();
        let chats = asked.iter().filter(|r| r.purpose == Purpose::Chat);
        assert_eq!(chats.count(), 9);
        assert_eq!(reply.reason, FinishReason::ToolCalls);
    });
}

/// P7: the user's message has right of way: a running summary is stopped, kept pending, and goes on where it stopped;
/// what was pinned meanwhile is not lost.
#[test]
fn the_user_has_right_of_way() {
    block_on(async {
        let (_, _, s) = session(8192).await;
        talk(&s, 80).await;
        // the first time it never answers
        let asked = Rc::new(Cell::new(0));
        let count = Rc::clone(&asked);
        let slow = ScriptedModel::new([Answer::text("Here I am.")], move |_| {
            count.set(count.get() + 1);
            if count.get() == 1 {
                Answer::Silence
            } else {
                Answer::text(SUMMARY)
            }
        });
        assert!(s.is_due(), "{:?}", s.budget());
        let background = async {
            let tend = CompactOptions {
                model: Some(Rc::new(slow.clone())),
                ..CompactOptions::default()
            };
            s.tend(tend, Signal::never()).await.unwrap()
        };
        let user = async {
            s.pin(PinKind::Pin, "Keep this pin.").await.unwrap();
            s.send(
                NewMessage::user("From now on never use tabs. Who are you?"),
                &options(&slow),
                Signal::never(),
                &silent,
            )
            .await
            .unwrap()
        };
        let (compacted, reply) = join(Box::pin(background), Box::pin(user)).await;
        assert_eq!(compacted, None, "it gave way");
        assert_eq!(reply.reason, FinishReason::Stop);
        assert!(s.layers().is_empty());
        assert_eq!(asked.get(), 1);
        let tend = CompactOptions {
            model: Some(Rc::new(slow.clone())),
            ..CompactOptions::default()
        };
        let done = s.tend(tend, Signal::never()).await.unwrap().unwrap();
        assert!(done.report.after < done.report.before);
        assert_eq!(asked.get(), 2, "it went on where it stopped");
        assert_eq!(done.report.layer, Some(s.layers()[0].id));
        assert!(s.records().pins.iter().any(|p| p.text == "Keep this pin."));
        let items = s.history(None, 2);
        assert!(items[1].message.words().contains("Here I am"));
    });
}

/// P7: where the window does not fit the wait is shown; "skip" ends it with the deterministic summary.
#[test]
fn a_wait_can_be_skipped() {
    block_on(async {
        let (_, _, s) = session(4096).await;
        talk(&s, 90).await;
        assert!(s.budget().over > 0);
        let model = ScriptedModel::new([Answer::text("Here.")], |_| Answer::Silence);
        let waited = Cell::new(false);
        let skipping = s.clone();
        let on = |event| {
            if event == SendEvent::Waiting {
                waited.set(true);
            }
        };
        let asking = options(&model);
        let send = s.send(NewMessage::user("And?"), &asking, Signal::never(), &on);
        let skip = async {
            skipping.skip_wait();
        };
        let (reply, ()) = join(send, skip).await;
        assert_eq!(reply.unwrap().reason, FinishReason::Stop);
        assert!(waited.get());
        assert_eq!(s.layers().len(), 1);
        assert_eq!(
            s.layers()[0].author,
            palimpsest_core::layer::Author::Extractive
        );
        assert_eq!(s.budget().over, 0);
    });
}

/// P7: the summary that a message waits for is by whom the message says: the model that answers, another one, or none.
#[test]
fn the_summariser_of_a_wait_is_chosen() {
    block_on(async {
        let other = ScriptedModel::new([], |_| Answer::text(SUMMARY));
        for (summariser, asked, asked_other, name) in [
            (Summariser::Same, 1, 0, None),
            (Summariser::BuiltIn, 0, 0, None),
            (
                Summariser::Named(Rc::new(other.clone()), "writer:8b".into()),
                0,
                1,
                Some("writer:8b"),
            ),
        ] {
            let (_, _, s) = session(4096).await;
            talk(&s, 90).await;
            let model = ScriptedModel::new([Answer::text("Here.")], |_| Answer::text(SUMMARY));
            let how = SendOptions {
                summariser,
                ..options(&model)
            };
            s.send(NewMessage::user("And?"), &how, Signal::never(), &silent)
                .await
                .unwrap();
            let summaries = |model: &ScriptedModel| {
                let asked = model.asked();
                asked
                    .iter()
                    .filter(|r| r.purpose == Purpose::Summary)
                    .count()
                    .min(1)
            };
            assert_eq!((summaries(&model), summaries(&other)), (asked, asked_other));
            let named = other.asked().first().map(|r| r.model.clone());
            assert_eq!(named.as_deref(), name);
            assert_eq!(s.layers().len(), 1);
        }
    });
}

/// B9, F 81: a summary whose prompt the server cut without a word is not used.
#[test]
fn a_summary_of_a_cut_prompt_is_rejected() {
    block_on(async {
        let (_, _, s) = session(4096).await;
        talk(&s, 24).await;
        let events = record(&s);
        let model = ScriptedModel::new([Answer::text("Yes.")], |_| {
            Answer::Deltas(vec![
                Ok(Delta::text(SUMMARY)),
                Ok(Delta::Usage(Usage {
                    prompt_tokens: Some(200),
                    ..Usage::default()
                })),
                Ok(Delta::Done {
                    reason: FinishReason::Stop,
                }),
            ])
        });
        compact(&s, &model).await;
        assert_eq!(
            s.layers()[0].author,
            palimpsest_core::layer::Author::Fallback {
                reason: "prompt_truncated".into()
            }
        );
        assert!(
            events
                .borrow()
                .iter()
                .any(|e| matches!(e, Event::PromptTruncated { read: 200, .. }))
        );
    });
}

/// S4: snapshots are made at the threshold and before every compaction, the last five automatic ones are kept, named
/// and pinned ones are exempt; each says what it holds; restoring notes the present first and branches; the state
/// restored reopens byte for byte, shortened messages included.
#[test]
fn snapshots_come_on_their_own() {
    block_on(async {
        let (store, engine, s) = session(4096).await;
        s.set_mode(Mode::Planning).await.unwrap();
        s.begin_goal("Read it all").await.unwrap();
        let events = record(&s);
        let named = s.snapshot("before refactor").await.unwrap();
        talk(&s, 40).await;
        let crossing: Vec<u32> = events
            .borrow()
            .iter()
            .filter_map(|e| match e {
                Event::AutoSnapshotCreated { snapshot, .. } => Some(*snapshot),
                _ => None,
            })
            .collect();
        assert_eq!(crossing, [2], "once, at 80 % of the available room");
        let at = s.snapshots()[1].clone();
        assert_eq!(
            (at.mode, at.goal.as_deref()),
            (Mode::Planning, Some("Read it all"))
        );
        let budget = s.budget();
        assert!(f64::from(at.tokens - budget.fixed) >= 0.8 * f64::from(budget.available));
        s.pin_snapshot(2, true).await.unwrap();

        // a large result that is shown as an excerpt, so that there is a shorter form to restore
        let big = "line of output with numbers 123\n".repeat(700);
        s.append(NewMessage::assistant(vec![Part::ToolCall {
            id: "t".into(),
            name: "run".into(),
            arguments: "{}".into(),
        }]))
        .await
        .unwrap();
        s.append(NewMessage::tool(vec![Part::ToolResult {
            call: "t".into(),
            name: None,
            text: big,
            error: false,
        }]))
        .await
        .unwrap();
        let window = s.window();
        let here = s.snapshot("excerpt").await.unwrap();
        let model = ScriptedModel::new([Answer::text("Yes.")], |_| Answer::text(SUMMARY));
        for _ in 0..7 {
            talk(&s, 12).await;
            compact(&s, &model).await;
        }
        let all = s.snapshots();
        let automatic = all
            .iter()
            .filter(|x| x.name.is_empty() && !x.pinned)
            .count();
        assert_eq!(automatic, 5);
        for n in [named, 2, here] {
            assert!(all.iter().any(|x| x.n == n), "{n} is exempt");
        }
        let messages = s.message_count();
        s.restore(here).await.unwrap();
        assert_eq!(s.window(), window);
        assert!(s.message_count() < messages);
        let id = s.id().to_owned();
        s.append(NewMessage::user("Another way.")).await.unwrap();
        let branch = s.window();
        drop((s, engine));
        let engine = reopen(&store).await;
        let s = engine.open(&id, true).await.unwrap();
        assert_eq!(s.window(), branch);
        // the present was noted before the restore: everything is still there
        let present = s
            .snapshots()
            .iter()
            .rev()
            .find(|x| x.name.is_empty())
            .unwrap()
            .n;
        s.restore(present).await.unwrap();
        assert_eq!(s.message_count(), messages);
        assert_eq!(s.restore(999).await.unwrap_err().code(), "not_found");
    });
}

/// I2: going to another branch and back shows the same bytes as opening the session there.
#[test]
fn branches_keep_their_layers() {
    block_on(async {
        let (store, engine, s) = session(4096).await;
        talk(&s, 34).await;
        s.compact(CompactOptions::default(), Signal::never())
            .await
            .unwrap();
        let tip = s.head().tip.unwrap();
        let before = s.window();
        s.rewind_before(4).await.unwrap();
        s.append(NewMessage::user("Something else.")).await.unwrap();
        assert!(
            s.layers().is_empty(),
            "the layer covers what is not on this branch"
        );
        s.switch_to(tip).await.unwrap();
        assert_eq!(s.window(), before);
        let id = s.id().to_owned();
        drop((s, engine));
        let s = reopen(&store).await.open(&id, true).await.unwrap();
        assert_eq!(s.window(), before);
    });
}

/// Talks until the window is past its trigger: below it no refusal of a server leads to another session. What is recalled
/// for a message goes with the next one, so it goes well past it.
async fn fill_up(s: &Session) {
    let lasting = || s.budget().used.tokens - s.context().recalled_tokens();
    while lasting() < s.budget().trigger + 100 {
        talk(s, 1).await;
    }
}

/// E1, C4: when even the emergency is not enough for the server, the conversation goes on in a new session that starts
/// from layers, notes and records and holds the open message; the old one is unchanged but for a snapshot.
#[test]
fn rollover_after_a_second_overflow() {
    block_on(async {
        let (_, engine, s) = session(4096).await;
        s.pin(PinKind::Pin, "The customer is Ada.").await.unwrap();
        talk(&s, 34).await;
        s.compact(CompactOptions::default(), Signal::never())
            .await
            .unwrap();
        fill_up(&s).await;
        let notes = s.context().view().notes.clone();
        let messages = s.message_count();
        let events = record(&s);
        let over = || {
            Answer::error(ModelError::Overflow {
                prompt: Some(9000),
                window: Some(4096),
            })
        };
        let model = ScriptedModel::new([over(), over(), Answer::text("Here.")], |_| {
            Answer::text(SUMMARY)
        });
        let error = s
            .send(
                NewMessage::user("And now?"),
                &options(&model),
                Signal::never(),
                &silent,
            )
            .await
            .unwrap_err();
        let EngineError::RolledOver { session } = error else {
            panic!("{error}")
        };
        assert!(
            events.borrow().iter().any(|e| matches!(e,
            Event::RolloverComplete { session: to, notes: n } if *to == session && *n == notes.len() as u32))
        );
        assert_eq!(s.message_count(), messages + 1);
        let next = engine.open(&session, false).await.unwrap();
        assert_eq!(next.head().continues.as_deref(), Some(s.id()));
        assert_eq!(next.message_count(), 1);
        let window = next.window();
        let text: String = window
            .messages()
            .iter()
            .flat_map(palimpsest_core::window::WindowMessage::parts)
            .map(Part::words)
            .collect();
        assert!(text.contains("The customer is Ada.") && text.contains("[Earlier conversation]"));
        assert!(text.ends_with("And now?"));
        assert!(window.tokens() < s.window().tokens());
        let reply = next
            .reply(&options(&model), Signal::never(), &silent)
            .await
            .unwrap();
        assert_eq!(reply.reason, FinishReason::Stop);
        // it lives on like any other
        talk(&next, 40).await;
        next.compact(CompactOptions::default(), Signal::never())
            .await
            .unwrap();
        assert!(next.budget().used.tokens <= next.budget().limit);
    });
}

/// E1: a small model whose conversation was compacted often rolls over at the first overflow.
#[test]
fn small_models_roll_over_sooner() {
    // the second model's name tells nothing, but its server does (G5)
    for (name, told) in [("llama3.2:3b", None), ("mine", Some("2.6B"))] {
        roll_over_sooner(name, told);
    }
}

fn roll_over_sooner(name: &str, told: Option<&str>) {
    block_on(async {
        let (_, engine, s) = session(4096).await;
        if let Some(size) = told {
            engine.know_model(name, size);
        }
        s.set_model(name, 4096, "balanced", false).await.unwrap();
        let mut config = Config::default();
        config.rollover.small_model_compactions = 2;
        s.configure(config).await.unwrap();
        let model = |n: usize| {
            let mut answers = vec![
                Answer::error(ModelError::Overflow {
                    prompt: None,
                    window: None,
                });
                n
            ];
            answers.push(Answer::text("Here."));
            ScriptedModel::new(answers, |_| Answer::text(SUMMARY))
        };
        for expected in [None, None, Some("rolled_over")] {
            fill_up(&s).await;
            let m = model(1);
            let sent = s
                .send(
                    NewMessage::user("And?"),
                    &options(&m),
                    Signal::never(),
                    &silent,
                )
                .await;
            assert_eq!(sent.err().map(|e| e.code()), expected, "{name}");
            if expected.is_none() {
                compact(&s, &m).await;
            }
        }
    });
}

/// P1: the result says how long each of the six stages took, in their order; together they are what the whole took.
#[test]
fn each_stage_has_its_time() {
    /// A millisecond later every time it is asked.
    struct Ticking(Cell<f64>);
    impl Clock for Ticking {
        fn now(&self) -> f64 {
            self.0.set(self.0.get() + 1.0);
            self.0.get()
        }
    }
    block_on(async {
        let world = World {
            clock: Rc::new(Ticking(Cell::new(1_700_000_000_000.0))),
            ..world()
        };
        let store = Rc::new(MemoryStore::new());
        let engine = Engine::start(store, world, Rc::new(Estimator::default()))
            .await
            .unwrap();
        let new = NewSession {
            window: 4096,
            model: "m".into(),
            ..NewSession::default()
        };
        let s = engine.create(new).await.unwrap();
        talk(&s, 60).await;
        let model = ScriptedModel::new([], |_| Answer::text(SUMMARY));
        let report = compact(&s, &model).await.report;
        let stages: Vec<Stage> = report.stages.iter().map(|time| time.stage).collect();
        assert_eq!(
            stages,
            [
                Stage::Identify,
                Stage::Prepare,
                Stage::Summarize,
                Stage::Checkpoint,
                Stage::Update,
                Stage::Verify
            ]
        );
        let sum: f64 = report.stages.iter().map(|time| time.ms).sum();
        let took = report.took.unwrap();
        assert!(report.stages.iter().all(|time| time.ms >= 1.0));
        assert!(sum <= took, "{sum} of {took} ms");
    });
}

/// E3: settings take effect: with compression off nothing runs on its own and a message that does not fit is refused
/// with the larger window; snapshots and recall can be switched off; a policy nobody knows is refused.
#[test]
fn settings_take_effect() {
    block_on(async {
        let (store, engine, s) = session(4096).await;
        let config = Config::from_json(
            r#"{"compression":{"enabled":false,"summary_max_tokens":60},"snapshots":{"auto_create":false}}"#,
        )
        .unwrap();
        s.configure(config.clone()).await.unwrap();
        talk(&s, 90).await;
        assert!(!s.is_due());
        assert_eq!(s.snapshots(), []);
        let model = ScriptedModel::new([Answer::text("Here.")], |_| Answer::text(SUMMARY));
        let error = s
            .send(
                NewMessage::user("And?"),
                &options(&model),
                Signal::never(),
                &silent,
            )
            .await
            .unwrap_err();
        let EngineError::WouldNotFit { choices, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(
            choices,
            [palimpsest_engine::RoomChoice::LargerWindow { window: 8192 }]
        );
        assert!(model.asked().is_empty());
        let id = s.id().to_owned();
        drop((s, engine));
        let engine = reopen(&store).await;
        let s = engine.open(&id, true).await.unwrap();
        assert_eq!(s.config().compression, config.compression);
        compact(&s, &model).await;
        // the summary; facts it missed are listed after it where there is room
        let layer = &s.layers()[0];
        let summary = Estimator::default().count(&layer.summary);
        assert!(summary <= 60 && summary > 0, "{summary}: {}", layer.summary);
        assert_eq!(s.snapshots(), []);
        let unknown = Config {
            policy: Some("balancd".into()),
            ..Config::default()
        };
        assert_eq!(
            s.configure(unknown).await.unwrap_err().code(),
            "unknown_policy"
        );
    });
}

/// P1, I6: what arrives while a summary is written does not disturb it, recalled quotes and excerpts included; another
/// change of the window does.
#[test]
fn a_run_survives_what_arrives_meanwhile() {
    block_on(async {
        let (_, _, s) = session(8192).await;
        talk(&s, 60).await;
        s.compact(
            CompactOptions {
                manual: true,
                ..CompactOptions::default()
            },
            Signal::never(),
        )
        .await
        .unwrap();
        talk(&s, 30).await;
        let job = s.next_job(true).job().unwrap();
        s.append(NewMessage::user("What does config/part_42.toml set?"))
            .await
            .unwrap();
        assert!(
            s.context().view().recalled.is_some(),
            "a quote came with it"
        );
        let mut done = s.complete_job(job.id, Some(SUMMARY.into())).await.unwrap();
        while done.is_none() {
            let job = s.next_job(true).job().unwrap();
            done = s.complete_job(job.id, Some(SUMMARY.into())).await.unwrap();
        }
        assert_eq!(s.layers().len(), 2);
        assert!(
            s.context().view().recalled.is_some(),
            "the quote is still there"
        );

        talk(&s, 30).await;
        let job = s.next_job(true).job().unwrap();
        let lifted = s.layers()[1].id;
        s.lift_with(lifted, IfOver::Show).await.unwrap();
        let mut step = s.complete_job(job.id, Some(SUMMARY.into())).await;
        while matches!(step, Ok(None)) {
            let job = s.next_job(true).job().unwrap();
            step = s.complete_job(job.id, Some(SUMMARY.into())).await;
        }
        assert_eq!(step.unwrap_err().code(), "busy");
        assert_eq!(s.layers().len(), 1);
    });
}

/// Every pause is over at once, time-outs included.
struct Hurry;

impl palimpsest_engine::ports::Timer for Hurry {
    fn sleep(&self, _: u32) -> LocalFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// P7: a summariser that does not answer in time, or is busy, is asked three times, then the deterministic summary is
/// taken; what cannot pass is not asked again; the measured speed is shown with the preview and decides, where the host
/// sets a limit, whether a model is asked at all; summaries get 120 % of their target, the session's window, no thinking.
#[test]
fn summaries_in_time() {
    block_on(async {
        let patient = |answer: fn(usize) -> Answer| {
            let count = Cell::new(0);
            ScriptedModel::new([Answer::text("Yes.")], move |_| {
                count.set(count.get() + 1);
                answer(count.get())
            })
        };
        let author = async |model: &ScriptedModel| {
            let engine = Engine::start(
                Rc::new(MemoryStore::new()),
                World {
                    timer: Rc::new(Hurry),
                    ..world()
                },
                Rc::new(Estimator::default()),
            )
            .await
            .unwrap();
            let s = engine
                .create(NewSession {
                    window: 4096,
                    ..NewSession::default()
                })
                .await
                .unwrap();
            talk(&s, 24).await;
            compact(&s, model).await;
            let author = s.layers()[0].author.clone();
            (author, model.asked().len())
        };
        let fallback = |reason: &str| palimpsest_core::layer::Author::Fallback {
            reason: reason.into(),
        };
        let written = palimpsest_core::layer::Author::Model {
            name: String::new(),
        };
        let silent = patient(|_| Answer::Silence);
        assert_eq!(author(&silent).await, (fallback("timed_out"), 3));
        let model = patient(|n| {
            if n < 3 {
                Answer::error(ModelError::Busy {
                    retry_after_ms: Some(5),
                })
            } else {
                Answer::text(SUMMARY)
            }
        });
        assert_eq!(author(&model).await, (written, 3));
        let model = patient(|_| Answer::error(ModelError::Forbidden));
        assert_eq!(author(&model).await, (fallback("forbidden"), 1));

        let (_, _, s) = session(4096).await;
        talk(&s, 24).await;
        let timed = ScriptedModel::new([Answer::text("Yes.")], |_| {
            Answer::Deltas(vec![
                Ok(Delta::text(SUMMARY)),
                Ok(Delta::Usage(Usage {
                    prompt_tokens: Some(1_500),
                    completion_tokens: Some(100),
                    prompt_ms: Some(15_000),
                    completion_ms: Some(10_000),
                })),
                Ok(Delta::Done {
                    reason: FinishReason::Stop,
                }),
            ])
        });
        let preview = s.preview(None).unwrap();
        assert_eq!(s.summary_seconds(&preview), None, "not measured yet");
        compact(&s, &timed).await;
        let request = &timed.asked()[0];
        assert_eq!(
            (request.options.num_ctx, request.options.think),
            (4096, Some(false))
        );
        assert!(request.options.keep_alive.is_some());
        assert_eq!(s.speed().reads, Some(100.0));
        talk(&s, 12).await;
        let preview = s.preview(None).unwrap();
        let seconds = s.summary_seconds(&preview).unwrap();
        assert_eq!(
            seconds,
            (f64::from(preview.covered_tokens) / 100.0 + f64::from(preview.layer_tokens) / 10.0)
                .ceil() as u32
        );
        let asked = timed.asked().len();
        let hasty = CompactOptions {
            most_seconds: Some(seconds - 1),
            ..manual(&timed)
        };
        s.compact(hasty, Signal::never()).await.unwrap();
        assert_eq!(timed.asked().len(), asked, "not worth its seconds");
        talk(&s, 12).await;
        let slow = CompactOptions {
            most_seconds: Some(seconds + 60),
            ..manual(&timed)
        };
        s.compact(slow, Signal::never()).await.unwrap();
        assert!(timed.asked().len() > asked);
    });
}

/// C4: of the layers that fade at a compaction one is rewritten by the model, from its notes and in one call; a bad answer
/// costs no second call and the cut is deterministic; no layer's own text is ever summarised again.
#[test]
fn one_model_call_goes_to_fading() {
    block_on(async {
        // a summary with less in it than the built-in one is not taken
        let long = |request: &ChatRequest| {
            let prompt = request.messages[1].parts[0].words().to_owned();
            let mut files: Vec<String> = Vec::new();
            for at in prompt.match_indices("config/part_").map(|(at, _)| at) {
                let end = prompt[at..].find(".toml").map_or(at, |end| at + end + 5);
                let file = prompt[at..end].to_owned();
                if files.len() < 12 && !files.contains(&file) {
                    files.push(file);
                }
            }
            format!(
                "- The user asks what each config/part file sets; each sets a limit in seconds, chosen because the old default was too slow.\n- A restart is needed after each change.\n- Files: {}.",
                files.join(", ")
            )
        };
        let short = "- The user asks what each config file of a part sets: each sets a limit in seconds.\n- A restart is needed after each change, in short.";
        let fades = Rc::new(RefCell::new(Vec::new()));
        let seen = Rc::clone(&fades);
        let model = ScriptedModel::new([Answer::text("Yes.")], move |request| {
            if system_of(request).contains("Main points only") {
                let prompt = request.messages[1].parts[0].words().to_owned();
                let n = seen.borrow().len();
                seen.borrow_mut().push(prompt);
                if n == 1 {
                    return Answer::text("I'm sorry, but I can't help with that.");
                }
                return Answer::text(short);
            }
            Answer::text(&long(request))
        });
        let (_, _, s) = session(2850).await;
        for _ in 0..4 {
            talk(&s, 18).await;
            let before = model.asked().len();
            compact(&s, &model).await;
            assert!(
                model.asked().len() - before <= 2,
                "one summary, one fade at most"
            );
        }
        let fades = fades.borrow();
        let sizes: Vec<(u8, u32, String)> = s
            .layers()
            .iter()
            .map(|l| (u8::from(l.level), l.tokens, l.summary.clone()))
            .collect();
        assert_eq!(fades.len(), 3, "{sizes:?}");
        assert!(
            fades
                .iter()
                .all(|p| p.contains("chosen because the old default was too slow"))
        );
        assert!(fades.iter().all(|p| !p.contains("in short")));
        let layers = s.layers();
        let rewritten = layers.iter().filter(|l| l.summary.starts_with(short));
        assert_eq!(rewritten.count(), 1, "{layers:?}");
        for layer in &layers {
            assert!(!layer.summary.is_empty() && !layer.summary.contains("sorry"));
            let lines: Vec<&str> = layer.summary.lines().collect();
            for (n, line) in lines.iter().enumerate() {
                assert!(!lines[..n].contains(line), "twice: {}", layer.summary);
            }
        }
        assert!(u8::from(layers[0].level) < 3);
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

/// What a person would find, session by session: title, words, window, records, snapshots.
async fn found(engine: &Engine) -> Vec<String> {
    let mut all = Vec::new();
    for info in engine.sessions().await.unwrap() {
        let s = engine.open(&info.id, true).await.unwrap();
        s.window().check_egress(&s.context()).unwrap();
        assert_eq!(s.window().tokens(), s.context().tokens());
        let snapshots: Vec<_> = s.snapshots().iter().map(|x| (x.n, x.purpose)).collect();
        let said = s.history(None, usize::MAX);
        let words: Vec<String> = said.iter().map(|i| i.message.words()).collect();
        let head = s.head();
        all.push(format!(
            "{} {:?} {:?} {:?} {:?} {snapshots:?} {:?}",
            head.title,
            head.continues,
            words,
            s.window().messages(),
            s.records(),
            s.layers()
        ));
    }
    all.sort();
    all
}

/// Lets the process die at every step of `act`, one after the other: what is found afterwards is what was there
/// before, or what is there when nothing dies; both turn up. Gives the steps visited.
async fn at_every_step(
    before: &MemoryStore,
    act: impl AsyncFn(&Engine) -> Result<(), EngineError>,
) -> u32 {
    let copy = || MemoryStore::from_rows(before.rows());
    let start = async |store: Rc<dyn Store>| {
        Engine::start(store, world(), Rc::new(Estimator::default())).await
    };
    let plain = copy();
    let engine = start(Rc::new(plain.clone())).await.unwrap();
    act(&engine).await.unwrap();
    drop(engine);
    let old = found(&start(Rc::new(copy())).await.unwrap()).await;
    let new = found(&start(Rc::new(plain)).await.unwrap()).await;
    assert_ne!(old, new, "the act changes something");
    let mut seen = [false; 2];
    for at in 1.. {
        let memory = copy();
        let faulty = Rc::new(FaultStore::new(memory.clone()).failing_at(at, Fault::Crashes));
        if let Ok(engine) = start(faulty.clone()).await {
            // whatever it says: what counts is what the store holds
            drop(act(&engine).await);
        }
        let now = found(&start(Rc::new(memory)).await.unwrap()).await;
        assert!(now == old || now == new, "step {at}: {now:#?}");
        seen[usize::from(now == new)] = true;
        if !faulty.has_fired() {
            assert_eq!(seen, [true, true], "both states turn up");
            return at - 1;
        }
    }
    0
}

/// I6, E1, S7, G3: a crash at every step of a rollover, of an import (with consent and without, and of a file that has
/// more than last time), of accepting and declining a proposal, of an emergency, an undo and a restore leaves the old
/// state or the new one: no half session, no layer without its messages.
#[test]
fn a_crash_at_every_step_of_everything_else() {
    block_on(async {
        let (store, engine, s) = session(4096).await;
        let id = s.id().to_owned();
        s.begin_goal("Understand the configuration").await.unwrap();
        s.pin(PinKind::Pin, "The customer is Ada.").await.unwrap();
        talk(&s, 26).await;
        let model = marking("[DECISION] Restart after each change (#1)\n[NEXT] Read part 30 (#2)");
        compact(&s, &model).await;
        talk(&s, 6).await;
        s.append(NewMessage::user("And now?")).await.unwrap();
        let file = s.transfer().await.unwrap();
        let proposals = s.proposals();
        let early = s.snapshots().first().unwrap().n;
        let before = MemoryStore::from_rows(store.rows());
        drop((s, engine));
        let mut steps = Vec::new();
        let opened = async |engine: &Engine| engine.open(&id, true).await;
        steps.push(
            at_every_step(&before, async |engine| {
                opened(engine).await?.roll_over().await.map(drop)
            })
            .await,
        );
        steps.push(
            at_every_step(&before, async |engine| {
                opened(engine)
                    .await?
                    .accept_proposal(proposals[0].id)
                    .await
                    .map(drop)
            })
            .await,
        );
        steps.push(
            at_every_step(&before, async |engine| {
                opened(engine)
                    .await?
                    .decline_proposal(proposals[1].id)
                    .await
                    .map(drop)
            })
            .await,
        );
        steps.push(
            at_every_step(&before, async |engine| {
                opened(engine).await?.emergency().await
            })
            .await,
        );
        steps.push(at_every_step(&before, async |engine| opened(engine).await?.undo().await).await);
        steps.push(
            at_every_step(&before, async |engine| {
                opened(engine).await?.restore(early).await
            })
            .await,
        );
        for accept in [Accept::Everything, Accept::Words] {
            let empty = MemoryStore::new();
            drop(reopen(&Rc::new(empty.clone())).await);
            let import =
                async |engine: &Engine| engine.import(file.clone(), accept).await.map(drop);
            steps.push(at_every_step(&empty, import).await);
            // the same file, grown by what was said since
            let engine = reopen(&Rc::new(empty.clone())).await;
            let mut less = file.clone();
            less.messages.truncate(40);
            less.facts.tip = Some(39);
            less.view = None;
            engine.import(less, accept).await.unwrap();
            drop(engine);
            steps.push(at_every_step(&empty, import).await);
        }
        println!("steps visited: {steps:?}");
        assert!(steps.iter().all(|n| *n >= 4), "{steps:?}");
    });
}

/// S4, C1, I2: a layer that an emergency makes shorter is another layer: undo, and the snapshot before it, show the
/// same bytes again, also after reopening.
#[test]
fn an_emergency_leaves_the_stored_layers_alone() {
    block_on(async {
        let (store, engine, s) = session(4096).await;
        talk(&s, 30).await;
        let model = ScriptedModel::new([], |_| Answer::text(SUMMARY));
        compact(&s, &model).await;
        talk(&s, 2).await;
        let before = (s.window(), s.layers());
        let snapshot = s.snapshot("before").await.unwrap();
        for _ in 0..6 {
            s.emergency().await.unwrap();
        }
        let after = s.layers();
        assert!(after[0].tokens < before.1[0].tokens);
        assert_ne!(after[0].id, before.1[0].id);
        assert!(after[0].compressions > before.1[0].compressions);
        for _ in 0..6 {
            s.undo().await.unwrap();
        }
        assert_eq!((s.window(), s.layers()), before);
        let id = s.id().to_owned();
        drop((s, engine));
        let s = reopen(&store).await.open(&id, true).await.unwrap();
        assert_eq!((s.window(), s.layers()), before);
        s.emergency().await.unwrap();
        s.restore(snapshot).await.unwrap();
        assert_eq!((s.window(), s.layers()), before);
        let read = s.layer(after[0].id).await.unwrap();
        assert_eq!(read.tokens, after[0].tokens, "what was made is kept, too");
    });
}

/// R1: the index follows what is covered: after each compaction it holds exactly that; undo, lift and another branch take
/// out what is shown again; what it answers does not depend on how it was made, or when it was first asked.
#[test]
fn the_recall_index_follows_what_is_covered() {
    block_on(async {
        let (store, engine, s) = session(8192).await;
        let covered = |s: &Session| -> Vec<u32> {
            let items = s.history(None, usize::MAX);
            let covered = items.iter().filter(|i| i.covered_by.is_some());
            covered.map(|i| i.message.seq).collect()
        };
        let none = ScriptedModel::new([], |_| Answer::text(SUMMARY));
        let mut sizes = Vec::new();
        for _ in 0..3 {
            talk(&s, 30).await;
            compact(&s, &none).await;
            assert_eq!(s.recallable(), covered(&s));
            sizes.push(s.recallable().len());
        }
        assert!(sizes.windows(2).all(|w| w[0] < w[1]), "{sizes:?}");
        s.undo().await.unwrap();
        assert_eq!(s.recallable().len(), sizes[1]);
        compact(&s, &none).await;
        let last = s.layers().last().unwrap().id;
        s.lift(last).await.unwrap();
        assert_eq!(s.recallable(), covered(&s));
        compact(&s, &none).await;
        let id = s.id().to_owned();
        let before = MemoryStore::from_rows(store.rows());
        let question = "What limit does config/part_7.toml set for part 7?";
        s.append(NewMessage::user(question)).await.unwrap();
        let here = s.context().view().recalled.clone().unwrap();
        drop((s, engine));
        let s = reopen(&Rc::new(before))
            .await
            .open(&id, true)
            .await
            .unwrap();
        s.append(NewMessage::user(question)).await.unwrap();
        assert_eq!(s.context().view().recalled.clone().unwrap(), here);
        assert_eq!(s.recallable(), covered(&s));
        s.rewind_before(2).await.unwrap();
        assert_eq!(s.recallable(), covered(&s));
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
