//! A layer that was cut without a model, written again by one while nothing else is to do (C4). Made from the notes,
//! like every form of a layer, so that no fact is summarised more than twice.

use std::rc::Rc;

use crate::context::{Cause, Context, Seed};
use crate::data::layer::{Author, Layer, Level};
use crate::data::mode::Mode;
use crate::data::policy::Fading;
use crate::data::record::Found;
use crate::loss;
use crate::pass::{Adjustment, PassKind, Shed};
use palimpsest_text::retention::Known;

use super::aging::{carried, keep_within};
use super::prepare::{LayerForm, language};
use super::summarize::accepted;
use super::{Proposal, Refusal, RunReport, SummaryJob};

/// Below this a layer has no room for sentences of a model's own.
const SMALLEST: u32 = 48;
/// The number of its job: those of runs are counted from 1.
const JOB: u32 = u32::MAX;

/// One layer's text, to be asked for again.
#[derive(Debug, Clone)]
pub struct Rewrite {
    job: SummaryJob,
    layer: Rc<Layer>,
    now: f64,
}

impl Rewrite {
    /// The newest layer that was cut and is large enough to be worth it; `None` if there is none, or the policy makes
    /// no layers from notes.
    pub fn of(context: &Context, mode: Mode, seed: Seed) -> Option<Self> {
        let setup = context.setup();
        if setup.policy.fading != Fading::Notes || !setup.shares.fits_model() {
            return None;
        }
        let view = context.view();
        let layer = view
            .layers
            .iter()
            .rfind(|l| l.is_cut && l.tokens >= SMALLEST && !l.notes.is_empty())?;
        let form = LayerForm {
            target_tokens: layer.tokens * 3 / 4,
            level: layer.level.min(Level::Moderate),
            mode,
            language: language(context),
        };
        let job = form.job(context, layer, JOB, &seed.secret);
        Some(Self {
            job,
            layer: Rc::clone(layer),
            now: seed.now,
        })
    }

    /// The job for the model.
    pub const fn job(&self) -> &SummaryJob {
        &self.job
    }

    /// The view with the new text. Refused, and nothing changes, if the text is none, or the layer would not be
    /// strictly smaller (I5).
    pub fn finish(&self, context: &Context, text: &str, model: &str) -> Result<Proposal, Refusal> {
        let counter = context.counter().as_ref();
        let before = context.tokens();
        let text = accepted(text, &self.job, counter).ok_or(Refusal::ModelFailed)?;
        let old = &self.layer;
        let mut view = context.view().clone();
        let place = view.layers.iter().position(|l| l.id == old.id);
        let place = place.ok_or(Refusal::Cancelled)?;
        let most = old.tokens - 1;
        let mut layer = Layer {
            id: view.next_layer,
            level: old.level.min(Level::Moderate),
            summary: text,
            ledger: Vec::new(),
            is_cut: false,
            compressed_at: self.now,
            replaces: vec![old.id],
            compressions: old.compressions + 1,
            author: Author::Model {
                name: model.to_owned(),
            },
            ..(**old).clone()
        };
        layer.ledger = carried(context, &layer, most, self.job.mode);
        keep_within(&mut layer, most, counter);
        view.next_layer += 1;
        view.cause = Cause::Rewritten { layer: old.id };
        view.revision += 1;
        let mut after_context = context.clone();
        // Lines of the old form that the user's own words repeat cost nothing, so the shown form must become smaller.
        let after = loop {
            view.layers[place] = Rc::new(layer.clone());
            after_context.set_view(view.clone());
            let after = after_context.tokens();
            if after < before {
                break after;
            }
            if layer.ledger.pop().is_none() {
                return Err(Refusal::NotWorth { before, after });
            }
            layer.recount(counter);
        };
        let mut passes = [Shed::new(PassKind::Fade, 1, before - after)];
        let loss = loss::settle(
            context,
            &mut after_context,
            None,
            &mut passes,
            &Known::default(),
        );
        view.layers.clone_from(&after_context.view.layers);
        let done = format!("layer {} was written again by {model}", old.id);
        let limit = context.setup().shares.limit;
        let report = RunReport::between(context, &after_context, loss, passes.to_vec())
            .adjusted(vec![Adjustment::new("layer_rewritten", done)])
            .verified(after_context.check_limit().valid, limit);
        Ok(Proposal {
            base: context.view().revision,
            tip: context.entries().last().map(|e| e.message.seq),
            edits: context.view().edits_to(&view),
            view,
            records: None,
            records_base: context.records().revision,
            found: Found::default(),
            report,
        })
    }
}
