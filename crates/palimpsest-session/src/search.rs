//! Finding what was said, whether it is in the window or not.

use palimpsest_engine::Session;
use palimpsest_text::recall::Recall;
use serde_json::{Value, json};

/// Passages that answer `query`, the best first.
pub(crate) fn search(session: &Session, query: &str, limit: usize) -> Vec<Value> {
    let items = session.history(None, usize::MAX);
    let mut index = Recall::default();
    for item in &items {
        index.add(item.message.seq, &item.message.words());
    }
    let hits = index.search(query, limit, |_| true);
    hits.iter()
        .filter_map(|hit| {
            let at = items
                .binary_search_by_key(&hit.seq, |item| item.message.seq)
                .ok()?;
            let item = &items[at];
            let words = item.message.words();
            let passage = words.get(hit.start as usize..hit.end as usize)?.trim();
            Some(json!({
                "seq": hit.seq, "role": item.message.role, "text": passage, "score": hit.score,
                "layer": item.covered_by,
            }))
        })
        .collect()
}
