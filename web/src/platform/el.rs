//! Elements, built by hand.
//!
//! Leptos' `view!` macro turns constant markup into a `<template>` filled through `innerHTML`; the
//! page's Trusted Types policy forbids that sink. Elements are therefore built with these few
//! functions over Leptos' own renderer. Everything is erased to one type, which also keeps the wasm
//! small: a view costs its strings, not a new instance of the renderer.
//!
//! A *live* part (`…_live`) is a closure over signals that runs again when one of them changes.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};

use leptos::prelude::*;
use leptos::tachys::html::attribute::any_attribute::{AnyAttribute, IntoAnyAttribute};
use leptos::tachys::html::attribute::custom::custom_attribute;
use leptos::tachys::html::directive::directive;
use leptos::tachys::html::element::custom;
use leptos::tachys::html::event::{Custom, on};
use leptos::tachys::html::property::prop;
use leptos::tachys::html::style::style;
use leptos::tachys::view::iterators::StaticVec;
use leptos::tachys::view::{Mountable, Render};
use palimpsest_core::sorted::SortedSet;
use send_wrapper::SendWrapper;

use crate::platform::signal::{Shown, effect};

/// An element that is being put together.
pub struct El {
    tag: &'static str,
    attributes: Vec<AnyAttribute>,
    children: Vec<AnyView>,
}

/// A new element.
pub fn el(tag: &'static str) -> El {
    El {
        tag,
        attributes: Vec::new(),
        children: Vec::new(),
    }
}

/// A possible child of an element.
pub trait IntoChild {
    /// The child as a view.
    fn into_child(self) -> AnyView;
}

impl El {
    /// The whole `class` attribute.
    pub fn class(self, class: &'static str) -> Self {
        self.attr("class", class)
    }

    /// An attribute.
    pub fn attr(self, name: &'static str, value: impl Into<String>) -> Self {
        let value: String = value.into();
        self.with(custom_attribute(name, value).into_any_attr())
    }

    fn with(mut self, attribute: AnyAttribute) -> Self {
        self.attributes.push(attribute);
        self
    }

    /// An attribute, if there is a value.
    pub fn attr_some(self, name: &'static str, value: Option<impl Into<String>>) -> Self {
        match value {
            Some(value) => self.attr(name, value),
            None => self,
        }
    }

    /// An attribute without a value, if `on`.
    pub fn flag(self, name: &'static str, on: bool) -> Self {
        if on { self.attr(name, "") } else { self }
    }

    /// An attribute, live; absent while `None`.
    pub fn attr_live(
        self,
        name: &'static str,
        value: impl FnMut() -> Option<String> + 'static,
    ) -> Self {
        self.with(custom_attribute(name, shared(Box::new(value))).into_any_attr())
    }

    /// An attribute without a value, live.
    pub fn flag_live(self, name: &'static str, mut on: impl FnMut() -> bool + 'static) -> Self {
        self.attr_live(name, move || on().then(String::new))
    }

    /// A style property, set through the CSSOM, which the content policy allows.
    pub fn var(self, name: &'static str, value: impl ToString) -> Self {
        self.with(style((name, value.to_string())).into_any_attr())
    }

    /// A string property such as `value`, live.
    pub fn prop_live(self, name: &'static str, value: impl FnMut() -> String + 'static) -> Self {
        self.with(prop(name, shared(Box::new(value))).into_any_attr())
    }

    /// A boolean property such as `checked`, live.
    pub fn prop_flag_live(self, name: &'static str, value: impl FnMut() -> bool + 'static) -> Self {
        self.with(prop(name, shared(Box::new(value))).into_any_attr())
    }

    /// Listens to an event.
    pub fn on(self, event: &'static str, handler: impl FnMut(web_sys::Event) + 'static) -> Self {
        self.hears(event, Box::new(handler))
    }

    fn hears(self, event: &'static str, handler: Box<dyn FnMut(web_sys::Event)>) -> Self {
        self.with(on(Custom::<web_sys::Event>::new(event), handler).into_any_attr())
    }

    /// Listens to clicks, without their details.
    pub fn click(self, mut handler: impl FnMut() + 'static) -> Self {
        self.hears("click", Box::new(move |_| handler()))
    }

    /// Does something with the DOM element once it is made, before it has children or a parent.
    pub fn made(self, then: impl FnOnce(web_sys::Element) + 'static) -> Self {
        self.makes(Box::new(then))
    }

    fn makes(self, then: Box<dyn FnOnce(web_sys::Element)>) -> Self {
        let then = std::rc::Rc::new(std::cell::RefCell::new(Some(then)));
        let handler = move |element: web_sys::Element| {
            if let Some(then) = then.borrow_mut().take() {
                then(element);
            }
        };
        self.with(directive(handler, ()).into_any_attr())
    }

    /// Adds a child.
    pub fn child(mut self, child: impl IntoChild) -> Self {
        self.children.push(child.into_child());
        self
    }

    /// Adds children.
    pub fn children<C: IntoChild>(mut self, children: impl IntoIterator<Item = C>) -> Self {
        for child in children {
            self.children.push(child.into_child());
        }
        self
    }

    /// Adds a text that follows signals.
    pub fn text_live(mut self, text: impl FnMut() -> String + 'static) -> Self {
        self.children.push(shared(Box::new(text)).into_any());
        self
    }

    /// Adds a part that is made anew when its signals change.
    pub fn live(mut self, part: impl FnMut() -> AnyView + 'static) -> Self {
        self.children.push(live(part));
        self
    }

