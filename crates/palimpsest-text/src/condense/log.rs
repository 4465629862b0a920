//! Shortens logs: keeps every kind of error whole, folds repeats, and counts the rest.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use super::cut;
use crate::words::Plain;

/// The number of occurrences of one error that are shown, besides the last.
const ERROR_TIMES: u32 = 3;
/// The largest number of errors, warnings and other entries that are shown.
const MOST: [usize; 3] = [200, 60, 40];
/// The number of entries shown from both ends of the log.
const ENDS: (usize, usize) = (5, 10);
/// An error is shown whole up to this many bytes, any other entry up to `LINE`.
const ERROR_BYTES: usize = 2_000;
const LINE: usize = 300;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Error,
    Warning,
    Info,
    Debug,
}

struct Entry<'a> {
    text: &'a str,
    level: Level,
    shape: u64,
}

/// The number of occurrences of each shape of entry, and the index of the last one.
type Shapes = HashMap<u64, (u32, u32), Plain>;

/// Returns `true` if most lines begin like log lines.
pub(super) fn looks_like(text: &str) -> bool {
    let lines = text.lines().filter(|l| !l.trim().is_empty()).take(100);
    let (mut all, mut log) = (0, 0);
    for line in lines {
        all += 1;
        log += usize::from(begins_entry(line));
    }
    all >= 5 && log * 2 >= all
}

/// Returns the log with its errors, one of each kind of other entry, and both ends. `None` if it has nothing to leave
/// out.
pub(super) fn condense(text: &str) -> Option<String> {
    let entries = entries(text);
    let mut seen = Shapes::default();
    for (last, entry) in entries.iter().enumerate() {
        let known = seen.entry(entry.shape).or_default();
        *known = (known.0 + 1, last as u32);
    }
    let shown = choose(&entries, &seen);
    if shown.iter().all(|&s| s) {
        return None;
    }
    let mut out = String::new();
    let mut told: HashSet<u64, Plain> = HashSet::default();
    let mut gap = Gap::default();
    for (entry, shown) in entries.iter().zip(&shown) {
        if !shown {
            gap.add(entry);
            continue;
        }
        gap.write(&mut out);
        entry.write(&mut out);
        let count = seen.get(&entry.shape).map_or(1, |s| s.0);
        if count > 1 && told.insert(entry.shape) {
            _ = write!(out, " [{} like this]", cut::grouped(count as usize));
        }
        out.push('\n');
    }
    gap.write(&mut out);
    Some(out)
}

fn choose(entries: &[Entry<'_>], seen: &Shapes) -> Vec<bool> {
    let mut shown = vec![false; entries.len()];
    let mut times: HashMap<u64, u32, Plain> = HashMap::default();
    let mut room = MOST;
    for (i, entry) in entries.iter().enumerate() {
        let time = times.entry(entry.shape).or_insert(0);
        *time += 1;
        let last = seen.get(&entry.shape).is_some_and(|s| s.1 as usize == i);
        let (class, wanted) = match entry.level {
            Level::Error => (0, *time <= ERROR_TIMES || last),
            Level::Warning => (1, *time == 1 || last),
            Level::Info => (2, *time == 1),
            Level::Debug => continue,
        };
        if wanted && room[class] > 0 {
            room[class] -= 1;
            shown[i] = true;
            // The entry before the first error of its kind often tells the cause.
            if class == 0 && *time == 1 && i > 0 {
                shown[i - 1] = true;
            }
        }
    }
    let n = shown.len();
    shown[..ENDS.0.min(n)].fill(true);
    shown[n - ENDS.1.min(n)..].fill(true);
    shown
}

impl Entry<'_> {
    fn write(&self, out: &mut String) {
        let text = self.text.trim_end();
        if self.level == Level::Error {
            if text.len() <= ERROR_BYTES {
                out.push_str(text);
            } else {
                let (head, tail) = (
                    cut::head(text, ERROR_BYTES * 3 / 4),
                    cut::tail(text, ERROR_BYTES / 4),
                );
                _ = write!(out, "{head} … {tail}");
            }
        } else {
            let first = text.lines().next().unwrap_or_default();
            let head = cut::head(first, LINE);
            out.push_str(head);
            if head.len() < text.len() {
                out.push('…');
            }
        }
    }
}

