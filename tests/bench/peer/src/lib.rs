//! Hugging Face's `tokenizers` behind the same border as ours, to be measured beside it.

use tokenizers::pipeline::{EncodeOptions, PipelineTokenizer};
use wasm_bindgen::prelude::*;

/// No random numbers are drawn while encoding; hash maps want some to begin with.
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(
    dest: *mut u8,
    len: usize,
) -> Result<(), getrandom::Error> {
    // SAFETY: the caller gives `len` bytes to be written.
    unsafe { dest.write_bytes(42, len) };
    Ok(())
}

/// A tokenizer, and room for texts.
#[wasm_bindgen]
pub struct Peer {
    tokenizer: PipelineTokenizer,
    room: Vec<u8>,
}

#[wasm_bindgen]
impl Peer {
    /// From a `tokenizer.json` of any version.
    #[wasm_bindgen(constructor)]
    pub fn new(json: &str) -> Result<Self, String> {
        let json = tokenizers::canonicalize_str(json).map_err(|e| e.to_string())?;
        Ok(Self {
            tokenizer: tokenizers::from_json(&json).map_err(|e| e.to_string())?,
            room: Vec::new(),
        })
    }

    /// Room for a text of up to so many bytes: its address. Valid until memory grows.
    pub fn room(&mut self, bytes: usize) -> *const u8 {
        if self.room.len() < bytes {
            self.room.resize(bytes, 0);
        }
        self.room.as_ptr()
    }

    /// Tokens of the text that was written into the room.
    pub fn count(&self, bytes: usize) -> Result<usize, String> {
        let text = std::str::from_utf8(&self.room[..bytes]).map_err(|e| e.to_string())?;
        let encoded = self.tokenizer.encode(text, &EncodeOptions::no_specials());
        let rows = encoded.wait().map_err(|e| e.to_string())?;
        Ok(rows.first().map_or(0, |row| row.len()))
    }
}
