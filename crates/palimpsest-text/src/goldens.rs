//! Golden values of this crate's results on the texts of the repository: one number for each file and kind of result.
//!
//! They show if a change of shape kept the behaviour. After an intended change of behaviour, `PALIMPSEST_BLESS=1`
//! writes them anew, and the commit gives the reason. `PALIMPSEST_TEXTS=FILE` prints the numbers of one more file.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use palimpsest_tokens::Estimator;
use serde_json::Value;

use crate::extractive::{Options, Passage, changes, summarize};
use crate::retention::{
    Attempt, Constraint, Speaker, constraints, extract_from, grounded, reject, supersedes,
};
use crate::words::segment::{lines, prose};
use crate::words::terms::{each_term, hash, mix};
use crate::words::worth::{announces_a_change, worth};
use crate::words::{Evidence, detect_language, small_word};

/// A Monday in May 2023.
const SAID: i32 = 19_485;
/// The bytes of text that are read of a file: enough for a stable number, few enough for a test.
const MOST_BYTES: usize = 400_000;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The texts in a file: every string of JSON, every line of another text, and the text itself.
fn texts(path: &Path) -> Vec<String> {
    let whole = std::fs::read_to_string(path).unwrap();
    let mut found = Vec::new();
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    match ending {
        "json" | "traj" => strings(&serde_json::from_str(&whole).unwrap(), &mut found),
        _ => {
            for line in whole.lines().filter(|line| !line.is_empty()) {
                match serde_json::from_str(line) {
                    Ok(value) => strings(&value, &mut found),
                    Err(_) => found.push(line.to_owned()),
                }
            }
            if ending == "md" {
                found.push(whole);
            }
        }
    }
    let mut left = MOST_BYTES;
    found.retain(|text| {
        let fits = text.len() <= left;
        left -= if fits { text.len() } else { 0 };
        fits
    });
    found
}

fn strings(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) if text.len() > 1 => out.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, out)),
        Value::Object(fields) => fields.values().for_each(|field| strings(field, out)),
        _ => {}
    }
}

/// A kind of result, and the number for all results of that kind.
type Section = (&'static str, u64);

fn number(dump: &str) -> u64 {
    mix(hash(dump.as_bytes()))
}

/// Computes the results for each text and returns a number for each kind.
fn read(texts: &[String]) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut section = |name: &'static str, dump: String| {
        if let Some(folder) = std::env::var_os("PALIMPSEST_DUMPS") {
            let mut path = PathBuf::from(folder);
            path.push(format!("{name}.txt"));
            std::fs::write(path, &dump).unwrap();
        }
        sections.push((name, number(&dump)));
    };
    section(
        "segments",
        each(texts, |text, out| {
            _ = write!(out, "{:?} {:?}", prose(text), lines(text));
        }),
    );
    section(
        "terms",
        each(texts, |text, out| {
            each_term(text, |t| {
                _ = write!(
                    out,
                    "{:x} {:?} {} {:b};",
                    t.hash,
                    t.kind,
                    t.capital,
                    small_word(t.hash)
                );
            });
        }),
    );
    section(
        "languages",
        each(texts, |text, out| {
            let evidence = Evidence::of(text);
            _ = write!(out, "{:?} {evidence:?}", detect_language(text));
        }),
    );
    section(
        "worth",
        each(texts, |text, out| {
            for unit in prose(text) {
                let sentence = &text[unit.start..unit.end];
                _ = write!(
                    out,
                    "{:x} {},",
                    worth(sentence).to_bits(),
                    announces_a_change(sentence)
                );
            }
        }),
    );
    section(
        "facts",
        each(texts, |text, out| {
            for speaker in [Speaker::User, Speaker::Assistant, Speaker::Tool] {
                _ = write!(out, "{:?}", extract_from(text, speaker));
            }
        }),
    );
    let mut demands: Vec<Constraint> = Vec::new();
    section(
        "demands",
        each(texts, |text, out| {
            let found = constraints(text);
            _ = write!(out, "{found:?}");
            demands.extend(found);
        }),
    );
    section(
        "supersession",
        each(&demands, |new, out| {
            let at = demands
                .iter()
                .position(|d| std::ptr::eq(d, new))
                .unwrap_or(0);
            for old in &demands[at.saturating_sub(6)..at] {
                _ = write!(
                    out,
                    "{}{}",
                    supersedes(&new.text, &old.text),
                    supersedes(&old.text, &new.text)
                );
            }
        }),
    );
    section(
        "updates",
        each(texts, |text, out| {
            let at = texts
                .iter()
                .position(|t| std::ptr::eq(t, text))
                .unwrap_or(0);
            let earlier = texts[at.saturating_sub(8)..at].join("\n");
            let facts = extract_from(text, Speaker::User);
            _ = write!(out, "{:?}", changes(&earlier, &facts));
        }),
    );
    section(
        "rejects",
        each(texts, |text, out| {
            let at = texts
                .iter()
                .position(|t| std::ptr::eq(t, text))
                .unwrap_or(0);
            let source = texts[at.saturating_sub(3)..at].join("\n");
            let draft = Attempt {
                prompt: "Summarise the messages.",
                ..Attempt::default()
            };
            _ = write!(
                out,
                "{:?} {:?}",
                reject(text, &source, &draft),
                grounded(text, &source)
            );
        }),
    );
    section("summaries", summaries(texts));
    sections
}

