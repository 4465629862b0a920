//! The fields of the objects of an array, as one line.

use std::fmt::Write;

use super::super::cut::grouped;
use super::strings::is_valid;

/// The number of fields of omitted items that are named.
const FIELDS: usize = 24;

#[derive(Default)]
pub(super) struct Fields<'a> {
    pub(super) objects: usize,
    named: Vec<Field<'a>>,
    more: bool,
}

struct Field<'a> {
    key: &'a str,
    count: usize,
    types: u8,
}

const TYPES: [&str; 6] = ["string", "number", "bool", "null", "object", "array"];

impl<'a> Fields<'a> {
    /// Notes a field. Most items have the same fields in the same order, so it tries `place` first.
    pub(super) fn note(&mut self, key: &'a str, first: u8, place: usize) {
        let types = match first {
            b'"' => 1,
            b't' | b'f' => 4,
            b'n' => 8,
            b'{' => 16,
            b'[' => 32,
            _ => 2,
        };
        let at = match self.named.get(place) {
            Some(field) if field.key == key => Some(place),
            _ => self.named.iter().position(|f| f.key == key),
        };
        match at {
            Some(at) => {
                self.named[at].count += 1;
                self.named[at].types |= types;
            }
            None if self.named.len() < FIELDS && is_valid(key) => {
                self.named.push(Field {
                    key,
                    count: 1,
                    types,
                });
            }
            None => self.more = true,
        }
    }

    pub(super) fn write(&self, out: &mut String, items: usize) {
        if self.objects < items || self.named.is_empty() {
            return;
        }
        out.push_str(", each with ");
        for (i, field) in self.named.iter().enumerate() {
            let types = TYPES
                .iter()
                .enumerate()
                .filter(|(t, _)| field.types & (1 << t) != 0);
            let types: Vec<&str> = types.map(|(_, name)| *name).collect();
            let comma = if i > 0 { ", " } else { "" };
            _ = write!(out, "{comma}{}: {}", field.key, types.join("|"));
            if field.count < self.objects {
                _ = write!(out, " (in {})", grouped(field.count));
            }
        }
        if self.more {
            out.push_str(", …");
        }
    }
}
