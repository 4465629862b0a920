//! `cargo xtask test`: named steps, two at a time where they do not disturb each other, all run even when one fails, totals
//! at the end.

mod again;
mod schedule;
mod totals;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::Result;

use crate::build_app::{self, files};
use crate::module::Quality;
use crate::pack;
use crate::places::Places;
use crate::process::{self, Echo, Stopwatch};
use crate::setup::{self, Machine, Part};
use crate::size;
use totals::{Read, Totals};

/// Which steps to run.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    /// Also what is too slow for every run.
    pub(crate) all: bool,
    /// Also the extension in a real VS Code.
    pub(crate) vscode: bool,
    /// If not empty: only the steps of these names, whenever they usually run.
    pub(crate) only: Vec<String>,
}

impl Choice {
    fn takes(&self, step: &Step) -> bool {
        if !self.only.is_empty() {
            return self.only.iter().any(|name| step.is_called(name));
        }
        match step.when {
            When::Always => true,
            When::All => self.all,
            When::VsCode => self.vscode,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    All,
    VsCode,
}

/// Steps of different lanes run side by side; steps of one lane run one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lane {
    /// Compiles. It leaves the processor to [`Lane::Drive`], whose tests wait for pages and servers.
    Build,
    /// Drives browsers, servers and package managers. Two such steps run side by side when nothing is left to compile.
    Drive,
    /// Runs with no other step at its side: it uses all cores, or compares times.
    Alone,
}

/// What a step does.
enum Does {
    /// Starts programs, one after the other, until one fails.
    Run(fn(&Machine) -> Vec<Command>),
    /// Calls another command of ours.
    Call(fn(&Machine) -> Result<()>),
}

struct Step {
    name: &'static str,
    when: When,
    lane: Lane,
    /// The steps whose results it uses. It starts when they have ended, however they ended.
    after: &'static [&'static str],
    /// How its output tells what passed.
    read: Read,
    /// Longer than this and it is ended, so that a hanging browser cannot hold CI.
    minutes: u64,
    does: Does,
}

impl Step {
    /// Returns `true` for its name, and for what stands before a number at the end of it: `journeys` means both halves.
    fn is_called(&self, name: &str) -> bool {
        let half = self.name.strip_prefix(name);
        half.is_some_and(|rest| rest.is_empty() || matches!(rest, "-1" | "-2"))
    }
}

/// Crates that only make sense in a JavaScript host: linted and tested for wasm.
const FOR_JAVASCRIPT: [(&str, &str); 3] = [
    ("palimpsest-browser", "crates/palimpsest-browser"),
    ("palimpsest-npm", "crates/palimpsest-npm"),
    ("palimpsest-web", "web"),
];

