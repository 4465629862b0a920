//! A list that its owner only adds to, made to fit again and again: each time costs what is new and what is shown, not what
//! was said long ago.

use std::hash::Hasher;
use std::rc::Rc;

use palimpsest_dialect::{self as dialect, Dialect, Parsed, Reading, Rendered};
use palimpsest_text::sorted::SortedSet;
use palimpsest_tokens::TokenCounter;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use siphasher::sip::SipHasher24;

use super::quoting::{Covered, Earlier};
use super::tail::Tail;
use super::{
    CompactOptions, CompactReport, CompactState, Compaction, Fingerprint, Given, Keeper,
    STATE_VERSION, adopt, seal, stored,
};
use crate::context::{Context, Seed, View};
use crate::data::layer::Layer;
use crate::data::message::Origin;
use crate::error::CoreError;
use crate::pass::Adjustment;

/// A conversation that grows.
///
/// [`Self::fit`] gives what [`Compaction`] gives for the whole list with the state of the call before. The messages are
/// kept here, so that nothing is read, counted or compared twice.
pub struct Live {
    options: CompactOptions,
    counter: Rc<dyn TokenCounter>,
    /// Tokens of the request beside the list.
    beside: u32,
    values: Vec<Value>,
    reading: Reading,
    /// `true` once the shape is certain: the owner said it, or a message shows it.
    is_certain: bool,
    /// Every message that is finished, without a view.
    base: Context,
    /// Hash of the messages in `base`.
    hash: Fingerprint,
    state: Option<CompactState>,
    covered: Option<Covered>,
    /// To be said with the next result.
    adjustments: Vec<Adjustment>,
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live")
            .field("messages", &self.values.len())
            .field("context", &self.base)
            .finish_non_exhaustive()
    }
}

/// A list that fits.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The owner's own messages by their position, others in the same dialect.
    pub messages: Vec<Rendered>,
    /// What was done.
    pub report: CompactReport,
}

/// A conversation as it was saved.
#[derive(Debug, Clone, PartialEq)]
pub struct Saved {
    /// What the owner wanted to find again.
    pub options: Value,
    /// Every message.
    pub messages: Vec<Value>,
    state: Option<CompactState>,
}

/// What a saved conversation says that it is.
const KIND: &str = "conversation";

/// The form of a saved conversation.
const SAVED_VERSION: u32 = 1;

#[derive(Serialize)]
struct Written<'a> {
    palimpsest: &'static str,
    version: u32,
    options: &'a Value,
    messages: &'a [Value],
    state: &'a Option<CompactState>,
    sum: String,
}

#[derive(Deserialize)]
struct Read {
    options: Value,
    messages: Vec<Value>,
    #[serde(default)]
    state: Option<CompactState>,
    sum: String,
}

impl Live {
    /// A conversation without messages. Fails as [`Compaction::start`] does for options that cannot be used.
    pub fn new(options: CompactOptions, counter: &Rc<dyn TokenCounter>) -> Result<Self, CoreError> {
        let beside = options.beside(counter.as_ref());
        let setup = options.setup(beside, counter.as_ref())?;
        let records = options.records(String::new(), counter.as_ref())?;
        Ok(Self {
            counter: Rc::clone(counter),
            beside,
            values: Vec::new(),
            reading: Reading::new(options.dialect.unwrap_or(Dialect::OpenAi), Origin::Host),
            is_certain: options.dialect.is_some(),
            base: Context::new(setup, records, Rc::clone(counter)),
            hash: Fingerprint::default(),
            state: None,
            covered: None,
            adjustments: Vec::new(),
            options,
        })
    }

    /// A conversation that was saved, with the options it had or others.
    pub fn resume(
        saved: Saved,
        options: CompactOptions,
        counter: &Rc<dyn TokenCounter>,
    ) -> Result<Self, CoreError> {
        let mut live = Self::new(options, counter)?;
        live.push(saved.messages)?;
        if let Some(state) = saved.state {
            match seal::wrong(&state, STATE_VERSION) {
                Some((code, text)) => live.adjustments.push(Adjustment::new(code, text)),
                None => live.state = Some(state),
            }
        }
        Ok(live)
    }

