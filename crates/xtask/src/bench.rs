//! `cargo xtask bench [NAME]`: runs `tests/bench/NAME.mjs`, or lists what there is. A bench compares ours and a
//! peer in one run and prints the ratio.

use anyhow::{Result, bail};

use crate::build_app::files;
use crate::process;
use crate::setup::Machine;

pub(crate) fn run(machine: &Machine, name: Option<&str>) -> Result<()> {
    let folder = machine.places.root.join("tests/bench");
    let known: Vec<String> = files(&folder)
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
