//! The few things asked of the browser directly.

use leptos::prelude::{document, window};
use leptos::wasm_bindgen::JsCast;
use wasm_bindgen::JsValue;
use wasm_bindgen::closure::Closure;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Element, Event, File, FileList, HtmlElement, MouseEvent};

use crate::app::data::address::Address;
use crate::platform::guest;
use crate::settings::{Settings, Theme};
use crate::text::Language;

/// Calls `then` before the next picture of the page.
pub fn next_frame(then: impl FnOnce() + 'static) {
    let call = Closure::once_into_js(then);
    let _ = window().request_animation_frame(call.unchecked_ref());
}

/// Calls `then` after some milliseconds.
pub fn after(milliseconds: i32, then: impl FnOnce() + 'static) {
    let call = Closure::once_into_js(then);
    let _ = window()
        .set_timeout_with_callback_and_timeout_and_arguments_0(call.unchecked_ref(), milliseconds);
}

/// Puts the focus on the first element that matches.
pub fn focus(selector: &str) {
    if let Some(element) = find(selector) {
        let _ = element.focus();
    }
}

/// What stands in a field; empty if there is none.
pub fn value(selector: &str) -> String {
    find(selector)
        .and_then(|element| js_sys::Reflect::get(&element, &"value".into()).ok())
        .and_then(|value| value.as_string())
        .unwrap_or_default()
}

/// Whether a box is ticked.
pub fn checked(selector: &str) -> bool {
    find(selector)
        .and_then(|element| js_sys::Reflect::get(&element, &"checked".into()).ok())
        .and_then(|value| value.as_bool())
        .unwrap_or_default()
}

/// Puts a text into a field.
pub fn set_value(selector: &str, text: &str) {
    if let Some(field) = find(selector) {
        let _ = js_sys::Reflect::set(&field, &"value".into(), &text.into());
    }
}

/// Whether the focus is in a field.
pub fn is_typing() -> bool {
    active().is_some_and(|element| {
        matches!(element.tag_name().as_str(), "INPUT" | "TEXTAREA" | "SELECT")
    })
}

/// Every element of that type that matches.
pub fn all<E: JsCast>(selector: &str) -> Vec<E> {
    let Some(Ok(list)) = root().map(|root| root.query_selector_all(selector)) else {
        return Vec::new();
    };
    (0..list.length())
        .filter_map(|i| list.item(i)?.dyn_into().ok())
        .collect()
}

/// The first HTML element that matches.
pub fn find(selector: &str) -> Option<HtmlElement> {
    root()?
        .query_selector(selector)
        .ok()
        .flatten()?
        .dyn_into()
        .ok()
}

/// What everything of ours is in: the document's root, or the element we are mounted in.
fn root() -> Option<Element> {
    guest::root().map_or_else(|| document().document_element(), |root| Some(root.into()))
}

/// The element of ours that has the focus.
pub fn active() -> Option<Element> {
    // a document has it, and so has the shadow root of a mounted app
    let top = root()?.get_root_node();
    js_sys::Reflect::get(&top, &"activeElement".into())
        .ok()?
        .dyn_into()
        .ok()
}

/// Shows the theme, contrast and palette that were chosen.
pub fn dress(settings: &Settings) {
    let Some(root) = root() else {
        return;
    };
    // where a host has colours, they are the person's choice already
    let (theme, contrast) = guest::theme().unwrap_or((settings.theme, settings.contrast));
    let theme = match theme {
        Theme::System => None,
        Theme::Light => Some("light"),
        Theme::Dark => Some("dark"),
    };
    set(&root, "data-theme", theme);
    set(&root, "data-contrast", contrast.then_some("more"));
    set(&root, "data-palette", settings.grey.then_some("grey"));
}

/// Whether the page is dark now.
pub fn is_dark(settings: &Settings) -> bool {
    match guest::theme().map_or(settings.theme, |(theme, _)| theme) {
        Theme::Light => false,
        Theme::Dark => true,
        Theme::System => window()
            .match_media("(prefers-color-scheme: dark)")
            .ok()
            .flatten()
            .is_some_and(|m| m.matches()),
    }
}

/// Sets or removes an attribute of the page's root.
pub fn mark(name: &str, value: Option<&str>) {
    if let Some(root) = root() {
        set(&root, name, value);
    }
}

fn set(element: &Element, name: &str, value: Option<&str>) {
    let _ = match value {
        Some(value) => element.set_attribute(name, value),
        None => element.remove_attribute(name),
    };
}

/// The language: the one chosen, or the first of the browser's that there is.
pub fn language(settings: &Settings) -> Language {
    if !settings.language.is_empty() {
        return Language::preferred(std::slice::from_ref(&settings.language));
    }
    let tags: Vec<String> = window()
        .navigator()
        .languages()
        .iter()
        .filter_map(|tag| tag.as_string())
        .collect();
    Language::preferred(&tags)
}

/// The page's own origin, as a model server sees it.
pub fn origin() -> String {
    window().location().origin().unwrap_or_default()
}

/// The hour and minute of a time in milliseconds since 1970, where the person is.
pub fn clock(at: f64) -> String {
    if at <= 0.0 {
        return String::new();
    }
    let date = js_sys::Date::new(&at.into());
    format!("{:02}:{:02}", date.get_hours(), date.get_minutes())
}

