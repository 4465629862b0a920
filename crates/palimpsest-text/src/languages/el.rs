//! Greek.

use super::tables::{Script, Tables};

pub(super) const TABLES: Tables = Tables {
    script: Script::Own(&[(0x370, 0x3FF)]),
    ..Tables::NONE
};
