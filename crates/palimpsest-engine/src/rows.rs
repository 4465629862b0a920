//! Defines the rows of a session and reads them back (ARCHITECTURE.md, "Storage rows").

use palimpsest_core::context::{Cause, Quote, Recalled, View};
use palimpsest_core::layer::LayerId;
use palimpsest_core::message::{Ended, Message, Origin, Part, Role, Seq};
use palimpsest_core::note::NoteId;
use palimpsest_core::rendition::{Reduced, ReducedKind};
use palimpsest_core::sorted::{SortedMap, SortedSet};
use palimpsest_core::watermark::Pending;
use palimpsest_text::json;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

use crate::ports::{Key, KeyPart, Op, StoreError, Table};

/// Texts larger than this many bytes go to blobs, so that a row stays small and its store keeps it inline.
pub const BLOB_LIMIT: usize = 32 * 1024;

/// `[session, n]`.
pub fn key(session: &str, n: u32) -> Key {
    vec![session.into(), n.into()]
}

/// `[session]`.
pub fn session_key(session: &str) -> Key {
    vec![session.into()]
}

/// Writes a row as JSON with its checksum.
pub fn seal<T: Serialize>(row: &T) -> Result<String, StoreError> {
    let json = serde_json::to_string(row).map_err(|e| StoreError::Failed(e.to_string()))?;
    Ok(format!(
        "{{\"crc\":{},\"row\":{json}}}",
        crc32c(json.as_bytes())
    ))
}

/// Reads a row that [`seal`] wrote.
///
/// # Errors
///
/// [`StoreError::Corrupt`] with `what` for a damaged row.
pub fn unseal<T: DeserializeOwned>(what: &str, value: &str) -> Result<T, StoreError> {
    let damaged = |why: String| StoreError::Corrupt(format!("{what}: {why}"));
    let (crc, row) = opened(value).ok_or_else(|| damaged("it is no row with a checksum".into()))?;
    if crc32c(row.as_bytes()) != crc {
        return Err(damaged("the checksum differs".into()));
    }
    json::read(row).map_err(|e| damaged(e.to_string()))
}

/// Returns `true` if a row is as [`seal`] wrote it.
pub fn is_sealed(value: &str) -> bool {
    opened(value).is_some_and(|(crc, row)| crc32c(row.as_bytes()) == crc)
}

/// Splits a sealed row into its checksum and its JSON.
fn opened(value: &str) -> Option<(u32, &str)> {
    let inside = value.strip_prefix("{\"crc\":")?.strip_suffix('}')?;
    let (crc, row) = inside.split_once(",\"row\":")?;
    Some((crc.parse().ok()?, row))
}

/// The place of a message's large text in the blobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobRef {
    /// Index of the part.
    pub part: u32,
    /// The hash of the text.
    pub hash: String,
    /// The number of chunks.
    pub chunks: u32,
    /// Bytes of the text.
    pub bytes: u32,
}

/// A stored message with its count.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MessageRow {
    /// The message. Its large texts are empty here.
    #[serde(flatten)]
    pub message: Message,
    /// The tokens of the verbatim message.
    pub tokens: u32,
    /// The tokenizer's epoch of that count.
    pub counted_by: u64,
    /// The places of the large texts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blobs: Vec<BlobRef>,
}

impl<'de> Deserialize<'de> for MessageRow {
    /// Reads field by field, because opening a session reads thousands of rows.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Flat {
            seq: Seq,
            #[serde(default)]
            parent: Option<Seq>,
            role: Role,
            origin: Origin,
            parts: Vec<Part>,
            #[serde(default)]
            at: f64,
            #[serde(default)]
            ended: Option<Ended>,
            tokens: u32,
            counted_by: u64,
            #[serde(default)]
            blobs: Vec<BlobRef>,
        }
        let row = Flat::deserialize(deserializer)?;
        Ok(Self {
            message: Message {
                seq: row.seq,
                parent: row.parent,
                role: row.role,
                origin: row.origin,
                parts: row.parts,
                at: row.at,
                ended: row.ended,
            },
            tokens: row.tokens,
            counted_by: row.counted_by,
            blobs: row.blobs,
        })
    }
}

