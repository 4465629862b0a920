//! Handles runs that begin with a digit: dates, times, versions, numbers with a unit.

use super::shape::identifier;
use super::{Eye, Found, LexKind, Scanner};
use crate::languages::{List, each};
use crate::retention::FactClass;
use crate::retention::quantity::{UNIT, listed};

static ORDINALS: List = List::words(each!(quantities.ordinals));

/// The meaning of a run of digits.
enum Figure {
    /// A fact.
    Fact(FactClass),
    /// A run that may be joined with the words around it.
    Lex(LexKind),
    /// A run without meaning.
    Nothing,
}

/// The parts of a run that begins with a digit, after signs and marks of currency.
struct Parts<'a> {
    /// The digits with the marks between them.
    value: &'a str,
    /// The rest after them.
    rest: &'a str,
    /// The groups between full stops, dashes, slashes and colons.
    groups: Vec<&'a str>,
    dots: usize,
    dashes: usize,
    slashes: usize,
    colons: usize,
}

impl<'a> Parts<'a> {
    fn of(run: &'a str) -> Self {
        let body = run.trim_start_matches(|c: char| !c.is_ascii_digit());
        let in_value = |c: char| {
            c.is_ascii_digit() || matches!(c, '.' | ',' | '\'' | '’' | '-' | '–' | '/' | ':' | '×')
        };
        let length = body.find(|c| !in_value(c)).unwrap_or(body.len());
        let (value, rest) = body.split_at(length);
        let count = |mark: u8| value.bytes().filter(|&b| b == mark).count();
        Self {
            value,
            rest,
            groups: value.split(['.', '-', '/', ':']).collect(),
            dots: count(b'.'),
            dashes: count(b'-'),
            slashes: count(b'/'),
            colons: count(b':'),
        }
    }

    /// `2024-05-07`, `7/5/2024`, `07.05.2024`.
    fn is_date(&self) -> bool {
        let has_shape = |marks: usize| {
            self.groups.len() == 3
                && marks == 2
                && (self.groups[0].len() == 4 && self.groups[1..].iter().all(is_short)
                    || self.groups[2].len() == 4 && self.groups[..2].iter().all(is_short))
        };
        has_shape(self.dashes)
            || has_shape(self.slashes)
            || has_shape(self.dots) && self.rest.is_empty()
    }

    /// `14:30`, `9:05:12`, `2:30pm`.
    fn is_time(&self) -> bool {
        self.colons > 0
            && self.dots == 0
            && self.slashes == 0
            && self.groups.len() <= 3
            && self.groups.iter().all(is_short)
            && (self.rest.is_empty()
                || is_half_of_day(self.rest)
                || matches!(self.rest, "h" | "Z")
                || self.rest.starts_with('T'))
    }

    /// `1.2.3`, `192.168.0.1`; not `1.234.567`, which is a number.
    fn is_version(&self) -> bool {
        let is_number =
            || self.groups[1..].iter().all(|g| g.len() == 3) && self.groups[0].len() <= 3;
        self.dots >= 2
            && self.groups.len() == self.dots + 1
            && self.groups.iter().all(|g| g.len() <= 3)
            && !is_number()
    }
}

fn is_short(group: &&str) -> bool {
    (1..=2).contains(&group.len())
}

fn is_half_of_day(word: &str) -> bool {
    matches!(word, "am" | "pm" | "AM" | "PM")
}

impl Scanner {
    /// Handles a run that begins with a digit, a sign or a mark of currency.
    pub(super) fn figure(&mut self, run: &str, start: usize, eye: Eye, out: &mut Vec<Found>) {
        let end = start + run.len();
        match self.what(run, eye) {
            Figure::Fact(class) => self.known(class, start, end, out),
            Figure::Lex(kind) => self.lex(kind, start, end, 0),
            Figure::Nothing => {}
        }
    }

    fn what(&mut self, run: &str, eye: Eye) -> Figure {
        let parts = Parts::of(run);
        let has_currency = run.contains(currency);
        if parts.is_date() || parts.is_time() {
            // In a machine's output every line has one.
            return match eye {
                Eye::Prose => Figure::Fact(FactClass::Date),
                _ => Figure::Lex(LexKind::Other),
            };
        }
        if parts.is_version() {
            return Figure::Fact(FactClass::Identifier);
        }
        if parts.rest.is_empty() {
            return bare(&parts, has_currency, eye);
        }
        if ORDINALS.has(parts.rest) {
            return Figure::Lex(LexKind::Ordinal);
        }
        if is_half_of_day(parts.rest) {
            return match eye {
                Eye::Prose => Figure::Fact(FactClass::Date),
                _ => Figure::Nothing,
            };
        }
        if has_currency || self.begins_with_unit(parts.rest) {
            return Figure::Lex(LexKind::Quantity);
        }
        if identifier(run, eye == Eye::Machine) {
            return Figure::Fact(FactClass::Identifier);
        }
        Figure::Lex(LexKind::Other)
    }

    /// `%`, `ms`, `km/h`.
    fn begins_with_unit(&mut self, rest: &str) -> bool {
        let unit = rest.trim_end_matches(['.', '+']);
        let mut is_unit = |word: &str| listed(word, &mut self.word) & UNIT != 0;
        unit.starts_with(['%', '°', '‰'])
            || is_unit(unit)
            || unit
                .split_once('/')
                .is_some_and(|(first, _)| is_unit(first))
    }
}

/// Handles digits and marks without letters after them.
fn bare(parts: &Parts<'_>, has_currency: bool, eye: Eye) -> Figure {
    let digits = parts.value.bytes().filter(u8::is_ascii_digit).count();
    if parts.dashes > 0 && digits >= 7 || parts.colons > 0 || parts.slashes > 1 {
        return match eye {
            Eye::Prose => Figure::Fact(FactClass::Identifier),
            _ => Figure::Nothing,
        };
    }
    Figure::Lex(if parts.slashes > 0 {
        LexKind::Other
    } else if has_currency {
        LexKind::Quantity
    } else {
        LexKind::Number
    })
}

/// Signs before a number.
pub(super) fn sign(c: char) -> bool {
    matches!(c, '+' | '-' | '−' | '±' | '~' | '≈' | '≤' | '≥')
}

/// Marks of currency.
pub(super) fn currency(c: char) -> bool {
    matches!(c, '$' | '€' | '£' | '¥' | '₽' | '₹')
}

/// Marks that are units by themselves: %, €, °C.
pub(super) fn unit_mark(c: char) -> bool {
    currency(c) || matches!(c, '%' | '‰' | '°' | '℃' | '℉')
}
