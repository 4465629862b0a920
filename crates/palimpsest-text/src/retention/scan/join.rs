//! Joins numbers with the units, months and years around them.

use std::sync::LazyLock;

use super::figure::unit_mark;
use super::{Eye, Found, Lex, LexKind, Scanner};
use crate::languages::{Language, List, each};
use crate::retention::FactClass;
use crate::retention::quantity::{COUNT, JOINS, MONTH, UNIT, WEEKDAY};
use crate::words::small_word;
use crate::words::terms::fold_hash;

static HOURS: List = List::words(each!(quantities.hours));
static OF: List = List::words(each!(quantities.of));
static MAGNITUDES: List = List::words(each!(quantities.magnitudes));

/// Units of the scripts without spaces, the longest first.
static UNITS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut all: Vec<&str> = Vec::new();
    for language in Language::ALL {
        all.extend(language.tables().quantities.unspaced_units.split('|'));
    }
    all.retain(|unit| !unit.is_empty());
    crate::order::sort_by_key(&mut all, |unit| std::cmp::Reverse(unit.len()));
    all
});

impl Lex {
    const fn is_number(self) -> bool {
        matches!(self.kind, LexKind::Number | LexKind::Quantity)
    }
}

impl Scanner {
    /// Reads the runs of a unit in order.
    pub(super) fn join(&mut self, text: &str, eye: Eye, out: &mut Vec<Found>) {
        let mut i = 0;
        while i < self.lexes.len() {
            let lex = self.lexes[i];
            i = match lex.kind {
                LexKind::Number | LexKind::Quantity => self.number(text, i, eye, out),
                LexKind::Ordinal if eye == Eye::Prose => self.ordinal(text, i, out),
                LexKind::Word if eye == Eye::Prose && lex.end - lex.start >= 3 => {
                    self.word(text, i, out)
                }
                _ => i + 1,
            };
        }
    }

    /// Adds a fact from the start of the run `from` to the end of the run `to`.
    fn found(&self, class: FactClass, from: usize, to: usize, out: &mut Vec<Found>) {
        out.push(Found {
            class,
            start: self.lexes[from].start,
            end: self.lexes[to].end,
        });
    }

    /// 7th of May 2023
    fn ordinal(&self, text: &str, i: usize, out: &mut Vec<Found>) -> usize {
        let of = Language::English.tables().quantities.of;
        let after = self.word_at(text, i + 1, self.lexes[i].end);
        let month = i + 1 + usize::from(after.is_some_and(|word| word == of));
        if !self.month_at(month) {
            return i + 1;
        }
        let last = self.year_after(text, month);
        self.found(FactClass::Date, i, last, out);
        last + 1
    }

    fn number(&mut self, text: &str, i: usize, eye: Eye, out: &mut Vec<Found>) -> usize {
        let lex = self.lexes[i];
        if let Some(next) = self.lexes.get(i + 1)
            && next.kind == LexKind::Wide
            && next.start - lex.end <= 1
        {
            return self.wide_unit(text, i, out);
        }
        if eye == Eye::Prose && lex.kind == LexKind::Number {
            if let Some(last) = self.day_and_month(text, i) {
                self.found(FactClass::Date, i, last, out);
                return last + 1;
            }
            if self.hour(text, i) {
                self.found(FactClass::Date, i, i + 1, out);
                return i + 2;
            }
        }
        if let Some(last) = self.unit(text, i) {
            self.found(FactClass::Number, i, last, out);
            return last + 1;
        }
        if lex.kind == LexKind::Quantity {
            self.found(FactClass::Number, i, i, out);
        } else if eye == Eye::Prose {
            if self.counted(text, i) {
                self.found(FactClass::Number, i, i + 1, out);
                return i + 2;
            }
            let raw = &text[lex.start..lex.end];
            let digits = raw.bytes().filter(u8::is_ascii_digit).count();
            if is_year(raw) {
                self.found(FactClass::Date, i, i, out);
            } else if digits >= 4 || digits >= 2 && raw.contains(['.', ',']) {
                self.found(FactClass::Number, i, i, out);
            }
        }
        i + 1
    }

    /// 7 May 2023 · 14. März 2024 · 14 de marzo de 2024. Returns the last run of the date that begins with the number.
    fn day_and_month(&self, text: &str, i: usize) -> Option<usize> {
        let lex = self.lexes[i];
        if lex.end - lex.start > 3 {
            return None;
        }
        let month = i + 1 + usize::from(self.of_at(text, i + 1, lex.end));
        let has_month = self.month_at(month) && self.near(text, i, month);
        has_month.then(|| self.year_after(text, month))
    }

    /// 9 am · 20 Uhr
    fn hour(&self, text: &str, i: usize) -> bool {
        let lex = self.lexes[i];
        let may_be = |lex: &Lex| lex.listed & JOINS != 0;
        lex.end - lex.start <= 2
            && self.lexes.get(i + 1).is_some_and(may_be)
            && self
                .word_at(text, i + 1, lex.end)
                .is_some_and(|word| HOURS.has(word.trim_end_matches('.')))
    }

    /// Returns the last run of a known unit after a number: 40 km, 3 million dollars.
    fn unit(&self, text: &str, i: usize) -> Option<usize> {
        let unit = self.word_at(text, i + 1, self.lexes[i].end)?;
        let unit = unit.trim_end_matches('.');
        if self.lexes[i + 1].listed & UNIT == 0 && !unit.starts_with(unit_mark) {
            return None;
        }
        let is_magnitude = || {
            let mut all = MAGNITUDES.all().iter();
            all.any(|m| m.eq_ignore_ascii_case(unit))
        };
        let more = self.word_at(text, i + 2, self.lexes[i + 1].end);
        let goes_on = more.is_some() && self.lexes[i + 2].listed & UNIT != 0 && is_magnitude();
        Some(i + 1 + usize::from(goes_on))
    }

