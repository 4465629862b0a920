//! Notes the checkout to which the builds of our own crates in the shared target folder belong.
//!
//! Cargo identifies a crate of a workspace by its place in it, and takes a build for fresh if no source is younger. If
//! two checkouts share a target folder, the one with older files would get the other's build. So the folder names the
//! last checkout, and for another one the builds of our own crates are removed. Builds of crates from a registry stay.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::places::Places;

/// The beginnings of the names of our own crates.
const OWN: [&str; 3] = ["palimpsest", "xtask", "oracle"];

/// Assigns the target folder to this checkout.
pub(super) fn take(places: &Places) -> Result<()> {
    settle(&places.target(), &places.root.to_string_lossy())
}

fn settle(target: &Path, checkout: &str) -> Result<()> {
    let note = target.join("checkout");
    if fs::read_to_string(&note).is_ok_and(|last| last == checkout) {
        return Ok(());
    }
    fs::create_dir_all(target).with_context(|| format!("cannot create {}", target.display()))?;
    // `debug/`, `release/`, and the same once more below the name of each target.
    for folder in folders(target) {
        forget(&folder)?;
        for profile in folders(&folder) {
            forget(&profile)?;
        }
    }
    fs::write(&note, checkout).with_context(|| format!("cannot write {}", note.display()))
}

fn forget(profile: &Path) -> Result<()> {
    for folder in folders(&profile.join(".fingerprint")) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        if OWN.iter().any(|own| name.starts_with(own)) {
            fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot remove {}", folder.display()))?;
        }
    }
    Ok(())
}

/// The folders in a folder; none if it does not exist.
fn folders(place: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another checkout's builds of our own crates are removed, a library's stay, and our own stay for this checkout.
    #[test]
    fn a_target_folder_belongs_to_one_checkout() {
        let target =
            std::env::temp_dir().join(format!("palimpsest-checkout-{}", std::process::id()));
        let places = [
            "debug/.fingerprint/palimpsest-core-1",
            "debug/.fingerprint/serde-1",
            "wasm32-unknown-unknown/release/.fingerprint/palimpsest-web-1",
            "wasm32-unknown-unknown/release/.fingerprint/leptos-1",
        ];
        let make = || {
            for place in places {
                fs::create_dir_all(target.join(place)).unwrap();
            }
        };
        let there = || places.map(|place| target.join(place).is_dir());
        make();
        settle(&target, "/one").unwrap();
        assert_eq!(there(), [false, true, false, true], "nobody is known");
        make();
        settle(&target, "/one").unwrap();
        assert_eq!(there(), [true; 4], "the same checkout");
        settle(&target, "/two").unwrap();
        assert_eq!(there(), [false, true, false, true], "another one");
        fs::remove_dir_all(&target).unwrap();
    }
}
