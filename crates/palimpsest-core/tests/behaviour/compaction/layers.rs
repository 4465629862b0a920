//! The range that a compaction covers, and the layers that stand for it.

use palimpsest_core::context::Context;
use palimpsest_core::layer::Level;
use palimpsest_core::message::{Part, Role};
use palimpsest_core::mode::Mode;
use palimpsest_core::run::{Refusal, Rewrite, Run, RunOptions, Step, SuppliedSummary};
use palimpsest_core::window::WindowMessage;

use super::{
    PLAIN, SEED, by_model, check_window, commit, context, demand_block, parts, run_step, say,
    summarized, talk, talk_one, tool, with_policy, words,
};

/// P2: the share, five messages, three messages or 2,048 tokens stay at the end, widened to a safe place, never less than
/// the last exchange; only the oldest whole exchanges that are needed are covered; thinking is neither sent nor
/// summarised; a picture counts, is never shortened, and past the tail stands as its name and size.
#[test]
fn what_is_kept_and_what_is_covered() {
    // the last four messages are a call that runs into the fifth from the end
    let build = |data: &serde_json::Value| {
        let mut c = with_policy(8192, data);
        say(&mut c, Role::User, "Look at this plan.");
        let picture = |name: &str| Part::Image {
            name: name.into(),
            media_type: "image/png".into(),
            data: format!("data:image/png;base64,{}", "A".repeat(16_000)),
            tokens: None,
        };
        let shown = parts(
            &mut c,
            Role::User,
            vec![picture("plan.png"), Part::text("Here it is.")],
        );
        assert!(
            c.entries()[shown as usize].tokens >= 768,
            "by the rule, or 768"
        );
        parts(
            &mut c,
            Role::Assistant,
            vec![
                Part::Thinking {
                    text: "secret thoughts about zebras".into(),
                },
                Part::text("It is a plan of a house."),
            ],
        );
        talk(&mut c, 50);
        say(
            &mut c,
            Role::User,
            "Read the last part, and look at this, too.",
        );
        parts(&mut c, Role::User, vec![picture("late.png")]);
        let tail = c.entries().len() as u32 + 2;
        tool(&mut c, "t", &"the last part says all is well. ".repeat(4));
        say(&mut c, Role::Assistant, "All is well.");
        (c, tail)
    };
    let check = |data: serde_json::Value, most_kept: usize| {
        let (mut c, result) = build(&data);
        let texts = |c: &Context| words(&c.window());
        assert!(!texts(&c).contains("zebras"));
        let (jobs, step) = summarized(&c, by_model(), PLAIN);
        let asked: String = jobs.iter().map(|j| j.prompt.as_str()).collect();
        assert!(!asked.contains("zebras"), "thinking is never summarised");
        assert!(asked.contains("[image: plan.png, 12 KB]"), "{data}");
        commit(&mut c, step);
        check_window(&c);
        let covered = |seq: u32| {
            matches!(
                c.view().rendition(seq),
                palimpsest_core::rendition::Rendition::Covered(_)
            )
        };
        let all = c.entries().len() as u32;
        let kept: Vec<u32> = (0..all).filter(|s| !covered(*s)).collect();
        assert!(
            kept.windows(2).all(|w| w[0] + 1 == w[1]),
            "the oldest go: {kept:?}"
        );
        assert!(
            kept.contains(&(all - 1)) && kept.contains(&(result - 1)),
            "{kept:?}"
        );
        assert_eq!(covered(result), covered(result - 1), "a pair is not parted");
        assert!(kept.len() <= most_kept, "{data}: {}", kept.len());
        let window = c.window();
        let pictures = window.messages().iter().flat_map(WindowMessage::parts);
        let pictures = pictures.filter(|p| matches!(p, Part::Image { .. })).count();
        assert_eq!(pictures, 1, "the one in the tail, whole");
        kept.len()
    };
    check(
        serde_json::json!({"base": "checkpoints", "keep_recent": {"by": "messages", "messages": 5}}),
        6,
    );
    check(
        serde_json::json!({"base": "auto-summarize", "keep_recent": {"by": "messages", "messages": 3}}),
        5,
    );
    let tokens = check(
        serde_json::json!({"base": "checkpoints", "keep_recent": {"by": "tokens", "tokens": 4096}}),
        60,
    );
    assert!(tokens > 6, "{tokens}");
    let share = check(serde_json::json!("balanced"), 60);
    assert!(share > 6, "{share}");
    // no more than is needed: with the last covered exchange shown, the target would be missed
    let (mut c, _) = build(&serde_json::json!("balanced"));
    let target = c.target();
    let report = {
        let step = run_step(&c);
        commit(&mut c, step)
    };
    let last = report.covers.last().unwrap().to as usize;
    let exchange: u32 = c.entries()[last - 1..=last].iter().map(|e| e.tokens).sum();
    assert!(c.tokens() <= target + 32, "{} {target}", c.tokens());
    assert!(report.after + exchange + 400 > target, "{report:?}");
}

