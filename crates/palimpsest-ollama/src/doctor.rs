//! Finds out why a page cannot use a model server, and says how to fix it.
//!
//! A failed `fetch` tells a page nothing but "failed", so the doctor deduces the cause from a series of probes. It does
//! no I/O: it names the next [`Probe`], the caller reports the observation, and at the end there are [`Finding`]s, each
//! a sentence with its fixes.

mod address;
mod fix;
mod probe;

use std::collections::VecDeque;

use palimpsest_core::message::Role;
use palimpsest_core::request::{ChatRequest, ModelError, Purpose, RequestMessage, RequestOptions};

use crate::catalog::{self, InstalledModel, same_model};
use crate::decode::Decoder;
use crate::dialect::Dialect;
use crate::encode::encode;
use crate::error::Refusal;
use crate::http::HttpRequest;
use crate::limits::Limits;
use address::{Address, Scheme};

pub use fix::{Fix, Os};
pub use probe::{Observation, Permission, Probe};

/// Versions before this one have a published hole that leaks memory (CVE-2026-7482).
const OLDEST_SAFE: [u32; 3] = [0, 17, 1];

/// The subject of an examination.
#[derive(Debug, Clone)]
pub struct Case {
    /// The server's address, such as `http://localhost:11434`.
    pub server: String,
    /// Its protocol.
    pub dialect: Dialect,
    /// The page's origin as `location.origin` gives it, such as `https://chat.example`; `null` for a file. `None`
    /// outside of a browser, where servers do not check origins.
    pub origin: Option<String>,
    /// The system on which the server probably runs. Its fixes come first.
    pub os: Os,
    /// The model the user has chosen.
    pub model: Option<String>,
    /// The window the user has chosen, in tokens.
    pub window: Option<u32>,
    /// A question to the model at the end, if there is to be one. It loads the model, which may take a while.
    pub trial: Option<Trial>,
}

/// The smallest question to a model, and the reader of its answer. A program that only looks at servers names no trial, so
/// what writes questions and reads answers is not in it.
#[derive(Debug, Clone, Copy)]
pub struct Trial {
    question: fn(Dialect, &ChatRequest) -> HttpRequest,
    answer: fn(Dialect, &str, &[u8]) -> Result<(), ModelError>,
}

impl Trial {
    /// Asks the model for one token.
    pub const ONE_TOKEN: Self = Self {
        question: encode,
        answer: one_token_read,
    };
}

/// Reads the beginning of an answer to [`Trial::ONE_TOKEN`].
fn one_token_read(dialect: Dialect, model: &str, beginning: &[u8]) -> Result<(), ModelError> {
    let mut decoder = Decoder::new(dialect, Limits::for_answer(1), model);
    decoder.push(beginning).map(|_| ())
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The doctor checked it and found no problem.
    Good,
    /// Works, but not as well as it could.
    Warning,
    /// Does not work.
    Error,
}

/// One result, to be shown as a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// A stable name.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The finding as a sentence for a person.
    pub sentence: String,
    /// The values in the sentence, in its order and not formatted, for hosts that show sentences in another language.
    pub args: Vec<String>,
    /// The fixes, those for the most likely system first. Empty if the user does not have to do anything.
    pub fixes: Vec<Fix>,
}

/// An examination. Call [`Doctor::next`], do the probe, report the result to [`Doctor::observe`], and repeat until
/// `next` returns `None`.
#[derive(Debug)]
pub struct Doctor {
    case: Case,
    address: Option<Address>,
    todo: VecDeque<Probe>,
    findings: Vec<Finding>,
    permission: Permission,
    /// An opaque answer arrived, so some server listens there.
    up: bool,
    /// The loaded window was compared with the chosen one.
    window_seen: bool,
}

impl Doctor {
    /// Starts with the findings that need no probe.
    pub fn new(case: Case) -> Self {
        let address = Address::parse(&case.server);
        let mut doctor = Self {
            case,
            address,
            todo: VecDeque::new(),
            findings: Vec::new(),
            permission: Permission::Unknown,
            up: false,
            window_seen: false,
        };
        doctor.begin();
        doctor
    }

    /// The next probe, or `None` at the end.
    pub fn next(&self) -> Option<&Probe> {
        self.todo.front()
    }

    /// Takes the result of the probe that [`Doctor::next`] named.
    pub fn observe(&mut self, seen: Observation<'_>) {
        let Some(probe) = self.todo.pop_front() else {
            return;
        };
        match (probe, seen) {
            (Probe::Permission, Observation::Permission(permission)) => self.permission(permission),
            (Probe::Permission, _) => {}
            (Probe::Opaque { .. }, Observation::Failed) => self.unreachable(),
            (Probe::Opaque { .. }, _) => self.up = true,
            (Probe::Ask { step, .. }, seen) => self.answered(step, seen),
        }
    }

