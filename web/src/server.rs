//! The model server of the settings: its models, its problems, and requests to it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_util::StreamExt;
use leptos::prelude::window;
use palimpsest_browser::{
    Answer, FetchTransport, Patience, ServerModel, Transport, examine, examine_over, whole,
};
use palimpsest_core::request::{ChatRequest, ModelError};
use palimpsest_engine::ports::{DeltaStream, LanguageModel, Signal};
use palimpsest_ollama::catalog::{self, same_model};
use palimpsest_ollama::doctor::{Case, Finding, Os, Severity, Trial};
use palimpsest_ollama::pull::{self, Progress, PullDecoder};
use palimpsest_ollama::{Dialect, HttpRequest, Refusal, encode};
use palimpsest_text::json;

use crate::act;
use crate::platform::resident::InPage;
use crate::platform::{guest, page};
use crate::settings::data::connection::{Check, Connection, Fix, ModelEntry, Verdict};
use crate::settings::data::doctor;
use crate::settings::data::key::Key;
use crate::settings::{Place, Server, Settings};
use crate::state::AppState;

/// The largest list of models that is read, in bytes.
const LIST_BYTES: u32 = 8 << 20;

/// The findings at the server's address.
#[derive(Debug, Default)]
pub struct Survey {
    /// Its models.
    pub models: Vec<ModelEntry>,
    /// The doctor's findings.
    pub checks: Vec<Check>,
    /// The state of the connection.
    pub connection: Connection,
}

/// Examines a server. A trial loads the model with the session's window.
async fn examined(
    state: AppState,
    place: &Place,
    key: &Key,
    trial: Option<Trial>,
) -> (Vec<Finding>, Vec<Check>) {
    if place.server == Server::InPage {
        // there is no way to it that could be wrong
        return (Vec::new(), Vec::new());
    }
    let open = state.open.get_untracked();
    let case = Case {
        server: place.address.clone(),
        dialect: dialect(place.server),
        // For the server, a request through a host does not come from a page.
        origin: (!guest::asks()).then(page::origin),
        os: os(),
        model: open
            .as_ref()
            .map(|o| o.model.clone())
            .filter(|m| !m.is_empty()),
        window: open.map(|o| o.window).filter(|w| *w > 0),
        trial,
    };
    let (last, took) = (Cell::new(act::now()), RefCell::new(Vec::new()));
    let heard = |_: &Finding| {
        let now = act::now();
        took.borrow_mut().push(now - last.replace(now));
    };
    let key = key.sent_to(place.server, &place.address);
    let findings = match transport() {
        Some(host) => examine_over(case, &*host, Signal::never(), heard).await,
        None => examine(case, key, Signal::never(), heard).await,
    };
    let took = took.into_inner();
    let checks = findings
        .iter()
        .enumerate()
        .map(|(at, finding)| check(finding, took.get(at).copied()))
        .collect();
    (findings, checks)
}

/// Returns the doctor's findings about a server that is not in use, without those about models.
pub async fn visit(state: AppState, place: &Place, key: &Key) -> Vec<Check> {
    let mut checks = examined(state, place, key, None).await.1;
    checks.retain(|check| !matches!(check.code, "model_missing" | "window" | "window_smaller"));
    checks
}

/// Examines the server in use, and lists its models if it is well.
pub async fn survey(state: AppState, trial: Option<Trial>) -> Survey {
    let place = state.settings.with_untracked(Settings::in_use);
    let key = state.key.get_untracked();
    let (findings, checks) = examined(state, &place, &key, trial).await;
    let empty = findings.iter().any(|f| f.code == "no_model");
    // A model that is not installed any more is the session's trouble, not the connection's.
    let broken = findings.iter().any(|f| {
        f.severity == Severity::Error && f.code != "no_model" && f.code != "model_missing"
    });
    if broken || empty {
        let connection = if empty {
            Connection::Empty
        } else {
            Connection::Failed
        };
        return Survey {
            models: Vec::new(),
            checks,
            connection,
        };
    }
    match models(&place, &key).await {
        Ok(models) if models.is_empty() => Survey {
            models,
            checks,
            connection: Connection::Empty,
        },
        Ok(models) => Survey {
            models,
            checks,
            connection: Connection::Connected,
        },
        Err(error) => Survey {
            models: Vec::new(),
            checks: if place.server == Server::InPage {
                vec![failed(&error)]
            } else {
                checks
            },
            connection: Connection::Failed,
        },
    }
}

