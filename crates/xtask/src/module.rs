//! From a crate to the wasm module and its JavaScript: compiled, bound, optimised.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::places::digest;
use crate::process;
use crate::setup::wasm::has_std_source;
use crate::setup::{Machine, say};

/// The effort of the compiler.
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

/// The treatment of the parts that a module loads later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Later {
    /// Each becomes a module of its own in the folder [`PARTS`], which the script beside the module fetches. Their
    /// names contain a hash of the content, so a page of an older version never gets a new part in place of its own.
    Fetched,
    /// The same, with names that stay, and the script asks `../parts.js` for each.
    Brought,
    /// All stays in one module, and the script makes as many instances of it as are wanted ([`make_many`]).
    Together,
}

impl Later {
    /// The least bytes of code that several parts have in common and that become a file of their own; less stays in the first
    /// module. Who names the files of the package should have few to name, and a page should not ask for a file of a few
    /// hundred bytes. Functions of a quick build are several times as large.
    const fn least(self, quality: Quality) -> usize {
        match (self, quality) {
            (Self::Brought, Quality::Release) => 16_384,
            (Self::Brought, _) => 65_536,
            _ => 2_048,
        }
    }

    fn is_apart(self) -> bool {
        self != Self::Together
    }
}

/// The folder of the parts.
pub(crate) const PARTS: &str = "parts";

/// Builds `package` and leaves `<name>.js`, `<name>_bg.wasm` and their types in `folder`, where `<name>` is the
/// package's with underscores.
pub(crate) fn build(
    machine: &Machine,
    package: &str,
    quality: Quality,
    later: Later,
    folder: &Path,
) -> Result<()> {
    let compiled = compile(machine, package, quality)?;
    fs::create_dir_all(folder)?;
    bind(
        machine,
        Module::whole(package, quality),
        &compiled,
        later,
        folder,
    )
}

/// Compiles a package and returns its module as the compiler left it.
fn compile(machine: &Machine, package: &str, quality: Quality) -> Result<PathBuf> {
    let mut cargo = machine.cargo();
    cargo
        .args(["rustc", "--lib", "--crate-type", "cdylib"])
        .args(["--target", "wasm32-unknown-unknown"])
        .args(["--package", package, "--profile", quality.profile()])
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", remapping());
    if quality == Quality::Release {
        with_small_std(machine, &mut cargo);
    }
    // which function leads to which, for `wasm-split`
    cargo.args(["--", "-Clink-arg=--emit-relocs"]);
    process::show(&mut cargo)?;
    let compiled = machine
        .places
        .target()
        .join("wasm32-unknown-unknown")
        .join(quality.profile())
        .join(format!("{}.wasm", package.replace('-', "_")));
    ensure!(
        compiled.is_file(),
        "{package} builds no wasm library: its [lib] needs crate-type \"cdylib\""
    );
    Ok(compiled)
}

/// A module on its way from the compiler to its files.
#[derive(Clone, Copy)]
struct Module<'a> {
    package: &'a str,
    quality: Quality,
    /// The part that it was narrowed to, if it was.
    narrowed: Option<&'a str>,
}

impl<'a> Module<'a> {
    const fn whole(package: &'a str, quality: Quality) -> Self {
        Self {
            package,
            quality,
            narrowed: None,
        }
    }

    /// The beginning of its files' names.
    fn name(self) -> String {
        self.package.replace('-', "_")
    }

    /// The name under which the shrunk form of one of its files is kept.
    fn cached(self, file: &str) -> String {
        let name = self.name();
        match self.narrowed {
            Some(part) => format!("{name}-{part}-{file}"),
            None => format!("{name}-{file}"),
        }
    }
}