fn each<T>(items: &[T], mut dump: impl FnMut(&T, &mut String)) -> String {
    let mut out = String::new();
    for item in items {
        dump(item, &mut out);
        out.push('\n');
    }
    out
}

/// Summarises each text by itself with its dates, and runs of texts as a conversation, at several sizes.
fn summaries(texts: &[String]) -> String {
    let counter = Estimator::default();
    let mut out = String::new();
    let mut take = |passages: &[Passage<'_>], target_tokens: u32| {
        let options = Options {
            target_tokens,
            ..Options::default()
        };
        let summary = summarize(passages, &options, &counter);
        _ = writeln!(
            out,
            "{:?} {:?} {:?}",
            summary.text, summary.kept, summary.order
        );
    };
    for text in texts.iter().filter(|text| text.len() < 2_000) {
        let alone = Passage {
            day: Some(SAID),
            ..Passage::new(1, Speaker::User, text)
        };
        take(&[alone], 400);
    }
    for run in texts.chunks(60) {
        let roles = [
            Speaker::User,
            Speaker::Assistant,
            Speaker::User,
            Speaker::Tool,
        ];
        let passages: Vec<Passage<'_>> = (0u32..)
            .zip(run)
            .map(|(n, text)| Passage {
                day: Some(SAID + n.cast_signed() / 20),
                ..Passage::new(n, roles[n as usize % 4], text)
            })
            .collect();
        take(&passages, 150);
        take(&passages, 1_000);
    }
    out
}

/// Compares the numbers of `files`, named as in the table, with those of `table`, or writes them.
fn compare(table: &Path, files: &[(String, PathBuf)]) {
    let mut found = String::new();
    for (name, path) in files {
        for (section, number) in read(&texts(path)) {
            _ = writeln!(found, "{name} {section} {number:016x}");
        }
    }
    if std::env::var_os("PALIMPSEST_BLESS").is_some() {
        std::fs::write(table, &found).unwrap();
    }
    let expected = std::fs::read_to_string(table).unwrap();
    let others: Vec<&str> = found
        .lines()
        .filter(|line| !expected.lines().any(|e| e == *line))
        .collect();
    assert!(
        others.is_empty() && found.lines().count() == expected.lines().count(),
        "read otherwise than before (PALIMPSEST_BLESS=1 writes the numbers anew): {others:#?}"
    );
}

/// Every file below a folder that holds texts, by its path.
fn below(folder: &Path, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            below(&path, into);
        } else {
            into.push(path);
        }
    }
}

#[test]
fn the_texts_of_the_tree_are_read_as_before() {
    let mut paths = vec![
        root().join("tests/standing/sentences.txt"),
        root().join("tests/goldens/cues.txt"),
        root().join("tests/goldens/texts.txt"),
    ];
    below(&root().join("../../tests/fixtures"), &mut paths);
    let files: Vec<(String, PathBuf)> = paths
        .into_iter()
        .map(|path| {
            let name = path.to_str().unwrap().rsplit("tests/").next().unwrap();
            (name.to_owned(), path.clone())
        })
        .collect();
    compare(&root().join("tests/goldens/numbers.txt"), &files);
}

/// The same for conversations from outside of the tree.
#[test]
#[ignore = "needs ../shared/data"]
fn recorded_conversations_are_read_as_before() {
    let folder = root().join("../../../shared/data");
    let files = [
        "coding-session.jsonl",
        "locomo-dev.json",
        "standing-instructions.jsonl",
        "swe-agent.traj",
        "tau-airline-dev.json",
    ]
    .map(|name| (name.to_owned(), folder.join(name)));
    compare(&root().join("tests/goldens/recorded.txt"), &files);
}

/// Prints the numbers of one more file.
#[test]
#[ignore = "reads the file that PALIMPSEST_TEXTS names"]
fn numbers_of_another_file() {
    let Some(path) = std::env::var_os("PALIMPSEST_TEXTS").map(PathBuf::from) else {
        return;
    };
    for (section, number) in read(&texts(&path)) {
        println!("{section} {number:016x}");
    }
}