    /// Adds a part that is rebuilt when its value changes.
    pub fn live_on<T: PartialEq + 'static>(
        self,
        shown: impl Fn() -> T + 'static,
        part: impl Fn(&T) -> AnyView + 'static,
    ) -> Self {
        self.child(live_on(shown, part))
    }

    /// Its children, without the element itself.
    pub fn inside(self) -> AnyView {
        StaticVec::from(self.children).into_any()
    }

    /// The finished element.
    pub fn view(self) -> AnyView {
        let element = custom(self.tag).add_any_attr(self.attributes);
        if self.children.is_empty() {
            element.into_any()
        } else {
            element.child(StaticVec::from(self.children)).into_any()
        }
    }
}

/// A part that is made anew when its signals change.
pub fn live(part: impl FnMut() -> AnyView + 'static) -> AnyView {
    shared(Box::new(part)).into_any()
}

/// A part that is rebuilt only when its value changes. Other changes of the page leave its controls and the keyboard
/// focus in it alone.
pub fn live_on<T: PartialEq + 'static>(
    shown: impl Fn() -> T + 'static,
    part: impl Fn(&T) -> AnyView + 'static,
) -> AnyView {
    let shown = Shown::of(shown);
    // Reads inside of the part do not rebuild it.
    live(move || shown.with(|shown| untrack(|| part(shown))))
}

/// A part that is there while something holds.
pub fn live_if(
    holds: impl Fn() -> bool + 'static,
    part: impl Fn() -> AnyView + 'static,
) -> AnyView {
    live_on(holds, move |holds| if *holds { part() } else { nothing() })
}

/// A number for what an item of a list shows, as a key of [`each`]: while it stays, the element stays.
pub fn key_of(shown: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    shown.hash(&mut hasher);
    hasher.finish()
}

/// A list whose items keep their elements while their key stays.
pub fn each<T: 'static>(
    items: impl Fn() -> Vec<T> + 'static,
    key: impl Fn(&T) -> u64 + 'static,
    view: impl Fn(T) -> AnyView + 'static,
) -> AnyView {
    let view = std::rc::Rc::new(view);
    list(Box::new(move || {
        let view = &view;
        let make = |item| {
            let (key, view) = (key(&item), std::rc::Rc::clone(view));
            // what an item's view reads does not make the list anew
            let make: Box<dyn FnOnce() -> AnyView> = Box::new(move || untrack(|| view(item)));
            Item(key, SendWrapper::new(make))
        };
        items().into_iter().map(make).collect()
    }))
}

/// An item's key, and the function that makes its element on first use.
struct Item(u64, SendWrapper<Box<dyn FnOnce() -> AnyView>>);

fn list(items: Box<dyn Fn() -> Vec<Item>>) -> AnyView {
    let items = SendWrapper::new(items);
    For(ForProps::builder()
        .each(move || (*items)())
        .key(|item: &Item| item.0)
        .children(|item: Item| item.1.take()())
        .build())
    .into_any()
}

/// A list that has `parent` for itself. Items keep their elements while their key stays, and none is ever moved: an element
/// that is moved loses the focus. Items that stay must stay in their order; one that does not is made anew.
pub fn each_in_place<T: 'static>(
    parent: web_sys::Element,
    items: impl Fn() -> Vec<T> + 'static,
    key: impl Fn(&T) -> u64 + 'static,
    view: impl Fn(T) -> AnyView + 'static,
) {
    // one below the view's own: the effect is the view's, and what holds its owner would never let it end
    let Some(owner) = Owner::current().map(|view| view.child()) else {
        return;
    };
    let mut shown: VecDeque<Row> = VecDeque::new();
    effect(move || {
        let items: Vec<(u64, T)> = items().into_iter().map(|item| (key(&item), item)).collect();
        let keys: SortedSet<u64> = items.iter().map(|(key, _)| *key).collect();
        let (mut old, gone): (VecDeque<Row>, VecDeque<Row>) = std::mem::take(&mut shown)
            .into_iter()
            .partition(|row| keys.contains(&row.key));
        for mut row in gone {
            row.state.unmount();
        }
        for (key, item) in items {
            if old.front().is_some_and(|row| row.key == key) {
                shown.extend(old.pop_front());
                continue;
            }
            let own = owner.child();
            // what an item's view reads does not make the list anew
            let mut state = own.with(|| untrack(|| view(item).build()));
            if !old
                .iter()
                .any(|row| row.state.insert_before_this(&mut state))
            {
                state.mount(&parent, None);
            }
            shown.push_back(Row {
                key,
                state,
                _own: own,
            });
        }
        for mut row in old {
            row.state.unmount();
        }
    });
}

/// An item of [`each_in_place`]. Its live parts end with it.
struct Row {
    key: u64,
    state: <AnyView as Render>::State,
    _own: Owner,
}

/// Nothing.
pub fn nothing() -> AnyView {
    ().into_any()
}

impl IntoChild for El {
    fn into_child(self) -> AnyView {
        self.view()
    }
}

impl IntoChild for AnyView {
    fn into_child(self) -> AnyView {
        self
    }
}

impl IntoChild for &'static str {
    fn into_child(self) -> AnyView {
        self.into_any()
    }
}

impl IntoChild for String {
    fn into_child(self) -> AnyView {
        self.into_any()
    }
}

impl<C: IntoChild> IntoChild for Option<C> {
    fn into_child(self) -> AnyView {
        self.map_or_else(nothing, IntoChild::into_child)
    }
}

/// One type for every live closure, so that the renderer is compiled once for all of them. The page has
/// one thread; the renderer asks for more.
fn shared<T: 'static>(f: Box<dyn FnMut() -> T>) -> Arc<Mutex<dyn FnMut() -> T + Send>> {
    let mut f = SendWrapper::new(f);
    Arc::new(Mutex::new(move || (*f)()))
}
