//! Counts tokens.
//!
//! [`TokenCounter`] is the trait with which the rest of palimpsest counts. This crate has two implementations: an exact
//! [`Vocabulary`] of the model's own tokens, and a calibrated [`Estimator`] for models without one.
#![forbid(unsafe_code)]

mod assembly;
mod blocks;
mod cache;
mod calibration;
mod counter;
mod cut;
mod error;
mod estimator;
mod family;
mod features;
mod joins;
mod json;
mod loader;
mod pairs;
mod parts;
mod pre;
mod pretokenize;
mod snapshot;
mod specials;
mod tally;
mod unicode;
mod vocabulary;
mod weights;
mod words;

pub use assembly::Origin;
pub use calibration::{Calibration, Ignored, Reported, Verdict, Weigher, Weight};
pub use counter::{Count, CountRole, Overhead, Source, TokenCounter};
pub use error::Error;
pub use estimator::Estimator;
#[doc(hidden)]
pub use estimator::feature_counts;
pub use family::Family;
pub use json::Limits;
pub use loader::{Loader, Progress};
pub use pretokenize::Rules;
pub use specials::Specials;
pub use tally::Tally;
pub use vocabulary::{Trust, Vocabulary};
