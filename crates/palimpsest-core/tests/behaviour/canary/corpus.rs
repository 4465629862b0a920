//! Conversations made from parts, with sentences planted that nobody could guess.
//!
//! The ordinary text holds paths, numbers, dates, wishes and decisions too, so that a planted sentence is not
//! known by its form: it is one such sentence among many. Half of the planted facts are plain words.

/// xorshift64*, so that the corpus is the same everywhere.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub(crate) fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

/// What a planted sentence is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    Path,
    Id,
    Number,
    Date,
    Constraint,
    Decision,
    Preference,
    /// A fact in plain words, without digits, capitals or cue words.
    Plain,
}

pub(crate) const CLASSES: [Class; 8] = [
    Class::Path,
    Class::Id,
    Class::Number,
    Class::Date,
    Class::Constraint,
    Class::Decision,
    Class::Preference,
    Class::Plain,
];

impl Class {
    /// Whether the planted thing could be found by its form alone.
    pub(crate) fn has_form(self) -> bool {
        matches!(self, Self::Path | Self::Id | Self::Number | Self::Date)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    User,
    Assistant,
    Tool,
}

pub(crate) struct Message {
    pub(crate) who: Who,
    pub(crate) text: String,
}

pub(crate) struct Canary {
    pub(crate) class: Class,
    /// 0 (oldest) to 9.
    pub(crate) depth: usize,
    /// What must be found in the summary.
    pub(crate) needle: String,
}

pub(crate) struct Conversation {
    pub(crate) messages: Vec<Message>,
    pub(crate) canaries: Vec<Canary>,
}

struct Topic {
    user: &'static [&'static str],
    assistant: &'static [&'static str],
    tool: &'static [&'static str],
}

const NOUNS: &[&str] = &[
    "importer",
    "scheduler",
    "invoice",
    "garden",
    "kitchen",
    "parser",
    "notebook",
    "landlord",
    "ferry",
    "curtain",
    "backup",
    "gateway",
    "recipe",
    "choir",
    "workshop",
    "cellar",
    "tractor",
    "playlist",
    "harbour",
    "greenhouse",
    "bakery",
    "museum",
    "ledger",
    "staircase",
    "orchard",
    "lantern",
    "violin",
    "archive",
    "compass",
    "balcony",
    "fountain",
    "saddle",
    "thermostat",
    "projector",
    "mosaic",
];
const ADJECTIVES: &[&str] = &[
    "narrow", "dusty", "quiet", "amber", "crooked", "hollow", "velvet", "brisk", "mellow", "rusty",
    "gentle", "faded", "salty", "wooden", "silver", "muddy", "tangled", "frosty", "humble",
    "speckled",
];
const NAMES: &[&str] = &[
    "Marta", "Jonas", "Priya", "Wei", "Olu", "Sofia", "Henrik", "Amal", "Tomas", "Yuki", "Clara",
    "Diego",
];
const VERBS: &[&str] = &[
    "repaint",
    "measure",
    "rewrite",
    "postpone",
    "borrow",
    "polish",
    "split",
    "rename",
    "compare",
    "collect",
    "review",
    "shrink",
    "replace",
    "sort",
    "translate",
    "test",
];

