//! Reads the number of a model's parameters from its provider's data or its name.

use serde::{Deserialize, Serialize};

/// A model's size in billions of parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelSize {
    /// All parameters, in billions.
    pub total: f64,
    /// The parameters that one token uses, in billions: less than `total` for a mixture of experts.
    pub active: f64,
    /// `total` is the number of experts times their size. This is an upper bound, because experts share layers and the
    /// table of known mixtures lacks this model.
    pub approximate: bool,
}

impl ModelSize {
    /// Returns the size from a provider's `parameter_size` (`"7.6B"`, `"134.52M"`), otherwise from the model's name.
    /// Returns `None` if neither tells.
    pub fn detect(parameter_size: Option<&str>, name: &str) -> Option<Self> {
        parameter_size
            .and_then(Self::from_parameter_size)
            .or_else(|| Self::from_name(name))
    }

    /// Parses the size of a provider: a number and `K`, `M`, `B` or `T`, and nothing more.
    pub fn from_parameter_size(stated: &str) -> Option<Self> {
        let stated = stated.trim().to_ascii_lowercase();
        let (number, unit) = split_unit(&stated)?;
        plain(decimal(number)? * unit.billions())
    }

    /// Parses the size in a model's name: `llama3.2:3b`, `hf.co/org/Model-7B-GGUF:Q4_K_M`, `qwen3:30b-a3b`,
    /// `mixtral:8x7b`, `gemma3n:e4b`.
    ///
    /// The last path segment counts most, and in it the tag more than the name. Billions go before millions, because
    /// `1m` at the end of a name is a context length.
    pub fn from_name(name: &str) -> Option<Self> {
        if name.len() > LONGEST_NAME {
            return None;
        }
        let name = name.to_ascii_lowercase();
        let name = name.split('@').next().unwrap_or_default();
        name.rsplit('/')
            .find_map(|segment| segment.rsplit(':').find_map(from_part))
    }

    /// The whole billions, as models are named: 3.2 is a 3B, 7.6 a 7B. 0 below one billion.
    pub fn nominal(self) -> u32 {
        // `as` saturates and turns NaN into 0
        self.total.floor() as u32
    }
}

/// A longer text is not a model's name and is not searched.
const LONGEST_NAME: usize = 1024;

/// A larger number is not a size: ten trillion parameters.
const LARGEST: f64 = 10_000.0;

/// Mixtures of experts whose experts share layers: (experts, size), total and active in billions,
/// as published by their makers.
const MIXTURES: [(u32, &str, f64, f64); 4] = [
    (8, "7", 46.7, 12.9),
    (8, "22", 141.0, 39.0),
    (16, "17", 109.0, 17.0),
    (128, "17", 400.0, 17.0),
];

#[derive(Clone, Copy, PartialEq)]
enum Unit {
    Thousand,
    Million,
    Billion,
    Trillion,
}

impl Unit {
    const fn billions(self) -> f64 {
        match self {
            Self::Thousand => 1e-6,
            Self::Million => 1e-3,
            Self::Billion => 1.0,
            Self::Trillion => 1e3,
        }
    }
}

fn split_unit(text: &str) -> Option<(&str, Unit)> {
    [
        ('k', Unit::Thousand),
        ('m', Unit::Million),
        ('b', Unit::Billion),
        ('t', Unit::Trillion),
    ]
    .into_iter()
    .find_map(|(letter, unit)| Some((text.strip_suffix(letter)?, unit)))
}

/// Parses ASCII digits with at most one point inside: no sign, no exponent, no other script.
fn decimal(text: &str) -> Option<f64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    // A float holds both whole numbers exactly, so the quotient is the nearest float, and no parser for floats is
    // needed.
    let all: u64 = [whole, fraction].concat().parse().ok()?;
    let tenths = i32::try_from(fraction.len()).ok()?;
    Some(all as f64 / 10_f64.powi(tenths))
}

fn plain(total: f64) -> Option<ModelSize> {
    (total > 0.0 && total <= LARGEST).then_some(ModelSize {
        total,
        active: total,
        approximate: false,
    })
}

