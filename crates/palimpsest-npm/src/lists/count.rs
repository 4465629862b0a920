use std::rc::Rc;

use palimpsest_core::dialect::{self, Dialect};
use palimpsest_tokens::{Count, Estimator, Source, TokenCounter};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::border;
use crate::failure::Failure;

/// Counts tokens: with a model's own vocabulary, or by estimate.
#[wasm_bindgen]
#[derive(Clone)]
pub struct Counter(
    pub(crate) Rc<dyn TokenCounter>,
    /// The same, if it is a vocabulary.
    pub(crate) Option<Rc<dyn Kept>>,
);

/// What can be kept as bytes. Only the part `tokenizer` makes one.
pub(crate) trait Kept {
    /// Bytes to read it from again; nothing if it was made of such bytes.
    fn snapshot(&self) -> Option<Vec<u8>>;
}

impl std::fmt::Debug for Counter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Counter").field(&self.0.source()).finish()
    }
}

#[wasm_bindgen]
impl Counter {
    /// Estimates, for the family of a model's name if one is given.
    pub fn estimator(model: Option<String>) -> Self {
        let estimator = model.map_or_else(Estimator::default, |name| Estimator::for_model(&name));
        Self(Rc::new(estimator), None)
    }

    /// The vocabulary as bytes to keep, or nothing if it estimates or was made of such bytes.
    pub fn snapshot(&self) -> Option<Vec<u8>> {
        self.1.as_ref()?.snapshot()
    }

    /// Tokens of a text.
    pub fn count(&self, text: &str) -> u32 {
        self.0.count(text)
    }

    /// The same, or nothing if there are more than `limit`.
    #[wasm_bindgen(js_name = countUntil)]
    pub fn count_until(&self, text: &str, limit: u32) -> Option<u32> {
        self.0.count_until(text, limit)
    }

    /// `exact`, `measured` or `estimated`.
    #[wasm_bindgen(getter)]
    pub fn source(&self) -> String {
        let name = match self.0.source() {
            Source::Exact => "exact",
            Source::Measured => "measured",
            Source::Estimated => "estimated",
        };
        name.to_owned()
    }

    /// How far off a sum of so many tokens may be.
    pub fn bound(&self, tokens: u32) -> u32 {
        self.0.bound(tokens)
    }

    /// Tokens of a list of messages as a prompt: `{ tokens, source, bound }`.
    #[wasm_bindgen(js_name = countMessages, unchecked_return_type = "Count")]
    pub fn count_messages(
        &self,
        messages: &str,
        dialect: Option<String>,
    ) -> Result<JsValue, Failure> {
        let count = self.prompt(messages, dialect.as_deref())?;
        border::told(&count)
    }
}

impl Counter {
    fn prompt(&self, messages: &str, dialect: Option<&str>) -> Result<Count, Failure> {
        let values = border::messages(messages)?;
        let dialect = dialect.map(Dialect::named).transpose()?;
        Ok(dialect::count(&values, dialect, self.0.as_ref())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B7: a prompt is its texts, what the template adds to each message, and what it adds once.
    #[test]
    fn a_prompt_is_texts_and_template() {
        let counter = Counter::estimator(None);
        let of = |text: &str| counter.count(text);
        let overhead = counter.0.overhead();
        let got = counter.prompt(r#"[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello there"}]"#, None).unwrap();
        let expected =
            overhead.base + overhead.system + of("Be brief.") + overhead.user + of("Hello there");
        assert_eq!((got.tokens, got.source), (expected, Source::Estimated));
        assert_eq!(got.bound, counter.bound(expected));
        assert_eq!(
            counter.prompt("{}", None).unwrap_err(),
            Failure::new("bad_input", "Expected an array of messages.")
        );
    }

    /// B7, B8: the same exchange with a tool call has the same count in every dialect; and with a vocabulary, whose texts are
    /// exact, a prompt's template is still said to be a guess.
    #[test]
    fn every_dialect_counts_alike() {
        let counter = Counter::estimator(Some("qwen3:8b".into()));
        let openai = r#"[{"role":"user","content":"Weather in Oslo?"},
            {"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]},
            {"role":"tool","tool_call_id":"a","content":"4 degrees, rain"},{"role":"assistant","content":"Cold and wet."}]"#;
        let ollama = r#"[{"role":"user","content":"Weather in Oslo?"},
            {"role":"assistant","content":"","tool_calls":[{"function":{"name":"weather","arguments":{"city":"Oslo"}}}]},
            {"role":"tool","tool_name":"weather","content":"4 degrees, rain"},{"role":"assistant","content":"Cold and wet."}]"#;
        let anthropic = r#"[{"role":"user","content":"Weather in Oslo?"},
            {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"weather","input":{"city":"Oslo"}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"4 degrees, rain"}]},{"role":"assistant","content":"Cold and wet."}]"#;
        let vercel = r#"[{"role":"user","content":"Weather in Oslo?"},
            {"role":"assistant","content":[{"type":"tool-call","toolCallId":"a","toolName":"weather","input":{"city":"Oslo"}}]},
            {"role":"tool","content":[{"type":"tool-result","toolCallId":"a","toolName":"weather","output":{"type":"text","value":"4 degrees, rain"}}]},
            {"role":"assistant","content":"Cold and wet."}]"#;
        let of = |text: &str| counter.count(text);
        let overhead = counter.0.overhead();
        let expected = overhead.base
            + overhead.user
            + 2 * overhead.assistant
            + overhead.tool
            + [
                "Weather in Oslo?",
                "weather",
                r#"{"city":"Oslo"}"#,
                "4 degrees, rain",
                "Cold and wet.",
            ]
            .map(of)
            .iter()
            .sum::<u32>();
        for (dialect, messages) in [
            ("openai", openai),
            ("ollama", ollama),
            ("anthropic", anthropic),
            ("ai-sdk", vercel),
        ] {
            let got = counter.prompt(messages, Some(dialect)).unwrap();
            // a call's frame is charged too
            assert!(
                got.tokens.abs_diff(expected) <= 8,
                "{dialect}: {got:?} {expected}"
            );
            assert_eq!(
                got.tokens,
                counter.prompt(openai, Some("openai")).unwrap().tokens,
                "{dialect}"
            );
            assert!(got.bound >= 24, "{dialect}: {got:?}");
        }
    }
}
