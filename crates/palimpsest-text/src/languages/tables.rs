//! The tables that a language fills.
//!
//! A space separates words in a list, and a `|` separates phrases. A language leaves out the tables that it does not
//! need.

use super::cue::Cue;
use super::rules::Grammar;

/// All tables of one language.
#[derive(Debug)]
pub(crate) struct Tables {
    /// The script.
    pub script: Script,
    /// Letters that few other languages have, with the weight that each one adds to the evidence for this language.
    pub letters: &'static [(&'static str, f32)],
    /// Small letters that no other language of the script has. A sentence with one of them is in this language.
    pub own_letters: &'static str,
    /// The smallest, commonest words.
    pub small_words: &'static str,
    /// Small words that do not end a sentence. A text that ends with one is cut off.
    pub open_ends: &'static str,
    /// Abbreviations whose full stop ends no sentence, in small letters.
    pub abbreviations: &'static str,
    /// Beginnings of the months that follow the full stop of an ordinal: "am 14. März".
    pub months_after_ordinals: &'static str,
    /// Every noun has a capital letter, so a capital does not show a name.
    pub has_capital_nouns: bool,
    /// Words that tell a statement from small talk.
    pub worth: &'static Worth,
    /// Phrases that announce a demand, a decision, a denial and so on.
    pub cues: &'static [(Cue, &'static str)],
    /// The rules that turn cues into demands. `None` for languages whose demands are not read.
    pub grammar: Option<&'static Grammar>,
    /// The words for the judgement of standing instructions.
    pub standing: &'static Standing,
    /// Words of the user's habits and bounds, and of requests in the form of a question.
    pub personal: &'static Personal,
    /// Words that count in the comparison of two rules.
    pub rules: &'static RuleWords,
    /// Words that introduce text of other authors.
    pub pasted: &'static Pasted,
    /// Words of time that count from the day on which they are said.
    pub time: &'static Time,
    /// Words that make a number a quantity or a date.
    pub quantities: &'static Quantities,
    /// Words of models that refuse to write a summary.
    pub refusal: &'static Refusal,
    /// Words that end the head of a machine's message: "error: …".
    pub errors: &'static str,
    /// Names of secrets, in small letters, as phrases.
    pub secrets: &'static str,
}

impl Tables {
    /// A language that contributes nothing.
    pub(crate) const NONE: Self = Self {
        script: Script::Latin,
        letters: &[],
        own_letters: "",
        small_words: "",
        open_ends: "",
        abbreviations: "",
        months_after_ordinals: "",
        has_capital_nouns: false,
        worth: &Worth::NONE,
        cues: &[],
        grammar: None,
        standing: &Standing::NONE,
        personal: &Personal::NONE,
        rules: &RuleWords::NONE,
        pasted: &Pasted::NONE,
        time: &Time::NONE,
        quantities: &Quantities::NONE,
        refusal: &Refusal::NONE,
        errors: "",
        secrets: "",
    };
}

/// The script of a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Script {
    /// Latin letters, which many languages share.
    Latin,
    /// Cyrillic letters.
    Cyrillic,
    /// Chinese characters, without spaces between words.
    Han,
    /// Chinese characters and kana, without spaces between words.
    Kana,
    /// Letters of its own, which are enough to tell the language: ranges of code points.
    Own(&'static [(u32, u32)]),
}

impl Script {
    /// Returns `true` for scripts without spaces between words.
    pub(crate) const fn is_unspaced(self) -> bool {
        matches!(self, Self::Han | Self::Kana)
    }
}

/// Lists of words that tell a statement from small talk.
#[derive(Debug)]
pub(crate) struct Worth {
    /// Greetings, thanks, praise, interjections.
    pub filler: &'static str,
    /// Pronouns of the first person.
    pub first: &'static str,
    /// Pronouns of the second person.
    pub second: &'static str,
    /// Words of time.
    pub time: &'static str,
    /// Words that announce a change.
    pub change: &'static str,
    /// Contractions of small words.
    pub contractions: &'static str,
}

impl Worth {
    pub(crate) const NONE: Self = Self {
        filler: "",
        first: "",
        second: "",
        time: "",
        change: "",
        contractions: "",
    };
}

