//! Conversations of other programs as sessions are made of them: what they are called, what was said on which branch, and
//! whether they are here already (S7).

use std::rc::Rc;

use palimpsest_core::dialect::imports::{self, Conversation, Importer, Report};
use palimpsest_core::dialect::{self, Dialect};
use palimpsest_core::goal::Goal;
use palimpsest_core::message::{Message, Origin, Part, Seq};
use palimpsest_core::record::Pin;
use palimpsest_text::sorted::SortedMap;
use serde_json::Value;
use thiserror::Error;

use crate::archive::Archive;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::rows::content_hash;
use crate::session::{Aside, Follows, NewMessage};

/// What stands before a system line that was not taken.
const QUOTED: &str = "[System line of the imported conversation]\n";

/// The longest title, in characters.
const TITLE: usize = 80;

/// A file up to so many bytes that holds one list is known again by its text, a larger one by its messages.
const SMALL: usize = 8_000_000;

/// Why a file holds no conversation.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file is none that is understood.
    #[error(transparent)]
    File(#[from] imports::ImportError),
    /// A message is not as its dialect has it.
    #[error("{0}")]
    BadMessage(String),
}

impl ImportError {
    /// A stable name of the kind of failure.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::File(error) => error.code(),
            Self::BadMessage(_) => "bad_message",
        }
    }
}

/// How the conversation of a file stands to the one that is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meeting {
    /// All of it is here.
    Here,
    /// It goes on: what comes from this number on is new.
    More(usize),
    /// They went different ways.
    Apart,
}

/// Returns `true` for a system line that was not taken.
fn is_quoted(parts: &[Part]) -> bool {
    parts.first().is_some_and(|p| p.words().starts_with(QUOTED))
}

/// Compares what is here with what a file has. A quoted system line is part of neither.
pub fn meet<'a>(here: impl Iterator<Item = &'a Message>, file: &[NewMessage]) -> Meeting {
    let mut here = here.peekable();
    if here.peek().is_some_and(|m| is_quoted(&m.parts)) {
        here.next();
    }
    let skipped = usize::from(file.first().is_some_and(|m| is_quoted(&m.parts)));
    for (n, new) in file.iter().enumerate().skip(skipped) {
        match here.next() {
            None => return Meeting::More(n),
            Some(old) if old.role == new.role && old.parts == new.parts => {}
            Some(_) => return Meeting::Apart,
        }
    }
    Meeting::Here
}

/// The messages here that stand for the first messages of a file that [`meet`]s them. A quoted system line that is not here is
/// the beginning of the session.
fn shared(here: &[Rc<Message>], file: &[NewMessage]) -> Vec<Option<Seq>> {
    let mut own = here.iter().map(|m| (is_quoted(&m.parts), m.seq)).peekable();
    let quoted_here = own.next_if(|(quoted, _)| *quoted).map(|(_, seq)| seq);
    let mut path = Vec::new();
    if file.first().is_some_and(|m| is_quoted(&m.parts)) {
        path.push(quoted_here);
    }
    let rest = file.len() - path.len();
    path.extend(own.take(rest).map(|(_, seq)| Some(seq)));
    path
}

impl Engine {
    /// Adds what a conversation that is here has more in a file: messages at its end, and messages of other branches. The same
    /// file twice adds nothing. Returns the number of messages that were new, or nothing if the two went different ways.
    pub async fn join(&self, id: &str, file: &Imported) -> Result<Option<usize>, EngineError> {
        let session = self.follow(id).await?;
        let here = session.history(None, usize::MAX);
        let here: Vec<Rc<Message>> = here.into_iter().map(|item| item.message).collect();
        let from = match meet(here.iter().map(Rc::as_ref), &file.messages) {
            Meeting::Apart => return Ok(None),
            Meeting::Here => file.messages.len(),
            Meeting::More(from) => from,
        };
        let mut path = shared(&here, &file.messages);
        let new = &file.messages[from..];
        if new.is_empty() && !session.lacks(&path, &file.asides) {
            return Ok(Some(0));
        }
        let session = self.open(id, false).await?;
        if !new.is_empty() {
            let added = session.append_all(new.to_vec()).await?;
            path.extend(added.into_iter().map(Some));
        }
        let beside = session.append_aside(&path, file.asides.clone()).await?;
        Ok(Some(new.len() + beside))
    }
}

/// A conversation that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The same for the same conversation.
    pub id: String,
    /// The same for the same content only: where the conversation went another way than the one that is here.
    pub other: String,
    /// Its title.
    pub title: String,
    /// The system lines it begins with. They count only if the person accepts them (S7).
    pub system: String,
    /// What was said on the branch that was shown last.
    pub messages: Vec<NewMessage>,
    /// What was said on other branches.
    pub asides: Vec<Aside>,
    /// Its goal, in a file of ours. Counts only if the person accepts it.
    pub goal: Option<Goal>,
    /// Its pins, in a file of ours. They count only if the person accepts them; nothing else of a file is ever pinned.
    pub pins: Vec<Pin>,
    /// Everything that was stored of it, in a file of ours. Counts only if the person accepts it.
    pub archive: Option<Archive>,
}

