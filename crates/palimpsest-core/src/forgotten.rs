//! Compares a window with its history and lists what the window forgot, by the measures of `palimpsest_text::survival`.
//!
//! The two lists may have different shapes, and any program may have made the window. So the results of other programs
//! are measured like our own.

use palimpsest_dialect::message::{Origin, Part};
use palimpsest_dialect::{self as dialect, Code, Dialect, Parsed, Validation};
use palimpsest_text::json::ToJson as _;
use palimpsest_text::retention::{FactClass, Speaker};
use palimpsest_text::survival::{self, Held, Shown, Source, plain, stands};
use palimpsest_tokens::{Count, TokenCounter};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::CoreError;

/// The notes of a person who knows the conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Labels {
    /// Values and names that matter at the end.
    pub facts: Vec<String>,
    /// Standing instructions, word for word.
    pub rules: Vec<String>,
    /// Values that were replaced.
    pub updates: Vec<Update>,
}

/// A value that was replaced later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Update {
    /// The first value.
    pub old: String,
    /// The value that holds since.
    pub new: String,
}

/// A number out of a total.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Tally {
    /// The total.
    pub of: u32,
    /// The number that is present. For replaced values, the number that is present without the successor.
    pub found: u32,
}

impl Tally {
    fn add(&mut self, is_found: bool) {
        self.of += 1;
        self.found += u32::from(is_found);
    }
}

/// The part of the labels that a window holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Labelled {
    /// The facts that are present.
    pub facts: Tally,
    /// The rules that are present word for word.
    pub rules: Tally,
    /// The replaced values that are present while their successor is missing. Fewer is better.
    pub stale: Tally,
    /// The facts and rules that are missing.
    pub gone: Vec<String>,
    /// The replaced values that are present without their successor.
    pub outdated: Vec<Update>,
}

/// Facts of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ClassTally {
    /// The class.
    pub class: FactClass,
    /// The speaker.
    pub speaker: Speaker,
    /// Facts of the history.
    pub said: u32,
    /// The number of them that the window does not hold.
    pub gone: u32,
}

/// A fact that the window does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct GoneFact {
    /// Its class.
    pub class: FactClass,
    /// Its text.
    pub text: String,
    /// The sentence or line that contains it.
    pub context: String,
    /// The position in the history of the first message with it.
    pub message: u32,
    /// The first speaker.
    pub speaker: Speaker,
}

/// A sentence that is present although a later one replaced its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct StaleValue {
    /// The sentence that is present.
    pub old: String,
    /// The position of its message.
    pub message: u32,
    /// The later sentence, which is missing.
    pub new: String,
    /// The position of its message.
    pub by: u32,
}

/// A call without its result in the window, or a result without its call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Orphan {
    /// The linter's code of the problem.
    #[cfg_attr(
        feature = "typescript",
        ts(type = "\"missing_result\" | \"orphan_result\"")
    )]
    pub code: &'static str,
    /// The position in the window.
    pub index: u32,
}

/// The unchanged beginning of windows, each compared with the window before it. A server need not read it again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Prefix {
    /// The bytes of JSON text that a window shares with the one before it, from the beginning.
    pub bytes: u64,
    /// The bytes of the windows.
    pub of: u64,
}

/// A list and its size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Size {
    /// Messages.
    pub messages: u32,
    /// Tokens as a prompt.
    pub tokens: u32,
    /// The largest number of further tokens.
    pub bound: u32,
}

/// The content that a window forgot. Facts of the system prompt are left out, because every window has it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Forgotten {
    /// The history.
    pub history: Size,
    /// The window.
    pub window: Size,
    /// Facts of the history.
    pub said: u32,
    /// The number of them that the window does not hold.
    pub lost: u32,
    /// The same numbers by class and speaker.
    pub classes: Vec<ClassTally>,
    /// The facts that the window does not hold, in the order of the history.
    pub gone: Vec<GoneFact>,
    /// For each message of the history, the share of its words that is present, 0 to 1 in hundredths.
    pub shares: Vec<f32>,
    /// The sentences that are present without the one that replaced their value.
    pub stale: Vec<StaleValue>,
    /// Calls without results and results without calls.
    pub orphans: Vec<Orphan>,
    /// The unchanged beginnings of the given windows and this one, each compared with the one before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub prefix: Option<Prefix>,
    /// The comparison with a person's notes, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub labels: Option<Labelled>,
}

