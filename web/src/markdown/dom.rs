//! [`Node`]s to DOM nodes, with `createElement` and text nodes only.
//!
//! Buttons in a message carry `data-` attributes and no listeners; the thread listens once for all
//! of them ([`clicked`]).

use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{
    Document, Element as DomElement, HtmlElement, IntersectionObserver, IntersectionObserverEntry,
};

use super::bidi::{Piece, pieces};
use super::highlight::{self, Kind};
use super::{Align, Element, Image, ImageSource, Node, formulas};
use crate::act;
use crate::text::{T, fill, t};

/// Writes a text into an element; its code is coloured if nothing more is coming.
pub fn write(element: DomElement, text: String, whole: bool) {
    append(&element, &super::parse(&text));
    if whole {
        colour(&element);
        if let Ok(Some(_)) = element.query_selector(FORMULA) {
            act::set_formulas(element);
        }
    }
}

/// The source of a formula that is not set yet.
pub const FORMULA: &str = "[data-formula]";

/// Appends `nodes` to `parent`.
pub fn append(parent: &DomElement, nodes: &[Node]) {
    let Some(document) = parent.owner_document() else {
        return;
    };
    for node in nodes {
        one(&document, parent, node);
    }
}

/// Removes everything inside `parent`.
pub fn clear(parent: &DomElement) {
    parent.set_text_content(None);
}

/// The clicked part of a message.
#[derive(Debug)]
pub enum Clicked {
    /// The button that copies a code block: its text.
    Copy(String),
    /// The chip of a picture inside the message; it has been shown.
    Shown,
}

/// Looks whether a click hit one of the buttons made here, and shows a picture if it was its chip.
pub fn clicked(target: &DomElement) -> Option<Clicked> {
    if let Some(button) = target.closest("[data-copy]").ok().flatten() {
        let code = button
            .closest("figure")
            .ok()
            .flatten()?
            .query_selector("code")
            .ok()
            .flatten()?;
        return Some(Clicked::Copy(code.text_content().unwrap_or_default()));
    }
    let chip = target.closest("[data-picture]").ok().flatten()?;
    let document = chip.owner_document()?;
    let picture = document.create_element("img").ok()?;
    let _ = picture.set_attribute("alt", &chip.get_attribute("data-alt").unwrap_or_default());
    let _ = picture.set_attribute(
        "src",
        &chip.get_attribute("data-picture").unwrap_or_default(),
    );
    chip.replace_with_with_node_1(&picture).ok()?;
    Some(Clicked::Shown)
}

fn one(document: &Document, parent: &DomElement, node: &Node) {
    match node {
        Node::Text(text) => said(document, parent, text),
        Node::Element(Element::Table, rows) => {
            // A wide table scrolls in its own box.
            let scroll = add(document, parent, "div", "scroll");
            let _ = scroll.set_attribute("tabindex", "0");
            let table = add(document, &scroll, "table", "");
            let (head, body) = rows.split_at(rows.len().min(1));
            append(&add(document, &table, "thead", ""), head);
            append(&add(document, &table, "tbody", ""), body);
        }
        Node::Element(element, children) => {
            append(&add(document, parent, tag(*element), ""), children);
        }
        Node::Link { href, children } => {
            let link = add(document, parent, "a", "");
            let _ = link.set_attribute("href", href);
            let _ = link.set_attribute("rel", "noreferrer noopener");
            let _ = link.set_attribute("target", "_blank");
            append(&link, children);
        }
        Node::Image(image) => chip(document, parent, image),
        Node::Code { language, text } => code(document, parent, language, text),
        Node::InlineCode(text) => words(document, &add(document, parent, "code", ""), text),
        Node::List { start, items } => {
            let list = add(
                document,
                parent,
                if start.is_some() { "ol" } else { "ul" },
                "",
            );
            if let Some(first) = start.filter(|n| *n != 1) {
                let _ = list.set_attribute("start", &first.to_string());
            }
            append(&list, items);
        }
        Node::Task(done) => {
            let mark = add(
                document,
                parent,
                "span",
                if *done { "task done" } else { "task" },
            );
            mark.set_text_content(Some(if *done { "☑ " } else { "☐ " }));
        }
        Node::Cell {
            head,
            align,
            children,
        } => {
            let class = match align {
                Align::Start => "",
                Align::Centre => "c",
                Align::End => "n",
            };
            let cell = add(document, parent, if *head { "th" } else { "td" }, class);
            if *head {
                let _ = cell.set_attribute("scope", "col");
            }
            append(&cell, children);
        }
        Node::Rule => {
            add(document, parent, "hr", "");
        }
        Node::Break => {
            add(document, parent, "br", "");
        }
    }
}

fn code(document: &Document, parent: &DomElement, language: &str, text: &str) {
    let figure = add(document, parent, "figure", "code");
    let caption = add(document, &figure, "figcaption", "");
    add(document, &caption, "span", "").set_text_content(Some(language));
    let button = add(document, &caption, "button", "quiet");
    let _ = button.set_attribute("type", "button");
    let _ = button.set_attribute("data-copy", "");
    let _ = button.set_attribute("aria-label", t(T::CopyCode));
    button.set_text_content(Some(t(T::Copy)));
    let pre = add(document, &figure, "pre", "");
    let _ = pre.set_attribute("tabindex", "0");
    let code = add(document, &pre, "code", "");
    words(document, &code, text);
    if !language.is_empty() {
        let _ = code.set_attribute("data-language", language);
    }
}

