//! Describes an open session for JavaScript. The package and a mounted app share it.

use palimpsest_core::layer::LayerId;
use palimpsest_core::message::{Ended, Part, Role, Seq};
use palimpsest_core::mode::Mode;
use palimpsest_core::rendition::ReducedKind;
use palimpsest_engine::Session;
use palimpsest_engine::session::HistoryItem;
use serde::Serialize;

/// A session: its head and its current activity.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Info {
    id: String,
    title: String,
    model: String,
    window: u32,
    policy: String,
    thinking: bool,
    mode: Mode,
    messages: u32,
    tokens: u32,
    revision: u32,
    created: f64,
    updated: f64,
    continues: Option<String>,
    due: bool,
    replying: bool,
    compacting: bool,
}

impl Info {
    /// Describes a session at this moment.
    pub fn of(session: &Session) -> Self {
        let head = session.head();
        Self {
            id: session.id().to_owned(),
            title: head.title,
            model: head.model,
            window: head.window,
            policy: head.policy,
            thinking: head.thinking,
            mode: head.mode,
            messages: head.messages,
            tokens: head.tokens,
            revision: head.revision,
            created: head.created,
            updated: head.updated,
            continues: head.continues,
            due: session.is_due(),
            replying: session.is_replying(),
            compacting: session.is_compacting(),
        }
    }
}

/// A message, and its form in the window.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Item<'a> {
    seq: Seq,
    role: Role,
    parts: &'a [Part],
    at: f64,
    ended: Option<End>,
    tokens: u32,
    shown: Shown,
    layer: Option<LayerId>,
    branch: Branch,
}

/// The end of a reply that is not whole: `stopped`, or `cut` at this many tokens.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct End {
    #[cfg_attr(feature = "typescript", ts(type = "\"stopped\" | \"cut\""))]
    how: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    tokens: Option<u32>,
}

impl From<Ended> for End {
    fn from(ended: Ended) -> Self {
        let (how, tokens) = match ended {
            Ended::Stopped => ("stopped", None),
            Ended::Cut(tokens) => ("cut", Some(tokens)),
        };
        Self { how, tokens }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
enum Shown {
    Verbatim,
    Covered,
    #[serde(untagged)]
    Reduced(ReducedKind),
}

/// The number of a message among its siblings, and the number of siblings.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
struct Branch {
    n: u32,
    of: u32,
}

impl<'a> Item<'a> {
    /// Describes a message.
    pub fn of(item: &'a HistoryItem) -> Self {
        let message = &item.message;
        Self {
            seq: message.seq,
            role: message.role,
            parts: &message.parts,
            at: message.at,
            ended: message.ended.map(End::from),
            tokens: item.tokens,
            shown: match (item.covered_by, item.reduced) {
                (Some(_), _) => Shown::Covered,
                (None, Some(kind)) => Shown::Reduced(kind),
                (None, None) => Shown::Verbatim,
            },
            layer: item.covered_by,
            branch: Branch {
                n: item.branch.0,
                of: item.branch.1,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use palimpsest_core::message::Message;

    use super::*;

    /// S3, C1, F94: a message tells its form (verbatim, covered by a layer, or a shorter form) and how an unfinished
    /// reply ended.
    #[test]
    fn messages_say_how_they_are_shown() {
        let check = |covered_by, reduced, end: (Option<Ended>, &str), expected: &str| {
            let (how, ended) = end;
            let item = HistoryItem {
                message: Rc::new(Message {
                    ended: how,
                    ..Message::text(3, Role::User, "Hello")
                }),
                tokens: 5,
                covered_by,
                reduced,
                branch: (1, 2),
            };
            let text = serde_json::to_string(&Item::of(&item)).unwrap();
            assert_eq!(
                text,
                format!(
                    r#"{{"seq":3,"role":"user","parts":[{{"type":"text","text":"Hello"}}],"at":0.0,"ended":{ended},"tokens":5,{expected},"branch":{{"n":1,"of":2}}}}"#
                )
            );
        };
        let whole = (None, "null");
        check(None, None, whole, r#""shown":"verbatim","layer":null"#);
        let stopped = (Some(Ended::Stopped), r#"{"how":"stopped"}"#);
        check(Some(7), None, stopped, r#""shown":"covered","layer":7"#);
        check(
            None,
            Some(ReducedKind::Offloaded),
            (Some(Ended::Cut(9)), r#"{"how":"cut","tokens":9}"#),
            r#""shown":"offloaded","layer":null"#,
        );
    }
}
