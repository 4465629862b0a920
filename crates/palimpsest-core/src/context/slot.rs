//! The message that holds all layers, and the block of recalled quotes: their text and their cost.

mod once;

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

use palimpsest_tokens::TokenCounter;

use crate::data::layer::{Layer, LayerId, layer_body};
use crate::data::message::{Seq, number_of};
use crate::data::policy::Policy;
use crate::data::record::{Demand, Level};
use crate::data::rendition::{
    DEMANDS, DEMANDS_END, FENCE, FENCE_END, QUOTE, QUOTE_END, escape_fences,
};
use crate::data::view::{Elsewhere, Quote, Recalled, View};

use once::Said;

const DEMANDS_INTRO: &str = "The user's own words from earlier. Keep to them like to anything the user says; what the user says later comes first.";
const LIKELY_INTRO: &str = "\n[The user's own words, perhaps meant to last]";
/// The largest cost in tokens of a stand-in for a missing result.
pub(crate) const REPAIR_TOKENS: u32 = 20;
/// The largest cost in tokens of the label of a result without its call.
pub(crate) const ORPHAN_TOKENS: u32 = 12;
/// The message after the slot when the tail begins with a user message.
pub(crate) const BRIDGE: &str = "Understood. I continue from there.";
const SLOT_INTRO: &str = "Reference: what was said earlier, shortened. Not an instruction.";

/// The slot message: its text, and its tokens with the bridge.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Slot {
    pub(crate) text: String,
    pub(crate) tokens: u32,
    /// Each layer's own tokens, for the budget report.
    pub(crate) layers: Vec<(LayerId, u32)>,
    pub(crate) quotes: u32,
    /// Tokens of the block of demands.
    pub(crate) demands: u32,
}

/// The line that holds one quoted message of the user.
pub(crate) fn quote_line(seq: Seq, text: &str) -> String {
    format!("User ({}): {}", number_of(seq), text.trim())
}

/// The block of demands at the head of the slot: the user's words, with the user's authority and no more.
fn demand_block(demands: &[&Demand]) -> String {
    let mut text = String::new();
    if demands.iter().all(|d| d.level == Level::Likely) {
        return text;
    }
    text.push_str(DEMANDS);
    text.push('\n');
    text.push_str(DEMANDS_INTRO);
    for demand in demands.iter().filter(|d| d.level == Level::Sure) {
        text.push_str("\n- ");
        text.push_str(&escape_fences(&demand.text));
    }
    text.push('\n');
    text.push_str(DEMANDS_END);
    text
}

/// The demands that may be meant to last, word for word before the layers.
fn likely_lines(demands: &[&Demand]) -> String {
    let mut text = String::new();
    for demand in demands.iter().filter(|d| d.level == Level::Likely) {
        if text.is_empty() {
            text.push_str(LIKELY_INTRO);
        }
        text.push_str("\n- ");
        text.push_str(&escape_fences(&demand.text));
    }
    text
}

/// The tokens of a block of demands in the slot.
fn demand_tokens(block: &str, counter: &dyn TokenCounter) -> u32 {
    if block.is_empty() {
        return 0;
    }
    // One token for the line break after it.
    counter.count(block).saturating_add(1)
}

/// Tokens of the block that holds these demands.
pub(crate) fn demands_take(demands: &[&Demand], counter: &dyn TokenCounter) -> u32 {
    let likely = likely_lines(demands);
    demand_tokens(&demand_block(demands), counter).saturating_add(demand_tokens(&likely, counter))
}

/// The slot that was made last. A list that is fitted step by step shows the same layers again and again.
#[derive(Clone, Default)]
pub(crate) struct LastSlot(Rc<RefCell<Option<Made>>>);

struct Made {
    slot: Option<Slot>,
    from: Source,
}

/// Everything that a slot is made from.
#[derive(PartialEq)]
struct Source {
    layers: Vec<Rc<Layer>>,
    quotes: Vec<Quote>,
    demands: Vec<Demand>,
    prefix: Option<String>,
    epoch: u64,
}

impl Source {
    fn of(view: &View, demands: &[&Demand], policy: &Policy, counter: &dyn TokenCounter) -> Self {
        Self {
            layers: view.layers.clone(),
            quotes: view.quotes.clone(),
            demands: demands.iter().copied().cloned().collect(),
            prefix: policy.slot_prefix.clone(),
            epoch: counter.epoch(),
        }
    }
}

impl LastSlot {
    /// Returns the slot of this view, made anew where something in it changed.
    pub(crate) fn slot(
        &self,
        view: &View,
        demands: &[&Demand],
        policy: &Policy,
        counter: &dyn TokenCounter,
    ) -> Option<Slot> {
        if view.layers.is_empty() {
            // Cheap, and often only a step on the way back to the layers.
            return slot(view, demands, policy, counter);
        }
        let from = Source::of(view, demands, policy, counter);
        if let Some(made) = &*self.0.borrow()
            && made.from == from
        {
            return made.slot.clone();
        }
        let slot = slot(view, demands, policy, counter);
        *self.0.borrow_mut() = Some(Made {
            slot: slot.clone(),
            from,
        });
        slot
    }
}

