//! Divides a window: the numbers of `balanced` as data.

use serde::{Deserialize, Serialize};

use crate::error::CoreError;

/// The smallest window that a one-shot `compact` accepts.
pub const MIN_WINDOW: u32 = 64;
/// An older layer of fewer tokens says little: then all of them share one room.
const LEAST_OLDER: u32 = 256;
/// The index of the table's largest window. Above it shares stay constant.
const LAST: usize = 5;

/// The shares of a window of `window` tokens. All numbers are tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shares {
    /// W: the requested window, sent as `num_ctx`.
    pub window: u32,
    /// R: the room for the answer.
    pub reserve: u32,
    /// m: the room for errors of counting.
    pub margin: u32,
    /// L = W − R − m: the most that a sent window may hold.
    pub limit: u32,
    /// System prompt and tool definitions, until their real sizes are known.
    pub system: u32,
    /// Goal, pins and constraints.
    pub records: u32,
    /// The newest layer.
    pub newest: u32,
    /// Each older layer.
    pub older: u32,
    /// The number of older layers for which there is room.
    pub older_slots: u32,
    /// The user's own words from covered ranges.
    pub user: u32,
    /// The most recent messages.
    pub recent: u32,
    /// The room that every compaction leaves for recalled quotes. When the question comes, they may take more of the
    /// free room: see [`Self::recall_most`].
    pub recall: u32,
    /// The largest request to a summariser.
    pub chunk: u32,
}

/// One column of the table: W, R, system, records, newest, older, slots, user, recent, recall, chunk.
type Column = [u32; 11];
const COLUMNS: [Column; LAST + 1] = [
    [2_048, 368, 200, 122, 152, 76, 2, 163, 245, 102, 1_228],
    [4_096, 737, 200, 245, 244, 244, 3, 327, 491, 204, 2_457],
    [8_192, 1_024, 500, 491, 408, 408, 4, 819, 983, 409, 4_915],
    [
        16_384, 1_024, 1_000, 983, 702, 702, 5, 1_638, 1_966, 819, 9_830,
    ],
    [
        32_768, 2_048, 1_500, 1_966, 1_092, 1_092, 7, 3_276, 3_932, 1_500, 16_000,
    ],
    [
        131_072, 4_096, 1_500, 2_000, 1_776, 1_776, 7, 8_000, 12_000, 1_500, 16_000,
    ],
];

/// The caller's knowledge about the model besides its window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareOptions {
    /// The room for the answer, if the caller sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve: Option<u32>,
    /// The model thinks before it answers, so its reserve is doubled.
    #[serde(default)]
    pub thinking: bool,
    /// The model's own vocabulary counts, so the margin is 0.5 % instead of 2 %.
    #[serde(default)]
    pub exact: bool,
}

impl Shares {
    /// Divides a window. Shares are interpolated between the columns of the table, shrink in proportion below it, and
    /// stay constant above it.
    ///
    /// # Errors
    ///
    /// [`CoreError::InvalidWindow`] for a window that leaves no room.
    pub fn of(window: u32, options: ShareOptions) -> Result<Self, CoreError> {
        let invalid = |why| CoreError::InvalidWindow {
            window: window.to_string(),
            why,
        };
        if window < MIN_WINDOW {
            return Err(invalid("the smallest is 64 tokens"));
        }
        let c = column(window);
        let mut reserve = options.reserve.unwrap_or(c[1]);
        if options.thinking && options.reserve.is_none() {
            reserve = reserve.saturating_mul(2).min(window / 2);
        }
        let margin = if options.exact {
            div_ceil(window, 1, 200)
        } else {
            div_ceil(window, 2, 100)
        };
        let limit = window
            .checked_sub(reserve)
            .and_then(|rest| rest.checked_sub(margin))
            .filter(|limit| *limit >= MIN_WINDOW / 2)
            .ok_or_else(|| invalid("the answer's reserve leaves no room for the conversation"))?;
        // A larger reserve than the table's takes the same share from every other one.
        let usual = window - c[1] - margin.min(window - c[1]);
        let scale = |share: u32| {
            if limit < usual {
                (u64::from(share) * u64::from(limit) / u64::from(usual)) as u32
            } else {
                share
            }
        };
        Ok(Self {
            window,
            reserve,
            margin,
            limit,
            system: scale(c[2]),
            records: scale(c[3]),
            newest: scale(c[4]),
            older: scale(c[5]),
            older_slots: c[6],
            user: scale(c[7]),
            recent: scale(c[8]),
            recall: scale(c[9]),
            chunk: scale(c[10]),
        })
    }

    /// The most that recalled quotes take of a window with this limit: a quarter.
    pub const fn recall_most(limit: u32) -> u32 {
        limit / 4
    }

    /// Returns `true` if an older layer has too little room to stand alone.
    pub const fn is_small(&self) -> bool {
        self.older < LEAST_OLDER
    }

