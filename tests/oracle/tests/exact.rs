//! Every family against Hugging Face's `tokenizers`: the same ids, message for message.

use oracle::{message, oracle, oracle_with, show, smollm2_json, smollm2_show, tokenizer_json};
use palimpsest_tokens::{Rules, Specials, TokenCounter as _, Vocabulary};
use tokenizers::Tokenizer;

/// Messages a family is tried on. `PALIMPSEST_FUZZ` sets another number.
fn messages() -> u64 {
    std::env::var("PALIMPSEST_FUZZ")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(20_000)
}

/// Characters that Unicode 16.0 added, which llama.cpp (15.1) does not know; and those whose first byte is none of
/// SmolLM2's: llama.cpp leaves a gap there, `tokenizers` merges over it.
fn newer(text: &str) -> bool {
    text.chars().any(|c| c > '\u{3ffff}')
        || text.chars().any(|c| {
            oracle::ADDED_IN_16
                .iter()
                .any(|(first, last)| (*first..=*last).contains(&(c as u32)))
        })
}

#[track_caller]
fn compare(name: &str, vocabulary: &Vocabulary, oracle: &Tokenizer, known: bool) {
    let (mut tokens, mut bytes, mut tried) = (0, 0, 0);
    for n in 0..messages() {
        let text = message(n);
        if known && newer(&text) {
            continue;
        }
        let expected = oracle.encode(text.as_str(), false).expect("ids");
        let ids = vocabulary.encode(&text, Specials::All);
        if ids != expected.get_ids() {
            let at = ids
                .iter()
                .zip(expected.get_ids())
                .position(|(a, b)| a != b)
                .unwrap_or(ids.len().min(expected.len()));
            let around = |ids: &[u32]| {
                oracle
                    .decode(&ids[at.saturating_sub(2)..(at + 6).min(ids.len())], false)
                    .unwrap_or_default()
            };
            panic!(
                "{name}, message {n}, token {at} near {:?}: ours {:?} {:?}, theirs {:?} {:?}\n{text:?}",
                &text[expected.get_offsets()[at.saturating_sub(3)].0
                    ..expected.get_offsets()[(at + 5).min(expected.len() - 1)].1],
                &ids[at..(at + 6).min(ids.len())],
                around(&ids),
                &expected.get_ids()[at..(at + 6).min(expected.len())],
                around(expected.get_ids())
            );
        }
        assert_eq!(
            vocabulary.count(&text) as usize,
            ids.len(),
            "{name}, message {n}: {text:?}"
        );
        tokens += ids.len();
        bytes += text.len();
        tried += 1;
    }
    println!("{name}: {tried} messages, {bytes} bytes, {tokens} tokens, 0 differences");
}

/// As the families' own files have it.
#[track_caller]
fn reference(name: &str, model: &str, pre: &str, ignore_merges: bool) {
    let json = tokenizer_json(name);
    let keep = model == "llama";
    let vocabulary = Vocabulary::from_show(&show(&json, model, pre))
        .expect("a vocabulary")
        .with_rules(Rules::Reference);
    compare(
        name,
        &vocabulary,
        &oracle(&json, ignore_merges, keep),
        false,
    );
    let snapshot = vocabulary.to_bytes().expect("a snapshot");
    println!(
        "{name}: snapshot {} bytes, {} bytes in memory",
        snapshot.len(),
        vocabulary.memory()
    );
}

#[test]
fn llama3() {
    reference("llama3", "gpt2", "llama-bpe", true);
}

#[test]
fn qwen3() {
    reference("qwen3", "gpt2", "qwen2", false);
}

#[test]
fn gpt_oss() {
    reference("gptoss", "gpt2", "gpt-4o", false);
}

#[test]
fn deepseek_v3() {
    reference("deepseek_v3", "gpt2", "deepseek-v3", false);
}

#[test]
fn tekken() {
    reference("tekken", "gpt2", "tekken", true);
}

#[test]
fn gemma3() {
    reference("gemma3", "llama", "", false);
}

#[test]
fn llama2() {
    reference("llama2", "llama", "", false);
}

#[test]
#[ignore = "needs ../shared/data"]
fn smollm2() {
    let show = smollm2_show();
    let vocabulary = Vocabulary::from_show(show.to_string().as_bytes()).expect("a vocabulary");
    compare(
        "smollm2",
        &vocabulary,
        &oracle(&smollm2_json(&show), false, false),
        true,
    );
}

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
const CONTRACTIONS: &str = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])";

