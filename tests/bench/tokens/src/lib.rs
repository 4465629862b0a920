//! `palimpsest-tokens` behind the thinnest border there is, to be measured.

use palimpsest_tokens::{Estimator, Family, Loader, Progress, TokenCounter, Vocabulary};
use wasm_bindgen::prelude::*;

/// Bytes of work in one step.
const STEP: usize = 96 * 1024;

/// A vocabulary that loads in steps, then counts.
#[wasm_bindgen]
pub struct Vocab {
    loader: Option<Loader>,
    vocabulary: Option<Vocabulary>,
    /// Where the host writes texts.
    room: Vec<u8>,
}

#[wasm_bindgen]
impl Vocab {
    /// From `/api/show`.
    #[wasm_bindgen(js_name = fromShow)]
    pub fn from_show(bytes: &[u8]) -> Self {
        let mut loader = Loader::new();
        loader.push(bytes);
        loader.end();
        Self {
            loader: Some(loader),
            vocabulary: None,
            room: Vec::new(),
        }
    }

    /// From a snapshot.
    #[wasm_bindgen(js_name = fromSnapshot)]
    pub fn from_snapshot(bytes: &[u8]) -> Result<Self, String> {
        let loader = Loader::from_snapshot(bytes).map_err(|e| e.to_string())?;
        Ok(Self {
            loader: Some(loader),
            vocabulary: None,
            room: Vec::new(),
        })
    }

    /// One step. Whether all is done.
    pub fn step(&mut self) -> Result<bool, String> {
        let Some(loader) = &mut self.loader else {
            return Ok(true);
        };
        if loader.step(STEP).map_err(|e| e.to_string())? != Progress::Ready {
            return Ok(false);
        }
        let loader = self.loader.take().ok_or("loaded")?;
        self.vocabulary = Some(loader.finish().map_err(|e| e.to_string())?);
        Ok(true)
    }

    /// To be kept.
    pub fn snapshot(&self) -> Option<Vec<u8>> {
        self.vocabulary.as_ref()?.to_bytes()
    }

    /// Drops what only a snapshot needs.
    pub fn settle(&mut self) {
        self.vocabulary = self.vocabulary.take().map(Vocabulary::without_snapshot);
    }

    /// Room for a text of up to so many bytes: its address. Valid until memory grows.
    pub fn room(&mut self, bytes: usize) -> *const u8 {
        if self.room.len() < bytes {
            self.room.resize(bytes, 0);
        }
        self.room.as_ptr()
    }

    /// Tokens of the text that was written into the room.
    pub fn count(&self, bytes: usize) -> u32 {
        let text = self
            .room
            .get(..bytes)
            .and_then(|b| std::str::from_utf8(b).ok());
        match (&self.vocabulary, text) {
            (Some(vocabulary), Some(text)) => vocabulary.count(text),
            _ => 0,
        }
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.vocabulary.as_ref().map_or(0, Vocabulary::memory)
    }
}

fn estimator(family: &str) -> Estimator {
    Estimator::new(match family {
        "llama3" => Family::Llama3,
        "qwen" => Family::Qwen,
        "gpt4o" => Family::Gpt4o,
        "gemma" => Family::Gemma,
        _ => Family::Generic,
    })
}

/// An estimate with a family's weights.
#[wasm_bindgen]
pub fn estimate(family: &str, text: &str) -> u32 {
    estimator(family).count(text)
}

/// How far it may be off.
#[wasm_bindgen]
pub fn bound(family: &str, tokens: u32) -> u32 {
    estimator(family).bound(tokens)
}
