//! Cuts a text into the units that are kept or dropped whole: sentences, list items, code blocks, lines.

use super::script::{closer, full_stop, phrase_spaced, soft_stop};
use crate::languages::{List, each};

static ABBREVIATIONS: List = List::words(each!(abbreviations));
static MONTHS: List = List::words(each!(months_after_ordinals));

/// The kind of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitKind {
    /// A sentence of running text.
    Sentence,
    /// A list item with its continuation lines.
    Item,
    /// A Markdown heading.
    Heading,
    /// A fenced code block with its fences.
    Code,
    /// A quoted line (`> …`).
    Quote,
    /// A line of a machine: log, JSON, table row, source code without a fence.
    Line,
}

/// A piece of a text, in bytes, without surrounding white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// First byte.
    pub start: usize,
    /// After the last byte.
    pub end: usize,
    /// The kind.
    pub kind: UnitKind,
    /// It opens a paragraph.
    pub opens: bool,
}

/// A machine's line longer than this is cut at structural commas.
const LONG_LINE: usize = 240;
/// A member of a JSON value that is longer than this is cut into its own members.
const WHOLE: usize = 200;
/// Members are joined until their piece has this length.
const SHORTEST: usize = 48;
/// The same for a piece that ends with an object or a list, which says more than a plain value.
const SHORTEST_VALUE: usize = 24;
/// Values that are nested deeper are not cut.
const DEPTH: usize = 12;

/// Cuts text of people and models.
pub fn prose(text: &str) -> Vec<Unit> {
    let mut out = Vec::new();
    let mut lines = Lines { text, at: 0 };
    let mut paragraph: Option<(usize, usize)> = None;
    let mut item: Option<(usize, usize)> = None;
    while let Some((start, end)) = lines.next() {
        let line = &text[start..end];
        let body = line.trim();
        let indent = line.len() - line.trim_start().len();
        if let Some(fence) = fence_of(body) {
            flush(text, &mut paragraph, &mut item, &mut out);
            let mut last = end;
            for (s, e) in lines.by_ref() {
                last = e;
                if closes(text[s..e].trim(), fence) {
                    break;
                }
            }
            push(text, start, last, UnitKind::Code, true, &mut out);
            continue;
        }
        if body.is_empty() {
            flush(text, &mut paragraph, &mut item, &mut out);
            continue;
        }
        if list_item(body) {
            flush(text, &mut paragraph, &mut item, &mut out);
            item = Some((start, end));
            continue;
        }
        if let Some((s, _)) = item
            && indent >= 2
        {
            item = Some((s, end));
            continue;
        }
        let kind = if heading(body) {
            Some(UnitKind::Heading)
        } else if body.starts_with('>') {
            Some(UnitKind::Quote)
        } else if machine_line(body) {
            Some(UnitKind::Line)
        } else {
            None
        };
        if let Some(kind) = kind {
            flush(text, &mut paragraph, &mut item, &mut out);
            if kind == UnitKind::Line {
                pieces(text, start, end, &mut out);
            } else {
                push(text, start, end, kind, true, &mut out);
            }
            continue;
        }
        flush_item(text, &mut item, &mut out);
        // A new line inside of a paragraph ends the sentence, unless the text was wrapped to a width.
        match paragraph {
            Some((s, e))
                if e - line_start(text, e) >= 56 && body.starts_with(char::is_lowercase) =>
            {
                paragraph = Some((s, end));
            }
            Some((s, e)) => {
                sentences(text, s, e, &mut out);
                paragraph = Some((start, end));
            }
            None => paragraph = Some((start, end)),
        }
    }
    flush(text, &mut paragraph, &mut item, &mut out);
    out
}

/// Cuts text of a tool: line by line, and long lines at structural commas.
pub fn lines(text: &str) -> Vec<Unit> {
    let mut out = Vec::new();
    let lines = Lines { text, at: 0 };
    for (start, end) in lines {
        pieces(text, start, end, &mut out);
    }
    out
}

