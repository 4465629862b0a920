//! What the extractive summariser is compared with: sentences from the front, from the end, by chance, and by TextRank.

use super::corpus::{Conversation, Dice, Who};
use std::collections::{BTreeMap, BTreeSet};

/// Sentences of all messages in order; a tool's lines count as sentences.
pub(crate) fn sentences(conversation: &Conversation) -> Vec<String> {
    let mut out = Vec::new();
    for message in &conversation.messages {
        for line in message.text.lines() {
            let mut from = 0;
            if message.who != Who::Tool {
                for (i, _) in line
                    .match_indices(". ")
                    .chain(line.match_indices("? "))
                    .collect::<BTreeMap<_, _>>()
                {
                    out.push(line[from..=i].trim().to_owned());
                    from = i + 2;
                }
            }
            out.push(line[from..].trim().to_owned());
        }
    }
    out.retain(|s| !s.is_empty());
    out
}

/// Takes sentences in `order` while their costs fit, and gives them back in the order of the conversation.
pub(crate) fn take(sentences: &[String], costs: &[u32], order: &[usize], budget: u32) -> String {
    let mut used = 0;
    let mut kept = BTreeSet::new();
    for &i in order {
        if used + costs[i] <= budget {
            used += costs[i];
            kept.insert(i);
        }
    }
    kept.iter()
        .map(|&i| sentences[i].as_str())
        .collect::<Vec<_>>()
        .join("\n")
}

pub(crate) fn lead(n: usize) -> Vec<usize> {
    (0..n).collect()
}

pub(crate) fn tail(n: usize) -> Vec<usize> {
    (0..n).rev().collect()
}

pub(crate) fn random(n: usize, seed: u64) -> Vec<usize> {
    let mut order = lead(n);
    let mut dice = Dice::new(seed);
    for i in (1..n).rev() {
        order.swap(i, dice.below(i + 1));
    }
    order
}

/// TextRank as published (Mihalcea and Tarau): overlap of words over the sum of the logarithms of the lengths, damping 0.85.
pub(crate) fn textrank(sentences: &[String]) -> Vec<usize> {
    // Words that join everything with everything.
    const STOP: &str = "the a an and or of to in is it that for on with as at by be are was this you i we can if but \
        not do does did have has had my your his her our their me him them us will would could should so then than \
        from up out about into over after before when where who what which how why there here all any some more \
        most no yes just very too also only i'm it's don't that's let";
    let stop: BTreeSet<&str> = STOP.split_whitespace().collect();
    let words: Vec<BTreeSet<String>> = sentences
        .iter()
        .map(|s| {
            s.to_lowercase()
                .split(|c: char| !c.is_alphanumeric())
                .filter(|w| !w.is_empty() && !stop.contains(w))
                .map(str::to_owned)
                .collect()
        })
        .collect();
    let n = sentences.len();
    let mut weight = vec![0f64; n * n];
    let mut sum = vec![0f64; n];
    for i in 0..n {
        for j in 0..i {
            let shared = words[i].intersection(&words[j]).count();
            let scale = (words[i].len().max(2) as f64).ln() + (words[j].len().max(2) as f64).ln();
            let w = shared as f64 / scale;
            weight[i * n + j] = w;
            weight[j * n + i] = w;
            sum[i] += w;
            sum[j] += w;
        }
    }
    let mut rank = vec![1.0; n];
    for _ in 0..40 {
        let mut next = vec![0.15; n];
        for i in 0..n {
            for j in 0..n {
                if sum[j] > 0.0 {
                    next[i] += 0.85 * weight[j * n + i] / sum[j] * rank[j];
                }
            }
        }
        rank = next;
    }
    let mut order = lead(n);
    order.sort_by(|&a, &b| rank[b].total_cmp(&rank[a]).then(a.cmp(&b)));
    order
}
