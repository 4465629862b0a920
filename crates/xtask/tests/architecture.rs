//! Keeps the shape of the workspace: who may use whom, which versions belong together, and what no file may say.

mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;
use tree::{contents, root, tracked};

/// Who may use whom directly; what the used one may use is granted too. Nothing else is.
const MAY_USE: [(&str, &[&str]); 9] = [
    ("palimpsest-web", &["palimpsest-browser"]),
    ("palimpsest-npm", &["palimpsest-browser"]),
    (
        "palimpsest-browser",
        &["palimpsest-engine", "palimpsest-ollama"],
    ),
    ("palimpsest-engine", &["palimpsest-core"]),
    ("palimpsest-ollama", &["palimpsest-core"]),
    ("palimpsest-core", &["palimpsest-dialect"]),
    ("palimpsest-dialect", &["palimpsest-text"]),
    ("palimpsest-text", &["palimpsest-tokens"]),
    ("palimpsest-tokens", &[]),
];

/// Workspace crates that build the product instead of being it. They use none of it.
const TOOLS: [&str; 2] = ["xtask", "wasm-bindgen-bins"];

/// The crates that may have wasm-bindgen among their dependencies.
const IN_JAVASCRIPT: [&str; 3] = ["palimpsest-browser", "palimpsest-npm", "palimpsest-web"];

/// What `cargo metadata` says, resolved for wasm.
static METADATA: LazyLock<Value> = LazyLock::new(|| {
    let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--filter-platform",
            "wasm32-unknown-unknown",
        ])
        .current_dir(root())
        .output()
        .expect("cargo starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("cargo metadata answers in JSON")
});

fn text(value: &Value) -> &str {
    value.as_str().expect("a string in cargo's metadata")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list in cargo's metadata")
}

/// Name by package id.
fn names() -> BTreeMap<&'static str, &'static str> {
    list(&METADATA["packages"])
        .iter()
        .map(|package| (text(&package["id"]), text(&package["name"])))
        .collect()
}

fn members() -> BTreeSet<&'static str> {
    let names = names();
    list(&METADATA["workspace_members"])
        .iter()
        .map(|id| names[text(id)])
        .collect()
}

/// The versions of a package in the lock file.
fn versions(name: &str) -> Vec<&'static str> {
    list(&METADATA["packages"])
        .iter()
        .filter(|package| text(&package["name"]) == name)
        .map(|package| text(&package["version"]))
        .collect()
}

/// Package ids that a package depends on; those only its tests use are left out unless wanted.
fn dependencies(id: &str, tests: Tests) -> Vec<&'static str> {
    let Some(node) = list(&METADATA["resolve"]["nodes"])
        .iter()
        .find(|node| text(&node["id"]) == id)
    else {
        return Vec::new();
    };
    list(&node["deps"])
        .iter()
        .filter(|dependency| {
            tests == Tests::Included
                || list(&dependency["dep_kinds"])
                    .iter()
                    .any(|kind| kind["kind"].as_str() != Some("dev"))
        })
        .map(|dependency| text(&dependency["pkg"]))
        .collect()
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Tests {
    Included,
    LeftOut,
}

/// What a crate may use, directly or through what it uses.
fn allowed(name: &str) -> BTreeSet<&'static str> {
    let direct = MAY_USE
        .iter()
        .find(|(user, _)| *user == name)
        .map_or(&[][..], |(_, used)| *used);
    direct
        .iter()
        .flat_map(|used| allowed(used).into_iter().chain([*used]))
        .collect()
}