/// Further knowledge about the lists.
#[derive(Debug, Clone, Default)]
pub struct Known<'a> {
    /// The shape of both lists. Without it, each is detected.
    pub dialect: Option<Dialect>,
    /// A person's notes.
    pub labels: Option<Labels>,
    /// The windows that were sent before, oldest first.
    pub before: &'a [Vec<Value>],
}

/// Searches all content of `history` in `window`. The window need not be valid.
///
/// # Errors
///
/// Those of [`palimpsest_dialect::parse`].
pub fn forgotten(
    history: &[Value],
    window: &[Value],
    known: &Known<'_>,
    counter: &dyn TokenCounter,
) -> Result<Forgotten, CoreError> {
    let shape = |values: &[Value]| {
        let found = known.dialect.or_else(|| dialect::detect(values));
        found.unwrap_or(Dialect::OpenAi)
    };
    let said = dialect::parse(history, shape(history), Origin::Host)?;
    let shown = dialect::parse(window, shape(window), Origin::Host)?;
    let texts = words(&shown);
    let text = texts.join("\n");
    let held = survival::facts(&sources(&said), &text);
    let gone: Vec<GoneFact> = held.iter().filter(|h| !h.stands).map(gone).collect();
    let stale = survival::stale(&held, &text).into_iter();
    Ok(Forgotten {
        history: size(history, shape(history), counter)?,
        window: size(window, shape(window), counter)?,
        said: held.len() as u32,
        lost: gone.len() as u32,
        classes: classes(&held),
        gone,
        shares: shares(&said, history.len(), &texts),
        stale: stale.map(replaced).collect(),
        orphans: orphans(&dialect::validate(window, Some(shape(window)))),
        prefix: unchanged(known.before, window),
        labels: known.labels.as_ref().map(|l| labelled(l, &text)),
    })
}

/// Searches the labels in a text.
pub fn labelled(labels: &Labels, text: &str) -> Labelled {
    let text = plain(text);
    let mut out = Labelled::default();
    for fact in &labels.facts {
        let is_there = stands(&text, &plain(fact));
        out.facts.add(is_there);
        out.gone.extend((!is_there).then(|| fact.clone()));
    }
    for rule in &labels.rules {
        let is_there = text.contains(&plain(rule));
        out.rules.add(is_there);
        out.gone.extend((!is_there).then(|| rule.clone()));
    }
    for update in &labels.updates {
        let is_stale = stands(&text, &plain(&update.old)) && !stands(&text, &plain(&update.new));
        out.stale.add(is_stale);
        out.outdated.extend(is_stale.then(|| update.clone()));
    }
    out
}

/// Sums over the windows `before` and `window`, each compared with the one before it.
fn unchanged(before: &[Vec<Value>], window: &[Value]) -> Option<Prefix> {
    let (_, later) = before.split_first()?;
    let later = later.iter().map(Vec::as_slice);
    let mut sum = Prefix::default();
    for (was, now) in before.iter().zip(later.chain([window])) {
        let own = prefix(was, now);
        sum.bytes += own.bytes;
        sum.of += own.of;
    }
    Some(sum)
}

/// Returns the number of bytes of `window`, written as JSON, that equal the beginning of `before`.
pub fn prefix(before: &[Value], window: &[Value]) -> Prefix {
    let mut out = Prefix::default();
    let mut earlier = before.iter();
    let mut is_same = true;
    for message in window {
        let text = message.to_json();
        out.of += text.len() as u64;
        if !is_same {
            continue;
        }
        let was = earlier.next().map(Value::to_json).unwrap_or_default();
        let pairs = was.bytes().zip(text.bytes());
        out.bytes += pairs.take_while(|(a, b)| a == b).count() as u64;
        is_same = was == text;
    }
    out
}

