//! Splits the bytes of a file into records while they arrive: the lines of JSON Lines, the elements of an array, or the values
//! that stand one after the other. Only the record that is not complete yet is kept.

/// How the records of a file are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Not enough of the file is known.
    Unknown,
    /// Each line is a record.
    Lines,
    /// Each value at this depth of brackets is a record: 1 for the elements of an array, else 0.
    Values(u32),
}

/// One record of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'b> {
    /// Counted from 1: the line in JSON Lines, else the value.
    pub(super) number: u32,
    /// Its bytes.
    pub(super) bytes: &'b [u8],
    /// Whether the file ends before the record does.
    pub(super) is_cut: bool,
}

/// The records of a file whose bytes arrive in pieces.
#[derive(Debug)]
pub(super) struct Records {
    kind: Kind,
    /// Bytes that were not handed out.
    held: Vec<u8>,
    /// How many of them were looked at.
    seen: usize,
    /// Where the value that is not complete begins.
    start: Option<usize>,
    depth: u32,
    in_string: bool,
    is_escaped: bool,
    number: u32,
}

impl Records {
    const fn new() -> Self {
        Self {
            kind: Kind::Unknown,
            held: Vec::new(),
            seen: 0,
            start: None,
            depth: 0,
            in_string: false,
            is_escaped: false,
            number: 0,
        }
    }

    /// Takes the next bytes of the file and hands out every record that is complete.
    pub(super) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(Record<'_>)) {
        self.held.extend_from_slice(bytes);
        self.split(Ending::Open, &mut each);
    }

