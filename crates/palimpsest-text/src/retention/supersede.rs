//! Decides if one rule replaces another.

use super::FactClass;
use super::constraint::{ConstraintKind, Judge};
use super::scan::{Found, Scanner, Writer};
use crate::languages::cue::Cue;
use crate::languages::tables::Choice;
use crate::languages::{List, each};
use crate::words::cues::{Hit, Reading};
use crate::words::script::{fold, unspaced};
use crate::words::segment::{Unit, prose};
use crate::words::terms::{TermKind, each_term, hash};
use crate::words::{Language, small_word};

static FRAME: List = List::words(each!(rules.frame));
static DENIALS: List = List::words(each!(rules.denials));
static UNSPACED_DENIALS: List = List::phrases(each!(rules.unspaced_denials));

/// Returns `true` if the newer rule replaces the older one, see [`RuleReading::supersedes`].
pub fn supersedes(new: &str, old: &str) -> bool {
    RuleReading::of(new).supersedes(&RuleReading::of(old))
}

impl RuleReading {
    /// Returns `true` if this rule replaces an older one: the same topic with the opposite demand or another value.
    /// Two rules that can both be kept never replace each other.
    pub fn supersedes(&self, older: &Self) -> bool {
        let (a, b) = (self, older);
        if a.topic.is_empty() && a.slots.is_empty() && a.values.is_empty() {
            return false;
        }
        if a.text == b.text {
            return true;
        }
        let same_kind = match (a.kind, b.kind) {
            (Some(x), Some(y)) => {
                x == y && matches!(x, ConstraintKind::Budget | ConstraintKind::Deadline)
            }
            _ => false,
        };
        let shared = a.topic.iter().filter(|t| b.topic.contains(t)).count();
        let least = a.topic.len().min(b.topic.len());
        let near = least > 0 && shared * 2 >= least && shared >= 1;
        if same_kind {
            // Two budgets of different things stand side by side: "flights 300 €", "answers under 150 words". A budget that
            // names no thing replaces only one that names none either.
            let other_things = shared == 0 && !(a.topic.is_empty() && b.topic.is_empty());
            return (a.values != b.values || a.slots != b.slots) && !other_things;
        }
        // "Forget the rule about emojis", "you can use digits again": the common subject of both is no longer ruled.
        if a.lifts && !b.lifts {
            let chosen = |x: &Slot| b.slots.iter().any(|y| x.of == y.of && x.choice == y.choice);
            let valued = |v: &u64| b.values.contains(v);
            let holds = if a.said.contains(unspaced) {
                shares_run(&a.said, &b.said)
            } else {
                shared > 0
            };
            if holds || a.slots.iter().any(chosen) || a.values.iter().any(valued) {
                return true;
            }
        }
        // The same slot with another choice: German → English, tabs → spaces, npm → pnpm.
        let about_the_same = near || shared > 0 || a.topic.is_empty() || b.topic.is_empty();
        let clash = a.slots.iter().any(|x| {
            b.slots.iter().any(|y| {
                // Two choices exclude each other, and so do a choice and its denial.
                x.of == y.of
                    && !(x.denied && y.denied)
                    && ((x.denied == y.denied) != (x.choice == y.choice))
            })
        });
        if clash && about_the_same {
            return true;
        }
        if !near {
            return false;
        }
        if a.denies != b.denies {
            // "Never push to main" and "You may push to main now".
            return shared * 3 >= a.topic.len().max(b.topic.len()).min(6) * 2 || shared == least;
        }
        // Two prohibitions of one number each hold side by side, and so do rules that name different things: "never open port 22",
        // "never open port 80". An amount of money is a limit, of which there is one: "don't spend more than $300". With several
        // numbers it is one report after the other: "parcel 12 weighs 3 kg, never to the neighbour".
        let is_amount = |text: &str| text.contains(['$', '€', '£', '¥']);
        let limits = is_amount(&a.said) && is_amount(&b.said);
        let reports = a.values.len() > 1 && b.values.len() > 1;
        let of_one_thing = shared == least && (limits || reports || !(a.denies && b.denies));
        !a.values.is_empty() && !b.values.is_empty() && a.values != b.values && of_one_thing
    }
}

/// Returns `true` if both contain the same content word, in a script without spaces: two characters in Japanese, where
/// grammar has an alphabet of its own, three in Chinese.
fn shares_run(new: &str, old: &str) -> bool {
    let hiragana = |c: char| ('ぁ'..='ゟ').contains(&c);
    let size = if new.contains(hiragana) { 2 } else { 3 };
    let content: Vec<char> = new.chars().collect();
    content.windows(size).any(|run| {
        let run_of_content = run.iter().all(|c| unspaced(*c) && !hiragana(*c));
        run_of_content && old.contains(run.iter().collect::<String>().as_str())
    })
}

