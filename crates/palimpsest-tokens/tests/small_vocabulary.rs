//! A vocabulary whose ids can be worked out by hand, always at hand: what is also tried on a real model's.

#![allow(clippy::unwrap_used, reason = "test helpers")]

mod small;

use palimpsest_tokens::{
    CountRole, Error, Loader, Progress, Source, Specials, TokenCounter as _, Vocabulary,
};

fn vocabulary() -> Vocabulary {
    Vocabulary::from_show(small::show().to_string().as_bytes()).unwrap()
}

/// B8: merges in their order, digits one by one, bytes where nothing merges, control tokens as such or as text.
#[test]
fn ids_are_as_worked_out_by_hand() {
    let vocabulary = vocabulary();
    assert_eq!(vocabulary.len(), 264);
    assert_eq!(vocabulary.source(), Source::Exact);
    for (text, ids) in [
        ("the", vec![260]),
        ("in the", vec![256, 261]),
        ("the the  the", vec![260, 261, 32, 261]),
        ("42", vec![52, 50]),
        ("in\n\n", vec![256, 257]),
        ("ü", vec![0xc3, 0xbc]),
        ("<|im_end|>", vec![263]),
        ("the<|im_end|>in", vec![260, 263, 256]),
    ] {
        assert_eq!(vocabulary.encode(text, Specials::All), ids, "{text:?}");
        assert_eq!(vocabulary.count(text) as usize, ids.len(), "{text:?}");
    }
    assert_eq!(vocabulary.encode("<|im_end|>", Specials::Defined).len(), 10);
}

/// B8: the same vocabulary in whatever slices it is loaded, and from its snapshot.
#[test]
fn slices_and_snapshots_make_the_same_small_vocabulary() {
    let (whole, show) = (vocabulary(), small::show().to_string().into_bytes());
    let text = "in the beginning the 7 naïve 中文\n\n the end".repeat(9);
    let count = whole.count(&text);
    for (chunk, budget) in [(1, 1_000_000), (77, 50), (65_536, 333)] {
        let mut chunks = show.chunks(chunk);
        let mut loader = Loader::new();
        let sliced = loop {
            match loader.step(budget).unwrap() {
                Progress::Hungry => match chunks.next() {
                    Some(bytes) => loader.push(bytes),
                    None => loader.end(),
                },
                Progress::Working => {}
                Progress::Ready => break loader.finish().unwrap(),
            }
        };
        assert_eq!(sliced.epoch(), whole.epoch());
        assert_eq!(sliced.count(&text), count);
    }
    let loaded = Vocabulary::from_bytes(&whole.to_bytes().unwrap()).unwrap();
    assert_eq!(
        (loaded.epoch(), loaded.count(&text)),
        (whole.epoch(), count)
    );
    assert_eq!(whole.count_until(&text, count), Some(count));
    assert_eq!(whole.count_until(&text, count - 1), None);
}

/// B8: white space at the start of a message joins with the line break of its header.
#[test]
fn a_message_joins_with_its_header_in_a_small_vocabulary() {
    let vocabulary = vocabulary();
    let header = vocabulary.encode("user\n", Specials::All).len();
    let joined = vocabulary.encode("user\n\nthe", Specials::All).len();
    assert_eq!(
        vocabulary.count_message(CountRole::User, "\nthe") as usize,
        5 + joined - header
    );
    assert_eq!(vocabulary.count_message(CountRole::User, "the"), 5 + 1);
}

/// B8, B9: an answer without a tokenizer, cut short, of an unknown kind or not JSON is an error with a stable code.
#[test]
fn what_is_no_small_vocabulary_is_refused() {
    let show = small::show().to_string();
    let code = |bytes: &[u8]| Vocabulary::from_show(bytes).unwrap_err().code();
    assert_eq!(code(br#"{"model_info":{}}"#), "tokenizer_absent");
    assert_eq!(
        code(&show.as_bytes()[..show.len() / 2]),
        "tokenizer_incomplete"
    );
    assert_eq!(code(b""), "tokenizer_incomplete");
    assert_eq!(code(b"<html>"), "tokenizer_malformed");
    let other = show.replace("\"smollm\"", "\"never-heard-of\"");
    assert_eq!(
        Vocabulary::from_show(other.as_bytes()).unwrap_err(),
        Error::Unknown {
            field: "tokenizer.ggml.pre",
            name: "never-heard-of".into()
        }
    );
    assert_eq!(
        code(show.replace("\"gpt2\"", "\"bert\"").as_bytes()),
        "tokenizer_unknown"
    );
}
