//! From a crate to the wasm module and its JavaScript: compiled, bound, optimised.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::places::digest;
use crate::process;
use crate::setup::{Machine, say};

/// How much work the compiler puts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quality {
    /// Profile `wasm`, then wasm-opt: small, slow to make.
    Release,
    /// Profile `wasm-dev`: quick to make.
    Dev,
}

impl Quality {
    fn profile(self) -> &'static str {
        match self {
            Self::Release => "wasm",
            Self::Dev => "wasm-dev",
        }
    }
}

/// Builds `package` and leaves `<name>.js`, `<name>_bg.wasm` and their types in `folder`, where `<name>` is the
/// package's with underscores.
pub(crate) fn build(
    machine: &Machine,
    package: &str,
    quality: Quality,
    folder: &Path,
) -> Result<()> {
    let name = package.replace('-', "_");
    process::show(
        machine
            .cargo()
            .args(["build", "--lib", "--target", "wasm32-unknown-unknown"])
            .args(["--package", package, "--profile", quality.profile()])
            .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", remapping()),
    )?;
    let compiled = machine
        .places
        .target()
        .join("wasm32-unknown-unknown")
        .join(quality.profile())
        .join(format!("{name}.wasm"));
    ensure!(
        compiled.is_file(),
        "{package} builds no wasm library: its [lib] needs crate-type \"cdylib\""
    );
    fs::create_dir_all(folder)?;
    process::quiet(
        machine
            .command("wasm-bindgen")
            .args(["--target", "web", "--out-name", &name, "--out-dir"])
            .arg(folder)
            // who loads the module says where it is; a second address would make bundlers emit it twice
            .arg("--omit-default-module-path")
            .arg(&compiled),
    )?;
    if quality == Quality::Release {
        optimise(machine, &name, &folder.join(format!("{name}_bg.wasm")))?;
    }
    Ok(())
}

/// Source paths of dependencies must not tell whose machine built them.
fn remapping() -> String {
    let home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(env::home_dir()?.join(".cargo")))
        .unwrap_or_default();
    format!("--remap-path-prefix={}=/cargo", home.display())
}

/// What `wasm-opt` is told. No feature flags: the module says itself which it uses, and more than those would not load
/// everywhere. Nothing of Rust's lies in the first 1,024 bytes of memory but the far end of a stack that is all used up.
const OPTIMISING: [&str; 2] = ["-Oz", "--low-memory-unused"];

/// Shrinks a module in place. The same input gives the same output, so the last result is kept.
fn optimise(machine: &Machine, name: &str, module: &Path) -> Result<()> {
    let input = fs::read(module).with_context(|| format!("cannot read {}", module.display()))?;
    let folder = machine.places.cache.join("wasm-opt").join(name);
    let told = OPTIMISING.join(" ").into_bytes();
    let kept = folder.join(format!("{}.wasm", digest(&[told, input.clone()].concat())));
    if !kept.is_file() {
        say("wasm-opt", &format!("{name}, {} bytes", input.len()));
        crate::setup::fresh_folder(&folder)?;
        let partial = folder.join("partial");
        process::quiet(
            machine
                .command("wasm-opt")
                .args(OPTIMISING)
                .arg(module)
                .arg("-o")
                .arg(&partial),
        )?;
        fs::rename(&partial, &kept)?;
    }
    fs::copy(&kept, module)?;
    Ok(())
}
