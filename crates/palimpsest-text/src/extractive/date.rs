//! Days of the calendar: reads dates that a person wrote and writes them in one form.

use crate::languages::{Tables, each};
use crate::words::script::fold;

/// A day, counted from 1 January 1970 (UTC).
pub type Day = i32;

const MILLISECONDS: f64 = 86_400_000.0;

/// The last day of the year 9999.
const LAST: f64 = 2_932_896.0;

/// Returns the day of a time in milliseconds since 1970. Returns `None` for the first day and earlier ones, which mean
/// an unknown time, and for days beyond the calendar.
pub fn day_at(milliseconds: f64) -> Option<Day> {
    let days = milliseconds / MILLISECONDS;
    (1.0..LAST).contains(&days).then_some(days as Day)
}

/// The day of a time in milliseconds since 1970, as `2023-05-08`; `None` where [`day_at`] has none.
pub fn iso_day(milliseconds: f64) -> Option<String> {
    let (year, month, of_month) = civil(day_at(milliseconds)?);
    Some(format!("{year:04}-{month:02}-{of_month:02}"))
}

/// Returns the day of this date of the Gregorian calendar, if it exists.
pub(crate) fn day_of(year: i32, month: u32, day: u32) -> Option<Day> {
    if !(1..=12).contains(&month) || day == 0 || !(1..=9_999).contains(&year) {
        return None;
    }
    // In this computation years begin in March, so that a leap day is the last day of a year.
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let of_year = (153 * ((month.cast_signed() + 9) % 12) + 2) / 5 + day.cast_signed() - 1;
    let found = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    (civil(found) == (year, month, day)).then_some(found)
}

/// Returns the year, the month and the day of the month.
pub(crate) fn civil(day: Day) -> (i32, u32, u32) {
    let z = day + 719_468;
    let era = z.div_euclid(146_097);
    let of_era = z.rem_euclid(146_097);
    let years = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * years + years / 4 - years / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = years + era * 400 + i32::from(month <= 2);
    (
        year,
        month as u32,
        (of_year - (153 * shifted + 2) / 5 + 1) as u32,
    )
}

/// Returns the day of the week, 0 for Monday.
pub(crate) const fn weekday(day: Day) -> i32 {
    (day + 3).rem_euclid(7)
}

/// `May 2023`, or `2023-05` in a language whose dates are written in ISO 8601.
pub(crate) fn month_name(year: i32, month: u32, tables: &Tables) -> String {
    match tables.time.dates {
        Some(words) => format!("{} {year}", words.months[month as usize - 1]),
        None => format!("{year:04}-{month:02}"),
    }
}

/// `8 May 2023`, or `2023-05-08` in a language whose dates are written in ISO 8601.
pub(crate) fn written(day: Day, tables: &Tables) -> String {
    let (year, month, of_month) = civil(day);
    if tables.time.dates.is_some() {
        format!("{of_month} {}", month_name(year, month, tables))
    } else {
        format!("{year:04}-{month:02}-{of_month:02}")
    }
}

/// Returns the month that `word` names.
pub(crate) fn month(word: &str) -> Option<u32> {
    let mut folded = String::new();
    word.chars().for_each(|c| fold(c, &mut folded));
    // "juin" and "juillet", "june" and "july" differ in their fourth letter.
    match folded.get(..4) {
        Some("juin") => return Some(6),
        Some("juil") => return Some(7),
        _ => {}
    }
    let letters = folded
        .char_indices()
        .nth(3)
        .map_or(folded.as_str(), |(at, _)| &folded[..at]);
    if letters.chars().count() < 3 || folded.chars().any(|c| c.is_ascii_digit()) {
        return None;
    }
    let among = |months: &&str| {
        let mut months = months.split(' ');
        months.position(|forms| forms.split(',').any(|form| form == letters))
    };
    let found = each!(time.months).iter().find_map(among);
    found.map(|at| at as u32 + 1)
}

/// Returns the first date in `text`: `8 May, 2023`, `May 8, 2023`, `2023-05-08`, `08.05.2023`, `2023年5月8日`.
pub(crate) fn read(text: &str) -> Option<Day> {
    let mut numbers: Vec<(u32, usize)> = Vec::new();
    let mut named = None;
    let words = text.split(|c: char| !c.is_alphanumeric());
    for word in words.filter(|w| !w.is_empty()).take(24) {
        let mut rest = word;
        // "8th" and "5月8日" contain numbers.
        while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
            let end = rest[at..]
                .find(|c: char| !c.is_ascii_digit())
                .map_or(rest.len(), |n| at + n);
            if let Ok(number) = rest[at..end].parse() {
                numbers.push((number, end - at));
            }
            rest = &rest[end..];
        }
        if let Some(found) = month(word).filter(|_| named.is_none()) {
            named = Some((found, numbers.len()));
        }
    }
    let at = numbers
        .iter()
        .position(|(n, digits)| *digits == 4 && (1_900..2_200).contains(n))?;
    let year = numbers[at].0.cast_signed();
    let number = |i: usize| numbers.get(i).map(|(n, _)| *n);
    if let Some((month, place)) = named {
        // The number beside the month, before or after it.
        let before = place.checked_sub(1).filter(|i| *i != at);
        let day = before.or((place != at).then_some(place)).and_then(number)?;
        return day_of(year, month, day);
    }
    if let (Some(a), Some(b)) = (number(at + 1), number(at + 2))
        && let Some(day) = day_of(year, a, b)
    {
        return Some(day);
    }
    let (a, b) = (number(at.checked_sub(2)?)?, number(at - 1)?);
    if text.contains('/') {
        day_of(year, a, b).or_else(|| day_of(year, b, a))
    } else {
        day_of(year, b, a)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::languages::Language;

    #[test]
    fn days_are_those_of_the_calendar() {
        let check = |year, month, day, expected| assert_eq!(day_of(year, month, day), expected);
        check(1970, 1, 1, Some(0));
        check(2000, 2, 29, Some(11_016));
        check(2023, 5, 8, Some(19_485));
        check(2023, 2, 29, None);
        for day in -100_000..100_000 {
            let (year, month, of_month) = civil(day);
            assert_eq!(day_of(year, month, of_month), Some(day));
        }
        assert_eq!(weekday(19_485), 0, "a Monday");
    }

    #[test]
    fn dates_are_read_as_people_write_them() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(
                read(text)
                    .map(|d| written(d, Language::German.tables()))
                    .as_deref(),
                expected,
                "{text}"
            );
        };
        check("1:56 pm on 8 May, 2023", Some("2023-05-08"));
        check("May 8th, 2023, 13:56", Some("2023-05-08"));
        check("2023-05-08T13:56:00Z", Some("2023-05-08"));
        check("08.05.2023 13:56", Some("2023-05-08"));
        check("05/18/2023", Some("2023-05-18"));
        check("2023年5月8日", Some("2023-05-08"));
        check("3. März 2024", Some("2024-03-03"));
        check("12 juillet 2024", Some("2024-07-12"));
        check("1:56 pm", None);
        check("since 2019", None);
    }
}
