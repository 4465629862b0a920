//! Reads a model's description as JSON, in slices of any size.
//!
//! This is not a general parser. It keeps the few values under `model_info` that make a tokenizer, writes texts
//! straight into their arenas, and steps over everything else. It accepts all valid JSON and a little more, because it
//! does not check the numbers and words that it steps over.

use crate::{assembly::Description, error::Error};

/// The largest description that the parser accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of JSON.
    pub bytes: usize,
    /// Tokens, and token types and scores.
    pub tokens: usize,
    /// Merges.
    pub merges: usize,
    /// Bytes in one token or merge.
    pub word: usize,
    /// The depth to which arrays and objects are nested.
    pub depth: usize,
}

impl Default for Limits {
    /// About five times the largest known vocabulary: 64 MiB, 1,000,000 tokens, 2,000,000 merges, words of 4 KiB, depth
    /// 32.
    fn default() -> Self {
        Self {
            bytes: 64 << 20,
            tokens: 1_000_000,
            merges: 2_000_000,
            word: 4096,
            depth: 32,
        }
    }
}

/// The values that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Model,
    Pre,
    Tokens,
    Types,
    Scores,
    Merges,
    AddBos,
    SpacePrefix,
    /// `model_info` itself.
    Info,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before a value. `first` says that `]` may come instead.
    Value {
        first: bool,
    },
    /// Before a key. `first` says that `}` may come instead.
    Key {
        first: bool,
    },
    Colon,
    /// After a value.
    After,
    Text,
    Escape,
    /// The number of digits of `\u` that are still missing.
    Unicode(u8),
    /// A number, `true`, `false` or `null`.
    Word,
    End,
}

/// The state of the parser between two slices.
#[derive(Debug)]
pub(crate) struct Parser {
    limits: Limits,
    state: State,
    /// The open containers, outermost first: `true` for an object, `false` for an array.
    open: Vec<bool>,
    /// The current text is a key.
    key: bool,
    /// The current text or word, unless it goes straight to an arena.
    text: Vec<u8>,
    /// The field whose value the parser reads, and the depth of its name.
    field: Field,
    in_info: bool,
    code: u16,
    /// The first half of a pair of surrogates.
    high: Option<u16>,
    at: usize,
    pub(crate) description: Description,
}

