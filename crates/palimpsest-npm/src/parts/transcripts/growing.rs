use std::cell::RefCell;
use std::rc::Rc;

use palimpsest_core::compact::{CompactOptions, CompactReport, Live};
use palimpsest_core::context::Seed;
use palimpsest_core::layer::Layer;
use palimpsest_core::policy::Policy;
use palimpsest_tokens::TokenCounter;
use serde::Serialize;

use crate::border;
use crate::failure::Failure;
use crate::transcripts::{Fitting, Growing};

struct Grown(RefCell<Live>);

#[derive(Serialize)]
struct Written<'a> {
    messages: border::Items<'a>,
    report: &'a CompactReport,
    layers: &'a [Rc<Layer>],
}

/// A list without messages.
pub(super) fn open(
    preset: &str,
    window: u32,
    counter: &Rc<dyn TokenCounter>,
) -> Result<Growing, Failure> {
    let options = CompactOptions {
        policy: Policy::preset(preset)?,
        ..CompactOptions::new(window)
    };
    let live = Live::new(options, counter)?;
    Ok(Growing(Box::new(Grown(RefCell::new(live)))))
}

impl Fitting for Grown {
    fn push(&self, messages: &str) -> Result<(), Failure> {
        let messages = border::messages(messages)?;
        Ok(self.0.borrow_mut().push(messages)?)
    }

    fn fit(&self) -> Result<String, Failure> {
        // no clock: the same messages have the same result
        let seed = Seed {
            now: 0.0,
            secret: [0; 16],
        };
        let done = self.0.borrow_mut().fit(seed)?;
        border::text(&Written {
            messages: border::Items(&done.messages),
            report: &done.report,
            layers: self.0.borrow().layers(),
        })
    }
}
