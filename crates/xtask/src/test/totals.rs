//! How many tests passed and failed, read from what a runner printed.

use std::ops::Add;

/// Counts of one step or of all.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
}

impl Totals {
    /// One thing that did not work.
    pub(crate) const FAILED: Self = Self {
        passed: 0,
        failed: 1,
    };
}

impl Add for Totals {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
        }
    }
}

/// The kind of closing lines a step prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(
    dead_code,
    reason = "every kind of runner can be read before its first step"
)]
pub(crate) enum Read {
    /// None: the step itself counts as one.
    Exit,
    /// `test result: ok. 3 passed; 0 failed; …` of cargo test and of wasm-bindgen's runner.
    Cargo,
    /// `# pass 3` and `# fail 0`, or `ℹ pass 3`, of node:test.
    Node,
    /// Our own `3 passed, 0 failed`.
    Own,
}

impl Read {
    /// The sum over all closing lines in `text`. A step that failed without a failed test, or that ran no test
    /// at all, counts as one failure: silence never looks like success.
    pub(crate) fn totals(self, text: &str, success: bool) -> Totals {
        let sum = match self {
            Self::Exit => Totals {
                passed: u32::from(success),
                failed: u32::from(!success),
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

/// The most lines that are repeated of a failed step.
const WHY: usize = 80;

impl Read {
    /// What a runner said of the tests that failed; of a step without tests its last lines.
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
    })
}

fn node(line: &str) -> Option<Totals> {
    let count = line
        .strip_prefix("# ")
        .or_else(|| line.strip_prefix("ℹ "))?;
    if let Some(passed) = count.strip_prefix("pass ") {
        Some(Totals {
            passed: passed.trim().parse().ok()?,
            failed: 0,
        })
    } else {
        let failed = count
            .strip_prefix("fail ")
            .or_else(|| count.strip_prefix("cancelled "))?;
        Some(Totals {
            passed: 0,
            failed: failed.trim().parse().ok()?,
        })
    }
}

fn own(line: &str) -> Option<Totals> {
    let (passed, failed) = line.trim().split_once(" passed, ")?;
    let failed = failed.split_once(" failed")?.0;
    // one word with a colon may stand before it
    let passed = passed.rsplit(' ').next()?;
    Some(Totals {
        passed: passed.parse().ok()?,
        failed: failed.parse().ok()?,
    })
}

/// The number that ends right before `word`.
fn before(text: &str, word: &str) -> Option<u32> {
    text.split_once(word)?.0.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(read: Read, text: &str, success: bool, passed: u32, failed: u32) {
        assert_eq!(
            read.totals(text, success),
            Totals { passed, failed },
            "{text}"
        );
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
