//! How far a session can be trusted, as dots and as a word.

use crate::platform::el::{El, el};
use crate::text::{T, t};

/// A level of trust as a shape.
pub fn pips(level: u32) -> El {
    let shape: String = (1..=4)
        .map(|n| if n <= level { '▮' } else { '▯' })
        .collect();
    el("i")
        .class("pips")
        .attr("aria-hidden", "true")
        .child(shape)
}

/// The word for a level of trust; 5 is full.
pub fn level_name(level: u32) -> &'static str {
    t(match level {
        1 => T::TrustCritical,
        2 => T::TrustLow,
        3 => T::TrustMedium,
        4 => T::TrustHigh,
        _ => T::TrustFull,
    })
}
