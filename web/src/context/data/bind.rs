//! The engine's reports as the data of budgets, layers, cards and records. Nothing is decided here.

use palimpsest_core::budget::{Budget as Report, Segment as Stretch, SegmentKind};
use palimpsest_core::context::{Cause, Quote, Recalled};
use palimpsest_core::goal::{Goal, MilestoneState};
use palimpsest_core::layer::{Author, Layer, Level};
use palimpsest_core::marker::{Change, Proposal};
use palimpsest_core::model::{Grade as Trust, Penalty, Reliability};
use palimpsest_core::record::{Level as Certainty, PendingProposal, Pin, PinKind, Records};
use palimpsest_core::run::{Preview, Refusal, RunReport, Stage as RunStage};
use palimpsest_core::sorted::{SortedMap, SortedSet};
use palimpsest_engine::error::refusal_sentence;
use palimpsest_engine::rows::RevisionRow;
use palimpsest_engine::session::{Snapshot, proposal_sentence};
use palimpsest_tokens::Source;

use crate::chat::data::thread::place;
use crate::context::data::budget::{Age, Budget, Kind, Segment};
use crate::context::data::card::{Card, Done, Stage, Standing, State};
use crate::context::data::layer::LayerView;
use crate::context::data::record::{
    GoalItem, GoalKind, GoalView, OtherSession, PinView, PreviewView, ProposalView, QuoteView,
    SnapshotView, Takes, TriedView, TrustView, Why,
};

/// The budget report as the bar.
pub fn budget(report: &Report, layers: &[LayerView]) -> Budget {
    Budget {
        window: (report.window > 0).then_some(report.window),
        limit: report.limit,
        used: report.used.tokens,
        estimated: report.used.source == Source::Estimated,
        source: report.used.source,
        bound: report.used.bound,
        segments: segments(&report.segments, layers),
        reserve: report.reserve,
        margin: report.margin,
        floor: report.floor,
        target: report.target,
        trigger: match report.until_trigger {
            0 => report.trigger.min(report.used.tokens),
            more => report.used.tokens.saturating_add(more),
        },
    }
}

/// The stretches of a window, neighbours of one kind joined.
pub fn segments(list: &[Stretch], layers: &[LayerView]) -> Vec<Segment> {
    let mut all: Vec<Segment> = Vec::new();
    for segment in list {
        let kind = match segment.kind {
            SegmentKind::System | SegmentKind::Tools => Kind::System,
            SegmentKind::Goal | SegmentKind::Pins => Kind::Goal,
            SegmentKind::Layer { id } => layers.iter().find(|l| l.id == id).map_or(
                Kind::Layer {
                    number: id,
                    age: Age::Fresh,
                },
                |l| Kind::Layer {
                    number: l.number,
                    age: l.age,
                },
            ),
            SegmentKind::Recalled => Kind::Recalled,
            SegmentKind::Quoted | SegmentKind::User => Kind::User,
            SegmentKind::Assistant => Kind::Assistant,
            SegmentKind::Tool => Kind::Tool,
            SegmentKind::Draft => Kind::Draft,
        };
        let tokens = segment.count.tokens;
        if tokens == 0 {
            continue;
        }
        match all.last_mut() {
            Some(last) if last.kind == kind => last.tokens += tokens,
            _ => all.push(Segment { kind, tokens }),
        }
    }
    all
}

/// A layer.
pub fn layer(layer: &Layer) -> LayerView {
    let mut covers: Vec<(u32, u32)> = layer
        .covers
        .iter()
        .map(|s| (place(s.from), place(s.to)))
        .collect();
    palimpsest_text::order::sort(&mut covers);
    LayerView {
        id: layer.id,
        number: layer.number,
        age: match (layer.level, layer.rank) {
            (Level::Detailed, _) => Age::Fresh,
            (Level::Moderate, _) => Age::Aged,
            (Level::Compact, 0) => Age::Old,
            (Level::Compact, _) => Age::Ancient,
        },
        covers,
        text: layer.summary.clone(),
        ledger: layer.ledger.clone(),
        tokens: layer.tokens,
        original: layer.original_tokens,
        author: match &layer.author {
            Author::Model { name } => Some(name.clone()),
            Author::Extractive | Author::Fallback { .. } | Author::Person => None,
        },
        by_person: layer.author == Author::Person,
        decisions: layer.key_decisions.clone(),
        files: layer.files_modified.clone(),
        steps: layer.next_steps.clone(),
        dropped: layer.dropped.clone(),
    }
}

