//! Joins the requests of a compaction whose summaries would be too short to say anything.

use palimpsest_text::extractive::{self, Passage};
use palimpsest_text::retention::Speaker;
use palimpsest_tokens::TokenCounter;

use super::JobPassage;

/// Tokens that a message takes in a request beside its words: its number, its role, the quotation marks.
pub(super) const FRAME: u32 = 12;

/// A summary of fewer tokens is not worth a request of its own.
const LEAST: u32 = 48;

/// Joins neighbouring parts of a covered range until summaries have on average [`LEAST`] of the `newest` tokens of the layer.
/// Of a joined part that is too large only the sentences that say the most are kept, word for word, so that a request still
/// fits into `room` tokens. The parts themselves must fit.
pub(super) fn small(
    parts: Vec<Vec<JobPassage>>,
    newest: u32,
    room: u32,
    counter: &dyn TokenCounter,
) -> Vec<Vec<JobPassage>> {
    let most = (newest / LEAST).max(1) as usize;
    let count = parts.len();
    if count <= most {
        return parts;
    }
    let mut joined: Vec<Vec<JobPassage>> = Vec::with_capacity(most);
    for (n, part) in parts.into_iter().enumerate() {
        if n * most / count == joined.len() {
            joined.push(part);
        } else if let Some(last) = joined.last_mut() {
            last.extend(part);
        }
    }
    joined
        .into_iter()
        .map(|part| fitting(part, room, counter))
        .collect()
}

/// The passages with as many of their sentences as fit.
fn fitting(part: Vec<JobPassage>, room: u32, counter: &dyn TokenCounter) -> Vec<JobPassage> {
    let size = |part: &[JobPassage]| -> u32 {
        let tokens = part.iter().map(|p| counter.count(&p.text) + FRAME);
        tokens.fold(0, u32::saturating_add)
    };
    if size(&part) <= room {
        return part;
    }
    let passages: Vec<Passage<'_>> = (0..)
        .zip(&part)
        .map(|(n, p)| Passage {
            calls: p.calls,
            day: p.day,
            ..Passage::new(n, Speaker::from(p.role), &p.text)
        })
        .collect();
    // each message that a sentence is left of costs its frame, so that the first try may be too long
    for target_tokens in [room * 3 / 4, room / 2, room / 4] {
        let options = extractive::Options {
            target_tokens,
            ..extractive::Options::default()
        };
        let chosen = extractive::summarize(&passages, &options, counter).kept;
        let mut shorter: Vec<JobPassage> = Vec::new();
        let mut last = None;
        for kept in chosen {
            let Some(from) = part.get(kept.id as usize) else {
                continue;
            };
            let words = from.text.get(kept.start as usize..kept.end as usize);
            let words = words.unwrap_or_default();
            match shorter.last_mut().filter(|_| last == Some(kept.id)) {
                Some(passage) => {
                    passage.text.push('\n');
                    passage.text.push_str(words);
                }
                None => shorter.push(JobPassage {
                    seq: from.seq,
                    role: from.role,
                    text: words.to_owned(),
                    calls: None,
                    day: from.day,
                    is_summary: from.is_summary,
                }),
            }
            last = Some(kept.id);
        }
        if !shorter.is_empty() && size(&shorter) <= room {
            return shorter;
        }
    }
    // Many messages of a few words: the newest say how things stand.
    let mut left = room;
    let newest = part.into_iter().rev().take_while(|p| {
        let tokens = counter.count(&p.text) + FRAME;
        let fits = tokens <= left;
        left = left.saturating_sub(tokens);
        fits
    });
    let mut newest: Vec<JobPassage> = newest.collect();
    newest.reverse();
    newest
}

#[cfg(test)]
mod tests {
    use palimpsest_tokens::Estimator;

    use super::*;
    use crate::data::message::Role;

    fn part(from: u32, count: u32) -> Vec<JobPassage> {
        let passage = |seq| JobPassage {
            role: Role::User,
            ..JobPassage::made(
                seq,
                format!(
                    "The order A-{seq} goes to Mara on May {}. It holds {seq} tiles from the archive of the bank.",
                    seq % 28 + 1
                ),
            )
        };
        (from..from + count).map(passage).collect()
    }

    /// P7, 17.7: many parts of which each would get a summary of a few tokens become few, in order, and each fits a request.
    #[test]
    fn small_parts_are_joined() {
        let counter = Estimator::default();
        let parts: Vec<_> = (0..57).map(|n| part(n * 10, 10)).collect();
        let joined = small(parts.clone(), 57 * 24, 400, &counter);
        assert_eq!(joined.len(), 28);
        for part in &joined {
            let size: u32 = part.iter().map(|p| counter.count(&p.text) + FRAME).sum();
            assert!(
                size <= 400 && part.len() > 3,
                "{size} tokens in {}",
                part.len()
            );
        }
        let seqs: Vec<u32> = joined.iter().flatten().map(|p| p.seq).collect();
        assert!(seqs.is_sorted() && seqs.first() < Some(&20) && seqs.last() > Some(&550));
        assert_eq!(small(parts.clone(), 57 * 96, 400, &counter), parts);
        assert_eq!(small(parts, 10, 400, &counter).len(), 1);
    }

    /// P7: whatever the messages are, a joined request fits: words of one token each, of which every message costs its frame.
    #[test]
    fn a_joined_part_always_fits() {
        let counter = Estimator::default();
        for text in ["ok", "", "一", "{\"a\":1}", "x=1; y=2"] {
            let one = |seq| JobPassage::made(seq, text.into());
            let parts: Vec<Vec<_>> = (0..40)
                .map(|n| (n * 20..n * 20 + 20).map(one).collect())
                .collect();
            for part in small(parts, 100, 300, &counter) {
                let size: u32 = part.iter().map(|p| counter.count(&p.text) + FRAME).sum();
                assert!(size <= 300 && !part.is_empty(), "{size} tokens of {text:?}");
            }
        }
    }
}
