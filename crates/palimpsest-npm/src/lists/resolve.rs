use palimpsest_core::compact::Resolved;
use palimpsest_core::policy::Policy;
use palimpsest_core::shares::ShareOptions;
use palimpsest_tokens::Source;
use serde::Deserialize;
use serde_json::Value;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::border::{self, Tokens};
use crate::failure::Failure;
use crate::lists::count::Counter;

/// What `resolvePolicy` is asked, as the caller writes it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Question {
    policy: Value,
    window: Tokens,
    reserve: Option<Tokens>,
    #[serde(default)]
    thinking: bool,
}

/// A policy's numbers in a window.
#[wasm_bindgen(js_name = resolvePolicy, unchecked_return_type = "ResolvedPolicy")]
pub fn resolve_policy(question: JsValue, counter: &Counter) -> Result<JsValue, Failure> {
    resolve(border::options(question)?, counter)
}

fn resolve(question: Question, counter: &Counter) -> Result<JsValue, Failure> {
    let share = ShareOptions {
        reserve: question.reserve.map(Tokens::reserve).transpose()?,
        thinking: question.thinking,
        exact: counter.0.source() == Source::Exact,
    };
    let policy = Policy::from_value(&question.policy)?;
    border::told(&Resolved::of(
        policy,
        question.window.get()?,
        share,
        &counter.0,
    )?)
}
