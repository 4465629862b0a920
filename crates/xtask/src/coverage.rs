//! `cargo xtask coverage` lists the lines of the crates that the host tests reach.
//!
//! It uses the compiler's instrumentation and the tools of the compiler's LLVM: those of the toolchain made from
//! Debian's packages, of rustup's component `llvm-tools`, or on the search path.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::build_app::files;
use crate::places::on_path;
use crate::process;
use crate::setup::{Machine, fresh_folder};

/// Runs the tests of the pure crates instrumented and prints a table by file.
pub(crate) fn run(machine: &Machine) -> Result<()> {
    let profdata = tool(machine, "llvm-profdata")?;
    let cov = tool(machine, "llvm-cov")?;
    let target = machine.places.cache.join("coverage");
    let profiles = target.join("profiles");
    fresh_folder(&profiles)?;

    let mut test = machine.cargo();
    test.args(["test", "--tests"]);
    for krate in ["tokens", "core", "engine", "ollama"] {
        if machine
            .places
            .root
            .join(format!("crates/palimpsest-{krate}/Cargo.toml"))
            .is_file()
        {
            test.args(["--package", &format!("palimpsest-{krate}")]);
        }
    }
    test.env("CARGO_TARGET_DIR", &target)
        .env("RUSTFLAGS", "-Cinstrument-coverage")
        .env("LLVM_PROFILE_FILE", profiles.join("%p-%m.profraw"));
    let arguments: Vec<_> = test.get_args().map(ToOwned::to_owned).collect();
    process::show(&mut test)?;

    // The same command again, only to learn the paths of the binaries.
    let mut list = machine.cargo();
    list.args(arguments)
        .args(["--no-run", "--message-format=json"])
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTFLAGS", "-Cinstrument-coverage");
    let messages = process::output(&mut list)?;
    let binaries: Vec<PathBuf> = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|message| message["executable"].as_str().map(PathBuf::from))
        .collect();
    let (first, others) = binaries.split_first().context("no test binary was built")?;

    let merged = target.join("all.profdata");
    let raw: Vec<PathBuf> = files(&profiles)?
        .into_iter()
        .map(|file| profiles.join(file))
        .collect();
    ensure!(!raw.is_empty(), "the instrumented tests wrote no profile");
    // In a toolchain with LLVM's libraries beside rustc's, the LLVM tools do not look there by themselves.
    let libraries = sysroot(machine)?.join("lib");
    process::quiet(
        machine
            .command(profdata)
            .env("LD_LIBRARY_PATH", &libraries)
            .args(["merge", "--sparse"])
            .args(&raw)
            .arg("-o")
            .arg(&merged),
    )?;
    let mut report = machine.command(cov);
    report
        .env("LD_LIBRARY_PATH", &libraries)
        .arg("report")
        .arg(first)
        .arg("--instr-profile")
        .arg(&merged);
    for binary in others {
        report.arg("--object").arg(binary);
    }
    report
        .arg("--ignore-filename-regex")
        .arg(r"(registry|rustc|/tests/)");
    process::show(&mut report)
}

/// The folder of the toolchain.
fn sysroot(machine: &Machine) -> Result<PathBuf> {
    let printed = process::output(machine.command("rustc").args(["--print", "sysroot"]))?;
    Ok(PathBuf::from(printed.trim()))
}

fn tool(machine: &Machine, name: &str) -> Result<PathBuf> {
    let sysroot = sysroot(machine)?;
    let verbose = process::output(machine.command("rustc").arg("-vV"))?;
    let field = |field: &str| {
        verbose
            .lines()
            .find_map(|line| line.strip_prefix(field))
            .unwrap_or_default()
            .to_owned()
    };
    let host = field("host: ");
    let major = field("LLVM version: ")
        .split('.')
        .next()
        .unwrap_or_default()
        .to_owned();
    let candidates = [
        sysroot
            .join("lib/rustlib")
            .join(host)
            .join("bin")
            .join(format!("{name}{EXE_SUFFIX}")),
        sysroot.join("bin").join(format!("{name}-{major}")),
    ];
    candidates
        .into_iter()
        .find(|path| fs::metadata(path).is_ok_and(|file| file.is_file()))
        .or_else(|| on_path(&format!("{name}-{major}")))
        .with_context(|| {
            format!("{name} of LLVM {major} is missing: rustup component add llvm-tools")
        })
}
