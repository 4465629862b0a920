//! A field of a form, with its error beside it.

use std::rc::Rc;

use wasm_bindgen::JsCast;
use web_sys::HtmlSelectElement;

use crate::platform::el::{El, el};
use crate::text::{T, t};

/// The present error of a field, for a person to read. It is a signal.
pub type Wrong = Rc<dyn Fn() -> Option<String>>;

/// A field below its name, with its error under it.
pub fn framed(input: El, id: &'static str, name: T, wrong: &Wrong) -> El {
    let told = format!("{id}-wrong");
    let is_wrong = Rc::clone(wrong);
    let input = input
        .attr("id", id)
        .attr("aria-describedby", told.clone())
        .attr_live("aria-invalid", move || {
            is_wrong().map(|_| "true".to_owned())
        });
    el("div")
        .child(el("label").child(t(name)).child(input))
        .child(fault(told, wrong))
}

/// The error. Screen readers read it when it appears.
pub fn fault(id: String, wrong: &Wrong) -> El {
    let wrong = Rc::clone(wrong);
    el("span")
        .class("badc")
        .attr("id", id)
        .attr("role", "alert")
        .text_live(move || wrong().unwrap_or_default())
}

/// A field for a line of text.
pub fn line(value: &str) -> El {
    el("input")
        .attr("type", "text")
        .attr("autocomplete", "off")
        .attr("value", value)
}

/// A field for lines, each of which means something.
pub fn lines(value: &str, rows: &'static str) -> El {
    el("textarea")
        .attr("rows", rows)
        .attr("spellcheck", "false")
        .child(value.to_owned())
}

/// A box to tick, with its name.
pub fn tick(id: &str, name: T, on: bool) -> El {
    el("label")
        .class("tick-box")
        .child(
            el("input")
                .attr("type", "checkbox")
                .attr("id", id)
                .flag("checked", on),
        )
        .child(t(name))
}

/// One of a list.
pub fn option(value: &str, words: &str, chosen: bool) -> El {
    el("option")
        .attr("value", value)
        .flag("selected", chosen)
        .child(words.to_owned())
}

/// The choice in a list.
pub fn selected(event: &web_sys::Event) -> Option<String> {
    Some(
        event
            .target()?
            .dyn_into::<HtmlSelectElement>()
            .ok()?
            .value(),
    )
}

/// A button with a text.
pub fn button(text: T, then: impl FnMut() + 'static) -> El {
    el("button")
        .class("btn")
        .attr("type", "button")
        .child(t(text))
        .click(then)
}

/// A bar of what is done, in percent.
pub fn progress(name: String, percent: u32) -> El {
    el("div")
        .class("progress")
        .attr("role", "progressbar")
        .attr("aria-label", name)
        .attr("aria-valuemin", "0")
        .attr("aria-valuemax", "100")
        .attr("aria-valuenow", percent.to_string())
        .child(el("i").var("--p", format!("{percent}%")))
}

/// A button that looks like a link in a line.
pub fn link(name: T, then: impl FnMut() + 'static) -> El {
    el("button")
        .class("link")
        .attr("type", "button")
        .child(t(name))
        .click(then)
}
