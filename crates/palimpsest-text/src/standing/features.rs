//! What a sentence looks like to the judgement: numbered features, each there or not.

use super::table::{Class, Set, blank, letter, next, phrases, set, wide};
use crate::languages::List;
use crate::words::Language;
use crate::words::cues::{Word, quotes, words_of};
use crate::words::script::{fold, unspaced};

static QUESTION_ENDS: List = List::phrases(|t| t.standing.question_ends);
static MONEY: List = List::phrases(|t| t.standing.money);

/// What is known of a sentence beside its words.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub language: Language,
    /// It is an item of a list.
    pub item: bool,
    /// It names a file.
    pub file: bool,
}

macro_rules! numbered {
    ($type:ident $($name:ident)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum $type { $($name,)* }
    };
}

// What a single look at the sentence says. Objects are what stands after the first order's verb.
numbered! { Flag
    Question Exclaimed Quoted AllQuoted Number Money File Item Fragment Tiny Long
    Unknown LateKnown UnknownVerb Create CreateOne PoliteOrder Idle Veto
    Manner Task Action TaskOnly MannerOnly Denied DeniedVerb DeniedLater Avoids Never Always Only
    Leads Speaks Makes ToMe
    NoObject Quantified Your Definite DefinitePlural Indefinite Preposition Bare DefiniteStyle StyleObject
    Pronoun DefinitePhrase
    If Habit IfIndefinite IfDefinite IfI IfYou IfDone InnerVerb WeDo Nothing
}

const FLAGS: usize = Flag::Nothing as usize + 1;

// What kind of sentence it is.
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
const FLAGS_WITH_SHAPE: [Flag; 18] = [
    Flag::Question,
    Flag::Number,
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

/// The classes that count wherever they stand.
const ANYWHERE: Set =
    set!(Report | Story | Past | Once | Duration | Scope | Frame | SubjectOther | SubjectI);

/// The classes that count where a clause begins.
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
/// How many features there are.
pub(super) const FEATURES: usize = PAIRS_AT + 320;

/// A class, a flag or a shape with one of them: what pairs are made of.
#[derive(Debug, Clone, Copy)]
enum Atom {
    Is(Flag),
    Shape(Shape),
    Class(Shape, Class),
    With(Shape, Flag),
}

/// A sentence as the judgement sees it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    flags: u64,
    shapes: u16,
    /// All classes; those where a clause begins; those at the beginning.
    classes: Set,
    at_clause: Set,
    at_start: Set,
}

/// A phrase that was found.
#[derive(Debug, Clone, Copy)]
struct Hit {
    set: Set,
    from: usize,
    to: usize,
    /// A clause begins with it.
    opens: bool,
}

