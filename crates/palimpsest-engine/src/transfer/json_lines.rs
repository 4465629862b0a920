//! The project's own format: one JSON object per line. The first names the session; `kind` tells what each other line
//! holds.

use palimpsest_core::layer::Layer;
use palimpsest_core::message::Message;
use palimpsest_core::note::Note;
use palimpsest_core::record::Records;
use palimpsest_core::rendition::Reduced;
use palimpsest_text::json;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{SessionFacts, Transfer, TransferError};
use crate::rows::RevisionRow;

/// Version of the format.
const VERSION: u64 = 1;

#[derive(Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "lowercase")]
enum Line {
    Session(Box<Opening>),
    Records {
        records: Box<Records>,
    },
    Message {
        message: Box<Message>,
    },
    /// Spells out tokens before and after, ratio and level for people who read the file.
    Layer {
        before: u32,
        after: u32,
        ratio: f64,
        layer: Box<Layer>,
    },
    Note {
        note: Box<Note>,
    },
    Form {
        seq: u32,
        form: Box<Reduced>,
    },
    View {
        view: Box<RevisionRow>,
    },
}

palimpsest_text::tagged!(Line, "kind");

/// The content of the first line.
#[derive(Serialize)]
struct Opening {
    palimpsest: u64,
    #[serde(flatten)]
    facts: SessionFacts,
}

impl<'de> Deserialize<'de> for Opening {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Version {
            palimpsest: u64,
        }
        let (Version { palimpsest }, facts) = json::both(deserializer)?;
        Ok(Self { palimpsest, facts })
    }
}

pub(super) fn write(transfer: &Transfer) -> String {
    let mut out = String::new();
    let mut add = |line: Line| {
        if let Ok(json) = serde_json::to_string(&line) {
            out.push_str(&json);
            out.push('\n');
        }
    };
    add(Line::Session(Box::new(Opening {
        palimpsest: VERSION,
        facts: transfer.facts.clone(),
    })));
    add(Line::Records {
        records: Box::new(transfer.records.clone()),
    });
    for message in &transfer.messages {
        add(Line::Message {
            message: Box::new(message.clone()),
        });
    }
    for layer in &transfer.layers {
        add(Line::Layer {
            before: layer.original_tokens,
            after: layer.tokens,
            ratio: ratio(layer),
            layer: Box::new(layer.clone()),
        });
    }
    for note in &transfer.notes {
        add(Line::Note {
            note: Box::new(note.clone()),
        });
    }
    for (seq, form) in &transfer.forms {
        add(Line::Form {
            seq: *seq,
            form: Box::new(form.clone()),
        });
    }
    if let Some(view) = &transfer.view {
        add(Line::View {
            view: Box::new(view.clone()),
        });
    }
    out
}

/// The tokens after divided by those before, to three places.
pub(super) fn ratio(layer: &Layer) -> f64 {
    let ratio = f64::from(layer.tokens) / f64::from(layer.original_tokens.max(1));
    (ratio * 1000.0).round() / 1000.0
}

pub(super) fn is_ours(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    first.starts_with('{')
        && json::parse(first).is_ok_and(|v| v.get("palimpsest").is_some_and(Value::is_u64))
}

pub(super) fn read(text: &str) -> Result<Transfer, TransferError> {
    let mut out = Transfer::default();
    for (n, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let damaged = |why: String| TransferError::Damaged { line: n + 1, why };
        let value: Value = json::parse(line).map_err(|e| damaged(e.to_string()))?;
        if let Some(version) = value.get("palimpsest").and_then(Value::as_u64)
            && version > VERSION
        {
            return Err(TransferError::Newer(version));
        }
        let line: Line = json::read_value(&value).map_err(|e| damaged(e.to_string()))?;
        match line {
            Line::Session(opening) => out.facts = opening.facts,
            Line::Records { records } => out.records = *records,
            Line::Message { message } => {
                let after = out.messages.last().map(|m| m.seq);
                if after.is_some_and(|a| a >= message.seq) {
                    return Err(damaged("messages must be in ascending order".into()));
                }
                if message.parent.is_some_and(|p| p >= message.seq) {
                    return Err(damaged("a message follows an earlier one".into()));
                }
                out.messages.push(*message);
            }
            Line::Layer { layer, .. } => out.layers.push(*layer),
            Line::Note { note } => out.notes.push(*note),
            Line::Form { seq, form } => out.forms.push((seq, *form)),
            Line::View { view } => out.view = Some(*view),
        }
    }
    Ok(out)
}