/// Words of the user's habits and bounds ("I never fly"), and of requests in the form of a question ("could you always …").
///
/// Every list holds phrases. In scripts without spaces the phrases of [`Personal::firm`] and [`Personal::passing`] may
/// stand anywhere in the clause.
#[derive(Debug)]
pub(crate) struct Personal {
    /// Phrases that may stand before the subject: "and", "please note that".
    pub leads: &'static str,
    /// The user as the subject: "i", "we".
    pub subjects: &'static str,
    /// The user with a verb of being or having, before a condition: "i'm", "i have".
    pub states: &'static str,
    /// Endings of verbs that have the user as their subject without a pronoun, apart by spaces. Empty where the subject is
    /// always said.
    pub own_endings: &'static str,
    /// Endings of verbs in the past, apart by spaces.
    pub past_endings: &'static str,
    /// Words that may stand between the subject and its verb.
    pub between: &'static str,
    /// Words after the verb among which a denial may stand. Zero where it always stands before the verb.
    pub denial_reach: usize,
    /// Words that make a lasting bound of any verb: "never".
    pub strict: &'static str,
    /// Words that make a habit of any verb: "always", "only".
    pub loose: &'static str,
    /// Denials that make a bound of the verbs in [`Personal::firm`] alone: "don't".
    pub denials: &'static str,
    /// Verbs of habits: "eat", "drive", "use".
    pub firm: &'static str,
    /// Verbs that tell of the moment, even after "never" and "don't": "know", "remember".
    pub passing: &'static str,
    /// Verbs and phrases of taste directly after the subject: "prefer", "avoid".
    pub tastes: &'static str,
    /// Words that say a lasting condition of the user: "allergic", "vegetarian".
    pub conditions: &'static str,
    /// Phrases that make a clause one of a moment or of the past: "today", "used to".
    pub moment: &'static str,
    /// Words before a mark that report something done: "booked:", "paid,".
    pub done: &'static str,
    /// Beginnings of requests: "could you", "it would be nice if you".
    pub requests: &'static str,
    /// Endings of requests, each with the form of an order in its place.
    pub request_ends: &'static [(&'static str, &'static str)],
    /// Words that make a request last: "always", "stop".
    pub lasting: &'static str,
}

impl Personal {
    pub(crate) const NONE: Self = Self {
        leads: "",
        subjects: "",
        states: "",
        own_endings: "",
        past_endings: "",
        between: "",
        denial_reach: 0,
        strict: "",
        loose: "",
        denials: "",
        firm: "",
        passing: "",
        tastes: "",
        conditions: "",
        moment: "",
        done: "",
        requests: "",
        request_ends: &[],
        lasting: "",
    };
}

/// The words for the judgement of standing instructions.
#[derive(Debug)]
pub(crate) struct Standing {
    /// Phrases by classes, packed. Empty for languages without this judgement.
    pub phrases: &'static str,
    /// "to" stands before an infinitive: a clause begins with the verb after "be sure to", and none begins after "want
    /// to".
    pub has_to_infinitive: bool,
    /// A denial before an unknown word denies a verb: "don't frobnicate".
    pub denies_unknown_verbs: bool,
    /// A pronoun may stand between "never" and its verb.
    pub has_pronoun_after_frequency: bool,
    /// The verb ends the sentence or the clause.
    pub is_verb_last: bool,
    /// Words that end a question without a question mark, as phrases.
    pub question_ends: &'static str,
    /// Words for money, as phrases.
    pub money: &'static str,
}

impl Standing {
    pub(crate) const NONE: Self = Self {
        phrases: "",
        has_to_infinitive: false,
        denies_unknown_verbs: false,
        has_pronoun_after_frequency: false,
        is_verb_last: false,
        question_ends: "",
        money: "",
    };
}

/// Words that count in the comparison of two rules.
#[derive(Debug)]
pub(crate) struct RuleWords {
    /// Names of the choices that exclude each other, by the choice's number in `retention::supersede`.
    pub choices: &'static [(Choice, &'static str)],
    /// Words of the frame of a rule, which say nothing about its topic.
    pub frame: &'static str,
    /// Words that deny the rest of the clause.
    pub denials: &'static str,
    /// The same words in a script without spaces.
    pub unspaced_denials: &'static str,
}

impl RuleWords {
    pub(crate) const NONE: Self = Self {
        choices: &[],
        frame: "",
        denials: "",
        unspaced_denials: "",
    };
}

