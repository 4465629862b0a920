//! A vocabulary small enough to know by heart, in GPT-2's alphabet: every byte, a few merges, the tokens of a chat.

use serde_json::{Value, json};

/// What is merged, in this order; the results are the tokens 256 to 261.
const MERGES: [(&str, &str); 6] = [
    ("i", "n"),
    ("Ċ", "Ċ"),
    ("Ġ", "Ġ"),
    ("t", "h"),
    ("th", "e"),
    ("Ġ", "the"),
];

/// The tokens 262 and 263.
pub(crate) const SPECIAL: [&str; 2] = ["<|im_start|>", "<|im_end|>"];

/// Writes a byte as GPT-2's alphabet does.
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

/// The description of it that a server would give. A byte's id is its value.
pub(crate) fn show() -> Value {
    let mut tokens: Vec<String> = (0..=255).map(|b| letter(b).to_string()).collect();
    tokens.extend(MERGES.iter().map(|(a, b)| format!("{a}{b}")));
    let mut types = vec![1; tokens.len()];
    for special in SPECIAL {
        tokens.push(special.to_owned());
        types.push(3);
    }
    let merges: Vec<String> = MERGES.iter().map(|(a, b)| format!("{a} {b}")).collect();
    json!({"model_info": {
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "smollm", "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.merges": merges, "tokenizer.ggml.token_type": types}})
}
