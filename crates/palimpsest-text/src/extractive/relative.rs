//! "Yesterday" and "two weeks ago" as dates: a line of a summary is read long after the day on which it was said.

use std::borrow::Cow;

use super::date::{Day, civil, day_of, month, month_name, weekday, written};
use crate::words::Language;
use crate::words::script::fold;

/// What a word is in a phrase of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    /// A day, counted from that on which it is said.
    Day(i32),
    Last,
    Next,
    Ago,
    /// "vor", "hace": before a number and a unit.
    Before,
    Night,
    Count(i32),
    Unit(Unit),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Days,
    Weeks,
    Weekend,
    Months,
    Years,
    Weekday(i32),
}

/// Each entry is a kind and its words, folded.
type Words = &'static [(Word, &'static str)];

macro_rules! units {
    ($days:literal, $weeks:literal, $weekend:literal, $months:literal, $years:literal, [$($n:literal $name:literal),*]) => {
        &[
            (Word::Unit(Unit::Days), $days),
            (Word::Unit(Unit::Weeks), $weeks),
            (Word::Unit(Unit::Weekend), $weekend),
            (Word::Unit(Unit::Months), $months),
            (Word::Unit(Unit::Years), $years),
            $((Word::Unit(Unit::Weekday($n)), $name)),*
        ]
    };
}

/// The words of a language: days and directions, counts from one on, units.
struct Table {
    words: Words,
    counts: &'static str,
    units: Words,
}

const ENGLISH: Table = Table {
    words: &[
        (Word::Day(-1), "yesterday"),
        (Word::Day(1), "tomorrow"),
        (Word::Last, "last"),
        (Word::Next, "next"),
        (Word::Ago, "ago"),
        (Word::Night, "night"),
    ],
    counts: "a,an,one two three four five six seven eight nine ten",
    units: units!("day,days", "week,weeks", "weekend", "month,months", "year,years",
        [0 "monday,mon", 1 "tuesday,tues,tue", 2 "wednesday,wed", 3 "thursday,thurs,thu", 4 "friday,fri", 5 "saturday,sat", 6 "sunday,sun"]),
};

const GERMAN: Table = Table {
    words: &[
        (Word::Day(-1), "gestern"),
        (Word::Day(-2), "vorgestern"),
        (Word::Day(2), "ubermorgen"),
        (
            Word::Last,
            "letzte,letzten,letztes,letzter,vergangene,vergangenen,vergangenes",
        ),
        (
            Word::Next,
            "nachste,nachsten,nachstes,nachster,kommende,kommenden,kommendes",
        ),
        (Word::Before, "vor"),
    ],
    counts: "ein,eine,einem,einer zwei drei vier funf sechs sieben acht neun zehn",
    units: units!("tag,tagen,tage", "woche,wochen", "wochenende", "monat,monaten,monate", "jahr,jahren,jahre",
        [0 "montag", 1 "dienstag", 2 "mittwoch", 3 "donnerstag", 4 "freitag", 5 "samstag,sonnabend", 6 "sonntag"]),
};

const FRENCH: Table = Table {
    words: &[
        (Word::Day(-1), "hier"),
        (Word::Day(-2), "avant-hier"),
        (Word::Day(1), "demain"),
        (Word::Last, "dernier,derniere"),
        (Word::Next, "prochain,prochaine"),
        (Word::Before, "a"),
    ],
    counts: "un,une deux trois quatre cinq six sept huit neuf dix",
    units: units!("jour,jours", "semaine,semaines", "week-end,weekend", "mois", "an,ans,annee,annees",
        [0 "lundi", 1 "mardi", 2 "mercredi", 3 "jeudi", 4 "vendredi", 5 "samedi", 6 "dimanche"]),
};

const SPANISH: Table = Table {
    words: &[
        (Word::Day(-1), "ayer"),
        (Word::Day(-2), "anteayer"),
        (Word::Last, "pasado,pasada"),
        (Word::Next, "proximo,proxima"),
        (Word::Before, "hace"),
    ],
    counts: "un,uno,una dos tres cuatro cinco seis siete ocho nueve diez",
    units: units!("dia,dias", "semana,semanas", "finde", "mes,meses", "ano,anos",
        [0 "lunes", 1 "martes", 2 "miercoles", 3 "jueves", 4 "viernes", 5 "sabado", 6 "domingo"]),
};

