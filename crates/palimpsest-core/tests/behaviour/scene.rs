//! A context to begin with, as several of these tests want it.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::rc::Rc;

use palimpsest_core::context::{Context, Setup};
use palimpsest_core::message::{Message, Origin, Part, Role};
use palimpsest_core::policy::Policy;
use palimpsest_core::record::Records;
use palimpsest_core::shares::ShareOptions;
use palimpsest_tokens::Estimator;

/// An empty context under that policy.
pub(crate) fn context(window: u32, policy: Policy) -> Context {
    let setup = Setup::new(window, ShareOptions::default(), policy, 0).unwrap();
    Context::new(setup, Records::default(), Rc::new(Estimator::default()))
}

/// Adds a message; its number.
pub(crate) fn push(context: &mut Context, role: Role, parts: Vec<Part>) -> u32 {
    let seq = context.entries().len() as u32;
    let origin = match role {
        Role::Assistant => Origin::Model,
        Role::Tool => Origin::Tool,
        _ => Origin::Host,
    };
    context.push(Rc::new(Message {
        parts,
        origin,
        ..Message::text(seq, role, "")
    }));
    seq
}

/// Adds a message of words; its number.
pub(crate) fn say(context: &mut Context, role: Role, text: &str) -> u32 {
    push(context, role, vec![Part::text(text)])
}
