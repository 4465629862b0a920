//! `cargo xtask pack`: the npm packages, unpacked in `dist/npm`, `dist/npm-ui` and `dist/npm-inline`, and as tarballs in `dist/`.
//!
//! `crates/palimpsest-npm/npm/` holds `package.json`, `tsconfig.json` (with `rootDir` `src`) and the TypeScript
//! entries of all three in `src/`. What wasm-bindgen makes goes to `src/wasm/`, which is ignored by git, so that the entries
//! import it by a path that is right before and after compilation. Each package gets the files that its manifest names and
//! that these import ([`reach`]):
//!
//! | in a package | from |
//! |---|---|
//! | `package.json` | `npm/`, `ui/` or `inline/`, with the workspace's version |
//! | `dist/*.js`, `dist/*.d.ts` | `src/*.ts`, by tsc; comments stay in the declarations |
//! | `dist/wasm/palimpsest_npm.js`, `.d.ts`, `palimpsest_npm_bg.wasm` | the crate, by wasm-bindgen |
//! | `dist/wasm/parts/*.wasm`, `later.js` | what of it is loaded later, and what loads that |
//! | `palimpsest-inline`: `dist/wasm/inlined.js`, `inlined/*.js` | the same files packed by gzip, in base64, for hosts that can fetch nothing |
//! | `palimpsest-ui`: `dist/ui/palimpsest_web.js`, … | the same of the chat app, for `mount`; in `src/ui/` before |
//! | `palimpsest-ui`: `dist/ui/palimpsest.css`, `sprite.js` | the app's styles and icons, for an element in another page |
//! | `README.md`, `LICENSE-MIT`, `LICENSE-APACHE` | beside the manifest; the root's |
//! | `palimpsest`: `guide.md` | `docs/guide.md` |
//! | `palimpsest`: anything in `npm/files/` | copied as it is |

mod embedded;
mod reach;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::build_app::{copy_tree, files};
use crate::forget;
use crate::module::{self, Later, Quality};
use crate::process::{self, Stopwatch};
use crate::setup::{Machine, fresh_folder, say};

/// One of the npm packages: where its manifest lies, and where it is put together in `dist/`.
struct Package {
    source: &'static str,
    folder: &'static str,
}

/// All of them, the one that the others go with first.
const PACKAGES: [Package; 3] = [
    Package {
        source: "npm",
        folder: "npm",
    },
    Package {
        source: "ui",
        folder: "npm-ui",
    },
    Package {
        source: "inline",
        folder: "npm-inline",
    },
];

/// Builds the packages.
pub(crate) fn pack(machine: &Machine, quality: Quality) -> Result<()> {
    let watch = Stopwatch::start();
    let root = &machine.places.root;
    let crate_folder = root.join("crates/palimpsest-npm");
    let source = crate_folder.join("npm");
    for needed in ["package.json", "tsconfig.json", "src"] {
        ensure!(
            source.join(needed).exists(),
            "the package cannot be built yet: crates/palimpsest-npm/npm/{needed} is missing"
        );
    }
    let bound = source.join("src/wasm");
    fresh_folder(&bound)?;
    module::build(machine, "palimpsest-npm", quality, Later::Brought, &bound)?;
    hide_raw_exports(&bound)?;
    write_inlined(machine, &bound)?;
    // the page that shows what is forgotten is made of the same code
    forget::build(machine, quality)?;
    let app = source.join("src/ui");
    write_app(machine, quality, &app)?;

    let dist = machine.places.dist();
    let made = dist.join("npm.made");
    fresh_folder(&made)?;
    process::show(
        machine
            .command("tsc")
            .arg("--project")
            .arg(&source)
            .arg("--outDir")
            .arg(&made),
    )?;
    without_comments(machine, &made)?;
    copy_tree(&bound, &made.join("wasm"))?;
    copy_tree(&app, &made.join("ui"))?;
    share_the_module(&made)?;

    remove_tarballs(&dist)?;
    let version = version(machine)?;
    for package in &PACKAGES {
        let from = crate_folder.join(package.source);
        let folder = assembled(machine, &from, &made, &dist.join(package.folder), &version)?;
        let tarball = tarball(machine, &folder, &dist)?;
        say(
            "packed",
            &format!(
                "{} after {:.1} s",
                process::short(&tarball, root),
                watch.seconds()
            ),
        );
    }
    fs::remove_dir_all(&made)?;
    Ok(())
}

