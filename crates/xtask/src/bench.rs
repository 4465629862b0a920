//! `cargo xtask bench [NAME]`: runs `tests/bench/NAME.mjs` or a test of the core that prints a table, or lists what there
//! is. A bench compares ours and its peers in one run.

use anyhow::{Result, bail};

use crate::build_app::files;
use crate::process;
use crate::setup::Machine;

/// Tests of `palimpsest-core` that print figures: they assert what must hold and show the rest.
const TABLES: [&str; 7] = [
    "canary",
    "growth",
    "growth_passes",
    "recall",
    "replays",
    "retained",
    "savings",
];

pub(crate) fn run(machine: &Machine, name: Option<&str>) -> Result<()> {
    let folder = machine.places.root.join("tests/bench");
    let tables = machine.places.root.join("crates/palimpsest-core/tests");
    let tables = TABLES
        .into_iter()
        .filter(|name| tables.join(format!("{name}.rs")).is_file());
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
    known.extend(tables.map(str::to_owned));
    match name {
        Some(name) if TABLES.contains(&name) && known.iter().any(|known| known == name) => {
            process::show(machine.cargo().args([
                "test",
                "--release",
                "--package",
                "palimpsest-core",
                "--test",
                name,
                "--",
                "--nocapture",
            ]))
        }
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
