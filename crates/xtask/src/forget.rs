//! The page of `www/forget`, in `dist/www/forget` for any static host: what each way of shortening a conversation forgets.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::build_app;
use crate::module::{self, Quality};
use crate::process::{self, Stopwatch};
use crate::setup::{Machine, fresh_folder, say};

/// The package whose module the page works with.
const PACKAGE: &str = "palimpsest-npm";

/// The part of it and the classes that the page calls. It gets a module with these alone: the same code, a
/// tenth smaller.
const USED: (&str, &[&str]) = (
    "transcripts",
    &["transcripts", "conversationreader", "growing", "counter"],
);

/// The page's folder.
pub(crate) fn folder(dist: &Path) -> PathBuf {
    dist.join("www/forget")
}

/// Builds the page.
pub(crate) fn build(machine: &Machine, quality: Quality) -> Result<()> {
    let watch = Stopwatch::start();
    let folder = folder(&machine.places.dist());
    let work = folder.with_extension("new");
    fresh_folder(&work)?;
    let module = machine.places.target().join("forget");
    module::narrow(machine, PACKAGE, quality, USED, &module)?;
    process::quiet(
        machine
            .node()
            .arg("crates/xtask/src/forget.mjs")
            .arg(&work)
            .arg(&module),
    )?;
    build_app::compress(machine, &work, quality)?;
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::rename(&work, &folder).context("dist/www/forget cannot be put in place")?;
    say(
        "built",
        &format!("dist/www/forget in {:.1} s", watch.seconds()),
    );
    Ok(())
}
