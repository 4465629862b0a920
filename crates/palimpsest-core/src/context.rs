//! The active context: the messages of one path, and the view that says how each is shown.

pub mod analytics;
mod base;
pub mod quotes;
pub(crate) mod shrink;
pub(crate) mod slot;
pub mod window;

use std::rc::Rc;

use palimpsest_text::sorted::SortedMap;
use palimpsest_tokens::{Count, Source, TokenCounter};
use serde::{Deserialize, Serialize};

use crate::context::slot::{LastSlot, Slot};
use crate::data::layer::Span;
use crate::data::message::{LOOSE_TOKENS, Message, Part, Role, Seq};
use crate::data::policy::{Fading, Policy};
use crate::data::record::{Demand, Records, RenderedRecords};
use crate::data::rendition::{Reduced, Rendition, verbatim_tokens};
use crate::data::shares::{ShareOptions, Shares};
use crate::data::tool::OpenCalls;
pub use crate::data::view::{Cause, Elsewhere, Quote, Recalled, View};
use crate::error::CoreError;

/// Time and secret that planning may use. Given by the caller, so that planning stays pure (I2).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Seed {
    /// Milliseconds since 1970.
    pub now: f64,
    /// The device's secret, for nonces.
    pub secret: [u8; 16],
}

/// One message of the path with its stored count.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The message.
    pub message: Rc<Message>,
    /// Tokens when shown verbatim, template included.
    pub tokens: u32,
    /// The epoch of the counter that counted them.
    pub counted_by: u64,
}

/// The provider's count of a window that was sent (B8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Anchor {
    /// Messages on the path when it was sent.
    entries: usize,
    /// The provider's count of the whole prompt.
    tokens: u32,
    /// The tokens, by our own count at that time, that belong to no message: recalled quotes, stand-ins.
    beside: u32,
    /// The messages since then, so that a count costs the same however many they are.
    since: Since,
}

/// The size of messages that came after a provider's count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Since {
    /// Their tokens, as they are shown.
    tokens: u32,
    /// Their parts whose form in a prompt only the template knows.
    loose: u32,
}

impl Since {
    const fn add(&mut self, more: Self) {
        self.tokens = self.tokens.saturating_add(more.tokens);
        self.loose = self.loose.saturating_add(more.loose);
    }
}

/// The way in which a reader of a window finds the full text of a shortened part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lookup {
    /// The session recalls it, for the user and, as a tool, for the model.
    #[default]
    Session,
    /// By a tool of the request's, which is given the number of a message.
    Tool,
    /// Not at all: then no text says that it can be recalled, and none names a place.
    Nowhere,
}

/// The setup of a context besides its messages and view.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// The division of the window.
    pub shares: Shares,
    /// The rules.
    pub policy: Rc<Policy>,
    /// Tokens of the tool definitions that go with each request.
    pub tools: u32,
    /// The way to the full text of a shortened part.
    pub lookup: Lookup,
    /// The largest number of tokens of a new layer, where a person named one.
    pub longest_layer: Option<u32>,
    /// There is one layer. Each compaction writes it anew, from its text and from what is covered then.
    pub has_one_layer: bool,
}

impl Setup {
    /// `balanced` rules in a window of that size.
    pub fn balanced(window: u32) -> Result<Self, CoreError> {
        Self::new(window, ShareOptions::default(), Policy::default(), 0)
    }

    /// Checks the rules and divides the window.
    pub fn new(
        window: u32,
        options: ShareOptions,
        policy: Policy,
        tools: u32,
    ) -> Result<Self, CoreError> {
        policy.validate()?;
        let has_one_layer = matches!(policy.fading, Fading::Single { .. });
        Ok(Self {
            shares: Shares::of(window, options)?,
            policy: Rc::new(policy),
            tools,
            lookup: Lookup::default(),
            longest_layer: None,
            has_one_layer,
        })
    }

