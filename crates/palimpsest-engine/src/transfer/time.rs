//! Milliseconds since 1970 as ISO 8601 in UTC, and back. The calendar follows Howard Hinnant's description of days
//! and civil dates.

/// `2026-01-26T10:00:00.000Z`. Times that no calendar has are the beginning of 1970.
pub(super) fn to_iso(ms: f64) -> String {
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

/// Milliseconds since 1970 of a time as `2026-01-26T10:00:00.000Z`, with more or fewer digits after the point, or none;
/// in UTC. 0 for anything else.
pub fn from_iso(text: &str) -> f64 {
    parse(text).unwrap_or(0.0)
}

fn parse(text: &str) -> Option<f64> {
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = text.get(from..to)?;
        digits
            .bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| digits.parse().ok())?
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (h, m, s) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    // as many digits as there are
    let fraction = text.get(19..).unwrap_or_default();
    let digits = fraction.strip_prefix('.').unwrap_or_default();
    let digits = digits.bytes().take_while(u8::is_ascii_digit).take(3);
    let milli = digits.fold((0, 100), |(sum, unit), digit| {
        (sum + i64::from(digit - b'0') * unit, unit / 10)
    });
    let milli = milli.0;
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || h > 23 || m > 59 || s > 60 {
        return None;
    }
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let year_of_era = y.rem_euclid(400);
    let shifted = (month + 9) % 12;
    let day_of_year = (153 * shifted + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    Some((((days * 24 + h) * 60 + m) * 60 + s) as f64 * 1000.0 + milli as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S3: times are written as people and other programs read them, and read back to the millisecond.
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
        ] {
            assert_eq!(from_iso(bad), 0.0, "{bad}");
        }
        assert_eq!(to_iso(f64::NAN), "1970-01-01T00:00:00.000Z");
    }
}
