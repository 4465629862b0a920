//! Reads numbers with a fraction, each as the nearest float.
//!
//! Nearly all numbers that people and programs write are the quotient or the product of two whole numbers that a float holds
//! exactly, so one division rounds rightly. The rest is divided as whole numbers of any length, a bit at a time.

/// The most digits of a number that decide its float: what stands after them can only say that it is a little more.
const DIGITS: usize = 800;
/// The whole numbers up to this one are floats.
const EXACT: u64 = 1 << 53;
/// The powers of ten up to this one are floats.
const TENS: u32 = 22;

/// Returns the float that is nearest to a number in the form of JSON; of two that are as near, the even one.
pub(super) fn read(text: &str) -> f64 {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text),
    };
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    // Exponents of more digits than these are those of nothing or of infinity.
    let exponent = exponent
        .parse::<i32>()
        .unwrap_or(if exponent.starts_with('-') {
            -99_999
        } else {
            99_999
        });
    let all = [whole, part].concat();
    let digits = all.trim_start_matches('0');
    let power = i64::from(exponent) - i64::from(signed(part.len()));
    sign * nearest(digits, power.clamp(-100_000, 100_000) as i32)
}

/// Returns the float that is nearest to these digits times this power of ten.
fn nearest(digits: &str, power: i32) -> f64 {
    // The first digit stands at this power of ten.
    let top = power.saturating_add(signed(digits.len()));
    if digits.is_empty() || top < -330 {
        return 0.0;
    }
    if top > 310 {
        return f64::INFINITY;
    }
    if let Ok(whole) = digits.parse::<u64>()
        && whole <= EXACT
        && power.unsigned_abs() <= TENS
    {
        let scale = (0..power.unsigned_abs()).fold(1.0, |scale, _| scale * 10.0);
        let whole = whole as f64;
        return if power < 0 {
            whole / scale
        } else {
            whole * scale
        };
    }
    let kept = &digits[..digits.len().min(DIGITS)];
    let mut above = Whole(Vec::new());
    for digit in kept.bytes() {
        above.times_plus(10, u32::from(digit - b'0'));
    }
    let mut power = power + signed(digits.len() - kept.len());
    if kept.len() < digits.len() {
        // One digit more stands for all that were left out.
        above.times_plus(10, 1);
        power -= 1;
    }
    let mut below = Whole(vec![1]);
    for _ in 0..power.unsigned_abs() {
        let scaled = if power < 0 { &mut below } else { &mut above };
        scaled.times_plus(10, 0);
    }
    quotient(above, below)
}

/// A number of digits.
fn signed(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX / 2)
}

/// Returns the float that is nearest to a quotient.
fn quotient(mut above: Whole, mut below: Whole) -> f64 {
    // The quotient lies between 1/2 and 2 once both have as many bits; `two` is the power of two that is taken out.
    let mut two = above.bits().cast_signed() - below.bits().cast_signed();
    if two > 0 {
        below.shift(two.unsigned_abs());
    } else {
        above.shift(two.unsigned_abs());
    }
    if above.is_less(&below) {
        above.shift(1);
        two -= 1;
    }
    // It lies between 1 and 2 now. Numbers below the least power of two have fewer bits.
    let length = (two + 1075).clamp(0, 53);
    let mut bits: u64 = 0;
    for at in 0..length {
        if at > 0 {
            above.shift(1);
        }
        bits <<= 1;
        if !above.is_less(&below) {
            above.less(&below);
            bits += 1;
        }
    }
    // What is left is compared with a half of the last bit.
    let is_up = if length == 0 {
        // At most a half of the least float: more than that is rounded up, and half of it down, to the even zero.
        two == -1075 && below.is_less(&above)
    } else {
        above.shift(1);
        below.is_less(&above) || (!above.is_less(&below) && bits & 1 == 1)
    };
    bits += u64::from(is_up);
    // The bits are a float; times a power of two they are another one, without rounding, and possibly infinite.
    let power = two - length + 1;
    if length < 53 {
        return f64::from_bits(bits);
    }
    if power > 971 {
        return f64::INFINITY;
    }
    let carried = bits >> 53;
    let exponent = (power + 1075) as u64 + carried;
    if exponent > 2046 {
        return f64::INFINITY;
    }
    f64::from_bits((exponent << 52) | ((bits >> carried) & (EXACT / 2 - 1)))
}