/// Cuts `text[start..end]`, the beginning of a paragraph, into sentences.
pub fn sentences(text: &str, start: usize, end: usize, out: &mut Vec<Unit>) {
    let mut from = start;
    let mut opens = true;
    let mut at = start;
    let bytes = text.as_bytes();
    while at < end {
        if bytes[at].is_ascii_alphanumeric() {
            at += 1;
            continue;
        }
        let Some(c) = text[at..end].chars().next() else {
            break;
        };
        let after = at + c.len_utf8();
        if c == '`' {
            // Inline code is never cut; an unmatched backtick is an ordinary character.
            let mut reach = end.min(after + 300);
            while !text.is_char_boundary(reach) {
                reach -= 1;
            }
            at = text.as_bytes()[after..reach]
                .iter()
                .position(|&b| b == b'`')
                .map_or(after, |p| after + p + 1);
            continue;
        }
        let hard = full_stop(c);
        if hard || soft_stop(c) {
            let mut stop = after;
            while let Some(n) = text[stop..end].chars().next() {
                if full_stop(n) || soft_stop(n) || (closer(n) && n != '`') {
                    stop += n.len_utf8();
                } else {
                    break;
                }
            }
            let next = text[stop..end].chars().next();
            let ends = hard
                || next.is_none_or(char::is_whitespace)
                    && !(c == '.' && stop == after && holds_on(text, from, at, &text[stop..end]))
                || (c == '!' || c == '?') && next.is_some_and(super::script::unspaced);
            if ends {
                push(text, from, stop, UnitKind::Sentence, opens, out);
                opens = false;
                from = stop;
            }
            at = stop;
            continue;
        }
        if c == ' '
            && at - from > 160
            && text[from..at]
                .chars()
                .next_back()
                .is_some_and(phrase_spaced)
        {
            push(text, from, at, UnitKind::Sentence, opens, out);
            opens = false;
            from = after;
        }
        at = after;
    }
    push(text, from, end, UnitKind::Sentence, opens, out);
}

/// Returns `true` if the full stop at `at` belongs to an abbreviation, an initial or an ordinal.
fn holds_on(text: &str, from: usize, at: usize, rest: &str) -> bool {
    let before = &text[from..at];
    let word = before
        .rsplit(|c: char| c.is_whitespace() || matches!(c, '(' | '[' | '"' | '„' | '“'))
        .next()
        .unwrap_or(before);
    if word.is_empty() || word.len() > 12 {
        return false;
    }
    let follows = rest.trim_start().chars().next();
    if word.bytes().all(|b| b.is_ascii_digit()) {
        // "1. Do this" at the start, and "3. Mai", "am 14. März" in the middle.
        return word.len() <= 2
            && (word.len() == before.trim_start().len()
                || follows.is_some_and(char::is_alphabetic) && month_follows(rest));
    }
    let mut chars = word.chars();
    if let (Some(initial), None) = (chars.next(), chars.next()) {
        return initial.is_uppercase() && initial != 'I' && follows.is_some_and(char::is_uppercase);
    }
    let lower = word.to_lowercase();
    ABBREVIATIONS.has(&lower)
}

/// Returns `true` if a month follows the full stop of an ordinal.
fn month_follows(rest: &str) -> bool {
    let rest = rest.trim_start();
    MONTHS.all().iter().any(|month| rest.starts_with(month))
}

/// Lines as byte ranges without their ends (`\n`, `\r\n`).
struct Lines<'a> {
    text: &'a str,
    at: usize,
}

impl Iterator for Lines<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        if self.at >= self.text.len() {
            return None;
        }
        let start = self.at;
        let bytes = &self.text.as_bytes()[start..];
        let len = bytes
            .iter()
            .position(|&b| b == b'\n')
            .unwrap_or(bytes.len());
        self.at = start + len + 1;
        let end = start + len;
        let end = if len > 0 && bytes[len - 1] == b'\r' {
            end - 1
        } else {
            end
        };
        Some((start, end))
    }
}

fn line_start(text: &str, end: usize) -> usize {
    text[..end].rfind('\n').map_or(0, |p| p + 1)
}

