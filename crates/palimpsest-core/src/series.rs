//! Measures the requests of one conversation, one after the other: what the provider has to read again, what that costs, how
//! full the windows are, and which values of the next call stand in them.
//!
//! Any program may have made the windows. `cargo xtask bench loop`, the package and the page "What did it forget?" use this
//! one measure.

use std::collections::HashSet;

use palimpsest_dialect::{self as dialect, Dialect};
use palimpsest_text::json::ToJson as _;
use palimpsest_tokens::TokenCounter;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::CoreError;

/// The price of a token that the provider has in its cache, as a part of the usual price.
const CACHED: f64 = 0.1;

/// The price of a token that the provider reads and writes into its cache, as a part of the usual price.
const WRITTEN: f64 = 1.25;

/// A conversation and the windows that were made of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Every message of the history and of the windows, once.
    pub messages: Vec<Value>,
    /// The history, as positions in `messages`.
    pub history: Vec<u32>,
    /// The requests, in their order.
    pub requests: Vec<Sent>,
}

/// One request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sent {
    /// The number of messages that the history had. The message at this position is the reply, if there is one.
    pub at: u32,
    /// The messages that were sent, as positions in `messages`.
    pub window: Vec<u32>,
    /// The most tokens that the window may hold, if there is such a number.
    #[serde(default)]
    pub limit: Option<u32>,
}

/// Sums over the requests. Tokens are those of the messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SeriesFigures {
    /// Requests.
    pub requests: u32,
    /// Requests that are not the one before with more at its end.
    pub breaks: u32,
    /// Tokens sent.
    pub sent: u64,
    /// Of these, tokens behind the first difference in the requests that break.
    pub reread: u64,
    /// The price: 0.1 for a token that is unchanged from the beginning, 1.25 for every other.
    pub cost: f64,
    /// The same price for sending the whole history each time.
    pub cost_of_everything: f64,
    /// Requests at which the history was larger than the limit.
    pub full: u32,
    /// The emptiest of these windows, as a part of its limit; 1 if there are none.
    pub least_fill: f64,
    /// Their mean; 0 if there are none.
    pub mean_fill: f64,
    /// Paths and identifiers in the arguments of a next call that were said before.
    pub needed: u32,
    /// Of these, those that the window holds.
    pub seen: u32,
    /// Of these, those that the newest messages with as many tokens hold.
    pub seen_in_tail: u32,
}

/// Measures a series. Values of calls are looked for from the request on at which the history was larger than `full` tokens.
///
/// # Errors
///
/// [`CoreError::BadInput`] if a position is outside of its list or the requests are not in order; those of
/// [`palimpsest_dialect::count`].
pub fn measure(
    series: &Series,
    full: u32,
    counter: &dyn TokenCounter,
) -> Result<SeriesFigures, CoreError> {
    let known = Known::of(series, counter)?;
    let mut figures = SeriesFigures {
        least_fill: 1.0,
        ..SeriesFigures::default()
    };
    let mut said: HashSet<&str> = HashSet::new();
    let mut before: &[u32] = &[];
    let (mut taken, mut total) = (0, 0_u64);
    let mut shares = 0.0;
    for request in &series.requests {
        let (at, window) = (request.at as usize, &*request.window);
        let earlier = total;
        for &message in &series.history[taken..at] {
            total += u64::from(known.tokens[message as usize]);
            said.extend(values(&known.texts[message as usize]));
        }
        taken = at;
        let same = before
            .iter()
            .zip(window)
            .take_while(|(was, is)| was == is)
            .count();
        let sent = known.all(window);
        let cached = known.all(&window[..same]);
        figures.requests += 1;
        figures.sent += sent;
        if same < before.len() {
            figures.breaks += 1;
            figures.reread += sent - cached;
        }
        figures.cost += price(cached, sent);
        figures.cost_of_everything += price(earlier, total);
        if let Some(limit) = request.limit.filter(|&limit| total > u64::from(limit)) {
            let share = sent as f64 / f64::from(limit);
            figures.full += 1;
            figures.least_fill = figures.least_fill.min(share);
            shares += share;
        }
        if total > u64::from(full) {
            let [needed, seen, in_tail] = known.values_of_call(series, request, &said, sent);
            figures.needed += needed;
            figures.seen += seen;
            figures.seen_in_tail += in_tail;
        }
        before = window;
    }
    figures.mean_fill = shares / f64::from(figures.full.max(1));
    Ok(figures)
}

