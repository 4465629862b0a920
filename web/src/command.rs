//! Slash commands, read here and never sent to a model.

/// What was typed.
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
    /// Take the last compaction back.
    Undo,
    /// Choose a model.
    Model(String),
    /// Rename the session.
    Title(String),
    /// Save the session as a file.
    Export,
    /// Say what there is.
    Help,
}

/// The names, as [`Command::Help`] lists them.
pub const NAMES: [&str; 7] = [
    "/compact [focus]",
    "/context",
    "/undo",
    "/model name",
    "/title words",
    "/export",
    "/help",
];

/// Reads what was typed. A slash followed by a letter, at the very start, begins a command;
/// `//` begins a message with one slash; paths such as `/etc/hosts` are messages.
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
        "undo" => Input::Command(Command::Undo),
        "model" => Input::Command(Command::Model(argument)),
        "title" | "rename" => Input::Command(Command::Title(argument)),
        "export" => Input::Command(Command::Export),
        "help" => Input::Command(Command::Help),
        _ => Input::Unknown(format!("/{name}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