    /// The most tokens of a layer that is `age` compactions old. `None` if the window's shares decide.
    pub(crate) fn layer_room(&self, age: usize) -> Option<u32> {
        let fading = &self.policy.fading;
        let joined = self.has_one_layer.then_some(self.shares.layers());
        fading.room(age, self.shares.window).or(joined)
    }
}

/// The tokens of the shown messages, by speaker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) user: u32,
    pub(crate) assistant: u32,
    pub(crate) tool: u32,
    pub(crate) system: u32,
}

impl Sums {
    fn of(&mut self, role: Role) -> &mut u32 {
        match role {
            Role::System => &mut self.system,
            Role::User => &mut self.user,
            Role::Assistant => &mut self.assistant,
            Role::Tool => &mut self.tool,
        }
    }

    pub(crate) fn total(&self) -> u32 {
        self.user
            .saturating_add(self.assistant)
            .saturating_add(self.tool)
            .saturating_add(self.system)
    }
}

/// Calls without a result and results without a call among the shown messages. Each costs a few tokens more in a
/// window, for the stand-in or the label that keeps it valid.
#[derive(Debug, Clone, Default)]
struct Unpaired {
    open: OpenCalls<String, ()>,
    unanswered: u32,
    orphans: u32,
    /// Parts whose form in a prompt only the template knows.
    loose: u32,
}

impl Unpaired {
    fn see(&mut self, role: Role, parts: &[Part]) {
        for part in parts {
            self.loose += u32::from(part.is_loose());
            match part {
                Part::ToolCall { id, .. } if role == Role::Assistant => {
                    self.open.ask(id.clone(), ());
                    self.unanswered += 1;
                }
                Part::ToolResult { call, .. } => match self.open.answer(call) {
                    Some(()) => self.unanswered -= 1,
                    None => self.orphans += 1,
                },
                _ => {}
            }
        }
    }

    fn tokens(&self) -> u32 {
        self.unanswered
            .saturating_mul(slot::REPAIR_TOKENS)
            .saturating_add(self.orphans.saturating_mul(slot::ORPHAN_TOKENS))
    }
}

/// The messages of one path with the view over them. Cheap to clone: messages are shared.
#[derive(Clone)]
pub struct Context {
    /// Shared between clones: planning does not copy the conversation.
    pub(crate) entries: Rc<Vec<Entry>>,
    pub(crate) view: View,
    pub(crate) records: Records,
    pub(crate) rendered: RenderedRecords,
    pub(crate) setup: Setup,
    pub(crate) counter: Rc<dyn TokenCounter>,
    /// Indices of the entries that are not covered, oldest first.
    pub(crate) shown: Vec<usize>,
    pub(crate) sums: Sums,
    pub(crate) slot: Option<Slot>,
    /// Shared between clones, which often show the same.
    last_slot: LastSlot,
    unpaired: Unpaired,
    last_user: Option<usize>,
    /// Tokens of the reasoning that is sent with an entry, where any is.
    reasoning: Rc<SortedMap<usize, u32>>,
    /// The reasoning of entries before this one is left out.
    reasoning_from: usize,
    /// Tools were called since the user's last message.
    in_loop: bool,
    /// Tools were called at any time.
    has_called: bool,
    /// Tokens of all the user said on the path, shown or not, as stored.
    said_by_user: u64,
    /// The epoch of the counter at the last count of the content that the window bounds.
    epoch: u64,
    /// The tokens of the shown content that another counter counted.
    stale: u32,
    anchor: Option<Anchor>,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("messages", &self.entries.len())
            .field("revision", &self.view.revision)
            .field("shown", &self.shown.len())
            .finish_non_exhaustive()
    }
}

