//! Tokens that have a plain type, but that llama.cpp reads as control tokens because it knows their text.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use palimpsest_tokens::{Rules, Specials, Vocabulary};
use serde_json::json;

/// A vocabulary of the printable characters of ASCII, `</s>` as a plain token, and the tokens of `more`.
fn vocabulary(more: &[(&str, u32)]) -> Vocabulary {
    let mut tokens: Vec<String> = (0x21_u8..0x7f).map(|b| char::from(b).to_string()).collect();
    let mut types = vec![1; tokens.len()];
    for (text, kind) in [("</s>", 1)].iter().chain(more) {
        tokens.push((*text).to_owned());
        types.push(*kind);
    }
    let show = json!({"model_info": {
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "qwen2", "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.merges": ["< /", "s >"], "tokenizer.ggml.token_type": types}});
    Vocabulary::from_show(show.to_string().as_bytes()).unwrap()
}

/// Compares the number of tokens of `a</s>b`, also after a snapshot, with `expected`.
#[track_caller]
fn check(more: &[(&str, u32)], rules: Rules, which: Specials, expected: usize) {
    let loaded = vocabulary(more);
    let again = Vocabulary::from_bytes(&loaded.to_bytes().unwrap()).unwrap();
    for one in [loaded.with_rules(rules), again.with_rules(rules)] {
        assert_eq!(
            one.encode("a</s>b", which).len(),
            expected,
            "{rules:?} {which:?}"
        );
    }
}

/// B8: llama.cpp takes `</s>` for one token although the vocabulary calls it plain. By the vocabulary's own rules, and
/// where control tokens are text, it is a run of characters.
#[test]
fn known_texts_are_control_tokens_only_for_llama_cpp() {
    check(&[], Rules::LlamaCpp, Specials::All, 3);
    check(&[], Rules::LlamaCpp, Specials::Defined, 6);
    check(&[], Rules::Reference, Specials::All, 6);
}

/// B8: a vocabulary with Gemma 4's tool tokens reads `</s>` as HTML.
#[test]
fn gemma_4_leaves_html_alone() {
    let tool = [("<|tool_response>", 4)];
    check(&tool, Rules::LlamaCpp, Specials::All, 6);
}

/// B8: a vocabulary that came from a snapshot cannot make one; the same vocabulary from a description can.
#[test]
fn only_a_whole_vocabulary_has_a_snapshot() {
    let loaded = vocabulary(&[]);
    let snapshot = loaded.to_bytes().unwrap();
    assert_eq!(Vocabulary::from_bytes(&snapshot).unwrap().to_bytes(), None);
    assert_eq!(loaded.without_snapshot().to_bytes(), None);
}
