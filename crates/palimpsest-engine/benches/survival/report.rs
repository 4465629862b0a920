//! The tables of `cargo xtask bench survival`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use palimpsest_core::policy::presets;
use palimpsest_core::shares::{ShareOptions, Shares};

use crate::contender::{Shown, Who};
use crate::corpus::{self, Talk, chats, joined, own};
use crate::measure::{
    Asked, Ended, LOOKS, Ruled, Share, after_compactions, live, looks, measured, needed, needs,
    own_rules, recorded_rules, rules,
};
use crate::peers::Kind;
use crate::table::{Table, mean, percent, replace};

/// Compactions after which rules are looked for.
const COMPACTIONS: [u32; 3] = [1, 5, 20];

/// The window for the small conversation in seven languages: about half of it fits.
const SMALL: u32 = 768;

/// Moments at which questions are asked of our own conversations.
const MOMENTS: usize = 6;

/// Calls of a conversation whose values are looked for.
const CALLS: usize = 60;

/// Conversations of one kind.
pub(crate) struct Domain {
    pub(crate) name: &'static str,
    pub(crate) talks: Vec<Talk>,
    pub(crate) windows: Vec<u32>,
    /// Long tool output, in which methods that compare all sentences take too long.
    heavy: bool,
}

impl Domain {
    pub(crate) fn new(name: &'static str, talks: Vec<Talk>, windows: &[u32]) -> Self {
        Self {
            name,
            talks,
            windows: windows.to_vec(),
            heavy: false,
        }
    }

    fn heavy(self) -> Self {
        Self {
            heavy: true,
            ..self
        }
    }

    fn takes(&self, who: Who) -> bool {
        !(self.heavy && matches!(who, Who::Peer(kind) if kind.is_graph()))
    }
}

/// The size of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All conversations, windows and methods.
    Whole,
    /// All of our own conversations and windows with a few methods: for looking at a change.
    Ours,
    /// A few of them with a few methods.
    Quick,
}

impl Extent {
    pub(crate) fn of(has: &dyn Fn(&str) -> bool) -> Self {
        match (has("--quick"), has("--ours")) {
            (true, _) => Self::Quick,
            (false, true) => Self::Ours,
            (false, false) => Self::Whole,
        }
    }
}

fn contenders(extent: Extent) -> Vec<Who> {
    if extent == Extent::Ours {
        let kinds = [Kind::Tail, Kind::TfIdf];
        let mut all = vec![Who::List("balanced"), Who::Session];
        all.extend(kinds.map(Who::Peer));
        return all;
    }
    if extent == Extent::Quick {
        let kinds = [Kind::Tail, Kind::TextRank, Kind::TfIdf, Kind::Bm25];
        let mut all = vec![Who::List("balanced"), Who::Session];
        all.extend(kinds.map(Who::Peer));
        return all;
    }
    let mut all: Vec<Who> = presets::ALL
        .iter()
        .map(|(name, _)| Who::List(name))
        .collect();
    all.push(Who::Session);
    all.extend(Kind::ALL.map(Who::Peer));
    all
}

fn thousands(n: u32) -> String {
    if n < 1_000 {
        n.to_string()
    } else {
        format!("{},{:03}", n / 1_000, n % 1_000)
    }
}

fn columns(domains: &[Domain]) -> Vec<String> {
    let all = domains.iter().flat_map(|domain| {
        let windows = domain.windows.iter();
        windows.map(|window| format!("{} {}", domain.name, thousands(*window)))
    });
    all.collect()
}

fn both(asked: Asked) -> String {
    format!("{} / {}", percent(asked.evidence), percent(asked.answer))
}

/// Chats by which nothing is chosen.
fn held_out_chats() -> Vec<Talk> {
    [own("boat"), own("choir")].concat()
}