impl Context {
    /// An empty context.
    pub fn new(setup: Setup, records: Records, counter: Rc<dyn TokenCounter>) -> Self {
        let rendered = records.render(setup.shares.window, setup.policy.demands, counter.as_ref());
        let epoch = counter.epoch();
        Self {
            entries: Rc::default(),
            view: View::default(),
            records,
            rendered,
            setup,
            counter,
            shown: Vec::new(),
            sums: Sums::default(),
            slot: None,
            last_slot: LastSlot::default(),
            unpaired: Unpaired::default(),
            last_user: None,
            reasoning: Rc::default(),
            reasoning_from: 0,
            in_loop: false,
            has_called: false,
            said_by_user: 0,
            epoch,
            stale: 0,
            anchor: None,
        }
    }

    /// Adds the next message of the path. Cost does not grow with the conversation.
    pub fn push(&mut self, message: Rc<Message>) {
        let tokens = verbatim_tokens(&message, self.counter.as_ref());
        let counted_by = self.epoch;
        self.push_counted(Entry {
            message,
            tokens,
            counted_by,
        });
    }

    /// Adds the next message of a list, of which `reasoning` tokens of reasoning are sent, too.
    pub(crate) fn push_with_reasoning(&mut self, message: Rc<Message>, reasoning: u32) {
        if reasoning > 0 {
            Rc::make_mut(&mut self.reasoning).insert(self.entries.len(), reasoning);
        }
        self.push(message);
    }

    /// Returns `true` if the reasoning of an entry is sent with its present form. Reasoning of finished turns leaves
    /// with the first shorter form; in a running loop of tool calls it stays beside every form.
    pub(crate) fn sends_reasoning(&self, index: usize) -> bool {
        if index < self.reasoning_from {
            return false;
        }
        match self.view.rendition(self.entries[index].message.seq) {
            Rendition::Covered(_) => false,
            Rendition::Reduced(reduced) => reduced.tokens > 0 && index >= self.loop_start(),
            Rendition::Verbatim => true,
        }
    }

    /// The tokens of the reasoning that is sent with the present form of an entry.
    pub(crate) fn reasoning_of(&self, index: usize) -> u32 {
        match self.reasoning.get(&index) {
            Some(tokens) if self.sends_reasoning(index) => *tokens,
            _ => 0,
        }
    }

    /// Index of the first entry of the loop of tool calls that still runs; the number of entries if none does.
    pub(crate) fn loop_start(&self) -> usize {
        if self.in_loop {
            self.last_user.map_or(0, |last| last + 1)
        } else {
            self.entries.len()
        }
    }

    /// Leaves the reasoning of the entries before `end` out, but not that of a running loop.
    pub(crate) fn leave_out_reasoning(&mut self, end: usize) {
        self.reasoning_from = self.reasoning_from.max(end.min(self.loop_start()));
        self.refresh();
        self.put_back(self.anchor);
    }

    /// The reasoning of entries before this one is left out.
    pub(crate) const fn reasoning_from(&self) -> usize {
        self.reasoning_from
    }

    /// Adds the next message of the path with its stored count.
    pub fn push_counted(&mut self, entry: Entry) {
        let index = self.entries.len();
        if entry.message.role == Role::User {
            self.last_user = Some(index);
            self.said_by_user += u64::from(entry.tokens);
            self.in_loop = false;
        } else {
            let is_tool = |p: &Part| matches!(p, Part::ToolCall { .. } | Part::ToolResult { .. });
            self.in_loop |= entry.message.parts.iter().any(is_tool);
        }
        self.has_called |= entry.message.calls().next().is_some();
        Rc::make_mut(&mut self.entries).push(entry);
        self.show(index);
        if let Some(mut anchor) = self.anchor {
            anchor.since.add(self.since(index));
            self.anchor = Some(anchor);
        }
    }

