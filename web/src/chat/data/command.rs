//! Slash commands, read here and never sent to a model.

use crate::library::data::export::Format;
use crate::text::T;

/// The user's input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A message.
    Message(String),
    /// A command.
    Command(Command),
    /// Something that looks like a command and is none.
    Unknown(String),
    /// Nothing.
    Empty,
}

/// The commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Compact now, with an eye on something.
    Compact(String),
    /// Show the context.
    Context,
    /// Show the log of the window.
    Log,
    /// Show the session under several policies.
    Replay,
    /// Take the last compaction back.
    Undo,
    /// Preview a compaction.
    Preview(String),
    /// Take a layer off.
    Lift(u32),
    /// Remember the present, perhaps under a name.
    Snapshot(String),
    /// Go back to a snapshot.
    Restore,
    /// Set the goal, or show it.
    Goal(String),
    /// Keep a decision word for word.
    Decide(String),
    /// Keep a line word for word.
    Pin(String),
    /// Choose a model.
    Model(String),
    /// Rename the session.
    Title(String),
    /// Save the session as a file.
    Export(Format),
    /// Do not wait for the summary model.
    Skip,
    /// Go on in a new session.
    Rollover,
    /// Begin a temporary session.
    Temporary,
    /// List the commands.
    Help,
}

/// The names, as [`Command::Help`] lists them.
pub const NAMES: [(&str, T); 19] = [
    ("/compact [focus]", T::HelpCompact),
    ("/preview [focus]", T::HelpPreview),
    ("/undo", T::HelpUndo),
    ("/lift n", T::HelpLift),
    ("/context", T::HelpContext),
    ("/log", T::HelpLog),
    ("/replay", T::HelpReplay),
    ("/snapshot [name]", T::HelpSnapshot),
    ("/restore", T::HelpRestore),
    ("/goal words", T::HelpGoal),
    ("/decide words", T::HelpDecide),
    ("/pin words", T::HelpPin),
    ("/model name", T::HelpModel),
    ("/title words", T::HelpTitle),
    (
        "/export md | jsonl | json | session | log | request | system",
        T::HelpExport,
    ),
    ("/skip", T::HelpSkip),
    ("/rollover", T::HelpRollover),
    ("/temporary", T::HelpTemporary),
    ("/help", T::HelpHelp),
];

/// The commands that begin as `typed` does, `typed` being a slash and letters; none for anything else.
pub fn beginning(typed: &str) -> Vec<(&'static str, T)> {
    let name = |line: &'static str| line.split(' ').next().unwrap_or(line);
    if !typed.starts_with('/') || typed.contains(char::is_whitespace) {
        return Vec::new();
    }
    NAMES
        .into_iter()
        .filter(|(line, _)| name(line).starts_with(typed))
        .collect()
}

/// Parses the input. A slash and a letter at the very start begin a command; `//` begins a message with one slash;
/// paths such as `/etc/hosts` are messages.
pub fn read(text: &str) -> Input {
    let text = text.trim();
    if text.is_empty() {
        return Input::Empty;
    }
    let Some(rest) = text.strip_prefix('/') else {
        return Input::Message(text.to_owned());
    };
    if rest.starts_with('/') {
        return Input::Message(rest.to_owned());
    }
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let argument = argument.trim().to_owned();
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-') {
        return Input::Message(text.to_owned());
    }
    match name {
        "compact" => Input::Command(Command::Compact(argument)),
        "context" => Input::Command(Command::Context),
        "log" => Input::Command(Command::Log),
        "replay" => Input::Command(Command::Replay),
        "undo" => Input::Command(Command::Undo),
        "model" => Input::Command(Command::Model(argument)),
        "title" | "rename" => Input::Command(Command::Title(argument)),
        "export" => Input::Command(Command::Export(match argument.as_str() {
            "json" => Format::Json,
            "jsonl" => Format::Lines,
            "session" => Format::Session,
            "log" => Format::Log,
            "request" => Format::Request,
            "system" => Format::System,
            _ => Format::Markdown,
        })),
        "preview" => Input::Command(Command::Preview(argument)),
        "lift" => match argument.parse() {
            Ok(number) => Input::Command(Command::Lift(number)),
            Err(_) => Input::Unknown(format!("/lift {argument}")),
        },
        "snapshot" => Input::Command(Command::Snapshot(argument)),
        "restore" => Input::Command(Command::Restore),
        "goal" => Input::Command(Command::Goal(argument)),
        "decide" if !argument.is_empty() => Input::Command(Command::Decide(argument)),
        "pin" if !argument.is_empty() => Input::Command(Command::Pin(argument)),
        "skip" => Input::Command(Command::Skip),
        "rollover" => Input::Command(Command::Rollover),
        "temporary" => Input::Command(Command::Temporary),
        "help" => Input::Command(Command::Help),
        _ => Input::Unknown(format!("/{name}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_offered_while_they_are_typed() {
        let names = |typed: &str| -> Vec<&str> { beginning(typed).iter().map(|n| n.0).collect() };
        assert_eq!(names("/co"), ["/compact [focus]", "/context"]);
        assert_eq!(names("/").len(), NAMES.len());
        assert!(names("/compact now").is_empty() && names("co").is_empty() && names("").is_empty());
    }

    /// O5: a command's text is never sent; unknown ones are refused.
    #[test]
    fn commands_are_read_here() {
        let check = |text, expected| assert_eq!(read(text), expected, "{text:?}");
        check(
            "/compact the auth part",
            Input::Command(Command::Compact("the auth part".into())),
        );
        check(
            " /compact ",
            Input::Command(Command::Compact(String::new())),
        );
        check("/undo", Input::Command(Command::Undo));
        check("/skip", Input::Command(Command::Skip));
        check("/temporary", Input::Command(Command::Temporary));
        check("/rollover", Input::Command(Command::Rollover));
        check("/lift 2", Input::Command(Command::Lift(2)));
        check("/lift two", Input::Unknown("/lift two".into()));
        check(
            "/export json",
            Input::Command(Command::Export(Format::Json)),
        );
        check(
            "/export request",
            Input::Command(Command::Export(Format::Request)),
        );
        check(
            "/export jsonl",
            Input::Command(Command::Export(Format::Lines)),
        );
        check("/log", Input::Command(Command::Log));
        check("/replay", Input::Command(Command::Replay));
        check("/export", Input::Command(Command::Export(Format::Markdown)));
        check("/decide", Input::Unknown("/decide".into()));
        check(
            "/decide use SQLite",
            Input::Command(Command::Decide("use SQLite".into())),
        );
        check("/comapct", Input::Unknown("/comapct".into()));
        check(
            "/etc/hosts is empty",
            Input::Message("/etc/hosts is empty".into()),
        );
        check(
            "//compact is a command",
            Input::Message("/compact is a command".into()),
        );
        check("/ what", Input::Message("/ what".into()));
        check("say /help", Input::Message("say /help".into()));
        check("  \n", Input::Empty);
    }
}
