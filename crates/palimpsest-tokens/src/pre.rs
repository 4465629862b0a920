//! The values of `tokenizer.ggml.pre` and the rules that each one names.

use crate::cut::{Cut, Words};

/// The rules by which one kind of byte-level vocabulary cuts and merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pre {
    pub(crate) cuts: &'static [Cut],
    /// A word that is in the vocabulary is one token, even where merging would give another result.
    pub(crate) ignore_merges: bool,
    /// A prompt starts with the start token, unless the model's description says otherwise.
    pub(crate) add_bos: bool,
    /// Words are raw UTF-8 with `▁` for a space, not bytes in GPT-2's alphabet (Gemma 4).
    pub(crate) raw: bool,
    /// The ids were compared with the original, message for message. Otherwise live counts have to prove the
    /// vocabulary.
    pub(crate) proven: bool,
}

const fn pre(cuts: &'static [Cut]) -> Pre {
    Pre {
        cuts,
        ignore_merges: false,
        add_bos: false,
        raw: false,
        proven: true,
    }
}

const LLAMA3: &[Cut] = &[Cut::Words(Words::LLAMA3)];
const QWEN2: &[Cut] = &[Cut::Words(Words::QWEN2)];
const GPT2: &[Cut] = &[Cut::Gpt2];
const STARCODER: &[Cut] = &[Cut::Numbers(1), Cut::Gpt2];

impl Pre {
    /// Returns the rules for a name that llama.cpp knows. Returns `None` for a name that this crate does not implement:
    /// no count is better than a wrong one that is called exact.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "llama3" | "llama-v3" | "llama-bpe" | "falcon3" | "falcon-h1" | "pixtral"
            | "midm-2.0" | "lfm2" | "jina-v5-nano" => Self {
                ignore_merges: true,
                add_bos: true,
                ..pre(LLAMA3)
            },
            "dbrx" | "smaug-bpe" | "glm4" | "chatglm-bpe" => pre(LLAMA3),
            "qwen2" | "deepseek-r1-qwen" | "kormo" | "f2llmv2" | "megrez" | "stablelm2"
            | "hunyuan" | "solar-open" | "grok-2" | "bailingmoe" | "bailingmoe2" | "llada-moe" => {
                pre(QWEN2)
            }
            "qwen35" => pre(&[Cut::Words(Words {
                marks: true,
                ..Words::QWEN2
            })]),
            "ufakzeka" => Self {
                proven: false,
                ..pre(&[Cut::Words(Words {
                    contractions: false,
                    ..Words::QWEN2
                })])
            },
            "laguna" => Self {
                proven: false,
                ..pre(&[Cut::Lines, Cut::Words(Words::QWEN2)])
            },
            "minicpm5" => Self {
                ignore_merges: true,
                ..pre(&[
                    Cut::Numbers(3),
                    Cut::Words(Words {
                        digits: usize::MAX,
                        ..Words::LLAMA3
                    }),
                ])
            },
            "gpt-4o" | "llama4" | "kanana2" | "talkie" | "minimax-m2" => pre(&[Cut::Cased {
                digits: 3,
                contractions: true,
            }]),
            "tekken" => Self {
                ignore_merges: true,
                add_bos: true,
                ..pre(&[Cut::Cased {
                    digits: 1,
                    contractions: false,
                }])
            },
            "gpt-2" | "phi-2" | "jina-es" | "jina-de" | "gigachat" | "jina-v2-es"
            | "jina-v2-de" | "a.x-4.0" | "mellum" | "modern-bert" | "mpt" | "olmo" | "jais"
            | "trillion" | "granite-docling" | "exaone4" => pre(GPT2),
            "starcoder" | "refact" | "command-r" | "smollm" | "codeshell" | "exaone"
            | "minerva-7b" | "mellum2" => pre(STARCODER),
            "deepseek-v3" | "hunyuan-dense" | "joyai-llm" | "hy_v4" => {
                pre(&[Cut::Numbers(3), Cut::HanKana, Cut::Deepseek])
            }
            "deepseek-llm" => pre(&[
                Cut::Line,
                Cut::SpacedCased,
                Cut::SpacedMarks,
                Cut::TrailingSpace,
                Cut::Asian,
                Cut::Numbers(usize::MAX),
            ]),
            "deepseek-coder" => pre(&[
                Cut::Line,
                Cut::SpacedLetters,
                Cut::SpacedPunctuation,
                Cut::Asian,
                Cut::Numbers(1),
            ]),
            "falcon" => pre(&[Cut::Marks { backtick: true }, Cut::Gpt2, Cut::ThreeDigits]),
            "" | "default" => pre(&[
                Cut::Marks { backtick: false },
                Cut::Gpt2,
                Cut::Numbers(usize::MAX),
                Cut::ThreeDigits,
            ]),
            "gemma4" => Self {
                add_bos: true,
                raw: true,
                proven: false,
                ..pre(&[Cut::Lines])
            },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pretokenize::{Rules, Scanner};

