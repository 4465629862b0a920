//! A title from the first exchange, by the session's model, in the background.

use std::rc::Rc;

use futures_util::StreamExt;
use palimpsest_core::message::Role;
use palimpsest_core::request::{ChatRequest, Delta, Purpose, RequestMessage, RequestOptions};
use palimpsest_engine::Session;
use palimpsest_engine::head::title_of;
use palimpsest_engine::ports::{Abort, Signal};

use crate::act::{Back, list, parameters, show_head};
use crate::chat::data::title::{question, title_in};

/// Messages after which a session keeps the title it has.
const LATEST: usize = 6;

/// The most tokens of a title.
const TOKENS: u32 = 40;

/// Letters of an answer after which it is no title.
const LETTERS: usize = 4_000;

/// Asks for a title if the session only has its first words. It makes one call per session; a call that gives way to
/// the user's next message is made after the reply to that. After any failure the first words stay.
pub(crate) fn ask(back: &Rc<Back>, session: &Session) {
    let head = session.head();
    let wanted = back.state.settings.with_untracked(|s| s.titles);
    if !wanted
        || head.titled
        || head.model.is_empty()
        || session.is_replying()
        || back.titled.borrow().contains(session.id())
        || session.message_count() > LATEST
    {
        return;
    }
    let Some((user, reply)) = first_exchange(session) else {
        return;
    };
    // another window would make the server load the model again
    let window = head.effective_window();
    let old = head.title;
    if old != title_of(&user) {
        return;
    }
    let request = ChatRequest {
        model: head.model,
        messages: vec![RequestMessage::text(Role::User, question(&user, &reply))],
        tools: Vec::new(),
        options: RequestOptions::new(window, TOKENS),
        purpose: Purpose::Summary,
    };
    let stop = Abort::new();
    *back.titling.borrow_mut() = Some(stop.clone());
    let (back, session) = (Rc::clone(back), session.clone());
    leptos::task::spawn_local(async move {
        let answer = answer(&back, request, stop.signal()).await;
        if stop.signal().is_aborted() {
            return;
        }
        back.titled.borrow_mut().insert(session.id().to_owned());
        if let Some(title) = answer.as_deref().and_then(title_in)
            && let Ok(true) = session.propose_title(&old, &title).await
        {
            if back.shows(&session) {
                show_head(&back);
            }
            list(&back).await;
        }
    });
}

/// The person speaks: a title that is being asked for gives way.
pub(crate) fn give_way(back: &Back) {
    if let Some(stop) = back.titling.borrow_mut().take() {
        stop.abort();
    }
}

/// The first message and the first reply.
fn first_exchange(session: &Session) -> Option<(String, String)> {
    let said = session.history(None, LATEST);
    let first = |role| {
        let own = said.iter().filter(|item| item.message.role == role);
        own.map(|item| item.message.words())
            .find(|words| !words.trim().is_empty())
    };
    Some((first(Role::User)?, first(Role::Assistant)?))
}

/// The whole answer; `None` if there is none, or if it goes on and on.
async fn answer(back: &Back, request: ChatRequest, signal: Signal) -> Option<String> {
    let model = parameters::model(back.state);
    let mut stream = model.complete(request, signal.clone());
    let mut text = String::new();
    while let Some(delta) = stream.next().await {
        match delta.ok()? {
            Delta::Text { text: more } => text.push_str(&more),
            Delta::Done { .. } => return Some(text),
            _ => {}
        }
        if text.len() > LETTERS || signal.is_aborted() {
            return None;
        }
    }
    None
}
