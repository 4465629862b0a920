//! The conversation: messages, replies, branches, and what goes with a message.

/// The thread as it is drawn, and what a person types.
pub mod data {
    pub mod bind;
    pub mod command;
    pub mod line;
    pub mod rows;
    pub mod sent;
    pub mod sentences;
    pub mod thread;
    pub mod title;
}

/// Saying something, and what becomes of the reply.
#[cfg(target_arch = "wasm32")]
pub mod actions {
    pub mod attachments;
    pub mod branch;
    pub mod removal;
    pub mod reply;
    pub mod talk;
    pub mod title;
    pub mod unanswered;
}

/// The thread, its messages and the composer.
#[cfg(target_arch = "wasm32")]
pub mod view {
    pub mod attached;
    pub mod composer;
    pub mod edit;
    pub mod message;
    pub mod reply;
    pub mod start;
    pub mod thread;
}
