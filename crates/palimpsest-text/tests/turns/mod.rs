//! Conversations that others had, from outside of the tree.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::PathBuf;

use serde_json::Value;

/// A file of recorded conversations.
pub(crate) fn read(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// What people said in conversations that were recorded, in order: the kind of conversation, its number, the words.
pub(crate) fn user_turns() -> Vec<(&'static str, usize, String)> {
    let mut turns = Vec::new();
    let chats: Value = serde_json::from_str(&read("locomo-dev.json")).unwrap();
    for (number, chat) in chats.as_array().unwrap().iter().enumerate() {
        for (name, session) in chat["conversation"].as_object().unwrap() {
            let is_session = name.starts_with("session_") && !name.ends_with("time");
            for turn in session
                .as_array()
                .filter(|_| is_session)
                .into_iter()
                .flatten()
            {
                turns.push((
                    "chat",
                    number,
                    turn["text"].as_str().unwrap_or("").to_owned(),
                ));
            }
        }
    }
    let airline: Value = serde_json::from_str(&read("tau-airline-dev.json")).unwrap();
    let words = |m: &Value| match &m["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|p| p["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    };
    for (number, run) in airline.as_array().unwrap().iter().enumerate() {
        let own = run["traj"].as_array().unwrap().iter();
        let own = own.filter(|m| m["role"] == "user");
        turns.extend(own.map(|m| ("airline", number, words(m))));
    }
    for line in read("coding-session.jsonl").lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        if line["message"]["role"] == "user" {
            turns.push(("coding", 0, words(&line["message"])));
        }
    }
    let agent: Value = serde_json::from_str(&read("swe-agent.traj")).unwrap();
    let history = agent["history"].as_array().unwrap().iter();
    turns.extend(
        history
            .filter(|m| m["role"] == "user")
            .map(|m| ("agent", 0, words(m))),
    );
    turns
}

/// Whether the weights were fitted to turns of this conversation.
pub(crate) fn fitted(kind: &str, number: usize) -> bool {
    kind == "chat" && number == 0 || kind == "airline" && number < 50
}
