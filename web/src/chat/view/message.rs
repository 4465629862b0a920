//! One message of the thread, with its head in the gutter.

use std::sync::Arc;

use leptos::prelude::AnyView;
use palimpsest_core::message::Ended;

use crate::act;
use crate::chat::data::thread::{Block, Entry, Form, Message, Stats, Who};
use crate::library::data::hit::Place;
use crate::platform::el::{El, IntoChild, el, live_if, live_on, nothing};
use crate::platform::icon::icon;
use crate::platform::page::clock;
use crate::state::{AppState, Dialog};
use crate::text::{T, decimal, fill, number, t};
use crate::widgets::prose::prose;
use crate::widgets::words::speaker;

/// Lines of a tool result that are shown before it is unfolded.
const LINES: usize = 12;

/// A message.
pub fn message(message: &Arc<Message>) -> AnyView {
    let seq = message.seq;
    let mut body = el("div").class("body");
    for block in &message.blocks {
        body = body.child(self::block(block));
    }
    if let Some(stats) = message.stats {
        body = body.child(self::stats(stats));
    }
    if let Some(ended) = message.ended {
        body = body.child(self::ended(seq, ended));
    }
    let state = AppState::here();
    // what is gone on with is shown as it grows
    let grows = move || {
        state
            .reply
            .with(|r| r.as_ref().is_some_and(|r| r.instead == Some(seq)))
    };
    let all = move || {
        let messages = state.open.with(|o| o.as_ref().map_or(0, |o| o.messages));
        Some(messages.max(seq).to_string())
    };
    let class = if message.who == Who::You {
        "msg you"
    } else {
        "msg"
    };
    el("article")
        .class(class)
        .attr("data-seq", seq.to_string())
        // the page holds some of the messages: which ones is said here
        .attr("aria-posinset", seq.to_string())
        .attr_live("aria-setsize", all)
        .attr("tabindex", "-1")
        .flag_live("hidden", grows)
        .child(head(message))
        .child(body.child(tools(message)))
        .into_child()
}

fn head(message: &Arc<Message>) -> El {
    let place = if message.last > message.seq {
        format!("{}–{}", message.seq, message.last)
    } else {
        message.seq.to_string()
    };
    let when = clock(message.at);
    let place = if when.is_empty() {
        place
    } else {
        format!("{place} · {when}")
    };
    let seq = message.seq;
    el("header")
        .child(el("b").child(speaker(message.who, &message.name)))
        .child(el("span").child(place))
        .child(covered(seq))
        .child(message.form.map(|form| {
            let text = match form {
                Form::Condensed => T::FormCondensed,
                Form::Stripped => T::FormStripped,
                Form::Offloaded => T::FormOffloaded,
                Form::Excerpt => T::FormExcerpt,
            };
            el("span").class("in").child(t(text))
        }))
}

/// What can be done with a message: go to another branch, copy, change, say again, pin.
fn tools(message: &Arc<Message>) -> El {
    let (seq, whole) = (message.seq, Arc::clone(message));
    let tool = |name: T, icon_name: &'static str| {
        el("button")
            .class("quiet")
            .attr("type", "button")
            .attr("aria-label", format!("{}: {seq}", t(name)))
            .attr("title", t(name))
            .child(icon(icon_name))
    };
    let (at, of) = message.branch;
    let flip = (of > 1).then(|| {
        el("span")
            .class("flip")
            .attr("role", "group")
            .attr("aria-label", t(T::Branches))
            .child(
                tool(T::BranchBefore, "back")
                    .flag("disabled", at == 1)
                    .click(move || act::flip(seq, -1)),
            )
            .child(el("span").child(format!("{at} / {of}")))
            .child(
                tool(T::BranchAfter, "chev")
                    .flag("disabled", at == of)
                    .click(move || act::flip(seq, 1)),
            )
    });
    let line = el("p")
        .class("tools")
        .child(flip)
        .child(tool(T::CopyMessage, "copy").click(move || act::copy(plain(&whole))));
    let line = line.children(
        act::link(Place::Message(seq))
            .map(|link| tool(T::CopyLink, "link").click(move || act::copy(link.clone()))),
    );
    let pin = || {
        let text = act::words(&message.blocks);
        let state = AppState::here();
        (!text.trim().is_empty()).then(|| {
            tool(T::PinMessage, "pin").click(move || {
                let text = text.clone();
                let dialog = Dialog::PinSentences { place: seq, text };
                state.dialog.set(Some(dialog));
            })
        })
    };
    let last = message.last;
    let line = line.child(tool(T::CoverTitle, "strata").click(move || {
        let dialog = Dialog::Cover { place: last };
        AppState::here().dialog.set(Some(dialog));
    }));
    // an imported system line, for one, is nobody's message
    let line = line.child((message.who != Who::Other).then(|| remove(seq, last)));
    match message.who {
        Who::You => {
            let text = act::words(&message.blocks);
            let state = AppState::here();
            line.child(tool(T::EditMessage, "edit").click(move || {
                state.dialog.set(Some(Dialog::Edit {
                    place: seq,
                    text: text.clone(),
                }));
            }))
            .child(pin())
        }
        Who::Model => line
            .child((!message.offloaded.is_empty()).then(|| {
                let results = message.offloaded.clone();
                tool(T::ResultBack, "back").click(move || act::bring_results_back(results.clone()))
            }))
            .child(pin())
            .child(again(message)),
        Who::Other => line,
    }
}

