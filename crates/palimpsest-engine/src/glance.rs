//! What a list of sessions shows of a window without reading the session.

use palimpsest_core::budget::SegmentKind;
use palimpsest_core::context::{Context, View};
use palimpsest_core::layer::Level;
use palimpsest_core::message::Role;
use palimpsest_core::model::{Penalty, Reliability, reliability};
use serde::{Deserialize, Serialize};

/// A window at one look, as it was at the last commit. About 100 bytes of a head.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Glance {
    /// Tokens of its parts in window order: system prompt with tools; goal with pins; layers that are essentials of
    /// essentials, essentials, shortened once, and as first written; recalled quotes; the user's words, the
    /// assistant's, and tool results.
    pub parts: [u32; 10],
    /// Layers in the window.
    pub layers: u32,
    /// Compactions so far.
    pub compactions: u32,
    /// Facts that are still there ÷ facts that were covered; `None` while nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<f64>,
}

const USER: usize = 7;
const ASSISTANT: usize = 8;
const TOOL: usize = 9;

impl Glance {
    pub(crate) fn of(context: &Context) -> Self {
        let view = context.view();
        let mut parts = [0; 10];
        for segment in context.budget().segments {
            let place = match segment.kind {
                SegmentKind::System | SegmentKind::Tools => 0,
                SegmentKind::Goal | SegmentKind::Pins => 1,
                SegmentKind::Layer { id } => {
                    let layer = view.layers.iter().find(|l| l.id == id);
                    match layer.map(|l| (l.level, l.rank)) {
                        Some((Level::Compact, 1..)) => 2,
                        Some((Level::Compact, 0)) => 3,
                        Some((Level::Moderate, _)) => 4,
                        Some((Level::Detailed, _)) | None => 5,
                    }
                }
                SegmentKind::Recalled => 6,
                SegmentKind::Quoted | SegmentKind::User | SegmentKind::Draft => USER,
                SegmentKind::Assistant => ASSISTANT,
                SegmentKind::Tool => TOOL,
            };
            parts[place] += segment.count.tokens;
        }
        Self {
            parts,
            layers: view.layers.len() as u32,
            compactions: view.compactions,
            kept: measured(view),
        }
    }

    /// A message comes to the end of the window.
    pub(crate) fn add(&mut self, role: Role, tokens: u32) {
        let place = match role {
            Role::System | Role::User => USER,
            Role::Assistant => ASSISTANT,
            Role::Tool => TOOL,
        };
        self.parts[place] = self.parts[place].saturating_add(tokens);
    }

    /// Tokens of the window.
    pub fn tokens(&self) -> u32 {
        self.parts.iter().copied().fold(0, u32::saturating_add)
    }

    /// The badge (G6), without the model's class.
    pub fn reliability(&self) -> Reliability {
        reliability(None, self.compactions, self.kept, Penalty::default())
    }
}

/// Facts that are still in the window ÷ facts that were covered, over the layers, each by what it stands for. `None`
/// while nothing was measured.
pub(crate) fn measured(view: &View) -> Option<f64> {
    let layers = || view.layers.iter().filter(|l| !l.notes.is_empty());
    let all: f64 = layers().map(|l| f64::from(l.original_tokens)).sum();
    let kept: f64 = layers()
        .map(|l| f64::from(l.original_tokens) * f64::from(l.retention))
        .sum();
    (all > 0.0).then(|| kept / all)
}