/// A choice that a rule makes. Two choices of one [`Choice::slot`] exclude each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the names are the documentation
pub(crate) enum Choice {
    English,
    German,
    French,
    Spanish,
    Russian,
    Chinese,
    Japanese,
    Italian,
    Portuguese,
    OtherTongue,
    Tabs,
    Spaces,
    Metric,
    Imperial,
    Formal,
    Informal,
    British,
    American,
    Light,
    Dark,
    Short,
    Long,
    Single,
    Double,
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

/// Words that introduce text of other authors.
#[derive(Debug)]
pub(crate) struct Pasted {
    /// Names of the headers of a mail, as phrases.
    pub headers: &'static str,
    /// Beginnings of a letter, as phrases.
    pub formal_greetings: &'static str,
    /// Greetings that also begin a chat, as phrases.
    pub greetings: &'static str,
    /// Stems of a heading above rules, as phrases.
    pub rules: &'static str,
    /// Words by which a heading belongs to the user.
    pub own: &'static str,
    /// The same words in a script without spaces.
    pub unspaced_own: &'static str,
    /// Stems that ask for work on a text, or present or report one. The text follows after a colon.
    pub before_colon: &'static str,
    /// Stems that ask for work on a text that follows in the next lines, without a colon.
    pub before_text: &'static str,
}

impl Pasted {
    pub(crate) const NONE: Self = Self {
        headers: "",
        formal_greetings: "",
        greetings: "",
        rules: "",
        own: "",
        unspaced_own: "",
        before_colon: "",
        before_text: "",
    };
}

/// Words of time that count from the day on which they are said. All of them are folded.
#[derive(Debug)]
pub(crate) struct Time {
    /// Days and directions.
    pub words: &'static [(TimeWord, &'static str)],
    /// The numbers from one on. A comma stands between forms of one number.
    pub counts: &'static str,
    /// Units, with a comma between forms.
    pub units: &'static [(TimeUnit, &'static str)],
    /// Whole phrases of a script without spaces, a longer one before those in it.
    pub unspaced: &'static [(&'static str, TimeWord, TimeUnit)],
    /// Words before a phrase of time that make it a comparison: "it feels like just yesterday".
    pub likening: &'static str,
    /// The first three letters of the months from January on, with a comma between forms.
    pub months: &'static str,
    /// The words of dates. `None` means that dates are written in ISO 8601.
    pub dates: Option<&'static DateWords>,
}

impl Time {
    pub(crate) const NONE: Self = Self {
        words: &[],
        counts: "",
        units: &[],
        unspaced: &[],
        likening: "",
        months: "",
        dates: None,
    };
}

/// The words of a written date.
#[derive(Debug)]
pub(crate) struct DateWords {
    /// The names of the months.
    pub months: [&'static str; 12],
    /// "week before …", "week after …".
    pub week: [&'static str; 2],
    /// "weekend before …", "weekend after …".
    pub weekend: [&'static str; 2],
    /// "about …".
    pub about: &'static str,
}

/// The role of a word in a phrase of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeWord {
    /// A day, counted from the day on which the word is said.
    Day(i32),
    /// "last".
    Last,
    /// "next".
    Next,
    /// "ago": after a number and a unit.
    Ago,
    /// "vor", "hace": before a number and a unit.
    Before,
    /// "night".
    Night,
    /// A number.
    Count(i32),
    /// A unit of time.
    Unit(TimeUnit),
}

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    Days,
    Weeks,
    Weekend,
    Months,
    Years,
    /// A day of the week, 0 for Monday.
    Weekday(i32),
}

/// Words that make a number a quantity or a date.
#[derive(Debug)]
pub(crate) struct Quantities {
    /// Units of measure and of counted things. The code has the international units.
    pub units: &'static str,
    /// Units of a script without spaces, as phrases; a longer one before those in it.
    pub unspaced_units: &'static str,
    /// Names of months.
    pub months: &'static str,
    /// Full names of weekdays.
    pub weekdays: &'static str,
    /// Numbers in words.
    pub counts: &'static str,
    /// Endings of an ordinal in digits: "7th".
    pub ordinals: &'static str,
    /// Words that stand after the hour: "8 Uhr".
    pub hours: &'static str,
    /// Words between a day and its month: "7 de mayo".
    pub of: &'static str,
    /// Words that continue a unit: "3 million dollars".
    pub magnitudes: &'static str,
}

impl Quantities {
    pub(crate) const NONE: Self = Self {
        units: "",
        unspaced_units: "",
        months: "",
        weekdays: "",
        counts: "",
        ordinals: "",
        hours: "",
        of: "",
        magnitudes: "",
    };
}

/// Words of models that refuse to write a summary.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// Beginnings of a refusal, as phrases.
    pub openings: &'static str,
    /// Stems of the declined task, as phrases.
    pub declined: &'static str,
    /// Phrases under a heading without content.
    pub nothing: &'static str,
    /// Placeholders that stand for a whole summary, as phrases.
    pub placeholders: &'static str,
}

impl Refusal {
    pub(crate) const NONE: Self = Self {
        openings: "",
        declined: "",
        nothing: "",
        placeholders: "",
    };
}
