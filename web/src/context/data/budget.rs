//! The budget bar's data.

use palimpsest_tokens::Source;

/// The content of a stretch of the bar, in window order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// System prompt, tool definitions and the template around them.
    System,
    /// Goal, pins, constraints and locked decisions.
    Goal,
    /// A layer.
    Layer {
        /// The number people see.
        number: u32,
        /// Its age.
        age: Age,
    },
    /// Quotes recalled for the last question.
    Recalled,
    /// The user's messages.
    User,
    /// The model's replies.
    Assistant,
    /// Tool results.
    Tool,
    /// The message that the user is typing.
    Draft,
    /// The reply that is being written.
    Reply,
    /// Unused.
    Free,
    /// Kept for the answer.
    Reserve,
    /// Kept because counts may be off.
    Margin,
}

/// The age of a layer: four forms, like the textures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Age {
    /// As first written.
    Fresh,
    /// Shortened once.
    Aged,
    /// Shortened twice.
    Old,
    /// Essentials only.
    Ancient,
}

/// One stretch of the bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// The content.
    pub kind: Kind,
    /// Its size in tokens.
    pub tokens: u32,
}

/// Everything the bar says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    /// The window in tokens; the width of the bar. `None` until it is known.
    pub window: Option<u32>,
    /// The limit of a sent window, the base of every percentage.
    pub limit: u32,
    /// The tokens of the next window.
    pub used: u32,
    /// The number is an estimate: a `≈` stands before it.
    pub estimated: bool,
    /// The origin of the number.
    pub source: Source,
    /// The largest number of further tokens.
    pub bound: u32,
    /// The stretches in window order, without those made here ([`Self::stretches`]).
    pub segments: Vec<Segment>,
    /// Kept for the answer.
    pub reserve: u32,
    /// Kept because counts may be off.
    pub margin: u32,
    /// The tokens that no pass may remove.
    pub floor: u32,
    /// The goal of a compaction.
    pub target: u32,
    /// The tokens at which compaction starts.
    pub trigger: u32,
}

/// The engine's work on the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Activity {
    /// Nothing.
    #[default]
    Quiet,
    /// A run is announced or working on the layer with this number.
    Writing(u32),
    /// No run can make the window smaller.
    Stuck,
}

/// The look and the words of the bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Under 65 % of the limit.
    Calm,
    /// From 65 % up to the trigger.
    Near {
        /// Tokens until the trigger.
        left: u32,
    },
    /// At or past the trigger.
    Trigger {
        /// The layer that is being written, if a run has begun.
        layer: Option<u32>,
    },
    /// The floor is in the way.
    Stuck,
    /// Larger than the limit.
    Over {
        /// Tokens too many.
        by: u32,
    },
    /// The window is not known: no denominator, no percentage.
    Unknown,
}

impl State {
    /// The value of `data-state`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Calm => "calm",
            Self::Near { .. } => "near",
            Self::Trigger { .. } | Self::Stuck => "trigger",
            Self::Over { .. } => "over",
            Self::Unknown => "unknown",
        }
    }
}

impl Budget {
    /// Returns the look of the bar.
    pub fn state(&self, activity: Activity) -> State {
        if self.window.is_none() || self.limit == 0 {
            return State::Unknown;
        }
        let used = self.used - self.passing();
        if used > self.limit {
            return State::Over {
                by: used - self.limit,
            };
        }
        match activity {
            Activity::Stuck => State::Stuck,
            Activity::Writing(layer) => State::Trigger { layer: Some(layer) },
            Activity::Quiet if used >= self.trigger => State::Trigger { layer: None },
            Activity::Quiet if u64::from(used) * 100 >= u64::from(self.limit) * 65 => State::Near {
                left: self.trigger - used,
            },
            Activity::Quiet => State::Calm,
        }
    }

    /// Used tokens in percent of the limit, rounded down, so that 100 % means full.
    pub fn percent(&self) -> Option<u32> {
        self.window?;
        let percent = |limit: u32| (u64::from(self.used) * 100 / u64::from(limit)) as u32;
        let fits = self.passing() > 0 && self.used - self.passing() <= self.limit;
        let most = if fits { 100 } else { u32::MAX };
        (self.limit > 0).then(|| percent(self.limit).min(most))
    }

    /// Tokens that push nothing out: of the reply that comes in, which grows into the room that is kept free for it, and of
    /// quotes, which go with the next message.
    fn passing(&self) -> u32 {
        let is_passing = |s: &&Segment| matches!(s.kind, Kind::Reply | Kind::Recalled);
        let all = self.segments.iter().filter(is_passing);
        all.map(|s| s.tokens).sum::<u32>().min(self.used)
    }

    /// The bar with a draft and a growing reply on it, both estimates.
    #[must_use]
    pub fn with(&self, draft: u32, reply: u32) -> Self {
        let mut budget = self.clone();
        for (kind, tokens) in [(Kind::Reply, reply), (Kind::Draft, draft)] {
            if tokens > 0 {
                budget.segments.push(Segment { kind, tokens });
            }
        }
        if reply > 0 {
            budget.used = budget.used.saturating_add(reply);
            budget.estimated = true;
            budget.source = Source::Estimated;
        }
        budget
    }

    /// Returns every stretch of the bar, with free room, answer and margin; they add up to the window. If the content
    /// exceeds the limit, the rest of reserve and margin is shown. If it exceeds the window, the bar is as wide as the
    /// content.
    pub fn stretches(&self) -> Vec<Segment> {
        let all = self.segments.clone();
        match self.window {
            Some(window) => stretches(all, window, self.reserve, self.margin),
            None => all,
        }
    }

