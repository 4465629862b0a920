//! `cargo xtask size`: what a visitor or an importer downloads, raw, gzip and brotli, against the budgets.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::build_app::files;
use crate::module::PARTS;
use crate::process;
use crate::setup::Machine;

/// A budget over the brotli sizes of some files of a folder.
struct Budget {
    name: &'static str,
    /// In `dist/`.
    folder: &'static str,
    /// Which files count, by the beginning of their names: all of them, or one.
    named: &'static str,
    /// Which files count, by ending; all if it is empty.
    ending: &'static str,
    /// Only those in the folder of what is loaded later; else none of them.
    later: bool,
    /// Kilobytes of 1,000 bytes, compressed with brotli.
    limit: f64,
}

impl Budget {
    fn counts(&self, file: &str) -> bool {
        if CLICKED.iter().any(|name| file.starts_with(name)) {
            return false;
        }
        let ending = Path::new(file).extension().unwrap_or_default();
        (self.ending.is_empty() || ending == self.ending)
            && file.split('/').any(|folder| folder == PARTS) == self.later
            && Path::new(file)
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(self.named))
    }
}

/// A model in the page, and what reads PDF files: they are fetched by a click, and no file of them before.
const CLICKED: [&str; 6] = [
    "llm/",
    "model.",
    "model-worker.",
    "builtin.",
    "pdf/",
    "pages.",
];

#[rustfmt::skip]
const BUDGETS: &[Budget] = &[
    // The page as it stands first.
    Budget { name: "app wasm",     folder: "app", named: "", ending: "wasm", later: false, limit: 307.5 },
    // Markdown before a stored session is shown, the conversation right after the page, the screens when they are wanted, and 37 for
    // formulas with the first one.
    Budget { name: "app prose",    folder: "app", named: "split_prose", ending: "wasm", later: true, limit: 57.0 },
    Budget { name: "app parts",    folder: "app", named: "", ending: "wasm", later: true, limit: 966.0 },
    Budget { name: "app css",      folder: "app", named: "", ending: "css",  later: false, limit: 10.7 },
    Budget { name: "app eager js", folder: "app", named: "", ending: "js",   later: false, limit: 12.9 },
    // "What did it forget?" with its module and all samples. The aim, 500, is reached.
    Budget { name: "forget page",  folder: "www/forget", named: "", ending: "", later: false, limit: 488.8 },
    Budget { name: "forget first", folder: "www/forget", named: "page", ending: "", later: false, limit: 13.4 },
    // The aim is 245. What is read by tables of seven languages is 50 of it, a list that is held open 11; the shapes of Responses, Gemini and
    // Bedrock are 8.
    Budget { name: "package lists", folder: "npm", named: "palimpsest_npm", ending: "wasm", later: false, limit: 449.0 },
    // Sessions bring the engine, storage, servers and exact counts; only who opens one loads them. With lists the aim is 560.
    Budget { name: "package sessions", folder: "npm", named: "session", ending: "wasm", later: true, limit: 350.0 },
    // With what reads vocabularies, reads and measures transcripts, and replays them. Nobody needs all of it at once.
    Budget { name: "package parts", folder: "npm", named: "", ending: "wasm", later: true, limit: 401.9 },
];

/// The most kilobytes that somebody who installs `palimpsest` alone unpacks. The aim is reached.
const UNPACKED: f64 = 3_000.0;

/// Raw, gzip and brotli bytes.
type Sizes = [u64; 3];

/// Prints every file's sizes and the budgets; fails if one is passed.
pub(crate) fn report(machine: &Machine) -> Result<()> {
    let mut passed = 0;
    let mut over = Vec::new();
    for folder in ["app", "npm", "www/forget"] {
        let path = machine.places.dist().join(folder);
        if !path.is_dir() {
            println!("dist/{folder} is not built");
            continue;
        }
        let measured = measure(machine, &path)?;
        println!(
            "\ndist/{folder:<42}{:>10}{:>10}{:>10}",
            "raw", "gzip", "brotli"
        );
        for (file, [raw, gzip, brotli]) in &measured {
            println!("  {file:<45}{raw:>10}{gzip:>10}{brotli:>10}");
        }
        for budget in BUDGETS.iter().filter(|budget| budget.folder == folder) {
            let bytes: u64 = measured
                .iter()
                .filter(|(file, _)| budget.counts(file))
                .map(|(_, sizes)| sizes[2])
                .sum();
            let kilobytes = bytes as f64 / 1000.0;
            println!(
                "  {:<25}{kilobytes:>8.1} KB brotli of {:.0}",
                budget.name, budget.limit
            );
            if kilobytes > budget.limit {
                over.push(budget.name);
            } else {
                passed += 1;
            }
        }
        if folder == "npm" {
            let kilobytes = unpacked(&path)? as f64 / 1000.0;
            println!("  package unpacked         {kilobytes:>8.1} KB of {UNPACKED:.0}");
            if kilobytes > UNPACKED {
                over.push("package unpacked");
            } else {
                passed += 1;
            }
        }
    }
    if !over.is_empty() {
        bail!("over budget: {}", over.join(", "));
    }
    if passed == 0 {
        bail!("nothing is built: run `cargo xtask build` or `cargo xtask pack` first");
    }
    Ok(())
}

/// The bytes of all files of a folder.
fn unpacked(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for file in files(folder)? {
        bytes += fs::metadata(folder.join(file))?.len();
    }
    Ok(bytes)
}

fn measure(machine: &Machine, folder: &Path) -> Result<BTreeMap<String, Sizes>> {
    let answer = process::output(
        machine
            .node()
            .args(["crates/xtask/src/compress.mjs", "measure"])
            .arg(folder),
    )?;
    let sizes: BTreeMap<String, Sizes> =
        serde_json::from_str(&answer).context("the sizes are not JSON")?;
    Ok(sizes
        .into_iter()
        .map(|(file, sizes)| (process::short(Path::new(&file), folder), sizes))
        .collect())
}