impl Parser {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            state: State::Value { first: false },
            open: Vec::new(),
            key: false,
            text: Vec::new(),
            field: Field::Other,
            in_info: false,
            code: 0,
            high: None,
            at: 0,
            description: Description::default(),
        }
    }

    /// Returns `true` after the end of the outermost value.
    pub(crate) fn done(&self) -> bool {
        self.state == State::End
    }

    /// Reads a slice.
    pub(crate) fn read(&mut self, slice: &[u8]) -> Result<(), Error> {
        if self.at + slice.len() > self.limits.bytes {
            return Err(Error::TooLarge {
                what: "bytes",
                limit: self.limits.bytes,
            });
        }
        let mut i = 0;
        while i < slice.len() {
            let b = slice[i];
            match self.state {
                State::Text => {
                    let n = slice[i..]
                        .iter()
                        .position(|b| matches!(b, b'"' | b'\\') || *b < 32);
                    let end = n.map_or(slice.len(), |n| i + n);
                    if end > i {
                        self.add(&slice[i..end])?;
                        i = end;
                        continue;
                    }
                    match b {
                        b'"' => self.end_text(self.at + i)?,
                        b'\\' => self.state = State::Escape,
                        // Raw control characters are not valid JSON, but the parser accepts them.
                        _ => self.add(&[b])?,
                    }
                }
                State::Escape => {
                    self.state = State::Text;
                    match b {
                        b'u' => {
                            self.state = State::Unicode(4);
                            self.code = 0;
                        }
                        b'n' => self.add(b"\n")?,
                        b't' => self.add(b"\t")?,
                        b'r' => self.add(b"\r")?,
                        b'b' => self.add(&[8])?,
                        b'f' => self.add(&[12])?,
                        b'"' | b'\\' | b'/' => self.add(&[b])?,
                        _ => return Err(self.malformed(i, "escape")),
                    }
                }
                State::Unicode(left) => {
                    let Some(digit) = (b as char).to_digit(16) else {
                        return Err(self.malformed(i, "escape"));
                    };
                    self.code = self.code << 4 | digit as u16;
                    self.state = State::Unicode(left - 1);
                    if left == 1 {
                        self.state = State::Text;
                        self.add_code()?;
                    }
                }
                State::Word => {
                    if b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.') {
                        if self.text.len() < 64 {
                            self.text.push(b);
                        }
                    } else {
                        self.end_word(self.at + i)?;
                        continue;
                    }
                }
                _ if matches!(b, b' ' | b'\n' | b'\t' | b'\r') => {}
                State::Value { first } => match b {
                    b']' if first => self.close(i, false)?,
                    b'"' => {
                        self.key = false;
                        self.state = State::Text;
                        self.text.clear();
                    }
                    b'{' | b'[' => self.nest(b == b'{')?,
                    b'-' | b'0'..=b'9' | b'a'..=b'z' => {
                        self.text.clear();
                        self.text.push(b);
                        self.state = State::Word;
                    }
                    _ => return Err(self.malformed(i, "value")),
                },
                State::Key { first } => match b {
                    b'}' if first => self.close(i, true)?,
                    b'"' => {
                        self.key = true;
                        self.state = State::Text;
                        self.text.clear();
                    }
                    _ => return Err(self.malformed(i, "key")),
                },
                State::Colon => match b {
                    b':' => self.state = State::Value { first: false },
                    _ => return Err(self.malformed(i, "colon")),
                },
                State::After => match (b, self.open.last()) {
                    (b',', Some(true)) => self.state = State::Key { first: false },
                    (b',', Some(false)) => self.state = State::Value { first: false },
                    (b'}', Some(true)) | (b']', Some(false)) => self.close(i, b == b'}')?,
                    _ => return Err(self.malformed(i, "separator")),
                },
                State::End => return Err(self.malformed(i, "end")),
            }
            i += 1;
        }
        self.at += slice.len();
        Ok(())
    }

    fn malformed(&self, i: usize, what: &'static str) -> Error {
        Error::Malformed {
            at: self.at + i,
            what,
        }
    }

    fn nest(&mut self, object: bool) -> Result<(), Error> {
        if self.open.len() == self.limits.depth {
            return Err(Error::TooLarge {
                what: "levels",
                limit: self.limits.depth,
            });
        }
        if self.open.len() == 1 && self.field == Field::Info && object {
            self.in_info = true;
        }
        self.open.push(object);
        self.state = if object {
            State::Key { first: true }
        } else {
            State::Value { first: true }
        };
        Ok(())
    }

    fn close(&mut self, i: usize, object: bool) -> Result<(), Error> {
        if self.open.pop() != Some(object) {
            return Err(self.malformed(i, "bracket"));
        }
        if self.open.len() == 1 {
            self.in_info = false;
        }
        self.state = if self.open.is_empty() {
            State::End
        } else {
            State::After
        };
        Ok(())
    }

    /// Returns the field to which the current text or word belongs.
    fn element(&self) -> Field {
        match (self.in_info, self.open.len(), self.open.last()) {
            (true, 2, Some(true))
                if matches!(
                    self.field,
                    Field::Model | Field::Pre | Field::AddBos | Field::SpacePrefix
                ) =>
            {
                self.field
            }
            (true, 3, Some(false))
                if matches!(
                    self.field,
                    Field::Tokens | Field::Types | Field::Scores | Field::Merges
                ) =>
            {
                self.field
            }
            _ => Field::Other,
        }
    }

    #[inline]
    fn add(&mut self, part: &[u8]) -> Result<(), Error> {
        if self.high.take().is_some() {
            self.put("\u{fffd}".as_bytes())?;
        }
        self.put(part)
    }

    #[inline]
    fn put(&mut self, part: &[u8]) -> Result<(), Error> {
        let arena = match self.element() {
            _ if self.key => {
                // No key that the parser keeps is longer.
                if self.text.len() < 64 {
                    self.text.extend_from_slice(&part[..part.len().min(64)]);
                }
                return Ok(());
            }
            Field::Tokens => &mut self.description.tokens,
            Field::Merges => &mut self.description.merges,
            Field::Model | Field::Pre => {
                if self.text.len() < 64 {
                    self.text.extend_from_slice(&part[..part.len().min(64)]);
                }
                return Ok(());
            }
            _ => return Ok(()),
        };
        arena.extend(part);
        if arena.open().len() > self.limits.word {
            return Err(Error::TooLarge {
                what: "bytes in a word",
                limit: self.limits.word,
            });
        }
        Ok(())
    }

    /// Finishes a `\u` escape.
    fn add_code(&mut self) -> Result<(), Error> {
        let code = match (self.high.take(), self.code) {
            (None, 0xd800..=0xdbff) => {
                self.high = Some(self.code);
                return Ok(());
            }
            (Some(high), 0xdc00..=0xdfff) => {
                0x1_0000 + (u32::from(high & 0x3ff) << 10 | u32::from(self.code & 0x3ff))
            }
            (Some(_), code) => {
                self.put("\u{fffd}".as_bytes())?;
                if (0xd800..=0xdbff).contains(&code) {
                    self.high = Some(code);
                    return Ok(());
                }
                u32::from(code)
            }
            (None, code) => u32::from(code),
        };
        let c = char::from_u32(code).unwrap_or('\u{fffd}');
        self.put(c.encode_utf8(&mut [0; 4]).as_bytes())
    }

    fn end_text(&mut self, at: usize) -> Result<(), Error> {
        self.add(&[])?;
        if self.key {
            self.key = false;
            self.state = State::Colon;
            self.field = match (self.open.len(), self.in_info, self.text.as_slice()) {
                (1, _, b"model_info") => Field::Info,
                (2, true, b"tokenizer.ggml.model") => Field::Model,
                (2, true, b"tokenizer.ggml.pre") => Field::Pre,
                (2, true, b"tokenizer.ggml.tokens") => Field::Tokens,
                (2, true, b"tokenizer.ggml.token_type") => Field::Types,
                (2, true, b"tokenizer.ggml.scores") => Field::Scores,
                (2, true, b"tokenizer.ggml.merges") => Field::Merges,
                (2, true, b"tokenizer.ggml.add_bos_token") => Field::AddBos,
                (2, true, b"tokenizer.ggml.add_space_prefix") => Field::SpacePrefix,
                // Inside of a value that the parser keeps, nested keys do not change the field.
                (depth, ..) if depth > 2 => self.field,
                _ => Field::Other,
            };
            return Ok(());
        }
        match self.element() {
            Field::Tokens => {
                self.description.tokens.close();
                limit(self.description.tokens.len(), self.limits.tokens, "tokens")?;
            }
            Field::Merges => {
                self.description.merges.close();
                limit(self.description.merges.len(), self.limits.merges, "merges")?;
            }
            Field::Model => self.description.model = self.word(at)?,
            Field::Pre => self.description.pre = self.word(at)?,
            Field::Types | Field::Scores => {
                return Err(Error::Malformed {
                    at,
                    what: "a text for a number",
                });
            }
            _ => {}
        }
        self.state = if self.open.is_empty() {
            State::End
        } else {
            State::After
        };
        Ok(())
    }

    fn word(&self, at: usize) -> Result<String, Error> {
        String::from_utf8(self.text.clone()).map_err(|_| Error::Malformed { at, what: "name" })
    }

    fn end_word(&mut self, at: usize) -> Result<(), Error> {
        let word = std::str::from_utf8(&self.text).unwrap_or("");
        match self.element() {
            Field::Types => {
                let kind: f32 = number(word, at)?;
                self.description.types.push(kind.clamp(0.0, 255.0) as u8);
                limit(self.description.types.len(), self.limits.tokens, "tokens")?;
            }
            Field::Scores => {
                let score: f32 = number(word, at)?;
                self.description.scores.push(score);
                limit(self.description.scores.len(), self.limits.tokens, "tokens")?;
            }
            Field::Tokens | Field::Merges => {
                return Err(Error::Malformed {
                    at,
                    what: "a number for a text",
                });
            }
            Field::AddBos => self.description.add_bos = flag(word),
            Field::SpacePrefix => self.description.space_prefix = flag(word),
            _ => {}
        }
        self.state = if self.open.is_empty() {
            State::End
        } else {
            State::After
        };
        Ok(())
    }
}

