//! The failures of engine, storage, models and files on their way to JavaScript.

use palimpsest_browser::vocabulary::NoVocabulary;
use palimpsest_core::request::ModelError;
use palimpsest_engine::ports::StoreError;
use palimpsest_engine::{EngineError, TransferError};
use palimpsest_text::json::ToJson as _;
use serde_json::json;

use crate::failure::Failure;

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        EngineError::from(error).into()
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        EngineError::from(error).into()
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let failure = Self::new(error.code(), error.to_string())
            .retryable(error.is_retryable())
            .with_details(error.numbers());
        match error {
            EngineError::WouldNotFit { choices, .. } => {
                failure.beside("choices", json!(choices).to_json())
            }
            EngineError::RolledOver { session } => {
                failure.beside("session", json!(session).to_json())
            }
            _ => failure,
        }
    }
}

impl From<TransferError> for Failure {
    fn from(error: TransferError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

impl From<NoVocabulary> for Failure {
    fn from(why: NoVocabulary) -> Self {
        match why {
            NoVocabulary::Server(error) => error.into(),
            NoVocabulary::Tokenizer(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use palimpsest_core::run::Refusal;
    use serde_json::Value;

    use super::*;

    /// P10, B9: what a caller can do about a failure comes with it.
    #[test]
    fn numbers_and_choices_come_along() {
        let check = |error: EngineError, code: &str, retryable: bool, more: Value| {
            let outline = Failure::from(error).outline();
            let mut expected = json!({"code": code, "retryable": retryable});
            for (name, value) in more.as_object().unwrap() {
                expected[name] = value.clone();
            }
            assert_eq!(outline, expected);
        };
        check(
            EngineError::WouldNotFit {
                tokens: 900,
                limit: 800,
                choices: vec![palimpsest_engine::RoomChoice::ShowAnyway { over: 100 }],
            },
            "would_not_fit",
            false,
            json!({"details": {"tokens": 900, "limit": 800}, "choices": [{"choice": "show_anyway", "over": 100}]}),
        );
        check(
            ModelError::Overflow {
                prompt: Some(710),
                window: None,
            }
            .into(),
            "overflow",
            false,
            json!({"details": {"prompt": 710}}),
        );
        check(
            ModelError::Busy {
                retry_after_ms: Some(2000),
            }
            .into(),
            "busy",
            true,
            json!({"details": {"retryAfterMs": 2000}}),
        );
        check(
            EngineError::RolledOver {
                session: "b".into(),
            },
            "rolled_over",
            false,
            json!({"session": "b"}),
        );
        check(StoreError::Quota.into(), "storage_quota", false, json!({}));
        check(
            EngineError::Refused(Refusal::NotWorth {
                before: 900,
                after: 880,
            }),
            "not_worth",
            false,
            json!({"details": {"before": 900, "after": 880}}),
        );
    }
}