impl Imported {
    /// The person does not take the system lines: they become the first message, as quoted text (S7).
    pub fn decline_system(&mut self) {
        self.goal = None;
        self.archive = None;
        self.pins.clear();
        let system = std::mem::take(&mut self.system);
        if system.trim().is_empty() {
            return;
        }
        let quoted = NewMessage {
            origin: Origin::Import,
            at: self.messages.first().map_or(0.0, |m| m.at),
            ..NewMessage::user(format!("{QUOTED}{system}"))
        };
        self.messages.insert(0, quoted);
        for aside in &mut self.asides {
            match &mut aside.follows {
                Some(Follows::Path(n)) => *n += 1,
                Some(Follows::Aside(_)) => {}
                first @ None => *first = Some(Follows::Path(0)),
            }
        }
    }
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedFile {
    /// Its conversations.
    pub conversations: Vec<Imported>,
    /// What a file of ours has beside conversations: settings and profiles.
    pub beside: Option<Value>,
    /// What was read, and what was not and why.
    pub report: Report,
}

/// Reads a file of another program, or a vault of ours, while its bytes arrive.
#[derive(Default)]
pub struct FileReader {
    importer: Importer,
    read: imports::Imported,
    /// The text of a small file.
    text: Vec<u8>,
    length: usize,
}

impl FileReader {
    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.length += bytes.len();
        if self.length <= SMALL {
            self.text.extend_from_slice(bytes);
        } else {
            self.text = Vec::new();
        }
        self.importer.push(bytes);
        self.read.take(self.importer.take());
    }

    /// Ends the file. `name` is the file's name: it becomes the title where there is none.
    ///
    /// A conversation in which nothing was said is left out; a file in which all are so is refused.
    pub fn finish(self, name: &str) -> Result<ImportedFile, ImportError> {
        let read = self.read.finish(self.importer)?;
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let text = self.text.strip_prefix("\u{feff}".as_bytes());
        let text = text.unwrap_or(&self.text);
        let known = (read.conversations.len() == 1 && !text.is_empty()).then(|| content_hash(text));
        let mut conversations = Vec::new();
        let mut why = None;
        for conversation in read.conversations {
            match imported(conversation, known.clone(), stem) {
                Ok(one) => conversations.extend(one),
                Err(error) => why = Some(error),
            }
        }
        match why {
            Some(error) if conversations.is_empty() && read.beside.is_none() => Err(error),
            _ => Ok(ImportedFile {
                conversations,
                beside: read.beside,
                report: read.report,
            }),
        }
    }
}

/// A conversation as a session is made of it; nothing if nothing was said in it.
fn imported(
    conversation: Conversation,
    known: Option<String>,
    stem: &str,
) -> Result<Option<Imported>, ImportError> {
    let shown = conversation.shown();
    let Conversation {
        head,
        messages: list,
        parents,
    } = conversation;
    let hash = || {
        list.iter().fold(String::new(), |hash, message| {
            content_hash(format!("{hash}\n{message}").as_bytes())
        })
    };
    let other = known.unwrap_or_else(hash);
    let dialect = dialect::detect(&list).unwrap_or(Dialect::OpenAi);
    let parsed = dialect::parse(&list, dialect, Origin::Import)
        .map_err(|e| ImportError::BadMessage(e.to_string()))?;
    let system = parsed.system_text();
    let on_path: Vec<bool> = {
        let mut on = vec![false; list.len()];
        for n in &shown {
            on[*n as usize] = true;
        }
        on
    };
    let mut messages = Vec::new();
    let mut asides: Vec<Aside> = Vec::new();
    // for each value of the list the last message that was made of it, or of what it follows
    let mut ends: SortedMap<u32, Option<Follows>> = SortedMap::new();
    let mut read = parsed.messages.into_iter().peekable();
    for (n, parent) in (0_u32..).zip(&parents) {
        let mut after = parent.and_then(|parent| ends.get(&parent).copied().flatten());
        while let Some(from) = read.next_if(|from| from.raw == n as usize) {
            let message = NewMessage {
                role: from.message.role,
                origin: from.message.origin,
                parts: from.message.parts,
                at: from.message.at,
                ended: None,
            };
            after = Some(if on_path[n as usize] {
                messages.push(message);
                Follows::Path(messages.len() - 1)
            } else {
                asides.push(Aside {
                    follows: after,
                    message,
                });
                Follows::Aside(asides.len() - 1)
            });
        }
        ends.insert(n, after);
    }
    if messages.is_empty() {
        return Ok(None);
    }
    let title = if head.title.is_empty() {
        stem
    } else {
        &head.title
    };
    let fields = head.fields.unwrap_or(Value::Null);
    let own = |key: &str| fields.get(key).cloned().unwrap_or(Value::Null);
    let archive: Option<Archive> = palimpsest_text::json::read_value(&own("archive")).ok();
    let own_id = (!fields.is_null()).then_some(head.id.as_deref()).flatten();
    let own_id = own_id.filter(|id| is_plain(id)).map(str::to_owned);
    let foreign = head
        .id
        .filter(|_| head.format != "messages")
        .map(|id| foreign_id(head.format, &id));
    Ok(Some(Imported {
        // only with everything else is it a session of ours
        archive: archive.filter(|archive| own_id.as_ref() == Some(&archive.id)),
        id: own_id.or(foreign).unwrap_or_else(|| other.clone()),
        other,
        title: title.chars().take(TITLE).collect(),
        system,
        messages,
        asides,
        goal: palimpsest_text::json::read_value(&own("goal")).unwrap_or_default(),
        pins: palimpsest_text::json::read_value(&own("pins")).unwrap_or_default(),
    }))
}

/// Whether it can be the identifier of a session of ours.
fn is_plain(id: &str) -> bool {
    !id.is_empty() && id.len() <= 64 && id.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// The identifier of a conversation of another program: exported again, it is no second one. It cannot be that of a session
/// of ours.
fn foreign_id(format: &str, id: &str) -> String {
    let program = match format {
        "chatgpt" => "mapping",
        "claude" => "chat_messages",
        "open-webui" => "chat",
        other => other,
    };
    content_hash(format!("{program}\n{id}").as_bytes())
}
