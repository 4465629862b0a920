//! An open session as JavaScript reads it: the same in the package and in a mounted app.

use palimpsest_engine::Session;
use palimpsest_engine::session::HistoryItem;
use serde_json::{Value, json};

/// What a session is: its head, and what goes on in it.
pub fn info(session: &Session) -> Value {
    let head = session.head();
    json!({
        "id": session.id(), "title": head.title, "model": head.model, "window": head.window,
        "policy": head.policy, "thinking": head.thinking, "mode": head.mode, "messages": head.messages,
        "tokens": head.tokens, "revision": head.revision, "created": head.created, "updated": head.updated,
        "continues": head.continues, "due": session.is_due(), "replying": session.is_replying(),
        "compacting": session.is_compacting(),
    })
}

/// A message, and how it is shown to the model.
pub fn item(item: &HistoryItem) -> Value {
    let shown = match (item.covered_by, item.reduced) {
        (Some(_), _) => json!("covered"),
        (None, Some(kind)) => json!(kind),
        (None, None) => json!("verbatim"),
    };
    let message = &item.message;
    json!({
        "seq": message.seq, "role": message.role, "parts": message.parts, "at": message.at, "tokens": item.tokens,
        "shown": shown, "layer": item.covered_by, "branch": {"n": item.branch.0, "of": item.branch.1},
    })
}
