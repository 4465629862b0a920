//! Counting as a model does: reading vocabularies, and learning from what a provider counted.

mod calibrator;

use std::cell::RefCell;
use std::rc::Rc;

use palimpsest_tokens::{Loader, Origin, Progress, Vocabulary};

use crate::failure::Failure;
use crate::lists::count::{Counter, Kept};
use crate::tokenizer::{Calibrator, Loading, TokenizerLoader};

/// Begins to read a vocabulary, from a snapshot or for who described it.
type Open = fn(Option<Vec<u8>>, Option<&str>) -> Result<TokenizerLoader, Failure>;
/// Begins to learn, from a model's name or from what was saved.
type Learn = fn(Option<String>, Option<String>) -> Result<Calibrator, Failure>;

/// What the part holds.
pub(crate) struct Table {
    pub(crate) open: Open,
    pub(crate) calibrator: Learn,
}

pub(super) static TABLE: Table = Table {
    open,
    calibrator: calibrator::open,
};

/// A vocabulary that is being read; nothing once it was given out.
struct Reading(RefCell<Option<Loader>>);

/// A loader: of a snapshot, or one that waits for the bytes of an answer.
fn open(snapshot: Option<Vec<u8>>, origin: Option<&str>) -> Result<TokenizerLoader, Failure> {
    let loader = match (snapshot, origin) {
        (Some(bytes), _) => Loader::from_snapshot(&bytes)?,
        (None, Some("listed")) => Loader::new().of(Origin::Listed),
        (None, Some("wholeWords")) => Loader::new().of(Origin::WholeWords),
        (None, Some("ranks")) => Loader::new().of(Origin::Ranks),
        (None, _) => Loader::new(),
    };
    Ok(TokenizerLoader(Box::new(Reading(RefCell::new(Some(
        loader,
    ))))))
}

impl Loading for Reading {
    fn push(&self, bytes: &[u8]) {
        if let Some(loader) = self.0.borrow_mut().as_mut() {
            loader.push(bytes);
        }
    }

    fn end(&self) {
        if let Some(loader) = self.0.borrow_mut().as_mut() {
            loader.end();
        }
    }

    fn step(&self, budget: u32) -> Result<bool, Failure> {
        let mut loader = self.0.borrow_mut();
        let progress = loader.as_mut().ok_or_else(over)?.step(budget as usize)?;
        Ok(progress == Progress::Ready)
    }

    fn finish(&self) -> Result<Counter, Failure> {
        let loader = self.0.borrow_mut().take().ok_or_else(over)?;
        let vocabulary = Rc::new(loader.finish()?);
        Ok(Counter(Rc::clone(&vocabulary) as _, Some(vocabulary)))
    }
}

impl Kept for Vocabulary {
    fn snapshot(&self) -> Option<Vec<u8>> {
        self.to_bytes()
    }
}

fn over() -> Failure {
    Failure::new("closed", "This tokenizer has been loaded already.")
}