/// Takes a message out of the conversation, unless a layer stands for it.
fn remove(seq: u32, last: u32) -> AnyView {
    let state = AppState::here();
    let is_free = move || {
        let layers = state.layers.with(|all| all.iter().any(|l| l.covers(seq)));
        !layers && state.reply.with(Option::is_none)
    };
    live_if(is_free, move || {
        el("button")
            .class("quiet")
            .attr("type", "button")
            .attr("aria-label", format!("{}: {seq}", t(T::RemoveMessage)))
            .attr("title", t(T::RemoveMessage))
            .child(icon("cross"))
            .click(move || act::remove_messages(seq, last))
            .view()
    })
}

/// The last reply can be written again.
fn again(message: &Arc<Message>) -> AnyView {
    let seq = message.seq;
    let button = |id: &'static str, name: T, sign: &'static str| {
        el("button")
            .class("quiet")
            .attr("type", "button")
            .attr("id", id)
            .attr("aria-label", t(name))
            .attr("title", t(name))
            .child(icon(sign))
    };
    live_if(is_last(seq), move || {
        let state = AppState::here();
        el("span")
            .child(button("again", T::Regenerate, "again").click(act::regenerate))
            .child(
                button("again-with", T::RegenerateWith, "branch")
                    .click(move || state.dialog.set(Some(Dialog::AgainWith))),
            )
            .view()
    })
}

/// Whether a message is the last one of the thread.
fn is_last(seq: u32) -> impl Fn() -> bool + 'static {
    let state = AppState::here();
    move || {
        state.thread.with(|all| {
            let last = all.iter().rev().find_map(|e| match e {
                Entry::Message(m) => Some(m.seq),
                Entry::Card(_) => None,
            });
            last == Some(seq)
        })
    }
}

/// That a reply is not whole, and the way to go on with it if it is the last one.
fn ended(seq: u32, ended: Ended) -> El {
    let state = AppState::here();
    let last = is_last(seq);
    let can = move || {
        let writes = state.open.with(|o| o.as_ref().is_some_and(|o| !o.follower));
        writes && last() && state.reply.with(Option::is_none)
    };
    let told = match ended {
        Ended::Stopped => t(T::EndedStopped).to_owned(),
        Ended::Cut(tokens) => fill(T::EndedCut, &[&number(tokens)]),
    };
    el("p")
        .class("ended")
        .child(el("span").child(told))
        .child(live_if(can, || {
            el("button")
                .class("btn")
                .attr("type", "button")
                .attr("id", "continue")
                .child(t(T::Continue))
                .click(act::continue_reply)
                .view()
        }))
}

/// "in layer 3", while a layer stands for the message.
fn covered(seq: u32) -> AnyView {
    let state = AppState::here();
    let layer = move || {
        state
            .layers
            .with(|all| all.iter().find(|l| l.covers(seq)).map(|l| l.number))
    };
    live_on(layer, |layer| match layer {
        Some(n) => el("span")
            .class("in")
            .child(fill(T::InLayer, &[&n.to_string()]))
            .view(),
        None => nothing(),
    })
}

