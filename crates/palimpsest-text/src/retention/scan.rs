//! Finds the facts that a summary must not lose and that have a recognisable shape: paths, addresses, identifiers,
//! numbers with units, dates, quoted text. It takes one pass and no regular expressions.
//!
//! It first cuts the text into runs. The shape of a run decides at once about most ([`shape`], [`figure`]); numbers are
//! then joined with the units, months and years around them ([`join`]).

mod figure;
mod join;
mod shape;

use super::FactClass;
use super::quantity::listed;
use crate::words::script::unspaced;
use crate::words::segment::{Unit, UnitKind};
use shape::{address, camel, identifier};
pub(crate) use shape::{path, without_position};

/// A fact by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// The class.
    pub class: FactClass,
    /// First byte.
    pub start: usize,
    /// After the last byte.
    pub end: usize,
}

/// The author of a text. In a machine's text, only numbers with a unit are facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writer {
    /// A user or a model.
    Person,
    /// A tool.
    Machine,
}

/// The degree of attention: in prose everything counts, in a machine's output less, in code only places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Eye {
    Code,
    Machine,
    Prose,
}

/// The role of a run when numbers are joined with the words around them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LexKind {
    Word,
    /// Digits alone.
    Number,
    /// Digits with a unit in the same run: `250ms`, `$40`.
    Quantity,
    /// 1st, 2nd, 7th.
    Ordinal,
    /// A run of a script without spaces.
    Wide,
    /// A fact that was recognised already.
    Known,
    /// Anything else.
    Other,
}

/// A run without spaces, or a run of a script that has none.
#[derive(Debug, Clone, Copy)]
struct Lex {
    start: usize,
    end: usize,
    kind: LexKind,
    /// The lists in `quantity` that contain the word.
    listed: u8,
}

/// Working memory that is reused from unit to unit.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    lexes: Vec<Lex>,
    word: String,
}

/// A longer quotation is a passage and not a fact.
const QUOTE_MAX: usize = 160;
/// The same limit for text in backticks.
const BACKTICKS_MAX: usize = 200;

impl Scanner {
    /// Adds the facts of one unit to `out`, in order of their starts.
    pub(crate) fn scan(&mut self, text: &str, unit: &Unit, writer: Writer, out: &mut Vec<Found>) {
        let eye = match unit.kind {
            UnitKind::Code => Eye::Code,
            UnitKind::Line => Eye::Machine,
            _ if writer == Writer::Machine => Eye::Machine,
            _ => Eye::Prose,
        };
        self.lexes.clear();
        let first = out.len();
        self.runs(text, unit.start, unit.end, eye, out);
        if eye != Eye::Code {
            self.join(text, eye, out);
        }
        if !out[first..].is_sorted_by_key(|f| f.start) {
            crate::order::sort_by_key(&mut out[first..], |f| f.start);
        }
    }

    /// Cuts `text[start..end]` into runs.
    fn runs(&mut self, text: &str, start: usize, end: usize, eye: Eye, out: &mut Vec<Found>) {
        let mut at = start;
        // The first byte at which the search for an opening quote may continue.
        let mut quote_from = start;
        while at < end {
            let Some(c) = text[at..end].chars().next() else {
                break;
            };
            let after = at + c.len_utf8();
            if c.is_whitespace() {
                at = after;
            } else if c == '`' && eye == Eye::Prose {
                at = self.backticks(text, after, end, &mut quote_from, out);
            } else if eye == Eye::Prose
                && at >= quote_from
                && let Some(mark) = opening(c)
            {
                if opens(c, mark, text[start..at].chars().next_back())
                    && let Some((close, past)) = find_close(text, after, end, mark, QUOTE_MAX)
                    && quoted_fact(&text[after..close], text[past..].chars().next())
                {
                    out.push(Found {
                        class: FactClass::Quoted,
                        start: after,
                        end: close,
                    });
                    quote_from = past;
                }
                at = after;
            } else if let Some(length) = escape(&text[at..end], eye) {
                at += length;
            } else if delimiter(c) {
                at = after;
            } else if unspaced(c) {
                let len = text[at..end].find(|c: char| !unspaced(c));
                let stop = len.map_or(end, |len| at + len);
                self.lex(LexKind::Wide, at, stop, 0);
                at = stop;
            } else {
                at = self.solid(text, at, end, eye, out);
            }
        }
    }