fn price(cached: u64, sent: u64) -> f64 {
    cached as f64 * CACHED + (sent - cached) as f64 * WRITTEN
}

/// The sizes and texts of the messages.
struct Known {
    tokens: Vec<u32>,
    texts: Vec<String>,
}

impl Known {
    fn of(series: &Series, counter: &dyn TokenCounter) -> Result<Self, CoreError> {
        let all = series.messages.len();
        let is_in = |list: &[u32]| list.iter().all(|&n| (n as usize) < all);
        let mut last = 0;
        let mut is_ordered = |at: u32| std::mem::replace(&mut last, at) <= at;
        let fits = is_in(&series.history)
            && series.requests.iter().all(|request| {
                is_in(&request.window)
                    && request.at as usize <= series.history.len()
                    && is_ordered(request.at)
            });
        if !fits {
            return Err(CoreError::BadInput(
                "A request names a message that is not there, or comes after a later one. Number messages from 0 and \
                 give the requests in their order."
                    .to_owned(),
            ));
        }
        let base = counter.overhead().base;
        let shape = dialect::detect(&series.messages).unwrap_or(Dialect::OpenAi);
        let size = |message: &Value| -> Result<u32, CoreError> {
            let one = std::slice::from_ref(message);
            let count = dialect::count(one, Some(shape), counter)?;
            Ok(count.tokens.saturating_sub(base))
        };
        Ok(Self {
            tokens: series.messages.iter().map(size).collect::<Result<_, _>>()?,
            texts: series.messages.iter().map(text_of).collect(),
        })
    }

    fn all(&self, messages: &[u32]) -> u64 {
        let sizes = messages.iter().map(|&n| u64::from(self.tokens[n as usize]));
        sizes.sum()
    }

    fn hold(&self, messages: &[u32], value: &str) -> bool {
        let mut texts = messages.iter().map(|&n| &self.texts[n as usize]);
        texts.any(|text| text.contains(value))
    }

    /// The values in the call that answers a request that were said before: all of them, those that the window holds, and those that
    /// as many tokens of the newest messages hold.
    fn values_of_call(
        &self,
        series: &Series,
        request: &Sent,
        said: &HashSet<&str>,
        sent: u64,
    ) -> [u32; 3] {
        let at = request.at as usize;
        let mut found = [0; 3];
        let reply = series.history.get(at).map(|&reply| reply as usize);
        let Some(reply) = reply.filter(|&reply| has_call(&series.messages[reply])) else {
            return found;
        };
        let newest = self.newest(series, at, sent);
        for value in values(&self.texts[reply]) {
            if said.contains(value) {
                found[0] += 1;
                found[1] += u32::from(self.hold(&request.window, value));
                found[2] += u32::from(self.hold(&newest, value));
            }
        }
        found
    }

    /// The newest messages of at most `room` tokens, behind the system prompt, without a result whose call is not among them.
    fn newest(&self, series: &Series, at: usize, room: u64) -> Vec<u32> {
        let said = &series.history[..at];
        let role = |n: u32| series.messages[n as usize]["role"].as_str();
        let system = usize::from(said.first().is_some_and(|&n| role(n) == Some("system")));
        let mut left = room.saturating_sub(self.all(&said[..system]));
        let mut from = at;
        while from > system {
            let size = u64::from(self.tokens[said[from - 1] as usize]);
            let Some(rest) = left.checked_sub(size) else {
                break;
            };
            left = rest;
            from -= 1;
        }
        let is_result = |n: u32| {
            let message = &series.messages[n as usize];
            role(n) == Some("tool") || message["type"] == "function_call_output"
        };
        while said.get(from).is_some_and(|&n| is_result(n)) {
            from += 1;
        }
        [&said[..system], &said[from..]].concat()
    }
}

/// The text of a message, all of it. A message whose text is not where most shapes have it is read as JSON.
fn text_of(message: &Value) -> String {
    let mut out = match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Null if message["tool_calls"].is_array() => String::new(),
        Value::Null => message.to_json(),
        other => other.to_json(),
    };
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        out.push('\n');
        out.push_str(call["function"]["arguments"].as_str().unwrap_or_default());
    }
    out
}