#[test]
fn crates_use_each_other_only_as_drawn() {
    let names = names();
    let members = members();
    let mut wrong = Vec::new();
    for (id, user) in names.iter().filter(|(_, name)| members.contains(**name)) {
        if !TOOLS.contains(user) && !MAY_USE.iter().any(|(known, _)| known == user) {
            wrong.push(format!("{user} is new: say in MAY_USE what it may use"));
        }
        for used in dependencies(id, Tests::Included)
            .into_iter()
            .map(|id| names[id])
        {
            if members.contains(used) && used != *user && !allowed(user).contains(used) {
                wrong.push(format!("{user} may not use {used}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_granted_follows_the_arrows() {
    let all = [
        "palimpsest-browser",
        "palimpsest-core",
        "palimpsest-dialect",
        "palimpsest-engine",
        "palimpsest-ollama",
        "palimpsest-text",
        "palimpsest-tokens",
    ];
    assert_eq!(allowed("palimpsest-web"), BTreeSet::from(all));
    assert_eq!(
        allowed("palimpsest-engine"),
        BTreeSet::from([
            "palimpsest-core",
            "palimpsest-dialect",
            "palimpsest-text",
            "palimpsest-tokens"
        ])
    );
    assert_eq!(allowed("xtask"), BTreeSet::new());
}

#[test]
fn only_the_javascript_crates_have_wasm_bindgen_in_their_tree() {
    let names = names();
    let members = members();
    let mut wrong = Vec::new();
    for (id, name) in &names {
        if !members.contains(name) || IN_JAVASCRIPT.contains(name) || TOOLS.contains(name) {
            continue;
        }
        let mut seen = BTreeSet::new();
        let mut open = vec![*id];
        while let Some(next) = open.pop() {
            if seen.insert(next) {
                open.extend(dependencies(next, Tests::LeftOut));
            }
        }
        if seen.iter().any(|id| names[id] == "wasm-bindgen") {
            wrong.push(*name);
        }
    }
    assert!(
        wrong.is_empty(),
        "wasm-bindgen is in the tree of {wrong:?}; `cargo tree -i wasm-bindgen` shows how"
    );
}

#[test]
fn the_deciding_crates_forbid_unsafe_code() {
    for name in [
        "palimpsest-core",
        "palimpsest-dialect",
        "palimpsest-tokens",
        "palimpsest-engine",
        "palimpsest-ollama",
    ] {
        if members().contains(name) {
            let file = format!("crates/{name}/src/lib.rs");
            let text = contents(&file).unwrap_or_default();
            assert!(
                text.contains("#![forbid(unsafe_code)]"),
                "{file} must forbid unsafe code"
            );
        }
    }
}

#[test]
fn wasm_bindgen_and_its_tools_have_one_version() {
    let tools = versions("wasm-bindgen-cli");
    assert_eq!(tools.len(), 1, "{tools:?}");
    assert_eq!(
        versions("wasm-bindgen"),
        tools,
        "raise Cargo.toml and crates/wasm-bindgen-bins together"
    );
    assert_eq!(
        versions("wasm-bindgen-bins"),
        tools,
        "the bins carry the version of the tools"
    );
}

#[test]
fn no_file_names_a_machine_or_a_registry() {
    // written in two parts, so that this file does not name them either
    let hosts = [
        concat!("registry.", "npmjs"),
        concat!("crates", ".io"),
        concat!("pypi", ".org"),
        concat!("pythonhosted", ".org"),
        concat!("static.rust-lang", ".org"),
        concat!("deb.debian", ".org"),
    ];
    let mut places = vec![root().display().to_string()];
    places.extend(env::home_dir().map(|home| format!("{}/", home.display())));
    let mut wrong = Vec::new();
    // cargo's lock file names its index by address, always the same one
    for name in tracked()
        .into_iter()
        .filter(|name| !name.ends_with("Cargo.lock"))
    {
        let Some(text) = contents(&name) else {
            continue;
        };
        for (number, line) in text.lines().enumerate() {
            let at = |what: &str| format!("{name}:{} {what}", number + 1);
            wrong.extend(
                hosts
                    .iter()
                    .filter(|host| line.contains(**host))
                    .map(|host| at(host)),
            );
            wrong.extend(
                places
                    .iter()
                    .filter(|place| names_path(line, place))
                    .map(|place| at(place)),
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Whether a line holds the absolute path, not just a longer path that ends the same way.
fn names_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        // after a colon it is a place inside a container, as in `-v data:/root/.cache`
        before.is_none_or(|char| !char.is_alphanumeric() && !"_/}.~:".contains(char))
    })
}

#[test]
fn a_path_is_told_from_a_longer_one() {
    assert!(names_path("cd /home/me/code", "/home/me/"));
    assert!(names_path("/home/me/", "/home/me/"));
    assert!(!names_path("backup/home/me/x", "/home/me/"));
    assert!(!names_path("$BASE}/home/me/x", "/home/me/"));
    assert!(!names_path("docker run -v data:/home/me/x", "/home/me/"));
}