    /// Handles text in backticks from `from` on, and returns the place where reading continues. A single name is a
    /// fact; several words are quoted text and are read like other text.
    fn backticks(
        &mut self,
        text: &str,
        from: usize,
        end: usize,
        quote_from: &mut usize,
        out: &mut Vec<Found>,
    ) -> usize {
        let Some((close, past)) = find_close(text, from, end, '`', BACKTICKS_MAX) else {
            return from;
        };
        let inside = text[from..close].trim();
        let is_name = !inside.is_empty()
            && !inside.contains(char::is_whitespace)
            && inside.chars().any(char::is_alphanumeric);
        if is_name {
            let start = from + (text[from..close].len() - text[from..close].trim_start().len());
            if inside.len() > 1 {
                let (class, length) = named(inside);
                self.known(class, start, start + length, out);
            }
            return past;
        }
        if inside.len() >= 4 && !inside.contains('\n') && close > *quote_from {
            out.push(Found {
                class: FactClass::Quoted,
                start: from,
                end: close,
            });
            *quote_from = past;
        }
        from
    }

    /// Handles one run without spaces and delimiters, and returns the place where reading continues.
    fn solid(
        &mut self,
        text: &str,
        start: usize,
        end: usize,
        eye: Eye,
        out: &mut Vec<Found>,
    ) -> usize {
        let run = Run::of(text, start, end, eye);
        if let Some(colon) = run.scheme_end {
            return self.url(text, start, colon, end, out);
        }
        let stop = run.stop;
        let (s, e) = trim(text, start, stop);
        if s >= e {
            return stop.max(start + 1);
        }
        let solid = &text[s..e];
        // The rest of the path is in a script whose words have no borders, and half a path is not a fact.
        if solid.ends_with('/') && text[stop..end].starts_with(unspaced) {
            return stop;
        }
        if run.is_plain || solid.bytes().all(|b| b.is_ascii_alphabetic()) {
            let listed = listed(solid, &mut self.word);
            self.lex(LexKind::Word, s, e, listed);
            if run.has_hump && eye == Eye::Prose && camel(solid) {
                out.push(Found {
                    class: FactClass::Identifier,
                    start: s,
                    end: e,
                });
            }
        } else if let Some(class) = address(solid) {
            self.known(class, s, e, out);
        } else if let Some(len) = path(solid) {
            self.known(FactClass::Path, s, s + len, out);
        } else if eye != Eye::Code {
            self.mixed(solid, s, eye, out);
        }
        stop
    }

    /// Handles a run of letters, digits and marks that is neither an address nor a path.
    fn mixed(&mut self, solid: &str, start: usize, eye: Eye, out: &mut Vec<Found>) {
        let end = start + solid.len();
        let unsigned = solid.trim_start_matches(|c: char| figure::sign(c) || figure::currency(c));
        if unsigned.starts_with(|c: char| c.is_ascii_digit()) {
            self.figure(solid, start, eye, out);
        } else if identifier(solid, eye == Eye::Machine) {
            self.known(FactClass::Identifier, start, end, out);
        } else {
            let of_word = |c: char| c.is_alphabetic() || matches!(c, '-' | '\'' | '’' | '.');
            let is_word = solid.chars().all(of_word) || solid.starts_with(figure::unit_mark);
            let kind = if is_word {
                LexKind::Word
            } else {
                LexKind::Other
            };
            // "forty-seven", "Mar."
            let word = solid.trim_end_matches('.');
            let word = word.rsplit('-').next().unwrap_or(word);
            let listed = listed(word, &mut self.word);
            self.lex(kind, start, end, listed);
        }
    }

