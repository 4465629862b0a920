//! The fixes, by system. They name origins exactly, because `*` would let every page on the web use the models.

/// A system on which a server may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Os {
    /// Linux with systemd.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
    /// A container.
    Docker,
}

/// One step of a fix, or one way to fix a problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// The system of this fix, or `None` for any system.
    pub os: Option<Os>,
    /// The instruction.
    pub text: String,
    /// Commands to type or copy, one line each.
    pub commands: Vec<String>,
}

impl Fix {
    /// A fix for every system.
    pub(super) fn anywhere(text: &str) -> Self {
        Self {
            os: None,
            text: text.to_owned(),
            commands: Vec::new(),
        }
    }

    fn on(os: Os, text: &str) -> Self {
        Self {
            os: Some(os),
            ..Self::anywhere(text)
        }
    }

    /// Adds one more command.
    pub(super) fn with(mut self, command: &str) -> Self {
        self.commands.push(command.to_owned());
        self
    }
}

/// Puts the user's own system first.
fn ordered(os: Os, mut fixes: Vec<Fix>) -> Vec<Fix> {
    palimpsest_text::order::sort_by_key(&mut fixes, |fix| fix.os != Some(os));
    fixes
}

pub(super) fn start_ollama(os: Os) -> Vec<Fix> {
    let fixes = vec![
        Fix::on(Os::Linux, "Start Ollama (or install it first):").with("sudo systemctl start ollama").with("ollama serve   # without systemd"),
        Fix::on(Os::MacOs, "Start the Ollama app (or install it first):").with("open -a Ollama"),
        Fix::on(Os::Windows, "Start Ollama from the Start menu (or install it first)."),
        Fix::on(Os::Docker, "Start the container with its port published:").with("docker run -d -p 127.0.0.1:11434:11434 -v ollama:/root/.ollama --name ollama ollama/ollama"),
    ];
    ordered(os, fixes)
}

pub(super) fn update_ollama(os: Os) -> Vec<Fix> {
    let fixes = vec![
        Fix::on(
            Os::Linux,
            "Run the installer again; it updates Ollama and keeps the models.",
        ),
        Fix::on(
            Os::MacOs,
            "Choose \"Restart to update\" in the menu of the Ollama app.",
        ),
        Fix::on(
            Os::Windows,
            "Choose \"Restart to update\" in the menu of Ollama in the task bar.",
        ),
        Fix::on(
            Os::Docker,
            "Fetch the image again and recreate the container:",
        )
        .with("docker pull ollama/ollama"),
    ];
    ordered(os, fixes)
}

/// Lets pages of `origin` use the server: this origin and no other.
pub(super) fn allow_origin(os: Os, origin: &str) -> Vec<Fix> {
    // An origin contains no character that ends a quoted word. Text with such a character is not an origin and stays
    // out of the command.
    let origin = if origin
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || ":/.-_[]".contains(c))
    {
        origin
    } else {
        "THE-ADDRESS-OF-THIS-PAGE"
    };
    let setting = format!("OLLAMA_ORIGINS={origin}");
    let fixes = vec![
        Fix::on(Os::Linux, "Add the setting to the service, then restart it:")
            .with("sudo systemctl edit ollama")
            .with("[Service]")
            .with(&format!("Environment=\"{setting}\""))
            .with("sudo systemctl restart ollama"),
        Fix::on(Os::MacOs, "Set it, then quit the Ollama app and start it again:").with(&format!("launchctl setenv OLLAMA_ORIGINS \"{origin}\"")),
        Fix::on(Os::Windows, "Set it, then quit Ollama in the task bar and start it again:").with(&format!("setx OLLAMA_ORIGINS \"{origin}\"")),
        Fix::on(Os::Docker, "Start the container with the setting:")
            .with(&format!("docker run -d -e {setting} -p 127.0.0.1:11434:11434 -v ollama:/root/.ollama --name ollama ollama/ollama")),
    ];
    ordered(os, fixes)
}