    fn show(&mut self, index: usize) {
        let (role, seq) = {
            let m = &self.entries[index].message;
            (m.role, m.seq)
        };
        let tokens = match self.view.rendition(seq) {
            Rendition::Covered(_) => return,
            Rendition::Reduced(r) => r.tokens,
            Rendition::Verbatim => {
                let entry = &self.entries[index];
                if entry.counted_by != self.epoch {
                    self.stale = self.stale.saturating_add(entry.tokens);
                }
                entry.tokens
            }
        };
        let tokens = tokens.saturating_add(self.reasoning_of(index));
        let sum = self.sums.of(role);
        *sum = sum.saturating_add(tokens);
        match self.view.reduced.get(&seq) {
            Some(reduced) => self.unpaired.see(role, &reduced.parts),
            None => self.unpaired.see(role, &self.entries[index].message.parts),
        }
        self.shown.push(index);
    }

    /// Shows the path through another view. Layers whose range is not wholly on this path are left out.
    pub fn set_view(&mut self, mut view: View) {
        let on_path = |seq: Seq| {
            self.entries
                .binary_search_by_key(&seq, |e| e.message.seq)
                .is_ok()
        };
        view.layers
            .retain(|l| l.covers.iter().all(|s| on_path(s.from) && on_path(s.to)));
        view.quotes.retain(|q| on_path(q.seq));
        self.view = view;
        self.anchor = None;
        self.refresh();
    }

    /// Shows the path through its view with these changes.
    pub(crate) fn edit_view(&mut self, edit: impl FnOnce(&mut View)) {
        let mut view = std::mem::take(&mut self.view);
        edit(&mut view);
        self.set_view(view);
    }

    fn refresh(&mut self) {
        self.shown.clear();
        self.sums = Sums::default();
        self.unpaired = Unpaired::default();
        self.stale = 0;
        let mut from = 0;
        for span in self.covered() {
            let until = self
                .entries
                .partition_point(|e| e.message.seq < span.from)
                .max(from);
            (from..until).for_each(|index| self.show(index));
            from = self
                .entries
                .partition_point(|e| e.message.seq <= span.to)
                .max(from);
        }
        (from..self.entries.len()).for_each(|index| self.show(index));
        self.slot = self.make_slot();
    }

    /// The layers with the demands before them that no message in the window says.
    fn make_slot(&self) -> Option<Slot> {
        let policy = self.setup.policy.as_ref();
        let demands = self.demands();
        let counter = self.counter.as_ref();
        self.last_slot.slot(&self.view, &demands, policy, counter)
    }

    /// Returns the demands at the head of the layers: those whose message is not verbatim in the window.
    pub fn demands(&self) -> Vec<&Demand> {
        let demands = self.rendered.demands.iter();
        demands.filter(|d| !self.shows(d)).collect()
    }

    /// Returns `true` if a message in the window contains the demand.
    fn shows(&self, demand: &Demand) -> bool {
        let place = self
            .entries
            .binary_search_by_key(&demand.from, |e| e.message.seq);
        let message = place.ok().and_then(|i| self.entries.get(i));
        message.is_some_and(|e| {
            matches!(self.view.rendition(demand.from), Rendition::Verbatim)
                && e.message.words().contains(&demand.text)
        })
    }

    /// The demands that stand at the head of the layers once every message before `first` is covered.
    pub(crate) fn demands_without(&self, first: Seq) -> Vec<&Demand> {
        let demands = self.rendered.demands.iter();
        let demands = demands.filter(|d| d.from < first || !self.shows(d));
        demands.collect()
    }

    /// Tokens of a slot that holds nothing but these demands.
    pub(crate) fn slot_of(&self, demands: &[&Demand]) -> u32 {
        if demands.is_empty() {
            return 0;
        }
        let policy = self.setup.policy.as_ref();
        let slot = slot::slot(&View::default(), demands, policy, self.counter.as_ref());
        slot.map_or(0, |s| s.tokens)
    }

    /// Every demand that the records hold and the system message does not.
    pub(crate) fn all_demands(&self) -> Vec<&Demand> {
        self.rendered.demands.iter().collect()
    }

