//! Sessions as a backup: what comes back is what there was.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use futures_executor::block_on;
use palimpsest_core::message::{Part, Role};
use palimpsest_engine::session::{IfOver, NewMessage};
use palimpsest_engine::{Archive, Depth, Engine, EngineError, Restored, Session};
use proptest::prelude::*;

use super::transfer::{engine, full};

/// A session with everything that one can have; the large text of its last message lies in blobs.
async fn rich(engine: &Engine) -> Session {
    let s = full(engine).await;
    let tip = s.head().tip.unwrap();
    s.rewind_before(2).await.unwrap();
    s.append(NewMessage::user("Another branch.")).await.unwrap();
    s.switch_to(tip).await.unwrap();
    s.snapshot("before the move").await.unwrap();
    let log = "a line of a long log, and another one\n".repeat(5_000);
    s.append(NewMessage::assistant(vec![Part::text(log)]))
        .await
        .unwrap();
    s
}

/// As a file has it.
async fn archive(engine: &Engine, id: &str) -> Archive {
    let text = serde_json::to_string(&engine.archive(id).await.unwrap()).unwrap();
    palimpsest_text::json::read(&text).unwrap()
}

async fn whole(engine: &Engine, id: &str) {
    let audit = engine.audit(id, Depth::Texts).await.unwrap();
    assert_eq!(audit.faults, []);
}

/// S3, S4, S7, I2: a session that is brought back is the same one: window byte for byte, branches, layers, snapshots, records,
/// times; and it goes on, is undone and restored like any other. Once more changes nothing.
#[test]
fn what_comes_back_is_what_there_was() {
    block_on(async {
        let here = engine().await;
        let s = rich(&here).await;
        let kept = archive(&here, s.id()).await;
        assert!(!kept.texts.is_empty());
        let there = engine().await;
        assert_eq!(
            there.restore(&kept).await.unwrap(),
            (s.id().to_owned(), Restored::Made)
        );
        whole(&there, s.id()).await;
        let t = there.open(s.id(), false).await.unwrap();
        assert_eq!(t.window(), s.window());
        assert_eq!(t.layers(), s.layers());
        assert_eq!(t.snapshots(), s.snapshots());
        assert_eq!(t.records(), s.records());
        assert_eq!(t.siblings(2).len(), s.siblings(2).len());
        assert_eq!(t.head().updated.to_bits(), s.head().updated.to_bits());
        let (a, b) = (t.history(None, 999), s.history(None, 999));
        assert!(a.iter().zip(&b).all(|(a, b)| a.message == b.message));
        assert_eq!(a.len(), b.len());

        assert_eq!(there.restore(&kept).await.unwrap().1, Restored::There);
        t.undo_with(IfOver::Show).await.unwrap();
        t.append(NewMessage::user("And now?")).await.unwrap();
        let named = t.snapshots().iter().find(|n| !n.name.is_empty()).unwrap().n;
        t.restore(named).await.unwrap();
        assert_eq!(there.restore(&kept).await.unwrap().1, Restored::There);
        assert_eq!(there.sessions().await.unwrap().len(), 1);
        whole(&there, s.id()).await;
    });
}

/// S6: a copy holds everything that the session holds, and the two go their own ways from there.
#[test]
fn a_copy_holds_everything() {
    block_on(async {
        let engine = engine().await;
        let s = rich(&engine).await;
        let id = engine.duplicate(s.id(), "Another").await.unwrap();
        assert_ne!(id, s.id());
        whole(&engine, &id).await;
        let copy = engine.open(&id, false).await.unwrap();
        assert_eq!(copy.head().title, "Another");
        assert_eq!(copy.window(), s.window());
        assert_eq!(copy.layers(), s.layers());
        assert_eq!(copy.snapshots(), s.snapshots());
        assert_eq!(copy.records(), s.records());
        let before = s.message_count();
        copy.append(NewMessage::user("Only here.")).await.unwrap();
        assert_eq!(s.message_count(), before);
        assert!(engine.duplicate("nobody", "x").await.is_err());
        // the large texts of both are one, and stay with the one that is left
        engine.purge(s.id()).await.unwrap();
        whole(&engine, &id).await;
    });
}

