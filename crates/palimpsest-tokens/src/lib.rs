//! Token counts.
//!
//! [`TokenCounter`] is what the rest of palimpsest counts with. Implementations: an exact one
//! with the model's own vocabulary, and a calibrated [`Estimator`] for when there is none.
#![forbid(unsafe_code)]

mod counter;
mod estimator;
mod family;
mod features;
mod pre;
mod pretokenize;
mod unicode;
mod weights;

pub use counter::{Count, CountRole, Overhead, Source, TokenCounter};
pub use estimator::Estimator;
#[doc(hidden)]
pub use estimator::feature_counts;
pub use family::Family;
pub use pretokenize::Rules;