    /// Returns `true` if the quote is the whole text of its message.
    pub fn says_whole(&self, quote: &Quote) -> bool {
        let place = self
            .entries
            .binary_search_by_key(&quote.seq, |e| e.message.seq);
        let entry = place.ok().and_then(|i| self.entries.get(i));
        entry.is_some_and(|e| e.message.words().trim() == quote.text)
    }

    /// Returns the covered ranges, oldest first. The loop over the path skips them, so the cost of a view depends on
    /// the shown messages.
    pub(crate) fn covered(&self) -> Vec<Span> {
        let layers = self.view.layers.iter();
        let mut spans: Vec<Span> = layers.flat_map(|l| l.covers.iter().copied()).collect();
        palimpsest_text::order::sort_by_key(&mut spans, |s| s.from);
        spans
    }

    /// Replaces the records.
    pub fn set_records(&mut self, records: Records) {
        let rendered = records.render(
            self.setup.shares.window,
            self.setup.policy.demands,
            self.counter.as_ref(),
        );
        // what waits for a decision is not shown: the provider's count stays
        if rendered != self.rendered {
            self.anchor = None;
        }
        self.rendered = rendered;
        self.records = records;
        self.slot = self.make_slot();
    }

    /// Another window, policy or set of tools. Renditions stay as they are.
    pub fn set_setup(&mut self, setup: Setup) {
        let anchor = self.anchor.filter(|_| setup.tools == self.setup.tools);
        self.setup = setup;
        let records = std::mem::take(&mut self.records);
        self.set_records(records);
        self.put_back(anchor);
    }

    /// Replaces the counter. Content that the window bounds (records, layers, shorter forms) is counted again at once.
    /// Messages keep their counts, as estimates, until [`Self::recount`] has reached them. The window stays the same,
    /// and so does the provider's own count of it.
    pub fn set_counter(&mut self, counter: Rc<dyn TokenCounter>) {
        let epoch = counter.epoch();
        self.counter = counter;
        if epoch == self.epoch {
            return;
        }
        self.epoch = epoch;
        let anchor = self.anchor;
        let records = std::mem::take(&mut self.records);
        self.set_records(records);
        self.recount_view();
        self.put_back(anchor);
    }

    /// Counts the content of the view besides whole messages again: shorter forms, layers, quotes. It serves a view
    /// that was stored under another counter.
    pub fn recount_view(&mut self) {
        let counter = Rc::clone(&self.counter);
        let counter = counter.as_ref();
        let role_of = |seq: Seq| {
            let at = self
                .entries
                .binary_search_by_key(&seq, |e| e.message.seq)
                .ok()?;
            Some(self.entries[at].message.role)
        };
        let mut view = std::mem::take(&mut self.view);
        for (seq, reduced) in &mut view.reduced {
            let Some(role) = role_of(*seq) else { continue };
            let again = Reduced::new(reduced.kind, role, reduced.parts.clone(), counter);
            if again.tokens != reduced.tokens {
                *reduced = Rc::new(again);
            }
        }
        for layer in &mut view.layers {
            let mut again = (**layer).clone();
            again.recount(counter);
            if again.tokens != layer.tokens {
                *layer = Rc::new(again);
            }
        }
        for quote in &mut view.quotes {
            quote.tokens = counter.count(&slot::quote_line(quote.seq, &quote.text)) + 1;
        }
        if let Some(recalled) = &mut view.recalled {
            for quote in &mut recalled.quotes {
                quote.tokens = slot::quote_tokens(quote.seq, &quote.text, counter);
            }
            for one in &mut recalled.elsewhere {
                one.quote.tokens = slot::elsewhere_tokens(&one.source, &one.quote.text, counter);
            }
            recalled.tokens = slot::recall_tokens(recalled);
        }
        self.view = view;
        self.refresh();
    }

