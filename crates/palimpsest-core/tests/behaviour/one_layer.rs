//! Lists in small windows have one layer, which every compaction writes anew.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use std::rc::Rc;

use palimpsest_core::compact::{Cache, CompactOptions, CompactOutput, CompactState, Compaction};
use palimpsest_core::context::Seed;
use palimpsest_core::policy::presets;
use palimpsest_tokens::{Estimator, TokenCounter};
use serde_json::{Value, json};

fn compact(list: &[Value], options: &CompactOptions, state: Option<CompactState>) -> CompactOutput {
    let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
    let seed = Seed {
        now: 0.0,
        secret: [3; 16],
    };
    Compaction::start(list.to_vec(), options, state, &counter, seed)
        .and_then(Compaction::finish_without_model)
        .unwrap()
}

/// A talk of so many messages, each with a number of its own.
fn talk(messages: usize) -> Vec<Value> {
    let one = |n: usize| {
        let role = if n.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        };
        let text = format!(
            "Crate {} holds {} lamps for hall {}, and the driver of lorry {} signs for it at the north gate.",
            1_000 + n,
            n % 40 + 2,
            n % 9,
            (n * 7_919) % 997
        );
        json!({"role": role, "content": text})
    };
    (0..messages).map(one).collect()
}

/// The sizes of the layers, in tokens, after each call of a talk that grows.
fn sizes(options: &CompactOptions, step: usize) -> Vec<Vec<u64>> {
    let all = talk(600);
    let mut state = None;
    let mut sizes = Vec::new();
    for until in (120..=all.len()).step_by(step) {
        let out = compact(&all[..until], options, state);
        let written = serde_json::to_value(&out.state).unwrap();
        let layers = written["view"]["layers"].as_array().unwrap();
        sizes.push(
            layers
                .iter()
                .map(|l| l["tokens"].as_u64().unwrap())
                .collect(),
        );
        state = Some(out.state);
    }
    sizes
}

/// C4, 16.1: a list without a model has one layer in a small window; in a larger one, and with a model, it has several.
#[test]
fn a_list_in_a_small_window_has_one_layer() {
    fn check(window: u32, model: Option<&str>, has_one: bool) {
        let mut options = CompactOptions::new(window);
        options.model = model.map(str::to_owned);
        let most = sizes(&options, 60).iter().map(Vec::len).max();
        assert_eq!(most == Some(1), has_one, "{window} {model:?}: {most:?}");
    }
    check(1_024, None, true);
    check(2_048, None, true);
    check(4_096, None, true);
    check(8_192, None, false);
    // no model is asked in so small a window
    check(2_048, Some("writer"), true);
    check(4_096, Some("writer"), false);
}

/// 16.1: the only layer keeps its room where little is covered at once, also the one of `offload-compact`.
#[test]
fn the_only_layer_does_not_shrink() {
    for policy in [presets::balanced(), presets::offload_compact()] {
        let mut options = CompactOptions::new(2_048);
        options.policy = policy;
        // Each call covers as little as it has to.
        options.cache = Cache::None;
        let sizes = sizes(&options, 2);
        let first = sizes[0].iter().sum::<u64>();
        let least = sizes.iter().map(|all| all.iter().sum::<u64>()).min();
        assert!(least >= Some(first * 3 / 4), "{sizes:?}");
    }
}

/// 17.2: where a large system prompt leaves little room, the only layer is cut to what is left, not taken by the last resort.
#[test]
fn the_only_layer_is_cut_to_the_limit() {
    let parcel = |n: i64| {
        let role = if n % 2 == 1 { "assistant" } else { "user" };
        let text = format!(
            "Parcel {} weighs {} kg, goes to gate {}, and the driver of lorry {} signs for it.",
            1_000 + n,
            n % 40,
            n % 9,
            (n * 7_919) % 997
        );
        json!({"role": role, "content": text.repeat(2)})
    };
    let list: Vec<Value> = (0..120).map(parcel).collect();
    let mut options = CompactOptions::new(4_096);
    options.cache = Cache::None;
    for times in 70..90 {
        options.system =
            Some("You find faults in programs, and say where they are. ".repeat(times));
        let out = compact(&list, &options, None);
        assert!(out.report.after.tokens <= out.report.limit, "{times}");
        assert_eq!(out.report.codes, [""; 0], "{times}");
    }
}
