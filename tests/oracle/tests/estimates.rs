//! Estimates of texts that nothing was fitted to, against real vocabularies: how far off, and whether their bounds hold.

use oracle::{folder, show, tokenizer_json};
use palimpsest_tokens::{Estimator, Family, TokenCounter as _, Vocabulary};
use serde_json::Value;

/// The half of the corpus that `fit/fit.py` held out, each text with its class; without it, this repository's own texts,
/// which are of fewer classes.
fn held_out() -> Vec<(String, String)> {
    let path = folder().join("fit-corpus.json");
    let Ok(bytes) = std::fs::read(&path) else {
        println!(
            "no {}: this repository's own texts (fit/fit.py gathers others)",
            path.display()
        );
        return own();
    };
    let all: Vec<(String, bool, String)> = serde_json::from_slice(&bytes).expect("the corpus");
    let held = all.into_iter().filter(|(_, held, _)| *held);
    held.map(|(class, _, text)| (class, text)).collect()
}

/// What this repository says, in pieces of about 500 tokens.
fn own() -> Vec<(String, String)> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut out = Vec::new();
    for (class, folder, ending) in [
        ("md", "docs", "md"),
        ("code", "crates", "rs"),
        ("json", "tests/conformance", "json"),
    ] {
        let mut files = Vec::new();
        below(&root.join(folder), ending, &mut files);
        files.sort();
        let all: String = files
            .iter()
            .filter_map(|file| std::fs::read_to_string(file).ok())
            .collect();
        let letters: Vec<char> = all.chars().take(400_000).collect();
        out.extend(
            letters
                .chunks(2_000)
                .map(|piece| (class.to_owned(), piece.iter().collect())),
        );
    }
    out
}

fn below(folder: &std::path::Path, ending: &str, files: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            below(&path, ending, files);
        } else if path.extension().is_some_and(|e| e == ending) {
            files.push(path);
        }
    }
}

const FAMILIES: [(&str, &str, &str, Family); 7] = [
    ("llama3", "gpt2", "llama-bpe", Family::Llama3),
    ("qwen3", "gpt2", "qwen2", Family::Qwen),
    ("gptoss", "gpt2", "gpt-4o", Family::Gpt4o),
    ("gemma3", "llama", "", Family::Gemma),
    ("deepseek_v3", "gpt2", "deepseek-v3", Family::Deepseek),
    ("tekken", "gpt2", "tekken", Family::Tekken),
    ("llama2", "llama", "", Family::Llama2),
];

const CLASSES: [&str; 10] = [
    "en", "chat", "code", "json", "log", "tool", "md", "zh", "ja", "ru",
];

const CONVERSATIONS: [(&str, &[&str]); 4] = [
    ("chat", &["chat", "en"]),
    ("coding agent", &["code", "tool", "en", "log"]),
    ("tools in JSON", &["json", "tool", "en"]),
    ("Chinese and code", &["zh", "code"]),
];

/// Texts of one class, estimated and counted.
struct Class {
    name: &'static str,
    /// Estimate, bound, true count.
    counts: Vec<(u32, u32, u32)>,
}

impl Class {
    fn error(&self) -> f64 {
        let of = |(guess, _, exact): &(u32, u32, u32)| {
            (f64::from(*guess) / f64::from(*exact) - 1.0).abs()
        };
        self.counts.iter().map(of).sum::<f64>() / self.counts.len() as f64
    }

    /// The error of texts of about five hundred tokens, as messages that matter have: rounding and the chance of a few words
    /// do not show in it.
    /// None if there are too few of them.
    fn error_of_messages(&self) -> Option<f64> {
        let middle = |(_, _, exact): &&(u32, u32, u32)| (300..1000).contains(exact);
        let counts: Vec<_> = self.counts.iter().filter(middle).copied().collect();
        let name = self.name;
        (counts.len() >= 15).then(|| Self { name, counts }.error())
    }

    fn within(&self) -> f64 {
        let held = |(guess, bound, exact): &&(u32, u32, u32)| *exact <= guess + bound;
        self.counts.iter().filter(held).count() as f64 / self.counts.len() as f64
    }
}

/// B8: for every family and every class of text by itself, and for whole conversations, at most one text in twenty has more
/// tokens than the estimate and its bound; the bound is a few per cent of a window.
#[test]
fn bounds_hold_on_what_was_held_out() {
    let texts = held_out();
    for (name, model, pre, family) in FAMILIES {
        let json = tokenizer_json(name);
        check(name, &vocabulary(&json, model, pre), family, &texts);
    }
}

