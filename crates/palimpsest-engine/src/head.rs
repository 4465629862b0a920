//! The head of a session: the only row of a session that changes.

use palimpsest_core::context::Context;
use palimpsest_core::message::Seq;
use palimpsest_core::mode::Mode;
use serde::{Deserialize, Deserializer, Serialize};

use crate::config::{Config, ConfigError};
use crate::glance::Glance;
use crate::ports::StoreError;
use crate::served::Served;

/// Version of the row formats in this crate.
pub const SCHEMA: u32 = 1;

/// The changing state of a session, under 1 KB as JSON. All other rows of a session are only added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// The writer's epoch. See [`crate::ports::Lease`].
    pub epoch: u32,
    /// Grows by one with every transaction.
    pub version: u32,
    /// Version of the row formats.
    pub schema: u32,
    /// The current revision.
    pub revision: u32,
    /// The highest revision ever written.
    pub last_revision: u32,
    /// The last message of the shown path. `None` in an empty session.
    pub tip: Option<Seq>,
    /// The highest message number that was given out.
    pub last_seq: Option<Seq>,
    /// Messages on the path.
    pub messages: u32,
    /// Tokens of the window at the last commit, for the list of sessions.
    pub tokens: u32,
    /// The current records.
    pub records: u32,
    /// The session's title.
    pub title: String,
    /// A person wrote the title.
    #[serde(default)]
    pub titled: bool,
    /// The model.
    pub model: String,
    /// The window in tokens.
    pub window: u32,
    /// The policy's name.
    pub policy: String,
    /// The provider of the model, by the host's name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub provider: String,
    /// The model thinks before it answers.
    #[serde(default)]
    pub thinking: bool,
    /// Milliseconds since 1970.
    pub created: f64,
    /// Milliseconds since 1970.
    pub updated: f64,
    /// The time of deletion in milliseconds since 1970. Deleted sessions stay for a while, so that a delete can be
    /// undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<f64>,
    /// The session stands at the top of the list.
    #[serde(default)]
    pub pinned: bool,
    /// The words under which a person finds it, sorted. [`tidied`] makes them so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The number of consecutive automatic runs that did not help (I9).
    #[serde(default)]
    pub strikes: u8,
    /// The user has been told that the conversation was compacted often (G7).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warned: bool,
    /// The number of snapshots taken so far.
    #[serde(default)]
    pub snapshots: u32,
    /// The kind of work that the conversation is about (G4).
    #[serde(default)]
    pub mode: Mode,
    /// Settings that differ from the defaults (E3).
    #[serde(default, skip_serializing_if = "Config::is_default")]
    pub config: Config,
    /// The name of the project's profile that the settings come from (W4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The session that this one continues, after a rollover (E1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<String>,
    /// The server's window for a model, if it is smaller than the requested one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<Served>,
    /// The numbers of the window for the list of sessions. `None` in heads of older versions until their next commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glance: Option<Glance>,
}

/// The most tags of a session.
const MOST_TAGS: usize = 8;

/// The longest tag in characters.
const LONGEST_TAG: usize = 40;

/// Tags as they are kept: without space around them, each once whatever its case, sorted.
///
/// # Errors
///
/// [`ConfigError::InvalidValue`] for more than eight of them, or one of more than 40 characters: a head stays small.
pub fn tidied<'a>(tags: impl IntoIterator<Item = &'a str>) -> Result<Vec<String>, ConfigError> {
    let mut all: Vec<String> = Vec::new();
    for tag in tags {
        let tag = tag.trim();
        let same = |known: &String| known.to_lowercase() == tag.to_lowercase();
        if !tag.is_empty() && !all.iter().any(same) {
            all.push(tag.to_owned());
        }
    }
    let is_long = |tag: &String| tag.chars().count() > LONGEST_TAG;
    if all.len() > MOST_TAGS || all.iter().any(is_long) {
        let why = format!("a session has at most {MOST_TAGS} tags of {LONGEST_TAG} characters");
        return Err(ConfigError::invalid("tags", &why));
    }
    all.sort_unstable();
    Ok(all)
}

impl Head {
    /// The window that requests can rely on, in tokens: the requested one, or the server's if that is smaller.
    pub fn effective_window(&self) -> u32 {
        let served = self
            .served
            .as_ref()
            .filter(|served| served.model == self.model && served.provider == self.provider);
        served.map_or(self.window, |served| served.window.min(self.window))
    }

