//! `cargo xtask pack`: the npm package, unpacked in `dist/npm` and as a tarball in `dist/`.
//!
//! `crates/palimpsest-npm/npm/` holds `package.json`, `tsconfig.json` (with `rootDir` `src`) and the TypeScript
//! entries in `src/`. What wasm-bindgen makes goes to `src/wasm/`, which is ignored by git, so that the entries
//! import it by a path that is right before and after compilation:
//!
//! | in the package | from |
//! |---|---|
//! | `package.json` | the same, with the workspace's version |
//! | `dist/*.js`, `dist/*.d.ts` | `src/*.ts`, by tsc |
//! | `dist/wasm/palimpsest_npm.js`, `.d.ts`, `palimpsest_npm_bg.wasm` | the crate, by wasm-bindgen |
//! | `dist/wasm/parts/*.wasm`, `later.js` | what of it is loaded later, and what loads that |
//! | `dist/wasm/inlined.js`, `inlined/*.js` | the same files packed by gzip, in base64, for hosts that can fetch nothing |
//! | `dist/ui/palimpsest_web.js`, … | the same of the chat app, for `mount`; in `src/ui/` before |
//! | `dist/ui/palimpsest.css`, `sprite.js` | the app's styles and icons, for an element in another page |
//! | `README.md`, `LICENSE-MIT`, `LICENSE-APACHE` | `npm/README.md` or the root's; the root's |
//! | `guide.md` | `docs/guide.md` |
//! | anything in `npm/files/` | copied as it is |

mod embedded;

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

/// Builds the package and returns the tarball's path.
pub(crate) fn pack(machine: &Machine, quality: Quality) -> Result<PathBuf> {
    let watch = Stopwatch::start();
    let root = &machine.places.root;
    let source = root.join("crates/palimpsest-npm/npm");
    for needed in ["package.json", "tsconfig.json", "src"] {
        ensure!(
            source.join(needed).exists(),
            "the package cannot be built yet: crates/palimpsest-npm/npm/{needed} is missing"
        );
    }
    let bound = source.join("src/wasm");
    fresh_folder(&bound)?;
    module::build(machine, "palimpsest-npm", quality, Later::Brought, &bound)?;
    write_inlined(machine, &bound)?;
    // the page that shows what is forgotten is made of the same code
    forget::build(machine, quality)?;
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
        (root.join("docs/guide.md"), "guide.md"),
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
