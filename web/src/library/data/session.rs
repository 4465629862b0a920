//! The session list's data.

use palimpsest_text::sorted::SortedSet;

use crate::context::data::budget::Segment;

/// One session in the list.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionEntry {
    /// Its identifier.
    pub id: String,
    /// Its title; empty until it has one.
    pub title: String,
    /// When it was last used; milliseconds since 1970.
    pub at: f64,
    /// The fill of its window, in percent of the limit.
    pub percent: Option<u32>,
    /// The number of its messages.
    pub messages: u32,
    /// The number of its layers, if known.
    pub layers: Option<u32>,
    /// Its reliability, if known.
    pub recall: Option<Recall>,
    /// The stretches of its window, as far as they are known.
    pub bar: Vec<Segment>,
    /// Its model.
    pub model: String,
    /// It stands first.
    pub pinned: bool,
    /// Its tags.
    pub tags: Vec<String>,
}

/// The reliability of a session after its compactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recall {
    /// In percent.
    pub percent: u32,
    /// Very low (1) to high (4); 5 if it was never compacted.
    pub level: u32,
}

/// A group of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum When {
    /// Pinned, whenever it was used.
    Pinned,
    /// Since midnight.
    Today,
    /// In the seven days before.
    Week,
    /// Before that.
    Earlier,
}

/// The sessions whose title or one of whose tags holds `filter`, newest first, in groups that are not empty.
/// `midnight` is the beginning of the present day in milliseconds since 1970.
pub fn grouped(
    sessions: &[SessionEntry],
    filter: &str,
    midnight: f64,
) -> Vec<(When, Vec<SessionEntry>)> {
    let needle = filter.trim().to_lowercase();
    let mut found: Vec<&SessionEntry> = sessions
        .iter()
        .filter(|s| {
            let has = |text: &String| text.to_lowercase().contains(&needle);
            needle.is_empty() || has(&s.title) || s.tags.iter().any(has)
        })
        .collect();
    palimpsest_text::order::sort_by(&mut found, |a, b| {
        b.pinned
            .cmp(&a.pinned)
            .then_with(|| b.at.total_cmp(&a.at))
            .then_with(|| a.id.cmp(&b.id))
    });
    let mut groups: Vec<(When, Vec<SessionEntry>)> = Vec::new();
    for session in found {
        let when = if session.pinned {
            When::Pinned
        } else if session.at >= midnight {
            When::Today
        } else if session.at >= midnight - 7.0 * 86_400_000.0 {
            When::Week
        } else {
            When::Earlier
        };
        match groups.last_mut() {
            Some((newest, list)) if *newest == when => list.push(session.clone()),
            _ => groups.push((when, vec![session.clone()])),
        }
    }
    groups
}

/// All tags of these sessions, sorted, each once.
pub fn tags_of(sessions: &[SessionEntry]) -> Vec<String> {
    let all = sessions.iter().flat_map(|session| &session.tags);
    let all: SortedSet<&String> = all.collect();
    all.into_iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: &str, title: &str, at: f64) -> SessionEntry {
        SessionEntry {
            id: id.into(),
            title: title.into(),
            at,
            percent: None,
            messages: 0,
            layers: None,
            recall: None,
            bar: Vec::new(),
            model: String::new(),
            pinned: id == "p",
            tags: if id == "p" {
                vec!["Baking".into(), "home".into()]
            } else {
                Vec::new()
            },
        }
    }

    #[test]
    fn newest_first_in_groups() {
        let day = 86_400_000.0;
        let midnight = 100.0 * day;
        let list = [
            entry("a", "Old", midnight - 8.0 * day),
            entry("b", "New", midnight + 5.0),
            entry("c", "Mid", midnight - 1.0),
            entry("d", "Newer", midnight + 9.0),
        ];
        let ids = |filter: &str| -> Vec<(When, Vec<String>)> {
            grouped(&list, filter, midnight)
                .into_iter()
                .map(|(w, l)| (w, l.into_iter().map(|s| s.id).collect()))
                .collect()
        };
        assert_eq!(
            ids(""),
            vec![
                (When::Today, vec!["d".into(), "b".into()]),
                (When::Week, vec!["c".into()]),
                (When::Earlier, vec!["a".into()])
            ]
        );
        assert_eq!(
            ids(" NEW"),
            vec![(When::Today, vec!["d".into(), "b".into()])]
        );
        assert_eq!(ids("zebra"), vec![]);
        let pinned = [list[1].clone(), entry("p", "Kept", 1.0)];
        let first = grouped(&pinned, "", midnight);
        let by_tag = grouped(&pinned, "baking", midnight);
        assert_eq!((by_tag.len(), by_tag[0].1[0].id.as_str()), (1, "p"));
        assert_eq!(tags_of(&pinned), ["Baking", "home"]);
        assert_eq!((first[0].0, first[0].1[0].id.as_str()), (When::Pinned, "p"));
    }
}