/// The texts of a list without the system prompt and the reasoning.
fn words(parsed: &Parsed) -> Vec<&str> {
    let parts = parsed.messages.iter().flat_map(|m| &m.message.parts);
    let read = parts.filter(|part| !matches!(part, Part::Thinking { .. }));
    read.map(Part::words).filter(|w| !w.is_empty()).collect()
}

fn sources(parsed: &Parsed) -> Vec<Source<'_>> {
    let mut sources = Vec::new();
    for from in &parsed.messages {
        for part in &from.message.parts {
            let who = match part {
                Part::Thinking { .. } => continue,
                Part::ToolResult { .. } | Part::ToolCall { .. } => Speaker::Tool,
                _ => Speaker::from(from.message.role),
            };
            sources.push(Source {
                speaker: who,
                message: from.raw as u32,
                text: part.words(),
            });
        }
    }
    sources
}

fn size(values: &[Value], shape: Dialect, counter: &dyn TokenCounter) -> Result<Size, CoreError> {
    let Count { tokens, bound, .. } = dialect::count(values, Some(shape), counter)?;
    Ok(Size {
        messages: values.len() as u32,
        tokens,
        bound,
    })
}

fn classes(held: &[Held]) -> Vec<ClassTally> {
    let mut all: Vec<ClassTally> = Vec::new();
    for one in held {
        let (class, speaker) = (one.fact.class, one.speaker);
        let known = all
            .iter()
            .position(|t| t.class == class && t.speaker == speaker);
        let at = known.unwrap_or_else(|| {
            all.push(ClassTally {
                class,
                speaker,
                said: 0,
                gone: 0,
            });
            all.len() - 1
        });
        all[at].said += 1;
        all[at].gone += u32::from(!one.stands);
    }
    palimpsest_text::order::sort_by_key(&mut all, |t| (t.class, t.speaker));
    all
}

fn gone(held: &Held) -> GoneFact {
    GoneFact {
        class: held.fact.class,
        text: held.fact.text.clone(),
        context: held.fact.context.clone(),
        message: held.message,
        speaker: held.speaker,
    }
}

fn replaced(stale: survival::Stale) -> StaleValue {
    StaleValue {
        old: stale.old,
        message: stale.message,
        new: stale.new,
        by: stale.by,
    }
}

/// The share of each message that is present. A message of several parts has the share of all its words.
fn shares(parsed: &Parsed, messages: usize, texts: &[&str]) -> Vec<f32> {
    let shown = Shown::of(texts.iter().copied());
    let mut sums = vec![(0.0_f32, 0.0_f32); messages];
    for line in &parsed.system {
        sums[line.raw] = (1.0, 1.0);
    }
    for from in &parsed.messages {
        for part in &from.message.parts {
            let text = part.words();
            if matches!(part, Part::Thinking { .. }) || text.is_empty() {
                continue;
            }
            let length = text.len() as f32;
            sums[from.raw].0 += length * shown.share(text);
            sums[from.raw].1 += length;
        }
    }
    let share = |(here, all): (f32, f32)| {
        if all > 0.0 {
            (100.0 * here / all).round() / 100.0
        } else {
            1.0
        }
    };
    sums.into_iter().map(share).collect()
}

