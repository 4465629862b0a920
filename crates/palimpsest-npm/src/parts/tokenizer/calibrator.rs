//! Learning from what a provider counted.

use palimpsest_text::json::ToJson as _;
use std::cell::RefCell;
use std::rc::Rc;

use palimpsest_core::dialect::{self, Dialect};
use palimpsest_tokens::{
    Calibration, CountRole, Family, Overhead, Reported, Source, TokenCounter, Verdict, Weigher,
};

use crate::border;
use crate::failure::Failure;
use crate::lists::count::Counter;
use crate::tokenizer::{Calibrator, Learning};

/// What was learned about one model's counts.
struct Learned(RefCell<Calibration>);

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

/// Begins with the family of a model's name, or goes on from what [`Learning::save`] gave.
pub(in crate::parts) fn open(
    model: Option<String>,
    saved: Option<String>,
) -> Result<Calibrator, Failure> {
    let calibration = match saved {
        Some(saved) => palimpsest_text::json::read(&saved).map_err(|error| {
            Failure::new(
                "invalid_options",
                format!("This is no calibration that save() gave: {error}."),
            )
        })?,
        None => {
            Calibration::new(model.map_or_else(Family::default, |name| Family::of_model(&name)))
        }
    };
    Ok(Calibrator(Box::new(Learned(RefCell::new(calibration)))))
}

impl Learning for Learned {
    fn save(&self) -> Result<String, Failure> {
        border::text(&*self.0.borrow())
    }

    fn observe(
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

    fn counter(&self) -> Counter {
        Counter(Rc::new(self.0.borrow().estimator()), None)
    }
}

impl Learned {
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
            weigher.loose(&tool.to_json());
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
