//! Persian.

use super::tables::{Script, Tables};

pub(super) const TABLES: Tables = Tables {
    script: Script::Own(&[]),
    letters: &[("پچژگکی", 2.0)],
    ..Tables::NONE
};
