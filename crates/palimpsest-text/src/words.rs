//! Words and sentences of every script and language, and their meaning for the modules above.
//!
//! - [`script`]: the characters that end a sentence, join, or need no spaces between words;
//! - [`segment`]: paragraphs, sentences, list items, code;
//! - [`terms`]: words as hashes, in one spelling;
//! - [`Language`]: the language of a text, and its small words;
//! - `cues`: words that announce a demand, a decision, a denial;
//! - `worth`: the probability that a sentence answers a later question.

pub(crate) mod cues;
mod language;
pub mod script;
pub mod segment;
pub mod terms;
pub(crate) mod vocabulary;
pub(crate) mod worth;

use std::hash::{BuildHasherDefault, Hasher};

pub(crate) use language::{Evidence, without_code};
pub use language::{Language, detect_language, small_word};

/// Keys are hashes already.
pub type Plain = BuildHasherDefault<Identity>;

/// Passes a `u64` through.
#[derive(Debug, Default, Clone, Copy)]
pub struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = terms::hash(bytes);
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }
}

/// The base-2 logarithm, linear between powers of two, and the same on every machine.
pub(crate) fn log2(n: u32) -> f32 {
    let n = n.max(1);
    let e = n.ilog2();
    e as f32 + (n - (1 << e)) as f32 / (1u32 << e) as f32
}