/// Why the deterministic summariser stood in for a model, if it did.
pub fn fallback(layer: &Layer) -> Option<String> {
    match &layer.author {
        Author::Fallback { reason } if reason != "no_model" => Some(reason.clone()),
        _ => None,
    }
}

/// The level as a number of four.
pub(crate) const fn level(level: Trust) -> u32 {
    match level {
        Trust::Critical => 1,
        Trust::Low => 2,
        Trust::Medium => 3,
        Trust::High => 4,
    }
}

/// The stage of a run.
pub const fn stage(stage: RunStage) -> Stage {
    match stage {
        RunStage::Identify => Stage::Identify,
        RunStage::Prepare => Stage::Prepare,
        RunStage::Summarize => Stage::Summarise,
        RunStage::Checkpoint => Stage::Checkpoint,
        RunStage::Update => Stage::Update,
        RunStage::Verify => Stage::Verify,
    }
}

/// Every compaction of a session's story as a card, and where it stands. Compactions that the present
/// revision does not go back to were undone; the newest of the others can be.
pub fn cards(
    rows: &[RevisionRow],
    head: u32,
    layers: &SortedMap<u32, Layer>,
    limit: u32,
    standing: Standing,
) -> Vec<(u32, Card)> {
    let by_number: SortedMap<u32, &RevisionRow> = rows.iter().map(|r| (r.n, r)).collect();
    let mut in_force = SortedSet::new();
    let mut newest = None;
    let mut at = Some(head);
    while let Some(row) = at.and_then(|n| by_number.get(&n)) {
        if !in_force.insert(row.n) {
            break;
        }
        if newest.is_none() && matches!(row.cause, Cause::Compaction { .. }) {
            newest = Some(row.n);
        }
        at = match row.cause {
            Cause::Undo { to } | Cause::Restore { to } => Some(to),
            _ => row.parent,
        };
    }
    let known: Vec<LayerView> = layers.values().map(layer).collect();
    rows.iter()
        .filter_map(|row| {
            let Cause::Compaction { number, .. } = row.cause else {
                return None;
            };
            let report = row.report.as_ref()?;
            let state = if in_force.contains(&row.n) {
                State::Done(Box::new(done(
                    report,
                    layers,
                    &known,
                    limit,
                    standing,
                    newest == Some(row.n),
                )))
            } else {
                State::Undone {
                    layer: report.layer.is_some(),
                    before: report.after,
                    after: report.before,
                }
            };
            Some((
                row.tip.map_or(0, place),
                Card {
                    number,
                    at: row.at,
                    state,
                },
            ))
        })
        .collect()
}

/// What a compaction did.
pub fn done(
    report: &RunReport,
    layers: &SortedMap<u32, Layer>,
    known: &[LayerView],
    limit: u32,
    standing: Standing,
    undoable: bool,
) -> Done {
    let layer = report.layer.and_then(|id| layers.get(&id));
    Done {
        before: report.before,
        after: report.after,
        limit,
        bar_before: segments(&report.segments_before, known),
        bar_after: segments(&report.segments_after, known),
        id: report.layer,
        covers: (
            report
                .covers
                .iter()
                .map(|s| place(s.from))
                .min()
                .unwrap_or(0),
            report.covers.iter().map(|s| place(s.to)).max().unwrap_or(0),
        ),
        messages: report.messages,
        layer: (report.covered_tokens, layer.map_or(0, |l| l.tokens)),
        author: layer.and_then(|l| self::layer(l).author),
        fallback: layer.and_then(fallback),
        steps: report
            .passes
            .iter()
            .filter(|shed| shed.tokens > 0)
            .map(|shed| (shed.pass, shed.messages, shed.tokens))
            .collect(),
        summarised: report.summarised.len() as u32,
        dropped: report.dropped.clone(),
        lost: report.facts.map_or(0, |f| f.dropped),
        kept: report.quoted.len() as u32,
        shortened: report.shortened.len() as u32,
        demands: report
            .demands
            .iter()
            .filter(|d| d.level == Certainty::Sure)
            .map(|d| d.text.clone())
            .collect(),
        standing,
        took: report.took,
        undoable,
    }
}

/// What the records hold that stands in every window.
pub fn standing(records: &Records) -> Standing {
    let own = |p: &&Pin| !matches!(p.kind, PinKind::Constraint { .. });
    Standing {
        has_prompt: !records.system.trim().is_empty(),
        pins: records.pins.iter().filter(own).count() as u32,
    }
}

