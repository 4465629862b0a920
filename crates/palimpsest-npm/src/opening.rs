//! The exports that need a part: each has it loaded, and calls into it.

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::failure::Failure;
use crate::host::Host;
use crate::parts;
use crate::session::{Library, Server, Session};
use crate::tokenizer::{Calibrator, TokenizerLoader};
use crate::transcripts::{Replayer, Transcripts};

/// Opens a session: options, and what the host offers.
#[wasm_bindgen]
pub async fn open(
    #[wasm_bindgen(unchecked_param_type = "Border.Opening")] given: JsValue,
    #[wasm_bindgen(unchecked_param_type = "SessionHost")] host: Host,
) -> Result<Session, Failure> {
    (parts::session().await?.open)(given, host).await
}

/// Opens a library: options, and what the host offers.
#[wasm_bindgen]
pub async fn library(
    #[wasm_bindgen(unchecked_param_type = "Border.OpeningLibrary")] given: JsValue,
    #[wasm_bindgen(unchecked_param_type = "SessionHost")] host: Host,
) -> Result<Library, Failure> {
    (parts::session().await?.library)(given, host).await
}

/// The server of an address, `{ protocol, url, key? }`.
#[wasm_bindgen]
pub async fn server(
    #[wasm_bindgen(unchecked_param_type = "Border.Address")] address: JsValue,
) -> Result<Server, Failure> {
    (parts::session().await?.server)(address)
}

/// Begins to read a vocabulary: from a snapshot, or from bytes that are pushed. `origin` says who described it: nothing for
/// Ollama, else `listed` or `wholeWords` (a `tokenizer.json`), or `ranks` (tiktoken).
#[wasm_bindgen(js_name = tokenizerLoader)]
pub async fn tokenizer_loader(
    snapshot: Option<Vec<u8>>,
    origin: Option<String>,
) -> Result<TokenizerLoader, Failure> {
    (parts::tokenizer().await?.open)(snapshot, origin.as_deref())
}

/// Begins to learn from counts: with the family of a model's name, or from what was saved.
#[wasm_bindgen]
pub async fn calibrator(
    model: Option<String>,
    saved: Option<String>,
) -> Result<Calibrator, Failure> {
    (parts::tokenizer().await?.calibrator)(model, saved)
}

/// Opens the way to reading and measuring transcripts.
#[wasm_bindgen]
pub async fn transcripts() -> Result<Transcripts, Failure> {
    Ok((parts::transcripts().await?)())
}

/// Opens the way to replaying a conversation.
#[wasm_bindgen]
pub async fn replayer() -> Result<Replayer, Failure> {
    Ok((parts::replay().await?)())
}