/// Builds `package` with nothing of it but one part and some classes.
pub(crate) fn narrow(
    machine: &Machine,
    package: &str,
    quality: Quality,
    (part, classes): (&str, &[&str]),
    folder: &Path,
) -> Result<()> {
    let compiled = compile(machine, package, quality)?;
    crate::setup::fresh_folder(folder)?;
    let narrow = folder.join("narrow.wasm");
    let gone = process::output(
        machine
            .command("wasm-split")
            .arg("narrow")
            .args([&compiled, &narrow])
            .arg(part)
            .args(classes),
    )?;
    let module = Module {
        narrowed: Some(part),
        ..Module::whole(package, quality)
    };
    bind(machine, module, &narrow, Later::Brought, folder)?;
    fs::remove_file(narrow)?;
    // a module may still import what nothing calls
    let names: Vec<String> = gone.lines().map(|name| format!("none as {name}")).collect();
    let loader = folder.join(LOADER);
    let script = fs::read_to_string(&loader)?;
    let none = "function none() { throw new Error(\"This module has no such part.\"); }";
    fs::write(
        &loader,
        format!("{script}\n{none}\nexport {{ {} }};\n", names.join(", ")),
    )?;
    Ok(())
}

/// Parts a module that was compiled, makes its JavaScript, and shrinks it.
fn bind(
    machine: &Machine,
    module: Module<'_>,
    compiled: &Path,
    later: Later,
    folder: &Path,
) -> Result<()> {
    let (name, quality) = (module.name(), module.quality);
    let parts = folder.join(PARTS);
    let main = match later {
        Later::Fetched | Later::Brought => {
            crate::setup::fresh_folder(&parts)?;
            process::quiet(
                machine
                    .command("wasm-split")
                    .arg("apart")
                    .arg(compiled)
                    .arg(&parts)
                    .arg(format!("{name}.js"))
                    .arg(later.least(quality).to_string()),
            )?;
            parts.join("main.wasm")
        }
        Later::Together => {
            let whole = folder.join("whole.wasm");
            process::quiet(
                machine
                    .command("wasm-split")
                    .arg("together")
                    .arg(compiled)
                    .arg(&whole),
            )?;
            whole
        }
    };
    let mut bindgen = machine.command("wasm-bindgen");
    bindgen
        .args(["--target", "web", "--out-name", &name, "--out-dir"])
        .arg(folder)
        // The loader of the module gives its address; a second address would make bundlers emit it twice.
        .arg("--omit-default-module-path");
    if later.is_apart() {
        // The exports that the parts share with it.
        bindgen.arg("--keep-lld-exports");
    }
    process::quiet(bindgen.arg(&main))?;
    fs::remove_file(&main)?;
    let script = folder.join(format!("{name}.js"));
    if module.package == APP {
        guard_app(machine, &script)?;
    }
    if quality == Quality::Release {
        let file = folder.join(format!("{name}_bg.wasm"));
        let kind = if later.is_apart() { "page" } else { "whole" };
        optimise(machine, &module.cached(kind), &file)?;
    }
    match later {
        Later::Fetched => fetched(machine, module, folder)?,
        Later::Brought => {
            brought(machine, module, folder)?;
            guard(&script)?;
        }
        Later::Together => make_many(&script)?,
    }
    if quality == Quality::Release {
        let scripts = [script, folder.join(LOADER)];
        minify(machine, scripts.iter().filter(|script| script.is_file()))?;
    }
    Ok(())
}

/// Shortens scripts in their place.
pub(crate) fn minify<'a>(
    machine: &Machine,
    scripts: impl Iterator<Item = &'a PathBuf>,
) -> Result<()> {
    process::quiet(
        machine
            .node()
            .arg("crates/xtask/src/minify.mjs")
            .args(scripts),
    )
}

/// The standard library comes compiled for speed. A release compiles it again for size, without the source places that
/// panics name: this saves 20 KB of each of the package's modules. A panic traps at once, and its message is left out, too: the
/// modules' scripts hear of the trap ([`guard`], [`guard_app`]).
fn with_small_std(machine: &Machine, cargo: &mut Command) {
    if !has_std_source(machine) {
        say(
            "wasm",
            "no source of the standard library (`rustup component add rust-src`): modules get larger",
        );
        return;
    }
    let flags = format!(
        "{} -Zlocation-detail=none -Zunstable-options -Cpanic=immediate-abort",
        remapping()
    );
    cargo
        .arg("-Zbuild-std=std,panic_abort")
        .arg("-Zbuild-std-features=optimize_for_size")
        // a stable compiler takes these flags only so
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", flags);
}

