//! A layer as the page shows it.

use crate::context::data::budget::Age;

/// A summary that stands for a range of messages in the window.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LayerView {
    /// The engine's number of this form.
    pub id: u32,
    /// The number of the compaction that first wrote it; what people see.
    pub number: u32,
    /// How far it has faded.
    pub age: Age,
    /// The ranges it covers, both ends included, oldest first.
    pub covers: Vec<(u32, u32)>,
    /// The summary, with the facts carried word for word after it.
    pub text: String,
    /// Facts carried word for word because the summary missed them.
    pub ledger: Vec<String>,
    /// Its tokens now.
    pub tokens: u32,
    /// Tokens of what it covers.
    pub original: u32,
    /// The model that wrote it; `None`: the built-in summariser, or a person.
    pub author: Option<String>,
    /// Whether a person wrote it.
    pub by_person: bool,
    /// Decisions that were found in what it covers.
    pub decisions: Vec<String>,
    /// Files that tools wrote there, or that were named.
    pub files: Vec<String>,
    /// Next steps that were found there.
    pub steps: Vec<String>,
    /// Facts that are in no part of the window.
    pub dropped: Vec<String>,
}

impl LayerView {
    /// Whether it stands for the message `seq`.
    pub fn covers(&self, seq: u32) -> bool {
        self.covers
            .iter()
            .any(|(from, to)| (*from..=*to).contains(&seq))
    }

    /// Its text as a person edits it: the summary, and each fact that is carried beside it as a line.
    pub fn whole(&self) -> String {
        let mut text = self.text.clone();
        for fact in &self.ledger {
            text.push_str("\n* ");
            text.push_str(fact);
        }
        text
    }

    /// First and last message it covers.
    pub fn range(&self) -> (u32, u32) {
        (
            self.covers.iter().map(|c| c.0).min().unwrap_or(0),
            self.covers.iter().map(|c| c.1).max().unwrap_or(0),
        )
    }
}

/// Who is to write a layer's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    /// The model that the settings name.
    Model,
    /// The built-in summariser.
    BuiltIn,
}

/// The height of a layer's band in pixels: its tokens against those of the largest, 40 at most, so
/// that fading is seen as thinning.
pub fn band(tokens: u32, largest: u32) -> u32 {
    (tokens * 40)
        .checked_div(largest.max(1))
        .unwrap_or(0)
        .clamp(4, 40)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn height_is_tokens() {
        assert_eq!([402, 196, 98, 1].map(|t| band(t, 402)), [40, 19, 9, 4]);
    }
}
