//! The figures that the page of `www/forget` has to show for its samples: what this bench measures of the same conversations.
//!
//! They stand in `tests/forget/figures.json`, and a journey compares the page with that file. After an intended change
//! `PALIMPSEST_BLESS=1 cargo test -p palimpsest-engine --test survival page` writes them anew.

use std::path::PathBuf;

use palimpsest_core::forgotten;
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

fn figures(talk: &Talk, who: Who, window: u32) -> Value {
    let mut contender = who.start(&talk.system, window);
    live(&talk.messages, contender.as_mut(), |_, _| {});
    let found = forgotten::labelled(&labels(talk), &contender.now().text);
    json!({
        "facts": [found.facts.found, found.facts.of],
        "rules": [found.rules.found, found.rules.of],
        "stale": [found.stale.found, found.stale.of],
    })
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