    /// The number of messages.
    pub const fn len(&self) -> usize {
        self.values.len()
    }

    /// `true` while nothing was added.
    pub const fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The layers that stand in the list since it was made to fit last, oldest first.
    pub fn layers(&self) -> &[Rc<Layer>] {
        self.state.as_ref().map_or(&[], |state| &state.view.layers)
    }

    /// Adds messages: all of them, or none. Fails with [`CoreError::BadInput`] that names the first one that cannot be read,
    /// by its position in the whole list.
    pub fn push(&mut self, new: Vec<Value>) -> Result<(), CoreError> {
        let own = self.reading.parsed().dialect;
        let looks = if self.is_certain {
            None
        } else {
            dialect::detect(&new)
        };
        if looks.is_none_or(|looks| looks == own) {
            self.reading.add(&new)?;
            self.values.extend(new);
            return Ok(());
        }
        // the first message that only one shape has: what was read so far could have been of any
        let before = self.values.len();
        self.values.extend(new);
        let dialect = dialect::detect(&self.values).unwrap_or(own);
        let mut reading = Reading::new(dialect, Origin::Host);
        if let Err(error) = reading.add(&self.values) {
            self.values.truncate(before);
            return Err(error.into());
        }
        self.reading = reading;
        self.is_certain = true;
        if dialect != own {
            self.forget_from(0);
            self.covered = None;
            // plain messages are the same in every shape
            let is_same = self.state.as_ref().is_none_or(|state| {
                let mut hash = Fingerprint::default();
                let known = self.reading.parsed().messages.iter();
                known
                    .take(state.messages as usize)
                    .for_each(|from| hash.add(&from.message));
                hash.text() == state.hash
            });
            if !is_same {
                self.state = None;
                self.adjustments.push(super::of_other_list());
            }
        }
        Ok(())
    }

    /// Makes the list fit, with the extractive summariser. After an error the conversation is as it was.
    pub fn fit(&mut self, seed: Seed) -> Result<Fitted, CoreError> {
        let Some(open) = dialect::open_tail(&self.values, self.reading.parsed()) else {
            return self.fit_beside(Tail::default(), seed);
        };
        let dialect = self.reading.parsed().dialect;
        let raw = open.raw;
        let given = self.values[raw..].to_vec();
        let split = Tail::split(&mut self.values, open, dialect, self.counter.as_ref());
        self.reading.cut(raw);
        let begun = self.values.len() > raw;
        let whole = self.reading.parsed().messages.len();
        let done = split.and_then(|(tail, _)| {
            self.reading.add(&self.values[raw..])?;
            self.fit_beside(tail, seed)
        });
        self.values.truncate(raw);
        self.values.extend(given);
        self.reading.cut(raw);
        if begun {
            self.forget_from(whole);
        }
        self.reading.add(&self.values[raw..])?;
        done
    }

    /// The same, where the list's unfinished end was taken off.
    fn fit_beside(&mut self, tail: Tail, seed: Seed) -> Result<Fitted, CoreError> {
        let counter = Rc::clone(&self.counter);
        let beside = self.beside.saturating_add(tail.tokens);
        let setup = self.options.setup(beside, counter.as_ref())?;
        let limit = self.options.limit(&setup);
        let system = self.reading.parsed().system_text();
        let mut records = self.options.records(system, counter.as_ref())?;
        if self.base.entries().len() > self.reading.parsed().messages.len() {
            self.forget_from(self.reading.parsed().messages.len());
        }
        self.read_on();
        self.base.set_setup(setup.clone());
        self.base.set_records(records.clone());
        let before = self.base.count();
        let mut earlier = Earlier::default();
        let context = if let Some(state) = &self.state {
            earlier = Earlier::of(state, None);
            let mut view = state.view.clone();
            view.reduced.clear();
            stored::put(&mut view, &state.shorter, &self.base);
            adopt(&mut records, state.pins.clone());
            let from = state.reasoning_from.unwrap_or(0) as usize;
            self.base.through(setup, records, view, from)
        } else {
            self.base.through(setup, records, View::default(), 0)
        };
        let mut compaction = Compaction::begin(
            Given {
                values: std::mem::take(&mut self.values),
                parsed: self.take_parsed(),
                tail,
                context,
                limit,
                before,
                hash: self.hash.text(),
                adjustments: self.adjustments.clone(),
                is_handed: false,
                earlier,
            },
            &self.options,
            seed,
        );
        compaction.keeper = Keeper::Live;
        compaction.covered = self.covered.take();
        let done = compaction.complete();
        self.values = compaction.values;
        self.covered = compaction.covered;
        *self.reading.parsed_mut() = compaction.parsed;
        self.reading.parsed_mut().silent = SortedSet::new();
        let done = done?;
        self.adjustments.clear();
        self.state = Some(done.state);
        Ok(Fitted {
            messages: done.messages,
            report: done.report,
        })
    }

