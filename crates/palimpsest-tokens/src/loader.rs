//! Turns the bytes of Ollama's answer into a vocabulary, in slices.

use crate::{
    Vocabulary,
    assembly::{Assembly, Origin, kind},
    error::Error,
    json::{Limits, Parser},
    snapshot::Reading,
};

/// The state of a [`Loader`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The loader has read all bytes so far. [`Loader::push`] more, or call [`Loader::end`].
    Hungry,
    /// Work is left. Call [`Loader::step`] again.
    Working,
    /// The vocabulary is ready. Call [`Loader::finish`].
    Ready,
}

/// Loads a vocabulary from the JSON of `POST /api/show {"model": …, "verbose": true}`.
///
/// Bytes go in as they arrive, work is done in steps of about the size asked for, so that whoever drives it can let
/// others run in between, or drop it to stop:
///
/// ```
/// # use palimpsest_tokens::{Loader, Progress, Error};
/// # fn load(mut chunks: impl Iterator<Item = Vec<u8>>) -> Result<palimpsest_tokens::Vocabulary, Error> {
/// let mut loader = Loader::new();
/// loop {
///     match loader.step(256 * 1024)? {
///         Progress::Hungry => match chunks.next() {
///             Some(chunk) => loader.push(&chunk),
///             None => loader.end(),
///         },
///         Progress::Working => {} // here: let others run
///         Progress::Ready => return loader.finish(),
///     }
/// }
/// # }
/// # assert_eq!(load(std::iter::once(b"{}".to_vec())).unwrap_err(), Error::Absent);
/// ```
#[derive(Debug)]
pub struct Loader {
    work: Work,
    /// Bytes that were pushed and not yet read.
    waiting: Vec<u8>,
    read: usize,
    ended: bool,
    origin: Origin,
}

#[derive(Debug)]
enum Work {
    Reading(Box<Parser>),
    /// The loader reads a snapshot.
    Unpacking(Box<Reading>),
    Building(Box<Assembly>),
}

/// The bytes of `budget` that one token or merge uses up while tables are built.
const ITEM: usize = 32;

impl Default for Loader {
    fn default() -> Self {
        Self::new()
    }
}

impl Loader {
    /// Creates a loader with the usual [`Limits`].
    pub fn new() -> Self {
        Self::with_limits(Limits::default())
    }

    /// Creates a loader with other limits.
    pub fn with_limits(limits: Limits) -> Self {
        Self {
            work: Work::Reading(Box::new(Parser::new(limits))),
            waiting: Vec::new(),
            read: 0,
            ended: false,
            origin: Origin::default(),
        }
    }

    /// Sets the origin of the description. Without it the loader assumes Ollama.
    #[must_use]
    pub fn of(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// Loads from a snapshot, see [`Vocabulary::to_bytes`]. This function checks at once that the snapshot is whole;
    /// the steps build its tables.
    pub fn from_snapshot(bytes: &[u8]) -> Result<Self, Error> {
        let work = Work::Unpacking(Box::new(crate::snapshot::read(bytes)?));
        Ok(Self {
            work,
            waiting: Vec::new(),
            read: 0,
            ended: true,
            origin: Origin::default(),
        })
    }

    /// Adds bytes of the answer. The loader ignores bytes after the end of the vocabulary.
    pub fn push(&mut self, bytes: &[u8]) {
        if !matches!(self.work, Work::Reading(_)) {
            return;
        }
        if self.read == self.waiting.len() {
            self.waiting.clear();
            self.read = 0;
        }
        self.waiting.extend_from_slice(bytes);
    }

    /// Tells the loader that no more bytes will come.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Works through about `budget` bytes. 256 KiB take a few milliseconds.
    pub fn step(&mut self, budget: usize) -> Result<Progress, Error> {
        match &mut self.work {
            Work::Reading(parser) => {
                let end = self.waiting.len().min(self.read + budget.max(1));
                parser.read(&self.waiting[self.read..end])?;
                self.read = end;
                if end < self.waiting.len() {
                    return Ok(Progress::Working);
                }
                if !self.ended && !parser.done() {
                    return Ok(Progress::Hungry);
                }
                if !parser.done() {
                    return Err(Error::Incomplete);
                }
                let mut description = std::mem::take(&mut parser.description);
                description.origin = self.origin;
                // A tokenizer that this crate does not implement is refused before any table is built.
                kind(
                    &description.model,
                    &description.pre,
                    description.space_prefix,
                )?;
                self.work = Work::Building(Box::new(Assembly::new(description)?));
                (self.waiting, self.read) = (Vec::new(), 0);
                Ok(Progress::Working)
            }
            Work::Unpacking(reading) => {
                if reading.step(budget / ITEM)? {
                    self.work = Work::Building(Box::new(reading.finish()));
                }
                Ok(Progress::Working)
            }
            Work::Building(assembly) => {
                let done = assembly.step(budget / ITEM)?;
                Ok(if done {
                    Progress::Ready
                } else {
                    Progress::Working
                })
            }
        }
    }

    /// Does all work that is left and returns the vocabulary.
    pub fn finish(mut self) -> Result<Vocabulary, Error> {
        self.ended = true;
        while self.step(usize::MAX / 2)? != Progress::Ready {}
        match self.work {
            Work::Building(assembly) => assembly.finish(),
            Work::Reading(_) | Work::Unpacking(_) => Err(Error::Incomplete),
        }
    }
}

impl Vocabulary {
    /// Loads from the whole answer of `/api/show` with `verbose`. [`Loader`] does the same in slices.
    pub fn from_show(bytes: &[u8]) -> Result<Self, Error> {
        let mut loader = Loader::new();
        loader.push(bytes);
        loader.finish()
    }

    /// Loads from a whole snapshot. The result cannot make a snapshot again.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Loader::from_snapshot(bytes)?.finish()
    }
}
