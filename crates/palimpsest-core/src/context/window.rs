//! Assembles the exact messages for the model: a pure function of messages, view and records (I2).
//!
//! The order (C6) is: one system message, one slot message with all layers (oldest first), the tail, and recalled
//! quotes just before the last user message. Tool calls and results always come in pairs, and there are never two user
//! messages in a row or an empty message (I3).

use std::borrow::Cow;

use palimpsest_dialect::repair::{Arrangement, Step, interrupted, quoted};
use palimpsest_dialect::{From, Said};

use crate::context::Context;
use crate::context::slot::{BRIDGE, ORPHAN_TOKENS, REPAIR_TOKENS, recall_block};
pub use crate::context::slot::{ELSEWHERE_FRAME, RECALL_FRAME, elsewhere_tokens, quote_tokens};
use crate::data::message::{Part, Role, Seq};
use crate::data::policy::SlotRole;
use crate::data::rendition::{Rendition, verbatim_parts};
use crate::data::request::RequestMessage;
use crate::error::CoreError;

/// The origin of a part of a window. The egress check compares it with the active context (I7).
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

/// One message of a window. Only [`Context::window`] can make one (S1).
#[derive(Debug, Clone, PartialEq)]
pub struct WindowMessage {
    role: Role,
    parts: Vec<Part>,
    sources: Vec<Source>,
    tokens: u32,
}

impl WindowMessage {
    /// The role of the speaker.
    pub const fn role(&self) -> Role {
        self.role
    }

    /// The content.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The origin of each part.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The tokens, template included.
    pub const fn tokens(&self) -> u32 {
        self.tokens
    }

    /// The message of the history, if this shows exactly one.
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

    /// The tokens of the whole prompt: messages, tools, template.
    pub const fn tokens(&self) -> u32 {
        self.tokens
    }

    /// The messages in the form of a request.
    pub fn to_request(&self) -> Vec<RequestMessage> {
        self.messages
            .iter()
            .map(|m| RequestMessage {
                role: m.role,
                parts: m.parts.clone(),
            })
            .collect()
    }

    /// The parts in order, in the form from which a dialect writes a list.
    pub fn said(&self) -> impl Iterator<Item = Said<'_>> {
        self.messages.iter().flat_map(|message| {
            let parts = message.parts.iter().zip(&message.sources);
            parts.map(|(part, source)| Said {
                role: message.role,
                part,
                from: match *source {
                    Source::Records => From::Prompt,
                    Source::Message(seq) => From::Message(seq),
                    Source::Repair(seq) => From::Repair(seq),
                    Source::Slot | Source::Bridge | Source::Recalled => From::Nowhere,
                },
            })
        })
    }

    /// The only check before anything leaves for a model (I7): every part must come from content that is active in this
    /// context now.
    ///
    /// # Errors
    ///
    /// [`CoreError`] that names the part.
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

struct Shown<'a> {
    seq: Seq,
    role: Role,
    parts: Cow<'a, [Part]>,
    tokens: u32,
}

impl Context {
    /// Returns the exact messages to send (I2). The cost depends on the shown content, not on the history.
    pub fn window(&self) -> Window {
        assemble(self)
    }
}

fn assemble(context: &Context) -> Window {
    let shown: Vec<Shown<'_>> = context
        .shown
        .iter()
        .filter_map(|&i| show(context, i))
        .collect();
    let mut out = Builder {
        messages: Vec::new(),
    };
    out.push_head(context, shown.first().map(|s| s.role));
    out.push_tail(context, &shown);
    let overhead = context.counter.overhead();
    let tokens = out.messages.iter().map(|m| m.tokens).fold(
        overhead.base.saturating_add(context.setup.tools),
        u32::saturating_add,
    );
    Window {
        messages: out.messages,
        tokens,
    }
}

fn first_paired(parts: &[Part], message: usize, arrangement: &Arrangement) -> usize {
    // A message with other parts than results carries its cost at those.
    let bare = |p: usize| !arrangement.is_elsewhere(message, p);
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
    /// Adds the system message and the slot, as one message or as two. `next` is the role of the first message after them.
    fn push_head(&mut self, context: &Context, next: Option<Role>) {
        let mut system = context.rendered.text.clone();
        let mut system_tokens =
            context.fixed_tokens() - context.counter.overhead().base - context.setup.tools;
        let mut slot = context.slot.as_ref();
        let slot_role = context.setup.policy.slot_role;
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
            self.push(
                Role::System,
                Part::text(system),
                Source::Records,
                system_tokens,
            );
        }
        let Some(slot) = slot else { return };
        let role = if slot_role == SlotRole::Assistant {
            Role::Assistant
        } else {
            Role::User
        };
        self.push(
            role,
            Part::text(slot.text.clone()),
            Source::Slot,
            slot.tokens,
        );
        if role == Role::User && next != Some(Role::Assistant) {
            self.push(Role::Assistant, Part::text(BRIDGE), Source::Bridge, 0);
        }
    }

    /// Adds the shown messages, each result after its call, and the recalled quotes before the last user message.
    fn push_tail(&mut self, context: &Context, shown: &[Shown<'_>]) {
        let arrangement = Arrangement::of_parts(shown.iter().map(|s| (s.role, s.parts.as_ref())));
        let last_user = shown.iter().rposition(|s| s.role == Role::User);
        for i in 0..shown.len() {
            if Some(i) == last_user
                && let Some(recalled) = context.recalled_now()
            {
                let block = recall_block(&recalled.quotes, &recalled.elsewhere);
                self.push(
                    Role::User,
                    Part::text(block),
                    Source::Recalled,
                    recalled.tokens,
                );
            }
            self.push_message(shown, i, &arrangement);
        }
    }

    /// Adds one message in the order of the arrangement. Its whole cost is charged to its first part at this place.
    fn push_message(&mut self, shown: &[Shown<'_>], i: usize, arrangement: &Arrangement) {
        let message = &shown[i];
        let source = Source::Message(message.seq);
        let mut cost = message.tokens;
        for step in arrangement.steps(i, message.role, &message.parts) {
            match step {
                Step::Own(p, role) => {
                    let part = message.parts[p].clone();
                    self.push(role, part, source, std::mem::take(&mut cost));
                }
                Step::Orphan(p) => {
                    if let Part::ToolResult { text, error, .. } = &message.parts[p] {
                        let cost = std::mem::take(&mut cost) + ORPHAN_TOKENS;
                        self.push(Role::User, quoted(text, *error), source, cost);
                    }
                }
                Step::Answer(at) => {
                    let from = &shown[at.message];
                    let cost = if at.part == first_paired(&from.parts, at.message, arrangement) {
                        from.tokens
                    } else {
                        0
                    };
                    let part = from.parts[at.part].clone();
                    self.push_result(part, Source::Message(from.seq), cost);
                }
                Step::Missing(p) => {
                    if let Part::ToolCall { id, name, .. } = &message.parts[p] {
                        let part = interrupted(id, name);
                        self.push_result(part, Source::Repair(message.seq), REPAIR_TOKENS);
                    }
                }
            }
        }
    }

    /// Adds a part. It goes into the last message if that has the same role, so there are never two user messages in a
    /// row.
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
