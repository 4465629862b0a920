//! How far a compaction goes below the limit, so that the next requests only add to what the provider has read.
//!
//! A provider charges a tenth for the part of a prompt that it has read already, and a quarter more than the price for
//! what it reads anew. A window that is kept full is read anew at nearly every request; one that is emptied says little.
//! So a compaction makes room for a number of requests, and for more where the calls until the next one would not
//! otherwise cost as much as the compaction itself.

use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::data::message::Role;

/// What the provider, or the model's own server, keeps of a prompt from one request to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    /// The part that stands at the beginning of both: a compaction makes room for many requests.
    #[default]
    Prefix,
    /// Nothing: as much is kept as fits.
    None,
}

/// What a token that was read already costs, in hundredths of one that is read without a cache.
pub const PRICE_CACHED: u64 = 10;
/// What a token costs that is read and kept, in the same unit.
pub const PRICE_WRITTEN: u64 = 125;

/// Requests that find room after a compaction: ten would be one break in ten, and steps are of unequal size.
const REQUESTS: u32 = 16;
/// The replies by which the size of a step is judged, the newest.
const JUDGED: usize = 48;
/// What a compaction leaves of the limit at least and at most, in percent.
const LEAST: u64 = 46;
const MOST: u64 = 85;

/// A smaller limit leaves no room to go below it: the frame of the layers takes a part of it already.
const SMALLEST: u32 = 1_024;

/// What a compaction aims at.
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

/// Whether to read `aim` tokens anew costs no more than the requests until the next time do anyway.
fn pays(aim: u32, limit: u32, step: u32) -> bool {
    let (aim, limit, step) = (u64::from(aim), u64::from(limit), u64::from(step.max(1)));
    let added = limit - aim;
    let anew = aim * (PRICE_WRITTEN - PRICE_CACHED);
    let read = u64::midpoint(aim, limit) * PRICE_CACHED * added / step;
    anew <= read + added * PRICE_WRITTEN
}

/// Tokens that a request finds added since the one before, on the average of the newest; `None` if there were fewer than
/// two replies.
fn step(context: &Context) -> Option<u32> {
    let (mut tokens, mut replies) = (0u32, 0);
    for entry in context.entries().iter().rev() {
        // what a list that was handed back stands for is not in it
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
