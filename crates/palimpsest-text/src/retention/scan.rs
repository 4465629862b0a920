//! Finds what a summary must not lose and a machine can recognise by shape: paths, addresses,
//! identifiers, numbers with units, dates, quoted text. One pass, no regular expressions.

use std::sync::LazyLock;

use super::FactClass;
use super::quantity::{COUNT, MONTH, UNIT, WEEKDAY, listed};
use crate::languages::{Language, List};
use crate::words::script::unspaced;
use crate::words::segment::{Unit, UnitKind};
use crate::words::small_word;
use crate::words::terms::fold_hash;

static HOURS: List = List::words(|t| t.quantities.hours);
static OF: List = List::words(|t| t.quantities.of);
static ORDINALS: List = List::words(|t| t.quantities.ordinals);
static MAGNITUDES: List = List::words(|t| t.quantities.magnitudes);

/// Units of the scripts without spaces, the longest first.
static UNITS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut all: Vec<&str> = Vec::new();
    for language in Language::ALL {
        all.extend(language.tables().quantities.unspaced_units.split('|'));
    }
    all.retain(|unit| !unit.is_empty());
    all.sort_by_key(|unit| std::cmp::Reverse(unit.len()));
    all
});

/// A fact by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// What it is.
    pub class: FactClass,
    /// First byte.
    pub start: usize,
    /// After the last byte.
    pub end: usize,
}

/// How much is worth noticing: prose everything, a machine's output less, code only places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Eye {
    Code,
    Machine,
    Prose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LexKind {
    Word,
    /// Digits; `true` if the unit is already inside (`250ms`, `$40`).
    Number(bool),
    /// 1st, 2nd, 7th.
    Ordinal,
    /// A run of a script without spaces.
    Wide,
    /// Already recognised.
    Known,
    Other,
}

#[derive(Debug, Clone, Copy)]
struct Lex {
    start: usize,
    end: usize,
    kind: LexKind,
    /// What the word is listed as in `quantity`.
    listed: u8,
}

/// Scratch space that is reused from unit to unit.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    lexes: Vec<Lex>,
    word: String,
}

/// Quoted text longer than this is a passage, not a fact.
const QUOTE_MAX: usize = 160;

impl Scanner {
    /// Adds the facts of one unit to `out`, in order of their starts.
    pub(crate) fn scan(&mut self, text: &str, unit: &Unit, tool: bool, out: &mut Vec<Found>) {
        let eye = match unit.kind {
            UnitKind::Code => Eye::Code,
            UnitKind::Line => Eye::Machine,
            _ if tool => Eye::Machine,
            _ => Eye::Prose,
        };
        self.lexes.clear();
        let first = out.len();
        self.lex(text, unit.start, unit.end, eye, out);
        if eye != Eye::Code {
            self.numbers(text, eye, out);
        }
        if !out[first..].is_sorted_by_key(|f| f.start) {
            crate::order::sort_by_key(&mut out[first..], |f| f.start);
        }
    }