/// A whole number of any length, the least 32 bits first, without zeros at its end.
struct Whole(Vec<u32>);

impl Whole {
    /// Multiplies the number, and adds to it.
    fn times_plus(&mut self, times: u32, plus: u32) {
        let mut carried = u64::from(plus);
        for limb in &mut self.0 {
            carried += u64::from(*limb) * u64::from(times);
            *limb = carried as u32;
            carried >>= 32;
        }
        if carried > 0 {
            self.0.push(carried as u32);
        }
    }

    /// Multiplies the number by two, this many times.
    fn shift(&mut self, bits: u32) {
        let limbs = (bits / 32) as usize;
        self.0.splice(..0, std::iter::repeat_n(0, limbs));
        self.times_plus(1 << (bits % 32), 0);
    }

    fn bits(&self) -> u32 {
        let top = self.0.last().map_or(0, |limb| 32 - limb.leading_zeros());
        top + 32 * (self.0.len() as u32).saturating_sub(1)
    }

    fn is_less(&self, other: &Self) -> bool {
        let ours = (self.0.len(), self.0.iter().rev());
        let theirs = (other.0.len(), other.0.iter().rev());
        ours.0 < theirs.0 || (ours.0 == theirs.0 && ours.1.lt(theirs.1))
    }

    /// Takes away a number that is not larger.
    fn less(&mut self, other: &Self) {
        let mut owed = false;
        for (at, limb) in self.0.iter_mut().enumerate() {
            let (left, first) = limb.overflowing_sub(other.0.get(at).copied().unwrap_or(0));
            let (left, second) = left.overflowing_sub(u32::from(owed));
            *limb = left;
            owed = first || second;
        }
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn same(text: &str) {
        let expected: f64 = text.parse().unwrap();
        assert_eq!(read(text).to_bits(), expected.to_bits(), "{text}");
    }

    #[test]
    fn odd_numbers() {
        let texts = [
            "0",
            "-0",
            "0.0",
            "-0.0",
            "0e5",
            "1",
            "0.1",
            "0.3",
            "0.30000000000000004",
            "1e22",
            "1e23",
            "123456789012345678901234567890",
            "9007199254740993",
            "9007199254740992.5",
            "9007199254740993.0000000000000000000000000000001",
            "1.7976931348623157e308",
            "1.7976931348623158e308",
            "1.7976931348623159e308",
            "1e309",
            "-1e999999999999",
            "1e-999999999999",
            "2.2250738585072014e-308",
            "2.2250738585072011e-308",
            "4.9e-324",
            "5e-324",
            "2.5e-324",
            "2.4703282292062327e-324",
            "2.4703282292062328e-324",
            "1e-324",
            "7.4e-324",
            "7.5e-324",
            "0.000000000000000000000000000000000000000000001e45",
            "1000000000000000000000000000000000000e-36",
            "179769313486231580793728971405301e276",
            "6631236846766476e-316",
            "3.5844466002796428e298",
            "2.2250738585072012e-308",
        ];
        for text in texts {
            same(text);
            same(&format!("-{}", text.trim_start_matches('-')));
        }
        // The middle between 1 and the next float, and what is more than it by a digit far away.
        let middle = "1.00000000000000011102230246251565404236316680908203125";
        same(middle);
        same(&format!("{middle}{}1", "0".repeat(2_000)));
        same(&format!("0.{}1", "0".repeat(5_000)));
        same(&format!("{}e-5000", "9".repeat(5_010)));
    }

    proptest! {
        #[test]
        fn every_float_is_read_as_written(bits in any::<u64>()) {
            let number = f64::from_bits(bits);
            prop_assume!(number.is_finite());
            same(&number.to_string());
            same(&format!("{number:e}"));
            same(&format!("{number:.3e}"));
            same(&format!("{number:.25e}"));
        }

        #[test]
        fn every_number_is_read_as_the_nearest_float(digits in "[0-9]{1,30}", part in "[0-9]{1,30}", exponent in -340..320i32) {
            same(&format!("{digits}.{part}e{exponent}"));
            same(&format!("{digits}e{exponent}"));
        }
    }
}
