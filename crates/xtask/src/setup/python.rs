//! The system's Python 3 with its venv module, for virtual environments.

use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{install, may_install, say};
use crate::process;

/// Its usual names, best first.
const NAMES: [&str; 2] = ["python3", "python"];

/// The name under which Python 3 with venv starts.
pub(crate) fn program() -> Option<&'static str> {
    NAMES
        .into_iter()
        .find(|name| process::succeeds(Command::new(name).args(["-c", "import ensurepip, venv"])))
}

pub(crate) fn find() -> Option<String> {
    let version = process::output(Command::new(program()?).arg("--version")).ok()?;
    Some(version.trim().to_owned())
}

pub(crate) fn prepare() -> Result<String> {
    if let Some(found) = find() {
        return Ok(found);
    }
    if !may_install() {
        bail!(
            "install Python 3.10 or newer with its venv module; on Debian: sudo apt-get install python3-venv"
        );
    }
    say("python", "apt-get install python3-venv");
    install(&["python3", "python3-venv"])?;
    find().context("Python was installed and does not start")
}
