//! Keeps the shape of the workspace: who may use whom, which versions belong together, what no file may say,
//! and that the table of promised behaviour is true.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;

/// Who may use whom directly; what the used one may use is granted too. Nothing else is.
const MAY_USE: [(&str, &[&str]); 8] = [
    ("palimpsest-web", &["palimpsest-browser"]),
    ("palimpsest-wasm", &["palimpsest-browser"]),
    ("palimpsest-session", &["palimpsest-browser"]),
    (
        "palimpsest-browser",
        &["palimpsest-engine", "palimpsest-ollama"],
    ),
    ("palimpsest-engine", &["palimpsest-core"]),
    ("palimpsest-ollama", &["palimpsest-core"]),
    ("palimpsest-core", &["palimpsest-tokens"]),
    ("palimpsest-tokens", &[]),
];

/// Workspace crates that build the product instead of being it. They use none of it.
const TOOLS: [&str; 2] = ["xtask", "wasm-bindgen-bins"];

/// The crates that may have wasm-bindgen among their dependencies.
const IN_JAVASCRIPT: [&str; 4] = [
    "palimpsest-browser",
    "palimpsest-session",
    "palimpsest-wasm",
    "palimpsest-web",
];

/// Every promised behaviour: a letter and its highest number.
const PROMISES: [(&str, u32); 12] = [
    ("I", 10),
    ("B", 10),
    ("S", 7),
    ("P", 10),
    ("C", 6),
    ("G", 9),
    ("W", 5),
    ("O", 5),
    ("T", 4),
    ("R", 1),
    ("E", 4),
    ("F", 93),
];

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

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("the crate lies two levels down")
        .to_path_buf()
}

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

/// Files under version control, relative to the root.
fn tracked() -> Vec<String> {
    let output = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root())
        .output()
        .expect("git starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout)
        .expect("file names are UTF-8")
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The text of a tracked file; nothing for binary ones and those removed but not yet committed.
fn contents(name: &str) -> Option<String> {
    String::from_utf8(fs::read(root().join(name)).ok()?).ok()
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
        "palimpsest-engine",
        "palimpsest-ollama",
        "palimpsest-tokens",
    ];
    assert_eq!(allowed("palimpsest-web"), BTreeSet::from(all));
    assert_eq!(
        allowed("palimpsest-engine"),
        BTreeSet::from(["palimpsest-core", "palimpsest-tokens"])
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

/// State by id, in the table's order; an id that stands twice is an error.
fn promises(table: &str) -> Result<Vec<(String, String)>, String> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in table.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let (Some(id), Some(state)) = (cells.first(), cells.last()) else {
            continue;
        };
        if *id == "id" {
            continue;
        }
        if found.iter().any(|(known, _)| known == id) {
            return Err(format!("{id} stands twice"));
        }
        if *state != "done" && *state != "not yet" {
            return Err(format!(
                "{id} is {state:?}, which is neither `done` nor `not yet`"
            ));
        }
        found.push(((*id).to_owned(), (*state).to_owned()));
    }
    Ok(found)
}

#[test]
fn every_promise_is_listed_once() {
    let table = contents("docs/behaviour.md").expect("docs/behaviour.md is there");
    let listed: BTreeSet<String> = promises(&table)
        .unwrap_or_else(|wrong| panic!("docs/behaviour.md: {wrong}"))
        .into_iter()
        .map(|(id, _)| id)
        .collect();
    let expected: BTreeSet<String> = PROMISES
        .iter()
        .flat_map(|(letter, last)| (1..=*last).map(move |number| format!("{letter}{number}")))
        .collect();
    assert_eq!(listed, expected);
}

#[test]
fn every_kept_promise_has_a_test() {
    let table = contents("docs/behaviour.md").expect("docs/behaviour.md is there");
    let mut proven = BTreeSet::new();
    for name in tracked() {
        if let Some(text) = contents(&name) {
            proven.extend(proven_in(&name, &text));
        }
    }
    let unproven: Vec<String> = promises(&table)
        .unwrap_or_else(|wrong| panic!("docs/behaviour.md: {wrong}"))
        .into_iter()
        .filter(|(id, state)| state == "done" && !proven.contains(id))
        .map(|(id, _)| id)
        .collect();
    assert!(
        unproven.is_empty(),
        "said to be done, but no test's comment begins with them: {unproven:?}"
    );
}

