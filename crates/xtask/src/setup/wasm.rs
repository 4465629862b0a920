//! A toolchain that builds and links `wasm32-unknown-unknown`, the same one for host and wasm.
//!
//! The set-up tries in this order:
//! - the toolchain in use;
//! - a toolchain that an earlier run linked;
//! - `rustup target add`;
//! - Debian's Rust packages, if rustup's servers cannot be reached. They are unpacked into the cache (not installed),
//!   the wasm standard library is built once from their source, and the result is linked under its own name.
//!
//! The user's default toolchain and overrides stay as they are; children get `RUSTUP_TOOLCHAIN`. `WASM_SKIP_RUSTUP=1`
//! skips `rustup target add`; `PALIMPSEST_TOOLCHAIN` changes the linked name.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::{Machine, fresh_folder, lock, may_install, say};
use crate::places::on_path;
use crate::process::{self, Echo};

const TARGET: &str = "wasm32-unknown-unknown";

/// Debian's compiler, package manager, standard library source, linter, formatter and linker.
const PACKAGES: [&str; 6] = [
    "rustc-web",
    "cargo-web",
    "rust-web-src",
    "rust-web-clippy",
    "rustfmt-web",
    "rust-web-llvm",
];

/// A program that allocates and formats, so that it does not link with a standard library without usable bitcode.
const PROBE: &str = "#[unsafe(no_mangle)]
pub extern \"C\" fn probe(n: u32) -> usize { vec![1_u8; n as usize].len() + format!(\"{n}\").len() }
";

fn linked_name() -> String {
    env::var("PALIMPSEST_TOOLCHAIN").unwrap_or_else(|_| "palimpsest-wasm".into())
}

/// Finds a working toolchain without changing anything.
pub(crate) fn find(machine: &mut Machine) -> Option<String> {
    if links_wasm(machine) {
        return Some(version(machine));
    }
    let name = linked_name();
    let toolchains = process::output(Command::new("rustup").args(["toolchain", "list"])).ok()?;
    if toolchains
        .lines()
        .any(|line| line.split_whitespace().next() == Some(name.as_str()))
    {
        let mut candidate = machine.clone();
        candidate.set("RUSTUP_TOOLCHAIN", &name);
        if links_wasm(&candidate) {
            *machine = candidate;
            return Some(format!("{} (toolchain {name})", version(machine)));
        }
    }
    None
}

/// Prepares a toolchain, and the source of its standard library if that is available.
pub(crate) fn prepare(machine: &mut Machine) -> Result<String> {
    let found = toolchain(machine)?;
    if !has_std_source(machine) && !skips_rustup() {
        say("wasm", "rustup component add rust-src");
        let mut add = machine.command("rustup");
        add.args(["component", "add", "rust-src"]);
        // Without the source, modules are larger and nothing else changes.
        let _ = process::watch(&mut add, Duration::from_mins(5), Echo::Off)?;
    }
    Ok(found)
}

/// Returns `true` if a build can compile the standard library for size.
pub(crate) fn has_std_source(machine: &Machine) -> bool {
    let sysroot = process::output(machine.command("rustc").args(["--print", "sysroot"]));
    sysroot.is_ok_and(|sysroot| {
        Path::new(sysroot.trim())
            .join("lib/rustlib/src/rust/library/std/Cargo.toml")
            .is_file()
    })
}

fn skips_rustup() -> bool {
    env::var_os("WASM_SKIP_RUSTUP").is_some_and(|value| !value.is_empty() && value != "0")
}

fn toolchain(machine: &mut Machine) -> Result<String> {
    if let Some(found) = find(machine) {
        return Ok(found);
    }
    ensure!(
        on_path("rustup").is_some(),
        "the Rust toolchain has no {TARGET} target, and rustup is not installed: \
         install rustup, or your system's package with Rust's standard library for WebAssembly"
    );
    if !skips_rustup() {
        say("wasm", &format!("rustup target add {TARGET}"));
        let mut add = machine.command("rustup");
        add.args(["target", "add", TARGET]);
        // A network that drops packets would block it for very long.
        let added = process::watch(&mut add, Duration::from_mins(5), Echo::Off)?;
        if let Some(found) = find(machine) {
            return Ok(found);
        }
        say(
            "wasm",
            &format!(
                "rustup cannot provide it: {}",
                process::tail(&added.text, 3)
            ),
        );
    }
    ensure!(
        on_path("apt-get").is_some() && on_path("dpkg-deb").is_some(),
        "run `rustup target add {TARGET}` where rustup can reach its servers; \
         the other way, through Debian's packages, needs Debian 12 or newer"
    );
    let _lock = lock(&machine.places, "wasm")?;
    // Another run may have finished meanwhile.
    if let Some(found) = find(machine) {
        return Ok(found);
    }
    let toolchain = debian_toolchain(&machine.places.cache.join("rust-wasm"))?;
    build_std(&toolchain)?;
    let name = linked_name();
    process::quiet(
        Command::new("rustup")
            .args(["toolchain", "link", &name])
            .arg(&toolchain),
    )?;
    find(machine).context("the toolchain made from Debian's packages does not link a wasm module")
}

