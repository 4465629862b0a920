//! Shows large tool results as references (O1). The text stays in the history: `recall` returns it, for the user and,
//! as a tool, for the model.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::context::{Context, Lookup, View};
use crate::data::message::{Message, Part, Seq, number_of, seq_of};
use crate::data::rendition::{Reduced, ReducedKind, Rendition, escape_fences};
use palimpsest_text::condense::cut;

use super::Edits;

pub use crate::data::policy::OffloadOptions;

/// The place of an offloaded text: message and part of this session, with the content's hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Reference {
    /// The message that holds it.
    pub message: Seq,
    /// The part of the message, from 0.
    pub part: u32,
    /// The name of the content: the first 16 bytes of its SHA-256, in hexadecimal. A blob has the same name. A
    /// reference that was read back from a window has the first 12 digits.
    pub hash: String,
    /// Bytes of the text.
    pub bytes: u32,
    /// Its beginning.
    pub head: String,
    /// Its end.
    pub tail: String,
}

/// The largest number of bytes of the beginning and of the end that a reference shows: also at most an eighth and a
/// sixteenth of the text.
const HEAD: usize = 240;
const TAIL: usize = 120;
/// The number of digits of the hash that a reference shows, enough to detect another text.
const SHOWN_HASH: usize = 12;
/// The beginning of a reference with head and tail.
const MARK: &str = "[offloaded: message ";
/// The beginning of a brief reference.
const SHORT_MARK: &str = "[recall message ";
/// The beginning of a result of seed 4's program that is stored in its own file.
const FOREIGN: &str = "Tool result is at: ";

impl Reference {
    /// Creates the reference to a part's text.
    pub fn new(message: Seq, part: u32, text: &str) -> Self {
        Self {
            message,
            part,
            hash: content_hash(text.as_bytes()),
            bytes: text.len() as u32,
            head: cut::head(text, HEAD.min(text.len() / 8))
                .trim_end()
                .to_owned(),
            tail: cut::tail(text, TAIL.min(text.len() / 16))
                .trim_start()
                .to_owned(),
        }
    }

    /// The text that the model sees instead.
    pub fn text(&self) -> String {
        self.long_text("; recall it")
    }

    fn long_text(&self, cure: &str) -> String {
        let Self {
            message,
            part,
            hash,
            bytes,
            head,
            tail,
        } = self;
        format!(
            "{MARK}{}, part {part}, {bytes} bytes, {}{cure}]\n{}\n…\n{}",
            number_of(*message),
            hash.get(..SHOWN_HASH).unwrap_or(hash),
            escape_fences(head),
            escape_fences(tail)
        )
    }

    /// The brief text that the model sees instead: only the place. The message there never changes.
    fn short_text(&self, mark: &str) -> String {
        match self.part {
            0 => format!("{mark}{}]", number_of(self.message)),
            part => format!("{mark}{}, part {part}]", number_of(self.message)),
        }
    }

    /// The text in place of the original: only the place if references are `brief`, and a note on recalling if that is
    /// possible.
    fn shown(&self, brief: bool, lookup: Lookup) -> String {
        match (brief, lookup) {
            (true, Lookup::Nowhere) => self.short_text(MARK),
            (true, _) => self.short_text(SHORT_MARK),
            (false, Lookup::Nowhere) => self.long_text(""),
            (false, _) => self.text(),
        }
    }

    /// Finds and parses a reference anywhere in a text, with or without its bracket.
    pub fn find(text: &str) -> Option<Self> {
        [MARK, SHORT_MARK].iter().find_map(|mark| {
            let at = text.find(mark.trim_start_matches('['))?;
            Self::parse(&format!("[{}", &text[at..]))
        })
    }

    fn parse_short(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(SHORT_MARK).or(text.strip_prefix(MARK));
        let line = rest?.lines().next()?;
        let line = line.split(']').next()?;
        let (message, part) = line.split_once(", part ").unwrap_or((line, "0"));
        Some(Self {
            message: seq_of(message.trim().parse().ok()?)?,
            part: part.trim().parse().ok()?,
            hash: String::new(),
            bytes: 0,
            head: String::new(),
            tail: String::new(),
        })
    }

    /// Parses message, part, bytes and the first digits of the hash from a shown reference. Head and tail are not
    /// parsed, and a brief one only has message and part.
    pub fn parse(text: &str) -> Option<Self> {
        Self::parse_long(text).or_else(|| Self::parse_short(text))
    }

    fn parse_long(text: &str) -> Option<Self> {
        let line = text.strip_prefix(MARK)?.lines().next()?;
        let (message, rest) = line.split_once(", part ")?;
        let (part, rest) = rest.split_once(", ")?;
        let (bytes, rest) = rest.split_once(" bytes, ")?;
        let hash = rest.split([';', ']']).next()?.trim();
        Some(Self {
            message: seq_of(message.parse().ok()?)?,
            part: part.parse().ok()?,
            hash: hash.to_owned(),
            bytes: bytes.parse().ok()?,
            head: String::new(),
            tail: String::new(),
        })
    }
}

