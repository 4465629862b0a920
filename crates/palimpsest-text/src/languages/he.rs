//! Hebrew.

use super::tables::{Script, Tables};

pub(super) const TABLES: Tables = Tables {
    script: Script::Own(&[(0x590, 0x5FF)]),
    ..Tables::NONE
};