/// The ids that comments of tests begin with, as in `/// P9, I8: …`.
fn proven_in(name: &str, text: &str) -> BTreeSet<String> {
    let ending = Path::new(name)
        .extension()
        .and_then(|ending| ending.to_str())
        .unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut ids = BTreeSet::new();
    for (number, line) in lines.iter().enumerate() {
        let comment = match ending {
            "rs" => line.strip_prefix("///"),
            "mjs" | "js" | "ts" | "tsx" => ["//", "/**", "* "]
                .into_iter()
                .find_map(|start| line.strip_prefix(start)),
            _ => None,
        };
        let Some((front, _)) = comment.and_then(|comment| comment.split_once(':')) else {
            continue;
        };
        // numbers of other lists may stand among them
        if let Some(named) = numbers(front)
            && is_test(&lines[number + 1..], ending)
        {
            ids.extend(named.into_iter().filter(|word| is_id(word)));
        }
    }
    ids
}

/// The numbers a comment begins with, as in `P9, I8` or `I10, F 2, 13–15`, each with its letter; none if it begins
/// with anything else.
fn numbers(front: &str) -> Option<Vec<String>> {
    let mut letter = None;
    let mut found = Vec::new();
    for word in front.split(',').map(str::trim) {
        let digits = word.trim_start_matches(|char: char| char.is_ascii_uppercase());
        match word.len() - digits.len() {
            0 => {}
            1 => letter = Some(&word[..1]),
            _ => return None,
        }
        let (first, last) = digits.trim().split_once('–').unwrap_or((digits.trim(), ""));
        let first: u32 = first.parse().ok()?;
        let last = if last.is_empty() {
            first
        } else {
            last.parse().ok()?
        };
        found.extend((first..=last).map(|number| format!("{}{number}", letter.unwrap_or("?"))));
    }
    letter.map(|_| found)
}

fn is_id(word: &str) -> bool {
    PROMISES.iter().any(|(letter, last)| {
        word.strip_prefix(letter)
            .and_then(|number| number.parse::<u32>().ok())
            .is_some_and(|number| (1..=*last).contains(&number))
    })
}

/// Whether what follows a comment is a test: in Rust by its attribute, in JavaScript by a call that is given a name.
fn is_test(following: &[&str], ending: &str) -> bool {
    if ending == "rs" {
        let mut rest = following.iter().skip_while(|line| line.starts_with("///"));
        let mut attributes = rest.by_ref().take_while(|line| line.starts_with("#["));
        return attributes.any(|line| line.ends_with("test]") || line.contains("test("));
    }
    following
        .iter()
        .find(|line| !line.starts_with("//") && !line.starts_with('*'))
        .is_some_and(|line| ["(\"", "('", "(`"].iter().any(|call| line.contains(call)))
}

#[test]
fn ids_count_only_on_tests() {
    let check = |name: &str, text: &str, expected: &[&str]| {
        let expected: BTreeSet<String> = expected.iter().map(ToString::to_string).collect();
        assert_eq!(proven_in(name, text), expected, "{text}");
    };
    check(
        "a.rs",
        "/// P9, I8: kept\n/// and more\n#[test]\nfn a() {}",
        &["I8", "P9"],
    );
    check(
        "a.rs",
        "/// P9: kept\n#[wasm_bindgen_test]\nasync fn a() {}",
        &["P9"],
    );
    check("a.rs", "/// P9: the audit\npub fn audit() {}", &[]);
    check(
        "a.rs",
        "/// P9: the audit\n#[derive(Debug)]\nstruct Audit;",
        &[],
    );
    check(
        "a.rs",
        "/// I6, F 83: torn\n#[test]\nfn a() {}",
        &["F83", "I6"],
    );
    check(
        "a.rs",
        "/// P8, F 2, 13–15: odd\n#[test]\nfn a() {}",
        &["F13", "F14", "F15", "F2", "P8"],
    );
    check("a.rs", "/// In 2: torn\n#[test]\nfn a() {}", &[]);
    check("a.rs", "/// 2, 3: torn\n#[test]\nfn a() {}", &[]);
    check("a.rs", "/// P99: no such promise\n#[test]\nfn a() {}", &[]);
    check(
        "a.test.mjs",
        "/** I10: noticed */\ntest(\"overflow\", () => {})",
        &["I10"],
    );
    check(
        "a.test.mjs",
        "// B9, I10: noticed\ntest(\"overflow\", () => {})",
        &["B9", "I10"],
    );
    check("a.test.mjs", "// B9: noticed\nconst x = 1;", &[]);
    check("a.md", "// B9: noticed\ntest(\"overflow\")", &[]);
}

#[test]
fn the_table_is_read_strictly() {
    let row = |id: &str, state: &str| format!("| {id} | Something. | {state} |\n");
    let table = format!(
        "| id | promise | state |\n|---|---|---|\n{}{}",
        row("I1", "done"),
        row("I2", "not yet")
    );
    assert_eq!(
        promises(&table),
        Ok(vec![
            ("I1".to_owned(), "done".to_owned()),
            ("I2".to_owned(), "not yet".to_owned())
        ])
    );
    assert!(promises(&format!("{table}{}", row("I1", "done"))).is_err());
    assert!(promises(&row("I3", "nearly")).is_err());
}
