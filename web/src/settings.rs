//! The user's settings, kept in localStorage.

/// Servers, models, windows, policies and profiles as they are drawn.
pub mod data {
    pub mod connection;
    pub mod doctor;
    pub mod key;
    pub mod policy;
    pub mod profile;
    pub mod prompt;
    pub mod window;
}

/// What a person sets, and the model servers.
#[cfg(target_arch = "wasm32")]
pub mod actions {
    pub mod model;
    pub mod parameters;
    pub mod profiles;
    pub mod pull;
    pub mod server;
    pub mod settings;
}

/// The settings screen.
#[cfg(target_arch = "wasm32")]
pub mod view {
    pub mod budgeting;
    pub mod connection;
    pub mod dialogs;
    pub mod models;
    pub mod parameters;
    pub mod policy;
    pub mod profiles;
    pub mod prompts;
    pub mod settings;
    pub mod skills;
    pub mod system;
    pub mod window;
}

use palimpsest_core::policy::Policy;
use palimpsest_text::number;
use palimpsest_text::sorted::SortedMap;
use serde::{Deserialize, Serialize};

use crate::settings::data::key::{Key, origin_of};
use crate::tools::data::server;

/// All settings. Unknown keys are ignored, missing ones are the defaults, so that older and newer
/// pages can share a browser.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The theme.
    pub theme: Theme,
    /// High contrast, independent of the system's setting.
    pub contrast: bool,
    /// The bar without colours.
    pub grey: bool,
    /// The language's tag; empty: as the browser prefers.
    pub language: String,
    /// The kind of model server.
    pub server: Server,
    /// Its address.
    pub address: String,
    /// A key, if the person chose to keep it here.
    pub key: String,
    /// The origin of the key. It is sent to no other.
    pub key_origin: String,
    /// The model of new sessions.
    pub model: String,
    /// The window of new sessions, in tokens.
    pub window: u32,
    /// The model that writes layers: empty is the session's own, `-` the built-in summariser.
    pub summary_model: String,
    /// Compact at the trigger without being asked.
    pub automatic: bool,
    /// The model names a session after the first reply.
    pub titles: bool,
    /// The session that was open.
    pub session: String,
    /// When all sessions were last exported; milliseconds since 1970, 0 for never.
    pub exported: f64,
    /// The policy of new sessions.
    pub policy: String,
    /// The profile that new sessions begin with; empty for none.
    pub profile: String,
    /// Policies for certain models, which replace the general one.
    pub model_policies: SortedMap<String, String>,
    /// Sampling temperature; `None` leaves it to the model.
    pub temperature: Option<f32>,
    /// Settings for certain models, which replace the general ones.
    pub models: SortedMap<String, ModelSettings>,
    /// Tokens kept for the answer; `None` as fits the window.
    pub reserve: Option<u32>,
    /// Model servers beside the one in use.
    pub places: Vec<Place>,
    /// System prompts by their names.
    pub prompts: SortedMap<String, String>,
    /// Servers whose tools a model is offered, as JSON, which only the part with the tools reads; empty without one.
    pub tool_servers: String,
    /// A model may look up what was said, in new sessions.
    pub own_tools: bool,
    /// Other sessions are quoted for a message that asks for it.
    pub other_sessions: bool,
}

/// A model server that is not in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Its kind.
    pub server: Server,
    /// Its address.
    pub address: String,
    /// A key, if the person chose to keep it here.
    #[serde(default)]
    pub key: String,
    /// The origin that it belongs to.
    #[serde(default)]
    pub key_origin: String,
}

impl Place {
    /// The key that is kept for it.
    pub fn own_key(&self) -> Key {
        Key::kept(&self.key, &self.key_origin)
    }
}

