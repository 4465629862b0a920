//! Finding what was said, whether it is in the window or not.

use palimpsest_engine::{Engine, EngineError, Session};
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

/// Passages of every session that is not deleted, the best first. A session that cannot be read is passed over: the list of
/// sessions tells of it.
pub(crate) async fn everywhere(
    engine: &Engine,
    query: &str,
    limit: usize,
) -> Result<Vec<Value>, EngineError> {
    let mut all: Vec<(f64, Value)> = Vec::new();
    for info in engine.sessions().await? {
        let Ok(session) = engine.follow(&info.id).await else {
            continue;
        };
        for mut hit in search(&session, query, limit) {
            hit["session"] = info.id.as_str().into();
            hit["title"] = info.head.title.as_str().into();
            all.push((hit["score"].as_f64().unwrap_or_default(), hit));
        }
        palimpsest_text::order::sort_by(&mut all, |a, b| b.0.total_cmp(&a.0));
        all.truncate(limit);
    }
    Ok(all.into_iter().map(|(_, hit)| hit).collect())
}
