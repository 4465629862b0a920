//! The window, its size, and what is said of it.

use std::cell::RefCell;
use std::rc::Rc;

use futures_executor::block_on;
use palimpsest_core::message::Part;
use palimpsest_core::model::{Grade, SizeClass, WindowAsk};
use palimpsest_core::record::PinKind;
use palimpsest_core::request::Purpose;
use palimpsest_engine::ports::{Signal, Store};
use palimpsest_engine::session::{CompactOptions, NewMessage};
use palimpsest_engine::testing::model::{Answer, ScriptedModel};
use palimpsest_engine::{Event, MemoryStore, NewSession, Session};

use super::{engine, session};
use crate::scene::{options, silent, talk};

/// B6, B7: the limit check and the report say the same as the window; segments add up in window order.
#[test]
fn the_budget_adds_up() {
    block_on(async {
        let (_, s) = session(4096).await;
        talk(&s, 40).await;
        s.compact(CompactOptions::default(), Signal::never())
            .await
            .unwrap();
        s.pin(PinKind::Pin, "Ada is the customer.").await.unwrap();
        let budget = s.budget();
        let window = s.window();
        assert_eq!(budget.used.tokens, window.tokens());
        assert_eq!(
            budget.segments.iter().map(|x| x.count.tokens).sum::<u32>(),
            window.tokens()
        );
        assert_eq!(budget.limit + budget.reserve + budget.margin, 4096);
        assert!(
            budget.floor < budget.target
                && budget.target < budget.trigger
                && budget.trigger < budget.limit
        );
        let left = budget.trigger - budget.used.tokens;
        assert!(0 < budget.until_trigger && budget.until_trigger <= left - budget.used.bound);
        let check = s.context().check_limit();
        assert_eq!(
            (check.valid, check.tokens, check.overage),
            (true, window.tokens(), None)
        );
        s.set_model("m", 1024, "balanced", false).await.unwrap();
        let check = s.context().check_limit();
        assert_eq!(check.overage, Some(check.tokens - check.limit));
        assert!(check.message.unwrap().contains("larger window"));
    });
}

/// P9: what a compaction's card shows is stored with the revision: the stretches before and after, and how
/// long it took.
#[test]
fn a_stored_report_has_the_bars() {
    block_on(async {
        let store: Rc<dyn Store> = Rc::new(MemoryStore::new());
        let engine = engine(Rc::clone(&store)).await;
        let new = NewSession {
            window: 2048,
            system: "Be exact.".into(),
            ..NewSession::default()
        };
        let session = engine.create(new).await.unwrap();
        talk(&session, 14).await;
        let options = CompactOptions {
            manual: true,
            ..CompactOptions::default()
        };
        let done = session.compact(options, Signal::never()).await.unwrap();
        let rows = session.revisions().await.unwrap();
        let report = rows.last().unwrap().report.clone().unwrap();
        let sum = |all: &[palimpsest_core::budget::Segment]| -> u32 {
            all.iter().map(|s| s.count.tokens).sum()
        };
        assert_eq!(sum(&report.segments_before), done.report.before);
        assert_eq!(sum(&report.segments_after), done.report.after);
        let neighbours = report.segments_before.windows(2);
        assert!(neighbours.into_iter().all(|p| p[0].kind != p[1].kind));
        assert!(report.took.is_some());
    });
}

/// B1: one number, whatever size was asked for by name: it is shown, sent as `num_ctx` to the chat model and to the summariser, and
/// divided by; an unknown size is an error that names the known ones, an unknown model gets 4,096 and says so.
#[test]
fn the_window_that_is_shown_is_sent() {
    block_on(async {
        let e = engine(Rc::new(MemoryStore::new())).await;
        e.know_model("chat", "3.2B");
        let ask = |name: &str| WindowAsk::Named(name.into());
        let check = |name: &str, expected: u32| {
            let size = e
                .window_for("chat", Some(131_072), Some(&ask(name)))
                .unwrap();
            assert_eq!((size.tokens, size.assumed), (expected, false), "{name}");
            size.tokens
        };
        check("16K", 13_600);
        let window = check("8K", 6_800);
        let unknown = e
            .window_for("chat", Some(131_072), Some(&ask("9K")))
            .unwrap_err();
        assert_eq!(unknown.code(), "unknown_size");
        assert!(unknown.to_string().contains("8K"), "{unknown}");
        let number = e
            .window_for("chat", None, Some(&WindowAsk::Tokens(5_000)))
            .unwrap();
        assert_eq!((number.tokens, number.assumed), (5_000, false));
        let assumed = e.window_for("", None, None).unwrap();
        assert_eq!((assumed.tokens, assumed.assumed), (4_096, true));

        let s = e
            .create(NewSession {
                window,
                model: "chat".into(),
                ..NewSession::default()
            })
            .await
            .unwrap();
        talk(&s, 60).await;
        let model = ScriptedModel::new([Answer::text("Here.")], |_| {
            Answer::text(
                "The user asks what each config/part file sets; each sets a limit in seconds, and a restart is needed.",
            )
        });
        let compact = CompactOptions {
            model: Some(Rc::new(model.clone())),
            manual: true,
            ..CompactOptions::default()
        };
        s.compact(compact, Signal::never()).await.unwrap();
        s.send(
            NewMessage::user("And now?"),
            &options(&model),
            Signal::never(),
            &silent,
        )
        .await
        .unwrap();
        let asked = model.asked();
        assert!(asked.iter().any(|r| r.purpose == Purpose::Summary));
        assert!(asked.iter().any(|r| r.purpose != Purpose::Summary));
        assert!(asked.iter().all(|r| r.options.num_ctx == window));
        let budget = s.budget();
        assert_eq!((budget.window, s.head().window), (window, window));
        assert_eq!(budget.limit + budget.reserve + budget.margin, window);
        let info = e.sessions().await.unwrap().remove(0);
        let fill = f64::from(info.head.tokens) / f64::from(window);
        assert!((f64::from(info.fill()) - fill).abs() < 1e-6);
    });
}