/// The settings of one model. `None` means the general one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelSettings {
    /// The window of its sessions, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// Sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// The share of probability that words are chosen from, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f32>,
    /// Words less likely than this share of the likeliest one are left out, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_p: Option<f32>,
    /// The penalty on words that were just written; 1 for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat_penalty: Option<f32>,
    /// A number that makes its choices repeatable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u32>,
    /// The most tokens of a reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_tokens: Option<u32>,
    /// Texts that end a reply.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// Seconds it stays loaded; negative for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_alive: Option<i32>,
    /// The summariser in its sessions, as in [`Settings::summary_model`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_model: Option<String>,
    /// Let it think before it answers, if it can; `None` leaves that to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think: Option<Think>,
}

/// The amount of thinking before an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Think {
    /// It does not.
    Off,
    /// It does.
    On,
    /// It does, a little.
    Low,
    /// It does, some.
    Medium,
    /// It does, much.
    High,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            theme: Theme::System,
            contrast: false,
            grey: false,
            language: String::new(),
            server: Server::Ollama,
            address: Server::Ollama.usual_address().to_owned(),
            key: String::new(),
            key_origin: String::new(),
            model: String::new(),
            window: 8192,
            summary_model: String::new(),
            automatic: true,
            titles: true,
            session: String::new(),
            exported: 0.0,
            policy: "balanced".to_owned(),
            profile: String::new(),
            model_policies: SortedMap::new(),
            temperature: None,
            models: SortedMap::new(),
            reserve: None,
            places: Vec::new(),
            prompts: SortedMap::new(),
            tool_servers: String::new(),
            own_tools: false,
            other_sessions: false,
        }
    }
}

impl Settings {
    /// The policy for a session of that model.
    pub fn policy_for(&self, model: &str) -> &str {
        self.model_policies.get(model).unwrap_or(&self.policy)
    }

    /// The window for a session of that model.
    pub fn window_for(&self, model: &str) -> u32 {
        let own = self.models.get(model).and_then(|own| own.window);
        own.unwrap_or(self.window)
    }

    /// The summariser in a session of that model.
    pub fn summary_model_for(&self, model: &str) -> &str {
        let own = self
            .models
            .get(model)
            .and_then(|own| own.summary_model.as_ref());
        own.unwrap_or(&self.summary_model)
    }

    /// The server in use.
    pub fn in_use(&self) -> Place {
        Place {
            server: self.server,
            address: self.address.clone(),
            key: self.key.clone(),
            key_origin: self.key_origin.clone(),
        }
    }

    /// Keeps a key for the server in use, or takes the one that is kept away.
    pub fn keep_key(&mut self, key: Key) {
        (self.key, self.key_origin) = key.into_parts();
    }

    /// Returns `true` if the key of the server in use is stored.
    pub fn keeps_key(&self) -> bool {
        !self.in_use().own_key().at(&self.address).is_empty()
    }

    /// A key that was kept without its origin belongs to that of the address it was kept with.
    #[must_use]
    pub fn with_origins(mut self) -> Self {
        let own = |key: &str, origin: &mut String, address: &str| {
            if origin.is_empty() && !key.is_empty() {
                *origin = origin_of(address).unwrap_or_default();
            }
        };
        own(&self.key, &mut self.key_origin, &self.address);
        for place in &mut self.places {
            own(&place.key, &mut place.key_origin, &place.address);
        }
        self
    }

    /// Another server is used from now on; the one before stands in its place.
    pub fn use_place(&mut self, at: usize) {
        if let Some(place) = self.places.get_mut(at) {
            std::mem::swap(&mut self.server, &mut place.server);
            std::mem::swap(&mut self.address, &mut place.address);
            std::mem::swap(&mut self.key, &mut place.key);
            std::mem::swap(&mut self.key_origin, &mut place.key_origin);
        }
    }

    /// The settings that may leave this browser: without keys and without local history.
    #[must_use]
    pub fn shared(&self) -> Self {
        let mut shared = Self {
            key: String::new(),
            key_origin: String::new(),
            session: String::new(),
            exported: 0.0,
            ..self.clone()
        };
        for place in &mut shared.places {
            place.key.clear();
            place.key_origin.clear();
        }
        let mut servers = server::read(&shared.tool_servers);
        for one in &mut servers {
            one.share();
        }
        shared.tool_servers = server::written(&servers);
        shared
    }