    fn lex(&mut self, text: &str, start: usize, end: usize, eye: Eye, out: &mut Vec<Found>) {
        let mut at = start;
        // The earliest byte at which an opening quote may be tried again.
        let mut quote_from = start;
        while at < end {
            let Some(c) = text[at..end].chars().next() else {
                break;
            };
            let after = at + c.len_utf8();
            if c.is_whitespace() {
                at = after;
                continue;
            }
            if c == '`' && eye == Eye::Prose {
                if let Some((close, past)) = find_close(text, after, end, '`', 200) {
                    let inside = text[after..close].trim();
                    if !inside.is_empty()
                        && !inside.contains(char::is_whitespace)
                        && inside.chars().any(char::is_alphanumeric)
                    {
                        let s = after
                            + (text[after..close].len() - text[after..close].trim_start().len());
                        let class = address(inside)
                            .or_else(|| path(inside).map(|_| FactClass::Path))
                            .unwrap_or(FactClass::Identifier);
                        if inside.len() > 1 {
                            let e = if class == FactClass::Path {
                                s + path(inside).unwrap_or(inside.len())
                            } else {
                                s + inside.len()
                            };
                            self.known(class, s, e, out);
                        }
                        at = past;
                        continue;
                    }
                    if inside.len() >= 4 && !inside.contains('\n') && close > quote_from {
                        out.push(Found {
                            class: FactClass::Quoted,
                            start: after,
                            end: close,
                        });
                        quote_from = past;
                    }
                }
                at = after;
                continue;
            }
            if eye == Eye::Prose
                && at >= quote_from
                && let Some(close_mark) = opening(c)
            {
                let opens = close_mark != c
                    || text[start..at].chars().next_back().is_none_or(|p| {
                        p.is_whitespace() || matches!(p, '(' | '[' | ':' | '=') || unspaced(p)
                    });
                if opens
                    && let Some((close, past)) = find_close(text, after, end, close_mark, QUOTE_MAX)
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
                continue;
            }
            if delimiter(c) {
                at = after;
                continue;
            }
            if unspaced(c) {
                let len = text[at..end]
                    .find(|c: char| !unspaced(c))
                    .unwrap_or(end - at);
                self.lexes.push(Lex {
                    start: at,
                    end: at + len,
                    kind: LexKind::Wide,
                    listed: 0,
                });
                at += len;
                continue;
            }
            at = self.solid(text, at, end, eye, out);
        }
    }