const TOPICS: &[Topic] = &[
    Topic {
        user: &[
            "The {n} job fails again when the {n2} is larger than {k} rows.",
            "Can you look at {path} and tell me why the {n} is slow?",
            "I think the problem is in the {a} part of the {n}.",
            "It worked last week, before {name} changed the {n2}.",
            "Let's try to {v} the {n} first and see what happens.",
            "How would you {v} the {n2} without touching the {n}?",
            "The test for the {n} takes {m} seconds on my machine.",
            "That looks better, but the {n} still prints a warning.",
            "I would like the {n2} to be easier to read.",
            "What does the {a} flag do?",
            "I decided to leave the {n} for later.",
            "I like the {a} version.",
            "Never mind the {n2}, it was my mistake.",
            "I never use the {n2} myself.",
            "{name} always runs it with the {a} {n2}.",
        ],
        assistant: &[
            "The {n} reads the whole file before it starts, so memory grows with the {n2}.",
            "You can see this in {path}, where the loop runs once per {n2}.",
            "A simple way is to {v} the {n} in batches of {k} rows.",
            "The {a} branch is only taken when the {n2} is empty.",
            "I suggest that we {v} the {n} before we touch the {n2}.",
            "This keeps the {n} small and makes the {n2} easier to test.",
            "The change affects {m} files and does not alter the public interface.",
            "If the {n2} is missing, the function returns early and the {n} stays as it was.",
            "There are two ways to {v} it, and the {a} one is easier to undo.",
            "The warning comes from an old {n2} that nobody calls any more.",
            "In the version from {date} the {n} was still written by hand.",
            "Once the {n} is in place, the {n2} can be removed safely.",
            "Would you like me to {v} the {n} now?",
        ],
        tool: &[
            "{path}:{m}: fn load_{n}(source: &Path) -> Result<{N}>",
            "INFO {n} started with {k} items",
            "test {n}::{n2}_round_trip ... ok ({m} ms)",
            "WARN {n2} not configured, using default",
            "drwxr-xr-x {m} dev dev {k} {n}",
            "GET /v1/{n}/{m} 200 {m}ms",
            "compiled {m} modules in {m}.{m}s",
        ],
    },
    Topic {
        user: &[
            "We want to {v} the {n} before the guests come.",
            "My sister thinks the {n2} is too {a} for the room.",
            "How long does it take to {v} a {n} of that size?",
            "The old {n} cost about {k} euros, which is a lot.",
            "I spoke with {name} about the {n2} yesterday.",
            "The {a} {n} near the {n2} looks nice, doesn't it?",
            "Could we {v} the {n2} ourselves?",
            "I am not sure that the {n} fits next to the {n2}.",
            "What would you do with a {a} {n2}?",
            "Last summer we had to {v} it twice.",
            "We decided to {v} the {n2} some other time.",
            "I prefer something less {a}.",
            "Don't worry about the {n}.",
            "We always had a {n2} there when I was a child.",
            "The {n2} is under the {n}.",
        ],
        assistant: &[
            "A {a} {n} usually needs a dry day and some patience.",
            "You could {v} the {n} in the morning and the {n2} after lunch.",
            "Most people underestimate the {n2}, because it looks smaller than it is.",
            "For a room of {m} square metres a {a} {n2} is enough.",
            "If {name} helps, the {n} can be done in an afternoon.",
            "The {n2} should stand a little away from the {n}, so that air can pass.",
            "That is a lovely idea, and the {n} will look even better in the evening light.",
            "It is worth asking for a second offer before you {v} anything.",
            "The shop on the corner sold a similar {n} for {k} euros on {date}.",
            "Try a small part first and look at the {n2} from the door.",
            "Cleaning the {n} takes about {m} minutes.",
            "Some people like a {a} {n}, others find it too much next to a {n2}.",
            "Shall I list what you need to {v} the {n}?",
        ],
        tool: &[
            "result {m}: {a} {n} with {n2}, {k} EUR, in stock",
            "result {m}: how to {v} a {n} at home - {m} comments",
            "opening hours of the {n}: {m}:00 to {m}:30",
            "weather {date}: {m} degrees, light wind",
            "map: {n} street {m}, {m} km away",
        ],
    },
    Topic {
        user: &[
            "I have been reading about the {n} of the {a} {n2}.",
            "{name} says the {n} course is harder than it looks.",
            "Please explain the difference between a {n} and a {n2}.",
            "I got {m} points in the exercise about the {n}.",
            "The chapter on the {a} {n} has {m} pages.",
            "Why do they {v} the {n2} at all?",
            "That was clearer than in the book.",
            "I always mix up the {n} and the {n2}.",
            "Give me an example with a {a} {n}.",
            "We discussed the {n2} in class on {date}.",
            "I don't know what a {n2} is.",
            "{name} decided to drop the course.",
            "I love how the {n} turns out in the end.",
            "You must be tired of my questions.",
            "The {n2} belongs to the {a} {n}.",
        ],
        assistant: &[
            "Think of the {n} as a {a} {n2} that somebody left open.",
            "The main difference is that a {n} can be moved, while a {n2} cannot.",
            "Historically the {n} came first, and the {n2} was added about {m} years later.",
            "An example: {name} wants to {v} a {n}, but only has a {a} {n2}.",
            "In the exercise the {n2} plays the role of the {n}.",
            "It helps to draw the {n} on paper and to mark every {a} corner.",
            "Many textbooks skip this step, which makes the {n2} look like magic.",
            "The formula has {m} terms, and all but one vanish when the {n} is {a}.",
            "A good answer names the {n}, the {n2} and the reason in one sentence.",
            "You already know most of it from the chapter on the {n2}.",
            "Notice that nothing changes if we {v} the {n} first.",
            "The {a} case is rare, and examiners like it for that reason.",
            "Does that make the {n} clearer?",
        ],
        tool: &[
            "page {m}: the {n} and the {n2}",
            "score: {m} of {m}, topic {n}",
            "search: {k} results for {a} {n}",
            "note saved: {n2} ({m} words)",
        ],
    },
];

