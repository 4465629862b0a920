//! Detects if a state was edited after it was returned.
//!
//! A state leaves the program and returns from wherever the caller keeps it. A view that does not belong to its
//! messages can claim anything, so a state is believed as a whole or not at all.

use std::hash::Hasher;

use siphasher::sip::SipHasher24;

use super::CompactState;

/// Returns the check sum over all fields of a state.
pub(super) fn of(state: &CompactState) -> String {
    let CompactState {
        version,
        messages,
        hash,
        view,
        shorter,
        pins,
        reasoning_from,
        output,
        asked,
        dialect,
        seal: _,
    } = state;
    // The parts of a state are plain data, so that writing them as text cannot fail.
    let text = serde_json::to_string(&(
        version,
        messages,
        hash,
        view,
        shorter,
        pins,
        reasoning_from,
        output,
    ));
    let mut hasher = SipHasher24::new_with_key(b"palimpsest seal!");
    hasher.write(text.unwrap_or_default().as_bytes());
    // A state without these has the check sum of the version that did not know them.
    if let Some(asked) = asked {
        hasher.write(serde_json::to_string(asked).unwrap_or_default().as_bytes());
    }
    if let Some(dialect) = dialect {
        hasher.write(
            serde_json::to_string(dialect)
                .unwrap_or_default()
                .as_bytes(),
        );
    }
    format!("{:016x}", hasher.finish())
}

