//! `wasm-split apart <module> <folder> <main> <least>`: takes what is loaded later out of a module, before wasm-bindgen sees it.
//! What parts have in common becomes a file of its own if it is at least so many bytes of code, and otherwise stays.
//! `wasm-split together <module> <whole>`: makes the same module one that loads nothing later.
//! `wasm-split narrow <module> <narrow> <part> <class>…`: leaves of a module only that part and these classes, for `apart`. Prints
//! the names of the imports that nobody provides any more, a line each.
//!
//! All take what was linked with `--emit-relocs`. The functions to part at are those that `#[wasm_split]` names.

use std::collections::HashSet;
use std::env;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use walrus::ir::Value;
use walrus::{ExportItem, FunctionId, ImportKind, Module, ModuleConfig};
use wasm_encoder::{
    ConstExpr, DataCountSection, DataSection, EntityType, ExportKind, ExportSection, ImportSection,
    RawSection,
};
use wasmparser::{DataKind, ExternalKind, KnownCustom, Name, Operator, Parser, Payload, TypeRef};

fn main() -> ExitCode {
    let told: Vec<String> = env::args().skip(1).collect();
    let told: Vec<&str> = told.iter().map(String::as_str).collect();
    let done = match told[..] {
        ["apart", module, folder, main, least] => least
            .parse()
            .with_context(|| format!("{least} is no number of bytes"))
            .and_then(|least| apart(module, Path::new(folder), main, least)),
        ["together", module, whole] => together(module, whole),
        ["narrow", module, narrow, part, ref classes @ ..] => narrowed(module, part, classes)
            .and_then(|bytes| {
                fs::write(narrow, bytes).with_context(|| format!("cannot write {narrow}"))
            }),
        _ => Err(anyhow::anyhow!(
            "it is `apart <module> <folder> <main> <least>`, `together <module> <whole>` or \
             `narrow <module> <narrow> <part> <class>…`"
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
fn apart(module: &str, folder: &Path, main: &str, least: usize) -> Result<()> {
    let mut input = read(module)?;
    part(module, &input, folder, main)?;
    for _ in 0..ROUNDS {
        let small = in_small_chunks(folder, least)?;
        if small.is_empty() {
            break;
        }
        input = kept_in_main(&input, &small)?;
        for file in files(folder)? {
            fs::remove_file(file)?;
        }
        part(module, &input, folder, main)?;
    }
    if least > 0 {
        for chunk in chunks(folder)? {
            if is_data_only(&fs::read(&chunk)?)? {
                taken_in(&chunk, folder)?;
            }
        }
    }
    Ok(())
}

/// The most times that a module is parted anew. What stays in the main module takes along what it calls, so that the next
/// round seldom finds anything.
const ROUNDS: usize = 4;

/// Parts the module once.
fn part(module: &str, input: &[u8], folder: &Path, main: &str) -> Result<()> {
    let main_module = format!("./{main}");
    let main_out = folder.join("main.wasm");
    let mut options = wasm_split_cli_support::Options::new(input);
    options.output_dir = folder;
    options.main_out_path = &main_out;
    let link_name = format!("./{LOADER}");
    options.link_name = &link_name;
    options.main_module = &main_module;
    let made =
        wasm_split_cli_support::transform(options).map_err(|error| anyhow::anyhow!("{error:?}"))?;
    ensure!(
        !made.split_modules.is_empty(),
        "{module} names nothing that is loaded later"
    );
    Ok(())
}

/// The modules in a folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for file in fs::read_dir(folder)? {
        let file = file?.path();
        if file.extension().is_some_and(|ending| ending == "wasm") {
            all.push(file);
        }
    }
    Ok(all)
}

/// The modules that hold what several parts need.
fn chunks(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = files(folder)?;
    all.retain(|file| {
        file.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("chunk_"))
    });
    Ok(all)
}

/// The names of the functions of every chunk with less than `least` bytes of code.
fn in_small_chunks(folder: &Path, least: usize) -> Result<HashSet<String>> {
    let mut small = HashSet::new();
    for file in chunks(folder)? {
        let bytes = fs::read(&file)?;
        let (imported, code) = size(&bytes)?;
        if code < least {
            let own = named(&bytes)?.into_iter();
            small.extend(own.filter_map(|(name, index)| (index >= imported).then_some(name)));
        }
    }
    Ok(small)
}

/// The number of functions that a module imports, and the bytes of its own functions.
fn size(module: &[u8]) -> Result<(u32, usize)> {
    let (mut imported, mut code) = (0, 0);
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    imported += u32::from(matches!(import?.ty, TypeRef::Func(_)));
                }
            }
            Payload::CodeSectionStart { range, .. } => {
                code = usize::try_from(range.end - range.start)?;
            }
            _ => {}
        }
    }
    Ok((imported, code))
}

