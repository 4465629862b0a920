//! The parts of the module that are loaded when something needs them.
//!
//! `wasm-split` follows every reference in the linked module: what only a part's table leads to is that part's, and one
//! direct call from elsewhere would put the code back into the main module. `npm/src/parts.ts` says where parts come from.

#![allow(
    clippy::unnecessary_wraps,
    reason = "the macro asks for a `Result` where a part may fail to load"
)]

mod session;
mod tokenizer;

use wasm_split_helpers::{SplitLoaderError, wasm_split};

use crate::failure::Failure;
use crate::tokenizer::TokenizerLoader;

/// Sessions, libraries and servers.
pub(crate) async fn session() -> Result<&'static session::Table, Failure> {
    #[wasm_split(session, fallible)]
    fn table() -> Result<&'static session::Table, SplitLoaderError> {
        Ok(&session::TABLE)
    }
    table().await.map_err(missing)
}

/// Reads a vocabulary.
type OpenTokenizer = fn(Option<Vec<u8>>, Option<&str>) -> Result<TokenizerLoader, Failure>;

/// Exact vocabularies.
pub(crate) async fn tokenizer() -> Result<OpenTokenizer, Failure> {
    #[wasm_split(tokenizer, fallible)]
    fn opener() -> Result<OpenTokenizer, SplitLoaderError> {
        Ok(tokenizer::open)
    }
    opener().await.map_err(missing)
}

/// The package's JavaScript loads a part before it calls, and says then why it could not.
fn missing(_: SplitLoaderError) -> Failure {
    Failure::new(
        "load_failed",
        "A part of the wasm module could not be loaded.",
    )
}