/// Compiles and links a small module with link-time optimisation, like the release build.
fn links_wasm(machine: &Machine) -> bool {
    let folder = machine
        .places
        .cache
        .join(format!("probe-{}", std::process::id()));
    if fresh_folder(&folder).is_err() || fs::write(folder.join("probe.rs"), PROBE).is_err() {
        return false;
    }
    let links = process::succeeds(
        machine
            .command("rustc")
            .args([
                "--edition",
                "2024",
                "--crate-type",
                "cdylib",
                "--target",
                TARGET,
                "-O",
                "-Clto=fat",
            ])
            .args(["-o", "probe.wasm", "probe.rs"])
            .current_dir(&folder),
    );
    // An empty folder left behind is not an error.
    let _ = fs::remove_dir_all(&folder);
    links
}

fn version(machine: &Machine) -> String {
    let line = process::output(machine.command("rustc").arg("--version")).unwrap_or_default();
    line.split_whitespace()
        .take(2)
        .collect::<Vec<_>>()
        .join(" ")
}

/// A toolchain folder made of Debian's packages: an earlier one if complete, otherwise a new download.
fn debian_toolchain(home: &Path) -> Result<PathBuf> {
    fs::create_dir_all(home)?;
    let mut made: Vec<PathBuf> = fs::read_dir(home)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|folder| folder.join(".done").is_file())
        .collect();
    made.sort();
    if let Some(newest) = made.pop() {
        return Ok(newest.join("tc"));
    }

    ensure!(
        may_install(),
        "run it as root once: the download of Debian's Rust packages needs apt-get"
    );
    say("wasm", "apt-get update");
    process::quiet(Command::new("apt-get").args(["update", "-qq"]))?;
    let version = candidate("rust-web-src")
        .context("Debian's package rust-web-src is not to be had: is the security archive among apt's sources?")?;
    let mut packages: Vec<String> = PACKAGES.iter().map(ToString::to_string).collect();
    let llvm = llvm_package(&version)?;
    packages.push(llvm.replace("llvm-", "lld-"));
    packages.push(llvm);

    let work = home.join(format!("{version}.new"));
    let archives = work.join("archives");
    let unpacked = work.join("unpacked");
    fresh_folder(&archives.join("partial"))?;
    fresh_folder(&unpacked)?;
    say(
        "wasm",
        &format!("downloading {} {version}", packages.join(", ")),
    );
    process::quiet(
        Command::new("apt-get")
            .args([
                "install",
                "-qq",
                "-y",
                "--download-only",
                "--reinstall",
                "--no-install-recommends",
            ])
            .args(["-o", "APT::Sandbox::User=root", "-o"])
            .arg(format!("Dir::Cache::archives={}", archives.display()))
            .args(&packages),
    )?;
    say("wasm", "unpacking");
    for entry in fs::read_dir(&archives)? {
        let archive = entry?.path();
        if archive.extension().is_some_and(|ending| ending == "deb") {
            process::quiet(
                Command::new("dpkg-deb")
                    .arg("--extract")
                    .arg(&archive)
                    .arg(&unpacked),
            )?;
        }
    }
    shape_toolchain(&unpacked.join("usr"))?;
    fs::rename(unpacked.join("usr"), work.join("tc"))?;
    fs::remove_dir_all(&archives)?;
    fs::remove_dir_all(&unpacked)?;

    let folder = home.join(&version);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::rename(&work, &folder)?;
    fs::write(folder.join(".done"), "")?;
    Ok(folder.join("tc"))
}

/// The version that apt would install.
fn candidate(package: &str) -> Option<String> {
    let policy = process::output(Command::new("apt-cache").args(["policy", package])).ok()?;
    let version = policy
        .lines()
        .find_map(|line| line.trim().strip_prefix("Candidate: "))?;
    (version != "(none)").then(|| version.to_owned())
}

/// The LLVM package that this version of Debian's Rust requires.
fn llvm_package(version: &str) -> Result<String> {
    let record = process::output(
        Command::new("apt-cache")
            .arg("show")
            .arg(format!("rust-web-llvm={version}")),
    )?;
    record
        .split(|char: char| !char.is_ascii_alphanumeric() && char != '-')
        .find(|word| {
            word.strip_prefix("llvm-")
                .is_some_and(|digits| digits.parse::<u32>().is_ok())
        })
        .map(str::to_owned)
        .context("rust-web-llvm names no version of LLVM")
}

