//! Determines the kind of a sentence from all of its features.

use super::{Hit, Reader};
use crate::standing::features::{Flag, Seen, Shape};
use crate::standing::table::{Set, set, wide};
use crate::words::Language;

impl Reader {
    pub(super) fn shapes(&self, size: usize, language: Language, seen: &mut Seen) {
        use Shape as H;
        if seen.is(Flag::Fragment)
            && seen.any(set!(Auxiliary | ThingMust))
            && !seen.any(set!(Limit))
        {
            seen.flags &= !(1 << Flag::Fragment as u32);
        }
        seen.on_if(Flag::Tiny, size <= 2);
        seen.on_if(Flag::Long, size > 22);
        let order = [Flag::Manner, Flag::Task, Flag::Action, Flag::Denied];
        let order = order.iter().any(|f| seen.is(*f));
        if !wide(language) {
            const MEANT: Set = set!(
                Manner
                    | Task
                    | Action
                    | No
                    | Always
                    | Never
                    | Only
                    | If
                    | Habit
                    | Output
                    | Style
                    | All
                    | Every
                    | Preference
                    | Polite
                    | WeRule
                    | Project
                    | YouMust
                    | Avoid
                    | Dont
                    | Any
                    | Limit
                    | Budget
                    | Deadline
                    | Tongue
                    | Withdraw
                    | Permit
                    | Duration
                    | Scope
                    | Frame
                    | Diet
                    | Everything
                    | YourOutput
                    | RuleWord
                    | Idle
                    | Indefinite
                    | SubjectI
                    | SubjectWe
                    | SubjectOther
            );
            let known = self.hits.iter().filter(|h| h.opens && h.set & MEANT != 0);
            match known.map(|h| h.from).min() {
                None => {
                    seen.on(Flag::Unknown);
                    seen.on_if(Flag::UnknownVerb, seen.any(set!(Auxiliary)));
                }
                Some(first) => seen.on_if(Flag::LateKnown, first > 3),
            }
            let object = [Flag::Indefinite, Flag::Definite, Flag::DefinitePlural];
            let makes = seen.is(Flag::Makes) && object.iter().any(|f| seen.is(*f));
            seen.on_if(Flag::Create, makes);
            seen.on_if(Flag::CreateOne, makes && seen.is(Flag::Indefinite));
        }
        let idle = seen.opening(set!(Idle)) || seen.first(set!(Idle));
        seen.on_if(Flag::Idle, idle);
        let lasting = seen.any(set!(Duration | NotBefore | Private | YourOutput));
        seen.on_if(Flag::Veto, idle && !lasting);
        let mut shape = |shape: Shape, is: bool| seen.shapes |= u16::from(is) << shape as u32;
        shape(H::Order, order);
        let s = *seen;
        let mut shape = |shape: Shape, is: bool| seen.shapes |= u16::from(is) << shape as u32;
        shape(H::Polite, s.any(set!(Polite)) && !order);
        shape(
            H::Wish,
            s.any(set!(Preference))
                || s.any(set!(Diet)) && s.any(set!(SubjectI | SubjectWe))
                || s.opening(set!(Like))
                    && s.any(set!(Output | Style | YourOutput | Only))
                    && !s.any(set!(Polite)),
        );
        let project = set!(WeRule | Project);
        let scope = |h: &Hit| h.set & set!(Scope) != 0 && h.to - h.from > 1;
        let past = s.any(set!(Past));
        shape(
            H::Rule,
            s.opening(project)
                || s.first(project)
                || s.is(Flag::WeDo) && !past
                || !order && !past && !s.any(set!(SubjectI)) && self.hits.iter().any(scope),
        );
        shape(
            H::Thing,
            (s.any(set!(ThingMust)) || s.opening(set!(Every)) && s.any(set!(Auxiliary)))
                && (s.opening(set!(
                    Output | Everything | YourOutput | All | No | Every | Private
                )) || s.first(set!(Project))),
        );
        shape(H::You, s.opening(set!(YouMust)));
        shape(
            H::Lift,
            s.any(set!(Withdraw)) || s.any(set!(Permit)) && s.any(set!(Change)),
        );
        shape(H::Fragment, s.is(Flag::Fragment) && size <= 12);
        shape(
            H::Limit,
            (s.opening(set!(Budget | Deadline))
                || s.any(set!(Budget | Deadline)) && s.any(set!(ThingMust)))
                && (s.is(Flag::Number) || s.any(set!(Deadline))),
        );
        shape(H::Everything, s.opening(set!(Everything)) && !order);
        let is_time = seen.shapes == 0 && !order && s.any(set!(Duration));
        seen.shapes |= u16::from(is_time) << H::Time as u32;
        if seen.shapes == 0 {
            seen.shapes = 1 << H::Other as u32;
        }
        seen.on_if(Flag::PoliteOrder, order && s.any(set!(Polite)));
    }
}
