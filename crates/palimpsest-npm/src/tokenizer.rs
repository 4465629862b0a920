//! The classes that read a vocabulary and learn from counts, as JavaScript sees them. Their code is the part `tokenizer`.

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

/// What was learned about one model's counts.
#[wasm_bindgen]
pub struct Calibrator(pub(crate) Box<dyn Learning>);

calls! {
    /// What learning from counts takes.
    Calibrator by Learning {
        /// What was learned, as JSON text.
        fn save() -> Result<String, Failure>;
        /// Learns from the tokens that a provider counted for a list of messages with its tools, in a window of so many tokens (0 if
        /// that is not known). `learned`, `ignored` or `truncated`.
        fn observe(
            messages: &str,
            tools: Option<String>,
            dialect: Option<String>,
            tokens: u32,
            window: u32,
        ) -> Result<String, Failure>;
        /// An estimator with what was learned so far.
        fn counter() -> Counter;
    }
}
