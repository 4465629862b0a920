//! What must hold in continuous integration, as ratios over lists of our own generator.

use palimpsest_core::compact::{Cache, CompactOptions};
use palimpsest_core::policy::{KeepRecent, Policy};
use serde_json::Value;

use super::corpus;
use super::play::{Compact, Figures, Tokens, Way, play, tail};
use super::rivals::{All, Prune};

fn check(window: u32, figures: &Figures) {
    let line = figures.line(&format!("{window}"));
    assert!(figures.broken() <= 0.10, "breaks of the prefix: {line}");
    assert!(figures.read_anew() <= 0.10, "what is read anew: {line}");
    assert!(
        figures.measured.least_fill >= 0.35,
        "the emptiest window: {line}"
    );
    // in windows of 8,192 the newest messages of the same size know one value in a hundred more
    assert!(
        figures.needed_later() >= 0.95 * figures.needed_in_tail(),
        "what is needed later, and the newest messages of the same size: {line}"
    );
}

/// A loop breaks what the provider has read at most at one request in ten, is never emptied, costs less than to send
/// everything or to prune, and knows as much of what it needs as the newest messages of its size.
#[test]
fn a_loop_adds_to_what_was_read() {
    let list = corpus::generated(1, 220, 0);
    for window in [8_192, 16_384] {
        let full = window * 11 / 12;
        let (all, pruned) = (
            play(&list, &mut All, full),
            play(&list, &mut Prune(10), full),
        );
        let ours = play(&list, &mut Compact::new("balanced", window), full);
        check(window, &ours);
        let line = ours.line("balanced");
        assert!(ours.measured.cost < all.measured.cost, "{line}");
        assert!(ours.measured.cost < pruned.measured.cost, "{line}");
        let (known, left) = (ours.needed_later(), pruned.needed_later());
        assert!(known >= left, "{window}: {known} of {left}");
    }
}

/// The same in a large window, and where the user asks again and again.
#[test]
fn a_loop_with_requests_adds_to_what_was_read() {
    let list = corpus::generated(2, 220, 20);
    for window in [16_384, 32_768] {
        let full = window * 11 / 12;
        let all = play(&list, &mut All, full);
        let ours = play(&list, &mut Compact::new("balanced", window), full);
        check(window, &ours);
        let line = ours.line("balanced");
        assert!(ours.measured.cost < all.measured.cost, "{line}");
    }
}

/// A state is a matter of the window, not of the history: at 800 messages at most a quarter of it, and no more later.
#[test]
fn a_state_does_not_grow_with_the_history() {
    let list = corpus::generated(3, 800, 0);
    let figures = play(&list, &mut Compact::new("balanced", 8_192), 8_000);
    let (state, bytes) = figures.half;
    assert!(state * 4 <= bytes, "{state} of {bytes}");
    let later = figures.state_bytes;
    assert!(later * 4 <= state * 5, "{later} after {state}");
}

/// The window that a list gets without a state, and how much of its limit that is.
fn cold(list: &[Value], options: CompactOptions) -> (Vec<Value>, f64) {
    let mut tokens = Tokens::new();
    let made = Compact::with(options).window(list, &mut tokens);
    let limit = made.limit.map_or(1.0, f64::from);
    let fill = f64::from(tokens.all(&made.window)) / limit;
    (made.window, fill)
}

/// A call without a state fills the window to its target at least; nearly all of it where the provider keeps nothing.
#[test]
fn a_cold_call_is_not_empty() {
    let list = corpus::generated(4, 500, 0);
    for window in [8_192, 16_384, 32_768] {
        for preset in ["balanced", "watermark"] {
            for (cache, least) in [(Cache::Prefix, 0.40), (Cache::None, 0.80)] {
                let options = CompactOptions {
                    policy: Policy::preset(preset).unwrap_or_default(),
                    cache,
                    ..CompactOptions::new(window)
                };
                let (_, fill) = cold(&list, options);
                assert!(fill >= least, "{preset} {window} {cache:?}: {fill}");
            }
        }
    }
}

/// What the policy names as recent stays as it was said.
#[test]
fn recent_messages_stay() {
    let list = corpus::generated(5, 300, 0);
    let mut tokens = Tokens::new();
    let by_tokens = tail(&list, 9_000, &mut tokens)[1..].to_vec();
    let by_number = list[list.len() - 24..].to_vec();
    for (keep_recent, recent) in [
        (KeepRecent::Tokens { tokens: 9_000 }, by_tokens),
        (KeepRecent::Messages { messages: 24 }, by_number),
    ] {
        let options = CompactOptions {
            policy: Policy {
                keep_recent,
                ..Policy::default()
            },
            ..CompactOptions::new(16_384)
        };
        let (window, _) = cold(&list, options);
        assert!(window.ends_with(&recent), "{keep_recent:?}");
    }
}

/// One long turn does not leave at once: at every request more than a third of the limit is filled, also where a policy
/// covers nothing and falls back on the emergency pass.
#[test]
fn no_window_falls_off_a_cliff() {
    let list = corpus::generated(6, 220, 0);
    for preset in ["balanced", "watermark"] {
        let figures = play(&list, &mut Compact::new(preset, 8_192), 8_000);
        let line = figures.line(preset);
        assert!(figures.measured.least_fill >= 0.35, "{line}");
        assert!(figures.broken() <= 0.12, "{line}");
    }
}

/// A policy that covers all but what is recent does not empty a list that has a limit.
#[test]
fn covering_all_does_not_empty_a_window() {
    let list = corpus::generated(7, 160, 0);
    for preset in ["checkpoints", "auto-summarize"] {
        let figures = play(&list, &mut Compact::new(preset, 8_192), 8_000);
        let line = figures.line(preset);
        assert!(figures.measured.least_fill >= 0.35, "{line}");
        assert!(figures.broken() <= 0.12, "{line}");
    }
}