    /// One run without spaces and delimiters; returns where reading goes on.
    fn solid(
        &mut self,
        text: &str,
        start: usize,
        end: usize,
        eye: Eye,
        out: &mut Vec<Found>,
    ) -> usize {
        let mut stop = end;
        let mut plain = true;
        let mut hump = false;
        let mut chars = text[start..end].char_indices().peekable();
        let mut before = '\0';
        while let Some((i, c)) = chars.next() {
            if c.is_ascii_alphabetic() {
                hump |= c.is_ascii_uppercase() && before.is_ascii_lowercase();
                before = c;
                continue;
            }
            let cut = c.is_whitespace()
                || unspaced(c)
                || delimiter(c)
                    && !(c == ','
                        && before.is_ascii_digit()
                        && chars.peek().is_some_and(|&(_, n)| n.is_ascii_digit()));
            if cut {
                stop = start + i;
                break;
            }
            if c == ':' && text[start + i..end].starts_with("://") {
                let close = url_end(text, start + i + 3, end);
                let before = &text[start..start + i];
                let scheme = start
                    + before
                        .trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '+')
                        .len();
                if close > start + i + 5 && scheme < start + i {
                    self.known(FactClass::Url, scheme, close, out);
                    return close.max(start + i + 3);
                }
                return start + i + 3;
            }
            hump |= !c.is_ascii();
            plain &= c.is_alphabetic() || matches!(c, '\'' | '’');
            before = c;
        }
        let (s, e) = trim(text, start, stop);
        if s >= e {
            return stop.max(start + 1);
        }
        let solid = &text[s..e];
        // The rest of the path is in a script whose words have no borders: half a path is none.
        if solid.ends_with('/') && text[stop..end].starts_with(unspaced) {
            return stop;
        }
        if plain || solid.bytes().all(|b| b.is_ascii_alphabetic()) {
            let listed = listed(solid, &mut self.word);
            self.lexes.push(Lex {
                start: s,
                end: e,
                kind: LexKind::Word,
                listed,
            });
            if hump && eye == Eye::Prose && camel(solid) {
                out.push(Found {
                    class: FactClass::Identifier,
                    start: s,
                    end: e,
                });
            }
            return stop;
        }
        if let Some(class) = address(solid) {
            self.known(class, s, e, out);
            return stop;
        }
        if let Some(len) = path(solid) {
            self.known(FactClass::Path, s, s + len, out);
            return stop;
        }
        if eye == Eye::Code {
            return stop;
        }
        let numeric = solid.trim_start_matches(|c: char| {
            matches!(
                c,
                '+' | '-'
                    | '−'
                    | '±'
                    | '~'
                    | '≈'
                    | '≤'
                    | '≥'
                    | '$'
                    | '€'
                    | '£'
                    | '¥'
                    | '₽'
                    | '₹'
            )
        });
        if numeric.starts_with(|c: char| c.is_ascii_digit()) {
            self.numeric(text, s, e, eye, out);
        } else if identifier(solid, eye == Eye::Machine) {
            self.known(FactClass::Identifier, s, e, out);
        } else {
            let kind = if solid
                .chars()
                .all(|c| c.is_alphabetic() || matches!(c, '-' | '\'' | '’' | '.'))
                || solid.starts_with(unit_mark)
            {
                LexKind::Word
            } else {
                LexKind::Other
            };
            // "forty-seven", "Mar."
            let word = solid.trim_end_matches('.');
            let word = word.rsplit('-').next().unwrap_or(word);
            self.lexes.push(Lex {
                start: s,
                end: e,
                kind,
                listed: listed(word, &mut self.word),
            });
        }
        stop
    }

    fn known(&mut self, class: FactClass, start: usize, end: usize, out: &mut Vec<Found>) {
        self.lexes.push(Lex {
            start,
            end,
            kind: LexKind::Known,
            listed: 0,
        });
        out.push(Found { class, start, end });
    }

    /// A run that begins with a digit, a sign or a currency mark.
    fn numeric(&mut self, text: &str, start: usize, end: usize, eye: Eye, out: &mut Vec<Found>) {
        let solid = &text[start..end];
        let currency = solid.contains(['$', '€', '£', '¥', '₽', '₹']);
        let body = solid.trim_start_matches(|c: char| !c.is_ascii_digit());
        let digits = body.bytes().filter(u8::is_ascii_digit).count();
        let value = body
            .find(|c: char| {
                !(c.is_ascii_digit()
                    || matches!(c, '.' | ',' | '\'' | '’' | '-' | '–' | '/' | ':' | '×'))
            })
            .unwrap_or(body.len());
        let (value, rest) = body.split_at(value);
        let colons = value.bytes().filter(|&b| b == b':').count();
        let dots = value.bytes().filter(|&b| b == b'.').count();
        let dashes = value.bytes().filter(|&b| b == b'-').count();
        let slashes = value.bytes().filter(|&b| b == b'/').count();
        let groups: Vec<&str> = value.split(['.', '-', '/', ':']).collect();
        let short = |g: &&str| (1..=2).contains(&g.len());
        let date_shape = |n: usize| {
            groups.len() == 3
                && n == 2
                && (groups[0].len() == 4 && groups[1..].iter().all(short)
                    || groups[2].len() == 4 && groups[..2].iter().all(short))
        };
        let rest_is_time = rest.is_empty()
            || matches!(rest, "am" | "pm" | "AM" | "PM" | "h" | "Z")
            || rest.starts_with('T');
        if date_shape(dashes) || date_shape(slashes) || date_shape(dots) && rest.is_empty() {
            if eye == Eye::Prose {
                self.known(FactClass::Date, start, end, out);
            } else {
                self.lexes.push(Lex {
                    start,
                    end,
                    kind: LexKind::Other,
                    listed: 0,
                });
            }
            return;
        }
        if colons > 0
            && dots == 0
            && slashes == 0
            && groups.iter().all(short)
            && groups.len() <= 3
            && rest_is_time
        {
            if eye == Eye::Prose {
                self.known(FactClass::Date, start, end, out);
            } else {
                self.lexes.push(Lex {
                    start,
                    end,
                    kind: LexKind::Other,
                    listed: 0,
                });
            }
            return;
        }
        if dots >= 2
            && groups.len() == dots + 1
            && groups.iter().all(|g| g.len() <= 3)
            && !(groups[1..].iter().all(|g| g.len() == 3) && groups[0].len() <= 3)
        {
            self.known(FactClass::Identifier, start, end, out);
            return;
        }
        if rest.is_empty() {
            if dashes > 0 && digits >= 7 || colons > 0 || slashes > 1 {
                if eye == Eye::Prose {
                    self.known(FactClass::Identifier, start, end, out);
                }
                return;
            }
            if slashes > 0 {
                self.lexes.push(Lex {
                    start,
                    end,
                    kind: LexKind::Other,
                    listed: 0,
                });
                return;
            }
            self.lexes.push(Lex {
                start,
                end,
                kind: LexKind::Number(currency),
                listed: 0,
            });
            return;
        }
        if ORDINALS.has(rest) {
            self.lexes.push(Lex {
                start,
                end,
                kind: LexKind::Ordinal,
                listed: 0,
            });
            return;
        }
        if matches!(rest, "am" | "pm" | "AM" | "PM") {
            if eye == Eye::Prose {
                self.known(FactClass::Date, start, end, out);
            }
            return;
        }
        let unit = rest.trim_end_matches(['.', '+']);
        if currency
            || unit.starts_with(['%', '°', '‰'])
            || self.unit(unit)
            || unit.split_once('/').is_some_and(|(a, _)| self.unit(a))
        {
            self.lexes.push(Lex {
                start,
                end,
                kind: LexKind::Number(true),
                listed: 0,
            });
            return;
        }
        if identifier(solid, eye == Eye::Machine) {
            self.known(FactClass::Identifier, start, end, out);
        } else {
            self.lexes.push(Lex {
                start,
                end,
                kind: LexKind::Other,
                listed: 0,
            });
        }
    }

    /// Joins numbers with the units, months and counters around them.
    fn numbers(&mut self, text: &str, eye: Eye, out: &mut Vec<Found>) {
        let mut i = 0;
        while i < self.lexes.len() {
            let lex = self.lexes[i];
            match lex.kind {
                LexKind::Number(complete) => i = self.number(text, i, complete, eye, out),
                LexKind::Ordinal => {
                    let mut end = i + 1;
                    if self.word_at(text, end, lex.end).is_some_and(|w| w == "of") {
                        end += 1;
                    }
                    if eye == Eye::Prose && end > 0 && self.month_at(end) {
                        let last = self.year_after(text, end);
                        out.push(Found {
                            class: FactClass::Date,
                            start: lex.start,
                            end: self.lexes[last].end,
                        });
                        i = last + 1;
                    } else {
                        i += 1;
                    }
                }
                LexKind::Word if eye == Eye::Prose && lex.end - lex.start >= 3 => {
                    i = self.month_or_weekday(text, i, out);
                }
                _ => i += 1,
            }
        }
    }

    fn number(
        &mut self,
        text: &str,
        i: usize,
        complete: bool,
        eye: Eye,
        out: &mut Vec<Found>,
    ) -> usize {
        let lex = self.lexes[i];
        let raw = &text[lex.start..lex.end];
        if let Some(next) = self.lexes.get(i + 1).copied()
            && next.kind == LexKind::Wide
            && next.start - lex.end <= 1
        {
            return self.wide_unit(text, i, out);
        }
        // 7 May 2023 · 14. März 2024 · 14 de marzo de 2024
        if eye == Eye::Prose && !complete && raw.len() <= 3 {
            let mut m = i + 1;
            if self.word_at(text, m, lex.end).is_some_and(|w| OF.has(w)) {
                m += 1;
            }
            if self.month_at(m) && self.near(text, i, m) {
                let last = self.year_after(text, m);
                out.push(Found {
                    class: FactClass::Date,
                    start: lex.start,
                    end: self.lexes[last].end,
                });
                return last + 1;
            }
        }
        let mut end = lex.end;
        let mut next = i + 1;
        let mut has_unit = complete;
        let mut known = complete;
        if let Some(word) = self.lexes.get(next).copied()
            && word.kind == LexKind::Word
            && adjacent(text, lex.end, word.start)
        {
            let w = &text[word.start..word.end];
            let bare = w.trim_end_matches('.');
            if HOURS.has(bare) && eye == Eye::Prose && !complete && raw.len() <= 2 {
                out.push(Found {
                    class: FactClass::Date,
                    start: lex.start,
                    end: word.end,
                });
                return next + 1;
            }
            if word.listed & UNIT != 0 || bare.starts_with(unit_mark) {
                end = word.end;
                next += 1;
                has_unit = true;
                known = true;
                // 3 million dollars
                if magnitude(bare)
                    && let Some(more) = self.lexes.get(next).copied()
                    && more.kind == LexKind::Word
                    && adjacent(text, end, more.start)
                    && more.listed & UNIT != 0
                {
                    end = more.end;
                    next += 1;
                }
            } else if !complete
                && eye == Eye::Prose
                && bare.chars().count() >= 3
                && bare
                    .chars()
                    .next()
                    .is_some_and(|c| c.is_lowercase() || !c.is_ascii())
                && small_word(fold_hash(bare, &mut self.word)) == 0
            {
                end = word.end;
                next += 1;
                has_unit = true;
            }
        }
        let digits = raw.bytes().filter(u8::is_ascii_digit).count();
        let year = !has_unit && raw.len() == 4 && (raw.starts_with("19") || raw.starts_with("20"));
        if has_unit && (known || eye == Eye::Prose) {
            out.push(Found {
                class: FactClass::Number,
                start: lex.start,
                end,
            });
        } else if eye == Eye::Prose && year {
            out.push(Found {
                class: FactClass::Date,
                start: lex.start,
                end: lex.end,
            });
        } else if eye == Eye::Prose && (digits >= 4 || digits >= 2 && raw.contains(['.', ','])) {
            out.push(Found {
                class: FactClass::Number,
                start: lex.start,
                end: lex.end,
            });
        }
        next
    }

    /// 3000元, 15分钟, 2024年5月7日
    fn wide_unit(&mut self, text: &str, i: usize, out: &mut Vec<Found>) -> usize {
        let start = self.lexes[i].start;
        let mut at = i;
        let mut date = false;
        let mut end = self.lexes[i].end;
        // Number, 年/月/日, number, …
        while let (Some(n), Some(w)) =
            (self.lexes.get(at).copied(), self.lexes.get(at + 1).copied())
        {
            if !matches!(n.kind, LexKind::Number(_))
                || w.kind != LexKind::Wide
                || w.start - n.end > 1
            {
                break;
            }
            let wide = &text[w.start..w.end];
            if wide.starts_with("年間") || wide.starts_with("日間") || wide.starts_with("月間")
            {
                break;
            }
            let Some(mark) = wide
                .chars()
                .next()
                .filter(|c| matches!(c, '年' | '月' | '日' | '号' | '號'))
            else {
                break;
            };
            date = true;
            end = w.start + mark.len_utf8();
            if end < w.end {
                at += 2;
                break;
            }
            at += 2;
        }
        if date {
            out.push(Found {
                class: FactClass::Date,
                start,
                end,
            });
            return at.max(i + 1);
        }
        let wide = self.lexes[i + 1];
        let unit = UNITS
            .iter()
            .find(|unit| text[wide.start..wide.end].starts_with(**unit));
        let raw = &text[start..self.lexes[i].end];
        if let Some(unit) = unit {
            out.push(Found {
                class: FactClass::Number,
                start,
                end: wide.start + unit.len(),
            });
        } else if raw.bytes().filter(u8::is_ascii_digit).count() >= 3
            || matches!(self.lexes[i].kind, LexKind::Number(true))
        {
            out.push(Found {
                class: FactClass::Number,
                start,
                end: self.lexes[i].end,
            });
        }
        i + 1
    }

    /// May 7, 2023 · March 2024 · Friday
    fn month_or_weekday(&mut self, text: &str, i: usize, out: &mut Vec<Found>) -> usize {
        let lex = self.lexes[i];
        if lex.listed & WEEKDAY != 0 {
            out.push(Found {
                class: FactClass::Date,
                start: lex.start,
                end: lex.end,
            });
            return i + 1;
        }
        if self.number_word(text, i) {
            let unit = self.lexes[i + 1];
            out.push(Found {
                class: FactClass::Number,
                start: lex.start,
                end: unit.end,
            });
            return i + 2;
        }
        if let Some(next) = self.lexes.get(i + 1).copied()
            && adjacent(text, lex.end, next.start)
            && matches!(next.kind, LexKind::Ordinal | LexKind::Number(false))
            && self.month_at(i)
            && next.end - next.start <= 4
        {
            let last = self.year_after(text, i + 1);
            out.push(Found {
                class: FactClass::Date,
                start: lex.start,
                end: self.lexes[last].end,
            });
            return last + 1;
        }
        i + 1
    }

    /// "three weeks"
    fn number_word(&self, text: &str, i: usize) -> bool {
        let lex = self.lexes[i];
        lex.listed & COUNT != 0
            && self
                .lexes
                .get(i + 1)
                .is_some_and(|next| next.listed & UNIT != 0 && adjacent(text, lex.end, next.start))
    }

    fn word_at<'t>(&self, text: &'t str, i: usize, after: usize) -> Option<&'t str> {
        let lex = self.lexes.get(i)?;
        (lex.kind == LexKind::Word && adjacent(text, after, lex.start))
            .then(|| &text[lex.start..lex.end])
    }

    fn near(&self, text: &str, from: usize, to: usize) -> bool {
        let between = &text[self.lexes[from].end..self.lexes[to].start];
        between.len() <= 8 && !between.contains('\n')
    }

    fn month_at(&self, i: usize) -> bool {
        self.lexes.get(i).is_some_and(|l| l.listed & MONTH != 0)
    }

    /// The index of the last lex of a date whose month or day is at `i`: the year if one follows.
    fn year_after(&self, text: &str, i: usize) -> usize {
        let mut next = i + 1;
        if let Some(de) = self.lexes.get(next)
            && de.kind == LexKind::Word
            && OF.has(&text[de.start..de.end])
        {
            next += 1;
        }
        if let Some(lex) = self.lexes.get(next).copied() {
            let raw = &text[lex.start..lex.end];
            let gap = &text[self.lexes[i].end..lex.start];
            if lex.kind == LexKind::Number(false)
                && raw.len() == 4
                && (raw.starts_with("19") || raw.starts_with("20"))
                && gap.len() <= 5
                && !gap.contains('\n')
            {
                return next;
            }
        }
        i
    }

    fn unit(&mut self, word: &str) -> bool {
        listed(word, &mut self.word) & UNIT != 0
    }
}

