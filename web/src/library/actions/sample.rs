//! The conversation that shows what the page does: three people plan a journey by train. It is fetched when it is asked for.

use std::rc::Rc;

use leptos::prelude::window;
use palimpsest_core::message::Part;
use palimpsest_engine::NewSession;
use palimpsest_engine::session::NewMessage;
use serde_json::Value;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use web_sys::Response;

use crate::act::{Back, cover, list, note, open_now, usual_model, with_engine};
use crate::context::data::layer::Writer;
use crate::platform::page;
use crate::text::{T, t};

/// Its identifier: whoever opens it twice gets the one that is there.
const ID: &str = "sample-trip";
/// The window that it is shown in, in tokens: it fits whole, and a layer is worth it.
const WINDOW: u32 = 8_192;
/// How many of its messages the layer covers, so that there is one to look at, to lift and to ask about.
const COVERED: u32 = 96;

/// Opens the sample, which is fetched the first time, and has its older part covered by a layer.
pub(crate) fn open_sample() {
    with_engine(|back| async move {
        match open(&back).await {
            Ok(Opened::New) => cover(1, COVERED, Writer::BuiltIn),
            Ok(Opened::There) => {}
            Err(why) => note(format!("{} {why}", t(T::SampleFailed)), true),
        }
    });
}

/// Whether the sample was there before.
enum Opened {
    New,
    There,
}

async fn open(back: &Rc<Back>) -> Result<Opened, String> {
    let say = |e: palimpsest_engine::error::EngineError| e.to_string();
    let known = back.engine.sessions().await.map_err(say)?;
    if known.iter().any(|s| s.id == ID) {
        open_now(back, ID, false).await;
        return Ok(Opened::There);
    }
    let deleted = back.engine.deleted_sessions().await.map_err(say)?;
    if deleted.iter().any(|s| s.id == ID) {
        back.engine.undelete(ID).await.map_err(say)?;
        list(back).await;
        open_now(back, ID, false).await;
        return Ok(Opened::There);
    }
    let text = fetched().await?;
    let said: Vec<Value> = palimpsest_text::json::read(&text).map_err(|e| e.to_string())?;
    let messages: Vec<NewMessage> = said.iter().filter_map(message).collect();
    let new = NewSession {
        title: t(T::SampleTitle).to_owned(),
        model: usual_model(back.state).unwrap_or_default(),
        window: WINDOW,
        ..NewSession::default()
    };
    let session = back.engine.create_with_id(ID, new).await.map_err(say)?;
    if let Err(error) = session.append_all(messages).await {
        // a half of it would only stand in the way of another attempt
        let _ = back.engine.purge(ID).await;
        return Err(error.to_string());
    }
    list(back).await;
    open_now(back, ID, false).await;
    Ok(Opened::New)
}

/// One message of the sample. Its words are ours: what the travellers ask for counts as what a person asks for.
fn message(said: &Value) -> Option<NewMessage> {
    let text = said["content"].as_str()?;
    Some(if said["role"] == "user" {
        NewMessage::user(text)
    } else {
        NewMessage::assistant(vec![Part::text(text)])
    })
}

async fn fetched() -> Result<String, String> {
    let Some(address) = page::sample() else {
        return Err(String::new());
    };
    let failed = |_| address.clone();
    let response = JsFuture::from(window().fetch_with_str(&address)).await;
    let response: Response = response.map_err(failed)?.unchecked_into();
    if !response.ok() {
        return Err(format!("{}: {}", address, response.status()));
    }
    let text = JsFuture::from(response.text().map_err(failed)?).await;
    text.map_err(failed)?
        .as_string()
        .ok_or_else(|| address.clone())
}