/// All steps. Each lane takes the first of its steps that can start, so what others wait for comes first. A new step is a
/// line here.
#[rustfmt::skip]
const STEPS: &[Step] = &[
    Step { name: "app",         when: When::Always, lane: Lane::Build, after: &[], read: Read::Exit,  minutes: 40, does: Does::Call(|m| build_app::build(m, Quality::Release, &[]).map(drop)) },
    Step { name: "package",     when: When::Always, lane: Lane::Build, after: &[], read: Read::Exit,  minutes: 40, does: Does::Call(|m| pack::pack(m, Quality::Release)) },
    Step { name: "format",      when: When::Always, lane: Lane::Build, after: &[], read: Read::Exit,  minutes: 5,  does: Does::Run(|m| vec![cargo(m, "fmt --all -- --check -l")]) },
    Step { name: "clippy",      when: When::Always, lane: Lane::Build, after: &[], read: Read::Exit,  minutes: 30, does: Does::Run(|m| vec![host(m, "clippy --all-targets", " -- -D warnings")]) },
    Step { name: "clippy-wasm", when: When::Always, lane: Lane::Build, after: &[], read: Read::Exit,  minutes: 30, does: Does::Run(|m| vec![wasm(m, "clippy --all-targets", " -- -D warnings")]) },
    Step { name: "host-build",  when: When::Always, lane: Lane::Build, after: &[], read: Read::Exit,  minutes: 40, does: Does::Run(|m| vec![host(m, "test --no-run", "")]) },
    Step { name: "host",        when: When::Always, lane: Lane::Alone, after: &[], read: Read::Cargo, minutes: 40, does: Does::Run(|m| vec![host(m, "test --no-fail-fast", recordings(m))]) },
    Step { name: "wasm",        when: When::Always, lane: Lane::Build, after: &[], read: Read::Cargo, minutes: 40, does: Does::Run(|m| vec![cargo(m, "test --target wasm32-unknown-unknown --package palimpsest-browser --package palimpsest-tokens --lib")]) },
    Step { name: "oracle",      when: When::All,    lane: Lane::Alone, after: &[], read: Read::Cargo, minutes: 60, does: Does::Run(|m| vec![cargo(m, &format!("test --release --manifest-path tests/oracle/Cargo.toml{}", recordings(m)))]) },
    Step { name: "properties",  when: When::All,    lane: Lane::Alone, after: &[], read: Read::Cargo, minutes: 60, does: Does::Run(properties) },
    Step { name: "ollama",      when: When::Always, lane: Lane::Drive, after: &[], read: Read::Node,  minutes: 10, does: Does::Run(|m| vec![node_tests(m, "tests/ollama", |file| file != "llama.test.mjs")]) },
    Step { name: "journeys-1",  when: When::Always, lane: Lane::Drive, after: &["app"], read: Read::Node,  minutes: 30, does: Does::Run(|m| vec![node_tests(m, "tests/e2e", |file| is_journey(file) && file < MIDDLE)]) },
    Step { name: "journeys-2",  when: When::Always, lane: Lane::Drive, after: &["app"], read: Read::Node,  minutes: 30, does: Does::Run(|m| vec![node_tests(m, "tests/e2e", |file| is_journey(file) && file >= MIDDLE)]) },
    Step { name: "packaging",   when: When::Always, lane: Lane::Drive, after: &["package"], read: Read::Node,  minutes: 30, does: Does::Run(|m| vec![node_tests(m, "tests/packaging", |_| true)]) },
    Step { name: "forget",      when: When::Always, lane: Lane::Drive, after: &["app", "package"], read: Read::Node,  minutes: 30, does: Does::Run(|m| vec![node_tests(m, "tests/forget", |_| true)]) },
    Step { name: "size",        when: When::Always, lane: Lane::Drive, after: &["app", "package"], read: Read::Exit,  minutes: 5,  does: Does::Call(size::report) },
    Step { name: "durability",  when: When::Always, lane: Lane::Drive, after: &["package"], read: Read::Node,  minutes: 20, does: Does::Run(|m| vec![with(node_tests(m, "tests/durability", |_| true), &[("KILLS", "10"), ("POWER_LOSSES", "1"), ("FILE_ROUNDS", "20")])]) },
    Step { name: "matrix",      when: When::All,    lane: Lane::Drive, after: &["package"], read: Read::Node,  minutes: 40, does: Does::Run(|m| vec![node_tests(m, "tests/matrix", |_| true)]) },
    Step { name: "stores",      when: When::All,    lane: Lane::Drive, after: &["package"], read: Read::Node,  minutes: 60, does: Does::Run(|m| vec![node_tests(m, "tests/stores", |_| true)]) },
    Step { name: "hosts",       when: When::All,    lane: Lane::Drive, after: &["package"], read: Read::Node,  minutes: 40, does: Does::Run(|m| vec![node_tests(m, "tests/hosts", |_| true)]) },
    Step { name: "axe",         when: When::All,    lane: Lane::Drive, after: &["app"], read: Read::Node,  minutes: 60, does: Does::Run(|m| vec![node_tests(m, "tests/e2e", |file| file == "axe.test.mjs")]) },
    Step { name: "lighthouse",  when: When::All,    lane: Lane::Drive, after: &["app"], read: Read::Node,  minutes: 30, does: Does::Run(|m| vec![node_tests(m, "tests/lighthouse", |_| true)]) },
    Step { name: "kills",       when: When::All,    lane: Lane::Drive, after: &["package"], read: Read::Node,  minutes: 60, does: Does::Run(|m| vec![node_tests(m, "tests/durability", |file| ["durability.test.mjs", "files.test.mjs"].contains(&file))]) },
    Step { name: "vscode",      when: When::VsCode, lane: Lane::Drive, after: &["package"], read: Read::Node,  minutes: 20, does: Does::Run(|m| vec![node_tests(m, "tests/vscode", |_| true)]) },
    Step { name: "llama",       when: When::All,    lane: Lane::Drive, after: &["app"], read: Read::Node,  minutes: 30, does: Does::Run(|m| vec![node_tests(m, "tests/ollama", |file| file == "llama.test.mjs"), node_tests(m, "tests/e2e", |file| LLAMA.contains(&file))]) },
];

fn line(mut command: Command, arguments: &str) -> Command {
    command.args(arguments.split_whitespace());
    command
}

fn cargo(machine: &Machine, arguments: &str) -> Command {
    line(machine.cargo(), arguments)
}

/// The journeys that talk with a real model.
const LLAMA: [&str; 2] = ["llama.test.mjs", "resident-llama.test.mjs"];

/// The first letter of the second half of the journeys. Both take as long.
const MIDDLE: &str = "i";

/// Returns `true` for the journeys of every run: those that need no real model, and no minutes for each theme.
fn is_journey(file: &str) -> bool {
    file != "axe.test.mjs" && !LLAMA.contains(&file)
}

