//! The numbers of a window that a list of sessions shows without reading the session.

use palimpsest_core::budget::SegmentKind;
use palimpsest_core::context::{Context, View};
use palimpsest_core::layer::Level;
use palimpsest_core::message::Role;
use palimpsest_core::model::{Penalty, Reliability, reliability};
use serde::{Deserialize, Serialize};

/// A summary of the window at the last commit. It takes about 100 bytes of the head.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Glance {
    /// The tokens of the window's parts.
    pub parts: Parts,
    /// The number of layers in the window.
    pub layers: u32,
    /// The number of compactions so far.
    pub compactions: u32,
    /// The facts that are still there divided by the facts that were covered, 0 to 1. `None` if nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<f64>,
}

/// The tokens of a window's parts, in window order. They are stored as ten numbers in the order of the fields.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u32; 10]", into = "[u32; 10]")]
pub struct Parts {
    /// System prompt and tool definitions.
    pub system: u32,
    /// Goal and pins.
    pub goal: u32,
    /// Layers of essentials that were made from essentials.
    pub ancient: u32,
    /// Layers of essentials.
    pub old: u32,
    /// Layers that were shortened once.
    pub aged: u32,
    /// Layers as first written.
    pub fresh: u32,
    /// Recalled quotes.
    pub recalled: u32,
    /// The user's messages, quoted ones included.
    pub user: u32,
    /// The assistant's messages.
    pub assistant: u32,
    /// Tool results.
    pub tool: u32,
}

impl From<[u32; 10]> for Parts {
    fn from(parts: [u32; 10]) -> Self {
        let [
            system,
            goal,
            ancient,
            old,
            aged,
            fresh,
            recalled,
            user,
            assistant,
            tool,
        ] = parts;
        Self {
            system,
            goal,
            ancient,
            old,
            aged,
            fresh,
            recalled,
            user,
            assistant,
            tool,
        }
    }
}

impl From<Parts> for [u32; 10] {
    fn from(p: Parts) -> Self {
        [
            p.system,
            p.goal,
            p.ancient,
            p.old,
            p.aged,
            p.fresh,
            p.recalled,
            p.user,
            p.assistant,
            p.tool,
        ]
    }
}

impl Glance {
    pub(crate) fn of(context: &Context) -> Self {
        let view = context.view();
        let mut parts = Parts::default();
        for segment in context.budget().segments {
            let part = match segment.kind {
                SegmentKind::System | SegmentKind::Tools => &mut parts.system,
                SegmentKind::Goal | SegmentKind::Pins => &mut parts.goal,
                SegmentKind::Layer { id } => {
                    let layer = view.layers.iter().find(|l| l.id == id);
                    match layer.map(|l| (l.level, l.rank)) {
                        Some((Level::Compact, 1..)) => &mut parts.ancient,
                        Some((Level::Compact, 0)) => &mut parts.old,
                        Some((Level::Moderate, _)) => &mut parts.aged,
                        Some((Level::Detailed, _)) | None => &mut parts.fresh,
                    }
                }
                SegmentKind::Recalled => &mut parts.recalled,
                SegmentKind::Quoted | SegmentKind::User | SegmentKind::Draft => &mut parts.user,
                SegmentKind::Assistant => &mut parts.assistant,
                SegmentKind::Tool => &mut parts.tool,
            };
            *part += segment.count.tokens;
        }
        Self {
            parts,
            layers: view.layers.len() as u32,
            compactions: view.compactions,
            kept: measured(view),
        }
    }

    /// Adds a message at the end of the window.
    pub(crate) fn add(&mut self, role: Role, tokens: u32) {
        let part = match role {
            Role::System | Role::User => &mut self.parts.user,
            Role::Assistant => &mut self.parts.assistant,
            Role::Tool => &mut self.parts.tool,
        };
        *part = part.saturating_add(tokens);
    }

    /// Tokens of the window.
    pub fn tokens(&self) -> u32 {
        let parts = <[u32; 10]>::from(self.parts);
        parts.into_iter().fold(0, u32::saturating_add)
    }

    /// The reliability badge (G6), without the model's class.
    pub fn reliability(&self) -> Reliability {
        reliability(None, self.compactions, self.kept, Penalty::default())
    }
}

/// The facts that are still in the window divided by the facts that were covered: the mean over the layers, weighted by
/// the tokens that each covers. `None` if nothing was measured.
pub(crate) fn measured(view: &View) -> Option<f64> {
    let layers = || view.layers.iter().filter(|l| !l.notes.is_empty());
    let all: f64 = layers().map(|l| f64::from(l.original_tokens)).sum();
    let kept: f64 = layers()
        .map(|l| f64::from(l.original_tokens) * f64::from(l.retention))
        .sum();
    (all > 0.0).then(|| kept / all)
}
