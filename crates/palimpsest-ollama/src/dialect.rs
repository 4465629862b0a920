//! The protocols that model servers speak.

/// A family of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Ollama's own API: `/api/chat`, one JSON object per line. The window is chosen per request.
    Ollama,
    /// `/v1/chat/completions` with server-sent events. The server sets the window.
    OpenAi,
    /// [`Dialect::OpenAi`] with the extensions of llama.cpp's server.
    LlamaCpp,
}

impl Dialect {
    /// Its name, as sessions and files have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ollama => "ollama",
            Self::OpenAi => "openai",
            Self::LlamaCpp => "llama.cpp",
        }
    }
}