/// Node's test runner over the files `*.test.mjs` of a folder that are wanted.
fn node_tests(machine: &Machine, folder: &str, wanted: fn(&str) -> bool) -> Command {
    let mut command = line(machine.node(), "--test --test-reporter=spec");
    let files = files(&machine.places.root.join(folder)).unwrap_or_default();
    let tests = files
        .into_iter()
        .filter(|file| !file.contains("node_modules") && file.ends_with(".test.mjs"));
    command.args(
        tests
            .filter(|file| wanted(file))
            .map(|file| format!("{folder}/{file}")),
    );
    with(command, &[("PALIMPSEST_LLAMA", "1")])
}

fn with(mut command: Command, variables: &[(&str, &str)]) -> Command {
    command.envs(variables.iter().copied());
    command
}

/// The invariants over a million random conversations, which print what they held; then every other property with
/// fifty thousand cases instead of a few hundred.
fn properties(machine: &Machine) -> Vec<Command> {
    let invariants = cargo(
        machine,
        "test --release --package palimpsest-core --test behaviour invariants:: -- --nocapture",
    );
    let packages = "--package palimpsest-tokens --package palimpsest-text --package palimpsest-dialect --package palimpsest-core --package palimpsest-engine --package palimpsest-ollama";
    let others = cargo(
        machine,
        &format!(
            "test --release --lib --tests {packages}{}",
            recordings(machine)
        ),
    );
    vec![
        with(invariants, &[("INVARIANT_CASES", "1000000")]),
        with(others, &[("PROPTEST_CASES", "50000")]),
    ]
}

/// Tests that need the folder of real transcripts and recorded answers beside the repository are ignored unless they
/// are asked for: without the folder they count as skipped.
fn recordings(machine: &Machine) -> &'static str {
    if exists(machine, "../shared/data") {
        // What needs a model server has a step of its own, which starts one. What only prints figures is a bench.
        " -- --include-ignored --skip with_llama_ --skip figures::of_ --skip table_of_"
    } else {
        ""
    }
}

/// Cargo over every crate that runs on the host.
fn host(machine: &Machine, before: &str, after: &str) -> Command {
    cargo(
        machine,
        &format!("{before} --workspace --exclude wasm-bindgen-bins{after}"),
    )
}

/// Cargo over the crates that run in a JavaScript host.
fn wasm(machine: &Machine, before: &str, after: &str) -> Command {
    let mut packages = String::new();
    for (name, folder) in FOR_JAVASCRIPT {
        if exists(machine, &format!("{folder}/Cargo.toml")) {
            packages.push_str(" --package ");
            packages.push_str(name);
        }
    }
    cargo(
        machine,
        &format!("{before} --target wasm32-unknown-unknown{packages}{after}"),
    )
}

fn exists(machine: &Machine, path: &str) -> bool {
    machine.places.root.join(Path::new(path)).exists()
}

/// Prints the steps' names.
pub(crate) fn list() {
    for step in STEPS {
        let when = match step.when {
            When::Always => "",
            When::All => "  (--all)",
            When::VsCode => "  (--vscode)",
        };
        println!("{}{when}", step.name);
    }
}

/// One step's outcome.
struct Row {
    name: &'static str,
    totals: Totals,
    seconds: f64,
    /// If something failed: what its runner said of it.
    why: String,
    /// The test files that may run once more, because all that failed is in them.
    again: BTreeSet<String>,
}

/// Sets up, runs the chosen steps and prints the table. The last line is `N passed, N failed`,
/// after which `, N skipped` stands if tests did not run.
pub(crate) fn run(places: &Places, choice: &Choice) -> ExitCode {
    let watch = Stopwatch::start();
    let mut rows = Vec::new();
    let mut parts = Part::USUAL.to_vec();
    if choice.all
        || choice.only.iter().any(|name| {
            STEPS
                .iter()
                .any(|step| step.is_called(name) && step.when == When::All)
        })
    {
        parts.extend([Part::Model, Part::Oracles, Part::Lighthouse]);
    }
    if choice.vscode || choice.only.iter().any(|name| name == "vscode") {
        parts.push(Part::VsCode);
    }
    let chosen: Vec<&Step> = STEPS.iter().filter(|step| choice.takes(step)).collect();
    for unknown in choice
        .only
        .iter()
        .filter(|name| !STEPS.iter().any(|step| step.is_called(name)))
    {
        eprintln!("no step {unknown:?}; `cargo xtask test --list` names them");
        rows.push(Row {
            name: "unknown step",
            totals: Totals::FAILED,
            seconds: 0.0,
            why: String::new(),
            again: BTreeSet::new(),
        });
    }
    match setup::prepare(places, &parts) {
        Ok(machine) => {
            let ran = schedule::run(&chosen, |step| run_step(&machine, step));
            rows.extend(ran.into_iter().map(|row| run_again(&machine, row)));
        }
        Err(error) => {
            eprintln!("{error:#}");
            rows.push(Row {
                name: "setup",
                totals: Totals::FAILED,
                seconds: watch.seconds(),
                why: format!("{error:#}"),
                again: BTreeSet::new(),
            });
        }
    }
    summarise(&rows, watch)
}

