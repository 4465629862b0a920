//! The contract of every [`Store`], as cases that run on any executor: in a host test, or in a page that prints the
//! totals.

use std::fmt;

use crate::ports::{
    Applied, Durability, Expect, Key, KeyPart, Lease, Op, Query, Row, Store, StoreError, Table,
};

/// The results of the cases.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The names of the cases that passed, in order.
    pub passed: Vec<&'static str>,
    /// The names of the cases that failed, with the difference.
    pub failed: Vec<(&'static str, String)>,
}

impl Report {
    /// Returns `true` if every case passed.
    pub const fn is_ok(&self) -> bool {
        self.failed.is_empty()
    }

    fn note(&mut self, name: &'static str, outcome: Outcome) {
        match outcome {
            Ok(()) => self.passed.push(name),
            Err(why) => self.failed.push((name, why)),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "store contract: {} hold, {} do not",
            self.passed.len(),
            self.failed.len()
        )?;
        for (name, why) in &self.failed {
            write!(f, "\n  {name}: {why}")?;
        }
        Ok(())
    }
}

/// The result of a case: success, or the difference.
pub type Outcome = Result<(), String>;

/// Runs every case on a store of its own. `make` must return an empty store each time.
pub async fn run_all<S: Store>(make: impl AsyncFn() -> S) -> Report {
    let mut report = Report::default();
    macro_rules! run {
        ($($case:ident)+) => { $( report.note(stringify!($case), $case(&make().await).await); )+ };
    }
    run! {
        an_empty_store_has_no_rows
        what_is_written_is_read_back_unchanged
        a_row_that_must_be_new_is_not_overwritten
        a_failing_batch_leaves_nothing_behind
        operations_take_effect_in_their_order
        put_replaces_and_delete_removes
        delete_prefix_removes_exactly_the_prefix
        tables_are_separate
        rows_come_in_key_order
        a_range_has_bounds_a_direction_and_a_limit
        a_range_goes_by_the_part_after_the_prefix
        a_large_batch_is_one_write
        epochs_grow_with_every_claim
        a_claim_changes_nothing_else_in_the_head
        a_session_has_one_writer_unless_taken_over
        sessions_are_claimed_apart
        a_superseded_writer_writes_nothing
        a_writer_is_superseded_before_there_is_a_head
        the_first_head_takes_the_epoch_over
        only_the_expected_version_is_written
        a_head_of_another_epoch_is_refused
        deleting_the_head_ends_the_lease
        a_damaged_head_can_only_be_taken_over
        an_empty_batch_still_needs_the_lease
    }
    report
}

/// S5: reading a missing row is not an error.
async fn an_empty_store_has_no_rows<S: Store>(store: &S) -> Outcome {
    for table in Table::ALL {
        let got = read(store, Query::all(table, vec![])).await?;
        same("rows", &got, &vec![])?;
        let got = read(
            store,
            Query::Get {
                table,
                key: key(["s".into(), 1.into()]),
            },
        )
        .await?;
        same("rows", &got, &vec![])?;
    }
    Ok(())
}

/// I1: every character that JSON can hold is read back.
async fn what_is_written_is_read_back_unchanged<S: Store>(store: &S) -> Outcome {
    let lease = begin(store, "ключ 鍵 \u{0} '\"").await?;
    let long = format!("\"{}\"", "z".repeat(300_000));
    let values = [
        r#"{"text":"a\u0000b \ud83d é 漢字 👩‍👩‍👧 \u2028"}"#,
        "\"\"",
        "0",
        long.as_str(),
    ];
    for (n, value) in (0..).zip(values) {
        let key = key([lease.session.as_str().into(), n.into()]);
        write(store, &lease, [add(Table::Messages, &key, value)]).await?;
        let got = read(
            store,
            Query::Get {
                table: Table::Messages,
                key: key.clone(),
            },
        )
        .await?;
        same(
            "row",
            &got,
            &vec![Row {
                key,
                value: value.to_owned(),
            }],
        )?;
    }
    Ok(())
}

