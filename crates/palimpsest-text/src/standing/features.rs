//! The features of a sentence for the judgement. They are numbered, and each is present or absent.

use super::table::{Class, Set, set};

macro_rules! numbered {
    ($type:ident $($name:ident)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum $type { $($name,)* }
    };
}

// The features of the sentence as a whole. Objects are the words after the first order's verb.
numbered! { Flag
    Question Exclaimed Quoted AllQuoted Number Code Money File Item Fragment Tiny Long
    Unknown LateKnown UnknownVerb Create CreateOne PoliteOrder Idle Veto
    Manner Task Action TaskOnly MannerOnly Denied DeniedVerb DeniedLater Avoids Never Always Only
    Leads Speaks Makes ToMe
    NoObject Quantified Your Definite DefinitePlural Indefinite Preposition Bare DefiniteStyle StyleObject
    Pronoun DefinitePhrase
    If Habit IfIndefinite IfDefinite IfI IfYou IfDone InnerVerb WeDo Nothing
}

const FLAGS: usize = Flag::Nothing as usize + 1;

// The kind of the sentence.
numbered! { Shape Order Wish Rule Thing You Lift Fragment Limit Everything Polite Time Other }

const SHAPES: usize = Shape::Other as usize + 1;

/// The classes that count together with a shape.
const WITH_SHAPE: Set = set!(
    Every
        | Any
        | All
        | No
        | Always
        | Never
        | Only
        | Avoid
        | Duration
        | Scope
        | Output
        | YourOutput
        | Style
        | Tongue
        | Limit
        | Budget
        | Deadline
        | AskMe
        | Private
        | Diet
        | Permit
        | Change
        | RuleWord
        | SubjectI
        | SubjectOther
        | SubjectWe
        | Past
        | Report
        | Story
        | Deictic
        | Once
        | Habit
        | PerReply
        | NotBefore
        | Auxiliary
        | ThingMust
        | YouMust
        | Withdraw
        | Preference
        | WeRule
        | Contrast
        | Like
);

/// The flags that count together with a shape.
const FLAGS_WITH_SHAPE: [Flag; 19] = [
    Flag::Question,
    Flag::Number,
    Flag::Code,
    Flag::Money,
    Flag::File,
    Flag::DefinitePhrase,
    Flag::Exclaimed,
    Flag::Quoted,
    Flag::Indefinite,
    Flag::Definite,
    Flag::IfIndefinite,
    Flag::IfDefinite,
    Flag::IfI,
    Flag::IfYou,
    Flag::Habit,
    Flag::IfDone,
    Flag::Pronoun,
    Flag::InnerVerb,
    Flag::WeDo,
];

/// The classes that count at any place.
const ANYWHERE: Set =
    set!(Report | Story | Past | Once | Duration | Scope | Frame | SubjectOther | SubjectI);

/// The classes that count at the beginning of a clause.
const AT_CLAUSE: Set = set!(
    SubjectI
        | SubjectOther
        | SubjectWe
        | Story
        | Wh
        | YesNo
        | No
        | Always
        | Never
        | Only
        | Frame
        | Output
        | YourOutput
        | Style
        | All
        | Everything
        | Report
);

/// The classes that count at the beginning of the sentence.
const AT_START: Set = set!(Wh | YesNo | SubjectI | SubjectOther | SubjectWe);

const CLASSES: usize = Class::Speak as usize + 1;
const SHAPES_AT: usize = FLAGS;
const PER_SHAPE: usize = CLASSES + FLAGS_WITH_SHAPE.len();
const WITH_SHAPES_AT: usize = SHAPES_AT + SHAPES;
const ANYWHERE_AT: usize = WITH_SHAPES_AT + SHAPES * PER_SHAPE;
const CLAUSE_AT: usize = ANYWHERE_AT + CLASSES;
const START_AT: usize = CLAUSE_AT + CLASSES;
const PAIRS_AT: usize = START_AT + CLASSES;
/// The number of features.
pub(super) const FEATURES: usize = PAIRS_AT + 320;

/// A class, a flag, or a shape with one of them: the elements of pairs.
#[derive(Debug, Clone, Copy)]
enum Atom {
    Is(Flag),
    Shape(Shape),
    Class(Shape, Class),
    With(Shape, Flag),
}

/// A sentence in the form that the judgement reads.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    pub flags: u64,
    pub shapes: u16,
    /// All classes, those at the beginning of a clause, and those at the beginning of the sentence.
    pub classes: Set,
    pub at_clause: Set,
    pub at_start: Set,
}

impl Seen {
    pub(super) fn is(&self, flag: Flag) -> bool {
        self.flags >> flag as u32 & 1 == 1
    }

