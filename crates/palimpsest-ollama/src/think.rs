//! Separates reasoning that a server leaves in the text, between `<think>` and `</think>`.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Separates reasoning from the answer if both arrive as text. Only a block at the very beginning counts: later in the
/// text the answer may talk about the tag.
#[derive(Debug)]
pub(crate) struct ThinkSplitter {
    state: State,
    /// Text that may be the beginning of a tag.
    held: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Only white space so far.
    Start,
    Inside,
    /// White space between the block and the answer.
    After,
    Answer,
}

/// A piece of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    Thinking(String),
}

impl ThinkSplitter {
    pub(crate) const fn new() -> Self {
        Self {
            state: State::Start,
            held: String::new(),
        }
    }

    pub(crate) fn push(&mut self, text: &str, out: &mut Vec<Piece>) {
        if self.state == State::Answer {
            emit(out, Piece::Text(text.to_owned()));
            return;
        }
        self.held.push_str(text);
        loop {
            match self.state {
                State::Start => {
                    let seen = self.held.trim_start();
                    if let Some(rest) = seen.strip_prefix(OPEN) {
                        self.held = rest.to_owned();
                        self.state = State::Inside;
                    } else if OPEN.starts_with(seen) {
                        return; // may still become the tag
                    } else {
                        self.state = State::Answer;
                    }
                }
                State::Inside => {
                    if let Some(at) = self.held.find(CLOSE) {
                        emit(out, Piece::Thinking(self.held[..at].to_owned()));
                        self.held.drain(..at + CLOSE.len());
                        self.state = State::After;
                    } else {
                        let keep = tail_of_tag(&self.held);
                        let ready = self.held.len() - keep;
                        emit(out, Piece::Thinking(self.held[..ready].to_owned()));
                        self.held.drain(..ready);
                        return;
                    }
                }
                State::After => {
                    let text = self.held.trim_start();
                    if text.is_empty() {
                        self.held.clear();
                        return;
                    }
                    self.held = text.to_owned();
                    self.state = State::Answer;
                }
                State::Answer => {
                    emit(out, Piece::Text(std::mem::take(&mut self.held)));
                    return;
                }
            }
        }
    }

    /// Emits the text that was held back when the answer ended.
    pub(crate) fn finish(&mut self, out: &mut Vec<Piece>) {
        let held = std::mem::take(&mut self.held);
        match self.state {
            State::Inside => emit(out, Piece::Thinking(held)),
            _ => emit(out, Piece::Text(held)),
        }
        self.state = State::Answer;
    }
}

fn emit(out: &mut Vec<Piece>, piece: Piece) {
    let (Piece::Text(text) | Piece::Thinking(text)) = &piece;
    if !text.is_empty() {
        out.push(piece);
    }
}

/// The number of bytes at the end of `text` that may be the beginning of the closing tag.
fn tail_of_tag(text: &str) -> usize {
    (1..CLOSE.len())
        .rev()
        .find(|n| text.ends_with(&CLOSE[..*n]))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(pieces: &[&str]) -> (String, String) {
        let mut splitter = ThinkSplitter::new();
        let mut out = Vec::new();
        for piece in pieces {
            splitter.push(piece, &mut out);
        }
        splitter.finish(&mut out);
        let mut both = (String::new(), String::new());
        for piece in out {
            match piece {
                Piece::Thinking(text) => both.0.push_str(&text),
                Piece::Text(text) => both.1.push_str(&text),
            }
        }
        both
    }

    /// P2, P5: reasoning is separated from the answer at every split into pieces.
    #[test]
    fn reasoning_is_separated_at_every_split() {
        let whole = " <think>\nTwo and < two.\n</think>\n\nFour, says <think>.";
        for i in 0..=whole.len() {
            for j in i..=whole.len() {
                let (thinking, text) = split(&[&whole[..i], &whole[i..j], &whole[j..]]);
                assert_eq!(
                    (thinking.as_str(), text.as_str()),
                    ("\nTwo and < two.\n", "Four, says <think>.")
                );
            }
        }
    }

    /// Text without the tag stays as it is, whatever it begins with.
    #[test]
    fn answers_without_reasoning_are_untouched() {
        for text in [
            "",
            " ",
            "<",
            "<thin",
            "\n<b>x",
            "a <think>b</think>",
            "<thinker>",
        ] {
            assert_eq!(split(&[text]), (String::new(), text.to_owned()));
        }
        assert_eq!(
            split(&["<think>never closed </thi"]),
            ("never closed </thi".into(), String::new())
        );
    }
}
