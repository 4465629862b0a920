//! A tool call of the reply that is being written.

/// A call that waits for a person, or runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Call {
    /// Its number.
    pub id: u32,
    /// The session whose reply makes it.
    pub session: String,
    /// The tool, as its server calls it.
    pub tool: String,
    /// The name of its server.
    pub server: String,
    /// The arguments as JSON with line breaks.
    pub arguments: String,
    /// It waits for a person's answer.
    pub asks: bool,
}