/// Questions; the same run tells what stands when nothing is asked.
fn own_tables(extent: Extent, all: &[Who]) -> Vec<Table> {
    let chats = chats();
    let (service, coding) = (joined("service", &own("service")), own("coding"));
    let mut domains = if extent == Extent::Quick {
        vec![
            Domain::new("chats", chats, &[4_096]),
            Domain::new("service", vec![service], &[2_048]),
        ]
    } else {
        let long = joined("all chats", &chats);
        vec![
            Domain::new("chats", chats, &[2_048, 4_096]),
            Domain::new("all chats in one", vec![long], &[4_096, 8_192, 16_384]),
            Domain::new("service", vec![service], &[2_048, 4_096, 8_192]),
            Domain::new("coding", coding, &[2_048, 4_096, 8_192]),
        ]
    };
    let held_out = [
        Domain::new("held-out chats", held_out_chats(), &[1_024, 2_048]),
        Domain::new("held-out service", own("clinic"), &[1_024, 2_048]),
        Domain::new("held-out coding", own("press"), &[2_048, 4_096]),
    ];
    domains.extend(held_out);
    let names = columns(&domains);
    let mut questions = Table::new(
        "Our own conversations: questions with all evidence word for word / with the answer's words in the window, %",
        names.clone(),
    );
    let mut facts = Table::new(
        "Our own conversations, nothing asked: facts that stand in the window, %",
        names.clone(),
    );
    let mut others = Table::new(
        "Our own conversations, nothing asked: replaced values that stand without their successor · in what stands in place of covered \
         messages: tokens of empty / of vague ones · lines of at most two words, % each",
        names.clone(),
    );
    let mut cost = Table::new("Tokens of a question's window · milliseconds", names);
    for who in all {
        let (mut q, mut f, mut o, mut c) = (vec![], vec![], vec![], vec![]);
        for domain in &domains {
            for window in &domain.windows {
                let (asked, ended) = measured(&domain.talks, *who, *window, MOMENTS);
                q.push(both(asked));
                f.push(percent(ended.facts));
                o.push(format!(
                    "{} · {} / {} · {}",
                    percent(ended.stale),
                    percent(ended.empty),
                    percent(ended.vague),
                    percent(ended.bare)
                ));
                c.push(format!(
                    "{} · {}",
                    mean(asked.tokens, 0),
                    mean(asked.millis, 1)
                ));
            }
        }
        questions.rows.push((who.name(), q));
        facts.rows.push((who.name(), f));
        others.rows.push((who.name(), o));
        cost.rows.push((who.name(), c));
    }
    vec![questions, facts, others, cost]
}

fn recorded_questions(all: &[Who]) -> Table {
    let friends = corpus::recorded_friends();
    let domain = Domain::new("friends", friends, &[2_048, 4_096, 8_192, 16_384]);
    let columns: Vec<String> = domain.windows.iter().map(|w| thousands(*w)).collect();
    let mut table = Table::new(
        "Recorded chats of two people: questions with all evidence word for word, % · tokens",
        columns,
    );
    for who in all {
        let cells = domain.windows.iter().map(|window| {
            let (asked, _) = measured(&domain.talks, *who, *window, 2);
            format!("{} · {}", percent(asked.evidence), mean(asked.tokens, 0))
        });
        table.rows.push((who.name(), cells.collect()));
    }
    table
}

fn values(extent: Extent, recorded: bool, all: &[Who]) -> Table {
    let service = vec![joined("service", &own("service"))];
    let mut domains = if extent == Extent::Quick {
        vec![Domain::new("service", service, &[2_048])]
    } else {
        vec![
            Domain::new("service", service, &[2_048]),
            Domain::new("coding", own("coding"), &[2_048, 4_096, 8_192]),
        ]
    };
    if recorded && extent != Extent::Quick {
        let mut desk = corpus::recorded_service();
        desk.truncate(30);
        let rest = [
            Domain::new("recorded service", desk, &[4_096]).heavy(),
            Domain::new("recorded bug fix", corpus::recorded_cure(), &[8_192]).heavy(),
            Domain::new(
                "recorded coding",
                corpus::recorded_coding(240),
                &[8_192, 16_384],
            )
            .heavy(),
        ];
        domains.extend(rest);
    }
    let mut table = Table::new(
        "Values that a tool call needs and that were last said further back than a quarter of the room: in the window with which the \
         call is asked for, % (values)",
        columns(&domains),
    );
    for who in all {
        let mut cells = Vec::new();
        for domain in &domains {
            for window in &domain.windows {
                if !domain.takes(*who) {
                    cells.push("–".into());
                    continue;
                }
                let near = Shares::of(*window, ShareOptions::default()).unwrap().limit / 4;
                let mut sum = Share::default();
                for talk in &domain.talks {
                    let needs = needs(talk, near, CALLS);
                    if !needs.is_empty() {
                        let mut contender = who.start(&talk.system, *window);
                        sum.join(needed(talk, &needs, contender.as_mut()));
                    }
                }
                cells.push(format!("{} ({})", percent(sum), sum.of));
            }
        }
        table.rows.push((who.name(), cells));
    }
    table
}

