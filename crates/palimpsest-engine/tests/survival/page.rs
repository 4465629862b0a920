//! The figures that the page of `www/forget` has to show for its samples: what this bench measures of the same conversations.
//!
//! They stand in `tests/forget/figures.json`, and a journey compares the page with that file. After an intended change
//! `PALIMPSEST_BLESS=1 cargo test -p palimpsest-engine --test survival page` writes them anew.

use std::path::PathBuf;

use std::rc::Rc;

use palimpsest_core::compact::{CompactOptions, Live};
use palimpsest_core::context::Seed;
use palimpsest_core::dialect::Rendered;
use palimpsest_core::forgotten;
use palimpsest_core::policy::Policy;
use palimpsest_core::series::{self, Sent, Series};
use palimpsest_tokens::{Estimator, TokenCounter};
use serde_json::{Value, json};

use crate::contender::Who;
use crate::corpus::{Talk, joined, own};
use crate::measure::{labels, live};
use crate::peers::Kind;

/// The page's names of rows.
const ROWS: [(&str, Who); 10] = [
    ("balanced", Who::List("balanced")),
    ("checkpoints", Who::List("checkpoints")),
    ("watermark", Who::List("watermark")),
    ("offload-compact", Who::List("offload-compact")),
    ("auto-summarize", Who::List("auto-summarize")),
    ("truncation", Who::Peer(Kind::Tail)),
    ("trim-messages", Who::Peer(Kind::Trim)),
    ("prune-messages", Who::Peer(Kind::Prune)),
    ("keep-10", Who::Peer(Kind::Mask)),
    ("opencode", Who::Peer(Kind::OpenCode)),
];

const WINDOWS: [u32; 2] = [4_096, 8_192];

fn samples() -> [(&'static str, Talk); 3] {
    [
        ("trip", own("trip").remove(0)),
        ("coding", own("coding").remove(0)),
        ("support", joined("service", &own("service"))),
    ]
}

/// One request before every reply and one at the end, with the measure of `cargo xtask bench loop`: how many break the prefix,
/// how many there are, tokens read anew, tokens sent.
fn looped(talk: &Talk, preset: &str, window: u32) -> [u64; 4] {
    let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
    let options = CompactOptions {
        policy: Policy::preset(preset).unwrap(),
        ..CompactOptions::new(window)
    };
    let mut live = Live::new(options, &counter).unwrap();
    let system =
        (!talk.system.is_empty()).then(|| json!({"role": "system", "content": talk.system}));
    let list: Vec<Value> = system
        .into_iter()
        .chain(talk.messages.iter().cloned())
        .collect();
    let is_reply = |n: usize| list[n]["role"] == "assistant" && list[n - 1]["role"] != "assistant";
    let moments = (1..list.len()).filter(|&n| is_reply(n)).chain([list.len()]);
    let mut series = Series {
        messages: list.clone(),
        history: (0..list.len() as u32).collect(),
        requests: Vec::new(),
    };
    let (mut at, mut full) = (0, None);
    for n in moments {
        live.push(list[at..n].to_vec()).unwrap();
        at = n;
        let seed = Seed {
            now: 0.0,
            secret: [0; 16],
        };
        let done = live.fit(seed).unwrap();
        let number = |message: Rendered| match message {
            Rendered::Kept(index) => index as u32,
            Rendered::Made(value) => {
                let known = series.messages.iter().position(|one| *one == value);
                known.unwrap_or_else(|| {
                    series.messages.push(value);
                    series.messages.len() - 1
                }) as u32
            }
        };
        let limit = done.report.limit;
        full.get_or_insert(limit);
        let window = done.messages.into_iter().map(number).collect();
        series.requests.push(Sent {
            at: n as u32,
            window,
            limit: Some(limit),
        });
    }
    let found = series::measure(&series, full.unwrap_or(0), counter.as_ref()).unwrap();
    [
        u64::from(found.breaks),
        u64::from(found.requests),
        found.reread,
        found.sent,
    ]
}

fn figures(talk: &Talk, who: Who, window: u32) -> Value {
    let mut contender = who.start(&talk.system, window);
    live(&talk.messages, contender.as_mut(), |_, _| {});
    let found = forgotten::labelled(&labels(talk), &contender.now().text);
    let mut figures = json!({
        "facts": [found.facts.found, found.facts.of],
        "rules": [found.rules.found, found.rules.of],
        "stale": [found.stale.found, found.stale.of],
    });
    if let Who::List(preset) = who {
        figures["loop"] = json!(looped(talk, preset, window));
    }
    figures
}

#[test]
fn the_page_shows_what_is_measured_here() {
    let mut all = serde_json::Map::new();
    for (name, talk) in samples() {
        for window in WINDOWS {
            let rows = ROWS.map(|(row, who)| (row.to_owned(), figures(&talk, who, window)));
            all.insert(format!("{name}/{window}"), rows.into_iter().collect());
        }
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/forget/figures.json");
    let text = format!("{:#}\n", Value::Object(all));
    if std::env::var_os("PALIMPSEST_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap();
    assert!(
        written == text,
        "the figures have changed: read them, then PALIMPSEST_BLESS=1 writes them anew\n{text}"
    );
}
