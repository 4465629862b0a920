//! What must hold in continuous integration, as ratios over lists of our own generator.

use super::corpus;
use super::play::{Compact, Figures, play};
use super::rivals::{All, Prune};

fn check(window: u32, figures: &Figures) {
    let line = figures.line(&format!("{window}"));
    assert!(figures.broken() <= 0.10, "breaks of the prefix: {line}");
    assert!(figures.least_fill() >= 0.35, "the emptiest window: {line}");
    assert!(
        figures.needed_later() >= figures.needed_in_tail(),
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
        assert!(ours.cost < all.cost, "{} of {}", ours.cost, all.cost);
        assert!(ours.cost < pruned.cost, "{} of {}", ours.cost, pruned.cost);
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
        assert!(ours.cost < all.cost, "{} of {}", ours.cost, all.cost);
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
