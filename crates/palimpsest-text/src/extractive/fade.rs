//! Makes a summary shorter by dropping pieces from the end of the order in which they were chosen. A short form
//! therefore says nothing that the long one did not, and needs no second choice.

use palimpsest_tokens::TokenCounter;
use serde::{Deserialize, Serialize};

/// The place of a piece in its text: its first byte, and the byte after its last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Piece(pub u32, pub u32);

/// Returns the best pieces of `text` that fit `room` tokens, in their original form with labels and headings. `order`
/// lists the pieces, the best first. Returns `None` if the order does not fit the text, or if no piece fits.
pub fn fade(text: &str, order: &[Piece], room: u32, counter: &dyn TokenCounter) -> Option<String> {
    faded(text, order, room, counter).map(|(form, _)| form)
}

/// Does [`fade`], and also returns the order of the remaining pieces, by which the form can fade again.
pub fn faded(
    text: &str,
    order: &[Piece],
    room: u32,
    counter: &dyn TokenCounter,
) -> Option<(String, Vec<Piece>)> {
    let mut places: Vec<Piece> = order.to_vec();
    crate::order::sort(&mut places);
    let fits = |p: &Piece| p.0 < p.1 && text.get(p.0 as usize..p.1 as usize).is_some();
    if !places.iter().all(fits) || places.windows(2).any(|w| w[0].1 > w[1].0) {
        return None;
    }
    let (mut least, mut most) = (0, order.len());
    let mut best = None;
    // More pieces mean more tokens, except for a few places where a label disappears.
    while least < most {
        let middle = least + (most - least).div_ceil(2);
        let form = form(text, &places, &order[..middle]);
        if counter.count_until(&form.0, room).is_some() {
            best = Some(form);
            least = middle;
        } else {
            most = middle - 1;
        }
    }
    best
}

/// Joins the texts, one below the other, and merges their orders: a piece that came early in its own order comes early.
pub fn joined(parts: &[(&str, &[Piece])]) -> (String, Vec<Piece>) {
    let mut text = String::new();
    let mut all: Vec<(usize, usize, Piece)> = Vec::new();
    for (part, order) in parts {
        if !text.is_empty() {
            text.push('\n');
        }
        let base = text.len() as u32;
        text.push_str(part);
        for (n, piece) in order.iter().enumerate() {
            all.push((n, order.len(), Piece(piece.0 + base, piece.1 + base)));
        }
    }
    crate::order::sort_by(&mut all, |a, b| {
        (a.0 * b.1).cmp(&(b.0 * a.1)).then(a.2.cmp(&b.2))
    });
    (text, all.into_iter().map(|(_, _, piece)| piece).collect())
}

/// Returns the text with these pieces only, and the place of each piece in it.
pub(super) fn form(text: &str, places: &[Piece], order: &[Piece]) -> (String, Vec<Piece>) {
    let mut chosen = order.to_vec();
    crate::order::sort(&mut chosen);
    let mut stand = Vec::with_capacity(chosen.len());
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    // The heading above the piece and the label before it, and the last ones that were written.
    let (mut heading, mut label) = ("", "");
    let (mut said_heading, mut said_label) = ("", "");
    let mut broken = false;
    for (n, piece) in places.iter().enumerate() {
        let gap = &text[end..piece.0 as usize];
        end = piece.1 as usize;
        if let Some((above, before)) = gap.rsplit_once('\n').or((n == 0).then_some(("", gap))) {
            broken = true;
            if let Some(found) = above.lines().rfind(|l| is_heading(l)) {
                heading = found;
            }
            if !before.trim().is_empty() {
                label = before;
            }
        }
        if chosen.binary_search(piece).is_err() {
            continue;
        }
        if !out.is_empty() {
            out.push(if broken { '\n' } else { ' ' });
        }
        if heading != said_heading {
            out.push_str(heading);
            out.push('\n');
            said_heading = heading;
            said_label = "";
        }
        if label != said_label {
            out.push_str(label);
            said_label = label;
        }
        let start = out.len() as u32;
        out.push_str(&text[piece.0 as usize..end]);
        stand.push(Piece(start, out.len() as u32));
        broken = false;
    }
    let stands = |piece: &Piece| Some(stand[chosen.binary_search(piece).ok()?]);
    (out, order.iter().filter_map(stands).collect())
}

/// Returns `true` for the heading of a day.
pub(super) fn is_heading(line: &str) -> bool {
    line.starts_with('[') && line.ends_with(']')
}

#[cfg(test)]
mod tests {
    use super::*;
    use palimpsest_tokens::Estimator;

    fn places(text: &str, pieces: &[&str]) -> Vec<Piece> {
        let place = |p: &&str| {
            let at = text.find(*p).unwrap() as u32;
            Piece(at, at + p.len() as u32)
        };
        pieces.iter().map(place).collect()
    }

    #[test]
    fn pieces_go_from_the_end_of_the_order() {
        let text =
            "[8 May 2023]\nMel: I paint. I run.\nI sail.\n[9 May 2023]\nAnn: I cook.\nI bake.";
        let order = places(
            text,
            &["I sail.", "I bake.", "I run.", "I cook.", "I paint."],
        );
        let check = |n: usize, expected: &str| {
            let counter = Estimator::default();
            let room = counter.count(expected);
            let mut all = order.clone();
            all.sort_unstable();
            let (form, left) = form(text, &all, &order[..n]);
            assert_eq!(form, expected);
            let words = |text: &str, p: &Piece| text[p.0 as usize..p.1 as usize].to_owned();
            let kept: Vec<_> = order[..n].iter().map(|p| words(text, p)).collect();
            let left: Vec<_> = left.iter().map(|p| words(&form, p)).collect();
            assert_eq!(left, kept);
            assert_eq!(
                fade(text, &order, room, &counter).as_deref(),
                Some(expected)
            );
        };
        check(1, "[8 May 2023]\nMel: I sail.");
        check(2, "[8 May 2023]\nMel: I sail.\n[9 May 2023]\nAnn: I bake.");
        check(
            3,
            "[8 May 2023]\nMel: I run.\nI sail.\n[9 May 2023]\nAnn: I bake.",
        );
        check(5, text);
        assert_eq!(fade(text, &order, 1, &Estimator::default()), None);
        assert_eq!(fade("short", &order, 100, &Estimator::default()), None);
    }

    #[test]
    fn orders_join_by_their_ranks() {
        let one = places("a b", &["b", "a"]);
        let two = places("c d e f", &["f", "e", "d", "c"]);
        let (text, order) = joined(&[("a b", &one), ("c d e f", &two)]);
        let words: Vec<&str> = order
            .iter()
            .map(|p| &text[p.0 as usize..p.1 as usize])
            .collect();
        assert_eq!(text, "a b\nc d e f");
        assert_eq!(words, ["b", "f", "e", "a", "d", "c"]);
    }
}
