//! Markdown in the page.

use leptos::prelude::AnyView;

use crate::act;
use crate::platform::el::{IntoChild, el};

/// Markdown as DOM nodes.
pub fn prose(text: &str) -> AnyView {
    let text = text.to_owned();
    el("div")
        .class("prose")
        .made(move |element| act::write(element, text, true))
        .into_child()
}
