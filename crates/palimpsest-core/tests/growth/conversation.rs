//! What each step costs as a conversation grows from a hundred to a hundred thousand messages. Ratios of processor time of
//! this thread, not times, are asserted; run with `--nocapture` for the figures.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test stops at the first surprise and prints what it measured"
)]

use std::hint::black_box;
use std::rc::Rc;

use palimpsest_core::context::{Context, Seed, Setup, View};
use palimpsest_core::dialect::{self, Dialect};
use palimpsest_core::layer::{Author, Layer, Level, Span};
use palimpsest_core::message::{Message, Role};
use palimpsest_core::record::Records;
use palimpsest_core::run::{Run, RunOptions};
use palimpsest_tokens::Estimator;
use serde_json::{Value, json};

const SIZES: [u32; 4] = [100, 1_000, 10_000, 100_000];
const SEED: Seed = Seed {
    now: 5.0,
    secret: [3; 16],
};

/// Nanoseconds this thread has run, from the scheduler; `None` where there is no such count.
fn cpu() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split(' ').next()?.parse().ok()
}

/// The scheduler counts in milliseconds: work is repeated until it has run for so long.
const ENOUGH: u64 = 60_000_000;

/// Nanoseconds that the work takes each time.
fn each(mut work: impl FnMut()) -> Option<f64> {
    let mut times = 1u32;
    loop {
        let before = cpu()?;
        for _ in 0..times {
            work();
        }
        let took = cpu()? - before;
        if took >= ENOUGH {
            return Some(took as f64 / f64::from(times));
        }
        times = times.saturating_mul(2);
    }
}

fn text(n: u32) -> String {
    format!(
        "Message {n} says that config/part_{n}.toml sets the limit to {n} seconds after a restart."
    )
}

fn role(n: u32) -> Role {
    if n.is_multiple_of(2) {
        Role::User
    } else {
        Role::Assistant
    }
}

/// A conversation of `n` messages of which all but the last 60 are covered by one layer.
fn talk(n: u32) -> Context {
    let mut context = Context::new(
        Setup::balanced(8192).unwrap(),
        Records::with_system("Be exact."),
        Rc::new(Estimator::default()),
    );
    for seq in 0..n {
        context.push(Rc::new(Message::text(seq, role(seq), text(seq))));
    }
    let layer = Layer {
        id: 1,
        level: Level::Detailed,
        covers: vec![Span {
            from: 0,
            to: n.saturating_sub(61),
        }],
        summary: "Each part file sets a limit in seconds.".into(),
        ledger: Vec::new(),
        tokens: 9,
        original_tokens: 100,
        messages: n.saturating_sub(60),
        notes: Vec::new(),
        rank: 0,
        number: 1,
        compressions: 1,
        created: 1.0,
        compressed_at: 1.0,
        replaces: Vec::new(),
        author: Author::Extractive,
        is_cut: false,
        retention: 1.0,
        dropped: Vec::new(),
        key_decisions: Vec::new(),
        files_modified: Vec::new(),
        next_steps: Vec::new(),
    };
    context.set_view(View {
        revision: 1,
        layers: vec![Rc::new(layer)],
        compactions: 1,
        next_layer: 2,
        ..View::default()
    });
    context
}

struct Costs {
    /// A plain copy of the caller's list: what the machine's memory asks for at that size, whoever goes through it.
    copy: f64,
    validate: f64,
    budget: f64,
    plan: f64,
    assemble: f64,
    append: f64,
}

fn costs(n: u32) -> Option<Costs> {
    let values: Vec<Value> = (0..n)
        .map(|n| {
            let role = if role(n) == Role::User {
                "user"
            } else {
                "assistant"
            };
            json!({"role": role, "content": text(n)})
        })
        .collect();
    let context = talk(n);
    Some(Costs {
        copy: each(|| drop(black_box(values.clone())))?,
        validate: each(|| {
            black_box(dialect::validate::validate(&values, Some(Dialect::OpenAi)));
        })?,
        budget: each(|| drop(black_box(context.budget())))?,
        plan: each(|| {
            let options = RunOptions {
                manual: true,
                ..RunOptions::default()
            };
            let run = Run::new(&context, options, SEED);
            black_box(run.preview()).unwrap();
        })?,
        assemble: each(|| drop(black_box(context.window())))?,
        append: {
            let mut longer = context.clone();
            let mut seq = n;
            let message = |seq| Rc::new(Message::text(seq, role(seq), text(seq)));
            each(|| {
                longer.push(message(seq));
                seq += 1;
                black_box((longer.is_due(), longer.check_limit().valid));
            })?
        },
    })
}

/// B3, B6, P1: validating grows no faster than the conversation; planning, budget, window and appending cost the same at a
/// hundred thousand messages as at a thousand.
#[test]
#[cfg_attr(
    not(target_os = "linux"),
    ignore = "there is no count of processor time"
)]
fn cost_does_not_grow_with_the_conversation() {
    // the best of some tries: caches are shared with whatever else the machine does
    let kept = (0..4).any(|_| {
        let faults = grown_too_fast(&measured());
        println!("{}", faults.join(", "));
        faults.is_empty()
    });
    assert!(kept, "each of four tries grew too fast: see above");
}

/// What each size costs, printed.
fn measured() -> Vec<Costs> {
    println!(
        "\n{:>9}{:>12}{:>14}{:>12}{:>12}{:>12}{:>12}   microseconds",
        "messages", "copy", "validate", "budget", "plan", "assemble", "append"
    );
    SIZES
        .iter()
        .map(|&n| {
            let c = costs(n).unwrap();
            println!(
                "{n:>9}{:>12.1}{:>14.1}{:>12.2}{:>12.1}{:>12.1}{:>12.2}",
                c.copy / 1e3,
                c.validate / 1e3,
                c.budget / 1e3,
                c.plan / 1e3,
                c.assemble / 1e3,
                c.append / 1e3
            );
            c
        })
        .collect()
}

/// Which costs grow faster than they may.
fn grown_too_fast(all: &[Costs]) -> Vec<String> {
    let mut ratios = Vec::new();
    for pair in all.windows(2) {
        let (a, b) = (&pair[0], &pair[1]);
        // past the caches even a copy takes more than ten times as long for ten times as much: that much is the machine's
        let machine = (b.copy / a.copy / 10.0).max(1.0);
        ratios.push(("validate", b.validate / a.validate / machine, 12.0));
    }
    let (small, large) = (&all[1], &all[3]);
    for (what, ratio) in [
        ("plan", large.plan / small.plan),
        ("budget", large.budget / small.budget),
        ("assemble", large.assemble / small.assemble),
        ("append", large.append / small.append),
    ] {
        ratios.push((what, ratio, 4.0));
    }
    let fast = ratios.into_iter().filter(|(_, ratio, most)| ratio > most);
    fast.map(|(what, ratio, _)| format!("{what} × {ratio:.1}"))
        .collect()
}