#[derive(Default)]
struct Gap {
    lines: usize,
    levels: [usize; 4],
}

impl Gap {
    fn add(&mut self, entry: &Entry<'_>) {
        self.lines += entry.text.lines().count();
        self.levels[entry.level as usize] += 1;
    }

    fn write(&mut self, out: &mut String) {
        if self.lines == 0 {
            return;
        }
        const NAMES: [&str; 4] = ["error", "warning", "info", "debug"];
        let parts: Vec<String> = NAMES
            .iter()
            .zip(self.levels)
            .filter(|(_, n)| *n > 0)
            .map(|(name, n)| format!("{} {name}", cut::grouped(n)))
            .collect();
        _ = writeln!(
            out,
            "… {} lines: {}",
            cut::grouped(self.lines),
            parts.join(", ")
        );
        *self = Self::default();
    }
}

/// Splits at lines that begin an entry. Other lines belong to the entry before them.
fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    let mut start = 0;
    let mut at = 0;
    let mut end_entry = |start: usize, end: usize| {
        let text = &text[start..end];
        if !text.trim().is_empty() {
            let first = text.lines().next().unwrap_or_default();
            let level = level(first).unwrap_or(Level::Info);
            entries.push(Entry {
                text,
                level,
                shape: shape(first),
            });
        }
    };
    // If no line has a time or a level, every line without indentation is an entry.
    let plain = !looks_like(text);
    for line in text.split_inclusive('\n') {
        let begins = begins_entry(line) || (plain && !line.starts_with([' ', '\t']));
        if begins && at > start {
            end_entry(start, at);
            start = at;
        }
        at += line.len();
    }
    end_entry(start, text.len());
    entries
}

fn begins_entry(line: &str) -> bool {
    !line.starts_with([' ', '\t']) && (has_time(line) || level(line).is_some())
}

/// Returns `true` if the first thirty bytes contain a clock time or a date.
fn has_time(line: &str) -> bool {
    let start = &line.as_bytes()[..line.len().min(30)];
    let digit = |i: usize| start.get(i).is_some_and(u8::is_ascii_digit);
    (1..start.len()).any(|i| match start[i] {
        b':' => digit(i - 1) && digit(i + 1) && digit(i + 2),
        b'-' | b'/' => i >= 4 && (i - 4..i).all(digit) && digit(i + 1) && digit(i + 2),
        _ => false,
    })
}

/// The level that the first hundred bytes name.
fn level(line: &str) -> Option<Level> {
    const NAMES: [(&str, Level); 17] = [
        ("ERROR", Level::Error),
        ("FATAL", Level::Error),
        ("CRITICAL", Level::Error),
        ("PANIC", Level::Error),
        ("SEVERE", Level::Error),
        ("FAILED", Level::Error),
        ("FAIL", Level::Error),
        ("ERR", Level::Error),
        ("EXCEPTION", Level::Error),
        ("WARNING", Level::Warning),
        ("WARN", Level::Warning),
        ("INFO", Level::Info),
        ("NOTICE", Level::Info),
        ("DEBUG", Level::Debug),
        ("TRACE", Level::Debug),
        ("VERBOSE", Level::Debug),
        ("FINE", Level::Debug),
    ];
    let bytes = &line.as_bytes()[..line.len().min(100)];
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_alphabetic() {
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len() && bytes[at].is_ascii_alphanumeric() {
            at += 1;
        }
        let word = &bytes[start..at];
        if !(3..=9).contains(&word.len()) {
            continue;
        }
        // An ordinary word is not a level: a level is in capitals, between brackets, or after a key.
        let upper = word.iter().all(u8::is_ascii_uppercase);
        let before = start.checked_sub(1).map(|i| bytes[i]);
        let after = bytes.get(at);
        let marked = matches!(before, Some(b'[' | b'=' | b'"' | b'<'))
            || (start < 40 && after == Some(&b':') && matches!(before, None | Some(b' ')));
        if !upper && !marked {
            continue;
        }
        let named = NAMES
            .iter()
            .find(|(name, _)| name.as_bytes().eq_ignore_ascii_case(word));
        if let Some((_, level)) = named {
            return Some(*level);
        }
    }
    None
}