/// Marks that are units by themselves: %, €, °C.
fn unit_mark(c: char) -> bool {
    matches!(
        c,
        '%' | '‰' | '°' | '€' | '$' | '£' | '¥' | '₽' | '₹' | '℃' | '℉'
    )
}

fn magnitude(word: &str) -> bool {
    let mut all = MAGNITUDES.all().iter();
    all.any(|m| m.eq_ignore_ascii_case(word))
}

fn adjacent(text: &str, end: usize, start: usize) -> bool {
    end <= start
        && start - end <= 3
        && text[end..start]
            .chars()
            .all(|c| matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '*'))
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

/// The byte of the closing mark, at most `reach` bytes on and on the same line, and the one after it: a curly quote may be
/// closed by a straight one, which is shorter.
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

/// Leading and trailing punctuation off; emphasis marks off when they wrap the run.
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

/// Where an address ends that began before `from`.
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

#[rustfmt::skip]
const DOMAINS: [&str; 22] = [
    "ai", "app", "cloud", "cn", "co", "com", "de", "dev", "edu", "es", "eu", "fr", "gov", "io",
    "it", "jp", "net", "nl", "org", "ru", "uk", "wiki",
];

/// A mail address (identifier) or a bare web address.
fn address(run: &str) -> Option<FactClass> {
    if let Some((name, host)) = run.split_once('@')
        && !name.is_empty()
        && host.contains('.')
        && !host.contains('@')
        && host
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-'))
    {
        return Some(FactClass::Identifier);
    }
    let (host, slash) = run.split_once('/').map_or((run, false), |(h, _)| (h, true));
    let (_, top) = host.rsplit_once('.')?;
    let top = top.split(':').next().unwrap_or(top);
    if !host
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':'))
        || !host.bytes().any(|b| b.is_ascii_alphabetic())
    {
        return None;
    }
    if host.starts_with("www.")
        || DOMAINS.binary_search(&top).is_ok()
            && (slash || host.split('.').next().is_some_and(|l| l.len() >= 3))
    {
        return Some(FactClass::Url);
    }
    None
}

