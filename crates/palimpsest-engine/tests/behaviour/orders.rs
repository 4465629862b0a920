//! Demands of the user's: proposed when they are said, kept or declined, carried by the layers meanwhile.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::cell::RefCell;
use std::rc::Rc;

use futures_executor::block_on;
use palimpsest_core::marker::Change;
use palimpsest_core::message::Part;
use palimpsest_core::record::PinKind;
use palimpsest_engine::ports::Signal;
use palimpsest_engine::session::{CompactOptions, NewMessage, Session};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Engine, Event, MemoryStore, NewSession};
use palimpsest_tokens::Estimator;

use crate::scene::talk;

const RULE: &str = "Never use metric units.";

async fn session(policy: &str) -> (Engine, Session) {
    let store = Rc::new(MemoryStore::new());
    let engine = Engine::start(store, world(), Rc::new(Estimator::default()))
        .await
        .unwrap();
    let new = NewSession {
        window: 4096,
        model: "m".into(),
        policy: policy.into(),
        system: "Be exact.".into(),
        ..NewSession::default()
    };
    let session = engine.create(new).await.unwrap();
    (engine, session)
}

fn system(session: &Session) -> String {
    session.window().messages()[0].parts()[0].words().to_owned()
}

fn whole(session: &Session) -> String {
    let window = session.window();
    let parts = window
        .messages()
        .iter()
        .flat_map(palimpsest_core::window::WindowMessage::parts);
    parts.map(Part::words).collect::<Vec<_>>().join("\n")
}

async fn compact(session: &Session) {
    let options = CompactOptions {
        manual: true,
        ..CompactOptions::default()
    };
    session.compact(options, Signal::never()).await.unwrap();
}

/// P9, S7: a demand is proposed when it is said, and changes nothing until the person decides; meanwhile the layers carry it
/// beside the system message; accepted it is a pin, once.
#[test]
fn a_demand_is_proposed_when_it_is_said() {
    block_on(async {
        let (_, s) = session("balanced").await;
        let events = Rc::new(RefCell::new(Vec::new()));
        let heard = Rc::clone(&events);
        s.on(move |event| heard.borrow_mut().push(event.clone()));
        let said = format!("I measure planks. {RULE}");
        let seq = s.append(NewMessage::user(&said)).await.unwrap();
        let asked = s.proposals();
        assert_eq!(asked.len(), 1);
        assert_eq!(
            asked[0].proposal.change,
            Change::Demand { text: RULE.into() }
        );
        assert_eq!(asked[0].proposal.cites, [seq]);
        assert!(
            events
                .borrow()
                .contains(&Event::ProposalsChanged { pending: 1 })
        );
        assert_eq!(
            (system(&s).as_str(), s.records().pins.len()),
            ("Be exact.", 0)
        );
        s.append(NewMessage::user(
            "Be quick, and again: how long is a plank?",
        ))
        .await
        .unwrap();

        talk(&s, 40).await;
        compact(&s).await;
        assert_eq!(system(&s), "Be exact.");
        assert!(whole(&s).contains("<user_demands>"));
        assert!(whole(&s).contains(&format!("- {RULE}")));

        assert!(s.accept_proposal(asked[0].id).await.unwrap());
        assert!(system(&s).contains(&format!("- {RULE}")));
        assert!(!whole(&s).contains("<user_demands>"));
        let pins = s.records().pins;
        assert_eq!((pins.len(), &pins[0].kind), (1, &PinKind::Pin));
        assert_eq!(s.proposals(), []);
        s.append(NewMessage::user(&said)).await.unwrap();
        assert_eq!(s.proposals(), [], "what is pinned is not asked for again");
    });
}

/// P9, I8: words that are only likely a demand are pinned if the user says so; taken away they are found no more.
#[test]
fn a_likely_demand_waits_for_a_word() {
    block_on(async {
        let (_, s) = session("balanced").await;
        let likely = "Let's keep it short.";
        s.append(NewMessage::user(likely)).await.unwrap();
        assert_eq!(s.proposals(), [], "what is only likely is not asked about");
        talk(&s, 40).await;
        compact(&s).await;
        let found = s.records().pins;
        assert_eq!((found.len(), found[0].text.as_str()), (1, likely));
        assert!(!system(&s).contains(likely));

        s.confirm_demand(found[0].id).await.unwrap();
        let pinned = s.records().pins;
        assert_eq!((pinned.len(), &pinned[0].kind), (1, &PinKind::Pin));
        assert!(system(&s).contains(&format!("- {likely}")));
        let again = s.confirm_demand(pinned[0].id).await.unwrap_err();
        assert_eq!(
            again.code(),
            "not_found",
            "a pin is no demand that was found"
        );

        let (_, s) = session("balanced").await;
        s.append(NewMessage::user(likely)).await.unwrap();
        talk(&s, 40).await;
        compact(&s).await;
        s.unpin(s.records().pins[0].id).await.unwrap();
        s.undo().await.unwrap();
        compact(&s).await;
        assert_eq!(s.records().pins, []);

        // A sure one is asked about as well: what the person does with the line answers the question.
        for keeps in [true, false] {
            let (_, s) = session("balanced").await;
            s.append(NewMessage::user(RULE)).await.unwrap();
            talk(&s, 40).await;
            compact(&s).await;
            assert_eq!((s.proposals().len(), s.records().pins.len()), (1, 1));
            let id = s.records().pins[0].id;
            if keeps {
                s.confirm_demand(id).await.unwrap();
            } else {
                s.unpin(id).await.unwrap();
            }
            assert_eq!(s.proposals(), []);
            assert_eq!(s.records().pins.len(), usize::from(keeps));
        }
    });
}

/// P9: what was declined is asked for no more, and no later compaction makes a demand of it; with `off` nothing is looked for.
#[test]
fn a_declined_demand_is_none() {
    block_on(async {
        for policy in ["balanced", r#"{"base":"balanced","demands":"off"}"#] {
            let (_, s) = session(policy).await;
            let said = format!("I measure planks. {RULE}");
            s.append(NewMessage::user(&said)).await.unwrap();
            let asked = s.proposals();
            assert_eq!(asked.len(), usize::from(policy == "balanced"));
            for proposal in asked {
                s.decline_proposal(proposal.id).await.unwrap();
            }
            s.append(NewMessage::user(&said)).await.unwrap();
            assert_eq!(s.proposals(), []);
            talk(&s, 40).await;
            compact(&s).await;
            assert_eq!(
                (s.records().pins.len(), system(&s).as_str()),
                (0, "Be exact.")
            );
            assert!(!whole(&s).contains("<user_demands>"));
        }
    });
}
