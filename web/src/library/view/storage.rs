//! The library's storage: how much, by kind, how well it is kept, and the check of it.

use leptos::prelude::AnyView;
use palimpsest_engine::Fault;
use palimpsest_engine::ports::Table;

use crate::act;
use crate::library::data::stored::Sizes;
use crate::platform::el::{El, el, live_on, nothing};
use crate::platform::icon::icon;
use crate::platform::{guest, page};
use crate::state::{AppState, Dialog};
use crate::text::{T, bytes, count, css, fill, language, number, t};
use crate::widgets::field::{button, link};
use crate::widgets::words::durability;

/// Days without an export after which the library reminds of one.
const REMIND_AFTER: u32 = 7;

/// The number of faults that are named. Of more only the number is shown.
const FAULTS: usize = 50;

/// The size of the sessions, the safety of the storage, and its integrity.
pub fn storage(state: AppState) -> El {
    let figures = el("dl")
        .class("figures")
        .child(figure(T::StorageUsed, used(state)))
        // a host's storage is not the browser's to clear, and its views are no tabs of this origin
        .child((!guest::keeps()).then(|| figure(T::StorageEviction, eviction(state))))
        .child(figure(T::LastExport, exported(state)))
        .child((!guest::keeps()).then(|| tabs(state)));
    let erase = move || state.dialog.set(Some(Dialog::Erase));
    el("section")
        .class("store")
        .attr("aria-labelledby", "h-store")
        .child(el("h2").attr("id", "h-store").child(t(T::Storage)))
        .child(figures)
        .child(meter(state))
        .child(
            el("p")
                .class("acts")
                .child(button(T::Integrity, act::check_integrity).attr("id", "integrity"))
                .child(
                    el("button")
                        .class("btn danger")
                        .attr("type", "button")
                        .attr("id", "erase")
                        .child(t(T::Erase))
                        .click(erase),
                ),
        )
        .child(checked(state))
}

fn figure(name: T, value: AnyView) -> El {
    el("div")
        .child(el("dt").child(t(name)))
        .child(el("dd").child(value))
}

/// A line that is to be noticed.
fn warned(text: String) -> El {
    el("span").class("warnc").child(icon("warn")).child(text)
}

/// The bytes that are used, of those that the browser grants.
fn used(state: AppState) -> AnyView {
    live_on(
        move || state.storage.get(),
        |storage| {
            if let Some(warning) = durability(storage.kept) {
                return warned(warning.to_owned()).view();
            }
            let of = |quota| el("span").child(fill(T::StorageOf, &[&bytes(quota)]));
            el("span")
                .child(storage.used.map_or_else(|| "–".to_owned(), bytes))
                .child(storage.quota.map(of))
                .view()
        },
    )
}

/// Whether the browser has promised to clear nothing, and the way to ask it.
fn eviction(state: AppState) -> AnyView {
    live_on(
        move || state.storage.with(|s| s.persistent),
        |persistent| {
            if *persistent {
                let promised = el("span")
                    .class("okc")
                    .child(icon("check"))
                    .child(t(T::StoragePersistent));
                el("span")
                    .child(promised)
                    .child(el("span").child(t(T::StoragePersistentHelp)))
                    .view()
            } else {
                el("span")
                    .child(t(T::StorageBestEffort))
                    .child(" ")
                    .child(link(T::StorageAsk, act::persist))
                    .view()
            }
        },
    )
}

/// The last time that everything was saved as a file.
fn exported(state: AppState) -> AnyView {
    live_on(
        move || state.settings.with(|s| s.exported),
        |at| {
            let days = ((act::now() - *at) / 86_400_000.0) as u32;
            let line = if *at <= 0.0 {
                warned(t(T::ExportNever).to_owned())
            } else if days >= REMIND_AFTER {
                warned(fill(T::ExportDaysAgo, &[&number(days)]))
            } else {
                el("span").child(page::day(*at, language()))
            };
            line.child(" ")
                .child(link(T::ExportNow, act::export_all))
                .view()
        },
    )
}

/// The other tabs, and whether this one writes.
fn tabs(state: AppState) -> AnyView {
    let others = move || {
        let follower = state.open.with(|o| o.as_ref().is_some_and(|o| o.follower));
        state.storage.with(|s| s.others).map(|n| (n, follower))
    };
    live_on(others, move |others| {
        let Some((n, follower)) = *others else {
            return nothing();
        };
        let line = el("span").child(match n {
            0 => t(T::TabsNone).to_owned(),
            n => fill(T::TabsOpen, &[&number(n)]),
        });
        let who = if follower {
            T::TabsFollow
        } else {
            T::TabsWrite
        };
        let writes = (n > 0).then(|| el("span").child(t(who)));
        figure(T::Tabs, line.child(writes).view()).view()
    })
}

