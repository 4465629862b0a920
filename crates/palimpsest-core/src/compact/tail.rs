//! The unfinished end of a list, kept out of what is compacted and put back behind it as it was.

use palimpsest_tokens::TokenCounter;
use serde_json::{Map, Value};

use crate::data::message::Origin;
use crate::error::CoreError;
use palimpsest_dialect::{self as dialect, Dialect, OpenTail, Parsed, Rendered};

/// What stands behind the part of the list that may be compacted.
#[derive(Debug, Clone, Default)]
pub(super) struct Tail {
    /// The message of which only the last parts belong to the end.
    cut: Option<Cut>,
    /// Indices of the caller's messages that belong to the end.
    whole: Vec<usize>,
    /// Tokens that the end takes of the window.
    pub(super) tokens: u32,
}

/// A message whose earlier steps are finished and whose last one is not.
#[derive(Debug, Clone)]
struct Cut {
    /// Its index in the caller's list.
    raw: usize,
    /// The fields of the message without its parts.
    fields: Map<String, Value>,
    /// The parts of its unfinished step.
    parts: Vec<Value>,
}

impl Tail {
    /// Takes the unfinished end off a list: afterwards `values` is the finished beginning, and `parsed` is read from it.
    pub(super) fn take(
        values: &mut Vec<Value>,
        parsed: &mut Parsed,
        counter: &dyn TokenCounter,
    ) -> Result<Self, CoreError> {
        let Some(open) = dialect::open_tail(values, parsed) else {
            return Ok(Self::default());
        };
        let dialect = parsed.dialect;
        let (tail, _) = Self::split(values, open, dialect, counter)?;
        *parsed = dialect::parse(values, dialect, Origin::Host)?;
        Ok(tail)
    }

    /// Splits a list where its unfinished end begins: afterwards `values` is the finished beginning. Also gives the values
    /// as they were, from `open.raw` on.
    pub(super) fn split(
        values: &mut Vec<Value>,
        open: OpenTail,
        dialect: Dialect,
        counter: &dyn TokenCounter,
    ) -> Result<(Self, Vec<Value>), CoreError> {
        let OpenTail { raw, part } = open;
        let mut end = values.split_off(raw);
        let given = end.clone();
        let whole = raw..raw + end.len();
        let mut cut = None;
        if part > 0
            && let Some(Value::Object(message)) = end.first_mut()
            && let Some(Value::Array(parts)) = message.get_mut("parts")
        {
            let last = parts.split_off(part);
            values.push(Value::Object(message.clone()));
            message.insert("parts".into(), Value::Array(last.clone()));
            let mut fields = message.clone();
            fields.shift_remove("parts");
            cut = Some(Cut {
                raw,
                fields,
                parts: last,
            });
        }
        let count = dialect::count(&end, Some(dialect), counter)?;
        let tail = Self {
            whole: whole.skip(usize::from(cut.is_some())).collect(),
            cut,
            tokens: count.tokens.saturating_sub(counter.overhead().base),
        };
        Ok((tail, given))
    }

    /// Puts the end behind what became of the beginning.
    pub(super) fn put_back(self, messages: &mut Vec<Rendered>) {
        if let Some(cut) = self.cut {
            match messages.last_mut() {
                // the caller's message stands, and with it its last step
                Some(Rendered::Kept(index)) if *index == cut.raw => {}
                Some(Rendered::Made(Value::Object(made)))
                    if made.get("role") == cut.fields.get("role")
                        && made.get("id") == cut.fields.get("id") =>
                {
                    if let Some(Value::Array(parts)) = made.get_mut("parts") {
                        parts.extend(cut.parts);
                    }
                }
                _ => {
                    let mut message = cut.fields;
                    message.insert("parts".into(), Value::Array(cut.parts));
                    messages.push(Rendered::Made(Value::Object(message)));
                }
            }
        }
        messages.extend(self.whole.into_iter().map(Rendered::Kept));
    }
}