#[rustfmt::skip]
const EXTENSIONS: [&str; 104] = [
    "7z", "avi", "bak", "bash", "bat", "bin", "bmp", "c", "cc", "cfg", "cjs", "class", "conf",
    "cpp", "cs", "css", "csv", "cts", "dart", "db", "diff", "dll", "doc", "docx", "env", "ex",
    "exe", "exs", "gguf", "gif", "go", "gradle", "gz", "h", "hpp", "hs", "htm", "html", "ico",
    "ini", "ipynb", "iso", "jar", "java", "jpeg", "jpg", "js", "json", "jsonl", "jsx", "key", "kt",
    "less", "lock", "log", "lua", "m4a", "map", "md", "mdx", "mjs", "mov", "mp3", "mp4", "mts",
    "odt", "parquet", "patch", "pdf", "pem", "php", "pl", "png", "ppt", "pptx", "proto", "ps1",
    "py", "rb", "rs", "scala", "scss", "sh", "sql", "sqlite", "svg", "swift", "tar", "toml", "ts",
    "tsv", "tsx", "txt", "vue", "wasm", "wav", "webp", "xls", "xlsx", "xml", "yaml", "yml", "zig",
    "zip",
];

#[rustfmt::skip]
const FOLDERS: [&str; 44] = [
    "api", "app", "apps", "assets", "bin", "build", "cmd", "components", "config", "configs",
    "crates", "data", "dist", "docs", "etc", "examples", "home", "hooks", "include", "internal",
    "lib", "libs", "migrations", "modules", "node_modules", "opt", "packages", "pages", "pkg",
    "public", "routes", "scripts", "server", "spec", "src", "static", "styles", "target",
    "templates", "test", "tests", "tools", "usr", "var",
];

