//! Shortens the text of a layer as it ages, without a model (C2, C4).

use palimpsest_tokens::TokenCounter;

use super::lines::one_line;
use super::pool::{Pool, Wanted};
use super::turns::Turns;
use super::{Options, Passage, Speaker, excerpt};
use crate::words::segment::{Unit, UnitKind, prose};

/// Cuts `text` to at most `target_tokens` tokens. `level` selects the detail to drop first: 3 drops none, 2 drops code
/// blocks and machine lines, 1 and below also quotes, single addresses and lists of references. If the rest is over the
/// target, sentences or bullets of least worth go. A heading stays only with something under it. Text that fits and has
/// nothing to drop comes back unchanged.
pub fn shorten(text: &str, target_tokens: u32, level: u8, counter: &dyn TokenCounter) -> String {
    let units = prose(text);
    let keep: Vec<bool> = units.iter().map(|u| stays(text, u, level)).collect();
    if keep.iter().all(|&k| k) && counter.count_until(text, target_tokens).is_some() {
        return text.to_owned();
    }
    let allowed: Vec<usize> = (0..units.len())
        .filter(|&i| keep[i] && units[i].kind != UnitKind::Heading)
        .collect();
    let whole = render(text, &units, &allowed);
    if counter.count_until(&whole, target_tokens).is_some() {
        return whole;
    }
    let passage = [Passage::new(0, Speaker::Assistant, text)];
    let turns = Turns::plain(&passage);
    let pool = Pool::new(&passage, &turns, &Options::default(), Wanted::All, counter);
    // The pool cuts into the same units, but those without a word are not candidates.
    let place = |start: usize| units.binary_search_by_key(&start, |u| u.start).ok();
    let heading: Vec<Option<usize>> = headings(&units);
    let heading_cost: Vec<u32> = units
        .iter()
        .map(|u| {
            if u.kind == UnitKind::Heading {
                counter.count(&text[u.start..u.end]) + 1
            } else {
                0
            }
        })
        .collect();
    let mut opened = vec![false; units.len()];
    let never = target_tokens.saturating_add(1);
    let mut order: Vec<usize> = pool
        .choose(target_tokens, |c, take| {
            let Some(i) = place(c.unit.start) else {
                return never;
            };
            if !keep[i] || units[i].kind == UnitKind::Heading {
                return never;
            }
            let Some(h) = heading[i] else { return 0 };
            let cost = if opened[h] { 0 } else { heading_cost[h] };
            opened[h] |= take;
            cost
        })
        .into_iter()
        .filter_map(|i| place(pool.candidates[i].unit.start))
        .collect();
    loop {
        let mut chosen = order.clone();
        chosen.sort_unstable();
        let out = render(text, &units, &chosen);
        if !out.is_empty() && counter.count_until(&out, target_tokens).is_some() {
            return out;
        }
        if order.pop().is_none() {
            break;
        }
    }
    // Not one whole unit fits.
    match pool.best() {
        Some(c) => excerpt(&text[c.unit.start..c.unit.end], target_tokens, counter),
        None => excerpt(text, target_tokens, counter),
    }
}

fn stays(text: &str, unit: &Unit, level: u8) -> bool {
    match unit.kind {
        UnitKind::Code | UnitKind::Line => level >= 3,
        UnitKind::Quote => level >= 2,
        UnitKind::Item | UnitKind::Sentence => {
            level >= 2 || !only_references(&text[unit.start..unit.end])
        }
        UnitKind::Heading => true,
    }
}

/// Returns `true` for a bullet or line that lists paths and names and says nothing about them.
fn only_references(body: &str) -> bool {
    let mut words = 0u32;
    let mut references = 0u32;
    for run in body.split_whitespace() {
        let run = run.trim_matches(|c: char| {
            matches!(c, '`' | '*' | ',' | ';' | '-' | '•' | '.' | '(' | ')')
        });
        if run.is_empty() {
            continue;
        }
        words += 1;
        references += u32::from(
            run.contains(['/', '\\', '_'])
                || run.contains("::")
                || run.contains('.')
                || run.chars().any(|c| c.is_ascii_digit()) && run.chars().any(char::is_alphabetic),
        );
    }
    references > 0 && words - references <= 1
}

/// The heading of each unit.
fn headings(units: &[Unit]) -> Vec<Option<usize>> {
    let mut last = None;
    units
        .iter()
        .enumerate()
        .map(|(i, u)| {
            if u.kind == UnitKind::Heading {
                last = Some(i);
            }
            last
        })
        .collect()
}

/// Writes the chosen units with their headings, in order, with the sentences of one paragraph on one line.
fn render(text: &str, units: &[Unit], chosen: &[usize]) -> String {
    let under = headings(units);
    let mut out = String::new();
    let mut shown: Option<usize> = None;
    let mut last: Option<&Unit> = None;
    for &i in chosen {
        let unit = &units[i];
        if let Some(h) = under[i]
            && shown != Some(h)
        {
            shown = Some(h);
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(text[units[h].start..units[h].end].trim());
            last = None;
        }
        if !out.is_empty() {
            let flows = last.is_some_and(|l| {
                l.kind == UnitKind::Sentence
                    && unit.kind == UnitKind::Sentence
                    && !text[l.end..unit.start].contains('\n')
            });
            out.push(if flows { ' ' } else { '\n' });
        }
        let body = &text[unit.start..unit.end];
        if unit.kind == UnitKind::Code || unit.kind == UnitKind::Item {
            out.push_str(body);
        } else {
            one_line(body, &mut out);
        }
        last = Some(unit);
    }
    out
}