/// A conversation of about `turns` exchanges with ten planted sentences, one per tenth of its length.
pub(crate) fn conversation(seed: u64, turns: usize) -> Conversation {
    let mut dice = Dice::new(seed + 1);
    let topic = &TOPICS[dice.below(TOPICS.len())];
    let mut messages = Vec::new();
    for _ in 0..turns {
        let sentences = 1 + dice.below(3);
        let text = passage(&mut dice, topic.user, sentences);
        messages.push(Message {
            who: Who::User,
            text,
        });
        if dice.below(4) == 0 {
            let mut lines = Vec::new();
            for _ in 0..4 + dice.below(8) {
                let form = dice.pick(topic.tool);
                lines.push(fill(&mut dice, form));
            }
            messages.push(Message {
                who: Who::Tool,
                text: lines.join("\n"),
            });
        }
        let sentences = 3 + dice.below(5);
        let mut text = passage(&mut dice, topic.assistant, sentences);
        if dice.below(5) == 0 {
            for _ in 0..3 {
                let form = dice.pick(topic.assistant);
                text.push_str("\n- ");
                text.push_str(&fill(&mut dice, form));
            }
        }
        messages.push(Message {
            who: Who::Assistant,
            text,
        });
    }
    with_canaries(messages, seed)
}

/// Plants ten sentences into a conversation, one per tenth of its length.
pub(crate) fn with_canaries(mut messages: Vec<Message>, seed: u64) -> Conversation {
    let mut dice = Dice::new(seed + 77);
    let mut canaries = Vec::new();
    for depth in 0..10 {
        let class = CLASSES[(depth + seed as usize) % CLASSES.len()];
        let (sentence, needle) = planted(&mut dice, class);
        let tenth = messages.len() / 10;
        let mut at = depth * tenth + dice.below(tenth.max(1));
        // Demands and tastes are the user's; other facts come from anyone who writes sentences.
        let by_user = matches!(
            class,
            Class::Constraint | Class::Preference | Class::Decision | Class::Plain
        );
        while at < messages.len() {
            let fits = if by_user {
                messages[at].who == Who::User
            } else {
                messages[at].who != Who::Tool
            };
            if fits {
                break;
            }
            at += 1;
        }
        let Some(message) = messages.get_mut(at) else {
            continue;
        };
        plant(&mut dice, &mut message.text, &sentence);
        canaries.push(Canary {
            class,
            depth,
            needle,
        });
    }
    Conversation { messages, canaries }
}

fn passage(dice: &mut Dice, forms: &[&str], sentences: usize) -> String {
    let mut out = Vec::new();
    for _ in 0..sentences {
        let form = dice.pick(forms);
        out.push(fill(dice, form));
    }
    out.join(" ")
}

/// At the start, in the middle or at the end of the first paragraph.
fn plant(dice: &mut Dice, text: &mut String, sentence: &str) {
    let end = text.find('\n').unwrap_or(text.len());
    let mut borders = vec![0, end];
    for (i, _) in text[..end].match_indices(". ") {
        borders.push(i + 2);
    }
    let at = borders[dice.below(borders.len())];
    let mut piece = String::new();
    if at > 0 && !text[..at].ends_with(' ') {
        piece.push(' ');
    }
    piece.push_str(sentence);
    if at < end {
        piece.push(' ');
    }
    text.insert_str(at, &piece);
}