/// The length of the path that `run` is, without `:line:column`; `None` if it is none.
pub(crate) fn path(run: &str) -> Option<usize> {
    let body = without_position(run);
    if body.len() < 3 || body.contains("//") && !body.starts_with("//") {
        return None;
    }
    let slash = body.contains(['/', '\\']);
    if !body.chars().all(|c| {
        c.is_alphanumeric()
            || matches!(
                c,
                '.' | '_' | '-' | '~' | '/' | '\\' | '@' | '+' | '%' | '#' | '$' | '&' | ':' | '\''
            )
    }) {
        return None;
    }
    if !slash {
        if matches!(
            body,
            "Makefile" | "Dockerfile" | "Justfile" | "LICENSE" | "README"
        ) {
            return Some(body.len());
        }
        if let Some(dot) = body.strip_prefix('.') {
            let known = [
                "bashrc",
                "dockerignore",
                "editorconfig",
                "env",
                "eslintrc",
                "gitignore",
                "npmrc",
                "prettierrc",
                "zshrc",
            ];
            return (known.contains(&dot) || dot.starts_with("env.")).then_some(body.len());
        }
        let (stem, extension) = body.rsplit_once('.')?;
        let known = !stem.is_empty()
            && stem.chars().any(char::is_alphanumeric)
            && EXTENSIONS
                .binary_search(&extension.to_ascii_lowercase().as_str())
                .is_ok();
        // "e.g", "3.c" and the like are no files.
        return (known && (extension.len() > 1 || stem.len() > 2) && !stem.contains(':'))
            .then_some(body.len());
    }
    let rooted = body.starts_with(['/', '\\'])
        || body.starts_with("./")
        || body.starts_with("../")
        || body.starts_with("~/")
        || drive(body);
    let mut segments = 0usize;
    let mut telling = false;
    let mut known = false;
    let mut last = "";
    for segment in body.split(['/', '\\']).filter(|s| !s.is_empty()) {
        segments += 1;
        known |= FOLDERS.binary_search(&segment).is_ok();
        telling |= segment.len() > 1 && segment.contains(['.', '_', '-'])
            || segment.bytes().any(|b| b.is_ascii_digit())
                && segment.bytes().any(|b| b.is_ascii_alphabetic());
        last = segment;
    }
    if !body.chars().any(char::is_alphabetic) || segments == 0 {
        return None;
    }
    let extension = last.rsplit_once('.').is_some_and(|(s, e)| {
        !s.is_empty()
            && (1..=8).contains(&e.len())
            && e.bytes().all(|b| b.is_ascii_alphanumeric())
            && e.bytes().any(|b| b.is_ascii_alphabetic())
    });
    let is = if rooted {
        segments >= 2 || last.chars().filter(|c| c.is_alphabetic()).count() >= 2
    } else if segments == 1 {
        body.ends_with('/') && (known || telling)
    } else {
        extension
            || known
            || segments >= 3 && telling
            || body.ends_with('/')
            || segments == 2 && telling && body.contains(['_', '.'])
    };
    is.then_some(body.len())
}