/// Parses the size in one side of `name:tag`.
fn from_part(part: &str) -> Option<ModelSize> {
    // Nothing stands before the hyphen, so it is a sign and not a separator.
    if part.starts_with('-') {
        return None;
    }
    let words = words(part);
    let billions = |word: &&str| from_word(word, |unit| unit == Unit::Billion);
    let others = |word: &&str| from_word(word, |unit| unit != Unit::Billion);
    let mut size = words
        .iter()
        .find_map(billions)
        .or_else(|| words.iter().find_map(others))?;
    let active = words
        .iter()
        .find_map(|w| decimal(w.strip_prefix('a')?.strip_suffix('b')?));
    if let Some(active) = active.filter(|a| *a > 0.0 && *a <= size.total) {
        size.active = active;
    }
    Some(size)
}

/// Splits into words of letters and digits. A point belongs to a word only between digits, as in `1.5b`. Characters
/// beyond ASCII stay in their word, so `７b` is not a `b`.
fn words(part: &str) -> Vec<&str> {
    let bytes = part.as_bytes();
    let digit = |i: Option<usize>| i.and_then(|i| bytes.get(i)).is_some_and(u8::is_ascii_digit);
    let in_word = |i: usize| match bytes[i] {
        b'.' => digit(i.checked_sub(1)) && digit(i.checked_add(1)),
        b => b.is_ascii_alphanumeric() || !b.is_ascii(),
    };
    let mut words = Vec::new();
    let mut start = None;
    for i in 0..bytes.len() {
        match (in_word(i), start) {
            (true, None) => start = Some(i),
            (false, Some(s)) => {
                words.push(&part[s..i]);
                start = None;
            }
            _ => {}
        }
    }
    words.extend(start.map(|s| &part[s..]));
    words
}

fn from_word(word: &str, wanted: impl Fn(Unit) -> bool) -> Option<ModelSize> {
    // `bloom-7b1` has 7.1 billion.
    if let Some((whole, tenth)) = word.split_once('b')
        && tenth.len() == 1
        && wanted(Unit::Billion)
        && let (Some(whole), Some(tenth)) = (decimal(whole), decimal(tenth))
    {
        return plain(whole + tenth / 10.0);
    }
    let (number, unit) = split_unit(word)?;
    if !wanted(unit) {
        return None;
    }
    match unit {
        // `32k` is a context length
        Unit::Thousand => None,
        Unit::Billion => from_billions(number),
        Unit::Million => decimal(number)
            .filter(|m| *m >= 10.0)
            .and_then(|m| plain(m / 1e3)),
        Unit::Trillion => plain(decimal(number)? * 1e3),
    }
}

