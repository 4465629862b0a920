//! Shortens tables in text: CSV, TSV and the framed tables of database shells.

use super::cut::{self, grouped};
use std::fmt::Write;

/// The number of rows shown from the beginning and the end.
const HEAD: usize = 5;
const TAIL: usize = 2;

/// The longest row that is shown whole, in bytes.
const ROW: usize = 600;

/// Returns `true` if the first lines have the same number of cells.
pub(super) fn looks_like(text: &str) -> bool {
    delimiter(text).is_some()
}

/// Returns the delimiter if the first lines agree on it: at least two cells in at least four rows.
fn delimiter(text: &str) -> Option<char> {
    // Statements end in semicolons, and code has braces.
    let code = |row: &str| row.trim_end().ends_with([';', '{', '}']) || row.contains("=>");
    let lines = text.lines().take(20);
    if lines.clone().filter(|l| code(l)).count() * 4 > lines.count() {
        return None;
    }
    ['\t', ',', ';', '|'].into_iter().find(|&delimiter| {
        let rows = rows(text).filter(|row| !is_rule(row)).take(20);
        let cells: Vec<usize> = rows.map(|row| cells(row, delimiter)).collect();
        let first = cells.first().copied().unwrap_or(0);
        // Prose contains commas, too, so a table needs more of them.
        let enough = if delimiter == ',' { 3 } else { 2 };
        let same = cells.iter().filter(|&&n| n == first).count();
        first >= enough && cells.len() >= 4 && same * 20 >= cells.len() * 19
    })
}

/// Keeps the names, the number of rows, and the first and last rows. `None` if the text is not a table or is short.
pub(super) fn condense(text: &str) -> Option<String> {
    let delimiter = delimiter(text)?;
    let rows: Vec<&str> = rows(text).filter(|row| !row.trim().is_empty()).collect();
    let body = rows
        .iter()
        .filter(|row| !is_rule(row))
        .count()
        .saturating_sub(1);
    if rows.len() <= HEAD + TAIL + 4 {
        return None;
    }
    let columns = cells(rows.iter().find(|row| !is_rule(row))?, delimiter);
    let mut out = format!("{} rows, {columns} columns\n", grouped(body));
    // The lines of the frame count as rows.
    let head = HEAD + 1 + rows.iter().take(4).filter(|row| is_rule(row)).count();
    let tail = TAIL + usize::from(rows.last().is_some_and(|row| is_rule(row)));
    for row in &rows[..head] {
        _ = writeln!(out, "{}", shown(row));
    }
    _ = writeln!(out, "… {} more rows", grouped(rows.len() - head - tail));
    for row in &rows[rows.len() - tail..] {
        _ = writeln!(out, "{}", shown(row));
    }
    Some(out)
}

fn shown(row: &str) -> String {
    let row = row.trim_end();
    match cut::head(row, ROW) {
        head if head.len() < row.len() => format!("{head}…"),
        whole => whole.to_owned(),
    }
}

/// Splits into rows; line breaks inside of quotes do not split. A quote that is still open after 30 lines is an
/// ordinary character.
fn rows(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let first = rest.find('\n').map_or(rest.len(), |at| at + 1);
        let mut end = first;
        let mut open = rest[..end].bytes().filter(|&b| b == b'"').count() % 2 == 1;
        let mut lines = 1;
        while open && end < rest.len() && lines < 30 {
            let next = rest[end..].find('\n').map_or(rest.len(), |at| end + at + 1);
            open ^= rest[end..next].bytes().filter(|&b| b == b'"').count() % 2 == 1;
            end = next;
            lines += 1;
        }
        if open {
            end = first;
        }
        let row = &rest[..end];
        rest = &rest[end..];
        Some(row.trim_end_matches(['\n', '\r']))
    })
}

fn cells(row: &str, delimiter: char) -> usize {
    let row = row.trim().trim_matches('|');
    let mut quoted = false;
    let delimiters = row.chars().filter(|&c| {
        quoted ^= c == '"';
        c == delimiter && !quoted
    });
    delimiters.count() + 1
}

/// `+----+----+`, `|---|---|`, `----+----`.
fn is_rule(row: &str) -> bool {
    let row = row.trim();
    row.len() >= 3
        && row.contains("--")
        && row
            .bytes()
            .all(|b| matches!(b, b'-' | b'+' | b'|' | b' ' | b':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: usize) -> String {
        (0..rows).fold("id,name,city\n".to_owned(), |t, i| {
            t + &format!("{i},\"a, {i}\",Rome\n")
        })
    }

    /// T2, T3: number of rows and columns, a sample of both ends.
    #[test]
    fn comma_separated() {
        assert_eq!(
            condense(&table(1_000)).unwrap(),
            "1,000 rows, 3 columns\nid,name,city\n0,\"a, 0\",Rome\n1,\"a, 1\",Rome\n2,\"a, 2\",Rome\n\
             3,\"a, 3\",Rome\n4,\"a, 4\",Rome\n… 993 more rows\n998,\"a, 998\",Rome\n999,\"a, 999\",Rome\n"
        );
        assert_eq!(condense(&table(8)), None);
    }

    /// T2: the framed table of a database shell, line breaks inside quotes.
    #[test]
    fn framed() {
        let row = "| 1  | x    |\n";
        let text = format!(
            "+----+------+\n| id | name |\n+----+------+\n{}+----+------+\n",
            row.repeat(50)
        );
        let short = condense(&text).unwrap();
        assert!(
            short.starts_with("50 rows, 2 columns\n+----+------+\n| id | name |\n"),
            "{short}"
        );
        let quoted = "a;b\n".to_owned() + &"1;\"two\nlines\"\n".repeat(40);
        assert!(
            condense(&quoted)
                .unwrap()
                .starts_with("40 rows, 2 columns\na;b\n1;\"two\nlines\"\n")
        );
    }

    /// T3: prose and code are not tables.
    #[test]
    fn detection() {
        assert!(looks_like(&table(5)));
        assert!(!looks_like(
            "Hello, world, again\nThis is prose.\nIt goes on, and on.\nEnd\n"
        ));
        assert!(!looks_like("a\nb\nc\nd\ne\n"));
        assert!(!looks_like("\"\n\"\n\"\n"));
        assert!(!looks_like(&"import { A } from \"a.js\";\n".repeat(9)));
        assert!(!looks_like(&"12:\t\tthis.clear();\n".repeat(9)));
    }
}
