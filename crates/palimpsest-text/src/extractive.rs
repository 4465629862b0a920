//! Summaries without a model: whole sentences, list items, code blocks and lines of the original, chosen
//! so that together they say the most for the tokens (P6, P8).
//!
//! A unit is worth the rare words that nothing chosen before has said, weighed by how likely it is that it says something
//! one may be asked about; a lazy greedy choice takes the best worth per token, and what is small talk is never taken.
//! What is chosen of one message stands on one line, in order, under the day it was said. Nothing is rewritten, so nothing
//! is made up, and the summary is in the conversation's own language. Deterministic: only integer and basic IEEE
//! arithmetic, ties by position, so native and wasm agree byte for byte.

mod date;
mod excerpt;
mod fade;
mod lines;
mod pool;
mod relative;
mod shorten;
mod together;
mod turns;
mod updates;
mod values;

use palimpsest_tokens::TokenCounter;
use serde::{Deserialize, Serialize};

pub use crate::words::worth::{LITTLE, announces_a_change, worth};
pub use date::{Day, day_at, iso_day};
pub use excerpt::{CUT, excerpt};
pub use fade::{Piece, fade, faded, joined};
pub use lines::lines_of;
pub use relative::undated;
pub use shorten::shorten;
pub use together::{Form as SummaryForm, Part as SummaryPart, Together};
pub(crate) use turns::speaker;
pub use updates::{changes, replacements};

pub use crate::retention::{Emphasis, Speaker};

use crate::retention::Known;

use crate::words::segment::UnitKind;
use lines::Lines;
use pool::{Pool, Wanted};
use turns::Turns;
use values::ValueLine;

/// A message, or the part of one that holds text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage<'a> {
    /// Its position in the conversation.
    pub id: u32,
    /// Who wrote it.
    pub role: Speaker,
    /// Its text.
    pub text: &'a str,
    /// The first byte of what it asks of tools, if it does: all after that is no prose.
    pub calls: Option<usize>,
    /// The day it was said, if that is known.
    pub day: Option<Day>,
}

impl<'a> Passage<'a> {
    /// Words of which nothing else is known.
    pub const fn new(id: u32, role: Speaker, text: &'a str) -> Self {
        Self {
            id,
            role,
            text,
            calls: None,
            day: None,
        }
    }
}

/// How a kept passage is introduced. The same in every language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Labels {
    /// Not at all.
    None,
    /// By the speaker where it is another than before, by the name where people's names stand before their words; and by
    /// the day where it is another than before.
    #[default]
    Speaker,
}

/// What is wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// The most tokens the summary may have. Never exceeded.
    pub target_tokens: u32,
    /// What matters most in this mode.
    pub emphasis: Emphasis,
    /// What the user wants kept above all (P10), in free words.
    pub focus: Option<&'a str>,
    /// How lines begin.
    pub labels: Labels,
    /// What was read of the passages.
    pub known: Option<&'a Known>,
}

/// A stretch of a passage that was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Kept {
    /// The passage.
    pub id: u32,
    /// First byte.
    pub start: u32,
    /// After the last byte.
    pub end: u32,
}

/// A summary made of the original's own words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// What was kept, in the original order: the sentences of a passage on one line.
    pub text: String,
    /// Tokens of `text`.
    pub tokens: u32,
    /// Where the pieces come from, in order.
    pub kept: Vec<Kept>,
    /// Where the pieces stand in `text`, the one that says the most for its tokens first.
    pub order: Vec<Piece>,
}