/// Shrinks the parts: their names as `wasm-split` gave them, and the script that loads them.
fn shrunk(machine: &Machine, module: Module<'_>, parts: &Path) -> Result<(Vec<String>, String)> {
    let script = fs::read_to_string(parts.join(LOADER))?;
    ensure!(
        script.contains(STREAMED),
        "{LOADER} does not load by {STREAMED}"
    );
    let mut names = Vec::new();
    for file in fs::read_dir(parts)? {
        let file = file?.path();
        let Some(part) = file
            .file_name()
            .and_then(|name| name.to_str()?.strip_suffix(".wasm"))
        else {
            continue;
        };
        ensure!(
            script.contains(&format!("\"./{part}.wasm\"")),
            "{LOADER} does not load {part}"
        );
        if module.quality == Quality::Release {
            optimise(machine, &module.cached(part), &file)?;
        }
        names.push(part.to_owned());
    }
    names.sort_unstable();
    Ok((names, script))
}

/// Names the parts by their content. The script that fetches them goes beside the module.
fn fetched(machine: &Machine, module: Module<'_>, folder: &Path) -> Result<()> {
    let parts = folder.join(PARTS);
    let (files, mut script) = shrunk(machine, module, &parts)?;
    for part in files {
        let file = parts.join(format!("{part}.wasm"));
        let named = format!("{part}.{}.wasm", digest(&fs::read(&file)?));
        script = script.replace(
            &format!("\"./{part}.wasm\""),
            &format!("\"./{PARTS}/{named}\""),
        );
        fs::rename(&file, parts.join(named))?;
    }
    let script = script.replace(STREAMED, "instantiate(src, imports)") + ANY_SERVER;
    fs::remove_file(parts.join(LOADER))?;
    fs::write(folder.join(LOADER), script)?;
    Ok(())
}

/// Gives the parts names for people. The script beside the module asks `../parts.js` for each, and lets JavaScript load one
/// as well as Rust: only JavaScript hears why one does not come.
fn brought(machine: &Machine, module: Module<'_>, folder: &Path) -> Result<()> {
    let parts = folder.join(PARTS);
    let (files, mut script) = shrunk(machine, module, &parts)?;
    for part in files {
        let shared = || {
            let (before, _) = script.split_once(&format!("const __{part} "))?;
            let users = before.rsplit_once("/* ")?.1.split_once(" */")?.0;
            Some(users.replace(", ", "-"))
        };
        let named = part
            .strip_prefix("split_")
            .map(str::to_owned)
            .or_else(shared)
            .with_context(|| format!("{LOADER} does not say what {part} is for"))?;
        let fetch = format!("fetch(new URL(\"./{part}.wasm\", import.meta.url))");
        ensure!(script.contains(&fetch), "{LOADER} does not fetch {part}");
        script = script.replace(&fetch, &format!("bring(\"{named}\")"));
        fs::rename(
            parts.join(format!("{part}.wasm")),
            parts.join(format!("{named}.wasm")),
        )?;
    }
    let wrap = "function wrapAsyncCb(callee) {\n";
    ensure!(script.contains(wrap), "{LOADER} has no {wrap}");
    let loaded: Vec<String> = script
        .split("export const __wasm_split_load_")
        .skip(1)
        .enumerate()
        .filter_map(|(n, rest)| Some(format!("{}: loads[{n}]", rest.split_once(" =")?.0)))
        .collect();
    let script = format!(
        "import {{ bring, instantiate }} from \"../parts.js\";\nconst loads = [];\n{}\nexport const parts = {{ {} }};\n",
        script
            .replace(wrap, &format!("{wrap}    loads.push(callee);\n"))
            .replace(STREAMED, "instantiate(src, imports)"),
        loaded.join(", ")
    );
    let types: Vec<String> = loaded
        .iter()
        .filter_map(|one| Some(format!("{}(): Promise<unknown>", one.split_once(':')?.0)))
        .collect();
    fs::remove_file(parts.join(LOADER))?;
    fs::write(folder.join(LOADER), script)?;
    fs::write(
        folder.join("later.d.ts"),
        format!(
            "/** Loads a part of the module, once. */\nexport declare const parts: {{ {} }};\n",
            types.join("; ")
        ),
    )?;
    Ok(())
}