    /// The findings so far, in order.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns `true` if no finding so far prevents the use of the server.
    pub fn is_well(&self) -> bool {
        self.findings.iter().all(|f| f.severity < Severity::Error)
    }

    fn begin(&mut self) {
        let Some(address) = &self.address else {
            let sentence = format!("\"{}\" is not an address of a server.", self.case.server);
            self.error(
                "bad_address",
                sentence,
                vec![Fix::anywhere("Write it like this:").with("http://localhost:11434")],
            );
            return self.with([self.case.server.clone()]);
        };
        let local_server = address.is_loopback();
        if let Some(origin) = &self.case.origin {
            let page = Address::parse(origin);
            let secure_page = page.as_ref().is_some_and(|p| p.scheme == Scheme::Https);
            if secure_page && address.scheme == Scheme::Http && !local_server {
                let sentence = format!(
                    "This page is loaded over https, so the browser does not let it talk to {} over plain http.",
                    self.case.server
                );
                let fixes = vec![
                    Fix::anywhere(
                        "Open palimpsest over http from a machine in the same network, or",
                    ),
                    Fix::anywhere(
                        "put the server behind https, or use the server on this machine:",
                    )
                    .with("http://localhost:11434"),
                ];
                self.error("mixed_content", sentence, fixes);
                return self.with([self.case.server.clone()]);
            }
            let local_page = page.is_some_and(|p| p.is_loopback());
            if address.is_local() && !local_page && origin != "null" {
                self.todo.push_back(Probe::Permission);
            }
            self.todo.push_back(Probe::Opaque { path: "/".into() });
        }
        if self.case.dialect == Dialect::Ollama {
            self.ask(Step::Version, catalog::version());
        }
        self.ask(Step::List, catalog::list(self.case.dialect));
    }

    fn ask(&mut self, step: Step, request: HttpRequest) {
        self.todo.push_back(Probe::Ask { step, request });
    }

    fn permission(&mut self, permission: Permission) {
        self.permission = permission;
        if permission == Permission::Denied {
            self.local_network_blocked();
            self.todo.clear();
        }
    }

    fn local_network_blocked(&mut self) {
        let sentence = "The browser does not let this page reach servers on this machine or network (\"Local network access\").".to_owned();
        let fixes = vec![
            Fix::anywhere(
                "Click the sign left of the address, open the site settings, and set \"Local network access\" to \"Allow\"; then reload.",
            ),
            Fix::anywhere("In a frame, the page around it must allow it:")
                .with("<iframe allow=\"local-network-access\">"),
        ];
        self.error("local_network_blocked", sentence, fixes);
    }

    /// Not even an opaque answer came: no server listens there, or the browser blocked the request.
    fn unreachable(&mut self) {
        self.todo.clear();
        if self.permission == Permission::Prompt {
            return self.local_network_blocked();
        }
        let sentence = format!("Nothing answers at {}.", self.case.server);
        let fixes = if self.case.dialect == Dialect::Ollama {
            fix::start_ollama(self.case.os)
        } else {
            vec![Fix::anywhere(
                "Start the model server, and check the address and the port.",
            )]
        };
        self.error("down", sentence, fixes);
        self.with([self.case.server.clone()]);
    }

    fn refused_origin(&mut self) {
        self.todo.clear();
        let origin = self.case.origin.clone().unwrap_or_default();
        if origin == "null" {
            let sentence =
                "The server is up, but it refuses pages that were opened as a file.".to_owned();
            let fix =
                Fix::anywhere("Serve palimpsest instead of opening its file; from its folder:")
                    .with("cargo xtask serve");
            return self.error("file_page", sentence, vec![fix]);
        }
        let sentence = format!("The server is up, but it refuses pages from {origin}.");
        let fixes = if self.case.dialect == Dialect::Ollama {
            fix::allow_origin(self.case.os, &origin)
        } else {
            vec![Fix::anywhere("Allow this origin in the server's settings (CORS):").with(&origin)]
        };
        self.error("cors_refused", sentence, fixes);
        self.with([origin]);
    }

