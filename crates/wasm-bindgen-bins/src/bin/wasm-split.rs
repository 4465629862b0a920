//! `wasm-split apart <module> <folder> <main>`: takes what is loaded later out of a module, before wasm-bindgen sees it.
//! `wasm-split together <module> <whole>`: makes the same module one that loads nothing later.
//!
//! Both take what was linked with `--emit-relocs`. The functions to part at are those that `#[wasm_split]` names.

use std::env;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use walrus::ir::Value;
use walrus::{ExportItem, FunctionId, ImportKind, Module, ModuleConfig};

fn main() -> ExitCode {
    let told: Vec<String> = env::args().skip(1).collect();
    let told: Vec<&str> = told.iter().map(String::as_str).collect();
    let done = match told[..] {
        ["apart", module, folder, main] => apart(module, Path::new(folder), main),
        ["together", module, whole] => together(module, whole),
        _ => Err(anyhow::anyhow!(
            "it is `apart <module> <folder> <main>` or `together <module> <whole>`"
        )),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("wasm-split: {error:?}");
            ExitCode::FAILURE
        }
    }
}

/// The parts go into `folder` with the script that loads them, `later.js`; `main.wasm` is for wasm-bindgen, which makes
/// `<main>` of it.
fn apart(module: &str, folder: &Path, main: &str) -> Result<()> {
    let input = read(module)?;
    let main_module = format!("./{main}");
    let main_out = folder.join("main.wasm");
    let mut options = wasm_split_cli_support::Options::new(&input);
    options.output_dir = folder;
    options.main_out_path = &main_out;
    options.link_name = "./later.js";
    options.main_module = &main_module;
    let made =
        wasm_split_cli_support::transform(options).map_err(|error| anyhow::anyhow!("{error:?}"))?;
    ensure!(
        !made.split_modules.is_empty(),
        "{module} names nothing that is loaded later"
    );
    Ok(())
}

/// What calls a part goes straight to it, and what would load it says at once that it is there.
fn together(module: &str, whole: &str) -> Result<()> {
    let mut wasm = ModuleConfig::new()
        .generate_producers_section(false)
        .parse(&read(module)?)?;
    let sections: Vec<_> = wasm
        .customs
        .iter()
        .map(|(id, section)| (id, section.name().to_owned()))
        .collect();
    for (id, name) in sections {
        if name == "linking" || name.starts_with("reloc.") || name == "__wasm_split_unstable" {
            wasm.customs.delete(id);
        }
    }
    let mut parted = Vec::new();
    let mut loads = Vec::new();
    for import in wasm.imports.iter() {
        let ImportKind::Function(function) = import.kind else {
            continue;
        };
        if import.name.starts_with("__wasm_split_load_") {
            loads.push(function);
        } else if let Some(name) = import.name.strip_prefix("__wasm_split_00") {
            parted.push((
                function,
                format!(
                    "__wasm_split_00{}",
                    name.replacen("00_import_", "00_export_", 1)
                ),
            ));
        }
    }
    ensure!(
        !loads.is_empty(),
        "{module} names nothing that is loaded later"
    );
    for (import, name) in parted {
        let export = taken(&mut wasm, &name)?;
        wasm.replace_imported_func(import, |(body, given)| {
            for local in given {
                body.local_get(*local);
            }
            body.call(export);
        })?;
    }
    let table = wasm
        .tables
        .main_function_table()?
        .context("there is no table of functions")?;
    for import in loads {
        let told = wasm
            .types
            .add(&[walrus::ValType::I32, walrus::ValType::I32], &[]);
        wasm.replace_imported_func(import, |(body, given)| {
            // (callback, data): callback(data, true)
            body.local_get(given[1])
                .const_(Value::I32(1))
                .local_get(given[0])
                .call_indirect(told, table);
        })?;
    }
    fs::write(whole, wasm.emit_wasm()).with_context(|| format!("cannot write {whole}"))
}

/// The function that is exported by that name, which nobody outside needs any more.
fn taken(wasm: &mut Module, name: &str) -> Result<FunctionId> {
    let found = wasm.exports.iter().find(|export| export.name == name);
    let export = found.with_context(|| format!("{name} is not there"))?;
    let ExportItem::Function(function) = export.item else {
        bail!("{name} is no function");
    };
    let id = export.id();
    wasm.exports.delete(id);
    Ok(function)
}

fn read(file: &str) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("cannot read {file}"))
}
