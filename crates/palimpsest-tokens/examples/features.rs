//! Prints the features of texts for `fit/fit.py`: NUL between texts on the way in, a line each on the way out.

use std::io::{Read as _, Write as _};

fn main() -> std::io::Result<()> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for one in text.split('\0') {
        let line: Vec<String> = palimpsest_tokens::feature_counts(one)
            .iter()
            .map(u32::to_string)
            .collect();
        writeln!(out, "{}", line.join(" "))?;
    }
    out.flush()
}
