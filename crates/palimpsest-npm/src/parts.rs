//! The parts of the module that are loaded when something needs them.
//!
//! `wasm-split` follows every reference in the linked module: what only a part's table leads to is that part's, and one
//! direct call from elsewhere would put the code back into the main module. `npm/src/parts.ts` says where parts come from.

#![allow(
    clippy::unnecessary_wraps,
    reason = "the macro asks for a `Result` where a part may fail to load"
)]

mod replay;
mod session;
mod tokenizer;
mod transcripts;

use wasm_split_helpers::{SplitLoaderError, wasm_split};

use crate::failure::Failure;
use crate::transcripts::{Replayer, Transcripts};

/// Sessions, libraries and servers.
pub(crate) async fn session() -> Result<&'static session::Table, Failure> {
    #[wasm_split(session, fallible)]
    fn table() -> Result<&'static session::Table, SplitLoaderError> {
        Ok(&session::TABLE)
    }
    table().await.map_err(missing)
}

/// Exact vocabularies, and what is learned from counts.
pub(crate) async fn tokenizer() -> Result<&'static tokenizer::Table, Failure> {
    #[wasm_split(tokenizer, fallible)]
    fn table() -> Result<&'static tokenizer::Table, SplitLoaderError> {
        Ok(&tokenizer::TABLE)
    }
    table().await.map_err(missing)
}

/// Opens the way to what is done with transcripts.
type OpenTranscripts = fn() -> Transcripts;

/// Transcripts: reading and measuring.
pub(crate) async fn transcripts() -> Result<OpenTranscripts, Failure> {
    #[wasm_split(transcripts, fallible)]
    fn opener() -> Result<OpenTranscripts, SplitLoaderError> {
        Ok(transcripts::open)
    }
    opener().await.map_err(missing)
}

/// Opens the way to replay.
type OpenReplayer = fn() -> Replayer;

/// Replaying.
pub(crate) async fn replay() -> Result<OpenReplayer, Failure> {
    #[wasm_split(replay, fallible)]
    fn opener() -> Result<OpenReplayer, SplitLoaderError> {
        Ok(replay::open)
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
