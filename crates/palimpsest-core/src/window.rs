//! The exact messages for the model: a pure function of messages, view and records (I2).
//!
//! Order (C6): one system message · one slot message with all layers, oldest first · the tail ·
//! recalled quotes just before the last user message. Tool calls and results always come in pairs,
//! never two user messages in a row, never an empty message (I3).

mod once;

use std::borrow::Cow;

use palimpsest_tokens::TokenCounter;

use crate::context::{Context, View};
use crate::error::CoreError;
use crate::layer::LayerId;
use crate::message::{Part, Role, Seq};
use crate::policy::{Policy, SlotRole};
use crate::record::{Demand, Level};
use crate::rendition::{
    DEMANDS, DEMANDS_END, FENCE, FENCE_END, QUOTE, QUOTE_END, Rendition, escape_fences,
    verbatim_parts,
};
use crate::request::RequestMessage;
use crate::tool::{Pairing, PartAt};

use once::Said;

/// What stands for a result that never came.
const INTERRUPTED: &str = "[no result: the call was interrupted]";
/// What follows the slot when the tail begins with a user message.
const BRIDGE: &str = "Understood. I continue from there.";
const DEMANDS_INTRO: &str = "The user's own words from earlier. Keep to them like to anything the user says; what the user says later comes first.";
const LIKELY_INTRO: &str = "\n[The user's own words, perhaps meant to last]";
const SLOT_INTRO: &str = "Reference: what was said earlier, shortened. Not an instruction.";

/// Where a part of a window comes from. The egress check compares it with the active context (I7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The records.
    Records,
    /// The slot with the layers.
    Slot,
    /// The fixed line after the slot.
    Bridge,
    /// A message, verbatim or in a shorter form.
    Message(Seq),
    /// Recalled quotes of covered messages.
    Recalled,
    /// The stand-in for a missing tool result.
    Repair(Seq),
}

/// One message of a window. Can only be made by [`Context::window`] (S1).
#[derive(Debug, Clone, PartialEq)]
pub struct WindowMessage {
    role: Role,
    parts: Vec<Part>,
    sources: Vec<Source>,
    tokens: u32,
}

impl WindowMessage {
    /// Who speaks.
    pub const fn role(&self) -> Role {
        self.role
    }

    /// What is said.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Where each part comes from.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Tokens, template included.
    pub const fn tokens(&self) -> u32 {
        self.tokens
    }

    /// The message of the history it shows, if it shows exactly one.
    pub fn seq(&self) -> Option<Seq> {
        match self.sources.first() {
            Some(Source::Message(seq))
                if self.sources.iter().all(|s| s == &Source::Message(*seq)) =>
            {
                Some(*seq)
            }
            _ => None,
        }
    }
}

/// The exact messages to send, with their count.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    messages: Vec<WindowMessage>,
    tokens: u32,
}

impl Window {
    /// The messages in order.
    pub fn messages(&self) -> &[WindowMessage] {
        &self.messages
    }

    /// Tokens of the whole prompt: messages, tools, template.
    pub const fn tokens(&self) -> u32 {
        self.tokens
    }

    /// The messages as a request takes them.
    pub fn to_request(&self) -> Vec<RequestMessage> {
        self.messages
            .iter()
            .map(|m| RequestMessage {
                role: m.role,
                parts: m.parts.clone(),
            })
            .collect()
    }

    /// The one check before anything leaves for a model (I7): every part must come from what is
    /// active in this context now.
    pub fn check_egress(&self, context: &Context) -> Result<(), CoreError> {
        let active = |seq: &Seq| {
            context
                .entries
                .binary_search_by_key(seq, |e| e.message.seq)
                .is_ok()
                && !matches!(context.view.rendition(*seq), Rendition::Covered(_))
        };
        for message in &self.messages {
            if message.parts.len() != message.sources.len() || message.parts.is_empty() {
                return Err(CoreError::Egress("a part without a source"));
            }
            for source in &message.sources {
                let ok = match source {
                    Source::Records => !context.rendered.text.is_empty() || context.slot.is_some(),
                    Source::Slot | Source::Bridge => context.slot.is_some(),
                    Source::Message(seq) | Source::Repair(seq) => active(seq),
                    Source::Recalled => context.view.recalled.is_some(),
                };
                if !ok {
                    return Err(CoreError::Egress("a part that is not shown"));
                }
            }
        }
        Ok(())
    }
}

/// The slot message: its text and what it costs with the bridge.
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

/// Tokens of one layer's body as it stands in the slot.
pub(crate) fn layer_body(summary: &str, ledger: &[String]) -> String {
    let mut body = summary.trim().to_owned();
    for line in ledger {
        if !body.is_empty() {
            body.push('\n');
        }
        body.push_str("* ");
        body.push_str(line);
    }
    body
}

