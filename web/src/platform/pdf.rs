//! The text of PDF files. The page's script (`public/pages.js`) loads what reads them when the first one comes.

use std::cell::RefCell;

use js_sys::{Function, Promise};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::File;

thread_local! {
    /// The function that reads a file, where the page is our own.
    static READ: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Says what reads files.
pub fn read_by(read: Function) {
    READ.set(Some(read));
}

/// The text of a file, page by page. `None` if it has none, or cannot be read here.
pub async fn text(file: &File) -> Option<String> {
    let read = READ.with_borrow(Clone::clone)?;
    let reading = read.call1(&JsValue::NULL, file).ok()?;
    let text = JsFuture::from(reading.dyn_into::<Promise>().ok()?)
        .await
        .ok()?;
    text.as_string().filter(|text| !text.is_empty())
}
