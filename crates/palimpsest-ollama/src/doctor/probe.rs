//! What the doctor wants to know, and what can be told.

use crate::http::HttpRequest;

/// What a question is about. Only the doctor looks at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The server's version.
    Version,
    /// Its models.
    List,
    /// What is in memory.
    Loaded,
    /// One token from the model.
    Try,
}

/// The next thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// `navigator.permissions.query({ name: "local-network-access" })`. Browsers that do not know the name throw: tell
    /// [`Permission::Unknown`].
    Permission,
    /// `fetch(server + path, { mode: "no-cors", redirect: "manual" })`. Tell [`Observation::Opaque`] if it resolves.
    Opaque {
        /// Begins with a slash.
        path: String,
    },
    /// An ordinary request. Tell its status and body; of a streamed answer the beginning is enough.
    Ask {
        /// What it is about.
        step: Step,
        /// What to send.
        request: HttpRequest,
    },
}

/// What came of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observation<'a> {
    /// The browser's word about the local network.
    Permission(Permission),
    /// An answer that may not be read.
    Opaque,
    /// No answer: `fetch` threw.
    Failed,
    /// An answer.
    Answer {
        /// HTTP status.
        status: u16,
        /// The body or its beginning.
        body: &'a [u8],
    },
}

/// May the page reach servers on this machine or network?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Yes.
    Granted,
    /// No.
    Denied,
    /// The browser will ask.
    Prompt,
    /// The browser does not know the question.
    Unknown,
}