/// Summarises `passages` within `options.target_tokens`.
///
/// A sentence, list item, code block or line is kept whole or not at all, and never one that says nothing; if not one
/// fits, the best is shown as an [`excerpt`]. Empty input or a target of 0 give an empty summary.
pub fn summarize(
    passages: &[Passage<'_>],
    options: &Options<'_>,
    counter: &dyn TokenCounter,
) -> Summary {
    let turns = Turns::of(passages);
    let room = values::room(passages, options.target_tokens);
    let values = values::value_lines(passages, room, counter);
    let packed = values.iter().map(|v| counter.count(&v.text) + 3).sum();
    let pool = Pool::new(
        passages,
        &turns,
        options,
        if values.is_empty() {
            Wanted::Telling
        } else {
            Wanted::TellingBesideValues
        },
        counter,
    );
    let labelled = options.labels == Labels::Speaker;
    // A date and a name take about as much wherever they stand.
    let heading_cost = turns
        .turns
        .iter()
        .find_map(|t| t.day)
        .map_or(0, |day| counter.count(&turns.heading(day)) + 1);
    let name_cost: Vec<u32> = turns.names.iter().map(|n| counter.count(n) + 1).collect();
    let mut opened = vec![false; passages.len()];
    let mut days: Vec<Day> = Vec::new();
    let left = options.target_tokens.saturating_sub(packed);
    let chosen = pool.choose(left, |c, take| {
        if opened[c.passage] || !labelled {
            return 0;
        }
        let turn = &turns.turns[c.passage];
        let mut cost = name_cost[turn.speaker];
        if let Some(day) = turn.day
            && let Err(at) = days.binary_search(&day)
        {
            cost += heading_cost;
            if take {
                days.insert(at, day);
            }
        }
        opened[c.passage] |= take;
        cost
    });
    let mut order = ranked(&pool, &chosen, &values);
    while !order.is_empty() {
        let mut said = order.clone();
        crate::order::sort(&mut said);
        let mut lines = Lines::new(&turns, labelled);
        for part in &said {
            let text = passages[part.passage].text;
            match part.value {
                Some(n) => lines.add(part.passage, &values[n].text, UnitKind::Line),
                None => lines.say(part.passage, &text[part.start..part.end], part.kind()),
            }
        }
        let tokens = counter.count(&lines.text);
        if tokens > options.target_tokens {
            // The last choice was the least worth.
            order.pop();
            continue;
        }
        let kept = said.iter().map(|part| Kept {
            id: passages[part.passage].id,
            start: part.start as u32,
            end: part.end as u32,
        });
        let place = |part: &Part| said.binary_search(part).ok().map(|at| lines.pieces[at]);
        return Summary {
            tokens,
            kept: kept.collect(),
            order: order.iter().filter_map(place).collect(),
            text: lines.text,
        };
    }
    only_an_excerpt(&pool, passages, &turns, options, counter)
}

/// A unit or a line of values, ordered by its place; values stand after the words of their message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    passage: usize,
    value: Option<usize>,
    start: usize,
    end: usize,
    kind: u8,
}

impl Part {
    const fn kind(&self) -> UnitKind {
        match self.kind {
            0 => UnitKind::Sentence,
            1 => UnitKind::Code,
            _ => UnitKind::Line,
        }
    }
}

/// Units and lines of values, each in their order, taking turns by their share.
fn ranked(pool: &Pool, chosen: &[usize], values: &[ValueLine]) -> Vec<Part> {
    let mut all: Vec<Part> = Vec::with_capacity(chosen.len() + values.len());
    let (mut units, mut lines) = (
        chosen.iter().peekable(),
        values.iter().enumerate().peekable(),
    );
    while units.peek().is_some() || lines.peek().is_some() {
        let taken = (chosen.len() - units.len(), values.len() - lines.len());
        let next_is_value = (taken.1 + 1) * chosen.len() < (taken.0 + 1) * values.len();
        if units.peek().is_some() && (!next_is_value || lines.peek().is_none()) {
            let Some(c) = units.next().map(|&i| &pool.candidates[i]) else {
                break;
            };
            all.push(Part {
                passage: c.passage,
                value: None,
                start: c.unit.start,
                end: c.unit.end,
                kind: match c.unit.kind {
                    UnitKind::Sentence | UnitKind::Quote => 0,
                    UnitKind::Code => 1,
                    UnitKind::Item | UnitKind::Heading | UnitKind::Line => 2,
                },
            });
        } else if let Some((n, line)) = lines.next() {
            all.push(Part {
                passage: line.passage,
                value: Some(n),
                start: line.start,
                end: line.end,
                kind: 2,
            });
        }
    }
    all
}

fn only_an_excerpt(
    pool: &Pool,
    passages: &[Passage<'_>],
    turns: &Turns,
    options: &Options<'_>,
    counter: &dyn TokenCounter,
) -> Summary {
    let Some(c) = pool.best() else {
        return Summary::default();
    };
    let body = &passages[c.passage].text[c.unit.start..c.unit.end];
    let label = match options.labels {
        Labels::None => String::new(),
        Labels::Speaker => turns.label(&turns.turns[c.passage]),
    };
    let with_label = format!(
        "{label}{}",
        excerpt(
            body,
            options.target_tokens.saturating_sub(counter.count(&label)),
            counter
        )
    );
    let text = if counter.count(&with_label) <= options.target_tokens {
        with_label
    } else {
        excerpt(body, options.target_tokens, counter)
    };
    if text.is_empty() || text == label {
        return Summary::default();
    }
    Summary {
        tokens: counter.count(&text),
        text,
        kept: vec![Kept {
            id: passages[c.passage].id,
            start: c.unit.start as u32,
            end: c.unit.end as u32,
        }],
        order: Vec::new(),
    }
}
