//! `cargo xtask build`: the chat app, ready for any static file server, in `dist/app`.
//!
//! | in `dist/app` | from |
//! |---|---|
//! | `index.html` | `web/index.html`, with its policy and the version of the build |
//! | `sw.js` | `web/public/sw.js`, with that version and the names of all files |
//! | `palimpsest_web.<hash>.js`, `palimpsest_web_bg.<hash>.wasm` | the crate `palimpsest-web` |
//! | `parts/*.wasm`, `later.<hash>.js` | what of it is loaded later, and what loads that |
//! | `sample/trip.<hash>.json` | `tests/fixtures/survival/trip.json`, the messages alone |
//! | `llm/wllama.<hash>.js`, `llm/wllama.<hash>.wasm` | `@wllama/wllama` of `web/package.json`: llama.cpp, for a model in the page |
//! | `pdf/pdf.<hash>.js`, `pdf/pdf-worker.<hash>.js` | `pdfjs-dist` of the same: it reads the text of PDF files |
//! | everything else, with its hash in its name | `web/public/` |
//! | `*.br`, `*.gz` | made of each text and wasm file that gets smaller |

mod named;

pub(crate) use named::{has_hash, version, without_hash};

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::module::{self, Later, Quality};
use crate::policy;
use crate::process::{self, Stopwatch};
use crate::setup::{Machine, fresh_folder, npm, say};

/// The sample conversation, in the app's folder. It is not among what is fetched ahead for visits without a network.
const SAMPLE: &str = "sample/trip.json";

/// The folder of llama.cpp. It is not fetched ahead, either: few visits want a model in the page.
const LLM: &str = "llm/";

/// The folder of what reads PDF files. It is fetched with the first one that somebody attaches.
const PDF: &str = "pdf/";

/// Builds the app and returns its folder. The page may connect to the origins `connect` besides those of this machine.
pub(crate) fn build(machine: &Machine, quality: Quality, connect: &[String]) -> Result<PathBuf> {
    // A wrong origin is an error before the build begins.
    policy::check(connect)?;
    let watch = Stopwatch::start();
    let web = machine.places.root.join("web");
    for needed in ["Cargo.toml", "index.html"] {
        ensure!(
            web.join(needed).is_file(),
            "the app cannot be built yet: web/{needed} is missing"
        );
    }
    let dist = machine.places.dist();
    let folder = dist.join("app");
    let work = dist.join("app.new");
    fresh_folder(&work)?;
    module::build(machine, "palimpsest-web", quality, Later::Fetched, &work)?;
    for types in ["palimpsest_web.d.ts", "palimpsest_web_bg.wasm.d.ts"] {
        // Only programs that import the app would read them.
        let _ = fs::remove_file(work.join(types));
    }
    let page = fs::read_to_string(web.join("index.html"))?;
    fs::write(work.join("index.html"), policy::write(&page, connect)?)?;
    if web.join("public").is_dir() {
        copy_tree(&web.join("public"), &work)?;
        if quality == Quality::Release {
            let names = files(&web.join("public"))?.into_iter();
            let is_script = |name: &String| Path::new(name).extension().is_some_and(|e| e == "js");
            let scripts = names.filter(is_script);
            let scripts: Vec<PathBuf> = scripts.map(|name| work.join(name)).collect();
            module::minify(machine, scripts.iter())?;
        }
    }
    write_sample(machine, &work)?;
    npm::packages_with(machine, &web, &["--omit=optional"])?;
    write_llm(&web, &work)?;
    write_pdf(&web, &work)?;
    named::name_by_content(&work)?;
    compress(machine, &work, quality)?;
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::rename(&work, &folder)?;
    say("built", &format!("dist/app in {:.1} s", watch.seconds()));
    Ok(folder)
}

/// Writes the conversation that the page opens as a sample: one that the bench of what survives has, without what was written
/// down about it. The page names it, and fetches it when somebody asks for it.
fn write_sample(machine: &Machine, work: &Path) -> Result<()> {
    let source = machine
        .places
        .root
        .join("tests/fixtures/survival/trip.json");
    let text =
        fs::read_to_string(&source).with_context(|| format!("cannot read {}", source.display()))?;
    let mut talks: serde_json::Value = serde_json::from_str(&text)?;
    let messages = talks[0]["messages"].take();
    ensure!(messages.is_array(), "{} has no messages", source.display());
    let to = work.join(SAMPLE);
    fs::create_dir_all(to.parent().unwrap_or(work))?;
    fs::write(to, serde_json::to_string(&messages)?)?;
    Ok(())
}

/// Writes llama.cpp in wasm and its script, with the licence of both.
fn write_llm(web: &Path, work: &Path) -> Result<()> {
    let package = web.join("node_modules/@wllama/wllama");
    let read = |name: &str| {
        let file = package.join(name);
        fs::read(&file).with_context(|| format!("cannot read {}", file.display()))
    };
    let licence = String::from_utf8(read("LICENCE")?)?;
    let script = String::from_utf8(read("esm/index.min.js")?)?;
    let script = script
        .split_once("//# sourceMappingURL=")
        .map_or(script.as_str(), |(before, _)| before);
    let to = work.join(LLM);
    fs::create_dir_all(&to)?;
    fs::write(
        to.join("wllama.js"),
        format!(
            "/*! wllama, with llama.cpp\n\n{}\n*/\n{script}",
            licence.trim()
        ),
    )?;
    fs::write(to.join("wllama.wasm"), read("esm/wasm/wllama.wasm")?)?;
    Ok(())
}

/// Writes what reads PDF files, and its worker. The licence stands at the head of each.
fn write_pdf(web: &Path, work: &Path) -> Result<()> {
    let package = web.join("node_modules/pdfjs-dist/legacy/build");
    let to = work.join(PDF);
    fs::create_dir_all(&to)?;
    for (from, name) in [
        ("pdf.min.mjs", "pdf.js"),
        ("pdf.worker.min.mjs", "pdf-worker.js"),
    ] {
        let file = package.join(from);
        let script =
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        ensure!(
            script.contains("Apache License"),
            "{from} has lost its licence"
        );
        let script = script
            .split_once("//# sourceMappingURL=")
            .map_or(script.as_str(), |(before, _)| before);
        fs::write(to.join(name), script)?;
    }
    Ok(())
}

/// Copies the content of a folder into another.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Lists all files below `folder`, as sorted relative paths with `/`.
pub(crate) fn files(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    collect(folder, "", &mut found)?;
    found.sort();
    Ok(found)
}

fn collect(folder: &Path, prefix: &str, found: &mut Vec<String>) -> Result<()> {
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(&entry.path(), &format!("{name}/"), found)?;
        } else if kind.is_file() {
            found.push(name);
        }
    }
    Ok(())
}

/// Compresses each file in the encodings that browsers accept, and puts the result beside it.
pub(crate) fn compress(machine: &Machine, folder: &Path, quality: Quality) -> Result<()> {
    let level = match quality {
        Quality::Release => "best",
        Quality::Dev => "fast",
    };
    process::quiet(
        machine
            .node()
            .arg("crates/xtask/src/compress.mjs")
            .arg(level)
            .arg(folder),
    )
}