/// Returns the row of a message and the operations that store its large texts.
pub fn message_ops(
    session: &str,
    message: &Message,
    tokens: u32,
    counted_by: u64,
) -> Result<Vec<Op>, StoreError> {
    let mut row = MessageRow {
        message: message.clone(),
        tokens,
        counted_by,
        blobs: Vec::new(),
    };
    let mut ops = Vec::new();
    for (i, part) in row.message.parts.iter_mut().enumerate() {
        let Some(text) = large_text(part) else {
            continue;
        };
        let text = std::mem::take(text);
        let hash = content_hash(text.as_bytes());
        let pieces = pieces(&text);
        row.blobs.push(BlobRef {
            part: i as u32,
            hash: hash.clone(),
            chunks: pieces.len() as u32,
            bytes: text.len() as u32,
        });
        for (n, piece) in pieces.iter().enumerate() {
            let key = vec![KeyPart::Text(hash.clone()), KeyPart::Number(n as u32)];
            ops.push(Op::Put {
                table: Table::Blobs,
                key,
                value: seal(piece)?,
            });
        }
    }
    if !row.blobs.is_empty() {
        ops.push(naming());
    }
    ops.push(Op::Add {
        table: Table::Messages,
        key: key(session, message.seq),
        value: seal(&row)?,
    });
    Ok(ops)
}

/// The name that is claimed for releasing large texts. The names of its rows in [`Table::Meta`] begin with it, too.
pub(crate) const LARGE_TEXTS: &str = "large_texts";

/// The operation to write with every large text that a message names. It makes a release that is under way look again.
pub(crate) fn naming() -> Op {
    Op::Put {
        table: Table::Meta,
        key: named_key(),
        value: "1".into(),
    }
}

pub(crate) fn named_key() -> Key {
    vec![LARGE_TEXTS.into(), "named".into()]
}

/// The text of a part that may be large, if it is large.
fn large_text(part: &mut Part) -> Option<&mut String> {
    part_text(part).filter(|text| text.len() > BLOB_LIMIT)
}

/// The text of a part that a blob may hold.
pub fn part_text(part: &mut Part) -> Option<&mut String> {
    match part {
        Part::Text { text }
        | Part::Thinking { text }
        | Part::ToolResult { text, .. }
        | Part::File { text, .. } => Some(text),
        Part::ToolCall { arguments, .. } => Some(arguments),
        Part::Image { data, .. } => Some(data),
    }
}

/// Cuts a text into pieces of at most [`BLOB_LIMIT`] bytes, between characters.
fn pieces(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut at = rest.len().min(BLOB_LIMIT);
        while !rest.is_char_boundary(at) {
            at -= 1;
        }
        let (piece, more) = rest.split_at(at);
        out.push(piece);
        rest = more;
    }
    out
}

/// A view without the rows that it names. It is complete and not a difference, because the window bounds its size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RevisionRow {
    /// Its number.
    pub n: u32,
    /// The revision that undoing this one shows again. `None` for the first one.
    pub parent: Option<u32>,
    /// The cause of the revision.
    pub cause: Cause,
    /// The layers, oldest first.
    pub layers: Vec<LayerId>,
    /// The notes, oldest first.
    pub notes: Vec<NoteId>,
    /// The messages in a shorter form, and the revision that stored the form.
    pub reduced: Vec<(Seq, u32)>,
    /// The user's messages that are quoted in the slot.
    pub quotes: Vec<Quote>,
    /// Quotes for the last user message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recalled: Option<Recalled>,
    /// The watermark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watermark: Option<Seq>,
    /// A watermark that waits for its call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,
    /// The messages that stay whole before the watermark.
    #[serde(default, skip_serializing_if = "SortedSet::is_empty")]
    pub anchors: SortedSet<Seq>,
    /// Compactions so far.
    pub compactions: u32,
    /// The next layer's number.
    pub next_layer: LayerId,
    /// The next note's number.
    pub next_note: NoteId,
    /// Automatic runs are paused until the user acts.
    #[serde(default)]
    pub paused: bool,
    /// The report of the compaction, for its card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<palimpsest_core::run::RunReport>,
    /// The last message at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tip: Option<Seq>,
    /// The time in milliseconds since 1970.
    pub at: f64,
}

