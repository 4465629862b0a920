//! The signals of phrases, which show the kind of a sentence.

/// The signal of a phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cue {
    /// "never": forbids at the start of a clause, else it tells a story.
    Never,
    /// "always", likewise.
    Always,
    /// "don't": forbids at the start of a clause.
    Dont,
    /// "must not": forbids anywhere.
    MustNot,
    /// "must".
    Must,
    /// "should", "to": makes a following never or always a demand.
    Should,
    /// "I want you to": as [`Cue::Should`], and the subject may be the user.
    Wish,
    /// "from now on".
    FromNow,
    /// "in this project": makes what "we never" do a rule.
    Scope,
    /// "only".
    Only,
    /// "avoid", "refrain from".
    Avoid,
    /// "stop", before a verb in -ing.
    Stop,
    /// A verb in the imperative that asks for lasting behaviour.
    Imperative,
    /// "answer", "reply": with a language it is a demand.
    Answer,
    /// The name of a language.
    Tongue,
    /// "every time", "whenever".
    Every,
    /// "all", "any", "each" after "make sure".
    All,
    /// "make sure".
    Ensure,
    /// "budget".
    Budget,
    /// "at most", "no more than".
    Cap,
    /// "under", "below": a cap when something must stay so.
    Under,
    /// "deadline".
    Deadline,
    /// "by", "before" a date.
    By,
    /// "need", "finish", "due": makes a date a deadline.
    Need,
    /// I, he, she, it, they, we: another person acts.
    Subject,
    /// we: can make rules, but tells stories too.
    We,
    /// you.
    You,
    /// "spend": makes a cap a budget.
    Spend,
    /// "says", "told me", "according to".
    Reported,
    /// "yet", "for now", "this time".
    OneShot,
    /// After never or always: a story ("never seen").
    Story,
    /// After don't: comfort, not a rule ("don't worry").
    Idle,
    /// "please", "also": does not count as the start of a clause.
    Filler,
    /// was, had: the past.
    Past,
    /// "you may", "it's fine to".
    Permission,
    /// "now", "after all", "no longer", "instead".
    Change,
    /// "we decided", "let's go with".
    Decision,
    /// "I prefer".
    Preference,
    /// "no longer", "cannot", "is not": a fact by denial.
    Negation,
    /// A question word or particle.
    Question,
}
