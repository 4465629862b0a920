//! Chooses among what several summaries say as if they were one: what one of them says is worth less in another, and a
//! statement that was changed is kept only together with its change.

use palimpsest_tokens::TokenCounter;

use super::fade::{Piece, form};
use super::pool::{Pool, Wanted};
use super::turns::Turns;
use super::{Options, Passage, announces_a_change, lines_of};
use crate::retention::Speaker;

/// The tokens of a speaker's name before a line.
const NAME: u32 = 2;
/// The tokens of the mark before a line beside a text, and of the line break.
const MARK: u32 = 2;
/// The longest piece, in bytes, that gets one of the first places as the best of its summary.
const SHORT: usize = 240;
/// A summary: its text, and the lines that stand beside it.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// The text, with labels and headings.
    pub text: &'a str,
    /// The lines.
    pub lines: &'a [String],
}

/// A shorter form of a summary.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Form {
    /// The pieces of its text that were chosen, with labels and headings.
    pub text: String,
    /// The lines beside it that were chosen.
    pub lines: Vec<String>,
}

/// A piece of a text, or the number of a line beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    Piece(Piece),
    Line(usize),
}

/// The pieces and lines of several summaries, in one order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Together {
    /// The number of a summary and something that it says, the best first.
    order: Vec<(usize, Item)>,
    /// The places of all pieces of each text, in the order of the text.
    places: Vec<Vec<Piece>>,
}

impl Together {
    /// Puts what `parts` say in one order, as far as it fits `options.target_tokens`. The best short piece of each
    /// summary is among the first. What the last summary says is worth `newest` times as much as the same in another.
    pub fn of(
        parts: &[Part<'_>],
        newest: f32,
        options: &Options<'_>,
        counter: &dyn TokenCounter,
    ) -> Self {
        let mut passages: Vec<Passage<'_>> = Vec::new();
        // The number of the line beside a text, for a passage that is one.
        let mut lines: Vec<Option<usize>> = Vec::new();
        for (n, part) in parts.iter().enumerate() {
            // A change stands after what it changes.
            let all = part.lines.iter().enumerate();
            let (changes, others): (Vec<_>, Vec<_>) =
                all.partition(|(_, line)| announces_a_change(line));
            for (at, line) in others {
                passages.push(said(n, line));
                lines.push(Some(at));
            }
            passages.extend(lines_of(&said(n, part.text)));
            lines.resize(passages.len(), None);
            for (at, line) in changes {
                passages.push(said(n, line));
                lines.push(Some(at));
            }
        }
        let turns = Turns::of(&passages);
        let mut pool = Pool::new(&passages, &turns, options, Wanted::Telling, counter);
        let last = parts.len().saturating_sub(1) as u32;
        pool.favour(passages.partition_point(|p| p.id < last), newest);
        let item_of = |candidate: usize| {
            let c = &pool.candidates[candidate];
            let passage = &passages[c.passage];
            let n = passage.id as usize;
            let item = lines[c.passage].map_or_else(
                || {
                    let base = place_in(parts[n].text, passage.text);
                    let place = |at: usize| (base + at) as u32;
                    Item::Piece(Piece(place(c.unit.start), place(c.unit.end)))
                },
                Item::Line,
            );
            (n, item)
        };
        let mut places: Vec<Vec<Piece>> = vec![Vec::new(); parts.len()];
        for candidate in 0..pool.candidates.len() {
            if let (n, Item::Piece(piece)) = item_of(candidate) {
                places[n].push(piece);
            }
        }
        let mut opened = vec![false; passages.len()];
        let chosen = pool.choose(options.target_tokens, |c, take| {
            let cost = if opened[c.passage] { 0 } else { NAME };
            opened[c.passage] |= take;
            cost
        });
        let mut order: Vec<(usize, Item)> = Vec::with_capacity(chosen.len());
        let mut first: Vec<Option<(usize, Item)>> = vec![None; parts.len()];
        for candidate in chosen {
            let item = item_of(candidate);
            let length = match item.1 {
                Item::Piece(piece) => (piece.1 - piece.0) as usize,
                Item::Line(line) => parts[item.0].lines[line].len(),
            };
            // A changed statement would come before its change.
            if length <= SHORT && pool.change_of(candidate as u32).is_none() {
                first[item.0].get_or_insert(item);
            }
            // A line beside a text may have several sentences.
            if !matches!(item.1, Item::Line(_)) || !order.contains(&item) {
                order.push(item);
            }
        }
        let first: Vec<(usize, Item)> = first.into_iter().flatten().collect();
        order.retain(|item| !first.contains(item));
        order.splice(0..0, first);
        Self { order, places }
    }

    /// Returns a form of each summary: the best of what they say that fits `room` tokens together.
    pub fn forms(&self, parts: &[Part<'_>], room: u32, counter: &dyn TokenCounter) -> Vec<Form> {
        let tokens = |form: &Form| {
            let lines: u32 = form.lines.iter().map(|l| counter.count(l) + MARK).sum();
            counter.count(&form.text) + lines
        };
        let (mut least, mut most) = (0, self.order.len());
        let mut best = self.best(parts, 0);
        while least < most {
            let middle = least + (most - least).div_ceil(2);
            let forms = self.best(parts, middle);
            if forms.iter().map(tokens).sum::<u32>() <= room {
                best = forms;
                least = middle;
            } else {
                most = middle - 1;
            }
        }
        best
    }

    /// The forms that say the first `most` of all.
    fn best(&self, parts: &[Part<'_>], most: usize) -> Vec<Form> {
        let parts = parts.iter().enumerate();
        parts
            .map(|(n, part)| {
                let mut pieces: Vec<Piece> = Vec::new();
                let mut lines: Vec<usize> = Vec::new();
                for (_, item) in self.order[..most].iter().filter(|(of, _)| *of == n) {
                    match item {
                        Item::Piece(piece) => pieces.push(*piece),
                        Item::Line(line) => lines.push(*line),
                    }
                }
                lines.sort_unstable();
                Form {
                    text: form(part.text, &self.places[n], &pieces).0,
                    lines: lines.iter().map(|at| part.lines[*at].clone()).collect(),
                }
            })
            .collect()
    }
}

/// Words of summary `n`.
const fn said(n: usize, text: &str) -> Passage<'_> {
    Passage::new(n as u32, Speaker::Assistant, text)
}

/// The first byte of `part` in `whole`, of which it is a slice.
fn place_in(whole: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize)
}

#[cfg(test)]
mod tests {
    use palimpsest_tokens::Estimator;