/// Makes the row of a view. `stored` gives the revision that stored each shorter form.
pub fn revision_row(
    view: &View,
    parent: Option<u32>,
    stored: &SortedMap<Seq, u32>,
    tip: Option<Seq>,
    at: f64,
) -> RevisionRow {
    RevisionRow {
        n: view.revision,
        parent,
        cause: view.cause.clone(),
        layers: view.layers.iter().map(|l| l.id).collect(),
        notes: view.notes.iter().map(|n| n.id).collect(),
        reduced: view
            .reduced
            .keys()
            .map(|seq| (*seq, stored.get(seq).copied().unwrap_or(view.revision)))
            .collect(),
        quotes: view.quotes.clone(),
        recalled: view.recalled.clone(),
        watermark: view.watermark,
        pending: view.pending.clone(),
        anchors: view.anchors.clone(),
        compactions: view.compactions,
        next_layer: view.next_layer,
        next_note: view.next_note,
        paused: view.paused,
        report: None,
        tip,
        at,
    }
}

/// A shorter form of a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RenditionRow {
    /// The form.
    #[serde(flatten)]
    pub reduced: Reduced,
    /// The tokenizer's epoch of its count.
    pub counted_by: u64,
}

impl<'de> Deserialize<'de> for RenditionRow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Flat {
            kind: ReducedKind,
            parts: Vec<Part>,
            tokens: u32,
            counted_by: u64,
        }
        let row = Flat::deserialize(deserializer)?;
        Ok(Self {
            reduced: Reduced {
                kind: row.kind,
                parts: row.parts,
                tokens: row.tokens,
            },
            counted_by: row.counted_by,
        })
    }
}

/// The hash of a content, which serves as its name. 128 bits are enough against accidents, because only rows of the
/// same database name blobs. References to offloaded results use the same name.
pub use palimpsest_core::pass::offload::content_hash;

/// Writes each byte as two hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Computes the CRC-32C (Castagnoli) with a table that is made at compile time.
pub fn crc32c(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0u32; 256];
        let mut i = 0;
        while i < 256 {
            let mut c = i as u32;
            let mut bit = 0;
            while bit < 8 {
                c = if c & 1 == 1 {
                    (c >> 1) ^ 0x82f6_3b78
                } else {
                    c >> 1
                };
                bit += 1;
            }
            table[i] = c;
            i += 1;
        }
        table
    };
    !bytes.iter().fold(!0u32, |c, b| {
        TABLE[((c ^ u32::from(*b)) & 0xff) as usize] ^ (c >> 8)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S5: reading a damaged row is an error that names it.
    #[test]
    fn a_damaged_row_is_named() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        let sealed = seal(&vec!["a", "b"]).unwrap();
        assert_eq!(unseal::<Vec<String>>("row", &sealed).unwrap(), ["a", "b"]);
        let damaged = sealed.replace("\"b\"", "\"c\"");
        assert_eq!(
            unseal::<Vec<String>>("row 7", &damaged).unwrap_err().code(),
            "storage_corrupt"
        );
    }

    /// O4: large texts are cut into chunks of at most 32 KB, never inside a character.
    #[test]
    fn pieces_keep_characters_whole() {
        let text = "é".repeat(BLOB_LIMIT);
        let pieces = pieces(&text);
        assert!(pieces.iter().all(|p| p.len() <= BLOB_LIMIT));
        assert_eq!(pieces.concat(), text);
        assert_eq!(pieces.len(), 2);
    }
}
