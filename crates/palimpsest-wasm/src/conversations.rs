use palimpsest_core::dialect::exports;
use serde::Serialize;
use serde_json::Value;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::boundary;
use crate::error::Failure;

#[derive(Serialize)]
struct Conversation<'v> {
    title: &'v str,
    messages: &'v [Value],
}

/// The conversations of a file, as JSON text: a list of `{ title, messages }`. Text that holds none is `bad_input`.
#[wasm_bindgen(js_name = readConversations)]
pub fn read_conversations(file: &str) -> Result<String, JsValue> {
    Ok(read(file)?)
}

fn read(file: &str) -> Result<String, Failure> {
    if file.trim().is_empty() {
        return Err(Failure::new("bad_input", "The file is empty."));
    }
    let value = exports::parse(file).map_err(|error| {
        Failure::new(
            "bad_input",
            format!("The file is not JSON that can be read: {error}."),
        )
    })?;
    let found = exports::conversations(&value);
    if found.is_empty() {
        return Err(Failure::new(
            "bad_input",
            "The file holds no messages: expected a list of { role, content }, or { \"messages\": [ … ] }.",
        ));
    }
    let found: Vec<_> = found
        .iter()
        .map(|one| Conversation {
            title: one.title().unwrap_or_default(),
            messages: &one.messages,
        })
        .collect();
    boundary::text(&found)
}