/// Returns `true` for a module of which nobody can call a function: it exports none, and puts none into the table.
fn is_data_only(module: &[u8]) -> Result<bool> {
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::ExportSection(exports) if exports.count() > 0 => return Ok(false),
            Payload::ElementSection(elements) if elements.count() > 0 => return Ok(false),
            Payload::StartSection { .. } => return Ok(false),
            _ => {}
        }
    }
    Ok(true)
}

/// The functions that have a name, with their index. Copies of a generic function may share one.
fn named(module: &[u8]) -> Result<Vec<(String, u32)>> {
    let mut all = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        let Payload::CustomSection(section) = payload? else {
            continue;
        };
        let KnownCustom::Name(names) = section.as_known() else {
            continue;
        };
        for names in names {
            if let Name::Function(names) = names? {
                for name in names {
                    let name = name?;
                    all.push((name.name.to_owned(), name.index));
                }
            }
        }
    }
    Ok(all)
}

/// Moves the data of a chunk that has no functions to the main module, and has nobody load the chunk any more.
fn taken_in(chunk: &Path, folder: &Path) -> Result<()> {
    let bytes = fs::read(chunk)?;
    let main = folder.join("main.wasm");
    fs::write(&main, with_data_of(&fs::read(&main)?, &bytes)?)?;
    let name = chunk
        .file_stem()
        .map(|stem| stem.to_string_lossy())
        .with_context(|| format!("{} has no name", chunk.display()))?;
    let loader = folder.join(LOADER);
    let script = fs::read_to_string(&loader)?;
    fs::write(&loader, without_chunk(&script, &name)?)?;
    fs::remove_file(chunk).with_context(|| format!("cannot remove {}", chunk.display()))
}

/// The script that loads the parts.
const LOADER: &str = "later.js";

/// The script that loads the parts, without one of the chunks.
fn without_chunk(script: &str, name: &str) -> Result<String> {
    let unknown = || format!("{LOADER} does not load {name} as it did");
    let constant = format!("const __{name} = makeLoad(");
    let (before, rest) = script.split_once(&constant).with_context(unknown)?;
    let (before, _) = before.rsplit_once("/* ").with_context(unknown)?;
    let (_, after) = rest.split_once("\n, []);\n").with_context(unknown)?;
    let mut script = format!("{before}{after}");
    for (among, others) in [
        (format!(", __{name}]"), "]"),
        (format!("[__{name}, "), "["),
        (format!("[__{name}]"), "[]"),
        (format!(" __{name},"), ""),
    ] {
        script = script.replace(&among, others);
    }
    ensure!(!script.contains(&format!("__{name}")), unknown());
    Ok(script)
}

/// The module with the data of another one, whose places in the memory are its own.
fn with_data_of(module: &[u8], other: &[u8]) -> Result<Vec<u8>> {
    let mut more = Vec::new();
    for payload in Parser::new(0).parse_all(other) {
        if let Payload::DataSection(data) = payload? {
            for data in data {
                let data = data?;
                let DataKind::Active { offset_expr, .. } = data.kind else {
                    bail!("it has data without a place");
                };
                let mut offset = offset_expr.get_operators_reader();
                let Operator::I32Const { value } = offset.read()? else {
                    bail!("it has data whose place is not known");
                };
                more.push((value, data.data));
            }
        }
    }
    let mut out = wasm_encoder::Module::new();
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload?;
        match &payload {
            Payload::DataCountSection { count, .. } => {
                let count = count + u32::try_from(more.len())?;
                out.section(&DataCountSection { count });
            }
            Payload::DataSection(data) => {
                let mut all = DataSection::new();
                for data in data.clone() {
                    all.raw(&module[range_of(&data?.range)?]);
                }
                for (place, data) in &more {
                    all.active(0, &ConstExpr::i32_const(*place), data.iter().copied());
                }
                out.section(&all);
            }
            payload => copied(module, payload, &mut out)?,
        }
    }
    Ok(out.finish())
}

