//! The stages of a compaction, and the model that is asked in one of them.

use palimpsest_core::context::Context;
use palimpsest_core::message::Role;
use palimpsest_core::mode::Mode;
use palimpsest_core::run::{Refusal, Run, RunOptions, Stage, Step, SuppliedSummary};

use super::{
    PLAIN, SEED, by_model, check_window, commit, context, run, run_step, say, summarized, talk,
};

/// Turns without a fact that an audit could miss, so that no summary keeps fewer than another.
fn small_talk(context: &mut Context, turns: usize) {
    let places = [
        "garden", "river", "kitchen", "meadow", "cellar", "window", "orchard",
    ];
    for n in 0..turns {
        let (here, there) = (places[n % 7], places[n / 7 % 7]);
        say(
            context,
            Role::User,
            &format!("what do you think about the {here} and the {there} behind it?"),
        );
        let answer = format!(
            "the {here} is a quiet place, and from the {there} one hears little. it is warm there in the evening, \
             and people like to sit a while before they go on with what they were doing all day."
        );
        say(context, Role::Assistant, &answer);
    }
}

/// P1: six stages in their order, one at a time, each with its own progress; a run that is stopped before any of them
/// changes nothing; the result names success, reason, layer, freed tokens, verification and adjustments.
#[test]
fn six_stages_one_at_a_time() {
    let mut c = context(4096, "");
    talk(&mut c, 30);
    let before = c.window();
    let mut run = Run::new(&c, RunOptions::default(), SEED);
    let mut stages = vec![run.stage()];
    let done = loop {
        match run.tick() {
            None => stages.push(run.stage()),
            Some(step) => break step,
        }
    };
    assert_eq!(
        stages,
        [
            Stage::Identify,
            Stage::Prepare,
            Stage::Summarize,
            Stage::Checkpoint,
            Stage::Update,
            Stage::Verify
        ]
    );
    for stop in 0..stages.len() {
        let mut run = Run::new(&c, RunOptions::default(), SEED);
        for _ in 0..stop {
            assert_eq!(run.tick(), None);
        }
        assert_eq!(run.cancel(), Step::Refused(Refusal::Cancelled));
        assert_eq!(run.step(), Step::Refused(Refusal::Cancelled));
        assert_eq!(c.window(), before);
    }
    assert_eq!(done, run_step(&c), "stage by stage is the same as at once");
    let tokens = c.tokens();
    let report = commit(&mut c, done);
    assert_eq!(report.layer, Some(c.view().layers[0].id));
    assert_eq!(report.freed(), tokens - c.tokens());
    let verified = report.verification.unwrap();
    assert_eq!((verified.valid, verified.tokens), (true, c.tokens()));
    assert_eq!(verified.limit, c.setup().shares.limit);
}

/// P7: a part that the summariser's window does not hold is asked for in halves, until one message is left; what came
/// back for the halves is the summary.
#[test]
fn a_part_that_overflows_is_halved() {
    let mut context = context(8_192, "Be brief.");
    small_talk(&mut context, 120);
    let options = RunOptions {
        model: Some("small".into()),
        ..RunOptions::default()
    };
    let mut run = Run::new(&context, options, SEED);
    let (mut refused, mut written) = (0, 0);
    let report = loop {
        match run.step() {
            Step::Need(job) => {
                let answer = if job.passages.len() > 12 {
                    refused += 1;
                    SuppliedSummary::Failed("overflow".into())
                } else {
                    assert!(job.part <= job.parts, "{} of {}", job.part, job.parts);
                    written += 1;
                    let told =
                        "They spoke about quiet places near the house, and which of them is warm.";
                    SuppliedSummary::Text(told.into())
                };
                run.supply(job.id, answer).unwrap();
            }
            other => break commit(&mut context, other),
        }
    };
    assert!(refused > 0 && written > refused, "{refused} {written}");
    let layers = &context.view().layers;
    let layer = layers.iter().find(|l| Some(l.id) == report.layer).unwrap();
    assert!(
        matches!(layer.author, palimpsest_core::layer::Author::Model { .. }),
        "{:?}",
        layer.author
    );
    check_window(&context);
}