    fn answered(&mut self, step: Step, seen: Observation<'_>) {
        let (status, body) = match seen {
            Observation::Answer { status, body } => (status, body),
            // The page may not read the answer, or there is none.
            _ if self.up => return self.refused_origin(),
            _ => return self.unreachable(),
        };
        if status == 403 && body.is_empty() {
            return self.refused_origin();
        }
        let result = if status == 200 {
            Ok(body)
        } else {
            Err(Refusal::new(status, body).meaning(self.case.model.as_deref().unwrap_or_default()))
        };
        match step {
            Step::Version => self.version(result),
            Step::List => self.list(result),
            Step::Loaded => self.loaded(result),
            Step::Try => self.tried(result),
        }
    }

    fn version(&mut self, result: Result<&[u8], ModelError>) {
        match result.and_then(catalog::read_version) {
            Ok(version) => {
                self.good(
                    "server_up",
                    format!("The server answers (Ollama {version})."),
                );
                self.with([version.clone()]);
                if self.case.origin.is_some() {
                    self.good("page_allowed", "This page may read its answers.".to_owned());
                }
                if is_older(&version, OLDEST_SAFE) {
                    let sentence = format!(
                        "Ollama {version} is old: versions before 0.17.1 have a known security hole, and may cut long prompts without saying so."
                    );
                    self.warning("old_version", sentence, fix::update_ollama(self.case.os));
                    self.with([version]);
                }
            }
            Err(error) => self.not_a_server(&error),
        }
    }

    fn not_a_server(&mut self, error: &ModelError) {
        self.todo.clear();
        match error {
            ModelError::Unauthorized => {
                self.error(
                    "unauthorized",
                    "The server asks for a key, or does not accept the one given.".to_owned(),
                    vec![Fix::anywhere(
                        "Enter the key in the settings of this connection.",
                    )],
                );
            }
            ModelError::Busy { .. } => {
                self.error(
                    "busy",
                    "The server is busy or still loading.".to_owned(),
                    vec![Fix::anywhere("Wait a moment, then test again.")],
                );
            }
            _ => {
                let other = if self.case.dialect == Dialect::Ollama {
                    "an Ollama"
                } else {
                    "an OpenAI-compatible"
                };
                let sentence = format!(
                    "Something answers at {}, but it is not {other} server ({error})",
                    self.case.server
                );
                self.error("not_a_model_server", sentence, vec![Fix::anywhere("Check the address and the port, or choose the other kind of server in the settings.")]);
                self.with([self.case.server.clone(), error.to_string()]);
            }
        }
    }

    fn list(&mut self, result: Result<&[u8], ModelError>) {
        let models = match result.and_then(catalog::read_list) {
            Ok(models) => models,
            Err(error) => return self.not_a_server(&error),
        };
        if self.case.dialect != Dialect::Ollama {
            self.good("server_up", "The server answers.".to_owned());
        }
        let ollama = self.case.dialect == Dialect::Ollama;
        if models.is_empty() {
            let fixes = if ollama {
                vec![Fix::anywhere("Install one, for instance:").with("ollama pull llama3.2:3b")]
            } else {
                vec![Fix::anywhere("Start the server with a model.")]
            };
            return self.error(
                "no_model",
                "The server has no model installed.".to_owned(),
                fixes,
            );
        }
        self.good(
            "models",
            format!(
                "It has {}.",
                if models.len() == 1 {
                    "1 model".to_owned()
                } else {
                    format!("{} models", models.len())
                }
            ),
        );
        self.with([models.len().to_string()]);
        let Some(name) = self.case.model.clone() else {
            return;
        };
        if let Some(model) = models.into_iter().find(|m| same_model(&m.name, &name)) {
            return self.check_model(&model);
        }
        let fixes = if ollama {
            vec![
                Fix::anywhere("Install it, or choose another model:")
                    .with(&format!("ollama pull {name}")),
            ]
        } else {
            vec![Fix::anywhere("Choose one of the models the server has.")]
        };
        self.error(
            "model_missing",
            format!("The model \"{name}\" is not installed."),
            fixes,
        );
        self.with([name]);
    }

    fn check_model(&mut self, model: &InstalledModel) {
        let name = &model.name;
        if let (Some(asked), Some(trained)) = (self.case.window, model.trained_window)
            && asked > trained
        {
            let sentence = format!(
                "You asked for a window of {} tokens, but {name} was made for {}; the server will not give more.",
                grouped(asked),
                grouped(trained)
            );
            self.warning(
                "window_beyond_model",
                sentence,
                vec![Fix::anywhere(&format!(
                    "Choose at most {}.",
                    grouped(trained)
                ))],
            );
            self.with([asked.to_string(), name.clone(), trained.to_string()]);
        }
        if let Some(window) = model.window {
            self.compare_window(window);
        }
        if let Some(trial) = self.case.trial {
            // This request loads the model; the next probe compares the window of the loaded copy.
            let request = self.one_token(name);
            self.ask(Step::Try, (trial.question)(self.case.dialect, &request));
        } else if self.case.dialect == Dialect::Ollama {
            self.ask(Step::Loaded, catalog::loaded());
        }
    }

