//! A conversation to begin with, as several of these tests want it.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::rc::Rc;

use palimpsest_core::message::Part;
use palimpsest_engine::session::{NewMessage, SendEvent, SendOptions, Session};
use palimpsest_engine::testing::model::ScriptedModel;

/// So many exchanges about the files of a configuration.
pub(crate) async fn talk(session: &Session, turns: usize) {
    for n in 0..turns {
        let question = format!("Question {n}: what does config/part_{n}.toml set?");
        session.append(NewMessage::user(question)).await.unwrap();
        let text = format!(
            "It sets the limit of part {n} to {n} seconds. We chose that because the old default was too slow. \
             The file is read at start, so a restart is needed after each change of config/part_{n}.toml."
        );
        session
            .append(NewMessage::assistant(vec![Part::text(text)]))
            .await
            .unwrap();
    }
}

/// A plain send to that model.
pub(crate) fn options(model: &ScriptedModel) -> SendOptions {
    SendOptions::new(Rc::new(model.clone()))
}

/// Nobody listens.
pub(crate) fn silent(_: SendEvent) {}
