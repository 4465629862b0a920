//! The vocabulary a real Ollama returned for SmolLM2, against ids llama.cpp and Hugging Face agree on.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "test helpers")]

use palimpsest_tokens::{
    CountRole, Error, Loader, Progress, Source, Specials, TokenCounter as _, Vocabulary,
};

fn data(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data")
        .join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn smollm2() -> Vocabulary {
    Vocabulary::from_show(&data("ollama-golden/show_verbose.body")).unwrap()
}

fn ids(value: &serde_json::Value) -> Vec<u32> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|id| u32::try_from(id.as_u64().unwrap()).unwrap())
        .collect()
}

/// B8: the same ids as llama.cpp and Hugging Face on twenty texts, and counts that agree with the ids.
#[test]
#[ignore = "needs ../shared/data"]
fn ids_are_those_of_llama_cpp_and_hugging_face() {
    let vocabulary = smollm2();
    let oracle: serde_json::Value =
        serde_json::from_slice(&data("oracle-tokens-smollm2.json")).unwrap();
    assert_eq!(
        (vocabulary.model(), vocabulary.pre(), vocabulary.len()),
        ("gpt2", "smollm", 49152)
    );
    assert!(!vocabulary.adds_bos());
    assert_eq!(vocabulary.source(), Source::Exact);
    assert_eq!(vocabulary.bound(10_000), 0);
    let mut texts = 0;
    for one in oracle["texts"].as_array().unwrap() {
        let text = one["text"].as_str().unwrap();
        let special = ids(&one["ids_parse_special"]);
        assert_eq!(
            vocabulary.encode(text, Specials::All),
            special,
            "{}",
            one["name"]
        );
        assert_eq!(
            vocabulary.count(text) as usize,
            special.len(),
            "{}",
            one["name"]
        );
        assert_eq!(
            vocabulary.encode(text, Specials::Defined),
            ids(&one["ids_plain"]),
            "{}",
            one["name"]
        );
        texts += 1;
    }
    assert_eq!(texts, 20);
    let prompt = oracle["chat"]["prompt"].as_str().unwrap();
    assert_eq!(
        vocabulary.encode(prompt, Specials::All),
        ids(&oracle["chat"]["ids"])
    );
}

/// B8: control tokens in a text are text if asked so.
#[test]
#[ignore = "needs ../shared/data"]
fn control_tokens_can_be_text() {
    let vocabulary = smollm2();
    assert_eq!(vocabulary.encode("<|im_end|>", Specials::All), [2]);
    assert!(vocabulary.encode("<|im_end|>", Specials::Defined).len() > 3);
    assert_eq!(vocabulary.count("a<|im_end|>b"), 3);
}

/// B8: the vocabulary is the same in whatever slices it is loaded, and from its snapshot.
#[test]
#[ignore = "needs ../shared/data"]
fn slices_and_snapshots_make_the_same_vocabulary() {
    let (vocabulary, show) = (smollm2(), data("ollama-golden/show_verbose.body"));
    let text = String::from_utf8(show[..20_000].to_vec()).unwrap() + "\n\n\t naïve 中文字 🎉";
    let count = vocabulary.count(&text);
    assert!(count > 5000, "{count}");
    for (chunk, budget) in [(1, 1_000_000), (777, 5_000), (65_536, 3_333)] {
        let mut chunks = show.chunks(chunk);
        let mut loader = Loader::new();
        let mut steps = 0;
        let sliced = loop {
            match loader.step(budget).unwrap() {
                Progress::Hungry => match chunks.next() {
                    Some(bytes) => loader.push(bytes),
                    None => loader.end(),
                },
                Progress::Working => {}
                Progress::Ready => break loader.finish().unwrap(),
            }
            steps += 1;
        };
        assert!(steps >= show.len() / budget.max(chunk), "{steps} steps");
        assert_eq!(sliced.epoch(), vocabulary.epoch());
        assert_eq!(sliced.count(&text), count);
    }
    let snapshot = vocabulary.to_bytes().unwrap();
    println!("JSON {} bytes, snapshot {}", show.len(), snapshot.len());
    assert!(snapshot.len() * 9 < show.len() * 5);
    let loaded = Vocabulary::from_bytes(&snapshot).unwrap();
    assert_eq!(loaded.epoch(), vocabulary.epoch());
    assert_eq!(loaded.count(&text), count);
    assert_eq!(loaded.to_bytes(), None);
}

/// B8: counting until a limit gives the same answer as counting.
#[test]
#[ignore = "needs ../shared/data"]
fn count_until_agrees_with_count() {
    let vocabulary = smollm2();
    let text = "One two three, <|im_end|> four five: 6789 and ten.".repeat(20);
    let n = vocabulary.count(&text);
    assert_eq!(vocabulary.count_until(&text, n), Some(n));
    assert_eq!(vocabulary.count_until(&text, n - 1), None);
    assert_eq!(vocabulary.count_until(&text, 0), None);
    assert_eq!(vocabulary.count_until("", 0), Some(0));
}

/// B8: white space at the start of a message joins with the line break of its header, as a real server counted.
#[test]
#[ignore = "needs ../shared/data"]
fn a_message_joins_with_its_header() {
    let vocabulary = smollm2();
    let plain = vocabulary.count_message(CountRole::User, "hello");
    assert_eq!(plain, 5 + vocabulary.count("hello"));
    let header = vocabulary.encode("user\n", Specials::All).len();
    let joined = vocabulary.encode("user\n    x", Specials::All).len();
    assert_eq!(
        vocabulary.count_message(CountRole::User, "    x") as usize,
        5 + joined - header
    );
}

/// B8, B9: an answer without a tokenizer, cut short or not JSON is an error with a stable code, not a wrong count.
#[test]
#[ignore = "needs ../shared/data"]
fn what_is_no_vocabulary_is_refused() {
    let show = data("ollama-golden/show_verbose.body");
    let plain = data("ollama-golden/show.body");
    let code = |bytes: &[u8]| Vocabulary::from_show(bytes).unwrap_err().code();
    assert_eq!(code(&plain), "tokenizer_absent");
    assert_eq!(code(b"{}"), "tokenizer_absent");
    assert_eq!(code(&show[..show.len() / 2]), "tokenizer_incomplete");
    assert_eq!(code(b""), "tokenizer_incomplete");
    assert_eq!(code(b"<html>"), "tokenizer_malformed");
    let text = String::from_utf8(show.clone()).unwrap();
    let other = text.replace("\"smollm\"", "\"never-heard-of\"");
    let error = Vocabulary::from_show(other.as_bytes()).unwrap_err();
    assert_eq!(
        error,
        Error::Unknown {
            field: "tokenizer.ggml.pre",
            name: "never-heard-of".into()
        }
    );
    assert_eq!(error.code(), "tokenizer_unknown");
    let bert = text.replace("\"gpt2\"", "\"bert\"");
    assert_eq!(code(bert.as_bytes()), "tokenizer_unknown");
}
