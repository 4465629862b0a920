//! The class that reads a vocabulary, as JavaScript sees it. Its code is the part `tokenizer`.

use wasm_bindgen::prelude::wasm_bindgen;

use crate::class::calls;
use crate::failure::Failure;
use crate::lists::count::Counter;

/// Reads a vocabulary in slices: from the answer of Ollama's `/api/show` with `verbose`, or from a snapshot.
#[wasm_bindgen]
pub struct TokenizerLoader(pub(crate) Box<dyn Loading>);

calls! {
    /// What reading a vocabulary takes.
    TokenizerLoader by Loading {
        /// Adds bytes of the answer.
        fn push(bytes: &[u8]);
        /// Says that there are no more bytes.
        fn end();
        /// Works for about so many bytes. Whether `finish` may be called.
        fn step(budget: u32) -> Result<bool, Failure>;
        /// The counter. Once.
        fn finish() -> Result<Counter, Failure>;
    }
}
