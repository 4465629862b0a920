//! Names files by their content: `app.css` becomes `app.<hash>.css`, and all references to it change.
//!
//! A name stands for one content for ever. A page never gets a file of another build in place of its own, and browsers
//! and proxies may keep each file without a time limit.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::places::digest;

/// The files whose name never changes: the page, and the script that serves it without a network.
const FIXED: [&str; 2] = ["index.html", "sw.js"];

/// Files that may name others.
const NAMING: [&str; 4] = [".html", ".js", ".css", ".json"];

/// The characters that may stand before a name in quotes.
const QUOTED: [&str; 6] = ["\"", "\"./", "'", "'./", "`", "`./"];

/// Renames the files of `folder`, and writes the version of the whole build into the page and `sw.js`. Returns that
/// version.
pub(super) fn name_by_content(folder: &Path) -> Result<String> {
    let mut files = read(folder)?;
    let named = names(&files)?;
    for (file, content) in &mut files {
        if let Some(text) = text_of(file, content) {
            let mut text = text.to_owned();
            for (from, to) in &named {
                text = renamed(&text, from, to);
            }
            *content = text.into_bytes();
        }
    }
    let mut all = Vec::new();
    for (file, content) in &files {
        all.extend_from_slice(file.as_bytes());
        all.extend_from_slice(content);
    }
    let version = digest(&all);
    let listed: Vec<&str> = files
        .keys()
        .filter(|file| !FIXED.contains(&file.as_str()) && file.as_str() != super::SAMPLE)
        .filter(|file| {
            ![super::LLM, super::PDF]
                .iter()
                .any(|folder| file.starts_with(folder))
        })
        .map(|file| named.get(file).unwrap_or(file).as_str())
        .collect();
    let build = serde_json::json!({ "version": version, "files": listed });
    for (file, mut content) in files {
        if file == "index.html" {
            let page = String::from_utf8(content)?;
            ensure!(
                page.contains("<html "),
                "index.html has no <html> with attributes"
            );
            content = page
                .replacen("<html ", &format!("<html data-build=\"{version}\" "), 1)
                .into_bytes();
        } else if file == "sw.js" {
            let script = String::from_utf8(content)?;
            content = format!("const BUILD = {build};\n{script}").into_bytes();
        }
        fs::remove_file(folder.join(&file))?;
        fs::write(folder.join(named.get(&file).unwrap_or(&file)), content)?;
    }
    Ok(version)
}

fn read(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    super::files(folder)?
        .into_iter()
        .map(|file| {
            let content =
                fs::read(folder.join(&file)).with_context(|| format!("cannot read {file}"))?;
            Ok((file, content))
        })
        .collect()
}

fn text_of<'a>(file: &str, content: &'a [u8]) -> Option<&'a str> {
    let names = NAMING.iter().any(|ending| file.ends_with(ending));
    names.then(|| std::str::from_utf8(content).ok())?
}

/// The new name of each file that gets one. Its hash covers the file and all files to which it leads: scripts name each
/// other in circles, so no script of a circle could be named after the others.
fn names(files: &BTreeMap<String, Vec<u8>>) -> Result<BTreeMap<String, String>> {
    let leads: BTreeMap<&str, Vec<&str>> = files
        .iter()
        .map(|(file, content)| {
            let text = text_of(file, content).unwrap_or_default();
            let to = files.keys().filter(|other| is_named(text, other));
            (file.as_str(), to.map(String::as_str).collect())
        })
        .collect();
    let found: BTreeSet<&str> = leads.values().flatten().copied().collect();
    let mut named = BTreeMap::new();
    for file in files.keys() {
        if FIXED.contains(&file.as_str()) || has_hash(file) {
            continue;
        }
        ensure!(
            found.contains(file.as_str()),
            "nothing in the app names {file}: nobody would find it under a name with its hash"
        );
        let mut reached = BTreeSet::from([file.as_str()]);
        let mut ahead = vec![file.as_str()];
        while let Some(next) = ahead.pop() {
            ahead.extend(leads[next].iter().filter(|to| reached.insert(to)));
        }
        let mut all = Vec::new();
        for name in reached {
            all.extend_from_slice(name.as_bytes());
            all.push(0);
            all.extend_from_slice(&files[name]);
        }
        let (stem, ending) = file.rsplit_once('.').unwrap_or((file, ""));
        named.insert(file.clone(), format!("{stem}.{}.{ending}", digest(&all)));
    }
    Ok(named)
}

fn is_named(text: &str, file: &str) -> bool {
    renamed(text, file, "") != text
}

/// Replaces a file's name in `text`. A key of an object stays: in the object with which a module is instantiated, a key
/// is the name of an import, which the module itself contains.
fn renamed(text: &str, from: &str, to: &str) -> String {
    let mut text = text.to_owned();
    for quote in QUOTED {
        let end = &quote[..1];
        let (name, new) = (format!("{quote}{from}{end}"), format!("{quote}{to}{end}"));
        let mut pieces = text.split(&name);
        let mut made = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let is_key = piece.trim_start().starts_with(':');
            made.push_str(if is_key { &name } else { &new });
            made.push_str(piece);
        }
        text = made;
    }
    text
}