    /// Replaces the settings `here` by these from a file. Values that [`Self::shared`] leaves out stay, and so do
    /// values that would break this page.
    #[must_use]
    pub fn taken_in(mut self, here: &Self) -> Self {
        self.session.clone_from(&here.session);
        self.exported = here.exported;
        // a file brings no key, and takes none away: whichever server it names, the key stays with its own origin
        self.key.clone_from(&here.key);
        self.key_origin.clone_from(&here.key_origin);
        for place in &mut self.places {
            let same = |p: &&Place| (p.server, &p.address) == (place.server, &place.address);
            let known = here.places.iter().find(same).map(Place::own_key);
            (place.key, place.key_origin) = known.unwrap_or_default().into_parts();
        }
        let (known, mut servers) = (
            server::read(&here.tool_servers),
            server::read(&self.tool_servers),
        );
        for one in &mut servers {
            one.arrive(&known);
        }
        self.tool_servers = server::written(&servers);
        // nor does it let words of one session reach the requests of another
        self.other_sessions = here.other_sessions;
        if window_of(&self.window.to_string()).is_none() {
            self.window = here.window;
        }
        let good = |policy: &String| Policy::from_text(policy).is_ok();
        if !good(&self.policy) {
            self.policy.clone_from(&here.policy);
        }
        self.model_policies.retain(|_, policy| good(policy));
        self
    }

    /// Changes what goes with a model. Nothing is kept of one that has nothing of its own.
    pub fn edit_model(&mut self, model: &str, edit: impl FnOnce(&mut ModelSettings)) {
        let mut own = self.models.remove(model).unwrap_or_default();
        edit(&mut own);
        if own != ModelSettings::default() {
            self.models.insert(model.to_owned(), own);
        }
    }
}

/// The colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Theme {
    /// As the system.
    System,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

/// The kind of model server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Server {
    /// Ollama.
    Ollama,
    /// llama.cpp's own server.
    LlamaCpp,
    /// Anything else that speaks OpenAI's chat completions.
    OpenAi,
    /// No server: a small model in the page itself.
    InPage,
}

impl Server {
    /// The usual address of such a server.
    pub const fn usual_address(self) -> &'static str {
        match self {
            Self::Ollama => "http://localhost:11434",
            Self::LlamaCpp => "http://localhost:8081",
            Self::OpenAi => "http://localhost:8000",
            // it is no address, and nothing is asked there
            Self::InPage => "page:",
        }
    }

    /// Its name in lists and settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ollama => "ollama",
            Self::LlamaCpp => "llamacpp",
            Self::OpenAi => "openai",
            Self::InPage => "inpage",
        }
    }

    /// The kind of that name; Ollama for any other.
    pub fn named(name: &str) -> Self {
        [Self::LlamaCpp, Self::OpenAi, Self::InPage]
            .into_iter()
            .find(|s| s.name() == name)
            .unwrap_or(Self::Ollama)
    }
}

/// The input is not a temperature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoTemperature;

/// `text` as a sampling temperature: between 0 and 2, with a point or a comma; nothing for the model's own.
pub fn temperature_of(text: &str) -> Result<Option<f32>, NoTemperature> {
    let text = text.trim().replace(',', ".");
    if text.is_empty() {
        return Ok(None);
    }
    match number::read(&text) {
        Some(t) if t <= 2.0 => Ok(Some(t)),
        _ => Err(NoTemperature),
    }
}

/// The input is not a number of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoNumber;

/// `text` as a share of probability, above 0 and at most 1; nothing for the model's own.
pub fn share_of(text: &str) -> Result<Option<f32>, NoNumber> {
    above_zero(text, 1.0)
}