/// S7, I1: a backup that goes on where the session here stopped continues it; one that is behind changes nothing; one that
/// went another way stands beside it, once. A deleted session comes back.
#[test]
fn backups_meet_what_is_there() {
    block_on(async {
        let here = engine().await;
        let s = rich(&here).await;
        let id = s.id().to_owned();
        let first = archive(&here, &id).await;
        s.append(NewMessage::user("One more.")).await.unwrap();
        let second = archive(&here, &id).await;

        let there = engine().await;
        there.restore(&first).await.unwrap();
        let open = there.open(&id, false).await.unwrap();
        assert_eq!(
            there.restore(&second).await.unwrap(),
            (id.clone(), Restored::Continued)
        );
        let again = there.open(&id, false).await.unwrap();
        assert_eq!(again.message_count(), s.message_count());
        // who had it open before is refused, and has lost nothing
        let late = open.append(NewMessage::user("Late.")).await.unwrap_err();
        assert_eq!(late.code(), "superseded");
        assert_eq!(there.restore(&first).await.unwrap().1, Restored::There);

        there.delete(&id).await.unwrap();
        assert_eq!(there.sessions().await.unwrap().len(), 0);
        assert_eq!(there.restore(&first).await.unwrap().1, Restored::There);
        assert_eq!(there.sessions().await.unwrap().len(), 1);

        // a snapshot that was named here only is kept: the longer backup stands beside it
        let third = engine().await;
        third.restore(&first).await.unwrap();
        let named = third.open(&id, false).await.unwrap();
        named.snapshot("mine alone").await.unwrap();
        assert_eq!(third.restore(&second).await.unwrap().1, Restored::Beside);
        assert!(named.snapshots().iter().any(|it| it.name == "mine alone"));
        whole(&third, &id).await;

        // another way from the same beginning
        let other = engine().await;
        other.restore(&first).await.unwrap();
        let o = other.open(&id, false).await.unwrap();
        o.append(NewMessage::user("Quite another thing."))
            .await
            .unwrap();
        let (beside, what) = other.restore(&second).await.unwrap();
        assert_eq!(what, Restored::Beside);
        assert_ne!(beside, id);
        assert_eq!(
            other.restore(&second).await.unwrap(),
            (beside.clone(), Restored::There)
        );
        whole(&other, &id).await;
        whole(&other, &beside).await;
        let b = other.open(&beside, false).await.unwrap();
        assert_eq!(b.window(), s.window());
        assert_eq!(o.message_count(), b.message_count());
        assert_eq!(other.sessions().await.unwrap().len(), 2);
    });
}

/// I6, I10, O4: a backup that cannot be read or that a newer version made is refused with a sentence and nothing is written; one
/// that says another text under a text's name does not change that text; what is damaged in it is found and hides nothing else.
#[test]
fn bad_backups_do_no_harm() {
    block_on(async {
        let here = engine().await;
        let s = rich(&here).await;
        let id = s.id().to_owned();
        let good = archive(&here, &id).await;
        let there = engine().await;
        let check = async |archive: Archive, code: &str| {
            let error = there.restore(&archive).await.unwrap_err();
            assert_eq!(error.code(), code);
            assert_eq!(there.stored_sessions().await.unwrap(), Vec::<String>::new());
        };
        let with_head = |head: String| Archive {
            head,
            ..good.clone()
        };
        check(with_head("{".into()), "storage_corrupt").await;
        check(
            with_head(good.head.replace("\"schema\":1", "\"schema\":999")),
            "storage_newer",
        )
        .await;
        let unknown = there.archive("nobody").await.unwrap_err();
        assert!(matches!(unknown, EngineError::NoSession(_)));

        // a text under the name of another one
        there.restore(&good).await.unwrap();
        let mut forged = good.clone();
        forged.id = "forged".into();
        let text = palimpsest_engine::rows::seal(&"something else").unwrap();
        forged.texts[0].1 = text;
        there.restore(&forged).await.unwrap();
        whole(&there, &id).await;

        // a damaged row is told, the others are there
        let mut hurt = good.clone();
        hurt.id = "hurt".into();
        let (_, _, value) = hurt
            .rows
            .iter_mut()
            .find(|r| r.0.name() == "messages")
            .unwrap();
        *value = value.replace("plain", "plane");
        there.restore(&hurt).await.unwrap();
        let audit = there.audit("hurt", Depth::Texts).await.unwrap();
        assert!(!audit.faults.is_empty());
        let h = there.open("hurt", false).await.unwrap();
        assert!(
            h.history(None, 999)
                .iter()
                .any(|i| i.message.role == Role::Tool)
        );
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// I10, I1: whatever a file has in place of a backup's rows, nothing panics, nothing half-done is left, and the sessions that
    /// are there stay as they were.
    #[test]
    fn no_backup_breaks_it(row in 0usize..200, n in 0u32..60, table in 0usize..14, value in ".{0,60}", drop in any::<bool>()) {
        block_on(async {
            let here = engine().await;
            let s = rich(&here).await;
            let id = s.id().to_owned();
            let mut bad = archive(&here, &id).await;
            let at = row % bad.rows.len();
            if drop {
                bad.rows.remove(at);
            } else {
                bad.rows[at] = (palimpsest_engine::ports::Table::ALL[table], vec![n.into()], value);
            }
            let before = s.window();
            let came = here.restore(&bad).await.unwrap();
            assert!(matches!(came.1, Restored::There | Restored::Beside));
            whole(&here, &id).await;
            let same = here.open(&id, false).await.unwrap();
            assert_eq!(same.window(), before);
            // what came of it opens, or says why not
            if let Err(error) = here.open(&came.0, false).await {
                assert_eq!(error.code(), "storage_corrupt");
            }
        });
    }
}
