//! The icons of `index.html`'s sprite.

use leptos::prelude::*;
use leptos::svg;
use leptos::tachys::html::attribute::any_attribute::{AnyAttribute, IntoAnyAttribute};
use leptos::tachys::html::attribute::custom::custom_attribute;

/// An icon beside words, hidden from assistive technology.
pub fn icon(name: &'static str) -> AnyView {
    sprite("ic", "", name, None)
}

/// An icon that stands alone and so has a name.
pub fn icon_named(name: &'static str, label: &str) -> AnyView {
    sprite("ic", "", name, Some(label))
}

/// The strata beside a compaction card.
pub fn strata() -> AnyView {
    sprite("stack", "0 0 40 30", "stack", None)
}

/// The arrow between before and after.
pub fn arrow(label: &str) -> AnyView {
    sprite("arrow", "0 0 24 12", "arrow", Some(label))
}

fn sprite(
    class: &'static str,
    view_box: &'static str,
    name: &'static str,
    label: Option<&str>,
) -> AnyView {
    let mut attributes: Vec<AnyAttribute> = vec![custom_attribute("class", class).into_any_attr()];
    if !view_box.is_empty() {
        attributes.push(custom_attribute("viewBox", view_box).into_any_attr());
    }
    match label {
        Some(label) => {
            attributes.push(custom_attribute("role", "img").into_any_attr());
            attributes.push(custom_attribute("aria-label", label.to_owned()).into_any_attr());
        }
        None => attributes.push(custom_attribute("aria-hidden", "true").into_any_attr()),
    }
    let href: Vec<AnyAttribute> =
        vec![custom_attribute("href", format!("#i-{name}")).into_any_attr()];
    svg::svg()
        .add_any_attr(attributes)
        .child(svg::r#use().add_any_attr(href))
        .into_any()
}