/// The goal of the records; `tokens` are those of goal and pins in the window.
pub fn goal(goal: &Goal, tokens: u32) -> GoalView {
    let mut items: Vec<GoalItem> = Vec::new();
    let mut add = |id, text: &str, kind| {
        items.push(GoalItem {
            id,
            text: text.to_owned(),
            kind,
        });
    };
    for m in &goal.milestones {
        let kind = match m.state {
            MilestoneState::Pending => GoalKind::ToDo,
            MilestoneState::InProgress => GoalKind::Doing,
            MilestoneState::Completed => GoalKind::Done,
        };
        add(m.id, &m.text, kind);
    }
    for d in &goal.decisions {
        let text = match d.rationale.as_str() {
            "" => d.text.clone(),
            reason => format!("{} ({reason})", d.text),
        };
        add(d.id, &text, GoalKind::Decision { locked: d.locked });
    }
    for a in &goal.artifacts {
        add(
            a.id,
            &format!("{} ({})", a.path, a.action.name()),
            GoalKind::Artifact,
        );
    }
    for n in &goal.next_steps {
        add(n.id, &n.text, GoalKind::Next);
    }
    for n in &goal.blockers {
        add(n.id, &n.text, GoalKind::Blocker);
    }
    GoalView {
        text: goal.description.clone(),
        priority: goal.priority,
        status: goal.status,
        items,
        tokens,
    }
}

/// A change of the goal that a summary proposes.
pub fn proposal(waiting: &PendingProposal) -> ProposalView {
    let Proposal { change, cites } = &waiting.proposal;
    ProposalView {
        id: waiting.id,
        text: proposal_sentence(change),
        cites: cites.iter().map(|seq| place(*seq)).collect(),
        asks_lock: matches!(
            change,
            Change::Decision {
                lock_asked: true,
                ..
            }
        ),
    }
}

/// A line of the records.
pub fn pin(pin: &Pin, left_out: &[String]) -> PinView {
    PinView {
        is_left_out: left_out.contains(&pin.text),
        id: pin.id,
        text: pin.text.clone(),
        why: match pin.kind {
            PinKind::Pin => Why::Pinned,
            PinKind::Constraint {
                from,
                level: Certainty::Likely,
            } => Why::Likely(place(from)),
            PinKind::Constraint { from, .. } => Why::Demand(place(from)),
            PinKind::Decision => Why::Decision,
        },
    }
}

/// A snapshot.
pub fn snapshot(snapshot: &Snapshot) -> SnapshotView {
    SnapshotView {
        n: snapshot.n,
        name: snapshot.name.clone(),
        at: snapshot.at,
        messages: snapshot.messages,
        layers: snapshot.layers,
        tokens: snapshot.tokens,
        before: snapshot.before,
        tip: snapshot.tip.map_or(0, place),
    }
}

/// The quotes recalled for the last question.
pub fn quotes(recalled: Option<&Recalled>) -> Vec<QuoteView> {
    let Some(recalled) = recalled else {
        return Vec::new();
    };
    let shown = |from, quote: &Quote| QuoteView {
        from,
        place: place(quote.seq),
        text: quote.text.clone(),
        tokens: quote.tokens,
    };
    let own = recalled.quotes.iter().map(|quote| shown(None, quote));
    let others = recalled.elsewhere.iter().map(|one| {
        let from = OtherSession {
            id: one.session.clone(),
            source: one.source.clone(),
        };
        shown(Some(from), &one.quote)
    });
    own.chain(others).collect()
}

/// A plan of a compaction.
pub fn preview(plan: &Preview, focus: &str) -> PreviewView {
    PreviewView {
        before: plan.before,
        after: plan.after,
        covers: (
            plan.covers.iter().map(|s| place(s.from)).min().unwrap_or(0),
            plan.covers.iter().map(|s| place(s.to)).max().unwrap_or(0),
        ),
        messages: plan.messages,
        read: plan.covered_tokens,
        layer: plan.layer_tokens,
        focus: focus.to_owned(),
        takes: Takes::default(),
    }
}

/// What another policy would do.
pub fn tried(report: &Report, layers: &[LayerView], plan: Result<&Preview, &Refusal>) -> TriedView {
    TriedView {
        budget: budget(report, layers),
        plan: plan.map(|plan| preview(plan, "")).map_err(refusal_sentence),
    }
}

