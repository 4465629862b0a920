//! Layers of a session in a small window, which share one room.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use std::rc::Rc;

use palimpsest_core::context::{Context, Seed, Setup};
use palimpsest_core::layer::Layer;
use palimpsest_core::message::{Message, Role};
use palimpsest_core::record::Records;
use palimpsest_core::run::{Run, RunOptions, Step};
use palimpsest_tokens::Estimator;

const SEED: Seed = Seed {
    now: 1.0,
    secret: [7; 16],
};

/// A message full of values that nobody can guess.
fn dense(n: usize) -> String {
    format!(
        "Crate {} holds {} lamps for hall {}, and the driver of lorry {} signs for it at the north gate.",
        1_000 + n,
        n % 40 + 2,
        n % 9,
        (n * 7_919) % 997
    )
}

/// A message of the same length that says next to nothing.
fn thin(n: usize) -> String {
    let words = [
        "Well, that sounds good to me, and we can talk about it again some other time if you like.",
        "All right then, thanks a lot, it is nice to hear that things go well over there with you.",
        "Yes, I think so too, it is what it is, and one never knows how such things turn out anyway.",
    ];
    words[n % 3].to_owned()
}

/// The layers after each compaction of a session that gets these messages.
fn compactions(window: u32, messages: impl Iterator<Item = String>) -> Vec<Vec<Rc<Layer>>> {
    compactions_with(&RunOptions::default(), window, messages)
}

fn compactions_with(
    options: &RunOptions,
    window: u32,
    messages: impl Iterator<Item = String>,
) -> Vec<Vec<Rc<Layer>>> {
    let setup = Setup::balanced(window).unwrap();
    let counter = Rc::new(Estimator::default());
    let mut context = Context::new(setup, Records::with_system(""), counter);
    let mut all = Vec::new();
    for (n, text) in messages.enumerate() {
        let role = if n.is_multiple_of(2) {
            Role::User
        } else {
            Role::Assistant
        };
        context.push(Rc::new(Message::text(n as u32, role, &text)));
        if role == Role::Assistant && context.is_due() {
            let mut run = Run::new(&context, options.clone(), SEED);
            match run.step() {
                Step::Done(proposal) => {
                    if let Some(records) = proposal.records {
                        context.set_records(records);
                    }
                    context.set_view(proposal.view);
                }
                other => panic!("{other:?}"),
            }
            all.push(context.view().layers.clone());
        }
    }
    all
}

/// 16.1, C2: what the layers of a small window have together goes to those that say the most.
#[test]
fn a_layer_that_says_more_gets_more_room() {
    for window in [1_024, 2_048, 4_096] {
        let size = window as usize / 20;
        let all = compactions(window, (0..size).map(dense).chain((0..size * 4).map(thin)));
        let older = Setup::balanced(window).unwrap().shares.older;
        let last = all.last().unwrap();
        let sizes: Vec<u32> = last.iter().map(|l| l.tokens).collect();
        let (newest, others) = sizes.split_last().unwrap();
        assert!(
            others.iter().any(|tokens| *tokens > older * 3 / 2) && *newest < older,
            "{window}: {sizes:?} tokens, an equal share is {older}"
        );
    }
}

/// C3: a form never gets longer than the one that it replaces, and a layer that stays as it is keeps its number.
#[test]
fn a_later_form_is_not_longer() {
    for window in [1_024, 2_048, 4_096] {
        let all = compactions(window, (0..window as usize / 4).map(dense));
        assert!(all.len() > 5, "{window}: {}", all.len());
        let mut shorter = 0;
        for two in all.windows(2) {
            for layer in &two[1] {
                let of: Vec<&Rc<Layer>> = two[0]
                    .iter()
                    .filter(|old| layer.replaces.contains(&old.id))
                    .collect();
                let before: u32 = of.iter().map(|old| old.tokens).sum();
                assert!(
                    of.is_empty() || layer.tokens < before + of.len() as u32,
                    "{window}: {before} tokens became {}",
                    layer.tokens
                );
                shorter += u32::from(!of.is_empty() && layer.tokens < before);
                let same = two[0].iter().find(|old| old.id == layer.id);
                assert!(same.is_none_or(|old| old == layer), "{window}");
            }
        }
        assert!(shorter > 3, "{window}");
    }
}

/// C4: at 2,048 tokens and below no model is asked, so one that is named changes nothing.
#[test]
fn a_model_that_is_not_asked_changes_nothing() {
    let named = RunOptions {
        model: Some("writer".to_owned()),
        ..RunOptions::default()
    };
    for window in [1_024, 2_048] {
        let size = window as usize / 10;
        let without = compactions(window, (0..size).map(dense));
        let with = compactions_with(&named, window, (0..size).map(dense));
        assert!(with.len() > 2 && with == without, "{window}");
    }
}