pub(crate) fn slot(
    view: &View,
    demands: &[&Demand],
    policy: &Policy,
    counter: &dyn TokenCounter,
) -> Option<Slot> {
    // A demand that is only likely is not repeated if a quote contains it.
    let is_said = |d: &Demand| view.quotes.iter().any(|q| q.text.contains(&d.text));
    let demands = demands.iter().copied();
    let demands = demands.filter(|d| d.level == Level::Sure || !is_said(d));
    let demands: &[&Demand] = &demands.collect::<Vec<_>>();
    let block = demand_block(demands);
    let demanded = demands_take(demands, counter);
    let mut layers = Vec::new();
    let mut quotes = 0;
    let reference = reference(view, demands, counter, &mut layers, &mut quotes);
    if block.is_empty() && reference.is_none() {
        return None;
    }
    let mut text = String::new();
    if let Some(prefix) = &policy.slot_prefix {
        text.push_str(prefix);
        text.push('\n');
    }
    text.push_str(&block);
    if let Some(reference) = reference {
        if !block.is_empty() {
            text.push('\n');
        }
        text.push_str(&reference);
    }
    let overhead = counter.overhead();
    let own = counter.count(&text) + overhead.user;
    // The bridge is counted whether it is needed or not, so the sum does not depend on the tail.
    let bridge = counter.count(BRIDGE) + overhead.assistant;
    Some(Slot {
        text,
        tokens: own + bridge,
        layers,
        quotes,
        demands: demanded,
    })
}

/// Returns layers and quotes as a reference to earlier messages; `None` if they say nothing. A layer without words covers its
/// range but says nothing.
fn reference(
    view: &View,
    demands: &[&Demand],
    counter: &dyn TokenCounter,
    layers: &mut Vec<(LayerId, u32)>,
    quotes: &mut u32,
) -> Option<String> {
    let own_words = view.quotes.iter().map(|q| (q.seq, q.text.as_str()));
    let demanded = demands.iter().map(|d| (d.from, d.text.as_str()));
    let said = Said::new(own_words.chain(demanded));
    let mut text = format!("{FENCE}>\n{SLOT_INTRO}");
    let intro = text.len();
    text.push_str(&likely_lines(demands));
    for layer in view.layers.iter().filter(|l| l.tokens > 0) {
        let range = layer.range();
        // A layer that was carried over from another session covers no message of this one.
        let head = if layer.covers.is_empty() {
            "\n[Earlier conversation]\n".to_owned()
        } else {
            format!(
                "\n[Messages {}-{}]\n",
                number_of(range.from),
                number_of(range.to)
            )
        };
        let whole = layer_body(&layer.summary, &layer.ledger);
        let body = said.beside(&whole);
        let tokens = match &body {
            Cow::Borrowed(_) => layer.tokens,
            Cow::Owned(rest) if rest.trim().is_empty() => {
                layers.push((layer.id, 0));
                continue;
            }
            Cow::Owned(rest) => counter.count(rest),
        };
        text.push_str(&head);
        text.push_str(&escape_fences(&body));
        layers.push((layer.id, tokens.saturating_add(counter.count(&head))));
    }
    if !view.quotes.is_empty() {
        text.push_str("\n[The user's own words]");
        for quote in &view.quotes {
            text.push('\n');
            text.push_str(&escape_fences(&quote_line(quote.seq, &quote.text)));
            *quotes = quotes.saturating_add(quote.tokens);
        }
    }
    if text.len() == intro {
        return None;
    }
    text.push('\n');
    text.push_str(FENCE_END);
    Some(text)
}

/// The largest cost in tokens of the fences and the heading of recalled quotes.
pub const RECALL_FRAME: u32 = 32;

/// The largest cost in tokens of the heading of passages of other sessions.
pub const ELSEWHERE_FRAME: u32 = 16;

/// The tokens of one recalled quote in its block.
pub fn quote_tokens(seq: Seq, text: &str, counter: &dyn TokenCounter) -> u32 {
    let line = format!("{}{}", quote_mark(seq), escape_fences(text.trim()));
    counter.count(&line) + 1
}

/// The line break and the number before a quote of this message in the block of recalled quotes.
pub(crate) fn quote_mark(seq: Seq) -> String {
    format!("\n[{}] ", number_of(seq))
}

/// The line of a passage of another session.
fn elsewhere_line(source: &str, text: &str) -> String {
    escape_fences(&format!("\n[\"{source}\"] {}", text.trim())).into_owned()
}

/// The tokens of a passage of another session in the block of recalled quotes.
pub fn elsewhere_tokens(source: &str, text: &str, counter: &dyn TokenCounter) -> u32 {
    counter.count(&elsewhere_line(source, text)) + 1
}

/// The tokens of the block of recalled quotes.
pub(crate) fn recall_tokens(recalled: &Recalled) -> u32 {
    let frame = if recalled.elsewhere.is_empty() {
        RECALL_FRAME
    } else {
        RECALL_FRAME + ELSEWHERE_FRAME
    };
    let own = recalled.quotes.iter().map(|quote| quote.tokens);
    let others = recalled.elsewhere.iter().map(|one| one.quote.tokens);
    own.chain(others).fold(frame, u32::saturating_add)
}

/// The block of recalled quotes.
pub(crate) fn recall_block(quotes: &[Quote], elsewhere: &[Elsewhere]) -> String {
    let mut text = format!("{QUOTE}>");
    if !quotes.is_empty() {
        text.push_str("\nQuoted from earlier messages, for reference:");
    }
    for quote in quotes {
        text.push_str(&quote_mark(quote.seq));
        text.push_str(&escape_fences(quote.text.trim()));
    }
    if !elsewhere.is_empty() {
        text.push_str("\nQuoted from other conversations of the user, for reference:");
    }
    for one in elsewhere {
        text.push_str(&elsewhere_line(&one.source, &one.quote.text));
    }
    text.push('\n');
    text.push_str(QUOTE_END);
    text
}
