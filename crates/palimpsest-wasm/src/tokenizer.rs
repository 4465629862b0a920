use std::cell::RefCell;
use std::rc::Rc;

use palimpsest_tokens::{Loader, Origin, Progress};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::count::Counter;
use crate::error::Failure;

/// Loads a vocabulary from the answer of Ollama's `/api/show` with `verbose`, in slices.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct TokenizerLoader(RefCell<Option<Loader>>);

#[wasm_bindgen]
impl TokenizerLoader {
    /// An empty one.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self(RefCell::new(Some(Loader::new())))
    }

    /// An empty one for what was made of a `tokenizer.json`.
    pub fn listed() -> Self {
        Self::of(Origin::Listed)
    }

    /// The same, where a word that is a token is never merged.
    #[wasm_bindgen(js_name = wholeWords)]
    pub fn whole_words() -> Self {
        Self::of(Origin::WholeWords)
    }

    /// An empty one for what was made of tiktoken's ranks.
    pub fn ranks() -> Self {
        Self::of(Origin::Ranks)
    }

    /// One that reads a snapshot instead: nothing is pushed to it.
    #[wasm_bindgen(js_name = fromSnapshot)]
    pub fn from_snapshot(bytes: &[u8]) -> Result<Self, JsValue> {
        let loader = Loader::from_snapshot(bytes).map_err(Failure::from)?;
        Ok(Self(RefCell::new(Some(loader))))
    }

    /// Adds bytes of the answer.
    pub fn push(&self, bytes: &[u8]) {
        if let Some(loader) = self.0.borrow_mut().as_mut() {
            loader.push(bytes);
        }
    }

    /// Says that there are no more bytes.
    pub fn end(&self) {
        if let Some(loader) = self.0.borrow_mut().as_mut() {
            loader.end();
        }
    }

    /// Works for about so many bytes. Whether [`Self::finish`] may be called.
    pub fn step(&self, budget: u32) -> Result<bool, JsValue> {
        let progress = match self.0.borrow_mut().as_mut() {
            Some(loader) => loader.step(budget as usize).map_err(Failure::from)?,
            None => return Err(over().into()),
        };
        Ok(progress == Progress::Ready)
    }

    /// The counter. Once.
    pub fn finish(&self) -> Result<Counter, JsValue> {
        let loader = self.0.borrow_mut().take().ok_or_else(over)?;
        let vocabulary = Rc::new(loader.finish().map_err(Failure::from)?);
        Ok(Counter(Rc::clone(&vocabulary) as _, Some(vocabulary)))
    }
}

impl TokenizerLoader {
    fn of(origin: Origin) -> Self {
        Self(RefCell::new(Some(Loader::new().of(origin))))
    }
}

fn over() -> Failure {
    Failure::new("closed", "This tokenizer has been loaded already.")
}
