//! Rules of grammar as data: the conditions under which a sentence demands something of the reader.
//!
//! A rule names a kind of demand and the conditions for it. The conditions speak of cues ([`super::cue::Cue`]) and of
//! the words around them. `retention::grammar` reads the rules, and the first match decides.

use serde::{Deserialize, Serialize};

use super::cue::Cue;

/// The kind of a demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConstraintKind {
    /// Something must not happen: "never …", "do not …".
    Prohibition,
    /// Something must always happen: "always …", "answer only in …".
    Obligation,
    /// A rule with a beginning: "from now on …", "whenever …".
    Standing,
    /// A cap on money, length or amount.
    Budget,
    /// A date by which something is due.
    Deadline,
    /// An earlier rule is lifted: "you may use tabs now".
    Permission,
}

/// The rules of a language.
#[derive(Debug)]
pub(crate) enum Grammar {
    /// A language with spaces between words: it shares [`super::rules::SHARED`] and adds what is its own.
    Spaced(Forms),
    /// A language without spaces: rules of its own.
    Unspaced(&'static [Rule]),
}

/// A rule: the kind of demand that a sentence makes if all conditions hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule {
    /// The kind. `None` means that the sentence makes no demand, and no later rule is tried.
    pub kind: Option<ConstraintKind>,
    pub when: &'static [When],
}

