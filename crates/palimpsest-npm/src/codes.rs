//! Every code that an error of the package can have. A caller branches on it.
//!
//! This table is the only list: the TypeScript union is written from it, and a test looks up the codes of every error type of
//! the workspace.

use wasm_bindgen::prelude::wasm_bindgen;

/// The table, and the union of its codes for TypeScript. A code is never renamed.
macro_rules! codes {
    ($($code:literal $again:ident,)*) => {
        /// Every code, and whether the same call may succeed later, where the error itself does not say.
        pub const CODES: &[(&str, bool)] = &[$(($code, again!($again)),)*];

        /// The union in TypeScript.
        #[cfg_attr(
            not(test),
            allow(dead_code, reason = "wasm-bindgen copies the text while it compiles")
        )]
        const UNION: &str = concat!(
            "/** Every code an error of palimpsest can have. Branch on it. */\nexport type ErrorCode =",
            $("\n  | \"", $code, "\"",)*
            ";\n"
        );

        #[wasm_bindgen(typescript_custom_section)]
        const TYPES: &str = UNION;
    };
}

macro_rules! again {
    (later) => {
        true
    };
    (never) => {
        false
    };
}

codes! {
    // the package itself
    "not_initialized" never,
    "load_failed" later,
    "engine_crashed" never,
    "invalid_options" never,
    "closed" never,
    // lists of messages, policies, windows
    "bad_input" never,
    "empty_record" never,
    "records_too_large" never,
    "message_too_large" never,
    "cannot_fit" never,
    "invalid_window" never,
    "invalid_policy" never,
    "unknown_policy" never,
    "not_found" never,
    "egress" never,
    // saved conversations
    "saved_newer" never,
    "saved_damaged" never,
    // why a compaction changed nothing
    "nothing_to_compress" never,
    "nothing_compressible" never,
    "not_worth" never,
    "model_failed" later,
    "cancelled" never,
    // vocabularies
    "tokenizer_absent" never,
    "tokenizer_unknown" never,
    "tokenizer_too_large" never,
    "tokenizer_malformed" never,
    "tokenizer_incomplete" later,
    "tokenizer_other_version" never,
    "tokenizer_failed" never,
    // sessions
    "no_model" never,
    "busy" later,
    "no_session" never,
    "nothing_to_undo" never,
    "nothing_to_continue" never,
    "would_not_fit" never,
    "cannot_shrink" never,
    "rolled_over" never,
    // storage
    "session_busy" never,
    "superseded" never,
    "row_exists" never,
    "storage_quota" never,
    "storage_newer" never,
    "storage_unavailable" never,
    "storage_corrupt" never,
    "storage_failed" never,
    // settings
    "unknown_setting" never,
    "unknown_profile" never,
    "invalid_setting" never,
    // goals
    "goal_too_large" never,
    "goal_empty_text" never,
    "goal_unknown_item" never,
    "decision_locked" never,
    "goal_too_many_items" never,
    // files
    "unknown_file" never,
    "damaged_file" never,
    "newer_file" never,
    // models
    "unreachable" never,
    "forbidden" never,
    "unauthorized" never,
    "model_missing" never,
    "overflow" never,
    "not_supported" never,
    "bad_request" never,
    "server_failed" never,
    "bad_response" never,
    "truncated" never,
    "too_long" never,
    "prompt_truncated" never,
    "timed_out" never,
    "aborted" never,
    // the mounted app
    "already_mounted" never,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The codes that a source file names in each `code()`.
    fn named(source: &str) -> Vec<&str> {
        source
            .split("fn code(")
            .skip(1)
            .flat_map(|body| {
                let body = &body[..body.find("\n    }\n").expect("it ends")];
                body.split("=> \"")
                    .skip(1)
                    .filter_map(|rest| rest.split('"').next())
            })
            .collect()
    }

    /// I10: every code of every error type that can reach JavaScript is in the table, once.
    #[test]
    fn the_table_holds_every_code() {
        let sources = [
            include_str!("../../palimpsest-core/src/error.rs"),
            include_str!("../../palimpsest-core/src/data/refusal.rs"),
            include_str!("../../palimpsest-core/src/data/goal/edit.rs"),
            include_str!("../../palimpsest-core/src/data/request.rs"),
            include_str!("../../palimpsest-tokens/src/error.rs"),
            include_str!("../../palimpsest-engine/src/error.rs"),
            include_str!("../../palimpsest-engine/src/ports/store.rs"),
            include_str!("../../palimpsest-engine/src/config.rs"),
            include_str!("../../palimpsest-engine/src/transfer.rs"),
        ];
        for source in sources {
            let codes = named(source);
            assert!(codes.len() >= 3, "{codes:?}");
            for code in codes {
                assert!(
                    CODES.iter().any(|(known, _)| *known == code),
                    "{code} is not in the table"
                );
            }
        }
        let mut names: Vec<&str> = CODES.iter().map(|(code, _)| *code).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CODES.len());
    }

    /// I10: the union of the types names the same codes in the same order.
    #[test]
    fn the_union_is_the_table() {
        let union: Vec<&str> = UNION
            .split("  | \"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .collect();
        let names: Vec<&str> = CODES.iter().map(|(code, _)| *code).collect();
        assert_eq!(union, names);
    }
}