/// S1, I7: what a window is made of is a type of its own, with its origin: a snapshot and a message of the history hold no
/// window part, and a window is refused for every context in which one of its parts is not active: another session's, one
/// in which the message is covered, one that stands on another branch, one that was restored.
#[test]
fn only_what_is_active_becomes_a_window_part() {
    block_on(async {
        let (e, s) = session(4096).await;
        talk(&s, 30).await;
        let n = s.snapshot("before").await.unwrap();
        let stored = serde_json::to_string(&s.snapshots()).unwrap();
        assert!(
            !stored.contains("config/part"),
            "a snapshot holds numbers, no words: {stored}"
        );
        let whole = s.window();
        whole.check_egress(&s.context()).unwrap();
        let refused = |window: &palimpsest_core::window::Window, s: &Session| {
            window.check_egress(&s.context()).unwrap_err().code()
        };
        s.compact(CompactOptions::default(), Signal::never())
            .await
            .unwrap();
        assert_eq!(refused(&whole, &s), "egress", "covered by now");
        let compacted = s.window();
        let other = e
            .create(NewSession {
                window: 4096,
                ..NewSession::default()
            })
            .await
            .unwrap();
        assert_eq!(refused(&compacted, &other), "egress", "another session's");
        s.append(NewMessage::user("On this branch only."))
            .await
            .unwrap();
        let branch = s.window();
        s.restore(n).await.unwrap();
        assert_eq!(refused(&branch, &s), "egress", "not on this path");
        assert_eq!(refused(&compacted, &s), "egress", "its layer is not shown");
        whole.check_egress(&s.context()).unwrap();
        // S2: the active context says what it holds
        assert_eq!(s.context().check_limit().tokens, s.window().tokens());
        assert_eq!(s.context().entries().len(), s.message_count());
    });
}

