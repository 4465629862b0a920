//! Converts milliseconds since 1970 to ISO 8601 in UTC and back. The calendar follows Howard Hinnant's description of
//! days and civil dates.

/// `2026-01-26T10:00:00.000Z`. A time beyond the calendar becomes the beginning of 1970.
pub fn to_iso(ms: f64) -> String {
    let ms = if ms.is_finite() && (0.0..=253_402_300_799_999.0).contains(&ms) {
        ms as i64
    } else {
        0
    };
    let (days, rest) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000));
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (h, m, s, milli) = (
        rest / 3_600_000,
        rest / 60_000 % 60,
        rest / 1_000 % 60,
        rest % 1_000,
    );
    format!("{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}.{milli:03}Z")
}

/// Returns the milliseconds since 1970 of a time in RFC 3339: `2026-01-26T10:00:00.000Z` or
/// `2026-01-26T10:00:00+05:00`, with any number of digits after the point. A time without a zone counts as UTC. Returns
/// 0 for any other text, such as a day that its month does not have.
pub fn from_iso(text: &str) -> f64 {
    parse(text).unwrap_or(0.0)
}

fn parse(text: &str) -> Option<f64> {
    let mut rest = Rest(text);
    let year = rest.number(4)?;
    rest.one_of("-")?;
    let month = rest.number(2)?;
    rest.one_of("-")?;
    let day = rest.number(2)?;
    rest.one_of("Tt ")?;
    let hour = rest.number(2)?;
    rest.one_of(":")?;
    let minute = rest.number(2)?;
    rest.one_of(":")?;
    let second = rest.number(2)?;
    let milli = match rest.one_of(".,") {
        Some(_) => rest.fraction()?,
        None => 0,
    };
    let offset = rest.offset()?;
    if !rest.0.is_empty() || !(1..=days_of(year, month)?).contains(&day) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let year_of_era = y.rem_euclid(400);
    let shifted = (month + 9) % 12;
    let day_of_year = (153 * shifted + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    let minutes = (days * 24 + hour) * 60 + minute - offset;
    Some((minutes * 60 + second) as f64 * 1000.0 + milli as f64)
}

/// The number of days of a month; `None` if there is no such month.
const fn days_of(year: i64, month: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => Some(29),
        2 => Some(28),
        4 | 6 | 9 | 11 => Some(30),
        1..=12 => Some(31),
        _ => None,
    }
}

/// The unread rest of a time.
struct Rest<'t>(&'t str);

impl Rest<'_> {
    /// Reads a number of `digits` digits.
    fn number(&mut self, digits: usize) -> Option<i64> {
        let word = self.0.get(..digits)?;
        if !word.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        self.0 = &self.0[digits..];
        word.parse().ok()
    }

    /// Reads the next character, if it is one of these.
    fn one_of(&mut self, these: &str) -> Option<char> {
        let next = self.0.chars().next().filter(|c| these.contains(*c))?;
        self.0 = &self.0[next.len_utf8()..];
        Some(next)
    }

    /// Reads at least one digit after the point, as milliseconds.
    fn fraction(&mut self) -> Option<i64> {
        let digits = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let (word, rest) = self.0.split_at(digits);
        self.0 = rest;
        let milli = |digit: Option<u8>| i64::from(digit.unwrap_or(b'0') - b'0');
        let at = |n: usize| milli(word.as_bytes().get(n).copied());
        (digits > 0).then(|| at(0) * 100 + at(1) * 10 + at(2))
    }

    /// Reads the zone, as minutes ahead of UTC; 0 if there is none.
    fn offset(&mut self) -> Option<i64> {
        let sign = match self.one_of("Zz+-") {
            None | Some('Z' | 'z') => return Some(0),
            Some('-') => -1,
            Some(_) => 1,
        };
        let hours = self.number(2)?;
        let colon = self.one_of(":");
        let minutes = if colon.is_none() && self.0.is_empty() {
            0
        } else {
            self.number(2)?
        };
        (hours <= 23 && minutes <= 59).then_some(sign * (hours * 60 + minutes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S3: times are written in the form that people and other programs read, and read back to the millisecond.
    #[test]
    #[allow(clippy::float_cmp, reason = "whole milliseconds are exact")]
    fn times_go_there_and_back() {
        let check = |ms: f64, iso: &str| {
            assert_eq!(to_iso(ms), iso);
            assert_eq!(from_iso(iso), ms);
        };
        check(0.0, "1970-01-01T00:00:00.000Z");
        check(1_769_421_600_000.0, "2026-01-26T10:00:00.000Z");
        check(951_782_399_999.0, "2000-02-28T23:59:59.999Z");
        check(951_782_400_000.0, "2000-02-29T00:00:00.000Z");
        check(4_107_542_400_000.0, "2100-03-01T00:00:00.000Z");
        assert_eq!(from_iso("2026-01-26T10:00:00Z"), 1_769_421_600_000.0);
        for bad in [
            "",
            "2026",
            "2026-13-01T00:00:00Z",
            "x026-01-01T00:00:00Z",
            "2026-01-26Ttt:00:00Z",
            "2026-02-31T00:00:00Z",
            "2025-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026/01/26T10:00:00Z",
            "2026-01-26x10:00:00Z",
            "2026-01-26T10-00-00Z",
            "2026-01-26T10:00:00.Z",
            "2026-01-26T10:00:00Zx",
            "2026-01-26T10:00:00+5",
            "2026-01-26T10:00:00+25:00",
            "2026-01-26T10:00:00+05:60",
            "2026-01-26T10:00:00 Europe/Paris",
        ] {
            assert_eq!(from_iso(bad), 0.0, "{bad}");
        }
        assert_eq!(to_iso(f64::NAN), "1970-01-01T00:00:00.000Z");
    }

    /// S3: a time with a zone is the moment that it names, not the same digits in UTC.
    #[test]
    #[allow(clippy::float_cmp, reason = "whole milliseconds are exact")]
    fn zones_are_kept() {
        let check = |text: &str, utc: &str| assert_eq!(to_iso(from_iso(text)), utc, "{text}");
        check("2026-01-26T10:00:00+05:00", "2026-01-26T05:00:00.000Z");
        check("2026-01-26T10:00:00.25-03:30", "2026-01-26T13:30:00.250Z");
        check(
            "2026-01-26T10:00:00.123456+0100",
            "2026-01-26T09:00:00.123Z",
        );
        check("2026-01-26 10:00:00+01", "2026-01-26T09:00:00.000Z");
        check("2026-01-01T00:30:00+01:00", "2025-12-31T23:30:00.000Z");
        check("2024-02-29T23:30:00-01:00", "2024-03-01T00:30:00.000Z");
        check("2026-01-26T10:00:00", "2026-01-26T10:00:00.000Z");
        check("2026-01-26t10:00:00z", "2026-01-26T10:00:00.000Z");
    }
}
