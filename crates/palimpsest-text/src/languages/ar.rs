//! Arabic.

use super::tables::{Script, Tables};

pub(super) const TABLES: Tables = Tables {
    script: Script::Own(&[(0x600, 0x6FF)]),
    ..Tables::NONE
};