/// G6, G7: the badge is 100 % for a chat that was never compacted, whatever its model, and falls with compactions and with
/// what they lost; the size is the provider's word before the name's; after the class's number of compactions comes one
/// warning with the recommendations, not again after reopening, and none while everything is still there.
#[test]
fn trust_in_a_session_that_was_compacted() {
    block_on(async {
        let store = Rc::new(MemoryStore::new());
        let e = engine(store.clone()).await;
        let check = async |model: &str, stated: Option<&str>, expected: Option<u32>| {
            if let Some(size) = stated {
                e.know_model(model, size);
            }
            let s = e
                .create(NewSession {
                    window: 4096,
                    model: model.into(),
                    ..NewSession::default()
                })
                .await
                .unwrap();
            let new = s.reliability();
            assert_eq!(
                (new.percent, new.measured, new.level),
                (100, false, Grade::High),
                "{model}"
            );
            let warnings = Rc::new(RefCell::new(Vec::new()));
            let log = Rc::clone(&warnings);
            let mut last = 100;
            let mut first = None;
            for round in 1..=11 {
                let heard = Rc::clone(&log);
                let listener = s.on(move |event| {
                    if let Event::Warning {
                        code: "compacted_often",
                        message,
                    } = event
                    {
                        heard.borrow_mut().push((round, message.clone()));
                    }
                });
                for n in 0..14 {
                    let n = round * 100 + n;
                    s.append(NewMessage::user(format!(
                        "What does src/part_{n}.rs need {n} ms for?"
                    )))
                    .await
                    .unwrap();
                    let text = format!(
                        "It takes {n} ms because of module_{n}. We decided to keep limit_{n} until 2024-05-{:02}. The log is in /var/log/part_{n}.log.",
                        n % 28 + 1
                    );
                    s.append(NewMessage::assistant(vec![Part::text(text)]))
                        .await
                        .unwrap();
                }
                let manual = CompactOptions {
                    manual: true,
                    ..CompactOptions::default()
                };
                s.compact(manual, Signal::never()).await.unwrap();
                s.off(listener);
                let now = s.reliability();
                // what is kept is measured anew each time: it may come back by a little
                assert!(
                    now.measured && now.percent <= last + 2 && now.percent < 100,
                    "{model}, round {round}: {last} → {}",
                    now.percent
                );
                last = now.percent;
                let first = *first.get_or_insert(last);
                assert!(round < 6 || last < first, "{model}: {first} → {last}");
            }
            let said = warnings.borrow().clone();
            assert_eq!(
                said.iter().map(|w| w.0).collect::<Vec<_>>(),
                expected.into_iter().collect::<Vec<_>>(),
                "{model}: {said:?}"
            );
            if let Some((_, text)) = said.first() {
                assert!(
                    text.contains(model) && text.contains("Use a larger model"),
                    "{text}"
                );
            }
            s
        };
        let s = check("tiny:1b", None, Some(3)).await;
        assert_eq!(s.reliability().class, Some(SizeClass::Small));
        assert!(s.reliability().score.unwrap() <= 0.3);
        check("named:70b", Some("6.7B"), Some(5)).await;
        check("plain:13b", None, Some(7)).await;
        check("big:70b", None, Some(10)).await;
        check("whatever", None, Some(3)).await;
        let id = s.id().to_owned();
        drop((s, check));
        let e = engine(store).await;
        let s = e.open(&id, true).await.unwrap();
        assert!(s.head().warned, "it was said, and is not said again");
    });
}

/// C4, P7, I9: in a quiet moment one layer that had been cut is written again by the model, from its notes, strictly smaller, as
/// a revision of its own that undo passes over; a bad answer, and a session that is paused, change nothing,
/// and a model whose answer was no better is not asked again.
#[test]
fn a_quiet_moment() {
    block_on(async {
        let (e, s) = session(8192).await;
        let plain = CompactOptions {
            manual: true,
            ..CompactOptions::default()
        };
        let mut earlier = 0;
        for _ in 0..8 {
            talk(&s, 20).await;
            earlier = s.layers().len();
            s.compact(plain.clone(), Signal::never()).await.unwrap();
        }
        let before = (s.layers(), s.window());
        let good = ScriptedModel::new([], |_| {
            Answer::text(
                "The files of config each set a limit in seconds; a restart is needed after a change.",
            )
        });
        let bad = ScriptedModel::new([], |_| Answer::text("I'm sorry, I can't help with that."));
        let with = |model: &ScriptedModel| CompactOptions {
            model: Some(Rc::new(model.clone())),
            ..CompactOptions::default()
        };
        assert_eq!(
            s.rest(plain.clone(), Signal::never()).await.unwrap(),
            None,
            "nobody to ask"
        );
        assert_eq!(s.rest(with(&bad), Signal::never()).await.unwrap(), None);
        assert_eq!((s.layers(), s.window()), before);
        let asked = bad.asked().len();
        assert!(asked > 0);
        assert_eq!(s.rest(with(&bad), Signal::never()).await.unwrap(), None);
        assert_eq!(bad.asked().len(), asked, "not in every quiet moment");
        let snapshots = s.snapshots().len();
        let other = CompactOptions {
            model_name: Some("another".into()),
            ..with(&good)
        };
        let revision = s.rest(other, Signal::never()).await.unwrap().unwrap();
        assert_eq!(s.head().revision, revision);
        assert_eq!(good.asked().len(), 1, "one call");
        assert_eq!(s.snapshots().len(), snapshots);
        let after = s.layers();
        assert_eq!(after.len(), before.0.len());
        let new = after
            .iter()
            .find(|l| !before.0.iter().any(|o| o.id == l.id))
            .unwrap();
        let old = before.0.iter().find(|l| new.replaces == [l.id]).unwrap();
        assert!(new.tokens < old.tokens && new.summary.starts_with("The files of config"));
        let id = s.id().to_owned();
        let window = s.window();
        drop(s);
        let s = e.open(&id, true).await.unwrap();
        assert_eq!(s.window(), window);
        s.undo().await.unwrap();
        assert_eq!(s.layers().len(), earlier, "undo takes back the compaction");
        assert_eq!(
            s.rest(with(&good), Signal::never()).await.unwrap(),
            None,
            "paused"
        );
    });
}
