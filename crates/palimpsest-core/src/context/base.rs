//! A context that grows without a view, and is looked at through one view after the other.
//!
//! A list that grows has one such context. Each request looks at it through the view of the last one: that costs what the
//! view shows, and never a copy of the conversation.

use std::rc::Rc;

use super::{Context, Recalled, Setup, Sums, Unpaired, View};
use crate::data::record::Records;

impl Context {
    /// The same messages through another view, with other records and another division of the window. The reasoning of
    /// entries before `reasoning_from` is left out.
    ///
    /// While the result lives, [`Context::push`] into this context copies the list of entries: drop it first.
    pub(crate) fn through(
        &self,
        setup: Setup,
        records: Records,
        view: View,
        reasoning_from: usize,
    ) -> Self {
        let counter = Rc::clone(&self.counter);
        let rendered = records.render(setup.shares.window, setup.policy.demands, counter.as_ref());
        let mut seen = Self {
            entries: Rc::clone(&self.entries),
            view: View::default(),
            records,
            rendered,
            setup,
            counter,
            shown: Vec::new(),
            sums: Sums::default(),
            slot: None,
            last_slot: self.last_slot.clone(),
            unpaired: Unpaired::default(),
            last_user: self.last_user,
            reasoning: Rc::clone(&self.reasoning),
            reasoning_from: 0,
            in_loop: self.in_loop,
            has_called: self.has_called,
            said_by_user: self.said_by_user,
            epoch: self.epoch,
            stale: 0,
            anchor: None,
        };
        seen.reasoning_from = reasoning_from.min(seen.loop_start());
        seen.set_view(view);
        seen
    }

    /// Other quotes for the last user message. Nothing else of the view changes, so that nothing is counted again.
    pub(crate) fn set_recalled(&mut self, quotes: Option<Recalled>) {
        self.view.recalled = quotes;
        self.anchor = None;
    }

    /// The provider drops the reasoning of entries before `end` by itself from now on. Only for a context without a view.
    pub(crate) fn drop_reasoning(&mut self, end: usize) {
        if self
            .reasoning
            .keys()
            .next()
            .is_none_or(|first| *first >= end)
        {
            return;
        }
        let (entries, sums) = (&self.entries, &mut self.sums);
        Rc::make_mut(&mut self.reasoning).retain(|at, tokens| {
            if *at < end {
                let sum = sums.of(entries[*at].message.role);
                *sum = sum.saturating_sub(*tokens);
            }
            *at >= end
        });
    }

    /// Removes the newest entries, so that `count` are left. Costs what is left: for what was only looked at.
    pub(crate) fn truncate(&mut self, count: usize) {
        if count >= self.entries.len() {
            return;
        }
        let rest: Vec<_> = self.entries[..count].to_vec();
        let mut reasoning = std::mem::take(&mut self.reasoning);
        let left = reasoning.iter().filter(|(at, _)| **at < count);
        reasoning = Rc::new(left.map(|(at, tokens)| (*at, *tokens)).collect());
        let mut fresh = Self::new(
            self.setup.clone(),
            self.records.clone(),
            Rc::clone(&self.counter),
        );
        fresh.reasoning = reasoning;
        for entry in rest {
            fresh.push_counted(entry);
        }
        *self = fresh;
    }
}