fn push(text: &str, start: usize, end: usize, kind: UnitKind, opens: bool, out: &mut Vec<Unit>) {
    let raw = &text[start..end];
    let trimmed = raw.trim();
    if trimmed.is_empty() {
        return;
    }
    let start = start + (raw.len() - raw.trim_start().len());
    let unit = Unit {
        start,
        end: start + trimmed.len(),
        kind,
        opens,
    };
    // A piece without a letter or digit ("...", ")") belongs to the sentence before it.
    if kind == UnitKind::Sentence
        && !trimmed.chars().any(char::is_alphanumeric)
        && let Some(last) = out.last_mut()
        && last.kind == UnitKind::Sentence
        && !text[last.end..unit.start].contains('\n')
    {
        last.end = unit.end;
        return;
    }
    out.push(unit);
}

fn flush(
    text: &str,
    paragraph: &mut Option<(usize, usize)>,
    item: &mut Option<(usize, usize)>,
    out: &mut Vec<Unit>,
) {
    if let Some((s, e)) = paragraph.take() {
        sentences(text, s, e, out);
    }
    flush_item(text, item, out);
}

fn flush_item(text: &str, item: &mut Option<(usize, usize)>, out: &mut Vec<Unit>) {
    if let Some((s, e)) = item.take() {
        push(text, s, e, UnitKind::Item, true, out);
    }
}

/// Cuts a machine's long line of JSON at whole members, any other at its sentences.
fn pieces(text: &str, start: usize, end: usize, out: &mut Vec<Unit>) {
    let line = &text[start..end];
    if line.len() <= LONG_LINE {
        push(text, start, end, UnitKind::Line, true, out);
        return;
    }
    let bytes = line.as_bytes();
    let call = arguments(line);
    let structured = matches!(
        bytes.iter().find(|b| !b.is_ascii_whitespace()),
        Some(b'{' | b'[' | b'"')
    );
    if !structured && call.is_none() {
        if machine_line(line.trim()) {
            push(text, start, end, UnitKind::Line, true, out);
        } else {
            sentences(text, start, end, out);
        }
        return;
    }
    let whole = (start, start + call.unwrap_or(0), end);
    members(text, whole, 0, out);
}

/// Cuts the members of a JSON value into pieces that are whole values: short neighbours stand together, and a long
/// object or list is cut into its own members. `head` is where the first piece begins, `start..end` are the members.
fn members(
    text: &str,
    (head, start, end): (usize, usize, usize),
    depth: usize,
    out: &mut Vec<Unit>,
) {
    let mut group: Option<(usize, usize)> = None;
    let mut opens = depth == 0;
    let mut first = head;
    let mut at = start;
    while at < end {
        let stop = member_end(text, at, end);
        let body = text[at..stop].trim();
        let from = stop - text[at..stop].trim_start().len();
        let to = from + body.len();
        at = stop + 1;
        if body.is_empty() {
            continue;
        }
        let from = if first < start { first } else { from };
        first = start;
        if to - from > WHOLE
            && depth < DEPTH
            && let Some(inside) = inside(text, from, to)
        {
            close(text, &mut group, &mut opens, out);
            members(text, inside, depth + 1, out);
            opens = false;
            continue;
        }
        if group.is_some_and(|(s, _)| to - s > WHOLE) {
            close(text, &mut group, &mut opens, out);
        }
        let (s, _) = *group.insert((group.map_or(from, |(s, _)| s), to));
        let least = if body.ends_with(['}', ']']) {
            SHORTEST_VALUE
        } else {
            SHORTEST
        };
        if to - s >= least {
            close(text, &mut group, &mut opens, out);
        }
    }
    close(text, &mut group, &mut opens, out);
}

/// Writes the group of members as one piece.
fn close(text: &str, group: &mut Option<(usize, usize)>, opens: &mut bool, out: &mut Vec<Unit>) {
    if let Some((s, e)) = group.take() {
        push(text, s, e, UnitKind::Line, *opens, out);
        *opens = false;
    }
}

