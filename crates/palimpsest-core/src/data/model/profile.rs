//! The windows of a model: named sizes, and the number that is sent as `num_ctx`.

use super::{ModelSize, Tier};
use palimpsest_text::json::NumberOrText;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The window of an unknown model, in tokens.
pub const ASSUMED_WINDOW: u32 = 4_096;

/// Share of a named size that is used, in percent (seeds 1 and 2).
const USED_PERCENT: u64 = 85;

/// The sizes on offer for every model up to its own limit, in thousands of tokens.
const STANDARD_SIZES: [u32; 7] = [4, 8, 16, 32, 64, 128, 256];

/// The default size, if the model has it.
const USUAL_SIZE: u32 = 8_000;

/// A named window size of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextSize {
    /// The name that the user chooses: `"16K"`.
    pub name: String,
    /// The size in the name, in tokens; K = 1,000.
    pub nominal: u32,
    /// The window in tokens that is shown, sent as `num_ctx`, and the base of all shares.
    pub ollama_context_size: u32,
}

impl ContextSize {
    /// A size of `thousands` K: `16` is named `16K` and uses 13,600 tokens.
    pub fn thousands(thousands: u32) -> Self {
        let nominal = thousands.saturating_mul(1_000);
        Self {
            name: format!("{thousands}K"),
            nominal,
            ollama_context_size: (u64::from(nominal) * USED_PERCENT / 100) as u32,
        }
    }
}

/// The size in the name of the standard size whose share is `window`, or `window` itself.
pub(super) fn nominal_of(window: u32) -> u32 {
    let sizes = STANDARD_SIZES.map(ContextSize::thousands);
    let named = sizes.iter().find(|s| s.ollama_context_size == window);
    named.map_or(window, |size| size.nominal)
}

/// The facts about one model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelProfile {
    /// The model's name at its provider.
    pub model: String,
    /// Its parameters, if known.
    pub size: Option<ModelSize>,
    /// The longest context of the model's training in tokens, if known.
    pub max_context: Option<u32>,
    /// The sizes on offer, smallest first.
    pub sizes: Vec<ContextSize>,
}

impl ModelProfile {
    /// Creates the profile of a model whose longest context is `max_context` tokens: the standard sizes up to it. A
    /// model with 8,192 gets 8K.
    pub fn new(model: &str, parameter_size: Option<&str>, max_context: Option<u32>) -> Self {
        let limit = max_context.unwrap_or(u32::MAX);
        let sizes = STANDARD_SIZES.map(ContextSize::thousands).into_iter();
        Self {
            model: model.to_owned(),
            size: ModelSize::detect(parameter_size, model),
            max_context,
            sizes: sizes.filter(|size| size.nominal <= limit).collect(),
        }
    }

    /// The default size: 8K, or the largest below it.
    fn usual(&self) -> Option<&ContextSize> {
        self.sizes
            .iter()
            .rev()
            .find(|size| size.nominal <= USUAL_SIZE)
            .or(self.sizes.first())
    }
}

/// A request for a window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, from = "NumberOrText")]
pub enum WindowAsk {
    /// A number of tokens, used as given.
    Tokens(u32),
    /// A size of the model's profile, such as `"16K"`; case does not matter.
    Named(String),
}

impl From<NumberOrText> for WindowAsk {
    fn from(read: NumberOrText) -> Self {
        match read {
            NumberOrText::Number(tokens) => Self::Tokens(tokens),
            NumberOrText::Text(name) => Self::Named(name),
        }
    }
}

/// The window to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WindowSize {
    /// The tokens that are shown, sent as `num_ctx`, and the base of all shares.
    pub tokens: u32,
    /// The requested size in tokens, which decides the tier.
    pub nominal: u32,
    /// The window is a default for an unknown model.
    pub assumed: bool,
    /// The window is larger than the longest context of the model's training.
    pub above_model: bool,
}

impl WindowSize {
    /// The tier of this window.
    pub const fn tier(&self) -> Tier {
        Tier::of(self.nominal)
    }
}

/// The reason for which there is no window.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WindowError {
    /// The profile has no size with this name. Choose one of `known`, or give a number.
    #[error("there is no size {asked:?}; known sizes: {}", known.join(", "))]
    UnknownSize {
        /// The name in the request.
        asked: String,
        /// The names of the model's sizes.
        known: Vec<String>,
    },
    /// Not a whole number of tokens above zero.
    #[error("a window must be a whole number of tokens above 0, not {given}")]
    InvalidLimit {
        /// The value in the request.
        given: String,
    },
}

impl WindowError {
    /// A stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownSize { .. } => "unknown_size",
            Self::InvalidLimit { .. } => "invalid_limit",
        }
    }
}

