//! Shortens long values in the arguments of tool calls; the result is valid JSON.

use super::json::{self, JsonLimits};

/// Shortens long strings and arrays in the arguments: an object stays an object with the same keys. Returns `None` if
/// they are not a JSON object, or would not become at least 10 % shorter.
pub(super) fn shrink_arguments(arguments: &str) -> Option<String> {
    if !arguments.trim_start().starts_with('{') {
        return None;
    }
    let short = json::condense(arguments, JsonLimits::ARGUMENTS)?;
    if short.len() * 10 > arguments.len() * 9 {
        return None;
    }
    // The code above writes JSON by hand, so this checks the result: a provider gets JSON or nothing.
    let is_object = crate::json::parse(&short).is_ok_and(|value| value.is_object());
    is_object.then_some(short)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// T3: a written file keeps its path and both ends of its content, which begins with a notice that it is not whole.
    #[test]
    fn written_file() {
        let content: String = (0..200).fold(String::new(), |t, i| t + &format!("line {i}\n"));
        let arguments = json!({"path": "src/a.rs", "content": content, "mode": 420}).to_string();
        let short: Value = serde_json::from_str(&shrink_arguments(&arguments).unwrap()).unwrap();
        assert_eq!(
            (short["path"].as_str(), short["mode"].as_i64()),
            (Some("src/a.rs"), Some(420))
        );
        let content = short["content"].as_str().unwrap();
        assert!(content.starts_with("[shortened, not to be copied] line 0\nline 1\n"));
        assert!(content.ends_with("line 199\n"));
        assert!(content.len() < 380, "{content}");
    }

    /// T3: short arguments, other values, broken JSON: unchanged.
    #[test]
    fn unchanged() {
        for arguments in ["{}", "{\"a\":1}", "[1,2,3]", "\"text\"", "{\"a\":", ""] {
            assert_eq!(shrink_arguments(arguments), None, "{arguments}");
        }
    }

    /// T3: shrinking again changes nothing.
    #[test]
    fn idempotent() {
        let arguments =
            json!({"a": "x".repeat(5_000), "b": (0..100).collect::<Vec<_>>()}).to_string();
        let once = shrink_arguments(&arguments).unwrap();
        assert_eq!(shrink_arguments(&once), None);
    }
}
