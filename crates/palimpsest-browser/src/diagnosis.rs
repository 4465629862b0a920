//! Does the probes of the connection doctor.

use futures_util::future::{Either, select};
use js_sys::Promise;
use palimpsest_core::request::ModelError;
use palimpsest_engine::ports::Signal;
use palimpsest_ollama::doctor::{Case, Doctor, Finding, Observation, Permission, Probe};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{RequestCredentials, RequestInit, RequestMode};

use crate::fetch::{FetchTransport, Patience, fetch};
use crate::global::{global, object, property};
use crate::timer::sleep;
use crate::transport::{Transport, beginning};

#[wasm_bindgen]
extern "C" {
    /// `Permissions` for names that web-sys does not know.
    type Permissions;
    #[wasm_bindgen(method, catch)]
    fn query(this: &Permissions, descriptor: &JsValue) -> Result<Promise, JsValue>;
}

/// The number of bytes of an answer that the doctor reads. It is enough for a list of hundreds of models.
const ANSWER_BYTES: usize = 4 << 20;

/// Finds out why a page cannot use a model server. Calls `on_finding` with each finding as soon as it is known, and
/// returns all of them. `key` is sent like the transport sends it.
pub async fn examine(
    case: Case,
    key: &str,
    signal: Signal,
    on_finding: impl Fn(&Finding),
) -> Vec<Finding> {
    let fetch = FetchTransport::new(&case.server)
        .ok()
        .map(|transport| transport.with_key(key));
    let way = fetch.map_or(Way::None, Way::Fetch);
    ask(case, &way, signal, &on_finding).await
}

/// Does the same examination over a transport of the host's, to which the page's own rules do not apply.
pub async fn examine_over(
    case: Case,
    transport: &dyn Transport,
    signal: Signal,
    on_finding: impl Fn(&Finding),
) -> Vec<Finding> {
    ask(case, &Way::Host(transport), signal, &on_finding).await
}

/// The way to the server.
enum Way<'a> {
    None,
    Fetch(FetchTransport),
    Host(&'a dyn Transport),
}

async fn ask(
    case: Case,
    way: &Way<'_>,
    signal: Signal,
    on_finding: &dyn Fn(&Finding),
) -> Vec<Finding> {
    let mut doctor = Doctor::new(case);
    let mut told = 0;
    loop {
        for finding in doctor.findings().iter().skip(told) {
            on_finding(finding);
        }
        told = doctor.findings().len();
        let (Some(probe), false) = (doctor.next().cloned(), signal.is_aborted()) else {
            break;
        };
        let answered;
        let seen = match (probe, way) {
            (Probe::Permission, Way::Host(_)) => Observation::Permission(Permission::Unknown),
            (Probe::Permission, _) => Observation::Permission(permission().await),
            (Probe::Opaque { path }, Way::Fetch(transport)) => {
                let is_up = opaque(&format!("{}{path}", transport.server())).await;
                if is_up {
                    Observation::Opaque
                } else {
                    Observation::Failed
                }
            }
            (Probe::Ask { request, .. }, Way::Fetch(transport)) => {
                // The server may have to load a model before it answers, but it can list models at once.
                let patience = if request.method == "GET" {
                    Patience::SERVER
                } else {
                    Patience::MODEL
                };
                let transport = transport.clone().with_patience(patience);
                answered = answer(&transport, request, signal.clone()).await;
                observed(&answered)
            }
            (Probe::Ask { request, .. }, Way::Host(transport)) => {
                answered = answer(*transport, request, signal.clone()).await;
                observed(&answered)
            }
            (_, Way::None | Way::Host(_)) => Observation::Failed,
        };
        doctor.observe(seen);
    }
    doctor.findings().to_vec()
}

fn observed(answered: &Result<(u16, Vec<u8>), ModelError>) -> Observation<'_> {
    match answered {
        Ok((status, body)) => Observation::Answer {
            status: *status,
            body,
        },
        Err(_) => Observation::Failed,
    }
}

async fn answer(
    transport: &dyn Transport,
    request: palimpsest_ollama::HttpRequest,
    signal: Signal,
) -> Result<(u16, Vec<u8>), ModelError> {
    let answer = transport.send(request, signal).await?;
    Ok((answer.status, beginning(answer.body, ANSWER_BYTES).await?))
}

async fn permission() -> Permission {
    let ask = async {
        let permissions =
            global("navigator").and_then(|navigator| property(&navigator, "permissions"))?;
        let descriptor = object([("name", "local-network-access".into())]);
        let promise = permissions
            .unchecked_ref::<Permissions>()
            .query(&descriptor)
            .ok()?;
        let status = JsFuture::from(promise).await.ok()?;
        property(&status, "state")?.as_string()
    };
    match ask.await.as_deref() {
        Some("granted") => Permission::Granted,
        Some("denied") => Permission::Denied,
        Some("prompt") => Permission::Prompt,
        _ => Permission::Unknown,
    }
}

/// Returns `true` if any server answers there, whether or not the page may read the answer.
async fn opaque(url: &str) -> bool {
    let init = RequestInit::new();
    init.set_mode(RequestMode::NoCors);
    // An opaque request must follow redirects, because fetch refuses any other mode.
    init.set_credentials(RequestCredentials::Omit);
    let Ok(promise) = fetch(url, &init) else {
        return false;
    };
    // A browser that asks its user first takes as long as the user does.
    matches!(
        select(JsFuture::from(promise), sleep(60_000)).await,
        Either::Left((Ok(_), _))
    )
}
