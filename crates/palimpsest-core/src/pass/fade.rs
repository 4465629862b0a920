//! Shortens layers in their place (C3). It is deterministic, and discards a form that did not become shorter.

use std::rc::Rc;

use crate::context::Context;
use crate::context::shrink::{fit, of_notes};
use crate::data::layer::{Layer, LayerId, Level};

/// Makes every layer but `newest` one step shorter: at most half of its size, by its level (snippets → references →
/// essentials).
pub fn step(context: &mut Context, newest: Option<LayerId>, now: f64) {
    let halves: Vec<(u32, Level)> = context
        .view
        .layers
        .iter()
        .map(|l| {
            let level = match l.level {
                Level::Detailed => Level::Moderate,
                Level::Moderate | Level::Compact => Level::Compact,
            };
            let room = if Some(l.id) == newest {
                l.tokens
            } else {
                l.tokens / 2
            };
            (room, level)
        })
        .collect();
    shorten(context, now, |i| halves[i]);
}

/// Cuts every layer to essentials within `room` tokens.
pub fn to_essentials(context: &mut Context, room: u32, now: f64) {
    shorten(context, now, |_| (room, Level::Compact));
}

fn shorten(context: &mut Context, now: f64, to: impl Fn(usize) -> (u32, Level)) {
    let mut view = context.view.clone();
    for (i, layer) in view.layers.iter_mut().enumerate() {
        let (room, level) = to(i);
        if layer.tokens <= room || room < SMALLEST {
            continue;
        }
        let counter = context.counter.as_ref();
        let mut faded = Layer {
            level,
            compressed_at: now,
            ..(**layer).clone()
        };
        faded.summary = of_notes(&context.view, &layer.notes, room, counter)
            .filter(|text| counter.count(text) <= counter.count(&layer.summary))
            .unwrap_or_else(|| fit(&layer.summary, room, level, counter));
        let mut left = room.saturating_sub(counter.count(&faded.summary));
        faded.ledger.retain(|line| {
            let cost = counter.count(line) + 2;
            let keep = cost <= left;
            left -= if keep { cost } else { 0 };
            keep
        });
        faded.recount(counter);
        if faded.tokens < layer.tokens {
            *layer = Rc::new(faded);
        }
    }
    context.set_view(view);
}

/// A smaller layer says nothing any more, so layers are not cut below this.
const SMALLEST: u32 = 12;
