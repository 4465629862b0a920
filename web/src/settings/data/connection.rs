//! Models, the connection to them, and the connection doctor.

/// A model that can be chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelEntry {
    /// Its name as the server calls it.
    pub name: String,
    /// Parameters, as the server says: `7.6B`.
    pub size: String,
    /// Quantisation: `Q4_K_M`.
    pub quantisation: String,
    /// The window it was trained for.
    pub trained: Option<u32>,
    /// The window of the copy that is loaded now.
    pub loaded: Option<u32>,
    /// Bytes on disk.
    pub bytes: Option<f64>,
    /// Its abilities, as the server lists them: `tools`, `thinking`, `vision`.
    pub capabilities: Vec<String>,
    /// Its server is of a kind that does not say that.
    pub untold: bool,
}

impl ModelEntry {
    /// Returns `true` if the server lists that ability: `tools`, `thinking`, `vision`.
    pub fn can(&self, what: &str) -> bool {
        self.capabilities.iter().any(|c| c == what)
    }

    /// Returns `true` if the server lists its abilities, and seeing images is none of them.
    pub fn is_blind(&self) -> bool {
        self.can("completion") && !self.can("vision") && !self.can("multimodal")
    }

    /// Returns `true` if the server lists its abilities, and using tools is none of them.
    pub fn is_toolless(&self) -> bool {
        self.can("completion") && !self.can("tools")
    }

    /// Returns `true` if it can think, or if the server does not list abilities.
    pub fn may_think(&self) -> bool {
        self.untold || self.can("thinking")
    }
}

/// The download of a model to the server.
#[derive(Debug, Clone, PartialEq)]
pub struct Pull {
    /// Its name.
    pub model: String,
    /// Bytes that have arrived.
    pub done: f64,
    /// Bytes of the files that are known so far; 0 before the first is.
    pub total: f64,
    /// The sentence that says why it ended early. `None` while it runs.
    pub failed: Option<String>,
}

/// The state of the model server.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Connection {
    /// Not asked yet.
    #[default]
    Unknown,
    /// Being asked.
    Asking,
    /// It answers.
    Connected,
    /// It answers and has no model.
    Empty,
    /// It does not answer, or not to this page.
    Failed,
}

/// One step of the connection doctor.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// The question.
    pub title: String,
    /// The finding, and the remedy for an error.
    pub detail: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The time in milliseconds.
    pub took: Option<f64>,
    /// The remedies, the most likely first.
    pub fixes: Vec<Fix>,
    /// The doctor's code of the finding.
    pub code: &'static str,
}

/// The verdict of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// As it should be.
    Good,
    /// It works with a remark.
    Remark,
    /// It does not work.
    Bad,
}

/// A remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// Linux, macOS, Windows, Docker; `None` if it is the same everywhere.
    pub system: Option<&'static str>,
    /// The instruction.
    pub text: String,
    /// The commands to type; may be empty.
    pub commands: String,
}
