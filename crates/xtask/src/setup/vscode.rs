//! VS Code as a program for the browser, and the Node it needs. Large, so only on request.

use anyhow::{Context, Result};

use super::{Machine, npm};

const FOLDER: &str = "tests/vscode";

pub(crate) fn find(machine: &Machine) -> Option<String> {
    let folder = machine.places.root.join(FOLDER);
    let packages = npm::installed(machine, &folder).ok()?;
    (packages.is_dir() && folder.join("node_modules").is_dir())
        .then(|| format!("packages of {FOLDER}/package.json"))
}

pub(crate) fn prepare(machine: &Machine) -> Result<String> {
    npm::packages(machine, &machine.places.root.join(FOLDER))?;
    find(machine).context("npm's packages were installed and are not there")
}