fn flag(word: &str) -> Option<bool> {
    match word {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// Parses a number, exactly if it has at most fifteen digits. For scores only the order and equality matter.
fn number(word: &str, at: usize) -> Result<f32, Error> {
    let malformed = || Error::Malformed { at, what: "number" };
    let (negative, word) = match word.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, word),
    };
    let mut digits = 0_u64;
    // The power of ten: the written exponent, and the shift by the kept and dropped digits.
    let (mut written, mut shift) = (0_i32, 0_i32);
    let (mut seen, mut fraction) = (false, false);
    let mut bytes = word.bytes();
    while let Some(b) = bytes.next() {
        match b {
            b'0'..=b'9' => {
                seen = true;
                if digits < u64::MAX / 100 {
                    digits = digits * 10 + u64::from(b - b'0');
                    shift -= i32::from(fraction);
                } else {
                    shift += i32::from(!fraction);
                }
            }
            b'.' if !fraction => fraction = true,
            b'e' | b'E' if seen => {
                let (mut down, mut any) = (false, false);
                for (i, b) in bytes.by_ref().enumerate() {
                    match b {
                        b'-' | b'+' if i == 0 => down = b == b'-',
                        b'0'..=b'9' => {
                            any = true;
                            written = (written * 10 + i32::from(b - b'0')).min(9999);
                        }
                        _ => return Err(malformed()),
                    }
                }
                if !any {
                    return Err(malformed());
                }
                if down {
                    written = -written;
                }
            }
            _ => return Err(malformed()),
        }
    }
    if !seen {
        return Err(malformed());
    }
    let power = (written + shift).clamp(-400, 400);
    let mut value = digits as f64;
    let mut left = power.unsigned_abs();
    while left > 0 && value != 0.0 {
        // Powers up to this one are exact.
        let ten = 10_f64.powi(left.min(22).cast_signed());
        value = if power < 0 { value / ten } else { value * ten };
        left -= left.min(22);
    }
    Ok(if negative { -value } else { value } as f32)
}

fn limit(n: usize, limit: usize, what: &'static str) -> Result<(), Error> {
    if n > limit {
        Err(Error::TooLarge { what, limit })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    /// B8: scores are read as the numbers that were written.
    #[test]
    fn numbers_are_read_as_written() {
        for word in [
            "0",
            "-1",
            "-0.0",
            "17",
            "-31999",
            "-3.5",
            "-1e7",
            "-1e+07",
            "2.5E-3",
            "-10.123456",
            "0.1",
            "1e-45",
            "3.4028235e38",
            "123456789012345678901234567890",
            "-0.000000000000000000000000000012345",
            "1e400",
            "1.",
        ] {
            assert_eq!(number(word, 0), Ok(word.parse().unwrap()), "{word}");
        }
        for word in [
            "", "-", ".", "e5", "1e", "1e+", "1-2", "nan", "inf", "1.2.3", "--1", "true",
        ] {
            assert!(number(word, 0).is_err(), "{word}");
        }
    }
}