fn from_billions(number: &str) -> Option<ModelSize> {
    if let Some((experts, each)) = number.split_once('x') {
        let (experts, billions): (u32, f64) = (experts.parse().ok()?, decimal(each)?);
        let known = MIXTURES
            .iter()
            .find(|(n, size, ..)| *n == experts && *size == each);
        if let Some(&(_, _, total, active)) = known {
            return Some(ModelSize {
                total,
                active,
                approximate: false,
            });
        }
        let size = plain(f64::from(experts) * billions)?;
        // In mixtures that users make, two experts answer for a token.
        return Some(ModelSize {
            active: (2.0 * billions).min(size.total),
            approximate: true,
            ..size
        });
    }
    // `e4b`: effective size; `r7b`: Command R7B.
    let number = number.strip_prefix(['e', 'r']).unwrap_or(number);
    plain(decimal(number)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(name: &str, expected: &str) {
        let size = ModelSize::detect(None, name);
        assert_eq!(show(size), expected, "{name:?}");
    }

    fn show(size: Option<ModelSize>) -> String {
        let Some(size) = size else {
            return "unknown".into();
        };
        let decimals = format!("{:.4}", size.total);
        let total = decimals.trim_end_matches('0').trim_end_matches('.');
        let active = if size.active < size.total {
            format!(" active {}", size.active)
        } else {
            String::new()
        };
        let flag = if size.approximate { " approximate" } else { "" };
        format!("{total}{active}{flag}")
    }

    /// G5, F 41: a name without a size is not taken for a 7B.
    #[test]
    fn f41_unknown_stays_unknown() {
        check("llama3", "unknown");
        check("gpt-4o", "unknown");
        check("mistral:latest", "unknown");
    }

    /// G5, F 42: mixtures of experts use the table; others use the product and say so.
    #[test]
    fn f42_mixtures() {
        check("mixtral:8x7b", "46.7 active 12.9");
        check("mixtral:8x22b-instruct-v0.1-q4_K_M", "141 active 39");
        check("llama4:16x17b", "109 active 17");
        check("some-merge-4x3b", "12 active 6 approximate");
    }

    /// G5, F 43: decimals.
    #[test]
    fn f43_decimals() {
        check("qwen2.5:1.5b", "1.5");
        check("qwen2.5:0.5b-instruct-q4", "0.5");
        check("solar:10.7b-instruct-v1-q4_K_M", "10.7");
        check("bigscience/bloom-7b1", "7.1");
    }

    /// G5, F 44: millions.
    #[test]
    fn f44_millions() {
        check("smollm:360m", "0.36");
        check("135m", "0.135");
        check("gemma3:270m", "0.27");
    }

    /// G5, F 45: effective and active sizes.
    #[test]
    fn f45_effective_and_active() {
        check("gemma3n:e4b", "4");
        check("qwen3:30b-a3b", "30 active 3");
        check("hf.co/unsloth/Qwen3-235B-A22B-GGUF", "235 active 22");
    }

    /// G5, F 46: bits are not billions.
    #[test]
    fn f46_bits_are_no_size() {
        check("mlx-4bit-llama-70b", "70");
        check("model-128bit", "unknown");
        check("llama-4bit", "unknown");
    }

    /// G5, F 47: absurd, negative, zero, full-width, empty and endless names.
    #[test]
    fn f47_absurd() {
        check("999999999999b", "unknown");
        check("-7b", "unknown");
        check("7B", "7");
        check("７b", "unknown");
        check("model-７b", "unknown");
        check("", "unknown");
        check(&"x".repeat(10_000), "unknown");
        check(&format!("{}-7b", "x".repeat(10_000)), "unknown");
        check("model:0b", "unknown");
        check("model-1e3b", "unknown");
        check("b", "unknown");
    }

    /// G5, F 48: registry paths, quantisation tags, file names, digests, ports.
    #[test]
    fn f48_registry_paths() {
        check("hf.co/org/Model-7B-GGUF:Q4_K_M", "7");
        check("hf.co/big-70b-lab/Model-3B", "3");
        check("/models/Llama-3.2-1B-Instruct.Q4_K_M.gguf", "1");
        check("/models/13b/ggml-model.bin", "13");
        check("localhost:5000/org/model:7b", "7");
        check("llama3:8b@sha256:0123456789b", "8");
    }

    /// G5: names from Ollama's library.
    #[test]
    fn names_in_use() {
        check("command-r7b", "7");
        check("kimi-k2:1t-cloud", "1000");
        check("gpt-oss:20b", "20");
        check("yi-1.5-34b", "34");
        check("qwen2.5-7b-instruct-1m", "7");
        check("llama-3-instruct-1m", "unknown");
        check("phi3:14b-medium-128k-instruct", "14");
        check("nomic-embed-text:137m-v1.5-fp16", "0.137");
    }

    /// G5: the provider's data comes first, and is parsed just as strictly.
    #[test]
    fn parameter_size_first() {
        let check = |stated: &str, name: &str, expected: &str| {
            assert_eq!(
                show(ModelSize::detect(Some(stated), name)),
                expected,
                "{stated:?}"
            );
        };
        check("7.6B", "qwen2.5:latest", "7.6");
        check("134.52M", "smollm:360m", "0.1345");
        check("46.7B", "mixtral", "46.7");
        check("3.3M", "tiny", "0.0033");
        check("unknown", "llama3.2:3b", "3");
        check("-7B", "llama3.2", "unknown");
        check("", "llama3.2:1b", "1");
        check("NaN", "x", "unknown");
    }

    proptest! {
        /// G5, I10: any text gives no size or a sensible one.
        #[test]
        fn any_name(name in "\\PC*", stated in proptest::option::of("[0-9.bBmM eExX-]{0,12}")) {
            if let Some(size) = ModelSize::detect(stated.as_deref(), &name) {
                prop_assert!(size.total > 0.0 && size.total <= LARGEST);
                prop_assert!(size.active > 0.0 && size.active <= size.total);
            }
        }
    }
}