/// The problems about a call and its result.
fn orphans(validation: &Validation) -> Vec<Orphan> {
    let pairing = [Code::MissingResult, Code::OrphanResult];
    let found = validation.problems.iter();
    found
        .filter(|problem| pairing.contains(&problem.code))
        .map(|problem| Orphan {
            code: problem.code.name(),
            index: problem.index as u32,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use palimpsest_tokens::Estimator;
    use serde_json::json;

    use super::*;

    fn talk() -> Vec<Value> {
        vec![
            json!({"role": "system", "content": "You plan trips."}),
            json!({"role": "user", "content": "Never book a night train. The budget is 2,400 euros."}),
            json!({"role": "assistant", "content": "Understood. I note both."}),
            json!({"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function",
                "function": {"name": "search", "arguments": "{\"ref\": \"KF-83920\"}"}}]}),
            json!({"role": "tool", "tool_call_id": "c1", "content": "KF-83920: two seats, coach 14"}),
            json!({"role": "user", "content": "Good. What is next?"}),
        ]
    }

    fn of(window: &[Value], known: &Known<'_>) -> Forgotten {
        forgotten(&talk(), window, known, &Estimator::default()).unwrap()
    }

    #[test]
    fn a_whole_window_forgets_nothing() {
        let all = of(&talk(), &Known::default());
        assert_eq!((all.lost, all.stale.len(), all.orphans.len()), (0, 0, 0));
        assert!(all.said > 3, "{}", all.said);
        assert!(all.shares.iter().all(|s| (s - 1.0).abs() < f32::EPSILON));
        assert_eq!(all.history, all.window);
    }

    #[test]
    fn what_is_gone_names_its_message() {
        let window = [talk()[0].clone(), talk()[5].clone()];
        let found = of(&window, &Known::default());
        assert_eq!(found.lost as usize, found.gone.len());
        let rule = found.gone.iter().find(|g| g.class == FactClass::Constraint);
        assert_eq!(rule.map(|g| g.message), Some(1), "{:?}", found.gone);
        assert!(found.gone.iter().any(|g| g.text.contains("KF-83920")));
        assert_eq!(found.shares, [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
        let sums = found.classes.iter().map(|c| (c.said, c.gone));
        let sums = sums.fold((0, 0), |sum, c| (sum.0 + c.0, sum.1 + c.1));
        assert_eq!(sums, (found.said, found.lost));
    }

    #[test]
    fn a_result_without_its_call_is_an_orphan() {
        let window: Vec<Value> = talk().into_iter().skip(4).collect();
        let found = of(&window, &Known::default());
        assert_eq!(found.orphans.len(), 1, "{:?}", found.orphans);
        assert_eq!(found.orphans[0].code, "orphan_result");
    }

    #[test]
    fn labels_are_looked_for_word_for_word() {
        let labels = Labels {
            facts: vec!["KF-83920".into(), "2,400 euros".into()],
            rules: vec!["Never book a night train.".into()],
            updates: vec![Update {
                old: "coach 14".into(),
                new: "coach 9".into(),
            }],
        };
        let known = Known {
            labels: Some(labels),
            ..Known::default()
        };
        let window: Vec<Value> = talk().into_iter().skip(3).collect();
        let found = of(&window, &known).labels.unwrap();
        assert_eq!((found.facts.found, found.facts.of), (1, 2));
        assert_eq!((found.rules.found, found.rules.of), (0, 1));
        assert_eq!((found.stale.found, found.stale.of), (1, 1));
        assert_eq!(found.gone, ["2,400 euros", "Never book a night train."]);
    }

    #[test]
    fn the_common_beginning_ends_at_the_first_difference() {
        let talk = talk();
        let all: u64 = talk.iter().map(|m| m.to_string().len() as u64).sum();
        assert_eq!(
            prefix(&talk, &talk),
            Prefix {
                bytes: all,
                of: all
            }
        );
        let one = talk[0].to_string().len() as u64;
        let other = [talk[0].clone(), json!([]), talk[5].clone()];
        assert_eq!(prefix(&talk, &other).bytes, one);
        assert_eq!(prefix(&[], &talk).bytes, 0);
        assert_eq!(unchanged(&[], &talk), None);
        let of_two = unchanged(&[talk.clone(), talk.clone()], &other).unwrap();
        assert_eq!(of_two.bytes, all + one);
    }
}