/// Returns a number for the words of a line without its numbers, times and identifiers (FNV-1a over words without
/// digits).
fn shape(line: &str) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME);
    let (mut hash, mut word, mut digits) = (BASIS, BASIS, false);
    for &byte in line.as_bytes() {
        if byte.is_ascii_alphanumeric() || !byte.is_ascii() {
            digits |= byte.is_ascii_digit();
            word = mix(word, byte);
        } else {
            if word != BASIS {
                hash = mix(
                    hash,
                    if digits {
                        b'#'
                    } else {
                        (word >> 32) as u8 ^ word as u8
                    },
                );
                hash ^= if digits { 0 } else { word };
            }
            (word, digits) = (BASIS, false);
            hash = mix(hash, byte);
        }
    }
    if digits {
        mix(hash, b'#')
    } else {
        mix(hash ^ word, b'.')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noisy(lines: usize) -> String {
        (0..lines).fold(String::new(), |mut log, i| {
            let time = format!("2026-01-02T10:{:02}:{:02}", i / 60 % 60, i % 60);
            match i {
                123 => _ = writeln!(log, "{time} ERROR cannot open /data/db: permission denied\n    at open (db.js:12)"),
                200 => _ = writeln!(log, "{time} WARN disk at 91 %"),
                i if i % 3 == 0 => _ = writeln!(log, "{time} DEBUG tick {i}"),
                _ => _ = writeln!(log, "{time} INFO request {i} took {} ms", i * 7 % 90),
            }
            log
        })
    }

    /// T3: levels are counted, repeats are folded, and the error is whole with the entry before it.
    #[test]
    fn folded() {
        let log = condense(&noisy(1_000)).unwrap();
        let lines: Vec<&str> = log.lines().collect();
        assert!(
            lines.contains(&"2026-01-02T10:02:03 ERROR cannot open /data/db: permission denied")
        );
        assert!(lines.contains(&"    at open (db.js:12)"));
        assert!(lines.contains(&"2026-01-02T10:03:20 WARN disk at 91 %"));
        assert!(
            log.contains("INFO request 1 took 7 ms [665 like this]"),
            "{log}"
        );
        assert!(log.contains("lines: ") && log.contains(" info, ") && log.contains(" debug"));
        assert!(log.ends_with("DEBUG tick 999\n"), "{log}");
        assert!(lines.len() < 40, "{log}");
    }

    /// T3: an error that occurs a thousand times is shown three times and once more at the end.
    #[test]
    fn repeated_errors() {
        let text: String = (0..1_000).fold(String::new(), |t, i| {
            t + &format!("10:00:00 ERROR job {i} failed\n10:00:01 DEBUG x\n")
        });
        let log = condense(&text).unwrap();
        assert!(
            log.contains("ERROR job 0 failed [1,000 like this]"),
            "{log}"
        );
        assert!(log.contains("ERROR job 999 failed"), "{log}");
        assert!(log.matches("ERROR").count() < 12, "{log}");
    }

    /// T3: different errors are all shown.
    #[test]
    fn different_errors() {
        let names = ["alpha", "beta", "gamma", "delta"];
        let text: String = (0..400).fold(String::new(), |mut t, i| {
            _ = match i % 100 {
                50 => writeln!(t, "[error] {} broke", names[i / 100]),
                _ => writeln!(t, "[info] step {i}"),
            };
            t
        });
        let log = condense(&text).unwrap();
        for name in names {
            assert!(log.contains(&format!("[error] {name} broke")), "{log}");
        }
    }

    /// T3: logs are recognised, and other texts are not.
    #[test]
    fn detection() {
        assert!(looks_like(&noisy(10)));
        assert!(looks_like(&"level=info msg=x\n".repeat(9)));
        assert!(!looks_like(&"There was no error in this text.\n".repeat(9)));
        assert!(!looks_like("INFO one line"));
        assert_eq!(condense("10:00 a\n10:01 b"), None, "nothing to leave out");
    }
}