fn block(block: &Block) -> AnyView {
    match block {
        Block::Text(text) => prose(text),
        Block::Thinking(text) => thinking(el("p").child(text.clone())).into_child(),
        Block::Tool {
            name,
            arguments,
            result,
            error,
        } => tool(name, arguments, result.as_deref(), *error).into_child(),
        Block::Image { name, media, at } => image(name, media, *at).into_child(),
        Block::Attachment { name, text } => el("details")
            .class("tool")
            .child(
                el("summary")
                    .child(icon("page"))
                    .child(el("b").child(name.clone()))
                    .child(el("span").child(number(text.lines().count() as u32))),
            )
            .child(
                el("pre")
                    .attr("tabindex", "0")
                    .child(el("code").child(text.clone())),
            )
            .into_child(),
    }
}

/// An image, small until somebody wants it large; by name if its bytes are elsewhere.
fn image(name: &str, media: &str, (place, part): (u32, usize)) -> El {
    match act::image_at(place, part) {
        Some(address) => el("details").class("image").child(
            el("summary").child(
                el("img")
                    .attr("src", address)
                    .attr("alt", name.to_owned())
                    .attr("title", name.to_owned()),
            ),
        ),
        None => el("p")
            .class("plain")
            .child(icon("page"))
            .child(format!(" {name} "))
            .child(el("span").class("sub").child(media.to_owned())),
    }
}

/// Folded thinking.
pub fn thinking(words: El) -> El {
    el("details")
        .class("think")
        .child(el("summary").child(icon("chev")).child(t(T::Thought)))
        .child(words)
}

fn tool(name: &str, arguments: &str, result: Option<&str>, error: bool) -> El {
    let short: String = arguments.chars().take(120).collect();
    let said = match (result, error) {
        (None, _) => t(T::ToolPending).to_owned(),
        (Some(_), true) => t(T::ToolFailed).to_owned(),
        (Some(text), false) => number(text.lines().count() as u32),
    };
    let side = el("span")
        .class(if error { "badc" } else { "" })
        .child(said);
    let summary = el("summary")
        .child(icon("tool"))
        .child(el("b").child(name.to_owned()))
        .child(el("code").child(short))
        .child(side);
    let details = el("details").class("tool").child(summary);
    let Some(text) = result else {
        return details.child(
            el("pre")
                .attr("tabindex", "0")
                .child(el("code").child(arguments.to_owned())),
        );
    };
    let lines = text.lines().count();
    if lines <= LINES + 4 {
        return details.child(
            el("pre")
                .attr("tabindex", "0")
                .child(el("code").child(text.to_owned())),
        );
    }
    // The first lines at once, the rest when it is asked for; a code block for each.
    let at = text
        .match_indices('\n')
        .nth(LINES - 1)
        .map_or(text.len(), |(i, _)| i);
    let block = |part: &str| {
        el("pre")
            .attr("tabindex", "0")
            .child(el("code").child(part.to_owned()))
    };
    details.child(block(&text[..at])).child(
        el("details")
            .class("fold")
            .child(el("summary").child(fill(T::MoreLines, &[&number((lines - LINES) as u32)])))
            .child(block(text[at..].trim_start_matches('\n'))),
    )
}

fn stats(stats: Stats) -> El {
    let line = el("p").class("stats").child(el("span").child(fill(
        T::ReadWrote,
        &[&number(stats.read), &number(stats.wrote)],
    )));
    line.child(
        stats
            .speed
            .map(|speed| el("span").child(fill(T::Speed, &[&decimal(speed)]))),
    )
}

/// The words of a message, for the clipboard.
fn plain(message: &Message) -> String {
    let mut out = String::new();
    for block in &message.blocks {
        let text = match block {
            Block::Text(text)
            | Block::Tool {
                result: Some(text), ..
            } => text.as_str(),
            Block::Tool { arguments, .. } => arguments.as_str(),
            Block::Attachment { name, .. } | Block::Image { name, .. } => name.as_str(),
            Block::Thinking(_) => continue,
        };
        if !out.is_empty() {
            out.push_str("\n\n");
        }
        out.push_str(text);
    }
    out
}