/// An error and its causes, as a line.
fn why(error: &anyhow::Error) -> String {
    format!("{error:#}\n")
}

fn run_step(machine: &Machine, step: &Step) -> Row {
    let watch = Stopwatch::start();
    println!("\n── {} ──", step.name);
    let yielding;
    let machine = if step.lane == Lane::Build {
        yielding = machine.yielding();
        &yielding
    } else {
        machine
    };
    let (text, success) = match step.does {
        Does::Run(commands) => run_commands(step, commands(machine)),
        Does::Call(function) => match function(machine) {
            Ok(()) => (String::new(), true),
            Err(error) => {
                println!("{error:#}");
                (why(&error), false)
            }
        },
    };
    let totals = step.read.totals(&text, success);
    let seconds = watch.seconds();
    let word = if totals.failed == 0 { "ok" } else { "FAILED" };
    println!("── {}: {word}, {}, {seconds:.1} s ──", step.name, totals);
    let mut why = String::new();
    let mut again = BTreeSet::new();
    if totals.failed > 0 {
        why = step.read.why(&text);
        if step.read == Read::Node && step.lane == Lane::Drive {
            again = again::files(&text, totals.failed);
        }
    }
    Row {
        name: step.name,
        totals,
        seconds,
        why,
        again,
    }
}

/// Runs programs until one fails. Returns everything that they printed and `true` if all succeeded.
fn run_commands(step: &Step, commands: Vec<Command>) -> (String, bool) {
    let mut text = String::new();
    for mut command in commands {
        println!("$ {}", process::shown(&command));
        let limit = Duration::from_mins(step.minutes);
        match process::watch(&mut command, limit, Echo::As(step.name)) {
            Ok(finished) => {
                text.push_str(&finished.text);
                if !finished.success {
                    return (text, false);
                }
            }
            Err(error) => {
                println!("{error:#}");
                text.push_str(&why(&error));
                return (text, false);
            }
        }
    }
    (text, true)
}

/// Runs the files of a step's failed tests once more, now that nothing runs beside them.
fn run_again(machine: &Machine, row: Row) -> Row {
    let step = STEPS.iter().find(|step| step.name == row.name);
    let Some(Step {
        does: Does::Run(commands),
        ..
    }) = step
    else {
        return row;
    };
    let commands: Vec<Command> = commands(machine)
        .iter()
        .filter_map(|command| again::command(command, &row.again))
        .collect();
    let Some(step) = step.filter(|_| !commands.is_empty()) else {
        return row;
    };
    let watch = Stopwatch::start();
    println!(
        "\n── {} again: failed with other steps beside it ──\n{}",
        row.name, row.why
    );
    let (text, success) = run_commands(step, commands);
    let second = step.read.totals(&text, success);
    println!(
        "── {} again: {second}, {:.1} s ──",
        row.name,
        watch.seconds()
    );
    Row {
        totals: again::totals(row.totals, second),
        seconds: row.seconds + watch.seconds(),
        why: if second.failed == 0 {
            row.why
        } else {
            step.read.why(&text)
        },
        ..row
    }
}

fn summarise(rows: &[Row], watch: Stopwatch) -> ExitCode {
    // said again here: nobody should have to search hours of output for it
    for row in rows.iter().filter(|row| !row.why.is_empty()) {
        let what = if row.totals.failed == 0 {
            "passed only when it ran alone; with other steps beside it this failed"
        } else {
            "failed, because"
        };
        println!("\n── {} {what} ──\n{}", row.name, row.why);
    }
    println!(
        "\n{:<20}{:>9}{:>9}{:>9}{:>10}",
        "step", "passed", "failed", "skipped", "seconds"
    );
    let mut sum = Totals::default();
    for row in rows {
        let mark = if row.totals.failed == 0 { "" } else { "  ←" };
        println!(
            "{:<20}{:>9}{:>9}{:>9}{:>10.1}{mark}",
            row.name, row.totals.passed, row.totals.failed, row.totals.skipped, row.seconds
        );
        sum = sum + row.totals;
    }
    println!(
        "{:<20}{:>9}{:>9}{:>9}{:>10.1}\n",
        "all",
        sum.passed,
        sum.failed,
        sum.skipped,
        watch.seconds()
    );
    println!("{sum}");
    if sum.failed == 0 && sum.passed > 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
