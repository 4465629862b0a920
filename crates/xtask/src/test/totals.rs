//! Reads the numbers of passed, failed and skipped tests from a runner's output.

use std::fmt;
use std::ops::Add;

/// Counts of one step or of all.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
    /// Tests that did not run, because a requirement is missing.
    pub(crate) skipped: u32,
}

impl Totals {
    /// A single failure.
    pub(crate) const FAILED: Self = Self {
        passed: 0,
        failed: 1,
        skipped: 0,
    };
}

impl Add for Totals {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

/// The kind of closing lines a step prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(
    dead_code,
    reason = "every kind of runner can be read before its first step"
)]
pub(crate) enum Read {
    /// None: the step itself counts as one test.
    Exit,
    /// `test result: ok. 3 passed; 0 failed; 1 ignored; …` of cargo test and of wasm-bindgen's runner.
    Cargo,
    /// `# pass 3`, `# fail 0` and `# skipped 1`, or `ℹ pass 3`, of node:test.
    Node,
    /// Our own `3 passed, 0 failed`, after which `, 1 skipped` may stand.
    Own,
}

impl Read {
    /// Adds up all closing lines in `text`. A step that failed without a failed test, or that ran no test at all,
    /// counts as one failure, so silence never looks like success.
    pub(crate) fn totals(self, text: &str, success: bool) -> Totals {
        let sum = match self {
            Self::Exit => Totals {
                passed: u32::from(success),
                failed: u32::from(!success),
                skipped: 0,
            },
            Self::Cargo => text
                .lines()
                .filter_map(cargo)
                .fold(Totals::default(), Add::add),
            Self::Node => text
                .lines()
                .filter_map(node)
                .fold(Totals::default(), Add::add),
            Self::Own => text
                .lines()
                .filter_map(own)
                .fold(Totals::default(), Add::add),
        };
        if sum.failed == 0 && (!success || sum.passed == 0) {
            sum + Totals::FAILED
        } else {
            sum
        }
    }
}

/// The largest number of lines that are repeated from a failed step.
const WHY: usize = 80;

impl Read {
    /// The runner's lines about the failed tests, or the last lines of a step without tests.
    pub(crate) fn why(self, text: &str) -> String {
        let lines: Vec<&str> = text.lines().collect();
        let first = match self {
            Self::Cargo => lines.iter().position(|line| *line == "failures:"),
            Self::Node => lines
                .iter()
                .position(|line| line.ends_with("failing tests:")),
            Self::Exit | Self::Own => None,
        };
        let from = first.unwrap_or(lines.len().saturating_sub(WHY / 2));
        let to = lines.len().min(from + WHY);
        lines[from..to].join("\n")
    }
}

fn cargo(line: &str) -> Option<Totals> {
    let (_, counts) = line.split_once("test result: ")?;
    Some(Totals {
        passed: before(counts, " passed")?,
        failed: before(counts, " failed")?,
        // wasm-bindgen's runner prints this number elsewhere in the line, or not at all.
        skipped: before(counts, " ignored").unwrap_or(0),
    })
}

fn node(line: &str) -> Option<Totals> {
    let count = line
        .strip_prefix("# ")
        .or_else(|| line.strip_prefix("ℹ "))?;
    let (word, number) = count.split_once(' ')?;
    let number = number.trim().parse().ok()?;
    let none = Totals::default();
    match word {
        "pass" => Some(Totals {
            passed: number,
            ..none
        }),
        "fail" | "cancelled" => Some(Totals {
            failed: number,
            ..none
        }),
        // A test that is still to be written proves nothing either.
        "skipped" | "todo" => Some(Totals {
            skipped: number,
            ..none
        }),
        _ => None,
    }
}

fn own(line: &str) -> Option<Totals> {
    let (passed, rest) = line.trim().split_once(" passed, ")?;
    let (failed, rest) = rest.split_once(" failed")?;
    // One word with a colon may stand before the number.
    let passed = passed.rsplit(' ').next()?;
    let skipped = rest
        .strip_prefix(", ")
        .and_then(|rest| rest.strip_suffix(" skipped"));
    Some(Totals {
        passed: passed.parse().ok()?,
        failed: failed.parse().ok()?,
        skipped: skipped.map_or(Some(0), |number| number.parse().ok())?,
    })
}

