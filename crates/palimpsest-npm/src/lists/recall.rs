use palimpsest_core::compact::{Unfound, Wanted};
use palimpsest_core::dialect::Dialect;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::border;
use crate::failure::Failure;

/// The whole text of what a window's text names, or of the message at a position.
#[wasm_bindgen]
pub fn recall(
    messages: &str,
    named: Option<String>,
    position: u32,
    dialect: Option<String>,
) -> Result<String, Failure> {
    let wanted = named
        .as_deref()
        .map_or(Wanted::At(position as usize), Wanted::Named);
    find(messages, wanted, dialect.as_deref())
}

fn find(messages: &str, wanted: Wanted<'_>, dialect: Option<&str>) -> Result<String, Failure> {
    let values = border::messages(messages)?;
    let dialect = dialect.map(Dialect::named).transpose()?;
    let found = palimpsest_core::compact::recall(&values, dialect, wanted);
    found.map_err(|why| match why {
        Unfound::List(error) => error.into(),
        Unfound::Unnamed => Failure::new(
            "bad_input",
            "This names no message. Give a reference as the window shows it, \"message 12\", \"messages 3-9\", or a position in the list as a number.",
        ),
        Unfound::Beyond { number, of } => Failure::new(
            "not_found",
            format!("There is no message {number}: the list has {of}. Give the whole list, as it was before anything was compressed."),
        ),
        Unfound::Changed { number } => Failure::new(
            "not_found",
            format!("Message {number} holds another text than this reference stands for. Give the whole list that the window was made from."),
        ),
    })
}
