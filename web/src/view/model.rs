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
    /// What it can do, as the server says: `tools`, `thinking`, `vision`.
    pub capabilities: Vec<String>,
    /// Its server is of a kind that does not say that.
    pub untold: bool,
}

impl ModelEntry {
    /// Whether the server says that it can do that: `tools`, `thinking`, `vision`.
    pub fn can(&self, what: &str) -> bool {
        self.capabilities.iter().any(|c| c == what)
    }

    /// Whether it can think as far as is known: some servers do not tell what their models can do.
    pub fn may_think(&self) -> bool {
        self.untold || self.can("thinking")
    }
}

/// Whether a model server answers.
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
    /// What was asked.
    pub title: String,
    /// What was found, and what to do if it is wrong.
    pub detail: String,
    /// How it went.
    pub verdict: Verdict,
    /// How long it took, in milliseconds.
    pub took: Option<f64>,
    /// What mends it, the most likely first.
    pub fixes: Vec<Fix>,
    /// What was found, as the doctor calls it.
    pub code: &'static str,
}

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// As it should be.
    Good,
    /// It works with a remark.
    Remark,
    /// It does not work.
    Bad,
}

/// What mends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// Linux, macOS, Windows, Docker; `None` if it is the same everywhere.
    pub system: Option<&'static str>,
    /// What to do.
    pub text: String,
    /// What to type, as it is; may be empty.
    pub commands: String,
}
