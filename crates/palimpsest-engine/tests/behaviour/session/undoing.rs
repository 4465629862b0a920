//! Ways back: undo, lifting, snapshots, branches, and what stays whatever happens.

use std::rc::Rc;

use futures_executor::block_on;
use palimpsest_core::record::PinKind;
use palimpsest_core::request::Purpose;
use palimpsest_engine::ports::Signal;
use palimpsest_engine::session::{CompactOptions, IfOver, NewMessage};
use palimpsest_engine::testing::model::{Answer, ScriptedModel};
use palimpsest_engine::{EngineError, MemoryStore, NewSession, RoomChoice};

use super::{engine, session};
use crate::scene::{options, silent, talk};

/// I1, I2, I6, P10, S2: compact, reopen, undo, reopen: each time the same bytes; what was said is all there.
#[test]
fn compact_reopen_undo() {
    block_on(async {
        let store = Rc::new(MemoryStore::new());
        let e = engine(store.clone()).await;
        let new = NewSession {
            window: 4096,
            system: "Be exact.".into(),
            ..NewSession::default()
        };
        let s = e.create(new).await.unwrap();
        let id = s.id().to_owned();
        talk(&s, 40).await;
        let before = s.window();
        assert!(s.is_due());
        let done = s
            .compact(CompactOptions::default(), Signal::never())
            .await
            .unwrap();
        let after = s.window();
        assert!(after.tokens() < before.tokens());
        assert_eq!(done.report.after, after.tokens());
        drop(s);
        drop(e);

        let e = engine(store.clone()).await;
        let s = e.open(&id, true).await.unwrap();
        assert_eq!(s.window(), after, "the reopened window");
        assert_eq!(s.message_count(), 80);
        s.undo().await.unwrap();
        assert_eq!(s.window(), before, "the window after undo");
        assert!(!s.is_due(), "no automatic run after undo");
        drop(s);
        drop(e);

        let e = engine(store).await;
        let s = e.open(&id, true).await.unwrap();
        assert_eq!(s.window(), before, "the window after undo, reopened");
        let items = s.history(None, 1000);
        assert_eq!(items.len(), 80);
        assert!(items.iter().all(|i| i.covered_by.is_none()));
        assert_eq!(s.undo().await.unwrap_err().code(), "nothing_to_undo");
    });
}

/// P10, C1: one layer is lifted, the other stays; the covered messages are shown as they were said.
#[test]
fn lift_one_layer() {
    block_on(async {
        let (_, s) = session(8192).await;
        talk(&s, 30).await;
        let manual = || CompactOptions {
            manual: true,
            ..CompactOptions::default()
        };
        s.compact(manual(), Signal::never()).await.unwrap();
        talk(&s, 8).await;
        s.compact(manual(), Signal::never()).await.unwrap();
        let layers = s.layers();
        assert_eq!(layers.len(), 2);
        s.lift(layers[1].id).await.unwrap();
        assert_eq!(s.layers().len(), 1);
        let covered = s
            .history(None, 1000)
            .iter()
            .filter(|i| i.covered_by.is_some())
            .count();
        assert_eq!(covered as u32, layers[0].messages);
        assert_eq!(s.lift(99).await.unwrap_err().code(), "not_found");
    });
}

/// S4: snapshots are taken before each compaction, the last five are kept, named ones stay; a restore
/// brings back the same bytes and leaves what was said since on its own branch.
#[test]
fn snapshots() {
    block_on(async {
        let (_, s) = session(4096).await;
        talk(&s, 3).await;
        let named = s.snapshot("before").await.unwrap();
        let window = s.window();
        for _ in 0..8 {
            talk(&s, 14).await;
            s.compact(
                CompactOptions {
                    manual: true,
                    ..CompactOptions::default()
                },
                Signal::never(),
            )
            .await
            .unwrap();
        }
        let all = s.snapshots();
        assert_eq!(all.iter().filter(|n| n.name.is_empty()).count(), 5);
        assert!(all.iter().any(|n| n.n == named && n.name == "before"));
        let last = s.head().tip;
        s.restore(named).await.unwrap();
        assert_eq!(s.window(), window);
        assert_eq!(s.message_count(), 6);
        s.switch_to(last.unwrap()).await.unwrap();
        assert_eq!(s.message_count(), 6 + 8 * 28);
        assert_eq!(s.restore(999).await.unwrap_err().code(), "not_found");
    });
}

/// I1, S6: regenerating and editing add siblings; nothing is removed and either can be shown.
#[test]
fn branches() {
    block_on(async {
        let (_, s) = session(4096).await;
        let model = ScriptedModel::new([Answer::text("First."), Answer::text("Second.")], |_| {
            Answer::text("x")
        });
        s.send(
            NewMessage::user("Say something."),
            &options(&model),
            Signal::never(),
            &silent,
        )
        .await
        .unwrap();
        s.rewind_to_last_user().await.unwrap();
        s.reply(&options(&model), Signal::never(), &silent)
            .await
            .unwrap();
        assert_eq!(s.history(None, 9)[1].message.words(), "Second.");
        assert_eq!(s.history(None, 9)[1].branch, (2, 2));
        let first = s.siblings(s.history(None, 9)[1].message.seq)[0];
        s.switch_to(first).await.unwrap();
        assert_eq!(s.history(None, 9)[1].message.words(), "First.");
    });
}