    /// Counts messages of the window again that another counter counted, newest first, until it has counted about
    /// `bytes` bytes of text or none is left (`true`). Covered messages are counted when they are shown again.
    pub fn recount(&mut self, bytes: usize) -> bool {
        let epoch = self.epoch;
        let mut done = 0;
        let mut left = false;
        for at in (0..self.shown.len()).rev() {
            let index = self.shown[at];
            let entry = &self.entries[index];
            let seq = entry.message.seq;
            if entry.counted_by == epoch || !matches!(self.view.rendition(seq), Rendition::Verbatim)
            {
                continue;
            }
            if done >= bytes.max(1) {
                left = true;
                break;
            }
            let message = Rc::clone(&entry.message);
            let before = entry.tokens;
            let tokens = verbatim_tokens(&message, self.counter.as_ref());
            let entry = &mut Rc::make_mut(&mut self.entries)[index];
            (entry.tokens, entry.counted_by) = (tokens, epoch);
            self.stale = self.stale.saturating_sub(before);
            if message.role == Role::User {
                self.said_by_user = self.said_by_user - u64::from(before) + u64::from(tokens);
            }
            let sum = self.sums.of(message.role);
            *sum = sum.saturating_sub(before).saturating_add(tokens);
            if let Some(anchor) = self.anchor.as_mut().filter(|a| a.entries <= index) {
                let since = &mut anchor.since.tokens;
                *since = since.saturating_sub(before).saturating_add(tokens);
            }
            let words: usize = message.parts.iter().map(|p| p.words().len()).sum();
            done += words.max(64);
        }
        !left
    }

    /// Returns `true` if the present counter counted everything in the window.
    pub const fn is_settled(&self) -> bool {
        self.stale == 0
    }

    /// Notes the provider's count of the window at the time when the path had `entries` messages. The report's numbers
    /// start from it until the view or the records change.
    pub fn anchor(&mut self, entries: usize, tokens: u32) {
        if entries > self.entries.len() {
            return;
        }
        self.anchor = Some(Anchor {
            entries,
            tokens,
            beside: self.beside(),
            since: self.since(entries),
        });
    }

    /// Keeps a provider's count of the same window over a change of the sizes in it.
    fn put_back(&mut self, anchor: Option<Anchor>) {
        self.anchor = anchor.map(|anchor| Anchor {
            since: self.since(anchor.entries),
            ..anchor
        });
    }

    /// Tokens of the conversation that are in no message: recalled quotes, stand-ins.
    fn beside(&self) -> u32 {
        self.recalled_now()
            .map_or(0, |r| r.tokens)
            .saturating_add(self.unpaired.tokens())
    }

    /// The size of the messages from the path's `from`-th on.
    fn since(&self, from: usize) -> Since {
        let mut since = Since::default();
        for index in from..self.entries.len() {
            let parts = &self.entries[index].message.parts;
            since.add(Since {
                tokens: self.shown_tokens(index),
                loose: parts.iter().map(|part| u32::from(part.is_loose())).sum(),
            });
        }
        since
    }

    /// The messages of the path, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The stored tokens of the user's covered messages. The cost depends on the shown messages, not on the history.
    pub(crate) fn covered_user_tokens(&self) -> u32 {
        let shown = self.shown.iter().map(|&i| &self.entries[i]);
        let shown = shown.filter(|e| e.message.role == Role::User);
        let shown: u64 = shown.map(|e| u64::from(e.tokens)).sum();
        u32::try_from(self.said_by_user.saturating_sub(shown)).unwrap_or(u32::MAX)
    }

    /// The number of messages that are shown in any form.
    pub fn shown_count(&self) -> u32 {
        self.shown.len() as u32
    }

    /// The view.
    pub const fn view(&self) -> &View {
        &self.view
    }

    /// The records.
    pub const fn records(&self) -> &Records {
        &self.records
    }

    /// The records as they stand in the window.
    pub const fn rendered_records(&self) -> &RenderedRecords {
        &self.rendered
    }

    /// Window, policy, tools.
    pub const fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The counter.
    pub fn counter(&self) -> &Rc<dyn TokenCounter> {
        &self.counter
    }

