//! Rules of grammar, as data: what a sentence must hold to demand something of the reader.
//!
//! A rule names a kind of demand and the conditions under which a sentence makes it. The conditions speak of cues
//! ([`super::cue::Cue`]) and of the words around them. `retention::grammar` reads the rules; the first one that holds decides.

use serde::{Deserialize, Serialize};

use super::cue::Cue;

/// What kind of demand it is.
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

/// A rule: the kind of demand that a sentence makes if all the conditions hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule {
    /// None: the sentence makes no demand, and no later rule is tried.
    pub kind: Option<ConstraintKind>,
    pub when: &'static [When],
}

/// A condition on a sentence.
#[derive(Debug, Clone, Copy)]
pub(crate) enum When {
    /// A phrase with this cue stands in it.
    Has(Cue),
    /// None does.
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
    /// Nobody does it: neither "we" nor one of [`Forms::persons`] stands in it.
    IsImpersonal,
    /// It has at most so many words.
    MostWords(usize),
    /// It has at least so many words.
    LeastWords(usize),
    /// One of the language's own rows for prohibitions holds; see [`Forms::forbids`].
    Forbids,
    /// One of the language's own rows for obligations holds; see [`Forms::binds`].
    Binds,
}

/// A test of one phrase. "Before" and "after" mean the words around it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Test {
    /// It has this cue, of those that share the rows.
    Is(Cue),
    /// A clause begins with it.
    OpensClause,
    /// It begins the sentence.
    First,
    /// It does not begin the sentence.
    NotFirst,
    /// Nobody reports it: "the docs say you must not …".
    NotReported,
    /// No subject stands right before it; in English none with one word between either.
    NoSubject,
    /// The subject is "me": it follows at once, or it begins the sentence.
    NotMine,
    /// It tells no story: "never seen", "always loved".
    NoStory,
    /// "should" or "I want you to" stands up to four words before.
    Demanded,
    /// An order opens the clause, at most so many words before.
    AfterOrder(usize),
    /// The same, and no clause begins with the phrase itself.
    InOrder(usize),
    /// An order opens a clause elsewhere in the sentence.
    OrderElsewhere,
    /// "you" and a modal verb stand up to eight words before; see [`Forms::addressed`].
    AfterAddress,
    /// A phrase with this cue follows at once.
    Then(Cue),
    /// None does.
    NotThen(Cue),
    /// A phrase with this cue stands right before.
    After(Cue),
    /// None does.
    NotAfter(Cue),
    /// No phrase with this cue that opens no clause stands right before.
    NotInnerAfter(Cue),
    /// A phrase with this cue follows, anywhere.
    Before(Cue),
    /// A phrase with this cue follows, at most so many words later.
    BeforeNear(Cue, usize),
    /// A word follows.
    HasNext,
    /// The next word is one of these.
    NextIs(&'static str),
    /// It is none of these.
    NextIsNot(&'static str),
    /// It ends in one of these.
    NextEnds(&'static str),
    /// It has more bytes than this.
    NextLongerThan(usize),
    /// The word after the next one ends in one of these.
    SecondEnds(&'static str),
    /// It is none of these.
    SecondIsNot(&'static str),
    /// One of these is among the next words, so many of them.
    Within(usize, &'static str),
    /// The word before is one of these.
    LastIs(&'static str),
    /// The word before is one of these, in small letters or capitals.
    LastIsFolded(&'static str),
    /// The word before is none of these.
    LastIsNot(&'static str),
    /// It has more bytes than this.
    LongerThan(usize),
    /// It is long enough to be a cap by itself; see [`Forms::short_caps`].
    IsLongCap,
    /// The next word has the form of an order.
    NextIsOrder,
    /// The word after the next one has.
    SecondIsOrder,
    /// The next word, after a pronoun, is a verb that a denial forbids; see [`Forms::denial`].
    NextIsForbidden,
    /// A date follows, at most so many words later.
    DateFollows(usize),
    /// A date stands before it, at most so many bytes away.
    DatePrecedes(usize),
    /// The phrase asks for something instead of telling of it: "I need …", but not "he must …".
    Asks,
    /// The phrase is no part of an idiom; without spaces.
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

/// What a language with spaces adds to the shared rules. Lists of words have a space between two words.
#[derive(Debug)]
pub(crate) struct Forms {
    /// What makes "never" or "always" at the beginning of a clause a demand.
    pub frequency: &'static [&'static [Test]],
    /// What else forbids.
    pub forbids: &'static [Row],
    /// What else binds.
    pub binds: &'static [Row],
    /// How many words may stand between a subject and its verb.
    pub subject_gap: usize,
    /// Endings of a word after "never" that tell a story, with the bytes that such a word has at least.
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
    /// The denial with which the language's forbidden verbs are listed among its cues.
    pub denial: &'static str,
    /// Words for "at most" that are no longer than so many bytes are no cap by themselves.
    pub short_caps: usize,
    /// Subjects of which a "must" tells.
    pub tellers: &'static str,
    /// Beginnings of verbs that ask, whoever the subject is.
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

/// An order, or a modal verb, or what money is spent on.
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

/// "never" and "always" demand in one of these ways; which of them is allowed in the language at hand, says the last row.
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

/// What forbids: the conditions beside those of time.
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
                // "Answer in German": no language without an answer.
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

/// "Das ist verboten" without saying what is no rule: a ban has at least four words.
pub(crate) const BAN: Row = (
    Cue::MustNot,
    &[T::NotReported, T::NoSubject, T::Sentence(&W::LeastWords(4))],
);