/// I4: pins and the system prompt stand byte-identical in every window; too large ones are refused.
#[test]
fn records_stay() {
    block_on(async {
        let (_, s) = session(4096).await;
        let id = s
            .pin(PinKind::Pin, "The customer is called Ada.")
            .await
            .unwrap();
        let system = s.window().messages()[0].clone();
        talk(&s, 40).await;
        s.compact(CompactOptions::default(), Signal::never())
            .await
            .unwrap();
        assert_eq!(s.window().messages()[0], system);
        let error = s
            .pin(PinKind::Pin, &"much ".repeat(3000))
            .await
            .unwrap_err();
        assert_eq!(error.code(), "records_too_large");
        s.unpin(id).await.unwrap();
        assert!(!s.window().messages()[0].parts()[0].words().contains("Ada"));
    });
}

/// P10: where the window before a compaction is over the limit, undo is refused first, with the choices as data;
/// asked for all the same it shows that window byte for byte, starts no automatic run, survives reopening, and
/// sends nothing that does not fit: the next message compacts first.
#[test]
fn undo_of_an_import_over_the_limit() {
    block_on(async {
        let store = Rc::new(MemoryStore::new());
        let e = engine(store.clone()).await;
        let new = NewSession {
            window: 4096,
            ..NewSession::default()
        };
        let s = e.create(new).await.unwrap();
        let id = s.id().to_owned();
        talk(&s, 90).await;
        let before = s.window();
        let limit = s.budget().limit;
        assert!(before.tokens() > limit);
        s.compact(CompactOptions::default(), Signal::never())
            .await
            .unwrap();
        let after = s.window();
        let Err(EngineError::WouldNotFit {
            tokens,
            limit: said,
            choices,
        }) = s.undo().await
        else {
            panic!("not refused")
        };
        assert_eq!((tokens, said), (before.tokens(), limit));
        assert_eq!(
            choices,
            [
                RoomChoice::LargerWindow { window: 8192 },
                RoomChoice::ShowAnyway {
                    over: before.tokens() - limit
                }
            ]
        );
        assert_eq!(s.window(), after, "a refusal changes nothing");

        s.undo_with(IfOver::Show).await.unwrap();
        assert_eq!(s.window(), before);
        assert!(!s.is_due(), "no automatic run");
        assert_eq!(
            s.tend(CompactOptions::default(), Signal::never())
                .await
                .unwrap(),
            None
        );
        drop((s, e));
        let e = engine(store).await;
        let s = e.open(&id, true).await.unwrap();
        assert_eq!(s.window(), before, "the window after reopening");
        assert!(!s.is_due());

        let model = ScriptedModel::new([Answer::text("Fine.")], |_| Answer::text("x"));
        let waited = std::cell::Cell::new(false);
        let on = |event| {
            waited.set(
                waited.get() || matches!(event, palimpsest_engine::session::SendEvent::Waiting),
            );
        };
        let mut sent = options(&model);
        sent.model = Rc::new(model.clone());
        s.send(NewMessage::user("Go on."), &sent, Signal::never(), &on)
            .await
            .unwrap();
        assert!(waited.get());
        let chats: Vec<_> = model
            .asked()
            .into_iter()
            .filter(|r| r.purpose == Purpose::Chat)
            .collect();
        assert_eq!(chats.len(), 1);
        assert!(s.budget().used.tokens <= limit);
        assert_eq!(s.layers().len(), 1);
    });
}

/// P10: lifting a layer that would not fit is refused with a smaller one to lift instead, and done if asked for
/// all the same.
#[test]
fn lifting_over_the_limit_names_a_layer_that_fits() {
    block_on(async {
        let (_, s) = session(4096).await;
        talk(&s, 60).await;
        let manual = || CompactOptions {
            manual: true,
            ..CompactOptions::default()
        };
        s.compact(manual(), Signal::never()).await.unwrap();
        talk(&s, 3).await;
        s.compact(manual(), Signal::never()).await.unwrap();
        let layers = s.layers();
        let Err(EngineError::WouldNotFit { choices, .. }) = s.lift(layers[0].id).await else {
            panic!("not refused")
        };
        let Some(RoomChoice::Lift { layer, tokens }) = choices.first().copied() else {
            panic!("no layer offered: {choices:?}")
        };
        assert_eq!(layer, layers[1].id);
        s.lift(layer).await.unwrap();
        assert_eq!(s.budget().used.tokens, tokens);
        s.lift_with(layers[0].id, IfOver::Show).await.unwrap();
        assert!(s.layers().is_empty());
        assert!(s.budget().over > 0 && !s.is_due());
    });
}
