//! Summaries without a model: whole sentences, list items, code blocks and lines of the original, chosen
//! so that together they say the most for the tokens (P6, P8).
//!
//! A unit is worth the rare words and the facts that nothing chosen before has said, weighed by who said it
//! and where; a lazy greedy choice takes the best worth per token. Nothing is rewritten, so nothing is made up,
//! and the summary is in the conversation's own language. Deterministic: only integer and basic IEEE arithmetic,
//! ties by position, so native and wasm agree byte for byte.

mod excerpt;
mod pool;
mod shorten;

use palimpsest_tokens::TokenCounter;
use serde::{Deserialize, Serialize};

pub use excerpt::excerpt;
pub use shorten::shorten;

pub use crate::retention::{Emphasis, Speaker};

use crate::retention::segment::UnitKind;
use pool::Pool;

/// A message, or the part of one that holds text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage<'a> {
    /// Its position in the conversation.
    pub id: u32,
    /// Who wrote it.
    pub role: Speaker,
    /// Its text.
    pub text: &'a str,
}

/// How a kept passage is introduced. The same in every language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Labels {
    /// Not at all.
    None,
    /// By its position: `12: …`.
    Place,
    /// By speaker and position: `U12: …`, `A13: …`, `T14: …`.
    #[default]
    SpeakerPlace,
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
    /// One line per kept unit, in the original order; the first line of a passage has its label.
    pub text: String,
    /// Tokens of `text`.
    pub tokens: u32,
    /// Where the lines come from, in order.
    pub kept: Vec<Kept>,
}

/// Summarises `passages` within `options.target_tokens`.
///
/// A sentence, list item, code block or line is kept whole or not at all; if not one fits, the best is shown as an
/// [`excerpt`]. Empty input or a target of 0 give an empty summary.
pub fn summarize(
    passages: &[Passage<'_>],
    options: &Options<'_>,
    counter: &dyn TokenCounter,
) -> Summary {
    let pool = Pool::new(passages, options.emphasis, options.focus, counter);
    let labels: Vec<String> = passages.iter().map(|p| label(p, options.labels)).collect();
    let label_cost: Vec<u32> = labels
        .iter()
        .map(|l| if l.is_empty() { 0 } else { counter.count(l) })
        .collect();
    let mut opened = vec![false; passages.len()];
    let mut order = pool.choose(options.target_tokens, |c, take| {
        let cost = if opened[c.passage] {
            0
        } else {
            label_cost[c.passage]
        };
        opened[c.passage] |= take;
        cost
    });
    let mut chosen = order.clone();
    loop {
        chosen.sort_unstable();
        let text = render(&pool, passages, &labels, &chosen);
        let tokens = if text.is_empty() {
            0
        } else {
            counter.count(&text)
        };
        if tokens <= options.target_tokens && !chosen.is_empty() {
            let kept = chosen
                .iter()
                .map(|&i| {
                    let c = &pool.candidates[i];
                    Kept {
                        id: passages[c.passage].id,
                        start: c.unit.start as u32,
                        end: c.unit.end as u32,
                    }
                })
                .collect();
            return Summary { text, tokens, kept };
        }
        // The last choice was the least worth.
        if order.pop().is_none() {
            return only_an_excerpt(&pool, passages, &labels, options, counter);
        }
        chosen.clone_from(&order);
    }
}

fn label(passage: &Passage<'_>, labels: Labels) -> String {
    let letter = match passage.role {
        Speaker::User => 'U',
        Speaker::Assistant => 'A',
        Speaker::Tool => 'T',
    };
    match labels {
        Labels::None => String::new(),
        Labels::Place => format!("{}: ", passage.id),
        Labels::SpeakerPlace => format!("{letter}{}: ", passage.id),
    }
}

fn render(pool: &Pool, passages: &[Passage<'_>], labels: &[String], chosen: &[usize]) -> String {
    let mut out = String::new();
    let mut last = None;
    for &i in chosen {
        let c = &pool.candidates[i];
        if !out.is_empty() {
            out.push('\n');
        }
        if last != Some(c.passage) {
            out.push_str(&labels[c.passage]);
            last = Some(c.passage);
        }
        let body = &passages[c.passage].text[c.unit.start..c.unit.end];
        if c.unit.kind == UnitKind::Code {
            out.push_str(body);
        } else {
            one_line(body, &mut out);
        }
    }
    out
}

/// Line breaks and runs of spaces become one space.
fn one_line(text: &str, out: &mut String) {
    let mut space = false;
    for c in text.chars() {
        if matches!(c, '\n' | '\r' | '\t' | ' ') {
            space = true;
            continue;
        }
        if std::mem::take(&mut space) {
            out.push(' ');
        }
        out.push(c);
    }
}

fn only_an_excerpt(
    pool: &Pool,
    passages: &[Passage<'_>],
    labels: &[String],
    options: &Options<'_>,
    counter: &dyn TokenCounter,
) -> Summary {
    let Some(c) = pool.best() else {
        return Summary::default();
    };
    let body = &passages[c.passage].text[c.unit.start..c.unit.end];
    let label = &labels[c.passage];
    let with_label = format!(
        "{label}{}",
        excerpt(
            body,
            options.target_tokens.saturating_sub(counter.count(label)),
            counter
        )
    );
    let text = if counter.count(&with_label) <= options.target_tokens {
        with_label
    } else {
        excerpt(body, options.target_tokens, counter)
    };
    if text.is_empty() || text == *label {
        return Summary::default();
    }
    let tokens = counter.count(&text);
    Summary {
        text,
        tokens,
        kept: vec![Kept {
            id: passages[c.passage].id,
            start: c.unit.start as u32,
            end: c.unit.end as u32,
        }],
    }
}