const PORTUGUESE: Table = Table {
    words: &[
        (Word::Day(-1), "ontem"),
        (Word::Day(-2), "anteontem"),
        (Word::Day(1), "amanha"),
        (Word::Last, "passado,passada"),
        (Word::Next, "proximo,proxima"),
        (Word::Before, "ha"),
        (Word::Ago, "atras"),
    ],
    counts: "um,uma dois,duas tres quatro cinco seis sete oito nove dez",
    units: units!("dia,dias", "semana,semanas", "fim-de-semana", "mes,meses", "ano,anos",
        [0 "segunda-feira", 1 "terca-feira", 2 "quarta-feira", 3 "quinta-feira", 4 "sexta-feira", 5 "sabado", 6 "domingo"]),
};

const ITALIAN: Table = Table {
    words: &[
        (Word::Day(-1), "ieri"),
        (Word::Day(1), "domani"),
        (Word::Day(2), "dopodomani"),
        (Word::Last, "scorso,scorsa"),
        (Word::Next, "prossimo,prossima"),
        (Word::Ago, "fa"),
    ],
    counts: "un,uno,una due tre quattro cinque sei sette otto nove dieci",
    units: units!("giorno,giorni", "settimana,settimane", "weekend", "mese,mesi", "anno,anni",
        [0 "lunedi", 1 "martedi", 2 "mercoledi", 3 "giovedi", 4 "venerdi", 5 "sabato", 6 "domenica"]),
};

/// Whole phrases of scripts without spaces, the longer before those in them.
const UNSPACED: [(&str, Word, Unit); 18] = [
    ("一昨日", Word::Day(-2), Unit::Days),
    ("昨日", Word::Day(-1), Unit::Days),
    ("明日", Word::Day(1), Unit::Days),
    ("先週", Word::Last, Unit::Weeks),
    ("来週", Word::Next, Unit::Weeks),
    ("先月", Word::Last, Unit::Months),
    ("来月", Word::Next, Unit::Months),
    ("去年", Word::Last, Unit::Years),
    ("来年", Word::Next, Unit::Years),
    ("前天", Word::Day(-2), Unit::Days),
    ("昨天", Word::Day(-1), Unit::Days),
    ("明天", Word::Day(1), Unit::Days),
    ("上周", Word::Last, Unit::Weeks),
    ("下周", Word::Next, Unit::Weeks),
    ("上个月", Word::Last, Unit::Months),
    ("下个月", Word::Next, Unit::Months),
    ("明年", Word::Next, Unit::Years),
    ("昨晚", Word::Day(-1), Unit::Days),
];

/// After these a phrase of time compares: "it feels like just yesterday".
const LIKE: [&str; 6] = ["like", "wie", "comme", "como", "come", "as"];

/// `text`, said on `day`, with the date in brackets after each phrase of time that counts from that day.
pub(crate) fn dated(text: &str, day: Day, language: Option<Language>) -> Cow<'_, str> {
    let found = match language {
        Some(Language::Chinese | Language::Japanese) => Some(unspaced(text, day)),
        other => table_of(other).map(|table| phrases(text, day, table, is_english(language))),
    };
    let found = found.unwrap_or_default();
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

/// `text` without the dates in brackets that [`dated`] adds.
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

/// Whether the words are a date as it is written here.
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

const fn table_of(language: Option<Language>) -> Option<&'static Table> {
    match language {
        None | Some(Language::English) => Some(&ENGLISH),
        Some(Language::German) => Some(&GERMAN),
        Some(Language::French) => Some(&FRENCH),
        Some(Language::Spanish) => Some(&SPANISH),
        Some(Language::Portuguese) => Some(&PORTUGUESE),
        Some(Language::Italian) => Some(&ITALIAN),
        Some(_) => None,
    }
}

fn is_english(language: Option<Language>) -> bool {
    language.is_none_or(|l| l == Language::English)
}

impl Table {
    fn word(&self, folded: &str) -> Option<Word> {
        let has = |list: &str| list.split(',').any(|w| w == folded);
        let listed = self
            .words
            .iter()
            .chain(self.units)
            .find(|(_, list)| has(list));
        let count = || {
            self.counts
                .split(' ')
                .position(has)
                .map(|n| Word::Count((n as u32).cast_signed() + 1))
        };
        let digits = || {
            folded
                .parse()
                .ok()
                .filter(|n| (1..100).contains(n))
                .map(Word::Count)
        };
        listed.map(|(word, _)| *word).or_else(count).or_else(digits)
    }
}