/// Copies a section as it is.
fn copied(module: &[u8], payload: &Payload<'_>, out: &mut wasm_encoder::Module) -> Result<()> {
    if let Some((id, range)) = payload.as_section() {
        let data = &module[range_of(&range)?];
        out.section(&RawSection { id, data });
    }
    Ok(())
}

fn range_of(range: &Range<u64>) -> Result<Range<usize>> {
    Ok(usize::try_from(range.start)?..usize::try_from(range.end)?)
}

/// The module with these functions exported: what is exported stays in the main module. Everything else is copied as it is,
/// since relocations count the bytes of code.
fn kept_in_main(module: &[u8], functions: &HashSet<String>) -> Result<Vec<u8>> {
    let known = named(module)?.into_iter();
    let mut indices: Vec<u32> = known
        .filter_map(|(name, index)| functions.contains(&name).then_some(index))
        .collect();
    indices.sort_unstable();
    let mut out = wasm_encoder::Module::new();
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload?;
        if let Payload::ExportSection(exports) = &payload {
            let mut all = ExportSection::new();
            let mut taken = HashSet::new();
            for export in exports.clone() {
                let export = export?;
                taken.insert(export.index);
                all.export(export.name, export.kind.into(), export.index);
            }
            for index in indices.iter().filter(|index| !taken.contains(index)) {
                all.export(&format!("__kept_{index}"), ExportKind::Func, *index);
            }
            out.section(&all);
        } else {
            copied(module, &payload, &mut out)?;
        }
    }
    Ok(out.finish())
}

/// The module without the exports of other classes and without the other parts. What only they led to is left out when it is
/// parted. Everything else is copied as it is, since relocations count the bytes of code.
#[allow(clippy::print_stdout, reason = "the caller reads the names")]
fn narrowed(module: &str, part: &str, classes: &[&str]) -> Result<Vec<u8>> {
    let input = read(module)?;
    let mut out = wasm_encoder::Module::new();
    let mut found = HashSet::new();
    for payload in Parser::new(0).parse_all(&input) {
        let payload = payload?;
        match &payload {
            Payload::ImportSection(imports) => {
                let mut all = ImportSection::new();
                for import in imports.clone().into_imports() {
                    let import = import?;
                    let is_other = import.name.starts_with(POINT) && !is_of(import.name, part);
                    let name = if is_other {
                        let name = import.name.replacen(POINT, GONE, 1);
                        println!("{name}");
                        name
                    } else {
                        import.name.to_owned()
                    };
                    all.import(import.module, &name, EntityType::try_from(import.ty)?);
                }
                out.section(&all);
            }
            Payload::ExportSection(exports) => {
                let mut all = ExportSection::new();
                for export in exports.clone() {
                    let export = export?;
                    let stays = match class_of(export.name) {
                        _ if export.kind != ExternalKind::Func => true,
                        _ if export.name.starts_with(POINT) => is_of(export.name, part),
                        Some(name) => {
                            let class = name.split('_').next().unwrap_or(name);
                            found.insert(class.to_owned());
                            classes.contains(&class)
                        }
                        None => true,
                    };
                    if stays {
                        all.export(export.name, export.kind.into(), export.index);
                    }
                }
                out.section(&all);
            }
            payload => copied(&input, payload, &mut out)?,
        }
    }
    for class in classes {
        ensure!(found.contains(*class), "{module} exports no {class}");
    }
    Ok(out.finish())
}

/// The beginnings of the names of what parts a module, and of the same where nothing parts there any more.
const POINT: &str = "__wasm_split_";
const GONE: &str = "__wasm_gone__";

/// Returns `true` for the name of a function at which `part` is parted, or that loads it.
fn is_of(name: &str, part: &str) -> bool {
    let rest = name.strip_prefix(POINT).unwrap_or(name);
    rest.strip_prefix("load_") == Some(part)
        || rest
            .strip_prefix("00")
            .and_then(|rest| rest.strip_prefix(part))
            .is_some_and(|rest| rest.starts_with("00"))
}

/// The name of a class or function that JavaScript sees, with the rest of the export's name: of what calls it, describes it or
/// frees it. `None` for the exports that all of them need.
fn class_of(export: &str) -> Option<&str> {
    let described = export.strip_prefix("__wbindgen_describe_");
    let freed = export
        .strip_prefix("__wbg_")
        .filter(|name| name.ends_with("_free"));
    let name = described.or(freed).unwrap_or(export);
    (!name.starts_with("__")).then_some(name)
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
