//! The counters of sessions: the model's own vocabulary if the host has loaded it, otherwise an estimate that learns
//! from every reply (B8).

use palimpsest_text::json::ToJson as _;
use std::cell::RefCell;
use std::rc::Rc;

use palimpsest_core::message::{Part, Role};
use palimpsest_core::sorted::SortedMap;
use palimpsest_core::window::Window;
use palimpsest_tokens::{
    Calibration, Estimator, Family, Reported, Source, TokenCounter, Verdict, Vocabulary, Weigher,
    Weight,
};

use crate::ports::{Op, Query, Store, StoreError, Table};
use crate::rows::{seal, unseal};

/// The counters of all models, and the calibration of each.
pub(crate) struct Counting {
    /// Counts for a model without a name, and for all models if the host provided an exact counter.
    fallback: Rc<dyn TokenCounter>,
    calibrations: SortedMap<String, Calibration>,
    /// The only vocabulary in memory, and its model.
    resident: Option<Resident>,
    /// The session and revision whose prompt was counted last.
    last: (String, u32),
}

struct Resident {
    model: String,
    vocabulary: Rc<Vocabulary>,
    /// The vocabulary once more as a trait object. The linker can then drop the exact tokenizer for hosts that never
    /// load one.
    counter: Rc<dyn TokenCounter>,
}

impl Counting {
    /// Loads the stored calibrations.
    pub(crate) async fn load(
        store: &dyn Store,
        fallback: Rc<dyn TokenCounter>,
    ) -> Result<RefCell<Self>, StoreError> {
        let rows = store
            .read(Query::all(Table::Tokenizers, Vec::new()))
            .await?;
        let calibrations = rows
            .iter()
            .filter_map(|row| {
                let crate::ports::KeyPart::Text(model) = row.key.first()? else {
                    return None;
                };
                // A calibration that is not readable starts over.
                let calibration = unseal("a calibration", &row.value).ok()?;
                Some((model.clone(), calibration))
            })
            .collect();
        Ok(RefCell::new(Self {
            fallback,
            calibrations,
            resident: None,
            last: (String::new(), 0),
        }))
    }

    /// Replaces the vocabulary in memory, or drops it for `None`.
    pub(crate) fn hold(&mut self, vocabulary: Option<(&str, Vocabulary)>) {
        self.resident = None;
        if let Some((model, vocabulary)) = vocabulary {
            let vocabulary = Rc::new(vocabulary);
            self.resident = Some(Resident {
                model: model.to_owned(),
                counter: Rc::clone(&vocabulary) as Rc<dyn TokenCounter>,
                vocabulary: Rc::clone(&vocabulary),
            });
            self.calibration(model).apply(&vocabulary);
        }
    }

    /// The model whose vocabulary is in memory.
    pub(crate) fn held(&self) -> Option<&str> {
        self.resident.as_ref().map(|r| r.model.as_str())
    }

    /// Starts to weigh a prompt for a model.
    pub(crate) fn weigher(&mut self, model: &str) -> Weigher {
        let vocabulary = self.vocabulary(model);
        self.calibration(model)
            .weigher(vocabulary.map(|vocabulary| vocabulary as _))
    }

    /// Learns from the server's count. The caller stores the returned operation.
    pub(crate) fn learn(
        &mut self,
        model: &str,
        session: &str,
        sent: &Sent,
        weight: &Weight,
        reported: Reported,
    ) -> (Verdict, Option<Op>) {
        let here = (session.to_owned(), sent.revision);
        let elsewhere = std::mem::replace(&mut self.last, here.clone()) != here;
        let vocabulary = self.vocabulary(model);
        let calibration = self.calibration(model);
        if elsewhere {
            calibration.lift_anchor();
        }
        let verdict = calibration.observe(weight, reported);
        if let Some(vocabulary) = vocabulary {
            calibration.apply(&vocabulary);
        }
        let op = seal(calibration).ok().map(|value| Op::Put {
            table: Table::Tokenizers,
            key: vec![model.into()],
            value,
        });
        (verdict, op)
    }

    fn calibration(&mut self, model: &str) -> &mut Calibration {
        let family = self.vocabulary(model).map(|v| v.family());
        let known = self
            .calibrations
            .entry(model.to_owned())
            .or_insert_with(|| Calibration::new(Family::of_model(model)));
        // The vocabulary determines the family before the name does.
        if let Some(family) = family
            && known.learned() == 0
            && known.family() != family
        {
            *known = Calibration::new(family);
        }
        known
    }

