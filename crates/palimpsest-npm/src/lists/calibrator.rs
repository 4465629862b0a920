//! Learning from what a provider counted.

use std::cell::RefCell;
use std::rc::Rc;

use palimpsest_core::dialect::{self, Dialect};
use palimpsest_tokens::{
    Calibration, CountRole, Family, Overhead, Reported, Source, TokenCounter, Verdict, Weigher,
};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::border;
use crate::failure::Failure;
use crate::lists::count::Counter;

/// What was learned about one model's counts.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Calibrator(RefCell<Calibration>);

/// Weighs what a count of a list looks at, so that nothing is weighed that is not counted.
#[derive(Debug)]
struct Scale(RefCell<Weigher>);

impl TokenCounter for Scale {
    fn count(&self, text: &str) -> u32 {
        self.0.borrow_mut().loose(text);
        0
    }

    fn count_message(&self, role: CountRole, text: &str) -> u32 {
        self.0.borrow_mut().message(role, text);
        0
    }

    fn source(&self) -> Source {
        Source::Estimated
    }

    fn bound(&self, _: u32) -> u32 {
        0
    }

    fn overhead(&self) -> Overhead {
        Overhead::default()
    }

    fn epoch(&self) -> u64 {
        0
    }
}

#[wasm_bindgen]
impl Calibrator {
    /// Begins with the family of a model's name.
    #[wasm_bindgen(constructor)]
    pub fn new(model: Option<String>) -> Self {
        let family = model.map_or_else(Family::default, |name| Family::of_model(&name));
        Self(RefCell::new(Calibration::new(family)))
    }

    /// Goes on from what [`Self::save`] gave.
    pub fn load(saved: &str) -> Result<Self, Failure> {
        let calibration = palimpsest_text::json::read(saved).map_err(|error| {
            Failure::new(
                "invalid_options",
                format!("This is no calibration that save() gave: {error}."),
            )
        })?;
        Ok(Self(RefCell::new(calibration)))
    }

    /// What was learned, as JSON text.
    pub fn save(&self) -> Result<String, Failure> {
        border::text(&*self.0.borrow())
    }

    /// Learns from the tokens that a provider counted for a list of messages with its tools, in a window of so many tokens (0 if
    /// that is not known). `learned`, `ignored` or `truncated`.
    pub fn observe(
        &self,
        messages: &str,
        tools: Option<String>,
        dialect: Option<String>,
        tokens: u32,
        window: u32,
    ) -> Result<String, Failure> {
        let verdict = self.learn(
            messages,
            tools.as_deref(),
            dialect.as_deref(),
            tokens,
            window,
        )?;
        let name = match verdict {
            Verdict::Learned { .. } => "learned",
            Verdict::Ignored(_) => "ignored",
            Verdict::Truncated { .. } => "truncated",
        };
        Ok(name.to_owned())
    }

    /// An estimator with what was learned so far.
    pub fn counter(&self) -> Counter {
        Counter(Rc::new(self.0.borrow().estimator()), None)
    }
}

impl Calibrator {
    fn learn(
        &self,
        messages: &str,
        tools: Option<&str>,
        dialect: Option<&str>,
        tokens: u32,
        window: u32,
    ) -> Result<Verdict, Failure> {
        let values = border::messages(messages)?;
        let tools = tools.map_or_else(|| Ok(Vec::new()), border::messages)?;
        let dialect = dialect.map(Dialect::named).transpose()?;
        let mut calibration = self.0.borrow_mut();
        let mut weigher = calibration.weigher(None);
        for tool in &tools {
            weigher.loose(&tool.to_string());
        }
        let scale = Scale(RefCell::new(weigher));
        dialect::count(&values, dialect, &scale)?;
        let weight = scale.0.into_inner().finish();
        // every list stands for itself: it need not go on from the one before
        calibration.lift_anchor();
        Ok(calibration.observe(
            &weight,
            Reported {
                prompt_tokens: Some(tokens),
                window,
            },
        ))
    }
}
