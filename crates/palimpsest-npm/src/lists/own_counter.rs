//! Counting with a function of the caller's.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use js_sys::Function;
use palimpsest_tokens::{Overhead, Source, TokenCounter};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::lists::count::Counter;

/// Bytes of texts whose counts are kept. A text beyond them empties the cache.
const KEPT: usize = 8 << 20;

/// Texts whose counts tell one function from another.
const PROBES: [&str; 4] = [
    "The quick brown fox, 12345 times.",
    "fn main() { println!(\"{}\", a + b); }",
    "Größe, naïve, Привет, 上下文压缩",
    "    \n\n\t{\"key\": [1.5, null]}",
];

/// Counts with a function of the caller's, each text once.
struct OwnCounter {
    count: Function,
    source: Source,
    /// Counts by text.
    known: RefCell<HashMap<Box<str>, u32>>,
    /// Bytes of the texts in `known`.
    bytes: RefCell<usize>,
    epoch: u64,
}

impl OwnCounter {
    fn new(count: Function, source: Source) -> Self {
        let mut counter = Self {
            count,
            source,
            known: RefCell::default(),
            bytes: RefCell::default(),
            epoch: 0,
        };
        // stored counts are used again by a counter that counts alike, also in another process
        counter.epoch = PROBES.iter().fold(0, |epoch: u64, text| {
            (epoch ^ u64::from(counter.count(text)))
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(23)
        });
        counter
    }

    /// Asks the function. Where it fails it answers no number, and its caller ends with its error: nothing that was counted
    /// then is used, nor kept.
    fn ask(&self, text: &str) -> Option<u32> {
        let answer = self.count.call1(&JsValue::NULL, &text.into()).ok()?;
        let tokens = answer.as_f64().filter(|n| n.is_finite())?;
        // rounds down and ends at the limits of u32
        Some(tokens as u32)
    }
}

impl TokenCounter for OwnCounter {
    fn count(&self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        if let Some(tokens) = self.known.borrow().get(text) {
            return *tokens;
        }
        // no borrow is held while the caller's function runs
        let Some(tokens) = self.ask(text) else {
            return 0;
        };
        let mut known = self.known.borrow_mut();
        let mut bytes = self.bytes.borrow_mut();
        if *bytes + text.len() > KEPT {
            known.clear();
            *bytes = 0;
        }
        *bytes += text.len();
        known.insert(text.into(), tokens);
        tokens
    }

    fn source(&self) -> Source {
        self.source
    }

    /// 0 for a function that counts as the model does, else one per cent.
    fn bound(&self, tokens: u32) -> u32 {
        match self.source {
            Source::Exact => 0,
            Source::Measured | Source::Estimated => tokens.div_ceil(100),
        }
    }

    fn overhead(&self) -> Overhead {
        Overhead::default()
    }

    /// A function knows texts, and no template.
    fn template_bound(&self, messages: u32) -> u32 {
        messages.saturating_mul(3).saturating_add(8)
    }

    fn epoch(&self) -> u64 {
        self.epoch
    }
}

#[wasm_bindgen]
impl Counter {
    /// Counts with a function from a text to a number of tokens, which is said to count exactly.
    #[wasm_bindgen(js_name = ownExact)]
    pub fn own_exact(count: Function) -> Self {
        Self(Rc::new(OwnCounter::new(count, Source::Exact)), None)
    }

    /// The same with a function that comes close.
    #[wasm_bindgen(js_name = ownEstimate)]
    pub fn own_estimate(count: Function) -> Self {
        Self(Rc::new(OwnCounter::new(count, Source::Estimated)), None)
    }
}
