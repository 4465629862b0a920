//! Other tabs of the same origin, over a `BroadcastChannel`.

use std::rc::Rc;

use palimpsest_engine::ports::Notify;
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::*;
use web_sys::{BroadcastChannel, MessageEvent};

use crate::global::{global, property};

/// The longest message that is read. Any script of the origin can post on the channel.
const LONGEST_MESSAGE: u32 = 2_000;

/// A session that another tab has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// The session.
    pub session: String,
    /// The new version of its head.
    pub version: u32,
}

/// The channel between tabs. Clones share it. Without a channel in the host, a tab sends and hears nothing, and learns
/// of other tabs when the store refuses its next write.
#[derive(Debug, Clone)]
pub struct Tabs(Option<Rc<Channel>>);

#[derive(Debug)]
struct Channel(BroadcastChannel);

impl Drop for Channel {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Tabs {
    /// The channel of the database `name`.
    pub fn new(name: &str) -> Self {
        if global("BroadcastChannel").is_none() {
            return Self(None);
        }
        let Ok(channel) = BroadcastChannel::new(&format!("{name}:changes")) else {
            return Self(None);
        };
        // In Node an open channel would keep the process alive.
        if let Some(unref) = property(&channel, "unref")
            && let Some(unref) = unref.dyn_ref::<js_sys::Function>()
        {
            let _ = unref.call0(&channel);
        }
        Self(Some(Rc::new(Channel(channel))))
    }

    /// Calls `on_change` for every change in another tab, until the returned value is dropped.
    pub fn listen(&self, on_change: impl Fn(Changed) + 'static) -> Listening {
        let Some(channel) = &self.0 else {
            return Listening { _heard: None };
        };
        // A channel object does not hear itself, but two objects of one tab hear each other. So every listener listens
        // on the object on which this tab posts.
        let listener = Closure::new(move |event: MessageEvent| {
            if let Some(change) = understood(&event.data()) {
                on_change(change);
            }
        });
        let function = listener.as_ref().unchecked_ref();
        if channel
            .0
            .add_event_listener_with_callback("message", function)
            .is_err()
        {
            return Listening { _heard: None };
        }
        Listening {
            _heard: Some(Heard {
                channel: Rc::clone(channel),
                listener,
            }),
        }
    }
}

fn understood(data: &JsValue) -> Option<Changed> {
    let text: &js_sys::JsString = data.dyn_ref()?;
    if text.length() > LONGEST_MESSAGE {
        return None;
    }
    palimpsest_text::json::read(&String::from(text)).ok()
}

impl Notify for Tabs {
    fn changed(&self, session: &str, version: u32) {
        let Some(channel) = &self.0 else { return };
        let change = Changed {
            session: session.to_owned(),
            version,
        };
        if let Ok(text) = serde_json::to_string(&change) {
            // The channel is closed, because the tab is about to close.
            let _ = channel.0.post_message(&JsValue::from_str(&text));
        }
    }
}

/// Changes are reported for as long as this value lives.
#[derive(Debug)]
#[must_use = "dropping it ends the listening"]
pub struct Listening {
    _heard: Option<Heard>,
}

#[derive(Debug)]
struct Heard {
    channel: Rc<Channel>,
    listener: Closure<dyn FnMut(MessageEvent)>,
}

impl Drop for Heard {
    fn drop(&mut self) {
        let function = self.listener.as_ref().unchecked_ref();
        let _ = self
            .channel
            .0
            .remove_event_listener_with_callback("message", function);
    }
}
