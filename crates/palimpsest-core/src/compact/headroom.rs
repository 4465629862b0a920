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

/// The number of requests that find room after a compaction. Ten would mean one break in ten, and steps differ in size.
const REQUESTS: u32 = 16;
/// The number of newest replies from which the size of a step is estimated.
const JUDGED: usize = 48;
/// The least and the largest part of the limit that a compaction leaves, in percent.
const LEAST: u64 = 46;
const MOST: u64 = 85;

/// Below this limit there is no room to go further, because the frame of the layers takes a part of it.
const SMALLEST: u32 = 1_024;

/// Returns the goal of a compaction in tokens.
pub(super) fn aim(context: &Context, limit: u32, cache: Cache) -> u32 {
    if cache == Cache::None || limit < SMALLEST {
        return limit;
    }
    let share = |percent: u64| (u64::from(limit) * percent / 100) as u32;
    let Some(step) = step(context) else {
        return share(MOST);
    };
    let room = limit.saturating_sub(step.saturating_mul(REQUESTS));
    let mut aim = room.clamp(share(LEAST), share(MOST));
    while aim > share(LEAST) && !pays(aim, limit, step) {
        aim = aim.saturating_sub(limit / 50).max(share(LEAST));
    }
    aim
}

/// Returns `true` if reading `aim` tokens anew costs no more than the requests until the next compaction.
fn pays(aim: u32, limit: u32, step: u32) -> bool {
    let (aim, limit, step) = (u64::from(aim), u64::from(limit), u64::from(step.max(1)));
    let added = limit - aim;
    let anew = aim * (PRICE_WRITTEN - PRICE_CACHED);
    let read = u64::midpoint(aim, limit) * PRICE_CACHED * added / step;
    anew <= read + added * PRICE_WRITTEN
}

/// Returns the average number of tokens that the newest requests added. `None` for fewer than two replies.
fn step(context: &Context) -> Option<u32> {
    let (mut tokens, mut replies) = (0u32, 0);
    for entry in context.entries().iter().rev() {
        // A list that was handed back does not contain the messages under its layers.
        if entry.tokens == 0 {
            break;
        }
        tokens = tokens.saturating_add(entry.tokens);
        replies += usize::from(entry.message.role == Role::Assistant);
        if replies == JUDGED {
            break;
        }
    }
    (replies > 1).then(|| tokens / replies as u32)
}
