//! Keeps values that machines exchange: identifiers, paths, amounts, states, each with its key. The arguments and
//! results of tools are kept as values, not as sentences.

use std::collections::HashMap;

use palimpsest_tokens::TokenCounter;

use super::{Passage, Speaker};
use crate::words::Plain;
use crate::words::log2;
use crate::words::terms::{hash, mix};

/// The values of one message, as a line.
#[derive(Debug)]
pub(crate) struct ValueLine {
    /// Index of its passage.
    pub passage: usize,
    /// The name of the call, and each value after its key.
    pub text: String,
    /// The place of the values in the passage, from the first to the last.
    pub start: usize,
    pub end: usize,
}

/// The largest share of a summary for values, and the share of it that each share of tool text gives.
const MOST: (u64, u64) = (6, 10);
const SHARE: (u64, u64) = (9, 10);

/// The tokens of `room` that go to values.
pub(crate) fn room(passages: &[Passage<'_>], room: u32) -> u32 {
    let (mut all, mut tools) = (0u64, 0u64);
    for passage in passages {
        let size = passage.text.len() as u64;
        all += size;
        tools += match (passage.role, passage.calls) {
            (Speaker::Tool, _) => size,
            (_, Some(at)) => size - at as u64,
            _ => 0,
        };
    }
    let room = u64::from(room);
    (room * MOST.0 / MOST.1).min(room * SHARE.0 * tools / SHARE.1 / all.max(1)) as u32
}

/// A value, at the last place where it stood in a result or a call.
#[derive(Debug, Clone, Copy)]
struct Value {
    shape: Shape,
    passage: u32,
    start: u32,
    end: u32,
    key: (u32, u32),
    messages: u32,
    last: u32,
    by_user: bool,
    by_model: bool,
    in_call: bool,
    in_change: bool,
    is_relative: bool,
    /// The value stood in a result or a call.
    is_machine: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Path,
    Url,
    Mail,
    Date,
    Snake,
    Camel,
    Mixed,
    Number,
    Capitals,
}

/// Returns the lines of the highest worth within `room` tokens, the best first.
pub(crate) fn value_lines(
    passages: &[Passage<'_>],
    room: u32,
    counter: &dyn TokenCounter,
) -> Vec<ValueLine> {
    if room == 0 {
        return Vec::new();
    }
    let mut known: HashMap<u64, u32, Plain> = HashMap::default();
    let mut values: Vec<Value> = Vec::new();
    let mut names: Vec<u64> = Vec::new();
    for passage in passages {
        for line in calls_of(passage) {
            names.push(hash(line.1.as_bytes()));
        }
    }
    names.sort_unstable();
    for (index, passage) in passages.iter().enumerate() {
        let calls = passage.calls.unwrap_or(passage.text.len());
        let mut starts = calls_of(passage).peekable();
        let mut changes = false;
        each_word(passage.text, |start, end, key| {
            while let Some((_, name)) = starts.next_if(|(at, _)| *at <= start) {
                changes = is_change(name);
            }
            let word = &passage.text[start..end];
            let Some(shape) = shape(word) else { return };
            let code = hash(word.as_bytes());
            if names.binary_search(&code).is_ok() {
                return;
            }
            let is_call = start >= calls && passage.role != Speaker::Tool;
            // A name inside of written code says little.
            let is_whole =
                passage.text[..start].ends_with('"') && passage.text[end..].starts_with('"');
            if is_call && !is_whole && matches!(shape, Shape::Camel | Shape::Capitals) {
                return;
            }
            let is_machine = is_call || passage.role == Speaker::Tool;
            let place = *known.entry(mix(code)).or_insert_with(|| {
                values.push(Value {
                    shape,
                    passage: index as u32,
                    start: start as u32,
                    end: end as u32,
                    key: (0, 0),
                    messages: 0,
                    last: u32::MAX,
                    by_user: false,
                    by_model: false,
                    in_call: false,
                    in_change: false,
                    is_relative: word.starts_with("./") || word.starts_with("../"),
                    is_machine: false,
                });
                values.len() as u32 - 1
            });
            let value = &mut values[place as usize];
            if value.last != index as u32 {
                value.last = index as u32;
                value.messages += 1;
            }
            value.by_user |= passage.role == Speaker::User;
            value.by_model |= passage.role == Speaker::Assistant && !is_call;
            value.in_call |= is_call;
            value.in_change |= is_call && changes;
            if is_machine {
                value.is_machine = true;
                value.passage = index as u32;
                (value.start, value.end) = (start as u32, end as u32);
                value.key = key.map_or((0, 0), |(s, e)| (s as u32, e as u32));
            }
        });
    }
    packed(passages, &values, room, counter)
}

/// Takes values while they fit, those of the highest worth per token first, and writes one line for each message.
fn packed(
    passages: &[Passage<'_>],
    values: &[Value],
    room: u32,
    counter: &dyn TokenCounter,
) -> Vec<ValueLine> {
    let text = |passage: u32, (start, end): (u32, u32)| {
        &passages[passage as usize].text[start as usize..end as usize]
    };
    let mut order: Vec<(u32, u32, usize)> = Vec::with_capacity(values.len());
    for (at, value) in values.iter().enumerate() {
        let worth = worth(value);
        // A date or a number without a key says nothing.
        let is_bare = value.key.0 == value.key.1
            && matches!(
                value.shape,
                Shape::Date | Shape::Number | Shape::Capitals | Shape::Camel
            );
        if !value.is_machine || is_bare || worth <= 0.0 {
            continue;
        }
        // Two more marks: one after the key, and the comma.
        let tokens = counter.count(text(value.passage, (value.start, value.end)))
            + counter.count(text(value.passage, value.key)).min(4)
            + 1;
        order.push(((worth / power(tokens + 2)).to_bits(), tokens, at));
    }
    crate::order::sort_by_key(&mut order, |(ratio, _, at)| {
        (std::cmp::Reverse(*ratio), *at)
    });
    let mut lines: Vec<(u32, Vec<usize>)> = Vec::new();
    let mut used = 0;
    for (_, tokens, at) in order {
        let passage = values[at].passage;
        let line = lines.iter().position(|(p, _)| *p == passage);
        // A line of its own has a label and the name of the call.
        let cost = tokens + if line.is_some() { 0 } else { 5 };
        if used + cost > room {
            continue;
        }
        used += cost;
        match line {
            Some(n) => lines[n].1.push(at),
            None => lines.push((passage, vec![at])),
        }
    }
    lines
        .into_iter()
        .map(|(passage, mut own)| {
            crate::order::sort_by_key(&mut own, |at| values[*at].start);
            let mut line = String::new();
            let mut calls = calls_of(&passages[passage as usize]).peekable();
            let mut last = "";
            for at in &own {
                let value = &values[*at];
                let mut called = None;
                while let Some((_, name)) = calls.next_if(|(at, _)| *at <= value.start as usize) {
                    called = Some(name);
                }
                if !line.is_empty() {
                    line.push_str(if called.is_some() { "; " } else { ", " });
                }
                if let Some(name) = called {
                    line.push_str(name);
                    line.push(' ');
                    last = "";
                    if is_change(name)
                        && value.shape != Shape::Path
                        && let Some(file) =
                            changed(&passages[passage as usize], value.start as usize)
                    {
                        line.push_str(file);
                        line.push_str(", ");
                    }
                }
                let key = text(passage, value.key);
                if key != last && !key.is_empty() {
                    line.push_str(key);
                    line.push(' ');
                }
                last = key;
                line.push_str(text(passage, (value.start, value.end)));
            }
            let place =
                |at: Option<&usize>| at.map_or((0, 0), |at| (values[*at].start, values[*at].end));
            ValueLine {
                passage: passage as usize,
                text: line,
                start: place(own.first()).0 as usize,
                end: place(own.last()).1 as usize,
            }
        })
        .collect()
}

/// Returns the worth of a value: a weighted sum of its features, as a ramp.
fn worth(value: &Value) -> f32 {
    let is = |b: bool| f32::from(u8::from(b));
    let length = value.end - value.start;
    let mut sum = log2(length) / 6.0 + log2(value.messages) / 3.0;
    sum += 0.5 * (is(value.by_user) + is(value.by_model) + is(value.in_call) + is(value.in_change));
    sum -= 0.3 * is(value.messages == 1);
    sum += match value.shape {
        // A relative path, as in an import.
        Shape::Path if value.is_relative => 0.0,
        Shape::Path | Shape::Mixed | Shape::Snake => 1.0,
        Shape::Date => 0.7,
        Shape::Url => 0.0,
        Shape::Mail | Shape::Capitals => -0.5,
        Shape::Camel => -1.0,
        Shape::Number => -1.5,
    };
    (sum / 5.0).clamp(0.0, 1.0)
}

/// Approximates the 0.6th power, linear between powers of two.
fn power(n: u32) -> f32 {
    let exponent = 0.6 * log2(n);
    let whole = exponent as u32;
    (1u32 << whole.min(30)) as f32 * (1.0 + exponent - whole as f32)
}

/// The starts of the calls of a message, each with its name.
fn calls_of<'a>(passage: &Passage<'a>) -> impl Iterator<Item = (usize, &'a str)> {
    let text = passage.text;
    let from = match passage.role {
        Speaker::Tool => text.len(),
        _ => passage.calls.unwrap_or(text.len()),
    };
    let mut at = from;
    text[from..].split('\n').filter_map(move |line| {
        let start = at;
        at += line.len() + 1;
        let (name, rest) = line.split_once(' ')?;
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
        (rest.starts_with('{') && !name.is_empty() && name.chars().all(is_name))
            .then_some((start, name))
    })
}

/// The name of the file that a call changes, if this byte is inside of such a call.
fn changed<'a>(passage: &Passage<'a>, inside: usize) -> Option<&'a str> {
    let starts = calls_of(passage).map(|(at, _)| at);
    let from = starts.take_while(|at| *at <= inside).last()?;
    let call = passage.text[from..].lines().next()?;
    let mut file = None;
    each_word(call, |start, end, key| {
        let word = &call[start..end];
        let is_whole = call[..start].ends_with('"') && call[end..].starts_with('"');
        if file.is_none() && is_whole && key.is_some() && shape(word) == Some(Shape::Path) {
            file = word.rsplit(['/', '\\']).next();
        }
    });
    file
}