/// P3: the user's words from what is covered stand verbatim and numbered in the slot, the newest first to get room, one at
/// most a quarter of the share; past it older ones are summarised, their demands are records, and the report says which;
/// where the policy forbids that nothing is compressible.
#[test]
fn the_users_words_within_their_share() {
    let build = |data: &serde_json::Value| {
        let mut c = with_policy(4096, data);
        say(
            &mut c,
            Role::User,
            "Never use tabs in the code. And what is widget_zero?",
        );
        say(&mut c, Role::Assistant, "A widget.");
        for n in 0..40 {
            say(
                &mut c,
                Role::User,
                &format!(
                    "Wish {n}: the panel number {n} should be blue and have a title of its own."
                ),
            );
            say(
                &mut c,
                Role::Assistant,
                &format!("Panel {n} is blue now. {}", "It took a while. ".repeat(4)),
            );
            if n == 20 {
                let long = format!(
                    "The long story of panel X begins. {}",
                    "Once upon a time. ".repeat(90)
                );
                say(&mut c, Role::User, &long);
                say(&mut c, Role::Assistant, "What a story.");
            }
        }
        c
    };
    let mut c = build(&serde_json::json!("balanced"));
    let aim = c.target();
    let step = run_step(&c);
    let report = commit(&mut c, step);
    let quotes = c.view().quotes.clone();
    assert!(!quotes.is_empty() && report.after <= aim + 64, "{report:?}");
    assert!(
        quotes.windows(2).all(|w| w[0].seq < w[1].seq),
        "in their order"
    );
    let text = words(&c.window());
    for quote in &quotes {
        assert!(text.contains(&format!("User ({}): {}", quote.seq + 1, quote.text)));
        let said = c.entries()[quote.seq as usize].message.words();
        assert!(
            quote.text == said || quote.text.contains('…'),
            "verbatim, or an excerpt"
        );
    }
    let covered_user = |seq: &u32| {
        c.entries()[*seq as usize].message.role == Role::User
            && report.covers.iter().any(|s| s.contains(*seq))
    };
    let all: Vec<u32> = (0..c.entries().len() as u32).filter(covered_user).collect();
    let mut said = report.quoted.clone();
    said.extend(&report.shortened);
    said.extend(&report.summarised);
    said.sort_unstable();
    // what a layer says whole is neither
    let slot = text.split("User (").next().unwrap();
    let whole = |seq: &u32| slot.contains(&c.entries()[*seq as usize].message.words());
    let missing: Vec<u32> = all.iter().copied().filter(|s| !said.contains(s)).collect();
    assert!(missing.len() < all.len() / 2, "{missing:?}");
    assert!(
        missing.iter().all(whole),
        "every one is quoted, reported or said by a layer: {missing:?}\n{slot}"
    );
    assert!(said.iter().all(|s| all.contains(s)), "{said:?}");
    assert!(
        report.summarised.iter().all(|s| *s < quotes[0].seq),
        "the newest are quoted"
    );
    let block = demand_block(&c);
    assert!(block.contains("Never use tabs in the code."), "{block}");

    let never = serde_json::json!({"user_words": "never"});
    let c = build(&never);
    assert_eq!(run_step(&c), Step::Refused(Refusal::NothingCompressible));
}

