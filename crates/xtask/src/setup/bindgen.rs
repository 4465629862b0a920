//! wasm-bindgen's command-line tools and `wasm-split`, built from `crates/wasm-bindgen-bins` into the cache.
//!
//! They must have exactly the version of the `wasm-bindgen` crate that the workspace links. So they are built from the
//! same lock file, once per version, outside of the checkout's target folder.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::{Machine, fresh_folder, lock, say};
use crate::places::digest;
use crate::process;

const BINS: [&str; 3] = ["wasm-bindgen", "wasm-bindgen-test-runner", "wasm-split"];

/// The version pinned in the bins' manifest.
fn version(machine: &Machine) -> Result<String> {
    let path = machine
        .places
        .root
        .join("crates/wasm-bindgen-bins/Cargo.toml");
    let manifest =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    manifest
        .lines()
        .find(|line| line.starts_with("wasm-bindgen-cli"))
        .and_then(|line| line.split('"').nth(1))
        .map(|version| version.trim_start_matches('=').to_owned())
        .with_context(|| format!("{} pins no wasm-bindgen-cli", path.display()))
}

/// Each version of the tools, including our own, has its own folder.
fn folder(machine: &Machine, version: &str) -> PathBuf {
    let package = machine.places.root.join("crates/wasm-bindgen-bins");
    let own: Vec<u8> = ["Cargo.toml", "src/bin/wasm-split.rs"]
        .into_iter()
        .flat_map(|file| fs::read(package.join(file)).unwrap_or_default())
        .collect();
    machine
        .places
        .cache
        .join("bin")
        .join(format!("wasm-bindgen-{version}-{}", digest(&own)))
}

pub(crate) fn find(machine: &mut Machine) -> Option<String> {
    let version = version(machine).ok()?;
    let folder = folder(machine, &version);
    if !BINS
        .iter()
        .all(|bin| folder.join(format!("{bin}{EXE_SUFFIX}")).is_file())
    {
        return None;
    }
    let runner = folder.join(format!("wasm-bindgen-test-runner{EXE_SUFFIX}"));
    machine.set("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", runner);
    let capabilities = machine.places.root.join("tests/webdriver.json");
    machine.set("WASM_BINDGEN_TEST_WEBDRIVER_JSON", capabilities);
    // Seconds for a whole test binary. The runner's own 20 are short on a busy machine.
    machine.set("WASM_BINDGEN_TEST_TIMEOUT", "300");
    machine.put_first(folder);
    Some(format!("wasm-bindgen {version}"))
}

pub(crate) fn prepare(machine: &mut Machine) -> Result<String> {
    if let Some(found) = find(machine) {
        return Ok(found);
    }
    let _lock = lock(&machine.places, "bindgen")?;
    if let Some(found) = find(machine) {
        return Ok(found);
    }
    let version = version(machine)?;
    say(
        "bindgen",
        &format!("building wasm-bindgen {version} (once, some minutes)"),
    );
    let work = machine.places.cache.join("bindgen-build");
    process::quiet(
        machine
            .cargo()
            .args([
                "build",
                "--package",
                "wasm-bindgen-bins",
                "--profile",
                "tools",
                "--target-dir",
            ])
            .arg(&work),
    )?;
    let folder = folder(machine, &version);
    let partial = folder.with_extension("new");
    fresh_folder(&partial)?;
    for bin in BINS {
        let file = format!("{bin}{EXE_SUFFIX}");
        fs::copy(work.join("tools").join(&file), partial.join(&file))?;
    }
    fs::rename(&partial, &folder)?;
    fs::remove_dir_all(&work)?;
    find(machine).context("wasm-bindgen was built and is not there")
}
