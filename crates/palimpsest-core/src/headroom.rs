//! Decides how far below the limit a compaction goes, so that the next requests only add to the part that the provider
//! has read.
//!
//! A provider charges a tenth for the part of a prompt that it has read already, and a quarter more than the price for
//! the part that it reads anew. If a window is kept full, nearly every request reads it anew; if it is emptied, it
//! holds little. So a compaction makes room for a number of requests. It makes room for more if the calls until the
//! next compaction would otherwise cost less than the compaction itself.

use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::data::message::Role;

/// The part of a prompt that the provider, or the model's own server, keeps from one request to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    /// The part at the beginning of both prompts. A compaction makes room for many requests.
    #[default]
    Prefix,
    /// Nothing. A compaction keeps as much as fits.
    None,
}

/// The price of a token from the cache, in hundredths of the price without a cache.
pub const PRICE_CACHED: u64 = 10;
/// The price of a token that is read and cached, in the same unit.
pub const PRICE_WRITTEN: u64 = 125;

/// The number of requests of a loop that find room after a compaction. Ten would mean one break in ten, and steps differ
/// in size.
const REQUESTS: u32 = 16;
/// The same number for a conversation without tools, whose requests wait for a person to write: room for more of them is
/// made only if it pays.
const REQUESTS_OF_A_TALK: u32 = 8;
/// The number of newest replies from which the size of a step is estimated.
const JUDGED: usize = 48;
/// The least and the largest part of the limit that a compaction leaves, in percent.
const LEAST: u64 = 46;
const MOST: u64 = 85;

/// Below this limit there is no room to go further, because the frame of the layers takes a part of it.
const SMALLEST: u32 = 1_024;

/// Returns the goal of a compaction of a list in tokens.
pub(crate) fn aim(context: &Context, limit: u32, cache: Cache) -> u32 {
    if cache == Cache::None || limit < SMALLEST {
        return limit;
    }
    let arrived = context.entries().iter().rev();
    // A list that was handed back does not contain the messages under its layers.
    let arrived = arrived.take_while(|entry| entry.tokens > 0);
    let step = step(arrived.map(|entry| (entry.message.role, entry.tokens)));
    let most = share(limit, MOST);
    step.map_or(most, |step| steady(limit, step, requests(context)))
}

/// Returns the most that a compaction of a session may leave below `trigger` and still make room for many requests. `None`
/// where that is not known: for fewer than two replies, and for a window that is very small.
pub(crate) fn goal(context: &Context, trigger: u32) -> Option<u32> {
    // only what is shown, because a session that is opened has no other messages
    let shown = context.shown.iter().rev();
    let step = step(shown.map(|&i| (context.entries[i].message.role, context.shown_tokens(i))));
    step.filter(|_| trigger >= SMALLEST)
        .map(|step| steady(trigger, step, requests(context)))
}

const fn share(limit: u32, percent: u64) -> u32 {
    (limit as u64 * percent / 100) as u32
}

fn requests(context: &Context) -> u32 {
    if context.has_tools() {
        REQUESTS
    } else {
        REQUESTS_OF_A_TALK
    }
}

/// Returns what may stay below `limit` if a request adds `step` tokens and `requests` of them find room.
fn steady(limit: u32, step: u32, requests: u32) -> u32 {
    let (least, most) = (share(limit, LEAST), share(limit, MOST));
    let room = limit.saturating_sub(step.saturating_mul(requests));
    let mut aim = room.clamp(least, most);
    while aim > least && !pays(aim, limit, step) {
        aim = aim.saturating_sub(limit / 50).max(least);
    }
    aim
}

/// Returns `true` if reading `aim` tokens anew costs no more than the requests until the next compaction.
fn pays(aim: u32, limit: u32, step: u32) -> bool {
    let (aim, limit, step) = (u128::from(aim), u128::from(limit), u128::from(step.max(1)));
    let added = limit - aim;
    let (cached, written) = (u128::from(PRICE_CACHED), u128::from(PRICE_WRITTEN));
    let anew = aim * (written - cached);
    let read = u128::midpoint(aim, limit) * cached * added / step;
    anew <= read + added * written
}

/// Returns the average number of tokens that the newest requests added. `None` for fewer than two replies.
fn step(newest_first: impl Iterator<Item = (Role, u32)>) -> Option<u32> {
    let (mut sum, mut replies) = (0u32, 0);
    for (role, tokens) in newest_first {
        sum = sum.saturating_add(tokens);
        replies += usize::from(role == Role::Assistant);
        if replies == JUDGED {
            break;
        }
    }
    (replies > 1).then(|| sum / replies as u32)
}