/// Has `../parts.js` look at what calls the module back, so that somebody hears when it traps there, and at every text that
/// goes in: of anything else the module would read memory that is not there.
fn guard(script: &Path) -> Result<()> {
    let text = fs::read_to_string(script)?;
    let texts = "function passStringToWasm0(arg, malloc, realloc) {\n";
    ensure!(
        text.contains(EXPORTS) && text.contains(CLOSURES) && text.contains(texts),
        "{} has no {EXPORTS}, no closures, or no texts",
        script.display()
    );
    let guarded = text
        .replace(EXPORTS, "wasm = guarded(instance.exports);")
        .replace(texts, &format!("{texts}    textual(arg);\n"));
    fs::write(
        script,
        format!("import {{ guarded, textual }} from \"../parts.js\";\n{guarded}"),
    )?;
    Ok(())
}

/// The app's package.
const APP: &str = "palimpsest-web";

/// Has the app's script say on the page that the module trapped.
fn guard_app(machine: &Machine, script: &Path) -> Result<()> {
    let text = fs::read_to_string(script)?;
    ensure!(
        text.contains(EXPORTS) && text.contains(CLOSURES) && text.contains("function trapped("),
        "{} has no {EXPORTS}, no closures, or no `trapped`",
        script.display()
    );
    let beginning = fs::read_to_string(machine.places.root.join("web/trapped.js"))?;
    let lines = beginning.lines().map(str::trim);
    let lines: Vec<&str> = lines.filter(|line| !line.starts_with("//")).collect();
    let guarded = text.replace(EXPORTS, "wasm = guarded(instance.exports);");
    fs::write(script, format!("{}\n{guarded}", lines.join("\n")))?;
    Ok(())
}

/// Lets the script make more than one instance of its module: what it keeps for one stands in a function, which is called for
/// each. Its exports are what that function returns.
fn make_many(script: &Path) -> Result<()> {
    let text = fs::read_to_string(script)?;
    let (body, names) = without_exports(&text)
        .with_context(|| format!("{} is written otherwise than expected", script.display()))?;
    fs::write(
        script,
        format!(
            "export function create() {{\n{body}\nreturn {{ start: __wbg_init, exports: {{ {} }} }};\n}}\n",
            names.join(", ")
        ),
    )?;
    let types = script.with_extension("d.ts");
    fs::rename(&types, script.with_file_name("exports.d.ts"))?;
    fs::write(types, CREATED)?;
    Ok(())
}

/// The types of what [`make_many`] makes.
const CREATED: &str = "import type * as exports from \"./exports.js\";

/** What an instance of the module offers. */
export type Exports = Omit<typeof exports, \"default\" | \"initSync\">;

/** Makes an instance. Its exports may be called once it has started. */
export declare function create(): { start: typeof exports.default; exports: Exports };
";

/// A script without its exports, and the names of those. There is none if it has exports of another form, or imports.
fn without_exports(script: &str) -> Option<(String, Vec<&str>)> {
    const END: &str = "export { initSync, __wbg_init as default };";
    let mut body = String::new();
    let mut names = Vec::new();
    for line in script.lines().filter(|line| *line != END) {
        let kept = line.strip_prefix("export ").unwrap_or(line);
        if kept.len() < line.len() {
            let name = kept
                .strip_prefix("function ")
                .or_else(|| kept.strip_prefix("class "))?;
            names.push(name.split(['(', ' ']).next()?);
        }
        if kept.starts_with("import ") {
            return None;
        }
        body.push_str(kept);
        body.push('\n');
    }
    (script.contains(END) && !names.is_empty()).then_some((body, names))
}