/// Returns the version of the build to which a page belongs.
pub(crate) fn version(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once("data-build=\"")?;
    Some(rest.split_once('"')?.0)
}

/// Returns `true` if a name contains a hash. The names of the parts do from the start.
pub(crate) fn has_hash(file: &str) -> bool {
    let mut pieces = file.rsplit('.').skip(1);
    pieces
        .next()
        .is_some_and(|hash| hash.len() == 16 && hash.chars().all(|c| c.is_ascii_hexdigit()))
}

/// The name of a file before it got its hash.
pub(crate) fn without_hash(file: &str) -> String {
    match (has_hash(file), file.rsplit_once('.')) {
        (true, Some((stem, ending))) => {
            let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
            format!("{stem}.{ending}")
        }
        _ => file.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page with a stylesheet, two scripts that name each other, a module, and a part with a hash in its name.
    fn app(name: &str, change: &[(&str, &str)]) -> (std::path::PathBuf, Vec<String>, String) {
        let folder =
            std::env::temp_dir().join(format!("palimpsest-named-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("parts")).unwrap();
        let mut files = BTreeMap::from([
            (
                "index.html",
                "<html lang=\"en\"><link href=\"app.css\"><script src=\"boot.js\">",
            ),
            ("sw.js", "BUILD.files;"),
            ("app.css", "a { b: c }"),
            (
                "boot.js",
                "import './main.js'; load(\"main_bg.wasm\", \"sw.js\")",
            ),
            (
                "main.js",
                "import * as a from \"./later.js\"; imports = { \"./later.js\": a }",
            ),
            (
                "later.js",
                "import \"./main.js\"; load(`./parts/a.0123456789abcdef.wasm`, `app.css`)",
            ),
            ("main_bg.wasm", "\0asm \"app.css\""),
            ("parts/a.0123456789abcdef.wasm", "\0asm"),
        ]);
        files.extend(change.iter().copied());
        for (file, content) in files {
            fs::write(folder.join(file), content).unwrap();
        }
        let version = name_by_content(&folder).unwrap();
        let named = super::super::files(&folder).unwrap();
        (folder, named, version)
    }

    #[test]
    fn every_file_but_two_carries_its_hash_and_is_called_so() {
        let (folder, named, version) = app("all", &[]);
        for file in &named {
            assert!(has_hash(file) || FIXED.contains(&file.as_str()), "{file}");
        }
        let text = |start: &str| {
            let file = named.iter().find(|file| file.starts_with(start)).unwrap();
            (file.clone(), fs::read_to_string(folder.join(file)).unwrap())
        };
        let (main, script) = text("main.");
        assert!(script.contains(&format!("\"./{}\"", text("later.").0)));
        assert!(script.contains("{ \"./later.js\": a }"), "a key is no file");
        assert!(text("later.").1.contains(&format!("\"./{main}\"")));
        assert!(text("boot.").1.contains(&format!("'./{main}'")));
        assert!(text("boot.").1.contains("\"sw.js\""));
        let styles = text("app.").0;
        assert!(text("later.").1.contains(&format!("`{styles}`")));
        assert!(
            text("index")
                .1
                .contains(&format!("data-build=\"{version}\""))
        );
        assert!(
            text("main_bg").1.contains("\"app.css\""),
            "no module is changed"
        );
        let script = text("sw.js").1;
        let build = script.lines().next().unwrap();
        let build: serde_json::Value = serde_json::from_str(
            build
                .strip_prefix("const BUILD = ")
                .unwrap()
                .trim_end_matches(';'),
        )
        .unwrap();
        assert_eq!(build["version"], version);
        assert_eq!(build["files"].as_array().unwrap().len(), named.len() - 2);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_name_changes_with_what_the_file_leads_to_and_no_other() {
        let (first, before, version) = app("before", &[]);
        let (second, after, later) = app("after", &[("main_bg.wasm", "\0asm 2")]);
        let differ: Vec<&str> = before
            .iter()
            .zip(&after)
            .filter(|(a, b)| a != b)
            .map(|(a, _)| a.split('.').next().unwrap())
            .collect();
        assert_eq!(differ, ["boot", "main_bg"]);
        assert_ne!(version, later);
        let (third, other, _) = app("third", &[("later.js", "import \"./main.js\"; 2")]);
        for start in ["main", "later", "boot"] {
            let of = |all: &[String]| {
                all.iter()
                    .find(|f| f.split('.').next() == Some(start))
                    .unwrap()
                    .clone()
            };
            assert_ne!(of(&before), of(&other), "{start}");
        }
        for folder in [first, second, third] {
            fs::remove_dir_all(folder).unwrap();
        }
    }

    #[test]
    fn what_nobody_names_is_refused() {
        let files = BTreeMap::from([
            ("index.html".to_owned(), b"<html lang=\"en\">".to_vec()),
            ("left.js".to_owned(), b"".to_vec()),
        ]);
        assert!(names(&files).unwrap_err().to_string().contains("left.js"));
    }
}
