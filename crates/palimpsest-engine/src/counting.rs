//! What sessions count with: the model's own vocabulary where the host has brought it, else an estimate that learns from
//! every reply (B8).

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

/// The counters of all models, and what was learned about each.
pub(crate) struct Counting {
    /// Counts for a model without a name, and for all if the host brought an exact one.
    fallback: Rc<dyn TokenCounter>,
    calibrations: SortedMap<String, Calibration>,
    /// The one vocabulary that is held, and its model.
    resident: Option<Resident>,
    /// Whose prompt was counted last: session and revision.
    last: (String, u32),
}

struct Resident {
    model: String,
    vocabulary: Rc<Vocabulary>,
    /// The same as what counts: who never brings a vocabulary does without the code for it.
    counter: Rc<dyn TokenCounter>,
}

impl Counting {
    /// With what was learned before.
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
                // What cannot be read is learned again.
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

    /// Holds a model's vocabulary instead of the one before, or none.
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

    /// The model whose vocabulary is held.
    pub(crate) fn held(&self) -> Option<&str> {
        self.resident.as_ref().map(|r| r.model.as_str())
    }

    /// Begins to weigh a prompt for a model.
    pub(crate) fn weigher(&mut self, model: &str) -> Weigher {
        let vocabulary = self.vocabulary(model);
        self.calibration(model).weigher(vocabulary)
    }

    /// Learns from what the server counted. The operation stores it.
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
        // What the vocabulary says decides before the name does.
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

    /// What counts for a model: its vocabulary if it is the one that is held and live counts do not contradict it, else an
    /// estimate with what was learned about the model.
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

/// Where a window stood when it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Messages on the path.
    pub(crate) entries: usize,
    /// The view.
    pub(crate) revision: u32,
    /// The records.
    pub(crate) records: u32,
}

/// A smaller difference than this is the template's business.
const LEAST_DIFFERENCE: u32 = 64;

/// Whether a server that counted `read` tokens cut a prompt of at least `least` (B9): it read less than three quarters. A server
/// that cuts leaves half a window; what templates leave out is less.
pub(crate) fn was_cut(least: u32, read: u32) -> bool {
    u64::from(read) * 4 < u64::from(least) * 3 && least - read >= LEAST_DIFFERENCE
}

/// Gives a window's messages and the tools to `weigh`, some at a time. `true` when all were given.
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

    /// About `bytes` bytes of text.
    pub(crate) fn step(&mut self, weigher: &mut Weigher, bytes: usize) -> bool {
        let mut done = 0;
        while let Some(tool) = self.tools.get(self.tool) {
            self.tool += 1;
            let text = tool.to_string();
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

/// Parts of one message are lines of it, as the codecs write them.
fn say(said: &mut String, text: &str) {
    if !said.is_empty() && !text.is_empty() {
        said.push('\n');
    }
    said.push_str(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B9: halves are noticed, what a template leaves out is not.
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