/// Turns the unpacked `usr` into the layout of a toolchain that rustup and cargo expect.
fn shape_toolchain(usr: &Path) -> Result<()> {
    // The standard library's source, where `-Zbuild-std` looks for it.
    let source = fs::read_dir(usr.join("src"))?
        .filter_map(|entry| Some(entry.ok()?.path().join("library")))
        .find(|library| library.is_dir())
        .context("rust-web-src holds no library folder")?;
    let rust = usr.join("lib/rustlib/src/rust");
    if rust.is_symlink() {
        fs::remove_file(&rust)?;
    }
    fs::create_dir_all(&rust)?;
    fs::rename(source, rust.join("library"))?;
    for unused in ["src", "share", "include"] {
        let folder = usr.join(unused);
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
    }

    // rustup starts a linked toolchain with its `lib` as the library path, so the shared libraries must be there.
    let host = format!("{}-linux-gnu", env::consts::ARCH);
    let library = usr.join("lib");
    for entry in fs::read_dir(library.join(&host))? {
        let name = entry?.file_name();
        if name.to_string_lossy().contains(".so") {
            link(&Path::new(&host).join(&name), &library.join(&name))?;
        }
    }
    let tools = library.join(format!(
        "rustlib/{}-unknown-linux-gnu/bin",
        env::consts::ARCH
    ));
    fs::create_dir_all(&tools)?;
    link(
        Path::new("../../../../bin/rust-lld"),
        &tools.join("rust-lld"),
    )
}

#[cfg(unix)]
fn link(target: &Path, at: &Path) -> Result<()> {
    if at.is_symlink() || at.exists() {
        fs::remove_file(at)?;
    }
    std::os::unix::fs::symlink(target, at).with_context(|| format!("cannot link {}", at.display()))
}

#[cfg(not(unix))]
fn link(_target: &Path, at: &Path) -> Result<()> {
    anyhow::bail!("Debian's packages do not run here: {}", at.display())
}

/// Compiles the standard library for wasm from the toolchain's own source into its own library folder.
fn build_std(toolchain: &Path) -> Result<()> {
    let home = toolchain.join("lib/rustlib").join(TARGET);
    let done = home.join(".done");
    if done.is_file() {
        return Ok(());
    }
    let rustc = toolchain.join("bin/rustc");
    let libraries = toolchain.join("lib");
    let verbose = process::output(
        Command::new(&rustc)
            .arg("-vV")
            .env("LD_LIBRARY_PATH", &libraries),
    )?;
    let commit = verbose
        .lines()
        .find_map(|line| line.strip_prefix("commit-hash: "))
        .context("rustc does not say its commit")?;
    say(
        "wasm",
        &format!("building the standard library for {TARGET}"),
    );

    let work = toolchain.with_file_name("std-build");
    fresh_folder(&work.join("src"))?;
    fs::write(
        work.join("Cargo.toml"),
        "[package]\nname = \"empty\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[profile.release]\nopt-level = 3\n",
    )?;
    fs::write(work.join("src/lib.rs"), "")?;
    let mut build = Command::new(toolchain.join("bin/cargo"));
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if (text.starts_with("CARGO") && text != "CARGO_HOME")
            || text.starts_with("RUSTUP_")
            || text == "RUSTC_WRAPPER"
        {
            build.env_remove(&name);
        }
    }
    // With bitcode, so that the release build can optimise across the library. Source paths are those of the official
    // builds.
    let flags = format!(
        "-Cembed-bitcode=yes --remap-path-prefix={}=/rustc/{commit}",
        libraries.join("rustlib/src/rust").display()
    );
    process::quiet(
        build
            .args(["build", "--release", "--lib", "--target", TARGET])
            .arg("-Zbuild-std=core,alloc,std,panic_abort,proc_macro,test")
            .current_dir(&work)
            .env("LD_LIBRARY_PATH", &libraries)
            .env("RUSTC", &rustc)
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTFLAGS", flags)
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_TARGET_DIR", work.join("target")),
    )?;

    let library = home.join("lib");
    fresh_folder(&library)?;
    for entry in fs::read_dir(work.join("target").join(TARGET).join("release/deps"))? {
        let file = entry?.path();
        let name = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let wanted = file
            .extension()
            .is_some_and(|ending| ending == "rlib" || ending == "rmeta");
        if wanted && !name.starts_with("libempty") {
            fs::copy(&file, library.join(&name))?;
        }
    }
    fs::remove_dir_all(&work)?;
    fs::write(done, "")?;
    Ok(())
}
