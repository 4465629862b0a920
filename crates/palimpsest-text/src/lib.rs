//! Reads text and says what is in it.
//!
//! This is the lowest stratum: text goes in; facts, rules, excerpts and shortened tool output come
//! out. Nothing here knows a conversation, a window or a budget of tokens; `palimpsest-core`
//! decides with what this crate finds.
//!
//! - `languages`: what each language contributes, as tables;
//! - [`words`]: words, sentences and languages; all below stand on it;
//! - [`retention`]: the facts of a text, the rules in it, and what of them another text still holds;
//! - [`standing`]: how certain it is that a sentence is an instruction for the rest of the conversation;
//! - [`extractive`]: the best sentences of a text, without a model;
//! - [`survival`]: what of the texts of a conversation stands in another text, as the benches and the package measure it;
//! - [`condense`]: tool output, shortened by its kind;
//! - [`time`]: times as text, there and back;
//! - [`fence`], [`glob`], [`json`], [`order`], [`sorted`]: what the others and the crates above them stand on.
#![forbid(unsafe_code)]
pub mod condense;
pub mod extractive;
pub mod fence;
pub mod glob;
#[cfg(test)]
mod goldens;
pub mod json;
pub(crate) mod languages;
pub mod order;
pub mod recall;
pub mod retention;
pub mod sorted;
pub mod standing;
pub mod survival;
pub mod time;
pub mod words;
