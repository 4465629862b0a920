//! Replaying: one conversation under several policies.

use palimpsest_core::dialect::Dialect;
use palimpsest_core::error::CoreError;
use palimpsest_core::mode::Mode;
use palimpsest_core::policy::{Policy, presets};
use palimpsest_core::replay::{self, ReplayOptions};
use palimpsest_core::shares::ShareOptions;
use palimpsest_core::tool::definitions_tokens;
use palimpsest_tokens::Source;
use serde::Deserialize;
use serde_json::Value;
use wasm_bindgen::JsValue;

use crate::border::{self, Tokens};
use crate::failure::Failure;
use crate::lists::count::Counter;
use crate::transcripts::{Replayer, Replaying};

struct Player;

/// The way to replay.
pub(super) fn open() -> Replayer {
    Replayer(Box::new(Player))
}

impl Replaying for Player {
    fn replay(
        &self,
        messages: &str,
        options: JsValue,
        tools: Option<String>,
        counter: &Counter,
    ) -> Result<JsValue, Failure> {
        replay(messages, options, tools.as_deref(), counter)
    }
}

/// The options of `replay`, as a caller writes them.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Options {
    window: Tokens,
    reserve: Option<Tokens>,
    /// Names of presets, or policies; every preset if there are none.
    policies: Option<Vec<Value>>,
    dialect: Option<String>,
    #[serde(default)]
    thinking: bool,
    mode: Option<String>,
    /// Counts the calls that a model of that name would get.
    model: Option<String>,
}

/// Replays a list of messages under several policies with the extractive summariser: a report.
fn replay(
    messages: &str,
    options: JsValue,
    tools: Option<&str>,
    counter: &Counter,
) -> Result<JsValue, Failure> {
    let options: Options = border::options(options)?;
    let values = border::messages(messages)?;
    let tools: Vec<Value> = tools.map_or_else(
        || Ok(Vec::new()),
        |t| {
            palimpsest_text::json::read(t)
                .map_err(|e| Failure::new("invalid_options", format!("tools cannot be used: {e}.")))
        },
    )?;
    let policies: Vec<Policy> = match options.policies {
        None => presets::ALL.iter().map(|(_, make)| make()).collect(),
        Some(given) => given
            .iter()
            .map(Policy::from_value)
            .collect::<Result<_, CoreError>>()?,
    };
    let dialect = options.dialect.as_deref().map(Dialect::named).transpose()?;
    let replayed = ReplayOptions {
        share: ShareOptions {
            reserve: options.reserve.map(Tokens::reserve).transpose()?,
            thinking: options.thinking,
            exact: counter.0.source() == Source::Exact,
        },
        tools: definitions_tokens(&tools, counter.0.as_ref()),
        mode: options.mode.map_or_else(Mode::default, Mode::from),
        model: options.model,
        ..ReplayOptions::new(options.window.get()?)
    };
    let report = replay::replay_list(&values, dialect, &policies, &replayed, &counter.0)?;
    border::told(&report)
}
