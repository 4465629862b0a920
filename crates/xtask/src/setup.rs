//! Prepares the machine: looks for each part, fetches the missing ones, and does nothing twice.
//!
//! It installs nothing into the checkout and changes no setting of the user's. Its results go into the cache
//! ([`Places::cache`]); browsers and Python come from the system's packages.

pub(crate) mod bindgen;
pub(crate) mod browsers;
mod checkout;
pub(crate) mod lighthouse;
pub(crate) mod model;
pub(crate) mod npm;
pub(crate) mod oracles;
pub(crate) mod python;
pub(crate) mod vscode;
pub(crate) mod wasm;

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::places::{Places, on_path};
use crate::process::{self, Stopwatch};

/// A part of the set-up. A command names the parts that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// A Rust toolchain that builds and links `wasm32-unknown-unknown`.
    Wasm,
    /// wasm-bindgen and its test runner, at the crate's version.
    Bindgen,
    /// The JavaScript tools of `tests/package.json`.
    Npm,
    /// Chromium, chromedriver and Firefox.
    Browsers,
    /// Python with its venv module: the tests drive the fake with Python's clients too.
    Python,
    /// The Python packages of `tests/requirements.txt`: a small real model and its server.
    Model,
    /// Tokenizers as their makers publish them, from `tests/oracle/package.json` and a Python package.
    Oracles,
    /// Lighthouse, from `tests/lighthouse/package.json`.
    Lighthouse,
    /// VS Code in a browser, from `tests/vscode/package.json`.
    VsCode,
}

impl Part {
    const ALL: [Self; 9] = [
        Self::Wasm,
        Self::Bindgen,
        Self::Npm,
        Self::Browsers,
        Self::Python,
        Self::Model,
        Self::Oracles,
        Self::Lighthouse,
        Self::VsCode,
    ];

    /// The parts that `cargo xtask setup` prepares by default.
    pub(crate) const USUAL: [Self; 5] = [
        Self::Wasm,
        Self::Bindgen,
        Self::Npm,
        Self::Browsers,
        Self::Python,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Wasm => "wasm",
            Self::Bindgen => "bindgen",
            Self::Npm => "npm",
            Self::Browsers => "browsers",
            Self::Python => "python",
            Self::Model => "model",
            Self::Oracles => "oracles",
            Self::Lighthouse => "lighthouse",
            Self::VsCode => "vscode",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.name() == name)
    }
}

/// A prepared machine, with the environment of every child process.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    pub(crate) places: Places,
    /// The variables for children.
    variables: BTreeMap<OsString, OsString>,
    /// Folders put before the search path of children, last added first.
    folders: Vec<PathBuf>,
    /// Children yield the processor to other programs.
    yields: bool,
}

impl Machine {
    fn new(places: Places) -> Self {
        let mut machine = Self {
            places,
            variables: BTreeMap::new(),
            folders: Vec::new(),
            yields: false,
        };
        let target = machine.places.target();
        machine.set("CARGO_TARGET_DIR", target);
        let cache = machine.places.cache.clone();
        machine.set("PALIMPSEST_CACHE", cache);
        if env::var_os("CI").is_some() {
            // In CI every run is a new clone, so it would never read the data of incremental compilation again.
            machine.set("CARGO_INCREMENTAL", "0");
        }
        machine
    }

    /// The same machine, but its children yield the processor to other programs.
    pub(crate) fn yielding(&self) -> Self {
        Self {
            yields: cfg!(unix),
            ..self.clone()
        }
    }

    /// Sets a variable for every later child.
    pub(crate) fn set(&mut self, name: &str, value: impl AsRef<OsStr>) {
        self.variables
            .insert(name.into(), value.as_ref().to_owned());
    }

