//! A message as a summariser reads it.

use palimpsest_text::extractive;
use palimpsest_text::retention::Emphasis;

use crate::data::message::{Message, Part, Role, Seq};
use crate::data::mode::Mode;
use crate::data::note::Note;
use crate::pass::offload;

/// One message as a summariser reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobPassage {
    /// The message.
    pub seq: Seq,
    /// The role of the speaker.
    pub role: Role,
    /// The words, without thinking.
    pub text: String,
    /// The place in the text at which tool calls begin, if there are any.
    pub calls: Option<usize>,
    /// The day it was said, if that is known.
    pub day: Option<extractive::Day>,
    /// The words are a summary, with speakers and days in them.
    pub is_summary: bool,
}

impl JobPassage {
    /// Words that were written about messages, the first of which is `seq`.
    pub(super) const fn made(seq: Seq, text: String) -> Self {
        Self {
            seq,
            role: Role::Assistant,
            text,
            calls: None,
            day: None,
            is_summary: true,
        }
    }

    /// A message, without its thinking.
    pub(super) fn of(message: &Message) -> Self {
        let parts: Vec<Part> = message.parts.iter().map(restored).collect();
        let text = words_of(&parts);
        let first = parts
            .iter()
            .position(|p| matches!(p, Part::ToolCall { .. }));
        Self {
            seq: message.seq,
            role: message.role,
            calls: first.map(|at| words_of(&parts[..at]).len().min(text.len())),
            day: extractive::day_at(message.at),
            text,
            is_summary: false,
        }
    }

    /// A note, from which a shorter form of its layer is made.
    pub(super) fn of_note(note: &Note) -> Self {
        Self::made(note.covers.first().map_or(0, |s| s.from), note.text.clone())
    }
}

/// A result that another program offloaded to its own file is not readable here, and the text says so (O3). A result
/// that palimpsest offloaded is whole in the message.
fn restored(part: &Part) -> Part {
    let mut part = part.clone();
    if let Part::ToolResult { text, .. } = &mut part
        && let Some(path) = offload::foreign_path(text)
    {
        *text = offload::unavailable(path);
    }
    part
}

/// The size of a picture: base64 holds three bytes in four letters. The size of a linked picture is unknown.
fn size_of(data: &str) -> String {
    if data.starts_with("http:") || data.starts_with("https:") {
        return "linked".into();
    }
    let base64 = data.rsplit(',').next().unwrap_or(data);
    let bytes = base64.trim_end_matches('=').len() / 4 * 3;
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} KB", bytes.div_ceil(1_000)),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    }
}

/// The words of a message that a summariser reads: thinking left out, a picture as its name and size.
pub(super) fn words_of(parts: &[Part]) -> String {
    let mut out = String::new();
    for part in parts {
        let line = match part {
            Part::Thinking { .. } => continue,
            Part::Image { name, data, .. } => format!("[image: {name}, {}]", size_of(data)),
            Part::ToolCall {
                name, arguments, ..
            } => format!("{name} {arguments}"),
            Part::File { name, text } => format!("[file: {name}]\n{text}"),
            Part::Text { text } | Part::ToolResult { text, .. } => text.clone(),
        };
        if line.trim().is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&line);
    }
    out
}

/// The priorities of a mode.
pub(super) const fn emphasis(mode: Mode) -> Emphasis {
    match mode {
        Mode::Developer => Emphasis::Developer,
        Mode::Planning => Emphasis::Planning,
        Mode::Debugger => Emphasis::Debugger,
        Mode::Assistant => Emphasis::Assistant,
    }
}