/// The day of a time, as the language writes it: `21 Nov`.
pub fn day(at: f64, language: Language) -> String {
    let date = js_sys::Date::new(&at.into());
    let options = js_sys::Object::new();
    let _ = js_sys::Reflect::set(&options, &"day".into(), &"numeric".into());
    let _ = js_sys::Reflect::set(&options, &"month".into(), &"short".into());
    date.to_locale_date_string(language.tag(), &options).into()
}

/// The name of a time's day of the week.
pub fn weekday(at: f64, language: Language) -> String {
    let date = js_sys::Date::new(&at.into());
    let options = js_sys::Object::new();
    let _ = js_sys::Reflect::set(&options, &"weekday".into(), &"long".into());
    date.to_locale_date_string(language.tag(), &options).into()
}

/// The date of a time as files are named: `2026-11-21`.
pub fn date(at: f64) -> String {
    let date = js_sys::Date::new(&at.into());
    let month = date.get_month() + 1;
    format!("{}-{month:02}-{:02}", date.get_full_year(), date.get_date())
}

/// Midnight before a time, where the person is.
pub fn midnight(at: f64) -> f64 {
    let date = js_sys::Date::new(&at.into());
    date.set_hours(0);
    date.set_minutes(0);
    date.set_seconds(0);
    date.set_milliseconds(0);
    date.get_time()
}

/// Sets an attribute of the page's root that is absent, removes one that is there.
pub fn toggle(name: &str) {
    if let Some(root) = root() {
        let _ = root.toggle_attribute(name);
    }
}

/// Saves a text as a file, through a link that is clicked, unless the host of a mounted app does it.
pub fn save(name: &str, kind: &str, text: &str) -> Option<()> {
    if guest::save(name, text) {
        return Some(());
    }
    let parts = js_sys::Array::of1(&text.into());
    let options = web_sys::BlobPropertyBag::new();
    options.set_type(kind);
    let blob = web_sys::Blob::new_with_str_sequence_and_options(&parts, &options).ok()?;
    let address = web_sys::Url::create_object_url_with_blob(&blob).ok()?;
    let link: HtmlElement = document().create_element("a").ok()?.dyn_into().ok()?;
    link.set_attribute("href", &address).ok()?;
    link.set_attribute("download", name).ok()?;
    link.click();
    after(60_000, move || {
        let _ = web_sys::Url::revoke_object_url(&address);
    });
    Some(())
}

/// Takes the shell away that stood in place of the page.
pub fn empty(root: &HtmlElement) {
    root.set_text_content(None);
}

/// Copies a text. Whether it could.
pub async fn copy(text: &str) -> bool {
    if let Some(copied) = guest::copy(text) {
        let copied = JsFuture::from(copied).await;
        return copied.is_ok_and(|done| done.is_truthy());
    }
    let copied = window().navigator().clipboard().write_text(text);
    JsFuture::from(copied).await.is_ok()
}

/// The address that the page is at. A mounted app has none.
pub fn address() -> Address {
    if guest::is_guest() {
        return Address::default();
    }
    Address::read(&window().location().hash().unwrap_or_default())
}

/// Returns `true` if a click on a link opens another tab or window. The browser does that.
pub fn opens_another(click: &Event) -> bool {
    click
        .dyn_ref::<MouseEvent>()
        .is_some_and(|click| click.ctrl_key() || click.meta_key() || click.shift_key())
}

/// Goes to an address, from which Back leads to the one before.
pub fn visit(address: &Address) {
    if !guest::is_guest() {
        let _ = window().location().set_hash(&address.to_string());
    }
}

/// Puts an address in place of the present one.
pub fn replace(address: &Address) {
    if !guest::is_guest()
        && let Ok(history) = window().history()
    {
        let _ = history.replace_state_with_url(&JsValue::NULL, "", Some(&format!("#{address}")));
    }
}

/// The whole of an address, to be kept or given away. A mounted app has none.
pub fn link(address: &Address) -> Option<String> {
    let here = window().location().href().ok()?;
    let page = here.split('#').next()?;
    (!guest::is_guest()).then(|| format!("{page}#{address}"))
}

/// Begins anew.
pub fn reload() {
    if !guest::again() {
        let _ = window().location().reload();
    }
}

/// Names the page, which is only ours where we are no guest.
pub fn title(text: &str) {
    if !guest::is_guest() {
        document().set_title(text);
    }
}

/// Shows the note of a crash, which stands hidden in the shell. Of several crashes it tells the first.
pub fn crashed(text: &str, detail: &str) {
    if guest::crashed(text, detail) {
        return;
    }
    if let Some(note) = find("#crash").filter(|note| note.has_attribute("hidden")) {
        if let Ok(Some(paragraph)) = note.query_selector("p") {
            paragraph.set_text_content(Some(text));
        }
        if let Ok(Some(code)) = note.query_selector("code") {
            code.set_text_content(Some(detail));
        }
        let _ = note.remove_attribute("hidden");
    }
}

/// Where the sample conversation is; `None` where the page brings none.
pub fn sample() -> Option<String> {
    let meta = document()
        .query_selector("meta[name=palimpsest-sample]")
        .ok()??;
    meta.get_attribute("content")
}

/// The files of a list.
pub fn files(list: Option<FileList>) -> Vec<File> {
    let lists = list.iter();
    lists
        .flat_map(|list| (0..list.length()).filter_map(|n| list.get(n)))
        .collect()
}