/// A condition on a sentence.
#[derive(Debug, Clone, Copy)]
pub(crate) enum When {
    /// The sentence has a phrase with this cue.
    Has(Cue),
    /// The sentence has no phrase with this cue.
    Lacks(Cue),
    /// A phrase with this cue passes all the tests.
    Phrase(Cue, &'static [Test]),
    /// The first phrase with this cue passes all the tests.
    FirstPhrase(Cue, &'static [Test]),
    /// No phrase with this cue passes all the tests.
    NoPhrase(Cue, &'static [Test]),
    /// All the conditions of one of the lists hold.
    Either(&'static [&'static [When]]),
    /// It names a number with its unit, or a large one.
    Number,
    /// It names any number.
    Digits,
    /// It names a number or a date.
    Due,
    /// It ends in one of these phrases, which have a `|` between them.
    Ends(&'static str),
    /// A word of it has the form of an order; see [`Forms::order_endings`].
    HasOrderForm,
    /// The last word is an infinitive; see [`Forms::infinitives`].
    EndsInInfinitive,
    /// No person acts: the sentence has neither "we" nor one of [`Forms::persons`].
    IsImpersonal,
    /// The sentence has at most this many words.
    MostWords(usize),
    /// The sentence has at least this many words.
    LeastWords(usize),
    /// One of the language's own rows for prohibitions holds; see [`Forms::forbids`].
    Forbids,
    /// One of the language's own rows for obligations holds; see [`Forms::binds`].
    Binds,
}

/// A test of one phrase. "Before" and "after" mean the words around it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Test {
    /// The phrase has this cue, among the cues that share the row.
    Is(Cue),
    /// A clause begins with it.
    OpensClause,
    /// It begins the sentence.
    First,
    /// It does not begin the sentence.
    NotFirst,
    /// Nobody reports it, as in "the docs say you must not …".
    NotReported,
    /// No subject stands right before it; in English none with one word between either.
    NoSubject,
    /// The subject is "me": it follows at once, or it begins the sentence.
    NotMine,
    /// It tells no story: "never seen", "always loved".
    NoStory,
    /// "should" or "I want you to" stands up to four words before.
    Demanded,
    /// An order opens the clause, at most this many words before.
    AfterOrder(usize),
    /// An order opens the clause, at most this many words before, and no clause begins with the phrase itself.
    InOrder(usize),
    /// An order opens a clause elsewhere in the sentence.
    OrderElsewhere,
    /// "you" and a modal verb stand up to eight words before; see [`Forms::addressed`].
    AfterAddress,
    /// A phrase with this cue follows at once.
    Then(Cue),
    /// No phrase with this cue follows at once.
    NotThen(Cue),
    /// A phrase with this cue stands right before.
    After(Cue),
    /// No phrase with this cue stands directly before.
    NotAfter(Cue),
    /// No phrase with this cue stands directly before, except one that opens a clause.
    NotInnerAfter(Cue),
    /// A phrase with this cue follows, anywhere.
    Before(Cue),
    /// A phrase with this cue follows, at most this many words later.
    BeforeNear(Cue, usize),
    /// A word follows.
    HasNext,
    /// The next word is one of these.
    NextIs(&'static str),
    /// The next word is none of these.
    NextIsNot(&'static str),
    /// The next word ends in one of these.
    NextEnds(&'static str),
    /// The next word has more bytes than this.
    NextLongerThan(usize),
    /// The word after the next one ends in one of these.
    SecondEnds(&'static str),
    /// The word after the next one is none of these.
    SecondIsNot(&'static str),
    /// One of the next words, up to this number, is among these.
    Within(usize, &'static str),
    /// The word before is one of these.
    LastIs(&'static str),
    /// The word before is one of these, in small letters or capitals.
    LastIsFolded(&'static str),
    /// The word before is none of these.
    LastIsNot(&'static str),
    /// The phrase has more bytes than this.
    LongerThan(usize),
    /// It is long enough to be a cap by itself; see [`Forms::short_caps`].
    IsLongCap,
    /// The next word has the form of an order.
    NextIsOrder,
    /// The word after the next one has the form of an order.
    SecondIsOrder,
    /// The next word, after a pronoun, is a verb that a denial forbids; see [`Forms::denial`].
    NextIsForbidden,
    /// A date follows, at most this many words later.
    DateFollows(usize),
    /// A date stands before it, at most this many bytes away.
    DatePrecedes(usize),
    /// The phrase asks for something and does not tell of it: "I need …", but not "he must …".
    Asks,
    /// The phrase is not part of an idiom; without spaces.
    NotIdle,
    /// A report stands nowhere before it; without spaces.
    NoReportBefore,
    /// No subject stands right before it; without spaces.
    NoSubjectBefore,
    /// No subject stands right after it; without spaces.
    NoSubjectAfter,
    /// No subject opens a clause shortly before it; without spaces.
    NobodyElse,
    /// The sentence fulfils this.
    Sentence(&'static When),
    /// One of the lists of tests is passed.
    Either(&'static [&'static [Test]]),
    /// One of the language's own rows for "never" and "always" at the beginning of a clause holds; see [`Forms::frequency`].
    Frequency,
}

/// A cue with the tests that a phrase of it must pass.
pub(crate) type Row = (Cue, &'static [Test]);

/// The additions of a language with spaces to the shared rules. A space separates words in a list.
#[derive(Debug)]
pub(crate) struct Forms {
    /// The tests by which "never" or "always" at the beginning of a clause is a demand.
    pub frequency: &'static [&'static [Test]],
    /// Further rows for prohibitions.
    pub forbids: &'static [Row],
    /// Further rows for obligations.
    pub binds: &'static [Row],
    /// The number of words that may stand between a subject and its verb.
    pub subject_gap: usize,
    /// Endings of a word after "never" that tell a story, with the least bytes of such a word.
    pub story_endings: &'static [(&'static str, usize)],
    /// Endings of verbs in an order.
    pub order_endings: &'static str,
    /// Endings of infinitives.
    pub infinitives: &'static str,
    /// Pronouns that make a sentence a report, in small letters.
    pub persons: &'static str,
    /// Forms of "you" that stand before a modal verb, in the spelling that counts.
    pub addressed: &'static str,
    /// Pronouns that may stand before a forbidden verb.
    pub object_pronouns: &'static str,
    /// The denial before the language's forbidden verbs among its cues.
    pub denial: &'static str,
    /// A word for "at most" is a cap by itself only if it has more bytes than this.
    pub short_caps: usize,
    /// Subjects whose "must" tells of something.
    pub tellers: &'static str,
    /// Beginnings of verbs that ask, whatever the subject.
    pub needs: &'static str,
}

impl Forms {
    pub(crate) const NONE: Self = Self {
        frequency: &[],
        forbids: &[],
        binds: &[],
        subject_gap: 0,
        story_endings: &[],
        order_endings: "",
        infinitives: "",
        persons: "",
        addressed: "",
        object_pronouns: "",
        denial: "",
        short_caps: 0,
        tellers: "",
        needs: "",
    };
}

use ConstraintKind as K;
use Test as T;
use When as W;

/// An order, a modal verb, or a purpose of spending.
const ASKED: &[&[When]] = &[
    &[W::Phrase(Cue::Imperative, &[T::OpensClause])],
    &[W::Has(Cue::Must)],
    &[W::Has(Cue::Should)],
    &[W::Has(Cue::Spend)],
    &[W::Phrase(Cue::Dont, &[T::OpensClause])],
];

/// An order or a denial that opens a clause.
const ORDERED: &When = &W::Either(&[
    &[W::Phrase(Cue::Imperative, &[T::OpensClause])],
    &[W::Phrase(Cue::Dont, &[T::OpensClause])],
]);

/// The ways in which "never" and "always" demand something. The last row lets the language at hand decide.
const FREQUENCY: &[&[Test]] = &[
    &[T::NotReported, T::Demanded, T::NoStory],
    &[T::NotReported, T::AfterOrder(6)],
    // "In this project we never use var."
    &[
        T::NotReported,
        T::After(Cue::We),
        T::Sentence(&W::Has(Cue::Scope)),
        T::NoStory,
        T::Sentence(&W::Lacks(Cue::Past)),
    ],
    // "Use tabs and never spaces."
    &[
        T::NotReported,
        T::NoSubject,
        T::NotFirst,
        T::After(Cue::Filler),
        T::Sentence(ORDERED),
        T::NoStory,
        T::Sentence(&W::Lacks(Cue::Past)),
    ],
    &[T::NotReported, T::NoSubject, T::OpensClause, T::Frequency],
];

/// The conditions of a prohibition, besides those of time.
const PROHIBITION: &[&[When]] = &[
    &[W::Phrase(Cue::Never, &[T::Either(FREQUENCY)])],
    &[W::Forbids],
    &[W::Phrase(
        Cue::Avoid,
        &[T::OpensClause, T::NotReported, T::HasNext],
    )],
];

/// The rules of the languages with spaces.
pub(crate) const SHARED: &[Rule] = &[
    Rule {
        kind: Some(K::Deadline),
        when: &[
            W::Lacks(Cue::Past),
            W::Lacks(Cue::Reported),
            W::Has(Cue::Deadline),
            W::Due,
        ],
    },
    // "I need this by Friday" asks; "I must work until Friday" tells.
    Rule {
        kind: Some(K::Deadline),
        when: &[
            W::Lacks(Cue::Past),
            W::Lacks(Cue::Reported),
            W::Phrase(Cue::Need, &[T::Asks]),
            W::Phrase(Cue::By, &[T::DateFollows(3)]),
        ],
    },
    Rule {
        kind: Some(K::Budget),
        when: &[
            W::Number,
            W::Lacks(Cue::Past),
            W::Lacks(Cue::Reported),
            W::Has(Cue::Budget),
        ],
    },
    Rule {
        kind: Some(K::Budget),
        when: &[
            W::Digits,
            W::Lacks(Cue::Past),
            W::Lacks(Cue::Reported),
            W::Phrase(
                Cue::Cap,
                &[
                    T::Either(&[
                        &[T::Sentence(&W::Either(ASKED))],
                        &[T::OpensClause, T::LongerThan(6)],
                    ]),
                    T::NoSubject,
                ],
            ),
            W::Phrase(Cue::Cap, &[T::IsLongCap]),
        ],
    },
    Rule {
        kind: Some(K::Budget),
        when: &[
            W::Digits,
            W::Lacks(Cue::Past),
            W::Lacks(Cue::Reported),
            W::Either(&[
                &[W::Phrase(Cue::Under, &[T::AfterOrder(8)])],
                &[W::Has(Cue::Under), W::Has(Cue::Must)],
            ]),
        ],
    },
    Rule {
        kind: Some(K::Prohibition),
        when: &[
            W::Either(&[&[W::Lacks(Cue::OneShot)], &[W::Has(Cue::FromNow)]]),
            W::Either(PROHIBITION),
        ],
    },
    Rule {
        kind: Some(K::Standing),
        when: &[
            W::FirstPhrase(Cue::FromNow, &[T::NotReported, T::NotMine]),
            W::Either(&[
                &[W::HasOrderForm],
                &[W::Has(Cue::You)],
                &[W::Has(Cue::We)],
                &[W::Has(Cue::Answer)],
                &[W::Has(Cue::Never)],
                &[W::Has(Cue::Always)],
                &[W::Has(Cue::Must)],
                &[W::Has(Cue::Only)],
                &[W::Has(Cue::Should)],
            ]),
        ],
    },
    Rule {
        kind: Some(K::Standing),
        when: &[
            W::FirstPhrase(Cue::FromNow, &[T::NotReported]),
            W::Phrase(Cue::Imperative, &[T::OpensClause]),
        ],
    },
    Rule {
        kind: Some(K::Standing),
        when: &[
            W::Lacks(Cue::OneShot),
            W::Phrase(
                Cue::Every,
                &[
                    T::NotReported,
                    T::OrderElsewhere,
                    T::Either(&[&[T::OpensClause], &[T::AfterOrder(12)]]),
                ],
            ),
        ],
    },
    Rule {
        kind: Some(K::Obligation),
        when: &[
            W::Lacks(Cue::OneShot),
            W::Either(&[
                &[W::Phrase(Cue::Always, &[T::Either(FREQUENCY)])],
                &[W::Phrase(
                    Cue::Only,
                    &[
                        T::NotReported,
                        T::Either(&[
                            &[T::OpensClause, T::Then(Cue::Imperative), T::NoSubject],
                            &[T::InOrder(2)],
                        ]),
                    ],
                )],
                // "Answer in German": an order to answer and a language.
                &[
                    W::Phrase(
                        Cue::Answer,
                        &[T::OpensClause, T::BeforeNear(Cue::Tongue, 5)],
                    ),
                    W::Lacks(Cue::Reported),
                ],
                &[W::Phrase(
                    Cue::Ensure,
                    &[T::OpensClause, T::Before(Cue::All)],
                )],
                &[W::Binds],
            ]),
        ],
    },
    Rule {
        kind: Some(K::Permission),
        when: &[
            W::Has(Cue::Permission),
            W::Has(Cue::Change),
            W::Lacks(Cue::Reported),
        ],
    },
];

/// "Das ist verboten" without an object is not a rule: a ban has at least four words.
pub(crate) const BAN: Row = (
    Cue::MustNot,
    &[T::NotReported, T::NoSubject, T::Sentence(&W::LeastWords(4))],
);
