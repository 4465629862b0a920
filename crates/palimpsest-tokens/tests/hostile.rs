//! Hostile input causes no panic, no quadratic time, and no wrong answer without an error.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "test helpers")]
#![allow(clippy::disallowed_methods, reason = "measures time")]

use std::time::{Duration, Instant};

use palimpsest_tokens::{
    Calibration, CountRole, Error, Estimator, Family, Limits, Loader, Progress, Reported, Rules,
    Specials, TokenCounter as _, Vocabulary,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Makes a text of about this many bytes.
type Worst = fn(usize) -> String;

/// Writes a byte in GPT-2's alphabet.
fn letter(b: u8) -> char {
    let printable = |b: u32| matches!(b, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    let b = u32::from(b);
    let code = if printable(b) {
        b
    } else {
        0x100 + (0..b).filter(|b| !printable(*b)).count() as u32
    };
    char::from_u32(code).unwrap()
}

/// A small byte-level vocabulary with runs of letters, the start of a character, and special tokens.
fn byte_level(pre: &str) -> Value {
    let mut tokens: Vec<String> = (0..=255).map(|b| letter(b).to_string()).collect();
    let mut merges = Vec::new();
    let mut merge = |a: &str, b: &str| {
        tokens.push(format!("{a}{b}"));
        merges.push(format!("{a} {b}"));
    };
    merge("a", "a");
    merge("aa", "aa");
    merge("aaaa", "aaaa");
    merge("b", "a");
    merge("a", "b");
    merge("Ġ", "a");
    merge("Ġ", "Ġ");
    merge("ä", "¸");
    merge("ä¸", "Ń");
    merge("1", "2");
    let mut types = vec![1; tokens.len()];
    for special in ["<|im_end|>", "<|im_start|>"] {
        tokens.push(special.to_owned());
        types.push(3);
    }
    json!({"model_info": {
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": pre, "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.merges": merges, "tokenizer.ggml.token_type": types}})
}

/// A small SentencePiece vocabulary with bytes, ties and a character that is no piece.
fn pieces() -> Value {
    let mut tokens: Vec<String> = vec!["<unk>".into(), "<s>".into(), "</s>".into()];
    let mut types = vec![2, 3, 3];
    for b in 0..=255 {
        tokens.push(format!("<0x{b:02X}>"));
        types.push(6);
    }
    for piece in [
        "▁", "a", "b", "aa", "aaaa", "ab", "ba", "▁a", "▁▁", "中", "中文", "\n\n",
    ] {
        tokens.push(piece.to_owned());
        types.push(if piece == "\n\n" { 4 } else { 1 });
    }
    let scores: Vec<f32> = (0..tokens.len()).map(|i| -((i / 2) as f32)).collect();
    json!({"model_info": {
        "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.scores": scores,
        "tokenizer.ggml.token_type": types}})
}

const PRES: [&str; 14] = [
    "llama-bpe",
    "qwen2",
    "qwen35",
    "gpt-4o",
    "tekken",
    "gpt-2",
    "smollm",
    "deepseek-v3",
    "deepseek-llm",
    "deepseek-coder",
    "falcon",
    "default",
    "minicpm5",
    "laguna",
];

fn load(show: &Value) -> Vocabulary {
    Vocabulary::from_show(show.to_string().as_bytes()).unwrap()
}

fn all() -> Vec<Vocabulary> {
    let mut all: Vec<_> = PRES.iter().map(|pre| load(&byte_level(pre))).collect();
    all.push(load(&pieces()));
    all
}

fn texts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        any::<String>(),
        "[ab1 ]{0,40}",
        "[aA一-三'\\n\\r /~]{0,30}",
        Just("<|im_end|>".to_owned()),
        Just("</s>\n\n\n".to_owned()),
        Just("▁▁ ▁".to_owned()),
    ];
    proptest::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
}

/// B8: a count is the number of ids, in every family, under both rules, with warm and cold caches, and counting until a
/// limit agrees.
#[test]
fn counts_are_numbers_of_ids() {
    let vocabularies: Vec<_> = all()
        .into_iter()
        .chain(all().into_iter().map(|v| v.with_rules(Rules::Reference)))
        .collect();
    proptest!(ProptestConfig::with_cases(400), |(text in texts())| {
        for vocabulary in &vocabularies {
            let n = vocabulary.encode(&text, Specials::All).len() as u32;
            prop_assert_eq!(vocabulary.count(&text), n, "{} {}", vocabulary.model(), vocabulary.pre());
            prop_assert_eq!(vocabulary.count_until(&text, n), Some(n));
            if n > 0 {
                prop_assert_eq!(vocabulary.count_until(&text, n - 1), None);
            }
        }
        for family in [Family::Generic, Family::Gemma, Family::Starcoder] {
            let estimator = Estimator::new(family);
            let n = estimator.count(&text);
            prop_assert_eq!(estimator.count_until(&text, n), Some(n));
            prop_assert_eq!(n == 0, text.is_empty());
        }
    });
}

/// B8: any bytes in any slices give a vocabulary or an error, never a panic.
#[test]
fn any_bytes_are_a_vocabulary_or_an_error() {
    let limits = Limits {
        bytes: 1 << 16,
        tokens: 2000,
        merges: 2000,
        word: 64,
        depth: 8,
    };
    let feed = |bytes: &[u8], slice: usize, budget: usize| {
        let mut loader = Loader::with_limits(limits);
        let mut chunks = bytes.chunks(slice.max(1));
        loop {
            match loader.step(budget) {
                Err(error) => return Err(error),
                Ok(Progress::Ready) => return loader.finish(),
                Ok(Progress::Working) => {}
                Ok(Progress::Hungry) => match chunks.next() {
                    Some(chunk) => loader.push(chunk),
                    None => loader.end(),
                },
            }
        }
    };
    let good = byte_level("qwen2").to_string().into_bytes();
    let snapshot = load(&byte_level("qwen2")).to_bytes().unwrap();
    let epoch = load(&byte_level("qwen2")).epoch();
    proptest!(ProptestConfig::with_cases(300), |(
        noise in proptest::collection::vec(any::<u8>(), 0..200),
        cut in any::<prop::sample::Index>(), place in any::<prop::sample::Index>(), b in any::<u8>(),
        slice in 1_usize..400, budget in 1_usize..3000,
    )| {
        let _ = feed(&noise, slice, budget);
        let whole = feed(&good, slice, budget).unwrap();
        prop_assert_eq!(whole.epoch(), epoch);
        let cut = cut.index(good.len() - 1);
        prop_assert!(feed(&good[..cut], slice, budget).is_err());
        let mut changed = good.clone();
        changed[place.index(good.len())] = b;
        if let Ok(vocabulary) = feed(&changed, slice, budget) {
            prop_assert!(vocabulary.count("aab 12 中 <|im_end|>") > 0);
        }
        // A snapshot with any byte changed, cut or added is refused.
        let at = place.index(snapshot.len());
        let mut changed = snapshot.clone();
        changed[at] ^= b | 1;
        prop_assert!(Vocabulary::from_bytes(&changed).is_err());
        prop_assert!(Vocabulary::from_bytes(&snapshot[..at]).is_err());
        prop_assert!(Vocabulary::from_bytes(&noise).is_err());
    });
}

/// B8: a snapshot with a valid hash and bad content is refused or harmless: no panic, no large allocation.
#[test]
fn forged_snapshots_do_no_harm() {
    // The hash function of the crate, with which an attacker would forge a snapshot.
    fn hash(text: &[u8]) -> u64 {
        const K: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut h = (text.len() as u64).wrapping_mul(K);
        let (eights, rest) = text.as_chunks::<8>();
        for eight in eights {
            h = (h ^ u64::from_le_bytes(*eight)).wrapping_mul(K);
            h ^= h >> 29;
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        h = (h ^ u64::from_le_bytes(last)).wrapping_mul(K);
        h ^ h >> 32
    }
    let forge = |data: &[u8]| [data, &hash(data).to_le_bytes()].concat();
    for show in [byte_level("llama-bpe"), byte_level("deepseek-v3"), pieces()] {
        let snapshot = load(&show).to_bytes().unwrap();
        let data = &snapshot[..snapshot.len() - 8];
        assert!(Vocabulary::from_bytes(&forge(data)).is_ok());
        let accepted = std::cell::Cell::new(0);
        proptest!(ProptestConfig::with_cases(600), |(
            place in any::<prop::sample::Index>(), b in any::<u8>(), bytes in proptest::collection::vec(any::<u8>(), 0..6),
        )| {
            let at = place.index(data.len());
            let mut changed = data.to_vec();
            changed[at] = b;
            changed.splice(at..at, bytes.iter().copied());
            if let Ok(vocabulary) = Vocabulary::from_bytes(&forge(&changed)) {
                let text = "aaaa bab 12中文\n\n\n<s> <|im_end|>é";
                prop_assert_eq!(vocabulary.count(text) as usize, vocabulary.encode(text, Specials::All).len());
                accepted.set(accepted.get() + 1);
            }
        });
        println!("{} forgeries were vocabularies", accepted.get());
    }
}

/// B8: input over a limit on size, words or depth is an error that names the limit.
#[test]
fn limits_are_kept() {
    let too_large = |show: &str, limits: Limits| {
        let mut loader = Loader::with_limits(limits);
        loader.push(show.as_bytes());
        match loader.finish() {
            Err(Error::TooLarge { what, .. }) => what,
            other => panic!("{other:?}"),
        }
    };
    let show = byte_level("qwen2").to_string();
    let usual = Limits::default();
    assert_eq!(
        too_large(
            &show,
            Limits {
                bytes: 100,
                ..usual
            }
        ),
        "bytes"
    );
    assert_eq!(
        too_large(
            &show,
            Limits {
                tokens: 100,
                ..usual
            }
        ),
        "tokens"
    );
    assert_eq!(too_large(&show, Limits { merges: 3, ..usual }), "merges");
    assert_eq!(
        too_large(&show, Limits { word: 5, ..usual }),
        "bytes in a word"
    );
    assert_eq!(too_large(&"[".repeat(100), usual), "levels");
}

/// B9: a report of any size leaves a calibration usable.
#[test]
fn any_report_leaves_a_sane_calibration() {
    proptest!(ProptestConfig::with_cases(300), |(
        turns in proptest::collection::vec((texts(), any::<Option<u32>>(), 0_u32..300, any::<u32>()), 1..12), exact in any::<bool>(),
    )| {
        let vocabulary = std::rc::Rc::new(load(&byte_level("qwen2")));
        let mut calibration = Calibration::new(Family::Qwen);
        let mut messages: Vec<(CountRole, String)> = Vec::new();
        for (text, wild, near, window) in turns {
            messages.push((if messages.len().is_multiple_of(2) { CountRole::User } else { CountRole::Assistant }, text));
            let all = messages.iter().map(|(role, text)| (*role, text.as_str()));
            let weight = calibration.weigh(exact.then_some(&vocabulary), all);
            let expected = calibration.predict(&weight).tokens;
            let prompt_tokens = wild.or(Some((expected + near).saturating_sub(150)));
            calibration.observe(&weight, Reported { prompt_tokens, window });
            let stored = serde_json::to_string(&calibration).unwrap();
            let restored: Result<Calibration, _> = serde_json::from_str(&stored);
            prop_assert!(restored.is_ok(), "{}", stored);
            prop_assert!(calibration.estimator().count("a few words of text") < 100);
        }
    });
}

/// The CPU time of this thread where the system provides it, otherwise elapsed time. Other programs use the machine,
/// too.
fn clock() -> Duration {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split(' ').next()?.parse().ok())
        .map_or_else(|| START.elapsed(), Duration::from_nanos)
}

fn time(run: impl Fn() -> u32) -> Duration {
    let start = clock();
    assert!(run() > 0);
    clock().saturating_sub(start)
}

/// B8: ten times as much of the worst text takes at most twenty times as long, in every family. Quadratic time would
/// take a hundred times as long.
#[test]
fn time_grows_with_the_text() {
    let worst: [(&str, Worst); 9] = [
        ("one letter", |n| "a".repeat(n)),
        ("letters that merge across", |n| "ab".repeat(n / 2)),
        ("spaces", |n| " ".repeat(n)),
        ("line breaks", |n| "\n".repeat(n)),
        ("one character", |n| "中".repeat(n / 3)),
        ("characters between letters", |n| "中A".repeat(n / 4)),
        ("marks", |n| "!".repeat(n)),
        ("digits", |n| "12".repeat(n / 2)),
        ("starts of special tokens", |n| "<|im_".repeat(n / 5)),
    ];
    for vocabulary in all() {
        for (name, text) in worst {
            let (short, long) = (text(40_000), text(400_000));
            // The best of several tries counts, because other programs share the processor's caches. Quadratic time
            // would be a hundred times as long in each try. Ten short texts are measured together, because the clock
            // counts in milliseconds and one text takes about that long.
            let ratios = (0..12).map(|_| {
                let (a, b) = (
                    time(|| (0..10).map(|_| vocabulary.count(&short)).sum()),
                    time(|| vocabulary.count(&long)),
                );
                b.as_secs_f64() / (a.as_secs_f64() / 10.0).max(0.001)
            });
            let mut tried = Vec::new();
            let close = ratios
                .inspect(|ratio| tried.push(*ratio))
                .any(|ratio| ratio <= 20.0);
            assert!(
                close,
                "{} {} {name}: {tried:?}",
                vocabulary.model(),
                vocabulary.pre()
            );
        }
    }
}
