//! What is done without this library.

use serde_json::{Value, json};

use super::play::{Made, Tokens, Way, tail};

/// Everything, as if every window were large enough.
pub(crate) struct All;

impl Way for All {
    fn window(&mut self, list: &[Value], _: &mut Tokens) -> Made {
        made(list.to_vec(), None)
    }
}

/// The newest messages that fit.
pub(crate) struct Tail(pub(crate) u32);

impl Way for Tail {
    fn window(&mut self, list: &[Value], tokens: &mut Tokens) -> Made {
        made(tail(list, self.0, tokens), Some(self.0))
    }
}

/// Calls and results before the last messages taken out: the AI SDK's `pruneMessages` with `before-last-n-messages`.
pub(crate) struct Prune(pub(crate) usize);

impl Way for Prune {
    fn window(&mut self, list: &[Value], _: &mut Tokens) -> Made {
        let from = list.len().saturating_sub(self.0);
        let kept: Vec<&str> = list[from..]
            .iter()
            .filter_map(|m| m["tool_call_id"].as_str())
            .collect();
        let mut window = Vec::new();
        for (n, message) in list.iter().enumerate() {
            let stays = |id: &Value| n >= from || id.as_str().is_some_and(|id| kept.contains(&id));
            if message["role"] == "tool" {
                if stays(&message["tool_call_id"]) {
                    window.push(message.clone());
                }
                continue;
            }
            let mut message = message.clone();
            if let Some(calls) = message["tool_calls"].as_array() {
                let calls: Vec<Value> = calls.iter().filter(|c| stays(&c["id"])).cloned().collect();
                if calls.is_empty() {
                    if let Some(fields) = message.as_object_mut() {
                        fields.remove("tool_calls");
                    }
                    if message["content"].as_str().unwrap_or_default().is_empty() {
                        continue;
                    }
                } else {
                    message["tool_calls"] = json!(calls);
                }
            }
            window.push(message);
        }
        made(window, None)
    }
}

/// The texts of old results replaced by a word, once the window is over its limit: as many as have to be, the oldest first,
/// and all but the last three when that begins.
pub(crate) struct Clear {
    pub(crate) limit: u32,
    pub(crate) cleared: usize,
}

impl Way for Clear {
    fn window(&mut self, list: &[Value], tokens: &mut Tokens) -> Made {
        let results: Vec<usize> = (0..list.len())
            .filter(|&n| list[n]["role"] == "tool")
            .collect();
        let with = |cleared: usize| {
            let mut window = list.to_vec();
            for &n in &results[..cleared.min(results.len())] {
                window[n]["content"] = json!("[cleared]");
            }
            window
        };
        let mut window = with(self.cleared);
        if tokens.all(&window) > self.limit {
            self.cleared = results.len().saturating_sub(3);
            window = with(self.cleared);
        }
        let window = if tokens.all(&window) > self.limit {
            tail(&window, self.limit, tokens)
        } else {
            window
        };
        made(window, Some(self.limit))
    }
}

/// As the coding agent opencode does it: once the results before the newest 40,000 tokens of them hold more than 20,000, those are
/// replaced by a word. Both numbers in proportion to a window of 200,000.
pub(crate) struct OpenCode {
    pub(crate) limit: u32,
    pub(crate) cleared: usize,
}

impl Way for OpenCode {
    fn window(&mut self, list: &[Value], tokens: &mut Tokens) -> Made {
        let (protected, least) = (self.limit / 5, self.limit / 10);
        let results: Vec<usize> = (0..list.len())
            .filter(|&n| list[n]["role"] == "tool")
            .collect();
        let mut newest = 0;
        let mut old = results.len();
        while old > self.cleared && newest < protected {
            old -= 1;
            newest += tokens.of(&list[results[old]]);
        }
        let freed: u32 = results[self.cleared.min(old)..old]
            .iter()
            .map(|&n| tokens.of(&list[n]))
            .sum();
        if freed > least {
            self.cleared = old;
        }
        let mut window = list.to_vec();
        for &n in &results[..self.cleared] {
            window[n]["content"] = json!("[Old tool result content cleared]");
        }
        if tokens.all(&window) > self.limit {
            window = tail(&window, self.limit, tokens);
        }
        made(window, Some(self.limit))
    }
}

const fn made(window: Vec<Value>, limit: Option<u32>) -> Made {
    Made {
        window,
        limit,
        state: 0,
        told: Vec::new(),
    }
}