    pub(super) fn shape(&self, shape: Shape) -> bool {
        self.shapes >> shape as u32 & 1 == 1
    }

    pub(super) fn class(&self, class: Class) -> bool {
        self.classes & class.bit() != 0
    }

    /// Returns `true` if a clause begins with "never" or "always", and none with a story or a saying.
    pub(super) fn leads(&self) -> bool {
        self.opening(set!(Never | Always)) && !self.opening(set!(Story | Idle))
    }

    pub(super) fn on(&mut self, flag: Flag) {
        self.flags |= 1 << flag as u32;
    }

    pub(super) fn on_if(&mut self, flag: Flag, is: bool) {
        if is {
            self.on(flag);
        }
    }

    pub(super) fn any(&self, set: Set) -> bool {
        self.classes & set != 0
    }

    pub(super) fn opening(&self, set: Set) -> bool {
        self.at_clause & set != 0
    }

    pub(super) fn first(&self, set: Set) -> bool {
        self.at_start & set != 0
    }

    fn atom(&self, atom: Atom) -> bool {
        match atom {
            Atom::Is(flag) => self.is(flag),
            Atom::Shape(shape) => self.shape(shape),
            Atom::Class(shape, class) => self.shape(shape) && self.class(class),
            Atom::With(shape, flag) => self.shape(shape) && self.is(flag),
        }
    }

    /// Calls `each` with the number of every present feature, each once.
    pub(super) fn features(&self, mut each: impl FnMut(usize)) {
        let mut flags = self.flags;
        while flags != 0 {
            each(flags.trailing_zeros() as usize);
            flags &= flags - 1;
        }
        for shape in (0..SHAPES).filter(|s| self.shapes >> s & 1 == 1) {
            each(SHAPES_AT + shape);
            let at = WITH_SHAPES_AT + shape * PER_SHAPE;
            bits(self.classes & WITH_SHAPE, at, &mut each);
            for (i, flag) in FLAGS_WITH_SHAPE.iter().enumerate() {
                if self.is(*flag) {
                    each(at + CLASSES + i);
                }
            }
        }
        bits(self.classes & ANYWHERE, ANYWHERE_AT, &mut each);
        bits(self.at_clause & AT_CLAUSE, CLAUSE_AT, &mut each);
        bits(self.at_start & AT_START, START_AT, &mut each);
        self.pairs(&mut each);
    }

