//! The report of a call.

use palimpsest_tokens::Count;
use serde::{Deserialize, Serialize};

use crate::data::layer::Span;
use crate::data::message::Seq;
use crate::data::record::FoundDemand;
use crate::pass::Shed;
use palimpsest_text::retention::Facts;

/// What a call did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CompactReport {
    /// Whether the list came back changed.
    pub changed: bool,
    /// Tokens of the list as it was given, tools included.
    pub before: Count,
    /// Tokens of the list that came back, tools included.
    pub after: Count,
    /// The most it may hold.
    pub limit: u32,
    /// Layers in the result.
    pub layers: u32,
    /// Messages that are not shown any more, as ranges of positions.
    pub covered: Vec<Span>,
    /// Positions of the user's messages that stand word for word in the slot.
    pub quoted: Vec<Seq>,
    /// Positions of the user's messages of which an excerpt stands in the slot, or since this call in their own place.
    pub shortened: Vec<Seq>,
    /// The user's demands that were found in covered messages, with the positions of those messages. They stand where the
    /// policy says.
    pub demands: Vec<FoundDemand>,
    /// Positions of the user's messages that stood word for word before this call, of which neither the words nor an
    /// excerpt stand now.
    pub summarised: Vec<Seq>,
    /// Positions of the covered messages of which passages are quoted before the user's last message. A message may be
    /// there more than once.
    pub recalled: Vec<Seq>,
    /// Tokens that those quotes added; 0 if they stood in the given list already.
    pub recalled_tokens: u32,
    /// What each pass took, in the order in which they ran. The tokens of all together are `before` less `after`, with
    /// `recalledTokens` on top.
    pub passes: Vec<Shed>,
    /// What became of the facts of what this call took out or shortened. With a state: since the call that gave it.
    pub facts: Facts,
    /// Facts found in the result ÷ facts of what this call took out or shortened; 1 if it took nothing.
    pub retention: f32,
    /// Whether something left without a trace in the result: see [`crate::loss::Loss::lossy`].
    pub lossy: bool,
    /// Facts that nothing in the result leads back to, the most important class first; at most [`crate::loss::MOST_NAMED`].
    /// `facts` says how many there were.
    pub dropped: Vec<String>,
    /// What was done beside summarising.
    pub adjustments: Vec<String>,
    /// A stable name for each of the adjustments, in their order.
    pub codes: Vec<String>,
}
