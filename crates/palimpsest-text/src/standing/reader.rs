//! Reads a sentence for the judgement: its phrases, its clauses and their content.

mod shapes;
mod unspaced;

use super::features::{Flag, Seen};
use super::table::{Phrases, Set, blank, next, phrases, set, wide};
use crate::languages::{List, each};
use crate::words::Language;
use crate::words::cues::{Word, quotes, words_of};
use crate::words::script::unspaced;

static QUESTION_ENDS: List = List::phrases(each!(standing.question_ends));
static MONEY: List = List::phrases(each!(standing.money));

/// The facts about a sentence besides its words.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub language: Language,
    /// It is an item of a list.
    pub item: bool,
    /// It names a file.
    pub file: bool,
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

/// Reads sentences, and reuses its lists from one to the next.
#[derive(Debug, Default)]
pub(super) struct Reader {
    words: Vec<Word>,
    quoted: Vec<(usize, usize)>,
    hits: Vec<Hit>,
    /// The classes of the phrases that begin at a word, and of the word alone.
    at: Vec<Set>,
    alone: Vec<Set>,
    starts: Vec<bool>,
    soft: Vec<bool>,
}

impl Reader {
    /// Returns the sentence `text[start..end]` as the judgement reads it. `None` for a language without tables.
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
        seen.on_if(Flag::Code, sentence.split_whitespace().any(code));
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

    fn find(&mut self, table: &Phrases) {
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

    /// Returns `true` if the sentence begins with a word of questions, or with a verb as an order does.
    pub(super) fn opens_a_request(&self) -> bool {
        self.begin(0) & (set!(Wh | YesNo) | VERB) != 0
    }

    fn single(&self, word: usize) -> Set {
        self.alone.get(word).copied().unwrap_or(0)
    }

    /// Returns the end of the longest phrase of one of these classes that begins at `word`.
    fn after(&self, word: usize, set: Set) -> Option<usize> {
        let here = self.hits.iter().filter(|h| h.from == word);
        here.filter(|h| h.set & set != 0).map(|h| h.to).max()
    }

    /// Finds the beginnings of clauses: after a mark, after a conjunction, after "please" and the like.
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
            if let Some((verb, known)) = self.denied_verb(k, language) {
                denied = true;
                k = verb;
                seen.on_if(Flag::DeniedVerb, known);
            }
            let mut frequent = false;
            if !denied && let Some((flag, verb)) = self.frequency(k, language) {
                frequent = true;
                if let Some(verb) = verb {
                    denied = flag == Flag::Never;
                    k = verb;
                    seen.on(flag);
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
        self.whole(main.is_some(), seen);
    }

    /// Returns the word after a denial such as "do not" at word `k`, and whether it is a verb that is known.
    fn denied_verb(&self, k: usize, language: Language) -> Option<(usize, bool)> {
        let begins = self.begin(k);
        if begins & set!(Dont) == 0 || self.single(k) & set!(Negation) == 0 {
            return None;
        }
        let mut then = self.after(k, set!(Dont)).unwrap_or(k + 1);
        while self.single(then) & set!(AfterNegation) != 0 {
            then += 1;
        }
        let known = self.begin(then) & VERB != 0;
        let any = language.tables().standing.denies_unknown_verbs
            && self.single(k) & set!(No | Contrast) == 0
            && then < self.words.len();
        ((known || any) && begins & set!(Idle) == 0).then_some((then, known))
    }

    /// Returns the flag of a word such as "never" at word `k`, and the verb after it if that is known.
    fn frequency(&self, k: usize, language: Language) -> Option<(Flag, Option<usize>)> {
        let classes = [
            (set!(Never), Flag::Never),
            (set!(Always), Flag::Always),
            (set!(Only), Flag::Only),
        ];
        let begins = self.begin(k);
        let (class, flag) = classes.into_iter().find(|(c, _)| begins & c != 0)?;
        let mut then = self.after(k, class).unwrap_or(k + 1);
        if language.tables().standing.has_pronoun_after_frequency
            && self.single(then) & set!(AfterNegation) != 0
        {
            then += 1;
        }
        let verb = self.begin(then) & VERB != 0;
        Some((flag, verb.then_some(then)))
    }

    /// Notes what the sentence holds as a whole. `orders`: one of its clauses gives an order.
    fn whole(&self, orders: bool, seen: &mut Seen) {
        for hit in &self.hits {
            if hit.set & VERB != 0 && hit.from > 0 && hit.from <= 3 && !hit.opens {
                seen.on(Flag::InnerVerb);
            }
            if hit.set & set!(No) != 0 && hit.opens {
                seen.on(Flag::Nothing);
            }
        }
        for k in 0..self.words.len().saturating_sub(1) {
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
        let says = orders || any(set!(ThingMust | YouMust | WeRule | Preference));
        let asks = seen.is(Flag::Question) || self.begin(0) & set!(Wh | YesNo) != 0;
        seen.on_if(Flag::Fragment, !subject && !says && !asks);
    }

    /// Returns `true` if an opening before word `i` continues with an order after a bare conjunction.
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

    /// Returns `true` if a longer fixed phrase covers the word.
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

    /// Drops a weak sign inside of a longer and stronger phrase: "this chat" points at nothing.
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
}

/// Returns `true` if the sentence asks, also through a particle without a question mark.
pub(super) fn question(sentence: &str) -> bool {
    let body = sentence.trim_end_matches(['"', '”', '」', ' ', ')']);
    if body.ends_with(['?', '？']) {
        return true;
    }
    let body = body.trim_end_matches('。');
    QUESTION_ENDS.all().iter().any(|end| body.ends_with(end))
}

/// Returns `true` for the name of one thing: capitals and digits, as in "RA21-4096".
fn code(word: &str) -> bool {
    let has = |is: fn(&u8) -> bool| word.as_bytes().iter().any(is);
    word.len() > 4 && has(u8::is_ascii_digit) && has(u8::is_ascii_uppercase)
}

fn money(sentence: &str) -> bool {
    sentence.contains(['$', '€', '£']) || MONEY.all().iter().any(|word| sentence.contains(word))
}