/// Where the dates go, and the dates.
fn phrases(text: &str, day: Day, table: &Table, english: bool) -> Vec<(usize, String)> {
    let mut words: Vec<(usize, Option<Word>, bool)> = Vec::new();
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
            table.word(&folded)
        } else {
            None
        };
        words.push((at, word, LIKE.contains(&folded.as_str())));
    }
    let mut found = Vec::new();
    let mut at = 0;
    let word = |i: usize| words.get(i).and_then(|w| w.1);
    // words that a comma or a bracket parts are no phrase
    let near = |i: usize, n: usize| {
        let (from, to) = (words[i].0, words[i + n].0);
        !text[from..to].contains([',', '(', ')', ';', '.', '!', '?', '\n'])
    };
    while at < words.len() {
        let after_like = words[at.saturating_sub(2)..at].iter().any(|w| w.2);
        let (length, date) = match (word(at), word(at + 1), word(at + 2)) {
            (Some(Word::Day(days)), ..) => (1, Some(written(day + days, english))),
            (Some(Word::Last), Some(Word::Night), _) => (2, Some(written(day - 1, english))),
            (Some(way @ (Word::Last | Word::Next)), Some(Word::Unit(unit)), _)
            | (Some(Word::Unit(unit)), Some(way @ (Word::Last | Word::Next)), _) => {
                (2, period(day, way, unit, english))
            }
            (Some(Word::Count(n)), Some(Word::Unit(unit)), Some(Word::Ago))
            | (Some(Word::Before), Some(Word::Count(n)), Some(Word::Unit(unit))) => {
                (3, ago(day, n, unit, english))
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

fn unspaced(text: &str, day: Day) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let Some((phrase, word, unit)) = UNSPACED.iter().find(|(p, ..)| rest.starts_with(p)) else {
            at += c.len_utf8();
            continue;
        };
        at += phrase.len();
        let date = match word {
            Word::Day(days) => Some(written(day + days, false)),
            way => period(day, *way, *unit, false),
        };
        found.extend(date.map(|date| (at, date)));
    }
    found
}

/// The week, month or year before or after; the weekday before.
fn period(day: Day, way: Word, unit: Unit, english: bool) -> Option<String> {
    let is_last = way == Word::Last;
    let sign = if is_last { -1 } else { 1 };
    let (year, month, _) = civil(day);
    Some(match unit {
        Unit::Days => return None,
        Unit::Weeks | Unit::Weekend if english => {
            let name = if unit == Unit::Weeks {
                "week"
            } else {
                "weekend"
            };
            let side = if is_last { "before" } else { "after" };
            format!("{name} {side} {}", written(day, true))
        }
        Unit::Weeks => {
            let monday = day - weekday(day) + 7 * sign;
            format!("{}/{}", written(monday, false), written(monday + 6, false))
        }
        Unit::Weekend => {
            let back = weekday(day) + if is_last { 2 } else { -5 };
            format!(
                "{}/{}",
                written(day - back, false),
                written(day - back + 1, false)
            )
        }
        Unit::Months => {
            let months = year * 12 + month.cast_signed() - 1 + sign;
            month_name(
                months.div_euclid(12),
                months.rem_euclid(12) as u32 + 1,
                english,
            )
        }
        Unit::Years => format!("{:04}", year + sign),
        // which of two the next one is people do not agree on
        Unit::Weekday(_) if !is_last => return None,
        Unit::Weekday(n) => {
            let back = (weekday(day) - n).rem_euclid(7);
            written(day - if back == 0 { 7 } else { back }, english)
        }
    })
}

/// So many days, weeks, months or years before.
fn ago(day: Day, n: i32, unit: Unit, english: bool) -> Option<String> {
    let (year, month, _) = civil(day);
    Some(match unit {
        Unit::Days => written(day - n, english),
        Unit::Weeks if english => format!("about {}", written(day - 7 * n, true)),
        Unit::Weeks => written(day - 7 * n, false),
        Unit::Months => {
            let months = year * 12 + month.cast_signed() - 1 - n;
            month_name(
                months.div_euclid(12),
                months.rem_euclid(12) as u32 + 1,
                english,
            )
        }
        Unit::Years => format!("{:04}", year - n),
        Unit::Weekend | Unit::Weekday(_) => return None,
    })
    .filter(|_| day_of(year - if unit == Unit::Years { n } else { 0 }, month, 1).is_some())
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