/// Returns the end of the member that begins at `at`: the comma after it outside of quotes and brackets, or `end`.
fn member_end(text: &str, at: usize, end: usize) -> usize {
    let (mut quoted, mut escaped, mut depth) = (false, false, 0_usize);
    for (i, &b) in text.as_bytes()[at..end].iter().enumerate() {
        match b {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => return at + i,
            _ => {}
        }
    }
    end
}

/// Returns the members of the object or list `text[from..to]`, which may have a key before it. A list of plain values
/// keeps its key: without it nobody could tell what the values are.
fn inside(text: &str, from: usize, to: usize) -> Option<(usize, usize, usize)> {
    let body = &text[from..to];
    let open = body.find(['{', '['])?;
    let key = body[..open].trim_end();
    if !(key.is_empty() || key.starts_with('"') && key.ends_with("\":")) {
        return None;
    }
    let start = from + open + 1;
    let end = if body.ends_with(['}', ']']) {
        to - 1
    } else {
        to
    };
    let inner = text[start..end].trim_start();
    let plain = body.as_bytes()[open] == b'[' && !inner.starts_with(['{', '[']);
    Some((if plain { from } else { start }, start, end))
}

fn fence_of(body: &str) -> Option<(u8, usize)> {
    let mark = *body.as_bytes().first()?;
    if mark != b'`' && mark != b'~' {
        return None;
    }
    let run = body.bytes().take_while(|&b| b == mark).count();
    // "```x``` in one line" is inline code.
    (run >= 3 && !(mark == b'`' && body[run..].contains('`'))).then_some((mark, run))
}

fn closes(body: &str, (mark, run): (u8, usize)) -> bool {
    body.len() >= run && body.bytes().all(|b| b == mark)
}

fn heading(body: &str) -> bool {
    let marks = body.bytes().take_while(|&b| b == b'#').count();
    (1..=6).contains(&marks) && body[marks..].starts_with(' ')
}

/// Returns `true` if the line begins a list item: `- `, `* `, `+ `, `• `, `1. `, `1) `, `（1）`.
pub fn list_item(body: &str) -> bool {
    let mut chars = body.chars();
    match chars.next() {
        Some('-' | '*' | '+') => chars.next() == Some(' '),
        Some('•' | '‣' | '◦' | '·') => true,
        Some(c) if c.is_ascii_digit() => {
            let rest = body.trim_start_matches(|c: char| c.is_ascii_digit());
            body.len() - rest.len() <= 3
                && (rest.starts_with(". ") || rest.starts_with(") ") || rest.starts_with('、'))
        }
        _ => false,
    }
}

/// The place of the arguments in a line that is a call: `edit {"path": "main.rs"}`.
fn arguments(line: &str) -> Option<usize> {
    let (name, rest) = line.split_once(' ')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    let is_call = !name.is_empty() && name.chars().all(is_name) && rest.starts_with("{\"");
    is_call.then_some(name.len() + 1)
}

/// Returns `true` if a machine wrote the line: source code, JSON, a log line, a table row, a stack frame.
pub fn machine_line(body: &str) -> bool {
    let b = body.as_bytes();
    let (Some(&first), Some(&last)) = (b.first(), b.last()) else {
        return false;
    };
    if first == b'|' || first == b'}' || first == b'<' && last == b'>' {
        return true;
    }
    if matches!(last, b';' | b'{')
        || body.ends_with("},")
        || body.ends_with("],")
        || body.ends_with("=>")
        || body.ends_with("\",")
    {
        return true;
    }
    if (first == b'{' || first == b'[') && body.contains('"') && body.contains(':') {
        return true;
    }
    if first == b'"' && body.contains("\":") || arguments(body).is_some() {
        return true;
    }
    if matches!(body, "[" | "]" | "(" | ")" | "{" | ");" | "})")
        || body.starts_with("//")
        || body.starts_with("#!")
        || body.starts_with("@@ ")
    {
        return true;
    }
    for start in [
        "at ",
        "File \"",
        "Traceback ",
        "diff --git",
        "+++ ",
        "--- ",
        "import ",
        "from ",
        "$ ",
        "#include",
        "def ",
        "fn ",
        "pub ",
        "const ",
        "let ",
    ] {
        if body.starts_with(start) {
            return match start {
                "at " => body.contains(':') && body.contains('('),
                "from " | "import " => {
                    !body.ends_with(['.', '!', '?'])
                        && (body.contains(" import ")
                            || body.contains('\'')
                            || body.contains('"')
                            || body.split_whitespace().count() <= 2)
                }
                "let " | "const " | "pub " | "fn " | "def " => {
                    body.contains('=') || body.ends_with([':', '{', ')'])
                }
                _ => true,
            };
        }
    }
    log_line(body)
}

