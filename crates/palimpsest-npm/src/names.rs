//! Names of fields: `due_at` here is `dueAt` in JavaScript.

use serde_json::Value;

/// Writes the names of fields as JavaScript does.
pub(crate) fn rename(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(rename),
        Value::Object(fields) => {
            fields.values_mut().for_each(rename);
            if fields.keys().any(|name| name.contains('_')) {
                let all = std::mem::take(fields).into_iter();
                *fields = all.map(|(name, value)| (camel(&name), value)).collect();
            }
        }
        _ => {}
    }
}

/// `retry_after_ms` as JavaScript writes it.
pub(crate) fn camel(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |mut whole, part| {
        let (head, rest) = part.split_at(part.len().min(1));
        whole.push_str(&head.to_ascii_uppercase());
        whole.push_str(rest);
        whole
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_change_and_values_stay() {
        let mut value = json!({"due_at": 1, "of": [{"retry_after_ms": "not_this"}], "x": null});
        rename(&mut value);
        let expected = json!({"dueAt": 1, "of": [{"retryAfterMs": "not_this"}], "x": null});
        assert_eq!(value, expected);
    }
}