/// `text` as a number above 0 and at most `most`, with a point or a comma; nothing for no text.
fn above_zero(text: &str, most: f32) -> Result<Option<f32>, NoNumber> {
    let text = text.trim().replace(',', ".");
    match number::read(&text) {
        _ if text.is_empty() => Ok(None),
        Some(value) if value > 0.0 && value <= most => Ok(Some(value)),
        _ => Err(NoNumber),
    }
}

/// `text` as a penalty on repetition, above 0 and at most 2; nothing for the model's own.
pub fn penalty_of(text: &str) -> Result<Option<f32>, NoNumber> {
    above_zero(text, 2.0)
}

/// `text` as texts that end a reply, a line each.
pub fn stops_of(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| line.replace("\\n", "\n"));
    lines.filter(|line| !line.is_empty()).collect()
}

/// `text` as a seed; nothing for a new one each time.
pub fn seed_of(text: &str) -> Result<Option<u32>, NoNumber> {
    match text.trim() {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| NoNumber),
    }
}

/// `text` as tokens kept for an answer: at least 16; nothing for what fits the window.
pub fn tokens_of(text: &str) -> Option<Option<u32>> {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let others = text
        .chars()
        .any(|c| !(c.is_ascii_digit() || matches!(c, ',' | '.' | ' ' | '\u{a0}' | '\u{202f}')));
    match digits.parse::<u32>() {
        _ if others => None,
        Ok(tokens) => (16..=524_288).contains(&tokens).then_some(Some(tokens)),
        Err(_) => digits.is_empty().then_some(None),
    }
}

/// `text` as a whole number of percent, from 1 to 100.
pub fn percent_of(text: &str) -> Option<u32> {
    let percent = text.trim().trim_end_matches('%').trim().parse().ok()?;
    (1..=100).contains(&percent).then_some(percent)
}

/// The windows that are offered, in tokens.
pub const WINDOWS: [u32; 7] = [2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072];

/// `text` as a window in tokens: digits, with any thousands marks, and `k` for 1,024. Between 2,048
/// and 1,048,576.
pub fn window_of(text: &str) -> Option<u32> {
    let text = text.trim().to_lowercase();
    let (text, factor) = text
        .strip_suffix('k')
        .map_or((text.as_str(), 1), |head| (head, 1024));
    let digits: String = text
        .chars()
        .filter(|c| !matches!(c, ',' | '.' | ' ' | '_' | '\u{a0}' | '\u{202f}'))
        .collect();
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let tokens = digits.parse::<u32>().ok()?.checked_mul(factor)?;
    (2048..=1_048_576).contains(&tokens).then_some(tokens)
}

/// Normalises a server's address: adds a missing scheme, and removes trailing slashes and the `/v1` that many users
/// type.
pub fn address_of(text: &str) -> String {
    let text = text.trim().trim_end_matches('/');
    let text = text.strip_suffix("/v1").unwrap_or(text);
    if text.is_empty() || text.contains("://") {
        text.to_owned()
    } else {
        format!("http://{text}")
    }
}

