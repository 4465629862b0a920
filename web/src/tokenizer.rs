//! The vocabulary of the open session's model: asked for and parsed in a worker of its own, which ends with it.
//!
//! The worker (`public/tokenizer.js`) runs this same module. It gets `[address, key, model]` and answers with the bytes of a
//! snapshot, or with the code of the reason why there is none.

use std::cell::RefCell;

use js_sys::{Array, Function, Object, Reflect, Uint8Array};
use palimpsest_browser::vocabulary::{SnapshotCache, build, snapshot};
use palimpsest_browser::{FetchTransport, Patience};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::{DedicatedWorkerGlobalScope, MessageEvent, Worker};

use palimpsest_engine::Engine;

use crate::embed;

/// The worker's script.
const SCRIPT: &str = "tokenizer.js";
/// The one policy the page's rules name: it lets nothing through but [`SCRIPT`].
const POLICY: &str = "palimpsest-worker";

thread_local! {
    static JOB: RefCell<Option<Job>> = const { RefCell::new(None) };
    static WORKER_URL: RefCell<Option<JsValue>> = const { RefCell::new(None) };
}

/// A vocabulary that was asked for.
struct Job {
    wanted: (String, String),
    worker: Option<Worker>,
    _heard: Option<Closure<dyn FnMut(MessageEvent)>>,
}

impl Drop for Job {
    fn drop(&mut self) {
        if let Some(worker) = &self.worker {
            worker.terminate();
        }
    }
}

/// Brings the model's vocabulary from the Ollama at `address`, unless it is there, on its way, or known not to be had. What
/// was on its way for another model is given up.
pub fn want(engine: &Engine, address: &str, key: &str, model: &str) {
    let wanted = (address.to_owned(), model.to_owned());
    let busy = JOB.with(|job| job.borrow().as_ref().is_some_and(|j| j.wanted == wanted));
    // a mounted app has no script beside the page that a worker could begin with
    if model.is_empty() || busy || embed::is_guest() {
        return;
    }
    JOB.with(|job| *job.borrow_mut() = None);
    let Some(worker) = worker() else { return };
    let engine = engine.clone();
    let parcel: Array = [address, key, model]
        .into_iter()
        .map(JsValue::from)
        .collect();
    let name = model.to_owned();
    let to = worker.clone();
    let heard = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        let data = event.data();
        if data.is_null() {
            // It listens now.
            let _ = to.post_message(&parcel);
            return;
        }
        to.terminate();
        if let Some(bytes) = data.dyn_ref::<Uint8Array>() {
            spawn_local(take(engine.clone(), name.clone(), bytes.to_vec()));
        } else if data
            .as_string()
            .is_some_and(|code| !code.starts_with("tokenizer_"))
        {
            // The server did not answer: it may be asked again.
            JOB.with(|job| {
                if let Some(job) = job.borrow_mut().as_mut() {
                    job.wanted.0.clear();
                }
            });
        }
    });
    worker.set_onmessage(Some(heard.as_ref().unchecked_ref()));
    JOB.with(|job| {
        *job.borrow_mut() = Some(Job {
            wanted,
            worker: Some(worker),
            _heard: Some(heard),
        });
    });
}

/// Gives up what is on its way: another kind of server was chosen.
pub fn forget() {
    JOB.with(|job| *job.borrow_mut() = None);
}

/// Builds the tables in slices and counts with them from then on.
async fn take(engine: Engine, model: String, bytes: Vec<u8>) {
    let Ok(vocabulary) = build(&bytes).await else {
        return;
    };
    drop(bytes);
    let current = JOB.with(|job| job.borrow().as_ref().is_some_and(|j| j.wanted.1 == model));
    if current {
        engine.set_vocabulary(Some((&model, vocabulary)));
        engine.settle().await;
    }
}

/// A worker with our script, or none where the host has no workers or its rules do not name our policy.
fn worker() -> Option<Worker> {
    let url = WORKER_URL.with(|known| {
        let mut known = known.borrow_mut();
        if known.is_none() {
            *known = trusted();
        }
        known.clone()
    })?;
    let global = js_sys::global();
    let class: Function = Reflect::get(&global, &"Worker".into())
        .ok()?
        .dyn_into()
        .ok()?;
    let options = Object::new();
    Reflect::set(&options, &"type".into(), &"module".into()).ok()?;
    Reflect::construct(&class, &Array::of2(&url, &options))
        .ok()?
        .dyn_into()
        .ok()
}

/// The script's address in the form that pages with Trusted Types want.
fn trusted() -> Option<JsValue> {
    let types = Reflect::get(&js_sys::global(), &"trustedTypes".into()).ok()?;
    if types.is_undefined() {
        return Some(SCRIPT.into());
    }
    let only = Closure::<dyn Fn(JsValue) -> JsValue>::new(|asked: JsValue| {
        if asked.as_string().as_deref() == Some(SCRIPT) {
            asked
        } else {
            JsValue::NULL
        }
    });
    let rules = Object::new();
    Reflect::set(&rules, &"createScriptURL".into(), only.as_ref()).ok()?;
    let call = |object: &JsValue, name: &str, arguments: &Array| {
        let function: Function = Reflect::get(object, &name.into()).ok()?.dyn_into().ok()?;
        Reflect::apply(&function, object, arguments).ok()
    };
    let policy = call(&types, "createPolicy", &Array::of2(&POLICY.into(), &rules))?;
    call(&policy, "createScriptURL", &Array::of1(&SCRIPT.into()))
}

/// In a worker: waits for a model's name and answers with its vocabulary. `false` in a page.
#[wasm_bindgen]
pub fn serve() -> bool {
    let Ok(scope) = js_sys::global().dyn_into::<DedicatedWorkerGlobalScope>() else {
        return false;
    };
    let own = scope.clone();
    let heard = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        let Ok(parcel) = event.data().dyn_into::<Array>() else {
            return;
        };
        let text = |at| parcel.get(at).as_string().unwrap_or_default();
        let (address, key, model) = (text(0), text(1), text(2));
        let scope = own.clone();
        spawn_local(async move {
            let answer = match fetch(&address, &key, &model).await {
                Ok(bytes) => Uint8Array::from(bytes.as_slice()).into(),
                Err(code) => JsValue::from(code),
            };
            let _ = scope.post_message(&answer);
        });
    });
    scope.set_onmessage(Some(heard.as_ref().unchecked_ref()));
    heard.forget();
    let _ = scope.post_message(&JsValue::NULL);
    true
}

async fn fetch(address: &str, key: &str, model: &str) -> Result<Vec<u8>, &'static str> {
    let transport = FetchTransport::new(address)
        .map_err(|error| error.code())?
        .with_key(key)
        .with_patience(Patience::SERVER);
    let cache = SnapshotCache::open().await;
    snapshot(&transport, model, cache.as_ref())
        .await
        .map_err(|error| error.code())
}