fn log_line(body: &str) -> bool {
    let head = body.get(..10).unwrap_or(body).as_bytes();
    // A date or a time, then more text.
    if head.len() == 10
        && head[..4].iter().all(u8::is_ascii_digit)
        && matches!(head[4], b'-' | b'/')
        && head[5].is_ascii_digit()
        && head[8].is_ascii_digit()
    {
        return true;
    }
    if head.len() >= 8
        && head[0].is_ascii_digit()
        && head[1].is_ascii_digit()
        && head[2] == b':'
        && head[3].is_ascii_digit()
        && head[5] == b':'
    {
        return true;
    }
    let word = body.trim_start_matches('[');
    ["ERROR", "WARN", "INFO", "DEBUG", "TRACE", "FATAL"]
        .iter()
        .any(|l| word.starts_with(l) && word[l.len()..].starts_with([']', ':', ' ', '\t', '[']))
}

#[cfg(test)]
mod tests {
    use super::lines;

    fn check(input: &str, expected: &[&str]) {
        let found: Vec<&str> = lines(input)
            .iter()
            .map(|u| &input[u.start..u.end])
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_long_list_of_objects_is_cut_at_whole_objects() {
        let objects: Vec<String> = (80..90)
            .map(|n| format!(r#"{{"oven":{n},"bread":"rye, dark","ready":true}}"#))
            .collect();
        let text = format!(
            r#"{{"status":"ok","ovens":[{}],"total":10}}"#,
            objects.join(",")
        );
        let mut expected = vec![r#""status":"ok""#];
        expected.extend(objects.iter().map(String::as_str));
        expected.push(r#""total":10"#);
        check(&text, &expected);
    }

    #[test]
    fn short_members_stand_together_and_a_nested_object_keeps_its_key() {
        let long = "x".repeat(180);
        let text = format!(
            r#"{{"order":"W88","city":"Ulm","weight_kg":12.5,"paid":true,"buyer":{{"name":"Ada, of Ulm","age":36}},"note":"{long}"}}"#
        );
        let note = format!(r#""note":"{long}""#);
        check(
            &text,
            &[
                r#""order":"W88","city":"Ulm","weight_kg":12.5,"paid":true"#,
                r#""buyer":{"name":"Ada, of Ulm","age":36}"#,
                &note,
            ],
        );
    }

    #[test]
    fn a_long_list_of_plain_values_keeps_its_key() {
        let names: Vec<String> = (10..60).map(|n| format!("\"f{n}.rs\"")).collect();
        let text = format!(r#"{{"files":[{}]}}"#, names.join(","));
        let pieces: Vec<&str> = lines(&text).iter().map(|u| &text[u.start..u.end]).collect();
        assert!(
            pieces[0].starts_with(r#""files":["f10.rs","f11.rs""#),
            "{pieces:?}"
        );
        for name in &names {
            assert!(pieces.iter().any(|p| p.contains(name.as_str())), "{name}");
        }
    }

    #[test]
    fn what_is_cut_off_or_nested_deep_is_cut_all_the_same() {
        let deep = "[".repeat(5_000) + &"1,".repeat(5_000);
        assert!(!lines(&deep).is_empty());
        let cut = format!(
            r#"{{"rows":[{}"#,
            r#"{"id":17,"place":"Graz","note":"dry"},"#.repeat(9)
        );
        let pieces = lines(&cut);
        assert_eq!(pieces.len(), 9);
        assert!(pieces.iter().all(|u| cut[u.start..u.end].ends_with('}')));
    }
}
