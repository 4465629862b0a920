//! Finds the name that a user probably meant.

/// Returns the candidate nearest to `name` by edits (insert, delete, replace, swap of neighbours), if it is near enough
/// for a typing error: at most a third of the letters, and two in short names. Case does not count. Of several equally
/// near ones the first wins.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = (name.chars().take(LONGEST).count() / 3).max(2);
    candidates
        .into_iter()
        .map(|c| (edits(name, c), c))
        .filter(|(d, c)| *d <= most && *d < c.chars().count())
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// Longer names are compared by their beginning.
const LONGEST: usize = 64;

/// The number of edits (insert, delete, replace, swap of neighbours) between two names. Case does not count.
pub fn edits(a: &str, b: &str) -> usize {
    let letters = |name: &str| -> Vec<char> { name.to_lowercase().chars().take(LONGEST).collect() };
    distance(&letters(a), &letters(b))
}

/// Computes the optimal string alignment distance.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut two_ago = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(two_ago[j - 2] + 1);
            }
        }
        two_ago = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E3: a typing error finds its name, and any other word finds none.
    #[test]
    fn slips() {
        let known = ["triggers", "passes", "keep_recent", "fading"];
        let check = |name: &str, expected: Option<&str>| {
            assert_eq!(nearest(name, known), expected, "{name}");
        };
        check("trigers", Some("triggers"));
        check("tirggers", Some("triggers"));
        check("Passes", Some("passes"));
        check("keeprecent", Some("keep_recent"));
        check("fade", None);
        check("colour", None);
        check("", None);
        check(&"x".repeat(10_000), None);
    }
}
