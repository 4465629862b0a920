//! Families of vocabularies that cut text alike.

use serde::{Deserialize, Serialize};

/// A family of vocabularies for which a word, a number or a script costs about the same.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Family {
    /// An unknown family: the mean of the modern vocabularies.
    #[default]
    Generic,
    /// Llama 3 and the models built on it, GLM 4, Phi 4, OLMo 2, GPT-4: about 128 thousand words, digits in threes.
    Llama3,
    /// Qwen 2 to 3.5, and DeepSeek R1 distilled into it: about 151 thousand words, single digits.
    Qwen,
    /// GPT-4o and newer, gpt-oss, Llama 4, Phi 4 mini: about 200 thousand words.
    Gpt4o,
    /// Mistral Nemo, Small 3, Ministral, Devstral, Magistral: about 131 thousand words, single digits.
    Tekken,
    /// DeepSeek V2 to V3 and R1.
    Deepseek,
    /// Gemma 1 to 4, and Gemini, which Google's own local counters count with Gemma's vocabularies: about 262 thousand words.
    Gemma,
    /// Llama 2, Mistral 7B, Mixtral, Phi 3, TinyLlama: 32 thousand words.
    Llama2,
    /// StarCoder, Granite 3, SmolLM: about 49 thousand words, single digits.
    Starcoder,
}

impl Family {
    /// Returns the family for `tokenizer.ggml.model` and `tokenizer.ggml.pre` of Ollama's `/api/show`, and the number
    /// of words (0 if unknown).
    pub fn of_tokenizer(model: &str, pre: &str, words: usize) -> Self {
        match (model, pre) {
            ("gemma4", _) | (_, "gemma4") => Self::Gemma,
            ("llama", _) if words > 200_000 => Self::Gemma,
            ("llama", _) => Self::Llama2,
            (
                "gpt2",
                "llama-bpe" | "llama3" | "llama-v3" | "dbrx" | "smaug-bpe" | "glm4" | "chatglm-bpe",
            ) => Self::Llama3,
            ("gpt2", "qwen2" | "qwen35" | "deepseek-r1-qwen" | "megrez" | "hunyuan") => Self::Qwen,
            ("gpt2", "gpt-4o" | "llama4" | "kanana2" | "minimax-m2") => Self::Gpt4o,
            ("gpt2", "tekken") => Self::Tekken,
            (
                "gpt2",
                "deepseek-llm" | "deepseek-coder" | "deepseek-v3" | "joyai-llm" | "hunyuan-dense",
            ) => Self::Deepseek,
            ("gpt2", "starcoder" | "refact" | "smollm" | "codeshell" | "gpt-2")
                if words < 80_000 =>
            {
                Self::Starcoder
            }
            _ => Self::Generic,
        }
    }

    /// Returns the family for a model's name as servers list it, like `qwen3:8b` or `hf.co/someone/Llama-3.2-3B-GGUF`.
    pub fn of_model(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        // Derived models carry two names. The name whose vocabulary the model has is tested first.
        if has(&["gemma", "gemini"]) {
            Self::Gemma
        } else if has(&["qwen", "qwq"])
            || (has(&["deepseek-r1"]) && has(&[":1.5b", ":7b", ":14b", ":32b"]))
        {
            Self::Qwen
        } else if is_series(&name)
            || has(&[
                "gpt-oss",
                "gpt-4o",
                "gpt-4.1",
                "gpt-5",
                "llama4",
                "llama-4",
                "phi4-mini",
                "phi-4-mini",
            ])
        {
            Self::Gpt4o
        } else if has(&[
            "llama2",
            "llama-2",
            "tinyllama",
            "mistral:7b",
            "mistral-7b",
            "mixtral",
            "phi3",
            "phi-3",
            "vicuna",
        ]) {
            Self::Llama2
        } else if has(&[
            "gpt-4", "gpt-3.5", "llama3", "llama-3", "hermes3", "dolphin3", "phi4", "phi-4",
            "olmo2", "olmo-2", "glm4", "glm-4",
        ]) || (has(&["deepseek-r1"]) && has(&[":8b", ":70b"]))
        {
            Self::Llama3
        } else if has(&[
            "mistral-nemo",
            "mistral-small",
            "ministral",
            "devstral",
            "magistral",
        ]) {
            Self::Tekken
        } else if has(&["deepseek"]) {
            Self::Deepseek
        } else if has(&["smollm", "starcoder", "granite"]) {
            Self::Starcoder
        } else if name == "mistral" || name.starts_with("mistral:") {
            Self::Llama2
        } else {
            Self::Generic
        }
    }
}

/// Returns `true` for OpenAI's reasoning models, named `o1`, `o3-mini`, `openai/o4-mini`.
fn is_series(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    matches!(
        name.as_bytes(),
        [b'o', b'1'..=b'9'] | [b'o', b'1'..=b'9', b'-', ..]
    )
}

#[cfg(test)]
mod tests {
    use super::Family;

    #[track_caller]
    fn check(name: &str, expected: Family) {
        assert_eq!(Family::of_model(name), expected, "{name}");
    }

    /// B8: an estimate uses the weights of the model's family as soon as the name is known.
    #[test]
    fn a_name_tells_the_family() {
        check("llama3.2:3b", Family::Llama3);
        check(
            "hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M",
            Family::Llama3,
        );
        check("qwen2.5-coder:7b", Family::Qwen);
        check("deepseek-r1:8b", Family::Llama3);
        check("deepseek-r1:14b", Family::Qwen);
        check("deepseek-v3", Family::Deepseek);
        check("gpt-oss:20b", Family::Gpt4o);
        check("gemma3:4b", Family::Gemma);
        check("mistral", Family::Llama2);
        check("mistral-nemo:12b", Family::Tekken);
        check("smollm2:135m", Family::Starcoder);
        check("gemini-2.5-flash", Family::Gemma);
        check("google/gemini-3-pro", Family::Gemma);
        check("o3-mini", Family::Gpt4o);
        check("openai/o4-mini", Family::Gpt4o);
        check("olmo:7b", Family::Generic);
        check("gpt-4.1", Family::Gpt4o);
        check("gpt-4-turbo", Family::Llama3);
        check("claude-sonnet-4-5", Family::Generic);
        check("somebody/unheard-of", Family::Generic);
    }

    /// B8: Ollama's data about the tokenizer decides before the name does.
    #[test]
    fn a_tokenizer_tells_the_family() {
        for (model, pre, words, expected) in [
            ("gpt2", "llama-bpe", 128_256, Family::Llama3),
            ("gpt2", "qwen2", 151_936, Family::Qwen),
            ("llama", "default", 262_144, Family::Gemma),
            ("llama", "", 32_000, Family::Llama2),
            ("gemma4", "", 262_144, Family::Gemma),
            ("gpt2", "smollm", 49_152, Family::Starcoder),
            ("gpt2", "unheard-of", 100_000, Family::Generic),
        ] {
            assert_eq!(
                Family::of_tokenizer(model, pre, words),
                expected,
                "{model} {pre}"
            );
        }
    }
}