    /// The tokens that the full width of the bar represents.
    pub fn width(&self) -> u32 {
        sum(&self.stretches()).max(1)
    }

    /// Returns `true` if the labels of floor and trigger would touch; the floor's then goes to the left.
    pub fn ticks_are_close(&self) -> bool {
        let gap = self.trigger.saturating_sub(self.floor);
        u64::from(gap) * 100 < u64::from(self.width()) * 28
    }
}

/// The stretches of a bar with free, answer and margin, as far as there is room for them.
pub fn stretches(mut all: Vec<Segment>, window: u32, reserve: u32, margin: u32) -> Vec<Segment> {
    let mut room = window.saturating_sub(sum(&all));
    let margin = margin.min(room);
    room -= margin;
    let reserve = reserve.min(room);
    room -= reserve;
    for (kind, tokens) in [
        (Kind::Free, room),
        (Kind::Reserve, reserve),
        (Kind::Margin, margin),
    ] {
        if tokens > 0 {
            all.push(Segment { kind, tokens });
        }
    }
    all
}

/// Tokens of stretches.
pub fn sum(all: &[Segment]) -> u32 {
    all.iter().map(|s| s.tokens).fold(0, u32::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(used: u32) -> Budget {
        Budget {
            window: Some(8192),
            limit: 7004,
            used,
            estimated: false,
            source: Source::Exact,
            bound: 0,
            segments: vec![
                Segment {
                    kind: Kind::System,
                    tokens: 486,
                },
                Segment {
                    kind: Kind::User,
                    tokens: used - 486,
                },
            ],
            reserve: 1024,
            margin: 164,
            floor: 2406,
            target: 4017,
            trigger: 6084,
        }
    }

    /// B7: segments, free, reserve and margin are the window, and the header's percentage is of the
    /// same limit.
    #[test]
    fn the_stretches_are_the_window() {
        for used in [486, 3642, 6112, 7004, 7420, 8192] {
            let bar = budget(used);
            assert_eq!(
                bar.stretches().iter().map(|s| s.tokens).sum::<u32>(),
                8192,
                "{used}"
            );
        }
        let over = budget(9000);
        assert_eq!(over.stretches().iter().map(|s| s.tokens).sum::<u32>(), 9000);
        assert_eq!(over.width(), 9000);
        assert_eq!(
            budget(7420).stretches().last(),
            Some(&Segment {
                kind: Kind::Margin,
                tokens: 164
            })
        );
        assert_eq!(budget(6112).percent(), Some(87));
        assert_eq!(budget(7003).percent(), Some(99));
    }

    /// B4, I9: the words of the bar at each size.
    #[test]
    fn states() {
        let check = |used, activity, expected: State| {
            assert_eq!(budget(used).state(activity), expected, "{used}");
        };
        check(3642, Activity::Quiet, State::Calm);
        check(4552, Activity::Quiet, State::Calm);
        check(4553, Activity::Quiet, State::Near { left: 1531 });
        check(6083, Activity::Quiet, State::Near { left: 1 });
        check(6084, Activity::Quiet, State::Trigger { layer: None });
        check(
            6112,
            Activity::Writing(4),
            State::Trigger { layer: Some(4) },
        );
        check(6410, Activity::Stuck, State::Stuck);
        check(7420, Activity::Writing(4), State::Over { by: 416 });
        let unknown = Budget {
            window: None,
            ..budget(3642)
        };
        assert_eq!(unknown.state(Activity::Quiet), State::Unknown);
        assert_eq!(unknown.percent(), None);
        assert_eq!(unknown.stretches().len(), 2);
    }

    #[test]
    fn a_growing_reply_is_an_estimate_and_takes_free_space() {
        let bar = budget(3642).with(38, 338);
        assert_eq!((bar.used, bar.estimated), (3980, true));
        assert_eq!(bar.stretches().iter().map(|s| s.tokens).sum::<u32>(), 8192);
        assert_eq!(
            bar.stretches()
                .iter()
                .find(|s| s.kind == Kind::Free)
                .map(|s| s.tokens),
            Some(7004 - 3642 - 38 - 338)
        );
        assert!(!budget(3642).with(38, 0).estimated);
        // a long reply fills its own reserve: no alarm
        let long = budget(6_083).with(0, 1_024);
        assert_eq!(long.state(Activity::Quiet), State::Near { left: 1 });
        assert_eq!(long.percent(), Some(100));
    }

    /// A reply came beside the quotes of its question, and the two are larger than the limit: the quotes go with the next
    /// message, so nothing is over, and nothing is compacted for them.
    #[test]
    fn quotes_are_no_alarm() {
        let quoted = |used: u32, tokens: u32| {
            let mut bar = budget(used);
            bar.segments[1].tokens -= tokens;
            let kind = Kind::Recalled;
            bar.segments.push(Segment { kind, tokens });
            (bar.state(Activity::Quiet), bar.percent())
        };
        assert_eq!(quoted(7_027, 1_742), (State::Near { left: 799 }, Some(100)));
        assert_eq!(quoted(6_200, 1_700), (State::Calm, Some(88)));
        let over = State::Over { by: 296 };
        assert_eq!(quoted(8_000, 700), (over, Some(114)));
    }
}
