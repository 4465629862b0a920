//! Finds the part of an arriving reply that can no longer change.

/// Follows a growing text and says up to where its blocks are finished, so that only the tail has
/// to be read again with every delta. Each byte is looked at once.
#[derive(Debug, Default)]
pub struct Splitter {
    /// Everything before this byte has been scanned, in whole lines.
    scanned: usize,
    /// Everything before this byte is finished.
    settled: usize,
    /// The fence that is open: its character and length.
    fence: Option<(u8, usize)>,
    blank: bool,
}

impl Splitter {
    /// A splitter at the beginning of a text.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the byte in `text` before which nothing changes any more. `text` must begin with the text of the last
    /// call.
    ///
    /// A block ends at a blank line outside of a fence if the next line is not indented (an indented one may continue a
    /// list item).
    pub fn settled(&mut self, text: &str) -> usize {
        while let Some(end) = text.get(self.scanned..).and_then(|rest| rest.find('\n')) {
            let start = self.scanned;
            let next = start + end + 1;
            let line = &text[start..next];
            self.scanned = next;
            if let Some((mark, length)) = self.fence {
                if closes(line, mark, length) {
                    self.fence = None;
                }
                self.blank = false;
                continue;
            }
            if line.trim().is_empty() {
                self.blank = true;
                continue;
            }
            if self.blank && !line.starts_with([' ', '\t']) {
                self.settled = start;
            }
            self.blank = false;
            self.fence = opens(line);
        }
        self.settled
    }
}

fn opens(line: &str) -> Option<(u8, usize)> {
    let line = line.trim_start();
    let mark = *line.as_bytes().first()?;
    let length = line.bytes().take_while(|b| *b == mark).count();
    (matches!(mark, b'`' | b'~') && length >= 3 && !(mark == b'`' && line[length..].contains('`')))
        .then_some((mark, length))
}

fn closes(line: &str, mark: u8, length: usize) -> bool {
    let line = line.trim();
    line.len() >= length && line.bytes().all(|b| b == mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, settled: &str) {
        let mut splitter = Splitter::new();
        assert_eq!(&text[..splitter.settled(text)], settled, "{text:?}");
    }

    #[test]
    fn blocks_settle_at_blank_lines_outside_fences() {
        check("one\ntwo", "");
        check("one\n\ntwo", "");
        check("one\n\ntwo\n", "one\n\n");
        check("one\n\n\n\n## two\n", "one\n\n\n\n");
        check("```\na\n\nb\n", "");
        check(
            "````\n```\n\nx\n````\n\nafter\n",
            "````\n```\n\nx\n````\n\n",
        );
        check("- a\n\n  still a\n", "");
        check("- a\n\n- b\n", "- a\n\n");
    }

    /// Any pieces of the text give the same places, and settled text stays settled.
    #[test]
    fn deltas_do_not_matter() {
        let text =
            "# A\n\npara one\n\n```rust\nlet x = 1;\n\nlet y = 2;\n```\n\n- a\n- b\n\nthe end\n";
        let mut splitter = Splitter::new();
        let mut last = 0;
        for end in 0..=text.len() {
            let settled = splitter.settled(&text[..end]);
            assert!(settled >= last);
            last = settled;
        }
        assert_eq!(&text[last..], "the end\n");
        assert_eq!(last, Splitter::new().settled(text));
    }
}
