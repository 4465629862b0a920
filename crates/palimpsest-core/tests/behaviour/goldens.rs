//! What `compact` makes of one list under every preset: the whole result and its report. What a change of the shape of the code
//! must leave byte for byte as it is. A snapshot that differs is read before it is taken: `INSTA_UPDATE=always`.

use std::fmt::Write;
use std::path::PathBuf;
use std::rc::Rc;

use palimpsest_core::compact::{CompactOptions, Compaction};
use palimpsest_core::context::Seed;
use palimpsest_core::dialect::Rendered;
use palimpsest_core::policy::presets;
use palimpsest_tokens::{Estimator, TokenCounter};
use serde_json::Value;

/// The messages of a case of `tests/conformance`.
fn case(name: &str) -> Vec<Value> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance");
    let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).expect("a case");
    let case: Value = serde_json::from_str(&text).expect("JSON");
    case["messages"].as_array().expect("messages").clone()
}

fn compacted(values: &[Value], options: &CompactOptions) -> String {
    let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
    let seed = Seed {
        now: 0.0,
        secret: [0; 16],
    };
    let output = Compaction::start(values.to_vec(), options, None, &counter, seed)
        .and_then(Compaction::finish_without_model)
        .expect("a result");
    let mut out = String::new();
    for message in &output.messages {
        let _ = match message {
            Rendered::Kept(index) => writeln!(out, "{index}: as it was"),
            Rendered::Made(value) => writeln!(out, "made: {value:#}"),
        };
    }
    let report = serde_json::to_value(&output.report).expect("JSON");
    let _ = writeln!(out, "report: {report:#}");
    out
}

#[test]
fn lists_under_every_preset() {
    let values = case("compact-openai");
    for (name, make) in presets::ALL {
        let mut options = CompactOptions::new(2_048);
        options.policy = make();
        insta::assert_snapshot!(
            format!("list_{}", name.replace('-', "_")),
            compacted(&values, &options)
        );
    }
}
