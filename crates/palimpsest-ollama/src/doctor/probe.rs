//! The probes of the doctor and the observations that answer them.

use crate::http::HttpRequest;

/// The purpose of a request. Only the doctor reads it.
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

/// The next action for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// `navigator.permissions.query({ name: "local-network-access" })`. Browsers that do not know the name throw:
    /// report [`Permission::Unknown`].
    Permission,
    /// `fetch(server + path, { mode: "no-cors", redirect: "manual" })`. Report [`Observation::Opaque`] if it resolves.
    Opaque {
        /// Begins with a slash.
        path: String,
    },
    /// An ordinary request. Report its status and body; the beginning of a streamed answer is enough.
    Ask {
        /// The purpose of the request.
        step: Step,
        /// The request.
        request: HttpRequest,
    },
}

/// The result of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observation<'a> {
    /// The browser's answer about the local network.
    Permission(Permission),
    /// An answer that the page may not read.
    Opaque,
    /// There was no answer: `fetch` threw.
    Failed,
    /// An answer.
    Answer {
        /// HTTP status.
        status: u16,
        /// The body or its beginning.
        body: &'a [u8],
    },
}

/// The page's permission to reach servers on this machine or network.
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