/// Returns the window for a model.
///
/// A number is used as given, and a name by the model's profile (or by the standard sizes for an unknown model).
/// Without either, the result is the profile's default size, or [`ASSUMED_WINDOW`] with `assumed` for an unknown model.
pub fn resolve_window(
    profile: Option<&ModelProfile>,
    ask: Option<&WindowAsk>,
) -> Result<WindowSize, WindowError> {
    let most = profile.and_then(|p| p.max_context).unwrap_or(u32::MAX);
    let window = |tokens, nominal| WindowSize {
        tokens,
        nominal,
        assumed: false,
        above_model: tokens > most,
    };
    match ask {
        Some(WindowAsk::Tokens(0)) => Err(WindowError::InvalidLimit { given: "0".into() }),
        Some(WindowAsk::Tokens(tokens)) => Ok(window(*tokens, *tokens)),
        Some(WindowAsk::Named(name)) => {
            let sizes = profile.map_or_else(
                || STANDARD_SIZES.map(ContextSize::thousands).to_vec(),
                |profile| profile.sizes.clone(),
            );
            let same = |size: &&ContextSize| size.name.eq_ignore_ascii_case(name.trim());
            let found = sizes
                .iter()
                .find(same)
                .ok_or_else(|| WindowError::UnknownSize {
                    asked: name.clone(),
                    known: sizes.iter().map(|size| size.name.clone()).collect(),
                })?;
            Ok(window(found.ollama_context_size, found.nominal))
        }
        None => Ok(match (profile.and_then(ModelProfile::usual), profile) {
            (
                Some(size),
                Some(ModelProfile {
                    max_context: Some(_),
                    ..
                }),
            ) => window(size.ollama_context_size, size.nominal),
            // A model with less than the smallest size.
            (
                None,
                Some(ModelProfile {
                    max_context: Some(most),
                    ..
                }),
            ) if *most > 0 => window(*most, *most),
            _ => WindowSize {
                assumed: true,
                ..window(ASSUMED_WINDOW, ASSUMED_WINDOW)
            },
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(max: u32) -> ModelProfile {
        ModelProfile::new("llama3.2:3b", Some("3.2B"), Some(max))
    }

    fn named(name: &str) -> WindowAsk {
        WindowAsk::Named(name.into())
    }

    /// B1: 16K is 13,600 and 8K is 6,800; K = 1,000.
    #[test]
    fn named_sizes() {
        let profile = known(131_072);
        let check = |name: &str, tokens, nominal| {
            let window = resolve_window(Some(&profile), Some(&named(name))).unwrap();
            assert_eq!(
                (window.tokens, window.nominal, window.assumed),
                (tokens, nominal, false)
            );
        };
        check("4K", 3_400, 4_000);
        check("8K", 6_800, 8_000);
        check("16K", 13_600, 16_000);
        check(" 16k ", 13_600, 16_000);
        check("32K", 27_200, 32_000);
        check("128K", 108_800, 128_000);
    }

    /// B1, B2: a plain number is used as given, and is its own nominal size.
    #[test]
    fn numbers_as_given() {
        let window = resolve_window(None, Some(&WindowAsk::Tokens(8_192))).unwrap();
        assert_eq!(
            (window.tokens, window.tier(), window.assumed),
            (8_192, Tier::Basic, false)
        );
        let window = resolve_window(Some(&known(131_072)), Some(&named("16K"))).unwrap();
        assert_eq!(window.tier(), Tier::Standard);
    }

    /// B1: an unknown size is an error that names the known sizes.
    #[test]
    fn unknown_size() {
        let error = resolve_window(Some(&known(8_192)), Some(&named("16K"))).unwrap_err();
        assert_eq!(error.code(), "unknown_size");
        assert_eq!(
            error.to_string(),
            "there is no size \"16K\"; known sizes: 4K, 8K"
        );
        assert!(resolve_window(None, Some(&named("8192"))).is_err());
    }

    /// B1, F 40: an unknown model gets 4,096 and says that it is assumed.
    #[test]
    fn unknown_model() {
        let window = resolve_window(None, None).unwrap();
        assert_eq!((window.tokens, window.assumed), (4_096, true));
        let bare = ModelProfile::new("custom", None, None);
        let window = resolve_window(Some(&bare), None).unwrap();
        assert_eq!((window.tokens, window.assumed), (4_096, true));
        let window = resolve_window(None, Some(&named("16K"))).unwrap();
        assert_eq!((window.tokens, window.assumed), (13_600, false));
    }

    /// B1: a known model without a request gets 8K, or its largest size below it.
    #[test]
    fn usual_size() {
        let check = |max, tokens| {
            let window = resolve_window(Some(&known(max)), None).unwrap();
            assert_eq!((window.tokens, window.assumed), (tokens, false), "{max}");
        };
        check(131_072, 6_800);
        check(4_096, 3_400);
        check(2_048, 2_048);
    }

    /// F 33, F 35: zero is refused; a huge limit is flagged as above the model.
    #[test]
    fn limits() {
        assert!(resolve_window(None, Some(&WindowAsk::Tokens(0))).is_err());
        let huge = WindowAsk::Tokens(u32::MAX);
        let window = resolve_window(Some(&known(8_192)), Some(&huge)).unwrap();
        assert_eq!((window.tokens, window.above_model), (u32::MAX, true));
        let window = resolve_window(Some(&known(8_192)), Some(&WindowAsk::Tokens(8_192))).unwrap();
        assert!(!window.above_model);
    }
}