    /// Handles an address whose scheme ends at `colon`, and returns the place where reading continues.
    fn url(
        &mut self,
        text: &str,
        start: usize,
        colon: usize,
        end: usize,
        out: &mut Vec<Found>,
    ) -> usize {
        let host = colon + "://".len();
        let close = url_end(text, host, end);
        let is_scheme = |c: char| c.is_ascii_alphanumeric() || c == '+';
        let scheme = start + text[start..colon].trim_end_matches(is_scheme).len();
        if close > host + 2 && scheme < colon {
            self.known(FactClass::Url, scheme, close, out);
            return close.max(host);
        }
        host
    }

    fn known(&mut self, class: FactClass, start: usize, end: usize, out: &mut Vec<Found>) {
        self.lex(LexKind::Known, start, end, 0);
        out.push(Found { class, start, end });
    }

    fn lex(&mut self, kind: LexKind, start: usize, end: usize, listed: u8) {
        self.lexes.push(Lex {
            start,
            end,
            kind,
            listed,
        });
    }
}

/// The extent of a run without spaces and delimiters.
struct Run {
    /// After its last byte.
    stop: usize,
    /// It has letters and apostrophes only.
    is_plain: bool,
    /// It may have a capital after a small letter.
    has_hump: bool,
    /// The place of `://`, if the run is an address.
    scheme_end: Option<usize>,
}

impl Run {
    fn of(text: &str, start: usize, end: usize, eye: Eye) -> Self {
        // In `C:\new` the mark is a part of a path.
        let may_escape = !shape::drive(&text[start..end]);
        let mut run = Self {
            stop: end,
            is_plain: true,
            has_hump: false,
            scheme_end: None,
        };
        let mut chars = text[start..end].char_indices().peekable();
        let mut before = '\0';
        while let Some((i, c)) = chars.next() {
            if c.is_ascii_alphabetic() {
                run.has_hump |= c.is_ascii_uppercase() && before.is_ascii_lowercase();
                before = c;
                continue;
            }
            let mut groups_digits = || {
                let digit = |c: char| c.is_ascii_digit();
                c == ',' && digit(before) && chars.peek().is_some_and(|&(_, next)| digit(next))
            };
            let escapes = || may_escape && escape(&text[start + i..end], eye).is_some();
            if c.is_whitespace() || unspaced(c) || delimiter(c) && !groups_digits() || escapes() {
                run.stop = start + i;
                break;
            }
            if c == ':' && text[start + i..end].starts_with("://") {
                run.scheme_end = Some(start + i);
                break;
            }
            run.has_hump |= !c.is_ascii();
            run.is_plain &= c.is_alphabetic() || matches!(c, '\'' | '’');
            before = c;
        }
        run
    }
}

/// Returns the class of a name in backticks, and its length in bytes.
fn named(name: &str) -> (FactClass, usize) {
    if let Some(class) = address(name) {
        return (class, name.len());
    }
    match path(name) {
        Some(length) => (FactClass::Path, length),
        None => (FactClass::Identifier, name.len()),
    }
}

/// Returns `true` if the mark `c`, which `mark` closes, opens a quotation after the character `before`.
fn opens(c: char, mark: char, before: Option<char>) -> bool {
    // A mark that also closes opens only after a space.
    mark != c
        || before
            .is_none_or(|p| p.is_whitespace() || matches!(p, '(' | '[' | ':' | '=') || unspaced(p))
}

/// Returns the length of an escape of JSON at the beginning of `text`: `\n`, `\"`, `\u00e9`, and the same in a text that
/// was escaped twice. The arguments of calls are written like this, and the letter belongs to no name. People write
/// `src\tests`, so in their words only a line feed and a quotation mark count.
fn escape(text: &str, eye: Eye) -> Option<usize> {
    let letter = text.trim_start_matches('\\');
    let marks = text.len() - letter.len();
    if marks == 0 {
        return None;
    }
    match letter.bytes().next()? {
        b'n' | b'"' => Some(marks + 1),
        b't' | b'r' | b'b' | b'f' | b'/' if eye == Eye::Machine || marks > 1 => Some(marks + 1),
        b'u' if letter
            .bytes()
            .skip(1)
            .take(4)
            .filter(u8::is_ascii_hexdigit)
            .count()
            == 4 =>
        {
            Some(marks + 5)
        }
        _ => None,
    }
}