/// A failure of the model in the page, which no doctor examines.
fn failed(error: &ModelError) -> Check {
    Check {
        title: error.to_string(),
        detail: String::new(),
        verdict: Verdict::Bad,
        took: None,
        fixes: Vec::new(),
        code: error.code(),
    }
}

/// The models of a server.
pub async fn models(place: &Place, key: &Key) -> Result<Vec<ModelEntry>, ModelError> {
    let transport = way(place.server, &place.address, key, Patience::SERVER)?;
    let dialect = dialect(place.server);
    let list = catalog::read_list(&ask(&*transport, catalog::list(dialect)).await?)?;
    let loaded = if dialect == Dialect::Ollama {
        // An old server may not know the question.
        match ask(&*transport, catalog::loaded()).await {
            Ok(body) => catalog::read_loaded(&body).unwrap_or_default(),
            Err(_) => Vec::new(),
        }
    } else {
        Vec::new()
    };
    // older llama.cpp servers tell the window of their one model apart from the list
    let started_with = match &list[..] {
        [only] if dialect == Dialect::LlamaCpp && only.window.is_none() => {
            let props = ask(&*transport, catalog::props()).await;
            props
                .ok()
                .and_then(|body| catalog::read_props(&body).ok().flatten())
        }
        _ => None,
    };
    Ok(list
        .into_iter()
        .map(|m| {
            let now = loaded
                .iter()
                .find(|l| same_model(&m.name, &l.name))
                .and_then(|l| l.window);
            ModelEntry {
                size: m.parameter_size.unwrap_or_default(),
                quantisation: m.quantization.unwrap_or_default(),
                trained: m.trained_window,
                loaded: now.or(m.window).or(started_with),
                bytes: (m.size > 0).then_some(m.size as f64),
                untold: dialect != Dialect::Ollama && m.capabilities.is_none(),
                capabilities: m.capabilities.unwrap_or_default(),
                name: m.name,
            }
        })
        .collect())
}

/// The host's way to the model server, if it brings one.
fn transport() -> Option<Rc<dyn Transport>> {
    // its code comes with the package, and not with a page of our own
    guest::asks().then(act::host_transport).flatten().flatten()
}

/// The way to the server: through the host if it offers one, otherwise by `fetch`, with the key if it belongs there.
fn way(
    server: Server,
    address: &str,
    key: &Key,
    patience: Patience,
) -> Result<Rc<dyn Transport>, ModelError> {
    if server == Server::InPage {
        return Ok(Rc::new(InPage));
    }
    Ok(match transport() {
        Some(host) => host,
        None => Rc::new(
            FetchTransport::new(address)?
                .with_key(key.sent_to(server, address))
                .with_patience(patience),
        ),
    })
}

/// Has the server in use download a model, and tells how far it is. Ends when the model is there.
pub async fn pull(
    state: AppState,
    model: &str,
    signal: Signal,
    heard: impl Fn(Progress),
) -> Result<(), ModelError> {
    let transport = to_server_in_use(state, Patience::DOWNLOAD)?;
    let answer = transport.send(pull::pull(model), signal).await?;
    if answer.status != 200 {
        return Err(refused(answer, model).await);
    }
    let (mut body, mut decoder) = (answer.body, PullDecoder::new(model));
    while let Some(chunk) = body.next().await {
        heard(decoder.push(&chunk?)?);
    }
    decoder.finish()
}

/// Removes a model from the server in use.
pub async fn remove(state: AppState, model: &str) -> Result<(), ModelError> {
    let transport = to_server_in_use(state, Patience::SERVER)?;
    let answer = transport.send(pull::delete(model), Signal::never()).await?;
    if answer.status == 200 {
        Ok(())
    } else {
        Err(refused(answer, model).await)
    }
}

