//! Patterns for names: `*` for any run of characters, `?` for one character, `{a,b}` for either.

/// With more alternatives than this, a pattern is taken literally.
const MOST_ALTERNATIVES: usize = 64;

/// Returns `true` if `name` matches `pattern` as a whole. Case matters. An unclosed or nested brace is an ordinary
/// character.
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some((before, choices, after)) = braces(pattern) else {
        return matches_simple(pattern.chars(), name);
    };
    // A pattern with one pair of braces, the usual kind, needs no copy.
    if braces(after).is_none() && choices.split(',').count() <= MOST_ALTERNATIVES {
        let with = |choice: &str| {
            let pattern = before.chars().chain(choice.chars()).chain(after.chars());
            matches_simple(pattern, name)
        };
        return choices.split(',').any(with);
    }
    alternatives(pattern)
        .iter()
        .any(|p| matches_simple(p.chars(), name))
}

/// The patterns that `{a,b}` stands for.
fn alternatives(pattern: &str) -> Vec<String> {
    let mut done = vec![String::new()];
    let mut rest = pattern;
    while let Some((before, choices, after)) = braces(rest) {
        let choices: Vec<&str> = choices.split(',').collect();
        if done.len() * choices.len() > MOST_ALTERNATIVES {
            break;
        }
        let choose = |start: &String| -> Vec<String> {
            choices
                .iter()
                .map(|choice| format!("{start}{before}{choice}"))
                .collect()
        };
        done = done.iter().flat_map(choose).collect();
        rest = after;
    }
    for pattern in &mut done {
        pattern.push_str(rest);
    }
    done
}

/// Returns the first `{…}` without a brace inside: the text before, inside and after it.
fn braces(pattern: &str) -> Option<(&str, &str, &str)> {
    let (head, after) = pattern.split_once('}')?;
    let (before, choices) = head.rsplit_once('{')?;
    Some((before, choices, after))
}

/// One backtracking point is enough: the last star can stand for everything an earlier one could.
fn matches_simple(mut p: impl Iterator<Item = char> + Clone, name: &str) -> bool {
    let mut n = name.chars();
    let mut star = None;
    loop {
        let before_n = n.clone();
        match (p.next(), n.next()) {
            (None, None) => return true,
            (Some('*'), _) => {
                star = Some((p.clone(), before_n.clone()));
                n = before_n;
                continue;
            }
            (Some('?'), Some(_)) => continue,
            (Some(a), Some(b)) if a == b => continue,
            _ => {}
        }
        let Some((after_star, mut eaten)) = star else {
            return false;
        };
        if eaten.next().is_none() {
            return false;
        }
        p = after_star.clone();
        n = eaten.clone();
        star = Some((after_star, eaten));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(pattern: &str, name: &str, expected: bool) {
        assert_eq!(matches(pattern, name), expected, "{pattern} ~ {name}");
    }

    /// G8, W1: stars, question marks and braces.
    #[test]
    fn patterns() {
        check("*", "", true);
        check("*", "anything", true);
        check("rust-*", "rust-async", true);
        check("rust-*", "python-async", false);
        check("*-async", "rust-async", true);
        check("a*b*c", "a-b-b-c", true);
        check("a*b*c", "a-c-b", false);
        check("v?", "v1", true);
        check("v?", "v", false);
        check("v?", "v12", false);
        check("{web,db}-*", "db-sql", true);
        check("{web,db}-*", "cli-sql", false);
        check("x{,y}", "x", true);
        check("{a,b}{c,d}", "bd", true);
        check("{a", "{a", true);
        check("Rust", "rust", false);
        check("", "", true);
        check("", "x", false);
        check("ä?ö*", "äüö!", true);
    }

    /// I10: endless stars and countless alternatives cost little.
    #[test]
    fn worst_cases() {
        check(&"*a".repeat(500), &"a".repeat(499), false);
        check(&"{a,b}".repeat(40), "a", false);
    }

    proptest! {
        /// G8: a name matches itself, and a star before and after it too.
        #[test]
        fn itself(name in "[a-z0-9_-]{0,20}", extra in "[a-z*?]{0,6}") {
            prop_assert!(matches(&name, &name));
            let starred = format!("*{name}*");
            let longer = format!("{extra}{name}{extra}");
            prop_assert!(matches(&starred, &longer));
        }
    }
}