/// Returns the pieces of `text` between escapes of JSON. A text without an escape is one piece.
pub(super) fn between_escapes(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let piece = rest.take()?;
        let found = piece
            .match_indices('\\')
            .find_map(|(at, _)| Some((at, escape(&piece[at..], Eye::Machine)?)));
        let Some((at, length)) = found else {
            return Some(piece);
        };
        rest = Some(&piece[at + length..]);
        Some(&piece[..at])
    })
}

fn delimiter(c: char) -> bool {
    matches!(
        c,
        '(' | ')'
            | '['
            | ']'
            | '{'
            | '}'
            | '<'
            | '>'
            | '"'
            | '“'
            | '”'
            | '„'
            | '«'
            | '»'
            | '‹'
            | '›'
            | '「'
            | '」'
            | '『'
            | '』'
            | '（'
            | '）'
            | '【'
            | '】'
            | '《'
            | '》'
            | '、'
            | '，'
            | '。'
            | '；'
            | '：'
            | '！'
            | '？'
            | '|'
            | '*'
            | ';'
            | ','
            | '='
            | '`'
            | '\u{3000}'
            | '→'
            | '¿'
            | '¡'
    )
}

fn opening(c: char) -> Option<char> {
    Some(match c {
        '"' => '"',
        '“' | '„' => '”',
        '«' => '»',
        '「' => '」',
        '『' => '』',
        '《' => '》',
        _ => return None,
    })
}

/// Returns the byte of the closing mark and the byte after it, at most `reach` bytes ahead on the same line. A straight
/// quote, which is shorter, may close a curly one.
fn find_close(
    text: &str,
    from: usize,
    end: usize,
    mark: char,
    reach: usize,
) -> Option<(usize, usize)> {
    for (i, c) in text[from..end].char_indices() {
        if i > reach || c == '\n' {
            return None;
        }
        if c == mark || mark == '”' && matches!(c, '“' | '"') && i > 0 {
            return Some((from + i, from + i + c.len_utf8()));
        }
    }
    None
}

fn quoted_fact(inside: &str, next: Option<char>) -> bool {
    let letters = inside.chars().filter(|c| c.is_alphanumeric()).count();
    letters >= 2
        && inside.trim().len() == inside.len()
        && !next.is_some_and(|c| c.is_ascii_alphanumeric())
}

/// Removes punctuation at both ends, and emphasis marks that wrap the run.
fn trim(text: &str, start: usize, end: usize) -> (usize, usize) {
    let run = &text[start..end];
    let right = run.trim_end_matches(|c: char| {
        matches!(
            c,
            '.' | ':' | '!' | '?' | '…' | '\'' | '’' | '‘' | '-' | '–' | '—'
        )
    });
    let mut left = right.trim_start_matches(|c: char| {
        matches!(c, '\'' | '’' | '‘' | '…' | '–' | '—' | '!' | '?' | ':')
    });
    let mut s = start + (right.len() - left.len());
    if left.starts_with('_') && left.ends_with('_') && !left.starts_with("__") && left.len() > 2 {
        left = &left[1..left.len() - 1];
        s += 1;
    }
    (s, s + left.len())
}

/// Returns the end of an address that began before `from`.
fn url_end(text: &str, from: usize, end: usize) -> usize {
    let mut depth = 0i32;
    let mut stop = end;
    for (i, c) in text[from..end].char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => {
                stop = from + i;
                break;
            }
            ')' => depth -= 1,
            _ if c.is_whitespace()
                || unspaced(c)
                || matches!(
                    c,
                    '<' | '>' | '"' | '\'' | '`' | ']' | '}' | '“' | '”' | '»' | '|' | '\\'
                )
                || (delimiter(c) && !c.is_ascii()) =>
            {
                stop = from + i;
                break;
            }
            _ => {}
        }
    }
    from + text[from..stop]
        .trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_'])
        .len()
}