    /// Hands out what is left at the end of the file.
    pub(super) fn finish(&mut self, mut each: impl FnMut(Record<'_>)) {
        self.split(Ending::Reached, &mut each);
    }

    fn split(&mut self, ending: Ending, each: &mut dyn FnMut(Record<'_>)) {
        if self.kind == Kind::Unknown {
            self.kind = self.kind_of(ending);
        }
        match self.kind {
            Kind::Unknown => {}
            Kind::Lines => self.lines(ending, each),
            Kind::Values(base) => self.values(base, ending, each),
        }
    }

    /// An array gives its elements. A first line that is a whole JSON object means JSON Lines.
    fn kind_of(&mut self, ending: Ending) -> Kind {
        const BOM: &[u8] = "\u{feff}".as_bytes();
        if self.held.len() < BOM.len() && ending == Ending::Open {
            return Kind::Unknown;
        }
        if self.held.starts_with(BOM) {
            self.held.drain(..BOM.len());
        }
        let Some(first) = self.held.iter().position(|b| !b.is_ascii_whitespace()) else {
            return Kind::Unknown;
        };
        if self.held[first] == b'[' {
            return Kind::Values(1);
        }
        let line = self.held[first..].split(|b| *b == b'\n').next();
        let line = line.unwrap_or_default();
        let ends = first + line.len() < self.held.len();
        if !ends && ending == Ending::Open {
            return Kind::Unknown;
        }
        let is_object = |line| {
            std::str::from_utf8(line).is_ok_and(|line| palimpsest_text::json::parse(line).is_ok())
        };
        if ends && self.held[first] == b'{' && is_object(line) {
            Kind::Lines
        } else {
            Kind::Values(0)
        }
    }

    fn lines(&mut self, ending: Ending, each: &mut dyn FnMut(Record<'_>)) {
        let mut from = 0;
        while let Some(length) = self.held[self.seen.max(from)..]
            .iter()
            .position(|b| *b == b'\n')
        {
            let end = self.seen.max(from) + length;
            self.number += 1;
            each(Record {
                number: self.number,
                bytes: &self.held[from..end],
                is_cut: false,
            });
            from = end + 1;
            self.seen = from;
        }
        self.held.drain(..from);
        self.seen = self.held.len();
        if ending == Ending::Reached && !self.held.is_empty() {
            self.number += 1;
            each(Record {
                number: self.number,
                bytes: &self.held,
                is_cut: false,
            });
            self.held.clear();
        }
    }

    fn values(&mut self, base: u32, ending: Ending, each: &mut dyn FnMut(Record<'_>)) {
        while self.seen < self.held.len() {
            let byte = self.held[self.seen];
            self.seen += 1;
            if self.in_string {
                match byte {
                    _ if self.is_escaped => self.is_escaped = false,
                    b'\\' => self.is_escaped = true,
                    b'"' => {
                        self.in_string = false;
                        if self.depth == base {
                            self.hand_out(self.seen, each);
                        }
                    }
                    _ => {}
                }
                continue;
            }
            let is_base = self.depth == base;
            match byte {
                b'{' | b'[' => {
                    if is_base && (byte == b'{' || base == 1) {
                        self.start.get_or_insert(self.seen - 1);
                    }
                    self.depth += 1;
                }
                b'}' | b']' => {
                    if is_base {
                        self.hand_out(self.seen - 1, each);
                    }
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == base {
                        self.hand_out(self.seen, each);
                    }
                }
                b',' if is_base => self.hand_out(self.seen - 1, each),
                b'"' => {
                    if is_base {
                        self.start.get_or_insert(self.seen - 1);
                    }
                    self.in_string = true;
                }
                _ if is_base && byte.is_ascii_whitespace() => self.hand_out(self.seen - 1, each),
                _ if is_base => {
                    self.start.get_or_insert(self.seen - 1);
                }
                _ => {}
            }
        }
        if ending == Ending::Reached {
            let is_cut = self.depth > base || self.in_string;
            let end = self.held.len();
            if self.start.is_some() || self.depth > 0 {
                self.number += 1;
                each(Record {
                    number: self.number,
                    bytes: &self.held[self.start.unwrap_or(end)..end],
                    is_cut: is_cut || self.depth > 0,
                });
            }
            self.held.clear();
            return;
        }
        // what was handed out is let go of
        let keep = self.start.unwrap_or(self.seen);
        self.held.drain(..keep);
        self.seen -= keep;
        self.start = self.start.map(|_| 0);
    }

    /// Hands out the value that ends before `end`, if one began.
    fn hand_out(&mut self, end: usize, each: &mut dyn FnMut(Record<'_>)) {
        if let Some(start) = self.start.take() {
            self.number += 1;
            each(Record {
                number: self.number,
                bytes: &self.held[start..end],
                is_cut: false,
            });
        }
    }
}

impl Default for Records {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether more of the file is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Open,
    Reached,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S7: however the bytes of a file arrive, its records are the same.
    #[test]
    fn records_of_a_file_in_pieces() {
        let check = |file: &str, expected: &[&str]| {
            for size in [1, 2, 3, 7, 1000] {
                let mut records = Records::new();
                let mut found = Vec::new();
                let mut each = |r: Record<'_>| {
                    let cut = if r.is_cut { "…" } else { "" };
                    let text = String::from_utf8_lossy(r.bytes);
                    found.push(format!("{}:{}{cut}", r.number, text.trim()));
                };
                for piece in file.as_bytes().chunks(size) {
                    records.push(piece, &mut each);
                }
                records.finish(&mut each);
                assert_eq!(found, expected, "{file:?} in pieces of {size}");
            }
        };
        check(
            "{\"a\":1}\n\n{\"b\":\"\\n\"}\n",
            &["1:{\"a\":1}", "2:", "3:{\"b\":\"\\n\"}"],
        );
        check("{\"a\":1}\r\nnot JSON", &["1:{\"a\":1}", "2:not JSON"]);
        check(
            "{\n \"a\": [1, {\"b\": \"}\"}]\n}\n{\"c\":2}",
            &["1:{\n \"a\": [1, {\"b\": \"}\"}]\n}", "2:{\"c\":2}"],
        );
        check(
            "\u{feff}[ {\"a\":\"x\\\"]\"}, 7 ,[1],\"s\", true ]",
            &["1:{\"a\":\"x\\\"]\"}", "2:7", "3:[1]", "4:\"s\"", "5:true"],
        );
        check("[]", &[]);
        check("", &[]);
        check("  \n ", &[]);
        check("[{\"a\":1},{\"b\":", &["1:{\"a\":1}", "2:{\"b\":…"]);
        check("[{\"a\":1},", &["1:{\"a\":1}", "2:…"]);
        check("{\"a\":", &["1:{\"a\":…"]);
        check("\"hello\"", &["1:\"hello\""]);
        check("hello you", &["1:hello", "2:you"]);
    }

    /// S7: memory is bounded by the largest record, not by the file.
    #[test]
    fn only_what_is_not_complete_is_held() {
        let mut records = Records::new();
        for n in 0..10_000 {
            records.push(format!("{{\"n\":{n}}}\n").as_bytes(), |_| {});
            assert!(records.held.len() < 32, "{}", records.held.len());
        }
        let mut records = Records::new();
        records.push(b"[", |_| {});
        for n in 0..10_000 {
            records.push(format!("{{\"n\":{n}}},").as_bytes(), |_| {});
            assert!(records.held.len() < 32, "{}", records.held.len());
        }
    }
}
