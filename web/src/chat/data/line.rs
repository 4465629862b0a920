//! A text in one line.

/// Returns the beginning of a text, cut between words after at most `letters` letters. A language without spaces is cut
/// between letters.
pub fn shortened(text: &str, letters: usize) -> String {
    let Some((end, next)) = text.char_indices().nth(letters) else {
        return text.to_owned();
    };
    let kept = &text[..end];
    let whole = if next == ' ' {
        kept
    } else {
        kept.rsplit_once(' ').map_or(kept, |(whole, _)| whole)
    };
    format!("{} …", whole.trim_end_matches([',', ';', ':', ' ']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_between_words() {
        let check = |text: &str, expected: &str| assert_eq!(shortened(text, 12), expected);
        check("six rooms", "six rooms");
        check("twelve lette", "twelve lette");
        check("metro from the airport", "metro from …");
        check("metro, from, then", "metro, from …");
        check("metro from a street", "metro from a …");
        check("Donaudampfschifffahrt", "Donaudampfsc …");
        check(
            "明日の会議は十時から始まります",
            "明日の会議は十時から始ま …",
        );
    }
}