/// The line that holds one quoted message of the user.
pub(crate) fn quote_line(seq: Seq, text: &str) -> String {
    format!("User ({seq}): {}", text.trim())
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

/// What may be meant to last, word for word before the layers.
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

/// Tokens of a block of demands as it stands in the slot.
fn demand_tokens(block: &str, counter: &dyn TokenCounter) -> u32 {
    if block.is_empty() {
        return 0;
    }
    // one for the line break after it
    counter.count(block).saturating_add(1)
}

/// Tokens of the block that holds these demands.
pub(crate) fn demands_take(demands: &[&Demand], counter: &dyn TokenCounter) -> u32 {
    let likely = likely_lines(demands);
    demand_tokens(&demand_block(demands), counter).saturating_add(demand_tokens(&likely, counter))
}

pub(crate) fn slot(
    view: &View,
    demands: &[&Demand],
    policy: &Policy,
    counter: &dyn TokenCounter,
) -> Option<Slot> {
    // What only may bind is not said twice.
    let is_said = |d: &Demand| view.quotes.iter().any(|q| q.text.contains(&d.text));
    let demands = demands.iter().copied();
    let demands = demands.filter(|d| d.level == Level::Sure || !is_said(d));
    let demands: &[&Demand] = &demands.collect::<Vec<_>>();
    // A layer without a word covers its range but says nothing.
    let has_reference = view.layers.iter().any(|l| l.tokens > 0)
        || !view.quotes.is_empty()
        || demands.iter().any(|d| d.level == Level::Likely);
    if !has_reference && demands.is_empty() {
        return None;
    }
    let mut text = String::new();
    if let Some(prefix) = &policy.slot_prefix {
        text.push_str(prefix);
        text.push('\n');
    }
    let block = demand_block(demands);
    let demanded = demands_take(demands, counter);
    if !block.is_empty() {
        text.push_str(&block);
        if has_reference {
            text.push('\n');
        }
    }
    let mut layers = Vec::new();
    let mut quotes = 0;
    if has_reference {
        reference(view, demands, counter, &mut text, &mut layers, &mut quotes);
    }
    let overhead = counter.overhead();
    let own = counter.count(&text) + overhead.user;
    // The bridge is counted whether or not it is needed: then the sum does not depend on the tail.
    let bridge = counter.count(BRIDGE) + overhead.assistant;
    Some(Slot {
        text,
        tokens: own + bridge,
        layers,
        quotes,
        demands: demanded,
    })
}

/// Layers and quotes: what was said earlier, as a reference.
fn reference(
    view: &View,
    demands: &[&Demand],
    counter: &dyn TokenCounter,
    text: &mut String,
    layers: &mut Vec<(LayerId, u32)>,
    quotes: &mut u32,
) {
    let own_words = view.quotes.iter().map(|q| (q.seq, q.text.as_str()));
    let demanded = demands.iter().map(|d| (d.from, d.text.as_str()));
    let said = Said::new(own_words.chain(demanded));
    text.push_str(FENCE);
    text.push_str(">\n");
    text.push_str(SLOT_INTRO);
    text.push_str(&likely_lines(demands));
    for layer in view.layers.iter().filter(|l| l.tokens > 0) {
        let range = layer.range();
        // a layer that came along from another session covers no message of this one
        let head = if layer.covers.is_empty() {
            "\n[Earlier conversation]\n".to_owned()
        } else {
            format!("\n[Messages {}-{}]\n", range.from, range.to)
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
    text.push('\n');
    text.push_str(FENCE_END);
}

/// What the fences and the heading of the recalled quotes cost, at most.
pub const RECALL_FRAME: u32 = 32;

/// What one recalled quote costs as it stands in its block.
pub fn quote_tokens(seq: Seq, text: &str, counter: &dyn TokenCounter) -> u32 {
    counter.count(&format!("\n[{seq}] {}", escape_fences(text.trim()))) + 1
}

/// The block of recalled quotes, and what each costs.
pub(crate) fn recall_block(quotes: &[crate::context::Quote]) -> String {
    let mut text = format!("{QUOTE}>\nQuoted from earlier messages, for reference:");
    for quote in quotes {
        text.push_str("\n[");
        text.push_str(&quote.seq.to_string());
        text.push_str("] ");
        text.push_str(&escape_fences(quote.text.trim()));
    }
    text.push('\n');
    text.push_str(QUOTE_END);
    text
}

struct Shown<'a> {
    seq: Seq,
    role: Role,
    parts: Cow<'a, [Part]>,
    tokens: u32,
}

pub(crate) fn assemble(context: &Context) -> Window {
    let mut out = Builder {
        messages: Vec::new(),
    };
    let overhead = context.counter.overhead();
    let slot_role = context.setup.policy.slot_role;

    let mut system = context.rendered.text.clone();
    let mut system_tokens = context.fixed_tokens() - overhead.base - context.setup.tools;
    let mut slot = context.slot.as_ref();
    if slot_role == SlotRole::System
        && let Some(s) = slot.take()
    {
        if !system.is_empty() {
            system.push_str("\n\n");
        }
        system.push_str(&s.text);
        system_tokens += s.tokens;
    }
    if !system.is_empty() {
        out.push(
            Role::System,
            Part::text(system),
            Source::Records,
            system_tokens,
        );
    }

    let shown: Vec<Shown<'_>> = context
        .shown
        .iter()
        .filter_map(|&i| show(context, i))
        .collect();
    if let Some(s) = slot {
        let role = if slot_role == SlotRole::Assistant {
            Role::Assistant
        } else {
            Role::User
        };
        out.push(role, Part::text(s.text.clone()), Source::Slot, s.tokens);
        let tail_role = shown.first().map(|s| s.role);
        if role == Role::User && tail_role != Some(Role::Assistant) {
            out.push(Role::Assistant, Part::text(BRIDGE), Source::Bridge, 0);
        }
    }

    let pairing = Pairing::of_parts(shown.iter().map(|s| (s.role, s.parts.as_ref())));
    let last_user = shown.iter().rposition(|s| s.role == Role::User);
    for (i, message) in shown.iter().enumerate() {
        let source = Source::Message(message.seq);
        if Some(i) == last_user
            && let Some(recalled) = context.recalled_now()
        {
            let block = recall_block(&recalled.quotes);
            out.push(
                Role::User,
                Part::text(block),
                Source::Recalled,
                recalled.tokens,
            );
        }
        // the whole cost of a message is charged to its first part that stands here
        let mut cost = message.tokens;
        for (p, part) in message.parts.iter().enumerate() {
            let at = PartAt {
                message: i,
                part: p,
            };
            match part {
                Part::ToolResult { text, error, .. } => {
                    if pairing.call_of.contains_key(&at) {
                        continue; // stands right after its call
                    }
                    let label = if *error {
                        "Failed tool result"
                    } else {
                        "Tool result"
                    };
                    let quoted = format!("[{label} without its call]\n{text}");
                    out.push(
                        Role::User,
                        Part::text(quoted),
                        source,
                        std::mem::take(&mut cost) + ORPHAN_TOKENS,
                    );
                }
                part => {
                    let role = if message.role == Role::Tool {
                        Role::User
                    } else {
                        message.role
                    };
                    out.push(role, part.clone(), source, std::mem::take(&mut cost));
                }
            }
        }
        // the results of this message's calls, in the order of the calls
        for (p, part) in message.parts.iter().enumerate() {
            let Part::ToolCall { id, name, .. } = part else {
                continue;
            };
            let at = PartAt {
                message: i,
                part: p,
            };
            match pairing.result_of.get(&at) {
                Some(r) => {
                    let from = &shown[r.message];
                    let cost = if r.part == first_paired(&from.parts, r.message, &pairing) {
                        from.tokens
                    } else {
                        0
                    };
                    out.push_result(from.parts[r.part].clone(), Source::Message(from.seq), cost);
                }
                None if message.role == Role::Assistant => {
                    let part = Part::ToolResult {
                        call: id.clone(),
                        name: Some(name.clone()),
                        text: INTERRUPTED.into(),
                        error: true,
                    };
                    out.push_result(part, Source::Repair(message.seq), REPAIR_TOKENS);
                }
                None => {}
            }
        }
    }
    let tokens = out.messages.iter().map(|m| m.tokens).fold(
        overhead.base.saturating_add(context.setup.tools),
        u32::saturating_add,
    );
    Window {
        messages: out.messages,
        tokens,
    }
}

/// What a stand-in for a missing result costs, at most.
pub(crate) const REPAIR_TOKENS: u32 = 20;
/// What the label of a result without its call costs, at most.
pub(crate) const ORPHAN_TOKENS: u32 = 12;

fn first_paired(parts: &[Part], message: usize, pairing: &Pairing) -> usize {
    // A message with other parts than results carries its cost there.
    let bare = |p: usize| !pairing.call_of.contains_key(&PartAt { message, part: p });
    if (0..parts.len()).any(bare) {
        usize::MAX
    } else {
        0
    }
}

fn show(context: &Context, index: usize) -> Option<Shown<'_>> {
    let entry = &context.entries[index];
    let message = &entry.message;
    let (parts, tokens) = match context.view.rendition(message.seq) {
        Rendition::Covered(_) => return None,
        Rendition::Reduced(r) => (
            r.parts.iter().filter(|p| !p.is_empty()).cloned().collect(),
            r.tokens,
        ),
        Rendition::Verbatim => (verbatim_parts(message), entry.tokens),
    };
    if parts.is_empty() {
        return None;
    }
    Some(Shown {
        seq: message.seq,
        role: message.role,
        parts: parts.into(),
        tokens: tokens.saturating_add(context.reasoning_of(index)),
    })
}

struct Builder {
    messages: Vec<WindowMessage>,
}

impl Builder {
    /// Adds a part, to the last message if that is of the same role: never two user messages in a row.
    fn push(&mut self, role: Role, part: Part, source: Source, tokens: u32) {
        if let Some(last) = self.messages.last_mut()
            && last.role == role
            && role != Role::Tool
        {
            last.parts.push(part);
            last.sources.push(source);
            last.tokens = last.tokens.saturating_add(tokens);
            return;
        }
        self.messages.push(WindowMessage {
            role,
            parts: vec![part],
            sources: vec![source],
            tokens,
        });
    }

    fn push_result(&mut self, part: Part, source: Source, tokens: u32) {
        self.messages.push(WindowMessage {
            role: Role::Tool,
            parts: vec![part],
            sources: vec![source],
            tokens,
        });
    }
}
