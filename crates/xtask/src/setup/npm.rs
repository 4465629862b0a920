//! The JavaScript tools: wasm-opt, TypeScript, Vite, the browser driver, and the packages with which tests compare.
//!
//! For a folder with a `package.json` and a lock file, `npm ci` installs the packages into a cache folder named after
//! the lock file. The checkout only holds an ignored link `node_modules`, through which Node finds them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Machine, fresh_folder, lock, say};
use crate::places::{digest, on_path};
use crate::process;

/// The folder that declares the tools for every run.
const TOOLS: &str = "tests";

pub(crate) fn find(machine: &mut Machine) -> Option<String> {
    let node = node_version().ok()?;
    let folder = machine.places.root.join(TOOLS);
    let packages = installed(machine, &folder).ok()?;
    if !packages.is_dir() || fs::read_link(folder.join("node_modules")).ok()? != packages {
        return None;
    }
    machine.put_first(packages.join(".bin"));
    Some(format!("Node {node}, packages of {TOOLS}/package.json"))
}

pub(crate) fn prepare(machine: &mut Machine) -> Result<String> {
    node_version()?;
    let folder = machine.places.root.join(TOOLS);
    packages(machine, &folder)?;
    find(machine).context("npm's packages were installed and are not there")
}

/// Installs and links `folder`'s packages. It also serves the larger, optional sets.
pub(crate) fn packages(machine: &Machine, folder: &Path) -> Result<()> {
    packages_with(machine, folder, &[])
}

/// The same with further options for `npm ci`.
pub(crate) fn packages_with(machine: &Machine, folder: &Path, options: &[&str]) -> Result<()> {
    let cached = installed(machine, folder)?;
    if !cached.is_dir() {
        let _lock = lock(&machine.places, "npm")?;
        if !cached.is_dir() {
            install(machine, folder, &cached, options)?;
        }
    }
    link(&cached, &folder.join("node_modules"))
}

fn install(machine: &Machine, folder: &Path, cached: &Path, options: &[&str]) -> Result<()> {
    let name = process::short(folder, &machine.places.root);
    say("npm", &format!("npm ci in {name}"));
    let home = cached.parent().context("a cache folder has a parent")?;
    let work = home.with_extension("new");
    fresh_folder(&work)?;
    for file in ["package.json", "package-lock.json"] {
        fs::copy(folder.join(file), work.join(file))
            .with_context(|| format!("{name} has no {file}"))?;
    }
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    process::quiet(
        Command::new(npm)
            .args(["ci", "--no-audit", "--no-fund", "--loglevel=error"])
            .args(options)
            .current_dir(&work),
    )?;
    if home.exists() {
        fs::remove_dir_all(home)?;
    }
    fs::rename(&work, home)?;
    Ok(())
}

/// The cache's `node_modules` for a folder's lock file.
pub(super) fn installed(machine: &Machine, folder: &Path) -> Result<PathBuf> {
    let path = folder.join("package-lock.json");
    let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(machine
        .places
        .cache
        .join("node")
        .join(digest(&text))
        .join("node_modules"))
}

#[cfg(unix)]
fn link(target: &Path, at: &Path) -> Result<()> {
    if fs::read_link(at).is_ok_and(|existing| existing == target) {
        return Ok(());
    }
    if at.is_symlink() {
        fs::remove_file(at)?;
    }
    ensure!(
        !at.exists(),
        "{} is in the way: remove it, the packages are linked from the cache",
        at.display()
    );
    std::os::unix::fs::symlink(target, at).with_context(|| format!("cannot link {}", at.display()))
}

#[cfg(windows)]
fn link(target: &Path, at: &Path) -> Result<()> {
    if fs::read_link(at).is_ok_and(|existing| existing == target) {
        return Ok(());
    }
    if at.is_symlink() {
        fs::remove_dir(at)?;
    }
    ensure!(
        !at.exists(),
        "{} is in the way: remove it, the packages are linked from the cache",
        at.display()
    );
    std::os::windows::fs::symlink_dir(target, at)
        .with_context(|| format!("cannot link {}", at.display()))
}

fn node_version() -> Result<String> {
    ensure!(
        on_path("node").is_some() && on_path("npm").is_some(),
        "install Node.js 20 or newer, with npm"
    );
    let version = process::output(Command::new("node").arg("--version"))?;
    let version = version.trim().trim_start_matches('v').to_owned();
    let major = version
        .split('.')
        .next()
        .and_then(|major| major.parse::<u32>().ok());
    ensure!(
        major.is_some_and(|major| major >= 20),
        "Node {version} is too old: install 20 or newer"
    );
    Ok(version)
}