    #[track_caller]
    fn check(pre: &str, rules: Rules, text: &str, expected: &[&str]) {
        let mut words = Vec::new();
        let cuts = Pre::named(pre).expect("a name from the table").cuts;
        Scanner::new(text, rules).cut(cuts, 0, text.len(), &mut |start, end| {
            words.push(&text[start..end]);
            true
        });
        assert_eq!(words, expected, "{pre} {text:?}");
    }

    /// B8: the alternatives of Llama 3's expression, each tested once.
    #[test]
    fn llama3() {
        let check = |text, expected: &[&str]| check("llama-bpe", Rules::LlamaCpp, text, expected);
        check("I'm sure THEY'LL", &["I", "'m", " sure", " THEY", "'LL"]);
        check("a.b (c)\t d", &["a", ".b", " (", "c", ")", "\t", " d"]);
        check("12345 67", &["123", "45", " ", "67"]);
        check("x;\n\n  y  \n", &["x", ";\n\n", " ", " y", "  \n"]);
        check("a   b", &["a", "  ", " b"]);
        check("  ", &["  "]);
        check("d'accord 中文,字", &["d", "'accord", " 中文", ",字"]);
        check("e\u{301}t", &["e", "\u{301}t"]);
    }

    /// B8: Qwen cuts digits one by one, and Qwen 3.5 keeps marks with their letters.
    #[test]
    fn qwen() {
        check(
            "qwen2",
            Rules::LlamaCpp,
            "v12 e\u{301}t",
            &["v", "1", "2", " e", "\u{301}t"],
        );
        check(
            "qwen35",
            Rules::LlamaCpp,
            "v12 e\u{301}t",
            &["v", "1", "2", " e\u{301}t"],
        );
    }

    /// B8: GPT-4o's words end before a capital, and llama.cpp tells the cases apart in ASCII only.
    #[test]
    fn gpt4o() {
        let text = "camelCase JSONText it'll ПриветМир //\n/x";
        check(
            "gpt-4o",
            Rules::Reference,
            text,
            &[
                "camel",
                "Case",
                " JSONText",
                " it'll",
                " Привет",
                "Мир",
                " //\n/",
                "x",
            ],
        );
        check(
            "gpt-4o",
            Rules::LlamaCpp,
            text,
            &[
                "camel",
                "Case",
                " JSONText",
                " it'll",
                " ПриветМир",
                " //\n/",
                "x",
            ],
        );
        check("gpt-4o", Rules::Reference, "中AAA", &["中", "AAA"]);
        check(
            "gpt-4o",
            Rules::Reference,
            "\u{301}ABC",
            &["\u{301}", "ABC"],
        );
        check("gpt-4o", Rules::LlamaCpp, "\u{301}ABC", &["\u{301}ABC"]);
        check(
            "tekken",
            Rules::LlamaCpp,
            "it'll 12",
            &["it", "'ll", " ", "1", "2"],
        );
    }

    /// B8: GPT-2's words take a space along, and StarCoder cuts digits one by one.
    #[test]
    fn gpt2() {
        check(
            "gpt-2",
            Rules::LlamaCpp,
            "we're 12 !\n\n x",
            &["we", "'re", " 12", " !", "\n\n", " x"],
        );
        check(
            "smollm",
            Rules::LlamaCpp,
            "a 12  3",
            &["a", " ", "1", "2", "  ", "3"],
        );
    }

    /// B8: DeepSeek's expressions apply one after the other.
    #[test]
    fn deepseek() {
        let text = "a,b 1234 日本・語 ~x ~ \u{1}";
        check(
            "deepseek-v3",
            Rules::Reference,
            text,
            &[
                "a", ",b", " ", "123", "4", " ", "日本", "・", "語", " ~", "x", " ~", " ", "\u{1}",
            ],
        );
        check(
            "deepseek-v3",
            Rules::LlamaCpp,
            text,
            &[
                "a", ",b", " ", "123", "4", " ", "日本", "・", "語", " ", "~x", " ", "~", " ",
                "\u{1}",
            ],
        );
        check(
            "deepseek-coder",
            Rules::LlamaCpp,
            "if (x1)\n 字",
            &["if", " (", "x", "1", ")", "\n", " ", "字"],
        );
        check(
            "deepseek-llm",
            Rules::LlamaCpp,
            "naïve (x) 12  ",
            &["na", "ï", "ve", " (", "x", ")", " ", "12", "  "],
        );
    }

    /// B8: an unknown name is not guessed at.
    #[test]
    fn unknown_names_are_refused() {
        assert_eq!(Pre::named("no-such-thing"), None);
        assert_eq!(Pre::named("kimi-k2"), None);
    }
}