/// Leaves comments to the declarations, where editors read them: the scripts are a quarter smaller without.
fn without_comments(machine: &Machine, made: &Path) -> Result<()> {
    let is_script = |file: &&String| Path::new(file).extension().is_some_and(|e| e == "js");
    let made_files = files(made)?;
    let scripts = made_files.iter().filter(is_script);
    process::quiet(
        machine
            .node()
            .args(["crates/xtask/src/minify.mjs", "--legible"])
            .args(scripts.map(|file| made.join(file))),
    )
}

/// Lets `palimpsest-inline` import the entry whose module it brings: both packages share it.
fn share_the_module(made: &Path) -> Result<()> {
    for name in ["inline.js", "inline.d.ts"] {
        let file = made.join(name);
        let text = fs::read_to_string(&file)?;
        ensure!(
            text.contains("\"./slim.js\""),
            "{name} does not import slim.js"
        );
        fs::write(file, text.replace("\"./slim.js\"", "\"palimpsest/slim\""))?;
    }
    Ok(())
}

/// Puts a package together in `folder`.
fn assembled(
    machine: &Machine,
    source: &Path,
    made: &Path,
    folder: &Path,
    version: &str,
) -> Result<PathBuf> {
    let root = &machine.places.root;
    let work = folder.with_extension("new");
    fresh_folder(&work)?;
    if source.join("files").is_dir() {
        copy_tree(&source.join("files"), &work)?;
        fs::copy(root.join("docs/guide.md"), work.join("guide.md"))?;
    }
    for (from, name) in [
        (source.join("README.md"), "README.md"),
        (root.join("LICENSE-MIT"), "LICENSE-MIT"),
        (root.join("LICENSE-APACHE"), "LICENSE-APACHE"),
    ] {
        fs::copy(&from, work.join(name))
            .with_context(|| format!("cannot copy {}", from.display()))?;
    }
    let manifest = write_manifest(source, &work, version)?;
    for file in reach::reached(made, reach::entries(&manifest))? {
        let to = work.join("dist").join(&file);
        fs::create_dir_all(to.parent().unwrap_or(&work))?;
        fs::copy(made.join(&file), to)?;
    }
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::rename(&work, folder)?;
    Ok(folder.to_path_buf())
}

/// Leaves out of the module's declarations what its script alone calls.
fn hide_raw_exports(bound: &Path) -> Result<()> {
    const BEGIN: &str = "export interface InitOutput {\n";
    let file = bound.join("palimpsest_npm.d.ts");
    let text = fs::read_to_string(&file)?;
    let (before, rest) = text.split_once(BEGIN).context("no InitOutput")?;
    let (_, after) = rest.split_once("\n}\n").context("InitOutput has no end")?;
    let shown = "    readonly memory: WebAssembly.Memory;";
    fs::write(file, format!("{before}{BEGIN}{shown}\n}}\n{after}"))?;
    Ok(())
}

/// The chat app as `mount` needs it: its module, its styles, its icons.
fn write_app(machine: &Machine, quality: Quality, folder: &Path) -> Result<()> {
    fresh_folder(folder)?;
    module::build(machine, "palimpsest-web", quality, Later::Together, folder)?;
    write_looks(&machine.places.root.join("web"), folder)
}

fn write_looks(web: &Path, folder: &Path) -> Result<()> {
    let text = |name: &str| {
        let file = web.join(name);
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))
    };
    for (name, made) in [
        ("palimpsest.css", embedded::css(&text("public/app.css")?)?),
        ("sprite.js", embedded::sprite(&text("index.html")?)?),
        ("sprite.d.ts", embedded::SPRITE_TYPES.to_owned()),
    ] {
        fs::write(folder.join(name), made)?;
    }
    Ok(())
}

