//! The app as a guest in somebody else's page: what its host gives it.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

use js_sys::Promise;
use leptos::prelude::Owner;
use palimpsest_browser::settings::Entries;
use palimpsest_browser::{HostStore, HostTransport, StorageHost, Transport, TransportHost};
use palimpsest_engine::event::Event;
use palimpsest_engine::ports::Store;
use serde::Deserialize;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::HtmlElement;

use crate::settings::Theme;

#[wasm_bindgen]
extern "C" {
    /// What the package offers to a mounted app. It is a `StorageHost` and a `TransportHost`, too, if [`Options`] say so.
    /// No function throws, no promise rejects.
    #[derive(Debug, Clone)]
    pub type EmbedHost;

    /// A setting's text.
    #[wasm_bindgen(method)]
    fn get(this: &EmbedHost, name: &str) -> Option<String>;

    /// Keeps a setting's text, or takes it away.
    #[wasm_bindgen(method)]
    fn set(this: &EmbedHost, name: &str, text: Option<&str>);

    /// Hears of an event of the open session, as JSON text.
    #[wasm_bindgen(method)]
    fn emit(this: &EmbedHost, event: &str);

    /// Everything stands.
    #[wasm_bindgen(method)]
    pub(crate) fn ready(this: &EmbedHost);

    /// Saves a file, if the host does that itself.
    #[wasm_bindgen(method)]
    fn save(this: &EmbedHost, name: &str, text: &str) -> bool;

    /// Copies a text; whether it could.
    #[wasm_bindgen(method)]
    fn copy(this: &EmbedHost, text: &str) -> Promise;

    /// The app wants to begin anew.
    #[wasm_bindgen(method)]
    fn again(this: &EmbedHost);

    /// The app cannot go on: a sentence and the details.
    #[wasm_bindgen(method)]
    fn crashed(this: &EmbedHost, text: &str, detail: &str);

    /// A model's vocabulary, read in a worker: a promise of a snapshot's bytes, of the code of the reason why there are none,
    /// or of nothing where no worker is to be had.
    #[wasm_bindgen(method)]
    fn vocabulary(this: &EmbedHost, address: &str, key: &str, model: &str) -> Promise;

    /// The vocabulary that was asked for is not wanted any more.
    #[wasm_bindgen(method)]
    fn forget(this: &EmbedHost);

    /// A promise of the bytes that the host's storage takes; of nothing if it does not say.
    #[wasm_bindgen(method)]
    fn used(this: &EmbedHost) -> Promise;
}

/// What the host brings itself.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Options {
    /// It keeps the sessions.
    pub(crate) storage: bool,
    /// It asks the model server.
    pub(crate) transport: bool,
    /// Where that server is, to be shown.
    pub(crate) address: Option<String>,
    /// The colours, if the person has no choice.
    pub(crate) theme: Option<Theme>,
    /// More contrast, if the person has no choice.
    pub(crate) contrast: bool,
}

/// The mounted app.
pub(crate) struct Mounted {
    pub(crate) root: HtmlElement,
    pub(crate) host: EmbedHost,
    pub(crate) options: Options,
    /// What its state belongs to.
    pub(crate) owner: Owner,
    /// Its view: dropping it takes it away.
    pub(crate) view: Option<Box<dyn Any>>,
}

thread_local! {
    pub(crate) static MOUNTED: RefCell<Option<Mounted>> = const { RefCell::new(None) };
}

pub(crate) fn with<T>(read: impl FnOnce(&Mounted) -> T) -> Option<T> {
    MOUNTED.with(|mounted| mounted.borrow().as_ref().map(read))
}

/// Whether the app is a guest in a page.
pub fn is_guest() -> bool {
    with(|_| ()).is_some()
}

/// The element that is the page.
pub fn root() -> Option<HtmlElement> {
    with(|mounted| mounted.root.clone())
}

/// The storage of the host, if it brings one.
pub fn storage() -> Option<Rc<dyn Store>> {
    with(|mounted| {
        let host: &StorageHost = mounted.host.unchecked_ref();
        let store: Rc<dyn Store> = Rc::new(HostStore::new(host.clone()));
        mounted.options.storage.then_some(store)
    })?
}

/// The host's way to the model server as the page uses it, if it brings one.
pub fn shared_transport() -> Option<Rc<dyn Transport>> {
    Some(Rc::new(transport()?))
}

/// The host's way to the model server, if it brings one.
pub fn transport() -> Option<HostTransport> {
    with(|mounted| {
        let host: &TransportHost = mounted.host.unchecked_ref();
        let given = mounted.options.transport;
        given.then(|| HostTransport::new(host.clone()))
    })?
}

/// Whether the host keeps the sessions.
pub fn keeps() -> bool {
    with(|mounted| mounted.options.storage).unwrap_or_default()
}

/// Whether the host asks the model server.
pub fn asks() -> bool {
    with(|mounted| mounted.options.transport).unwrap_or_default()
}

/// The bytes that the host's storage takes, if it says.
pub async fn used() -> Option<f64> {
    let answer = JsFuture::from(host()?.used()).await;
    answer.ok()?.as_f64()
}

/// A model's vocabulary as `tokenizer` wants it; nothing where no worker is to be had.
pub async fn vocabulary(address: &str, key: &str, model: &str) -> Option<JsValue> {
    let answer = JsFuture::from(host()?.vocabulary(address, key, model)).await;
    answer.ok().filter(|given| !given.is_null())
}

/// That is not wanted any more.
pub fn forget_vocabulary() {
    if let Some(host) = host() {
        host.forget();
    }
}

/// The colours and whether there is more contrast, where the host decides it.
pub fn theme() -> Option<(Theme, bool)> {
    with(|mounted| Some((mounted.options.theme?, mounted.options.contrast)))?
}

/// The host hears of what happens to the open session.
pub fn tell(event: &Event) {
    if let Some(host) = host()
        && let Ok(text) = serde_json::to_string(event)
    {
        host.emit(&text);
    }
}

/// The host saves a file, if it does that itself.
pub fn save(name: &str, text: &str) -> bool {
    host().is_some_and(|host| host.save(name, text))
}

/// Copies a text, as the host does it: a promise of whether it could.
pub fn copy(text: &str) -> Option<Promise> {
    host().map(|host| host.copy(text))
}

/// Begins anew. `false` in a page of our own.
pub fn again() -> bool {
    host().map(|host| host.again()).is_some()
}

/// Says that the app cannot go on. `false` in a page of our own.
pub fn crashed(text: &str, detail: &str) -> bool {
    host().map(|host| host.crashed(text, detail)).is_some()
}

fn host() -> Option<EmbedHost> {
    with(|mounted| mounted.host.clone())
}

impl Entries for EmbedHost {
    fn get(&self, name: &str) -> Option<String> {
        Self::get(self, name)
    }

    fn set(&self, name: &str, text: Option<&str>) {
        Self::set(self, name, text);
    }
}
