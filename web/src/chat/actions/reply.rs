//! The pieces of a reply as they come in: shown with the next picture, counted four times a second.

use std::rc::Rc;

use palimpsest_core::request::Delta;
use palimpsest_tokens::{Estimator, TokenCounter};

use crate::act::Back;
use crate::platform::page;

/// Milliseconds between two counts of a streaming reply.
const COUNT_EVERY: i32 = 250;

/// A piece of the reply. Shown with the next picture, counted four times a second.
pub(crate) fn take_in(back: &Rc<Back>, delta: &Delta) {
    let mut incoming = back.incoming.borrow_mut();
    match delta {
        Delta::Text { text } => {
            incoming.text.push_str(text);
            incoming.uncounted.push_str(text);
        }
        Delta::Thinking { text } => {
            incoming.thinking.push_str(text);
            incoming.uncounted.push_str(text);
        }
        _ => return,
    }
    if !incoming.frame {
        incoming.frame = true;
        let back = Rc::clone(back);
        page::next_frame(move || flush(&back));
    }
    if !incoming.counting {
        incoming.counting = true;
        let back = Rc::clone(back);
        page::after(COUNT_EVERY, move || {
            let text = {
                let mut incoming = back.incoming.borrow_mut();
                incoming.counting = false;
                std::mem::take(&mut incoming.uncounted)
            };
            let more = Estimator::default().count(&text);
            back.state.reply.update(|r| {
                if let Some(r) = r {
                    r.tokens += more;
                }
            });
        });
    }
}

fn flush(back: &Back) {
    let (text, thinking) = {
        let mut incoming = back.incoming.borrow_mut();
        incoming.frame = false;
        (
            std::mem::take(&mut incoming.text),
            std::mem::take(&mut incoming.thinking),
        )
    };
    if back.state.reply.with_untracked(Option::is_none) {
        return;
    }
    if !text.is_empty() {
        back.state.reply_text.update(|all| all.push_str(&text));
    }
    if !thinking.is_empty() {
        back.state
            .reply_thinking
            .update(|all| all.push_str(&thinking));
    }
}
