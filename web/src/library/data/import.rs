//! What a file of the app has beside conversations. The conversations themselves are read by the engine.

use palimpsest_engine::Profile;
use palimpsest_text::sorted::SortedMap;
use serde_json::Value;

use crate::settings::Settings;

/// The largest file that is read, in bytes: what is kept of it is what was said, not the file.
pub const LARGEST: u32 = 256_000_000;

/// What a file of ours has beside conversations.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Beside {
    /// The settings, where the file is one of settings and not of sessions.
    pub settings: Option<Settings>,
    /// Profiles by name; what this page cannot read is left out.
    pub profiles: SortedMap<String, Profile>,
}

impl Beside {
    /// What stands in a file's object beside its sessions.
    pub fn of(value: &Value) -> Self {
        let is_vault = value["hasSessions"] == true;
        let settings = value.get("settings").filter(|_| !is_vault);
        let profiles = value.get("profiles").and_then(Value::as_object);
        let read = |(name, value): (&String, &Value)| {
            let profile = Profile::from_json(&value.to_string()).ok()?;
            (!name.trim().is_empty()).then(|| (name.clone(), profile))
        };
        Self {
            settings: settings.and_then(|v| palimpsest_text::json::read_value(v).ok()),
            profiles: profiles.into_iter().flatten().filter_map(read).collect(),
        }
    }
}