/// Returns `true` if the name of a call says that it changes something.
fn is_change(name: &str) -> bool {
    const VERBS: [&str; 21] = [
        "write", "edit", "create", "update", "delete", "remove", "add", "book", "cancel", "send",
        "modify", "apply", "patch", "insert", "replace", "move", "rename", "set", "exchange",
        "return", "commit",
    ];
    let lower = name.to_ascii_lowercase();
    VERBS.iter().any(|verb| lower.contains(verb))
}

/// Calls `f` with every word that could be a value: its place and that of its key.
fn each_word(text: &str, mut f: impl FnMut(usize, usize, Option<(usize, usize)>)) {
    let bytes = text.as_bytes();
    let ends = |b: u8| {
        b.is_ascii_whitespace()
            || matches!(
                b,
                b'"' | b'\''
                    | b'`'
                    | b','
                    | b';'
                    | b'('
                    | b')'
                    | b'['
                    | b']'
                    | b'{'
                    | b'}'
                    | b'<'
                    | b'>'
                    | b'|'
                    | b'='
            )
    };
    let mut key = None;
    let mut at = 0;
    while at < bytes.len() {
        // An escape inside of JSON stands for a line break or a mark.
        if bytes[at] == b'\\' {
            if bytes.get(at + 1) == Some(&b'n') {
                key = None;
            }
            at += 2;
            // A program inside of the JSON has escapes of its own. Before a small letter it may be a folder: "C:\\new".
            if bytes.get(at - 1) == Some(&b'\\')
                && matches!(bytes.get(at), Some(b'n' | b't' | b'r'))
                && bytes
                    .get(at + 1)
                    .is_none_or(|byte| !byte.is_ascii_lowercase())
            {
                key = None;
                at += 1;
            }
            continue;
        }
        if ends(bytes[at]) {
            if bytes[at] == b'\n' {
                key = None;
            }
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len() && !ends(bytes[at]) && bytes[at] != b'\\' {
            let colon = bytes[at] == b':';
            at += 1;
            // "key:value", but neither "https://" nor "12:30" nor "a::b".
            if colon
                && at - start > 1
                && !bytes
                    .get(at)
                    .is_some_and(|b| matches!(b, b'/' | b':') || b.is_ascii_digit())
                && bytes[at - 2] != b':'
            {
                break;
            }
        }
        // Escapes may split a character.
        if !text.is_char_boundary(start) || !text.is_char_boundary(at) {
            continue;
        }
        let word = text[start..at].trim_end_matches(['.', ':', '!', '?', '…', '*']);
        let begin = word.trim_start_matches(['*', '#', '-', '+']);
        let from = start + (word.len() - begin.len());
        let end = start + word.len();
        let after = text[at..].trim_start_matches(['"', '\'', '`', '\\']);
        let is_key = text[start..at].ends_with(':')
            || after.starts_with(':') && after.len() < text.len() - at
            || after.starts_with('=');
        if begin.is_empty() {
            continue;
        }
        if is_key && word.len() <= 40 {
            key = Some((from, end));
        } else {
            f(from, end, key);
        }
    }
}

/// The extensions of file names. A name with another ending is a member of something: `event.type`.
const EXTENSIONS: &str = "bash bat c cc cfg conf cpp cs css csv db docx env gif go gradle h hpp html ico ini ipynb java jpeg \
    jpg js json jsonl jsx kt lock log lua md mjs mts pdf php pl png properties proto ps1 py r rb rs sass scala scss sh sql \
    svelte svg swift tex toml ts tsv tsx txt vue wasm xlsx xml yaml yml zig zip";

/// Returns the kind of a value by its shape, or `None` for an ordinary word.
fn shape(word: &str) -> Option<Shape> {
    let b = word.as_bytes();
    if word.len() < 2 || word.len() > 160 || !word.is_ascii() && !word.contains(['/', '\\']) {
        return None;
    }
    let count = |f: fn(&u8) -> bool| b.iter().filter(|b| f(b)).count();
    let digits = count(u8::is_ascii_digit);
    let letters = count(u8::is_ascii_alphabetic);
    if word.contains("://") {
        return Some(Shape::Url);
    }
    if let Some((name, host)) = word.split_once('@')
        && !name.is_empty()
        && host.contains('.')
        && !word.contains('/')
    {
        return Some(Shape::Mail);
    }
    if letters == 0 {
        let is_date = b.len() == 10 && digits == 8 && b[4] == b'-' && b[7] == b'-';
        if is_date {
            return Some(Shape::Date);
        }
        let is_plain = b
            .iter()
            .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b',' | b'$' | b'%' | b'-'));
        return (digits >= 2 && is_plain).then_some(Shape::Number);
    }
    let slashes = count(|b| matches!(b, b'/' | b'\\'));
    let extension = word
        .rsplit_once('.')
        .is_some_and(|(stem, end)| !stem.is_empty() && EXTENSIONS.split(' ').any(|e| e == end));
    if letters > 0
        && (slashes >= 2 || slashes >= 1 && (extension || matches!(b[0], b'/' | b'.' | b'@')))
    {
        return (word.len() >= 4).then_some(Shape::Path);
    }
    let is_name =
        |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'#' | b':');
    if !b.iter().all(is_name) || slashes > 0 {
        return None;
    }
    // A time or a size: "118ms", "4.2s", "12px".
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if digits > 0 && unit.len() <= 2 && letters == unit.len() {
        return None;
    }
    if extension && letters >= 3 {
        return Some(Shape::Path);
    }
    if word.trim_matches('_').contains('_') && !word.contains('.') {
        return Some(Shape::Snake);
    }
    if word.contains('.') && digits < 2 {
        return None;
    }
    // An ISO date with a time counts as a date.
    if b.len() >= 16 && digits >= 10 && b[4] == b'-' && b.contains(&b'T') {
        return Some(Shape::Date);
    }
    if digits > 0 {
        return (word.len() >= 4).then_some(Shape::Mixed);
    }
    if word.len() >= 3 && b.iter().all(u8::is_ascii_uppercase) {
        return Some(Shape::Capitals);
    }
    let humps = b
        .windows(2)
        .any(|w| w[0].is_ascii_lowercase() && w[1].is_ascii_uppercase());
    (humps && letters == b.len()).then_some(Shape::Camel)
}