    fn vocabulary(&self, model: &str) -> Option<Rc<Vocabulary>> {
        self.resident(model)
            .map(|resident| Rc::clone(&resident.vocabulary))
    }

    fn resident(&self, model: &str) -> Option<&Resident> {
        self.resident
            .as_ref()
            .filter(|resident| resident.model == model)
    }

    /// Returns the counter of a model: its vocabulary if that is in memory and live counts do not contradict it,
    /// otherwise an estimate with the model's calibration.
    pub(crate) fn counter(&self, model: &str) -> Rc<dyn TokenCounter> {
        let calibration = self.calibrations.get(model);
        let refuted = calibration.is_some_and(Calibration::is_refuted);
        if let Some(resident) = self.resident(model).filter(|_| !refuted) {
            return Rc::clone(&resident.counter);
        }
        if model.is_empty() || self.fallback.source() == Source::Exact {
            return Rc::clone(&self.fallback);
        }
        Rc::new(calibration.map_or_else(|| Estimator::for_model(model), Calibration::estimator))
    }
}

/// The position of a window when it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sent {
    /// The number of messages on the path.
    pub(crate) entries: usize,
    /// The revision of the view.
    pub(crate) revision: u32,
    /// The revision of the records.
    pub(crate) records: u32,
}

/// The template may explain a smaller difference than this, in tokens.
const LEAST_DIFFERENCE: u32 = 64;

/// Returns `true` if a server that counted `read` tokens must have cut a prompt of at least `least` (B9): it read less
/// than three quarters. A server that cuts leaves half a window; templates leave out less than a quarter.
pub(crate) fn was_cut(least: u32, read: u32) -> bool {
    u64::from(read) * 4 < u64::from(least) * 3 && least - read >= LEAST_DIFFERENCE
}

/// Passes a window's messages and the tools to a weigher in slices.
pub(crate) struct Weighing<'a> {
    window: &'a Window,
    tools: &'a [serde_json::Value],
    next: usize,
    tool: usize,
}

impl<'a> Weighing<'a> {
    pub(crate) const fn new(window: &'a Window, tools: &'a [serde_json::Value]) -> Self {
        Self {
            window,
            tools,
            next: 0,
            tool: 0,
        }
    }

    /// Weighs about `bytes` bytes of text. Returns `true` when everything was weighed.
    pub(crate) fn step(&mut self, weigher: &mut Weigher, bytes: usize) -> bool {
        let mut done = 0;
        while let Some(tool) = self.tools.get(self.tool) {
            self.tool += 1;
            let text = tool.to_json();
            weigher.loose(&text);
            done += text.len();
        }
        while let Some(message) = self.window.messages().get(self.next) {
            if done >= bytes {
                return false;
            }
            self.next += 1;
            done += 64;
            let mut said = String::new();
            let mut speaks = false;
            for part in message.parts() {
                done += part.words().len();
                match part {
                    Part::Thinking { .. } => {}
                    Part::Text { text } => say(&mut said, text),
                    Part::File { name, text } => say(&mut said, &format!("File {name}:\n{text}")),
                    Part::ToolResult { text, .. } => {
                        weigher.message(Role::Tool.into(), text);
                        continue;
                    }
                    Part::ToolCall {
                        name, arguments, ..
                    } => weigher.loose(&format!("{name} {arguments}")),
                    Part::Image { .. } => weigher.loose(""),
                }
                speaks = true;
            }
            if speaks {
                weigher.message(message.role().into(), &said);
            }
        }
        true
    }
}

/// Joins the parts of one message by line breaks, as the codecs do.
fn say(said: &mut String, text: &str) {
    if !said.is_empty() && !text.is_empty() {
        said.push('\n');
    }
    said.push_str(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B9: a cut to half is detected, and text that a template leaves out is not.
    #[test]
    fn cuts() {
        let check = |least, read, cut| assert_eq!(was_cut(least, read), cut, "{least} {read}");
        check(512, 258, true);
        check(2048, 1536, false);
        check(2048, 1535, true);
        check(1048, 1026, false);
        check(100, 40, false);
        check(0, 0, false);
        check(u32::MAX, 1 << 30, true);
    }
}