/// The number directly before `word`.
fn before(text: &str, word: &str) -> Option<u32> {
    text.split_once(word)?.0.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(read: Read, text: &str, success: bool, passed: u32, failed: u32) {
        let expected = Totals {
            passed,
            failed,
            skipped: 0,
        };
        assert_eq!(read.totals(text, success), expected, "{text}");
    }

    #[test]
    fn what_is_skipped_is_counted_and_is_not_passed() {
        let skips = |read: Read, text: &str| {
            let Totals {
                passed,
                failed,
                skipped,
            } = read.totals(text, true);
            (passed, failed, skipped)
        };
        let cargo = "test result: ok. 2 passed; 0 failed; 3 ignored; 0 measured; 0 filtered out\n\
                     test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out";
        assert_eq!(skips(Read::Cargo, cargo), (3, 0, 4));
        let node =
            "ℹ tests 9\nℹ suites 0\nℹ pass 5\nℹ fail 0\nℹ cancelled 0\nℹ skipped 3\nℹ todo 1";
        assert_eq!(skips(Read::Node, node), (5, 0, 4));
        assert_eq!(skips(Read::Own, "9 passed, 0 failed, 2 skipped"), (9, 0, 2));
        let said = Read::Cargo.totals(cargo, true).to_string();
        assert_eq!(said, "3 passed, 0 failed, 4 skipped");
        assert_eq!(skips(Read::Own, &said), (3, 0, 4));
        let nothing_ran = "test result: ok. 0 passed; 0 failed; 3 ignored";
        assert_eq!(skips(Read::Cargo, nothing_ran), (0, 1, 3));
    }

    #[test]
    fn cargos_lines_are_summed_over_binaries() {
        let text = "running 2 tests\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\
                    test result: FAILED. 5 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";
        check(Read::Cargo, text, false, 7, 1);
    }

    #[test]
    fn a_failure_is_found_among_all_that_was_said() {
        let noise = "test a ... ok\n".repeat(500);
        let said = format!("{noise}\nfailures:\n\n---- b stdout ----\n3 is not 4\n{noise}");
        let why = Read::Cargo.why(&said);
        assert!(
            why.starts_with("failures:") && why.contains("3 is not 4"),
            "{why}"
        );
        assert_eq!(why.lines().count(), WHY);
        let said = format!("{noise}✖ failing tests:\n✖ c (2 ms)\n  timeout");
        assert_eq!(
            Read::Node.why(&said),
            "✖ failing tests:\n✖ c (2 ms)\n  timeout"
        );
        assert_eq!(Read::Exit.why("one\ntwo"), "one\ntwo");
    }

    #[test]
    fn nodes_lines_are_read_in_both_reporters() {
        check(
            Read::Node,
            "# tests 4\n# pass 3\n# fail 1\n# cancelled 0",
            false,
            3,
            1,
        );
        check(Read::Node, "ℹ pass 3\nℹ fail 0", true, 3, 0);
    }

    #[test]
    fn our_own_line_may_have_a_word_before_it() {
        check(
            Read::Own,
            "journeys: 12 passed, 0 failed\nfirefox: 2 passed, 1 failed",
            false,
            14,
            1,
        );
        check(Read::Own, "it said 3 passed, then stopped", true, 0, 1);
    }

    #[test]
    fn silence_is_a_failure() {
        check(Read::Cargo, "error: could not compile", false, 0, 1);
        check(
            Read::Cargo,
            "test result: ok. 0 passed; 0 failed",
            true,
            0,
            1,
        );
        check(Read::Node, "", true, 0, 1);
        check(
            Read::Cargo,
            "test result: ok. 2 passed; 0 failed",
            false,
            2,
            1,
        );
    }

    #[test]
    fn a_step_without_counts_is_one() {
        check(Read::Exit, "", true, 1, 0);
        check(Read::Exit, "3 passed, 0 failed", false, 0, 1);
    }
}
