//! Adds dates to phrases like "yesterday" and "two weeks ago", because a line of a summary is read long after the day
//! on which it was said.

use std::borrow::Cow;

use super::date::{Day, civil, day_of, month, month_name, weekday, written};
use crate::languages::tables::{Time, TimeUnit, TimeWord};
use crate::languages::{Language, List, Tables, each};
use crate::words::script::fold;

/// Words before a phrase of time that make it a comparison: "it feels like just yesterday".
static LIKENING: List = List::words(each!(time.likening));

/// Returns `text`, said on `day`, with the date in brackets after each phrase of time that counts from that day.
pub(crate) fn dated(text: &str, day: Day, language: Option<Language>) -> Cow<'_, str> {
    let tables = Language::or_english(language);
    let found = if tables.script.is_unspaced() {
        unspaced(text, day, tables)
    } else if tables.time.words.is_empty() {
        Vec::new()
    } else {
        phrases(text, day, tables)
    };
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + found.len() * 16);
    let mut from = 0;
    for (at, date) in found {
        out.push_str(&text[from..at]);
        out.push_str(" (");
        out.push_str(&date);
        out.push(')');
        from = at;
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

/// Returns `text` without the dates in brackets that [`dated`] adds.
pub fn undated(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut from = 0;
    let mut at = 0;
    while let Some(open) = text[at..].find(" (") {
        let start = at + open;
        let Some(length) = text[start..].find(')') else {
            break;
        };
        at = start + length + 1;
        if is_date(&text[start + 2..at - 1]) {
            out.push_str(&text[from..start]);
            from = at;
        } else {
            at = start + 2;
        }
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

/// Returns `true` if the words have the form of a date that this module writes.
fn is_date(words: &str) -> bool {
    const PERIODS: [&str; 6] = ["week", "weekend", "before", "after", "of", "about"];
    let year = |w: &str| w.len() == 4 && w.bytes().all(|b| b.is_ascii_digit());
    let number = |w: &str| {
        w.len() <= 21
            && w.bytes()
                .all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'/'))
    };
    let is_part = |w: &str| number(w) || PERIODS.contains(&w) || month(w).is_some();
    let iso = |w: &str| w.len() >= 7 && number(w) && w.get(..4).is_some_and(year);
    let last = words.rsplit(' ').next().unwrap_or_default();
    (year(last) || words.split('/').all(iso)) && words.split(' ').all(is_part)
}

/// Returns the role of a folded word in a phrase of time.
fn time_word(folded: &str, time: &Time) -> Option<TimeWord> {
    let has = |list: &str| list.split(',').any(|w| w == folded);
    if let Some((word, _)) = time.words.iter().find(|(_, list)| has(list)) {
        return Some(*word);
    }
    if let Some((unit, _)) = time.units.iter().find(|(_, list)| has(list)) {
        return Some(TimeWord::Unit(*unit));
    }
    if let Some(at) = time.counts.split(' ').position(has) {
        return Some(TimeWord::Count((at as u32).cast_signed() + 1));
    }
    let number = folded.parse().ok().filter(|n| (1..100).contains(n));
    number.map(TimeWord::Count)
}

/// Returns the dates and their places.
fn phrases(text: &str, day: Day, tables: &Tables) -> Vec<(usize, String)> {
    let mut words: Vec<(usize, Option<TimeWord>, bool)> = Vec::new();
    let mut folded = String::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if c.is_alphanumeric() || matches!(c, '-' | '\'' | '’') {
            start = start.or(Some(at));
            continue;
        }
        let Some(from) = start.take() else { continue };
        folded.clear();
        text[from..at].chars().for_each(|c| fold(c, &mut folded));
        let word = if at - from <= 16 {
            time_word(&folded, tables.time)
        } else {
            None
        };
        words.push((at, word, LIKENING.has(&folded)));
    }
    let mut found = Vec::new();
    let mut at = 0;
    let word = |i: usize| words.get(i).and_then(|w| w.1);
    // Words that a comma or a bracket separates are not one phrase.
    let near = |i: usize, n: usize| {
        let (from, to) = (words[i].0, words[i + n].0);
        !text[from..to].contains([',', '(', ')', ';', '.', '!', '?', '\n'])
    };
    while at < words.len() {
        let after_like = words[at.saturating_sub(2)..at].iter().any(|w| w.2);
        let (length, date) = match (word(at), word(at + 1), word(at + 2)) {
            (Some(TimeWord::Day(days)), ..) => (1, Some(written(day + days, tables))),
            (Some(TimeWord::Last), Some(TimeWord::Night), _) => (2, Some(written(day - 1, tables))),
            (Some(way @ (TimeWord::Last | TimeWord::Next)), Some(TimeWord::Unit(unit)), _)
            | (Some(TimeWord::Unit(unit)), Some(way @ (TimeWord::Last | TimeWord::Next)), _) => {
                (2, period(day, way, unit, tables))
            }
            (Some(TimeWord::Count(n)), Some(TimeWord::Unit(unit)), Some(TimeWord::Ago))
            | (Some(TimeWord::Before), Some(TimeWord::Count(n)), Some(TimeWord::Unit(unit))) => {
                (3, ago(day, n, unit, tables))
            }
            _ => (1, None),
        };
        if let Some(date) = date {
            let end = words[at + length - 1].0;
            if !after_like && near(at, length - 1) && !text[end..].starts_with(" (") {
                found.push((end, date));
            }
            at += length;
        } else {
            at += 1;
        }
    }
    found
}

