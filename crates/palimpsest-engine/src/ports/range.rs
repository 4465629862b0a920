//! The keys that a query covers, as bounds that every store applies.

use super::store::{Key, KeyPart, Op, Query, Table};

impl KeyPart {
    /// The smallest part that comes after this one and after everything that begins with it.
    #[must_use]
    pub fn successor(&self) -> Self {
        match self {
            // No number lies between the largest one and the smallest text.
            Self::Number(n) => n
                .checked_add(1)
                .map_or(Self::Text(String::new()), Self::Number),
            Self::Text(text) => Self::Text(format!("{text}\0")),
        }
    }
}

/// The first key after all keys that begin with `prefix`, or `None` if every key does.
pub fn after_prefix(prefix: &[KeyPart]) -> Option<Key> {
    let (last, rest) = prefix.split_last()?;
    let mut key = rest.to_vec();
    key.push(last.successor());
    Some(key)
}

impl Query {
    /// The table that this query reads.
    pub const fn table(&self) -> Table {
        match self {
            Self::Get { table, .. } | Self::Range { table, .. } => *table,
        }
    }

    /// The first key that this query covers, and the first key after it (`None`: up to the end). With `from` or `to`,
    /// keys whose next part is a text are not covered.
    pub fn bounds(&self) -> (Key, Option<Key>) {
        match self {
            Self::Get { key, .. } => {
                // No key lies between a key and the same key with the smallest part added.
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
    /// The table that this operation writes.
    pub const fn table(&self) -> Table {
        match self {
            Self::Add { table, .. }
            | Self::Put { table, .. }
            | Self::Delete { table, .. }
            | Self::DeletePrefix { table, .. } => *table,
        }
    }

    /// Returns `true` if this operation writes a row, `false` if it removes rows.
    pub const fn is_write(&self) -> bool {
        matches!(self, Self::Add { .. } | Self::Put { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// O4: a range ends before the next session, whatever its name, and at the largest number.
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
