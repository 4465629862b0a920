//! Tests that drive a page can lose a race on a loaded machine. Their files run once more at the end, when nothing runs
//! beside them, and the second run counts. A test that fails both times has failed, and the report names every test that
//! needed the second run.

use std::collections::BTreeSet;
use std::process::Command;

use super::totals::Totals;

/// The largest number of files that run again. More failures than that have a cause that no second run takes away.
const FILES: usize = 3;

/// The files of the failed tests in the output of node:test, or nothing if there are none, too many, or if some failure
/// names no file.
pub(super) fn files(text: &str, failed: u32) -> BTreeSet<String> {
    let places = text.lines().filter_map(|line| {
        let place = line.trim().strip_prefix("test at ")?;
        let (file, _) = place.split_once(".test.mjs")?;
        Some(format!("{file}.test.mjs"))
    });
    let all: Vec<String> = places.collect();
    let files: BTreeSet<String> = all.iter().cloned().collect();
    let known = all.len() >= failed as usize;
    if known && files.len() <= FILES {
        files
    } else {
        BTreeSet::new()
    }
}

/// The same command over these test files alone, or nothing if it runs none of them.
pub(super) fn command(command: &Command, files: &BTreeSet<String>) -> Option<Command> {
    let mut again = Command::new(command.get_program());
    let mut some = false;
    for argument in command.get_args() {
        let text = argument.to_string_lossy();
        if text.ends_with(".test.mjs") {
            if !files.contains(text.as_ref()) {
                continue;
            }
            some = true;
        }
        again.arg(argument);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => again.env(name, value),
            None => again.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        again.current_dir(folder);
    }
    some.then_some(again)
}

/// The counts of a step after its failed files ran again: what failed now has failed, everything else of it has passed.
pub(super) fn totals(first: Totals, second: Totals) -> Totals {
    let ran = first.passed + first.failed;
    let failed = second.failed.min(ran);
    Totals {
        passed: ran - failed,
        failed,
        skipped: first.skipped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "✖ failing tests:\n\ntest at tests/e2e/b.test.mjs:19:1\n✖ one (2 ms)\n\ntest at tests/e2e/b.test.mjs:40:1\n✖ two (2 ms)";

    fn names(files: &BTreeSet<String>) -> Vec<&str> {
        files.iter().map(String::as_str).collect()
    }

    #[test]
    fn a_file_runs_again_once_however_many_of_its_tests_failed() {
        assert_eq!(names(&files(SAID, 2)), ["tests/e2e/b.test.mjs"]);
    }

    #[test]
    fn nothing_runs_again_when_a_failure_has_no_place_or_too_much_failed() {
        assert_eq!(
            files(SAID, 3),
            BTreeSet::new(),
            "one of three names no file"
        );
        assert_eq!(files("killed after 30 minutes", 1), BTreeSet::new());
        let places = ["0", "1", "2", "3"].map(|n| format!("test at tests/e2e/{n}.test.mjs:1:1"));
        let many = places.join("\n");
        assert_eq!(files(&many, 4), BTreeSet::new());
    }

    #[test]
    fn the_second_command_differs_only_in_its_files() {
        let mut first = Command::new("node");
        first
            .args(["--test", "tests/e2e/a.test.mjs", "tests/e2e/b.test.mjs"])
            .env("KILLS", "10");
        let again = command(&first, &files(SAID, 2)).expect("b is one of its files");
        let arguments: Vec<_> = again.get_args().collect();
        assert_eq!(arguments, ["--test", "tests/e2e/b.test.mjs"]);
        assert_eq!(again.get_envs().count(), 1);
        first = Command::new("node");
        first.arg("tests/e2e/a.test.mjs");
        assert!(command(&first, &files(SAID, 2)).is_none());
    }

    #[test]
    fn the_second_run_decides() {
        let first = Totals {
            passed: 110,
            failed: 2,
            skipped: 1,
        };
        let check = |second: Totals, passed, failed| {
            let expected = Totals {
                passed,
                failed,
                skipped: 1,
            };
            assert_eq!(totals(first, second), expected);
        };
        check(
            Totals {
                passed: 9,
                failed: 0,
                skipped: 0,
            },
            112,
            0,
        );
        check(
            Totals {
                passed: 8,
                failed: 1,
                skipped: 0,
            },
            111,
            1,
        );
        // a run without a word counts as one failure
        check(Totals::FAILED, 111, 1);
    }
}