fn unspaced(text: &str, day: Day, tables: &Tables) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let mut phrases = Language::ALL
            .into_iter()
            .flat_map(|language| language.tables().time.unspaced);
        let Some((phrase, word, unit)) = phrases.find(|(p, ..)| rest.starts_with(p)) else {
            at += c.len_utf8();
            continue;
        };
        at += phrase.len();
        let date = match word {
            TimeWord::Day(days) => Some(written(day + days, tables)),
            way => period(day, *way, *unit, tables),
        };
        found.extend(date.map(|date| (at, date)));
    }
    found
}

/// The week, month or year before or after, or the weekday before.
fn period(day: Day, way: TimeWord, unit: TimeUnit, tables: &Tables) -> Option<String> {
    let is_last = way == TimeWord::Last;
    let sign = if is_last { -1 } else { 1 };
    let side = usize::from(!is_last);
    let from = |first: Day, days: i32| {
        let last = written(first + days - 1, tables);
        format!("{}/{last}", written(first, tables))
    };
    Some(match (unit, tables.time.dates) {
        (TimeUnit::Days, _) => return None,
        (TimeUnit::Weeks, Some(words)) => format!("{} {}", words.week[side], written(day, tables)),
        (TimeUnit::Weekend, Some(words)) => {
            format!("{} {}", words.weekend[side], written(day, tables))
        }
        (TimeUnit::Weeks, None) => from(day - weekday(day) + 7 * sign, 7),
        (TimeUnit::Weekend, None) => {
            let back = weekday(day) + if is_last { 2 } else { -5 };
            from(day - back, 2)
        }
        (TimeUnit::Months, _) => month_away(day, sign, tables),
        (TimeUnit::Years, _) => format!("{:04}", civil(day).0 + sign),
        // People do not agree which of two weekdays the next one is.
        (TimeUnit::Weekday(_), _) if !is_last => return None,
        (TimeUnit::Weekday(n), _) => {
            let back = (weekday(day) - n).rem_euclid(7);
            written(day - if back == 0 { 7 } else { back }, tables)
        }
    })
}

/// The time a number of days, weeks, months or years before.
fn ago(day: Day, n: i32, unit: TimeUnit, tables: &Tables) -> Option<String> {
    let (year, month, _) = civil(day);
    let years = if unit == TimeUnit::Years { n } else { 0 };
    day_of(year - years, month, 1)?;
    Some(match (unit, tables.time.dates) {
        (TimeUnit::Days, _) => written(day - n, tables),
        (TimeUnit::Weeks, Some(words)) => {
            format!("{} {}", words.about, written(day - 7 * n, tables))
        }
        (TimeUnit::Weeks, None) => written(day - 7 * n, tables),
        (TimeUnit::Months, _) => month_away(day, -n, tables),
        (TimeUnit::Years, _) => format!("{:04}", year - n),
        (TimeUnit::Weekend | TimeUnit::Weekday(_), _) => return None,
    })
}

/// The month that is `months` after that of `day`.
fn month_away(day: Day, months: i32, tables: &Tables) -> String {
    let (year, month, _) = civil(day);
    let months = year * 12 + month.cast_signed() - 1 + months;
    let month = months.rem_euclid(12) as u32 + 1;
    month_name(months.div_euclid(12), month, tables)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Monday.
    const SAID: Day = 19_485;

    #[test]
    fn phrases_get_their_dates() {
        let check = |language: Language, text: &str, expected: &str| {
            assert_eq!(dated(text, SAID, Some(language)), expected);
            assert_eq!(undated(expected), text);
        };
        use Language as L;
        check(
            L::English,
            "I went to a support group yesterday.",
            "I went to a support group yesterday (7 May 2023).",
        );
        check(
            L::English,
            "Last Friday, I sang.",
            "Last Friday (5 May 2023), I sang.",
        );
        check(
            L::English,
            "Last Monday I sang.",
            "Last Monday (1 May 2023) I sang.",
        );
        check(
            L::English,
            "We sing next month.",
            "We sing next month (June 2023).",
        );
        check(
            L::English,
            "I moved three years ago!",
            "I moved three years ago (2020)!",
        );
        check(
            L::English,
            "Two weeks ago it broke.",
            "Two weeks ago (about 24 April 2023) it broke.",
        );
        check(
            L::English,
            "It was last week",
            "It was last week (week before 8 May 2023)",
        );
        check(
            L::English,
            "It feels like just yesterday.",
            "It feels like just yesterday.",
        );
        check(
            L::English,
            "At last, night fell (again). Next, week two.",
            "At last, night fell (again). Next, week two.",
        );
        check(
            L::English,
            "See you next Friday (I hope).",
            "See you next Friday (I hope).",
        );
        check(L::English, "No hier, no ayer.", "No hier, no ayer.");
        check(
            L::German,
            "Vor zwei Jahren zog ich um.",
            "Vor zwei Jahren (2021) zog ich um.",
        );
        check(
            L::German,
            "Er kam letzten Freitag.",
            "Er kam letzten Freitag (2023-05-05).",
        );
        check(
            L::French,
            "Je suis venu il y a trois jours.",
            "Je suis venu il y a trois jours (2023-05-05).",
        );
        check(L::French, "le mois dernier", "le mois dernier (2023-04)");
        check(
            L::Spanish,
            "Llegué hace dos semanas.",
            "Llegué hace dos semanas (2023-04-24).",
        );
        check(
            L::Spanish,
            "la semana pasada",
            "la semana pasada (2023-05-01/2023-05-07)",
        );
        check(L::Italian, "due anni fa", "due anni fa (2021)");
        check(L::Portuguese, "ontem choveu", "ontem (2023-05-07) choveu");
        check(
            L::Japanese,
            "昨日、買いました。",
            "昨日 (2023-05-07)、買いました。",
        );
        check(L::Chinese, "我上个月来了", "我上个月 (2023-04)来了");
        check(L::Korean, "어제 왔다", "어제 왔다");
    }
}
