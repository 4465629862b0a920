//! The classes that read, measure and replay transcripts, as JavaScript sees them. Their code is the parts `transcripts` and
//! `replay`.

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::class::calls;
use crate::failure::Failure;
use crate::lists::count::Counter;

/// What is found in a conversation that is over.
#[wasm_bindgen]
pub struct Transcripts(pub(crate) Box<dyn Examining>);

calls! {
    /// The ways to examine a transcript.
    Transcripts by Examining {
        /// What `window` forgot of `history`: a report.
        #[wasm_bindgen(unchecked_return_type = "Forgotten")]
        fn forgotten(history: &str, window: &str, options: &str, counter: &Counter) -> Result<JsValue, Failure>;
        /// Measures successive requests: `series` is JSON text. Values of calls are looked for once the history is
        /// larger than `full` tokens.
        #[wasm_bindgen(unchecked_return_type = "RequestFigures")]
        fn series(series: &str, full: u32, counter: &Counter) -> Result<JsValue, Failure>;
        /// A reader that has read nothing.
        fn reader() -> ConversationReader;
        /// A list without messages, under a preset.
        fn growing(preset: &str, window: u32, counter: &Counter) -> Result<Growing, Failure>;
    }
}

/// A list that grows and is made to fit under a preset, with defaults for everything else.
#[wasm_bindgen]
pub struct Growing(pub(crate) Box<dyn Fitting>);

calls! {
    /// The steps of a list that grows.
    Growing by Fitting {
        /// Adds messages, a JSON text of a list: all of them, or none.
        fn push(messages: &str) -> Result<(), Failure>;
        /// Makes the list fit: JSON text of `{ messages, report, layers }`.
        fn fit() -> Result<String, Failure>;
    }
}

/// Reads the conversations of a file that another program wrote, while its bytes arrive.
#[wasm_bindgen]
pub struct ConversationReader(pub(crate) Box<dyn Reading>);

calls! {
    /// The steps of reading a file.
    ConversationReader by Reading {
        /// Takes the next bytes of the file. Gives what is complete by now, as JSON text.
        #[wasm_bindgen(unchecked_return_type = "Border.Text<Border.Piece[]>")]
        fn push(bytes: &[u8]) -> Result<String, Failure>;
        /// Ends the file. Gives the rest and the report, as JSON text. Once.
        #[wasm_bindgen(unchecked_return_type = "Border.Text<Border.FileEnd>")]
        fn finish() -> Result<String, Failure>;
    }
}

/// Replays a conversation under several policies.
#[wasm_bindgen]
pub struct Replayer(pub(crate) Box<dyn Replaying>);

calls! {
    /// The way to replay.
    Replayer by Replaying {
        /// Replays a list of messages under several policies with the extractive summariser: a report.
        #[wasm_bindgen(unchecked_return_type = "ReplayReport")]
        fn replay(messages: &str, options: JsValue, tools: Option<String>, counter: &Counter) -> Result<JsValue, Failure>;
    }
}
