//! Parses one line between the goal fences, with a tolerant grammar.

use super::Change;
use crate::data::goal::{ArtifactAction, MilestoneState};
use palimpsest_text::fence::narrow;

/// The kind of a line.
pub(super) enum Line {
    /// Empty, or a word for "none".
    Nothing,
    /// A line without a marker.
    Text,
    /// A bracketed word that is not a marker, or a marker without its parts.
    Unknown,
    /// A marker and the messages that it cites.
    Marker(Change, Vec<u32>),
}

/// Longer text of a marker is a mistake, in bytes.
const LONGEST: usize = 2_000;

/// More citations of one marker are a mistake.
const MOST_CITES: usize = 64;

/// Reads a line without invisible characters.
pub(super) fn read(line: &str) -> Line {
    let line = without_bullet(line.trim());
    let none = line.trim_end_matches('.').to_ascii_lowercase();
    if matches!(none.as_str(), "" | "none" | "n/a" | "no changes" | "-") {
        return Line::Nothing;
    }
    let Some((tag, words)) = tagged(line) else {
        return Line::Text;
    };
    let words = words.trim_start_matches([':', '：', '*', '`', ' ', '\t']);
    let words = words.trim_end_matches(['*', '`', ' ', '\t']);
    if words.is_empty() || words.len() > LONGEST {
        return Line::Unknown;
    }
    let (words, cites) = cited(words);
    let text = words.to_owned();
    let change = match tag.as_str() {
        "goal" => Some(Change::Goal { text }),
        "checkpoint" | "milestone" => return milestone(words, cites),
        "decision" => {
            let (words, lock_asked) = match ending(words, &["locked"]) {
                Some((words, _)) => (words, true),
                None => (words, false),
            };
            let (words, more) = cited(words);
            return marker(words, [cites, more].concat(), |text| Change::Decision {
                text,
                lock_asked,
            });
        }
        "artifact" => artifact(words),
        "next" | "next step" => Some(Change::NextStep { text }),
        "blocker" => Some(Change::Blocker { text }),
        _ => None,
    };
    change.map_or(Line::Unknown, |change| Line::Marker(change, cites))
}

fn marker(words: &str, cites: Vec<u32>, change: impl Fn(String) -> Change) -> Line {
    if words.is_empty() {
        return Line::Unknown;
    }
    Line::Marker(change(words.to_owned()), cites)
}

fn milestone(words: &str, cites: Vec<u32>) -> Line {
    const STATES: [&str; 5] = [
        "completed",
        "in progress",
        "in-progress",
        "in_progress",
        "pending",
    ];
    let Some((words, state)) = ending(words, &STATES) else {
        return Line::Unknown;
    };
    let state = match state {
        "completed" => MilestoneState::Completed,
        "pending" => MilestoneState::Pending,
        _ => MilestoneState::InProgress,
    };
    let (words, more) = cited(words);
    marker(words, [cites, more].concat(), |text| Change::Milestone {
        text,
        state,
    })
}

fn artifact(words: &str) -> Option<Change> {
    let (verb, path) = words.split_once(|c: char| c.is_whitespace() || c == ':')?;
    let action = match verb.trim_matches(['*', '`']).to_ascii_lowercase().as_str() {
        "created" => ArtifactAction::Created,
        "modified" => ArtifactAction::Modified,
        "deleted" => ArtifactAction::Deleted,
        _ => return None,
    };
    let path = path.trim_matches([':', ' ', '\t', '*', '`', '"', '\'']);
    (!path.is_empty()).then(|| Change::Artifact {
        path: path.to_owned(),
        action,
    })
}

/// Removes `-`, `*`, `•`, `+`, `>`, `#`, `1.` or `1)` from the front.
fn without_bullet(line: &str) -> &str {
    let line = line.trim_start_matches(['-', '*', '•', '+', '>', '#', '`', ' ', '\t']);
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &line[digits..];
    match rest.strip_prefix(['.', ')']) {
        Some(rest) if digits > 0 => rest.trim_start_matches(['*', '`', ' ', '\t']),
        _ => line,
    }
}

/// Splits `[TAG] words`, with brackets of any width. The tag comes in lower case.
fn tagged(line: &str) -> Option<(String, &str)> {
    let (tag, words) = line
        .strip_prefix(['[', '［', '【'])?
        .split_once([']', '］', '】'])?;
    let tag: String = tag.trim().chars().map(narrow).collect();
    let tag = tag.trim_matches(['*', '`', ' ']).to_owned();
    let word = |c: char| c.is_alphabetic() || matches!(c, ' ' | '-' | '_');
    (!tag.is_empty() && tag.len() <= 40 && tag.chars().all(word)).then_some((tag, words))
}

/// Returns the words before a final `- WORD`, `: WORD` or `(WORD)`, and the one of `endings` that it is.
fn ending<'a, 'e>(words: &'a str, endings: &[&'e str]) -> Option<(&'a str, &'e str)> {
    const MARKS: [char; 7] = ['*', '`', '.', '!', ' ', '\t', '_'];
    let words = words.trim_end_matches(MARKS);
    let (words, bracketed) = match words.strip_suffix([')', ']']) {
        Some(words) => (words.trim_end_matches(MARKS), true),
        None => (words, false),
    };
    let (before, found) = endings.iter().find_map(|ending| {
        let at = words.len().checked_sub(ending.len())?;
        let last = words.get(at..)?;
        last.eq_ignore_ascii_case(ending)
            .then(|| (&words[..at], *ending))
    })?;
    let before = before.trim_end_matches(['*', '`', ' ', '\t']);
    let separator: &[char] = if bracketed {
        &['(', '[']
    } else {
        &['-', '–', '—', '－', ':', '：']
    };
    let before = before.strip_suffix(separator)?;
    let before = before
        .trim_end_matches(separator)
        .trim_end_matches(['*', '`', ' ', '\t']);
    Some((
        before
            .strip_suffix(['-', '–', '—'])
            .unwrap_or(before)
            .trim_end(),
        found,
    ))
}

/// Returns the words before a final `(#3, #5)`, `(messages 3-5)` or `[#3]`, and the numbers in it.
fn cited(words: &str) -> (&str, Vec<u32>) {
    let inner = || -> Option<(&str, Vec<u32>)> {
        let rest = words.trim_end_matches(['.', ' ']);
        let rest = rest.strip_suffix([')', ']', '）'])?;
        let (before, list) = rest.rsplit_once(['(', '[', '（'])?;
        Some((before.trim_end(), numbers(list)?))
    };
    inner().unwrap_or((words, Vec::new()))
}

fn numbers(list: &str) -> Option<Vec<u32>> {
    let list = list.to_ascii_lowercase();
    let named = ["messages", "message", "msgs", "msg"];
    let body = named.iter().find_map(|name| list.trim().strip_prefix(name));
    let body = body.unwrap_or(&list).trim_start_matches([':', '.', ' ']);
    let number = |text: &str| -> Option<u32> {
        let text = text.trim().trim_start_matches('#');
        text.bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| text.parse().ok())
            .flatten()
    };
    let mut cites = Vec::new();
    for item in body.split([',', ';', '、', '，']) {
        let (from, to) = item.split_once(['-', '–']).unwrap_or((item, item));
        let (from, to) = (number(from)?, number(to)?);
        if from > to || to - from >= MOST_CITES as u32 || cites.len() >= MOST_CITES {
            return None;
        }
        cites.extend(from..=to);
    }
    Some(cites)
}
