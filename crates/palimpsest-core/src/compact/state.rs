//! What one call leaves for the next one with the longer list.

use std::hash::Hasher;

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher24;

use super::quoting::Asked;
use super::stored;
use crate::context::View;
use crate::data::message::{Message, Part, Role, Seq};
use crate::data::record::Pin;
use palimpsest_dialect::{Dialect, Parsed, Shows};

/// What to give back with the longer list. Opaque.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompactState {
    pub(super) version: u32,
    /// Messages it was made from.
    pub(super) messages: u32,
    /// Hash of those messages.
    pub(super) hash: String,
    pub(super) view: View,
    /// The view's shorter forms, as positions in the messages.
    #[serde(default)]
    pub(super) shorter: Vec<stored::Shorter>,
    pub(super) pins: Vec<Pin>,
    /// The reasoning of messages before this one is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_from: Option<Seq>,
    /// The list that came back, where layers stand in it: given back instead of the whole list, it is recognised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<Handed>,
    /// What is quoted before the user's last message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) asked: Option<Asked>,
    /// The shape of the list, if it is not OpenAI's. A list that comes back may hold only plain texts, which all shapes
    /// have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) dialect: Option<Dialect>,
    /// Check sum of all this: a state that was edited is not used.
    #[serde(default)]
    pub(super) seal: String,
}

/// A list that was handed to the caller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Handed {
    /// Hash of its messages and of its system prompt.
    pub(super) hash: String,
    /// The system prompt of the list it was made from, without the records that are rendered with it.
    pub(super) system: String,
    /// Which message each of its messages shows.
    pub(super) shows: Vec<Shows>,
}

impl CompactState {
    /// Whether a list begins with the one that was handed out with this state. Then it becomes the longer one that it
    /// stands for: what the layers cover is not there any more, and not needed, since they stand for it.
    pub(super) fn recognise(&self, parsed: &mut Parsed) -> Option<&Handed> {
        let handed = self.output.as_ref()?;
        let count = handed.shows.len();
        // a state comes from outside: what it says of itself must not cost more than a list could
        if self.messages > MOST_HANDED
            || parsed.messages.len() < count
            || fingerprint(parsed, count) != handed.hash
        {
            return None;
        }
        parsed.of_compacted(self.messages, &handed.shows, |seq| {
            let quote = self.view.quotes.iter().find(|q| q.seq == seq);
            let role = quote.map_or(Role::Assistant, |_| Role::User);
            Message {
                parts: quote.map(|q| Part::text(&q.text)).into_iter().collect(),
                ..Message::text(seq, role, "")
            }
        });
        Some(handed)
    }
}

/// Of the first messages of a list, and its system prompt.
pub(super) fn fingerprint(parsed: &Parsed, count: usize) -> String {
    let mut hash = Fingerprint::default();
    hash.add(&Message::text(0, Role::System, parsed.system_text()));
    for from in &parsed.messages[..count] {
        hash.add(&from.message);
    }
    hash.text()
}

/// The longest list, in messages, whose compacted form is recognised.
const MOST_HANDED: u32 = 1_000_000;

/// Version of [`CompactState`].
pub(super) const STATE_VERSION: u32 = 2;

/// Recognises the beginning of a list.
pub(super) struct Fingerprint(SipHasher24);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(SipHasher24::new_with_key(b"palimpsest state"))
    }
}

impl Fingerprint {
    pub(super) fn add(&mut self, message: &Message) {
        // parts are plain data: this cannot fail
        let parts = serde_json::to_string(&message.parts).unwrap_or_default();
        self.0.write_u8(message.role as u8);
        self.0.write_u64(parts.len() as u64);
        self.0.write(parts.as_bytes());
    }

    pub(super) fn text(&self) -> String {
        format!("{:016x}", self.0.finish())
    }
}