/// The way in which the generated script takes a module's exports, and what the names of those have in common that something
/// calls back.
const EXPORTS: &str = "wasm = instance.exports;";
const CLOSURES: &str = "convert__closures";

/// The way in which the generated script instantiates a part.
const STREAMED: &str = "WebAssembly.instantiateStreaming(src, imports)";

/// The replacement, which works with any server of static files, as for the module itself.
const ANY_SERVER: &str = "
// A server that does not say that it is wasm is believed all the same.
async function instantiate(source, imports) {
    const answer = await source;
    if (!answer.ok) throw new Error(`${answer.url}: ${answer.status}`);
    return answer.headers.get('content-type')?.startsWith('application/wasm')
        ? WebAssembly.instantiateStreaming(answer, imports)
        : WebAssembly.instantiate(await answer.arrayBuffer(), imports);
}
";

/// The script that loads the parts; `wasm-split` names it so.
const LOADER: &str = "later.js";

/// Source paths of dependencies must not tell whose machine built them.
fn remapping() -> String {
    let home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(env::home_dir()?.join(".cargo")))
        .unwrap_or_default();
    format!("--remap-path-prefix={}=/cargo", home.display())
}

/// The runs of `wasm-opt`. There are no feature flags: the module names the features that it uses, and more would not load
/// everywhere. The first 1,024 bytes of memory hold nothing of Rust's but the far end of a stack that is all used up.
///
/// The first run writes all control flow anew, which saves a hundredth. The second one merges: what generic code was
/// compiled to for two types often differs in a few numbers only, which shows once it is optimised; then one function
/// takes them as arguments. This saves a kilobyte of the page's first module.
const OPTIMISING: [&[&str]; 2] = [
    &[
        "--flatten",
        "--rereloop",
        "-Oz",
        "-Oz",
        "--low-memory-unused",
    ],
    &["--merge-similar-functions", "-Oz", "--low-memory-unused"],
];

/// Shrinks a module in place. The same input gives the same output, so the last result is kept.
fn optimise(machine: &Machine, name: &str, module: &Path) -> Result<()> {
    let input = fs::read(module).with_context(|| format!("cannot read {}", module.display()))?;
    let folder = machine.places.cache.join("wasm-opt").join(name);
    let how = OPTIMISING.concat().join(" ").into_bytes();
    let kept = folder.join(format!("{}.wasm", digest(&[how, input.clone()].concat())));
    if !kept.is_file() {
        say("wasm-opt", &format!("{name}, {} bytes", input.len()));
        crate::setup::fresh_folder(&folder)?;
        let mut last = module.to_owned();
        for (number, told) in OPTIMISING.iter().enumerate() {
            let next = folder.join(format!("run-{number}"));
            let mut run = machine.command("wasm-opt");
            process::quiet(run.args(*told).arg(&last).arg("-o").arg(&next))?;
            if number > 0 {
                fs::remove_file(&last)?;
            }
            last = next;
        }
        fs::rename(&last, &kept)?;
    }
    fs::copy(&kept, module)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stood at the top of a script stands in a function afterwards; a script of another form is refused.
    #[test]
    fn a_script_without_its_exports() {
        let end = "export { initSync, __wbg_init as default };";
        let script =
            format!("let wasm;\nexport class A {{\n}}\nexport function go(a) {{\n}}\n{end}\n");
        let (body, names) = without_exports(&script).unwrap();
        assert_eq!(body, "let wasm;\nclass A {\n}\nfunction go(a) {\n}\n");
        assert_eq!(names, ["A", "go"]);
        for other in [
            format!("export const a = 1;\n{end}"),
            format!("import a from \"b\";\nexport function go() {{}}\n{end}"),
            format!("let wasm;\n{end}"),
            "export function go() {}".to_owned(),
        ] {
            assert!(without_exports(&other).is_none(), "{other}");
        }
    }
}