/// Code whose colours wait until it is seen.
const PLAIN: &str = "code[data-language]";

thread_local! {
    static SEEN: Option<IntersectionObserver> = observer();
}

/// Colours the code inside of `parent` when it becomes visible. Call it for complete blocks only, because a block that
/// is still arriving is rebuilt with every word.
pub fn colour(parent: &DomElement) {
    let Ok(all) = parent.query_selector_all(PLAIN) else {
        return;
    };
    SEEN.with(|seen| {
        for i in 0..all.length() {
            let code = all
                .item(i)
                .and_then(|node| node.dyn_into::<DomElement>().ok());
            if let (Some(seen), Some(code)) = (seen, code) {
                seen.observe(&code);
            }
        }
    });
}

fn observer() -> Option<IntersectionObserver> {
    let seen = |entries: js_sys::Array, observer: IntersectionObserver| {
        for entry in entries.iter() {
            let entry: IntersectionObserverEntry = entry.unchecked_into();
            if entry.is_intersecting() {
                let code = entry.target();
                observer.unobserve(&code);
                paint(&code);
            }
        }
    };
    let seen = Closure::<dyn FnMut(js_sys::Array, IntersectionObserver)>::new(seen);
    let observer = IntersectionObserver::new(seen.as_ref().unchecked_ref()).ok();
    // it watches for as long as the page lives
    seen.forget();
    observer
}

/// Puts the recognised pieces of the code into elements of their own. The text stays the same.
fn paint(code: &DomElement) {
    let (Some(language), Some(document)) =
        (code.get_attribute("data-language"), code.owner_document())
    else {
        return;
    };
    let _ = code.remove_attribute("data-language");
    let text = code.text_content().unwrap_or_default();
    let Some(pieces) = highlight::pieces(&language, &text) else {
        return;
    };
    clear(code);
    for (kind, piece) in pieces {
        if kind == Kind::Plain {
            words(&document, code, piece);
        } else {
            words(
                &document,
                &add(&document, code, "span", kind.class()),
                piece,
            );
        }
    }
}

/// Text with formulas. Each is shown as its source, and named so that it can be set: `block` or `inline`.
fn said(document: &Document, parent: &DomElement, text: &str) {
    let mut at = 0;
    for formula in formulas(text) {
        words(document, parent, &text[at..formula.place.start]);
        let source = add(document, parent, "span", "formula");
        let how = if formula.is_block { "block" } else { "inline" };
        let _ = source.set_attribute("data-formula", how);
        let _ = source.set_attribute("title", &text[formula.inner.clone()]);
        words(document, &source, &text[formula.place.clone()]);
        at = formula.place.end;
    }
    words(document, parent, &text[at..]);
}

/// Text, with characters that turn its direction set apart and shown.
fn words(document: &Document, parent: &DomElement, text: &str) {
    for piece in pieces(text) {
        match piece {
            Piece::Plain(text) => {
                let _ = parent.append_child(&document.create_text_node(text));
            }
            Piece::Turn(text, name) => {
                let mark = add(document, parent, "span", "turn");
                let _ = mark.set_attribute("data-turn", name);
                mark.set_text_content(Some(text));
            }
        }
    }
}

fn chip(document: &Document, parent: &DomElement, image: &Image) {
    match &image.source {
        ImageSource::Remote { href, host } => {
            let link = add(document, parent, "a", "picture");
            let _ = link.set_attribute("href", href);
            let _ = link.set_attribute("rel", "noreferrer noopener");
            let _ = link.set_attribute("target", "_blank");
            let said = fill(T::ImageOn, &[host]);
            link.set_text_content(Some(&if image.alt.is_empty() {
                said
            } else {
                format!("{said}: {}", image.alt)
            }));
        }
        ImageSource::Inline(data) => {
            let button = add(document, parent, "button", "picture");
            let _ = button.set_attribute("type", "button");
            let _ = button.set_attribute("data-picture", data);
            let _ = button.set_attribute("data-alt", &image.alt);
            button.set_text_content(Some(&fill(T::ImageInside, &[&image.alt])));
        }
        ImageSource::Refused => add(document, parent, "span", "picture")
            .set_text_content(Some(&fill(T::ImageRefused, &[&image.alt]))),
    }
}

fn add(document: &Document, parent: &DomElement, tag: &str, class: &str) -> DomElement {
    // Only names from this file come here, so the fallback is never taken.
    let element = document
        .create_element(tag)
        .unwrap_or_else(|_| parent.clone());
    if !class.is_empty() {
        element.set_class_name(class);
    }
    let _ = parent.append_child(&element);
    if let Some(html) = element.dyn_ref::<HtmlElement>()
        && matches!(tag, "p" | "li" | "blockquote" | "h3" | "h4" | "h5" | "h6")
    {
        // Each block in its own direction: a reply may be Arabic in an English page.
        html.set_dir("auto");
    }
    element
}

/// The tags. Headings of a message stand below those of the page.
const fn tag(element: Element) -> &'static str {
    match element {
        Element::Paragraph => "p",
        Element::Heading(1 | 2) => "h3",
        Element::Heading(3) => "h4",
        Element::Heading(4) => "h5",
        Element::Heading(_) => "h6",
        Element::Quote => "blockquote",
        Element::Item => "li",
        Element::Emphasis => "em",
        Element::Strong => "strong",
        Element::Strike => "del",
        Element::Table => "table",
        Element::Row => "tr",
        Element::Superscript => "sup",
        Element::Subscript => "sub",
    }
}