    use super::*;

    const OLD: &str = "[8 May 2023]\nMel: The boat leaves at 9:40 from Dover. Tickets are 45 euros.\n\
        User: The cabin is 214 on the Aurora.\n```sh\ncargo run --bin ferry\n```";
    const NEW: &str = "[9 May 2023]\nUser: The boat now leaves at 13:15 from Dover.\n\
        Assistant: The hotel Bellevue has our booking GQ-3071. We eat at eight.";

    fn forms(lines: &[String], room: u32) -> Vec<Form> {
        forms_of(OLD, NEW, lines, room)
    }

    fn forms_of(old: &str, new: &str, lines: &[String], room: u32) -> Vec<Form> {
        let parts = [
            Part { text: old, lines },
            Part {
                text: new,
                lines: &[],
            },
        ];
        let counter = Estimator::default();
        let options = Options {
            target_tokens: 1_000,
            ..Options::default()
        };
        Together::of(&parts, 1.0, &options, &counter).forms(&parts, room, &counter)
    }

    #[test]
    fn all_stands_where_there_is_room() {
        let lines = ["src/ferry.rs was written".to_owned()];
        let forms = forms(&lines, 1_000);
        assert_eq!(forms[0].text, OLD);
        assert_eq!(forms[0].lines, lines);
        assert_eq!(forms[1].text, NEW);
    }

    /// 16.3: a value that was changed in another summary never stands alone.
    #[test]
    fn a_changed_value_stands_with_its_change_or_not_at_all() {
        let check = |old: &str, lines: &[String]| {
            for room in 0..120 {
                let forms = forms_of(old, NEW, lines, room);
                let stands = |form: &Form, words: &str| {
                    form.text.contains(words) || form.lines.iter().any(|l| l.contains(words))
                };
                let (old, new) = (stands(&forms[0], "9:40"), stands(&forms[1], "13:15"));
                assert!(!old || new, "{room}: {forms:?}");
            }
        };
        let statement = "The boat leaves at 9:40 from Dover.";
        check(OLD, &[]);
        check(statement, &[]);
        check("The cabin is 214 on the Aurora.", &[statement.to_owned()]);
    }

    #[test]
    fn labels_and_headings_stand_before_what_was_chosen() {
        let counter = Estimator::default();
        for room in 0..120 {
            let forms = forms(&[], room);
            let tokens: u32 = forms.iter().map(|f| counter.count(&f.text)).sum();
            assert!(tokens <= room);
            for form in forms {
                assert!(
                    form.text.is_empty() || form.text.starts_with('['),
                    "{form:?}"
                );
                if form.text.contains("Tickets") {
                    assert!(form.text.contains("Mel: "), "{form:?}");
                }
                assert_eq!(form.text.matches("```").count() % 2, 0, "{form:?}");
            }
        }
    }
}
