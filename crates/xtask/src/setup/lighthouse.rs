//! Lighthouse and the Node that it needs. It has 370 MB, so it is prepared on request only.

use anyhow::{Context, Result};

use super::{Machine, npm};

const FOLDER: &str = "tests/lighthouse";

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