    /// The smallest possible request, with the window that the user has chosen.
    fn one_token(&self, model: &str) -> ChatRequest {
        const SMALLEST: u32 = 2048;
        ChatRequest {
            model: model.to_owned(),
            messages: vec![RequestMessage::text(Role::User, "Hi")],
            tools: Vec::new(),
            options: RequestOptions::new(self.case.window.unwrap_or(SMALLEST), 1),
            purpose: Purpose::Summary,
        }
    }

    fn loaded(&mut self, result: Result<&[u8], ModelError>) {
        // Only the window matters here, and an old server may not know the request.
        let Ok(models) = result.and_then(catalog::read_loaded) else {
            return;
        };
        let Some(name) = &self.case.model else { return };
        if let Some(window) = models
            .iter()
            .find(|m| same_model(&m.name, name))
            .and_then(|m| m.window)
        {
            self.compare_window(window);
        }
    }

    fn compare_window(&mut self, window: u32) {
        let (Some(asked), false) = (self.case.window, self.window_seen) else {
            return;
        };
        self.window_seen = true;
        if window >= asked {
            self.good(
                "window",
                format!(
                    "The loaded copy has a window of {} tokens.",
                    grouped(window)
                ),
            );
            return self.with([window.to_string()]);
        }
        let sentence = format!(
            "You asked for {} tokens, but the loaded copy has {}.",
            grouped(asked),
            grouped(window)
        );
        let fix = if self.case.dialect == Dialect::Ollama {
            Fix::anywhere(&format!(
                "Reload the model with {}; the next message does it too.",
                grouped(asked)
            ))
        } else {
            Fix::anywhere("Start the server with a larger window, or choose this one:")
                .with(&format!("--ctx-size {asked}"))
        };
        self.warning("window_smaller", sentence, vec![fix]);
        self.with([asked.to_string(), window.to_string()]);
    }

    fn tried(&mut self, result: Result<&[u8], ModelError>) {
        let Some(trial) = self.case.trial else {
            return;
        };
        let model = self.case.model.as_deref().unwrap_or_default();
        match result.and_then(|beginning| (trial.answer)(self.case.dialect, model, beginning)) {
            Ok(()) => {
                self.good("model_answers", "The model answers.".to_owned());
                if self.case.dialect == Dialect::Ollama {
                    self.ask(Step::Loaded, catalog::loaded());
                }
            }
            Err(error) => {
                let fixes = vec![Fix::anywhere(
                    "Try a smaller model or a smaller window; the server's log says more.",
                )];
                self.error(
                    "model_fails",
                    format!("The model does not answer: {error}"),
                    fixes,
                );
                self.with([error.to_string()]);
            }
        }
    }

    /// Sets the values in the sentence of the last finding.
    fn with<const N: usize>(&mut self, values: [String; N]) {
        if let Some(last) = self.findings.last_mut() {
            last.args = values.into();
        }
    }

    fn good(&mut self, code: &'static str, sentence: String) {
        self.findings.push(Finding {
            code,
            severity: Severity::Good,
            sentence,
            args: Vec::new(),
            fixes: Vec::new(),
        });
    }

    fn warning(&mut self, code: &'static str, sentence: String, fixes: Vec<Fix>) {
        self.findings.push(Finding {
            code,
            severity: Severity::Warning,
            sentence,
            args: Vec::new(),
            fixes,
        });
    }

    fn error(&mut self, code: &'static str, sentence: String, fixes: Vec<Fix>) {
        self.findings.push(Finding {
            code,
            severity: Severity::Error,
            sentence,
            args: Vec::new(),
            fixes,
        });
    }
}

pub(crate) use probe::Step;

/// Compares the numbers of two versions and ignores any suffix (`-rc2`). A version that is not readable does not count
/// as old.
fn is_older(version: &str, than: [u32; 3]) -> bool {
    let mut numbers = version
        .trim_start_matches('v')
        .split(['.', '-', '+'])
        .map(str::parse::<u32>);
    let mut found = [0; 3];
    for number in &mut found {
        match numbers.next() {
            Some(Ok(n)) => *number = n,
            _ => return false,
        }
    }
    // Development builds have the version 0.0.0.
    found != [0, 0, 0] && found < than
}

/// 16384 → "16,384".
fn grouped(number: u32) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests;
