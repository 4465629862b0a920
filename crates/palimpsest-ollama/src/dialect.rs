//! Which protocol a server speaks.

/// A family of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Ollama's own API: `/api/chat`, one JSON object per line. The window is chosen per request.
    Ollama,
    /// `/v1/chat/completions` with server-sent events. The window is the server's.
    OpenAi,
    /// As [`Dialect::OpenAi`], plus what llama.cpp's server understands beyond it.
    LlamaCpp,
}