fn drive(body: &str) -> bool {
    let b = body.as_bytes();
    b.len() > 3 && b[0].is_ascii_alphabetic() && b[1] == b':' && matches!(b[2], b'\\' | b'/')
}

/// Without `:12` or `:12:7` at the end.
pub(crate) fn without_position(run: &str) -> &str {
    let mut body = run;
    for _ in 0..2 {
        match body.rsplit_once(':') {
            Some((head, tail))
                if !tail.is_empty()
                    && tail.len() <= 6
                    && tail.bytes().all(|b| b.is_ascii_digit())
                    && head.len() > 1 =>
            {
                body = head;
            }
            _ => break,
        }
    }
    body
}

fn camel(run: &str) -> bool {
    if run.len() < 4 {
        return false;
    }
    let mut before = '\0';
    for c in run.chars() {
        if before.is_lowercase() && c.is_uppercase() {
            return true;
        }
        before = c;
    }
    false
}

/// Whether the run is a name that must be copied exactly. `strong`: only what can hardly be a word.
fn identifier(run: &str, strong: bool) -> bool {
    let run = run.trim_end_matches("()");
    let (mut letters, mut digits, mut hex, mut other) = (0usize, 0usize, true, 0usize);
    let mut non_ascii = false;
    for c in run.chars() {
        if c.is_ascii_alphabetic() {
            letters += 1;
            hex &= c.is_ascii_hexdigit();
        } else if c.is_ascii_digit() {
            digits += 1;
        } else if c.is_ascii() {
            other += usize::from(!matches!(
                c,
                '-' | '_' | '.' | ':' | '#' | '@' | '/' | '+' | '$' | '&' | '%'
            ));
            hex &= c == '-';
        } else {
            non_ascii = true;
        }
    }
    if non_ascii || other > 0 || letters + digits < 2 {
        return false;
    }
    let mixed = letters > 0 && digits > 0;
    if mixed && letters + digits >= 7 || hex && mixed && run.len() >= 6 {
        return true;
    }
    // ABC-123
    if mixed
        && run.split_once('-').is_some_and(|(a, b)| {
            a.len() >= 2
                && a.bytes().all(|c| c.is_ascii_uppercase())
                && b.bytes().any(|c| c.is_ascii_digit())
        })
    {
        return true;
    }
    if strong {
        return false;
    }
    if mixed && (letters + digits >= 4 || run.contains(['.', '_'])) {
        return true;
    }
    if let Some(rest) = run.strip_prefix('#') {
        return rest.bytes().all(|b| b.is_ascii_digit()) && rest.len() >= 2;
    }
    if let Some(rest) = run.strip_prefix('@') {
        return rest.len() >= 3;
    }
    if run.starts_with("--") && letters >= 2 || run.contains("::") {
        return true;
    }
    let inner = run.trim_matches('_');
    if inner.contains('_') && letters >= 3 {
        return true;
    }
    camel(run)
        || run.bytes().filter(|&b| b == b'.').count() >= 2
            && run.split('.').all(|p| p.len() >= 2)
            && letters > 4
}