/// The host in a server's address, without its port.
pub fn host_of(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let end = match rest.find(']') {
        Some(end) => end + 1,
        None => rest.find([':', '/']).unwrap_or(rest.len()),
    };
    &rest[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::data::server::ToolServer;

    #[test]
    fn windows_are_read_as_people_write_them() {
        let check = |text, expected| assert_eq!(window_of(text), expected, "{text}");
        check("8192", Some(8192));
        check(" 16,384 ", Some(16_384));
        check("32.768", Some(32_768));
        check("8k", Some(8192));
        check("1024K", Some(1_048_576));
        check("2047", None);
        check("2000000", None);
        check("99999999999", None);
        check("many", None);
        check("", None);
    }

    #[test]
    fn temperatures_are_read() {
        assert_eq!(temperature_of(" 0,7 "), Ok(Some(0.7)));
        assert_eq!(temperature_of(""), Ok(None));
        assert_eq!(temperature_of("2.1"), Err(NoTemperature));
        assert_eq!(temperature_of("NaN"), Err(NoTemperature));
        assert_eq!(temperature_of("warm"), Err(NoTemperature));
    }

    /// B4, B5: what may be typed for the answer's room and for the trigger.
    #[test]
    fn room_and_trigger_are_read() {
        let tokens = |text, expected| assert_eq!(tokens_of(text), expected, "{text}");
        tokens("1,024", Some(Some(1024)));
        tokens(" 1.024 ", Some(Some(1024)));
        tokens("", Some(None));
        tokens("15", None);
        tokens("-5", None);
        tokens("many", None);
        tokens("99999999999", None);
        let percent = |text, expected| assert_eq!(percent_of(text), expected, "{text}");
        percent("80 %", Some(80));
        percent("7", Some(7));
        percent("0", None);
        percent("101", None);
        percent("half", None);
    }

    #[test]
    fn addresses_are_completed() {
        let host = |address, expected| assert_eq!(host_of(address), expected);
        host("http://localhost:11434", "localhost");
        host("https://gpu.lan", "gpu.lan");
        host("http://[::1]:8080", "[::1]");
        host("", "");
        assert_eq!(address_of(" localhost:11434/ "), "http://localhost:11434");
        assert_eq!(address_of("https://gpu.lan:11434"), "https://gpu.lan:11434");
        assert_eq!(
            address_of("http://localhost:8081/v1/"),
            "http://localhost:8081"
        );
        assert_eq!(address_of(""), "");
        assert!(
            Server::named("llamacpp") == Server::LlamaCpp && Server::named("x") == Server::Ollama
        );
    }

    /// E4: a model may have a policy of its own.
    #[test]
    fn policies_by_model() {
        let mut settings = Settings {
            policy: "checkpoints".into(),
            ..Settings::default()
        };
        settings
            .model_policies
            .insert("qwen3:4b".into(), "watermark".into());
        assert_eq!(settings.policy_for("qwen3:4b"), "watermark");
        assert_eq!(settings.policy_for("llama3.2:3b"), "checkpoints");
    }

    /// A model may have a window and a summariser of its own; one without anything of its own leaves no trace.
    #[test]
    fn settings_by_model() {
        let mut settings = Settings::default();
        settings.edit_model("qwen3:4b", |own| own.window = Some(32_768));
        settings.edit_model("qwen3:4b", |own| own.summary_model = Some("-".into()));
        assert_eq!(
            (settings.window_for("qwen3:4b"), settings.window_for("x")),
            (32_768, 8192)
        );
        assert_eq!(
            (
                settings.summary_model_for("qwen3:4b"),
                settings.summary_model_for("x")
            ),
            ("-", "")
        );
        let text = serde_json::to_string(&settings.models).unwrap();
        assert_eq!(text, r#"{"qwen3:4b":{"window":32768,"summary_model":"-"}}"#);
        let read: ModelSettings = serde_json::from_str(r#"{"think":"medium"}"#).unwrap();
        assert_eq!(read.think, Some(Think::Medium));
        settings.edit_model("qwen3:4b", |own| *own = ModelSettings::default());
        assert!(settings.models.is_empty());
        assert_eq!(
            (share_of(" 0,9"), share_of("0")),
            (Ok(Some(0.9)), Err(NoNumber))
        );
        assert_eq!(
            (penalty_of("1,1"), penalty_of("2.5"), penalty_of("")),
            (Ok(Some(1.1)), Err(NoNumber), Ok(None))
        );
        assert_eq!(stops_of("END\n\n\\nYou:\n"), ["END", "\nYou:"]);
        assert_eq!(
            (seed_of(" 7 "), seed_of("-1"), seed_of("")),
            (Ok(Some(7)), Err(NoNumber), Ok(None))
        );
    }

    /// The servers change places, keys with them; what leaves the browser has no key, and a file's settings take nothing
    /// away that it does not carry.
    #[test]
    fn servers_and_files() {
        let place = |address: &str, key: &str| Place {
            server: Server::OpenAi,
            address: address.into(),
            key: key.into(),
            key_origin: origin_of(address).unwrap_or_default(),
        };
        let mut here = Settings {
            key: "one".into(),
            key_origin: "http://localhost:11434".into(),
            session: "s".into(),
            exported: 5.0,
            places: vec![place("https://gpu.lan", "two")],
            ..Settings::default()
        };
        let file = Settings {
            theme: Theme::Dark,
            ..here.clone()
        }
        .shared();
        let text = serde_json::to_string(&file).unwrap();
        assert!(!text.contains("one") && !text.contains("two"), "{text}");
        let read: Settings = serde_json::from_str(&text).unwrap();
        let dark = Settings {
            theme: Theme::Dark,
            ..here.clone()
        };
        assert_eq!(read.taken_in(&here), dark);
        let odd = Settings {
            window: 7,
            policy: "shorten".into(),
            other_sessions: true,
            ..here.clone()
        };
        assert_eq!(odd.taken_in(&here), here);

        here.use_place(0);
        assert_eq!(
            (here.server, here.address.as_str(), here.key.as_str()),
            (Server::OpenAi, "https://gpu.lan", "two")
        );
        assert_eq!(
            here.places,
            [Place {
                server: Server::Ollama,
                ..place("http://localhost:11434", "one")
            }]
        );
        here.use_place(9);
        assert_eq!(here.key, "two");
    }

    /// A file of settings holds tool servers without their keys, and brings neither a key nor a permission.
    #[test]
    fn tool_servers_leave_their_keys_here() {
        let servers = |key: &str, paused: bool| Settings {
            tool_servers: server::written(&[ToolServer {
                address: "http://localhost:3001/mcp".into(),
                key: key.into(),
                paused,
                ..ToolServer::default()
            }]),
            ..Settings::default()
        };
        let here = servers("secret", false);
        let file = here.shared();
        assert_eq!(file.tool_servers, servers("", false).tool_servers);
        assert_eq!(file.clone().taken_in(&here), here);
        let elsewhere = file.taken_in(&Settings::default());
        assert_eq!(elsewhere.tool_servers, servers("", true).tool_servers);
    }

    /// Keys of the time before origins belong to the address with which they were stored. A file that names another
    /// server gets none of them, whatever it contains.
    #[test]
    fn keys_have_origins() {
        let old = r#"{"server":"openai","address":"https://gpu.lan/x","key":"k","places":[{"server":"openai","address":"https://b.lan","key":"b"}]}"#;
        let here = serde_json::from_str::<Settings>(old)
            .unwrap()
            .with_origins();
        assert_eq!(here.key_origin, "https://gpu.lan");
        assert_eq!(here.places[0].key_origin, "https://b.lan");
        assert!(here.keeps_key());
        let file = r#"{"server":"openai","address":"https://evil.example","key":"k2","key_origin":"https://evil.example",
            "places":[{"server":"llamacpp","address":"https://b.lan","key":"x","key_origin":"https://b.lan"}]}"#;
        let read = serde_json::from_str::<Settings>(file)
            .unwrap()
            .taken_in(&here);
        let used = read.in_use();
        assert_eq!(used.own_key().sent_to(used.server, &used.address), "");
        assert!(!read.keeps_key());
        assert_eq!(
            read.places[0].key, "",
            "another kind of server is another server"
        );
        let back = Settings {
            address: here.address.clone(),
            ..read
        };
        assert!(back.keeps_key());
    }

    /// S5, E3: a page of another version reads the same settings.
    #[test]
    fn settings_of_other_versions_are_read() {
        let read: Settings =
            serde_json::from_str(r#"{"theme":"dark","window":4096,"tomorrow":1}"#).unwrap();
        assert_eq!(
            (read.theme, read.window, read.automatic),
            (Theme::Dark, 4096, true)
        );
        let text = serde_json::to_string(&Settings::default()).unwrap();
        assert_eq!(
            serde_json::from_str::<Settings>(&text).unwrap(),
            Settings::default()
        );
    }
}
