//! The system's Python 3 with its venv module, for virtual environments.

use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{install, may_install, say};
use crate::process;

/// Its usual names, best first.
const NAMES: [&str; 2] = ["python3", "python"];

/// Name and version of the Python 3 that has venv.
fn look() -> Option<(&'static str, String)> {
    // A single start, because behind a version manager's shim each one takes a large part of a second.
    let check = "import ensurepip, sys, venv; print('%d.%d.%d' % sys.version_info[:3])";
    NAMES.into_iter().find_map(|name| {
        let version = process::output(Command::new(name).args(["-c", check])).ok()?;
        Some((name, version.trim().to_owned()))
    })
}

/// The name of the Python program.
pub(crate) fn program() -> Option<&'static str> {
    Some(look()?.0)
}

pub(crate) fn find() -> Option<String> {
    Some(format!("Python {}", look()?.1))
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
