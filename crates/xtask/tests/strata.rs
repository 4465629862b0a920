//! The modules of a crate use each other in one direction: whoever reads one needs only those below it.

#![allow(
    clippy::unwrap_used,
    reason = "a test may stop where a source cannot be read"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The crates in which no two modules need each other.
const CRATES: [&str; 8] = [
    "palimpsest-text",
    "palimpsest-tokens",
    "palimpsest-dialect",
    "palimpsest-core",
    "palimpsest-engine",
    "palimpsest-ollama",
    "palimpsest-browser",
    "palimpsest-npm",
];

type Graph = BTreeMap<String, BTreeSet<String>>;

/// Folders that hold modules of one stratum: these, too, use each other in one direction.
const FOLDERS: [(&str, &str); 6] = [
    ("palimpsest-core", "data"),
    ("palimpsest-core", "context"),
    ("palimpsest-core", "pass"),
    ("palimpsest-core", "run"),
    ("palimpsest-core", "compact"),
    ("palimpsest-engine", "session"),
];

/// Which of a crate's modules uses which. A folder and the file of its name are one module. With a `folder`, the modules in it.
fn graph(source: &Path, folder: Option<&str>) -> Graph {
    let mut graph = Graph::new();
    let source = &folder.map_or_else(|| source.to_owned(), |folder| source.join(folder));
    let root = folder.map_or_else(
        || "crate::".to_owned(),
        |folder| format!("crate::{folder}::"),
    );
    let mut folders = vec![PathBuf::new()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(source.join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                files.push(path);
            }
        }
    }
    let module = |path: &Path| -> String {
        let first = path.components().next().unwrap().as_os_str();
        first.to_str().unwrap().trim_end_matches(".rs").to_owned()
    };
    let modules: BTreeSet<String> = files.iter().map(|file| module(file)).collect();
    for file in files
        .iter()
        .filter(|file| !file.ends_with("tests.rs") && !file.ends_with("lib.rs"))
    {
        let text = fs::read_to_string(source.join(file)).unwrap();
        let used = graph.entry(module(file)).or_default();
        used.extend(imports(&text, file.components().count() - 1, &root));
    }
    for (user, used) in &mut graph {
        used.retain(|name| modules.contains(name) && name != user);
    }
    graph
}

/// The modules below `root` that a file names, which lies `depth` folders below it. Tests are left out. With a `depth` of
/// `usize::MAX` no path that begins with `super` is followed.
fn imports(text: &str, depth: usize, root: &str) -> BTreeSet<String> {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let code: String = text
        .lines()
        .map(|line| line.split("//").next().unwrap())
        .collect::<Vec<_>>()
        .join("\n");
    let mut found = BTreeSet::new();
    let name = |rest: &str| -> String {
        rest.chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect()
    };
    for (at, _) in code.match_indices(root) {
        let rest = &code[at + root.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            found.insert(name(rest));
            continue;
        };
        // the names that stand in the outer braces
        let mut open = 0;
        let mut word = String::new();
        for c in group.chars() {
            match c {
                '{' => open += 1,
                '}' if open == 0 => break,
                '}' => open -= 1,
                ',' if open == 0 => {
                    found.insert(name(word.trim()));
                    word.clear();
                }
                c if open == 0 => word.push(c),
                _ => {}
            }
        }
        found.insert(name(word.trim()));
    }
    // `super::super::name` reaches the root where there are more of it than folders
    let Some(above) = depth.checked_add(1).map(|n| "super::".repeat(n)) else {
        return found;
    };
    for (at, _) in code.match_indices(&above) {
        if !code[..at].ends_with("super::") {
            found.insert(name(&code[at + above.len()..]));
        }
    }
    found
}

/// Modules that need each other, by way of others or at once: each group sorted.
fn circles(graph: &Graph) -> Vec<Vec<&str>> {
    let reached = |from: &str| {
        let mut seen = BTreeSet::new();
        let mut next: Vec<&str> = vec![from];
        while let Some(at) = next.pop() {
            for to in graph.get(at).into_iter().flatten() {
                if seen.insert(to.as_str()) {
                    next.push(to);
                }
            }
        }
        seen
    };
    let all: BTreeMap<&str, BTreeSet<&str>> = graph
        .keys()
        .map(|module| (module.as_str(), reached(module)))
        .collect();
    let mut found: Vec<Vec<&str>> = Vec::new();
    for (module, reach) in &all {
        if !reach.contains(module) || found.iter().any(|circle| circle.contains(module)) {
            continue;
        }
        let others = reach.iter().filter(|other| all[*other].contains(module));
        found.push(others.copied().collect());
    }
    found
}

#[test]
fn modules_use_each_other_in_one_direction() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let whole = CRATES.iter().map(|name| (*name, None));
    let parts = FOLDERS.iter().map(|(name, folder)| (*name, Some(*folder)));
    for (name, folder) in whole.chain(parts) {
        let graph = graph(&crates.join(name).join("src"), folder);
        assert!(graph.len() > 1, "{name} {folder:?} has no modules");
        let circles = circles(&graph);
        assert!(
            circles.is_empty(),
            "{name} {folder:?}: these modules need each other: {circles:?}\n{graph:#?}"
        );
    }
}