/// P7, P8: a summariser that answers nonsense is asked once more, then the deterministic summary is taken
/// and marked.
#[test]
fn a_useless_summariser() {
    let mut c = context(4096, "");
    talk(&mut c, 30);
    let mut run = Run::new(
        &c,
        RunOptions {
            model: Some("m".into()),
            ..RunOptions::default()
        },
        SEED,
    );
    let mut asked = Vec::new();
    let report = loop {
        match run.step() {
            Step::Need(job) => {
                asked.push((job.attempt, job.target_tokens));
                assert!(job.prompt.contains("widget_0") || job.part > 1);
                run.supply(
                    job.id,
                    SuppliedSummary::Text("I'm sorry, I can't help with that.".into()),
                )
                .unwrap();
            }
            other => break commit(&mut c, other),
        }
    };
    assert_eq!(asked.iter().map(|a| a.0).collect::<Vec<_>>(), [1, 2]);
    assert!(asked[1].1 < asked[0].1, "the second request is tighter");
    let layer = c
        .view()
        .layers
        .iter()
        .find(|l| Some(l.id) == report.layer)
        .unwrap();
    assert!(
        matches!(&layer.author, palimpsest_core::layer::Author::Fallback { reason } if reason == "refusal"),
        "{:?}",
        layer.author
    );
    check_window(&c);
}

/// P6: what is preserved first depends on the mode: the prompt says so, the summariser without a model and the ledger
/// choose so. Decisions stand in each.
#[test]
fn modes_decide_what_is_preserved_first() {
    // so small that a layer cannot hold what each mode prefers side by side
    let mut c = context(1_024, "");
    say(&mut c, Role::User, "We start.");
    for n in 0..40 {
        say(
            &mut c,
            Role::Assistant,
            &format!(
                "The file src/module_{n}.rs holds it.\nThe build failed with error E{n:04} at {n} ms.\nWe decided to ship part {n} in week {n}.\nThe goal is to finish stage {n}."
            ),
        );
        say(&mut c, Role::User, "Go on.");
    }
    let slot = |mode: Mode| {
        let options = RunOptions {
            mode,
            ..RunOptions::default()
        };
        let mut c = c.clone();
        let step = run(&c, options);
        commit(&mut c, step);
        let layer = c.view().layers[0].clone();
        let text = format!("{}\n{}", layer.summary, layer.ledger.join("\n"));
        let count = |what: &str| text.matches(what).count();
        (count("src/module_"), count("decided"), layer)
    };
    let (developer, planning) = (slot(Mode::Developer), slot(Mode::Planning));
    assert_ne!(developer.2.summary, planning.2.summary, "weights");
    assert!(
        developer.0 > planning.0 && planning.1 > developer.1,
        "{developer:?} {planning:?}"
    );
    let c = {
        let mut c = context(4096, "");
        talk(&mut c, 30);
        c
    };
    let system = |mode: Mode| {
        let (jobs, _) = summarized(&c, RunOptions { mode, ..by_model() }, PLAIN);
        jobs[0].system.clone() + &jobs[0].prompt
    };
    let prompts: Vec<String> = [
        Mode::Developer,
        Mode::Debugger,
        Mode::Planning,
        Mode::Assistant,
    ]
    .into_iter()
    .map(system)
    .collect();
    assert!(
        prompts
            .iter()
            .all(|p| p.to_lowercase().contains("decision"))
    );
    let says = |n: usize, what: &str| prompts[n].to_lowercase().contains(what);
    assert!(says(0, "code") && says(1, "code") && says(1, "stack traces") && says(2, "goal"));
    for (i, a) in prompts.iter().enumerate() {
        assert!(prompts[i + 1..].iter().all(|b| a != b));
    }
}
