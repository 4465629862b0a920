//! The engine's list of sessions as the library's. Nothing is decided here.

use palimpsest_core::shares::Shares;
use palimpsest_engine::{Glance, SessionInfo};

use crate::context::data::bind::level;
use crate::context::data::budget::{Age, Kind, Segment, stretches};
use crate::library::data::session::{Recall, SessionEntry};

/// A session of the list.
pub fn session(info: &SessionInfo) -> SessionEntry {
    let head = &info.head;
    let glance = head.glance.as_ref();
    // the denominator that the bar has too
    let shares = head.shares();
    let tokens = glance.map_or(head.tokens, Glance::tokens);
    SessionEntry {
        id: info.id.clone(),
        title: head.title.clone(),
        at: head.updated,
        percent: shares
            .filter(|s| s.limit > 0 && head.messages > 0)
            .map(|s| (u64::from(tokens) * 100 / u64::from(s.limit)) as u32),
        messages: head.messages,
        layers: glance.map(|g| g.layers),
        recall: glance.filter(|_| head.messages > 0).map(|g| {
            let now = g.reliability();
            Recall {
                percent: now.percent,
                level: if g.compactions == 0 {
                    5
                } else {
                    level(now.level)
                },
            }
        }),
        bar: glance
            .zip(shares)
            .map_or_else(Vec::new, |(glance, shares)| bar(glance, &shares)),
        model: head.model.clone(),
        pinned: head.pinned,
        tags: head.tags.clone(),
    }
}

/// The stretches of a window that is not read.
fn bar(glance: &Glance, shares: &Shares) -> Vec<Segment> {
    let layer = |age| Kind::Layer { number: 0, age };
    let of = glance.parts;
    let parts = [
        (Kind::System, of.system),
        (Kind::Goal, of.goal),
        (layer(Age::Ancient), of.ancient),
        (layer(Age::Old), of.old),
        (layer(Age::Aged), of.aged),
        (layer(Age::Fresh), of.fresh),
        (Kind::Recalled, of.recalled),
        (Kind::User, of.user),
        (Kind::Assistant, of.assistant),
        (Kind::Tool, of.tool),
    ];
    let segments = parts
        .into_iter()
        .map(|(kind, tokens)| Segment { kind, tokens })
        .filter(|s| s.tokens > 0)
        .collect();
    stretches(segments, shares.window, shares.reserve, shares.margin)
}