/// `cargo bench -p palimpsest-engine --bench survival -- --values`: the table of values that calls need, ours and the newest messages alone.
pub(crate) fn needed_values() {
    let few = [Who::List("balanced"), Who::Session, Who::Peer(Kind::Tail)];
    println!(
        "{}",
        values(Extent::Whole, corpus::is_recorded(), &few).markdown()
    );
}

fn rule_tables(recorded: bool, all: &[Who]) -> Table {
    let window = 2_048;
    let mut sets = vec![("ours", own_rules())];
    if recorded {
        let chats = joined("chats", &chats());
        sets.push(("recorded instructions", recorded_rules(&chats, 8)));
    }
    let names = sets.iter().flat_map(|(name, _)| {
        COMPACTIONS.map(|n| format!("{name}, {n} compaction{}", if n == 1 { "" } else { "s" }))
    });
    let mut table = Table::new(
        "Standing instructions that stand word for word in a window of 2,048, % (instructions)",
        names.collect(),
    );
    let times: Vec<Vec<Vec<usize>>> = sets
        .iter()
        .map(|(_, set)| {
            let times =
                |ruled: &Ruled| after_compactions(&ruled.talk, ruled.said, window, &COMPACTIONS);
            set.iter().map(times).collect()
        })
        .collect();
    for who in all {
        let mut cells = Vec::new();
        for ((_, set), times) in sets.iter().zip(&times) {
            let mut sums = [Share::default(); COMPACTIONS.len()];
            for (ruled, at) in set.iter().zip(times) {
                let own = rules(&ruled.talk, at, &ruled.rules, *who, window);
                sums.iter_mut()
                    .zip(own)
                    .for_each(|(sum, own)| sum.join(own));
            }
            cells.extend(sums.map(|sum| format!("{} ({})", percent(sum), sum.of)));
        }
        table.rows.push((who.name(), cells));
    }
    table
}

