//! Measures the hidden part of tool calls and results, by tool (W5). It shows how much of a conversation is tool
//! output.

use std::collections::BTreeMap;

use palimpsest_text::sorted::SortedMap;
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::data::message::Part;
use crate::data::rendition::Rendition;

/// The tool blocks of one tool, or of all tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ToolFigures {
    /// The tool. Empty if a result names none and answers no call.
    pub tool: String,
    /// The number of calls and results in the conversation.
    pub blocks: u32,
    /// The number of those that are not shown at all.
    pub removed: u32,
    /// The tokens of their original form.
    pub said: u32,
    /// The tokens of their shown form.
    pub shown: u32,
}

impl ToolFigures {
    /// The tokens that are not shown.
    pub const fn saved(&self) -> u32 {
        self.said.saturating_sub(self.shown)
    }

    /// The share of the tokens that is not shown, 0 to 1.
    pub fn ratio(&self) -> f32 {
        if self.said == 0 {
            return 0.0;
        }
        self.saved() as f32 / self.said as f32
    }

    fn add(&mut self, said: u32, shown: Option<u32>) {
        self.blocks += 1;
        self.removed += u32::from(shown.is_none());
        self.said = self.said.saturating_add(said);
        self.shown = self.shown.saturating_add(shown.unwrap_or(0));
    }
}

/// The figures of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Analytics {
    /// By tool, the one that saves most first.
    pub tools: Vec<ToolFigures>,
    /// All tools.
    pub total: ToolFigures,
}

impl Analytics {
    /// Counts the shown part of tool calls and results. Content under a layer is not shown.
    pub fn of(context: &Context) -> Self {
        let counter = context.counter.as_ref();
        let mut by_tool: SortedMap<String, ToolFigures> = SortedMap::new();
        let mut names: BTreeMap<&str, &str> = BTreeMap::new();
        let mut total = ToolFigures::default();
        for entry in context.entries.iter() {
            let message = &entry.message;
            let now = match context.view.rendition(message.seq) {
                Rendition::Covered(_) => Some(&[][..]),
                Rendition::Reduced(r) => Some(r.parts.as_slice()),
                Rendition::Verbatim => None,
            };
            let mut used = vec![false; now.map_or(0, <[Part]>::len)];
            for part in &message.parts {
                let tool = match part {
                    Part::ToolCall { id, name, .. } => {
                        names.insert(id, name);
                        name.as_str()
                    }
                    Part::ToolResult { call, name, .. } => name
                        .as_deref()
                        .or_else(|| names.get(call.as_str()).copied())
                        .unwrap_or(""),
                    _ => continue,
                };
                let said = part.tokens(counter);
                let shown = match now {
                    None => Some(said),
                    Some(parts) => (0..parts.len())
                        .find(|&p| !used[p] && is_same_block(part, &parts[p]))
                        .map(|p| {
                            used[p] = true;
                            parts[p].tokens(counter)
                        }),
                };
                let figures = by_tool
                    .entry(tool.to_owned())
                    .or_insert_with(|| ToolFigures {
                        tool: tool.to_owned(),
                        ..ToolFigures::default()
                    });
                figures.add(said, shown);
                total.add(said, shown);
            }
        }
        let mut tools: Vec<ToolFigures> = by_tool.into_values().collect();
        palimpsest_text::order::sort_by_key(&mut tools, |t| std::cmp::Reverse(t.saved()));
        Self { tools, total }
    }
}

/// Returns `true` if a shown part is that call or result in any form.
fn is_same_block(said: &Part, shown: &Part) -> bool {
    match (said, shown) {
        (Part::ToolCall { id: a, .. }, Part::ToolCall { id: b, .. })
        | (Part::ToolResult { call: a, .. }, Part::ToolResult { call: b, .. }) => a == b,
        _ => false,
    }
}