/// Returns `true` for a message with a call of a tool, in any shape.
fn has_call(message: &Value) -> bool {
    let is_call = |block: &Value| {
        let kind = block["type"].as_str().unwrap_or_default();
        matches!(kind, "tool_use" | "function_call")
            || kind.starts_with("tool-") && kind != "tool-result"
            || block["functionCall"].is_object()
            || block["toolUse"].is_object()
    };
    let any = |field: &str, is: &dyn Fn(&Value) -> bool| {
        message[field]
            .as_array()
            .is_some_and(|all| all.iter().any(is))
    };
    is_call(message)
        || any("tool_calls", &|_| true)
        || any("content", &is_call)
        || any("parts", &is_call)
}

/// The paths, identifiers and the like in a text: what a later call may have to name.
fn values(text: &str) -> Vec<&str> {
    let is_in = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let words = text
        .split(|c: char| !is_in(c))
        .map(|word| word.trim_matches(|c: char| "./-".contains(c)));
    let is_value = |word: &&str| {
        let is_mixed = word.bytes().any(|b| b.is_ascii_digit())
            && word.bytes().any(|b| b.is_ascii_alphabetic());
        (6..120).contains(&word.len()) && (word.contains('/') || word.contains('_') || is_mixed)
    };
    let mut all: Vec<&str> = words.filter(is_value).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use palimpsest_tokens::Estimator;
    use serde_json::json;

    use super::*;

    fn check(requests: &[(u32, &[u32])], expected: impl Fn(SeriesFigures)) {
        let call = |path: &str| {
            json!({"role": "assistant", "content": "", "tool_calls": [{"id": "c", "type": "function",
                "function": {"name": "read", "arguments": json!({ "path": path }).to_string()}}]})
        };
        let series = Series {
            messages: vec![
                json!({"role": "user", "content": "Look at src/gate/open.rs, please."}),
                json!({"role": "assistant", "content": "I will."}),
                json!({"role": "user", "content": "And tell me what it does."}),
                call("src/gate/open.rs"),
            ],
            history: vec![0, 1, 2, 3],
            requests: requests
                .iter()
                .map(|(at, window)| Sent {
                    at: *at,
                    window: window.to_vec(),
                    limit: Some(16),
                })
                .collect(),
        };
        expected(measure(&series, 0, &Estimator::default()).unwrap());
    }

    #[test]
    fn a_growing_list_is_read_once() {
        check(&[(1, &[0]), (3, &[0, 1, 2])], |found| {
            assert_eq!((found.requests, found.breaks, found.reread), (2, 0, 0));
            assert_eq!((found.needed, found.seen), (1, 1));
            assert!((found.cost - found.cost_of_everything).abs() < 1e-9);
        });
    }

    #[test]
    fn a_list_that_begins_anew_is_read_again() {
        check(&[(1, &[0]), (3, &[2])], |found| {
            assert_eq!((found.breaks, found.needed, found.seen), (1, 1, 0));
            assert!(found.reread > 0);
            assert!(found.least_fill < 1.0);
        });
    }

    #[test]
    fn calls_are_seen_in_every_shape() {
        fn check(call: Value) {
            let user = json!({"role": "user", "content": "Look at src/gate/open.rs, please."});
            let asked = if call["parts"].is_array() {
                json!({"role": "user", "parts": [{"text": "Look at src/gate/open.rs, please."}]})
            } else {
                user
            };
            let series = Series {
                messages: vec![asked, call],
                history: vec![0, 1],
                requests: vec![Sent {
                    at: 1,
                    window: vec![0],
                    limit: None,
                }],
            };
            let found = measure(&series, 0, &Estimator::default()).unwrap();
            assert_eq!((found.needed, found.seen), (1, 1), "{series:?}");
        }
        let given = json!({"path": "src/gate/open.rs"});
        check(
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "read", "input": given}]}),
        );
        check(
            json!({"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c", "toolName": "read", "input": given}]}),
        );
        check(
            json!({"role": "model", "parts": [{"functionCall": {"name": "read", "args": given}}]}),
        );
        check(
            json!({"role": "assistant", "content": [{"toolUse": {"toolUseId": "c", "name": "read", "input": given}}]}),
        );
        check(
            json!({"type": "function_call", "call_id": "c", "name": "read", "arguments": given.to_string()}),
        );
    }

    #[test]
    fn positions_that_are_not_there_are_refused() {
        let series = Series {
            messages: vec![json!({"role": "user", "content": "Hello."})],
            history: vec![0],
            requests: vec![Sent {
                at: 2,
                ..Sent::default()
            }],
        };
        let refused = measure(&series, 0, &Estimator::default()).unwrap_err();
        assert_eq!(refused.code(), "bad_input");
    }
}
