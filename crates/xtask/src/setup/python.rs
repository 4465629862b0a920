//! Python packages in a virtual environment of their own: a small real model with its server, and the
//! peers that counts are compared with. Only the steps that say so need it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Machine, fresh_folder, install, lock, may_install, say};
use crate::places::{digest, on_path};
use crate::process;

/// The exact versions, one package a line.
const REQUIREMENTS: &str = "tests/requirements.txt";

fn folder(machine: &Machine) -> Result<PathBuf> {
    let path = machine.places.root.join(REQUIREMENTS);
    let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(machine.places.cache.join("python").join(digest(&text)))
}

pub(crate) fn find(machine: &mut Machine) -> Option<String> {
    let folder = folder(machine).ok()?;
    let binaries = if cfg!(windows) { "Scripts" } else { "bin" };
    let python = folder.join(binaries).join(if cfg!(windows) {
        "python.exe"
    } else {
        "python"
    });
    if !folder.join(".done").is_file() || !python.is_file() {
        return None;
    }
    machine.set("PALIMPSEST_PYTHON", python);
    Some(format!("packages of {REQUIREMENTS}"))
}

pub(crate) fn prepare(machine: &mut Machine) -> Result<String> {
    if let Some(found) = find(machine) {
        return Ok(found);
    }
    let _lock = lock(&machine.places, "python")?;
    if let Some(found) = find(machine) {
        return Ok(found);
    }
    let system = ["python3", "python"]
        .into_iter()
        .find(|name| on_path(name).is_some());
    let system = match system {
        Some(system) => system,
        None if may_install() => {
            say("python", "apt-get install python3 python3-venv");
            install(&["python3", "python3-venv"])?;
            "python3"
        }
        None => {
            ensure!(false, "install Python 3.10 or newer with its venv module");
            ""
        }
    };
    say(
        "python",
        &format!("pip install -r {REQUIREMENTS} into a new virtual environment"),
    );
    // Scripts of a virtual environment hold its path, so it is made in its place and marked when complete.
    let folder = folder(machine)?;
    fresh_folder(&folder)?;
    let mut make = Command::new(system);
    make.args(["-m", "venv"]).arg(&folder);
    if process::quiet(&mut make).is_err() {
        ensure!(
            may_install(),
            "Python's venv module is missing: sudo apt-get install python3-venv"
        );
        say("python", "apt-get install python3-venv");
        install(&["python3-venv"])?;
        fresh_folder(&folder)?;
        process::quiet(&mut make)?;
    }
    let pip = folder.join(if cfg!(windows) {
        "Scripts/pip.exe"
    } else {
        "bin/pip"
    });
    process::quiet(
        Command::new(pip)
            .args([
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--requirement",
            ])
            .arg(machine.places.root.join(REQUIREMENTS)),
    )?;
    fs::write(folder.join(".done"), "")?;
    find(machine).context("Python's packages were installed and are not there")
}
