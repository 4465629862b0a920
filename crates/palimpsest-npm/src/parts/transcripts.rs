//! Transcripts: reading the files of other programs, and measuring windows that were made of them.
//!
//! | file | content |
//! |---|---|
//! | `conversations.rs` | the work of the class `ConversationReader` |
//! | `forgotten.rs` | the content of a history that a window does not hold |
//! | `growing.rs` | the work of the class `Growing` |

mod conversations;
mod forgotten;
mod growing;

use palimpsest_core::series::{self, Series};
use wasm_bindgen::JsValue;

use crate::border;
use crate::failure::Failure;
use crate::lists::count::Counter;
use crate::transcripts::{ConversationReader, Examining, Growing, Transcripts};

struct Examiner;

/// The way to everything that this part does.
pub(super) fn open() -> Transcripts {
    Transcripts(Box::new(Examiner))
}

impl Examining for Examiner {
    fn forgotten(
        &self,
        history: &str,
        window: &str,
        options: &str,
        counter: &Counter,
    ) -> Result<JsValue, Failure> {
        forgotten::forgotten(history, window, options, counter)
    }

    fn series(&self, series: &str, full: u32, counter: &Counter) -> Result<JsValue, Failure> {
        let series: Series = border::read(series)?;
        let figures = series::measure(&series, full, counter.0.as_ref())?;
        border::told(&figures)
    }

    fn growing(&self, preset: &str, window: u32, counter: &Counter) -> Result<Growing, Failure> {
        growing::open(preset, window, &counter.0)
    }

    fn reader(&self) -> ConversationReader {
        ConversationReader(Box::<conversations::Reader>::default())
    }
}