/// A choice that a rule makes or forbids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Slot {
    of: usize,
    choice: usize,
    denied: bool,
}

/// A rule as it is compared with others. Who compares many makes each of them once.
pub struct RuleReading {
    /// The words as they were said.
    said: String,
    /// The words in small letters, with single spaces.
    text: String,
    /// The content words in order.
    topic: Vec<u64>,
    /// Numbers and dates.
    values: Vec<u64>,
    /// Choices that exclude others.
    slots: Vec<Slot>,
    /// It forbids something.
    denies: bool,
    /// It ends an earlier rule.
    lifts: bool,
    /// The kind of demand; `None` if it is not a demand.
    kind: Option<ConstraintKind>,
}

/// Choices between names that every language spells the same, by slot.
const NAMES: [&[&str]; 5] = [
    &["json", "yaml", "xml", "csv", "markdown", "toml"],
    &["npm", "yarn", "pnpm", "bun"],
    &["celsius", "fahrenheit"],
    &[
        "python",
        "javascript",
        "typescript",
        "rust",
        "java",
        "golang",
    ],
    &["mysql", "postgres postgresql", "sqlite", "mongodb"],
];

/// The slot of a choice: two choices of one slot exclude each other.
const fn slot(choice: Choice) -> usize {
    use Choice as C;
    NAMES.len()
        + match choice {
            C::English
            | C::German
            | C::French
            | C::Spanish
            | C::Russian
            | C::Chinese
            | C::Japanese
            | C::Italian
            | C::Portuguese
            | C::OtherTongue => 0,
            C::Tabs | C::Spaces => 1,
            C::Metric | C::Imperial => 2,
            C::Formal | C::Informal => 3,
            C::British | C::American => 4,
            C::Light | C::Dark => 5,
            C::Short | C::Long => 6,
            C::Single | C::Double => 7,
            C::Monday
            | C::Tuesday
            | C::Wednesday
            | C::Thursday
            | C::Friday
            | C::Saturday
            | C::Sunday => 8,
        }
}

impl RuleReading {
    /// Reads a rule.
    pub fn of(text: &str) -> Self {
        let mut judge = Judge::new(text);
        let units = prose(text);
        let lifts = units.iter().any(|u| judge.lifts(text, u));
        let decided = units.iter().find_map(|u| judge.judge(text, u));
        let kind = decided.map(|decided| decided.kind);
        let mut reading = Reading::default();
        reading.read(text, 0, text.len());
        let mut folded = String::with_capacity(text.len());
        text.chars().for_each(|c| fold(c, &mut folded));
        let (slots, chosen) = choices(&folded);
        let values = figures(text, &units);
        Self {
            said: text.to_owned(),
            topic: topic(text, &reading, &values, &chosen),
            values: hashes(text, &values),
            slots,
            denies: denies(kind, &reading),
            lifts,
            kind,
            text: folded.split_whitespace().collect::<Vec<_>>().join(" "),
        }
    }
}

fn denies(kind: Option<ConstraintKind>, reading: &Reading) -> bool {
    let has = |cues: &[Cue]| reading.hits.iter().any(|h| cues.contains(&h.cue));
    match kind {
        Some(ConstraintKind::Prohibition) => true,
        Some(ConstraintKind::Permission) => false,
        _ => {
            let permits = has(&[Cue::Permission]) && !has(&[Cue::MustNot]);
            let forbids = [Cue::Never, Cue::Dont, Cue::MustNot, Cue::Avoid, Cue::Stop];
            has(&forbids) && !permits
        }
    }
}

/// Returns the choices that a folded text names, and the hashes of the words that name them. In "use tabs, not spaces"
/// the choice after the denial is the opposite one.
fn choices(folded: &str) -> (Vec<Slot>, Vec<u64>) {
    let (mut slots, mut chosen) = (Vec::new(), Vec::new());
    let mut name = String::new();
    let begins = beginnings(folded);
    let mut see = |of: usize, choice: usize, words: &str| {
        for word in words.split(' ') {
            name.clear();
            // most names begin as no word of the text does
            word.chars().take(1).for_each(|c| fold(c, &mut name));
            if !name.bytes().next().is_some_and(|b| begins[b as usize]) {
                continue;
            }
            name.clear();
            word.chars().for_each(|c| fold(c, &mut name));
            let Some(at) = find_word(folded, &name) else {
                continue;
            };
            let found = Slot {
                of,
                choice,
                denied: denied_before(&folded[..at]),
            };
            if !slots.contains(&found) {
                slots.push(found);
            }
            each_term(&name, |t| chosen.push(t.hash));
        }
    };
    for (of, names) in NAMES.iter().enumerate() {
        for (choice, words) in names.iter().enumerate() {
            see(of, choice, words);
        }
    }
    for language in Language::ALL {
        for (choice, words) in language.tables().rules.choices {
            see(slot(*choice), *choice as usize, words);
        }
    }
    crate::order::sort(&mut slots);
    (slots, chosen)
}