const VERB: Set = set!(Manner | Task | Action);

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

    /// Whether a clause begins with "never" or "always", and no story and no saying does.
    pub(super) fn leads(&self) -> bool {
        self.opening(set!(Never | Always)) && !self.opening(set!(Story | Idle))
    }

    fn on(&mut self, flag: Flag) {
        self.flags |= 1 << flag as u32;
    }

    fn on_if(&mut self, flag: Flag, is: bool) {
        if is {
            self.on(flag);
        }
    }

    fn any(&self, set: Set) -> bool {
        self.classes & set != 0
    }

    fn opening(&self, set: Set) -> bool {
        self.at_clause & set != 0
    }

    fn first(&self, set: Set) -> bool {
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

    /// Calls `each` with the number of every feature that is there, each once.
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

/// Reads sentences; keeps its lists from one to the next.
#[derive(Debug, Default)]
pub(super) struct Reader {
    words: Vec<Word>,
    quoted: Vec<(usize, usize)>,
    hits: Vec<Hit>,
    /// Classes of the phrases that begin at a word, and of the word alone.
    at: Vec<Set>,
    alone: Vec<Set>,
    starts: Vec<bool>,
    soft: Vec<bool>,
}

impl Reader {
    /// The sentence `text[start..end]` as the judgement sees it. `None` in a language that it does not read.
    pub(super) fn read(
        &mut self,
        text: &str,
        (start, end): (usize, usize),
        frame: Frame,
    ) -> Option<Seen> {
        let table = phrases(frame.language)?;
        let sentence = text[start..end].trim_end();
        let mut seen = Seen::default();
        seen.on_if(Flag::Question, question(sentence));
        seen.on_if(Flag::Exclaimed, sentence.ends_with(['!', '！']));
        seen.on_if(
            Flag::Number,
            sentence.contains(|c: char| c.is_ascii_digit()),
        );
        seen.on_if(Flag::Money, money(sentence));
        seen.on_if(Flag::File, frame.file);
        seen.on_if(Flag::Item, frame.item);
        quotes(text, start, end, &mut self.quoted);
        let holds = |&(from, to): &(usize, usize)| {
            text[from..to].contains(|c: char| c == ' ' || unspaced(c)) && to - from > 6
        };
        seen.on_if(Flag::Quoted, self.quoted.iter().any(holds));
        let all = |&(from, to): &(usize, usize)| from <= start && to + 2 >= end && to - from > 12;
        seen.on_if(Flag::AllQuoted, self.quoted.iter().any(all));
        self.hits.clear();
        let size = if wide(frame.language) {
            self.read_wide(text, (start, end), frame.language, table, &mut seen)
        } else {
            words_of(text, start, end, {
                self.words.clear();
                &mut self.words
            });
            for word in &mut self.words {
                let inside = |q: &(usize, usize)| q.0 <= word.start && word.end <= q.1;
                if self.quoted.iter().any(inside) {
                    word.hash = blank();
                }
            }
            self.find(table);
            self.clauses(frame.language);
            self.clause_by_clause(text, frame.language, &mut seen);
            self.words.len()
        };
        self.hide_covered();
        for hit in &self.hits {
            seen.classes |= hit.set;
            if hit.opens {
                seen.at_clause |= hit.set;
            }
            if hit.from <= 1 {
                seen.at_start |= hit.set;
            }
        }
        self.shapes(size, frame.language, &mut seen);
        Some(seen)
    }

    fn find(&mut self, table: &super::table::Phrases) {
        self.at.clear();
        self.alone.clear();
        self.at.resize(self.words.len(), 0);
        self.alone.resize(self.words.len(), 0);
        for from in 0..self.words.len() {
            let mut phrase = 0;
            for (i, word) in self.words[from..].iter().take(table.longest()).enumerate() {
                phrase = next(phrase, word.hash);
                let Some(set) = table.get(phrase) else {
                    break;
                };
                if set == 0 {
                    continue;
                }
                self.at[from] |= set;
                if i == 0 {
                    self.alone[from] = set;
                }
                self.hits.push(Hit {
                    set,
                    from,
                    to: from + i + 1,
                    opens: false,
                });
            }
        }
    }

    fn begin(&self, word: usize) -> Set {
        self.at.get(word).copied().unwrap_or(0)
    }

    fn single(&self, word: usize) -> Set {
        self.alone.get(word).copied().unwrap_or(0)
    }

    /// After the longest phrase of one of these classes that begins at `word`.
    fn after(&self, word: usize, set: Set) -> Option<usize> {
        let here = self.hits.iter().filter(|h| h.from == word);
        here.filter(|h| h.set & set != 0).map(|h| h.to).max()
    }

    /// Where clauses begin: after a mark, after a conjunction, after "please" and its like.
    fn clauses(&mut self, language: Language) {
        let count = self.words.len();
        let mut filler = vec![false; count];
        for hit in &self.hits {
            if hit.set & set!(Filler | Polite | Frame) != 0 {
                filler[hit.from..hit.to].fill(true);
            }
        }
        self.starts.clear();
        self.soft.clear();
        self.starts.resize(count, false);
        self.soft.resize(count, false);
        let mut only_fillers = true;
        for (i, fills) in filler.iter().enumerate() {
            let joined = i > 0 && self.single(i - 1) & set!(Conjunction) != 0;
            let bare = joined && i > 1 && !self.words[i].clause && !self.words[i - 1].clause;
            self.soft[i] = bare && !only_fillers;
            let to = i > 1
                && language.tables().standing.has_to_infinitive
                && self.single(i - 1) & set!(To) != 0
                && (self.single(i - 2) & set!(Sure) != 0
                    || self.single(i - 2) & set!(You) != 0
                        && self
                            .hits
                            .iter()
                            .any(|h| h.set & set!(Polite) != 0 && h.from < i && h.to + 1 >= i));
            self.starts[i] = i == 0 || self.words[i].clause || joined || to;
            only_fillers &= fills;
        }
        for i in 0..count {
            if !self.starts[i] {
                continue;
            }
            let mut k = i;
            while k + 1 < count && filler[k] && k - i < 9 {
                k += 1;
                self.starts[k] = true;
                self.soft[k] |= self.soft[i];
            }
        }
        for hit in &mut self.hits {
            hit.opens = self.starts[hit.from];
        }
    }

    fn clause_by_clause(&self, text: &str, language: Language, seen: &mut Seen) {
        let count = self.words.len();
        let mut main = None;
        for i in 0..count {
            if !self.starts[i] || self.soft[i] && main.is_none() && !self.led(i) {
                continue;
            }
            let mut k = i;
            let mut denied = false;
            let begins = self.begin(k);
            if begins & set!(Dont) != 0 && self.single(k) & set!(Negation) != 0 {
                let mut then = self.after(k, set!(Dont)).unwrap_or(k + 1);
                while self.single(then) & set!(AfterNegation) != 0 {
                    then += 1;
                }
                let known = self.begin(then) & VERB != 0;
                let any = language.tables().standing.denies_unknown_verbs
                    && self.single(k) & set!(No | Contrast) == 0
                    && then < count;
                if (known || any) && begins & set!(Idle) == 0 {
                    denied = true;
                    k = then;
                    seen.on_if(Flag::DeniedVerb, known);
                }
            }
            let mut frequent = false;
            if !denied && begins & set!(Never | Always | Only) != 0 {
                let class = [set!(Never), set!(Always), set!(Only)];
                let class = class.into_iter().find(|c| begins & c != 0).unwrap_or(0);
                let mut then = self.after(k, class).unwrap_or(k + 1);
                if language.tables().standing.has_pronoun_after_frequency
                    && self.single(then) & set!(AfterNegation) != 0
                {
                    then += 1;
                }
                frequent = true;
                if self.begin(then) & VERB != 0 {
                    denied = class == set!(Never);
                    k = then;
                    seen.on(if class == set!(Never) {
                        Flag::Never
                    } else if class == set!(Always) {
                        Flag::Always
                    } else {
                        Flag::Only
                    });
                }
            }
            let avoids = self.begin(k) & set!(Avoid) != 0 && self.begin(k) & set!(No) == 0;
            if avoids && k + 1 < count {
                seen.on(Flag::Avoids);
                denied = true;
            }
            let verb = self.begin(k);
            let (manner, task) = (verb & set!(Manner) != 0, verb & set!(Task) != 0);
            let action = verb & set!(Action) != 0;
            if manner || task || action && denied {
                let infinitive = language.tables().standing.has_to_infinitive
                    && i > 0
                    && !self.words[i].clause
                    && self.single(i - 1) & set!(To) != 0
                    && !(i > 1 && self.single(i - 2) & set!(You | Sure | Negation) != 0);
                if infinitive {
                    continue;
                }
                seen.on_if(Flag::Manner, manner);
                seen.on_if(Flag::Task, task);
                seen.on_if(Flag::Action, action);
                seen.on_if(Flag::TaskOnly, task && !manner && !denied && !frequent);
                seen.on_if(Flag::MannerOnly, manner && !task && !denied);
                if main.is_none() {
                    main = Some(k);
                    seen.on_if(Flag::Denied, denied);
                    seen.on_if(Flag::Leads, i == 0);
                    seen.on_if(Flag::Speaks, self.single(k) & set!(Speak) != 0);
                    seen.on_if(Flag::Makes, verb & set!(Create) != 0);
                    self.object(text, self.after(k, VERB).unwrap_or(k + 1), seen);
                } else if denied {
                    seen.on(Flag::DeniedLater);
                }
            } else if denied && main.is_none() {
                seen.on(Flag::Denied);
                main = Some(k);
                self.object(text, k + 1, seen);
            }
        }
        self.definite(seen);
        self.conditions(seen);
        for hit in &self.hits {
            if hit.set & VERB != 0 && hit.from > 0 && hit.from <= 3 && !hit.opens {
                seen.on(Flag::InnerVerb);
            }
            if hit.set & set!(No) != 0 && hit.opens {
                seen.on(Flag::Nothing);
            }
        }
        for k in 0..count.saturating_sub(1) {
            if self.starts[k] && self.single(k) & set!(We) != 0 {
                let skip = self.begin(k + 1) & set!(Never | Always | Only | Dont) != 0;
                let verb = self.begin(k + 1 + usize::from(skip)) & VERB != 0;
                seen.on_if(Flag::WeDo, verb);
            }
        }
        let any = |set: Set| self.hits.iter().any(|h| h.set & set != 0);
        let subject = any(set!(Past))
            || self
                .hits
                .iter()
                .any(|h| h.set & set!(SubjectI | SubjectOther | SubjectWe) != 0 && h.from <= 2);
        let says = main.is_some() || any(set!(ThingMust | YouMust | WeRule | Preference));
        let asks = seen.is(Flag::Question) || self.begin(0) & set!(Wh | YesNo) != 0;
        seen.on_if(Flag::Fragment, !subject && !says && !asks);
    }

    /// Whether an opening before word `i` leads on to an order after a bare conjunction.
    fn led(&self, i: usize) -> bool {
        self.hits.iter().any(|h| {
            let leads = h.set & set!(Polite | YouMust) != 0;
            let frame = h.set & set!(Frame) != 0 && h.from == 0;
            (leads || frame) && h.from < i && (h.from <= 2 || self.words[h.from].clause)
        })
    }

    fn object(&self, text: &str, mut at: usize, seen: &mut Seen) {
        let count = self.words.len();
        while at + 1 < count && self.single(at) & set!(BeforeObject) != 0 {
            seen.on_if(Flag::ToMe, self.single(at) & set!(ToMe) != 0);
            if self.single(at) & set!(Particle) != 0 && self.begin(at + 1) & set!(Definite) == 0 {
                break;
            }
            at += 1;
        }
        if at >= count || self.words[at].clause {
            seen.on(Flag::NoObject);
            return;
        }
        let (here, then) = (self.begin(at), self.begin(at + 1));
        let single = self.single(at);
        let digit = text[self.words[at].start..].starts_with(|c: char| c.is_ascii_digit());
        if here & set!(Every | Any | All | No) != 0 {
            seen.on(Flag::Quantified);
        } else if single & set!(Your) != 0 {
            seen.on(Flag::Your);
        } else if single & set!(DefinitePlural) != 0 {
            seen.on(Flag::DefinitePlural);
            seen.on_if(Flag::DefiniteStyle, then & set!(Style | Output) != 0);
        } else if here & set!(Definite) != 0 {
            seen.on(Flag::Definite);
            seen.on_if(Flag::DefiniteStyle, then & set!(Style | Output) != 0);
        } else if here & set!(Indefinite) != 0 || digit {
            seen.on(Flag::Indefinite);
        } else if here & set!(Preposition) != 0 {
            seen.on(Flag::Preposition);
        } else if here & set!(Deictic) != 0 && here & set!(Output) == 0 {
            seen.on(Flag::Definite);
        } else {
            seen.on(Flag::Bare);
        }
        let style = here & set!(Style | Output) | then & set!(Style | Output | Tongue);
        seen.on_if(Flag::StyleObject, style != 0);
    }

    /// Whether a longer fixed phrase covers the word.
    fn fixed(&self, word: usize) -> bool {
        const FIXED: Set =
            set!(Duration | Scope | Project | Habit | Private | Withdraw | Preference | Everything);
        let covers = |h: &Hit| h.from <= word && word < h.to && h.to - h.from > 1;
        self.hits.iter().any(|h| h.set & FIXED != 0 && covers(h))
    }

    fn definite(&self, seen: &mut Seen) {
        for k in 0..self.words.len() {
            let word = self.single(k);
            if word & set!(Determiner) == 0 || self.fixed(k) {
                continue;
            }
            let general = set!(Style | Output | Tongue | RuleWord | AskMe);
            if word & set!(Pronoun) != 0 {
                seen.on(Flag::Pronoun);
            } else if self.begin(k + 1) & general == 0 || word & set!(This) != 0 {
                seen.on(Flag::DefinitePhrase);
            }
        }
    }

    fn conditions(&self, seen: &mut Seen) {
        for hit in &self.hits {
            if hit.set & set!(If | Habit) == 0 {
                continue;
            }
            seen.on_if(Flag::Habit, hit.set & set!(Habit) != 0);
            seen.on_if(Flag::If, hit.set & set!(If) != 0);
            for k in hit.to..self.words.len().min(hit.from + 9) {
                if self.words[k].clause && k > hit.to {
                    break;
                }
                let word = self.single(k);
                seen.on_if(Flag::IfIndefinite, word & set!(Article) != 0);
                let definite = word & set!(Determiner) != 0 && !self.fixed(k);
                seen.on_if(Flag::IfDefinite, definite);
                seen.on_if(Flag::IfYou, word & set!(You) != 0);
                seen.on_if(Flag::IfI, word & set!(I) != 0);
                seen.on_if(Flag::IfDone, word & set!(Done) != 0);
            }
            let last = self.single(hit.to - 1);
            seen.on_if(Flag::IfYou, last & set!(You) != 0);
            seen.on_if(Flag::IfI, last & set!(I) != 0);
        }
    }

    /// A weak sign inside of a longer and stronger phrase is none: "this chat" points at nothing.
    fn hide_covered(&mut self) {
        const STRONG: Set = set!(
            Withdraw
                | Duration
                | Scope
                | Project
                | Habit
                | Preference
                | Polite
                | NotBefore
                | PerReply
                | Everything
                | AskMe
                | Budget
                | Deadline
        );
        const WEAK: Set = set!(
            Idle | Story
                | Deictic
                | SubjectOther
                | SubjectI
                | SubjectWe
                | Past
                | Once
                | Auxiliary
                | Dont
        );
        for i in 0..self.hits.len() {
            let hit = self.hits[i];
            let covered = |s: &Hit| {
                s.set & STRONG != 0
                    && s.from <= hit.from
                    && s.to >= hit.to
                    && s.to - s.from > hit.to - hit.from
            };
            if hit.set & WEAK != 0 && self.hits.iter().any(covered) {
                self.hits[i].set &= !WEAK;
            }
        }
    }

    /// Characters take the place of words. The number of words is guessed.
    fn read_wide(
        &mut self,
        text: &str,
        (start, end): (usize, usize),
        language: Language,
        table: &super::table::Phrases,
        seen: &mut Seen,
    ) -> usize {
        let mut letters: Vec<char> = Vec::with_capacity(end - start);
        let mut folded = String::new();
        for (at, c) in text[start..end].char_indices() {
            let at = at + start;
            let quoted = self.quoted.iter().any(|q| q.0 <= at && at < q.1);
            folded.clear();
            fold(c, &mut folded);
            letters.push(if quoted {
                '\0'
            } else {
                folded.chars().next().unwrap_or(c)
            });
        }
        for from in 0..letters.len() {
            let mut phrase = 0;
            for (i, c) in letters[from..].iter().take(table.longest()).enumerate() {
                phrase = next(phrase, letter(*c));
                let Some(set) = table.get(phrase) else {
                    break;
                };
                if set != 0 {
                    self.hits.push(Hit {
                        set,
                        from,
                        to: from + i + 1,
                        opens: false,
                    });
                }
            }
        }
        let mark = |c: char| c.is_whitespace() || ",，;；:：、。！!".contains(c);
        let mut opens = vec![false; letters.len() + 1];
        opens[0] = true;
        for (i, c) in letters.iter().enumerate() {
            opens[i + 1] |= mark(*c);
        }
        for hit in &self.hits {
            // hits come in the order of their places
            if hit.set & set!(Filler | Polite) != 0 && opens[hit.from] {
                opens[hit.to] = true;
            }
        }
        let body = letters
            .iter()
            .rposition(|c| !c.is_whitespace() && !"。！!？?".contains(*c))
            .map_or(0, |at| at + 1);
        for hit in &mut self.hits {
            hit.opens = opens[hit.from];
            if language.tables().standing.is_verb_last && hit.set & VERB != 0 {
                let then = letters.get(hit.to).copied().unwrap_or(' ');
                let verb = hit.to + 8 >= body || matches!(then, '、' | '，' | '。' | 'て');
                hit.opens = verb;
            }
        }
        let opening = |set: Set| self.hits.iter().any(|h| h.opens && h.set & set != 0);
        let any = |set: Set| self.hits.iter().any(|h| h.set & set != 0);
        let (manner, task) = (opening(set!(Manner)), opening(set!(Task)));
        let denied = any(set!(Dont));
        seen.on_if(Flag::Manner, manner);
        seen.on_if(Flag::Task, task);
        seen.on_if(Flag::TaskOnly, task && !manner);
        seen.on_if(Flag::MannerOnly, manner && !task);
        seen.on_if(Flag::Denied, denied);
        seen.on_if(Flag::DeniedVerb, denied && any(set!(Action)));
        seen.on_if(Flag::Create, any(set!(Create)));
        seen.on_if(Flag::Definite, any(set!(Definite)));
        seen.on_if(Flag::Indefinite, any(set!(Indefinite)));
        let style = any(set!(Style | Output)) && (manner || denied);
        seen.on_if(Flag::StyleObject, style);
        seen.on_if(Flag::Fragment, !manner && !task && !denied);
        seen.on_if(Flag::Speaks, any(set!(Speak)));
        letters.len() / 2
    }

    fn shapes(&self, size: usize, language: Language, seen: &mut Seen) {
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

/// Whether the sentence asks, also without a question mark where particles do.
fn question(sentence: &str) -> bool {
    let body = sentence.trim_end_matches(['"', '”', '」', ' ', ')']);
    if body.ends_with(['?', '？']) {
        return true;
    }
    let body = body.trim_end_matches('。');
    QUESTION_ENDS.all().iter().any(|end| body.ends_with(end))
}

fn money(sentence: &str) -> bool {
    sentence.contains(['$', '€', '£']) || MONEY.all().iter().any(|word| sentence.contains(word))
}