    fn take_parsed(&mut self) -> Parsed {
        let nothing = Parsed::nothing(self.reading.parsed().dialect);
        std::mem::replace(self.reading.parsed_mut(), nothing)
    }

    /// Counts what is new.
    fn read_on(&mut self) {
        let parsed = self.reading.parsed();
        let known = self.base.entries().len();
        let begins = dialect::reasoning_begins(parsed);
        for (n, from) in parsed.messages.iter().enumerate().skip(known) {
            let reasoning = if n < begins {
                0
            } else {
                dialect::reasoning_of(from, &self.values, self.counter.as_ref())
            };
            self.hash.add(&from.message);
            self.base
                .push_with_reasoning(Rc::new(from.message.clone()), reasoning);
        }
        self.base.drop_reasoning(begins);
    }

    /// Forgets the messages from the `from`-th on, of which only a part was there.
    fn forget_from(&mut self, from: usize) {
        self.base.truncate(from);
        self.hash = Fingerprint::default();
        for entry in self.base.entries() {
            self.hash.add(&entry.message);
        }
    }

    /// All of it as JSON text, for [`Saved::read`]: every message, `options`, and what the next call has to know.
    pub fn save(&self, options: &Value) -> String {
        let mut state = self.state.clone();
        if let Some(state) = &mut state {
            state.seal = seal::of(state);
        }
        let mut written = Written {
            palimpsest: KIND,
            version: SAVED_VERSION,
            options,
            messages: &self.values,
            state: &state,
            sum: String::new(),
        };
        written.sum = written.sum();
        // plain data: this cannot fail
        serde_json::to_string(&written).unwrap_or_default()
    }
}

impl Written<'_> {
    /// The check sum of all the rest.
    fn sum(&self) -> String {
        let text = serde_json::to_string(&(self.version, self.options, self.messages, self.state));
        let mut hasher = SipHasher24::new_with_key(b"palimpsest saved");
        hasher.write(text.unwrap_or_default().as_bytes());
        format!("{:016x}", hasher.finish())
    }
}

impl Saved {
    /// Reads what [`Live::save`] wrote. Fails with [`CoreError::SavedNewer`] for a later version's, and with
    /// [`CoreError::SavedDamaged`] for text that is no saved conversation, or not as it was written.
    pub fn read(text: &str) -> Result<Self, CoreError> {
        let damaged = |why: &str| CoreError::SavedDamaged {
            why: why.to_owned(),
        };
        let value: Value =
            palimpsest_text::json::parse(text).map_err(|e| damaged(&e.to_string()))?;
        if value.get("palimpsest").and_then(Value::as_str) != Some(KIND) {
            return Err(damaged("it is something else"));
        }
        match value.get("version").and_then(Value::as_u64) {
            Some(version) if version > u64::from(SAVED_VERSION) => {
                return Err(CoreError::SavedNewer { version });
            }
            Some(version) if version == u64::from(SAVED_VERSION) => {}
            _ => return Err(damaged("it has no version")),
        }
        let read: Read =
            palimpsest_text::json::take(value).map_err(|error| damaged(&error.to_string()))?;
        let written = Written {
            palimpsest: KIND,
            version: SAVED_VERSION,
            options: &read.options,
            messages: &read.messages,
            state: &read.state,
            sum: String::new(),
        };
        if written.sum() != read.sum {
            return Err(damaged("its check sum is another"));
        }
        Ok(Self {
            options: read.options,
            messages: read.messages,
            state: read.state,
        })
    }
}
