//! How a list is compacted, and what follows from that for its window.

use palimpsest_tokens::{CountRole, Source, TokenCounter};
use serde_json::Value;

use super::recall;
use crate::context::Setup;
use crate::data::goal::Goal;
use crate::data::mode::Mode;
use crate::data::policy::{Fading, Policy};
use crate::data::record::{PinKind, Records};
use crate::data::shares::ShareOptions;
use crate::data::tool::definitions_tokens;
use crate::error::CoreError;
use crate::headroom::Cache;
use palimpsest_dialect::Dialect;

/// How to compact a list.
#[derive(Debug, Clone)]
pub struct CompactOptions {
    /// The model's window in tokens.
    pub window: u32,
    /// Tokens kept free for the answer; by default what [`crate::shares::Shares`] keeps free in such a window.
    pub reserve: Option<u32>,
    /// The most tokens the result may hold; by default the window without reserve and margin.
    pub max_tokens: Option<u32>,
    /// The rules.
    pub policy: Policy,
    /// Tool definitions that go with the request.
    pub tools: Vec<Value>,
    /// The system prompt, where it is a field of the request and not a message of the list. It is counted.
    pub system: Option<String>,
    /// The goal.
    pub goal: Option<Goal>,
    /// Lines to keep word for word.
    pub pins: Vec<String>,
    /// The list's shape, where the caller knows it.
    pub dialect: Option<Dialect>,
    /// The model thinks before it answers.
    pub thinking: bool,
    /// What the conversation is about.
    pub mode: Mode,
    /// What the summary should dwell on.
    pub focus: Option<String>,
    /// Name of the summariser that will answer the jobs; `None` for the deterministic one.
    pub model: Option<String>,
    /// What is kept of a prompt between requests: how far below its limit a compaction goes.
    pub cache: Cache,
}

impl CompactOptions {
    /// `balanced` in a window of that size.
    pub fn new(window: u32) -> Self {
        Self {
            window,
            reserve: None,
            max_tokens: None,
            policy: Policy::default(),
            tools: Vec::new(),
            system: None,
            goal: None,
            pins: Vec::new(),
            dialect: None,
            thinking: false,
            mode: Mode::default(),
            focus: None,
            model: None,
            cache: Cache::default(),
        }
    }
}

impl CompactOptions {
    /// The tokens of a request that stand beside the list: tool definitions, and a system prompt outside of it.
    pub(super) fn beside(&self, counter: &dyn TokenCounter) -> u32 {
        let system = self.system.as_deref();
        let system = system.map_or(0, |text| counter.count_message(CountRole::System, text));
        definitions_tokens(&self.tools, counter).saturating_add(system)
    }

    /// The division of the window. `beside` are the tokens of tool definitions and of whatever else goes along.
    pub(super) fn setup(
        &self,
        beside: u32,
        counter: &dyn TokenCounter,
    ) -> Result<Setup, CoreError> {
        let share = ShareOptions {
            reserve: self.reserve,
            thinking: self.thinking,
            exact: counter.source() == Source::Exact,
        };
        let mut setup = Setup::new(self.window, share, self.policy.clone(), beside)?;
        // a list has no session behind it: what is not shown is found by a tool, or not at all
        setup.lookup = recall::lookup(&self.tools);
        // Nobody lifts a list's layers one by one, and in a small window the best sentences of all of them say more than the
        // best of each. A model's summary is not summarised again.
        setup.has_one_layer |= (self.model.is_none() || !setup.shares.fits_model())
            && setup.policy.fading == Fading::Notes
            && setup.shares.is_small();
        Ok(setup)
    }

    /// The most that the result may hold.
    pub(super) fn limit(&self, setup: &Setup) -> u32 {
        self.max_tokens
            .unwrap_or(setup.shares.limit)
            .min(self.window)
    }

    /// The system prompt with goal and pins.
    pub(super) fn records(
        &self,
        system: String,
        counter: &dyn TokenCounter,
    ) -> Result<Records, CoreError> {
        let mut records = Records::with_system(system);
        records.goal.clone_from(&self.goal);
        records.check_room(self.window, counter)?;
        for pin in &self.pins {
            records.pin(PinKind::Pin, pin, self.window, counter)?;
        }
        Ok(records)
    }
}
