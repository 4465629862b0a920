//! Cuts a byte stream into lines, independent of its chunks.

use palimpsest_core::request::ModelError;

/// Splits at LF, CR LF and a lone CR. Takes a byte order mark off the first line. A line longer than the limit is an
/// error as soon as the limit is passed, so that memory stays bounded.
#[derive(Debug)]
pub(crate) struct LineSplitter {
    line: Vec<u8>,
    limit: usize,
    /// The last byte was a CR, so a following LF belongs to it.
    after_cr: bool,
    first: bool,
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

impl LineSplitter {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            limit,
            after_cr: false,
            first: true,
        }
    }

    /// Adds one chunk and passes every line that it completes to `each`, until `each` returns `false`.
    pub(crate) fn push(
        &mut self,
        chunk: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<bool, ModelError>,
    ) -> Result<(), ModelError> {
        let mut rest = chunk;
        while let Some(&first) = rest.first() {
            if self.after_cr {
                self.after_cr = false;
                if first == b'\n' {
                    rest = &rest[1..];
                    continue;
                }
            }
            let end = rest.iter().position(|b| matches!(b, b'\n' | b'\r'));
            let text = &rest[..end.unwrap_or(rest.len())];
            if self.line.len() + text.len() > self.limit {
                return Err(ModelError::TooLong {
                    what: "a line".into(),
                    limit: self.limit as u32,
                });
            }
            self.line.extend_from_slice(text);
            let Some(end) = end else { return Ok(()) };
            self.after_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if !self.emit(&mut each)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Hands over the last line if the stream ended without a line break.
    pub(crate) fn finish(
        &mut self,
        mut each: impl FnMut(&[u8]) -> Result<bool, ModelError>,
    ) -> Result<(), ModelError> {
        if self.line.is_empty() {
            Ok(())
        } else {
            self.emit(&mut each).map(drop)
        }
    }

    fn emit(
        &mut self,
        each: &mut impl FnMut(&[u8]) -> Result<bool, ModelError>,
    ) -> Result<bool, ModelError> {
        let line = std::mem::take(&mut self.line);
        let text = if std::mem::take(&mut self.first) {
            line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line)
        } else {
            &line
        };
        let go_on = each(text)?;
        // Reuse the allocation for the next line.
        self.line = line;
        self.line.clear();
        Ok(go_on)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&[u8]]) -> Vec<String> {
        let mut out = Vec::new();
        let mut splitter = LineSplitter::new(16);
        let mut take = |line: &[u8]| {
            out.push(String::from_utf8_lossy(line).into_owned());
            Ok(true)
        };
        for chunk in chunks {
            splitter.push(chunk, &mut take).unwrap();
        }
        splitter.finish(&mut take).unwrap();
        out
    }

    /// F 73, 74: line ends of every kind, split between CR and LF, a byte order mark, no last line break.
    #[test]
    fn every_kind_of_line_end() {
        let check = |chunks: &[&[u8]], expected: &[&str]| assert_eq!(lines(chunks), expected);
        check(&[b"a\nb\r\nc\rd"], &["a", "b", "c", "d"]);
        check(&[b"a\r", b"\nb"], &["a", "b"]);
        check(&[b"a\r", b"b\n\n"], &["a", "b", ""]);
        check(&[b"\xEF\xBB", b"\xBFa\n\xEF\xBB\xBFb"], &["a", "\u{feff}b"]);
        check(&[b"", b"", b"x"], &["x"]);
        check(&[], &[]);
    }

    /// F 75: memory stays bounded for any input.
    #[test]
    fn a_long_line_is_refused_at_the_limit() {
        let mut splitter = LineSplitter::new(16);
        splitter.push(&[b'x'; 16], |_| Ok(true)).unwrap();
        let error = splitter.push(b"x", |_| Ok(true)).unwrap_err();
        assert_eq!(
            error,
            ModelError::TooLong {
                what: "a line".into(),
                limit: 16
            }
        );
    }
}
