//! Checks the table of promised behaviour: every promise is listed once, and a kept promise names the place where a
//! user reaches it and a test that goes there.

mod tree;

use std::collections::BTreeSet;
use std::path::Path;

use tree::{contents, tracked};

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
    ("R", 3),
    ("E", 4),
    ("F", 95),
];

/// The folders whose tests take a user's way: through the app, or through the packed package.
const USERS_TESTS: [&str; 6] = [
    "tests/e2e/",
    "tests/packaging/",
    "tests/conformance/",
    "tests/durability/",
    "tests/matrix/",
    "tests/forget/",
];

/// A cell without content yet.
const NOTHING: &str = "—";

/// A line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Promise {
    id: String,
    /// The place where a user reaches it: `app: Library › Search`, or `package: Session.undo`. `; ` separates several.
    place: String,
    /// `tests/e2e/tabs.test.mjs: each session has its own draft`.
    test: String,
    state: State,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Done,
    /// The missing part.
    NotYet(String),
}

/// Reads the lines in the table's order. An id that appears twice is an error.
fn promises(table: &str) -> Result<Vec<Promise>, String> {
    let mut found: Vec<Promise> = Vec::new();
    for line in table.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [id, _, place, test, state] = cells[..] else {
            return Err(format!("not five cells: {line}"));
        };
        if id == "id" {
            continue;
        }
        if found.iter().any(|known| known.id == id) {
            return Err(format!("{id} stands twice"));
        }
        let state = match (state, state.strip_prefix("not yet: ")) {
            ("done", _) => State::Done,
            (_, Some(missing)) if !missing.is_empty() => State::NotYet(missing.to_owned()),
            _ => {
                return Err(format!(
                    "{id} is {state:?}, which is neither `done` nor `not yet: ` with what is missing"
                ));
            }
        };
        found.push(Promise {
            id: id.to_owned(),
            place: place.to_owned(),
            test: test.to_owned(),
            state,
        });
    }
    Ok(found)
}

fn table() -> Vec<Promise> {
    let table = contents("docs/behaviour.md").expect("docs/behaviour.md is there");
    promises(&table).unwrap_or_else(|wrong| panic!("docs/behaviour.md: {wrong}"))
}

/// Returns `true` if a place of the app exists: each part of the way is a text in the app's sources.
fn is_in_app(way: &str, sources: &[String]) -> bool {
    way.split(" › ").all(|part| {
        let quoted = format!("\"{part}\"");
        sources.iter().any(|source| source.contains(&quoted))
    })
}

/// Returns `true` if a call of the package exists in the reference: `Session.undo` in the part about `Session`.
fn is_in_package(call: &str, reference: &str) -> bool {
    let mut names = call.split('.');
    let first = names.next().unwrap_or_default();
    let headings = [format!("\n### {first}\n"), format!("\n### {first}()\n")];
    let Some(part) = headings
        .iter()
        .find_map(|heading| reference.split_once(heading.as_str()))
        .map(|(_, rest)| rest.split("\n### ").next().unwrap_or_default())
    else {
        return false;
    };
    names.all(|name| {
        // a method or an accessor has a heading, a field has a row; what a field holds is named after it
        [
            format!("\n##### {name}\n"),
            format!("\n##### {name}()\n"),
            format!("</a> `{name}` |"),
            format!("</a> `{name}?` |"),
            format!(".{name}` |"),
            format!(".{name}()` |"),
        ]
        .iter()
        .any(|form| part.contains(form))
    })
}

/// Returns `true` if a file has a test of that name. Placeholders are written as in the source: `in ${engine}`.
fn has_test(file: &str, name: &str) -> bool {
    let lines = file.lines().map(str::trim_start);
    lines.filter(|line| !line.starts_with("//")).any(|line| {
        line.match_indices("test(").any(|(at, call)| {
            let before = line[..at].chars().next_back();
            let given = line[at + call.len()..].strip_prefix(['"', '\'', '`']);
            before.is_none_or(|char| char == ' ')
                && given
                    .and_then(|given| given.strip_prefix(name))
                    .is_some_and(|rest| rest.starts_with(['"', '\'', '`']))
        })
    })
}

