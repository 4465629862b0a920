use std::cell::RefCell;
use std::rc::Rc;

use palimpsest_core::compact::{self, CompactReport, Saved};
use palimpsest_core::context::Seed;
use palimpsest_tokens::TokenCounter;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::border;
use crate::failure::Failure;
use crate::lists::compact::Options;
use crate::lists::count::Counter;

/// What a saved conversation holds of its options: those of `compact` as the caller wrote them, and the tool definitions.
#[derive(Debug, Serialize, Deserialize)]
struct Wish {
    options: Value,
    #[serde(default)]
    tools: Vec<Value>,
}

#[derive(Debug, Serialize)]
struct Written<'a> {
    messages: border::Items<'a>,
    report: &'a CompactReport,
}

/// A conversation that grows, made to fit again and again.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Live {
    live: RefCell<compact::Live>,
    wish: Value,
}

#[wasm_bindgen]
impl Live {
    /// A conversation without messages.
    #[wasm_bindgen(constructor)]
    pub fn new(
        #[wasm_bindgen(unchecked_param_type = "Border.Compacting")] options: JsValue,
        tools: Option<String>,
        counter: &Counter,
    ) -> Result<Self, Failure> {
        let wish = Wish {
            options: border::options(options)?,
            tools: tools.map_or_else(|| Ok(Vec::new()), |tools| border::messages(&tools))?,
        };
        open(wish, None, &counter.0)
    }

    /// One that was saved, with the options it had.
    pub fn load(saved: &str, counter: &Counter) -> Result<Self, Failure> {
        load(saved, &counter.0)
    }

    /// Adds messages, a JSON text of a list: all of them, or none.
    pub fn push(&self, messages: &str) -> Result<(), Failure> {
        let messages = border::messages(messages)?;
        Ok(self.live.borrow_mut().push(messages)?)
    }

    /// Makes the list fit: JSON text of `{ messages, report }`.
    #[wasm_bindgen(unchecked_return_type = "Border.Text<Border.Fitting>")]
    pub fn fit(&self) -> Result<String, Failure> {
        // no clock: the same messages have the same result
        let seed = Seed {
            now: 0.0,
            secret: [0; 16],
        };
        let done = self.live.borrow_mut().fit(seed)?;
        border::text(&Written {
            messages: border::Items(&done.messages),
            report: &done.report,
        })
    }

    /// All of it as JSON text.
    pub fn save(&self) -> String {
        self.live.borrow().save(&self.wish)
    }
}

fn load(saved: &str, counter: &Rc<dyn TokenCounter>) -> Result<Live, Failure> {
    let saved = Saved::read(saved)?;
    // a text that was written by somebody else with a sum of its own is refused like other options
    let wish: Wish = border::taken(saved.options.clone())?;
    open(wish, Some(saved), counter)
}

fn open(wish: Wish, saved: Option<Saved>, counter: &Rc<dyn TokenCounter>) -> Result<Live, Failure> {
    let options: Options = border::taken(wish.options.clone())?;
    let options = options.core(wish.tools.clone())?;
    let live = match saved {
        Some(saved) => compact::Live::resume(saved, options, counter)?,
        None => compact::Live::new(options, counter)?,
    };
    Ok(Live {
        live: RefCell::new(live),
        wish: serde_json::json!({ "options": wish.options, "tools": wish.tools }),
    })
}