/// A sentence with something in it that cannot be guessed, and that something.
fn planted(dice: &mut Dice, class: Class) -> (String, String) {
    let (n, n2, a) = (dice.pick(NOUNS), dice.pick(NOUNS), dice.pick(ADJECTIVES));
    let name = dice.pick(NAMES);
    let odd = syllables(dice, 3);
    match class {
        Class::Path => {
            let needle = format!(
                "{}/{odd}/{n}_{}.{}",
                dice.pick(&["src", "docs", "etc", "media"]),
                syllables(dice, 2),
                dice.pick(&["toml", "rs", "odt", "csv"])
            );
            let forms = [
                "The {n2} is kept in {x}.",
                "Look at {x} for the {a} one.",
                "I moved it to {x} this morning.",
                "{name} put the {n2} under {x}.",
            ];
            (say(dice, &forms, &needle, n2, a, name), needle)
        }
        Class::Id => {
            let needle = format!(
                "{:06x}{:06x}",
                dice.next() % 0xFF_FFFF,
                dice.next() % 0xFF_FFFF
            );
            let forms = [
                "The {n2} has the number {x}.",
                "It is registered as {x}.",
                "{name} gave me {x} for the {n2}.",
                "The {a} one answers to {x}.",
            ];
            (say(dice, &forms, &needle, n2, a, name), needle)
        }
        Class::Number => {
            let needle = format!(
                "{}.{} {}",
                11 + dice.below(900),
                1 + dice.below(9),
                dice.pick(&["kg", "litres", "metres", "GB", "kWh"])
            );
            let forms = [
                "The {n2} holds {x}.",
                "We measured {x} at the {a} end.",
                "{name} ordered {x} for the {n2}.",
                "It came to {x} in the end.",
            ];
            (say(dice, &forms, &needle, n2, a, name), needle)
        }
        Class::Date => {
            let month = dice.pick(&["January", "March", "May", "August", "October", "December"]);
            let needle = format!("{} {month} 20{}", 1 + dice.below(28), 31 + dice.below(60));
            let forms = [
                "The {n2} closes on {x}.",
                "{name} arrives on {x}.",
                "It was promised for {x}.",
                "The {a} one dates from {x}.",
            ];
            (say(dice, &forms, &needle, n2, a, name), needle)
        }
        Class::Constraint => {
            let needle = format!("the {odd} {n}");
            let forms = [
                "Never {v} {x} without asking me.",
                "From now on, always mention {x} first.",
                "Do not {v} {x} in any answer.",
                "You must leave {x} as it is.",
                "Please never suggest {x} again.",
            ];
            (say(dice, &forms, &needle, n2, a, name), needle)
        }
        Class::Decision => {
            let needle = format!("the {odd} {n}");
            let forms = [
                "We decided to keep {x}.",
                "Let's go with {x}.",
                "We agreed on {x} for the {n2}.",
                "I chose {x} in the end.",
            ];
            (say(dice, &forms, &needle, n2, a, name), needle)
        }
        Class::Preference => {
            let needle = format!("{odd} {n}");
            let forms = [
                "I prefer the {x} to the {n2}.",
                "My favourite is the {x}.",
                "I really like the {x} more than anything {a}.",
                "I can't stand the {x}.",
            ];
            (say(dice, &forms, &needle, n2, a, name), needle)
        }
        Class::Plain => {
            let (x, y) = (dice.pick(NOUNS), dice.pick(ADJECTIVES));
            let needle = format!("{y} {x} behind the {a} {n}");
            let forms = [
                "the key hangs in the {x}.",
                "the spare one lies under the {x}.",
                "our cat sleeps in the {x}.",
                "the old map is hidden in the {x}.",
            ];
            (say(dice, &forms, &needle, n2, a, name), needle)
        }
    }
}

fn say(dice: &mut Dice, forms: &[&str], needle: &str, n2: &str, a: &str, name: &str) -> String {
    let verb = dice.pick(VERBS);
    let text = dice
        .pick(forms)
        .replace("{x}", needle)
        .replace("{n2}", n2)
        .replace("{a}", a)
        .replace("{name}", name)
        .replace("{v}", verb);
    let mut chars = text.chars();
    chars
        .next()
        .map_or(String::new(), |c| c.to_uppercase().chain(chars).collect())
}

/// A word that does not exist.
fn syllables(dice: &mut Dice, n: usize) -> String {
    let mut out = String::new();
    for _ in 0..n {
        out.push_str(dice.pick(&[
            "ba", "ke", "lo", "mi", "nu", "ra", "so", "ti", "vo", "zu", "fen", "gor", "hal", "pim",
            "wex", "dra",
        ]));
    }
    out
}

fn fill(dice: &mut Dice, form: &str) -> String {
    let mut out = String::new();
    let mut rest = form;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        let Some(close) = rest[open..].find('}') else {
            break;
        };
        let slot = &rest[open + 1..open + close];
        let value = match slot {
            // Ordinary talk has rare words too.
            "n2" if dice.below(3) == 0 => format!("{} {}", syllables(dice, 3), dice.pick(NOUNS)),
            "name" if dice.below(3) == 0 => {
                let word = syllables(dice, 2);
                word[..1].to_uppercase() + &word[1..]
            }
            "n" | "n2" => dice.pick(NOUNS).to_owned(),
            "N" => {
                let word = dice.pick(NOUNS);
                word[..1].to_uppercase() + &word[1..]
            }
            "a" => dice.pick(ADJECTIVES).to_owned(),
            "v" => dice.pick(VERBS).to_owned(),
            "name" => dice.pick(NAMES).to_owned(),
            "k" => (100 + dice.below(9000)).to_string(),
            "m" => (2 + dice.below(90)).to_string(),
            "date" => format!(
                "{} {} 20{}",
                1 + dice.below(28),
                dice.pick(&["February", "April", "June", "July", "September", "November"]),
                10 + dice.below(20)
            ),
            "path" => format!(
                "{}/{}_{}.{}",
                dice.pick(&["src", "lib", "docs"]),
                dice.pick(NOUNS),
                dice.pick(NOUNS),
                dice.pick(&["rs", "md", "json"])
            ),
            _ => slot.to_owned(),
        };
        out.push_str(&value);
        rest = &rest[open + close + 1..];
    }
    out.push_str(rest);
    out
}
