//! VS Code as a program for the browser, and the Node that it needs. It has 500 MB, so it is prepared on request only.
//!
//! Its packages are installed without their scripts. Those compile modules for terminals, search and keychains, which
//! the extension does not use, and would need the headers of that Node.

use std::process::Command;

use anyhow::{Context, Result};

use super::{Machine, npm, say};
use crate::process;

const FOLDER: &str = "tests/vscode";
/// The folder of the program itself, which has packages of its own.
const PROGRAM: &str = "node_modules/code-server/lib/vscode";

pub(crate) fn find(machine: &Machine) -> Option<String> {
    let folder = machine.places.root.join(FOLDER);
    let packages = npm::installed(machine, &folder).ok()?;
    (packages.is_dir() && folder.join(PROGRAM).join("node_modules").is_dir())
        .then(|| format!("packages of {FOLDER}/package.json"))
}

pub(crate) fn prepare(machine: &Machine) -> Result<String> {
    let folder = machine.places.root.join(FOLDER);
    npm::packages_with(machine, &folder, &["--ignore-scripts"])?;
    let program = folder.join(PROGRAM);
    if !program.join("node_modules").is_dir() {
        say("npm", &format!("npm install in {FOLDER}/{PROGRAM}"));
        let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
        process::quiet(
            // The same command as in the program's own script: its lock file and its manifest disagree, which `npm ci`
            // refuses.
            Command::new(npm)
                .args(["install", "--omit=dev", "--ignore-scripts", "--no-audit"])
                .args(["--no-fund", "--loglevel=error"])
                .current_dir(&program),
        )?;
    }
    find(machine).context("npm's packages were installed and are not there")
}