fn vocabulary(json: &Value, model: &str, pre: &str) -> Vocabulary {
    Vocabulary::from_show(&show(json, model, pre)).expect("a vocabulary")
}

#[track_caller]
fn check(name: &str, vocabulary: &Vocabulary, family: Family, texts: &[(String, String)]) {
    let estimator = Estimator::new(family);
    let classes: Vec<Class> = CLASSES
        .into_iter()
        .filter(|class| texts.iter().any(|(of, _)| of == class))
        .map(|class| Class {
            name: class,
            counts: texts
                .iter()
                .filter(|(of, _)| of == class)
                .map(|(_, text)| {
                    let guess = estimator.count(text);
                    (guess, estimator.bound(guess), vocabulary.count(text))
                })
                // shorter ones are rounding
                .filter(|(_, _, exact)| *exact >= 30)
                .collect(),
        })
        .collect();
    for Class {
        name: class,
        counts,
    } in &classes
    {
        assert!(counts.len() >= 20, "{name} {class}: {} texts", counts.len());
    }
    println!(
        "{name}: {:.1} % at 500 tokens, {:.1} % at 50,000",
        wide(&estimator, 500),
        wide(&estimator, 50_000)
    );
    for class in &classes {
        println!(
            "  {:5} {:4} texts, off by {:.1} %, of about 500 tokens by {}, within the bound {:.1} %",
            class.name,
            class.counts.len(),
            class.error() * 100.0,
            class
                .error_of_messages()
                .map_or_else(|| "?".into(), |error| format!("{:.1} %", error * 100.0)),
            class.within() * 100.0
        );
    }
    let there = |kind: &&str| classes.iter().any(|class| class.name == *kind);
    let mixes = CONVERSATIONS
        .iter()
        .filter(|(_, kinds)| kinds.iter().all(there));
    let (mut errors, mut count) = (0.0, 0);
    for (mix, kinds) in mixes {
        let (error, within) = conversations(&estimator, &classes, kinds);
        println!(
            "  {mix}: whole conversations off by {:.2} %, {within} of 20 within the bound",
            error * 100.0
        );
        assert!(
            within >= 19,
            "{name}, {mix}: {within} of 20 within the bound"
        );
        assert!(error < 0.02, "{name}, {mix}: off by {error}");
        errors += error;
        count += 1;
    }
    let mean = errors / f64::from(count.max(1));
    assert!(mean <= 0.01, "{name}: conversations off by {mean}");
    // this repository's documentation is tables and signatures more than any document the weights were fitted to
    let (most, most_of_messages) = if classes.len() == CLASSES.len() {
        (0.06, 0.05)
    } else {
        (0.09, 0.09)
    };
    for class in &classes {
        assert!(
            class.within() >= 0.95,
            "{name}, {}: {}",
            class.name,
            class.within()
        );
        assert!(
            class.error() <= most,
            "{name}, {}: off by {}",
            class.name,
            class.error()
        );
        assert!(
            class
                .error_of_messages()
                .is_none_or(|error| error <= most_of_messages),
            "{name}, {}: messages off by {:?}",
            class.name,
            class.error_of_messages()
        );
    }
    // A bound as wide as the text would hold too.
    assert!(
        wide(&estimator, 500) < 17.0 && wide(&estimator, 50_000) < 7.0,
        "{name}"
    );
}

/// The bound in per cent.
fn wide(estimator: &Estimator, tokens: u32) -> f64 {
    f64::from(estimator.bound(tokens)) / f64::from(tokens) * 100.0
}

/// Mean error of twenty conversations of sixty messages, and how many are within their bounds.
fn conversations(estimator: &Estimator, classes: &[Class], kinds: &[&str]) -> (f64, usize) {
    let of = |kind: &str| {
        let found = classes.iter().find(|class| class.name == kind);
        found.map_or(&[][..], |class| &class.counts[..])
    };
    let (mut error, mut within) = (0.0, 0);
    for n in 0..20 {
        let (mut guess, mut exact) = (0, 0);
        for i in 0..60 {
            let counts = of(kinds[i % kinds.len()]);
            let (a, _, b) = counts[(n * 61 + i * 7) % counts.len()];
            guess += a;
            exact += b;
        }
        error += (f64::from(guess) / f64::from(exact) - 1.0).abs() / 20.0;
        within += usize::from(exact <= guess + estimator.bound(guess));
    }
    (error, within)
}
