//! From the bytes of Ollama's answer to a vocabulary, in slices.

use crate::{
    Vocabulary,
    assembly::{Assembly, Origin, kind},
    error::Error,
    json::{Limits, Parser},
    snapshot::Reading,
};

/// How far a [`Loader`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// All bytes pushed so far are read; [`Loader::push`] more, or [`Loader::end`].
    Hungry,
    /// There is more to do: call [`Loader::step`] again.
    Working,
    /// Call [`Loader::finish`].
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
    /// Pushed and not yet read.
    waiting: Vec<u8>,
    read: usize,
    ended: bool,
    origin: Origin,
}

#[derive(Debug)]
enum Work {
    Reading(Box<Parser>),
    /// A snapshot.
    Unpacking(Box<Reading>),
    Building(Box<Assembly>),
}

/// Bytes of work that one token or merge is taken for while tables are built.
const ITEM: usize = 32;

impl Default for Loader {
    fn default() -> Self {
        Self::new()
    }
}

impl Loader {
    /// With the usual [`Limits`].
    pub fn new() -> Self {
        Self::with_limits(Limits::default())
    }

    /// With other limits.
    pub fn with_limits(limits: Limits) -> Self {
        Self {
            work: Work::Reading(Box::new(Parser::new(limits))),
            waiting: Vec::new(),
            read: 0,
            ended: false,
            origin: Origin::default(),
        }
    }

    /// The same for a description that was made of what another program has. Ollama's is taken for granted.
    #[must_use]
    pub fn of(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// From a snapshot, see [`Vocabulary::to_bytes`]: that it is whole is checked at once, its tables are built in steps.
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

    /// Adds bytes of the answer. Bytes after the vocabulary is complete are ignored.
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

    /// Says that there are no more bytes.
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
                // A tokenizer that is not implemented is refused before any table is built.
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

    /// The vocabulary; does what work is left.
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
    /// All at once from the bytes of `/api/show` with `verbose`. See [`Loader`] for slices.
    pub fn from_show(bytes: &[u8]) -> Result<Self, Error> {
        let mut loader = Loader::new();
        loader.push(bytes);
        loader.finish()
    }

    /// All at once from a snapshot. It cannot be asked for a snapshot again.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Loader::from_snapshot(bytes)?.finish()
    }
}
