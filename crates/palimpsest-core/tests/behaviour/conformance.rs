//! The cases that every build of palimpsest answers alike. See `tests/conformance/README.md`.

use std::fs;
use std::path::PathBuf;
use std::rc::Rc;

use palimpsest_core::compact::{CompactOptions, CompactState, Compaction};
use palimpsest_core::context::Seed;
use palimpsest_core::dialect::{self, Dialect, Rendered};
use palimpsest_core::error::CoreError;
use palimpsest_core::forgotten::{Known, forgotten};
use palimpsest_core::policy::Policy;
use palimpsest_core::replay::{ReplayOptions, replay_list};
use palimpsest_tokens::{Estimator, TokenCounter};
use serde_json::{Value, json};

fn compact(
    values: &[Value],
    options: &Value,
    state: Option<CompactState>,
) -> Result<(Value, CompactState), CoreError> {
    let number = |name: &str| options[name].as_u64().map(|n| n as u32);
    let mut core = CompactOptions::new(number("window").expect("a window"));
    core.reserve = number("reserve");
    if let Some(policy) = options.get("policy") {
        core.policy = Policy::from_value(policy)?;
    }
    core.max_tokens = number("maxTokens");
    core.pins =
        serde_json::from_value(options.get("pins").cloned().unwrap_or(json!([]))).expect("pins");
    core.goal = options
        .get("goal")
        .map(|goal| serde_json::from_value(goal.clone()).expect("a goal"));
    let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
    let seed = Seed {
        now: 0.0,
        secret: [0; 16],
    };
    let output =
        Compaction::start(values.to_vec(), &core, state, &counter, seed)?.finish_without_model()?;
    let own = |message: &Rendered| match message {
        Rendered::Kept(index) => values[*index].clone(),
        Rendered::Made(value) => value.clone(),
    };
    let messages: Vec<Value> = output.messages.iter().map(own).collect();
    // the report as text: fractions keep their shortest form
    let report: Value =
        serde_json::from_str(&serde_json::to_string(&output.report).expect("JSON")).expect("JSON");
    assert!(
        output.report.after.tokens <= output.report.limit,
        "the result holds more than its limit"
    );
    Ok((
        json!({ "messages": messages, "report": report }),
        output.state,
    ))
}

fn answer(case: &Value) -> Value {
    let mut values = case["messages"].as_array().expect("messages").clone();
    let options = &case["options"];
    match case["call"].as_str() {
        Some("compact") => match compact(&values, options, None) {
            Err(error) => json!({ "error": error.code() }),
            Ok((mut first, state)) => {
                if let Some(more) = case["then"].as_array() {
                    values.extend(more.iter().cloned());
                    let (second, _) =
                        compact(&values, options, Some(state)).expect("the longer list");
                    first["then"] = second;
                }
                first
            }
        },
        Some("validate") => {
            let dialect = options["dialect"]
                .as_str()
                .map(|name| Dialect::named(name).expect("a dialect"));
            json!(dialect::validate(&values, dialect))
        }
        Some("count") => {
            json!(dialect::count(&values, None, &Estimator::default()).expect("messages"))
        }
        Some("forgotten") => {
            let before: Vec<Vec<Value>> =
                serde_json::from_value(options["before"].clone()).expect("windows");
            let known = Known {
                labels: serde_json::from_value(options["labels"].clone()).expect("labels"),
                before: &before,
                ..Known::default()
            };
            let window = case["window"].as_array().expect("a window");
            let found = forgotten(&values, window, &known, &Estimator::default());
            let text = serde_json::to_string(&found.expect("a report")).expect("JSON");
            serde_json::from_str(&text).expect("JSON")
        }
        Some("replay") => {
            let window = options["window"].as_u64().expect("a window") as u32;
            let policies: Vec<Policy> = options["policies"]
                .as_array()
                .expect("policies")
                .iter()
                .map(|p| Policy::from_value(p).expect("a policy"))
                .collect();
            let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
            let options = ReplayOptions::new(window);
            let report = replay_list(&values, None, &policies, &options, &counter);
            let text = serde_json::to_string(&report.expect("a report")).expect("JSON");
            serde_json::from_str(&text).expect("JSON")
        }
        other => panic!("no call {other:?}"),
    }
}

/// I2, B7: the same input gives the same bytes, here and in every other build.
#[test]
fn every_case_is_answered_as_written() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the cases")
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|e| e == "json"));
    files.sort();
    assert!(files.len() >= 16, "cases are missing");
    for file in files {
        let mut case: Value =
            serde_json::from_str(&fs::read_to_string(&file).expect("a case")).expect("JSON");
        let got = answer(&case);
        if std::env::var_os("PALIMPSEST_BLESS").is_some() {
            case["expected"] = got;
            fs::write(&file, format!("{case:#}\n")).expect("the case can be written");
        } else {
            assert_eq!(
                got.to_string(),
                case["expected"].to_string(),
                "{}",
                file.display()
            );
        }
    }
}