/// P4, C1: a new layer is detailed, then moderate, then compact, each within its share; what is left under the target goes
/// to the ledger, then to the user's words, then to layers; by option the level goes by what is covered, as seed 1 has
/// it; every form says how often it was compressed, and when, and what it came from.
#[test]
fn levels_sizes_and_room_that_is_left() {
    let mut c = context(8192, "");
    let shares = c.setup().shares;
    let mut levels: std::collections::BTreeMap<u32, Vec<(Level, u32, u32)>> =
        std::collections::BTreeMap::new();
    let mut turn = 0;
    for _ in 0..8 {
        while !c.is_due() {
            talk_one(&mut c, turn);
            say(
                &mut c,
                Role::User,
                &format!(
                    "Why is fn_{turn} kept? It costs {turn} ms since 2024-05-{:02}.",
                    turn % 28 + 1
                ),
            );
            say(
                &mut c,
                Role::Assistant,
                &format!(
                    "We decided to keep fn_{turn} because src/part_{turn}.rs needs it. It must not change before version {turn}.2."
                ),
            );
            turn += 1;
        }
        let step = run_step(&c);
        let report = commit(&mut c, step);
        // The parts were estimated one by one.
        assert!(
            c.tokens() <= c.target() + c.target() / 50,
            "{} > {}",
            c.tokens(),
            c.target()
        );
        let layers = &c.view().layers;
        let newest = layers.last().unwrap();
        assert_eq!((newest.level, newest.compressions), (Level::Detailed, 1));
        assert_eq!(Some(newest.id), report.layer);
        assert_eq!(newest.number, c.view().compactions);
        for layer in layers {
            assert!(layer.original_tokens > layer.tokens && layer.messages > 0);
            assert!(layer.created <= layer.compressed_at);
            let all = levels.entry(layer.number).or_default();
            all.push((layer.level, layer.tokens, layer.compressions));
        }
        let quoted: u32 = c.view().quotes.iter().map(|q| q.tokens).sum();
        let ledger = newest.tokens > shares.newest - shares.newest / 4;
        assert!(
            ledger || report.dropped.is_empty(),
            "the ledger comes first: {report:?}"
        );
        let words_left = report.summarised.is_empty() || quoted >= shares.user * 3 / 4;
        assert!(
            words_left,
            "then the user's words: {quoted} of {}",
            shares.user
        );
        // then layers: what is left now is less than a line, or nothing is left to say
        let left = c.target().saturating_sub(c.tokens());
        assert!(left < shares.newest, "{left}");
    }
    for (number, forms) in &levels {
        assert!(
            forms.windows(2).all(|w| w[0].0 >= w[1].0),
            "{number}: {forms:?}"
        );
        assert!(
            forms.windows(2).all(|w| w[0].2 <= w[1].2),
            "{number}: {forms:?}"
        );
    }
    let oldest = &c.view().layers[0];
    assert!(
        oldest.level < Level::Detailed && oldest.compressions >= 3,
        "{oldest:?}"
    );
    assert!(oldest.rank > 0, "merged");

    let option = serde_json::json!({"levels": "size"});
    let check = |turns: usize, expected: Level| {
        let mut c = with_policy(16_384, &option);
        talk(&mut c, turns);
        let options = RunOptions {
            manual: true,
            ..by_model()
        };
        let (jobs, step) = summarized(&c, options, PLAIN);
        let covered = match &step {
            Step::Done(p) => p.report.covered_tokens,
            other => panic!("{other:?}"),
        };
        commit(&mut c, step);
        assert_eq!(
            c.view().layers[0].level,
            expected,
            "{covered} tokens, {} jobs",
            jobs.len()
        );
    };
    check(18, Level::Detailed);
    check(27, Level::Moderate);
    check(90, Level::Compact);
}