/// Writes the files of the module as text, for pages and webviews that may not fetch. `src/places.ts` has their addresses.
fn write_inlined(machine: &Machine, bound: &Path) -> Result<()> {
    let files: Vec<String> = files(bound)?
        .into_iter()
        .filter_map(|file| Some(file.strip_suffix(".wasm")?.to_owned()))
        .collect();
    let known = fs::read_to_string(bound.with_file_name("places.ts"))?;
    let mut inlined = String::from("export const inlined = {\n");
    for file in &files {
        let name = file.rsplit('/').next().unwrap_or(file);
        ensure!(
            known.contains(&format!("\"./wasm/{file}.wasm\"")),
            "npm/src/places.ts does not know {file}.wasm"
        );
        writeln!(
            inlined,
            "  \"{name}\": async () => (await import(\"./inlined/{name}.js\")).default,"
        )?;
    }
    fs::write(bound.join("inlined.js"), inlined + "};\n")?;
    fs::write(
        bound.join("inlined.d.ts"),
        "/** Each file of the module, packed by gzip, in base64. */\nexport declare const inlined: Record<string, () => Promise<string>>;\n",
    )?;
    let script = "import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';\
        import { gzipSync } from 'node:zlib';\
        const [folder, ...files] = process.argv.slice(1);\
        mkdirSync(`${folder}/inlined`);\
        for (const file of files) {\
            const bytes = gzipSync(readFileSync(`${folder}/${file}.wasm`), { level: 9 }).toString('base64');\
            writeFileSync(`${folder}/inlined/${file.split('/').pop()}.js`, `export default \"${bytes}\";\\n`);\
        }";
    process::quiet(
        machine
            .node()
            .args(["--input-type=module", "--eval", script])
            .arg(bound)
            .args(&files),
    )
}

/// Writes the manifest with the workspace's version, and returns it.
fn write_manifest(source: &Path, work: &Path, version: &str) -> Result<Value> {
    let file = source.join("package.json");
    let text = fs::read_to_string(&file).with_context(|| format!("no {}", file.display()))?;
    // a package that goes with another one names its version, too
    let text = text.replace("\"0.0.0\"", &format!("\"{version}\""));
    let manifest: Value =
        serde_json::from_str(&text).with_context(|| format!("{} is not JSON", file.display()))?;
    ensure!(
        manifest["version"] == version,
        "{} has no version",
        file.display()
    );
    fs::write(work.join("package.json"), format!("{manifest:#}\n"))?;
    Ok(manifest)
}

fn version(machine: &Machine) -> Result<String> {
    let manifest = fs::read_to_string(machine.places.root.join("Cargo.toml"))?;
    let (_, package) = manifest
        .split_once("[workspace.package]")
        .context("Cargo.toml has no [workspace.package]")?;
    package
        .lines()
        .find_map(|line| line.strip_prefix("version = "))
        .map(|version| version.trim_matches('"').to_owned())
        .context("Cargo.toml names no version")
}

/// Removes the tarballs of yesterday, so that nobody tests them.
fn remove_tarballs(dist: &Path) -> Result<()> {
    for entry in fs::read_dir(dist)? {
        let file = entry?.path();
        if file.extension().is_some_and(|ending| ending == "tgz") {
            fs::remove_file(file)?;
        }
    }
    Ok(())
}

fn tarball(machine: &Machine, folder: &Path, dist: &Path) -> Result<PathBuf> {
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let answer = process::output(
        machine
            .command(npm)
            .args(["pack", "--json", "--ignore-scripts", "--pack-destination"])
            .arg(dist)
            .current_dir(folder),
    )?;
    let answer: Value = serde_json::from_str(&answer).context("npm pack did not answer in JSON")?;
    let name = answer[0]["filename"]
        .as_str()
        .context("npm pack named no file")?;
    Ok(dist.join(name))
}
