//! Starts other programs: quietly, watched with a time limit, or in place of this process.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Measures the wall time since its creation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(
        clippy::disallowed_methods,
        reason = "a build tool tells people how long a step took"
    )]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    pub(crate) fn seconds(self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

/// The result of a watched program.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) success: bool,
    /// Standard output and standard error in the order of arrival, without colour codes.
    pub(crate) text: String,
}

/// The command as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let mut line = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        let _ = write!(line, " {}", argument.to_string_lossy());
    }
    if line.chars().count() > 160 {
        line = line.chars().take(159).collect();
        line.push('…');
    }
    line
}

/// Returns the standard output of a program that must succeed.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let done = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start: {}", shown(command)))?;
    if !done.status.success() {
        bail!(
            "{} failed:\n{}",
            shown(command),
            tail(&String::from_utf8_lossy(&done.stderr), 30)
        );
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Returns `true` if a program starts and succeeds. Its output is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs a program and shows its output only if it fails.
pub(crate) fn quiet(command: &mut Command) -> Result<()> {
    let done = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start: {}", shown(command)))?;
    if done.status.success() {
        return Ok(());
    }
    let mut text = String::from_utf8_lossy(&done.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&done.stderr));
    bail!("{} failed:\n{}", shown(command), tail(&text, 40));
}

/// Runs a program that shows its own output and must succeed.
pub(crate) fn show(command: &mut Command) -> Result<()> {
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("cannot start: {}", shown(command)))?;
    if !status.success() {
        bail!("{} failed ({status})", shown(command));
    }
    Ok(())
}

/// Says if a watched program's output is shown while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Echo {
    /// Show it with this name before each line, because other programs write at the same time.
    As(&'static str),
    Off,
}

impl Echo {
    fn line(self, line: &str) {
        if let Self::As(name) = self {
            // A closed standard output must not end the run before its totals are known.
            let _ = writeln!(std::io::stdout(), "{name:<11} {line}");
        }
    }
}

/// Runs a program, keeps its output, and shows it line by line if `echo` says so. After `limit` it ends the program
/// with all of its children and counts it as failed.
pub(crate) fn watch(command: &mut Command, limit: Duration, echo: Echo) -> Result<Finished> {
    let started = Stopwatch::start();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start: {}", shown(command)))?;
    let (sender, lines) = mpsc::channel();
    for pipe in [
        child.stdout.take().map(boxed),
        child.stderr.take().map(boxed),
    ]
    .into_iter()
    .flatten()
    {
        let sender = sender.clone();
        thread::spawn(move || read_lines(pipe, &sender));
    }
    drop(sender);

    let mut text = String::new();
    loop {
        match lines.recv_timeout(limit.saturating_sub(started.elapsed())) {
            Ok(line) => {
                echo.line(&line);
                text.push_str(&plain(&line));
                text.push('\n');
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                end(&mut child);
                let line = format!("stopped after {} s: {}", limit.as_secs(), shown(command));
                echo.line(&line);
                text.push_str(&line);
                return Ok(Finished {
                    success: false,
                    text,
                });
            }
        }
    }
    Ok(Finished {
        success: child.wait()?.success(),
        text,
    })
}

fn boxed(pipe: impl Read + Send + 'static) -> Box<dyn Read + Send> {
    Box::new(pipe)
}

fn read_lines(pipe: Box<dyn Read + Send>, sender: &mpsc::Sender<String>) {
    let mut reader = BufReader::new(pipe);
    let mut line = Vec::new();
    while reader
        .read_until(b'\n', &mut line)
        .is_ok_and(|length| length > 0)
    {
        let text = String::from_utf8_lossy(&line);
        if sender
            .send(text.trim_end_matches(['\n', '\r']).to_owned())
            .is_err()
        {
            return;
        }
        line.clear();
    }
}

/// Ends a program with all of its children. They stay in this process group, so that Ctrl-C reaches them; therefore
/// this looks up the family instead of signalling a group.
pub(crate) fn end(child: &mut Child) {
    if cfg!(unix)
        && let Ok(table) = output(Command::new("ps").args(["-A", "-o", "pid=,ppid="]))
    {
        for pid in descendants(child.id(), &table).into_iter().rev() {
            succeeds(Command::new("kill").args(["-KILL", &pid.to_string()]));
        }
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// All processes that `root` started, directly or not, parents first, from lines of `pid ppid`.
fn descendants(root: u32, table: &str) -> Vec<u32> {
    let pairs: Vec<(u32, u32)> = table
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_whitespace().map(str::parse);
            Some((fields.next()?.ok()?, fields.next()?.ok()?))
        })
        .collect();
    let mut family = vec![root];
    let mut next = 0;
    while let Some(parent) = family.get(next).copied() {
        family.extend(
            pairs
                .iter()
                .filter(|(_, of)| *of == parent)
                .map(|(pid, _)| *pid),
        );
        next += 1;
    }
    family.remove(0);
    family
}

/// The last `count` lines.
pub(crate) fn tail(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// A line without terminal escapes.
fn plain(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        if char == '\u{1b}' {
            // A control sequence ends with its first letter.
            chars.by_ref().find(char::is_ascii_alphabetic);
        } else {
            kept.push(char);
        }
    }
    kept
}

/// A file's name for messages: relative to the checkout if possible.
pub(crate) fn short(path: &Path, root: &Path) -> String {
    path.strip_prefix(root)
        .unwrap_or(path)
        .display()
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_through_generations() {
        let table = "  1 0\n 10 1\n 11 10\n 12 11\n 13 1\n 14 10\n";
        assert_eq!(descendants(10, table), [11, 14, 12]);
    }

    #[test]
    fn colour_codes_are_dropped() {
        assert_eq!(
            plain("\u{1b}[32mtest result\u{1b}[0m: ok. 3 passed"),
            "test result: ok. 3 passed"
        );
    }

    #[test]
    fn a_program_that_hangs_is_ended_with_its_children() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo begun; sleep 60 & wait"]);
        let finished = watch(&mut command, Duration::from_millis(300), Echo::Off).unwrap();
        assert!(!finished.success);
        assert!(
            finished.text.starts_with("begun\nstopped after"),
            "{}",
            finished.text
        );
    }
}