    /// Returns `true` if the next word may be the thing counted: 12 bagels.
    fn counted(&mut self, text: &str, i: usize) -> bool {
        let Some(word) = self.word_at(text, i + 1, self.lexes[i].end) else {
            return false;
        };
        let word = word.trim_end_matches('.');
        let is_noun = |c: char| c.is_lowercase() || !c.is_ascii();
        word.chars().count() >= 3
            && word.starts_with(is_noun)
            && small_word(fold_hash(word, &mut self.word)) == 0
    }

    /// 3000元, 15分钟, 2024年5月7日
    fn wide_unit(&mut self, text: &str, i: usize, out: &mut Vec<Found>) -> usize {
        if let Some((next, end)) = self.wide_date(text, i) {
            out.push(Found {
                class: FactClass::Date,
                start: self.lexes[i].start,
                end,
            });
            return next.max(i + 1);
        }
        let number = self.lexes[i];
        let wide = self.lexes[i + 1];
        let unit = UNITS
            .iter()
            .find(|unit| text[wide.start..wide.end].starts_with(**unit));
        let raw = &text[number.start..number.end];
        if let Some(unit) = unit {
            out.push(Found {
                class: FactClass::Number,
                start: number.start,
                end: wide.start + unit.len(),
            });
        } else if raw.bytes().filter(u8::is_ascii_digit).count() >= 3
            || number.kind == LexKind::Quantity
        {
            self.found(FactClass::Number, i, i, out);
        }
        i + 1
    }

    /// Reads numbers followed by 年, 月 and 日 from `i` on. Returns the place where reading continues, and the last byte
    /// of the date.
    fn wide_date(&self, text: &str, i: usize) -> Option<(usize, usize)> {
        let mut at = i;
        let mut end = None;
        while let (Some(number), Some(wide)) = (self.lexes.get(at), self.lexes.get(at + 1)) {
            if !number.is_number() || wide.kind != LexKind::Wide || wide.start - number.end > 1 {
                break;
            }
            let run = &text[wide.start..wide.end];
            let is_span = ["年間", "日間", "月間"]
                .iter()
                .any(|span| run.starts_with(span));
            let mark = run.chars().next();
            let mark = mark.filter(|c| matches!(c, '年' | '月' | '日' | '号' | '號'));
            let Some(mark) = mark.filter(|_| !is_span) else {
                break;
            };
            at += 2;
            let to = wide.start + mark.len_utf8();
            end = Some(to);
            if to < wide.end {
                break;
            }
        }
        end.map(|end| (at, end))
    }

    /// Friday · three weeks · May 7, 2023 · March 2024
    fn word(&mut self, text: &str, i: usize, out: &mut Vec<Found>) -> usize {
        let lex = self.lexes[i];
        if lex.listed & WEEKDAY != 0 {
            self.found(FactClass::Date, i, i, out);
            return i + 1;
        }
        let Some(next) = self.lexes.get(i + 1) else {
            return i + 1;
        };
        if !adjacent(text, lex.end, next.start) {
            return i + 1;
        }
        if lex.listed & COUNT != 0 && next.listed & UNIT != 0 {
            self.found(FactClass::Number, i, i + 1, out);
            return i + 2;
        }
        let is_day = matches!(next.kind, LexKind::Ordinal | LexKind::Number);
        if is_day && next.end - next.start <= 4 && self.month_at(i) {
            let last = self.year_after(text, i + 1);
            self.found(FactClass::Date, i, last, out);
            return last + 1;
        }
        i + 1
    }

    /// Returns the word of run `i`, if it stands directly after the byte `after`.
    fn word_at<'t>(&self, text: &'t str, i: usize, after: usize) -> Option<&'t str> {
        let lex = self.lexes.get(i)?;
        (lex.kind == LexKind::Word && adjacent(text, after, lex.start))
            .then(|| &text[lex.start..lex.end])
    }

    /// Returns `true` if run `i` is "of" directly after the byte `after`.
    fn of_at(&self, text: &str, i: usize, after: usize) -> bool {
        let may_be = self.lexes.get(i).is_some_and(|lex| lex.listed & JOINS != 0);
        may_be
            && self
                .word_at(text, i, after)
                .is_some_and(|word| OF.has(word))
    }

    fn near(&self, text: &str, from: usize, to: usize) -> bool {
        let between = &text[self.lexes[from].end..self.lexes[to].start];
        between.len() <= 8 && !between.contains('\n')
    }

    fn month_at(&self, i: usize) -> bool {
        self.lexes.get(i).is_some_and(|l| l.listed & MONTH != 0)
    }

    /// Returns the index of the last run of a date with its month or day at `i`: the year, if one follows.
    fn year_after(&self, text: &str, i: usize) -> usize {
        let mut next = i + 1;
        if let Some(of) = self.lexes.get(next)
            && of.kind == LexKind::Word
            && of.listed & JOINS != 0
            && OF.has(&text[of.start..of.end])
        {
            next += 1;
        }
        if let Some(lex) = self.lexes.get(next) {
            let gap = &text[self.lexes[i].end..lex.start];
            if lex.kind == LexKind::Number
                && is_year(&text[lex.start..lex.end])
                && gap.len() <= 5
                && !gap.contains('\n')
            {
                return next;
            }
        }
        i
    }
}

fn is_year(digits: &str) -> bool {
    digits.len() == 4 && (digits.starts_with("19") || digits.starts_with("20"))
}

fn adjacent(text: &str, end: usize, start: usize) -> bool {
    end <= start
        && start - end <= 3
        && text[end..start]
            .chars()
            .all(|c| matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '*'))
}