fn languages(recorded: bool, all: &[Who]) -> Vec<Table> {
    let talks = own("small");
    let names: Vec<String> = talks.iter().map(|talk| talk.language.clone()).collect();
    let mut questions = Table::new(
        "One conversation in seven languages, window 768: questions with all evidence / with the answer's words, %",
        names.clone(),
    );
    let mut facts = Table::new("The same, nothing asked: facts, %", names.clone());
    let mut kept = Table::new(
        "The same: the conversation's rule at the end; recorded instructions at the beginning, those that stand at the end, %",
        names,
    );
    for who in all {
        let (mut q, mut f, mut k) = (vec![], vec![], vec![]);
        for talk in &talks {
            let (asked, ended) = measured(std::slice::from_ref(talk), *who, SMALL, 3);
            q.push(both(asked));
            f.push(percent(ended.facts));
            let mut sum = Share::default();
            for ruled in recorded.then(|| recorded_rules(talk, 6)).iter().flatten() {
                let end = ruled.talk.messages.len() - 1;
                let own = rules(&ruled.talk, &[end], &ruled.rules, *who, SMALL);
                sum.join(own[0]);
            }
            k.push(format!("{}; {}", percent(ended.rules), percent(sum)));
        }
        questions.rows.push((who.name(), q));
        facts.rows.push((who.name(), f));
        kept.rows.push((who.name(), k));
    }
    vec![questions, facts, kept]
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `cargo xtask bench survival`: all tables, into `docs/benchmarks.md` with `--bless`.
pub(crate) fn tables(extent: Extent, bless: bool) {
    let recorded = corpus::is_recorded();
    let all = contenders(extent);
    let whole = extent == Extent::Whole;
    let mut tables = Vec::new();
    let mut add = |table: Table| {
        println!("{}", table.markdown());
        tables.push(table);
    };
    own_tables(extent, &all).into_iter().for_each(&mut add);
    add(values(extent, recorded, &all));
    add(rule_tables(recorded && extent != Extent::Quick, &all));
    languages(recorded && whole, &contenders(Extent::Quick))
        .into_iter()
        .for_each(&mut add);
    if recorded && extent != Extent::Quick {
        add(recorded_questions(&all));
    }
    if !recorded {
        println!("\nThere is no ../shared/data: only conversations of our own were measured.");
    }
    if bless {
        assert!(recorded && whole, "the document holds all tables");
        let path = root().join("docs/benchmarks.md");
        let old = std::fs::read_to_string(&path).unwrap();
        let all: String = tables.iter().map(Table::markdown).collect();
        std::fs::write(&path, replace(&old, "survival", &all)).unwrap();
    }
}

/// `cargo bench -p palimpsest-engine --bench survival -- --room`: what stands at several moments while nothing is asked, for our own
/// conversations and for those that are held out, and what the parts of a session's window take.
pub(crate) fn room() {
    let domains = [
        Domain::new("chats", chats(), &[2_048, 4_096, 8_192]),
        Domain::new(
            "service",
            vec![joined("service", &own("service"))],
            &[2_048, 4_096],
        ),
        Domain::new("coding", own("coding"), &[2_048, 4_096]),
        Domain::new("held-out chats", held_out_chats(), &[768, 1_024, 2_048]),
        Domain::new("held-out service", own("clinic"), &[1_024, 2_048]),
        Domain::new("held-out coding", own("press"), &[2_048, 4_096]),
    ];
    for domain in &domains {
        for window in &domain.windows {
            for who in [Who::List("balanced"), Who::Session, Who::Peer(Kind::Tail)] {
                let mut sum = Ended::default();
                let mut parts: Vec<(String, u32)> = Vec::new();
                for talk in &domain.talks {
                    let (ended, own) = looks(talk, who, *window);
                    sum.join(ended);
                    parts = own;
                }
                let parts = parts
                    .iter()
                    .map(|(kind, n)| format!("{kind} {}", n / LOOKS as u32));
                println!(
                    "{} {window} {}: facts {} rules {} stale {} empty {} vague {} bare {} · {}",
                    domain.name,
                    who.name().replace("**", "").replace(", balanced", ""),
                    percent(sum.facts),
                    percent(sum.rules),
                    percent(sum.stale),
                    percent(sum.empty),
                    percent(sum.vague),
                    percent(sum.bare),
                    parts.collect::<Vec<_>>().join(", "),
                );
            }
        }
    }
}

/// `cargo xtask bench survival --layers FILE`: layers of different conversations, for reading.
pub(crate) fn layers(file: &str) {
    let mut out = String::new();
    let mut add = |talk: &Talk, who: Who, window: u32, shown: &Shown| {
        let name = who.name().replace("**", "");
        write!(
            out,
            "\n\n===== {} ({}), {name}, window {}\n\n{}",
            talk.id,
            talk.language,
            thousands(window),
            shown.made
        )
        .unwrap();
    };
    let mut all: Vec<(Talk, u32)> = Vec::new();
    for talk in chats() {
        all.push((talk.clone(), 2_048));
        all.push((talk, 4_096));
    }
    all.push((joined("all chats in one", &chats()), 8_192));
    all.push((joined("service", &own("service")), 2_048));
    all.push((joined("service", &own("service")), 4_096));
    all.extend(
        own("coding")
            .into_iter()
            .flat_map(|t| [(t.clone(), 4_096), (t, 8_192)]),
    );
    all.extend(own("small").into_iter().map(|talk| (talk, SMALL)));
    for (n, (talk, window)) in all.iter().enumerate() {
        let many = ["balanced", "checkpoints", "offload-compact"];
        let who = Who::List(if n % 2 == 0 { many[0] } else { many[n / 2 % 3] });
        let both = if n < 4 {
            vec![who, Who::Session]
        } else {
            vec![who]
        };
        for who in both {
            let mut contender = who.start(&talk.system, *window);
            live(&talk.messages, contender.as_mut(), |_, _| {});
            add(talk, who, *window, &contender.now());
        }
    }
    std::fs::write(file, out.trim_start()).unwrap();
}