    /// Tokens of the window: a sum that is kept, not a recount.
    pub fn tokens(&self) -> u32 {
        self.fixed_tokens()
            .saturating_add(self.slot_tokens())
            .saturating_add(self.conversation_tokens())
    }

    /// System message, tools and template.
    pub(crate) fn fixed_tokens(&self) -> u32 {
        let overhead = self.counter.overhead();
        let system = if self.rendered.text.is_empty() {
            0
        } else {
            overhead.system
                + self.rendered.system_tokens
                + self.rendered.goal_tokens
                + self.rendered.pin_tokens
        };
        overhead
            .base
            .saturating_add(system)
            .saturating_add(self.setup.tools)
    }

    /// The slot with the layers, and the line after it.
    pub(crate) fn slot_tokens(&self) -> u32 {
        self.slot.as_ref().map_or(0, |s| s.tokens)
    }

    /// The text of the slot; empty if there is none.
    pub(crate) fn slot_text(&self) -> &str {
        self.slot.as_ref().map_or("", |s| s.text.as_str())
    }

    /// The tokens of the shown messages and of recalled quotes.
    pub(crate) fn conversation_tokens(&self) -> u32 {
        self.sums.total().saturating_add(self.beside())
    }

    /// Tokens of the quotes that stand in the window for the last user message alone. They go with the next one, and so
    /// are no growth of the conversation.
    pub fn recalled_tokens(&self) -> u32 {
        self.recalled_now().map_or(0, |r| r.tokens)
    }

    /// Returns `true` if tools are offered or were called.
    pub(crate) fn has_tools(&self) -> bool {
        self.setup.tools > 0 || self.sums.tool > 0 || self.has_called
    }

    /// Returns the room for the quotes of a question, when `more` tokens join the window without quotes: at most a
    /// quarter of `limit`, and no more than is free. With tools, half of the free room is left for their calls and
    /// results, so that the quotes can stay through the turn.
    pub fn recall_room(&self, limit: u32, more: u32) -> u32 {
        let used = self.count().tokens.saturating_sub(self.recalled_tokens());
        let free = limit.saturating_sub(used.saturating_add(more));
        let free = if self.has_tools() { free / 2 } else { free };
        free.min(Shares::recall_most(limit))
    }

    /// The recalled quotes, if they belong to the last user message.
    pub(crate) fn recalled_now(&self) -> Option<&Recalled> {
        let last = self.entries[self.last_user?].message.seq;
        self.view
            .recalled
            .as_ref()
            .filter(|r| r.before == last && !r.is_empty())
    }

    /// Returns the count of the window with its source and bound. It is exact if a vocabulary counted everything;
    /// otherwise it starts from the provider's count of the sent part and adds the counted or estimated rest.
    pub fn count(&self) -> Count {
        let own = self.tokens();
        // An estimate's own bound allows for it.
        let exact = self.counter.source() == Source::Exact;
        let loose = if exact {
            LOOSE_TOKENS
                .saturating_mul(self.unpaired.loose)
                .saturating_add(self.setup.tools / 4)
        } else {
            0
        };
        let counted = self.counter.source() == Source::Exact && self.stale == 0;
        let messages = self.shown.len() as u32 + 2;
        let Some(anchor) = self.anchor else {
            let bound = self
                .counter
                .bound(own.saturating_sub(self.stale))
                // Another vocabulary's count is off by up to a fifth, see the comparison of families.
                .saturating_add(self.stale.div_ceil(5))
                .saturating_add(self.counter.template_bound(messages))
                .saturating_add(loose);
            return if counted && bound == 0 {
                Count::exact(own)
            } else {
                Count {
                    tokens: own,
                    source: Source::Estimated,
                    bound,
                }
            };
        };
        let added = anchor.since.tokens;
        let tokens = anchor
            .tokens
            .saturating_sub(anchor.beside)
            .saturating_add(self.beside())
            .saturating_add(added);
        let new = (self.entries.len() - anchor.entries) as u32;
        let loose = if exact {
            LOOSE_TOKENS.saturating_mul(anchor.since.loose)
        } else {
            0
        };
        let bound = self
            .counter
            .bound(added)
            .saturating_add(self.stale.min(added).div_ceil(5))
            .saturating_add(loose)
            .saturating_add(if new == 0 {
                0
            } else {
                self.counter.template_bound(new)
            });
        let source = if counted && bound == 0 && tokens == own {
            Source::Exact
        } else if new == 0 || counted && bound == 0 {
            Source::Measured
        } else {
            Source::Estimated
        };
        Count {
            tokens,
            source,
            bound: if new == 0 { 0 } else { bound },
        }
    }