/// Returns the reason for which a state is refused, as a code and a sentence: another version made it, or it was
/// edited.
pub(super) fn wrong(state: &CompactState, version: u32) -> Option<(&'static str, &'static str)> {
    // States of the time before check sums have the same version number and no sum. They count as outdated, not as
    // edited.
    if state.version < version || state.seal.is_empty() {
        Some((
            "state_earlier_version",
            "the state is from an earlier version and was not used; the state that this call returns takes its place",
        ))
    } else if state.version > version {
        Some((
            "state_later_version",
            "the state is from a later version and was not used; update palimpsest to use it",
        ))
    } else if state.seal != of(state) {
        Some(("state_edited", "the state was edited and was not used"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use palimpsest_tokens::{Estimator, TokenCounter};
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::compact::{CompactOptions, CompactOutput, Compaction};
    use crate::context::Seed;
    use crate::error::CoreError;
    use palimpsest_dialect::{Dialect, Rendered, validate};

    const SEED: Seed = Seed {
        now: 0.0,
        secret: [0; 16],
    };

    fn compact(values: &[Value], state: Option<CompactState>) -> Result<CompactOutput, CoreError> {
        let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
        // The layers of a list with a model stay apart in a small window, too, if it is not too small for a model.
        let mut options = CompactOptions::new(2_304);
        options.model = Some("writer".into());
        Compaction::start(values.to_vec(), &options, state, &counter, SEED)
            .and_then(Compaction::finish_without_model)
    }

    fn fill(out: &CompactOutput, raw: &[Value]) -> Vec<Value> {
        let own = |message: &Rendered| match message {
            Rendered::Kept(i) => raw[*i].clone(),
            Rendered::Made(value) => value.clone(),
        };
        out.messages.iter().map(own).collect()
    }

    /// A conversation about a topic, with demands, tools and quoted words.
    fn list(topic: &str, turns: usize) -> Vec<Value> {
        let mut list = vec![json!({"role": "system", "content": "Be exact."})];
        for n in 0..turns {
            let (id, path) = (format!("c{n}"), format!("src/{topic}_{n}.rs"));
            list.extend([
                json!({"role": "user", "content": format!("Look at {path}. Never rename {topic}_{n}, the bank reads it.")}),
                json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": {"name": "read", "arguments": json!({"path": path}).to_string()}}]}),
                json!({"role": "tool", "tool_call_id": id, "content": format!("pub fn {topic}_{n}() -> u32 {{ {n} }}\n").repeat(6)}),
                json!({"role": "assistant", "content": format!("{path} returns {n}.")}),
            ]);
        }
        list
    }

    /// The longer list with its state, and the short list that was returned with the same state.
    struct Scene {
        list: Vec<Value>,
        short: Vec<Value>,
        state: Value,
        other: Value,
    }

    impl Scene {
        fn new() -> Self {
            let grown = |topic: &str| {
                // Two calls, so that there are two layers.
                let list = list(topic, 40);
                let first = compact(&list[..97], None).unwrap();
                let second = compact(&list, Some(first.state)).unwrap();
                (fill(&second, &list), json!(second.state), list)
            };
            let (short, state, list) = grown("part");
            let (_, other, _) = grown("piece");
            assert!(state["view"]["layers"].as_array().unwrap().len() > 1);
            Self {
                list,
                short,
                state,
                other,
            }
        }
    }

    /// Lists the paths of all values inside of a value.
    fn ways(value: &Value, here: &str, out: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (name, inner) in fields {
                    let way = format!("{here}/{name}");
                    out.push(way.clone());
                    ways(inner, &way, out);
                }
            }
            Value::Array(items) => {
                for (n, inner) in items.iter().enumerate() {
                    let way = format!("{here}/{n}");
                    out.push(way.clone());
                    ways(inner, &way, out);
                }
            }
            _ => {}
        }
    }

    fn empty(value: &Value) -> Value {
        match value {
            Value::Null => json!(1),
            Value::Bool(b) => json!(!b),
            Value::Number(_) => json!(0),
            Value::String(_) => json!(""),
            Value::Array(_) => json!([]),
            Value::Object(_) => Value::Object(Map::new()),
        }
    }

    fn remove(state: &mut Value, way: &str) {
        let (parent, last) = way.rsplit_once('/').unwrap();
        match state.pointer_mut(parent) {
            Some(Value::Object(fields)) => {
                fields.shift_remove(last);
            }
            Some(Value::Array(items)) => {
                items.remove(last.parse().unwrap());
            }
            _ => {}
        }
    }

    #[derive(Debug, Clone, Copy)]
    enum Edit {
        Remove,
        Empty,
        Largest,
        Swap,
        Foreign,
        Repeat,
    }

    const EDITS: [Edit; 6] = [
        Edit::Remove,
        Edit::Empty,
        Edit::Largest,
        Edit::Swap,
        Edit::Foreign,
        Edit::Repeat,
    ];

    fn edited(scene: &Scene, way: &str, with: &str, edit: Edit) -> Value {
        let mut state = scene.state.clone();
        let there = state.pointer(with).cloned().unwrap_or_default();
        let Some(value) = state.pointer_mut(way) else {
            return state;
        };
        match edit {
            Edit::Remove => remove(&mut state, way),
            Edit::Empty => *value = empty(value),
            Edit::Largest if value.is_number() => *value = json!(u32::MAX),
            Edit::Largest => *value = Value::Null,
            Edit::Swap => *value = there,
            Edit::Foreign => *value = scene.other.pointer(way).cloned().unwrap_or_default(),
            Edit::Repeat => {
                if let Value::Array(items) = value {
                    items.extend(items.clone());
                }
            }
        }
        state
    }

    /// Uses a state. The result is an error with a code, or a valid list that fits. A trap ends the test.
    fn use_state(list: &[Value], state: CompactState) -> Result<CompactOutput, &'static str> {
        let out = compact(list, Some(state)).map_err(|error| error.code())?;
        assert!(out.report.after.tokens <= out.report.limit);
        let short = fill(&out, list);
        let checked = validate(&short, Some(Dialect::OpenAi));
        assert!(checked.ok, "{:?}", checked.problems);
        Ok(out)
    }

    fn check(scene: &Scene, edited: &Value) {
        let Ok(mut state) = serde_json::from_value::<CompactState>(edited.clone()) else {
            return;
        };
        let is_same = json!(state) == scene.state;
        for list in [&scene.list, &scene.short] {
            let got = use_state(list, state.clone()).unwrap();
            let told = got.report.adjustments.iter();
            let told: Vec<_> = told.filter(|a| a.contains("was not used")).collect();
            assert_eq!(told.len(), usize::from(!is_same), "{told:?}");
            if let Some(told) = told.first() {
                let version = edited["version"].as_u64();
                let about = match version.cmp(&scene.state["version"].as_u64()) {
                    std::cmp::Ordering::Less => "an earlier version",
                    std::cmp::Ordering::Greater => "a later version",
                    std::cmp::Ordering::Equal if state.seal.is_empty() => "an earlier version",
                    std::cmp::Ordering::Equal => "was edited",
                };
                assert!(told.contains(about), "{told}");
            }
            if !is_same {
                let cold = compact(list, None).unwrap();
                assert_eq!(got.messages, cold.messages);
            }
        }
        // A caller who knows how to seal a state cannot cause a trap either.
        state.seal = of(&state);
        for list in [&scene.list, &scene.short] {
            let _ = use_state(list, state.clone());
        }
    }

    /// I10: a saved state lost a layer, while the returned list still contains it.
    #[test]
    fn a_layer_that_is_gone_is_no_trap() {
        let scene = Scene::new();
        for n in [0, 1] {
            let mut state = scene.state.clone();
            remove(&mut state, &format!("/view/layers/{n}"));
            check(&scene, &state);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

        /// I10: a state of which any value was removed, emptied, exchanged or taken from another list's state gives an
        /// error with a code or a correct result, never a trap.
        #[test]
        fn no_edited_state_is_a_trap(picks in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..EDITS.len()), 4)) {
            thread_local!(static SCENE: Scene = Scene::new());
            SCENE.with(|scene| {
                let mut all = Vec::new();
                ways(&scene.state, "", &mut all);
                for (way, with, edit) in &picks {
                    let (way, with): (&String, &String) = (way.get(&all), with.get(&all));
                    let state = edited(scene, way, with, EDITS[*edit]);
                    check(scene, &state);
                }
            });
        }
    }
}
