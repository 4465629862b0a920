//! Tools: the servers that offer them to a model, and the calls that a person allows.

/// Tool servers, what they say, and calls as they are drawn.
pub mod data {
    pub mod call;
    pub mod mcp;
    pub mod server;
}

/// Connections to tool servers, and the calls of a reply.
#[cfg(target_arch = "wasm32")]
pub mod actions {
    pub mod calls;
    pub mod servers;
}

/// The tools in the settings, and the calls under a reply.
#[cfg(target_arch = "wasm32")]
pub mod view {
    pub mod calls;
    pub mod servers;
}