/// The name of a content: the first 16 bytes of its SHA-256, in hexadecimal.
pub fn content_hash(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let digest = Sha256::digest(bytes);
    digest[..16].iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The path in a result that is stored in a file of another program ("Tool result is at: path"). Such a result is a
/// reference already.
pub fn foreign_path(text: &str) -> Option<&str> {
    let path = text.trim().strip_prefix(FOREIGN)?.trim();
    (!path.is_empty() && !path.contains('\n')).then_some(path)
}

/// The text in place of a content that is not readable (O3).
pub fn unavailable(reference: &str) -> String {
    format!("[Content unavailable: {reference}]")
}

/// Returns forms of the messages before entry `end` with references in place of large results. Failed results stay,
/// because errors are read whole.
pub fn edits(context: &Context, end: usize, options: OffloadOptions) -> Edits {
    let floor = options.floor(context.setup.shares.window);
    let counter = context.counter.as_ref();
    let mut edits = Edits::new();
    for &index in context.shown.iter().take_while(|i| **i < end) {
        if context.shown_tokens(index) <= floor || !super::has_tools(context, index) {
            continue;
        }
        let message = &context.entries[index].message;
        let Some(now) = super::parts_now(context, index) else {
            continue;
        };
        let numbers: Vec<usize> = (0..message.parts.len())
            .filter(|&p| !message.parts[p].is_empty())
            .collect();
        if numbers.len() != now.len() {
            continue;
        }
        let mut parts = now.into_owned();
        let mut changed = false;
        for (shown, number) in parts.iter_mut().zip(numbers) {
            let Part::ToolResult {
                text, error: false, ..
            } = shown
            else {
                continue;
            };
            let is_reference = || Reference::parse(text).is_some() || foreign_path(text).is_some();
            if counter.count_until(text, floor).is_some() || is_reference() {
                continue;
            }
            let Part::ToolResult { text: said, .. } = &message.parts[number] else {
                continue;
            };
            let reference = Reference::new(message.seq, number as u32, said);
            *text = reference.shown(options.brief, context.setup.lookup);
            changed = true;
        }
        if changed {
            let reduced = Reduced::new(ReducedKind::Offloaded, message.role, parts, counter);
            edits.insert(index, reduced);
        }
    }
    edits
}

/// The references that a view shows, oldest first.
pub fn references(context: &Context) -> Vec<Reference> {
    let shown = context.shown.iter().filter_map(|&index| {
        let message = &context.entries[index].message;
        match context.view.rendition(message.seq) {
            Rendition::Reduced(r) if r.kind == ReducedKind::Offloaded => {
                Some(r.parts.iter().map(move |part| (part, message)))
            }
            _ => None,
        }
    });
    let references = shown.flatten().filter_map(|(part, message)| {
        let Part::ToolResult { text, .. } = part else {
            return None;
        };
        // The view says which message this is, also where an older version wrote another number.
        let read = Reference {
            message: message.seq,
            ..Reference::parse(text)?
        };
        if !read.hash.is_empty() {
            return Some(read);
        }
        // A brief reference is only a place, so the text there is the right one.
        let said = message.parts.get(read.part as usize)?;
        Some(Reference::new(read.message, read.part, said.words()))
    });
    references.collect()
}

/// The text of a reference. `None` if the message is not on this path, or holds another text.
pub fn resolve<'a>(context: &'a Context, reference: &Reference) -> Option<&'a str> {
    let at = context
        .entries
        .binary_search_by_key(&reference.message, |e| e.message.seq)
        .ok()?;
    text_of(&context.entries[at].message, reference)
}

/// The messages that a reference may mean: its own, and the next one if a hash tells them apart. In the windows of older
/// versions the first message had the number 0.
pub fn meant(reference: &Reference) -> impl Iterator<Item = Seq> {
    let next = !reference.hash.is_empty();
    let next = next.then(|| reference.message.saturating_add(1));
    std::iter::once(reference.message).chain(next)
}

/// The text of the message's part that the reference names.
pub fn text_of<'a>(message: &'a Message, reference: &Reference) -> Option<&'a str> {
    let text = message.parts.get(reference.part as usize)?.words();
    // A brief reference names only the place.
    if reference.hash.is_empty() {
        return Some(text);
    }
    let known = reference.hash.len() >= SHOWN_HASH;
    (known && content_hash(text.as_bytes()).starts_with(&reference.hash)).then_some(text)
}

/// The view with an offloaded message verbatim again. `None` if it is not offloaded.
pub fn restore(view: &View, message: Seq) -> Option<View> {
    let reduced = view.reduced.get(&message)?;
    if reduced.kind != ReducedKind::Offloaded {
        return None;
    }
    let mut view = view.clone();
    view.reduced.remove(&message);
    Some(view)
}