/// As llama.cpp has it: its expressions, on Llama 3's vocabulary.
#[track_caller]
fn llama_cpp(pre: &str, ignore_merges: bool, expressions: &[&str]) {
    let json = tokenizer_json("llama3");
    let expressions: Vec<String> = expressions
        .iter()
        .map(|e| e.replace("CONTRACTIONS", CONTRACTIONS))
        .collect();
    let vocabulary = Vocabulary::from_show(&show(&json, "gpt2", pre)).expect("a vocabulary");
    compare(
        pre,
        &vocabulary,
        &oracle_with(&json, &expressions, ignore_merges),
        true,
    );
}

#[test]
fn llama_cpp_llama3() {
    llama_cpp(
        "llama-bpe",
        true,
        &[
            r"CONTRACTIONS|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
    );
}

#[test]
fn llama_cpp_qwen2() {
    llama_cpp(
        "qwen2",
        false,
        &[
            r"CONTRACTIONS|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
    );
}

#[test]
fn llama_cpp_qwen35() {
    llama_cpp(
        "qwen35",
        false,
        &[
            r"CONTRACTIONS|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
    );
}

#[test]
fn llama_cpp_gpt_4o() {
    llama_cpp(
        "gpt-4o",
        false,
        &[
            r"[^\r\n\p{L}\p{N}]?((?=[\p{L}])([^a-z]))*((?=[\p{L}])([^A-Z]))+CONTRACTIONS?|[^\r\n\p{L}\p{N}]?((?=[\p{L}])([^a-z]))+((?=[\p{L}])([^A-Z]))*CONTRACTIONS?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
    );
}

#[test]
fn llama_cpp_tekken() {
    llama_cpp(
        "tekken",
        true,
        &[
            r"[^\r\n\p{L}\p{N}]?((?=[\p{L}])([^a-z]))*((?=[\p{L}])([^A-Z]))+|[^\r\n\p{L}\p{N}]?((?=[\p{L}])([^a-z]))+((?=[\p{L}])([^A-Z]))*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
    );
}

#[test]
fn llama_cpp_gpt2() {
    llama_cpp("gpt-2", false, &[GPT2]);
}

#[test]
fn llama_cpp_starcoder() {
    llama_cpp("starcoder", false, &[r"\p{N}", GPT2]);
}

#[test]
fn llama_cpp_deepseek_v3() {
    llama_cpp(
        "deepseek-v3",
        false,
        &[
            r"\p{N}{1,3}",
            "[一-龥\u{3040}-\u{309f}\u{30a0}-\u{30ff}]+",
            r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|(?:[^\r\n\p{L}\p{P}\p{S}]|~)?[\p{L}\p{M}]+| ?(?:(?!~)[\p{P}\p{S}])+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"##,
        ],
    );
}

#[test]
fn llama_cpp_deepseek_coder() {
    llama_cpp(
        "deepseek-coder",
        false,
        &[
            r"[\r\n]",
            r"\s?\p{L}+",
            r"\s?\p{P}+",
            "[一-龥\u{800}-\u{4e00}\u{ac00}-\u{d7ff}]+",
            r"\p{N}",
        ],
    );
}

#[test]
fn llama_cpp_deepseek_llm() {
    let listed: Vec<(u32, u32)> = {
        let text = include_str!("../../../crates/palimpsest-tokens/src/cased.in");
        let numbers: Vec<u32> = text
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter_map(|n| u32::from_str_radix(n.strip_prefix("0x")?, 16).ok())
            .collect();
        numbers.chunks(2).map(|pair| (pair[0], pair[1])).collect()
    };
    let class: String = listed
        .iter()
        .map(|(a, b)| format!("\\x{{{a:x}}}-\\x{{{b:x}}}"))
        .collect();
    llama_cpp(
        "deepseek-llm",
        false,
        &[
            r"[\r\n]",
            &format!("\\s?[{class}]+"),
            "\\s?[!-/:-~！-／：-～‘-‟\u{3000}-。]+",
            r"\s+\z",
            "[一-龥\u{800}-\u{4e00}\u{ac00}-\u{d7ff}]+",
            r"\p{N}+",
        ],
    );
}

#[test]
fn llama_cpp_falcon() {
    llama_cpp(
        "falcon",
        false,
        &[r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"],
    );
}

#[test]
fn llama_cpp_default() {
    llama_cpp(
        "default",
        false,
        &[r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"],
    );
}

#[test]
fn llama_cpp_minicpm5() {
    llama_cpp(
        "minicpm5",
        true,
        &[
            r"\p{N}{1,3}",
            r"CONTRACTIONS|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
    );
}

#[test]
fn llama_cpp_bailing() {
    llama_cpp(
        "bailingmoe",
        false,
        &[
            r"'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
        ],
    );
}
