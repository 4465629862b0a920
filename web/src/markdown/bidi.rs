//! Shows characters that change the reading direction.
//!
//! A text can be written so that it appears in another order than its characters: an override moves the code after it
//! on the screen. The character stays in place, so that copying gives the original text. It is isolated, so that its
//! effect ends with itself, and its abbreviation is shown.

/// A stretch of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Ordinary text.
    Plain(&'a str),
    /// One character that turns the direction, with its usual abbreviation.
    Turn(&'a str, &'static str),
}

/// A text in pieces, in order; joined they are the text.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut out = Vec::new();
    let mut from = 0;
    for (at, c) in text.char_indices() {
        let Some(name) = turns(c) else { continue };
        if from < at {
            out.push(Piece::Plain(&text[from..at]));
        }
        from = at + c.len_utf8();
        out.push(Piece::Turn(&text[at..from], name));
    }
    if from < text.len() {
        out.push(Piece::Plain(&text[from..]));
    }
    out
}

/// The abbreviation of a character that embeds, overrides or isolates a direction.
const fn turns(c: char) -> Option<&'static str> {
    Some(match c {
        '\u{202A}' => "LRE",
        '\u{202B}' => "RLE",
        '\u{202C}' => "PDF",
        '\u{202D}' => "LRO",
        '\u{202E}' => "RLO",
        '\u{2066}' => "LRI",
        '\u{2067}' => "RLI",
        '\u{2068}' => "FSI",
        '\u{2069}' => "PDI",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F 23: what turns the direction stands alone, and nothing is lost.
    #[test]
    fn turning_characters_stand_alone() {
        use Piece::{Plain, Turn};
        let check = |text: &str, expected: &[Piece]| {
            assert_eq!(pieces(text), expected);
            let joined: String = pieces(text)
                .iter()
                .map(|p| match p {
                    Plain(s) | Turn(s, _) => *s,
                })
                .collect();
            assert_eq!(joined, text);
        };
        check("", &[]);
        check("plain שלום", &[Plain("plain שלום")]);
        check(
            "if a\u{202E} {\u{2066}}",
            &[
                Plain("if a"),
                Turn("\u{202E}", "RLO"),
                Plain(" {"),
                Turn("\u{2066}", "LRI"),
                Plain("}"),
            ],
        );
        check("\u{2069}", &[Turn("\u{2069}", "PDI")]);
    }
}
