//! `cargo xtask pack`: the npm package, unpacked in `dist/npm` and as a tarball in `dist/`.
//!
//! `crates/palimpsest-wasm/npm/` holds `package.json`, `tsconfig.json` (with `rootDir` `src`) and the TypeScript
//! entries in `src/`. What wasm-bindgen makes goes to `src/wasm/`, which is ignored by git, so that the entries
//! import it by a path that is right before and after compilation:
//!
//! | in the package | from |
//! |---|---|
//! | `package.json` | the same, with the workspace's version |
//! | `dist/*.js`, `dist/*.d.ts` | `src/*.ts`, by tsc |
//! | `dist/wasm/palimpsest_wasm.js`, `.d.ts`, `palimpsest_wasm_bg.wasm` | the crate, by wasm-bindgen |
//! | `dist/wasm/palimpsest_session.js`, … | the same of `palimpsest-session`: loaded when a session is opened |
//! | `dist/ui/palimpsest_web.js`, … | the same of the chat app, for `mount`; in `src/ui/` before |
//! | `dist/ui/palimpsest.css`, `sprite.js` | the app's styles and icons, for an element in another page |
//! | `dist/wasm/inline.js`, `inline-session.js` | the modules' bytes in base64, for hosts that can fetch nothing |
//! | `README.md`, `LICENSE-MIT`, `LICENSE-APACHE` | `npm/README.md` or the root's; the root's |
//! | anything in `npm/files/` | copied as it is |

mod embedded;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::build_app::copy_tree;
use crate::forget;
use crate::module::{self, Later, Quality};
use crate::process::{self, Stopwatch};
use crate::setup::{Machine, fresh_folder, say};

/// The package's modules, and what their bytes in base64 are called.
const MODULES: [(&str, &str); 2] = [
    ("palimpsest-wasm", "inline"),
    ("palimpsest-session", "inline-session"),
];

/// Builds the package and returns the tarball's path.
pub(crate) fn pack(machine: &Machine, quality: Quality) -> Result<PathBuf> {
    let watch = Stopwatch::start();
    let root = &machine.places.root;
    let source = root.join("crates/palimpsest-wasm/npm");
    for needed in ["package.json", "tsconfig.json", "src"] {
        ensure!(
            source.join(needed).exists(),
            "the package cannot be built yet: crates/palimpsest-wasm/npm/{needed} is missing"
        );
    }
    let bound = source.join("src/wasm");
    fresh_folder(&bound)?;
    for (package, inline) in MODULES {
        module::build(machine, package, quality, Later::Nothing, &bound)?;
        write_inline(machine, &bound, package, inline)?;
    }
    // the page that shows what is forgotten is made of the same module
    forget::bundle(machine, quality)?;
    let app = source.join("src/ui");
    write_app(machine, quality, &app)?;

    let dist = machine.places.dist();
    let work = dist.join("npm.new");
    fresh_folder(&work)?;
    process::show(
        machine
            .command("tsc")
            .arg("--project")
            .arg(&source)
            .arg("--outDir")
            .arg(work.join("dist")),
    )?;
    copy_tree(&bound, &work.join("dist/wasm"))?;
    copy_tree(&app, &work.join("dist/ui"))?;
    if source.join("files").is_dir() {
        copy_tree(&source.join("files"), &work)?;
    }
    let own_readme = source.join("README.md");
    let readme = if own_readme.is_file() {
        own_readme
    } else {
        root.join("README.md")
    };
    for (from, name) in [
        (readme, "README.md"),
        (root.join("LICENSE-MIT"), "LICENSE-MIT"),
        (root.join("LICENSE-APACHE"), "LICENSE-APACHE"),
    ] {
        fs::copy(&from, work.join(name))
            .with_context(|| format!("cannot copy {}", from.display()))?;
    }
    write_manifest(machine, &source, &work)?;

    let folder = dist.join("npm");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::rename(&work, &folder)?;
    let tarball = tarball(machine, &folder, &dist)?;
    say(
        "packed",
        &format!(
            "{} in {:.1} s",
            process::short(&tarball, root),
            watch.seconds()
        ),
    );
    Ok(tarball)
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

/// A module as text, for pages and webviews that may not fetch.
fn write_inline(machine: &Machine, bound: &Path, package: &str, inline: &str) -> Result<()> {
    let script = "import { readFileSync, writeFileSync } from 'node:fs';\
        const [folder, name, inline] = process.argv.slice(1);\
        const bytes = readFileSync(`${folder}/${name}_bg.wasm`).toString('base64');\
        writeFileSync(`${folder}/${inline}.js`, `export default \"${bytes}\";\\n`);\
        writeFileSync(`${folder}/${inline}.d.ts`, '/** The wasm module in base64. */\\ndeclare const base64: string;\\nexport default base64;\\n');";
    process::quiet(
        machine
            .node()
            .args(["--input-type=module", "--eval", script])
            .arg(bound)
            .args([&package.replace('-', "_"), inline]),
    )
}

/// The manifest with the workspace's version, without what only a checkout needs.
fn write_manifest(machine: &Machine, source: &Path, work: &Path) -> Result<()> {
    let text = fs::read_to_string(source.join("package.json"))?;
    let mut manifest: Value =
        serde_json::from_str(&text).context("npm/package.json is not JSON")?;
    let fields = manifest
        .as_object_mut()
        .context("npm/package.json is not an object")?;
    fields.insert("version".into(), version(machine)?.into());
    for private in ["private", "scripts", "devDependencies"] {
        fields.remove(private);
    }
    fs::write(work.join("package.json"), format!("{manifest:#}\n"))?;
    Ok(())
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

fn tarball(machine: &Machine, folder: &Path, dist: &Path) -> Result<PathBuf> {
    // one tarball only: nobody shall test yesterday's
    for entry in fs::read_dir(dist)? {
        let file = entry?.path();
        if file.extension().is_some_and(|ending| ending == "tgz") {
            fs::remove_file(file)?;
        }
    }
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