    /// Notes the numbers of the window for the list of sessions.
    pub(crate) fn shows(&mut self, context: &Context) {
        self.tokens = context.tokens();
        self.glance = Some(Glance::of(context));
    }
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionInfo {
    /// Its identifier.
    pub id: String,
    /// Its head.
    #[serde(flatten)]
    pub head: Head,
}

impl<'de> Deserialize<'de> for SessionInfo {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Rest {
            id: String,
        }
        let (Rest { id }, head) = palimpsest_text::json::both(deserializer)?;
        Ok(Self { id, head })
    }
}

impl SessionInfo {
    /// The fill of the window at the last commit, from 0 to 1 and more.
    pub fn fill(&self) -> f32 {
        let window = self.head.effective_window();
        if window == 0 {
            0.0
        } else {
            self.head.tokens as f32 / window as f32
        }
    }
}

/// The beginning of a new session.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// Its title. If empty, the first message gives it.
    pub title: String,
    /// The model's name.
    pub model: String,
    /// The window in tokens.
    pub window: u32,
    /// The policy's name.
    pub policy: String,
    /// The system prompt.
    pub system: String,
    /// The model thinks before it answers.
    pub thinking: bool,
    /// The provider of the model, by the host's name.
    pub provider: String,
    /// The kind of work that the conversation is about (G4).
    pub mode: Mode,
    /// Settings (E3). A policy in them takes precedence over [`Self::policy`].
    pub config: Config,
    /// The name of the project's profile. Its settings and its policy for the model take precedence over
    /// [`Self::policy`] and [`Self::config`] (W4).
    pub profile: Option<String>,
}

impl Default for NewSession {
    fn default() -> Self {
        Self {
            title: String::new(),
            model: String::new(),
            window: 8_192,
            policy: "balanced".into(),
            system: String::new(),
            thinking: false,
            provider: String::new(),
            mode: Mode::default(),
            config: Config::default(),
            profile: None,
        }
    }
}

/// The head of a session that begins.
pub(crate) fn first_head(new: NewSession, epoch: u32, now: f64) -> Head {
    Head {
        epoch,
        version: 0,
        schema: SCHEMA,
        revision: 0,
        last_revision: 0,
        tip: None,
        last_seq: None,
        messages: 0,
        tokens: 0,
        records: 1,
        titled: !new.title.is_empty(),
        title: new.title,
        model: new.model,
        window: new.window,
        policy: new.policy,
        thinking: new.thinking,
        created: now,
        updated: now,
        deleted_at: None,
        pinned: false,
        tags: Vec::new(),
        strikes: 0,
        snapshots: 0,
        warned: false,
        provider: new.provider,
        mode: new.mode,
        config: new.config,
        profile: new.profile,
        continues: None,
        served: None,
        glance: None,
    }
}

/// A head as JSON, the content of its row.
pub(crate) fn head_json(head: &Head) -> Result<String, StoreError> {
    serde_json::to_string(head).map_err(|e| StoreError::Failed(e.to_string()))
}

/// The first line of a text, shortened for a title.
pub fn title_of(text: &str) -> String {
    let line = text
        .lines()
        .map(str::trim)
        .find(|l| !l.is_empty())
        .unwrap_or("");
    let line = line.trim_start_matches(['#', '>', '-', '*', ' ']);
    let mut title = String::new();
    for word in line.split_whitespace() {
        if title.chars().count() + word.chars().count() > 48 {
            if title.is_empty() {
                title.extend(word.chars().take(48));
            }
            title.push('…');
            break;
        }
        if !title.is_empty() {
            title.push(' ');
        }
        title.push_str(word);
    }
    title
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S6: a session takes its title from the first words.
    #[test]
    fn titles() {
        let check = |text: &str, title: &str| assert_eq!(title_of(text), title);
        check("", "");
        check("\n  ## How do I\n more", "How do I");
        check(
            &"word ".repeat(30),
            "word word word word word word word word word word…",
        );
        check(&"x".repeat(80), &format!("{}…", "x".repeat(48)));
    }

    /// S6: tags are few and short, and none is there twice.
    #[test]
    fn tags() {
        let check = |given: &[&str], expected: &[&str]| {
            assert_eq!(
                tidied(given.iter().copied()).unwrap(),
                expected,
                "{given:?}"
            );
        };
        check(&[], &[]);
        check(&[" work ", "", "Baking", "WORK"], &["Baking", "work"]);
        check(&[&"ä".repeat(40)], &[&"ä".repeat(40)]);
        assert!(tidied([&*"ä".repeat(41)]).is_err());
        assert!(tidied(["1", "2", "3", "4", "5", "6", "7", "8", "8"]).is_ok());
        assert!(tidied(["1", "2", "3", "4", "5", "6", "7", "8", "9"]).is_err());
    }
}
