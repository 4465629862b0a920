//! Five classes of windows, and the length of a system prompt that suits each.

use serde::{Deserialize, Serialize};

/// The class of a window by its nominal size. K = 1,000 here, as in the named sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum Tier {
    /// Below 8K.
    Minimal,
    /// Below 16K.
    Basic,
    /// Below 32K.
    Standard,
    /// Below 64K.
    Premium,
    /// 64K and above.
    Ultra,
}

impl Tier {
    /// All tiers, smallest first.
    pub const ALL: [Self; 5] = [
        Self::Minimal,
        Self::Basic,
        Self::Standard,
        Self::Premium,
        Self::Ultra,
    ];

    /// The tier of a window of `nominal` tokens: the named size before the 85 % rule, or the requested number.
    pub const fn of(nominal: u32) -> Self {
        match nominal {
            0..8_000 => Self::Minimal,
            8_000..16_000 => Self::Basic,
            16_000..32_000 => Self::Standard,
            32_000..64_000 => Self::Premium,
            _ => Self::Ultra,
        }
    }

    /// The tier of a window of `window` used tokens: that of the standard size whose share it is (13,600 is the share
    /// of 16K), otherwise of the number itself.
    pub fn of_window(window: u32) -> Self {
        Self::of(super::profile::nominal_of(window))
    }
}

/// The tokens that a system prompt may take without a warning, by tier (seed 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TierBudgets {
    /// For [`Tier::Minimal`].
    pub minimal: u32,
    /// For [`Tier::Basic`].
    pub basic: u32,
    /// For [`Tier::Standard`].
    pub standard: u32,
    /// For [`Tier::Premium`].
    pub premium: u32,
    /// For [`Tier::Ultra`].
    pub ultra: u32,
}

impl Default for TierBudgets {
    fn default() -> Self {
        Self {
            minimal: 200,
            basic: 500,
            standard: 1_000,
            premium: 1_500,
            ultra: 1_500,
        }
    }
}

impl TierBudgets {
    /// The budget of one tier, in tokens.
    pub const fn of(&self, tier: Tier) -> u32 {
        match tier {
            Tier::Minimal => self.minimal,
            Tier::Basic => self.basic,
            Tier::Standard => self.standard,
            Tier::Premium => self.premium,
            Tier::Ultra => self.ultra,
        }
    }
}

/// The rest of a tier's prompt budget beside a system prompt of `system_tokens`, for checkpoints: max(0, budget −
/// system) (seed 1). It is reported; only the preset `checkpoints` with seed 1's trigger depends on it.
pub const fn checkpoint_budget(budgets: &TierBudgets, tier: Tier, system_tokens: u32) -> u32 {
    budgets.of(tier).saturating_sub(system_tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B1, B2: the share of a named size has the tier of that size, and any other number its own.
    #[test]
    fn shares_of_named_sizes() {
        let check = |window, expected| assert_eq!(Tier::of_window(window), expected, "{window}");
        check(3_400, Tier::Minimal);
        check(6_800, Tier::Basic);
        check(6_801, Tier::Minimal);
        check(13_600, Tier::Standard);
        check(13_599, Tier::Basic);
        check(27_200, Tier::Premium);
        check(54_400, Tier::Ultra);
        check(16_000, Tier::Standard);
        check(u32::MAX, Tier::Ultra);
    }

    /// B2: the borders of the five tiers, on both sides.
    #[test]
    fn borders() {
        let check = |nominal, expected| assert_eq!(Tier::of(nominal), expected, "{nominal}");
        check(0, Tier::Minimal);
        check(4_096, Tier::Minimal);
        check(7_999, Tier::Minimal);
        check(8_000, Tier::Basic);
        check(8_192, Tier::Basic);
        check(15_999, Tier::Basic);
        check(16_000, Tier::Standard);
        check(31_999, Tier::Standard);
        check(32_000, Tier::Premium);
        check(63_999, Tier::Premium);
        check(64_000, Tier::Ultra);
        check(u32::MAX, Tier::Ultra);
    }

    /// B2: prompt budgets are 200 / 500 / 1,000 / 1,500 / 1,500, and each can be overridden.
    #[test]
    fn budgets() {
        let budgets = TierBudgets::default();
        assert_eq!(
            Tier::ALL.map(|t| budgets.of(t)),
            [200, 500, 1_000, 1_500, 1_500]
        );
        let own: TierBudgets = serde_json::from_str(r#"{"basic": 700}"#).unwrap();
        assert_eq!(
            Tier::ALL.map(|t| own.of(t)),
            [200, 700, 1_000, 1_500, 1_500]
        );
        assert!(serde_json::from_str::<TierBudgets>(r#"{"bsaic": 700}"#).is_err());
    }

    /// B2: checkpoint_budget is max(0, budget − system).
    #[test]
    fn for_checkpoints() {
        let check = |tier, system, expected| {
            assert_eq!(
                checkpoint_budget(&TierBudgets::default(), tier, system),
                expected
            );
        };
        check(Tier::Standard, 400, 600);
        check(Tier::Minimal, 200, 0);
        check(Tier::Minimal, 201, 0);
    }
}