/// How far a session can be trusted after its compactions; nothing while it was not compacted.
pub fn trust(now: &Reliability, compactions: u32) -> Option<TrustView> {
    if compactions == 0 {
        return None;
    }
    let factor = Penalty::default().factor(compactions);
    let percent = |share: f64| (share.clamp(0.0, 1.0) * 100.0).round() as u32;
    Some(TrustView {
        percent: now.percent,
        level: level(now.level),
        compactions,
        factor: percent(factor),
        kept: now.measured.then(|| percent(now.relative / factor)),
        advice: now.class.map(|class| {
            let (from, to) = class.recommended_maximum();
            let (least, most) = class.expected_compression();
            [from, to, least, most]
        }),
    })
}

#[cfg(test)]
mod tests {
    use palimpsest_core::layer::Span;

    use super::*;

    fn row(n: u32, parent: u32, cause: Cause, report: Option<RunReport>) -> RevisionRow {
        RevisionRow {
            n,
            parent: Some(parent),
            cause,
            layers: Vec::new(),
            notes: Vec::new(),
            reduced: Vec::new(),
            quotes: Vec::new(),
            recalled: None,
            watermark: None,
            pending: None,
            anchors: SortedSet::new(),
            compactions: 0,
            next_layer: 0,
            next_note: 0,
            paused: false,
            report,
            tip: Some(9),
            at: 5.0,
        }
    }

    fn report(before: u32, after: u32) -> RunReport {
        RunReport {
            before,
            after,
            layer: Some(1),
            covers: vec![Span { from: 2, to: 6 }],
            messages: 4,
            covered_tokens: 900,
            quoted: vec![3],
            shortened: Vec::new(),
            demands: Vec::new(),
            summarised: Vec::new(),
            retention: 1.0,
            facts: None,
            lossy: None,
            dropped: Vec::new(),
            reread: after,
            passes: Vec::new(),
            preserved: 0,
            released: Vec::new(),
            adjustments: Vec::new(),
            codes: Vec::new(),
            cautions: Vec::new(),
            manual: true,
            segments_before: Vec::new(),
            segments_after: Vec::new(),
            took: None,
            verification: None,
            stages: Vec::new(),
        }
    }

    /// G6: the badge's figures are those of its arithmetic: the compactions' factor times what is still there.
    #[test]
    fn trust_adds_up() {
        use palimpsest_core::model::reliability;
        let check = |compactions, kept, expected| {
            let now = reliability(None, compactions, kept, Penalty::default());
            let shown = trust(&now, compactions).map(|v| (v.percent, v.level, v.factor, v.kept));
            assert_eq!(shown, expected, "{compactions} {kept:?}");
        };
        check(0, None, None);
        check(2, Some(0.89), Some((62, 3, 70, Some(89))));
        check(1, None, Some((85, 4, 85, None)));
        check(9, Some(0.5), Some((15, 1, 30, Some(50))));
    }

    /// P10: after an undo the newest card says so, and the one before it can be undone.
    #[test]
    fn cards_follow_undo() {
        let first = row(
            1,
            0,
            Cause::Compaction {
                number: 1,
                manual: true,
            },
            Some(report(100, 60)),
        );
        let second = row(
            2,
            1,
            Cause::Compaction {
                number: 2,
                manual: false,
            },
            Some(report(110, 70)),
        );
        let undo = row(3, 0, Cause::Undo { to: 1 }, None);
        let states = |rows: &[RevisionRow], head| -> Vec<String> {
            cards(rows, head, &SortedMap::new(), 1000, Standing::default())
                .into_iter()
                .map(|(after, card)| match card.state {
                    State::Done(d) => format!(
                        "{} done {} {:?} after {after}",
                        card.number, d.undoable, d.covers
                    ),
                    State::Undone { before, after, .. } => {
                        format!("{} undone {before}→{after}", card.number)
                    }
                    other => format!("{other:?}"),
                })
                .collect()
        };
        assert_eq!(
            states(&[first.clone(), second.clone()], 2),
            [
                "1 done false (3, 7) after 10",
                "2 done true (3, 7) after 10"
            ]
        );
        assert_eq!(
            states(&[first.clone(), second.clone(), undo.clone()], 3),
            ["1 done true (3, 7) after 10", "2 undone 70→110"]
        );
        let all = row(4, 0, Cause::Undo { to: 0 }, None);
        assert_eq!(
            states(&[first, second, undo, all], 4),
            ["1 undone 60→100", "2 undone 70→110"]
        );
    }
}
