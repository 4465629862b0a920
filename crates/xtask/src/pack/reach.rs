//! Finds the files that an npm package needs: those that its manifest names, and those that these import, one after the other.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// The words before the address of a file that a script or a declaration needs.
const BEFORE: [&str; 4] = ["from ", "import ", "import(", "new URL("];

/// The files below `dist/` that the manifest names. A pattern is another name for files that are named or imported, too.
pub(super) fn entries(manifest: &Value) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    named(&manifest["exports"], &mut found);
    found
}

fn named(value: &Value, found: &mut BTreeSet<PathBuf>) {
    match value {
        Value::String(file) if !file.contains('*') => {
            found.extend(file.strip_prefix("./dist/").map(PathBuf::from));
        }
        Value::Array(items) => items.iter().for_each(|item| named(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| named(field, found)),
        _ => {}
    }
}

/// The entries, and all that they reach in `folder`.
pub(super) fn reached(folder: &Path, entries: BTreeSet<PathBuf>) -> Result<BTreeSet<PathBuf>> {
    let mut open: Vec<PathBuf> = entries.into_iter().collect();
    let mut found = BTreeSet::new();
    while let Some(file) = open.pop() {
        if !found.insert(file.clone()) {
            continue;
        }
        let path = folder.join(&file);
        ensure!(path.is_file(), "{} is needed, and missing", file.display());
        let name = file.to_string_lossy();
        if !name.ends_with(".js") && !name.ends_with(".ts") {
            continue;
        }
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        for address in addresses(&text).filter(|address| address.starts_with('.')) {
            let mut to = joined(&file, address);
            if name.ends_with(".d.ts") && to.extension().is_some_and(|ending| ending == "js") {
                to.set_extension("d.ts");
            }
            open.push(to);
        }
    }
    Ok(found)
}

/// The quoted texts after a word that imports.
fn addresses(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('"').filter_map(|(at, _)| {
        let before = text.get(..at)?;
        let is_import = BEFORE.iter().any(|word| before.ends_with(word));
        let (address, _) = text.get(at + 1..)?.split_once('"')?;
        is_import.then_some(address)
    })
}

/// The address as seen from the file that names it, without `.` and `..`.
fn joined(file: &Path, address: &str) -> PathBuf {
    let mut to = file.to_path_buf();
    to.pop();
    for part in Path::new(address).components() {
        match part {
            Component::ParentDir => {
                to.pop();
            }
            Component::Normal(name) => to.push(name),
            _ => {}
        }
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_imports_is_found() {
        let text = r#"import a, { b } from "./a.js";
            import "./c.js"; export * from "../d.js"; const e = await import("./e.js");
            new URL("./f.wasm", import.meta.url); say("./g.js"); import h from "palimpsest/slim";"#;
        let found: Vec<&str> = addresses(text).collect();
        let expected = [
            "./a.js",
            "./c.js",
            "../d.js",
            "./e.js",
            "./f.wasm",
            "palimpsest/slim",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn addresses_are_seen_from_the_file_that_names_them() {
        let check = |file: &str, address, expected: &str| {
            assert_eq!(joined(Path::new(file), address), Path::new(expected));
        };
        check("ui.js", "./ui/a.js", "ui/a.js");
        check("files/disk.js", "../errors.js", "errors.js");
        check("files/disk.js", "./heads.js", "files/heads.js");
    }
}