#[test]
fn every_kept_promise_is_reached_by_a_user_and_a_test() {
    let pages = tracked().into_iter();
    let pages = pages.filter(|name| name.starts_with("docs/api/"));
    let reference: String = pages.filter_map(|name| contents(&name)).collect();
    assert!(!reference.is_empty(), "docs/api has no pages");
    let sources: Vec<String> = tracked()
        .iter()
        .filter(|name| name.starts_with("web/src/"))
        .filter(|name| Path::new(name).extension().is_some_and(|end| end == "rs"))
        .filter_map(|name| contents(name))
        .collect();
    let mut wrong = Vec::new();
    for Promise {
        id,
        place,
        test,
        state,
    } in table()
    {
        let kept = state == State::Done;
        if kept || place != NOTHING {
            for one in place.split("; ") {
                let found = match one.split_once(": ") {
                    Some(("app", way)) => is_in_app(way, &sources),
                    Some(("package", call)) => is_in_package(call, &reference),
                    _ => false,
                };
                if !found {
                    wrong.push(format!("{id}: no user finds {one:?}"));
                }
            }
        }
        if kept || test != NOTHING {
            let found = test.split_once(": ").is_some_and(|(file, name)| {
                USERS_TESTS.iter().any(|folder| file.starts_with(folder))
                    && contents(file).is_some_and(|text| has_test(&text, name))
            });
            if !found {
                wrong.push(format!("{id}: there is no test {test:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "docs/behaviour.md: {wrong:#?}");
}

#[test]
fn places_and_tests_are_looked_up_strictly() {
    let sources =
        ["Library: \"Library\" | \"Bibliothek\",\nSearch: \"Search\" | \"Suchen\",".to_owned()];
    assert!(is_in_app("Library › Search", &sources));
    assert!(!is_in_app("Library › Find", &sources));
    assert!(!is_in_app("Lib", &sources));
    let reference = "## p\n### compact()\n\nFits.\n\n### Session\n\n##### undo()\n\n| <a id=\"g\"></a> `goals` | `object` |\n| `goals.edit` | `public` |\n\n### Other\n\n##### lift()\n";
    for call in ["compact", "Session", "Session.undo", "Session.goals.edit"] {
        assert!(is_in_package(call, reference), "{call}");
    }
    for call in ["compac", "Session.lift", "Session.und", "undo"] {
        assert!(!is_in_package(call, reference), "{call}");
    }
    let file = "test(\"a name\", SLOW, async () => {});\n  test(`b in ${engine}`, () => {});\n// test(\"c\")";
    assert!(has_test(file, "a name") && has_test(file, "b in ${engine}"));
    assert!(!has_test(file, "a") && !has_test(file, "b in chrome") && !has_test(file, "c"));
}

#[test]
fn every_promise_is_listed_once() {
    let listed: BTreeSet<String> = table().into_iter().map(|promise| promise.id).collect();
    let expected: BTreeSet<String> = PROMISES
        .iter()
        .flat_map(|(letter, last)| (1..=*last).map(move |number| format!("{letter}{number}")))
        .collect();
    assert_eq!(listed, expected);
}

#[test]
fn every_kept_promise_has_a_test_with_its_number() {
    let mut proven = BTreeSet::new();
    for name in tracked() {
        if let Some(text) = contents(&name) {
            proven.extend(proven_in(&name, &text));
        }
    }
    let unproven: Vec<String> = table()
        .into_iter()
        .filter(|promise| promise.state == State::Done && !proven.contains(&promise.id))
        .map(|promise| promise.id)
        .collect();
    assert!(
        unproven.is_empty(),
        "said to be done, but no test's comment begins with them: {unproven:?}"
    );
}

/// The ids at the beginning of test comments, as in `/// P9, I8: …`.
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
        // Numbers of other lists may stand among them.
        if let Some(named) = numbers(front)
            && is_test(&lines[number + 1..], ending)
        {
            ids.extend(named.into_iter().filter(|word| is_id(word)));
        }
    }
    ids
}

/// The numbers at the beginning of a comment, as in `P9, I8` or `I10, F 2, 13–15`, each with its letter. `None` if the
/// comment begins with anything else.
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

/// Returns `true` if a test follows a comment: in Rust by its attribute, in JavaScript by a call with a name.
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
    let row = |id: &str, state: &str| {
        format!("| {id} | Something. | package: compact | tests/e2e/a.test.mjs: b | {state} |\n")
    };
    let table = format!(
        "| id | promise | where | test | state |\n|---|---|---|---|---|\n{}{}",
        row("I1", "done"),
        row("I2", "not yet: the app")
    );
    let read = promises(&table).expect("a good table");
    assert_eq!(read.len(), 2);
    assert_eq!((read[0].id.as_str(), &read[0].state), ("I1", &State::Done));
    assert_eq!(read[1].state, State::NotYet("the app".to_owned()));
    assert_eq!(read[1].place, "package: compact");
    assert_eq!(read[1].test, "tests/e2e/a.test.mjs: b");
    assert!(promises(&format!("{table}{}", row("I1", "done"))).is_err());
    for state in ["nearly", "not yet", "not yet: "] {
        assert!(promises(&row("I3", state)).is_err(), "{state}");
    }
    assert!(promises("| I4 | Something. | done |\n").is_err());
}