/// C4: every covered range has one detailed note, made once from the originals, that never changes; each layer names the
/// notes it is made from and no text of another layer; when the slots are full the neighbours of lowest rank merge, the
/// older if they are equal; one model call at most goes to fading; a layer that was cut is written again in a quiet
/// moment, from its notes, strictly smaller; a bad text changes nothing.
#[test]
fn layers_are_made_from_notes() {
    let mut c = context(8192, "");
    let mut notes: std::collections::BTreeMap<u32, palimpsest_core::note::Note> =
        std::collections::BTreeMap::new();
    let mut turn = 0;
    let mut pairs_joined = 0;
    for round in 0..9 {
        while !c.is_due() {
            talk_one(&mut c, turn);
            turn += 1;
        }
        let before = c.view().clone();
        let text = format!(
            "Round {round} went through some parts of the source one by one, and each function returns its number as told. Nothing else was found in those files so far."
        );
        let mut run = Run::new(&c, by_model(), SEED);
        let mut fading = 0;
        let step = loop {
            match run.step() {
                Step::Need(job) => {
                    fading += u32::from(job.fades.is_some());
                    // what a summariser reads is said, or a note: never a layer
                    for layer in &before.layers {
                        let own = layer.summary.trim();
                        let in_notes = notes.values().any(|n| n.text.contains(own));
                        assert!(in_notes || !job.prompt.contains(own), "{own}");
                    }
                    run.supply(job.id, SuppliedSummary::Text(text.clone()))
                        .unwrap();
                }
                other => break other,
            }
        };
        assert!(fading <= 1);
        commit(&mut c, step);
        let view = c.view();
        for note in &view.notes {
            let known = notes.entry(note.id).or_insert_with(|| (**note).clone());
            assert_eq!(known, &**note, "a note never changes");
            assert!(note.covers.iter().all(|s| s.to >= s.from));
        }
        for layer in &view.layers {
            assert!(!layer.notes.is_empty());
            let covered: Vec<_> = layer
                .notes
                .iter()
                .flat_map(|n| notes[n].covers.clone())
                .collect();
            assert_eq!(layer.covers, covered, "its notes are of what it covers");
        }
        assert!(view.layers.len() <= c.setup().shares.older_slots as usize + 1);
        if before.layers.len() > c.setup().shares.older_slots as usize {
            let rank = |i: usize| before.layers[i].rank + before.layers[i + 1].rank;
            let lowest = (0..before.layers.len() - 1)
                .min_by_key(|&i| (rank(i), i))
                .unwrap();
            let pair = [before.layers[lowest].id, before.layers[lowest + 1].id];
            let merged = &view.layers[lowest];
            let mut from = [&before.layers[lowest], &before.layers[lowest + 1]]
                .map(|l| l.notes.clone())
                .concat();
            from.sort_unstable();
            assert_eq!(merged.notes, from, "{pair:?}");
            pairs_joined += 1;
        }
    }
    assert!(pairs_joined >= 3, "{pairs_joined}");

    let rewrite = Rewrite::of(&c, Mode::Assistant, SEED).unwrap();
    let cut = c.view().layers.iter().rfind(|l| l.is_cut).unwrap().clone();
    assert_eq!(rewrite.job().fades, Some(cut.id));
    for note in &cut.notes {
        assert!(
            rewrite
                .job()
                .prompt
                .contains(notes[note].text.lines().next().unwrap())
        );
    }
    assert_eq!(
        rewrite.finish(&c, "I'm sorry, I can't help with that.", "m"),
        Err(Refusal::ModelFailed)
    );
    let better = "Several parts of the source were read; each function returns its own number.";
    let proposal = rewrite.finish(&c, better, "m").unwrap();
    let before = c.tokens();
    let report = commit(&mut c, Step::Done(Box::new(proposal)));
    assert_eq!(report.after, c.tokens());
    assert!(c.tokens() < before);
    let new = c
        .view()
        .layers
        .iter()
        .find(|l| l.replaces == [cut.id])
        .unwrap();
    assert!(new.summary == better && new.tokens < cut.tokens && !new.is_cut);
    assert_eq!(
        (new.notes.clone(), new.covers.clone()),
        (cut.notes.clone(), cut.covers.clone())
    );
    check_window(&c);
}