    fn pairs(&self, each: &mut impl FnMut(usize)) {
        use Atom::{Class as C, Is, Shape as S, With as W};
        use Class as K;
        use Flag as F;
        use Shape as H;
        const OBJECTS: [Flag; 9] = [
            F::Definite,
            F::DefinitePlural,
            F::Bare,
            F::Preposition,
            F::Indefinite,
            F::NoObject,
            F::Quantified,
            F::Your,
            F::ToMe,
        ];
        const VERBS: [Flag; 8] = [
            F::Speaks,
            F::Denied,
            F::Create,
            F::TaskOnly,
            F::MannerOnly,
            F::Never,
            F::Always,
            F::Only,
        ];
        const WITH_ORDER: [Atom; 13] = [
            C(H::Order, K::Every),
            C(H::Order, K::PerReply),
            C(H::Order, K::Always),
            C(H::Order, K::Never),
            C(H::Order, K::Style),
            C(H::Order, K::Output),
            C(H::Order, K::Limit),
            C(H::Order, K::Tongue),
            C(H::Order, K::Duration),
            C(H::Order, K::All),
            C(H::Order, K::Only),
            W(H::Order, F::DefinitePhrase),
            C(H::Order, K::NotBefore),
        ];
        const WITH_VERB: [Flag; 7] = [
            F::Create,
            F::Speaks,
            F::Denied,
            F::Bare,
            F::Definite,
            F::Indefinite,
            F::TaskOnly,
        ];
        const LASTING: [Atom; 12] = [
            C(H::Order, K::AskMe),
            C(H::Order, K::Private),
            C(H::Order, K::Output),
            C(H::Order, K::Style),
            C(H::Order, K::Duration),
            C(H::Order, K::Every),
            C(H::Order, K::PerReply),
            C(H::Order, K::NotBefore),
            W(H::Order, F::IfIndefinite),
            W(H::Order, F::Habit),
            W(H::Order, F::IfYou),
            W(H::Order, F::IfI),
        ];
        const PASSING: [Atom; 5] = [
            W(H::Order, F::DefinitePhrase),
            C(H::Order, K::Once),
            Is(F::Question),
            C(H::Order, K::Deictic),
            C(H::Order, K::Any),
        ];
        const OTHERS: [(Atom, Atom); 49] = [
            (W(H::Order, F::IfIndefinite), W(H::Order, F::IfDefinite)),
            (C(H::Order, K::Contrast), Is(F::Bare)),
            (C(H::Order, K::Contrast), W(H::Order, F::DefinitePhrase)),
            (C(H::Wish, K::Like), C(H::Wish, K::Output)),
            (C(H::Wish, K::Like), C(H::Wish, K::Style)),
            (C(H::Wish, K::Like), W(H::Wish, F::DefinitePhrase)),
            (C(H::Wish, K::Like), W(H::Wish, F::Indefinite)),
            (W(H::Fragment, F::InnerVerb), C(H::Fragment, K::Output)),
            (W(H::Rule, F::WeDo), C(H::Rule, K::Output)),
            (W(H::Rule, F::WeDo), C(H::Rule, K::Auxiliary)),
            (C(H::Fragment, K::Contrast), C(H::Fragment, K::Output)),
            (C(H::Fragment, K::Contrast), C(H::Fragment, K::Style)),
            (W(H::Order, F::IfYou), W(H::Order, F::IfIndefinite)),
            (W(H::Order, F::IfI), W(H::Order, F::IfIndefinite)),
            (C(H::Rule, K::Style), C(H::Rule, K::Scope)),
            (C(H::Rule, K::Past), C(H::Rule, K::Auxiliary)),
            (C(H::Lift, K::Permit), C(H::Lift, K::Change)),
            (C(H::Lift, K::RuleWord), C(H::Lift, K::Withdraw)),
            (C(H::Lift, K::Style), C(H::Lift, K::Change)),
            (C(H::Lift, K::AskMe), C(H::Lift, K::Withdraw)),
            (W(H::Limit, F::Number), C(H::Limit, K::Auxiliary)),
            (C(H::Wish, K::Diet), C(H::Wish, K::SubjectI)),
            (C(H::Wish, K::Style), W(H::Wish, F::DefinitePhrase)),
            (C(H::Wish, K::Output), W(H::Wish, F::DefinitePhrase)),
            (C(H::Thing, K::Auxiliary), C(H::Thing, K::ThingMust)),
            (Is(F::PoliteOrder), Is(F::Question)),
            (Is(F::PoliteOrder), C(H::Order, K::Always)),
            (Is(F::PoliteOrder), C(H::Order, K::Style)),
            (Is(F::PoliteOrder), C(H::Order, K::Once)),
            (Is(F::PoliteOrder), W(H::Order, F::DefinitePhrase)),
            (Is(F::PoliteOrder), C(H::Order, K::PerReply)),
            (Is(F::PoliteOrder), C(H::Order, K::Duration)),
            (Is(F::Question), C(H::Order, K::Always)),
            (C(H::Fragment, K::No), C(H::Fragment, K::Output)),
            (C(H::Fragment, K::No), C(H::Fragment, K::Style)),
            (C(H::Fragment, K::Only), C(H::Fragment, K::Style)),
            (C(H::Fragment, K::Limit), C(H::Fragment, K::Output)),
            (C(H::Fragment, K::Limit), W(H::Fragment, F::Number)),
            (C(H::Fragment, K::Tongue), C(H::Fragment, K::Only)),
            (C(H::Fragment, K::Output), C(H::Fragment, K::Style)),
            (C(H::Fragment, K::No), C(H::Fragment, K::Once)),
            (C(H::Fragment, K::PerReply), C(H::Fragment, K::Output)),
            (C(H::Fragment, K::PerReply), W(H::Fragment, F::Number)),
            (C(H::Other, K::Frame), S(H::Other)),
            (C(H::Order, K::Frame), S(H::Order)),
            (C(H::Fragment, K::Frame), S(H::Fragment)),
            (C(H::Rule, K::Frame), S(H::Rule)),
            (C(H::Order, K::Duration), C(H::Order, K::Style)),
            (Is(F::Item), S(H::Order)),
        ];
        let mut number = PAIRS_AT;
        let mut pair = |a: Atom, b: Atom| {
            if self.atom(a) && self.atom(b) {
                each(number);
            }
            number += 1;
        };
        for object in OBJECTS {
            for verb in VERBS {
                pair(Is(verb), Is(object));
            }
        }
        for order in WITH_ORDER {
            for verb in WITH_VERB {
                pair(Is(verb), order);
            }
        }
        for lasting in LASTING {
            for passing in PASSING {
                pair(lasting, passing);
            }
        }
        for (a, b) in OTHERS {
            pair(a, b);
        }
    }
}

/// Calls `each` with the place of every bit, counted from `at`.
fn bits(mut set: Set, at: usize, each: &mut impl FnMut(usize)) {
    while set != 0 {
        each(at + set.trailing_zeros() as usize);
        set &= set - 1;
    }
}