/// Returns the bytes with which words of a text begin; any character of a script without spaces may begin one.
fn beginnings(text: &str) -> [bool; 256] {
    let mut begins = [false; 256];
    let mut inside = false;
    for (at, c) in text.char_indices() {
        if !inside || unspaced(c) {
            begins[text.as_bytes()[at] as usize] = true;
        }
        inside = c.is_alphanumeric();
    }
    begins
}

/// Numbers and dates of a text.
fn figures(text: &str, units: &[Unit]) -> Vec<Found> {
    let mut scanner = Scanner::default();
    let mut found = Vec::new();
    for unit in units {
        scanner.scan(text, unit, Writer::Person, &mut found);
    }
    found.retain(|f| matches!(f.class, FactClass::Number | FactClass::Date));
    found
}

/// The hashes of values without their spaces, sorted.
fn hashes(text: &str, values: &[Found]) -> Vec<u64> {
    let mut folded = String::new();
    let mut hashes: Vec<u64> = Vec::with_capacity(values.len());
    for value in values {
        folded.clear();
        let letters = text[value.start..value.end].chars();
        letters
            .filter(|c| !c.is_whitespace())
            .for_each(|c| fold(c, &mut folded));
        hashes.push(hash(folded.as_bytes()));
    }
    hashes.sort_unstable();
    hashes
}

/// Returns the content words of a rule, without its frame, cues, values and names of choices.
fn topic(text: &str, reading: &Reading, values: &[Found], chosen: &[u64]) -> Vec<u64> {
    let is_frame = |hit: &&Hit| !matches!(hit.cue, Cue::Imperative | Cue::Answer | Cue::Need);
    let covered = |start: usize, end: usize| {
        let mut cues = reading.hits.iter().filter(is_frame);
        cues.any(|hit| hit.start <= start && end <= hit.end)
            || values.iter().any(|v| v.start <= start && end <= v.end)
    };
    let mut topic = Vec::new();
    for (start, end) in content_words(text) {
        if covered(start, end) {
            continue;
        }
        each_term(&text[start..end], |t| {
            let is_content = t.kind != TermKind::Number && small_word(t.hash) == 0;
            if is_content && !chosen.contains(&t.hash) && !topic.contains(&t.hash) {
                topic.push(t.hash);
            }
        });
    }
    topic
}

/// Returns the byte ranges of the words that carry the topic: without small words and the frame of a rule.
fn content_words(text: &str) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut start = None;
    let mut folded = String::new();
    let mut close = |start: &mut Option<usize>, end: usize, folded: &mut String| {
        if let Some(s) = start.take()
            && small_word(hash(folded.as_bytes())) == 0
            && !FRAME.has(folded)
        {
            out.push((s, end));
        }
        folded.clear();
    };
    for (i, c) in text.char_indices() {
        if c.is_alphanumeric()
            || matches!(c, '_' | '\'' | '’')
            || crate::words::script::combining(c)
        {
            start.get_or_insert(i);
            fold(if c == '’' { '\'' } else { c }, &mut folded);
        } else {
            close(&mut start, i, &mut folded);
        }
    }
    close(&mut start, text.len(), &mut folded);
    out
}

fn find_word(text: &str, word: &str) -> Option<usize> {
    let wide = word.chars().any(unspaced);
    let mut from = 0;
    while let Some(at) = text[from..].find(word).map(|p| p + from) {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        if wide
            || !before.is_some_and(char::is_alphanumeric)
                && !after.is_some_and(char::is_alphanumeric)
        {
            return Some(at);
        }
        from = at + word.len().max(1);
        if from >= text.len() {
            break;
        }
    }
    None
}

/// Returns `true` if the clause denies before the word: "never spaces", "instead of npm".
fn denied_before(before: &str) -> bool {
    let clause = before
        .rsplit([',', ';', '.', ':', '，', '。', '；', '、'])
        .next()
        .unwrap_or(before);
    let words = clause.rsplit(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’')));
    let mut near = words.filter(|w| !w.is_empty()).take(4);
    near.any(|w| DENIALS.has(w)) || UNSPACED_DENIALS.all().iter().any(|d| clause.contains(d))
}