    /// The value that a child will see.
    pub(crate) fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
    }

    fn put_first(&mut self, folder: PathBuf) {
        self.folders.push(folder);
    }

    /// A program with the set-up's variables and search path, started in the root of the checkout.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = if self.yields {
            let mut nice = Command::new("nice");
            nice.arg("-n10").arg(program);
            nice
        } else {
            Command::new(program)
        };
        command.current_dir(&self.places.root);
        // Cargo's variables about this process must not reach the cargo that it starts.
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy();
            if text == "CARGO"
                || text == "RUST_RECURSION_COUNT"
                || text.starts_with("CARGO_PKG_")
                || text.starts_with("CARGO_MANIFEST_")
            {
                command.env_remove(&name);
            }
        }
        let inherited = env::var_os("PATH").unwrap_or_default();
        let path = self
            .folders
            .iter()
            .rev()
            .cloned()
            .chain(env::split_paths(&inherited));
        if let Ok(path) = env::join_paths(path) {
            command.env("PATH", path);
        }
        command.envs(&self.variables);
        command
    }

    pub(crate) fn cargo(&self) -> Command {
        self.command("cargo")
    }

    pub(crate) fn node(&self) -> Command {
        self.command("node")
    }
}

/// Prepares `parts` and reports the time of slow ones.
pub(crate) fn prepare(places: &Places, parts: &[Part]) -> Result<Machine> {
    let all = Stopwatch::start();
    let mut machine = Machine::new(places.clone());
    checkout::take(places)?;
    for part in parts {
        let watch = Stopwatch::start();
        let found = match part {
            Part::Wasm => wasm::prepare(&mut machine),
            Part::Bindgen => bindgen::prepare(&mut machine),
            Part::Npm => npm::prepare(&mut machine),
            Part::Browsers => browsers::prepare(&mut machine),
            Part::Python => python::prepare(),
            Part::Model => model::prepare(&mut machine),
            Part::Oracles => oracles::prepare(&mut machine),
            Part::Lighthouse => lighthouse::prepare(&machine),
            Part::VsCode => vscode::prepare(&machine),
        }
        .with_context(|| format!("setting up {} failed", part.name()))?;
        say(part.name(), &format!("{found}  ({:.1} s)", watch.seconds()));
    }
    say("ready", &format!("in {:.1} s", all.seconds()));
    Ok(machine)
}

/// Prints the parts that exist and those that are missing, and changes nothing.
pub(crate) fn doctor(places: &Places) {
    let mut machine = Machine::new(places.clone());
    for part in Part::ALL {
        let state = match part {
            Part::Wasm => wasm::find(&mut machine),
            Part::Bindgen => bindgen::find(&mut machine),
            Part::Npm => npm::find(&mut machine),
            Part::Browsers => browsers::find(&mut machine),
            Part::Python => python::find(),
            Part::Model => model::find(&mut machine),
            Part::Oracles => oracles::find(&mut machine),
            Part::Lighthouse => lighthouse::find(&machine),
            Part::VsCode => vscode::find(&machine),
        };
        say(
            part.name(),
            state
                .as_deref()
                .unwrap_or("missing: `cargo xtask setup` brings it"),
        );
    }
}

/// One line of progress.
pub(crate) fn say(part: &str, what: &str) {
    eprintln!("[setup] {part:<11}{what}");
}

/// Holds a lock file until dropped, so that two runs do not build the same thing at once.
pub(crate) fn lock(places: &Places, name: &str) -> Result<File> {
    let path = places.cache.join(format!("{name}.lock"));
    let file = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
    if file.try_lock().is_err() {
        say(name, "another run is at it; waiting");
        file.lock()?;
    }
    Ok(file)
}

/// Makes an empty folder and removes any earlier one.
pub(crate) fn fresh_folder(path: &Path) -> Result<()> {
    if path.exists() {
        fs::remove_dir_all(path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    fs::create_dir_all(path).with_context(|| format!("cannot create {}", path.display()))
}

/// Returns `true` if this process may use Debian's package tools.
pub(crate) fn may_install() -> bool {
    on_path("apt-get").is_some()
        && process::output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// Installs packages of the system. Refreshes the package lists first.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    process::quiet(Command::new("apt-get").args(["update", "-qq"]))?;
    process::quiet(
        Command::new("apt-get")
            .args(["install", "-qq", "-y", "--no-install-recommends"])
            .args(["-o", "DPkg::Lock::Timeout=300"])
            .args(packages)
            .env("DEBIAN_FRONTEND", "noninteractive"),
    )
}
