//! The keys a query covers, as bounds that hold in every store.

use super::store::{Key, KeyPart, Op, Query, Table};

impl KeyPart {
    /// The smallest part that comes after this one and after everything that begins with it.
    #[must_use]
    pub fn successor(&self) -> Self {
        match self {
            // there is no number between the largest one and the smallest text
            Self::Number(n) => n
                .checked_add(1)
                .map_or(Self::Text(String::new()), Self::Number),
            Self::Text(text) => Self::Text(format!("{text}\0")),
        }
    }
}

/// The first key after all keys that begin with `prefix`; `None` if every key does.
pub fn after_prefix(prefix: &[KeyPart]) -> Option<Key> {
    let (last, rest) = prefix.split_last()?;
    let mut key = rest.to_vec();
    key.push(last.successor());
    Some(key)
}

impl Query {
    /// The table it reads.
    pub const fn table(&self) -> Table {
        match self {
            Self::Get { table, .. } | Self::Range { table, .. } => *table,
        }
    }

    /// The first key it covers and the first one after that it does not (`None`: up to the end).
    /// With `from` or `to`, keys whose next part is a text are not covered.
    pub fn bounds(&self) -> (Key, Option<Key>) {
        match self {
            Self::Get { key, .. } => {
                // no key lies between a key and itself with the smallest part added
                let mut end = key.clone();
                end.push(KeyPart::Number(0));
                (key.clone(), Some(end))
            }
            Self::Range {
                prefix,
                from: None,
                to: None,
                ..
            } => (prefix.clone(), after_prefix(prefix)),
            Self::Range {
                prefix, from, to, ..
            } => {
                let with = |part: KeyPart| prefix.iter().cloned().chain([part]).collect::<Key>();
                let end = to.map_or(KeyPart::Text(String::new()), |to| {
                    KeyPart::Number(to).successor()
                });
                (with(KeyPart::Number(from.unwrap_or(0))), Some(with(end)))
            }
        }
    }
}

impl Op {
    /// The table it writes.
    pub const fn table(&self) -> Table {
        match self {
            Self::Add { table, .. }
            | Self::Put { table, .. }
            | Self::Delete { table, .. }
            | Self::DeletePrefix { table, .. } => *table,
        }
    }

    /// Whether it writes a row rather than removing some.
    pub const fn is_write(&self) -> bool {
        matches!(self, Self::Add { .. } | Self::Put { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// O4: a range ends before the next session, whatever the names are, and at the largest number.
    #[test]
    fn bounds_end_where_the_prefix_ends() {
        let check = |query: Query, expected: (&str, &str)| {
            let (from, to) = query.bounds();
            assert_eq!(
                (
                    serde_json::to_string(&from).unwrap(),
                    serde_json::to_string(&to).unwrap()
                ),
                (expected.0.into(), expected.1.into())
            );
        };
        let range = |from, to| Query::Range {
            table: Table::Messages,
            prefix: vec!["a".into()],
            from,
            to,
            reverse: false,
            limit: 0,
        };
        check(range(None, None), (r#"["a"]"#, r#"["a\u0000"]"#));
        check(range(Some(7), None), (r#"["a",7]"#, r#"["a",""]"#));
        check(range(None, Some(7)), (r#"["a",0]"#, r#"["a",8]"#));
        check(
            range(Some(1), Some(u32::MAX)),
            (r#"["a",1]"#, r#"["a",""]"#),
        );
        check(Query::all(Table::Messages, vec![]), ("[]", "null"));
        check(
            Query::Get {
                table: Table::Heads,
                key: vec!["a".into()],
            },
            (r#"["a"]"#, r#"["a",0]"#),
        );
    }
}
