//! What the TypeScript of the package offers. None of these functions throws, and none of their promises rejects: what
//! went wrong is part of the answer's text.

use js_sys::Promise;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    /// The host of one session. It is a `StorageHost` of `palimpsest-browser`, too.
    #[derive(Debug)]
    pub type Host;

    /// Hears of an event.
    #[wasm_bindgen(method)]
    pub fn emit(this: &Host, event: &JsValue);

    /// Asks the host's client: JSON text of a request.
    #[wasm_bindgen(method)]
    pub fn chat(this: &Host, request: &str) -> Reader;

    /// Runs a tool: JSON text of `{ "Ok": text }` or `{ "Err": text }`.
    #[wasm_bindgen(method)]
    pub fn tool(this: &Host, name: &str, arguments: &str) -> Promise;

    /// An answer of the host's client as it comes in.
    #[derive(Debug)]
    pub type Reader;

    /// The next piece, as JSON text of `{ "Ok": delta }` or `{ "Err": error }`; nothing at the end.
    #[wasm_bindgen(method)]
    pub fn next(this: &Reader) -> Promise;

    /// No more is wanted.
    #[wasm_bindgen(method)]
    pub fn stop(this: &Reader);
}