/// The features of the app, and what stands below them. Data stand in a folder of each feature.
const APP: [&str; 11] = [
    "app", "chat", "context", "library", "log", "settings", "tools", "widgets", "platform",
    "markdown", "text",
];

/// The modules of the app, where the data of all features are one module, below everything that draws them. What a person can
/// do is left out: features call each other by way of `act`, which names the actions of all of them.
fn app() -> Graph {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = root.join("../../web/src");
    let mut graph = Graph::new();
    let mut folders: Vec<(PathBuf, String)> = vec![(source.clone(), String::new())];
    while let Some((folder, module)) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            let module = match (module.as_str(), name) {
                ("", first) => first.to_owned(),
                (_, "data") => "data".to_owned(),
                (feature, _) => feature.to_owned(),
            };
            if path.is_dir() {
                folders.push((path, module));
                continue;
            }
            // the settings themselves are data, and `settings.rs` holds them
            let module = match path.strip_prefix(&source).unwrap().to_str().unwrap() {
                "settings.rs" => "data".to_owned(),
                "lib.rs" => continue,
                _ if module == "act" => continue,
                _ => module,
            };
            let text = fs::read_to_string(&path).unwrap();
            let used = graph.entry(module.clone()).or_default();
            for name in imports(&text, usize::MAX, "crate::") {
                let below = imports(&text, usize::MAX, &format!("crate::{name}::"));
                let module = |below: &String| match (name.as_str(), below.as_str()) {
                    ("settings", "actions" | "view") => "settings".to_owned(),
                    (_, "data") | ("settings", _) => "data".to_owned(),
                    (first, _) => first.to_owned(),
                };
                // `use crate::server;` names the module alone
                if below.is_empty() {
                    used.insert(name.clone());
                }
                used.extend(below.iter().map(module));
            }
            used.remove("act");
            used.remove(&module);
        }
    }
    graph
}

#[test]
fn features_use_each_other_in_one_direction() {
    let graph = app();
    for name in APP {
        assert!(graph.contains_key(name), "{name} is no module of the app");
    }
    let circles = circles(&graph);
    assert!(
        circles.is_empty(),
        "these modules need each other: {circles:?}\n{graph:#?}"
    );
    let features = [
        "app", "chat", "context", "library", "log", "settings", "tools",
    ];
    for below in ["platform", "widgets", "data", "text", "markdown", "state"] {
        for feature in features {
            assert!(!graph[below].contains(feature), "{below} uses {feature}");
        }
    }
    for feature in &features[1..] {
        assert!(
            !graph[*feature].contains("app"),
            "{feature} uses the frame of the app"
        );
    }
}

/// An action of one feature calls those of another by the names in `act`, and so it is seen there who calls whom.
#[test]
fn actions_of_other_features_are_called_by_act() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/src");
    let features = ["chat", "context", "library", "log", "settings", "tools"];
    for feature in features {
        let folder = source.join(feature).join("actions");
        let mut seen = 0;
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            for other in features.iter().filter(|other| **other != feature) {
                let used = imports(&text, usize::MAX, &format!("crate::{other}::"));
                assert!(
                    !used.contains("actions"),
                    "{} calls {other} at once",
                    path.display()
                );
            }
            seen += 1;
        }
        assert!(seen > 0, "{feature} has no actions");
    }
}

#[test]
fn imports_are_found() {
    let check = |text: &str, depth: usize, root: &str, expected: &[&str]| {
        let found: Vec<String> = imports(text, depth, root).into_iter().collect();
        assert_eq!(found, expected, "{text}");
    };
    check(
        "use crate::a::B;\nfn f() { crate::c::d() }",
        0,
        "crate::",
        &["a", "c"],
    );
    check(
        "use crate::{a::{B, C}, d, e::F};",
        0,
        "crate::",
        &["a", "d", "e"],
    );
    check("// crate::a\nuse std::fmt;", 0, "crate::", &[]);
    check("use super::a::B;", 0, "crate::", &["a"]);
    check("use super::a::B;", 1, "crate::", &[]);
    check("use super::super::a::B;", 1, "crate::", &["a"]);
    check(
        "use crate::a;\n#[cfg(test)]\nmod tests { use crate::b; }",
        0,
        "crate::",
        &["a"],
    );
    check(
        "use crate::data::a::B;\nuse crate::c;",
        0,
        "crate::data::",
        &["a"],
    );
}

#[test]
fn circles_are_found() {
    let check = |arrows: &[(&str, &str)], expected: &[&[&str]]| {
        let mut graph = Graph::new();
        for (from, to) in arrows {
            graph
                .entry((*from).into())
                .or_default()
                .insert((*to).into());
            graph.entry((*to).into()).or_default();
        }
        assert_eq!(circles(&graph), expected, "{arrows:?}");
    };
    check(&[("a", "b"), ("b", "c"), ("a", "c")], &[]);
    check(&[("a", "b"), ("b", "a"), ("c", "a")], &[&["a", "b"]]);
    check(
        &[("a", "b"), ("b", "c"), ("c", "a"), ("d", "e"), ("e", "d")],
        &[&["a", "b", "c"], &["d", "e"]],
    );
}