#[cfg(test)]
mod tests {
    use super::*;
    use palimpsest_tokens::Estimator;

    #[test]
    fn values_are_told_by_their_shape() {
        let check =
            |word: &str, expected: Option<Shape>| assert_eq!(shape(word), expected, "{word}");
        check("I57WUD", Some(Shape::Mixed));
        check("sofia_kim_7287", Some(Shape::Snake));
        check("src/export/invoice.rs", Some(Shape::Path));
        check("Cargo.toml", Some(Shape::Path));
        check("https://a.example/x", Some(Shape::Url));
        check("ada@a.example", Some(Shape::Mail));
        check("2024-05-20", Some(Shape::Date));
        check("1,240", Some(Shape::Number));
        check("fullOutput", Some(Shape::Camel));
        check("JFK", Some(Shape::Capitals));
        check("event.type", None);
        check("this._onData", None);
        check("118ms", None);
        check("create/modify", None);
        check("/", None);
        check("economy", None);
        check("7", None);
    }

    #[test]
    fn lines_hold_values_with_their_keys() {
        let call = "One moment.\nbook_reservation {\"user_id\": \"sofia_kim_7287\", \"cabin\": \"economy\", \"date\": \"2024-05-20\"}";
        let result = "{\"reservation_id\": \"I57WUD\", \"took\": \"118ms\", \"payment\": {\"id\": \"gift_card_7480005\"}}";
        let passages = [
            Passage {
                calls: Some(12),
                ..Passage::new(1, Speaker::Assistant, call)
            },
            Passage::new(2, Speaker::Tool, result),
        ];
        let edit =
            "edit {\"path\": \"src/kiln/heat.rs\", \"newText\": \"let maxHeat = KILN_A_41;\"}";
        let again = "read {\"path\": \"src/kiln/heat.rs\"}";
        let changes = [(1, edit), (2, again)].map(|(id, text)| Passage {
            calls: Some(0),
            ..Passage::new(id, Speaker::Assistant, text)
        });
        let mut lines = value_lines(&changes, 100, &Estimator::default());
        lines.sort_by_key(|l| l.passage);
        let lines: Vec<&str> = lines.iter().map(|l| l.text.as_str()).collect();
        assert_eq!(
            lines,
            [
                "edit heat.rs, newText KILN_A_41",
                "read path src/kiln/heat.rs"
            ]
        );
        let mut lines = value_lines(&passages, 100, &Estimator::default());
        lines.sort_by_key(|l| l.passage);
        let lines: Vec<&str> = lines.iter().map(|l| l.text.as_str()).collect();
        assert_eq!(
            lines,
            [
                "book_reservation user_id sofia_kim_7287, date 2024-05-20",
                "reservation_id I57WUD, id gift_card_7480005",
            ]
        );
        assert!(value_lines(&passages, 0, &Estimator::default()).is_empty());
    }

    /// A program's own escapes inside of JSON are no letters, and a lone backslash at the end is read.
    #[test]
    fn escapes_are_no_letters() {
        let check = |text: &str, expected: &[&str]| {
            let mut words = Vec::new();
            each_word(text, |start, end, _| words.push(&text[start..end]));
            assert_eq!(words, expected, "{text}");
        };
        check(r#"{"a": "1\\nPER_DAY 2"}"#, &["1", "PER_DAY", "2"]);
        check(r"587\\nPER_DAY\\t200", &["587", "PER_DAY", "200"]);
        check(r"C:\\new\\Table", &["new", "Table"]);
        check(r"end\", &["end"]);
    }
}