/// The bytes by content.
fn meter(state: AppState) -> AnyView {
    let kinds = move || {
        let sizes = |s: &Sizes| (s.done || !s.of.is_empty()).then(|| (s.kinds(), s.done));
        let (kinds, done) = state.sizes.with(sizes)?;
        let own = kinds.iter().sum::<u64>() as f64;
        // what the browser counts beside the sessions is known when all of them were measured
        let used = state.storage.with(|s| s.used).filter(|_| done);
        let rest = used.map_or(0.0, |used| (used - own).max(0.0)) as u64;
        let mut all = kinds.to_vec();
        all.push(rest);
        Some(all)
    };
    live_on(kinds, |kinds| {
        let Some(kinds) = kinds else {
            return nothing();
        };
        let all = kinds.iter().sum::<u64>().max(1) as f64;
        let names = [
            T::ColumnMessages,
            T::StoredTools,
            T::StoredVocabularies,
            T::StoredLayers,
            T::Snapshots,
            T::StoredRest,
        ];
        let line = |(name, bytes_of): (T, &u64)| {
            let share = *bytes_of as f64 * 100.0 / all;
            el("li")
                .child(el("span").child(t(name)))
                .child(el("i").child(el("i").var("--p", format!("{}%", css(share)))))
                .child(el("b").child(bytes(*bytes_of as f64)))
        };
        el("ul")
            .class("meter")
            .attr("aria-label", t(T::StoredByKind))
            .children(names.into_iter().zip(kinds).map(line))
            .view()
    })
}

/// The results of the check so far.
fn checked(state: AppState) -> AnyView {
    live_on(
        move || state.integrity.get(),
        |now| {
            if !now.done {
                return if now.of == 0 {
                    nothing()
                } else {
                    let line = fill(T::IntegrityReading, &[&number(now.read), &number(now.of)]);
                    el("p").class("sub").child(line).view()
                };
            }
            let warn = |text: String| el("p").class("warnc").child(icon("warn")).child(text);
            if !now.failed.is_empty() {
                return el("div")
                    .class("checked")
                    .child(warn(now.failed.clone()))
                    .view();
            }
            if now.faults.is_empty() {
                let sessions = count(T::SessionsOne, T::SessionsMany, now.read);
                let messages = count(T::MessagesOne, T::MessagesMany, now.messages);
                return el("div")
                    .class("checked")
                    .child(
                        el("p")
                            .class("okc")
                            .child(icon("check"))
                            .child(t(T::IntegrityGood)),
                    )
                    .child(
                        el("p")
                            .class("sub")
                            .child(fill(T::IntegrityRead, &[&sessions, &messages])),
                    )
                    .view();
            }
            let line = |(title, fault): &(String, Fault)| {
                el("li")
                    .child(el("b").attr("dir", "auto").child(title.clone()))
                    .child(": ")
                    .child(sentence(*fault))
            };
            let bad = number(now.faults.len() as u32);
            el("div")
                .class("checked")
                .child(warn(fill(T::IntegrityBad, &[&bad])))
                .child(el("ul").children(now.faults.iter().take(FAULTS).map(line)))
                .child(el("p").class("sub").child(t(T::IntegrityHelp)))
                .child(
                    el("p").class("acts").child(
                        el("button")
                            .class("btn solid")
                            .attr("type", "button")
                            .child(t(T::ExportAll))
                            .click(act::export_all),
                    ),
                )
                .view()
        },
    )
}

/// The unreadable parts of the open session, line by line.
pub fn losses() -> AnyView {
    let state = AppState::here();
    live_on(
        move || state.losses.get(),
        |lost| {
            let layer = |f: &Fault| matches!(f, Fault::Damaged { table, .. } | Fault::Missing { table, .. } if *table == Table::Layers);
            let uncovered = lost
                .iter()
                .any(layer)
                .then(|| el("p").child(t(T::LossesLayers)));
            let line = |fault: &Fault| {
                el("li").child(match fault {
                    // it is in the lists again
                    Fault::Head => t(T::LossHead).to_owned(),
                    fault => sentence(*fault),
                })
            };
            el("details")
                .child(el("summary").child(t(T::LossesWhat)))
                .child(uncovered)
                .child(el("ul").children(lost.iter().take(FAULTS).map(line)))
                .view()
        },
    )
}

/// A fault in words; messages are counted as people count them.
fn sentence(fault: Fault) -> String {
    let row = |table: Table, n: u32| {
        let (name, n) = match table {
            Table::Messages => (T::RowMessage, n + 1),
            Table::Renditions => (T::RowForm, n + 1),
            Table::Layers => (T::RowLayer, n),
            Table::Notes => (T::RowNote, n),
            Table::Snapshots => (T::RowSnapshot, n),
            Table::Revisions => (T::RowRevision, n),
            _ => (T::RowRecord, n),
        };
        fill(name, &[&n.to_string()])
    };
    match fault {
        Fault::Head => t(T::FaultHead).to_owned(),
        Fault::Newer => t(T::FaultNewer).to_owned(),
        Fault::Path => t(T::FaultPath).to_owned(),
        Fault::Damaged { table, n } => fill(T::FaultDamaged, &[&row(table, n)]),
        Fault::Missing { table, n } => fill(T::FaultMissing, &[&row(table, n)]),
        Fault::Gap { from, to } if from == to => {
            fill(T::FaultMissing, &[&row(Table::Messages, from)])
        }
        Fault::Gap { from, to } => fill(
            T::FaultGap,
            &[&(from + 1).to_string(), &(to + 1).to_string()],
        ),
        Fault::Broken { seq } => fill(T::FaultBroken, &[&(seq + 1).to_string()]),
        Fault::Text { seq } => fill(T::FaultText, &[&(seq + 1).to_string()]),
        Fault::Range { layer } => fill(T::FaultRange, &[&layer.to_string()]),
    }
}
