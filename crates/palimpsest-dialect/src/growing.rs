//! A list that is read as it grows.

use serde_json::Value;

use crate::error::DialectError;
use crate::lists::{first_fatal, read_value};
use crate::message::Origin;
use crate::parsed::Parsed;
use crate::reader::Reader;
use crate::shape::Dialect;

/// Reads a list that grows at its end. Reading costs what is new, and gives what [`parse`](crate::parse) gives of the whole list.
pub struct Reading {
    reader: Reader,
    /// How many values were read.
    count: usize,
}

impl std::fmt::Debug for Reading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Reading").field(&self.count).finish()
    }
}

impl Reading {
    /// Nothing was read yet.
    pub const fn new(dialect: Dialect, origin: Origin) -> Self {
        Self {
            reader: Reader::new(dialect, origin),
            count: 0,
        }
    }

    /// Reads the next values of the list: all of them, or none. Fails with [`DialectError::BadInput`], which names the first
    /// value that is no message of the dialect by its index in the whole list.
    pub fn add(&mut self, values: &[Value]) -> Result<(), DialectError> {
        for (index, value) in (self.count..).zip(values) {
            read_value(&mut self.reader, index, value);
        }
        if let Some(error) = first_fatal(&self.reader.take_problems()) {
            self.reader.cut(self.count);
            return Err(error);
        }
        self.count += values.len();
        Ok(())
    }

    /// Forgets the values from the `from`-th on, as if they had not been read.
    pub fn cut(&mut self, from: usize) {
        self.count = self.count.min(from);
        self.reader.cut(from);
    }

    /// What was read.
    pub const fn parsed(&self) -> &Parsed {
        self.reader.parsed()
    }

    /// What was read, for a caller that takes it and puts it back as it was.
    pub const fn parsed_mut(&mut self) -> &mut Parsed {
        self.reader.parsed_mut()
    }
}