fn to_server_in_use(state: AppState, patience: Patience) -> Result<Rc<dyn Transport>, ModelError> {
    let (server, address) = state
        .settings
        .with_untracked(|s| (s.server, s.address.clone()));
    way(server, &address, &state.key.get_untracked(), patience)
}

/// The reason why the server refused a request.
async fn refused(answer: Answer, model: &str) -> ModelError {
    let body = whole(answer.body, LIST_BYTES).await.unwrap_or_default();
    Refusal::new(answer.status, &body).meaning(model)
}

async fn ask(transport: &dyn Transport, request: HttpRequest) -> Result<Vec<u8>, ModelError> {
    let answer = transport.send(request, Signal::never()).await?;
    if answer.status != 200 {
        return Err(ModelError::ServerFailed {
            message: format!("status {}", answer.status),
        });
    }
    whole(answer.body, LIST_BYTES).await
}

/// The name under which a session notes who runs its model.
pub const fn provider(server: Server) -> &'static str {
    match server {
        Server::InPage => "browser",
        other => dialect(other).name(),
    }
}

const fn dialect(server: Server) -> Dialect {
    match server {
        // the worker of the page answers as an Ollama does
        Server::Ollama | Server::InPage => Dialect::Ollama,
        Server::LlamaCpp => Dialect::LlamaCpp,
        Server::OpenAi => Dialect::OpenAi,
    }
}

/// The system of this computer: the server is most often here too.
fn os() -> Os {
    let agent = window().navigator().user_agent().unwrap_or_default();
    if agent.contains("Mac OS") {
        Os::MacOs
    } else if agent.contains("Windows") {
        Os::Windows
    } else {
        Os::Linux
    }
}

fn check(finding: &Finding, took: Option<f64>) -> Check {
    let (code, args) = (finding.code, finding.args.as_slice());
    Check {
        title: doctor::sentence(code, args).unwrap_or_else(|| finding.sentence.clone()),
        detail: String::new(),
        verdict: match finding.severity {
            Severity::Good => Verdict::Good,
            Severity::Warning => Verdict::Remark,
            Severity::Error => Verdict::Bad,
        },
        took: took.filter(|ms| *ms >= 1.0 && finding.severity == Severity::Good),
        fixes: finding
            .fixes
            .iter()
            .enumerate()
            .map(|(index, fix)| {
                let system = fix.os.map(|os| match os {
                    Os::Linux => "Linux",
                    Os::MacOs => "macOS",
                    Os::Windows => "Windows",
                    Os::Docker => "Docker",
                });
                Fix {
                    system,
                    text: doctor::cure(code, system, index, args)
                        .unwrap_or_else(|| fix.text.clone()),
                    commands: fix.commands.join("\n"),
                }
            })
            .collect(),
        code,
    }
}

/// The server as the engine's model.
pub fn model(state: AppState) -> Rc<dyn LanguageModel> {
    let settings = state.settings.get_untracked();
    match way(
        settings.server,
        &settings.address,
        &state.key.get_untracked(),
        Patience::MODEL,
    ) {
        Ok(transport) => Rc::new(ServerModel::new(dialect(settings.server), transport)),
        Err(why) => Rc::new(Unreachable(why)),
    }
}

/// The body that the chosen server would get for a request, to be read.
pub fn exact(state: AppState, request: &ChatRequest) -> String {
    let server = state.settings.with_untracked(|s| s.server);
    let body = encode(dialect(server), request).body;
    let text = String::from_utf8_lossy(&body);
    json::parse(&text).map_or_else(|_| text.clone().into_owned(), |value| format!("{value:#}"))
}

/// An address that is none: every question gets the reason.
struct Unreachable(ModelError);

impl LanguageModel for Unreachable {
    fn complete(&self, _: ChatRequest, _: Signal) -> DeltaStream<'_> {
        let why = self.0.clone();
        Box::pin(futures_util::stream::once(async move { Err(why) }))
    }
}