/// I1: `add` does not overwrite a row.
async fn a_row_that_must_be_new_is_not_overwritten<S: Store>(store: &S) -> Outcome {
    let lease = begin(store, "s").await?;
    let key = key(["s".into(), 1.into()]);
    write(store, &lease, [add(Table::Messages, &key, "1")]).await?;
    match store
        .apply(
            &lease,
            None,
            vec![add(Table::Messages, &key, "2")],
            Durability::Relaxed,
        )
        .await
    {
        Err(StoreError::Exists(which))
            if which.contains("messages") && which.contains(r#"["s",1]"#) => {}
        other => {
            return Err(format!(
                "adding a row twice gave {other:?}, not its address"
            ));
        }
    }
    same(
        "row",
        &values(store, Query::all(Table::Messages, vec![])).await?,
        &strings(["1"]),
    )
}

/// I6: neither the operations before the failing one nor those after it are written.
async fn a_failing_batch_leaves_nothing_behind<S: Store>(store: &S) -> Outcome {
    let lease = begin(store, "s").await?;
    write(
        store,
        &lease,
        (0..3).map(|n| add(Table::Messages, &key(["s".into(), n.into()]), "\"old\"")),
    )
    .await?;
    let before = everything(store).await?;
    let ops = vec![
        add(Table::Messages, &key(["s".into(), 7.into()]), "\"new\""),
        put(Table::Messages, &key(["s".into(), 0.into()]), "\"new\""),
        Op::Delete {
            table: Table::Messages,
            key: key(["s".into(), 1.into()]),
        },
        add(Table::Revisions, &key(["s".into(), 1.into()]), "\"new\""),
        Op::DeletePrefix {
            table: Table::Heads,
            prefix: vec![],
        },
        add(Table::Messages, &key(["s".into(), 2.into()]), "\"taken\""),
        add(Table::Messages, &key(["s".into(), 8.into()]), "\"new\""),
    ];
    for durability in [Durability::Relaxed, Durability::Strict] {
        let got = store.apply(&lease, None, ops.clone(), durability).await;
        ensure(matches!(got, Err(StoreError::Exists(_))), || {
            format!("the batch gave {got:?}")
        })?;
        same("rows", &everything(store).await?, &before)?;
    }
    // The lease is still valid.
    write(
        store,
        &lease,
        [add(Table::Messages, &key(["s".into(), 7.into()]), "1")],
    )
    .await
    .map(drop)
}

async fn operations_take_effect_in_their_order<S: Store>(store: &S) -> Outcome {
    let lease = begin(store, "s").await?;
    let key = key(["s".into(), 1.into()]);
    let ops = [
        add(Table::Jobs, &key, "1"),
        Op::Delete {
            table: Table::Jobs,
            key: key.clone(),
        },
        add(Table::Jobs, &key, "2"),
        put(Table::Jobs, &key, "3"),
        Op::DeletePrefix {
            table: Table::Jobs,
            prefix: vec!["s".into()],
        },
        put(Table::Jobs, &key, "4"),
    ];
    let applied = write(store, &lease, ops).await?;
    same("rows written", &applied, &Applied { rows: 4 })?;
    same(
        "row",
        &values(store, Query::all(Table::Jobs, vec![])).await?,
        &strings(["4"]),
    )?;
    let twice = vec![put(Table::Log, &key, "1"), add(Table::Log, &key, "2")];
    let got = store.apply(&lease, None, twice, Durability::Relaxed).await;
    ensure(matches!(got, Err(StoreError::Exists(_))), || {
        format!("adding after putting gave {got:?}")
    })
}

async fn put_replaces_and_delete_removes<S: Store>(store: &S) -> Outcome {
    let lease = begin(store, "s").await?;
    let key = key(["s".into()]);
    write(store, &lease, [put(Table::Partials, &key, "1")]).await?;
    write(store, &lease, [put(Table::Partials, &key, "2")]).await?;
    same(
        "row",
        &values(store, Query::all(Table::Partials, vec![])).await?,
        &strings(["2"]),
    )?;
    let delete = || Op::Delete {
        table: Table::Partials,
        key: key.clone(),
    };
    write(store, &lease, [delete()]).await?;
    same(
        "rows",
        &read(store, Query::all(Table::Partials, vec![])).await?,
        &vec![],
    )?;
    // Removing a missing row is not an error.
    same(
        "rows written",
        &write(store, &lease, [delete()]).await?,
        &Applied { rows: 0 },
    )
}

async fn delete_prefix_removes_exactly_the_prefix<S: Store>(store: &S) -> Outcome {
    let lease = begin(store, "s").await?;
    let keys = [
        key(["a".into(), 1.into(), 0.into()]),
        key(["a".into(), 1.into(), 9.into()]),
        key(["a".into(), 10.into(), 0.into()]),
        key(["a".into(), u32::MAX.into(), 0.into()]),
        key(["a\0".into(), 1.into(), 0.into()]),
        key(["aa".into(), 1.into(), 0.into()]),
        key(["b".into(), 1.into(), 0.into()]),
    ];
    write(
        store,
        &lease,
        keys.iter().map(|key| add(Table::Renditions, key, "0")),
    )
    .await?;
    let remove = async |prefix: Key| {
        write(
            store,
            &lease,
            [Op::DeletePrefix {
                table: Table::Renditions,
                prefix,
            }],
        )
        .await
    };
    let left = async || {
        read(store, Query::all(Table::Renditions, vec![]))
            .await
            .map(|rows| keys_of(&rows))
    };
    remove(key(["a".into(), 1.into()])).await?;
    same("keys", &left().await?, &keys[2..].to_vec())?;
    remove(key(["a".into(), u32::MAX.into()])).await?;
    same("keys", &left().await?, &[&keys[2..3], &keys[4..]].concat())?;
    remove(key(["a".into()])).await?;
    same("keys", &left().await?, &keys[4..].to_vec())?;
    remove(vec![]).await?;
    same("keys", &left().await?, &vec![])
}

async fn tables_are_separate<S: Store>(store: &S) -> Outcome {
    let lease = begin(store, "s").await?;
    let key = key(["t".into(), 1.into()]);
    write(
        store,
        &lease,
        Table::ALL.map(|table| add(table, &key, &format!("\"{}\"", table.name()))),
    )
    .await?;
    for table in Table::ALL {
        let got = values(
            store,
            Query::Get {
                table,
                key: key.clone(),
            },
        )
        .await?;
        same("row", &got, &vec![format!("\"{}\"", table.name())])?;
    }
    Ok(())
}

/// Numbers come by value and before texts, and a key comes before the longer keys that begin with it.
async fn rows_come_in_key_order<S: Store>(store: &S) -> Outcome {
    let lease = begin(store, "s").await?;
    let sorted = [
        key(["a".into()]),
        key(["a".into(), 2.into()]),
        key(["a".into(), 2.into(), 0.into()]),
        key(["a".into(), 10.into()]),
        key(["a".into(), u32::MAX.into()]),
        key(["a".into(), "".into()]),
        key(["a".into(), "10".into()]),
        key(["a".into(), "2".into()]),
        key(["b".into(), 0.into()]),
        key(["é".into(), 0.into()]),
    ];
    // From the middle outwards, so that the order of writing differs from the order of keys.
    let order = [4, 7, 1, 9, 0, 5, 8, 2, 6, 3];
    write(
        store,
        &lease,
        order.map(|n| add(Table::Records, &sorted[n], "0")),
    )
    .await?;
    let rows = read(store, Query::all(Table::Records, vec![])).await?;
    same("keys", &keys_of(&rows), &sorted.to_vec())?;
    let rows = read(store, Query::all(Table::Records, vec!["a".into()])).await?;
    same("keys", &keys_of(&rows), &sorted[..8].to_vec())
}

async fn a_range_has_bounds_a_direction_and_a_limit<S: Store>(store: &S) -> Outcome {
    let lease = begin(store, "s").await?;
    let rows = (1..=12).map(|n| {
        add(
            Table::Messages,
            &key(["s".into(), n.into()]),
            &n.to_string(),
        )
    });
    let others = ["r", "s\0", "t"]
        .map(|other| add(Table::Messages, &key([other.into(), 5.into()]), "\"other\""));
    let text = add(Table::Messages, &key(["s".into(), "x".into()]), "\"text\"");
    write(store, &lease, rows.chain(others).chain([text])).await?;
    let check = async |from, to, reverse, limit, expected: &str| {
        let query = Query::Range {
            table: Table::Messages,
            prefix: vec!["s".into()],
            from,
            to,
            reverse,
            limit,
        };
        let what = format!("{query:?}");
        same(
            &what,
            &values(store, query).await?.join(" "),
            &expected.to_owned(),
        )
    };
    check(None, None, false, 3, "1 2 3").await?;
    check(None, None, true, 3, "\"text\" 12 11").await?;
    check(Some(10), None, false, 0, "10 11 12").await?;
    check(Some(10), None, true, 2, "12 11").await?;
    check(None, Some(3), false, 0, "1 2 3").await?;
    check(None, Some(3), true, 1, "3").await?;
    check(Some(4), Some(6), false, 0, "4 5 6").await?;
    check(Some(4), Some(6), true, 0, "6 5 4").await?;
    check(Some(4), Some(6), false, 99, "4 5 6").await?;
    check(Some(12), Some(u32::MAX), false, 0, "12").await?;
    check(Some(13), None, false, 0, "").await?;
    check(Some(6), Some(4), false, 0, "").await?;
    check(Some(7), Some(6), true, 5, "").await
}

async fn a_range_goes_by_the_part_after_the_prefix<S: Store>(store: &S) -> Outcome {
    let lease = begin(store, "s").await?;
    let rows = (1..=3).flat_map(|seq| (1..=2).map(move |n| (seq, n)));
    let ops = rows.map(|(seq, n)| {
        add(
            Table::Renditions,
            &key(["s".into(), seq.into(), n.into()]),
            &format!("{seq}{n}"),
        )
    });
    write(store, &lease, ops).await?;
    let range = |prefix: Key, from, to, reverse, limit| Query::Range {
        table: Table::Renditions,
        prefix,
        from,
        to,
        reverse,
        limit,
    };
    let s = || key(["s".into()]);
    let whole = values(store, range(s(), Some(2), Some(3), false, 3)).await?;
    same(
        "rows of messages 2 and 3",
        &whole,
        &strings(["21", "22", "31"]),
    )?;
    let newest = values(
        store,
        range(key(["s".into(), 2.into()]), None, None, true, 1),
    )
    .await?;
    same("newest row of message 2", &newest, &strings(["22"]))?;
    let upto = values(store, range(s(), None, Some(1), true, 0)).await?;
    same("rows of message 1", &upto, &strings(["12", "11"]))
}

async fn a_large_batch_is_one_write<S: Store>(store: &S) -> Outcome {
    let lease = begin(store, "s").await?;
    let ops = (0..2_000).map(|n| {
        add(
            Table::Messages,
            &key(["s".into(), n.into()]),
            &format!("\"{n}\""),
        )
    });
    same(
        "rows written",
        &write(store, &lease, ops).await?,
        &Applied { rows: 2_000 },
    )?;
    let last = Query::Range {
        table: Table::Messages,
        prefix: vec!["s".into()],
        from: None,
        to: None,
        reverse: true,
        limit: 2,
    };
    same(
        "last rows",
        &values(store, last).await?,
        &strings(["\"1999\"", "\"1998\""]),
    )?;
    same(
        "rows",
        &read(store, Query::all(Table::Messages, vec![]))
            .await?
            .len(),
        &2_000,
    )
}

/// F 66: epochs grow, also when a session gets its first head.
async fn epochs_grow_with_every_claim<S: Store>(store: &S) -> Outcome {
    for expected in 1..=3 {
        let lease = claim(store, "s", false).await?;
        same("epoch of a session without a head", &lease.epoch, &expected)?;
    }
    let lease = begin(store, "s").await?;
    same("epoch", &lease.epoch, &4)?;
    drop(lease);
    for expected in 5..=6 {
        let lease = claim(store, "s", false).await?;
        same("epoch of a session with a head", &lease.epoch, &expected)?;
    }
    Ok(())
}

async fn a_claim_changes_nothing_else_in_the_head<S: Store>(store: &S) -> Outcome {
    let lease = claim(store, "s", false).await?;
    let head = r#"{"zeta":[1,{"epoch":9}],"version":3,"epoch":1,"title":"a \"b\" é","alpha":null}"#;
    write(store, &lease, [put(Table::Heads, &key(["s".into()]), head)]).await?;
    drop(lease);
    let lease = claim(store, "s", false).await?;
    let expected =
        r#"{"zeta":[1,{"epoch":9}],"version":3,"epoch":2,"title":"a \"b\" é","alpha":null}"#;
    same(
        "head",
        &values(store, Query::all(Table::Heads, vec![])).await?,
        &strings([expected]),
    )?;
    same("epoch", &lease.epoch, &2)
}

/// F 65: a second writer is refused, and may insist.
async fn a_session_has_one_writer_unless_taken_over<S: Store>(store: &S) -> Outcome {
    let first = begin(store, "s").await?;
    let held = first.clone();
    match store.claim("s", false).await {
        Err(StoreError::Busy) => {}
        other => return Err(format!("a second claim gave {other:?}")),
    }
    drop(first);
    match store.claim("s", false).await {
        Err(StoreError::Busy) => {}
        other => {
            return Err(format!(
                "a claim while a clone of the lease lives gave {other:?}"
            ));
        }
    }
    write(
        store,
        &held,
        [add(Table::Log, &key(["s".into(), 1.into()]), "1")],
    )
    .await?;
    let second = claim(store, "s", true).await?;
    same("epoch", &second.epoch, &(held.epoch + 1))?;
    // Dropping the first lease does not release the second one.
    drop(held);
    let third = store.claim("s", false).await;
    ensure(matches!(third, Err(StoreError::Busy)), || {
        format!("a third claim gave {third:?}")
    })?;
    drop(second);
    claim(store, "s", false).await.map(drop)
}

async fn sessions_are_claimed_apart<S: Store>(store: &S) -> Outcome {
    let a = begin(store, "a").await?;
    let b = begin(store, "b").await?;
    write(
        store,
        &a,
        [add(Table::Messages, &key(["a".into(), 1.into()]), "1")],
    )
    .await?;
    write(
        store,
        &b,
        [add(Table::Messages, &key(["b".into(), 1.into()]), "1")],
    )
    .await?;
    same("epochs", &(a.epoch, b.epoch), &(1, 1))
}

/// F 65, 67: a tab that wakes up, or a summary that arrives after a take-over, changes nothing.
async fn a_superseded_writer_writes_nothing<S: Store>(store: &S) -> Outcome {
    let old = begin(store, "s").await?;
    let new = claim(store, "s", true).await?;
    let before = everything(store).await?;
    for expect in [None, Some(Expect { version: Some(1) })] {
        let ops = vec![
            add(Table::Messages, &key(["s".into(), 1.into()]), "\"late\""),
            put(Table::Heads, &key(["s".into()]), &head(old.epoch, 2)),
        ];
        let got = store.apply(&old, expect, ops, Durability::Strict).await;
        same("late write", &got, &Err(StoreError::Superseded))?;
        same("rows", &everything(store).await?, &before)?;
    }
    write(
        store,
        &new,
        [put(Table::Heads, &key(["s".into()]), &head(new.epoch, 2))],
    )
    .await
    .map(drop)
}

async fn a_writer_is_superseded_before_there_is_a_head<S: Store>(store: &S) -> Outcome {
    let old = claim(store, "s", false).await?;
    let new = claim(store, "s", true).await?;
    same("epochs differ", &(new.epoch > old.epoch), &true)?;
    let draft = |lease: &Lease| {
        vec![put(
            Table::Partials,
            &key(["s".into()]),
            &lease.epoch.to_string(),
        )]
    };
    let got = store
        .apply(
            &old,
            Some(Expect { version: None }),
            draft(&old),
            Durability::Relaxed,
        )
        .await;
    same("late write", &got, &Err(StoreError::Superseded))?;
    write(store, &new, draft(&new)).await?;
    same(
        "drafts",
        &values(store, Query::all(Table::Partials, vec![])).await?,
        &vec![new.epoch.to_string()],
    )
}

/// A session with a head has no rows elsewhere.
async fn the_first_head_takes_the_epoch_over<S: Store>(store: &S) -> Outcome {
    let lease = begin(store, "s").await?;
    same(
        "notes",
        &read(store, Query::all(Table::Meta, vec![])).await?,
        &vec![],
    )?;
    write(
        store,
        &lease,
        [put(Table::Heads, &key(["s".into()]), &head(lease.epoch, 2))],
    )
    .await
    .map(drop)
}

/// I6: a commit that was prepared on an older head is refused.
async fn only_the_expected_version_is_written<S: Store>(store: &S) -> Outcome {
    let lease = claim(store, "s", false).await?;
    let row = || key(["s".into()]);
    let attempt = async |expected: Option<u32>, new: u32| {
        let ops = vec![
            put(Table::Heads, &row(), &head(lease.epoch, new)),
            put(Table::Log, &key(["s".into(), new.into()]), "1"),
        ];
        store
            .apply(
                &lease,
                Some(Expect { version: expected }),
                ops,
                Durability::Strict,
            )
            .await
    };
    same(
        "some version while there is none",
        &attempt(Some(0), 9).await,
        &Err(StoreError::Superseded),
    )?;
    same(
        "the first version",
        &attempt(None, 1).await,
        &Ok(Applied { rows: 2 }),
    )?;
    same(
        "the first version again",
        &attempt(None, 9).await,
        &Err(StoreError::Superseded),
    )?;
    same(
        "an older version",
        &attempt(Some(0), 9).await,
        &Err(StoreError::Superseded),
    )?;
    same(
        "a newer version",
        &attempt(Some(2), 9).await,
        &Err(StoreError::Superseded),
    )?;
    same(
        "the right version",
        &attempt(Some(1), 2).await,
        &Ok(Applied { rows: 2 }),
    )?;
    let log = read(store, Query::all(Table::Log, vec![])).await?;
    same(
        "log",
        &keys_of(&log),
        &vec![key(["s".into(), 1.into()]), key(["s".into(), 2.into()])],
    )?;
    same(
        "head",
        &values(store, Query::all(Table::Heads, vec![])).await?,
        &vec![head(lease.epoch, 2)],
    )
}

async fn a_head_of_another_epoch_is_refused<S: Store>(store: &S) -> Outcome {
    let lease = begin(store, "s").await?;
    for value in [
        head(lease.epoch + 1, 2),
        "{}".to_owned(),
        "not json".to_owned(),
    ] {
        let got = store
            .apply(
                &lease,
                None,
                vec![put(Table::Heads, &key(["s".into()]), &value)],
                Durability::Strict,
            )
            .await;
        ensure(matches!(got, Err(StoreError::Failed(_))), || {
            format!("writing the head {value} gave {got:?}")
        })?;
    }
    same(
        "head",
        &values(store, Query::all(Table::Heads, vec![])).await?,
        &vec![head(lease.epoch, 1)],
    )
}

/// S6: a write that was under way does not bring a deleted session back.
async fn deleting_the_head_ends_the_lease<S: Store>(store: &S) -> Outcome {
    let lease = begin(store, "s").await?;
    write(
        store,
        &lease,
        [Op::Delete {
            table: Table::Heads,
            key: key(["s".into()]),
        }],
    )
    .await?;
    let late = vec![add(
        Table::Messages,
        &key(["s".into(), 1.into()]),
        "\"late\"",
    )];
    let got = store.apply(&lease, None, late, Durability::Strict).await;
    same("write after the end", &got, &Err(StoreError::Superseded))?;
    same("rows", &everything(store).await?, &vec![])
}

/// F 86: the head row can be rewritten when it is not readable.
async fn a_damaged_head_can_only_be_taken_over<S: Store>(store: &S) -> Outcome {
    let a = begin(store, "a").await?;
    // For the writer of "a" the head of "b" is an ordinary row, so this damages it.
    write(
        store,
        &a,
        [put(Table::Heads, &key(["b".into()]), r#"{"epo"#)],
    )
    .await?;
    let got = store.claim("b", false).await;
    ensure(matches!(got, Err(StoreError::Corrupt(_))), || {
        format!("claiming it gave {got:?}")
    })?;
    let b = claim(store, "b", true).await?;
    let again = vec![put(Table::Heads, &key(["b".into()]), &head(b.epoch, 1))];
    let got = store
        .apply(
            &b,
            Some(Expect { version: None }),
            again.clone(),
            Durability::Strict,
        )
        .await;
    ensure(matches!(got, Err(StoreError::Corrupt(_))), || {
        format!("expecting a version of it gave {got:?}")
    })?;
    write(store, &b, again).await?;
    let got = store
        .apply(
            &b,
            Some(Expect { version: Some(1) }),
            vec![],
            Durability::Strict,
        )
        .await;
    same("writing to it afterwards", &got, &Ok(Applied { rows: 0 }))?;
    drop(b);
    let epoch = claim(store, "b", false).await?.epoch;
    same(
        "head",
        &values(
            store,
            Query::Get {
                table: Table::Heads,
                key: key(["b".into()]),
            },
        )
        .await?,
        &vec![head(epoch, 1)],
    )
}

async fn an_empty_batch_still_needs_the_lease<S: Store>(store: &S) -> Outcome {
    let old = begin(store, "s").await?;
    same(
        "empty batch",
        &store.apply(&old, None, vec![], Durability::Strict).await,
        &Ok(Applied { rows: 0 }),
    )?;
    let _new = claim(store, "s", true).await?;
    let got = store.apply(&old, None, vec![], Durability::Strict).await;
    same(
        "empty batch of a superseded writer",
        &got,
        &Err(StoreError::Superseded),
    )
}

// ---------------------------------------------------------------------------------------------------

/// A claimed session with a head of version 1.
async fn begin<S: Store>(store: &S, session: &str) -> Result<Lease, String> {
    let lease = claim(store, session, false).await?;
    write(
        store,
        &lease,
        [put(
            Table::Heads,
            &key([session.into()]),
            &head(lease.epoch, 1),
        )],
    )
    .await?;
    Ok(lease)
}

async fn claim<S: Store>(store: &S, session: &str, take_over: bool) -> Result<Lease, String> {
    store
        .claim(session, take_over)
        .await
        .map_err(|error| format!("claiming {session}: {error:?}"))
}

async fn write<S: Store>(
    store: &S,
    lease: &Lease,
    ops: impl IntoIterator<Item = Op>,
) -> Result<Applied, String> {
    let ops = ops.into_iter().collect();
    store
        .apply(lease, None, ops, Durability::Relaxed)
        .await
        .map_err(|error| format!("writing: {error:?}"))
}

async fn read<S: Store>(store: &S, query: Query) -> Result<Vec<Row>, String> {
    store
        .read(query)
        .await
        .map_err(|error| format!("reading: {error:?}"))
}

async fn values<S: Store>(store: &S, query: Query) -> Result<Vec<String>, String> {
    Ok(read(store, query)
        .await?
        .into_iter()
        .map(|row| row.value)
        .collect())
}

async fn everything<S: Store>(store: &S) -> Result<Vec<(Table, Row)>, String> {
    let mut all = Vec::new();
    for table in Table::ALL {
        let rows = read(store, Query::all(table, vec![])).await?;
        all.extend(rows.into_iter().map(|row| (table, row)));
    }
    Ok(all)
}

fn keys_of(rows: &[Row]) -> Vec<Key> {
    rows.iter().map(|row| row.key.clone()).collect()
}

fn strings<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

fn key<const N: usize>(parts: [KeyPart; N]) -> Key {
    Vec::from(parts)
}

fn add(table: Table, key: &Key, value: &str) -> Op {
    Op::Add {
        table,
        key: key.clone(),
        value: value.to_owned(),
    }
}

fn put(table: Table, key: &Key, value: &str) -> Op {
    Op::Put {
        table,
        key: key.clone(),
        value: value.to_owned(),
    }
}

fn head(epoch: u32, version: u32) -> String {
    format!(r#"{{"epoch":{epoch},"version":{version}}}"#)
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Outcome {
    if holds { Ok(()) } else { Err(otherwise()) }
}

fn same<T: PartialEq + fmt::Debug>(what: &str, got: &T, expected: &T) -> Outcome {
    ensure(got == expected, || {
        format!("{what}: got {}, expected {}", short(got), short(expected))
    })
}

/// Shortens a value to a few lines for a report.
fn short(value: &impl fmt::Debug) -> String {
    let text = format!("{value:?}");
    match text.char_indices().nth(400) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
