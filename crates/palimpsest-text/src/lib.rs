//! Reads text and finds the information in it.
//!
//! This is the lowest stratum: text goes in; facts, rules, excerpts and shortened tool output come out. No module here
//! knows a conversation, a window or a budget of tokens; `palimpsest-core` decides with the findings of this crate.
//!
//! - `languages`: the data of each language, as tables;
//! - [`words`]: words, sentences and languages, the base of everything below;
//! - [`retention`]: the facts and rules of a text, and those that another text still holds;
//! - [`standing`]: the certainty that a sentence is an instruction for the rest of the conversation;
//! - [`extractive`]: the best sentences of a text, without a model;
//! - [`survival`]: the share of a conversation that another text holds, as the benches and the package measure it;
//! - [`condense`]: tool output, shortened by its kind;
//! - [`time`]: times as text, in both directions;
//! - [`fence`], [`glob`], [`json`], [`order`], [`sorted`]: tools for the other modules and the crates above.
#![forbid(unsafe_code)]
pub mod condense;
pub mod extractive;
pub mod fence;
pub mod glob;
#[cfg(test)]
mod goldens;
pub mod json;
pub(crate) mod languages;
pub mod number;
pub mod order;
pub mod recall;
pub mod retention;
pub mod sorted;
pub mod standing;
pub mod survival;
pub mod time;
pub mod words;
