//! Hindi.

use super::tables::{Script, Tables};

pub(super) const TABLES: Tables = Tables {
    script: Script::Own(&[(0x900, 0x97F)]),
    ..Tables::NONE
};
