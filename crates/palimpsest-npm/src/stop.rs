use palimpsest_engine::ports::{Abort, Signal};
use wasm_bindgen::prelude::wasm_bindgen;

/// Ends what it was given to. An `AbortSignal` of the caller's calls it.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Stop(Abort);

#[wasm_bindgen]
impl Stop {
    /// A new, unused one.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends it. Again: no effect.
    pub fn stop(&self) {
        self.0.abort();
    }
}

impl Stop {
    pub(crate) fn signal(&self) -> Signal {
        self.0.signal()
    }
}
