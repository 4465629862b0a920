use std::rc::Rc;

use palimpsest_core::dialect::{self, Dialect};
use palimpsest_core::message::Origin;
use palimpsest_core::rendition::verbatim_tokens;
use palimpsest_tokens::{Count, Estimator, Source, TokenCounter};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::boundary;
use crate::error::Failure;

/// Counts tokens: with a model's own vocabulary, or by estimate.
#[wasm_bindgen]
#[derive(Clone)]
pub struct Counter(pub(crate) Rc<dyn TokenCounter>);

impl std::fmt::Debug for Counter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Counter").field(&self.0.source()).finish()
    }
}

#[wasm_bindgen]
impl Counter {
    /// Estimates, for the family of a model's name if one is given.
    pub fn estimator(model: Option<String>) -> Self {
        Self(Rc::new(model.map_or_else(Estimator::default, |name| {
            Estimator::for_model(&name)
        })))
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

    /// Tokens of a list of messages as a prompt: JSON text of `{ tokens, source, bound }`.
    #[wasm_bindgen(js_name = countMessages)]
    pub fn count_messages(
        &self,
        messages: &str,
        dialect: Option<String>,
    ) -> Result<String, JsValue> {
        let count = self.prompt(messages, dialect.as_deref())?;
        Ok(boundary::text(&count)?)
    }
}

impl Counter {
    fn prompt(&self, messages: &str, dialect: Option<&str>) -> Result<Count, Failure> {
        let values = boundary::messages(messages)?;
        let dialect = match dialect {
            Some(name) => Dialect::named(name)?,
            None => dialect::detect(&values).unwrap_or(Dialect::OpenAi),
        };
        let parsed = dialect::parse(&values, dialect, Origin::Host)?;
        let overhead = self.0.overhead();
        let system = parsed
            .system
            .iter()
            .map(|line| self.0.count(&line.text).saturating_add(overhead.system));
        let said = parsed
            .messages
            .iter()
            .map(|from| verbatim_tokens(&from.message, self.0.as_ref()));
        let tokens = system.chain(said).fold(overhead.base, u32::saturating_add);
        Ok(Count {
            tokens,
            source: self.0.source(),
            bound: self.0.bound(tokens),
        })
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
}
