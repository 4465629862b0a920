//! The figures of every way at every window, printed by `cargo xtask bench loop`.
#![allow(clippy::print_stdout, reason = "figures are to be read")]

use serde_json::Value;

use super::corpus;
use super::play::{Compact, Way, play};
use super::rivals::{All, Clear, OpenCode, Prune, Tail};

const WINDOWS: [u32; 4] = [8_192, 16_384, 32_768, 98_304];
const PRESETS: [&str; 5] = [
    "balanced",
    "checkpoints",
    "watermark",
    "offload-compact",
    "auto-summarize",
];

fn print(name: &str, list: &[Value]) {
    println!("== {name}: {} messages", list.len());
    let show = |name: &str, way: &mut dyn Way| {
        let figures = play(list, way, 15_000);
        println!("{}", figures.line(name));
        if std::env::var_os("PALIMPSEST_LOOP_TOLD").is_some() {
            for (at, told) in &figures.told {
                println!("    {at:4} {told}");
            }
        }
    };
    show("send all", &mut All);
    show("prune before last 10", &mut Prune(10));
    show("prune before last 3", &mut Prune(3));
    let only = std::env::var("PALIMPSEST_LOOP_ONLY").ok();
    let at = std::env::var("PALIMPSEST_LOOP_WINDOW").ok();
    for window in WINDOWS
        .into_iter()
        .filter(|w| at.as_deref().is_none_or(|at| at == w.to_string()))
    {
        let limit = window * 11 / 12;
        show(&format!("tail, as trimMessages {window}"), &mut Tail(limit));
        show(
            &format!("clear old results {window}"),
            &mut Clear { limit, cleared: 0 },
        );
        show(
            &format!("like opencode {window}"),
            &mut OpenCode { limit, cleared: 0 },
        );
        for preset in PRESETS
            .into_iter()
            .filter(|p| only.as_deref().is_none_or(|only| only == *p))
        {
            show(
                &format!("{preset} {window}"),
                &mut Compact::new(preset, window),
            );
        }
    }
}

#[test]
#[ignore = "prints figures; asked for by name"]
fn of_a_generated_loop() {
    print("generated, one request", &corpus::generated(1, 220, 0));
}

#[test]
#[ignore = "prints figures; asked for by name"]
fn of_a_generated_loop_with_requests() {
    print("generated, many requests", &corpus::generated(2, 220, 20));
}

#[test]
#[ignore = "reads ../shared/data"]
fn of_a_coding_session() {
    match corpus::coding() {
        Some(list) => print("coding session", &list),
        None => println!("../shared/data is not there: skipped"),
    }
}

#[test]
#[ignore = "reads ../shared/data"]
fn of_other_recorded_lists() {
    for (name, list) in [
        ("mending a bug", corpus::mending()),
        ("customers", corpus::service(600)),
    ] {
        match list {
            Some(list) => print(name, &list),
            None => println!("../shared/data is not there: skipped"),
        }
    }
}
