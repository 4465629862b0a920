//! Writes and reads numbers with a fraction.
//!
//! The standard library's code for this brings 25 KB into a module, most of it tables. What stands here uses what is there
//! anyway: whole numbers, and the writer of JSON.

use serde::Serialize;

/// Returns a number with this many digits after the point, at most nine. Halves are rounded away from zero.
pub fn fixed(value: f64, digits: u32) -> String {
    let scale = 10u64.pow(digits.min(9));
    // A float beyond the range of `u64` becomes the nearest whole number there.
    let scaled = (value.abs() * scale as f64).round() as u64;
    let sign = if value < 0.0 && scaled > 0 { "-" } else { "" };
    let (whole, part) = (scaled / scale, scaled % scale);
    if scale == 1 {
        format!("{sign}{whole}")
    } else {
        format!(
            "{sign}{whole}.{part:0width$}",
            width = digits.min(9) as usize
        )
    }
}

/// Returns the shortest text that stands for a float of either size: "0.7", "2". A number that is not finite is "null".
pub fn shortest(value: impl Serialize) -> String {
    let text = serde_json::to_string(&value).unwrap_or_default();
    match text.strip_suffix(".0") {
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// Reads digits with at most one point among them, as a person writes a small number: "0.7", ".5", "2". `None` for
/// everything else, and for more than fifteen digits.
pub fn read(text: &str) -> Option<f32> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = [whole, part].concat();
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || digits.len() > 15 {
        return None;
    }
    // Both are whole numbers that a float holds exactly, so the quotient is the nearest one.
    let scale = 10u64.pow(part.len() as u32);
    Some((digits.parse::<u64>().ok()? as f64 / scale as f64) as f32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fixed_numbers() {
        let check = |value: f64, digits: u32, expected: &str| {
            assert_eq!(fixed(value, digits), expected);
        };
        check(134.515_008, 2, "134.52");
        check(7.0, 1, "7.0");
        check(99.96, 1, "100.0");
        check(0.05, 1, "0.1");
        check(-0.04, 1, "0.0");
        check(-1.25, 1, "-1.3");
        check(3.5, 0, "4");
        check(f64::NAN, 1, "0.0");
    }

    #[test]
    fn numbers_of_persons() {
        let check = |text: &str, expected: Option<f32>| assert_eq!(read(text), expected, "{text}");
        check("0.7", Some(0.7));
        check(".5", Some(0.5));
        check("1.", Some(1.0));
        check("2", Some(2.0));
        check("", None);
        check(".", None);
        check("1.2.3", None);
        check("-1", None);
        check("1e3", None);
        check("0.1234567890123456", None);
    }

    proptest! {
        /// The texts are as short as those of the standard library, and are read as the same number.
        #[test]
        fn as_the_standard_library(value in 0.0f32..2000.0, thousandths in 0u32..2_000_000) {
            // of two that are as short the writers do not always choose the same
            let text = shortest(value);
            prop_assert_eq!(text.len(), value.to_string().len());
            prop_assert_eq!(text.parse(), Ok(value));
            let value = thousandths as f32 / 1000.0;
            prop_assert_eq!(shortest(value), value.to_string());
            prop_assert_eq!(read(&value.to_string()), Some(value));
            let text = format!("{value:.3}");
            prop_assert_eq!(read(&text), text.parse().ok());
        }
    }
}
