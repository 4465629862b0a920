//! `cargo xtask bench [NAME]` runs `tests/bench/NAME.mjs` or a test of the core that prints a table. Without a name it
//! lists them. A bench compares our code and its peers in one run. `survival` is a bench of the engine, with its own
//! options.

use std::env;

use anyhow::{Context, Result, bail};

use crate::build_app::files;
use crate::process;
use crate::setup::Machine;

/// Tests of `palimpsest-core` that print figures. They assert the limits and show the rest.
const TABLES: [(&str, &str, &str); 10] = [
    ("canary", "behaviour", "canary::"),
    ("growth", "growth", "conversation::"),
    ("growth_cold", "growth", "cold::"),
    ("growth_live", "growth", "live::"),
    ("growth_passes", "growth", "passes::"),
    ("loop", "loops", "figures::"),
    ("recall", "behaviour", "recall::"),
    ("replays", "behaviour", "replays::"),
    ("retained", "behaviour", "retained::"),
    ("savings", "behaviour", "savings::"),
];

/// What survives of conversations, and what to do with the figures.
#[derive(Debug, Default)]
pub(crate) struct Survival {
    /// Fewer windows and methods, only conversations of our own.
    pub(crate) quick: bool,
    /// The tables go into `docs/benchmarks.md`.
    pub(crate) bless: bool,
    /// Instead of tables: layers for reading, into this file.
    pub(crate) layers: Option<String>,
}

/// Runs the engine's bench, which measures it.
pub(crate) fn survival(machine: &Machine, wish: &Survival) -> Result<()> {
    if wish.quick && wish.bless {
        bail!("--bless wants all tables, --quick makes a part of them");
    }
    let mut cargo = machine.cargo();
    cargo.args([
        "bench",
        "--package",
        "palimpsest-engine",
        "--bench",
        "survival",
        "--",
    ]);
    if let Some(file) = &wish.layers {
        let here = env::current_dir().context("the current folder")?;
        cargo.arg("--layers").arg(here.join(file));
    }
    for (name, is_set) in [("--quick", wish.quick), ("--bless", wish.bless)] {
        if is_set {
            cargo.arg(name);
        }
    }
    process::show(&mut cargo)
}

pub(crate) fn run(machine: &Machine, name: Option<&str>) -> Result<()> {
    let folder = machine.places.root.join("tests/bench");
    let mut known: Vec<String> = files(&folder)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|file| {
            Some(
                file.strip_suffix(".mjs")
                    .filter(|name| !name.contains('/'))?
                    .to_owned(),
            )
        })
        .collect();
    known.extend(TABLES.map(|(name, ..)| name.to_owned()));
    known.push("survival".into());
    let table = TABLES.iter().find(|(table, ..)| Some(*table) == name);
    if let Some((_, binary, tests)) = table {
        return process::show(machine.cargo().args([
            "test",
            "--release",
            "--package",
            "palimpsest-core",
            "--test",
            binary,
            tests,
            "--",
            // figures that take minutes are tests that only run when they are asked for
            "--include-ignored",
            "--nocapture",
            "--test-threads=1",
        ]));
    }
    match name {
        Some(name) if known.iter().any(|known| known == name) => process::show(
            machine
                .node()
                .arg("--expose-gc")
                .arg(folder.join(format!("{name}.mjs"))),
        ),
        Some(name) => bail!("no bench {name:?}; there are: {}", known.join(", ")),
        None => {
            println!("benches: {}", known.join(", "));
            Ok(())
        }
    }
}