    /// The tokens at the window's front that the server is known to have read.
    pub(crate) fn already_read(&self) -> u32 {
        self.anchor.map_or(0, |anchor| anchor.tokens)
    }

    /// The cost of a message in tokens.
    pub fn tokens_of(&self, role: Role, parts: &[Part]) -> u32 {
        crate::data::message::message_tokens(role, parts, self.counter.as_ref())
    }

    /// Index of the last user message.
    pub fn last_user(&self) -> Option<usize> {
        self.last_user
    }

    /// Index of the first message of the last exchange: the newest assistant message with its results.
    pub(crate) fn last_exchange(&self) -> Option<usize> {
        self.entries
            .iter()
            .rposition(|e| e.message.role == Role::Assistant)
    }

    /// The tokens of the present form of an entry.
    pub(crate) fn shown_tokens(&self, index: usize) -> u32 {
        let entry = &self.entries[index];
        let tokens = match self.view.rendition(entry.message.seq) {
            Rendition::Covered(_) => 0,
            Rendition::Reduced(r) => r.tokens,
            Rendition::Verbatim => entry.tokens,
        };
        tokens.saturating_add(self.reasoning_of(index))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use palimpsest_tokens::{Estimator, Family};

    use super::*;

    /// B6: what was said since a provider's count is kept as a sum, which is the sum at any time: while messages come, while
    /// another counter counts them again, and in another window.
    #[test]
    fn the_size_since_a_count_is_kept() {
        let counter = Rc::new(Estimator::new(Family::Generic));
        let setup = Setup::balanced(8192).unwrap();
        let mut context = Context::new(setup, Records::default(), counter);
        let say = |context: &mut Context| {
            let seq = context.entries.len() as Seq;
            let text = format!("Größe {seq}: {}", "parcel ".repeat(seq as usize % 7));
            let image = Part::Image {
                name: "map.png".into(),
                media_type: "image/png".into(),
                data: "a".repeat(90),
                tokens: None,
            };
            let role = [Role::User, Role::Assistant][seq as usize % 2];
            let mut message = Message::text(seq, role, text);
            message.parts.extend(seq.is_multiple_of(3).then_some(image));
            context.push(Rc::new(message));
        };
        let check = |context: &Context| {
            let anchor = context.anchor.unwrap();
            assert_eq!(anchor.since, context.since(anchor.entries));
            let own = anchor.since.tokens + anchor.tokens;
            assert_eq!(context.count().tokens, own);
        };
        for _ in 0..5 {
            say(&mut context);
        }
        context.anchor(4, 321);
        check(&context);
        for turn in 0..24 {
            say(&mut context);
            check(&context);
            match turn % 6 {
                1 => context.set_counter(Rc::new(Estimator::new(Family::Gemma))),
                2 => {
                    context.recount(80);
                }
                3 => context.set_counter(Rc::new(Estimator::new(Family::Llama3))),
                4 => context.set_setup(Setup::balanced(4096).unwrap()),
                5 => while !context.recount(80) {},
                _ => {}
            }
            check(&context);
        }
        assert_eq!(context.anchor.unwrap().entries, 4);
    }
}