    /// Returns `true` if a model can be asked for summaries: the prompt has to fit beside what is to be summarised.
    pub const fn fits_model(&self) -> bool {
        self.window > 2_048
    }

    /// Layers at their full size.
    pub const fn layers(&self) -> u32 {
        self.newest + self.older * self.older_slots
    }

    /// The goal of a compaction with `system` tokens of system prompt and tools: the sum of the five shares.
    pub const fn target(&self, system: u32) -> u32 {
        system + self.records + self.layers() + self.user + self.recent
    }

    /// The tokens at which the automatic compaction starts. `floor` is the sum of system, tools, records and layers;
    /// `at` is the fraction of the rest (0.8).
    pub fn trigger(&self, floor: u32, at: f32) -> u32 {
        let available = self.limit.saturating_sub(floor);
        floor.saturating_add((f64::from(available) * f64::from(at)).floor() as u32)
    }
}

fn div_ceil(n: u32, mul: u64, div: u64) -> u32 {
    (u64::from(n) * mul).div_ceil(div) as u32
}

fn column(window: u32) -> Column {
    let scale = |c: &Column| {
        let mut out = *c;
        for (i, v) in out.iter_mut().enumerate() {
            if i != 6 {
                *v = (u64::from(*v) * u64::from(window) / u64::from(c[0])) as u32;
            }
        }
        out
    };
    if window < COLUMNS[0][0] {
        return scale(&COLUMNS[0]);
    }
    if window >= COLUMNS[LAST][0] {
        return COLUMNS[LAST];
    }
    let right = COLUMNS.iter().position(|c| c[0] > window).unwrap_or(LAST);
    let (a, b) = (&COLUMNS[right - 1], &COLUMNS[right]);
    let (along, width) = (u64::from(window - a[0]), u64::from(b[0] - a[0]));
    let mut out = *a;
    for i in 0..out.len() {
        // Every row grows with the window.
        out[i] = a[i] + (u64::from(b[i] - a[i]) * along / width) as u32;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B5, B1 and the table of windows, row by row: W, R, m, L, target, trigger, recall, chunk.
    #[test]
    fn the_table_of_numbers() {
        let rows = [
            (2_048, 368, 41, 1_639, 1_034, 1_436, 102, 1_228),
            (4_096, 737, 82, 3_277, 2_239, 2_905, 204, 2_457),
            (8_192, 1_024, 164, 7_004, 4_833, 6_209, 409, 4_915),
            (16_384, 1_024, 328, 15_032, 9_799, 13_264, 819, 9_830),
            (32_768, 2_048, 656, 30_064, 19_410, 26_491, 1_500, 16_000),
            (
                131_072, 4_096, 2_622, 124_354, 37_708, 103_024, 1_500, 16_000,
            ),
        ];
        for (w, r, m, l, target, trigger, recall, chunk) in rows {
            let s = Shares::of(w, ShareOptions::default()).unwrap();
            let floor = s.system + s.records + s.layers();
            assert_eq!(
                (
                    s.reserve,
                    s.margin,
                    s.limit,
                    s.target(s.system),
                    s.trigger(floor, 0.8),
                    s.recall,
                    s.chunk
                ),
                (r, m, l, target, trigger, recall, chunk),
                "window {w}"
            );
        }
    }

    /// B4, B5: for every window from 64 to 1,000,000 tokens limit + reserve + margin is the window,
    /// target + recall ≤ trigger, and trigger + recall ≤ limit.
    #[test]
    fn the_numbers_agree_at_every_window() {
        for window in (64..5_000)
            .chain((5_000..140_000).step_by(37))
            .chain([500_000, 1_000_000])
        {
            for (thinking, exact) in [(false, false), (true, false), (false, true)] {
                let s = Shares::of(
                    window,
                    ShareOptions {
                        thinking,
                        exact,
                        reserve: None,
                    },
                )
                .unwrap();
                assert_eq!(s.limit + s.reserve + s.margin, window);
                let trigger = s.trigger(s.system + s.records + s.layers(), 0.8);
                assert!(
                    s.target(s.system) + s.recall <= trigger,
                    "target at {window}: {s:?}"
                );
                assert!(trigger + s.recall <= s.limit, "trigger at {window}: {s:?}");
            }
        }
    }

    /// B5: a window that leaves no room is refused with a reason, and never gives a negative trigger.
    #[test]
    fn impossible_windows_are_refused() {
        let check = |window, reserve| {
            Shares::of(
                window,
                ShareOptions {
                    reserve,
                    ..ShareOptions::default()
                },
            )
            .map(|s| s.limit)
            .map_err(|e| e.code())
        };
        assert_eq!(check(0, None), Err("invalid_window"));
        assert_eq!(check(63, None), Err("invalid_window"));
        assert_eq!(check(64, None), Ok(64 - 11 - 2));
        assert_eq!(check(2_048, Some(2_048)), Err("invalid_window"));
        assert_eq!(check(u32::MAX, None), Ok(u32::MAX - 4_096 - 85_899_346));
    }
}
